/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the CPU time to adapt multicast to a new fabric, as fabricd does after a sweep or a
 * repair. fabricd assigns the known tables of the switches to their new ids, updates the trees, and
 * plans the writes.
 *
 * bench_mcast [radix] [groups]
 *
 * The defaults are 36 (11,664 hosts) and one group. The program measures first without members, and
 * then with every host in every group. It is not part of `make check`, and checks nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/mcast/trees.h"
#include "libfabmgr/plan/mft_writes.h"
#include "libfabmgr/verify/multicast.h"
#include "tests/bench/bench.h"

#define RUNS 5

/* ---- fabrics --------------------------------------------------------------------------------- */

static struct fab_fabric *made(unsigned radix)
{
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3};
    must(fab_fabric_generate_fat_tree(&spec, &b), "fat tree");
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        f->switches[sw].multicast_fdb_cap = 1024;
    return f;
}

static void cut(struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    fab_fabric_edit_port(f, port)->peer = FAB_NONE;
    if (peer != FAB_NONE)
        fab_fabric_edit_port(f, peer)->peer = FAB_NONE;
}

static bool has_ends(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t n = 1; n <= f->nodes[sw].num_ports; n++) {
        uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + n);
        if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer))
            return true;
    }
    return false;
}

static uint32_t a_leaf(const struct fab_fabric *f)
{
    for (uint32_t sw = f->switch_count / 2; sw < f->switch_count; sw++)
        if (has_ends(f, sw))
            return sw;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (has_ends(f, sw))
            return sw;
    return 0;
}

/* ---- one change ------------------------------------------------------------------------------ */

struct state {
    struct fab_mcast_trees *trees;
    struct fab_blocks held;
};

/* Carries out a plan of MFT writes on the stored state of the switches. Blocks that the plan reads
 * are empty. */
static void carry_out(struct state *s, const struct fab_plan_mft *p)
{
    static const uint16_t zeros[FAB_BLOCK_ENTRIES];
    for (unsigned stage = 0; stage < FAB_MFT_STAGES; stage++)
        for (size_t i = 0; i < p->stage[stage].count; i++) {
            const struct fab_plan_mft_op *op = &p->stage[stage].op[i];
            must(fab_target_blocks_put(&s->held, op->sw, op->number,
                                       stage == FAB_MFT_READ ? zeros : op->entry),
                 "held");
        }
}

static size_t plan(struct state *s, bool all, double *ret_ms)
{
    struct fab_plan_mft p = {0};
    uint64_t open[FAB_MFT_GROUPS / 64];
    memset(open, all ? 0xff : 0, sizeof(open));
    fab_mcast_trees_take_changed(s->trees, open);
    struct fab_plan_mft_input in = {.net = fab_mcast_trees_net(s->trees),
                                    .want = fab_mcast_trees_tables(s->trees),
                                    .held = &s->held,
                                    .groups = open};
    double from = cpu_ms();
    must(fab_plan_mft_make(&in, &p), "plan");
    *ret_ms = cpu_ms() - from;
    size_t ops = p.stage[0].count + p.stage[1].count + p.stage[2].count;
    carry_out(s, &p);
    fab_plan_mft_fini(&p);
    return ops;
}

static void settle(struct state *s)
{
    double ms;
    while (plan(s, true, &ms) > 0)
        ;
}

struct spent {
    double move, follow, plan;
};

static void follow(struct state *s, const struct fab_fabric *now, struct spent *worst)
{
    struct fab_blocks held = {0};
    const struct fab_mcast_net *n = fab_mcast_trees_net(s->trees);
    double at[3], planned;
    at[0] = cpu_ms();
    must(fab_plan_mft_remap(&s->held, n->guid, n->switches, now, &held), "move");
    fab_target_blocks_fini(&s->held);
    s->held = held;
    at[1] = cpu_ms();
    must(fab_mcast_trees_update(s->trees, now), "follow");
    at[2] = cpu_ms();
    (void)plan(s, true, &planned);
    double all = at[2] - at[0] + planned;
    if (all > worst->move + worst->follow + worst->plan)
        *worst = (struct spent){at[1] - at[0], at[2] - at[1], planned};
    settle(s);
}

