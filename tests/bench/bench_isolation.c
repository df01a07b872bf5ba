/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two ways to isolate bad links: that of fabricd, with the settings of fabricd.yaml(5) and
 * on_errors: isolate; and the published thresholds of the isolation plug-in of another manager. In
 * each scenario (noise, flaps, heat), ten links become bad. The program prints how many healthy
 * links each of the two calls bad, and when it finds the ten bad links. BENCH_SEEDS in the
 * environment is the number of seeds.
 *
 * The published thresholds are those for NDR in the README of the plug-in pdr_deterministic
 * (repository Mellanox/ufm_sdk_3.0). Every 300 s, the plug-in calls a port bad if one of these
 * holds:
 *
 *   - its symbol errors rose by more than 2.88 in 12 minutes, or by more than 3 in 125 minutes;
 *   - LinkDownedCounter rose at both ends of the link;
 *   - it receives errors at more than 1e-12 of its packets;
 *   - the temperature of its module is above 70 degrees, or changed by more than 10 degrees.
 *
 * The plug-in isolates at most max(10, 0.5 % of the ports); this program counts all links that the
 * thresholds call bad. Each port gets a million packets a second. Only this program simulates
 * temperatures: they are 55 degrees, and rise at the leaf that warms up by 0.15 degrees a minute to
 * 72 degrees.
 */
#include <string.h>

#include "tests/sim/isolation_world.h"

#define HEALTHY_MIN 130 /* minutes before links become bad; they fill all windows */
#define BAD_MIN 110     /* minutes with bad links */
#define ROUND_S 300
#define SHORT_S (12 * 60)
#define LONG_S (125 * 60)
#define SHORT_ERRORS 2.88
#define LONG_ERRORS 3
#define DROP_RATE 1e-12
#define PACKETS_PER_S 1e6
#define HOT 70
#define JUMP 10
#define ROUNDS ((HEALTHY_MIN + BAD_MIN) * 60 / ROUND_S + 1)

