/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements StartDrain, EndDrain, ListDrains and GetDrainPreview: maintenance of links, switches,
 * racks, pods and hosts (libfabmgr/health/drain.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabric/v1/drain.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/hosts.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/request.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/status.h"

/* ---- what the client named ------------------------------------------------------------------- */

/* The drain that a client requests. */
struct wanted {
    struct sm_drain_request request;
    char name[SM_DRAIN_NAME_LEN], reason[RPC_MAX_REASON + 1];
    uint64_t *node; /* GUIDs of the nodes that the request names, in memory of the answer */
};

static int refuse(struct call *c, int rc, const char *why)
{
    call_finish(c, rc == FAB_E_NOT_FOUND ? FAB_GRPC_NOT_FOUND : FAB_GRPC_INVALID_ARGUMENT, "%s",
                why);
    return rc;
}

static bool read_kind(struct call *c, Fabric__V1__DrainKind kind, enum sm_drain_kind *ret)
{
    if (kind < FABRIC__V1__DRAIN_KIND__DRAIN_KIND_LINK ||
        kind > FABRIC__V1__DRAIN_KIND__DRAIN_KIND_HOST) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "kind is %d; accepted are 1 (link), 2 (switch), 3 (rack), 4 (pod) and 5 (host)",
                    (int)kind);
        return false;
    }
    *ret = (enum sm_drain_kind)(kind - FABRIC__V1__DRAIN_KIND__DRAIN_KIND_LINK);
    return true;
}

static int find_switch(struct call *c, const struct fab_view *v, const char *name,
                       uint32_t *ret_node)
{
    int rc = find_node(c, v, name, ret_node);
    char why[200];
    if (rc != FAB_OK || fab_fabric_node_is_switch(v->fabric, *ret_node))
        return rc;
    snprintf(why, sizeof why, "%.64s is not a switch; drain a host with 'fabricctl drain host'",
             v->fabric->nodes[*ret_node].desc);
    return refuse(c, FAB_E_INVAL, why);
}

static int name_link(struct call *c, const struct fab_view *v, const char *name, struct wanted *w)
{
    char node[FAB_NODE_DESC_LEN + 1];
    uint32_t number, port;
    if (!is_port_name(v, name, node, &number))
        return refuse(c, FAB_E_INVAL, "name the link by one of its ports, as NODE/PORT");
    int rc = find_port(c, v, node, number, &port);
    if (rc != FAB_OK)
        return rc;
    const struct fab_node *n = &v->fabric->nodes[fab_fabric_port(v->fabric, port)->node];
    w->request.link_guid = n->guid;
    w->request.link_port = (uint8_t)number;
    snprintf(w->name, sizeof w->name, "%.128s/%u", n->desc, number);
    return FAB_OK;
}

static void add_node(const struct fab_view *v, struct wanted *w, uint32_t node)
{
    w->node[w->request.nodes++] = v->fabric->nodes[node].guid;
}

static int name_switch(struct call *c, const struct fab_view *v, const char *name, struct wanted *w)
{
    uint32_t node;
    int rc = find_switch(c, v, name, &node);
    if (rc != FAB_OK)
        return rc;
    add_node(v, w, node);
    snprintf(w->name, sizeof w->name, "%.128s", v->fabric->nodes[node].desc);
    return FAB_OK;
}

static int name_rack(struct call *c, const struct fab_view *v, const char *name, struct wanted *w)
{
    const struct fab_hosts *h = need_hosts(c, v);
    if (h == NULL)
        return FAB_E_NOMEM;
    if (name[0] == '\0')
        return refuse(c, FAB_E_INVAL, "name the rack; 'fabricctl rack list' lists all racks");
    if (fab_base_is_glob(name))
        return refuse(c, FAB_E_INVAL, "a drain has one rack; start one drain for each rack");
    if (!need_rack(c, h, v, name))
        return FAB_E_NOT_FOUND;
    for (uint32_t sw = 0; sw < v->fabric->switch_count; sw++) {
        if (!is_in_rack(h, v, sw, name))
            continue;
        snprintf(w->name, sizeof w->name, "%.128s", location_of_node(h, v, sw)->rack);
        add_node(v, w, sw);
    }
    return w->request.nodes > 0 ? FAB_OK
                                : refuse(c, FAB_E_NOT_FOUND, "there is no switch in this rack");
}

