/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListUnhealthyLinks, IsolateLink and ListPortCounters. ListUnhealthyLinks lists all
 * isolated links, the links with an error counter that recently crossed its threshold and, on
 * request, all other watched links. ListPortCounters lists the port counters as the manager last
 * read them.
 */
#include "fabricd/rpc/server.h"

#include <stdio.h>
#include <string.h>

#include "fabric/v1/link.pb-c.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/link_effect.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

/* ---- counters -------------------------------------------------------------------------------- */

static Fabric__V1__CounterValue *convert_value(struct answer *a, int counter, uint64_t value)
{
    Fabric__V1__CounterValue *m =
        ANSWER_NEW(a, Fabric__V1__CounterValue, fabric__v1__counter_value);
    if (m != NULL) {
        m->name = answer_text(a, fab_health_counter_kinds[counter].name);
        m->value = value;
    }
    return m;
}

static Fabric__V1__CounterReading *convert_reading(struct answer *a, const struct pm_rise *r)
{
    Fabric__V1__CounterReading *m =
        ANSWER_NEW(a, Fabric__V1__CounterReading, fabric__v1__counter_reading);
    if (m == NULL)
        return NULL;
    m->time = convert_time(a, r->time_us);
    m->increases = answer_alloc(a, FAB_COUNTERS, sizeof *m->increases);
    for (int i = 0; m->increases != NULL && i < FAB_COUNTERS; i++)
        if (r->rise[i] > 0)
            m->increases[m->n_increases++] = convert_value(a, i, r->rise[i]);
    return m;
}

static Fabric__V1__CounterIncrease *convert_rise(struct answer *a, const struct pm_link_end *e,
                                                 int i)
{
    Fabric__V1__CounterIncrease *m =
        ANSWER_NEW(a, Fabric__V1__CounterIncrease, fabric__v1__counter_increase);
    if (m != NULL) {
        m->name = answer_text(a, fab_health_counter_kinds[i].name);
        m->total = e->total[i];
        m->recent = e->recent[i];
        m->per_hour = e->per_hour[i];
    }
    return m;
}

static Fabric__V1__LinkPortErrors *convert_errors(struct answer *a, const struct pm_link_end *e)
{
    Fabric__V1__LinkPortErrors *m =
        ANSWER_NEW(a, Fabric__V1__LinkPortErrors, fabric__v1__link_port_errors);
    if (m == NULL)
        return NULL;
    m->counters = answer_alloc(a, FAB_COUNTERS, sizeof *m->counters);
    for (int i = 0; m->counters != NULL && i < FAB_COUNTERS; i++)
        if (e->total[i] > 0)
            m->counters[m->n_counters++] = convert_rise(a, e, i);
    m->history = answer_alloc(a, e->history_count, sizeof *m->history);
    for (uint32_t i = 0; m->history != NULL && i < e->history_count; i++)
        m->history[m->n_history++] = convert_reading(a, &e->history[i]);
    return m;
}

static Fabric__V1__UnhealthyLink *convert_link_watched(struct answer *a, const struct pm_link *l)
{
    Fabric__V1__UnhealthyLink *m =
        ANSWER_NEW(a, Fabric__V1__UnhealthyLink, fabric__v1__unhealthy_link);
    const struct pm_link_end *at = &l->end[l->at];
    if (m == NULL)
        return NULL;
    m->a = convert_place(a, l->end[0].guid, l->end[0].port, l->end[0].place);
    m->b = convert_place(a, l->end[1].guid, l->end[1].port, l->end[1].place);
    m->unhealthy = l->unhealthy;
    m->link_error = l->of_cable;
    m->in_routes = true;
    m->isolation_skipped = answer_text(a, l->skipped);
    m->error_windows = l->windows;
    m->error_windows_required = l->windows_required;
    m->errors_a = convert_errors(a, &l->end[0]);
    m->errors_b = convert_errors(a, &l->end[1]);
    if (l->counter == FAB_COUNTERS)
        return m;
    m->counter = answer_text(a, fab_health_counter_kinds[l->counter].name);
    m->at = convert_place(a, at->guid, at->port, at->place);
    m->increase = l->rise;
    m->interval = convert_duration(a, l->span_us);
    if (l->unhealthy)
        m->since = convert_time(a, l->since_us);
    return m;
}

/* ---- the list of unhealthy links ------------------------------------------------------------- */

static void add_isolation(struct answer *a, const struct sm_isolation *i,
                          Fabric__V1__UnhealthyLink *m)
{
    if (m == NULL)
        return;
    m->isolated = true;
    m->in_routes = !i->out;
    m->by_operator = i->operated;
    m->isolated_since = convert_time(a, i->since_us);
    m->isolated_cause = answer_text(a, i->cause);
}