static void show(const char *what, const struct spent *w)
{
    printf("  %-28s move %6.2f  follow %6.2f  plan %6.2f  all %6.2f ms\n", what, w->move, w->follow,
           w->plan, w->move + w->follow + w->plan);
}

static void changes(struct state *s, const struct fab_fabric *f)
{
    struct spent same = {0}, link = {0}, restored = {0}, leaf = {0}, back = {0};
    for (unsigned i = 0; i < RUNS; i++) {
        struct fab_fabric *one, *dead;
        uint32_t sw = a_leaf(f);
        must(fab_fabric_clone(f, &one), "clone");
        must(fab_fabric_clone(f, &dead), "clone");
        cut(one, one->nodes[sw].first_port + one->nodes[sw].num_ports / 2 + 1 + i);
        for (uint32_t n = 1; n <= dead->nodes[sw].num_ports; n++)
            cut(dead, dead->nodes[sw].first_port + n);
        follow(s, f, &same);
        follow(s, one, &link);
        follow(s, f, &restored);
        follow(s, dead, &leaf);
        follow(s, f, &back);
        fab_fabric_unref(one);
        fab_fabric_unref(dead);
    }
    show("nothing changed", &same);
    show("a link down", &link);
    show("and back", &restored);
    show("all links of a leaf", &leaf);
    show("and back", &back);
}

static void join_all(struct state *s, const struct fab_fabric *f, unsigned groups)
{
    double from = cpu_ms();
    for (unsigned g = 0; g < groups; g++)
        for (uint32_t p = 0; p < f->port_count; p++)
            if (fab_fabric_port(f, p)->guid != 0 &&
                !fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node))
                must(fab_mcast_trees_join(s->trees, (uint16_t)(FAB_MLID_FIRST + g),
                                          fab_fabric_port(f, p)->guid, true),
                     "join");
    printf("  all joined in %.2f ms\n", cpu_ms() - from);
}

/* Proves that all trees are correct, but not their channel dependencies. */
static void prove(struct state *s, const struct fab_fabric *f, unsigned groups)
{
    struct fab_multicast_verdict v;
    struct fab_verify_multicast_lid *lid = calloc(groups, sizeof(*lid));
    struct fab_verify_multicast_member *member = calloc(f->port_count, sizeof(*member));
    uint32_t count = 0;
    must(lid && member ? FAB_OK : FAB_E_NOMEM, "members");
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->guid != 0 &&
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node))
            member[count++] = (struct fab_verify_multicast_member){
                .guid = fab_fabric_port(f, p)->guid, .receives = true};
    for (unsigned g = 0; g < groups; g++)
        lid[g] = (struct fab_verify_multicast_lid){
            .mlid = (uint16_t)(FAB_MLID_FIRST + g), .sls = 1, .count = count};
    const struct fab_verify_multicast_input in = {.fabric = f,
                                                  .mft = fab_mcast_trees_tables(s->trees),
                                                  .member = member,
                                                  .lid = lid,
                                                  .lids = groups};
    double from = cpu_ms();
    must(fab_verify_multicast(&in, &v), "proof");
    printf("  proof of %u trees %.2f ms, %u failed\n", v.lids, cpu_ms() - from, v.failed);
    fab_verify_multicast_fini(&v);
    free(member);
    free(lid);
}

int main(int argc, char **argv)
{
    unsigned radix = argc > 1 ? (unsigned)atoi(argv[1]) : 36;
    unsigned groups = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    struct fab_fabric *f = made(radix);
    struct state s = {0};
    double planned, from = cpu_ms();
    must(fab_mcast_trees_new(f, &s.trees), "trees");
    printf("%u switches, %u ports: new %.2f ms\nnobody joined:\n", f->switch_count, f->port_count,
           cpu_ms() - from);
    settle(&s);
    changes(&s, f);
    printf("all in %u groups:\n", groups);
    join_all(&s, f, groups);
    size_t reads = plan(&s, true, &planned);
    printf("  first plan %.2f ms, %zu reads\n", planned, reads);
    size_t writes = plan(&s, true, &planned);
    printf("  second plan %.2f ms, %zu writes\n", planned, writes);
    prove(&s, f, groups);
    settle(&s);
    changes(&s, f);
    fab_mcast_trees_free(s.trees);
    fab_target_blocks_fini(&s.held);
    fab_fabric_unref(f);
    return 0;
}
