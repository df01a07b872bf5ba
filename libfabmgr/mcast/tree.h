/* SPDX-License-Identifier: BSD-3-Clause */
/* A multicast tree, and the data that all trees share. For the files that implement trees.h
 * only. */
#ifndef LIBFABMGR_MCAST_TREE_H
#define LIBFABMGR_MCAST_TREE_H

#include "libfabmgr/mcast/distances.h"
#include "libfabmgr/mcast/trees.h"

struct fab_mcast_vertex {
    uint32_t sw;
    uint32_t up; /* port id of the branch towards the root; FAB_NONE: this vertex is the top */
    uint32_t children;  /* number of branches from below */
    uint64_t child_sum; /* sum of the ids of the `children` switches; with one child, the sum is its
                           id */
    uint32_t members;   /* members at this switch */
};
struct fab_mcast_tree_member {
    uint64_t guid;
    uint32_t receives, sends; /* number of joins as a receiver, and as a sender only */
    uint32_t port;            /* port id; FAB_NONE: the member is not attached to the tree */
};
struct fab_mcast_tree {
    uint16_t mlid;
    uint32_t root, top;              /* FAB_NONE: none yet */
    struct fab_mcast_vertex *vertex; /* sorted by switch */
    size_t vertices, vertex_room;
    struct fab_mcast_tree_member *member; /* sorted by GUID */
    size_t members, member_room;
    size_t attached; /* members that are attached */
};
struct fab_mcast_trees {
    struct fab_mcast_net *net;
    struct fab_mcast_distances distances;
    /* [slots] trees, indexed by LID - FAB_MLID_FIRST; NULL: no tree */
    struct fab_mcast_tree **tree;
    uint32_t slots;
    uint32_t count;
    uint32_t *load;  /* [port_count] number of trees that use the link; the same at both ports */
    uint32_t *roots; /* [switch_count] number of trees whose root is the switch */
    struct fab_blocks tables;
    uint64_t changed[FAB_MCAST_BLOCK_GROUPS / 64];
    /* Stored results of fab_mcast_trees_room: the number of LIDs, and the switch with the smallest
     * table. */
    uint32_t room, fewest;
    bool broken; /* a tree was cleared for lack of memory and has to be rebuilt */
};

/* Functions of tree.c. */
/* Functions here that return a pointer to something new return NULL if memory is short. */
struct fab_mcast_tree *fab_mcast_tree_new(uint16_t mlid);
void fab_mcast_tree_free(struct fab_mcast_tree *tree); /* NULL is fine */
struct fab_mcast_vertex *fab_mcast_tree_vertex(const struct fab_mcast_tree *t,
                                               uint32_t sw); /* NULL: none */
/* Adding or removing a vertex makes pointers to other vertices invalid. */
struct fab_mcast_vertex *fab_mcast_tree_add_vertex(struct fab_mcast_tree *t, uint32_t sw);
void fab_mcast_tree_remove_vertex(struct fab_mcast_tree *t, struct fab_mcast_vertex *s);
struct fab_mcast_tree_member *fab_mcast_tree_find_member(const struct fab_mcast_tree *t,
                                                         uint64_t guid); /* NULL: none */
/* Adding or removing a member makes pointers to other members invalid. */
struct fab_mcast_tree_member *fab_mcast_tree_add_member(struct fab_mcast_tree *t, uint64_t guid);
void fab_mcast_tree_remove_member(struct fab_mcast_tree *t, struct fab_mcast_tree_member *m);
static inline uint32_t fab_mcast_tree_slot(const struct fab_mcast_tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* branches.c. `before`: [switch_count] for each switch, the port of its former branch, which is
 * used again if possible; NULL: there were no branches. */

/* Attaches the member if the tree can reach it. After NOMEM the tree is cleared. */
int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m, const uint32_t *before);
/* Attaches all members. If the root reaches none of them, chooses another root and tries once more.
 * Returns NOMEM: the tree was cleared. */
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                              const uint32_t *before);
void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                           struct fab_mcast_tree_member *m);
/* Sets in the table entry whether packets go to an attached member. Returns NOMEM. */
int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                             const struct fab_mcast_tree_member *m, bool receives);
/* Removes switches from the top of the tree (its highest switch, at or below the root) as long as
 * the top has one branch down and no members. */
void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
/* Removes everything but the members. */
void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);

/* Functions of trees.c. */
/* Creates an empty set of trees over a net, and owns the net from then on, also on failure. Returns
 * NOMEM. */
int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret);
/* Adds an empty tree. Returns NOMEM. */
int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret);

#endif
