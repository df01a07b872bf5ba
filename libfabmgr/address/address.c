/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns LIDs in four steps. Each step visits the ports in the order of their GUIDs or ids, so
 * that the same fabric and leases always lead to the same LIDs:
 *
 *   1. Ports of the fabric get the LIDs of their leases.
 *   2. LIDs leased to absent ports are reserved, so that no other port gets them.
 *   3. Ports keep the LIDs that their devices report. Another manager assigned these LIDs, or this
 *      manager assigned them and lost its store of leases.
 *   4. The other ports get new LIDs: first one contiguous range for the endports of each leaf, in
 *      the order of the leaves' GUIDs, then ranges for endports that are not linked to a switch,
 *      then one range for all switches. Endports of a leaf mostly have similar routes. These
 *      endports share LFT blocks, so a fault changes few blocks.
 *
 * If there are too few LIDs for step 4, all steps except step 2 are done again from the beginning.
 */
#include "libfabmgr/address/address.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/claims.h"
#include "libfabmgr/base/status.h"

/* Some devices that have no LID report this LID instead of 0. */
#define PERMISSIVE_LID 0xffffu

struct ledger {
    const struct fab_address_input *in;
    uint32_t max_lid;
    /* [max_lid + 1] 1: the LID is assigned or reserved */
    uint8_t *taken;
    /* LID at which the search for the next contiguous range begins */
    uint32_t next;
    /* [LMC] LID at which the search for a free range of 2^LMC LIDs begins; no such range is free
     * below this LID */
    uint32_t low[8];
    struct fab_lids lids;
    /* [2 * claims] notes on ports with a duplicate or invalid LID */
    struct fab_address_note *notes;
    size_t note_count;
};

/* Returns the highest LID for which all switches can have an LFT entry. The LFT of a switch has the
 * LIDs 0 to LinearFDBCap - 1 (IBA 14.2.5.4); a LinearFDBCap of 0 means that the number is not
 * known. */
static uint32_t highest_allowed(const struct fab_fabric *f)
{
    uint32_t max = FAB_LID_UNICAST_MAX;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t cap = f->switches[sw].linear_fdb_cap;
        if (cap != 0 && cap - 1 < max)
            max = cap - 1;
    }
    return max;
}

static void note(struct ledger *g, enum fab_address_note_kind kind, uint64_t guid, uint32_t lid)
{
    g->notes[g->note_count++] =
        (struct fab_address_note){.kind = kind, .port_guid = guid, .lid = lid};
}

static bool range_is_free(const struct ledger *g, uint32_t lid, uint32_t size)
{
    if (lid + size - 1 > g->max_lid)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        if (g->taken[lid + i] != 0)
            return false;
    }
    return true;
}

static void take(struct ledger *g, const struct fab_claim *c, uint32_t lid)
{
    memset(g->taken + lid, 1, 1u << c->lmc);
    g->lids.base[c->port] = lid;
    g->lids.lmc[c->port] = c->lmc;
}

/* ---- steps 1 to 3 --------------------------------------------------------------------------- */

static void keep_leased(struct ledger *g, const struct fab_claims *claims)
{
    for (uint32_t i = 0; i < claims->count; i++) {
        const struct fab_claim *c = &claims->by_guid[i];
        if (c->leased == 0)
            continue;
        if (range_is_free(g, c->leased, 1u << c->lmc))
            take(g, c, c->leased);
        else
            note(g, FAB_NOTE_DUPLICATE_LID, c->guid, c->leased);
    }
}

static void mark_absent(struct ledger *g, const struct fab_claims *claims)
{
    for (uint32_t i = 0; i < claims->absent_count; i++) {
        const struct fab_lease *l = &claims->absent[i];
        if (l->lmc <= 7 && fab_address_lid_valid(l->lid, l->lmc, g->max_lid))
            memset(g->taken + l->lid, 1, 1u << l->lmc);
    }
}

static void keep_carried(struct ledger *g, const struct fab_claims *claims)
{
    for (uint32_t i = 0; i < claims->count; i++) {
        const struct fab_claim *c = &claims->by_guid[i];
        uint32_t read = fab_fabric_port(g->in->fabric, c->port)->info.lid;
        uint32_t has = g->lids.base[c->port];
        if (read == 0 || read == PERMISSIVE_LID || read == has)
            continue;
        if (c->carried == 0)
            note(g, FAB_NOTE_INVALID_LID, c->guid, read);
        else if (has == 0 && range_is_free(g, c->carried, 1u << c->lmc))
            take(g, c, c->carried);
        else if (g->taken[c->carried] != 0)
            note(g, FAB_NOTE_DUPLICATE_LID, c->guid, c->carried);
    }
}

/* ---- step 4 --------------------------------------------------------------------------------- */

/* Finds a free range of count * size LIDs. Returns its first LID, which is at least `from`; 0:
 * there is no such range. */
static uint32_t find_run(const struct ledger *g, uint32_t from, uint32_t count, uint32_t size)
{
    uint32_t start = (from + size - 1) & ~(size - 1), have = 0;
    for (uint32_t lid = start; lid <= g->max_lid; lid += size) {
        if (!range_is_free(g, lid, size)) {
            have = 0;
            start = lid + size;
        } else if (++have == count) {
            return start;
        }
    }
    return 0;
}

