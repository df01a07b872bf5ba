/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the path of one packet through the tables, hop by hop.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/switch_graph.h"
#include "libfabmgr/verify/trace.h"

struct walker {
    const struct fab_verify_input *in;
    uint32_t dlid, owner;
    uint32_t *ports, count;
    /* bitset of the switches that the packet has passed */
    uint64_t *seen;
};

static void add_port(struct walker *w, uint32_t port)
{
    w->ports[w->count++] = port;
}

/* Follows the LFTs from switch `sw` on, until the packet arrives or is lost. */
static int forward(struct walker *w, uint32_t sw)
{
    const struct fab_fabric *f = w->in->fabric;
    for (;;) {
        if (!fab_base_bits_add(w->seen, sw))
            return FAB_E_LOOP;
        uint8_t num = fab_target_lft_at(w->in->lft, sw, w->dlid);
        if (num == FAB_LFT_NO_ROUTE)
            return FAB_E_UNREACHABLE;
        if (num > f->nodes[sw].num_ports)
            return FAB_E_INVAL;
        uint32_t port = fab_fabric_port_id(f, sw, num);
        if (num == 0)
            return port == w->owner ? FAB_OK : FAB_E_UNREACHABLE;
        add_port(w, port);
        if (!fab_fabric_port_is_up(f, port))
            return FAB_E_INVAL;
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (!fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
            return peer == w->owner ? FAB_OK : FAB_E_UNREACHABLE;
        sw = fab_fabric_port(f, peer)->node;
    }
}

static int start(struct walker *w, uint32_t src)
{
    const struct fab_fabric *f = w->in->fabric;
    add_port(w, src);
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, src)->node))
        return forward(w, fab_fabric_port(f, src)->node);
    if (!fab_fabric_port_is_up(f, src))
        return FAB_E_UNREACHABLE;
    uint32_t peer = fab_fabric_port(f, src)->peer;
    if (!fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
        return peer == w->owner ? FAB_OK : FAB_E_UNREACHABLE;
    return forward(w, fab_fabric_port(f, peer)->node);
}

int fab_verify_trace_strict(const struct fab_verify_input *in, uint32_t src_port, uint32_t dlid,
                            struct fab_verify_trace *ret)
{
    struct walker w = {.in = in, .dlid = dlid};
    if (src_port >= in->fabric->port_count || dlid == 0 || dlid > in->lids->top ||
        dlid >= in->lft->stride || in->lids->owner[dlid] == FAB_NONE) {
        *ret = (struct fab_verify_trace){0};
        return FAB_E_UNREACHABLE;
    }
    w.owner = in->lids->owner[dlid];
    w.ports = calloc((size_t)in->fabric->switch_count + 2, sizeof(*w.ports));
    w.seen = fab_base_bits_new(in->fabric->switch_count);
    if (w.ports == NULL || w.seen == NULL) {
        free(w.ports);
        free(w.seen);
        return FAB_E_NOMEM;
    }
    int status = src_port == w.owner ? FAB_OK : start(&w, src_port);
    free(w.seen);
    *ret = (struct fab_verify_trace){.ports = w.ports, .count = w.count};
    return status;
}

int fab_verify_trace(const struct fab_verify_input *in, uint32_t src_port, uint32_t dlid,
                     struct fab_verify_trace *ret)
{
    int status = fab_verify_trace_strict(in, src_port, dlid, ret);
    return status == FAB_E_INVAL ? FAB_E_UNREACHABLE : status;
}

void fab_verify_trace_fini(struct fab_verify_trace *t)
{
    free(t->ports);
    memset(t, 0, sizeof(*t));
}
