/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups, their members and their multicast LIDs. Groups come from joins and leaves of
 * subnet administration (IBA 15.2.5.17) and from the configuration. Each change also updates the
 * multicast trees and tables. The value is mutable and has one owner.
 */
#ifndef LIBFABMGR_MCAST_GROUPS_H
#define LIBFABMGR_MCAST_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/mcast/trees.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/wire/sa.h"

enum fab_join { /* bits of JoinState */
                FAB_JOIN_FULL = 1,
                FAB_JOIN_NON_MEMBER = 2, /* receives and sends; does not keep the group alive */
                FAB_JOIN_SENDER = 4,     /* only sends; does not keep the group alive */
                FAB_JOIN_SENDER_FULL = 8 /* only sends; keeps the group alive */
};
struct fab_mcast_member {
    uint64_t gid[2];    /* prefix and GUID: the GID of the port, or an alias GID of the port */
    uint64_t port_guid; /* GUID of the port; in an argument, 0 means the GUID in `gid` */
    uint64_t charged;   /* GUID of the port that requested the membership; 0: unknown */
    uint8_t join_state, proxy_join;
};
struct fab_mcast_group {
    /* The values that all members share; all selectors are "exactly"; PortGID, JoinState and
     * ProxyJoin are 0. */
    struct fab_wire_mc_member_record is;
    bool fixed;       /* the configuration has this group, so it exists even without members */
    uint64_t creator; /* GUID of the port that requested the group; 0: none, or unknown */
    struct fab_mcast_member *member; /* sorted by GUID */
    size_t members, room;
};
/* The condition for IPv6 solicited-node groups to share LIDs: never, when free LIDs are short, or
 * always. Unless this is NEVER, other IP groups share when no LID is free. */
enum fab_mcast_share { FAB_MCAST_SHARE_NEVER, FAB_MCAST_SHARE_SHORT, FAB_MCAST_SHARE_ALWAYS };
struct fab_mcast_groups {
    struct fab_mcast_trees *trees;
    struct fab_mcast_group **group; /* sorted by MGID */
    size_t groups, room;
    uint32_t *users; /* [mlids] number of groups with the LID */
    uint32_t mlids;
    uint64_t given; /* number of MGIDs that the manager has chosen */
    /* The counts for the quotas, by port GUID: groups that the port created, and memberships that
     * it requested. The charge for a group ends with the group, even if its creator leaves it;
     * otherwise a host could create any number of groups with the help of another one. */
    struct fab_map created, joined;
    size_t memberships; /* of all ports */
    uint32_t most;      /* limit of multicast LIDs; 0: only the switches' tables limit them */
    enum fab_mcast_share share; /* initially SHORT */
    struct fab_mcast_listener {
        void *ctx;
        /* Called with `made` true when a group was created and has its LID, and with false when a
         * group without members is about to be removed. NULL: no listener. */
        void (*group)(void *ctx, const struct fab_mcast_group *group, bool made);
        /* Called when a member's JoinState has changed. JoinState 0: the member has left. */
        void (*member)(void *ctx, const struct fab_mcast_group *group,
                       const struct fab_mcast_member *member);
    } listener;
};
int fab_mcast_groups_new(const struct fab_fabric *f, struct fab_mcast_groups **ret); /* NOMEM */
void fab_mcast_groups_free(struct fab_mcast_groups *g); /* NULL is fine */
int fab_mcast_groups_update(struct fab_mcast_groups *g, const struct fab_fabric *now); /* NOMEM */
const struct fab_mcast_group *fab_mcast_groups_find(const struct fab_mcast_groups *g,
                                                    const uint64_t mgid[2]);

/* These functions return the position of the first group whose MGID is not below mgid, and of the
 * first member whose GUID is not below guid. If there is none, they return the number of groups or
 * members. */
size_t fab_mcast_groups_lower_bound(const struct fab_mcast_groups *g, const uint64_t mgid[2]);
size_t fab_mcast_group_lower_bound(const struct fab_mcast_group *group, uint64_t guid);
/* Returns whether a group matches a record in the components of comp_mask; MTU, rate and lifetime
 * match by their selectors. Components of members are ignored. */
bool fab_mcast_group_matches(const struct fab_mcast_group *group,
                             const struct fab_wire_mc_member_record *asked, uint64_t comp_mask);

/* A request of a port: SubnAdmSet or SubnAdmDelete of an MCMemberRecord. The caller checks that the
 * port may send this request: PortGID is its own, and the port is a member of the partition. */
struct fab_mcast_request {
    const struct fab_wire_mc_member_record *record;
    uint64_t comp_mask;
    uint64_t port_guid; /* GUID of the port that PortGID names; 0: the GUID in PortGID */
    uint8_t mtu, rate;  /* MTU and rate of the port, in MCMemberRecord's numbers */
    uint8_t life;       /* PacketLifeTime of new groups whose request does not name one */
    bool proxy;         /* another port sent the request */
    uint64_t from_guid; /* GUID of the port that sent the request and is charged; 0: no port is
                           charged */
};
/* Returns the status of the answer (0 or enum fab_sa_status), and with 0 its record. A join adds to
 * the member's JoinState. A missing group is created for a full member that names Q_Key, P_Key, SL,
 * FlowLabel and TClass; with an MGID of zeros, the manager chooses the MGID. The MGID of an IP
 * group holds its P_Key (RFC 4391, section 4): another P_Key is refused. NO_RESOURCES: no multicast
 * LID is free and none can be shared, or no memory. */
uint16_t fab_mcast_groups_join(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                               struct fab_wire_mc_member_record *ret);
/* Removes the requested bits from the member's JoinState. If no full member remains, removes the
 * group with all its other members. Returns the status of the answer, as fab_mcast_groups_join
 * does. */
uint16_t fab_mcast_groups_leave(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                                struct fab_wire_mc_member_record *ret);
/* Restores a group that existed before a restart of the manager, unless it exists already. The
 * group gets its former LID if this is free, otherwise another one. Returns LIMIT (no LID is left)
 * or NOMEM. */
int fab_mcast_groups_restore(struct fab_mcast_groups *g,
                             const struct fab_wire_mc_member_record *is);
/* Restores a member of a group, and charges its port, except for a proxy membership, whose
 * requester is not known any more. Returns NOT_FOUND (no such group) or NOMEM. */
int fab_mcast_groups_restore_member(struct fab_mcast_groups *g, const uint64_t mgid[2],
                                    const struct fab_mcast_member *member);
/* Charges each restored group with only one member to that member's port, which probably created
 * it. The caller uses it after the last fab_mcast_groups_restore_member. Returns NOMEM. */
int fab_mcast_groups_restored(struct fab_mcast_groups *g);
/* Return the number of groups that a port created, and of memberships that it requested. */
uint32_t fab_mcast_groups_created_by(const struct fab_mcast_groups *g, uint64_t port_guid);
uint32_t fab_mcast_groups_joined_by(const struct fab_mcast_groups *g, uint64_t port_guid);
/* Removes the members with this GUID from all groups. The caller uses it when the port has left the
 * fabric for good. */
void fab_mcast_groups_drop_member(struct fab_mcast_groups *g, uint64_t guid);
/* Returns whether any group has a member with this GUID. */
bool fab_mcast_groups_has_member(const struct fab_mcast_groups *g, uint64_t guid);

/* Makes the groups of the partitions fixed, and no other groups; p may be NULL. Returns NOMEM, or
 * LIMIT: *ret_left_out groups got no multicast LID. */
int fab_mcast_groups_configure(struct fab_mcast_groups *g, const struct fab_partitions *p,
                               uint8_t life, size_t *ret_left_out);

#endif
