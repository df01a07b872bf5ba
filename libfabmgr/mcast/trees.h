/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees. Each multicast LID (MLID) has one tree, which connects the switches of its
 * members. The trees are stored as MFT entries. If members or the fabric change, only the affected
 * branches change.
 *
 * The struct is mutable and has one owner. It has a copy of the links of a fabric, and keeps no
 * reference to the snapshot.
 *
 * Trees have the shortest paths to their roots, and ignore the unicast routes. So on topologies
 * other than trees, a deadlock of unicast and multicast packets together may be possible.
 * fab_verify_multicast (libfabmgr/verify/multicast.h) finds out whether it is. If so, the owner
 * lets all trees follow a guide (libfabmgr/spanning), which is a spanning tree that is safe with
 * the unicast routes.
 */
#ifndef LIBFABMGR_MCAST_TREES_H
#define LIBFABMGR_MCAST_TREES_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/mcast/guide.h"
#include "libfabmgr/mcast/net.h"
#include "libfabmgr/target/blocks.h"

#define FAB_MLID_FIRST 0xc000u
#define FAB_MLID_LAST 0xfffeu

struct fab_mcast_trees;
/* Creates an empty set of trees for a fabric. Returns OK or NOMEM. */
int fab_mcast_trees_new(const struct fab_fabric *f, struct fab_mcast_trees **ret);
void fab_mcast_trees_free(struct fab_mcast_trees *t); /* t may be NULL */

/* Returns the number of MLIDs, from FAB_MLID_FIRST on, for which all switches have MFT entries; 0:
 * no switch has an MFT. Switches without an MFT do not count, because trees do not use them.
 * *ret_switch (unless `ret_switch` is NULL) is the switch with the smallest MFT, or FAB_NONE. Trees
 * with higher MLIDs may exist, if they were made before this switch joined the fabric; they avoid
 * it. */
uint32_t fab_mcast_trees_room(const struct fab_mcast_trees *t, uint32_t *ret_switch);

/*
 * Adds a join of the port with this GUID, as a receiver or as a sender only. The switch of a sender
 * belongs to the tree, but packets are not sent to the sender's port. A port can join several
 * times. If the port does not exist or has no path to the tree, the join counts, and a later update
 * extends the tree to the port when there is a path.
 *
 * Returns RANGE if some switch has no MFT entry for the MLID (fab_mcast_trees_room). Returns NOMEM;
 * the join then does not count, and the tree may have lost its branches
 * (fab_mcast_trees_are_broken).
 */
int fab_mcast_trees_join(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                         bool receives);
/* Removes one join of the port. Returns NOT_FOUND if the port has no such join. */
int fab_mcast_trees_leave(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                          bool receives);

/* Returns true if a tree has lost its branches because memory ran out. The next
 * fab_mcast_trees_update builds all trees again, even if the fabric is still the same. */
bool fab_mcast_trees_are_broken(const struct fab_mcast_trees *t);

/* Adapts the trees to the fabric `now`. A branch moves if it uses a failed link or switch, or is no
 * longer on a shortest path to the root. All other branches stay. If only links differ between the
 * old fabric and `now`, trees that these links do not affect stay unchanged. Returns NOMEM; some
 * trees may then be empty until the next call. */
int fab_mcast_trees_update(struct fab_mcast_trees *t, const struct fab_fabric *now);
/* Like fab_mcast_trees_update, but takes a net, which another thread may have made from the fabric
 * (fab_mcast_net_new). Takes over the net, even after an error. */
int fab_mcast_trees_update_over(struct fab_mcast_trees *t, struct fab_mcast_net *now);

/* Rebuilds all trees as parts of a guide for the present net, and takes over the guide. A tree does
 * not follow the guide if some switch has no MFT entry for the MLID of the tree. An update with
 * other links drops the guide, and all trees again have the shortest paths. Returns NOMEM; some
 * trees may then be empty until the next update. */
int fab_mcast_trees_follow(struct fab_mcast_trees *t, struct fab_mcast_guide *guide);
bool fab_mcast_trees_have_guide(const struct fab_mcast_trees *t);

/* Returns the switches and links of the present fabric. The pointer is valid until the next
 * update. */
const struct fab_mcast_net *fab_mcast_trees_net(const struct fab_mcast_trees *t);
/* Returns the blocks of all MFTs. The member `id` of a block is the switch, `number` is the number
 * that fab_mft_number returns, and the entries are port masks. Blocks that trees no longer use have
 * only zeros. */
const struct fab_blocks *fab_mcast_trees_tables(const struct fab_mcast_trees *t);
#define FAB_MCAST_BLOCK_GROUPS 512 /* number of MLID groups (32 MLIDs each) */
/* Sets bit i of `set` if MFT blocks of MLID group i may have changed since the last call. MLID
 * group i begins at FAB_MLID_FIRST + 32 * i. Other bits keep their values. */
void fab_mcast_trees_take_changed(struct fab_mcast_trees *t,
                                  uint64_t set[FAB_MCAST_BLOCK_GROUPS / 64]);
/* Returns the number of MLIDs that have members. */
uint32_t fab_mcast_trees_count(const struct fab_mcast_trees *t);
/* fab_mcast_trees_reaches returns true if the tree reaches this member now. fab_mcast_trees_missing
 * returns how many members the tree does not reach. */
bool fab_mcast_trees_reaches(const struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid);
uint32_t fab_mcast_trees_missing(const struct fab_mcast_trees *t, uint16_t mlid);

/* Returns the number of the MFT block that has the entry of `mlid` for `port`. An MFT block has the
 * entries of 32 MLIDs for 16 ports (IBA 14.2.5.12). */
static inline uint32_t fab_mft_number(uint16_t mlid, uint8_t port)
{
    return (mlid - FAB_MLID_FIRST) / FAB_BLOCK_ENTRIES | (uint32_t)port / 16 << 9;
}
/* Converts the number of an MFT block to its attribute modifier (IBA 14.2.5.12). */
static inline uint32_t fab_mft_modifier(uint32_t number)
{
    return (number & 0x1ff) | number >> 9 << 28;
}

#endif
