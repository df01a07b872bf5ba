/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds stale entries and adds writes that make them drop packets.
 *
 * An entry is stale if it leads into a link that is about to become Active, and if the target has
 * another value for it. Such an entry is left over in a switch that was cut off. It did no harm
 * while the link was dead. Once the link is Active, the stale entry and newer entries of other
 * switches could form a loop. So stale entries are set to drop packets until their new values are
 * written with the other tables.
 *
 * Every loop contains at least one entry that will change, because entries that keep their value
 * are entries of the target, and the target has no loop. If one of the changing entries is stale,
 * it drops the packets, and there is no loop. One kind of loop is not prevented: only an entry that
 * keeps its value leads into a link that comes up, and none of the changing entries does. Such a
 * loop requires two components that were cut off at different times. It ends when the first of its
 * changing entries is written.
 */
#include "libfabmgr/plan/lft_stale.h"

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

static bool comes_up(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    if (!fab_fabric_port_is_up(f, port) || peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer))
        return false;
    return fab_fabric_port(f, port)->info.port_state != FAB_STATE_ACTIVE ||
           fab_fabric_port(f, fab_fabric_port(f, port)->peer)->info.port_state != FAB_STATE_ACTIVE;
}

static uint64_t stale_in(const struct fab_plan_input *in, uint32_t sw, uint32_t block,
                         const uint64_t coming_up_ports[4])
{
    const uint8_t *was = fab_target_lft_block(&in->observed->lft, sw, block);
    const uint8_t *want = fab_target_lft_block(&in->target->lft, sw, block);
    uint64_t stale = 0;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
        stale |= (uint64_t)(was[i] != want[i] && fab_base_bits_get(coming_up_ports, was[i])) << i;
    return stale;
}

int fab_plan_lft_stale(const struct fab_plan_input *in, uint32_t sw, fab_plan_add_op *add,
                       void *ctx)
{
    const struct fab_fabric *f = in->fabric;
    uint64_t coming_up_ports[4] = {0};
    bool any = false;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        bool coming_up = comes_up(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        fab_base_bits_put(coming_up_ports, num, coming_up);
        any |= coming_up;
    }
    int ret = FAB_OK;
    uint32_t blocks = any && in->observed ? fab_target_lft_blocks(&in->target->lft) : 0;
    for (uint32_t block = 0; block < blocks && ret == FAB_OK; block++) {
        if (!fab_plan_observed_is_known(in->observed, sw, block))
            continue;
        uint64_t stale = stale_in(in, sw, block, coming_up_ports);
        if (stale != 0)
            ret = add(ctx, (struct fab_plan_op){.node = sw,
                                                .port = fab_fabric_port_id(f, sw, 0),
                                                .attr_id = FAB_ATTR_LFT,
                                                .block = (uint16_t)block,
                                                .keep = ~stale,
                                                .drain = stale});
    }
    return ret;
}