static int name_pod(struct call *c, const struct fab_view *v, const char *name, struct wanted *w)
{
    uint32_t node;
    int rc = find_switch(c, v, name, &node);
    uint64_t *set = rc == FAB_OK ? fab_base_bits_new(v->fabric->switch_count) : NULL;
    if (rc != FAB_OK)
        return rc;
    rc = set != NULL ? fab_health_drain_pod(v->fabric, node, set) : FAB_E_NOMEM;
    for (uint32_t sw = 0; rc == FAB_OK && sw < v->fabric->switch_count; sw++)
        if (fab_base_bits_get(set, sw))
            add_node(v, w, sw);
    free(set);
    if (rc == FAB_E_NOT_FOUND)
        return refuse(
            c, FAB_E_INVAL,
            "the switch belongs to no pod, because no switch is farther from hosts; drain "
            "it with 'fabricctl drain switch'");
    if (rc != FAB_OK)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else
        snprintf(w->name, sizeof w->name, "%.128s", v->fabric->nodes[node].desc);
    return rc;
}

static int name_host(struct call *c, const struct fab_view *v, const char *name, struct wanted *w)
{
    const struct fab_hosts *h = need_hosts(c, v);
    if (h == NULL)
        return FAB_E_NOMEM;
    uint32_t host = fab_hosts_by_name(h, name), node;
    if (host == FAB_NONE) {
        int rc = find_node(c, v, name, &node);
        if (rc != FAB_OK)
            return rc;
        host = h->host_of[node];
    }
    if (host == FAB_NONE)
        return refuse(c, FAB_E_INVAL, "this is not a host, or an adapter of a host");
    for (uint32_t i = 0; i < h->hosts[host].count; i++)
        add_node(v, w, h->adapters[h->hosts[host].first + i].node);
    snprintf(w->name, sizeof w->name, "%.128s", h->hosts[host].name);
    return FAB_OK;
}

/* Finds the object that the client named. On an error, finishes the call. */
static int find_wanted(struct call *c, struct answer *a, const struct fab_view *v,
                       Fabric__V1__DrainKind kind, const char *name, struct wanted *w)
{
    static int (*const find[SM_DRAIN_KINDS])(struct call *, const struct fab_view *, const char *,
                                             struct wanted *) = {
        [SM_DRAIN_LINK] = name_link, [SM_DRAIN_SWITCH] = name_switch, [SM_DRAIN_RACK] = name_rack,
        [SM_DRAIN_POD] = name_pod,   [SM_DRAIN_HOST] = name_host,
    };
    *w = (struct wanted){0};
    if (!read_kind(c, kind, &w->request.kind))
        return FAB_E_INVAL;
    w->node = answer_alloc(a, v->fabric->node_count, sizeof *w->node);
    if (w->node == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return FAB_E_NOMEM;
    }
    int rc = find[w->request.kind](c, v, name, w);
    w->request.name = w->name;
    w->request.node = w->node;
    w->request.by = call_peer(c);
    call_reason(c, w->reason);
    w->request.reason = w->reason;
    return rc;
}

/* ---- answers --------------------------------------------------------------------------------- */

static Fabric__V1__Drain *convert_drain(struct answer *a, const struct sm_drain_info *d)
{
    Fabric__V1__Drain *m = ANSWER_NEW(a, Fabric__V1__Drain, fabric__v1__drain);
    if (m == NULL)
        return NULL;
    m->id = d->id;
    m->kind = (Fabric__V1__DrainKind)(d->kind + FABRIC__V1__DRAIN_KIND__DRAIN_KIND_LINK);
    m->name = answer_text(a, d->name);
    m->state = (Fabric__V1__DrainState)(d->state + FABRIC__V1__DRAIN_STATE__DRAIN_STATE_MOVING);
    m->since = convert_time(a, d->since_us);
    if (d->until_us != 0)
        m->until = convert_time(a, d->until_us);
    m->by = answer_text(a, d->by);
    m->reason = answer_text(a, d->reason);
    m->force = d->force;
    m->link_count = d->links;
    m->used_link_count = d->used;
    m->endport_count = d->hosts;
    m->busy_port = answer_text(a, d->busy);
    m->busy_bytes_per_second = d->busy_bytes_per_s;
    return m;
}

/* Returns a list of all drains, in memory of the answer; NULL: memory ran out. */
static struct sm_drain_info *all_drains(struct answer *a, const struct sm *sm, uint32_t *ret_count)
{
    *ret_count = sm_drain_list(sm, NULL, 0);
    struct sm_drain_info *list = answer_alloc(a, *ret_count + 1u, sizeof *list);
    if (list != NULL)
        sm_drain_list(sm, list, *ret_count);
    return list;
}

