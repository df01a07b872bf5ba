/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups, their members and their multicast LIDs (MLIDs). Groups come from the
 * configuration, and from joins and leaves of subnet administration (IBA 15.2.5.17). Each change
 * also updates the multicast trees and MFTs. The struct is mutable and has one owner.
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

enum fab_join { /* bits of JoinState in MCMemberRecord */
                FAB_JOIN_FULL = 1,
                /* non-member: receives and sends, but does not keep the group in existence */
                FAB_JOIN_NON_MEMBER = 2,
                /* send-only non-member: only sends, and does not keep the group in existence */
                FAB_JOIN_SENDER = 4,
                /* send-only full member: only sends; the group exists at least as long as this
                 * member */
                FAB_JOIN_SENDER_FULL = 8
};
struct fab_mcast_member {
    /* GID of the port (GID prefix and GUID), or an alias GID of the port */
    uint64_t gid[2];
    /* GUID of the port; if the caller passes 0, this is the GUID in `gid` */
    uint64_t port_guid;
    /* GUID of the port that requested the membership; the membership counts in its quota; 0:
     * unknown */
    uint64_t charged;
    uint8_t join_state, proxy_join;
};
struct fab_mcast_group {
    /* The record of the group, with the values that all members share. All selectors are
     * "exactly". PortGID, JoinState and ProxyJoin, which belong to a member, are 0. */
    struct fab_wire_mc_member_record is;
    /* true: the group is configured, so it exists even without members */
    bool fixed;
    /* GUID of the port whose join created the group; the group counts in its quota; 0: none or
     * unknown */
    uint64_t creator;
    struct fab_mcast_member *member; /* array of members, sorted by GUID */
    size_t members, room;
};
/* Says when IPv6 solicited-node groups share an MLID. NEVER: they never share. SHORT: they share if
 * few MLIDs are free. ALWAYS: they always share. With SHORT and ALWAYS, other IP groups share MLIDs
 * if no MLID is free. */
enum fab_mcast_share { FAB_MCAST_SHARE_NEVER, FAB_MCAST_SHARE_SHORT, FAB_MCAST_SHARE_ALWAYS };
struct fab_mcast_groups {
    struct fab_mcast_trees *trees;
    struct fab_mcast_group **group; /* array of groups, sorted by MGID */
    size_t groups, room;
    /* [mlids] by MLID: number of groups that have the MLID */
    uint32_t *users;
    uint32_t mlids;
    /* the number N in the last MGID that the manager made (make_mgid); the next MGID gets a higher
     * number */
    uint64_t given;
    /* Counts for the quotas, by port GUID. created: number of groups that the port created. joined:
     * number of memberships that the port requested. A group counts for its creator as long as the
     * group exists, even if the creator leaves it. Without this rule, two hosts together could
     * create any number of groups. */
    struct fab_map created, joined;
    size_t memberships; /* number of memberships of all ports */
    /* greatest number of MLIDs that the manager may assign; 0: no limit except the size of the
     * MFTs */
    uint32_t most;
    enum fab_mcast_share share; /* initially FAB_MCAST_SHARE_SHORT; the owner may change it */
    struct fab_mcast_listener {
        void *ctx;
        /* Called with `made` true after a group was created and got its MLID. Called with `made`
         * false when a group and all its members have been removed, before the memory of the group
         * is freed. NULL: no listener. */
        void (*group)(void *ctx, const struct fab_mcast_group *group, bool made);
        /* Called after the JoinState of a member changed. JoinState 0: the member has left. */
        void (*member)(void *ctx, const struct fab_mcast_group *group,
                       const struct fab_mcast_member *member);
    } listener;
};
/* Makes an empty store of groups for a fabric. Returns OK or NOMEM. */
int fab_mcast_groups_new(const struct fab_fabric *f, struct fab_mcast_groups **ret);
/* Makes an empty store of groups for a net, which another thread may have made from a fabric
 * (fab_mcast_net_new). Takes over the net, even after an error. Returns OK or NOMEM. */
int fab_mcast_groups_new_over(struct fab_mcast_net *net, struct fab_mcast_groups **ret);
void fab_mcast_groups_free(struct fab_mcast_groups *g); /* g may be NULL */
/* fab_mcast_groups_update adapts the trees to the fabric `now`, and fab_mcast_groups_update_over to
 * the net `now`. The second function takes over the net, even after an error. Both return OK or
 * NOMEM. */
int fab_mcast_groups_update(struct fab_mcast_groups *g, const struct fab_fabric *now);
int fab_mcast_groups_update_over(struct fab_mcast_groups *g, struct fab_mcast_net *now);
const struct fab_mcast_group *fab_mcast_groups_find(const struct fab_mcast_groups *g,
                                                    const uint64_t mgid[2]);

/* fab_mcast_groups_lower_bound returns the index of the first group whose MGID is not less than
 * `mgid`. fab_mcast_group_lower_bound returns the index of the group's first member whose GUID
 * is not less than `guid`. If there is none, they return the number of groups or members. */
