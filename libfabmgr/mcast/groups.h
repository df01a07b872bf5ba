/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: who is a member of which, and the multicast LID of each; joins and leaves as
 * subnet administration has them (IBA 15.2.5.17), and groups from the configuration. The trees and
 * tables follow with each change. A mutable value, for one owner.
 */
#ifndef LIBFABMGR_MCAST_GROUPS_H
#define LIBFABMGR_MCAST_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/mcast/trees.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/wire/sa.h"

enum fab_join { /* bits of JoinState */
                FAB_JOIN_FULL = 1,
                FAB_JOIN_NON_MEMBER = 2, /* receives and sends; the group does not live for it */
                FAB_JOIN_SENDER = 4,     /* only sends */
                FAB_JOIN_SENDER_FULL = 8 /* likewise, but the group lives for it */
};
struct fab_mcast_member {
    uint64_t gid[2];    /* prefix and GUID: that of the port, or an alias of it */
    uint64_t port_guid; /* of the port; on its way in 0: as gid says */
    uint8_t join_state, proxy_join;
};
struct fab_mcast_group {
    /* As all members see it; the selectors say "exactly". Port GID, JoinState, ProxyJoin: 0. */
    struct fab_wire_mc_member_record is;
    bool fixed;                      /* by the configuration: it stays without members */
    struct fab_mcast_member *member; /* by GUID */
    size_t members, room;
};
/* When groups of solicited nodes of IPv6 share LIDs; other groups of IP do when none is left,
 * unless it is never. */
enum fab_mcast_share { FAB_MCAST_SHARE_NEVER, FAB_MCAST_SHARE_SHORT, FAB_MCAST_SHARE_ALWAYS };
struct fab_mcast_groups {
    struct fab_mcast_trees *trees;
    struct fab_mcast_group **group; /* by MGID */
    size_t groups, room;
    uint32_t *users; /* [mlids] groups that have the LID */
    uint32_t mlids;
    uint64_t given; /* MGIDs that were made up */
    uint32_t most;  /* multicast LIDs that are given out; 0: as many as there is room for */
    enum fab_mcast_share share; /* SHORT at first */
    struct fab_mcast_listener {
        void *ctx;
        /* A group was made, and has its LID; or it goes, and has no members any more. NULL: nobody
         * listens. */
        void (*group)(void *ctx, const struct fab_mcast_group *group, bool made);
        /* What a member is changed; join_state 0: it is none any more. */
        void (*member)(void *ctx, const struct fab_mcast_group *group,
                       const struct fab_mcast_member *member);
    } listener;
};
int fab_mcast_groups_new(const struct fab_fabric *f, struct fab_mcast_groups **ret); /* NOMEM */
void fab_mcast_groups_free(struct fab_mcast_groups *g); /* NULL is fine */
int fab_mcast_groups_update(struct fab_mcast_groups *g, const struct fab_fabric *now); /* NOMEM */
const struct fab_mcast_group *fab_mcast_groups_find(const struct fab_mcast_groups *g,
                                                    const uint64_t mgid[2]);

/* The first group whose MGID is not less, and the first member whose GUID is not; groups, members:
 * there is none. */
size_t fab_mcast_groups_lower_bound(const struct fab_mcast_groups *g, const uint64_t mgid[2]);
size_t fab_mcast_group_lower_bound(const struct fab_mcast_group *group, uint64_t guid);
/* Whether a group is what a record asks for in these components, MTU, rate and lifetime by their
 * selectors; those of members do not count. */
bool fab_mcast_group_matches(const struct fab_mcast_group *group,
                             const struct fab_wire_mc_member_record *asked, uint64_t comp_mask);

/* What a port asks for: SubnAdmSet and SubnAdmDelete of an MCMemberRecord. Whether it may (that the
 * PortGID is its own, and that it is in the partition) is for the caller to say. */
struct fab_mcast_request {
    const struct fab_wire_mc_member_record *record;
    uint64_t comp_mask;
    uint64_t port_guid; /* of the port that PortGID names; 0: as it says */
    uint8_t mtu, rate;  /* of the port, as MCMemberRecord numbers them */
    uint8_t life;       /* PacketLifeTime of new groups that do not say it */
    bool proxy;         /* another port asks for it */
};
/* The status of the answer (0, enum fab_sa_status), and on 0 its record. Joins add to what the
 * member's JoinState was. A group that is not there is made for a full member that names Q_Key,
 * P_Key, SL, FlowLabel and TClass; an MGID of zeros asks for one. NO_RESOURCES: no multicast LID is
 * left, nor one that could be shared, or no memory. */
uint16_t fab_mcast_groups_join(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                               struct fab_wire_mc_member_record *ret);
/* Takes bits away from JoinState. A group without full members goes, with all that are left. */
uint16_t fab_mcast_groups_leave(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                                struct fab_wire_mc_member_record *ret);
/* What stood before a restart, and is not there yet: with its LID if that is free, else with
 * another one. LIMIT: none is. NOMEM. */
int fab_mcast_groups_restore(struct fab_mcast_groups *g,
                             const struct fab_wire_mc_member_record *is);
int fab_mcast_groups_restore_member(struct fab_mcast_groups *g, const uint64_t mgid[2],
                                    const struct fab_mcast_member *member); /* NOT_FOUND, NOMEM */
/* Who is a member by this GUID leaves all groups: its port has gone for good. */
void fab_mcast_groups_drop_member(struct fab_mcast_groups *g, uint64_t guid);
/* Whether anyone is a member by this GUID. */
bool fab_mcast_groups_has_member(const struct fab_mcast_groups *g, uint64_t guid);

/* The groups that partitions have from the start, and no others, are fixed. LIMIT: for some there
 * is no multicast LID: *ret_left_out. NOMEM. NULL: none. */
int fab_mcast_groups_configure(struct fab_mcast_groups *g, const struct fab_partitions *p,
                               uint8_t life, size_t *ret_left_out);

#endif
