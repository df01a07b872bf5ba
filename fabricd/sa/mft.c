/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MulticastForwardingTableRecord (IBA 15.2.5.8) shows the MFT blocks that switches have
 * acknowledged. A record has a block of 32 MLIDs and a position, which stands for 16 ports. A
 * switch has records for all blocks up to the last one that contains a port, and for all positions.
 */
#include <string.h>

#include "fabricd/sa/registered.h"
#include "libfabmgr/base/status.h"

static uint32_t positions(const struct fab_mcast_net *n, uint32_t sw)
{
    return fab_mcast_net_port_count(n, sw) / 16 + 1;
}

/* Returns the number of blocks in the switch's MFT, up to the last block that contains a port. */
static uint32_t blocks(const struct sa *s, const struct fab_mcast_groups *g, uint32_t sw)
{
    const struct fab_mcast_net *n = fab_mcast_trees_net(g->trees);
    for (uint32_t block = (g->mlids + 31) / 32; block > 0; block--)
        for (uint32_t p = 0; p < positions(n, sw); p++) {
            const uint16_t *entry = sm_mft_block(s->in.sm, sw, (block - 1) | p << 9);
            for (unsigned i = 0; entry != NULL && i < 32; i++)
                if (entry[i] != 0)
                    return block;
        }
    return 0;
}

/* Returns the LID of a switch; 0 if the switch is not in the view or shares no partition with the
 * requester. */
static uint16_t lid_of(const struct fab_sa_query *q, uint64_t guid)
{
    const struct fab_view *v = fab_sa_view(q->sa);
    uint32_t sw = fab_fabric_node_by_guid(v->fabric, guid);
    if (sw == FAB_NONE || !fab_fabric_node_is_switch(v->fabric, sw))
        return 0;
    uint32_t port = fab_fabric_port_id(v->fabric, sw, 0);
    return fab_sa_may_see(q, port) ? (uint16_t)v->target->lids.base[port] : 0;
}

/* Writes the next record of a query. at[0] is the id (in fab_mcast_trees_net) of the switch whose
 * records come next; at[1] is the number of records of this switch that were returned already. */
bool sa_mft_next(void *ctx, const struct fab_sa_query *q, uint64_t at[4], void *ret_struct)
{
    const struct sa *s = ctx;
    const struct fab_mcast_groups *g = sm_mgroups(s->in.sm);
    const struct fab_mcast_net *n = g != NULL ? fab_mcast_trees_net(g->trees) : NULL;
    struct fab_wire_mft_record *r = ret_struct;
    for (; n != NULL && at[0] < n->switches; at[0]++, at[1] = 0) {
        uint32_t sw = (uint32_t)at[0], count = positions(n, sw);
        r->lid = lid_of(q, n->guid[sw]);
        if (r->lid == 0 || at[1] >= (uint64_t)blocks(s, g, sw) * count)
            continue;
        r->block = (uint16_t)(at[1] / count);
        r->position = (uint8_t)(at[1] % count);
        at[1]++;
        const uint16_t *entry = sm_mft_block(s->in.sm, sw, r->block | (uint32_t)r->position << 9);
        if (entry != NULL)
            memcpy(r->mask, entry, sizeof(r->mask));
        return true;
    }
    return false;
}
