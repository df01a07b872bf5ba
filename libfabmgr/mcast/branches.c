/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a tree grows and shrinks.
 *
 * Each tree has a root, and all its branches lead towards it on shortest ways: a switch's branch
 * goes to one that is a hop nearer. So there is one way up from each switch, none leads in a
 * circle, and what is added meets the tree, at the latest at the root. The root itself, and what is
 * below it, belongs to the tree only if ways meet there: two members at one leaf have a tree of one
 * switch. A tree's highest switch is its top; where a branch misses it, the top grows up towards
 * the root until it meets the branch.
 *
 * Roots are the core switches in turn (ways.c), those of the fewest trees first; of several ways up
 * a branch takes the one that it had before, else the one with the fewest trees on it. The tables
 * follow with each branch that comes or goes.
 */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static int put_bit(struct fab_mcast_trees *t, const struct tree *tree, uint32_t port, bool value)
{
    uint8_t num = fab_mcast_net_num(t->net, port);
    uint16_t *entry =
        fab_target_blocks_edit(&t->tables, t->net->node[port], fab_mft_number(tree->mlid, num));
    if (entry == NULL)
        return FAB_E_NOMEM;
    fab_base_bits_set(t->changed, fab_mcast_tree_slot(tree) / FAB_BLOCK_ENTRIES);
    uint16_t bit = (uint16_t)(1u << num % 16);
    entry += fab_mcast_tree_slot(tree) % FAB_BLOCK_ENTRIES;
    *entry = (uint16_t)(value ? *entry | bit : *entry & ~bit);
    return FAB_OK;
}

/* The port of a switch that a member's packets come out of: before it, or port 0 of its own.
 * FAB_NONE: it has no working cable to a switch, or is not there. */
static uint32_t outlet(const struct fab_mcast_net *n, uint32_t port)
{
    if (port == FAB_NONE)
        return FAB_NONE;
    if (n->node[port] < n->switches)
        return n->cap[n->node[port]] > 0 ? n->first_port[n->node[port]] : FAB_NONE;
    return n->peer[port];
}

int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct tree *tree,
                             const struct member *m, bool receives)
{
    return put_bit(t, tree, outlet(t->net, m->port), receives);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* The branch of a spot that has none; its upper end is a spot. */
static int add_branch(struct fab_mcast_trees *t, struct tree *tree, struct spot *s, uint32_t port)
{
    uint32_t peer = t->net->peer[port];
    struct spot *above = fab_mcast_tree_vertex(tree, t->net->node[peer]);
    int r = put_bit(t, tree, port, true);
    if (r == FAB_OK)
        r = put_bit(t, tree, peer, true);
    if (r != FAB_OK)
        return r;
    s->up = port;
    above->kids++;
    above->kid_sum += s->sw;
    t->load[port]++;
    t->load[peer]++;
    return FAB_OK;
}

/* (Clearing bits of blocks that are there needs no memory.) */
static void remove_branch(struct fab_mcast_trees *t, struct tree *tree, struct spot *s)
{
    uint32_t port = s->up, peer = t->net->peer[port];
    struct spot *above = fab_mcast_tree_vertex(tree, t->net->node[peer]);
    (void)put_bit(t, tree, port, false);
    (void)put_bit(t, tree, peer, false);
    s->up = FAB_NONE;
    above->kids--;
    above->kid_sum -= s->sw;
    t->load[port]--;
    t->load[peer]--;
}

/* Takes away what leads to nobody, from a switch upwards. */
static void prune(struct fab_mcast_trees *t, struct tree *tree, uint32_t sw)
{
    for (;;) {
        struct spot *s = fab_mcast_tree_vertex(tree, sw);
        if (s == NULL || s->kids > 0 || s->ends > 0)
            return;
        bool is_top = s->up == FAB_NONE;
        if (!is_top) {
            sw = fab_mcast_net_peer_node(t->net, s->up);
            remove_branch(t, tree, s);
        }
        fab_mcast_tree_remove_vertex(tree, s);
        if (is_top) {
            tree->top = FAB_NONE;
            return;
        }
    }
}

void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct tree *tree)
{
    while (tree->top != FAB_NONE) {
        struct spot *s = fab_mcast_tree_vertex(tree, tree->top);
        if (s->kids != 1 || s->ends > 0)
            return;
        uint32_t kid = (uint32_t)s->kid_sum;
        remove_branch(t, tree, fab_mcast_tree_vertex(tree, kid));
        fab_mcast_tree_remove_vertex(tree, fab_mcast_tree_vertex(tree, tree->top));
        tree->top = kid;
    }
}

/* The port that leads a switch a hop nearer to the root: `hint`, where that does, else the one
 * with the fewest trees on it, by turns for different trees. FAB_NONE: none. */
static uint32_t way_up(const struct fab_mcast_trees *t, const struct tree *tree,
                       const uint16_t *dist, uint32_t sw, uint32_t hint)
{
    const struct fab_mcast_net *n = t->net;
    uint32_t best = FAB_NONE, first = n->first_port[sw] + 1, count = n->first_port[sw + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = first + (i + tree->mlid) % count, above = fab_mcast_net_peer_node(n, port);
        if (above == FAB_NONE || dist[above] == FAB_MCAST_UNREACHED || dist[above] + 1 != dist[sw])
            continue;
        if (port == hint)
            return port;
        if (best == FAB_NONE || t->load[port] < t->load[best])
            best = port;
    }
    return best;
}

