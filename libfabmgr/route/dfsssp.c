/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "dfsssp": the ways of sssp, made safe by lanes (Domke, Hoefler, Nagel, IPDPS 2011). If
 * all LIDs together close no cycle, one lane is enough, and the tables are those of sssp. Else
 * layers.c puts destinations on several, and a destination's layer is the SL and the VL of all
 * paths to it, everywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines.h"
#include "libfabmgr/route/layers.h"
#include "libfabmgr/route/sssp.h"

static int too_few(const struct fab_route_input *in, uint32_t needed, uint32_t available,
                   uint32_t port, char *why, size_t why_len)
{
    const struct fab_port *p = &in->fabric->ports[port];
    if (why_len > 0)
        snprintf(why, why_len, "%u VLs are needed, and %.64s port %u has %u", needed,
                 in->fabric->nodes[p->node].desc, p->num, available);
    return FAB_E_UNSUPPORTED;
}

static int make_lanes(const uint8_t *layer, uint32_t count, uint32_t top, struct fab_vls *ret)
{
    struct fab_vls vls;
    fab_vls_init(&vls, (uint8_t)count);
    int status = fab_vls_by_lid(&vls, top);
    if (status != FAB_OK)
        return status;
    memcpy(vls.of_lid, layer, (size_t)top + 1);
    *ret = vls;
    return FAB_OK;
}

static int find_lanes(const struct fab_route_input *in, const struct fab_graph *g,
                      const struct fab_lft *lft, struct fab_vls *ret, char *why, size_t why_len)
{
    uint32_t count = 0, port = FAB_NONE;
    uint32_t available = fab_route_vls_available(in->fabric, in->policy, &port);
    uint8_t *layer = calloc((size_t)lft->top + 1, 1);
    int status = layer != NULL ? fab_layers_find(in->fabric, g, lft, layer, &count) : FAB_E_NOMEM;
    if (status == FAB_E_LIMIT || (status == FAB_OK && count > available && count > 1))
        status = too_few(in, status == FAB_OK ? count : FAB_LAYERS_MAX + 1, available, port, why,
                         why_len);
    else if (status == FAB_OK && count > 1)
        status = make_lanes(layer, count, lft->top, ret);
    if (status == FAB_OK && why_len > 0)
        snprintf(why, why_len, "shortest ways on %u lane%s", count > 1 ? count : 1,
                 count > 1 ? "s" : "");
    free(layer);
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    struct fab_graph graph;
    struct fab_lft lft = {0};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = fab_graph_make(in->fabric, &graph);
    if (ret != FAB_OK)
        return ret;
    ret = fab_sssp_route(in, &graph, FAB_SSSP_WHOLE_WAY, &lft);
    if (ret == FAB_OK)
        ret = find_lanes(in, &graph, &lft, ret_vls, why, why_len);
    if (ret == FAB_OK)
        *ret_lft = lft;
    else
        fab_lft_fini(&lft);
    fab_graph_fini(&graph);
    return ret;
}

const struct fab_route_engine fab_route_dfsssp = {
    .name = "dfsssp",
    .summary = "sssp on as many VLs as it takes to be safe, destinations spread over them",
    .run = run,
};
