/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the tables that devices are known to hold.
 *
 * An LFT block is known after the manager has read it, or has written it and the switch has
 * acknowledged the write. One bit per block tells whether it is known. A plan always writes unknown
 * blocks.
 *
 * If an LFT write fails, all known blocks of the switch are doubtful: the switch may hold the old
 * entries or the entries of the write, and it may have restarted. The manager therefore reads these
 * blocks again. If this fails, too, the manager assumes that they have the old entries, and writes
 * them once more. Afterwards the blocks are known. This is safe whatever the switch holds: the
 * manager only sends writes with which packets can meet old and new entries in any combination
 * without a loop or a deadlock.
 *
 * VL tables, also of adapters and routers, are stored as the values from which they are computed
 * (vl_writes.c).
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/observed_move.h"

static size_t bit_of(const struct fab_observed *o, uint32_t sw, uint32_t block)
{
    return (size_t)sw * o->blocks + block;
}

static size_t bitset_words(const struct fab_observed *o)
{
    return ((size_t)o->lft.switch_count * o->blocks + 63) / 64 + 1;
}

static void set_known(struct fab_observed *o, uint32_t sw, uint32_t block, bool known)
{
    size_t bit = bit_of(o, sw, block);
    fab_base_bits_put(o->known, bit, known);
    if (o->doubtful != NULL)
        fab_base_bits_clear(o->doubtful, bit);
}

int fab_plan_observed_init(struct fab_observed *o, uint32_t switch_count, uint32_t top)
{
    struct fab_observed made = {0};
    int ret = fab_target_lft_init(&made.lft, switch_count, top);
    if (ret != FAB_OK)
        return ret;
    made.blocks = fab_target_lft_blocks(&made.lft);
    made.known = calloc(bitset_words(&made), sizeof(*made.known));
    if (made.known == NULL) {
        fab_plan_observed_fini(&made);
        return FAB_E_NOMEM;
    }
    *o = made;
    return FAB_OK;
}

void fab_plan_observed_fini(struct fab_observed *o)
{
    fab_target_lft_fini(&o->lft);
    free(o->known);
    free(o->doubtful);
    free(o->vls.port);
    free(o->vls.arb);
    fab_target_blocks_fini(&o->pkeys);
    memset(o, 0, sizeof(*o));
}

void fab_plan_observed_set_block(struct fab_observed *o, uint32_t sw, uint32_t block,
                                 const uint8_t entries[FAB_LFT_BLOCK])
{
    if (sw >= o->lft.switch_count || block >= o->blocks)
        return;
    memcpy(fab_target_lft_row(&o->lft, sw) + (size_t)block * FAB_LFT_BLOCK, entries, FAB_LFT_BLOCK);
    set_known(o, sw, block, true);
}

void fab_plan_observed_forget(struct fab_observed *o, uint32_t sw)
{
    for (uint32_t block = 0; sw < o->lft.switch_count && block < o->blocks; block++)
        set_known(o, sw, block, false);
}

/* Marks a block as doubtful. Returns false if memory runs out. */
static bool set_doubtful(struct fab_observed *o, size_t bit)
{
    if (o->doubtful == NULL)
        o->doubtful = calloc(bitset_words(o), sizeof(*o->doubtful));
    if (o->doubtful != NULL)
        fab_base_bits_set(o->doubtful, bit);
    return o->doubtful != NULL;
}

void fab_plan_observed_doubt(struct fab_observed *o, uint32_t sw)
{
    for (uint32_t block = 0; sw < o->lft.switch_count && block < o->blocks; block++) {
        size_t bit = bit_of(o, sw, block);
        /* if memory runs out, the block cannot be marked, and counts as unknown */
        if (fab_base_bits_get(o->known, bit))
            (void)set_doubtful(o, bit);
        fab_base_bits_clear(o->known, bit);
    }
}

void fab_plan_observed_presume(struct fab_observed *o)
{
    for (size_t i = 0; o->doubtful != NULL && i < bitset_words(o); i++)
        o->known[i] |= o->doubtful[i];
}

bool fab_plan_observed_is_doubtful(const struct fab_observed *o, uint32_t sw, uint32_t block)
{
    return o->doubtful != NULL && sw < o->lft.switch_count && block < o->blocks &&
           fab_base_bits_get(o->doubtful, bit_of(o, sw, block));
}

void fab_plan_observed_forget_vls(struct fab_observed *o, const struct fab_fabric *f, uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    if (o->vls.port != NULL && n->first_port + n->num_ports < o->vls.ports)
        memset(o->vls.port + n->first_port, 0, (n->num_ports + 1u) * sizeof(*o->vls.port));
}