size_t fab_mcast_groups_lower_bound(const struct fab_mcast_groups *g, const uint64_t mgid[2]);
size_t fab_mcast_group_lower_bound(const struct fab_mcast_group *group, uint64_t guid);
/* Returns true if a group matches the record `asked` in all components in `comp_mask`. MTU, rate
 * and lifetime are compared as their selectors demand. Components that belong to a member, such as
 * PortGID, are ignored. */
bool fab_mcast_group_matches(const struct fab_mcast_group *group,
                             const struct fab_wire_mc_member_record *asked, uint64_t comp_mask);

/* A request of a port: SubnAdmSet or SubnAdmDelete of an MCMemberRecord. The caller has checked
 * that the port may send this request: PortGID belongs to the port, and the port is a member of the
 * partition. */
struct fab_mcast_request {
    const struct fab_wire_mc_member_record *record;
    uint64_t comp_mask;
    /* GUID of the port to which PortGID belongs, which may be an alias GID; 0: the GUID in
     * PortGID */
    uint64_t port_guid;
    /* MTU and rate of the port, as encoded in MCMemberRecord; 0: unknown */
    uint8_t mtu, rate;
    /* PacketLifeTime that a new group gets if the request has none */
    uint8_t life;
    bool proxy; /* true: another port sent the request */
    /* GUID of the port that sent the request; the group or membership counts against the quota of
     * this port. 0: it counts against no quota */
    uint64_t from_guid;
};
/* Joins a port to a group. Returns the status for the answer: 0 or an enum fab_sa_status. If the
 * status is 0, *ret is the record for the answer. If the port is a member already, the bits of the
 * request are added to its JoinState.
 *
 * If the group does not exist, this function creates it, provided that the port joins as a full
 * member and the request has Q_Key, P_Key, SL, FlowLabel and TClass. If the MGID in the request is
 * zero, the manager makes one. The MGID of an IP group contains its P_Key (RFC 4391, section 4), so
 * another P_Key is refused. NO_RESOURCES: no MLID is free and none can be shared, some switch has
 * no MFT entry for the MLID of the group, or memory ran out. */
uint16_t fab_mcast_groups_join(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                               struct fab_wire_mc_member_record *ret);
/* Removes the requested bits from the JoinState of a member. If no full member remains, and the
 * group is not configured, removes the group with all its members. Returns the status for the
 * answer: 0 or an enum fab_sa_status. If the status is 0, *ret is the record for the answer; its
 * JoinState has the removed bits. */
uint16_t fab_mcast_groups_leave(struct fab_mcast_groups *g, const struct fab_mcast_request *ask,
                                struct fab_wire_mc_member_record *ret);
/* Restores a group that existed before the manager was restarted. Does nothing if the group exists.
 * The group gets its former MLID, is->mlid, if this MLID is free or can be shared; otherwise
 * another one. Returns LIMIT if no MLID is left, or NOMEM. */
int fab_mcast_groups_restore(struct fab_mcast_groups *g,
                             const struct fab_wire_mc_member_record *is);
/* Restores a member of a group. The membership counts in the quota of the member's port. A proxy
 * membership counts in no quota, because its requester is no longer known. Returns NOT_FOUND if
 * there is no such group, or the errors of fab_mcast_trees_join. */
int fab_mcast_groups_restore_member(struct fab_mcast_groups *g, const uint64_t mgid[2],
                                    const struct fab_mcast_member *member);
/* After a restart, the creators of groups are not known. This function counts each restored group
 * that has a single member in the quota of this member's port, which probably created the group.
 * Call this function after the last fab_mcast_groups_restore_member. Returns NOMEM. */
int fab_mcast_groups_restored(struct fab_mcast_groups *g);
/* fab_mcast_groups_created_by returns how many groups a port created, and
 * fab_mcast_groups_joined_by how many memberships it requested. */
uint32_t fab_mcast_groups_created_by(const struct fab_mcast_groups *g, uint64_t port_guid);
uint32_t fab_mcast_groups_joined_by(const struct fab_mcast_groups *g, uint64_t port_guid);
/* Removes the members with this GUID from all groups. Also removes the groups that then have no
 * full member and are not configured. Call this function when the port has left the fabric for
 * good. */
void fab_mcast_groups_drop_member(struct fab_mcast_groups *g, uint64_t guid);
/* Returns true if any group has a member with this GUID. */
bool fab_mcast_groups_has_member(const struct fab_mcast_groups *g, uint64_t guid);

/* Returns the number of MLIDs that the manager may assign: `most`, or the size of the smallest MFT,
 * whichever is less. */
uint32_t fab_mcast_groups_room(const struct fab_mcast_groups *g);
/* Marks as fixed the multicast groups that are configured in the partitions `p`, and marks all
 * other groups as not fixed. Creates missing fixed groups, because they exist even without members.
 * Removes each group that is not fixed and has no full member. p == NULL: no group is configured.
 * New groups get the PacketLifeTime `life`. Returns NOMEM; then it may have created some of the
 * missing groups and marked some groups as fixed, and has changed nothing else. Returns LIMIT if
 * groups got no MLID. *ret_left_out is the number of these groups, 0 after OK. */
int fab_mcast_groups_configure(struct fab_mcast_groups *g, const struct fab_partitions *p,
                               uint8_t life, size_t *ret_left_out);

#endif
