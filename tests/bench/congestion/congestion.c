/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates scenarios of congestion, each with the settings of several managers.
 *
 *   congestion [-s scenario] [-f fabric] [-c senders] [-w who,...] [-n seeds] [-0 first seed]
 *              [-t] [-b KiB] [-a ns]
 *   congestion -l             lists the scenarios
 *
 * Prints a line of figures for each run, separated by tabs. With -t, prints instead how the rates
 * of each run change, in steps of 50 us. -b: size of the buffers. -a: delay of adapters.
 * congestion.py makes tables and plots of the output.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/congestion/scene.h"

#define BIN (50 * US)
#define SMOOTH 4 /* number of time steps in a moving average of a rate */
#define SEEDS 20
#define PAYLOAD_LINE (100 * 4096.0 / 4122)

struct choice {
    const char *scenario, *fabric, *who;
    uint32_t seeds, first, size;
    /* buffer: buffers of a port in KiB. adapter_ns: delay of an adapter in ns. 0: the default of
     * the traffic model. */
    uint32_t buffer, adapter_ns;
    bool course, list;
};
/* how rates change during a run: for each role, the rate in Gb/s in each time step */
struct course {
    double *of[ROLES];
    uint32_t bins;
};
struct run {
    const struct scene *scene;
    const struct plan *plan;
    struct fab_traffic *traffic;
    struct course course;
    /* [flows] bytes that the flow sent in the last third of the congestion */
    double *steady;
    double seconds;
};

static uint64_t delivered(const struct run *r, uint32_t flow)
{
    struct fab_traffic_flow_stats x;
    fab_traffic_flow_stats(r->traffic, flow, &x);
    return x.delivered;
}

static uint64_t steady_from(const struct plan *p)
{
    return p->until - (p->until - p->from) / 3;
}

/* ---- running --------------------------------------------------------------------------------- */

static void count_bin(struct run *r, uint32_t bin)
{
    const struct plan *p = r->plan;
    for (uint32_t i = 0; i < p->count; i++)
        r->course.of[p->role[i]][bin] += (double)delivered(r, i) * 8e3 / BIN;
}

static void to_rates(struct course *c)
{
    for (int role = 0; role < ROLES; role++)
        for (uint32_t bin = c->bins; bin-- > 1;)
            c->of[role][bin] -= c->of[role][bin - 1];
}

static void watch(struct run *r)
{
    const struct plan *p = r->plan;
    uint64_t marks[2] = {steady_from(p) / BIN * BIN, p->until / BIN * BIN};
    for (uint32_t bin = 0; bin < r->course.bins; bin++) {
        uint64_t at = (bin + 1) * BIN;
        must(fab_traffic_run(r->traffic, at), "run");
        count_bin(r, bin);
        for (int k = 0; k < 2; k++)
            for (uint32_t i = 0; at == marks[k] && i < p->count; i++)
                r->steady[i] += (k ? 1 : -1) * (double)delivered(r, i);
    }
    to_rates(&r->course);
}

static void run_init(struct run *r, const struct scene *s, const struct plan *p,
                     const struct fab_congestion *c, const struct choice *o, uint64_t seed)
{
    struct fab_traffic_input in = {.fabric = s->fabric,
                                   .lids = &s->lids,
                                   .lft = &s->lft,
                                   .vls = &s->vls,
                                   .congestion = c->port_count > 0 ? c : NULL,
                                   .buffer = o->buffer * 1024,
                                   .adapter_ns = o->adapter_ns,
                                   .seed = seed};
    *r = (struct run){.scene = s, .plan = p, .course.bins = (uint32_t)(p->end / BIN)};
    for (int role = 0; role < ROLES; role++)
        if ((r->course.of[role] = calloc(r->course.bins, sizeof(double))) == NULL)
            must(FAB_E_NOMEM, "course");
    if ((r->steady = calloc(p->count + 1, sizeof(double))) == NULL)
        must(FAB_E_NOMEM, "steady");
    must(fab_traffic_new(&in, p->flow, p->count, &r->traffic), "model");
}

static void run_fini(struct run *r)
{
    fab_traffic_free(r->traffic);
    for (int role = 0; role < ROLES; role++)
        free(r->course.of[role]);
    free(r->steady);
}

/* ---- figures --------------------------------------------------------------------------------- */

static uint32_t flows_of(const struct plan *p, enum role role)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        count += p->role[i] == role;
    return count;
}

