/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees: for each multicast LID one tree over the switches that its members hang on, as
 * entries of multicast forwarding tables. A change of members or of the fabric moves the branches
 * that it touches, and no others.
 *
 * A mutable value, for one owner; it keeps what it needs of a fabric, not the snapshot. Unicast
 * routes know nothing of it, nor does their proof: packets on trees wait for buffers, too, and
 * where the routes between switches are not those of one tree, the two together may in theory lock
 * up (as with any subnet manager on such fabrics).
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

/* Multicast LIDs that all switches have entries for, from the first one on; those that have none at
 * all do not count, as no tree leads over them. 0: no switch has any. *ret_switch, if not NULL: the
 * one with the fewest, or FAB_NONE. (Trees with LIDs beyond, from before it came, avoid it.) */
uint32_t fab_mcast_trees_room(const struct fab_mcast_trees *t, uint32_t *ret_switch);

/* Adds a member, named by the GUID of its port: one that packets come to, or one that only sends
 * (its switch belongs to the tree, its port does not). Several times counts. A port that is not
 * there, or cannot be reached, becomes a part of the tree when it can. RANGE: no such LID, or
 * beyond fab_mcast_trees_room. NOMEM: the
 * tree may be empty until fab_mcast_trees_update. */
int fab_mcast_trees_join(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                         bool receives);
/* NOT_FOUND: it is no such member. */
int fab_mcast_trees_leave(struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid,
                          bool receives);

/* The fabric as it is now: what leads over dead cables and switches, or is not the shortest way to
 * the tree's root any more, moves; the rest stays. Where only cables differ, trees that none of
 * these touches are left alone. NOMEM: some trees may be empty until the next time. */
int fab_mcast_trees_update(struct fab_mcast_trees *t, const struct fab_fabric *now);

/* Of the fabric that they follow; valid until then. */
const struct fab_mcast_net *fab_mcast_trees_net(const struct fab_mcast_trees *t);
/* The tables: id: of the switch, by the fabric; number: fab_mft_number; entry: port masks. Blocks
 * that no tree uses any more are zeros. */
const struct fab_blocks *fab_mcast_trees_tables(const struct fab_mcast_trees *t);
#define FAB_MCAST_BLOCK_GROUPS 512 /* of 32 multicast LIDs: block numbers without their position   \
                                    */
/* Adds to a bitset the groups whose tables may have changed since it was last asked. */
void fab_mcast_trees_take_changed(struct fab_mcast_trees *t,
                                  uint64_t set[FAB_MCAST_BLOCK_GROUPS / 64]);
uint32_t fab_mcast_trees_count(const struct fab_mcast_trees *t); /* multicast LIDs with a member */
/* Whether the tree reaches this member now, and how many it does not. */
bool fab_mcast_trees_reaches(const struct fab_mcast_trees *t, uint16_t mlid, uint64_t port_guid);
uint32_t fab_mcast_trees_missing(const struct fab_mcast_trees *t, uint16_t mlid);

/* A block of a multicast forwarding table: entries of 32 LIDs, for 16 ports (IBA 14.2.5.12). */
static inline uint32_t fab_mft_number(uint16_t mlid, uint8_t port)
{
    return (mlid - FAB_MLID_FIRST) / FAB_BLOCK_ENTRIES | (uint32_t)port / 16 << 9;
}
/* As the attribute modifier has it. */
static inline uint32_t fab_mft_modifier(uint32_t number)
{
    return (number & 0x1ff) | number >> 9 << 28;
}

#endif
