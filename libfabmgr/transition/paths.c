/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the paths of packets to one LID by the old and by the new entries. Finds which pairs of
 * source port and LID may lose their path while the entries change. Finds in which sequence the
 * switches must be written so that no pair loses its path. */
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/transition/work.h"

#define COLUMNS FAB_TRANSITION_COLUMNS

enum { UNKNOWN, ON_PATH, FAILS, ARRIVES };

void fab_transition_load(struct fab_transition_work *w, uint32_t block)
{
    size_t offset = (size_t)block * COLUMNS;
    if (w->in->stopped != NULL && w->in->stopped(w->in->stopped_ctx))
        w->stopped = true;
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        memcpy(w->was + (size_t)sw * COLUMNS, fab_target_lft_row(&w->at, sw) + offset, COLUMNS);
        memcpy(w->now + (size_t)sw * COLUMNS, fab_target_lft_entry(w->in->new_lft, sw, offset),
               COLUMNS);
    }
}

static bool delivers(const struct fab_transition_work *w, uint32_t lid, uint32_t sw, uint8_t num)
{
    uint32_t port = w->graph.first[sw] + num, owner = w->in->lids->owner[lid];
    if (num >= w->graph.port_room[sw])
        return false;
    return w->graph.hop[port] == FAB_HOP_SELF
               ? port == owner
               : w->graph.hop[port] == FAB_HOP_ENDPORT &&
                     fab_fabric_port(w->in->fabric, port)->peer == owner;
}

static uint32_t next_of(const struct fab_transition_work *w, uint32_t sw, uint8_t num)
{
    uint32_t hop = num < w->graph.port_room[sw] ? w->graph.hop[w->graph.first[sw] + num] : FAB_NONE;
    return hop < w->graph.n ? hop : FAB_NONE;
}

/* Follows the entries for a LID from switch `sw` to the end of the path. Sets fate[] of all
 * switches on the path: ARRIVES if the path ends at the owner of the LID, otherwise FAILS. */
static void follow(struct fab_transition_work *w, uint32_t lid, const uint8_t *entry, uint8_t *fate,
                   uint32_t sw)
{
    uint32_t count = 0;
    uint8_t end = FAILS;
    while (sw != FAB_NONE && fate[sw] == UNKNOWN) {
        uint8_t num = entry[(size_t)sw * COLUMNS];
        fate[sw] = ON_PATH;
        w->stack[count++] = sw;
        if (delivers(w, lid, sw, num)) {
            end = ARRIVES;
            sw = FAB_NONE;
        } else {
            sw = next_of(w, sw, num);
        }
    }
    if (sw != FAB_NONE && fate[sw] != ON_PATH)
        end = fate[sw];
    while (count > 0)
        fate[w->stack[--count]] = end;
}

static void find_fates(struct fab_transition_work *w, uint32_t lid, const uint8_t *entry,
                       uint8_t *fate)
{
    memset(fate, UNKNOWN, w->graph.n);
    for (uint32_t sw = 0; sw < w->graph.n; sw++)
        follow(w, lid, entry, fate, sw);
}

static uint32_t sources_at(const struct fab_transition_work *w, uint32_t lid, uint32_t sw)
{
    uint32_t home = w->lid[lid].home;
    if (w->graph.component[sw] != w->graph.component[home])
        return 0;
    return w->graph.owners[sw] - (sw == home ? 1u : 0u);
}

/* Returns true if some old or new entry for the LID leads neither to a switch nor to the owner of
 * the LID. */
static bool any_drop(const struct fab_transition_work *w, uint32_t lid)
{
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        size_t at = (size_t)sw * COLUMNS + lid % COLUMNS;
        if (next_of(w, sw, w->was[at]) == FAB_NONE && !delivers(w, lid, sw, w->was[at]))
            return true;
        if (w->now[at] != w->was[at] && next_of(w, sw, w->now[at]) == FAB_NONE &&
            !delivers(w, lid, sw, w->now[at]))
            return true;
    }
    return false;
}

/* Returns true if packets to a LID that leave switch `sw` by port `num` reach neither another
 * switch nor the owner of the LID. */
static bool drops(const struct fab_transition_work *w, uint32_t lid, uint32_t sw, uint8_t num)
{
    return next_of(w, sw, num) == FAB_NONE && !delivers(w, lid, sw, num);
}