/* Returns the mean rate of all flows of a role between two times, in Gb/s. */
static double mean(const struct course *c, enum role role, uint64_t from, uint64_t until)
{
    double sum = 0;
    uint32_t first = (uint32_t)(from / BIN), last = (uint32_t)(until / BIN);
    for (uint32_t bin = first; bin < last; bin++)
        sum += c->of[role][bin];
    return last > first ? sum / (last - first) : 0;
}

static double smooth(const struct course *c, enum role role, uint32_t bin)
{
    return mean(c, role, bin * BIN, (bin + SMOOTH) * BIN);
}

/* Returns the time in us after which the rate of the background flows stays above nine tenths of
 * its final value, from the begin of the congestion. */
static double converges(const struct run *r)
{
    const struct plan *p = r->plan;
    double goal = mean(&r->course, BESIDE, steady_from(p), p->until);
    uint32_t first = (uint32_t)(p->from / BIN), bin = (uint32_t)(p->until / BIN) - SMOOTH;
    while (bin > first && smooth(&r->course, BESIDE, bin) > 0.9 * goal)
        bin--;
    return (double)((bin - first) * BIN) / US;
}

/* Returns how long after the end of the congestion the sender LAST reaches nine tenths of `goal`
 * Gb/s, in us. -1: it does not reach them before the run ends. 0: there is no such sender. */
static double recovers(const struct run *r, double goal)
{
    const struct plan *p = r->plan;
    uint32_t first = (uint32_t)(p->until / BIN);
    if (flows_of(p, LAST) == 0)
        return 0;
    for (uint32_t bin = first; bin < r->course.bins; bin++)
        if (r->course.of[LAST][bin] >= 0.9 * goal)
            return (double)((bin - first) * BIN) / US;
    return -1;
}

/* Returns how much the rate of a role oscillates in the last third of the congestion: (maximum -
 * minimum) / mean of its moving average. */
static double wave(const struct run *r, enum role role)
{
    const struct plan *p = r->plan;
    double most = 0, least = 1e30, sum = 0;
    uint32_t count = 0;
    for (uint32_t bin = (uint32_t)(steady_from(p) / BIN); bin + SMOOTH <= p->until / BIN; bin++) {
        double x = smooth(&r->course, role, bin);
        most = x > most ? x : most;
        least = x < least ? x : least;
        sum += x;
        count++;
    }
    return sum > 0 ? (most - least) * count / sum : 0;
}

static double jain(const struct run *r)
{
    double sum = 0, squares = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->plan->count; i++) {
        if (r->plan->role[i] <= FAR || r->plan->flow[i].end < r->plan->until)
            continue;
        sum += r->steady[i];
        squares += r->steady[i] * r->steady[i];
        count++;
    }
    return squares > 0 ? sum * sum / (count * squares) : 0;
}

/* Returns how well the incasts use their targets, from time `from` to the end of the incasts: the
 * rate at which the targets receive, divided by hot_gbps. 0: there is no incast. */
static double hot(const struct run *r, uint64_t from)
{
    const struct plan *p = r->plan;
    double took = mean(&r->course, SENDER, from, p->until) + mean(&r->course, LAST, from, p->until);
    return p->hot_gbps > 0 ? took / p->hot_gbps : 0;
}

/* Returns the shortest possible time of a burst, divided by the mean time of the bursts; 0: the
 * incasts have no bursts. */
static double swift(const struct run *r)
{
    const struct plan *p = r->plan;
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct fab_traffic_flow_stats x;
        fab_traffic_flow_stats(r->traffic, i, &x);
        if (p->role[i] <= FAR)
            continue;
        sum += (double)((x.done < p->end ? x.done : p->end) - p->flow[i].start) / US;
        count++;
    }
    return count > 0 ? p->burst_us * count / sum : 0;
}

static void print_figures(const struct run *r, double goal)
{
    const struct plan *p = r->plan;
    uint32_t count = flows_of(p, BESIDE);
    count += count == 0;
    printf("%.3f\t%.3f\t%.4f\t%.4f\t%.3f\t%.0f\t%.0f\t%.3f\t%.3f\t%.2f\n",
           mean(&r->course, BESIDE, p->from, p->until) / count,
           mean(&r->course, BESIDE, steady_from(p), p->until) / count,
           p->burst_us > 0 ? swift(r) : hot(r, p->from), hot(r, steady_from(p)), jain(r),
           converges(r), recovers(r, goal), wave(r, BESIDE), wave(r, SENDER), r->seconds);
}

