/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping groups, their multicast LIDs and members. Private to the room. */
#ifndef LIBFABMGR_MCAST_GROUP_STORE_H
#define LIBFABMGR_MCAST_GROUP_STORE_H

#include "libfabmgr/mcast/groups.h"

struct fab_mcast_group *fab_mcast_store_find(const struct fab_mcast_groups *g,
                                             const uint64_t mgid[2]);
/* A group with a multicast LID; that of `is`, if not 0 and free. LIMIT: none is left. NOMEM. */
int fab_mcast_store_add(struct fab_mcast_groups *g, const struct fab_wire_mc_member_record *is,
                        struct fab_mcast_group **ret);
void fab_mcast_store_remove(struct fab_mcast_groups *g,
                            struct fab_mcast_group *group); /* with its members */

struct fab_mcast_member *fab_mcast_store_member(const struct fab_mcast_group *group, uint64_t guid);
/* Sets what a member's JoinState is; 0: it is none. ProxyJoin is that of its first join. NOMEM,
 * only where there is more of it. */
int fab_mcast_store_set_member(struct fab_mcast_groups *g, struct fab_mcast_group *group,
                               const struct fab_mcast_member *as);
bool fab_mcast_store_is_needed(
    const struct fab_mcast_group *group); /* fixed, or somebody is a full member */

#endif