static Fabric__V1__UnhealthyLink *convert_isolated(struct answer *a, const struct sm_isolation *i)
{
    Fabric__V1__UnhealthyLink *m =
        ANSWER_NEW(a, Fabric__V1__UnhealthyLink, fabric__v1__unhealthy_link);
    if (m == NULL)
        return NULL;
    m->a = convert_place(a, i->guid[0], i->port[0], i->place[0]);
    m->b = convert_place(a, i->guid[1], i->port[1], i->place[1]);
    add_isolation(a, i, m);
    return m;
}

static const struct sm_isolation *isolation_of(const struct pm_link *l,
                                               const struct sm_isolation *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (int end = 0; end < 2; end++)
            if (list[i].guid[end] == l->end[0].guid && list[i].port[end] == l->end[0].port)
                return &list[i];
    return NULL;
}

struct unhealthy {
    struct pm_link *links;
    struct sm_isolation *isolated;
    uint32_t count, isolated_count;
    /* [isolated_count] true: the reply already has the isolated link with this index */
    bool *listed;
};

static bool get_unhealthy(struct call *c, struct answer *a, struct unhealthy *ret)
{
    const struct rpc_input *in = &call_rpc(c)->in;
    struct unhealthy s = {.count = pm_links(in->pm, NULL, 0),
                          .isolated_count = sm_isolations(in->sm, NULL, 0)};
    s.links = answer_alloc(a, s.count, sizeof *s.links);
    s.isolated = answer_alloc(a, s.isolated_count, sizeof *s.isolated);
    s.listed = answer_alloc(a, s.isolated_count, sizeof *s.listed);
    if (s.links == NULL || s.isolated == NULL || s.listed == NULL)
        return false;
    pm_links(in->pm, s.links, s.count);
    sm_isolations(in->sm, s.isolated, s.isolated_count);
    *ret = s;
    return true;
}

static void fill_unhealthy(struct answer *a, const struct unhealthy *s, bool watched,
                           Fabric__V1__ListUnhealthyLinksResponse *m)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sm_isolation *out = isolation_of(&s->links[i], s->isolated, s->isolated_count);
        if (!s->links[i].unhealthy && out == NULL && !watched)
            continue;
        Fabric__V1__UnhealthyLink *link = convert_link_watched(a, &s->links[i]);
        m->links[m->n_links++] = link;
        if (out != NULL) {
            add_isolation(a, out, link);
            s->listed[out - s->isolated] = true;
        }
    }
    for (uint32_t i = 0; i < s->isolated_count; i++)
        if (!s->listed[i])
            m->links[m->n_links++] = convert_isolated(a, &s->isolated[i]);
}

void list_unhealthy_links(struct call *c, const void *request)
{
    const Fabric__V1__ListUnhealthyLinksRequest *q = request;
    Fabric__V1__ListUnhealthyLinksResponse m = FABRIC__V1__LIST_UNHEALTHY_LINKS_RESPONSE__INIT;
    struct answer a = {0};
    struct unhealthy all = {0};
    if (get_unhealthy(c, &a, &all))
        m.links = answer_alloc(&a, all.count + all.isolated_count, sizeof *m.links);
    if (m.links != NULL)
        fill_unhealthy(&a, &all, q->include_watched, &m);
    if (m.n_links > 0)
        link_effect_add(c, &a, &m);
    answer_reply(&a, c, &m.base);
}

/* ---- isolating ------------------------------------------------------------------------------- */

static void reply_isolated(struct call *c, const char *node, uint32_t port)
{
    Fabric__V1__IsolateLinkResponse m = FABRIC__V1__ISOLATE_LINK_RESPONSE__INIT;
    char text[200];
    snprintf(text, sizeof text, "the link at %.100s/%u is isolated", node, port);
    request_end(c, FAB_OK, text, &m.base, &m.message);
}

/* Isolates the link. In a dry run, only checks whether the manager would isolate the link. */
static int isolate(struct call *c, const struct fab_node *n, uint8_t port, bool dry_run, char *why,
                   size_t why_len)
{
    struct sm *sm = call_rpc(c)->in.sm;
    char cause[160];
    if (dry_run)
        return sm_link_isolate_check(sm, n->guid, port, true, why, why_len);
    snprintf(cause, sizeof cause, "by %.100s", call_peer(c));
    call_audit_change(c, NULL, "isolated");
    call_audit_object(c, "%s/%u", n->name, port);
    return sm_link_isolate(sm, n->guid, port, true, cause, why, why_len);
}

