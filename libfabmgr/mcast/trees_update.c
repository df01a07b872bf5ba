/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adapts the trees to a changed fabric. A branch stays if its link still works and is still on a
 * shortest path. Members that have lost their branch get a new one.
 *
 * If switches and ports keep their ids, only trees that the changed links affect are rebuilt, in
 * place. Otherwise all trees are built again, and replace the old trees when they are complete.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"

/* ---- changed links --------------------------------------------------------------------------- */

/* Returns true if a branch or a member of the tree uses the port. */
static bool is_at(const struct fab_mcast_trees *t, const struct fab_mcast_tree *tree, uint32_t port)
{
    const struct fab_mcast_net *n = t->net;
    uint32_t peer = n->peer[port];
    if (n->node[port] >= n->switches)
        return n->port_guid[port] != 0 &&
               fab_mcast_tree_find_member(tree, n->port_guid[port]) != NULL;
    const struct fab_mcast_vertex *s = fab_mcast_tree_vertex(tree, n->node[port]);
    const struct fab_mcast_vertex *above =
        peer != FAB_NONE ? fab_mcast_tree_vertex(tree, n->node[peer]) : NULL;
    return (s != NULL && s->up == port) || (above != NULL && above->up == peer);
}

static bool uses(const struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                 const struct fab_mcast_net_diff *d)
{
    bool found = tree->attached < tree->members;
    for (size_t i = 0; i < d->count && !found; i++)
        found = is_at(t, tree, d->change[i].port);
    return found;
}

/* Sets *ret to true if, after links have changed, each branch of the tree still leads one hop
 * nearer to the root. */
static int is_shortest(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree, bool *ret)
{
    bool same = true;
    const uint16_t *dist =
        fab_mcast_distances_to(&t->distances, tree->root, fab_mcast_tree_slot(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < tree->vertices && same; i++) {
        const struct fab_mcast_vertex *s = &tree->vertex[i];
        same =
            dist[s->sw] != FAB_MCAST_UNREACHED &&
            (s->up == FAB_NONE || dist[fab_mcast_net_peer_node(t->net, s->up)] + 1 == dist[s->sw]);
    }
    *ret = same;
    return FAB_OK;
}

/* Sets affected[] for the trees that have a branch which no longer leads one hop nearer to the
 * root. First finds the trees to check, by fab_mcast_distances_unchanged, and then checks them. In
 * one pass, the first of several trees with the same root would make is_shortest() compute the
 * distances to this root again, and these would then count as unchanged for the other trees. */
static int find_longer(struct fab_mcast_trees *t, uint64_t *affected)
{
    uint64_t *check = fab_base_bits_new(t->slots);
    int r = check != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++)
        if (t->tree[i] != NULL && !fab_base_bits_get(affected, i) &&
            !fab_mcast_distances_unchanged(&t->distances, t->tree[i]->root, i))
            fab_base_bits_set(check, i);
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++) {
        bool same = true;
        if (fab_base_bits_get(check, i))
            r = is_shortest(t, t->tree[i], &same);
        if (!same)
            fab_base_bits_set(affected, i);
    }
    free(check);
    return r;
}

/* Finds the trees that the changed links affect, and puts the new links into the net. Before the
 * call, `d` has the new links; afterwards, it has the old ones. */
static int find_affected(struct fab_mcast_trees *t, struct fab_mcast_net_diff *d,
                         uint64_t *affected)
{
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->tree[i] != NULL && uses(t, t->tree[i], d))
            fab_base_bits_set(affected, i);
    fab_mcast_net_swap(t->net, d);
    int r = fab_mcast_distances_update(&t->distances, d);
    return r == FAB_OK ? find_longer(t, affected) : r;
}

/* Rebuilds a tree, with its old branches where possible. The old tree can be cleared only while the
 * net has the links of the old branches. So the function puts the old links back into the net for
 * this moment. */
