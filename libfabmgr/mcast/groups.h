/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: their members and multicast LIDs; joins and leaves of subnet administration
 * (IBA 15.2.5.17), and groups from the configuration. The trees and tables follow each change. A
 * mutable value with one owner.
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
                FAB_JOIN_NON_MEMBER = 2, /* receives and sends; does not keep the group alive */
                FAB_JOIN_SENDER = 4,     /* only sends; does not keep the group alive */
                FAB_JOIN_SENDER_FULL = 8 /* only sends; keeps the group alive */
};
struct fab_mcast_member {
    uint64_t gid[2];    /* prefix and GUID: the port's own, or an alias of it */
    uint64_t port_guid; /* GUID of the port; 0 in an argument: the one in gid */
    uint8_t join_state, proxy_join;
};
struct fab_mcast_group {
    /* The group as all members see it; the selectors are "exactly". Port GID, JoinState,
     * ProxyJoin: 0. */
    struct fab_wire_mc_member_record is;
    bool fixed;                      /* from the configuration: it exists without members, too */
    struct fab_mcast_member *member; /* by GUID */
    size_t members, room;
};
/* When IPv6 solicited-node groups share LIDs: never, when LIDs are short, or always. Other IP
 * groups share when no LID is left, unless it is NEVER. */
enum fab_mcast_share { FAB_MCAST_SHARE_NEVER, FAB_MCAST_SHARE_SHORT, FAB_MCAST_SHARE_ALWAYS };
struct fab_mcast_groups {
    struct fab_mcast_trees *trees;
    struct fab_mcast_group **group; /* by MGID */
    size_t groups, room;
    uint32_t *users; /* [mlids] number of groups with the LID */
    uint32_t mlids;
    uint64_t given; /* number of MGIDs that the manager has chosen */
    uint32_t most;  /* limit for multicast LIDs; 0: as many as the switches have entries for */
    enum fab_mcast_share share; /* initially SHORT */
    struct fab_mcast_listener {
        void *ctx;
        /* A group was made and has its LID, or a group without members is being removed. NULL: no
         * listener. */
        void (*group)(void *ctx, const struct fab_mcast_group *group, bool made);
        /* A member's JoinState changed; 0: it is a member no more. */
        void (*member)(void *ctx, const struct fab_mcast_group *group,
                       const struct fab_mcast_member *member);
    } listener;
};
int fab_mcast_groups_new(const struct fab_fabric *f, struct fab_mcast_groups **ret); /* NOMEM */
void fab_mcast_groups_free(struct fab_mcast_groups *g); /* NULL is fine */
int fab_mcast_groups_update(struct fab_mcast_groups *g, const struct fab_fabric *now); /* NOMEM */
const struct fab_mcast_group *fab_mcast_groups_find(const struct fab_mcast_groups *g,
                                                    const uint64_t mgid[2]);

/* Positions of the first group whose MGID is not below mgid, and of the first member whose GUID is
 * not below guid; groups or members if there is none. */
size_t fab_mcast_groups_lower_bound(const struct fab_mcast_groups *g, const uint64_t mgid[2]);
size_t fab_mcast_group_lower_bound(const struct fab_mcast_group *group, uint64_t guid);
/* True if a group matches a record in these components; MTU, rate and lifetime by their selectors.
 * Components of members are ignored. */
bool fab_mcast_group_matches(const struct fab_mcast_group *group,
                             const struct fab_wire_mc_member_record *asked, uint64_t comp_mask);

/* A request of a port: SubnAdmSet or SubnAdmDelete of an MCMemberRecord. The caller checks that
 * the port may ask (PortGID is its own, and it is a member of the partition). */
struct fab_mcast_request {
    const struct fab_wire_mc_member_record *record;
    uint64_t comp_mask;
    uint64_t port_guid; /* GUID of the port that PortGID names; 0: the one in PortGID */
    uint8_t mtu, rate;  /* MTU and rate of the port, in MCMemberRecord's numbers */
    uint8_t life;       /* PacketLifeTime of new groups whose request does not name one */
    bool proxy;         /* another port sent the request */
};
/* Returns the status of the answer (0 or enum fab_sa_status), and with 0 its record. A join adds
 * to the member's JoinState. A missing group is created for a full member that names Q_Key, P_Key,
 * SL, FlowLabel and TClass; an MGID of zeros requests one of the manager's choice. NO_RESOURCES:
 * no multicast LID is left, nor one that could be shared, or no memory. */
uint16_t fab_mcast_groups_join(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                               struct fab_wire_mc_member_record *ret);
/* Removes bits from JoinState. A group without full members is removed with all its other members.
 */
uint16_t fab_mcast_groups_leave(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                                struct fab_wire_mc_member_record *ret);
/* Restores a group or member from before a restart, if it does not exist yet: with its LID if that
 * is free, else with another one. Returns LIMIT (no LID is left) or NOMEM. */
int fab_mcast_groups_restore(struct fab_mcast_groups *g,
                             const struct fab_wire_mc_member_record *is);
/* Returns NOT_FOUND (no such group) or NOMEM. */
int fab_mcast_groups_restore_member(struct fab_mcast_groups *g, const uint64_t mgid[2],
                                    const struct fab_mcast_member *member);
/* Removes members with this GUID from all groups: the port is gone for good. */
void fab_mcast_groups_drop_member(struct fab_mcast_groups *g, uint64_t guid);
/* True if some group has a member with this GUID. */
bool fab_mcast_groups_has_member(const struct fab_mcast_groups *g, uint64_t guid);

/* Makes the groups of the partitions fixed, and no others; p may be NULL. Returns LIMIT (for
 * *ret_left_out groups there is no multicast LID) or NOMEM. */
int fab_mcast_groups_configure(struct fab_mcast_groups *g, const struct fab_partitions *p,
                               uint8_t life, size_t *ret_left_out);

#endif
