/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the LFT blocks whose entries the proof of a delta reads (proof.c). For each changed entry,
 * the proof reads entries of the same LID at several switches: at the switch of the changed entry,
 * at the switches on the rest of its path to the destination, and at all neighbours of its switch.
 * At both ends of a dead link, the proof reads all entries of the switch, to find those that lead
 * into this link. The caller can compare these blocks with those in the switches before it writes.
 */
#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/session/session.h"

struct search {
    const struct fab_fabric *fabric;
    const struct fab_lft *lft;
    uint64_t *ret_blocks;
    uint32_t blocks; /* number of LFT blocks per switch */
    /* [switch_count] the new entries for the current LID, valid at the switches in `changed` */
    uint8_t *now;
    uint64_t *changed;
    /* bitset with the same bits as ret_blocks. A bit is set if the block with this number is
     * already marked at all neighbours of the switch. */
    uint64_t *around;
};

static size_t bit_of(const struct search *x, uint32_t sw, uint32_t lid)
{
    return (size_t)sw * x->blocks + lid / FAB_LFT_BLOCK;
}

static void mark_around(struct search *x, uint32_t sw, uint32_t lid)
{
    const struct fab_fabric *f = x->fabric;
    if (!fab_base_bits_add(x->around, bit_of(x, sw, lid)))
        return;
    for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        if (peer != FAB_NONE && fab_fabric_node_is_switch(f, peer))
            fab_base_bits_set(x->ret_blocks, bit_of(x, peer, lid));
    }
}

/* Marks the block of this LID at each switch of the new path from `sw`. */
static void mark_path(struct search *x, uint32_t sw, uint32_t lid)
{
    const struct fab_fabric *f = x->fabric;
    for (uint32_t hops = 0; hops <= f->switch_count; hops++) {
        uint8_t num =
            fab_base_bits_get(x->changed, sw) ? x->now[sw] : fab_target_lft_at(x->lft, sw, lid);
        fab_base_bits_set(x->ret_blocks, bit_of(x, sw, lid));
        if (num == 0 || num > f->nodes[sw].num_ports)
            return;
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, num));
        if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer))
            return;
        sw = peer;
    }
}

/* Marks the blocks for one LID. change[count]: the changes of the entries for this LID. */
static void mark_column(struct search *x, const uint32_t *to_current,
                        const struct fab_repair_change *change, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t sw = to_current[change[i].sw];
        if (sw == FAB_NONE)
            continue;
        fab_base_bits_set(x->changed, sw);
        x->now[sw] = change[i].now;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t sw = to_current[change[i].sw];
        if (sw == FAB_NONE)
            continue;
        mark_around(x, sw, change[i].lid);
        mark_path(x, sw, change[i].lid);
    }
    for (size_t i = 0; i < count; i++)
        if (to_current[change[i].sw] != FAB_NONE)
            fab_base_bits_clear(x->changed, to_current[change[i].sw]);
}

/* Marks all blocks of the switches at both ends of the dead links. */
static void mark_ends(struct search *x, const struct fab_repair_session *t,
                      const struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->deads; i++) {
        uint32_t port = fab_repair_idmap_to_current(&t->idmap, t->baseline, x->fabric, d->dead[i]);
        uint32_t sw = port != FAB_NONE ? fab_fabric_port(x->fabric, port)->node : FAB_NONE;
        for (uint32_t block = 0; sw < x->fabric->switch_count && block < x->blocks; block++)
            fab_base_bits_set(x->ret_blocks, bit_of(x, sw, block * FAB_LFT_BLOCK));
    }
}

int fab_repair_session_proof_blocks(const struct fab_repair_session *t, const struct fab_fabric *f,
                                    const struct fab_lft *lft, const struct fab_repair_delta *d,
                                    uint64_t **ret)
{
    const uint32_t blocks = fab_target_lft_blocks(lft);
    const size_t bits = (size_t)f->switch_count * blocks;
    struct search x = {.fabric = f,
                       .lft = lft,
                       .blocks = blocks,
                       .ret_blocks = fab_base_bits_new(bits),
                       .now = calloc(f->switch_count + 1u, 1),
                       .changed = fab_base_bits_new(f->switch_count),
                       .around = fab_base_bits_new(bits)};
    bool good = x.ret_blocks && x.now && x.changed && x.around;
    for (size_t first = 0, end = 0; good && first < d->changes; first = end) {
        while (end < d->changes && d->change[end].lid == d->change[first].lid)
            end++;
        if (d->change[first].lid <= lft->top)
            mark_column(&x, t->idmap.to_current, d->change + first, end - first);
    }
    if (good)
        mark_ends(&x, t, d);
    free(x.now);
    free(x.changed);
    free(x.around);
    if (good)
        *ret = x.ret_blocks;
    else
        free(x.ret_blocks);
    return good ? FAB_OK : FAB_E_NOMEM;
}