static void print_course(const struct run *r, const char *what)
{
    for (uint32_t bin = 0; bin < r->course.bins; bin++)
        printf("%s\t%.0f\t%.3f\t%.3f\t%.3f\n", what, (double)(bin * BIN) / US,
               r->course.of[BESIDE][bin] / flows_of(r->plan, BESIDE), r->course.of[SENDER][bin],
               r->course.of[LAST][bin]);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Keeps only the background flows. */
static void leave_alone(struct plan *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->role[i] <= FAR) {
            p->flow[kept] = p->flow[i];
            p->role[kept++] = p->role[i];
        }
    }
    p->count = kept;
}

/* Runs one scenario with the settings of `who`, and prints the figures. The run without congestion
 * control must come first: it sets `goal`, the final rate of the sender LAST. */
static void run_one(const struct scenario *x, struct scene *s, enum who who, const struct choice *o,
                    uint64_t seed, double *goal)
{
    struct plan plan = {.count = 0};
    struct fab_prng prng;
    struct fab_congestion c;
    struct run r;
    char what[100];
    fab_base_prng_init(&prng, seed);
    x->plan(s, x->size, &prng, &plan);
    if (who == ALONE)
        leave_alone(&plan);
    settings(s, who, x->size, &c);
    run_init(&r, s, &plan, &c, o, seed);
    double since = cpu_s();
    watch(&r);
    r.seconds = cpu_s() - since;
    snprintf(what, sizeof what, "%s\t%s\t%" PRIu32 "\t%s\t%" PRIu64, x->name, x->fabric, x->size,
             who_names[who], seed);
    if (o->course) {
        print_course(&r, what);
    } else {
        printf("%s\t", what);
        if (who == OFF)
            *goal = mean(&r.course, LAST, plan.end - 8 * BIN, plan.end);
        print_figures(&r, *goal);
    }
    fflush(stdout);
    run_fini(&r);
    fab_congestion_fini(&c);
    plan_fini(&plan);
}

static bool is_chosen(const char *choice, const char *name)
{
    return choice == NULL || strcmp(choice, name) == 0;
}

/* Returns whether the scenario is run with the settings of `who`. ZEROS runs on the smallest fabric
 * only, because switches mark no packets. */
static bool is_tried(const struct scenario *x, enum who who)
{
    bool small = strcmp(x->fabric, "64") == 0;
    if (who == ZEROS)
        return small;
    if (who == INCAST || who == COLLECTIVE)
        return small || strcmp(x->fabric, "324") == 0;
    return who != TOLD || x->one_end;
}

/* Returns true if the comma-separated list contains the name, or if list is NULL. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return list == NULL;
}

static void run_scenario(const struct scenario *x, const struct choice *o)
{
    struct scene s;
    scene_init(&s, x->fabric, x->slow);
    double goal = PAYLOAD_LINE;
    for (uint32_t seed = o->first; seed < o->first + o->seeds; seed++)
        for (int who = 0; who < WHOS; who++)
            if (is_tried(x, (enum who)who) && is_listed(o->who, who_names[who]))
                run_one(x, &s, (enum who)who, o, seed, &goal);
    scene_fini(&s);
}

int main(int argc, char **argv)
{
    struct choice o = {.first = 1, .seeds = SEEDS};
    for (int c; (c = getopt(argc, argv, "s:f:w:n:0:c:b:a:tl")) != -1;) {
        switch (c) {
        case 's':
            o.scenario = optarg;
            break;
        case 'f':
            o.fabric = optarg;
            break;
        case 'w':
            o.who = optarg;
            break;
        case 'n':
            o.seeds = (uint32_t)atoi(optarg);
            break;
        case '0':
            o.first = (uint32_t)atoi(optarg);
            break;
        case 'c':
            o.size = (uint32_t)atoi(optarg);
            break;
        case 'b':
            o.buffer = (uint32_t)atoi(optarg);
            break;
        case 'a':
            o.adapter_ns = (uint32_t)atoi(optarg);
            break;
        case 'l':
            o.list = true;
            break;
        case 't':
            o.course = true;
            break;
        default:
            fprintf(stderr, "usage: congestion [-s scenario] [-f fabric] [-c senders] [-w who,...] "
                            "[-n seeds] [-0 first] [-t] [-b KiB] [-a ns] [-l]\n");
            return 2;
        }
    }
    for (const struct scenario *x = scenarios; x->name != NULL; x++)
        if (is_chosen(o.scenario, x->name) && is_chosen(o.fabric, x->fabric) &&
            (o.size == 0 || o.size == x->size)) {
            if (o.list)
                printf("%s\t%s\t%" PRIu32 "\n", x->name, x->fabric, x->size);
            else
                run_scenario(x, &o);
        }
    return 0;
}
