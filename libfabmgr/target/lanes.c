/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes SLtoVLMappingTables (IBA 14.2.5.8) from struct fab_vls, and translates struct fab_vls to
 * the ids of another snapshot.
 *
 * A port drops packets that are mapped to a VL which the port does not have (IBA 7.6.6).
 * libfabmgr/verify checks that the links between switches have all VLs that packets use. A link to
 * an endport may have fewer VLs. Then the table maps an SL to the engine's VL modulo the number of
 * VLs of the link. This cannot cause a deadlock, since an endport forwards nothing.
 */
#include "libfabmgr/target/target.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

uint64_t fab_target_sl2vl(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_vls *v, uint32_t in, uint32_t out)
{
    if (!fab_target_vls_multiple(v))
        return 0;
    return fab_target_sl2vl_pack(
        v->vl[fab_target_vls_port_class(v, in)][fab_target_vls_port_class(v, out)],
        fab_target_port_vls(f, p, out));
}

uint8_t fab_target_vl(const struct fab_fabric *f, const struct fab_policy *p,
                      const struct fab_vls *v, uint32_t in, uint32_t out, uint8_t sl)
{
    return fab_target_sl2vl(f, p, v, in, out) >> (FAB_SLS - 1 - sl) * 4 & 15;
}

/* Returns the switch to which an endport is connected; for port 0 of a switch, returns that switch.
 * FAB_NONE: the endport is not connected to a switch. */
static uint32_t switch_of(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    if (!fab_fabric_node_is_switch(f, node))
        node = fab_fabric_peer_node(f, port);
    return node != FAB_NONE && fab_fabric_node_is_switch(f, node) ? node : FAB_NONE;
}

uint8_t fab_target_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                      const struct fab_vls *v, uint32_t src, uint32_t lid)
{
    if (!fab_target_vls_multiple(v) || lid > lids->top || lids->owner[lid] == FAB_NONE)
        return 0;
    uint32_t from = switch_of(f, src), to = switch_of(f, lids->owner[lid]);
    return from != FAB_NONE && to != FAB_NONE ? fab_target_vls_sl(v, from, to, lid) : 0;
}

uint8_t fab_target_level_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                            const struct fab_vls *v, uint8_t level, uint32_t src, uint32_t lid)
{
    return fab_target_vls_level_sl(v, level, fab_target_sl(f, lids, v, src, lid));
}

/* ---- another snapshot ------------------------------------------------------------------------ */

static int remap_lids(const struct fab_vls *v, uint32_t top, struct fab_vls *ret)
{
    int status = fab_target_vls_by_lid(ret, top);
    if (status == FAB_OK)
        memcpy(ret->of_lid, v->of_lid, (v->top < top ? v->top : top) + 1u);
    return status;
}

static int remap_pairs(const struct fab_vls *v, const struct fab_fabric *old,
                       const struct fab_fabric *now, struct fab_vls *ret)
{
    uint32_t n = now->switch_count;
    uint32_t *was = fab_base_alloc_array(n, sizeof(*was));
    int status = was != NULL ? fab_target_vls_by_pair(ret, n) : FAB_E_NOMEM;
    for (uint32_t sw = 0; status == FAB_OK && sw < n; sw++)
        was[sw] = fab_fabric_node_by_guid(old, now->nodes[sw].guid);
    for (uint32_t to = 0; status == FAB_OK && to < n; to++) {
        for (uint32_t from = 0; from < n && was[to] < v->switches; from++) {
            if (was[from] < v->switches)
                ret->of_pair[(size_t)to * n + from] =
                    v->of_pair[(size_t)was[to] * v->switches + was[from]];
        }
    }
    free(was);
    return status;
}

static int remap_classes(const struct fab_vls *v, const struct fab_fabric *old,
                         const struct fab_fabric *now, struct fab_vls *ret)
{
    int status = fab_target_vls_by_class(ret, now->port_count);
    for (uint32_t node = 0; status == FAB_OK && node < now->node_count; node++) {
        const struct fab_node *n = &now->nodes[node];
        uint32_t was = fab_fabric_node_by_guid(old, n->guid);
        for (uint32_t num = 0;
             was != FAB_NONE && num <= n->num_ports && num <= old->nodes[was].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(old, was, (uint8_t)num);
            if (port < v->ports)
                ret->port_class[fab_fabric_port_id(now, node, (uint8_t)num)] = v->port_class[port];
        }
    }
    return status;
}

static int remap_branches(const struct fab_vls *v, const struct fab_fabric *old,
                          const struct fab_fabric *now, struct fab_vls *ret)
{
    int status = fab_target_vls_with_branches(ret, now->switch_count);
    for (uint32_t sw = 0; status == FAB_OK && sw < now->switch_count; sw++) {
        uint32_t was = fab_fabric_node_by_guid(old, now->nodes[sw].guid);
        if (was < v->branch_switches)
            ret->branch[sw] = v->branch[was];
    }
    return status;
}

int fab_target_vls_remap(const struct fab_vls *v, const struct fab_fabric *old,
                         const struct fab_fabric *now, uint32_t top, struct fab_vls *ret)
{
    struct fab_vls made = *v;
    int status = FAB_OK;
    made.of_lid = made.of_pair = made.port_class = made.branch = NULL;
    made.owners = NULL;
    if (v->of_lid != NULL)
        status = remap_lids(v, top, &made);
    if (status == FAB_OK && v->of_pair != NULL)
        status = remap_pairs(v, old, now, &made);
    if (status == FAB_OK && v->port_class != NULL)
        status = remap_classes(v, old, now, &made);
    if (status == FAB_OK && v->branch != NULL)
        status = remap_branches(v, old, now, &made);
    if (status == FAB_OK)
        *ret = made;
    else
        fab_target_vls_fini(&made);
    return status;
}