/* From a spot without a branch up to a spot that is there already, or the root. What is passed
 * becomes part of the tree. *ret_end: where it ended. */
static int climb(struct fab_mcast_trees *t, struct tree *tree, uint32_t sw, const uint32_t *before,
                 uint32_t *ret_end)
{
    const uint16_t *dist = fab_mcast_distances_to(&t->ways, tree->root, fab_mcast_tree_slot(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    while (sw != tree->root) {
        uint32_t port = way_up(t, tree, dist, sw, before != NULL ? before[sw] : FAB_NONE);
        uint32_t above = fab_mcast_net_peer_node(t->net, port);
        bool meets = fab_mcast_tree_vertex(tree, above) != NULL;
        if (!meets && fab_mcast_tree_add_vertex(tree, above) == NULL)
            return FAB_E_NOMEM;
        int r = add_branch(t, tree, fab_mcast_tree_vertex(tree, sw), port);
        if (r != FAB_OK)
            return r;
        sw = above;
        if (meets)
            break;
    }
    *ret_end = sw;
    return FAB_OK;
}

/* The switch becomes a spot of the tree. */
static int attach(struct fab_mcast_trees *t, struct tree *tree, uint32_t sw, const uint32_t *before)
{
    uint32_t end, top = tree->top;
    if (fab_mcast_tree_vertex(tree, sw) != NULL)
        return FAB_OK;
    if (fab_mcast_tree_add_vertex(tree, sw) == NULL)
        return FAB_E_NOMEM;
    if (top == FAB_NONE) {
        tree->top = sw;
        return FAB_OK;
    }
    int r = climb(t, tree, sw, before, &end);
    /* It met the tree, or else the root, which is the top of two trees then: the old one climbs. */
    if (r == FAB_OK && end == tree->root && top != end &&
        fab_mcast_tree_vertex(tree, top)->up == FAB_NONE) {
        tree->top = end;
        r = climb(t, tree, top, before, &end);
    }
    return r;
}

void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct tree *tree)
{
    for (size_t i = 0; i < tree->spots; i++)
        if (tree->spot[i].up != FAB_NONE)
            remove_branch(t, tree, &tree->spot[i]);
    for (size_t i = 0; i < tree->members; i++) {
        struct member *m = &tree->member[i];
        if (m->port != FAB_NONE)
            (void)fab_mcast_tree_set_entry(t, tree, m, false);
        m->port = FAB_NONE;
    }
    tree->spots = tree->in = 0;
    tree->top = FAB_NONE;
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* The core switch with the fewest trees that has a way to `sw`. */
static int choose_root(struct fab_mcast_trees *t, struct tree *tree, uint32_t sw)
{
    uint32_t best = sw;
    bool found = false;
    for (uint32_t i = 0; i < t->net->switches; i++) {
        uint32_t root = (i + tree->mlid) % t->net->switches;
        if (!fab_base_bits_get(t->ways.core, root) || (found && t->roots[root] >= t->roots[best]))
            continue;
        const uint16_t *dist = fab_mcast_distances_to(&t->ways, root, fab_mcast_tree_slot(tree));
        if (dist == NULL)
            return FAB_E_NOMEM;
        if (dist[sw] == FAB_MCAST_UNREACHED)
            continue;
        best = root;
        found = true;
    }
    tree->root = best;
    t->roots[best]++;
    return FAB_OK;
}

void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct tree *tree)
{
    if (tree->root != FAB_NONE)
        t->roots[tree->root]--;
    tree->root = FAB_NONE;
}

/* ---- members --------------------------------------------------------------------------------- */

int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct tree *tree, struct member *m,
                          const uint32_t *before)
{
    uint32_t port = fab_mcast_net_port(t->net, m->guid), out = outlet(t->net, port);
    if (out == FAB_NONE)
        return FAB_OK;
    uint32_t sw = t->net->node[out];
    int r = tree->root == FAB_NONE ? choose_root(t, tree, sw) : FAB_OK;
    if (r != FAB_OK)
        return r;
    const uint16_t *dist = fab_mcast_distances_to(&t->ways, tree->root, fab_mcast_tree_slot(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    if (dist[sw] == FAB_MCAST_UNREACHED)
        return FAB_OK;
    r = attach(t, tree, sw, before);
    if (r == FAB_OK && m->receives > 0)
        r = put_bit(t, tree, out, true);
    if (r != FAB_OK) {
        fab_mcast_tree_clear(t, tree);
        t->broken = true;
        return r;
    }
    fab_mcast_tree_vertex(tree, sw)->ends++;
    m->port = port;
    tree->in++;
    return FAB_OK;
}

void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct tree *tree, struct member *m)
{
    if (m->port == FAB_NONE)
        return;
    uint32_t out = outlet(t->net, m->port), sw = t->net->node[out];
    if (m->receives > 0)
        (void)put_bit(t, tree, out, false);
    m->port = FAB_NONE;
    tree->in--;
    fab_mcast_tree_vertex(tree, sw)->ends--;
    prune(t, tree, sw);
}

/* A root that cannot be reached from where most are is none. */
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct tree *tree, const uint32_t *before)
{
    int r = FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = fab_mcast_tree_attach(t, tree, &tree->member[i], before);
    if (r != FAB_OK || tree->in > 0 || tree->root == FAB_NONE)
        return r;
    fab_mcast_tree_drop_root(t, tree);
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = fab_mcast_tree_attach(t, tree, &tree->member[i], before);
    return r;
}
