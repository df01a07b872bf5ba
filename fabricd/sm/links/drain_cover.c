/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out which links routes must avoid because of a drain, and whether the drain would cut off a
 * part of the fabric. */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/links/drain.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain.h"
#include "libfabmgr/study/transit.h"

static void set_of_nodes(const struct fab_fabric *f, const uint64_t *guid, uint32_t nodes,
                         uint64_t *ret)
{
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, guid[i]);
        if (node != FAB_NONE && fab_fabric_node_is_switch(f, node))
            fab_base_bits_set(ret, node);
    }
}

/* Sets in ret[] the bits of those drained switches through which packets pass from one switch to
 * another. The tables of the view have the ids of the view's own snapshot; `f`, whose ids ret[]
 * has, may be a newer snapshot. */
static int find_transit(const struct fab_view *v, const struct fab_fabric *f, const uint64_t *guid,
                        uint32_t nodes, uint64_t *ret)
{
    const struct fab_fabric *of = v->fabric;
    if (!v->target || v->target->lft.switch_count != of->switch_count)
        return FAB_OK;
    uint64_t *set = fab_base_bits_new(of->switch_count), *via = fab_base_bits_new(of->switch_count);
    int r = set && via ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK) {
        set_of_nodes(of, guid, nodes, set);
        fab_study_transit(of, &v->target->lids, &v->target->lft, set, via);
    }
    for (uint32_t sw = 0; r == FAB_OK && sw < of->switch_count; sw++)
        if (fab_base_bits_get(via, sw))
            set_of_nodes(f, &of->nodes[sw].guid, 1, ret);
    free(set);
    free(via);
    return r;
}

int sm_drain_cover(const struct fab_view *v, const struct fab_fabric *f, const uint64_t *guid,
                   uint32_t nodes, const uint32_t *link, struct fab_drain *ret)
{
    uint64_t *set = fab_base_bits_new(f->switch_count), *via = fab_base_bits_new(f->switch_count);
    int r = set && via ? find_transit(v, f, guid, nodes, via) : FAB_E_NOMEM;
    if (r == FAB_OK) {
        set_of_nodes(f, guid, nodes, set);
        const struct fab_drain_input in = {
            .fabric = f, .switches = set, .transit = via, .link = link, .link_count = link ? 1 : 0};
        r = fab_health_drain(&in, ret);
    }
    free(set);
    free(via);
    return r;
}

int sm_drain_preview(const struct fab_view *v, const struct fab_fabric *f,
                     const struct sm_drain_request *q, struct fab_drain *ret, char *why,
                     size_t why_len)
{
    uint32_t link = FAB_NONE;
    if (q->kind == SM_DRAIN_LINK) {
        uint32_t node = fab_fabric_node_by_guid(f, q->link_guid);
        if (node != FAB_NONE && q->link_port >= 1 && q->link_port <= f->nodes[node].num_ports)
            link = fab_fabric_port_id(f, node, q->link_port);
        if (link == FAB_NONE || !fab_fabric_port_is_up(f, link)) {
            snprintf(why, why_len, "no link is up at %.128s, or routes avoid it already", q->name);
            return FAB_E_NOT_FOUND;
        }
        if (!fab_fabric_isl_is_up(f, link)) {
            snprintf(why, why_len,
                     "%.128s is the link of a host; drain the host with 'fabricctl drain host'",
                     q->name);
            return FAB_E_INVAL;
        }
    }
    if (q->kind == SM_DRAIN_HOST) {
        *ret = (struct fab_drain){.first_cut = FAB_NONE};
        return FAB_OK;
    }
    return sm_drain_cover(v, f, q->node, q->nodes, link != FAB_NONE ? &link : NULL, ret);
}

int sm_drain_refusal(const struct fab_fabric *f, const struct fab_drain *of, char *why,
                     size_t why_len)
{
    char name[SM_PLACE_LEN];
    if (of->first_cut == FAB_NONE)
        return FAB_OK;
    sm_node_name(f, of->first_cut, name);
    snprintf(why, why_len,
             "%s%s would be cut off: %u switch%s and %u endport%s would lose their paths to all "
             "others; nothing was changed",
             name, of->cut_switches > 1 ? " and others" : "", of->cut_switches,
             of->cut_switches == 1 ? "" : "es", of->cut_others, of->cut_others == 1 ? "" : "s");
    return FAB_E_UNREACHABLE;
}
