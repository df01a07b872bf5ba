/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the switches that forward packets between other switches, from the LFTs alone. */
#include "libfabmgr/study/transit.h"

#include "libfabmgr/base/bitset.h"

/* Returns true if packets to this LID enter switch `sw` by an ISL and leave it by an ISL. */
static bool forwards(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t sw,
                     uint32_t lid)
{
    uint8_t out = fab_target_lft_at(lft, sw, lid);
    if (out == 0 || out > f->nodes[sw].num_ports ||
        !fab_fabric_isl_is_up(f, fab_fabric_port_id(f, sw, out)))
        return false;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i);
        if (!fab_fabric_isl_is_up(f, port))
            continue;
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (fab_target_lft_at(lft, fab_fabric_port(f, peer)->node, lid) ==
            fab_fabric_port(f, peer)->num)
            return true;
    }
    return false;
}

static bool is_endport(const struct fab_fabric *f, const struct fab_lids *lids, uint32_t lid)
{
    uint32_t port = lids->owner[lid];
    return port != FAB_NONE && !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
}

void fab_study_transit(const struct fab_fabric *f, const struct fab_lids *lids,
                       const struct fab_lft *lft, const uint64_t *of, uint64_t *ret)
{
    uint32_t top = lids->top < lft->top ? lids->top : lft->top;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t lid = 1; fab_base_bits_get(of, sw) && lid <= top; lid++)
            if (is_endport(f, lids, lid) && forwards(f, lft, sw, lid)) {
                fab_base_bits_set(ret, sw);
                break;
            }
}
