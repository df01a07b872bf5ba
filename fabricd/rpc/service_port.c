/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListPorts, GetPort, DisablePort and EnablePort.
 */
#include "fabricd/rpc/server.h"

#include "fabric/v1/port.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

int read_port_range(struct call *c, const struct fab_view *v, char kind, const char *page_token,
                    const char *node, struct port_range *ret)
{
    const struct fab_fabric *f = v->fabric;
    struct port_range r = {.end = f->port_count};
    struct page page;
    if (!read_page(c, kind, page_token, 0, &page))
        return FAB_E_FORMAT;
    int rc = find_filter(c, v, node, &r.filter);
    if (rc < 0)
        return rc;
    if (r.filter.node != FAB_NONE) {
        r.first = f->nodes[r.filter.node].first_port;
        r.end = r.first + f->nodes[r.filter.node].num_ports + 1u;
    }
    uint32_t from = page.given ? page_port(f, &page.key) : 0;
    r.first = from > r.first ? from : r.first;
    *ret = r;
    return FAB_OK;
}

static bool is_wanted(const struct fab_fabric *f, uint32_t port, Fabric__V1__PortState state)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->num == 0 && !fab_fabric_node_is_switch(f, p->node))
        return false;
    return state == 0 || (p->present && p->info.port_state == (uint8_t)state);
}

/* For each port of one node: the port to which it was last connected, and when. */
struct last_peers {
    struct answer *a;
    struct store *store; /* NULL: nothing is stored */
    uint64_t node;       /* node GUID for which the links were read; 0: no links were read yet */
    struct {
        Fabric__V1__PortRef *port;
        Google__Protobuf__Timestamp *seen;
    } of[256];
};

/* maximum number of former links that are read for a node, beginning with those that left last */
#define LAST_LINKS 1024

static void take_last_peer(void *ctx, const struct store_gone_link *l)
{
    struct last_peers *last = ctx;
    for (int near = 0; near < 2; near++) {
        uint8_t port = l->end[near].port;
        if (l->end[near].guid != last->node || last->of[port].port != NULL)
            continue;
        Fabric__V1__PortRef *m = ANSWER_NEW(last->a, Fabric__V1__PortRef, fabric__v1__port_ref);
        if (m == NULL)
            return;
        m->node_guid = answer_guid(last->a, l->end[!near].guid);
        m->node_name = answer_text(last->a, l->end[!near].name);
        m->port_number = l->end[!near].port;
        last->of[port].port = m;
        last->of[port].seen = convert_time(last->a, l->seen.last * 1000000);
    }
}

/* If the link of the port is up, but routes avoid it, adds the port at its other end to the
 * message. Otherwise returns false. */
static bool add_excluded_peer(struct answer *a, const struct sm *sm, const struct fab_fabric *f,
                              uint32_t port, Fabric__V1__Port *m)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t guid;
    uint8_t num;
    if (m->excluded[0] == '\0' ||
        !sm_excluded_peer(sm, f->nodes[p->node].guid, p->num, &guid, &num))
        return false;
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    m->last_peer = ANSWER_NEW(a, Fabric__V1__PortRef, fabric__v1__port_ref);
    if (m->last_peer == NULL)
        return true;
    m->last_peer->node_guid = answer_guid(a, guid);
    m->last_peer->node_name = answer_text(a, node != FAB_NONE ? f->nodes[node].name : "");
    m->last_peer->port_number = num;
    m->last_peer_seen = convert_time(a, clock_unix_us());
    return true;
}

/* If the port has no link now, adds the port at the other end of its last link to the message. */
static void add_last_peer(struct last_peers *last, const struct fab_fabric *f, uint32_t port,
                          Fabric__V1__Port *m)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t guid = f->nodes[p->node].guid;
    if (last->store == NULL || p->peer != FAB_NONE || p->num == 0)
        return;
    if (guid != last->node) {
        const struct store_gone_links q = {.node = guid, .after_since = INT64_MAX};
        *last = (struct last_peers){.a = last->a, .store = last->store, .node = guid};
        store_gone_links(last->store, &q, LAST_LINKS, take_last_peer, last);
    }
    m->last_peer = last->of[p->num].port;
    m->last_peer_seen = last->of[p->num].seen;
}

static Fabric__V1__Port *port_of(struct last_peers *last, const struct fab_view *v,
                                 const struct excluded *x, uint32_t port)
{
    Fabric__V1__Port *m = convert_port(last->a, v, port);
    if (m == NULL)
        return NULL;
    m->excluded = answer_text(last->a, excluded_why(x, v->fabric, port));
    if (!add_excluded_peer(last->a, x->sm, v->fabric, port, m))
        add_last_peer(last, v->fabric, port, m);
    return m;
}

static void fill_ports(struct answer *a, const struct fab_view *v, const struct fab_hosts *h,
                       const struct excluded *x, struct store *store,
                       const Fabric__V1__ListPortsRequest *q, struct port_range r,
                       Fabric__V1__ListPortsResponse *m)
{
    struct last_peers last = {.a = a, .store = store};
    uint32_t want = page_size(q->page_size), i;
    m->ports = answer_alloc(a, want, sizeof *m->ports);
    for (i = r.first; m->ports != NULL && i < r.end; i++) {
        if (!is_wanted(v->fabric, i, q->state) || !fab_view_filter_port(&r.filter, i) ||
            !is_in_rack(h, v, fab_fabric_port(v->fabric, i)->node, q->rack))
            continue;
        if (m->n_ports == want)
            break;
        m->ports[m->n_ports++] = port_of(&last, v, x, i);
    }
    if (i < r.end && i > 0) {
        struct page_key last = page_key_of_port(v->fabric, i - 1, 'p');
        m->next_page_token = page_token(a, &last);
    }
}

