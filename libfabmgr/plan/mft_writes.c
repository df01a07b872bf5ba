/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the writes of multicast forwarding tables (IBA 14.2.5.12), for one MLID group (32 MLIDs)
 * after the other. A block has the entries of an MLID group for 16 ports of a switch. If a switch
 * holds or gets an entry of the group, all blocks of this switch and group are compared.
 *
 * Old and new branches of an MLID may form a cycle. A link is an old branch if the old entry of one
 * of its two switches has its port; new branches are found in the same way. Union-find joins the
 * two switches of each old or new branch. If they were joined before, the branch closes a cycle.
 */
#include "libfabmgr/plan/mft_writes.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define PORTS_A_BLOCK 16

/* an MFT block of a switch that answers, with its present and wanted entries */
struct cell {
    uint32_t sw, number;
    uint16_t was[FAB_BLOCK_ENTRIES], will[FAB_BLOCK_ENTRIES];
};
struct draft {
    const struct fab_plan_mft_input *in;
    struct fab_plan_mft plan;
    /* blocks of the current MLID group, sorted by switch and then by port numbers */
    struct cell *cell;
    size_t cells, room;
    /* [switches] union-find: the parent of each switch; a root is its own parent */
    uint32_t *root;
    /* [switches] for each unresponsive switch, a bitset of those MLIDs of the current MLID group
     * whose entries differ from the target; NULL: all switches respond */
    uint32_t *pending;
};

static uint32_t number_of(uint32_t group, uint32_t position)
{
    return group | position << 9;
}

static uint32_t positions(const struct fab_mcast_net *n, uint32_t sw)
{
    return fab_mcast_net_port_count(n, sw) / PORTS_A_BLOCK + 1;
}

static bool is_unresponsive(const struct draft *d, uint32_t sw)
{
    return d->in->unresponsive != NULL && fab_base_bits_get(d->in->unresponsive, sw);
}

static bool is_zero(const uint16_t *entry)
{
    for (unsigned i = 0; entry != NULL && i < FAB_BLOCK_ENTRIES; i++)
        if (entry[i] != 0)
            return false;
    return true;
}

static int add_op(struct draft *d, enum fab_plan_mft_stage stage, uint32_t sw, uint32_t number,
                  const uint16_t *entry)
{
    struct fab_plan_mft_ops *ops = &d->plan.stage[stage];
    struct fab_plan_mft_op *more = ops->op;
    if (ops->count == ops->room)
        more = fab_base_grow(ops->op, sizeof(*more), ops->count + 1, &ops->room);
    if (more == NULL)
        return FAB_E_NOMEM;
    ops->op = more;
    more[ops->count] = (struct fab_plan_mft_op){.sw = sw, .number = number};
    if (entry != NULL)
        memcpy(more[ops->count].entry, entry, sizeof(more->entry));
    ops->count++;
    return FAB_OK;
}

/* ---- known and wanted entries ---------------------------------------------------------------- */

static int add_cell(struct draft *d, uint32_t sw, uint32_t number, const uint16_t *was,
                    const uint16_t *will)
{
    struct cell *more = d->cell;
    if (d->cells == d->room)
        more = fab_base_grow(d->cell, sizeof(*more), d->cells + 1, &d->room);
    if (more == NULL)
        return FAB_E_NOMEM;
    d->cell = more;
    struct cell *c = &more[d->cells++];
    *c = (struct cell){.sw = sw, .number = number};
    memcpy(c->was, was, sizeof(c->was));
    if (will != NULL)
        memcpy(c->will, will, sizeof(c->will));
    return FAB_OK;
}

/* Compares the entries of a block that the switch holds (was; NULL: unknown) with the entries of
 * the target (will; NULL: all zero). Returns a bitset of those MLIDs of the MLID group whose
 * entries differ; all 32 MLIDs if `was` is NULL. */
static uint32_t pending(const uint16_t *was, const uint16_t *will)
{
    uint32_t lids = was == NULL ? UINT32_MAX : 0;
    for (unsigned i = 0; was != NULL && i < FAB_BLOCK_ENTRIES; i++)
        if (was[i] != (will != NULL ? will[i] : 0))
            lids |= UINT32_C(1) << i;
    return lids;
}

static bool has_entries(const struct draft *d, uint32_t sw, uint32_t group)
{
    for (uint32_t p = 0; p < positions(d->in->net, sw); p++)
        if (!is_zero(fab_target_blocks_get(d->in->want, sw, number_of(group, p))) ||
            !is_zero(fab_target_blocks_get(d->in->held, sw, number_of(group, p))))
            return true;
    return false;
}

