/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes SLtoVLMappingTables (IBA 14.2.5.8) from struct fab_vls.
 *
 * A port drops packets that are mapped to a VL it does not have (IBA 7.6.6). libfabmgr/verify
 * checks that the links between switches have all VLs. A link to an endport may have fewer; its
 * table maps to the VL modulo the number of VLs of that link. This cannot cause a deadlock, since
 * an endport forwards nothing.
 */
#include "libfabmgr/target/target.h"

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

/* Returns the switch to which an endport is connected; for port 0 of a switch, that switch.
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
