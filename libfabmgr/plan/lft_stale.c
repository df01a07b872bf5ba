/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that lead into a cable which does not carry traffic yet, and will when it is up: left
 * over from before a switch was cut off. Those that shall change drop until their new value is
 * written, which is when the tables are: what was harmless with the cable dead could close a loop
 * between entries of different ages.
 *
 * Entries that lead there and shall stay are the target's own. A circle of old entries has one at
 * least that changes; it is missed here only if none of that kind leads into a cable that rises,
 * which takes two islands that were cut off at different times, and ends with the first write.
 */
#include "libfabmgr/plan/lft_stale.h"

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

static bool rises(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    if (!fab_fabric_port_is_up(f, port) || peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer))
        return false;
    return f->ports[port].info.port_state != FAB_STATE_ACTIVE ||
           f->ports[f->ports[port].peer].info.port_state != FAB_STATE_ACTIVE;
}

static uint64_t stale_in(const struct fab_plan_input *in, uint32_t sw, uint32_t block,
                         const uint64_t rising[4])
{
    const uint8_t *was = fab_target_lft_row(&in->observed->lft, sw) + (size_t)block * FAB_LFT_BLOCK;
    const uint8_t *shall = fab_target_lft_row(&in->target->lft, sw) + (size_t)block * FAB_LFT_BLOCK;
    uint64_t stale = 0;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
        stale |= (uint64_t)(was[i] != shall[i] && fab_base_bits_get(rising, was[i])) << i;
    return stale;
}

int fab_plan_lft_stale(const struct fab_plan_input *in, uint32_t sw, fab_plan_add_op *add,
                       void *ctx)
{
    const struct fab_fabric *f = in->fabric;
    uint64_t rising[4] = {0};
    bool any = false;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        bool rise = rises(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        fab_base_bits_put(rising, num, rise);
        any |= rise;
    }
    int ret = FAB_OK;
    uint32_t blocks = any && in->observed ? fab_target_lft_blocks(&in->target->lft) : 0;
    for (uint32_t block = 0; block < blocks && ret == FAB_OK; block++) {
        if (!fab_plan_observed_is_known(in->observed, sw, block))
            continue;
        uint64_t stale = stale_in(in, sw, block, rising);
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