static int collect_switch(struct draft *d, uint32_t sw, uint32_t group)
{
    int r = FAB_OK;
    if (d->pending != NULL)
        d->pending[sw] = 0;
    if (!has_entries(d, sw, group))
        return r;
    for (uint32_t p = 0; p < positions(d->in->net, sw) && r == FAB_OK; p++) {
        uint32_t number = number_of(group, p);
        const uint16_t *will = fab_target_blocks_get(d->in->want, sw, number);
        const uint16_t *was = fab_target_blocks_get(d->in->held, sw, number);
        if (is_unresponsive(d, sw))
            d->pending[sw] |= pending(was, will);
        else if (was == NULL)
            r = add_op(d, FAB_MFT_READ, sw, number, NULL);
        else
            r = add_cell(d, sw, number, was, will);
    }
    return r;
}

/* ---- branches -------------------------------------------------------------------------------- */

/* Returns the switch to which the working link of a port leads; FAB_NONE: none. */
static uint32_t peer_switch(const struct fab_mcast_net *n, uint32_t sw, uint32_t num)
{
    return num <= fab_mcast_net_port_count(n, sw)
               ? fab_mcast_net_peer_node(n, n->first_port[sw] + num)
               : FAB_NONE;
}

static uint32_t port_of(const struct cell *c, unsigned bit)
{
    return (c->number >> 9) * PORTS_A_BLOCK + bit;
}

/* Removes from c->will the branches of a LID that lead into an unresponsive switch, if the entries
 * of that switch for this LID differ from the target. */
static void prune_unresponsive(struct draft *d, struct cell *c)
{
    for (unsigned bit = 0; bit < PORTS_A_BLOCK; bit++) {
        uint32_t to = peer_switch(d->in->net, c->sw, port_of(c, bit));
        if (to == FAB_NONE || !is_unresponsive(d, to))
            continue;
        for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
            if (d->pending[to] >> i & 1)
                c->will[i] = (uint16_t)(c->will[i] & ~(1u << bit));
    }
}

static uint32_t find(uint32_t *root, uint32_t sw)
{
    while (root[sw] != sw) {
        root[sw] = root[root[sw]];
        sw = root[sw];
    }
    return sw;
}

static bool names(const struct cell *c, unsigned lid, unsigned bit)
{
    return ((c->was[lid] | c->will[lid]) >> bit & 1) != 0;
}

/* Returns true if port `num` of switch `to` is in the old or new entry of `to` for the LID. If so,
 * the visit of switch `to` joins the two switches of the link, and the visit of the other switch
 * must not join them again. */
static bool is_counted_there(const struct draft *d, uint32_t to, uint32_t num, unsigned lid)
{
    size_t low = 0, high = d->cells;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (d->cell[mid].sw < to ||
            (d->cell[mid].sw == to && d->cell[mid].number >> 9 < num / PORTS_A_BLOCK))
            low = mid + 1;
        else
            high = mid;
    }
    return low < d->cells && d->cell[low].sw == to &&
           d->cell[low].number >> 9 == num / PORTS_A_BLOCK &&
           names(&d->cell[low], lid, num % PORTS_A_BLOCK);
}

/* Joins the two switches of each link that is in the old or new entry of this block for the LID.
 * Returns true if two of these switches were joined already: the branches form a cycle. */
static bool join_switches(struct draft *d, const struct cell *c, unsigned lid)
{
    const struct fab_mcast_net *n = d->in->net;
    for (unsigned bit = 0; bit < PORTS_A_BLOCK; bit++) {
        uint32_t to = names(c, lid, bit) ? peer_switch(n, c->sw, port_of(c, bit)) : FAB_NONE;
        if (to == FAB_NONE)
            continue;
        uint32_t port = n->first_port[c->sw] + port_of(c, bit), peer = n->peer[port];
        if (port > peer && is_counted_there(d, to, fab_mcast_net_num(n, peer), lid))
            continue;
        uint32_t a = find(d->root, c->sw), b = find(d->root, to);
        if (a == b)
            return true;
        d->root[a] = b;
    }
    return false;
}