bool fab_plan_observed_is_known(const struct fab_observed *o, uint32_t sw, uint32_t block)
{
    if (sw >= o->lft.switch_count || block >= o->blocks)
        return false;
    size_t bit = bit_of(o, sw, block);
    return (o->known[bit / 64] >> (bit % 64) & 1) != 0;
}

uint32_t fab_plan_observed_next_unknown(const struct fab_observed *o, uint32_t sw, uint32_t from,
                                        uint32_t end)
{
    while (from < end) {
        if (sw >= o->lft.switch_count || from >= o->blocks)
            return from;
        size_t bit = bit_of(o, sw, from);
        uint64_t certain = o->known[bit / 64] & ~(o->doubtful ? o->doubtful[bit / 64] : 0);
        uint64_t unknown = ~certain >> (bit % 64);
        uint32_t step = unknown != 0 ? (uint32_t)__builtin_ctzll(unknown) : 64 - bit % 64;
        from = step < o->blocks - from ? from + step : o->blocks;
        if (unknown != 0)
            return from < end ? from : end;
    }
    return end;
}

static void remap_switch(const struct fab_observed *from, uint32_t old_sw, uint32_t new_sw,
                         struct fab_observed *to)
{
    for (uint32_t block = 0; block < from->blocks && block < to->blocks; block++) {
        bool doubtful = fab_plan_observed_is_doubtful(from, old_sw, block);
        bool known = fab_plan_observed_is_known(from, old_sw, block);
        if (!known && !doubtful)
            continue;
        fab_plan_observed_set_block(to, new_sw, block,
                                    fab_target_lft_block(&from->lft, old_sw, block));
        if (doubtful && new_sw < to->lft.switch_count) {
            size_t bit = bit_of(to, new_sw, block);
            fab_base_bits_put(to->known, bit, set_doubtful(to, bit) && known);
        }
    }
}

static int copy_arbs(const struct fab_observed_vls *from, struct fab_observed_vls *to)
{
    if (from->arbs == 0)
        return FAB_OK;
    to->arb = fab_base_alloc_array(from->arbs, sizeof(*to->arb));
    if (to->arb == NULL)
        return FAB_E_NOMEM;
    memcpy(to->arb, from->arb, from->arbs * sizeof(*to->arb));
    to->arbs = to->arb_room = from->arbs;
    return FAB_OK;
}

static int remap_vls(const struct fab_observed_vls *from, const struct fab_fabric *old,
                     const struct fab_fabric *now, struct fab_observed_vls *ret)
{
    if (from->port == NULL || from->ports != old->port_count)
        return FAB_OK;
    struct fab_observed_vls to = {.ports = now->port_count};
    to.port = calloc((size_t)to.ports + 1, sizeof(*to.port));
    if (to.port == NULL || copy_arbs(from, &to) != FAB_OK) {
        free(to.port);
        return FAB_E_NOMEM;
    }
    memcpy(to.vl, from->vl, sizeof(to.vl));
    for (uint32_t node = 0; node < old->node_count; node++) {
        const struct fab_node *was = &old->nodes[node];
        uint32_t id = fab_fabric_node_by_guid(now, was->guid);
        if (id != FAB_NONE && now->nodes[id].num_ports == was->num_ports)
            memcpy(to.port + now->nodes[id].first_port, from->port + was->first_port,
                   (was->num_ports + 1u) * sizeof(*to.port));
    }
    *ret = to;
    return FAB_OK;
}

int fab_plan_observed_remap(const struct fab_observed *from, const struct fab_fabric *old,
                            const struct fab_fabric *now, uint32_t top, struct fab_observed *ret)
{
    struct fab_observed to;
    int status = fab_plan_observed_init(&to, now->switch_count, top);
    if (status != FAB_OK)
        return status;
    status = remap_vls(&from->vls, old, now, &to.vls);
    if (status == FAB_OK)
        status = fab_target_held_pkeys_remap(&from->pkeys, old, now, &to.pkeys);
    if (status != FAB_OK) {
        fab_plan_observed_fini(&to);
        return status;
    }
    for (uint32_t sw = 0; sw < from->lft.switch_count && sw < old->switch_count; sw++) {
        uint32_t new_sw = fab_fabric_node_by_guid(now, old->nodes[sw].guid);
        if (new_sw != FAB_NONE && fab_fabric_node_is_switch(now, new_sw))
            remap_switch(from, sw, new_sw, &to);
    }
    *ret = to;
    return FAB_OK;
}

/* ---- moving in place ------------------------------------------------------------------------- */

struct move {
    struct fab_observed *o;
    uint32_t old_count, now_count; /* numbers of switches in the two snapshots */
    /* [old_count] id of each switch in the new snapshot; FAB_NONE if the switch is not in it */
    uint32_t *to;
    /* bitsets of the known and of the doubtful LFT blocks (as in struct fab_observed), by the new
     * ids */
    uint64_t *known, *doubtful;
};

