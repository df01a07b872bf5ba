/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the model of data traffic is: `bench_traffic [radix [us]]`, on a fat tree of three
 * levels (20: 2,000 ends) that sends for so long (2000) of its time: a shift, chance (each end to
 * ten others), and half of the ends to sixteen hot spots with the other half to each other. Events
 * and packets a second of CPU time. Prints, judges nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/traffic/traffic.h"

struct scene {
    struct fab_fabric *fabric;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_congestion congestion;
    uint32_t *end, ends; /* port ids, leaf by leaf */
    struct fab_traffic_flow *flows;
    uint32_t count;
};

static void must(int status, const char *what)
{
    if (status == FAB_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, fab_status_text(status));
    exit(1);
}

static void assign(struct scene *s)
{
    const struct fab_fabric *f = s->fabric;
    uint32_t next = 1;
    must(fab_lids_init(&s->lids, f->port_count), "LIDs");
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = f->ports[fab_port_id(f, sw, (uint8_t)num)].peer;
            if (peer == FAB_NONE || f->ports[peer].node < f->switch_count)
                continue;
            s->end[s->ends++] = peer;
            s->lids.base[peer] = next++;
        }
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        s->lids.base[fab_port_id(f, sw, 0)] = next++;
    must(fab_lids_index(&s->lids), "index");
}

static void make(struct scene *s, uint32_t radix)
{
    struct fab_builder *b = NULL;
    char why[200] = "";
    must(fab_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = radix, .levels = 3}, &b),
         "fabric");
    must(fab_builder_seal(b, &s->fabric), "seal");
    fab_builder_free(b);
    fab_policy_defaults(&s->policy);
    s->end = calloc(s->fabric->node_count, sizeof *s->end);
    s->flows = calloc(s->fabric->node_count, 10 * sizeof *s->flows);
    if (s->end == NULL || s->flows == NULL)
        must(FAB_E_NOMEM, "room");
    assign(s);
    struct fab_route_input in = {.fabric = s->fabric, .policy = &s->policy, .lids = &s->lids};
    must(fab_route_engine_by_name("fattree")->run(&in, &s->lft, &s->vls, why, sizeof why), why);
    struct fab_congestion_input cc = {.fabric = s->fabric, .policy = &s->policy};
    must(fab_congestion_compute(&cc, &s->congestion), "congestion control");
}

static void flow(struct scene *s, uint32_t from, uint32_t to, uint64_t end)
{
    if (from == to)
        return;
    s->flows[s->count++] = (struct fab_traffic_flow){.from = s->end[from],
                                                     .to = s->end[to],
                                                     .sl = FAB_TRAFFIC_SL_PATH,
                                                     .end = end,
                                                     .bytes = FAB_TRAFFIC_EVER};
}

static void run(struct scene *s, const char *what, bool controlled, uint64_t end)
{
    struct fab_traffic_input in = {.fabric = s->fabric,
                                   .lids = &s->lids,
                                   .lft = &s->lft,
                                   .vls = &s->vls,
                                   .congestion = controlled ? &s->congestion : NULL,
                                   .seed = 1};
    struct fab_traffic *t = NULL;
    must(fab_traffic_new(&in, s->flows, s->count, &t), "model");
    clock_t since = clock();
    must(fab_traffic_run(t, end), "run");
    double seconds = (double)(clock() - since) / CLOCKS_PER_SEC;
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
    struct scene s = {.ends = 0};
    uint32_t radix = argc > 1 ? (uint32_t)atoi(argv[1]) : 20;
    uint64_t end = (argc > 2 ? (uint64_t)atoi(argv[2]) : 2000) * FAB_TRAFFIC_US;
    struct fab_prng prng;
    fab_prng_init(&prng, 1);
    make(&s, radix);
    printf("%" PRIu32 " ends, %" PRIu32 " switches\n", s.ends, s.fabric->switch_count);
    for (uint32_t i = 0; i < s.ends; i++)
        flow(&s, i, (i + s.ends / 3) % s.ends, end);
    run(&s, "shift", false, end);
    s.count = 0;
    for (uint32_t i = 0; i < 10 * s.ends; i++)
        flow(&s, i % s.ends, (uint32_t)fab_prng_below(&prng, s.ends), end);
    run(&s, "chance", false, end);
    run(&s, "chance", true, end);
    s.count = 0;
    for (uint32_t i = 0; i < s.ends; i++)
        flow(&s, i, (uint32_t)fab_prng_below(&prng, i % 2 ? s.ends : 16), end);
    run(&s, "hot spots", false, end);
    run(&s, "hot spots", true, end);
    return 0;
}