void list_ports(struct call *c, const void *request)
{
    const Fabric__V1__ListPortsRequest *q = request;
    Fabric__V1__ListPortsResponse m = FABRIC__V1__LIST_PORTS_RESPONSE__INIT;
    struct answer a = {0};
    struct port_range r;
    struct excluded x;
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    if (h != NULL && need_rack(c, h, v, q->rack) &&
        read_port_range(c, v, 'p', q->page_token, q->node, &r) == FAB_OK) {
        m.generation = v->generation;
        if (excluded_read(&a, call_rpc(c)->in.sm, &x))
            fill_ports(&a, v, h, &x, call_rpc(c)->in.store, q, r, &m);
        answer_reply(&a, c, &m.base);
    }
}

void get_port(struct call *c, const void *request)
{
    const Fabric__V1__GetPortRequest *q = request;
    Fabric__V1__GetPortResponse m = FABRIC__V1__GET_PORT_RESPONSE__INIT;
    struct answer a = {0};
    struct last_peers last = {.a = &a, .store = call_rpc(c)->in.store};
    uint32_t port;
    struct excluded x;
    struct fab_view *v = need_view(c);
    if (v != NULL && find_port(c, v, q->node, q->port_number, &port) == FAB_OK) {
        if (excluded_read(&a, call_rpc(c)->in.sm, &x))
            m.port = port_of(&last, v, &x, port);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- disable and enable ---------------------------------------------------------------------- */

static void on_disabled(void *ctx, int status, const char *message)
{
    Fabric__V1__DisablePortResponse m = FABRIC__V1__DISABLE_PORT_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static void on_enabled(void *ctx, int status, const char *message)
{
    Fabric__V1__EnablePortResponse m = FABRIC__V1__ENABLE_PORT_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

/* Writes to text[] what disabling or enabling the port would do. */
static void describe_effect(const struct fab_view *v, uint32_t port, bool disabled, bool enable,
                            char *text, size_t size)
{
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    const char *name = v->fabric->nodes[p->node].name;
    if (disabled == !enable) {
        snprintf(text, size, "%s/%u is %s already", name, p->num, enable ? "enabled" : "disabled");
    } else if (enable || p->peer == FAB_NONE) {
        snprintf(text, size, "%s/%u would be %s", name, p->num, enable ? "enabled" : "disabled");
    } else {
        const struct fab_port *peer = fab_fabric_port(v->fabric, p->peer);
        bool is_switch = fab_fabric_node_is_switch(v->fabric, peer->node);
        snprintf(text, size, "%s/%u would be disabled: its link to %s/%u would go down%s", name,
                 p->num, v->fabric->nodes[peer->node].name, peer->num,
                 is_switch ? ", and routes would avoid it" : ", which cuts off this endport");
    }
}

/* Answers a dry run. */
static void rehearse(struct call *c, const struct fab_view *v, uint32_t port, bool enable)
{
    Fabric__V1__DisablePortResponse off = FABRIC__V1__DISABLE_PORT_RESPONSE__INIT;
    Fabric__V1__EnablePortResponse on = FABRIC__V1__ENABLE_PORT_RESPONSE__INIT;
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    const struct fab_node *n = &v->fabric->nodes[p->node];
    char object[FAB_NODE_DESC_LEN * 4 + 8], text[400];
    const char *why;
    int rc = sm_port_check(call_rpc(c)->in.sm, n->guid, p->num, enable, &why);
    snprintf(object, sizeof object, "%s/%u", n->name, p->num);
    if (rc != FAB_OK) {
        if (why[0] != '\0')
            call_finish(c, fab_grpc_code_of(rc), "%s", why);
        else
            request_refuse(c, rc, "the port stays as it is");
        return;
    }
    describe_effect(v, port, sm_port_is_disabled(call_rpc(c)->in.sm, n->guid, p->num), enable, text,
                    sizeof text);
    request_rehearsed(c, object, enable ? &on.base : &off.base, enable ? &on.message : &off.message,
                      "%s", text);
}

static void set_port(struct call *c, const char *node, uint32_t number, bool enable, bool dry_run)
{
    uint32_t port;
    struct sm *sm = call_rpc(c)->in.sm;
    struct fab_view *v = need_view(c);
    if (v == NULL || find_port(c, v, node, number, &port) < 0)
        return;
    if (number == 0) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "refused: port 0 of a switch is its management port and has no link; "
                    "name one of its external ports");
        return;
    }
    if (dry_run) {
        rehearse(c, v, port, enable);
        return;
    }
    /* The request can begin a round, which replaces the view, so keep a reference. */
    fab_view_ref(v);
    const struct fab_node *n = &v->fabric->nodes[fab_fabric_port(v->fabric, port)->node];
    call_audit_change(c, sm_port_is_disabled(sm, n->guid, (uint8_t)number) ? "disabled" : "enabled",
                      enable ? "enabled" : "disabled");
    call_audit_object(c, "%s/%u", n->name, number);
    request_begin(c);
    int rc = sm_port_set(sm, n->guid, (uint8_t)number, enable, call_peer(c),
                         enable ? on_enabled : on_disabled, c);
    char what[128];
    snprintf(what, sizeof what, "port %s/%u stays as it is", n->name, number);
    if (rc < 0)
        request_refuse(c, rc, what);
    fab_view_unref(v);
}

void disable_port(struct call *c, const void *request)
{
    const Fabric__V1__DisablePortRequest *q = request;
    set_port(c, q->node, q->port_number, false, q->dry_run);
}

void enable_port(struct call *c, const void *request)
{
    const Fabric__V1__EnablePortRequest *q = request;
    set_port(c, q->node, q->port_number, true, q->dry_run);
}
