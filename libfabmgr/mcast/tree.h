/* SPDX-License-Identifier: BSD-3-Clause */
/* A multicast tree, and the data that all trees share. Only the files that implement trees.h use
 * this header. */
#ifndef LIBFABMGR_MCAST_TREE_H
#define LIBFABMGR_MCAST_TREE_H

#include "libfabmgr/mcast/distances.h"
#include "libfabmgr/mcast/trees.h"

struct fab_mcast_vertex {
    uint32_t sw;
    /* id of the port of the branch towards the root; FAB_NONE: this switch is the top of the
     * tree */
    uint32_t up;
    uint32_t children; /* number of branches from switches below */
    /* sum of the ids of the switches below that have a branch to this switch; if there is one such
     * switch, the sum is its id */
    uint64_t child_sum;
    uint32_t members; /* number of members at this switch */
};
struct fab_mcast_tree_member {
    uint64_t guid;
    /* receives: number of joins as a receiver. sends: number of joins as a sender only. */
    uint32_t receives, sends;
    /* port id of the member; FAB_NONE: the tree does not reach the member */
    uint32_t port;
};
struct fab_mcast_tree {
    uint16_t mlid;
    /* ids of the root, and of the top (the switch of the tree nearest to the root); FAB_NONE:
     * not chosen yet */
    uint32_t root, top;
    /* array of the tree's switches, sorted by switch id */
    struct fab_mcast_vertex *vertex;
    size_t vertices, vertex_room;
    /* array of the tree's members, sorted by GUID */
    struct fab_mcast_tree_member *member;
    size_t members, member_room;
    /* number of members that the tree reaches */
    size_t attached;
};
struct fab_mcast_trees {
    struct fab_mcast_net *net;
    struct fab_mcast_distances distances;
    /* the guide of which all trees are parts; all bytes zero: no guide */
    struct fab_mcast_guide guide;
    /* [slots] tree of each MLID, at index MLID - FAB_MLID_FIRST; NULL: the MLID has no tree */
    struct fab_mcast_tree **tree;
    uint32_t slots;
    uint32_t count;
    /* [port_count] number of trees that use the link at the port; the same for both ports of a
     * link */
    uint32_t *load;
    /* [switch_count] number of trees that have this switch as root */
    uint32_t *roots;
    struct fab_blocks tables;
    uint64_t changed[FAB_MCAST_BLOCK_GROUPS / 64];
    /* Results of fab_mcast_trees_room. room: number of MLIDs for which all switches have MFT
     * entries. fewest: id of the switch with the smallest MFT. */
    uint32_t room, fewest;
    /* true: a tree lost its branches because memory ran out, and must be rebuilt */
    bool broken;
};

/* Functions of tree.c. A function that returns a pointer to a new object returns NULL if memory
 * runs out. */
struct fab_mcast_tree *fab_mcast_tree_new(uint16_t mlid);
void fab_mcast_tree_free(struct fab_mcast_tree *tree); /* tree may be NULL */
/* Returns the element of a switch in the tree; NULL: the switch is not in the tree. */
struct fab_mcast_vertex *fab_mcast_tree_vertex(const struct fab_mcast_tree *t, uint32_t sw);
/* fab_mcast_tree_add_vertex adds a switch to the tree, and fab_mcast_tree_remove_vertex removes it.
 * Afterwards, pointers to other switches of the tree are invalid. */
struct fab_mcast_vertex *fab_mcast_tree_add_vertex(struct fab_mcast_tree *t, uint32_t sw);
void fab_mcast_tree_remove_vertex(struct fab_mcast_tree *t, struct fab_mcast_vertex *s);
/* Returns the member with this GUID; NULL: there is none. */
struct fab_mcast_tree_member *fab_mcast_tree_find_member(const struct fab_mcast_tree *t,
                                                         uint64_t guid);
/* fab_mcast_tree_add_member adds a member to the tree's list of members, and
 * fab_mcast_tree_remove_member removes one. Afterwards, pointers to other members of the tree are
 * invalid. */
struct fab_mcast_tree_member *fab_mcast_tree_add_member(struct fab_mcast_tree *t, uint64_t guid);
void fab_mcast_tree_remove_member(struct fab_mcast_tree *t, struct fab_mcast_tree_member *m);
static inline uint32_t fab_mcast_tree_slot(const struct fab_mcast_tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* Functions of branches.c. before: [switch_count] for each switch, the port that its branch had
 * before the change; the new branch uses the same port if possible. NULL: no port is preferred. */

/* Extends the tree to the member, if there is a path. After NOMEM, the tree may have lost its
 * branches. */
int fab_mcast_tree_attach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                          struct fab_mcast_tree_member *m, const uint32_t *before);
/* Extends the tree to all its members. If the root reaches none of them, chooses another root and
 * tries once more. After NOMEM, the tree may have lost its branches. */
int fab_mcast_tree_attach_all(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                              const uint32_t *before);
void fab_mcast_tree_detach(struct fab_mcast_trees *t, struct fab_mcast_tree *tree,
                           struct fab_mcast_tree_member *m);
/* Sets the bit for the port of the member in the MFT entry of its switch if `receives` is true, and
 * clears this bit otherwise. Returns NOMEM. */
int fab_mcast_tree_set_entry(struct fab_mcast_trees *t, const struct fab_mcast_tree *tree,
                             const struct fab_mcast_tree_member *m, bool receives);
/* Shortens the tree: while its top (its switch nearest to the root) has no members and only one
 * branch from below, removes the top. The switch below then becomes the top. */
void fab_mcast_tree_trim(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
/* Removes all branches and switches of the tree. The tree keeps its list of members. */
void fab_mcast_tree_clear(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);
void fab_mcast_tree_drop_root(struct fab_mcast_trees *t, struct fab_mcast_tree *tree);

/* functions of trees.c */
/* Creates an empty set of trees for a net. Takes over the net, even after NOMEM. */
int fab_mcast_trees_new_over(struct fab_mcast_net *net, struct fab_mcast_trees **ret);
/* Adds an empty tree for an MLID. Returns NOMEM. */
int fab_mcast_trees_add(struct fab_mcast_trees *t, uint16_t mlid, struct fab_mcast_tree **ret);

#endif
