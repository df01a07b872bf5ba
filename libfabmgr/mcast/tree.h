/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree, and what all trees share. Private to the files that implement trees.h. */
#ifndef LIBFABMGR_MCAST_TREE_H
#define LIBFABMGR_MCAST_TREE_H

#include "libfabmgr/mcast/distances.h"
#include "libfabmgr/mcast/trees.h"

struct fab_mcast_vertex {
    uint32_t sw;
    uint32_t up;        /* port id of the branch towards the root; FAB_NONE: this is the top */
    uint32_t children;  /* branches from below, and the sum of the ids of their switches: */
    uint64_t child_sum; /* with one branch, the id of its switch */
    uint32_t members;   /* members at this switch */
};
struct fab_mcast_tree_member {
    uint64_t guid;
    uint32_t receives, sends; /* how often it joined as a receiver and as a sender */
    uint32_t port;            /* its port, or FAB_NONE: it is not attached to the tree */
};
struct fab_mcast_tree {
    uint16_t mlid;
    uint32_t root, top;              /* FAB_NONE: none yet */
    struct fab_mcast_vertex *vertex; /* by switch */
    size_t vertices, vertex_room;
    struct fab_mcast_tree_member *member; /* by GUID */
    size_t members, member_room;
    size_t attached; /* members that are attached */
};
struct fab_mcast_trees {
    struct fab_mcast_net *net;
    struct fab_mcast_distances distances;
    struct fab_mcast_tree **tree; /* [slots] by LID from FAB_MLID_FIRST; NULL: none */
    uint32_t slots;
    uint32_t count;
    uint32_t *load;  /* [port_count] trees on the link, at both of its ports */
    uint32_t *roots; /* [switch_count] trees with this root */
    struct fab_blocks tables;
    uint64_t changed[FAB_MCAST_BLOCK_GROUPS / 64];
    uint32_t room, fewest; /* fab_mcast_trees_room */
    bool broken;           /* a tree was cleared for lack of memory */
};

/* tree.c */
struct fab_mcast_tree *fab_mcast_tree_new(uint16_t mlid); /* NULL: no memory; the same holds for all
                                                             functions here that return pointers */
void fab_mcast_tree_free(struct fab_mcast_tree *tree);    /* NULL is fine */
struct fab_mcast_vertex *fab_mcast_tree_vertex(const struct fab_mcast_tree *t,
                                               uint32_t sw); /* NULL: none */
/* Pointers to other vertices become invalid, here and on removal. */
struct fab_mcast_vertex *fab_mcast_tree_add_vertex(struct fab_mcast_tree *t, uint32_t sw);
void fab_mcast_tree_remove_vertex(struct fab_mcast_tree *t, struct fab_mcast_vertex *s);
struct fab_mcast_tree_member *fab_mcast_tree_find_member(const struct fab_mcast_tree *t,
                                                         uint64_t guid); /* NULL: none */
/* Pointers to other members become invalid, here and on removal. */
struct fab_mcast_tree_member *fab_mcast_tree_add_member(struct fab_mcast_tree *t, uint64_t guid);
void fab_mcast_tree_remove_member(struct fab_mcast_tree *t, struct fab_mcast_tree_member *m);
static inline uint32_t fab_mcast_tree_slot(const struct fab_mcast_tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* branches.c. `before`: [switch_count] the ports of the branches that led up before, which are
 * used again where possible; NULL: none. */

/* Attaches the member, if it can be reached. Returns NOMEM: then the tree is cleared. */
int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m, const uint32_t *before);
/* Attaches all members. If the root reaches none of them, chooses another root and tries once more.
 * Returns NOMEM: then the tree is cleared. */
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                              const uint32_t *before);
void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                           struct fab_mcast_tree_member *m);
/* Sets the table entry of an attached member: whether packets go to it. Returns NOMEM. */
int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                             const struct fab_mcast_tree_member *m, bool receives);
/* Removes switches from the top of the tree (its highest switch, at or below the root) as long as
 * the top has one branch down and no members. */
void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
/* Removes everything but the members. */
void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);

/* trees.c */
/* Takes over the net, also on failure. Returns NOMEM. */
int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret);
/* Adds an empty tree. Returns NOMEM. */
int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret);

#endif
