/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the methods ListNodes and GetNode.
 */
#include "fabricd/rpc/server.h"

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/status.h"

static uint32_t first_node(const struct fab_fabric *f, const struct page *page)
{
    bool same = false;
    uint32_t node = page->given ? page_node(f, &page->key, &same) : 0;
    return node + same;
}

static void fill_nodes(struct answer *a, const struct fab_view *v,
                       const Fabric__V1__ListNodesRequest *q, const struct page *page,
                       Fabric__V1__ListNodesResponse *m)
{
    uint32_t i;
    m->nodes = answer_alloc(a, page->want, sizeof *m->nodes);
    for (i = first_node(v->fabric, page); m->nodes != NULL && i < v->fabric->node_count; i++) {
        if (q->type != 0 && v->fabric->nodes[i].type != (uint8_t)q->type)
            continue;
        if (m->n_nodes == page->want)
            break;
        m->nodes[m->n_nodes++] = convert_node(a, v, i);
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
    if (v != NULL && read_page(c, 'n', q->page_token, q->page_size, &page)) {
        m.generation = v->generation;
        fill_nodes(&a, v, q, &page, &m);
        answer_reply(&a, c, &m.base);
    }
}

void get_node(struct call *c, const void *request)
{
    const Fabric__V1__GetNodeRequest *q = request;
    Fabric__V1__GetNodeResponse m = FABRIC__V1__GET_NODE_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t node;
    struct fab_view *v = need_view(c);
    if (v != NULL && find_node(c, v, q->node, &node) == FAB_OK) {
        m.node = convert_node(&a, v, node);
        answer_reply(&a, c, &m.base);
    }
}
