/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PathRecord (IBA 15.2.5.16) and the attributes that use its components: MultiPathRecord
 * (15.2.5.20), which is answered with PathRecords, and TraceRecord (15.2.5.19).
 *
 * A request names sources and destinations by GID or LID. If it names no source, all endports are
 * sources; the same holds for destinations. Between two ports with several LIDs there are several
 * paths. The answer first lists paths of which no two share a LID (preference 0), then the other
 * paths (preference 2).
 *
 * A selector and its value together limit the MTU, rate or lifetime. As in other managers, a
 * selector without a value is ignored. Senders may use a lower MTU than that of the path. So a path
 * with a higher MTU than the request also matches the selector "exactly", and with the selector
 * "less than", the MTU in the answer is at most the one below that in the request. For rates,
 * "exactly" matches only the same rate. The lifetime of a path is that of the subnet or of its
 * traffic class; for a path from a port to itself, it is 0.
 *
 * For a destination in another subnet, the path leads to a router (libfabmgr/policy/routers.h), and
 * its HopLimit is not 0. The service ID and the QoS class in the request select the traffic class
 * (class.c), and thus the SL. In the answer, both are 0, as are TClass and flow label.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sa/kinds.h"

#define LINK_LOCAL UINT64_C(0xfe80000000000000)
#define HOP_LIMIT_ROUTED 255 /* HopLimit of a path to another subnet */

/* ---- endports -------------------------------------------------------------------------------- */

/* Finds the port with this GID. Returns 0, or an SA status for the answer. */
static uint16_t port_of_gid(const struct fab_sa_query *q, const uint64_t gid[2], uint32_t *ret)
{
    const struct fab_view *v = q->sa->view;
    uint32_t port = FAB_NONE;
    if (gid[0] == v->policy.subnet_prefix || gid[0] == LINK_LOCAL)
        port = fab_sa_port_of_guid(q->sa, gid[1]);
    if (port == FAB_NONE)
        return FAB_SA_INVALID_GID;
    *ret = port;
    return 0;
}

static bool port_of_lid(const struct fab_sa_query *q, uint16_t lid, uint32_t *ret)
{
    const struct fab_lids *lids = &q->sa->view->target->lids;
    if (lid == 0 || lid > lids->top || lids->owner[lid] == FAB_NONE)
        return false;
    *ret = lids->owner[lid];
    return true;
}

/* Returns the router port for a subnet prefix: the port that the configured route for this prefix
 * names, or the first router port of the fabric if the route names no port. Returns FAB_NONE if no
 * route matches the prefix, or if the fabric does not have the router port. */
static uint32_t router_for(const struct fab_sa *sa, uint64_t prefix)
{
    const struct fab_fabric *f = sa->view->fabric;
    const struct fab_prefix_route *route =
        fab_policy_routers_find(sa->view->policy.routers, prefix);
    for (uint32_t i = 0; route != NULL && i < sa->endport_count; i++) {
        const struct fab_port *p = fab_fabric_port(f, sa->endports[i]);
        if (f->nodes[p->node].type == FAB_NODE_ROUTER &&
            (route->port_guid == 0 || route->port_guid == p->guid))
            return sa->endports[i];
    }
    return FAB_NONE;
}

/* Finds the port to which packets for a destination GID are sent. If the GID belongs to this
 * subnet, this is the port with the GID, and *ret_routed becomes false. Otherwise it is the port of
 * the router to the subnet of the GID, and *ret_routed becomes true. Returns 0, or an SA status for
 * the answer. */
static uint16_t destination_of_gid(const struct fab_sa_query *q, const uint64_t gid[2],
                                   uint32_t *ret, bool *ret_routed)
{
    uint64_t prefix = gid[0];
    *ret_routed = prefix != q->sa->view->policy.subnet_prefix && prefix != LINK_LOCAL;
    if (!*ret_routed)
        return port_of_gid(q, gid, ret);
    uint32_t port = router_for(q->sa, prefix);
    if (port == FAB_NONE)
        return FAB_SA_INVALID_GID;
    *ret = port;
    return 0;
}

/* Finds the endport that the request names by GID, by LID or by both; `gid` and `lid` are NULL if
 * the request does not have them. *ret is FAB_NONE if both are NULL, which means all endports.
 * Returns 0, or an SA status for the answer. */