static int rebuild(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                   struct fab_mcast_net_diff *d, uint32_t *up)
{
    memset(up, 0xff, t->net->switches * sizeof(*up));
    for (size_t i = 0; i < tree->vertices; i++)
        up[tree->vertex[i].sw] = tree->vertex[i].up;
    fab_mcast_net_swap(t->net, d);
    fab_mcast_tree_clear(t, tree);
    fab_mcast_net_swap(t->net, d);
    int r = fab_mcast_tree_attach_all(t, tree, up);
    fab_mcast_tree_trim(t, tree);
    return r;
}

static int follow_links(struct fab_mcast_trees *t, struct fab_mcast_net_diff *d)
{
    uint64_t *affected = fab_base_bits_new(t->slots);
    uint32_t *up = fab_base_alloc_array(t->net->switches, sizeof(*up));
    int r = FAB_E_NOMEM;
    if (affected != NULL && up != NULL && (r = find_affected(t, d, affected)) != FAB_OK) {
        fab_mcast_net_swap(t->net, d);
        t->broken = true;
    }
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++)
        if (fab_base_bits_get(affected, i))
            r = rebuild(t, t->tree[i], d, up);
    t->broken |= r != FAB_OK;
    free(affected);
    free(up);
    return r;
}

/* ---- a guide --------------------------------------------------------------------------------- */

int fab_mcast_trees_follow(struct fab_mcast_trees *t, struct fab_mcast_guide *guide)
{
    int r = FAB_OK;
    fab_mcast_guide_fini(&t->guide);
    t->guide = *guide;
    *guide = (struct fab_mcast_guide){0};
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++) {
        if (t->tree[i] == NULL)
            continue;
        fab_mcast_tree_clear(t, t->tree[i]);
        fab_mcast_tree_drop_root(t, t->tree[i]);
        r = fab_mcast_tree_attach_all(t, t->tree[i], NULL);
        fab_mcast_tree_trim(t, t->tree[i]);
    }
    t->broken |= r != FAB_OK;
    return r;
}

bool fab_mcast_trees_have_guide(const struct fab_mcast_trees *t)
{
    return t->guide.switches > 0;
}

/* ---- another fabric -------------------------------------------------------------------------- */

/* the state of an update that builds all trees again, for example because ids of switches differ
 * between the old and the new snapshot */
struct move {
    const struct fab_mcast_net *old;
    struct fab_mcast_trees *to;
    /* [old switch_count] new id of each switch of the old snapshot; FAB_NONE: the switch is gone */
    uint32_t *sw;
    /* [switches of the new snapshot] for the tree that is being rebuilt: the port that the branch
     * of each switch had before the update, as an id of the new snapshot; FAB_NONE: no branch */
    uint32_t *up;
    /* true: the old trees follow a guide. The new trees then keep no roots and no branches of the
     * old trees, so that they do not depend on earlier faults. */
    bool anew;
};

static uint32_t moved_port(const struct move *m, uint32_t port)
{
    const struct fab_mcast_net *now = m->to->net;
    uint32_t sw = m->sw[m->old->node[port]], num = fab_mcast_net_num(m->old, port);
    return sw != FAB_NONE && now->first_port[sw] + num < now->first_port[sw + 1]
               ? now->first_port[sw] + num
               : FAB_NONE;
}

static void set_before(const struct move *m, const struct fab_mcast_tree *was, bool set)
{
    for (size_t i = 0; i < was->vertices; i++) {
        uint32_t sw = m->sw[was->vertex[i].sw];
        if (sw != FAB_NONE)
            m->up[sw] =
                set && was->vertex[i].up != FAB_NONE ? moved_port(m, was->vertex[i].up) : FAB_NONE;
    }
}

/* Makes the root of the old tree the root of the new tree, if this switch still exists. */
static void keep_root(const struct move *m, const struct fab_mcast_tree *was,
                      struct fab_mcast_tree *tree)
{
    uint32_t root = was->root != FAB_NONE ? m->sw[was->root] : FAB_NONE;
    if (root == FAB_NONE)
        return;
    tree->root = root;
    m->to->roots[root]++;
}

