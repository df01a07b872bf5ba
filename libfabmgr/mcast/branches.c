/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds branches to multicast trees, and removes branches.
 *
 * Each tree has a root: a switch from which the manager computes shortest paths. A branch is the
 * link by which a switch of the tree is connected towards the root. All branches follow shortest
 * paths: the branch of a switch leads to a switch that is one hop nearer to the root. So each
 * switch of the tree has one path towards the root, and the tree has no cycle. Branches that are
 * added one after the other towards the root meet the tree at the root at the latest.
 *
 * The tree ends at the switch at which all its branches, followed towards the root, meet first. So
 * a tree does not always contain its root. For example, the tree of two members at one leaf switch
 * consists of this switch. The top of a tree is the switch of the tree that is nearest to the root.
 * If a new branch reaches the root without meeting the tree, the tree is extended from its top to
 * the root.
 *
 * If the trees follow a guide (guide.h), the guide determines their roots and the branches of all
 * switches. Trees without a guide are made as follows:
 *
 * The root of a new tree is the core switch (distances.c) that is the root of the fewest trees. If
 * a switch has several links towards the root, its branch uses the same link as before, or else the
 * link that is in the fewest trees. Each added or removed branch changes the MFTs.
 */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static int put_bit(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree, uint32_t port,
                   bool value)
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

/* Returns the switch port by which packets leave the last switch on the path to the member `port`:
 * the port at the other end of the member's link, or port 0 of the switch if the member is a
 * switch. FAB_NONE: the member does not exist or has no working link to a switch. */
static uint32_t delivery_port(const struct fab_mcast_net *n, uint32_t port)
{
    if (port == FAB_NONE)
        return FAB_NONE;
    if (n->node[port] < n->switches)
        return n->cap[n->node[port]] > 0 ? n->first_port[n->node[port]] : FAB_NONE;
    return n->peer[port];
}

