/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the multicast trees by MLID, and their members. branches.c adds branches to a tree.
 * trees_update.c adapts all trees to a changed fabric.
 */
#include "libfabmgr/mcast/trees.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/tree.h"

#define MLIDS (FAB_MLID_LAST - FAB_MLID_FIRST + 1)

void fab_mcast_trees_free(struct fab_mcast_trees *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->slots; i++)
        fab_mcast_tree_free(t->tree[i]);
    free(t->tree);
    if (t->distances.net != NULL)
        fab_mcast_distances_fini(&t->distances);
    free(t->load);
    free(t->roots);
    fab_mcast_guide_fini(&t->guide);
    fab_target_blocks_fini(&t->tables);
    fab_mcast_net_free(t->net);
    free(t);
}

static void find_room(struct fab_mcast_trees *t)
{
    uint32_t able = 0;
    t->room = MLIDS;
    t->fewest = FAB_NONE;
    for (uint32_t sw = 0; sw < t->net->switches; sw++) {
        able += t->net->cap[sw] > 0;
        if (t->net->cap[sw] > 0 && t->net->cap[sw] < t->room) {
            t->room = t->net->cap[sw];
            t->fewest = sw;
        }
    }
    if (t->net->switches > 0 && able == 0)
        t->room = 0;
}

int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret)
{
    struct fab_mcast_trees *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        fab_mcast_net_free(net);
        return FAB_E_NOMEM;
    }
    t->net = net;
    find_room(t);
    t->load = calloc((size_t)net->ports + 1, sizeof(*t->load));
    t->roots = calloc((size_t)net->switches + 1, sizeof(*t->roots));
    int r = t->load != NULL && t->roots != NULL ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = fab_mcast_distances_init(&t->distances, net);
    if (r == FAB_OK)
        *ret = t;
    else
        fab_mcast_trees_free(t);
    return r;
}

int fab_mcast_trees_new(const struct fab_fabric *f, struct fab_mcast_trees **ret)
{
    struct fab_mcast_net *net;
    int r = fab_mcast_net_new(f, &net);
    return r == FAB_OK ? fab_mcast_trees_new_over(net, ret) : r;
}

uint32_t fab_mcast_trees_room(const struct fab_mcast_trees *t, uint32_t *ret_switch)
{
    if (ret_switch != NULL)
        *ret_switch = t->fewest;
    return t->room;
}

/* ---- the tree of an MLID --------------------------------------------------------------------- */

static struct fab_mcast_tree *tree_of(const struct fab_mcast_trees *t, uint16_t mlid)
{
    uint32_t slot = (uint32_t)mlid - FAB_MLID_FIRST;
    return mlid >= FAB_MLID_FIRST && slot < t->slots ? t->tree[slot] : NULL;
}

/* Stores the tree in the array of trees, which is indexed by MLID. Returns NOMEM, or OK; after OK,
 * the array owns the tree. */
static int place_tree(struct fab_mcast_trees *t, struct fab_mcast_tree *tree)
{
    uint32_t slot = fab_mcast_tree_slot(tree);
    if (slot >= t->slots) {
        uint32_t slots = slot / 64 * 64 + 64;
        struct fab_mcast_tree **more = reallocarray(t->tree, slots, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        memset(more + t->slots, 0, (slots - t->slots) * sizeof(*more));
        t->tree = more;
        t->slots = slots;
    }
    t->tree[slot] = tree;
    t->count++;
    return FAB_OK;
}

int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret)
{
    struct fab_mcast_tree *tree = fab_mcast_tree_new(mlid);
    int r = tree != NULL ? place_tree(t, tree) : FAB_E_NOMEM;
    if (r == FAB_OK)
        *ret = tree;
    else
        fab_mcast_tree_free(tree);
    return r;
}

static int open_tree(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret)
{
    if (mlid < FAB_MLID_FIRST || mlid - FAB_MLID_FIRST >= fab_mcast_trees_room(t, NULL))
        return FAB_E_RANGE;
    *ret = tree_of(t, mlid);
    return *ret != NULL ? FAB_OK : fab_mcast_trees_add(t, mlid, ret);
}