/* Finds the ids of the switches in the new snapshot. Returns false if the LFTs cannot be moved in
 * place, because *m->o has too little space for the switches or their order has changed. */
static bool find_new_ids(struct move *m, const struct fab_fabric *old, const struct fab_fabric *now)
{
    uint32_t next = 0;
    if (m->now_count > m->o->lft.switch_count || m->old_count > m->o->lft.switch_count ||
        m->o->lft.entries == NULL)
        return false;
    for (uint32_t sw = 0; sw < m->old_count; sw++) {
        uint32_t to = fab_fabric_node_by_guid(now, old->nodes[sw].guid);
        m->to[sw] = to < m->now_count ? to : FAB_NONE;
        if (m->to[sw] == FAB_NONE)
            continue;
        if (to < next)
            return false;
        next = to + 1;
    }
    return true;
}

static void move_known(struct move *m)
{
    const struct fab_observed *o = m->o;
    for (uint32_t sw = 0; sw < m->old_count; sw++) {
        for (uint32_t block = 0; m->to[sw] != FAB_NONE && block < o->blocks; block++) {
            size_t bit = bit_of(o, m->to[sw], block);
            if (fab_plan_observed_is_known(o, sw, block))
                fab_base_bits_set(m->known, bit);
            if (fab_plan_observed_is_doubtful(o, sw, block))
                fab_base_bits_set(m->doubtful, bit);
        }
    }
}

static void move_row(struct move *m, uint32_t sw)
{
    struct fab_lft *lft = &m->o->lft;
    memcpy(fab_target_lft_row(lft, m->to[sw]), fab_target_lft_row(lft, sw), lft->stride);
}

/* Moves the LFT of each switch to its new id, in place. The order of the switches stays the same.
 * The LFTs that move to lower ids are moved first, in ascending order. The LFTs that move to higher
 * ids follow in descending order. So no LFT is overwritten before it has moved. */
static void move_rows(struct move *m)
{
    for (uint32_t sw = 0; sw < m->old_count; sw++) {
        if (m->to[sw] < sw)
            move_row(m, sw);
    }
    for (uint32_t sw = m->old_count; sw-- > 0;) {
        if (m->to[sw] != FAB_NONE && m->to[sw] > sw)
            move_row(m, sw);
    }
}

/* Copies the LFTs into new tables, which have space for exactly the switches of the new snapshot.
 */
static int move_by_copy(struct fab_observed *o, const struct fab_fabric *old,
                        const struct fab_fabric *now)
{
    struct fab_observed moved;
    int status = fab_plan_observed_remap(o, old, now, o->lft.top, &moved);
    if (status != FAB_OK)
        return status;
    fab_plan_observed_fini(o);
    *o = moved;
    return FAB_OK;
}

static int move_in_place(struct move *m, const struct fab_fabric *old, const struct fab_fabric *now)
{
    struct fab_observed_vls vls = {0};
    struct fab_blocks pkeys = {0};
    int status = remap_vls(&m->o->vls, old, now, &vls);
    if (status == FAB_OK)
        status = fab_target_held_pkeys_remap(&m->o->pkeys, old, now, &pkeys);
    m->known = calloc(bitset_words(m->o), sizeof(*m->known));
    if (m->o->doubtful != NULL)
        m->doubtful = calloc(bitset_words(m->o), sizeof(*m->doubtful));
    if (status != FAB_OK || m->known == NULL || (m->o->doubtful != NULL && m->doubtful == NULL)) {
        free(vls.port);
        free(vls.arb);
        fab_target_blocks_fini(&pkeys);
        free(m->known);
        free(m->doubtful);
        return FAB_E_NOMEM;
    }
    move_known(m);
    move_rows(m);
    free(m->o->known);
    free(m->o->doubtful);
    free(m->o->vls.port);
    free(m->o->vls.arb);
    fab_target_blocks_fini(&m->o->pkeys);
    m->o->known = m->known;
    m->o->doubtful = m->doubtful;
    m->o->vls = vls;
    m->o->pkeys = pkeys;
    return FAB_OK;
}

int fab_plan_observed_move(struct fab_observed *o, const struct fab_fabric *old,
                           const struct fab_fabric *now)
{
    struct move m = {.o = o, .old_count = old->switch_count, .now_count = now->switch_count};
    m.to = fab_base_alloc_array((size_t)m.old_count + 1, sizeof(*m.to));
    if (m.to == NULL)
        return FAB_E_NOMEM;
    int status =
        find_new_ids(&m, old, now) ? move_in_place(&m, old, now) : move_by_copy(o, old, now);
    free(m.to);
    return status;
}
