/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of groups, their multicast LIDs and members. For this folder only. */
#ifndef LIBFABMGR_MCAST_GROUP_STORE_H
#define LIBFABMGR_MCAST_GROUP_STORE_H

#include "libfabmgr/mcast/groups.h"

struct fab_mcast_group *fab_mcast_store_find(const struct fab_mcast_groups *g,
                                             const uint64_t mgid[2]);
/* Adds a group, and charges it to the port with GUID `creator` (0: to no port). The group gets the
 * LID is->mlid if this is not 0 and the group can have it; otherwise it gets another LID. Returns
 * LIMIT (no LID is left) or NOMEM. */
int fab_mcast_store_add(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
                        uint64_t creator, struct fab_mcast_group **ret);
/* Charges a port for a group that has no creator yet. Returns NOMEM. */
int fab_mcast_store_charge(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                           uint64_t creator);
void fab_mcast_store_remove(struct fab_mcast_groups *g,
                            struct fab_mcast_group *group); /* removes the group and its members */

struct fab_mcast_member *fab_mcast_store_member(const struct fab_mcast_group *group, uint64_t guid);
/* Sets a member's JoinState; 0 removes the member. ProxyJoin keeps the value of the member's first
 * join, and as->charged is used only for a new member. Returns NOMEM, but cannot fail if it only
 * removes bits. */
int fab_mcast_store_set_member(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                               const struct fab_mcast_member *as);
/* Returns whether the group is fixed or has a full member. */
bool fab_mcast_store_is_needed(const struct fab_mcast_group *group);

#endif
