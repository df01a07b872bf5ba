/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the scrub costs: `bench_scrub [radix [levels]]`, by default the fat tree of 11,664 hosts,
 * with two traffic classes, enforced partitions, an M_Key and the default settings. It runs the
 * manager in virtual time for more than two turns over the tables, and prints the length of a turn,
 * the MADs a second in the mean and at most (the VL tables and light sweeps included), and the CPU
 * time of manager and simulation together.
 */
#include <time.h>

#include "fabricd/base/clock.h"
#include "tests/attack/tamper.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct lab lab;

static void measure(double seconds)
{
    uint64_t most = 0, first = status(&lab).smps_sent, before = first;
    for (double i = 0; i < seconds; i++) {
        lab_run_for(&lab, 1);
        uint64_t now = status(&lab).smps_sent;
        most = now - before > most ? now - before : most;
        before = now;
    }
    printf("%.0f s: %.0f MADs a second in the mean, %lu at most in one second\n", seconds,
           (double)(before - first) / seconds, (unsigned long)most);
}

static bool turn_ended(struct lab *l)
{
    static uint64_t turns;
    uint64_t now = status(l).scrub_turns;
    bool ended = now != turns;
    turns = now;
    return ended;
}

static struct fab_fat_tree_spec spec = {.radix = 36, .levels = 3, .taper = 1, .parallel = 1};

START_TEST(the_cost)
{
    struct fab_builder *b;
    double start = cpu_s();
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    bring_up_fabric(&lab, b, 600);
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    printf("%u switches, %u hosts; bring-up and joins: %.1f s CPU\n", f->switch_count,
           f->node_count - f->switch_count, cpu_s() - start);
    start = cpu_s();
    double from = (double)clock_now_us() / 1e6;
    (void)turn_ended(&lab);
    lab_run(&lab, 2000, turn_ended, "a turn over the tables");
    double took = (double)clock_now_us() / 1e6 - from;
    uint64_t reads = status(&lab).scrub_reads;
    printf("turn over the tables: %.0f s, %lu reads (%.0f a second), %.1f s CPU\n", took,
           (unsigned long)reads, (double)reads / took, cpu_s() - start);
    start = cpu_s();
    measure(600);
    printf("%.1f s CPU\n", cpu_s() - start);
    lab_close(&lab);
}
END_TEST

/* The laboratory asserts, which only tests can. */
int main(int argc, char **argv)
{
    Suite *s = suite_create("scrub");
    TCase *t = tcase_create("cost");
    setenv("CK_FORK", "no", 1);
    spec.radix = argc > 1 ? (uint32_t)atoi(argv[1]) : spec.radix;
    spec.levels = argc > 2 ? (uint32_t)atoi(argv[2]) : spec.levels;
    tcase_add_test(t, the_cost);
    suite_add_tcase(s, t);
    return test_run(s);
}