static uint64_t waiting_lids(const struct fab_transition_work *w, uint32_t block)
{
    uint64_t lids = 0;
    for (uint32_t i = 0; i < COLUMNS && block * COLUMNS + i <= w->top; i++) {
        const struct fab_transition_lid *l = &w->lid[block * COLUMNS + i];
        lids |= (uint64_t)(l->progress == FAB_TRANSITION_WAITS && l->home != FAB_NONE) << i;
    }
    return lids;
}

/* Returns a bitset of waiting LIDs of the block: those for which a source port may lose its path
 * while entries are replaced. If all new paths reach their LIDs, these are the LIDs with an entry
 * that drops packets before or after the change. Otherwise these are all waiting LIDs. */
uint64_t fab_transition_find_lossy(const struct fab_transition_work *w, uint32_t block)
{
    uint64_t waiting = waiting_lids(w, block), lossy = 0;
    size_t offset = (size_t)block * COLUMNS;
    for (uint32_t sw = 0; waiting != 0 && w->new_arrive && sw < w->graph.n; sw++) {
        const uint8_t *was = fab_target_lft_row(&w->at, sw) + offset;
        const uint8_t *now = fab_target_lft_block(w->in->new_lft, sw, block);
        uint64_t left = fab_transition_find_changes(was, now) & waiting & ~lossy;
        for (; left != 0; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left);
            uint32_t lid = block * COLUMNS + i;
            if (drops(w, lid, sw, was[i]) || drops(w, lid, sw, now[i]))
                lossy |= UINT64_C(1) << i;
        }
    }
    return w->new_arrive ? lossy : waiting;
}

void fab_transition_find_losses(struct fab_transition_work *w, uint32_t lid)
{
    uint8_t *before = w->fate, *after = w->fate + w->graph.n;
    struct fab_transition_lid *l = &w->lid[lid];
    bool arrive = true;
    l->loss = 0;
    l->along = false;
    if (!any_drop(w, lid))
        return;
    find_fates(w, lid, w->was + lid % COLUMNS, before);
    find_fates(w, lid, w->now + lid % COLUMNS, after);
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        size_t at = (size_t)sw * COLUMNS + lid % COLUMNS;
        if (before[sw] == ARRIVES && after[sw] == ARRIVES)
            l->loss += sources_at(w, lid, sw);
        else if (after[sw] == ARRIVES && sources_at(w, lid, sw) > 0)
            l->broken = w->any_broken = true;
        arrive = arrive && (w->was[at] == w->now[at] || after[sw] == ARRIVES);
    }
    l->along = l->loss > 0 && arrive;
}

/* Returns how many switches after `sw` on its new path to the LID have a changed entry. */
static uint32_t count_later_changes(const struct fab_transition_work *w, uint32_t lid, uint32_t sw)
{
    const uint8_t *was = w->was + lid % COLUMNS, *now = w->now + lid % COLUMNS;
    uint32_t changes = 0;
    for (uint32_t hops = 0; hops < w->graph.n; hops++) {
        uint8_t num = now[(size_t)sw * COLUMNS];
        sw = delivers(w, lid, sw, num) ? FAB_NONE : next_of(w, sw, num);
        if (sw == FAB_NONE)
            break;
        changes += was[(size_t)sw * COLUMNS] != now[(size_t)sw * COLUMNS];
    }
    return changes;
}

void fab_transition_find_waves(struct fab_transition_work *w, uint32_t lid, uint16_t *ret_wave)
{
    const uint8_t *was = w->was + lid % COLUMNS, *now = w->now + lid % COLUMNS;
    for (uint32_t sw = 0; sw < w->graph.n; sw++) {
        bool changes = was[(size_t)sw * COLUMNS] != now[(size_t)sw * COLUMNS];
        ret_wave[sw] = changes ? (uint16_t)count_later_changes(w, lid, sw) : 0;
    }
}

uint64_t fab_transition_count_drained(struct fab_transition_work *w, uint32_t lid)
{
    uint8_t *before = w->fate, *after = w->fate + w->graph.n;
    const uint8_t *was = w->was + lid % COLUMNS, *now = w->now + lid % COLUMNS;
    uint64_t lost = 0;
    find_fates(w, lid, was, before);
    find_fates(w, lid, now, after);
    for (uint32_t from = 0; from < w->graph.n; from++) {
        uint32_t sw = from;
        if (before[from] != ARRIVES || after[from] != ARRIVES)
            continue;
        while (sw != FAB_NONE && was[(size_t)sw * COLUMNS] == now[(size_t)sw * COLUMNS])
            sw = next_of(w, sw, was[(size_t)sw * COLUMNS]);
        if (sw != FAB_NONE)
            lost += sources_at(w, lid, from);
    }
    return lost;
}