static bool makes_cycle(struct draft *d, unsigned lid)
{
    for (uint32_t sw = 0; sw < d->in->net->switches; sw++)
        d->root[sw] = sw;
    for (size_t i = 0; i < d->cells; i++)
        if (join_switches(d, &d->cell[i], lid))
            return true;
    return false;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int write_cell(struct draft *d, const struct cell *c, uint32_t cycles)
{
    uint16_t first[FAB_BLOCK_ENTRIES];
    int r = FAB_OK;
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
        first[i] = (uint16_t)(cycles >> i & 1 ? c->was[i] & c->will[i] : c->was[i] | c->will[i]);
    if (memcmp(first, c->was, sizeof(first)) != 0)
        r = add_op(d, FAB_MFT_FIRST, c->sw, c->number, first);
    if (r == FAB_OK && memcmp(first, c->will, sizeof(first)) != 0)
        r = add_op(d, FAB_MFT_SECOND, c->sw, c->number, c->will);
    return r;
}

static int write_group(struct draft *d)
{
    uint32_t changes = 0, cycles = 0;
    int r = FAB_OK;
    for (size_t i = 0; i < d->cells; i++) {
        if (d->pending != NULL)
            prune_unresponsive(d, &d->cell[i]);
        changes |= pending(d->cell[i].was, d->cell[i].will);
    }
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
        if (changes >> i & 1 && makes_cycle(d, i))
            cycles |= UINT32_C(1) << i;
    for (size_t i = 0; changes != 0 && i < d->cells && r == FAB_OK; i++)
        r = write_cell(d, &d->cell[i], cycles);
    return r;
}

static int plan_group(struct draft *d, uint32_t group)
{
    size_t reads = d->plan.stage[FAB_MFT_READ].count;
    int r = FAB_OK;
    d->cells = 0;
    for (uint32_t sw = 0; sw < d->in->net->switches && r == FAB_OK; sw++)
        r = collect_switch(d, sw, group);
    return r == FAB_OK && d->plan.stage[FAB_MFT_READ].count == reads ? write_group(d) : r;
}

/* Sets in `set` the bits of the MLID groups for which `b` has a non-zero entry of any switch. */
static void add_used(const struct fab_blocks *b, uint64_t *set)
{
    for (size_t i = 0; i < b->count; i++)
        if (!is_zero(b->block[i].entry))
            fab_base_bits_set(set, b->block[i].number % FAB_MFT_GROUPS);
}

int fab_plan_mft_make(const struct fab_plan_mft_input *in, struct fab_plan_mft *ret)
{
    struct draft d = {.in = in};
    uint64_t used[FAB_MFT_GROUPS / 64] = {0};
    if (fab_base_bits_count(in->groups, FAB_MFT_GROUPS) > 0) {
        add_used(in->want, used);
        add_used(in->held, used);
    }
    int r = FAB_E_NOMEM;
    d.root = fab_base_alloc_array(in->net->switches, sizeof(*d.root));
    if (in->unresponsive != NULL)
        d.pending = calloc(in->net->switches + 1u, sizeof(*d.pending));
    if (d.root != NULL && (in->unresponsive == NULL || d.pending != NULL))
        r = FAB_OK;
    for (uint32_t group = 0; group < FAB_MFT_GROUPS && r == FAB_OK; group++)
        if (fab_base_bits_get(in->groups, group) && fab_base_bits_get(used, group))
            r = plan_group(&d, group);
    if (r == FAB_OK)
        *ret = d.plan;
    else
        fab_plan_mft_fini(&d.plan);
    free(d.cell);
    free(d.root);
    free(d.pending);
    return r;
}

void fab_plan_mft_fini(struct fab_plan_mft *p)
{
    for (unsigned i = 0; i < FAB_MFT_STAGES; i++)
        free(p->stage[i].op);
    memset(p, 0, sizeof(*p));
}

int fab_plan_mft_remap(const struct fab_blocks *held, const uint64_t *guid, uint32_t switches,
                       const struct fab_fabric *now, struct fab_blocks *ret)
{
    struct fab_blocks to = {0};
    int r = FAB_OK;
    for (size_t i = 0; i < held->count && r == FAB_OK; i++) {
        const struct fab_block *b = &held->block[i];
        uint32_t sw =
            b->known && b->id < switches ? fab_fabric_node_by_guid(now, guid[b->id]) : FAB_NONE;
        if (sw != FAB_NONE && fab_fabric_node_is_switch(now, sw))
            r = fab_target_blocks_put(&to, sw, b->number, b->entry);
    }
    if (r == FAB_OK)
        *ret = to;
    else
        fab_target_blocks_fini(&to);
    return r;
}

void fab_plan_mft_forget(struct fab_blocks *held, uint32_t sw)
{
    for (size_t i = 0; i < held->count; i++)
        if (held->block[i].id == sw)
            held->block[i].known = false;
}
