/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switches (struct fab_mcast_vertex) and members of a multicast tree. Both arrays are sorted: a
 * binary search finds an entry, and the order of entries does not depend on the order of joins.
 */
#include "libfabmgr/mcast/tree.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"

struct fab_mcast_tree *fab_mcast_tree_new(uint16_t mlid)
{
    struct fab_mcast_tree *tree = calloc(1, sizeof(*tree));
    if (tree != NULL)
        *tree = (struct fab_mcast_tree){.mlid = mlid, .root = FAB_NONE, .top = FAB_NONE};
    return tree;
}

void fab_mcast_tree_free(struct fab_mcast_tree *tree)
{
    if (tree == NULL)
        return;
    free(tree->vertex);
    free(tree->member);
    free(tree);
}

static size_t vertex_index(const struct fab_mcast_tree *t, uint32_t sw)
{
    size_t low = 0, high = t->vertices;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->vertex[mid].sw < sw)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct fab_mcast_vertex *fab_mcast_tree_vertex(const struct fab_mcast_tree *t, uint32_t sw)
{
    size_t i = vertex_index(t, sw);
    return i < t->vertices && t->vertex[i].sw == sw ? &t->vertex[i] : NULL;
}

struct fab_mcast_vertex *fab_mcast_tree_add_vertex(struct fab_mcast_tree *t, uint32_t sw)
{
    struct fab_mcast_vertex *more =
        fab_base_grow(t->vertex, sizeof(*more), t->vertices + 1, &t->vertex_room);
    if (more == NULL)
        return NULL;
    t->vertex = more;
    size_t i = vertex_index(t, sw);
    memmove(&more[i + 1], &more[i], (t->vertices++ - i) * sizeof(*more));
    more[i] = (struct fab_mcast_vertex){.sw = sw, .up = FAB_NONE};
    return &more[i];
}

void fab_mcast_tree_remove_vertex(struct fab_mcast_tree *t, struct fab_mcast_vertex *s)
{
    size_t i = (size_t)(s - t->vertex);
    memmove(s, s + 1, (--t->vertices - i) * sizeof(*s));
}

static size_t member_index(const struct fab_mcast_tree *t, uint64_t guid)
{
    size_t low = 0, high = t->members;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->member[mid].guid < guid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct fab_mcast_tree_member *fab_mcast_tree_find_member(const struct fab_mcast_tree *t,
                                                         uint64_t guid)
{
    size_t i = member_index(t, guid);
    return i < t->members && t->member[i].guid == guid ? &t->member[i] : NULL;
}

struct fab_mcast_tree_member *fab_mcast_tree_add_member(struct fab_mcast_tree *t, uint64_t guid)
{
    struct fab_mcast_tree_member *more =
        fab_base_grow(t->member, sizeof(*more), t->members + 1, &t->member_room);
    if (more == NULL)
        return NULL;
    t->member = more;
    size_t i = member_index(t, guid);
    memmove(&more[i + 1], &more[i], (t->members++ - i) * sizeof(*more));
    more[i] = (struct fab_mcast_tree_member){.guid = guid, .port = FAB_NONE};
    return &more[i];
}

void fab_mcast_tree_remove_member(struct fab_mcast_tree *t, struct fab_mcast_tree_member *m)
{
    size_t i = (size_t)(m - t->member);
    memmove(m, m + 1, (--t->members - i) * sizeof(*m));
}