static uint16_t find_endport(struct fab_sa_query *q, const uint64_t *gid, const uint16_t *lid,
                             bool destination, uint32_t *ret)
{
    uint32_t by_gid = FAB_NONE, by_lid = FAB_NONE;
    uint16_t status = 0;
    if (gid)
        status = destination ? destination_of_gid(q, gid, &by_gid, &q->routed)
                             : port_of_gid(q, gid, &by_gid);
    bool none = lid && !port_of_lid(q, *lid, &by_lid);
    if (status == 0 && (none || (gid && lid && by_gid != by_lid)))
        status = FAB_SA_NO_RECORDS;
    *ret = by_gid != FAB_NONE ? by_gid : by_lid;
    return status;
}

/* Makes the list of sources (`end` 0) or destinations (`end` 1): only the port `port`, or all
 * endports if `port` is FAB_NONE. gid: the GID by which the request named the port; NULL: it did
 * not name the port by GID. */
static void set_list(struct fab_sa_query *q, uint32_t port, unsigned end, const uint64_t *gid,
                     const uint32_t **ret, uint32_t *ret_count)
{
    q->own[end] = port;
    if (port != FAB_NONE)
        q->guid[end] = gid != NULL ? gid[1] : fab_fabric_port(q->sa->view->fabric, port)->guid;
    *ret = port != FAB_NONE ? &q->own[end] : q->sa->endports;
    *ret_count = port != FAB_NONE ? 1 : q->sa->endport_count;
}

/* Returns the GUID for port number `n` of a list of sources or destinations: the GUID (possibly an
 * alias GUID) by which the request named the port, or else the port's own GUID. */
static uint64_t guid_of(const struct fab_sa_query *q, const uint32_t *list, uint32_t n)
{
    if (list == q->sa->endports)
        return fab_fabric_port(q->sa->view->fabric, list[n])->guid;
    return q->guid[(uint32_t)(list - q->own) + n];
}

static void count_pairs(struct fab_sa_query *q)
{
    uint32_t lids = 1u << q->sa->max_lmc;
    q->pairs = (q->slid ? 1 : lids) * (q->dlid ? 1 : lids);
    if (q->method == FAB_METHOD_GET)
        q->limit = 1;
    else
        q->limit = q->given.paths ? q->path.paths : UINT32_MAX;
}

uint16_t fab_sa_begin_path(struct fab_sa_query *q, const struct fab_sa_request *req)
{
    uint32_t src, dst;
    fab_wire_path_record_unpack(req->data, &q->path);
    if (q->sa->path_mask != req->comp_mask) {
        q->sa->path_mask = req->comp_mask;
        fab_wire_rec_mask_struct(&fab_wire_path_record, req->comp_mask, &q->sa->path_given);
    }
    q->given = q->sa->path_given;
    const struct fab_wire_path_record *p = &q->path, *g = &q->given;
    q->routed = false;
    uint16_t status =
        find_endport(q, g->sgid[0] ? p->sgid : NULL, g->slid ? &p->slid : NULL, false, &src);
    if (status == 0)
        status =
            find_endport(q, g->dgid[0] ? p->dgid : NULL, g->dlid ? &p->dlid : NULL, true, &dst);
    q->from_count = q->to_count = 0;
    q->pairs = 1;
    if (status != 0)
        /* if no record can match, this is not an error: the answer is an empty table */
        return status == FAB_SA_NO_RECORDS ? 0 : status;
    set_list(q, src, 0, g->sgid[0] ? p->sgid : NULL, &q->from, &q->from_count);
    set_list(q, dst, 1, g->dgid[0] ? p->dgid : NULL, &q->to, &q->to_count);
    q->slid = g->slid ? p->slid : 0;
    q->dlid = g->dlid ? p->dlid : 0;
    q->gid_prefix[0] = g->sgid[0] ? p->sgid[0] : q->sa->view->policy.subnet_prefix;
    q->gid_prefix[1] = g->dgid[0] ? p->dgid[0] : q->sa->view->policy.subnet_prefix;
    count_pairs(q);
    return 0;
}

/* Copies the components that MultiPathRecord and PathRecord have in common. */
static void path_of_multi(const struct fab_wire_multi_path_record *m,
                          struct fab_wire_path_record *p)
{
    *p = (struct fab_wire_path_record){.raw = m->raw,
                                       .reversible = m->reversible,
                                       .paths = m->paths,
                                       .pkey = m->pkey,
                                       .sl = m->sl,
                                       .mtu_selector = m->mtu_selector,
                                       .mtu = m->mtu,
                                       .rate_selector = m->rate_selector,
                                       .rate = m->rate,
                                       .life_selector = m->life_selector,
                                       .life = m->life,
                                       .qos_class = m->qos_class,
                                       .service_msb = m->service_msb,
                                       .service_lsb = m->service_lsb};
}