static int by_id(const void *a, const void *b)
{
    const struct sm_drain_info *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

void list_drains(struct call *c, const void *request)
{
    Fabric__V1__ListDrainsResponse m = FABRIC__V1__LIST_DRAINS_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t count;
    struct sm_drain_info *list = all_drains(&a, call_rpc(c)->in.sm, &count);
    (void)request;
    m.drains = answer_alloc(&a, count + 1u, sizeof *m.drains);
    if (list != NULL && m.drains != NULL) {
        qsort(list, count, sizeof *list, by_id);
        for (uint32_t i = 0; i < count; i++)
            m.drains[m.n_drains++] = convert_drain(&a, &list[i]);
    }
    answer_reply(&a, c, &m.base);
}

/* ---- GetDrainPreview ----------------------------------------------------------------------------
 */

static Fabric__V1__DrainLink **convert_links(struct answer *a, const struct fab_view *v,
                                             const uint32_t *port, uint32_t count, size_t *ret_n)
{
    Fabric__V1__DrainLink **m = answer_alloc(a, count + 1u, sizeof *m);
    for (uint32_t i = 0; m != NULL && i < count; i++) {
        m[i] = ANSWER_NEW(a, Fabric__V1__DrainLink, fabric__v1__drain_link);
        if (m[i] == NULL)
            return m;
        m[i]->a = convert_port_ref(a, v, port[i]);
        m[i]->b = convert_port_ref(a, v, fab_fabric_port(v->fabric, port[i])->peer);
        *ret_n = i + 1u;
    }
    return m;
}

/* Lists the names of the drained nodes, and of the adapters and routers that are connected to
 * drained switches. */
static void fill_names(struct answer *a, const struct fab_view *v, const struct wanted *w,
                       Fabric__V1__GetDrainPreviewResponse *m)
{
    const struct fab_fabric *f = v->fabric;
    m->nodes = answer_alloc(a, w->request.nodes + 1u, sizeof *m->nodes);
    m->hosts = answer_alloc(a, f->node_count + 1u, sizeof *m->hosts);
    uint64_t *seen = answer_alloc(a, fab_base_bits_words(f->node_count) + 1, sizeof *seen);
    if (m->nodes == NULL || m->hosts == NULL || seen == NULL)
        return;
    for (uint32_t i = 0; i < w->request.nodes; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, w->node[i]);
        m->nodes[m->n_nodes++] = answer_text(a, f->nodes[node].desc);
        for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
            uint32_t far = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, (uint8_t)num));
            if (far != FAB_NONE && fab_fabric_node_is_switch(f, node) &&
                !fab_fabric_node_is_switch(f, far) && fab_base_bits_add(seen, far))
                m->hosts[m->n_hosts++] = answer_text(a, f->nodes[far].desc);
        }
    }
}

void get_drain_preview(struct call *c, const void *request)
{
    const Fabric__V1__GetDrainPreviewRequest *q = request;
    Fabric__V1__GetDrainPreviewResponse m = FABRIC__V1__GET_DRAIN_PREVIEW_RESPONSE__INIT;
    struct answer a = {0};
    struct fab_drain found = {0};
    struct wanted w;
    char why[512] = "";
    struct fab_view *v = need_target(c);
    if (v == NULL || find_wanted(c, &a, v, q->kind, q->name, &w) != FAB_OK) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    int rc = sm_drain_preview(v, v->fabric, &w.request, &found, why, sizeof why);
    if (rc == FAB_OK)
        rc = sm_drain_refusal(v->fabric, &found, why, sizeof why);
    m.name = answer_text(&a, w.name);
    m.refusal = answer_text(&a, why);
    m.generation = v->generation;
    m.needed_switch_count = found.needed;
    m.links = convert_links(&a, v, found.out, found.out_count, &m.n_links);
    m.kept_links = convert_links(&a, v, found.kept, found.kept_count, &m.n_kept_links);
    fill_names(&a, v, &w, &m);
    if (rc == FAB_E_NOMEM)
        a.arena.failed = true;
    fab_health_drain_fini(&found);
    answer_reply(&a, c, &m.base);
}

/* ---- StartDrain ------------------------------------------------------------------------------ */

static void reply_started(struct call *c, struct answer *a, uint32_t id)
{
    Fabric__V1__StartDrainResponse m = FABRIC__V1__START_DRAIN_RESPONSE__INIT;
    uint32_t count;
    const struct sm_drain_info *list = all_drains(a, call_rpc(c)->in.sm, &count);
    for (uint32_t i = 0; list != NULL && i < count; i++)
        if (list[i].id == id)
            m.drain = convert_drain(a, &list[i]);
    answer_reply(a, c, &m.base);
}

