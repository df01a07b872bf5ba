/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the methods ListNodes and GetNode.
 */
#include "fabricd/rpc/server.h"

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/status.h"

static uint32_t first_node(const struct fab_fabric *f, const struct page *page)
{
    bool same = false;
    uint32_t node = page->given ? page_node(f, &page->key, &same) : 0;
    return node + same;
}

/* Converts a node, together with its host and its location. */
static Fabric__V1__Node *convert_located(struct answer *a, const struct fab_view *v,
                                         const struct fab_hosts *h, uint32_t node)
{
    Fabric__V1__Node *m = convert_node(a, v, node);
    uint32_t host = h->host_of[node];
    if (m == NULL)
        return NULL;
    m->location = convert_location(a, location_of_node(h, v, node));
    if (host == FAB_NONE)
        return m;
    m->host = answer_text(a, h->hosts[host].name);
    for (uint32_t i = h->hosts[host].first; i < h->hosts[host].first + h->hosts[host].count; i++)
        if (h->adapters[i].node == node)
            m->rail = h->adapters[i].rail;
    return m;
}

static void fill_nodes(struct answer *a, const struct fab_view *v, const struct fab_hosts *h,
                       const Fabric__V1__ListNodesRequest *q, struct fab_view_filter *filter,
                       const struct page *page, Fabric__V1__ListNodesResponse *m)
{
    uint32_t i;
    m->nodes = answer_alloc(a, page->want, sizeof *m->nodes);
    for (i = first_node(v->fabric, page); m->nodes != NULL && i < v->fabric->node_count; i++) {
        if (q->type != 0 && v->fabric->nodes[i].type != (uint8_t)q->type)
            continue;
        if (!is_in_rack(h, v, i, q->rack) || !fab_view_filter_node(filter, i))
            continue;
        if (m->n_nodes == page->want)
            break;
        m->nodes[m->n_nodes++] = convert_located(a, v, h, i);
    }
    struct page_key last;
    if (i < v->fabric->node_count && i > 0) {
        last = page_key_of_node(v->fabric, i - 1);
        m->next_page_token = page_token(a, &last);
    }
}

void list_nodes(struct call *c, const void *request)
{
    const Fabric__V1__ListNodesRequest *q = request;
    Fabric__V1__ListNodesResponse m = FABRIC__V1__LIST_NODES_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view *v = need_view(c);
    if (v == NULL || !read_page(c, 'n', q->page_token, q->page_size, &page))
        return;
    const struct fab_hosts *h = need_hosts(c, v);
    struct fab_view_filter filter;
    if (h == NULL || !need_rack(c, h, v, q->rack) || find_filter(c, v, q->name, &filter) != FAB_OK)
        return;
    m.generation = v->generation;
    fill_nodes(&a, v, h, q, &filter, &page, &m);
    answer_reply(&a, c, &m.base);
}

/* ---- GetNode --------------------------------------------------------------------------------- */

#define EARLIER_SHOWN 8u

struct past {
    struct gone g;
    Fabric__V1__GetNodeResponse *m;
    /* GUID of the node that the client named; for each link, messages name the end at this node
     * first */
    uint64_t near;
};

static void take_node(void *ctx, const struct store_gone_node *n)
{
    struct past *p = ctx;
    p->m->gone = gone_convert_node(&p->g, n);
}

static void add_earlier(void *ctx, const struct store_gone_link *l)
{
    struct past *p = ctx;
    p->m->earlier_links[p->m->n_earlier_links++] = gone_convert_link(&p->g, l, p->near);
}

/* Receives the last former link of a switch port, and adds it to the reply, unless one of its ends
 * is the node that the client named. */
static void add_replaced(void *ctx, const struct store_gone_link *l)
{
    struct past *p = ctx;
    if (l->end[0].guid != p->near && l->end[1].guid != p->near)
        p->m->replaced[p->m->n_replaced++] =
            gone_convert_link(&p->g, l, l->end[l->end[0].is_switch].guid);
}

/* Adds the former links of the node. For an adapter or router, also adds the former links of the
 * switch ports to which it is connected now: they show which nodes it has replaced. */
static void add_past(struct past *p, uint32_t node)
{
    const struct fab_fabric *f = p->g.view->fabric;
    const struct fab_node *n = &f->nodes[node];
    struct store *store = p->g.rpc->in.store;
    struct store_gone_links q = {.node = n->guid, .after_since = INT64_MAX};
    p->m->earlier_links = answer_alloc(p->g.a, EARLIER_SHOWN, sizeof *p->m->earlier_links);
    p->m->replaced = answer_alloc(p->g.a, n->num_ports, sizeof *p->m->replaced);
    if (store == NULL || p->m->earlier_links == NULL || p->m->replaced == NULL)
        return;
    p->near = n->guid;
    store_gone_links(store, &q, EARLIER_SHOWN, add_earlier, p);
    for (uint32_t i = 1; i <= n->num_ports && n->type != FAB_NODE_SWITCH; i++) {
        uint32_t peer = fab_fabric_port(f, n->first_port + i)->peer;
        if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
            continue;
        q.node = f->nodes[fab_fabric_port(f, peer)->node].guid;
        q.port = fab_fabric_port(f, peer)->num;
        store_gone_links(store, &q, 1, add_replaced, p);
    }
}

void get_node(struct call *c, const void *request)
{
    const Fabric__V1__GetNodeRequest *q = request;
    Fabric__V1__GetNodeResponse m = FABRIC__V1__GET_NODE_RESPONSE__INIT;
    struct answer a = {0};
    struct past past = {.m = &m};
    char why[512];
    uint32_t node;
    uint64_t guid;
    struct fab_view *v = need_view(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    if (h == NULL)
        return;
    if (!gone_begin(&past.g, call_rpc(c), v, &a)) {
        answer_reply(&a, c, NULL); /* finishes the call with the error */
        return;
    }
    int rc = fab_view_find_node(v, q->node, &node, why, sizeof why);
    if (gone_is_better(call_rpc(c), v, q->node, rc) &&
        gone_find(call_rpc(c), q->node, &guid) == FAB_OK)
        store_gone_node(call_rpc(c)->in.store, guid, take_node, &past);
    else if (find_node(c, v, q->node, &node) == FAB_OK)
        m.node = convert_located(&a, v, h, node);
    if (m.node != NULL)
        add_past(&past, node);
    answer_reply(&a, c, &m.base);
}
