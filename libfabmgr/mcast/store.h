/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeping groups, their multicast LIDs and members. Private to the room. */
#ifndef LIBFABMGR_MCAST_STORE_H
#define LIBFABMGR_MCAST_STORE_H

#include "libfabmgr/mcast/groups.h"

struct fab_mgroup *store_find(const struct fab_mgroups *g, const uint64_t mgid[2]);
/* A group with a multicast LID; that of `is`, if not 0 and free. LIMIT: none is left. NOMEM. */
int store_add(struct fab_mgroups *g, const struct fab_mc_member_record *is,
              struct fab_mgroup **ret);
void store_remove(struct fab_mgroups *g, struct fab_mgroup *group); /* with its members */

struct fab_mgroup_member *store_member(const struct fab_mgroup *group, uint64_t guid);
/* Sets what a member's JoinState is; 0: it is none. ProxyJoin is that of its first join. NOMEM,
 * only where there is more of it. */
int store_join(struct fab_mgroups *g, struct fab_mgroup *group, const struct fab_mgroup_member *as);
bool store_is_wanted(const struct fab_mgroup *group); /* fixed, or somebody is a full member */

#endif