int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                             const struct fab_mcast_tree_member *m, bool receives)
{
    return put_bit(t, tree, delivery_port(t->net, m->port), receives);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Makes the link at `port` the branch of switch `s`. `s` must have no branch yet, and the switch at
 * the other end of the link must be in the tree. Returns OK or NOMEM. */
static int add_branch(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                      struct fab_mcast_vertex *s, uint32_t port)
{
    uint32_t peer = t->net->peer[port];
    struct fab_mcast_vertex *above = fab_mcast_tree_vertex(tree, t->net->node[peer]);
    int r = put_bit(t, tree, port, true);
    if (r == FAB_OK && (r = put_bit(t, tree, peer, true)) != FAB_OK)
        (void)put_bit(t, tree, port, false);
    if (r != FAB_OK)
        return r;
    s->up = port;
    above->children++;
    above->child_sum += s->sw;
    t->load[port]++;
    t->load[peer]++;
    return FAB_OK;
}

/* Removes the branch of switch `s` from the tree. This cannot fail, because clearing bits in
 * existing MFT blocks needs no memory. */
static void remove_branch(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_vertex *s)
{
    uint32_t port = s->up, peer = t->net->peer[port];
    struct fab_mcast_vertex *above = fab_mcast_tree_vertex(tree, t->net->node[peer]);
    (void)put_bit(t, tree, port, false);
    (void)put_bit(t, tree, peer, false);
    s->up = FAB_NONE;
    above->children--;
    above->child_sum -= s->sw;
    t->load[port]--;
    t->load[peer]--;
}

/* Removes the switch `sw` from the tree if it has neither members nor branches from switches below.
 * Then does the same with the next switch towards the root, and so on. */
static void prune(struct fab_mcast_trees *t, struct fab_mcast_tree *tree, uint32_t sw)
{
    for (;;) {
        struct fab_mcast_vertex *s = fab_mcast_tree_vertex(tree, sw);
        if (s == NULL || s->children > 0 || s->members > 0)
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

void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct fab_mcast_tree *tree)
{
    while (tree->top != FAB_NONE) {
        struct fab_mcast_vertex *s = fab_mcast_tree_vertex(tree, tree->top);
        if (s->children != 1 || s->members > 0)
            return;
        uint32_t child = (uint32_t)s->child_sum;
        remove_branch(t, tree, fab_mcast_tree_vertex(tree, child));
        fab_mcast_tree_remove_vertex(tree, fab_mcast_tree_vertex(tree, tree->top));
        tree->top = child;
    }
}

/* Returns true if the tree follows the guide. */
static bool is_guided(const struct fab_mcast_trees *t, const struct fab_mcast_tree *tree)
{
    return t->guide.switches > 0 && fab_mcast_tree_slot(tree) < t->distances.least;
}

/* Sets *ret to true if the tree can be extended to the switch, because the switch has a path to the
 * root of the tree. Returns OK or NOMEM. */
static int can_reach(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree, uint32_t sw,
                     bool *ret)
{
    if (is_guided(t, tree)) {
        *ret = t->guide.root[sw] == tree->root;
        return FAB_OK;
    }
    const uint16_t *dist =
        fab_mcast_distances_to(&t->distances, tree->root, fab_mcast_tree_slot(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    *ret = dist[sw] != FAB_MCAST_UNREACHED;
    return FAB_OK;
}

/* Returns the port for the branch of a switch: a port whose link leads one hop nearer to the root.
 * Prefers the port `hint`, then the port whose link is in the fewest trees. Of several links that
 * are in equally few trees, the MLID selects one, so that trees spread over the links. FAB_NONE: no
 * link leads nearer. */
static uint32_t link_up(const struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
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

/* Adds branches, one after the other, from switch `sw` towards the root. `sw` must be in the tree
 * and have no branch yet. Stops at the first switch that was in the tree before the call, or at the
 * root, and sets *ret_end to this switch. before: see add_switch(). Returns OK or NOMEM. */
static int extend_up(struct fab_mcast_trees *t, struct fab_mcast_tree *tree, uint32_t sw,
                     const uint32_t *before, uint32_t *ret_end)
{
    const bool guided = is_guided(t, tree);
    const uint16_t *dist =
        guided ? NULL
               : fab_mcast_distances_to(&t->distances, tree->root, fab_mcast_tree_slot(tree));
    if (dist == NULL && !guided)
        return FAB_E_NOMEM;
    while (sw != tree->root) {
        uint32_t port = guided ? t->guide.up[sw]
                               : link_up(t, tree, dist, sw, before != NULL ? before[sw] : FAB_NONE);
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

/* Adds the switch to the tree, with a branch towards the root if needed. before: for each switch,
 * the port that its branch had before the change; the new branch uses the same port if possible.
 * NULL: no port is preferred. Returns OK or NOMEM. */
static int add_switch(struct fab_mcast_trees *t, struct fab_mcast_tree *tree, uint32_t sw,
                      const uint32_t *before)
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
    int r = extend_up(t, tree, sw, before, &end);
    /* The branch may have reached the root without meeting the tree. Then the root and the old top
     * are not connected yet, so the tree is also extended from the old top to the root. */
    if (r == FAB_OK && end == tree->root && top != end &&
        fab_mcast_tree_vertex(tree, top)->up == FAB_NONE) {
        tree->top = end;
        r = extend_up(t, tree, top, before, &end);
    }
    return r;
}

void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct fab_mcast_tree *tree)
{
    for (size_t i = 0; i < tree->vertices; i++)
        if (tree->vertex[i].up != FAB_NONE)
            remove_branch(t, tree, &tree->vertex[i]);
    for (size_t i = 0; i < tree->members; i++) {
        struct fab_mcast_tree_member *m = &tree->member[i];
        if (m->port != FAB_NONE)
            (void)fab_mcast_tree_set_entry(t, tree, m, false);
        m->port = FAB_NONE;
    }
    tree->vertices = tree->attached = 0;
    tree->top = FAB_NONE;
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* Chooses the root of the tree. If the tree follows a guide that contains `sw`, chooses the root of
 * `sw` in the guide. If not, chooses the core switch with a path to `sw` that is the root of the
 * fewest trees. If no core switch has a path to `sw`, chooses `sw` itself. Returns OK or NOMEM. */
static int choose_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree, uint32_t sw)
{
    uint32_t best = sw;
    bool found = is_guided(t, tree) && t->guide.root[sw] != FAB_NONE;
    if (found) {
        tree->root = t->guide.root[sw];
        t->roots[tree->root]++;
        return FAB_OK;
    }
    for (uint32_t i = 0; i < t->net->switches; i++) {
        uint32_t root = (i + tree->mlid) % t->net->switches;
        if (!fab_base_bits_get(t->distances.core, root) ||
            (found && t->roots[root] >= t->roots[best]))
            continue;
        const uint16_t *dist =
            fab_mcast_distances_to(&t->distances, root, fab_mcast_tree_slot(tree));
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

void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree)
{
    if (tree->root != FAB_NONE)
        t->roots[tree->root]--;
    tree->root = FAB_NONE;
}

/* ---- members --------------------------------------------------------------------------------- */

int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m, const uint32_t *before)
{
    uint32_t port = fab_mcast_net_port(t->net, m->guid), out = delivery_port(t->net, port);
    if (out == FAB_NONE)
        return FAB_OK;
    uint32_t sw = t->net->node[out];
    int r = tree->root == FAB_NONE ? choose_root(t, tree, sw) : FAB_OK;
    if (r != FAB_OK)
        return r;
    bool reached;
    r = can_reach(t, tree, sw, &reached);
    if (r != FAB_OK || !reached)
        return r;
    r = add_switch(t, tree, sw, before);
    if (r == FAB_OK && m->receives > 0)
        r = put_bit(t, tree, out, true);
    if (r != FAB_OK) {
        fab_mcast_tree_clear(t, tree);
        t->broken = true;
        return r;
    }
    fab_mcast_tree_vertex(tree, sw)->members++;
    m->port = port;
    tree->attached++;
    return FAB_OK;
}

void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                           struct fab_mcast_tree_member *m)
{
    if (m->port == FAB_NONE)
        return;
    uint32_t out = delivery_port(t->net, m->port), sw = t->net->node[out];
    if (m->receives > 0)
        (void)put_bit(t, tree, out, false);
    m->port = FAB_NONE;
    tree->attached--;
    fab_mcast_tree_vertex(tree, sw)->members--;
    prune(t, tree, sw);
}

int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                              const uint32_t *before)
{
    int r = FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = fab_mcast_tree_attach(t, tree, &tree->member[i], before);
    if (r != FAB_OK || tree->attached > 0 || tree->root == FAB_NONE)
        return r;
    fab_mcast_tree_drop_root(t, tree);
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = fab_mcast_tree_attach(t, tree, &tree->member[i], before);
    return r;
}