uint16_t fab_sa_begin_multi(struct fab_sa_query *q, const struct fab_sa_request *req)
{
    struct fab_wire_multi_path_record m, given;
    uint16_t status = 0;
    (void)fab_wire_rec_unpack(&fab_wire_multi_path_record, req->data, FAB_SA_DATA_LEN, &m);
    fab_wire_rec_mask_struct(&fab_wire_multi_path_record, req->comp_mask, &given);
    unsigned count = (unsigned)m.sgids + m.dgids;
    if (!given.sgids || !given.dgids || m.sgids == 0 || m.dgids == 0)
        return FAB_SA_INSUFFICIENT_COMPONENTS;
    if (count > FAB_MULTI_PATH_GIDS)
        return FAB_SA_REQ_INVALID;
    for (unsigned i = 0; i < count && status == 0; i++) {
        status = port_of_gid(q, m.gid + (size_t)i * 2, &q->own[i]);
        q->guid[i] = m.gid[(size_t)i * 2 + 1];
    }
    q->routed = false;
    q->from = q->own;
    q->from_count = m.sgids;
    q->to = q->own + m.sgids;
    q->to_count = m.dgids;
    path_of_multi(&m, &q->path);
    path_of_multi(&given, &q->given);
    q->gid_prefix[0] = m.gid[0];
    q->gid_prefix[1] = m.gid[2 * (size_t)m.sgids % (2 * FAB_MULTI_PATH_GIDS)];
    count_pairs(q);
    return status;
}

/* ---- selectors ------------------------------------------------------------------------------- */

bool fab_sa_apply_selector(uint8_t selector, unsigned want, unsigned *value, bool exact_only)
{
    switch (selector) {
    case FAB_SELECT_MORE:
        return *value > want;
    case FAB_SELECT_LESS:
        if (*value >= want)
            *value = want - 1;
        return want > 1;
    case FAB_SELECT_EXACTLY:
        if (*value < want || (exact_only && *value != want))
            return false;
        *value = want;
        return true;
    default:
        return true;
    }
}

struct path {
    unsigned mtu, rank, life;
    uint8_t sl;
};

static bool select_all(const struct fab_sa_query *q, struct path *p)
{
    const struct fab_wire_path_record *w = &q->path, *g = &q->given;
    return (!g->mtu_selector || !g->mtu ||
            fab_sa_apply_selector(w->mtu_selector, w->mtu, &p->mtu, false)) &&
           (!g->rate_selector || !g->rate ||
            fab_sa_apply_selector(w->rate_selector, fab_sa_rank_of_rate(w->rate), &p->rank,
                                  true)) &&
           (!g->life_selector || !g->life ||
            fab_sa_apply_selector(w->life_selector, w->life, &p->life, false));
}

/* ---- one path -------------------------------------------------------------------------------- */

static bool find(struct fab_sa_query *q, uint32_t src, uint32_t lid, uint8_t class,
                 struct path *ret)
{
    const struct fab_view *v = q->sa->view;
    uint8_t mtu, rank;
    if (fab_sa_path_limits(q->sa, src, lid, &mtu, &rank) != FAB_OK)
        return false;
    *ret = (struct path){.mtu = mtu, .rank = rank};
    if (v->target->lids.owner[lid] != src)
        ret->life = v->policy.subnet_timeout;
    fab_sa_class_limits(q, class, &ret->mtu, &ret->rank, &ret->life);
    ret->sl = fab_target_level_sl(v->fabric, &v->target->lids, &v->target->vls, class, src, lid);
    /* if the tables have only one VL, any SL is usable, so the path gets the SL in the request */
    if (q->given.sl && !fab_target_vls_multiple(&v->target->vls) &&
        fab_target_vls_levels(&v->target->vls) < 2)
        ret->sl = q->path.sl;
    return (!q->given.sl || q->path.sl == ret->sl) && select_all(q, ret);
}

/* Returns true if the reverse path exists, has the SL `sl`, and meets the limits in the request.
 * Follows the reverse path only if this is necessary: if the tables did not pass the verification,
 * or if the request has limits. */
static bool find_back(struct fab_sa_query *q, uint32_t dst, uint32_t slid, uint8_t class,
                      uint8_t sl)
{
    const struct fab_view *v = q->sa->view;
    const struct fab_wire_path_record *g = &q->given;
    struct path back;
    if (q->sa->proved && !g->mtu && !g->rate && !g->life)
        return !fab_target_vls_multiple(&v->target->vls) ||
               fab_target_level_sl(v->fabric, &v->target->lids, &v->target->vls, class, dst,
                                   slid) == sl;
    return find(q, dst, slid, class, &back) && back.sl == sl;
}

