/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the limits of the devices. A linear forwarding table has LinearFDBCap entries (IBA
 * 14.2.5.4); a switch that reports the capacity 0 is not checked.
 *
 * An ISL has the data VLs that both its ports and the policy allow. It must have all VLs that
 * packets use on it. Links to endports may have fewer VLs: the SLtoVLMappingTable maps to the VLs
 * that exist, and an endport forwards nothing, so this cannot cause a deadlock.
 */
#include "libfabmgr/verify/device_limits.h"

#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/vl_walk.h"

static int note(struct fab_verdict *v, uint32_t port, uint32_t need, uint32_t have)
{
    if (need <= have)
        return FAB_OK;
    v->beyond++;
    if (v->witness.kind != FAB_OK)
        return FAB_OK;
    uint32_t *ports = malloc(sizeof(*ports));
    if (ports == NULL)
        return FAB_E_NOMEM;
    ports[0] = port;
    v->witness = (struct fab_witness){.kind = FAB_E_LIMIT,
                                      .src = FAB_NONE,
                                      .dst = FAB_NONE,
                                      .ports = ports,
                                      .port_count = 1,
                                      .need = need,
                                      .have = have};
    return FAB_OK;
}

static int judge_table(const struct fab_verify_graph *graph, uint32_t sw, struct fab_verdict *v)
{
    uint32_t cap = graph->in->fabric->switches[sw].linear_fdb_cap;
    return cap != 0 ? note(v, graph->first[sw], graph->in->lids->top + 1, cap) : FAB_OK;
}

/* Returns a bitset of the VLs that packets use on the port. If each packet keeps one VL from end to
 * end, this is the set of the VLs of all traffic classes. Returns 0 (nothing to check) if the port
 * does not lead to a switch, or if the tables use only one VL, because every link supports this VL.
 */
static uint32_t used_of(const struct fab_verify_walk *w, uint32_t port)
{
    const struct fab_vls *v = w->graph->in->vls;
    uint32_t used = 0;
    if (w->vl_walk != NULL)
        return w->vl_walk->used[port];
    if (w->graph->hop[port] >= w->graph->n || v == NULL || !fab_target_vls_multiple(v))
        return 0;
    for (uint8_t level = 0; level < fab_target_vls_levels(v); level++)
        used |= 1u << v->vl[0][0][v->sl[level][0]];
    return used;
}

static int judge_vls(const struct fab_verify_walk *w, uint32_t port, struct fab_verdict *v)
{
    const struct fab_verify_input *in = w->graph->in;
    uint32_t used = used_of(w, port);
    if (used == 0)
        return FAB_OK;
    return note(v, port, 32 - (uint32_t)__builtin_clz(used),
                fab_target_port_vls(in->fabric, in->policy, port));
}

int fab_verify_device_limits(const struct fab_verify_walk *w, struct fab_verdict *v)
{
    const struct fab_verify_graph *graph = w->graph;
    int status = FAB_OK;
    if (graph->in->policy == NULL)
        return FAB_OK;
    for (uint32_t sw = 0; sw < graph->n && status == FAB_OK; sw++)
        status = judge_table(graph, sw, v);
    for (uint32_t port = 0; port < graph->ports && status == FAB_OK; port++)
        status = judge_vls(w, port, v);
    return status;
}
