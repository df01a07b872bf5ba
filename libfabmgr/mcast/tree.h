/* SPDX-License-Identifier: BSD-3-Clause */
/* A multicast tree, and the data that all trees share. Only the files that implement trees.h use
 * this header. */
#ifndef LIBFABMGR_MCAST_TREE_H
#define LIBFABMGR_MCAST_TREE_H

#include "libfabmgr/mcast/distances.h"
#include "libfabmgr/mcast/trees.h"

struct fab_mcast_vertex {
    uint32_t sw;
    /* port id of the branch towards the root; FAB_NONE: this is the top */
    uint32_t up;
    uint32_t children; /* number of branches from switches below */
    /* Sum of the ids of the switches below. If there is only one, the sum is its id. */
    uint64_t child_sum;
    uint32_t members; /* number of members at this switch */
};
struct fab_mcast_tree_member {
    uint64_t guid;
    /* Number of joins as a receiver, and number of joins as a sender only. */
    uint32_t receives, sends;
    /* Port id of the member; FAB_NONE: the member is not attached to the tree. */
    uint32_t port;
};
struct fab_mcast_tree {
    uint16_t mlid;
    /* switch ids of root and top; FAB_NONE: not chosen yet */
    uint32_t root, top;
    /* array of the tree's switches, sorted by switch id */
    struct fab_mcast_vertex *vertex;
    size_t vertices, vertex_room;
    /* array of the tree's members, sorted by GUID */
    struct fab_mcast_tree_member *member;
    size_t members, member_room;
    /* number of members that are attached to the tree */
    size_t attached;
};
struct fab_mcast_trees {
    struct fab_mcast_net *net;
    struct fab_mcast_distances distances;
    /* [slots] trees by MLID - FAB_MLID_FIRST; NULL: there is no tree for this MLID. */
    struct fab_mcast_tree **tree;
    uint32_t slots;
    uint32_t count;
    /* [port_count] number of trees that use the link of the port. Both ports of a link have the
     * same number. */
    uint32_t *load;
    /* [switch_count] number of trees that have this switch as root */
    uint32_t *roots;
    struct fab_blocks tables;
    uint64_t changed[FAB_MCAST_BLOCK_GROUPS / 64];
    /* Last results of fab_mcast_trees_room: the number of MLIDs, and the switch with the smallest
     * MFT. */
    uint32_t room, fewest;
    /* a tree was cleared because memory ran out, and must be rebuilt */
    bool broken;
};

/* Functions of tree.c. */
/* Functions below that return a pointer to something new return NULL if memory ran out. */
struct fab_mcast_tree *fab_mcast_tree_new(uint16_t mlid);
void fab_mcast_tree_free(struct fab_mcast_tree *tree); /* tree may be NULL */
/* Returns the vertex of a switch; NULL if the switch is not in the tree. */
struct fab_mcast_vertex *fab_mcast_tree_vertex(const struct fab_mcast_tree *t, uint32_t sw);
/* If a vertex is added or removed, pointers to other vertices become invalid. */
struct fab_mcast_vertex *fab_mcast_tree_add_vertex(struct fab_mcast_tree *t, uint32_t sw);
void fab_mcast_tree_remove_vertex(struct fab_mcast_tree *t, struct fab_mcast_vertex *s);
/* Returns the member with this GUID; NULL if there is none. */
struct fab_mcast_tree_member *fab_mcast_tree_find_member(const struct fab_mcast_tree *t,
                                                         uint64_t guid);
/* If a member is added or removed, pointers to other members become invalid. */
struct fab_mcast_tree_member *fab_mcast_tree_add_member(struct fab_mcast_tree *t, uint64_t guid);
void fab_mcast_tree_remove_member(struct fab_mcast_tree *t, struct fab_mcast_tree_member *m);
static inline uint32_t fab_mcast_tree_slot(const struct fab_mcast_tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* branches.c. The argument `before` has, for each switch, the port of its former branch, which is
 * used again if possible: [switch_count]. NULL: there were no branches. */

/* Attaches the member to the tree, if the tree can reach it. On NOMEM the tree was cleared. */
int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m, const uint32_t *before);
/* Attaches all members to the tree. If the root reaches none of them, chooses another root and
 * tries once more. On NOMEM the tree was cleared. */
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                              const uint32_t *before);
void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                           struct fab_mcast_tree_member *m);
/* Sets or clears the port of an attached member in the MFT entry of its switch, according to
 * `receives`. Returns NOMEM. */
int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                             const struct fab_mcast_tree_member *m, bool receives);
/* Removes switches from the top of the tree as long as the top has one branch from below and no
 * members. (The top is the highest switch of the tree, at or below the root.) */
void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
/* Removes all branches and switches of the tree. The members stay in its list. */
void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);

/* Functions of trees.c. */
/* Creates an empty set of trees over a net. Takes over the net, even if it returns NOMEM. */
int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret);
/* Adds an empty tree for an MLID. Returns NOMEM. */
int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret);

#endif
