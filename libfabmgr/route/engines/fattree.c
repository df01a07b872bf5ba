/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "fattree" computes D-mod-k in closed form and tolerates faults. In complete trees, the
 * tables follow Zahavi (2012). In incomplete trees, the modulo counts only neighbours that are
 * nearer to the destination; this rule follows Gliksberg, Capra, Louvet, Garcia, Sohier
 * ("High-quality fault-resiliency in fat-tree networks", 2019). In addition, if a neighbour of a
 * switch fails, those entries of the switch that lead to its other neighbours need not change. The
 * parts are:
 *
 *   switch_order.c  ranks, and which direction is up; single_root.c gives spines legal paths to
 *                   each other
 *   tree.c          the position of a switch among its siblings, from the ports of its links
 *   slots.c         which port is the i-th port up, even if its link is missing
 *   dmodk.c         the number of each destination, and its slot at every switch
 *   legal_paths.c   the lengths of the legal paths
 *   fill.c          the LFT entries
 *
 * All paths ascend and then descend by one order, so one VL is free of deadlock. In a complete tree
 * every shift permutation is free of conflicts, and all-to-all loads all links of a level equally.
 *
 * A fault moves only two kinds of entries: those that used the failed link, and those whose next
 * switch has lost its path down. When the link comes back, the tables are the same as before the
 * fault, since the engine keeps no state. The engine refuses fabrics without ranks
 * (fab_route_order_is_flat()).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/fattree/fill.h"
#include "libfabmgr/route/updown/slow_links.h"

/* Limits of the engine. It refuses a fabric if more than 1 / IRREGULAR_SHARE of the switches with
 * uplinks are irregular (slots.c), or if more than 1 / SHORT_SHARE of the uplinks are missing. */
#define IRREGULAR_SHARE 5
#define SHORT_SHARE 8

struct fattree {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown updown;
    struct fab_tree tree;
    struct fab_dmodk dmodk;
    struct fab_lft lft;
};

/* ---- which trees the engine refuses ---------------------------------------------------------- */

/* Returns words that follow "missing" in messages: " or too slow" if slow links were left out,
 * because these links count as missing (updown/slow_links.c); otherwise "". */
static const char *or_slow(const struct fattree *t)
{
    return t->graph.left_out > 0 ? " or too slow" : "";
}

static uint32_t first_short(const struct fab_tree *t, bool irregular)
{
    for (uint32_t s = 0; s < t->g->n; s++) {
        bool has_links_up = t->slot_at[s + 1] > t->slot_at[s];
        if (irregular ? t->irregular_switch[s] : has_links_up && !t->whole[s])
            return s;
    }
    return 0;
}

/* Returns true if many slots (slots.c) have no link, or if the slots of many switches differ from
 * those that are usual on their level. In such a tree, D-mod-k does not balance the loads. */
static bool irregular(const struct fattree *t, char *why, size_t why_len)
{
    const struct fab_tree *tree = &t->tree;
    const struct fab_node *nodes = t->in->fabric->nodes;
    uint32_t with_links_up = 0, slots = tree->slot_at[t->graph.n];
    for (uint32_t s = 0; s < t->graph.n; s++)
        with_links_up += tree->slot_at[s + 1] > tree->slot_at[s];
    if ((uint64_t)tree->irregular * IRREGULAR_SHARE > with_links_up) {
        snprintf(why, why_len,
                 "irregular tree: %u of %u switches have fewer or other links up "
                 "than their level, for example %.40s",
                 tree->irregular, with_links_up, nodes[first_short(tree, true)].name);
        return true;
    }
    if ((uint64_t)tree->empty_slots * SHORT_SHARE > slots) {
        snprintf(why, why_len,
                 "irregular tree: %u of %u links up %s missing%s, for example of "
                 "%.40s",
                 tree->empty_slots, slots, fab_base_plural(tree->empty_slots, "is", "are"),
                 or_slow(t), nodes[first_short(tree, false)].name);
        return true;
    }
    return false;
}

static void describe(const struct fattree *t, char *why, size_t why_len)
{
    const struct fab_tree *tree = &t->tree;
    uint32_t leaves = 0;
    char pods[32] = "", rails[32] = "", gaps[64] = "";
    for (uint32_t s = 0; s < t->graph.n; s++)
        leaves += t->order.leaf[s];
    if (tree->levels > 2)
        snprintf(pods, sizeof(pods), " in %u pod%s", tree->pods, fab_base_plural_s(tree->pods));
    if (tree->rails > 1)
        snprintf(rails, sizeof(rails), ", %u rails", tree->rails);
    if (tree->empty_slots > 0)
        snprintf(gaps, sizeof(gaps), ", %u link%s up %s missing%s", tree->empty_slots,
                 fab_base_plural_s(tree->empty_slots),
                 fab_base_plural(tree->empty_slots, "is", "are"), or_slow(t));
    snprintf(why, why_len, "fat tree of %u level%s, %u lea%s%s%s%s", tree->levels,
             fab_base_plural_s(tree->levels), leaves, fab_base_plural(leaves, "f", "ves"), pods,
             rails, gaps);
}

/* Returns true if most leaves have more hosts than uplinks, and their number of hosts is not a
 * multiple of the number of uplinks. D-mod-k then gives some uplinks more hosts than others. */
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
    int status = fab_route_slow_links_omit(in->fabric, in->policy, fab_route_order_ranked,
                                           &t->graph, &t->order);
    if (status == FAB_OK && fab_route_order_is_flat(&t->graph, &t->order, in->fabric, why, why_len))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK)
        status = fab_route_updown_make(&t->graph, &t->order, &t->updown);
    if (status == FAB_OK)
        status = fab_route_tree_make(in->fabric, &t->graph, &t->order, &t->updown, &t->tree);
    if (status == FAB_OK && irregular(t, why, why_len))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK)
        status = fab_route_dmodk_make(&t->tree, in->lids, &t->dmodk);
    if (status == FAB_OK)
        status = fab_target_lft_init(&t->lft, in->fabric->switch_count, in->lids->top);
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)

{
    (void)ret_vls; /* *ret_vls stays zero: the tables use one VL */
    struct fattree t = {.in = in};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int status = prepare(&t, why, why_len);
    if (status == FAB_OK)
        status = fab_route_tree_fill(&t.tree, &t.dmodk, in->pool, &t.lft);
    if (status == FAB_OK) {
        describe(&t, why, why_len);
        if (in->flawed != NULL && (t.tree.empty_slots > 0 || t.tree.irregular > 0 || uneven(&t)))
            *in->flawed = true;
        *ret_lft = t.lft;
    } else {
        fab_target_lft_fini(&t.lft);
    }
    fab_route_dmodk_fini(&t.dmodk);
    fab_route_tree_fini(&t.tree);
    fab_route_updown_fini(&t.updown);
    fab_route_order_fini(&t.order);
    fab_route_graph_fini(&t.graph);
    return status;
}

const struct fab_route_engine fab_route_engine_fattree = {
    .name = "fattree",
    .summary =
        "fat trees: D-mod-k in closed form, a fault moves only the entries it affects, one VL",
    .run = run,
};
