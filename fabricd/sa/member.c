/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MCMemberRecord (IBA 15.2.5.17): hosts join multicast groups (Set), leave them (Delete) and query
 * them. libfabmgr/mcast interprets the components; this file decides which requests are permitted.
 *
 * A port may make itself a member of a group. It may also make another port a member (a proxy join)
 * if both ports share a partition, or if the request has the sa_key. The new member must be in the
 * partition of the group. A port may also become a member under each of its alias GUIDs.
 *
 * A port may change its own membership. Any port in the partition of the group may change a proxy
 * membership (o15-0.1.2, o15-0.2.1). A requester that gives the sa_key may change any membership.
 *
 * In queries, only requesters that gave the sa_key see ports and join states. Other requesters see
 * the groups of their partitions, but not the members of these groups (15.2.5.17).
 */
#include <string.h>

#include "fabricd/sa/quota.h"
#include "fabricd/sa/registered.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/target/pkeys.h"

#define DEFAULT_PREFIX UINT64_C(0xfe80000000000000)

/* ---- joins and leaves ------------------------------------------------------------------------ */

struct change {
    const struct fab_sa *sa;
    const struct fab_view *view;
    const struct fab_sa_request *req;
    /* the MCMemberRecord of the request; the prefix of its PortGID was replaced by the GID prefix
     * of the subnet */
    struct fab_wire_mc_member_record record;
    /* the prefix that PortGID has in the request; the answer repeats it */
    uint64_t prefix;
    /* id of the port that joins or leaves; FAB_NONE: the port is not in the fabric */
    uint32_t port;
    /* the multicast group that the request names; NULL: there is no such group */
    const struct fab_mcast_group *group;
    /* the membership before the change; NULL: the port is not a member */
    const struct fab_mcast_member *member;
};

static uint64_t component(const char *name)
{
    return fab_wire_rec_component(&fab_wire_mc_member_record, name);
}

static uint16_t read_change(struct sa *s, const struct fab_sa_request *req, struct change *c)
{
    const struct fab_mcast_groups *groups = sm_mgroups(s->in.sm);
    *c = (struct change){.sa = s->view->sa, .view = fab_sa_view(s->view->sa), .req = req};
    if (fab_wire_rec_unpack(&fab_wire_mc_member_record, req->data, FAB_SA_DATA_LEN, &c->record) !=
        FAB_OK)
        return FAB_SA_REQ_INVALID;
    uint64_t ours = c->view->policy.subnet_prefix;
    c->prefix = c->record.port_gid[0];
    if (c->prefix != DEFAULT_PREFIX && c->prefix != ours)
        return FAB_SA_INVALID_GID;
    c->record.port_gid[0] = ours;
    c->port = fab_sa_port_of_guid(c->sa, c->record.port_gid[1]);
    if (groups != NULL)
        c->group = fab_mcast_groups_find(groups, c->record.mgid);
    if (c->group != NULL) {
        size_t i = fab_mcast_group_lower_bound(c->group, c->record.port_gid[1]);
        if (i < c->group->members && c->group->member[i].gid[1] == c->record.port_gid[1])
            c->member = &c->group->member[i];
    }
    return 0;
}

static bool is_end(const struct fab_view *v, uint32_t port)
{
    return port != FAB_NONE && fab_fabric_port_has_lid(v->fabric, port);
}

/* Returns true if the requester may change the membership: there is none yet, it is the requester's
 * own membership and not from a proxy join, or it is a proxy membership in a group whose partition
 * includes the requester. A requester that gave the sa_key may change any membership. */
static bool may_modify(const struct change *c)
{
    if (c->req->trusted || c->member == NULL)
        return true;
    return c->member->proxy_join
               ? fab_target_pkeys_has(&c->view->target->pkeys, c->req->from, c->group->is.pkey)
               : c->req->from == c->port;
}

