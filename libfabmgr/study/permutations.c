/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures permutations: shifts, random permutations and random bisections. The code follows each
 * flow through the LFTs. It cannot run into a loop: the all-to-all measurement has marked, for each
 * leaf, the destinations that its paths do not reach, and flows to these are left out.
 *
 * If all shifts together have at most SHIFT_FLOWS flows (or shift_flows of the input, if this is
 * not 0), all of them are measured. With SHIFT_FLOWS, this is so for up to 3,000 endports.
 * Otherwise a random sample of shifts with about this number of flows is measured.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

#define SHIFT_FLOWS 9000000u
/* Shifts are also measured in other orders of the endports. ORDER_FLOWS: limit of the total number
 * of flows of the shifts in one such order. RANDOM_ORDERS: how many of these orders are random. */
#define ORDER_FLOWS 250000u
#define RANDOM_ORDERS 2

struct traffic {
    const struct fab_measurement *f;
    struct fab_prng prng;
    /* [ports] number of flows of the current permutation over each channel, multiplied by its
     * slowness (the member `slow` of the measurement) */
    uint32_t *load;
    /* [end_count] indices of the endports, at first in ascending order; for each random permutation
     * or bisection, they are put into a new random order */
    uint32_t *ends;
    /* [end_count] scratch memory of shift(): the destination of each endport */
    uint32_t *to;
    /* [samples] greatest load of a channel in each random permutation */
    uint32_t *worst;
};

static int traffic_init(struct traffic *t, const struct fab_measurement *f, uint64_t salt,
                        uint32_t worst)
{
    *t = (struct traffic){.f = f};
    fab_base_prng_init(&t->prng, f->in->seed ^ salt);
    t->load = fab_base_alloc_array(f->ports, sizeof *t->load);
    t->ends = fab_base_alloc_array(f->end_count, sizeof *t->ends);
    t->to = fab_base_alloc_array(f->end_count, sizeof *t->to);
    t->worst = fab_base_alloc_array(worst, sizeof *t->worst);
    for (uint32_t i = 0; t->ends != NULL && i < f->end_count; i++)
        t->ends[i] = i;
    return t->load && t->ends && t->to && t->worst ? FAB_OK : FAB_E_NOMEM;
}

static void traffic_fini(struct traffic *t)
{
    free(t->load);
    free(t->ends);
    free(t->to);
    free(t->worst);
}

static void clear(struct traffic *t)
{
    memset(t->load, 0, t->f->ports * sizeof *t->load);
}

/* Adds one flow from endport `src` to endport `dst` to the loads of the channels on its path.
 * Returns the greatest load of these channels; 0: the flow uses no channel, because both endports
 * are at the same leaf, or because the path does not reach the destination. */
static uint32_t flow(struct traffic *t, uint32_t src, uint32_t dst)
{
    const struct fab_measurement *f = t->f;
    const struct fab_lft *lft = f->in->lft;
    uint32_t home = f->leaves[f->ends[dst].leaf].sw, lid = f->ends[dst].lid, most = 0;
    if (!fab_study_measurement_leads(f, src, dst))
        return 0;
    for (uint32_t sw = f->leaves[f->ends[src].leaf].sw; sw != home;) {
        uint32_t channel = f->first[sw] + fab_target_lft_at(lft, sw, lid);
        uint32_t load = t->load[channel] += f->slow[channel];
        most = load > most ? load : most;
        sw = f->to[channel];
    }
    return most;
}

/* Returns the fraction (0..1) of an endport's bandwidth that the flow from endport `src` to endport
 * `dst` gets; 0: its path does not reach the destination. load[] must already have the loads of all
 * flows of the permutation. */
static double share(const struct traffic *t, uint32_t src, uint32_t dst)
{
    const struct fab_measurement *f = t->f;
    const struct fab_lft *lft = f->in->lft;
    uint32_t home = f->leaves[f->ends[dst].leaf].sw, lid = f->ends[dst].lid, most = 1;
    if (!fab_study_measurement_leads(f, src, dst))
        return 0;
    for (uint32_t sw = f->leaves[f->ends[src].leaf].sw; sw != home;) {
        uint32_t channel = f->first[sw] + fab_target_lft_at(lft, sw, lid);
        most = t->load[channel] > most ? t->load[channel] : most;
        sw = f->to[channel];
    }
    return 1.0 / most;
}

/* ---- one permutation ------------------------------------------------------------------------- */

struct permutation {
    uint32_t most; /* number of flows on the channel with the most flows */
    /* fraction of an endport's bandwidth that a flow gets, as the mean over all flows */
    double bandwidth;
};