void start_drain(struct call *c, const void *request)
{
    const Fabric__V1__StartDrainRequest *q = request;
    struct answer a = {0};
    struct wanted w;
    char why[512] = "";
    uint32_t id = 0;
    struct fab_view *v = need_view(c);
    if (v == NULL || find_wanted(c, &a, v, q->kind, q->name, &w) != FAB_OK) {
        fab_base_arena_fini(&a.arena);
        return;
    }
    w.request.force = q->force;
    w.request.until_us = read_time(q->until, 0);
    call_audit_change(c, "in service", "under maintenance");
    call_audit_object(c, "%s %s", sm_drain_kind_name[w.request.kind], w.name);
    int rc = sm_drain_start(call_rpc(c)->in.sm, &w.request, &id, why, sizeof why);
    if (rc == FAB_OK) {
        reply_started(c, &a, id);
        return;
    }
    if (why[0] == '\0')
        request_refuse(c, rc, "nothing was drained");
    else
        call_finish(c,
                    rc == FAB_E_UNREACHABLE || rc == FAB_E_LIMIT ? FAB_GRPC_FAILED_PRECONDITION
                                                                 : fab_grpc_code_of(rc),
                    "refused: %s %s is not drained: %s", sm_drain_kind_name[w.request.kind], w.name,
                    why);
    fab_base_arena_fini(&a.arena);
}

/* ---- EndDrain -------------------------------------------------------------------------------- */

/* Returns true if `name` names the drained object: it is the name of the drain, another name of the
 * drained switch or pod, or the other port of the drained link. */
static bool is_named(const struct fab_view *v, const struct sm_drain_info *d, const char *name)
{
    char node[FAB_NODE_DESC_LEN + 1], place[SM_DRAIN_NAME_LEN];
    struct refusal refusal;
    uint32_t number, id;
    if (strcasecmp(d->name, name) == 0)
        return true;
    if (d->kind == SM_DRAIN_SWITCH || d->kind == SM_DRAIN_POD)
        return look_up_node(v, name, &id, &refusal) == FAB_OK &&
               strcmp(v->fabric->nodes[id].desc, d->name) == 0;
    if (d->kind != SM_DRAIN_LINK || !is_port_name(v, name, node, &number) ||
        look_up_port(v, node, number, &id, &refusal) != FAB_OK)
        return false;
    snprintf(place, sizeof place, "%.128s/%u",
             v->fabric->nodes[fab_fabric_port(v->fabric, id)->node].desc, number);
    return strcmp(place, d->name) == 0;
}

/* Ends the drains that the request names, or all drains (q->all), except those that are ending
 * already. In a dry run, only counts them. Adds the number of ended (in a dry run: counted) drains
 * to *ret_ended, even if the function fails for a later drain and returns its error. */
static int end_named(struct call *c, const struct fab_view *v, const Fabric__V1__EndDrainRequest *q,
                     const struct sm_drain_info *list, uint32_t count, uint32_t *ret_ended)
{
    int rc = FAB_OK;
    for (uint32_t i = 0; i < count && rc == FAB_OK; i++) {
        const struct sm_drain_info *d = &list[i];
        if (d->state == SM_DRAIN_ENDING ||
            (!q->all && (d->kind + FABRIC__V1__DRAIN_KIND__DRAIN_KIND_LINK != q->kind ||
                         !is_named(v, d, q->name))))
            continue;
        if (!q->dry_run)
            rc = sm_drain_end(call_rpc(c)->in.sm, d->id, call_peer(c));
        *ret_ended += rc == FAB_OK;
    }
    return rc;
}

void end_drain(struct call *c, const void *request)
{
    const Fabric__V1__EndDrainRequest *q = request;
    Fabric__V1__EndDrainResponse m = FABRIC__V1__END_DRAIN_RESPONSE__INIT;
    struct answer a = {0};
    enum sm_drain_kind kind = SM_DRAIN_LINK;
    char text[200];
    uint32_t count;
    struct fab_view *v = need_view(c);
    if (v == NULL || (!q->all && !read_kind(c, q->kind, &kind)))
        return;
    const struct sm_drain_info *list = all_drains(&a, call_rpc(c)->in.sm, &count);
    /* ending a drain can begin a round, which replaces the view, so keep a reference */
    fab_view_ref(v);
    if (q->dry_run)
        call_audit_change(c, NULL, "unchanged (dry run)");
    else
        call_audit_change(c, "under maintenance", "in service");
    if (q->all)
        call_audit_object(c, "all drains");
    else
        call_audit_object(c, "%s %s", sm_drain_kind_name[kind], q->name);
    int rc = list != NULL ? end_named(c, v, q, list, count, &m.ended_count) : FAB_E_NOMEM;
    fab_view_unref(v);
    if (rc == FAB_OK && (m.ended_count > 0 || q->all)) {
        snprintf(text, sizeof text, "%u drain%s %s", m.ended_count, m.ended_count == 1 ? "" : "s",
                 q->dry_run ? "would end" : "ended");
        m.message = answer_text(&a, text);
        answer_reply(&a, c, &m.base);
        return;
    }
    if (rc == FAB_OK)
        call_finish(c, FAB_GRPC_NOT_FOUND,
                    "%s \"%s\" is not drained; 'fabricctl drain list' lists all drains",
                    sm_drain_kind_name[kind], q->name);
    else
        request_refuse(c, rc, "the drain was not ended");
    fab_base_arena_fini(&a.arena);
}