static bool may_join(const struct change *c)
{
    const struct fab_view *v = c->view;
    bool names_key = (c->req->comp_mask & component("P_Key")) != 0;
    uint16_t pkey = c->group != NULL ? c->group->is.pkey : c->record.pkey;
    if (!is_end(v, c->port) || (names_key && fab_target_pkey_base(c->record.pkey) == 0))
        return false;
    if ((c->group != NULL || names_key) && !fab_target_pkeys_has(&v->target->pkeys, c->port, pkey))
        return false;
    if (!c->req->trusted && c->req->from != c->port &&
        !fab_sa_share_partition(c->sa, c->req->from, c->port))
        return false;
    return may_modify(c);
}

/* Returns true if the quotas permit the join. A proxy join counts for the port that sent the
 * request, so that nobody can use up the quota of another port. */
static bool is_within_quota(struct sa *s, const struct change *c)
{
    const struct fab_mcast_groups *g = sm_mgroups(s->in.sm);
    uint64_t from = fab_fabric_port(c->view->fabric, c->req->from)->guid;
    /* no fabric is known yet: sm_mgroup_join will return BUSY, so the quotas do not matter */
    if (g == NULL)
        return true;
    const struct sa_quota_use groups = {
        .own = fab_mcast_groups_created_by(g, from), .all = g->groups, .more = 1};
    const struct sa_quota_use members = {
        .own = fab_mcast_groups_joined_by(g, from), .all = g->memberships, .more = 1};
    return (c->group != NULL || sa_quota_permits(s, c->req, FAB_QUOTA_GROUPS, &groups)) &&
           (c->member != NULL || sa_quota_permits(s, c->req, FAB_QUOTA_MEMBERSHIPS, &members));
}

static uint16_t answer(const struct change *c, uint16_t status,
                       struct fab_wire_mc_member_record *is, uint8_t *ret_data)
{
    if (status != 0)
        return status;
    is->port_gid[0] = c->prefix;
    return fab_wire_rec_pack(&fab_wire_mc_member_record, is, ret_data, FAB_SA_DATA_LEN) == FAB_OK
               ? 0
               : FAB_SA_NO_RESOURCES;
}

uint16_t sa_member_set(struct sa *s, const struct fab_sa_request *req,
                       uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct change c;
    struct fab_wire_mc_member_record is;
    uint16_t status = read_change(s, req, &c);
    if (status != 0)
        return status;
    if (req->from == FAB_NONE || !may_join(&c))
        return FAB_SA_REQ_INVALID;
    if (!is_within_quota(s, &c))
        return FAB_SA_NO_RESOURCES;
    const struct fab_port_info *port = &fab_fabric_port(c.view->fabric, c.port)->info;
    const struct fab_mcast_request ask = {
        .record = &c.record,
        .comp_mask = req->comp_mask,
        .port_guid = fab_fabric_port(c.view->fabric, c.port)->guid,
        .mtu = port->neighbor_mtu,
        .rate = fab_sa_rate(fab_wire_link_rate(port)),
        .life = c.view->policy.subnet_timeout,
        .proxy = req->from != c.port,
        .from_guid = fab_fabric_port(c.view->fabric, req->from)->guid};
    status = sm_mgroup_join(s->in.sm, &ask, &is);
    return answer(&c, status, &is, ret_data);
}

uint16_t sa_member_delete(struct sa *s, const struct fab_sa_request *req,
                          uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct change c;
    struct fab_wire_mc_member_record is;
    uint16_t status = read_change(s, req, &c);
    if (status != 0)
        return status;
    if (req->from == FAB_NONE || !may_modify(&c))
        return FAB_SA_REQ_INVALID;
    const struct fab_mcast_request ask = {.record = &c.record, .comp_mask = req->comp_mask};
    status = sm_mgroup_leave(s->in.sm, &ask, &is);
    return answer(&c, status, &is, ret_data);
}

/* ---- queries --------------------------------------------------------------------------------- */

