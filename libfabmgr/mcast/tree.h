/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree and what all trees share: between the files of trees.h, for no other. */
#ifndef LIBFABMGR_MCAST_TREE_H
#define LIBFABMGR_MCAST_TREE_H

#include "libfabmgr/mcast/distances.h"
#include "libfabmgr/mcast/trees.h"

struct spot {
    uint32_t sw;
    uint32_t up;      /* port id of the branch towards the root; FAB_NONE: the top */
    uint32_t kids;    /* branches that come up to it, and the sum of their switches' ids: */
    uint64_t kid_sum; /* of one it is that one */
    uint32_t ends;    /* members at it */
};
struct member {
    uint64_t guid;
    uint32_t receives, sends; /* how often it joined as such */
    uint32_t port;            /* its own, or FAB_NONE: it is not a part of the tree */
};
struct tree {
    uint16_t mlid;
    uint32_t root, top; /* FAB_NONE: none yet */
    struct spot *spot;  /* by switch */
    size_t spots, spot_room;
    struct member *member; /* by GUID */
    size_t members, member_room;
    size_t in; /* members that are a part of it */
};
struct fab_mcast_trees {
    struct fab_mcast_net *net;
    struct ways ways;
    struct tree **tree; /* [slots] by LID, from FAB_MLID_FIRST on; NULL: none */
    uint32_t slots;
    uint32_t count;
    uint32_t *load;  /* [port_count] trees on the cable, at both ends */
    uint32_t *roots; /* [switch_count] trees that have it as root */
    struct fab_blocks tables;
    uint64_t changed[FAB_MCAST_BLOCK_GROUPS / 64];
    uint32_t room, fewest; /* fab_mcast_trees_room */
    bool broken;           /* a tree was scrapped for want of memory */
};

/* tree.c */
struct tree *
fab_mcast_tree_new(uint16_t mlid); /* NULL: out of memory, as of all that give pointers here */
void fab_mcast_tree_free(struct tree *tree);                           /* NULL is fine */
struct spot *fab_mcast_tree_vertex(const struct tree *t, uint32_t sw); /* NULL: none */
struct spot *fab_mcast_tree_add_vertex(struct tree *t,
                                       uint32_t sw); /* others move, here and when one goes */
void fab_mcast_tree_remove_vertex(struct tree *t, struct spot *s);
struct member *fab_mcast_tree_find_member(const struct tree *t, uint64_t guid); /* NULL: none */
struct member *fab_mcast_tree_add_member(struct tree *t, uint64_t guid); /* others move, too */
void fab_mcast_tree_remove_member(struct tree *t, struct member *m);
static inline uint32_t fab_mcast_tree_slot(const struct tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* branches.c; `before`: [switch_count] the ports by which switches led up before, taken again where
 * they will do; NULL: none. */

/* The member is attached, if it can be; NOMEM: the tree is scrapped. */
int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct tree *tree, struct member *m,
                          const uint32_t *before);
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct tree *tree, const uint32_t *before);
void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct tree *tree, struct member *m);
/* The table entry of a member that is a part of the tree: whether packets come to it. */
int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct tree *tree,
                             const struct member *m, bool receives);
/* The top comes down to where ways meet. */
void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct tree *tree);
/* Nothing is left of the tree but its members. */
void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct tree *tree);
void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct tree *tree);

/* trees.c */
/* Takes over the net, also on failure. */
int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret);
int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct tree **ret);

#endif
