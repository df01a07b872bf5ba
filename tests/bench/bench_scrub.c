/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the cost of the scrub.
 *
 *     bench_scrub [radix [levels]]
 *
 * The default is the fat tree of 11,664 hosts, with two traffic classes, enforced partitions, an
 * M_Key and the default settings. Devices answer after 100 us, and links take 1 us. The program
 * runs the manager in virtual time for more than one turn over the VL tables. It prints the lengths
 * of both turns, the mean and maximum number of MADs a second (light sweeps included), the maximum
 * number of requests to one device at the same time, and the CPU time of manager and simulation
 * together.
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

/* Runs the manager for this number of seconds, and counts the MADs that it sends in each second. If
 * `ends` is true, this is the last call: prints the mean and the maximum of the counts of all
 * calls. */
static void measure(int seconds, bool ends)
{
    static uint64_t most, sent, passed;
    for (int i = 0; i < seconds; i++) {
        uint64_t before = status(&lab).smps_sent;
        lab_run_for(&lab, 1);
        uint64_t now = status(&lab).smps_sent - before;
        most = now > most ? now : most;
        sent += now;
        passed++;
    }
    if (ends)
        printf("%lu s: %.0f MADs a second in the mean, %lu at most in one second\n",
               (unsigned long)passed, (double)sent / (double)passed, (unsigned long)most);
}

/* ---- requests of the manager ---- */

/* The first request of a turn of the scrub over the VL tables. When the manager sends it again, the
 * turn has ended, because a turn reads each table once. */
struct item {
    uint32_t node, mod;
    uint16_t attr_id;
};
static struct {
    transport_receive *receive;
    void *receive_ctx;
    const struct transport_ops *ops;
    uint8_t *in_flight; /* [node_count] number of requests in flight to the node */
    /* greatest value that in_flight[] of any node has had */
    uint8_t most;
    struct item first;
    uint64_t lanes, turns;
    /* begin and end of the last complete turn of the scrub over the VL tables, in s */
    double began, ended;
    uint64_t turn_reads;
    uint64_t mfts; /* number of reads of MFT blocks */
} seen;

static uint32_t end_of(const struct fab_path *path)
{
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    uint32_t node = f->switch_count; /* the manager's port is at the first adapter */
    for (uint8_t hop = 1; hop <= path->hops; hop++)
        node = fab_fabric_port(
                   f, fab_fabric_port(f, fab_fabric_port_id(f, node, path->port[hop]))->peer)
                   ->node;
    return node;
}

static void note_lanes(const struct item *x)
{
    double now = (double)clock_now_us() / 1e6;
    bool again =
        seen.first.node == x->node && seen.first.mod == x->mod && seen.first.attr_id == x->attr_id;
    if (seen.first.attr_id == 0) {
        seen.first = *x;
        seen.began = now;
    } else if (again) {
        seen.turns++;
        seen.turn_reads = seen.lanes;
        seen.ended = now;
        seen.lanes = 0;
    }
    seen.lanes++;
}

static bool read_head(const struct transport_mad *mad, struct fab_mad *ret)
{
    const uint8_t *data;
    size_t len;
    return fab_wire_mad_unpack(mad->bytes, mad->len, ret, &data, &len) == FAB_OK &&
           ret->mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

static int spy_send(struct transport *t, const struct transport_mad *mad)
{
    struct fab_mad head;
    if (read_head(mad, &head) && head.method == FAB_METHOD_GET) {
        struct item x = {end_of(&head.path), head.attr_mod, head.attr_id};
        uint8_t now = ++seen.in_flight[x.node];
        seen.most = now > seen.most ? now : seen.most;
        seen.mfts += x.attr_id == FAB_ATTR_MFT;
        if (x.attr_id == FAB_ATTR_SL2VL || x.attr_id == FAB_ATTR_VLARB)
            note_lanes(&x);
    }
    return seen.ops->send(t, mad);
}

static void spy_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct fab_mad head;
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        if (read_head(&mads[i], &head) && head.method == FAB_METHOD_GET_RESP) {
            uint32_t node = end_of(&head.path);
            seen.in_flight[node] = (uint8_t)(seen.in_flight[node] - (seen.in_flight[node] > 0));
        }
    seen.receive(seen.receive_ctx, mads, count);
}

static void spy(void)
{
    static struct transport_ops ops;
    struct transport *t = lab.sim_transport;
    seen.ops = t->ops;
    seen.receive = t->receive;
    seen.receive_ctx = t->receive_ctx;
    seen.in_flight = calloc(fab_sim_fabric(lab.sim)->node_count, 1);
    ck_assert_ptr_nonnull(seen.in_flight);
    ops = *t->ops;
    ops.send = spy_send;
    t->ops = &ops;
    transport_on_receive(t, spy_receive, NULL);
}

/* ---- turns ---- */

static bool turn_ended(struct lab *l)
{
    static uint64_t turns;
    uint64_t now = status(l).scrub_turns;
    bool ended = now != turns;
    turns = now;
    return ended;
}

static void run_turn_over_lanes(void)
{
    double start = cpu_s();
    for (int minute = 0; minute < 200 && seen.turns == 0; minute++)
        measure(60, false);
    measure(0, true);
    printf("turn over the VL tables: %.1f minutes, %lu reads; most requests to one device at a "
           "time: %u; %.1f s CPU\n",
           (seen.ended - seen.began) / 60, (unsigned long)seen.turn_reads, seen.most,
           cpu_s() - start);
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
    fab_sim_set_timing(lab.sim, &(struct fab_sim_timing){.hop_us = 1, .answer_us = 100});
    spy();
    start = cpu_s();
    double from = (double)clock_now_us() / 1e6;
    (void)turn_ended(&lab);
    lab_run(&lab, 2000, turn_ended, "a turn over the tables");
    double took = (double)clock_now_us() / 1e6 - from;
    uint64_t reads = status(&lab).scrub_reads, mfts = seen.mfts;
    printf("turn over the tables: %.0f s, %lu reads (%.0f a second), %.1f s CPU\n", took,
           (unsigned long)reads, (double)reads / took, cpu_s() - start);
    run_turn_over_lanes();
    double minutes = (seen.ended - seen.began) / 60;
    printf("MFT blocks: %lu reads in the turn over the tables, %.0f a second until the end\n",
           (unsigned long)mfts, (double)(seen.mfts - mfts) / (minutes * 60));
    free(seen.in_flight);
    lab_close(&lab);
}
END_TEST

/* the benchmark runs inside a Check test, because the simulated manager of the tests uses
 * assertions of Check */
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
