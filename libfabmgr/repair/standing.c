/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completes standing tables (the tables that the switches hold) with as few changes as possible.
 * New entries are fresh entries: those of the tables that an engine computed for the present
 * fabric. For each LID, a search finds the switches whose held entries lead to the LID. The search
 * begins at the switch to which the owner of the LID is connected. The search adds each switch
 * whose held entry leads to a switch that was added before. The other switches get their fresh
 * entries, and the search is repeated with these. If it reaches fewer switches than with fresh
 * entries alone, all switches get their fresh entries for this LID.
 */
#include "libfabmgr/repair/standing.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

struct work {
    const struct fab_standing *in;
    uint32_t switches;
    uint64_t *reached; /* bitset of the switches whose paths lead to the LID */
    /* [switches] entry: the entry of each switch for the LID. mixed: a copy of entry[] with held
     * and fresh entries, which is kept while entry[] has only fresh entries for a trial */
    uint8_t *entry, *mixed;
    /* [switches] Lists of switches: the list of switch i has the switches whose entries lead to i.
     * It begins with first[i]; more[] has the next switch of a list. */
    uint32_t *first, *more, *queue;
};

static uint32_t leads_to(const struct fab_fabric *f, uint32_t sw, uint8_t entry)
{
    if (entry == 0 || entry > f->nodes[sw].num_ports)
        return FAB_NONE;
    uint32_t port = fab_fabric_port_id(f, sw, entry), peer = fab_fabric_peer_node(f, port);
    return peer < f->switch_count && fab_fabric_isl_is_up(f, port) ? peer : FAB_NONE;
}

/* Finds the switch to which the owner of the LID is connected, and the port by which this switch
 * delivers packets to the owner. Returns false if no path to the LID is needed. */
static bool find_end(const struct fab_standing *in, uint32_t lid, uint32_t *ret_sw,
                     uint8_t *ret_entry)
{
    const struct fab_fabric *f = in->fabric;
    uint32_t owner = lid <= in->lids->top ? in->lids->owner[lid] : FAB_NONE;
    if (owner == FAB_NONE)
        return false;
    const struct fab_port *p = fab_fabric_port(f, owner);
    uint32_t peer = fab_fabric_peer_node(f, owner);
    bool own = p->node < f->switch_count;
    if (!own && (peer == FAB_NONE || peer >= f->switch_count))
        return false;
    *ret_sw = own ? p->node : peer;
    *ret_entry = own ? 0 : fab_fabric_port(f, p->peer)->num;
    return true;
}

/* Marks in w->reached the switch `end` and all switches whose entries lead to `end`, directly or
 * through other switches. */
static void spread(struct work *w, uint32_t end)
{
    uint32_t head = 0, tail = 0;
    w->queue[tail++] = end;
    fab_base_bits_set(w->reached, end);
    while (head < tail)
        for (uint32_t sw = w->first[w->queue[head++]]; sw != FAB_NONE; sw = w->more[sw])
            if (!fab_base_bits_get(w->reached, sw)) {
                fab_base_bits_set(w->reached, sw);
                w->queue[tail++] = sw;
            }
}

/* Finds the switches from which packets arrive at the owner of a LID if they follow w->entry[].
 * Marks these switches in w->reached, and returns their number. end: the switch to which the owner
 * is connected. at_end: the entry with which this switch delivers packets to the owner. */
static uint32_t search(struct work *w, uint32_t end, uint8_t at_end)
{
    uint32_t count = 0;
    memset(w->first, 0xff, w->switches * sizeof(*w->first));
    fab_base_bits_zero(w->reached, w->switches);
    for (uint32_t sw = 0; sw < w->switches; sw++) {
        uint32_t to = sw == end ? FAB_NONE : leads_to(w->in->fabric, sw, w->entry[sw]);
        if (to == FAB_NONE)
            continue;
        w->more[sw] = w->first[to];
        w->first[to] = sw;
    }
    if (w->entry[end] == at_end)
        spread(w, end);
    for (uint32_t sw = 0; sw < w->switches; sw++)
        count += fab_base_bits_get(w->reached, sw);
    return count;
}

static void take_fresh(struct work *w, uint32_t lid, bool all)
{
    for (uint32_t sw = 0; sw < w->switches; sw++)
        if (all || !fab_base_bits_get(w->reached, sw))
            w->entry[sw] = fab_target_lft_at(w->in->fresh, sw, lid);
}

/* Decides the entries for one LID. */
static void decide(struct work *w, uint32_t lid)
{
    uint32_t end;
    uint8_t at_end;
    for (uint32_t sw = 0; sw < w->switches; sw++)
        w->entry[sw] = fab_target_lft_at(w->in->held, sw, lid);
    if (!find_end(w->in, lid, &end, &at_end) || search(w, end, at_end) == w->switches)
        return;
    take_fresh(w, lid, false);
    uint32_t mixed = search(w, end, at_end);
    if (mixed == w->switches)
        return;
    memcpy(w->mixed, w->entry, w->switches);
    take_fresh(w, lid, true);
    if (search(w, end, at_end) <= mixed)
        memcpy(w->entry, w->mixed, w->switches);
}

void fab_repair_standing_compare(const struct fab_standing *in, const struct fab_lft *now,
                                 struct fab_standing_count *c)
{
    *c = (struct fab_standing_count){0};
    for (uint32_t sw = 0; sw < now->switch_count; sw++)
        for (uint32_t b = 0; b < fab_target_lft_blocks(now); b++) {
            const uint8_t *was = fab_target_lft_block(in->held, sw, b);
            const uint8_t *is = fab_target_lft_block(now, sw, b);
            c->blocks += memcmp(was, is, FAB_LFT_BLOCK) != 0;
            c->fresh_blocks +=
                memcmp(was, fab_target_lft_block(in->fresh, sw, b), FAB_LFT_BLOCK) != 0;
            for (uint32_t i = 0; i < FAB_LFT_BLOCK; i++)
                c->entries += was[i] != is[i];
        }
}

static int work_init(struct work *w, const struct fab_standing *in)
{
    uint32_t n = in->fabric->switch_count;
    *w = (struct work){.in = in,
                       .switches = n,
                       .reached = fab_base_bits_new(n),
                       .entry = calloc(n + 1u, 1),
                       .mixed = calloc(n + 1u, 1),
                       .first = calloc(n + 1u, sizeof(*w->first)),
                       .more = calloc(n + 1u, sizeof(*w->more)),
                       .queue = calloc(n + 1u, sizeof(*w->queue))};
    return w->reached && w->entry && w->mixed && w->first && w->more && w->queue ? FAB_OK
                                                                                 : FAB_E_NOMEM;
}

static void work_fini(struct work *w)
{
    free(w->reached);
    free(w->entry);
    free(w->mixed);
    free(w->first);
    free(w->more);
    free(w->queue);
}

int fab_repair_standing(const struct fab_standing *in, struct fab_lft *ret,
                        struct fab_standing_count *ret_count)
{
    struct work w;
    struct fab_lft lft = {0};
    int status = work_init(&w, in);
    if (status == FAB_OK)
        status = fab_target_lft_init(&lft, in->fresh->switch_count, in->fresh->top);
    for (uint32_t lid = 0; status == FAB_OK && lid <= in->fresh->top; lid++) {
        decide(&w, lid);
        for (uint32_t sw = 0; sw < w.switches; sw++)
            fab_target_lft_row(&lft, sw)[lid] = w.entry[sw];
    }
    work_fini(&w);
    if (status != FAB_OK)
        return status;
    fab_repair_standing_compare(in, &lft, ret_count);
    *ret = lft;
    return FAB_OK;
}
