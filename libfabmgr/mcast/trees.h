/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees: for each multicast LID, one tree over the switches that its members are
 * attached to, as entries of multicast forwarding tables. A change of members or of the fabric
 * moves only the branches that it affects.
 *
 * A mutable value with one owner; it copies what it needs of a fabric and does not keep the
 * snapshot. Unicast routing and its proof do not consider the trees. Packets on trees wait for
 * buffers, too; if the routes between switches are not those of one tree, both together may in
 * theory deadlock (as with any subnet manager on such fabrics).
 */
#ifndef LIBFABMGR_MCAST_TREES_H
#define LIBFABMGR_MCAST_TREES_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/mcast/net.h"
#include "libfabmgr/target/blocks.h"

#define FAB_MLID_FIRST 0xc000u
#define FAB_MLID_LAST 0xfffeu

struct fab_mcast_trees;
int fab_mcast_trees_new(const struct fab_fabric *f, struct fab_mcast_trees **ret); /* NOMEM */
void fab_mcast_trees_free(struct fab_mcast_trees *t); /* NULL is fine */

/* The number of multicast LIDs, from the first on, that all switches have entries for. Switches
 * without any do not count, because no tree uses them. 0: no switch has any. *ret_switch, if not
 * NULL, receives the switch with the fewest, or FAB_NONE. (If that switch joined the fabric later,
 * trees with higher LIDs may exist; they avoid it.) */
uint32_t fab_mcast_trees_room(const struct fab_mcast_trees *t, uint32_t *ret_switch);

/* Adds a member, named by the GUID of its port: a receiver, or a sender only (its switch belongs
 * to the tree, its port does not). Joins are counted. A port that does not exist or cannot be
 * reached is attached when it can be. Returns RANGE (no multicast LID, or beyond
 * fab_mcast_trees_room) or NOMEM: the tree may be empty until fab_mcast_trees_update. */
int fab_mcast_trees_join(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                         bool receives);
/* Removes one join of the port. Returns NOT_FOUND if the port is no such member, or NOMEM. */
int fab_mcast_trees_leave(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                          bool receives);

/* Adapts the trees to the present fabric: branches that use dead links or switches, or are no
 * longer on a shortest path to the root, move; the rest stays. If only links differ, trees that
 * these do not affect are left alone. Returns NOMEM: some trees may be empty until the next call.
 */
int fab_mcast_trees_update(struct fab_mcast_trees *t, const struct fab_fabric *now);

/* The net of the present fabric; valid until the next update. */
const struct fab_mcast_net *fab_mcast_trees_net(const struct fab_mcast_trees *t);
/* The tables. id: the switch; number: fab_mft_number; entry: port masks. Blocks that no tree uses
 * any more are zeros. */
const struct fab_blocks *fab_mcast_trees_tables(const struct fab_mcast_trees *t);
#define FAB_MCAST_BLOCK_GROUPS                                                                     \
    512 /* groups of 32 multicast LIDs: block numbers without their position */
/* Adds to the bitset the block groups that may have changed since the last call. */
void fab_mcast_trees_take_changed(struct fab_mcast_trees *t,
                                  uint64_t set[FAB_MCAST_BLOCK_GROUPS / 64]);
uint32_t fab_mcast_trees_count(const struct fab_mcast_trees *t); /* multicast LIDs with members */
/* reaches: whether the tree reaches this member now. missing: the number of members that the tree
 * does not reach. */
bool fab_mcast_trees_reaches(const struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid);
uint32_t fab_mcast_trees_missing(const struct fab_mcast_trees *t, uint16_t mlid);

/* A block of a multicast forwarding table: entries of 32 LIDs, for 16 ports (IBA 14.2.5.12). */
static inline uint32_t fab_mft_number(uint16_t mlid, uint8_t port)
{
    return (mlid - FAB_MLID_FIRST) / FAB_BLOCK_ENTRIES | (uint32_t)port / 16 << 9;
}
/* The block number as an attribute modifier (IBA 14.2.5.12). */
static inline uint32_t fab_mft_modifier(uint32_t number)
{
    return (number & 0x1ff) | number >> 9 << 28;
}

#endif