uint16_t fab_sa_common_key(const struct fab_sa *sa, uint32_t a, uint32_t b, uint16_t wanted)
{
    return fab_target_pkeys_common(&sa->view->target->pkeys, a, b, wanted);
}

bool fab_sa_share_partition(const struct fab_sa *sa, uint32_t a, uint32_t b)
{
    return fab_sa_common_key(sa, a, b, 0) != 0;
}

bool fab_sa_may_see(const struct fab_sa_query *q, uint32_t port)
{
    if (q->trusted || q->asker == FAB_SA_ANYBODY)
        return true;
    return q->asker != FAB_NONE && fab_sa_common_key(q->sa, q->asker, port, 0) != 0;
}

bool fab_sa_in_partition(const struct fab_sa_query *q, uint16_t pkey)
{
    if (q->trusted || q->asker == FAB_SA_ANYBODY)
        return true;
    return q->asker != FAB_NONE &&
           fab_target_pkeys_has(&q->sa->view->target->pkeys, q->asker, pkey);
}

/* Finds the P_Key of a path; it is 0 for raw packets, which have no P_Key. only: the P_Key of the
 * partition that the traffic class requires; 0: any partition. Returns false if the two ports
 * cannot communicate in a partition that the request and `only` permit. */
static bool find_pkey(const struct fab_sa_query *q, uint32_t src, uint32_t dst, uint16_t only,
                      uint16_t *ret)
{
    uint16_t wanted = q->given.pkey ? q->path.pkey : 0;
    *ret = 0;
    if (q->given.raw && q->path.raw)
        return true;
    if (q->given.pkey && fab_target_pkey_base(wanted) == 0)
        return false;
    if (only != 0 && wanted != 0 && fab_target_pkey_base(wanted) != only)
        return false;
    uint16_t common = fab_sa_common_key(q->sa, src, dst, wanted != 0 ? wanted : only);
    *ret = wanted != 0 ? wanted : common;
    return common != 0;
}

static bool fill_between(struct fab_sa_query *q, uint32_t src, uint32_t slid, uint32_t dst,
                         uint32_t dlid, struct fab_wire_path_record *r)
{
    struct path p;
    uint16_t pkey;
    if (!find_pkey(q, src, dst, 0, &pkey))
        return false;
    uint8_t class = fab_sa_class(q, src, dst, dlid, pkey);
    uint16_t only = fab_sa_class_pkey(q->sa, class);
    if ((only != 0 && !find_pkey(q, src, dst, only, &pkey)) || !find(q, src, dlid, class, &p))
        return false;
    bool reversible = find_back(q, dst, slid, class, p.sl);
    if (!reversible && q->given.reversible && q->path.reversible)
        return false;
    *r = (struct fab_wire_path_record){
        /* only the GID prefixes are set here; the caller adds the GUIDs */
        .dgid = {q->gid_prefix[1]},
        .sgid = {q->gid_prefix[0]},
        .dlid = (uint16_t)dlid,
        .slid = (uint16_t)slid,
        .raw = q->given.raw && q->path.raw,
        .reversible = reversible,
        .pkey = pkey,
        .sl = p.sl,
        .mtu_selector = FAB_SELECT_EXACTLY,
        .mtu = (uint8_t)p.mtu,
        .rate_selector = FAB_SELECT_EXACTLY,
        .rate = fab_sa_rate_of_rank((uint8_t)p.rank),
        .life_selector = FAB_SELECT_EXACTLY,
        .life = (uint8_t)p.life,
    };
    return true;
}

/* Numbers the pairs of LIDs of a source with `s` LIDs and a destination with `d` LIDs, and sets
 * *ret_s and *ret_d to the two LIDs of pair number `n` (from 0), as offsets to the base LIDs. Pairs
 * with equal offsets come first, because no two of them share a LID. Returns false if there are not
 * more than `n` pairs. */
static bool lid_pair(uint32_t n, uint32_t s, uint32_t d, uint32_t *ret_s, uint32_t *ret_d)
{
    uint32_t same = s < d ? s : d;
    *ret_s = *ret_d = n;
    if (n < same)
        return true;
    n -= same;
    for (*ret_s = 0; *ret_s < s; (*ret_s)++) {
        uint32_t others = *ret_s < d ? d - 1 : d;
        *ret_d = *ret_s < d && n >= *ret_s ? n + 1 : n;
        if (n < others)
            return true;
        n -= others;
    }
    return false;
}

