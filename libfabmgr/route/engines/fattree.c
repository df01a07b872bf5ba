/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "fattree": D-mod-k in closed form, tolerant of faults (Zahavi 2012 for sound trees;
 * Gliksberg, Capra, Louvet, Garcia, Sohier, "High-quality fault-resiliency in fat-tree networks",
 * 2019, for the idea of the modulo among those that are nearer), with candidates that stay where
 * they are.
 *
 *   order.c  ranks, and which way is up; summit.c gives spines a legal way to each other
 *   tree.c   which of its siblings a switch is, by the ports of its cables
 *   slots.c  which port is meant by the i-th one up, also when it is not there
 *   lanes.c  the number of each destination, and its slot everywhere
 *   legal.c  how long the ways are
 *   fill.c   the entries
 *
 * All ways climb and then descend by one order: one VL, no deadlock. In a sound tree every shift
 * permutation is free of conflict, and all cables carry the same in all-to-all. A fault moves the
 * entries that led over what is gone, and those which must avoid switches that lost their way down;
 * when it is mended the tables are what they were, since nothing is remembered.
 *
 * What it does not take are fabrics in which "leaf" and "above" mean nothing: see
 * fab_route_order_is_flat().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/fattree/fill.h"

/* Switches whose cables are not those of their level (slots.c): likewise. */
#define IRREGULAR_SHARE 5
/* More than one of so many cables up is missing: likewise. */
#define SHORT_SHARE 8

struct fattree {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown slopes;
    struct fab_tree tree;
    struct fab_dmodk lanes;
    struct fab_lft lft;
};

/* ---- what is not taken, and what is ---------------------------------------------------------- */

static uint32_t first_short(const struct fab_tree *t, bool irregular)
{
    for (uint32_t s = 0; s < t->g->n; s++) {
        bool climbs = t->slot_at[s + 1] > t->slot_at[s];
        if (irregular ? t->irregular_switch[s] : climbs && !t->whole[s])
            return s;
    }
    return 0;
}

/* Slots say little where many are empty, or where many switches have slots of their own. */
static bool irregular(const struct fattree *t, char *why, size_t why_len)
{
    const struct fab_tree *tree = &t->tree;
    const struct fab_node *nodes = t->in->fabric->nodes;
    uint32_t climbing = 0, slots = tree->slot_at[t->graph.n];
    for (uint32_t s = 0; s < t->graph.n; s++)
        climbing += tree->slot_at[s + 1] > tree->slot_at[s];
    if ((uint64_t)tree->irregular * IRREGULAR_SHARE > climbing) {
        snprintf(why, why_len,
                 "irregular: %u of %u switches have fewer or other cables up than is usual on "
                 "their level, such as %.40s",
                 tree->irregular, climbing, nodes[first_short(tree, true)].desc);
        return true;
    }
    if ((uint64_t)tree->short_slots * SHORT_SHARE > slots) {
        snprintf(why, why_len, "irregular: %u of %u cables up %s missing, such as of %.40s",
                 tree->short_slots, slots, fab_plural(tree->short_slots, "is", "are"),
                 nodes[first_short(tree, false)].desc);
        return true;
    }
    return false;
}

static void describe(const struct fattree *t, char *why, size_t why_len)
{
    const struct fab_tree *tree = &t->tree;
    uint32_t leaves = 0;
    char pods[32] = "", rails[32] = "", gaps[48] = "";
    for (uint32_t s = 0; s < t->graph.n; s++)
        leaves += t->order.leaf[s];
    if (tree->levels > 2)
        snprintf(pods, sizeof(pods), " in %u pod%s", tree->pods, fab_s(tree->pods));
    if (tree->rails > 1)
        snprintf(rails, sizeof(rails), ", %u rails", tree->rails);
    if (tree->short_slots > 0)
        snprintf(gaps, sizeof(gaps), ", %u cable%s up %s missing", tree->short_slots,
                 fab_s(tree->short_slots), fab_plural(tree->short_slots, "is", "are"));
    snprintf(why, why_len, "fat tree of %u level%s, %u lea%s%s%s%s", tree->levels,
             fab_s(tree->levels), leaves, fab_plural(leaves, "f", "ves"), pods, rails, gaps);
}

/* Do most leaves have more hosts than cables up, and no multiple of these? No closed form spreads
 * that evenly. */
static bool uneven(const struct fattree *t)
{
    uint32_t leaves = 0, odd = 0;
    for (uint32_t s = 0; s < t->graph.n; s++) {
        uint32_t hosts = t->graph.hosts[s], up = t->tree.slot_at[s + 1] - t->tree.slot_at[s];
        leaves += t->order.leaf[s];
        odd += t->order.leaf[s] && up > 0 && hosts > up && hosts % up != 0;
    }
    return odd * 2 > leaves;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int prepare(struct fattree *t, char *why, size_t why_len)
{
    const struct fab_route_input *in = t->in;
    int status = fab_route_graph_make(in->fabric, &t->graph);
    if (status == FAB_OK)
        status = fab_route_order_ranked(&t->graph, in->fabric, in->policy, &t->order);
    if (status == FAB_OK && fab_route_order_is_flat(&t->graph, &t->order, in->fabric, why, why_len))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK)
        status = fab_route_updown_make(&t->graph, &t->order, &t->slopes);
    if (status == FAB_OK)
        status = fab_route_tree_make(in->fabric, &t->graph, &t->order, &t->slopes, &t->tree);
    if (status == FAB_OK && irregular(t, why, why_len))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK)
        status = fab_route_dmodk_make(&t->tree, in->lids, &t->lanes);
    if (status == FAB_OK)
        status = fab_lft_init(&t->lft, in->fabric->switch_count, in->lids->top);
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)

{
    (void)ret_vls; /* one lane */
    struct fattree t = {.in = in};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int status = prepare(&t, why, why_len);
    if (status == FAB_OK)
        status = fab_route_tree_fill(&t.tree, &t.lanes, in->crew, &t.lft);
    if (status == FAB_OK) {
        describe(&t, why, why_len);
        if (in->flawed != NULL && (t.tree.short_slots > 0 || t.tree.irregular > 0 || uneven(&t)))
            *in->flawed = true;
        *ret_lft = t.lft;
    } else {
        fab_lft_fini(&t.lft);
    }
    fab_route_dmodk_fini(&t.lanes);
    fab_route_tree_fini(&t.tree);
    fab_route_updown_fini(&t.slopes);
    fab_route_order_fini(&t.order);
    fab_route_graph_fini(&t.graph);
    return status;
}

const struct fab_route_engine fab_route_engine_fattree = {
    .name = "fattree",
    .summary = "fat trees: D-mod-k in closed form, a fault moves only what it hits, one VL",
    .run = run,
};