static uint32_t find_single(struct ledger *g, uint8_t lmc)
{
    uint32_t size = 1u << lmc;
    uint32_t lid = find_run(g, g->low[lmc] > 0 ? g->low[lmc] : 1, 1, size);
    g->low[lmc] = lid != 0 ? lid : g->max_lid + 1;
    return lid;
}

/* Assigns 2^lmc LIDs to each of the ports in ports[count]: if possible, from one contiguous range
 * for all of them; otherwise, each port gets the lowest free range of 2^lmc LIDs. Returns OK or
 * LIMIT. */
static int place(struct ledger *g, const uint32_t *ports, uint32_t count, uint8_t lmc)
{
    uint32_t size = 1u << lmc;
    uint32_t run = find_run(g, g->next, count, size);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lid = run != 0 ? run + i * size : find_single(g, lmc);
        if (lid == 0)
            return FAB_E_LIMIT;
        take(g, &(struct fab_claim){.port = ports[i], .lmc = lmc}, lid);
    }
    if (run != 0)
        g->next = run + count * size;
    return FAB_OK;
}

static int place_endports_of(struct ledger *g, uint32_t sw, const bool *wanted)
{
    const struct fab_fabric *f = g->in->fabric;
    uint32_t endports[256], count = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
        if (peer != FAB_NONE && wanted[peer] && g->lids.base[peer] == 0 &&
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
            endports[count++] = peer;
    }
    return count > 0 ? place(g, endports, count, g->in->policy->lmc) : FAB_OK;
}

/* Assigns LIDs to the remaining ports: first, one by one, to the endports that are not linked to a
 * switch; then, as one contiguous range, to all switches. */
static int place_rest(struct ledger *g, const bool *wanted)
{
    const struct fab_fabric *f = g->in->fabric;
    uint32_t *switches = calloc((size_t)f->switch_count + 1, sizeof(*switches));
    uint32_t count = 0;
    int ret = FAB_OK;
    if (switches == NULL)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < f->port_count && ret == FAB_OK; port++) {
        if (!wanted[port] || g->lids.base[port] != 0)
            continue;
        if (fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
            switches[count++] = port;
        else
            ret = place(g, &port, 1, g->in->policy->lmc);
    }
    if (ret == FAB_OK && count > 0)
        ret = place(g, switches, count, 0);
    free(switches);
    return ret;
}

static int place_new(struct ledger *g, const struct fab_claims *claims)
{
    const struct fab_fabric *f = g->in->fabric;
    bool *wanted = calloc((size_t)f->port_count + 1, sizeof(*wanted));
    int ret = FAB_OK;
    if (wanted == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < claims->count; i++)
        wanted[claims->by_guid[i].port] = true;
    g->next = 1;
    for (uint32_t sw = 0; sw < f->switch_count && ret == FAB_OK; sw++)
        ret = place_endports_of(g, sw, wanted);
    if (ret == FAB_OK)
        ret = place_rest(g, wanted);
    free(wanted);
    return ret;
}

/* ---- all four steps -------------------------------------------------------------------------- */

static void ledger_fini(struct ledger *g)
{
    fab_target_lids_fini(&g->lids);
    free(g->taken);
    free(g->notes);
}

static int assign(struct ledger *g, const struct fab_claims *claims, bool reserve)
{
    g->taken = calloc((size_t)g->max_lid + 1, 1);
    g->notes = calloc((size_t)claims->count * 2 + 1, sizeof(*g->notes));
    int ret = fab_target_lids_init(&g->lids, g->in->fabric->port_count);
    if (ret != FAB_OK || g->taken == NULL || g->notes == NULL)
        return FAB_E_NOMEM;
    g->taken[0] = 1;
    keep_leased(g, claims);
    if (reserve)
        mark_absent(g, claims);
    keep_carried(g, claims);
    ret = place_new(g, claims);
    return ret == FAB_OK ? fab_target_lids_index(&g->lids) : ret;
}

static int assign_or_give_up_absent(const struct fab_address_input *in, uint32_t max_lid,
                                    const struct fab_claims *claims, struct ledger *ret_g)
{
    struct ledger g = {.in = in, .max_lid = max_lid};
    int ret = assign(&g, claims, true);
    if (ret == FAB_E_LIMIT && claims->absent_count > 0) {
        ledger_fini(&g);
        g = (struct ledger){.in = in, .max_lid = max_lid};
        ret = assign(&g, claims, false);
    }
    if (ret == FAB_OK)
        *ret_g = g;
    else
        ledger_fini(&g);
    return ret;
}

int fab_address_assign(const struct fab_address_input *in, struct fab_lids *ret_lids,
                       struct fab_address_note **ret_notes, size_t *ret_note_count)
{
    uint32_t max_lid = highest_allowed(in->fabric);
    struct fab_claims claims;
    struct ledger g;
    if (in->policy->lmc > 7)
        return FAB_E_INVAL;
    int ret = fab_address_claims_make(in, max_lid, &claims);
    if (ret != FAB_OK)
        return ret;
    ret = assign_or_give_up_absent(in, max_lid, &claims, &g);
    fab_address_claims_fini(&claims);
    if (ret != FAB_OK)
        return ret;
    if (g.note_count == 0) {
        free(g.notes);
        g.notes = NULL;
    }
    *ret_lids = g.lids;
    *ret_notes = g.notes;
    *ret_note_count = g.note_count;
    free(g.taken);
    return FAB_OK;
}