static uint32_t count_paths(const struct fab_sa_query *q, uint32_t port)
{
    (void)port;
    uint64_t count = (uint64_t)q->to_count * q->pairs;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static bool fill_path(struct fab_sa_query *q, uint32_t src, uint32_t k, void *ret)
{
    const struct fab_lids *lids = &q->sa->view->target->lids;
    uint32_t dst = q->to[k / q->pairs], n = k % q->pairs, s, d;
    struct fab_wire_path_record *r = ret;
    if (n == 0)
        q->found = fab_sa_may_see(q, dst) ? 0 : q->limit;
    if (q->found >= q->limit || !lid_pair(n, q->slid ? 1 : 1u << lids->lmc[src],
                                          q->dlid ? 1 : 1u << lids->lmc[dst], &s, &d))
        return false;
    if (!fill_between(q, src, q->slid ? q->slid : lids->base[src] + s, dst,
                      q->dlid ? q->dlid : lids->base[dst] + d, r))
        return false;
    r->sgid[1] = guid_of(q, q->from, q->i);
    r->dgid[1] = guid_of(q, q->to, k / q->pairs);
    r->hop_limit = q->routed ? HOP_LIMIT_ROUTED : 0;
    r->preference = s == d ? 0 : 2;
    q->found++;
    return true;
}

const struct fab_sa_kind fab_sa_kind_path = {
    .rec = &fab_wire_path_record, .count = count_paths, .fill = fill_path};

/* ---- traces ---------------------------------------------------------------------------------- */

/* Returns the DLID in the request, or, if it has none, the base LID of the destination. */
static uint32_t trace_dlid(const struct fab_sa_query *q)
{
    return q->dlid ? q->dlid : q->sa->view->target->lids.base[q->to[0]];
}

/* Returns the number of TraceRecords: one for each node of the path, including the nodes of both
 * endports. There is only one path, because begin_trace() requires that the request names both
 * endports. */
static uint32_t count_nodes(const struct fab_sa_query *q, uint32_t port)
{
    struct fab_sa_path path_found;
    if (q->to_count != 1 || fab_sa_path(q->sa, port, trace_dlid(q), &path_found) != FAB_OK)
        return 0;
    /* `hops` is the number of switches; the nodes of the endports are two more. If the path ends at
     * a switch, the result is too high by one, but fill_trace() then makes no last record. */
    return path_found.hops + 2u;
}

/* Follows the path to its node number `k` (0: the source). *ret_in is the port by which the path
 * enters this node, and *ret_out the port by which it leaves the node; FAB_NONE: the path begins or
 * ends there. */
static void follow_nodes(const struct fab_sa_query *q, uint32_t src, uint32_t lid, uint32_t k,
                         uint32_t *ret_in, uint32_t *ret_out)
{
    const struct fab_view *v = q->sa->view;
    uint32_t in = FAB_NONE, out = src;
    for (; k > 0 && out != FAB_NONE; k--) {
        in = q->sa->links[out].peer;
        out = in == FAB_NONE ? FAB_NONE : fab_fabric_port(v->fabric, in)->node;
        if (out != FAB_NONE)
            out = fab_fabric_node_is_switch(v->fabric, out) ? fab_sa_out_port(q->sa, out, lid)
                                                            : FAB_NONE;
    }
    *ret_in = in;
    *ret_out = out;
}

static bool fill_trace(struct fab_sa_query *q, uint32_t src, uint32_t k, void *ret)
{
    const struct fab_fabric *f = q->sa->view->fabric;
    uint32_t lid = trace_dlid(q), in, out;
    struct fab_wire_trace_record *r = ret;
    /* a trace must begin at an adapter or router, not at a switch */
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, src)->node))
        return false;
    follow_nodes(q, src, lid, k, &in, &out);
    if (in == FAB_NONE && out == FAB_NONE)
        return false;
    const struct fab_node *node = &f->nodes[fab_fabric_port(f, in != FAB_NONE ? in : out)->node];
    r->gid_prefix = q->sa->view->policy.subnet_prefix;
    r->generation = (uint16_t)q->sa->view->generation;
    r->node_type = node->type;
    r->node = node->guid;
    r->chassis = node->info.system_guid;
    if (in != FAB_NONE) {
        r->entry_guid =
            fab_fabric_port(f, in)->guid ? fab_fabric_port(f, in)->guid : node->info.port_guid;
        r->entry_port = fab_fabric_port(f, in)->num;
    }
    if (out != FAB_NONE && fab_fabric_port(f, out)->num != 0) {
        r->exit_guid =
            fab_fabric_port(f, out)->guid ? fab_fabric_port(f, out)->guid : node->info.port_guid;
        r->exit_port = fab_fabric_port(f, out)->num;
    }
    return true;
}

const struct fab_sa_kind fab_sa_kind_trace = {
    .rec = &fab_wire_trace_record, .count = count_nodes, .fill = fill_trace};
