/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the LFT writes that must precede links that come up.
 *
 * A link that is not Active carries no data packets. A switch is cut off if none of its links to
 * the rest of the fabric is Active. Its tables may be of any kind: the switch was just powered on,
 * or it has kept tables of an earlier engine while the other switches got new ones. Such tables do
 * no harm while the switch is cut off. If its links became Active now, its entries and the entries
 * of other switches together could form a loop or a cycle of channel dependencies. So all its
 * tables are written first.
 *
 * In the other switches, an entry is stale if it leads into a link that is about to become Active,
 * and differs from the entry in the target. A stale entry did no harm while the link was dead.
 * Stale entries are set to drop packets, until their new values are written with the other tables.
 * If an entry leads into such a link and has the same value in the target, it usually stays. With
 * in->hold, it drops packets, too. Then only switches that hold the tables of the target send
 * packets into a link that comes up, and these links add no cycle to the tables.
 *
 * A block is doubtful if a write to its switch failed, and the manager has not been able to read
 * the block since. With in->restore, stage EARLY writes the former entries of such a block again,
 * before links come up and before the writes of stage ROUTES.
 */
#include "libfabmgr/plan/lft_early.h"

#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- switches that are cut off --------------------------------------------------------------- */

static uint8_t state_of(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.port_state;
}

bool fab_plan_isl_carries(const struct fab_fabric *f, uint32_t port)
{
    if (!fab_fabric_isl_is_up(f, port))
        return false;
    uint8_t near = state_of(f, port), far = state_of(f, fab_fabric_port(f, port)->peer);
    return (near == FAB_STATE_ACTIVE && far >= FAB_STATE_ARMED) ||
           (far == FAB_STATE_ACTIVE && near >= FAB_STATE_ARMED);
}

static uint32_t manager_switch(const struct fab_fabric *f)
{
    if (f->self_port == FAB_NONE)
        return FAB_NONE;
    uint32_t node = fab_fabric_port(f, f->self_port)->node;
    if (!fab_fabric_node_is_switch(f, node))
        node = fab_fabric_peer_node(f, f->self_port);
    return node != FAB_NONE && fab_fabric_node_is_switch(f, node) ? node : FAB_NONE;
}

int fab_plan_cut_off_find(const struct fab_fabric *f, struct fab_plan_cut_off *ret)
{
    uint32_t self = manager_switch(f), count = 0;
    uint64_t *sw = fab_base_bits_new((size_t)f->switch_count + 1);
    uint32_t *stack = fab_base_alloc_array((size_t)f->switch_count + 1, sizeof(*stack));
    if (sw == NULL || stack == NULL) {
        free(sw);
        free(stack);
        return FAB_E_NOMEM;
    }
    for (uint32_t i = 0; i < f->switch_count && self != FAB_NONE; i++)
        fab_base_bits_put(sw, i, i != self);
    if (self != FAB_NONE)
        stack[count++] = self;
    while (count > 0) {
        uint32_t at = stack[--count];
        for (unsigned num = 1; num <= f->nodes[at].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, at, (uint8_t)num);
            uint32_t peer = fab_fabric_peer_node(f, port);
            if (!fab_plan_isl_carries(f, port) || !fab_base_bits_get(sw, peer))
                continue;
            fab_base_bits_clear(sw, peer);
            stack[count++] = peer;
        }
    }
    free(stack);
    ret->sw = sw;
    return FAB_OK;
}

bool fab_plan_lft_is_joined(const struct fab_fabric *f, uint32_t sw)
{
    unsigned num = 1;
    while (num <= f->nodes[sw].num_ports &&
           !fab_plan_isl_carries(f, fab_fabric_port_id(f, sw, (uint8_t)num)))
        num++;
    return num <= f->nodes[sw].num_ports;
}

void fab_plan_cut_off_fini(struct fab_plan_cut_off *c)
{
    free(c->sw);
    c->sw = NULL;
}

/* ---- entries that drop packets --------------------------------------------------------------- */

static bool comes_up(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    if (!fab_fabric_port_is_up(f, port) || peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer))
        return false;
    return state_of(f, port) != FAB_STATE_ACTIVE ||
           state_of(f, fab_fabric_port(f, port)->peer) != FAB_STATE_ACTIVE;
}

bool fab_plan_lft_coming_up(const struct fab_fabric *f, uint32_t sw, uint64_t ret[4])
{
    bool any = false;
    fab_base_bits_zero(ret, 256);
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        bool coming_up = comes_up(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        fab_base_bits_put(ret, num, coming_up);
        any |= coming_up;
    }
    return any;
}

uint64_t fab_plan_lft_early_drains(const struct fab_plan_input *in, uint32_t sw, uint32_t block,
                                   const uint64_t coming_up[4])
{
    uint64_t drains = 0;
    if (in->observed == NULL || !fab_plan_observed_is_known(in->observed, sw, block))
        return 0;
    const uint8_t *was = fab_target_lft_block(&in->observed->lft, sw, block);
    const uint8_t *want = fab_target_lft_block(&in->target->lft, sw, block);
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
        drains |=
            (uint64_t)((in->hold || was[i] != want[i]) && fab_base_bits_get(coming_up, was[i]))
            << i;
    return drains;
}

static bool is_presumed(const struct fab_observed *o, uint32_t sw, uint32_t block)
{
    return o != NULL && fab_plan_observed_is_doubtful(o, sw, block) &&
           fab_plan_observed_is_known(o, sw, block);
}

int fab_plan_lft_early(const struct fab_plan_input *in, uint32_t sw, fab_plan_add_op *add,
                       void *ctx)
{
    const struct fab_fabric *f = in->fabric;
    uint64_t coming_up[4] = {0};
    bool drain = fab_plan_lft_coming_up(f, sw, coming_up);
    bool any = drain || in->restore;
    int ret = FAB_OK;
    uint32_t blocks = any ? fab_target_lft_blocks(&in->target->lft) : 0;
    for (uint32_t block = 0; block < blocks && ret == FAB_OK; block++) {
        uint64_t drains = drain ? fab_plan_lft_early_drains(in, sw, block, coming_up) : 0;
        bool restores = in->restore && is_presumed(in->observed, sw, block);
        if (drains != 0 || restores)
            ret = add(ctx, (struct fab_plan_op){.node = sw,
                                                .port = fab_fabric_port_id(f, sw, 0),
                                                .attr_id = FAB_ATTR_LFT,
                                                .block = (uint16_t)block,
                                                .keep = ~drains,
                                                .drain = drains,
                                                .awaited = restores,
                                                .restores = restores});
    }
    return ret;
}
