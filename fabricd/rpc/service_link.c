/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListLinks, ListFlappingLinks and ReleaseLink. ListLinks lists the links in the order
 * of port ids; of the two ports of a link, the one with the lower id counts. ReleaseLink releases a
 * link that is held down or isolated.
 */
#include "fabricd/rpc/server.h"

#include <stdio.h>

#include "fabric/v1/link.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"

/* Selects the links of a page: the first `want` links that the filter permits, in the order of port
 * ids from `first` on. degraded: true: only degraded links. */
struct query {
    uint32_t first, want;
    struct fab_view_filter filter;
    bool degraded;
    const char *rack; /* only links with a port in this rack; "": links in all racks */
};

static int read_query(struct call *c, const struct fab_view *v,
                      const Fabric__V1__ListLinksRequest *q, struct query *ret)
{
    struct page page;
    if (!read_page(c, 'l', q->page_token, q->page_size, &page))
        return FAB_E_FORMAT;
    ret->want = page.want;
    ret->degraded = q->degraded;
    ret->rack = q->rack;
    ret->first = page.given ? page_port(v->fabric, &page.key) : 0;
    return find_filter(c, v, q->node, &ret->filter);
}

static bool is_wanted(const struct fab_view *v, const struct fab_hosts *h, uint32_t port,
                      struct query *q)
{
    const struct fab_fabric *f = v->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->peer == FAB_NONE || p->peer < port)
        return false;
    if (q->degraded && !fab_fabric_link_is_degraded(f, port))
        return false;
    uint32_t peer = fab_fabric_port(f, p->peer)->node;
    if (!is_in_rack(h, v, p->node, q->rack) && !is_in_rack(h, v, peer, q->rack))
        return false;
    return fab_view_filter_port(&q->filter, port) || fab_view_filter_port(&q->filter, p->peer);
}

static void fill_links(struct answer *a, const struct fab_view *v, const struct fab_hosts *h,
                       struct query q, Fabric__V1__ListLinksResponse *m)
{
    uint32_t i;
    m->links = answer_alloc(a, q.want, sizeof *m->links);
    for (i = q.first; m->links != NULL && i < v->fabric->port_count; i++) {
        if (!is_wanted(v, h, i, &q))
            continue;
        if (m->n_links == q.want)
            break;
        m->links[m->n_links++] = convert_link(a, v, i);
    }
    if (i < v->fabric->port_count && i > 0) {
        struct page_key last = page_key_of_port(v->fabric, i - 1, 'l');
        m->next_page_token = page_token(a, &last);
    }
}

void list_links(struct call *c, const void *request)
{
    const Fabric__V1__ListLinksRequest *r = request;
    Fabric__V1__ListLinksResponse m = FABRIC__V1__LIST_LINKS_RESPONSE__INIT;
    struct answer a = {0};
    struct query q;
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    if (h == NULL || read_query(c, v, r, &q) != FAB_OK || !need_rack(c, h, v, q.rack))
        return;
    m.generation = v->generation;
    fill_links(&a, v, h, q, &m);
    answer_reply(&a, c, &m.base);
}

/* ---- flapping links -------------------------------------------------------------------------- */

void list_flapping_links(struct call *c, const void *request)
{
    Fabric__V1__ListFlappingLinksResponse m = FABRIC__V1__LIST_FLAPPING_LINKS_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct answer a = {0};
    uint32_t count = sm_flapping(sm, NULL, 0);
    struct sm_flapping *list = answer_alloc(&a, count, sizeof *list);
    m.links = answer_alloc(&a, count, sizeof *m.links);
    (void)request;
    if (list != NULL && m.links != NULL) {
        sm_flapping(sm, list, count);
        for (uint32_t i = 0; i < count; i++)
            m.links[m.n_links++] = convert_flapping(&a, &list[i]);
    }
    answer_reply(&a, c, &m.base);
}

static void tell_released(struct call *c, const char *node, uint32_t port)
{
    Fabric__V1__ReleaseLinkResponse m = FABRIC__V1__RELEASE_LINK_RESPONSE__INIT;
    char text[200];
    snprintf(text, sizeof text, "the link at %.100s/%u is released", node, port);
    request_end(c, FAB_OK, text, &m.base, &m.message);
}

static void rehearse_release(struct call *c, const char *node, uint32_t port)
{
    Fabric__V1__ReleaseLinkResponse m = FABRIC__V1__RELEASE_LINK_RESPONSE__INIT;
    char object[200];
    snprintf(object, sizeof object, "%.180s/%u", node, port);
    request_rehearsed(c, object, &m.base, &m.message, "the link at %s would be released", object);
}

static int release(struct call *c, const struct fab_node *n, uint8_t port)
{
    call_audit_change(c, "held down or isolated", "released");
    call_audit_object(c, "%s/%u", n->name, port);
    return sm_link_release(call_rpc(c)->in.sm, n->guid, port, call_peer(c));
}

void release_link(struct call *c, const void *request)
{
    const Fabric__V1__ReleaseLinkRequest *q = request;
    uint32_t port;
    struct fab_view *v = need_view(c);
    if (v == NULL || find_port(c, v, q->node, q->port_number, &port) < 0)
        return;
    /* The request can begin a round, which replaces the view, so keep a reference. */
    fab_view_ref(v);
    const struct fab_node *n = &v->fabric->nodes[fab_fabric_port(v->fabric, port)->node];
    int rc = q->dry_run
                 ? sm_link_release_check(call_rpc(c)->in.sm, n->guid, (uint8_t)q->port_number)
                 : release(c, n, (uint8_t)q->port_number);
    if (rc == FAB_OK && q->dry_run)
        rehearse_release(c, n->name, q->port_number);
    else if (rc == FAB_OK)
        tell_released(c, n->name, q->port_number);
    else if (rc == FAB_E_NOT_FOUND)
        call_finish(c, FAB_GRPC_NOT_FOUND, "the link at %s/%u is neither held down nor isolated",
                    n->name, q->port_number);
    else
        request_refuse(c, rc, "the link was not released");
    fab_view_unref(v);
}
