/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a tree consists of: its switches, called spots here, and its members, both sorted by what
 * names them, so that they are found by halves and gone through in an order that does not depend on
 * who came first.
 */
#include "libfabmgr/mcast/tree.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"

struct tree *fab_mcast_tree_new(uint16_t mlid)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    if (tree != NULL)
        *tree = (struct tree){.mlid = mlid, .root = FAB_NONE, .top = FAB_NONE};
    return tree;
}

void fab_mcast_tree_free(struct tree *tree)
{
    if (tree == NULL)
        return;
    free(tree->spot);
    free(tree->member);
    free(tree);
}

static size_t spot_index(const struct tree *t, uint32_t sw)
{
    size_t low = 0, high = t->spots;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->spot[mid].sw < sw)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct spot *fab_mcast_tree_vertex(const struct tree *t, uint32_t sw)
{
    size_t i = spot_index(t, sw);
    return i < t->spots && t->spot[i].sw == sw ? &t->spot[i] : NULL;
}

struct spot *fab_mcast_tree_add_vertex(struct tree *t, uint32_t sw)
{
    struct spot *more = fab_base_grow(t->spot, sizeof(*more), t->spots + 1, &t->spot_room);
    if (more == NULL)
        return NULL;
    t->spot = more;
    size_t i = spot_index(t, sw);
    memmove(&more[i + 1], &more[i], (t->spots++ - i) * sizeof(*more));
    more[i] = (struct spot){.sw = sw, .up = FAB_NONE};
    return &more[i];
}

void fab_mcast_tree_remove_vertex(struct tree *t, struct spot *s)
{
    size_t i = (size_t)(s - t->spot);
    memmove(s, s + 1, (--t->spots - i) * sizeof(*s));
}

static size_t member_index(const struct tree *t, uint64_t guid)
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

struct member *fab_mcast_tree_find_member(const struct tree *t, uint64_t guid)
{
    size_t i = member_index(t, guid);
    return i < t->members && t->member[i].guid == guid ? &t->member[i] : NULL;
}

struct member *fab_mcast_tree_add_member(struct tree *t, uint64_t guid)
{
    struct member *more = fab_base_grow(t->member, sizeof(*more), t->members + 1, &t->member_room);
    if (more == NULL)
        return NULL;
    t->member = more;
    size_t i = member_index(t, guid);
    memmove(&more[i + 1], &more[i], (t->members++ - i) * sizeof(*more));
    more[i] = (struct member){.guid = guid, .port = FAB_NONE};
    return &more[i];
}

void fab_mcast_tree_remove_member(struct tree *t, struct member *m)
{
    size_t i = (size_t)(m - t->member);
    memmove(m, m + 1, (--t->members - i) * sizeof(*m));
}
