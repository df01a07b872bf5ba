/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the destination switches in the order that leaf_sequence.c finds or that the caller gives,
 * and the destination LIDs (DLIDs) at each switch. */
#include "libfabmgr/route/updown/destinations.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

static uint32_t widest_lmc(const struct fab_lids *lids)
{
    uint32_t lmc = 0;
    for (uint32_t port = 0; port < lids->port_count; port++)
        lmc = lids->lmc[port] > lmc ? lids->lmc[port] : lmc;
    return lmc;
}

int fab_route_destinations_in_sequence(const struct fab_route_input *in, const struct fab_graph *g,
                                       uint32_t *sequence, struct fab_destinations *ret)
{
    struct fab_destinations r = {
        .in = in, .sequence = sequence, .edges = g->n, .lids_each = 1u << widest_lmc(in->lids)};
    if (sequence == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < g->n; s++)
        r.leaf_size = g->hosts[s] > r.leaf_size ? g->hosts[s] : r.leaf_size;
    *ret = r;
    return FAB_OK;
}

int fab_route_destinations_make(const struct fab_route_input *in, const struct fab_graph *g,
                                const struct fab_updown *updown, struct fab_destinations *ret)
{
    struct fab_destinations r;
    uint32_t *sequence = calloc((size_t)g->n + 1, sizeof(*sequence));
    int status = fab_route_destinations_in_sequence(in, g, sequence, &r);
    if (status != FAB_OK)
        return status;
    status = fab_route_leaf_sequence(g, updown, r.sequence, &r.edges);
    if (status == FAB_OK)
        *ret = r;
    else
        fab_route_destinations_fini(&r);
    return status;
}

void fab_route_destinations_fini(struct fab_destinations *r)
{
    free(r->sequence);
    memset(r, 0, sizeof(*r));
}

static uint32_t endport_dlids(const struct fab_destinations *r, uint32_t sw, uint32_t offset,
                              uint32_t number, bool loaded, struct fab_dlid *dlids)
{
    const struct fab_fabric *f = r->in->fabric;
    const struct fab_lids *lids = r->in->lids;
    uint32_t count = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE || fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node) ||
            !fab_fabric_port_is_up(f, port) ||
            f->nodes[fab_fabric_port(f, peer)->node].aggregation == loaded)
            continue;
        if (lids->base[peer] == 0 || offset >> lids->lmc[peer] != 0) {
            number++;
            continue;
        }
        dlids[count++] = (struct fab_dlid){.lid = lids->base[peer] + offset,
                                           .number = number++,
                                           .port = (uint8_t)num,
                                           .loaded = loaded};
    }
    return count;
}

uint32_t fab_route_destinations_dlids(const struct fab_destinations *r, uint32_t index,
                                      uint32_t offset, struct fab_dlid dlids[FAB_DLIDS_MAX])
{
    uint32_t sw = r->sequence[index];
    uint32_t number = (index < r->edges ? index * r->leaf_size : index) + offset;
    uint32_t count = endport_dlids(r, sw, offset, number, true, dlids);
    count += endport_dlids(r, sw, offset, index + offset, false, dlids + count);
    uint32_t port0 = fab_fabric_port_id(r->in->fabric, sw, 0);
    if (offset == 0 && r->in->lids->base[port0] != 0)
        dlids[count++] = (struct fab_dlid){.lid = r->in->lids->base[port0], .number = index};
    return count;
}
