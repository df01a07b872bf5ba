/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ListNodes and GetNode.
 */
#include "fabricd/rpc/server.h"

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "libfabmgr/base/status.h"

/* The node to begin with, or -1 after the call was finished. */
static int first_node(struct call *c, const struct fab_view *v, const char *token,
                      uint32_t *ret_first)
{
    struct page_key key;
    bool given, same;
    int rc = page_parse('n', token, &key, &given);
    if (rc < 0) {
        refuse_token(c, token);
        return rc;
    }
    *ret_first = 0;
    if (given)
        *ret_first = page_node(v->fabric, &key, &same) + (same ? 1 : 0);
    return FAB_OK;
}

static void fill_nodes(struct answer *a, const struct fab_view *v,
                       const Fabric__V1__ListNodesRequest *q, uint32_t first,
                       Fabric__V1__ListNodesResponse *m)
{
    uint32_t want = page_size(q->page_size), i;
    m->nodes = answer_alloc(a, want, sizeof *m->nodes);
    for (i = first; m->nodes != NULL && i < v->fabric->node_count; i++) {
        if (q->type != 0 && v->fabric->nodes[i].type != (uint8_t)q->type)
            continue;
        if (m->n_nodes == want)
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
    uint32_t first;
    struct fab_view *v = need_view(c);
    if (v == NULL)
        return;
    if (first_node(c, v, q->page_token, &first) == FAB_OK) {
        m.generation = v->generation;
        fill_nodes(&a, v, q, first, &m);
        answer_reply(&a, c, &m.base);
    }
    fab_view_unref(v);
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
    fab_view_unref(v);
}