static void close_tree(struct fab_mcast_trees *t, struct fab_mcast_tree *tree)
{
    if (tree->members > 0)
        return;
    fab_mcast_tree_drop_root(t, tree);
    t->tree[fab_mcast_tree_slot(tree)] = NULL;
    t->count--;
    fab_mcast_tree_free(tree);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Sets the numbers of joins of a member as a receiver and as a sender. If necessary, extends the
 * tree to the member, removes the member's branch, or changes whether the member receives packets.
 * Returns OK or NOMEM. */
static int set_counts(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                      struct fab_mcast_tree_member *m, uint32_t receives, uint32_t sends)
{
    bool stays = receives > 0 || sends > 0, received = m->receives > 0;
    int r = FAB_OK;
    if (!stays)
        fab_mcast_tree_detach(t, tree, m);
    m->receives = receives;
    m->sends = sends;
    if (stays && m->port == FAB_NONE)
        r = fab_mcast_tree_attach(t, tree, m, NULL);
    else if (stays && received != (receives > 0))
        r = fab_mcast_tree_set_entry(t, tree, m, receives > 0);
    fab_mcast_tree_trim(t, tree);
    return r;
}

/* Removes the member if it has no join left. */
static void drop_unjoined(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m)
{
    if (m->receives > 0 || m->sends > 0)
        return;
    fab_mcast_tree_remove_member(tree, m);
    close_tree(t, tree);
}

int fab_mcast_trees_join(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                         bool receives)
{
    struct fab_mcast_tree *tree;
    int r = open_tree(t, mlid, &tree);
    if (r != FAB_OK)
        return r;
    struct fab_mcast_tree_member *m = fab_mcast_tree_find_member(tree, port_guid);
    if (m == NULL && (m = fab_mcast_tree_add_member(tree, port_guid)) == NULL) {
        close_tree(t, tree);
        return FAB_E_NOMEM;
    }
    r = set_counts(t, tree, m, m->receives + receives, m->sends + !receives);
    if (r != FAB_OK) {
        m->receives -= receives;
        m->sends -= !receives;
        drop_unjoined(t, tree, m);
    }
    return r;
}

int fab_mcast_trees_leave(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                          bool receives)
{
    struct fab_mcast_tree *tree = tree_of(t, mlid);
    struct fab_mcast_tree_member *m =
        tree != NULL ? fab_mcast_tree_find_member(tree, port_guid) : NULL;
    if (m == NULL || (receives ? m->receives : m->sends) == 0)
        return FAB_E_NOT_FOUND;
    /* set_counts() fails only if it cannot extend the tree to a member that the tree did not reach
     * before. The next update tries this again. */
    if (set_counts(t, tree, m, m->receives - receives, m->sends - !receives) != FAB_OK)
        t->broken = true;
    drop_unjoined(t, tree, m);
    return FAB_OK;
}

bool fab_mcast_trees_are_broken(const struct fab_mcast_trees *t)
{
    return t->broken;
}

/* ---- queries --------------------------------------------------------------------------------- */

const struct fab_mcast_net *fab_mcast_trees_net(const struct fab_mcast_trees *t)
{
    return t->net;
}

const struct fab_blocks *fab_mcast_trees_tables(const struct fab_mcast_trees *t)
{
    return &t->tables;
}

void fab_mcast_trees_take_changed(struct fab_mcast_trees *t,
                                  uint64_t set[FAB_MCAST_BLOCK_GROUPS / 64])
{
    for (size_t i = 0; i < FAB_MCAST_BLOCK_GROUPS / 64; i++) {
        set[i] |= t->changed[i];
        t->changed[i] = 0;
    }
}

uint32_t fab_mcast_trees_count(const struct fab_mcast_trees *t)
{
    return t->count;
}

bool fab_mcast_trees_reaches(const struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid)
{
    const struct fab_mcast_tree *tree = tree_of(t, mlid);
    const struct fab_mcast_tree_member *m =
        tree != NULL ? fab_mcast_tree_find_member(tree, port_guid) : NULL;
    return m != NULL && m->port != FAB_NONE;
}

uint32_t fab_mcast_trees_missing(const struct fab_mcast_trees *t, uint16_t mlid)
{
    const struct fab_mcast_tree *tree = tree_of(t, mlid);
    uint32_t missing = 0;
    for (size_t i = 0; tree != NULL && i < tree->members; i++)
        missing += tree->member[i].port == FAB_NONE;
    return missing;
}
