/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the CPU time of the plan after a fault, and prints what the plan writes.
 *
 *     bench_plan [radix [levels]]
 *
 * The default is the fat tree of 11,664 hosts. The faults are a link of a leaf, a link of a root
 * switch, and a whole switch of each level; then all of them are restored. The last plan writes all
 * tables. It is not part of `make check`, and checks nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/route/route.h"
#include "tests/bench/bench.h"

#define ROUNDS 5

static struct fab_target *tables_of(const struct fab_fabric *f, const struct fab_policy *p,
                                    const char *engine)
{
    struct fab_target *t = fab_target_new();
    struct fab_address_note *notes = NULL;
    size_t count;
    char why[200];
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = p}, &t->lids, &notes,
                            &count),
         "address");
    free(notes);
    must(fab_route_engine_by_name(engine)->run(
             &(struct fab_route_input){.fabric = f, .policy = p, .lids = &t->lids}, &t->lft,
             &t->vls, why, sizeof(why)),
         "route");
    return t;
}

static void time_change(const char *what, const struct fab_fabric *f, const struct fab_policy *p,
                        const struct fab_target *old, struct fab_target *now)
{
    struct fab_observed at;
    struct fab_plan plan;
    double least = 1e9;
    must(fab_plan_observed_init(&at, f->switch_count, now->lids.top), "observed");
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t block = 0; block < at.blocks; block++)
            fab_plan_observed_set_block(
                &at, sw, block, fab_target_lft_row(&old->lft, sw) + (size_t)block * FAB_LFT_BLOCK);
    const struct fab_plan_input in = {
        .fabric = f, .policy = p, .target = now, .observed = &at, .sm_lid = 1};
    for (unsigned i = 0; i < ROUNDS; i++) {
        double start = cpu_ms();
        must(fab_plan_make(&in, &plan), "plan");
        least = cpu_ms() - start < least ? cpu_ms() - start : least;
        if (i + 1 < ROUNDS)
            fab_plan_fini(&plan);
    }
    uint32_t parts = 0, barriers = 0, waits = 0;
    uint32_t from = plan.stage_start[FAB_STAGE_ROUTES], to = plan.stage_start[FAB_STAGE_ROUTES + 1];
    for (uint32_t i = from; i < to; i++) {
        parts += plan.ops[i].keep != 0;
        barriers += plan.ops[i].barrier;
        waits += plan.ops[i].waits;
    }
    uint64_t entries = 0;
    for (size_t i = 0; i < now->lft.stride * f->switch_count; i++)
        entries += now->lft.entries[i] != old->lft.entries[i];
    printf("%-24s %8.2f ms  %" PRIu64
           " entries, %u writes, %u in parts; %u wait, %u barriers; unordered %u%s\n",
           what, least, entries, to - from, parts, waits, barriers, plan.unordered,
           plan.unchecked ? ", UNCHECKED" : "");
    fab_plan_fini(&plan);
    fab_plan_observed_fini(&at);
}

/* Measures the plan after a fault of the link of this port, and the plan after the link is back.
 * all: true: all links of the same switch fail, too. */
static void time_fault(const char *what, const struct fab_fabric *f, const struct fab_policy *p,
                       struct fab_target *whole, uint32_t port, bool all, const char *engine)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *broken;
    char name[80];
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    for (unsigned num = 1; num <= n->num_ports; num++)
        if (all || num == fab_fabric_port(f, port)->num)
            must(fab_fabric_builder_unlink(b, fab_fabric_port(f, port)->node, (uint8_t)num),
                 "unlink");
    must(fab_fabric_builder_seal(b, &broken), "seal");
    struct fab_target *during = tables_of(broken, p, engine);
    snprintf(name, sizeof(name), "%s lost", what);
    time_change(name, broken, p, whole, during);
    snprintf(name, sizeof(name), "%s restored", what);
    time_change(name, f, p, during, whole);
    fab_target_unref(during);
    fab_fabric_unref(broken);
    fab_fabric_builder_free(b);
}

/* Returns a port that leads up from a switch of this rank, to a switch of a higher rank; FAB_NONE:
 * there is none. */
static uint32_t port_of_rank(const struct fab_fabric *f, const struct fab_ranks *r, unsigned rank)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t node = fab_fabric_port(f, port)->node, peer = fab_fabric_peer_node(f, port);
        if (!fab_fabric_node_is_switch(f, node) || r->rank[node] != rank || peer == FAB_NONE ||
            !fab_fabric_node_is_switch(f, peer))
            continue;
        if (r->rank[peer] > rank)
            return port;
    }
    return FAB_NONE;
}

int main(int argc, char **argv)
{
    struct fab_fat_tree_spec spec = {.radix = argc > 1 ? (uint32_t)atoi(argv[1]) : 36,
                                     .levels = argc > 2 ? (uint32_t)atoi(argv[2]) : 3};
    struct fab_builder *b;
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_ranks ranks;
    fab_policy_defaults(&p);
    must(fab_fabric_generate_fat_tree(&spec, &b), "fat tree");
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    must(fab_route_ranks_find(f, &p, &ranks), "ranks");
    printf("%u switches, %u other nodes\n", f->switch_count, f->node_count - f->switch_count);
    struct fab_target *whole = tables_of(f, &p, "fattree"), *other = tables_of(f, &p, "updn");
    time_change("nothing", f, &p, whole, whole);
    for (unsigned rank = 0; rank + 1 < spec.levels; rank++) {
        char what[40];
        uint32_t port = port_of_rank(f, &ranks, rank);
        snprintf(what, sizeof(what), "link up from rank %u", rank);
        time_fault(what, f, &p, whole, port, false, "fattree");
        snprintf(what, sizeof(what), "switch of rank %u", rank + 1);
        time_fault(what, f, &p, whole, fab_fabric_port(f, port)->peer, true, "fattree");
    }
    time_change("another engine", f, &p, whole, other);
    fab_target_unref(whole);
    fab_target_unref(other);
    fab_route_ranks_fini(&ranks);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    return 0;
}
