/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of switches that Slurm's topology plugins know. For this folder only.
 *
 * In this tree each switch has at most one parent, but in a fabric a switch has links to several
 * switches above it. So the tree has real switches only as leaves, which are the switches with
 * hosts. Their parents are groups of switches, which the file shows as switches. All switches with
 * hosts that are connected by switches of the next level form a pod. Pods that are connected by the
 * level above form a larger group, and so on, up to the whole fabric. A fabric without levels is
 * one group.
 *
 * The tree depends only on the cabling. A link that fails does not change the tree, because the
 * fabric must contain the nodes and links that are gone (libfabmgr/fabric/restore.h).
 */
#ifndef LIBFABMGR_EXPORT_SLURM_H
#define LIBFABMGR_EXPORT_SLURM_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/locations.h"

#define FAB_SLURM_NAME_LEN 65 /* Slurm's limit of 64 bytes for a name, and the NUL */

struct fab_slurm_host {
    char name[FAB_SLURM_NAME_LEN];
    /* switch to which the host is connected (by its first adapter with a link to a switch) */
    uint32_t sw;
};
/* A switch with hosts, or a group. */
struct fab_slurm_switch {
    char name[FAB_SLURM_NAME_LEN];
    /* index in switches[] of the group to which this switch or group belongs; FAB_NONE: none */
    uint32_t parent;
    uint32_t sw; /* id of the switch; for a group: id of one of its switches */
    /* its hosts are hosts[first] to hosts[first + count - 1]; count 0: this is a group */
    uint32_t first, count;
    uint32_t leaves; /* number of switches with hosts in the group; for a switch 1 */
};
struct fab_slurm_tree {
    struct fab_slurm_host *hosts; /* [host_count] the hosts, sorted by switch and then by name */
    uint32_t host_count;
    /* [count] first the switches with hosts, sorted by name; then the groups, each after its
     * members */
    struct fab_slurm_switch *switches;
    uint32_t leaf_count, count;
    /* number of hosts that are named by GUIDs, because they have no name of their own */
    uint32_t nameless;
    struct fab_arena arena;
};
/* Makes the tree of a fabric. locations: the operator's file with names of hosts; may be NULL.
 * Returns OK or NOMEM. The caller frees the tree with fab_export_slurm_tree_fini even after an
 * error. */
int fab_export_slurm_tree(const struct fab_fabric *f, const struct fab_locations *locations,
                          struct fab_slurm_tree *ret);
void fab_export_slurm_tree_fini(struct fab_slurm_tree *t);

#endif