static int move_tree(const struct move *m, const struct fab_mcast_tree *was)
{
    struct fab_mcast_tree *tree;
    int r = fab_mcast_trees_add(m->to, was->mlid, &tree);
    if (r != FAB_OK)
        return r;
    for (size_t i = 0; i < was->members; i++) {
        struct fab_mcast_tree_member *member = fab_mcast_tree_add_member(tree, was->member[i].guid);
        if (member == NULL)
            return FAB_E_NOMEM;
        member->receives = was->member[i].receives;
        member->sends = was->member[i].sends;
    }
    if (!m->anew) {
        keep_root(m, was, tree);
        set_before(m, was, true);
    }
    r = fab_mcast_tree_attach_all(m->to, tree, m->up);
    set_before(m, was, false);
    fab_mcast_tree_trim(m->to, tree);
    return r;
}

/* Sets m->sw to the new ids of the switches of the old snapshot. */
static int match_switches(struct move *m)
{
    const struct fab_mcast_net *now = m->to->net;
    struct fab_map ids = {0};
    int r = fab_base_map_reserve(&ids, now->switches);
    for (uint32_t sw = 0; r == FAB_OK && sw < now->switches; sw++)
        r = fab_base_map_put(&ids, now->guid[sw], sw);
    for (uint32_t sw = 0; r == FAB_OK && sw < m->old->switches; sw++)
        if (!fab_base_map_get(&ids, m->old->guid[sw], &m->sw[sw]))
            m->sw[sw] = FAB_NONE;
    fab_base_map_fini(&ids);
    return r;
}

static int move_all(struct fab_mcast_trees *t, struct move *m)
{
    uint32_t switches = m->to->net->switches;
    m->sw = fab_base_alloc_array(m->old->switches, sizeof(*m->sw));
    m->up = fab_base_alloc_array(switches, sizeof(*m->up));
    int r = m->sw != NULL && m->up != NULL ? match_switches(m) : FAB_E_NOMEM;
    if (r != FAB_OK)
        return r;
    memset(m->up, 0xff, switches * sizeof(*m->up));
    memcpy(m->to->changed, t->changed, sizeof(t->changed));
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++) {
        if (t->tree[i] == NULL)
            continue;
        fab_base_bits_set(m->to->changed, i / FAB_BLOCK_ENTRIES);
        r = move_tree(m, t->tree[i]);
    }
    return r;
}

static int follow_all(struct fab_mcast_trees *t, struct fab_mcast_net *now)
{
    struct move m = {.old = t->net, .anew = fab_mcast_trees_have_guide(t)};
    int r = fab_mcast_trees_new_over(now, &m.to);
    if (r != FAB_OK)
        return r;
    r = move_all(t, &m);
    free(m.sw);
    free(m.up);
    if (r == FAB_OK) {
        struct fab_mcast_trees was = *t;
        *t = *m.to;
        *m.to = was;
    }
    fab_mcast_trees_free(m.to);
    return r;
}

int fab_mcast_trees_update_over(struct fab_mcast_trees *t, struct fab_mcast_net *now)
{
    struct fab_mcast_net_diff d = {0};
    int r = t->broken ? FAB_E_EXISTS : fab_mcast_net_compare(t->net, now, &d);
    if (r == FAB_OK && d.count > 0 && fab_mcast_trees_have_guide(t)) {
        fab_mcast_net_diff_fini(&d);
        r = FAB_E_EXISTS;
    }
    if (r == FAB_E_EXISTS)
        return follow_all(t, now);
    if (r == FAB_OK && d.count > 0)
        r = follow_links(t, &d);
    fab_mcast_net_diff_fini(&d);
    fab_mcast_net_free(now);
    return r;
}

int fab_mcast_trees_update(struct fab_mcast_trees *t, const struct fab_fabric *now)
{
    struct fab_mcast_net *net;
    int r = fab_mcast_net_new(now, &net);
    return r == FAB_OK ? fab_mcast_trees_update_over(t, net) : r;
}
