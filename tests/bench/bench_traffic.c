/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the speed of the traffic model.
 *
 *     bench_traffic [endports [us]]
 *
 * The fabric is a fat tree of 64, 324, 648 or 2000 (default) endports. They send for `us`
 * microseconds (default 2000) of model time: a shift; random traffic, each endport to ten others;
 * and an incast, in which half of the endports send to sixteen endports while the other half send
 * to each other. Prints events and packets a second of CPU time.
 */
#include <inttypes.h>

#include "tests/bench/congestion/scene.h"

struct bench {
    struct scene scene;
    struct fab_congestion congestion;
    struct fab_traffic_flow *flows;
    uint32_t count;
};

static void flow(struct bench *b, uint32_t from, uint32_t to, uint64_t end)
{
    if (from == to)
        return;
    b->flows[b->count++] = (struct fab_traffic_flow){.from = b->scene.end[from],
                                                     .to = b->scene.end[to],
                                                     .sl = FAB_TRAFFIC_PATH_SL,
                                                     .end = end,
                                                     .bytes = FAB_TRAFFIC_FOREVER};
}

static void run(struct bench *b, const char *what, bool controlled, uint64_t end)
{
    struct fab_traffic_input in = {.fabric = b->scene.fabric,
                                   .lids = &b->scene.lids,
                                   .lft = &b->scene.lft,
                                   .vls = &b->scene.vls,
                                   .congestion = controlled ? &b->congestion : NULL,
                                   .seed = 1};
    struct fab_traffic *t = NULL;
    must(fab_traffic_new(&in, b->flows, b->count, &t), "model");
    double since = cpu_s();
    must(fab_traffic_run(t, end), "run");
    double seconds = cpu_s() - since;
    struct fab_traffic_totals x = fab_traffic_totals(t);
    printf("%-16s %-6s %8.2f s %8.1f M events %7.2f M/s %7.2f M packets %6.2f M/s\n", what,
           controlled ? "cc" : "no cc", seconds, (double)x.events / 1e6,
           (double)x.events / 1e6 / seconds, (double)x.delivered / 1e6,
           (double)x.delivered / 1e6 / seconds);
    fflush(stdout);
    fab_traffic_free(t);
}

int main(int argc, char **argv)
{
    struct bench b = {.count = 0};
    uint64_t end = (argc > 2 ? (uint64_t)atoi(argv[2]) : 2000) * US;
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    scene_init(&b.scene, argc > 1 ? argv[1] : "2000", false);
    settings(&b.scene, OURS, 0, &b.congestion);
    uint32_t ends = b.scene.ends;
    if ((b.flows = calloc(ends, 10 * sizeof *b.flows)) == NULL)
        must(FAB_E_NOMEM, "flows");
    printf("%" PRIu32 " ends, %" PRIu32 " switches\n", ends, b.scene.fabric->switch_count);
    for (uint32_t i = 0; i < ends; i++)
        flow(&b, i, (i + ends / 3) % ends, end);
    run(&b, "shift", false, end);
    b.count = 0;
    for (uint32_t i = 0; i < 10 * ends; i++)
        flow(&b, i % ends, (uint32_t)fab_base_prng_below(&prng, ends), end);
    run(&b, "chance", false, end);
    run(&b, "chance", true, end);
    b.count = 0;
    for (uint32_t i = 0; i < ends; i++)
        flow(&b, i, (uint32_t)fab_base_prng_below(&prng, i % 2 ? ends : 16), end);
    run(&b, "hot spots", false, end);
    run(&b, "hot spots", true, end);
    free(b.flows);
    fab_congestion_fini(&b.congestion);
    scene_fini(&b.scene);
    return 0;
}