static void rehearse_isolated(struct call *c, const char *node, uint32_t port)
{
    Fabric__V1__IsolateLinkResponse m = FABRIC__V1__ISOLATE_LINK_RESPONSE__INIT;
    char object[200];
    snprintf(object, sizeof object, "%.180s/%u", node, port);
    request_rehearsed(c, object, &m.base, &m.message,
                      "the link at %s would be isolated: routes would avoid it", object);
}

void isolate_link(struct call *c, const void *request)
{
    const Fabric__V1__IsolateLinkRequest *q = request;
    char why[256] = "";
    uint32_t port;
    struct fab_view *v = need_view(c);
    if (v == NULL || find_node(c, v, q->node, &port) < 0)
        return;
    /* The request can begin a round, which replaces the view, so keep a reference. */
    fab_view_ref(v);
    const struct fab_node *n = &v->fabric->nodes[port];
    int rc = q->port_number > n->num_ports
                 ? FAB_E_NOT_FOUND
                 : isolate(c, n, (uint8_t)q->port_number, q->dry_run, why, sizeof why);
    if (rc == FAB_OK && q->dry_run)
        rehearse_isolated(c, n->name, q->port_number);
    else if (rc == FAB_OK)
        reply_isolated(c, n->name, q->port_number);
    else if (rc == FAB_E_UNREACHABLE || rc == FAB_E_LIMIT)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "the link at %s/%u was not isolated: %s",
                    n->name, q->port_number, why);
    else if (rc == FAB_E_NOT_FOUND || rc == FAB_E_EXISTS)
        call_finish(c, fab_grpc_code_of(rc), "the link at %s/%u was not isolated: %s", n->name,
                    q->port_number, why[0] != '\0' ? why : "the node has no such port");
    else
        request_refuse(c, rc, "the link was not isolated");
    fab_view_unref(v);
}

/* ---- port counters --------------------------------------------------------------------------- */

static bool has_errors(const struct pm_counters *p)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (p->counters.value[i] > 0)
            return true;
    return false;
}

static Fabric__V1__PortCounters *convert_counters(struct answer *a, const struct fab_view *v,
                                                  uint32_t port, const struct pm_counters *p)
{
    Fabric__V1__PortCounters *m =
        ANSWER_NEW(a, Fabric__V1__PortCounters, fabric__v1__port_counters);
    if (m == NULL)
        return NULL;
    m->port = convert_port_ref(a, v, port);
    m->read_time = convert_time(a, p->time_us);
    m->counters = answer_alloc(a, FAB_COUNTERS, sizeof *m->counters);
    for (int i = 0; m->counters != NULL && i < FAB_COUNTERS; i++)
        m->counters[m->n_counters++] = convert_value(a, i, p->counters.value[i]);
    return m;
}

static void fill_counters(struct call *c, struct answer *a, const struct fab_view *v,
                          const struct fab_hosts *h, const Fabric__V1__ListPortCountersRequest *q,
                          struct port_range r, Fabric__V1__ListPortCountersResponse *m)
{
    uint32_t want = page_size(q->page_size), i;
    struct pm_counters p;
    m->ports = answer_alloc(a, want, sizeof *m->ports);
    for (i = r.first; m->ports != NULL && i < r.end; i++) {
        const struct fab_port *port = fab_fabric_port(v->fabric, i);
        if (!fab_view_filter_port(&r.filter, i) || !is_in_rack(h, v, port->node, q->rack) ||
            !pm_counters(call_rpc(c)->in.pm, v->fabric->nodes[port->node].guid, port->num, &p) ||
            (q->errors_only && !has_errors(&p)))
            continue;
        if (m->n_ports == want)
            break;
        m->ports[m->n_ports++] = convert_counters(a, v, i, &p);
    }
    if (i < r.end && i > 0) {
        struct page_key last = page_key_of_port(v->fabric, i - 1, 'x');
        m->next_page_token = page_token(a, &last);
    }
}

void list_port_counters(struct call *c, const void *request)
{
    const Fabric__V1__ListPortCountersRequest *q = request;
    Fabric__V1__ListPortCountersResponse m = FABRIC__V1__LIST_PORT_COUNTERS_RESPONSE__INIT;
    struct answer a = {0};
    struct port_range r;
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    if (h != NULL && need_rack(c, h, v, q->rack) &&
        read_port_range(c, v, 'x', q->page_token, q->node, &r) == FAB_OK) {
        m.generation = v->generation;
        fill_counters(c, &a, v, h, q, r, &m);
        answer_reply(&a, c, &m.base);
    }
}