/* The position of a query in the list of records: the record that the query returned last. */
struct place {
    uint64_t mgid[2], guid;
    /* The record of group `mgid` that was returned last. 0: none yet. 1: the record of the member
     * whose GUID is `guid`. 2: the record of the group itself. */
    uint64_t in_group;
};

static bool sees(const struct fab_sa_query *q, const struct fab_mcast_group *group)
{
    return fab_sa_in_partition(q, group->is.pkey);
}

static bool is_wanted(const struct fab_sa_query *q, const struct fab_wire_mc_member_record *want,
                      const struct fab_mcast_member *m)
{
    if ((q->comp_mask & component("PortGID")) != 0 && m->gid[1] != want->port_gid[1])
        return false;
    if ((q->comp_mask & component("ProxyJoin")) != 0 && m->proxy_join != want->proxy_join)
        return false;
    return (q->comp_mask & component("JoinState")) == 0 || m->join_state == want->join_state;
}

/* Fills in the record of the first member that the query selects, among the members of the group
 * with number `i` or higher. Returns false if there is none. */
static bool next_member(const struct fab_sa_query *q, const struct fab_wire_mc_member_record *want,
                        const struct fab_mcast_group *group, size_t i, struct place *at,
                        struct fab_wire_mc_member_record *ret)
{
    while (i < group->members && !is_wanted(q, want, &group->member[i]))
        i++;
    if (i == group->members)
        return false;
    const struct fab_mcast_member *m = &group->member[i];
    *at = (struct place){{group->is.mgid[0], group->is.mgid[1]}, m->gid[1], 1};
    *ret = group->is;
    memcpy(ret->port_gid, m->gid, sizeof(ret->port_gid));
    ret->join_state = m->join_state;
    ret->proxy_join = m->proxy_join;
    return true;
}

/* Fills in the record of the group itself, without members, for requesters that did not give the
 * sa_key. Returns false if the query names a PortGID, but selects no member of the group. */
static bool group_alone(const struct fab_sa_query *q, const struct fab_wire_mc_member_record *want,
                        const struct fab_mcast_group *group, struct fab_wire_mc_member_record *ret)
{
    struct place at;
    if ((q->comp_mask & component("PortGID")) != 0 && !next_member(q, want, group, 0, &at, ret))
        return false;
    *ret = group->is;
    return true;
}

static bool next_record(const struct fab_mcast_groups *g, const struct fab_sa_query *q,
                        struct place *at, struct fab_wire_mc_member_record *ret)
{
    struct fab_wire_mc_member_record want;
    if (fab_wire_rec_unpack(&fab_wire_mc_member_record, q->want, sizeof(q->want), &want) != FAB_OK)
        return false;
    for (size_t i = fab_mcast_groups_lower_bound(g, at->mgid); i < g->groups; i++) {
        const struct fab_mcast_group *group = g->group[i];
        bool here = group->is.mgid[0] == at->mgid[0] && group->is.mgid[1] == at->mgid[1];
        if ((here && at->in_group == 2) || !sees(q, group) ||
            !fab_mcast_group_matches(group, &want, q->comp_mask))
            continue;
        if (!q->trusted && group_alone(q, &want, group, ret)) {
            *at = (struct place){{group->is.mgid[0], group->is.mgid[1]}, 0, 2};
            return true;
        }
        size_t from =
            here && at->in_group == 1 ? fab_mcast_group_lower_bound(group, at->guid + 1) : 0;
        if (q->trusted && next_member(q, &want, group, from, at, ret))
            return true;
    }
    return false;
}

bool sa_member_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct)
{
    const struct sa *s = ctx;
    const struct fab_mcast_groups *g = sm_mgroups(s->in.sm);
    struct place place = {{at[0], at[1]}, at[2], at[3]};
    if (g == NULL || !next_record(g, q, &place, ret_struct))
        return false;
    at[0] = place.mgid[0];
    at[1] = place.mgid[1];
    at[2] = place.guid;
    at[3] = place.in_group;
    return true;
}