static const struct scenario {
    const char *name;
    struct noise noise;
    bool flaps, heat; /* flaps: a cable is touched each minute; heat: a leaf warms up */
} scenarios[] = {
    {"quiet: 0.0025 symbol errors a minute (BER 1e-16 at NDR)", {0.0025, 0, 0}, false, false},
    {"at the limit: 0.025 symbol errors a minute (BER 1e-15)", {0.025, 0, 0}, false, false},
    {"noise: 1.5 symbol errors a minute (BER 6e-14), and bursts", {1.5, 0, 60}, false, false},
    {"flaps: as quiet, and a cable is touched each minute", {0.0025, 0, 0}, true, false},
    {"heat: as quiet, and 25 links warm up by 17 degrees, to BER 2e-15",
     {0.0025, 0.0005, 0},
     false,
     true},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* What one of the two ways (fabricd: `ours`, or the published thresholds) calls bad: in the present
 * run, and summed over all runs. */
struct verdict {
    /* For each link, when it was first called bad, in minutes after the ten bad links became bad.
     * Negative: it was called bad before. NAN: it was never called bad. */
    double found_min[LINKS];
    /* over all runs: number of healthy links that were called bad, and number of bad links that
     * were found */
    uint32_t healthy, bad;
    double sum_min, most_min;
};
static struct world w;
static struct verdict ours, published;
/* [round][link] counters of errors at each of the two ends */
static struct sums {
    uint64_t symbols[2], downs[2], receive[2];
} past[ROUNDS][LINKS];

static void call_bad(struct verdict *v, uint32_t link, double minute)
{
    if (__builtin_isnan(v->found_min[link]))
        v->found_min[link] = minute;
}

/* ---- the published thresholds ---------------------------------------------------------------- */

static double temperature(const struct isl *l, double minute)
{
    double warmer = l->manner == WARM && minute > 0 ? 0.15 * minute : 0;
    return 55 + (warmer < 17 ? warmer : 17);
}

static bool is_bad(uint32_t link, uint32_t round, int end, bool heat, double minute)
{
    const struct sums *now = &past[round][link];
    uint32_t s = SHORT_S / ROUND_S + 1, l = LONG_S / ROUND_S;
    double dropped =
        round > 0 ? (double)(now->receive[end] - past[round - 1][link].receive[end]) : 0;
    if (round > 0 && now->downs[0] > past[round - 1][link].downs[0] &&
        now->downs[1] > past[round - 1][link].downs[1])
        return true;
    if (round >= s &&
        (double)(now->symbols[end] - past[round - s][link].symbols[end]) > SHORT_ERRORS)
        return true;
    if (round >= l && now->symbols[end] - past[round - l][link].symbols[end] > LONG_ERRORS)
        return true;
    if (dropped / (PACKETS_PER_S * ROUND_S) > DROP_RATE)
        return true;
    double hot = temperature(&w.isl[link], minute);
    double before = temperature(&w.isl[link], minute - ROUND_S / 60.0);
    return heat && (hot > HOT || hot - before > JUMP);
}

static void judge(uint32_t round, bool heat, double minute)
{
    for (uint32_t i = 0; i < LINKS; i++) {
        struct sums *now = &past[round][i];
        memcpy(now->symbols, w.isl[i].symbols, sizeof(now->symbols));
        memcpy(now->downs, w.isl[i].downs, sizeof(now->downs));
        memcpy(now->receive, w.isl[i].receive, sizeof(now->receive));
        if (is_bad(i, round, 0, heat, minute) || is_bad(i, round, 1, heat, minute))
            call_bad(&published, i, minute);
    }
}

/* ---- fabricd --------------------------------------------------------------------------------- */

static void note_ours(double minute)
{
    static struct sm_isolation list[LINKS];
    uint32_t count = sm_isolations(w.lab.sm, list, LINKS);
    for (uint32_t i = 0; i < count && i < LINKS; i++)
        call_bad(&ours, (uint32_t)(world_isl(&w, list[i].guid[0], list[i].port[0]) - w.isl),
                 minute);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void reset(struct verdict *v)
{
    for (uint32_t i = 0; i < LINKS; i++)
        v->found_min[i] = __builtin_nan("");
}

/* Adds the results of a run to the sums. A bad link that was called bad too early, while it was
 * healthy, counts as a healthy link. */
static void sum_up(struct verdict *v)
{
    for (uint32_t i = 0; i < LINKS; i++) {
        double found = v->found_min[i];
        bool bad = w.isl[i].manner > WARM;
        if (__builtin_isnan(found))
            continue;
        if (!bad || found < 0) {
            v->healthy++;
            continue;
        }
        v->bad++;
        v->sum_min += found;
        v->most_min = found > v->most_min ? found : v->most_min;
    }
}

static void run(const struct scenario *sc, uint64_t seed)
{
    world_begin(&w, seed);
    reset(&ours);
    reset(&published);
    uint32_t begin = HEALTHY_MIN * 60, end = begin + BAD_MIN * 60;
    for (uint32_t s = 0; s < end; s += STEP_S) {
        double minute = ((double)s - begin) / 60;
        if (s == begin)
            world_make_bad(&w, false);
        if (s % ROUND_S == 0)
            judge(s / ROUND_S, sc->heat, minute);
        world_add_errors(&w, &sc->noise, minute);
        if (sc->flaps && s % 60 == 30)
            world_flap_one(&w);
        lab_run_for(&w.lab, STEP_S);
        note_ours(minute + STEP_S / 60.0);
        lab_forget_events(&w.lab);
    }
    sum_up(&ours);
    sum_up(&published);
    world_end(&w);
}

static void print(const char *name, const struct verdict *v, uint32_t seeds)
{
    printf("  %-22s called bad while healthy: %6.1f of %d; bad links found: %4.1f of %d", name,
           (double)v->healthy / seeds, LINKS, (double)v->bad / seeds, BAD);
    if (v->bad > 0)
        printf(", after %.1f min (mean), %.1f min (most)", v->sum_min / v->bad, v->most_min);
    printf("\n");
    fflush(stdout);
}

START_TEST(compare)
{
    const char *given = getenv("BENCH_SEEDS");
    uint32_t seeds = given ? (uint32_t)strtoul(given, NULL, 10) : 3;
    printf("%d links, %d min without and %d min with %d bad links; means of %u seeds\n", LINKS,
           HEALTHY_MIN, BAD_MIN, BAD, seeds);
    for (size_t i = 0; i < SCENARIOS; i++) {
        ours = published = (struct verdict){0};
        for (uint64_t seed = 1; seed <= seeds; seed++)
            run(&scenarios[i], seed);
        printf("%s\n", scenarios[i].name);
        print("fabricd", &ours, seeds);
        print("published thresholds", &published, seeds);
        ck_assert_uint_eq(ours.healthy, 0);
        ck_assert_uint_eq(ours.bad, BAD * seeds);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("isolation");
    TCase *tcase = tcase_create("isolation");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, compare);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
