/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListMulticastGroups and ListMulticastMembers. These methods show the multicast groups,
 * and which members the tree of a group reaches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/multicast.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/gid.h"
#include "libfabmgr/sa/sa.h"

/* ---- groups ---------------------------------------------------------------------------------- */

static uint32_t unreached(const struct fab_mcast_groups *g, const struct fab_mcast_group *group)
{
    uint32_t count = 0;
    for (size_t i = 0; i < group->members; i++)
        count += !fab_mcast_trees_reaches(g->trees, group->is.mlid, group->member[i].port_guid);
    return count;
}

static Fabric__V1__MulticastGroup *convert_group(struct answer *a, const struct fab_mcast_groups *g,
                                                 const struct fab_mcast_group *group)
{
    Fabric__V1__MulticastGroup *m =
        ANSWER_NEW(a, Fabric__V1__MulticastGroup, fabric__v1__multicast_group);
    if (m == NULL)
        return NULL;
    m->mgid = answer_gid(a, group->is.mgid);
    m->mlid = group->is.mlid;
    m->pkey = group->is.pkey;
    m->members = (uint32_t)group->members;
    m->unreached = unreached(g, group);
    m->configured = group->fixed;
    m->mtu = fab_wire_mtu_bytes(group->is.mtu);
    m->rate_mbps = fab_sa_rate_mbps(group->is.rate);
    m->service_level = group->is.sl;
    m->q_key = group->is.qkey;
    return m;
}

/* Returns the index of the first multicast group after the key of the page token. */
static size_t group_after(const struct fab_mcast_groups *g, const struct page_key *key)
{
    const uint64_t mgid[2] = {key->high, key->number};
    size_t i = fab_mcast_groups_lower_bound(g, mgid);
    bool same =
        i < g->groups && g->group[i]->is.mgid[0] == mgid[0] && g->group[i]->is.mgid[1] == mgid[1];
    return i + same;
}

static void fill_groups(struct answer *a, const struct fab_mcast_groups *g, const struct page *page,
                        Fabric__V1__ListMulticastGroupsResponse *m)
{
    m->groups = answer_alloc(a, page->want, sizeof *m->groups);
    for (size_t i = page->given ? group_after(g, &page->key) : 0;
         m->groups != NULL && i < g->groups; i++) {
        if (m->n_groups == page->want) {
            const uint64_t *mgid = g->group[i - 1]->is.mgid;
            const struct page_key last = {.list = 'g', .number = mgid[1], .high = mgid[0]};
            m->next_page_token = page_token(a, &last);
            return;
        }
        m->groups[m->n_groups++] = convert_group(a, g, g->group[i]);
    }
}

void list_multicast_groups(struct call *c, const void *request)
{
    const Fabric__V1__ListMulticastGroupsRequest *q = request;
    Fabric__V1__ListMulticastGroupsResponse m = FABRIC__V1__LIST_MULTICAST_GROUPS_RESPONSE__INIT;
    const struct fab_mcast_groups *g = sm_mgroups(call_rpc(c)->in.sm);
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'g', q->page_token, q->page_size, &page)) {
        m.generation = v->generation;
        if (g != NULL)
            fill_groups(&a, g, &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

static const struct fab_mcast_group *find_by_mlid(const struct fab_mcast_groups *g,
                                                  unsigned long mlid)
{
    const struct fab_mcast_group *found = NULL;
    for (size_t i = 0; i < g->groups; i++) {
        if (g->group[i]->is.mlid != mlid)
            continue;
        if (found != NULL)
            return NULL;
        found = g->group[i];
    }
    return found;
}

/* Finds a multicast group by its MGID, or by its MLID if only one group has this MLID. Returns NULL
 * if there is no such group. */
static const struct fab_mcast_group *find_group(const struct fab_mcast_groups *g, const char *what)
{
    uint8_t bytes[16];
    char *end;
    if (g == NULL)
        return NULL;
    if (fab_policy_gid_parse(what, bytes) == FAB_OK) {
        const uint64_t mgid[2] = {fab_base_get_be64(bytes), fab_base_get_be64(bytes + 8)};
        return fab_mcast_groups_find(g, mgid);
    }
    unsigned long mlid = strtoul(what, &end, 0);
    return end != what && *end == '\0' ? find_by_mlid(g, mlid) : NULL;
}

static Fabric__V1__MulticastMember *convert_member(struct answer *a, const struct fab_view *v,
                                                   const struct fab_mcast_groups *g,
                                                   const struct fab_mcast_group *group,
                                                   const struct fab_mcast_member *is)
{
    Fabric__V1__MulticastMember *m =
        ANSWER_NEW(a, Fabric__V1__MulticastMember, fabric__v1__multicast_member);
    uint32_t port = fab_fabric_port_by_guid(v->fabric, is->port_guid);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, is->gid[1]);
    if (port != FAB_NONE) {
        m->port = convert_port_ref(a, v, port);
        m->lid = v->target->lids.base[port];
    }
    m->full = (is->join_state & (FAB_JOIN_FULL | FAB_JOIN_SENDER_FULL)) != 0;
    m->non_member = (is->join_state & FAB_JOIN_NON_MEMBER) != 0;
    m->send_only = (is->join_state & (FAB_JOIN_SENDER | FAB_JOIN_SENDER_FULL)) != 0;
    m->proxy = is->proxy_join != 0;
    m->reached = fab_mcast_trees_reaches(g->trees, group->is.mlid, is->port_guid);
    return m;
}

static void fill_members(struct answer *a, const struct fab_view *v,
                         const struct fab_mcast_groups *g, const struct fab_mcast_group *group,
                         const struct page *page, Fabric__V1__ListMulticastMembersResponse *m)
{
    m->members = answer_alloc(a, page->want, sizeof *m->members);
    for (size_t i = page->given ? fab_mcast_group_lower_bound(group, page->key.number + 1) : 0;
         m->members != NULL && i < group->members; i++) {
        if (m->n_members == page->want) {
            const struct page_key last = {.list = 'h', .number = group->member[i - 1].gid[1]};
            m->next_page_token = page_token(a, &last);
            return;
        }
        m->members[m->n_members++] = convert_member(a, v, g, group, &group->member[i]);
    }
}

void list_multicast_members(struct call *c, const void *request)
{
    const Fabric__V1__ListMulticastMembersRequest *q = request;
    Fabric__V1__ListMulticastMembersResponse m = FABRIC__V1__LIST_MULTICAST_MEMBERS_RESPONSE__INIT;
    const struct fab_mcast_groups *g = sm_mgroups(call_rpc(c)->in.sm);
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_target(c);
    if (v != NULL && read_page(c, 'h', q->page_token, q->page_size, &page)) {
        const struct fab_mcast_group *group = find_group(g, q->group);
        m.generation = v->generation;
        if (group != NULL) {
            fill_members(&a, v, g, group, &page, &m);
            answer_reply(&a, c, &m.base);
        } else {
            call_finish(c, FAB_GRPC_NOT_FOUND,
                        "no multicast group \"%s\"; an MGID is expected, or an MLID that only one "
                        "group has",
                        q->group);
        }
    }
}
