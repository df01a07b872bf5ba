/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of multicast groups, their MLIDs and members. For this folder only. */
#ifndef LIBFABMGR_MCAST_GROUP_STORE_H
#define LIBFABMGR_MCAST_GROUP_STORE_H

#include "libfabmgr/mcast/groups.h"

struct fab_mcast_group *fab_mcast_store_find(const struct fab_mcast_groups *g,
                                             const uint64_t mgid[2]);
/* Adds a group, and counts it in the quota of the port with GUID `creator` (0: in no quota). The
 * group gets the MLID is->mlid if this is not 0, and is free or can be shared. Otherwise the group
 * gets another MLID. *ret is the new group. Returns LIMIT if no MLID is left, or NOMEM. */
int fab_mcast_store_add(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
                        uint64_t creator, struct fab_mcast_group **ret);
/* Makes a port the creator of a group that has no creator yet, and counts the group in the quota of
 * the port. Returns NOMEM. */
int fab_mcast_store_charge(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                           uint64_t creator);
/* Removes a group with all its members. */
void fab_mcast_store_remove(struct fab_mcast_groups *g, struct fab_mcast_group *group);

struct fab_mcast_member *fab_mcast_store_member(const struct fab_mcast_group *group, uint64_t guid);
/* Adds a member or changes its JoinState; JoinState 0 removes the member. as->proxy_join and
 * as->charged are used only if the member is new. Returns NOMEM, or RANGE if some switch has no MFT
 * entry for the group's MLID (fab_mcast_trees_join). Even a call that only clears bits of JoinState
 * may need memory: if the tree does not reach the member, the call tries to extend the tree to it.
 */
int fab_mcast_store_set_member(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                               const struct fab_mcast_member *as);
/* Returns true if the group must exist: it is configured (fixed) or has a full member. */
bool fab_mcast_store_is_needed(const struct fab_mcast_group *group);

#endif