/* Measures the permutation in which endport i sends to endport to[i]. If to[i] is i, the endport
 * does not send. */
static struct permutation permute(struct traffic *t, const uint32_t *to)
{
    struct permutation p = {0};
    uint32_t flows = 0, n = t->f->end_count;
    clear(t);
    for (uint32_t src = 0; src < n; src++) {
        uint32_t load = src != to[src] ? flow(t, src, to[src]) : 0;
        p.most = load > p.most ? load : p.most;
        flows += src != to[src];
    }
    for (uint32_t src = 0; src < n; src++)
        p.bandwidth += src != to[src] ? share(t, src, to[src]) : 0;
    p.bandwidth /= flows > 0 ? flows : 1;
    return p;
}

/* ---- shifts ---------------------------------------------------------------------------------- */

/* Measures the shift by `k`: endport order[i] sends to endport order[i + k], modulo the number of
 * endports. */
static struct permutation shift(struct traffic *t, const uint32_t *order, uint32_t k)
{
    uint32_t n = t->f->end_count;
    for (uint32_t i = 0; i < n; i++)
        t->to[order[i]] = order[i + k < n ? i + k : i + k - n];
    return permute(t, t->to);
}

static int measure_shifts(const struct fab_measurement *f, const uint32_t *order, uint32_t flows,
                          struct fab_quality_shift *ret)
{
    struct fab_quality_shift s = {0};
    struct traffic t;
    uint32_t all = f->end_count > 1 ? f->end_count - 1 : 0;
    uint32_t some = f->end_count > 0 ? flows / f->end_count : 0;
    int rc = traffic_init(&t, f, 1, 0);
    s.every = all <= some;
    /* ends[1] to ends[all] are used as the numbers k of the shifts, in random order if only a
     * sample is measured */
    if (rc == FAB_OK && !s.every)
        fab_base_prng_shuffle(&t.prng, t.ends + 1, all);
    while (rc == FAB_OK && s.tried < (s.every ? all : some)) {
        uint32_t k = t.ends[++s.tried];
        struct permutation p = shift(&t, order, k);
        if (p.most > s.max || (p.most == s.max && k < s.worst)) {
            s.max = p.most;
            s.worst = k;
        }
        s.mean += p.most;
        s.bandwidth += p.bandwidth;
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    traffic_fini(&t);
    s.mean /= s.tried > 0 ? s.tried : 1;
    s.bandwidth /= s.tried > 0 ? s.tried : 1;
    if (rc == FAB_OK)
        *ret = s;
    return rc;
}

static uint32_t *new_order(const struct fab_measurement *f)
{
    uint32_t *order = fab_base_alloc_array(f->end_count, sizeof *order);
    for (uint32_t i = 0; order != NULL && i < f->end_count; i++)
        order[i] = i;
    return order;
}

int fab_study_measure_shifts(const struct fab_measurement *f, struct fab_quality_shift *ret)
{
    uint32_t *order = new_order(f);
    uint32_t flows = f->in->shift_flows > 0 ? f->in->shift_flows : SHIFT_FLOWS;
    int rc = order != NULL ? measure_shifts(f, order, flows, ret) : FAB_E_NOMEM;
    free(order);
    return rc;
}

/* ---- shifts in other orders ------------------------------------------------------------------ */

struct sorted_end {
    const char *name; /* description of the node */
    uint64_t guid;    /* GUID of the node */
    uint8_t num;
    uint32_t index;
};

/* Compares names so that numbers in them ascend: host-9 comes before host-10. */
static int compare_names(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
        if (x > 0 && y > 0) {
            unsigned long long p = strtoull(a, NULL, 10), q = strtoull(b, NULL, 10);
            if (p != q)
                return (p > q) - (p < q);
            a += x;
            b += y;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (*a > *b) - (*a < *b);
}

static int by_guid(const void *a, const void *b)
{
    const struct sorted_end *x = a, *y = b;
    return x->guid != y->guid ? (x->guid > y->guid) - (x->guid < y->guid)
                              : (x->num > y->num) - (x->num < y->num);
}

static int by_name(const void *a, const void *b)
{
    const struct sorted_end *x = a, *y = b;
    int names = compare_names(x->name, y->name);
    return names != 0 ? names : by_guid(a, b);
}

static void sort_ends(const struct fab_measurement *f, struct sorted_end *sorted,
                      int (*compare)(const void *a, const void *b), uint32_t *order)
{
    const struct fab_fabric *fabric = f->in->fabric;
    for (uint32_t i = 0; i < f->end_count; i++) {
        const struct fab_port *p = fab_fabric_port(fabric, f->ends[i].port);
        const struct fab_node *node = &fabric->nodes[p->node];
        sorted[i] = (struct sorted_end){node->desc, node->guid, p->num, i};
    }
    qsort(sorted, f->end_count, sizeof *sorted, compare);
    for (uint32_t i = 0; i < f->end_count; i++)
        order[i] = sorted[i].index;
}

static void add_order(struct fab_quality_orders *o, const struct fab_quality_shift *s)
{
    o->max += s->max;
    o->mean += s->mean;
    o->bandwidth += s->bandwidth;
    o->count++;
}

static int measure_orders(const struct fab_measurement *f, struct sorted_end *sorted,
                          uint32_t *order, struct fab_quality_orders *o)
{
    struct fab_quality_shift s;
    struct fab_prng prng;
    int rc = FAB_OK;
    fab_base_prng_init(&prng, f->in->seed ^ 4);
    for (unsigned i = 0; i < 2 + RANDOM_ORDERS && rc == FAB_OK; i++) {
        if (i < 2)
            sort_ends(f, sorted, i == 0 ? by_name : by_guid, order);
        else
            fab_base_prng_shuffle(&prng, order, f->end_count);
        rc = measure_shifts(f, order, ORDER_FLOWS, &s);
        if (rc == FAB_OK)
            add_order(o, &s);
    }
    return rc;
}

int fab_study_measure_orders(const struct fab_measurement *f, const struct fab_quality_shift *own,
                             struct fab_quality_orders *ret)
{
    struct fab_quality_orders o = {0};
    uint32_t *order = new_order(f);
    struct sorted_end *sorted = fab_base_alloc_array(f->end_count, sizeof *sorted);
    int rc = order != NULL && sorted != NULL ? FAB_OK : FAB_E_NOMEM;
    add_order(&o, own);
    if (rc == FAB_OK && f->in->ends == NULL && own->tried > 0)
        rc = measure_orders(f, sorted, order, &o);
    free(order);
    free(sorted);
    o.max /= o.count;
    o.mean /= o.count;
    o.bandwidth /= o.count;
    if (rc == FAB_OK)
        *ret = o;
    return rc;
}

/* ---- random permutations --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int fab_study_measure_random(const struct fab_measurement *f, struct fab_quality_random *ret)
{
    struct traffic t;
    double bandwidth = 0;
    uint32_t samples = f->end_count > 1 ? f->in->samples : 0;
    int rc = traffic_init(&t, f, 2, samples);
    for (uint32_t i = 0; i < samples && rc == FAB_OK; i++) {
        fab_base_prng_shuffle(&t.prng, t.ends, f->end_count);
        struct permutation p = permute(&t, t.ends);
        t.worst[i] = p.most;
        bandwidth += p.bandwidth;
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    if (rc == FAB_OK && samples > 0) {
        qsort(t.worst, samples, sizeof *t.worst, by_value);
        *ret = (struct fab_quality_random){.median = t.worst[samples / 2],
                                           .max = t.worst[samples - 1],
                                           .bandwidth = bandwidth / samples,
                                           .tried = samples};
    }
    traffic_fini(&t);
    return rc;
}

/* ---- random bisections ----------------------------------------------------------------------- */

static double bisect(struct traffic *t)
{
    uint32_t half = t->f->end_count / 2;
    double sum = 0;
    clear(t);
    fab_base_prng_shuffle(&t->prng, t->ends, t->f->end_count);
    for (uint32_t i = 0; i < half; i++)
        flow(t, t->ends[i], t->ends[half + i]);
    for (uint32_t i = 0; i < half; i++)
        sum += share(t, t->ends[i], t->ends[half + i]);
    return sum / half;
}

int fab_study_measure_bisections(const struct fab_measurement *f, struct fab_quality_bisection *ret)
{
    struct fab_quality_bisection b = {0};
    struct traffic t;
    uint32_t samples = f->end_count > 1 ? f->in->samples : 0;
    int rc = traffic_init(&t, f, 3, 0);
    for (b.least = 1; b.tried < samples && rc == FAB_OK; b.tried++) {
        double bandwidth = bisect(&t);
        b.mean += bandwidth / samples;
        b.least = bandwidth < b.least ? bandwidth : b.least;
        rc = fab_study_measurement_stopped(f) ? FAB_E_BUSY : FAB_OK;
    }
    traffic_fini(&t);
    if (rc == FAB_OK && samples > 0)
        *ret = b;
    return rc;
}
