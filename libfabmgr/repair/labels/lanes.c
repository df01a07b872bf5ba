/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables in which the VL depends on the pair of source and destination switch.
 *
 * Packets of several VLs to one LID share the LFT entries of the switches that they pass. So an
 * entry causes channel dependencies (labels/dependencies.c) on the VLs of all packets that pass it.
 * Only packets that pass a changed entry can cause a dependency that the baseline does not have.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- all packets that pass a switch ---------------------------------------------------------- */

/* Says whether packets on these VLs may continue from one channel on the other. */
typedef bool allows(struct fab_repair *r, unsigned lanes, uint32_t from, uint32_t to);

static bool ascends(struct fab_repair *r, unsigned lanes, uint32_t from, uint32_t to)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        const uint32_t *label = r->label + (size_t)__builtin_ctz(lanes) * r->network->ports;
        if (label[from] >= label[to])
            return false;
    }
    return true;
}

static bool add(struct fab_repair *r, unsigned lanes, uint32_t from, uint32_t to)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        if (!fab_repair_dependencies_add(r, (uint32_t)__builtin_ctz(lanes), from, to))
            return false;
    }
    return true;
}

static unsigned lane_of(const struct fab_repair *r, uint32_t sw)
{
    return r->network->pair_vl[(size_t)r->column.home * r->network->n + sw];
}

/* Returns true if switch `from` now forwards packets for the current LID over the link of `port`,
 * which is a port of the switch at the other end. */
static bool sends_to(const struct fab_repair *r, uint32_t from, uint32_t port)
{
    const struct fab_repair_column *c = &r->column;
    return from != FAB_NONE && from != c->home && c->mark[from] != FAB_MARK_PENDING &&
           c->mark[from] != FAB_MARK_CUT && !fab_base_bits_get(r->is_dead, port) &&
           fab_repair_column_entry(c, from) == r->network->peer_num[port];
}

/* Adds to *lanes the VLs of all packets for the current LID that pass switch `sw`. Returns false if
 * `allow` does not allow one of their turns up to `channel`, by which they leave the switch. `hops`
 * limits the number of switches on their paths, in case the entries form a loop. */
static bool follow_behind(struct fab_repair *r, uint32_t sw, uint32_t channel, uint32_t hops,
                          allows *allow, unsigned *lanes)
{
    const struct fab_repair_network *b = r->network;
    *lanes |= 1u << lane_of(r, sw);
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        unsigned behind = 0;
        if (!sends_to(r, from, port))
            continue;
        uint32_t arriving = fab_repair_peer_port(b, port);
        if (hops == 0 || !follow_behind(r, from, arriving, hops - 1, allow, &behind) ||
            !allow(r, behind, arriving, channel))
            return false;
        *lanes |= behind;
    }
    return true;
}

/* Returns the channel on which packets for the current LID continue from `channel`. FAB_NONE: they
 * have arrived, or go no further. */
static uint32_t onward(const struct fab_repair *r, uint32_t channel, const uint32_t *next)
{
    const struct fab_repair_network *b = r->network;
    uint32_t sw = b->peer_sw[channel];
    if (next != NULL)
        return next[channel];
    uint32_t to = sw != r->column.home
                      ? fab_repair_channel(b, sw, fab_repair_column_entry(&r->column, sw))
                      : FAB_NONE;
    return to != FAB_NONE && !fab_base_bits_get(r->is_dead, to) ? to : FAB_NONE;
}

/* Returns true if `allow` allows all turns of the packets that pass `sw`, and if their path has no
 * loop. The parameters are those of fab_repair_lanes_add. */
static bool follow(struct fab_repair *r, uint32_t sw, uint32_t channel, unsigned lanes,
                   const uint32_t *next, allows *allow)
{
    uint32_t to, passed = 0;
    if (sw != FAB_NONE && !follow_behind(r, sw, channel, r->network->n, allow, &lanes))
        return false;
    for (; (to = onward(r, channel, next)) != FAB_NONE; channel = to) {
        if (++passed > r->network->n || !allow(r, lanes, channel, to))
            return false;
    }
    return true;
}

bool fab_repair_lanes_ascend(struct fab_repair *r, uint32_t sw, uint32_t channel)
{
    return follow(r, sw, channel, 0, NULL, ascends);
}

bool fab_repair_lanes_add(struct fab_repair *r, uint32_t sw, uint32_t channel, unsigned lanes,
                          const uint32_t *next)
{
    size_t mark = r->graph.undos;
    if (follow(r, sw, channel, lanes, next, add))
        return true;
    fab_repair_dependencies_undo(r, mark);
    return false;
}

bool fab_repair_lanes_allow(struct fab_repair *r, uint32_t sw, uint32_t channel, unsigned lanes,
                            const uint32_t *next)
{
    size_t mark = r->graph.undos;
    bool allowed = fab_repair_lanes_add(r, sw, channel, lanes, next);
    fab_repair_dependencies_undo(r, mark);
    return allowed;
}

/* ---- whole tables ---------------------------------------------------------------------------- */

/* Adds the dependencies of all packets that pass switches with a mark. */
static bool add_marked(struct fab_repair *r)
{
    const struct fab_repair_column *c = &r->column;
    bool good = true;
    for (uint32_t i = 0; i < c->touches && good; i++) {
        uint32_t sw = c->touched[i];
        uint32_t channel = fab_repair_channel(r->network, sw, c->entry[sw]);
        if (sw != c->home && channel != FAB_NONE && !fab_base_bits_get(r->is_dead, channel))
            good = fab_repair_lanes_add(r, sw, channel, 0, NULL);
    }
    return good;
}

bool fab_repair_lanes_add_column(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid,
                                 const struct fab_repair_entry *entry, size_t entries,
                                 const struct fab_repair_change *change, size_t changes)
{
    if (r->network->home[lid] == FAB_NONE)
        return true;
    fab_repair_column_begin(r, lft, lid);
    for (size_t i = 0; i < entries; i++)
        fab_repair_column_set(r, entry[i].sw, entry[i].now);
    for (size_t i = 0; i < changes; i++)
        fab_repair_column_set(r, change[i].sw, change[i].now);
    size_t mark = r->graph.undos;
    bool good = add_marked(r);
    if (!good)
        fab_repair_dependencies_undo(r, mark);
    fab_repair_column_end(r);
    return good;
}

int fab_repair_lanes_collect(struct fab_repair *r, const struct fab_lft *lft,
                             const struct fab_repair_delta *d)
{
    size_t changes = d != NULL ? d->changes : 0;
    bool good = true;
    int status = fab_repair_dependencies_reset(r);
    for (size_t c = 0, e = 0; status == FAB_OK && good && (c < changes || e < r->entries);) {
        uint32_t of_change = c < changes ? d->change[c].lid : FAB_NONE;
        uint32_t of_entry = e < r->entries ? r->entry[e].lid : FAB_NONE;
        uint32_t lid = of_change < of_entry ? of_change : of_entry;
        size_t c_first = c, e_first = e;
        while (c < changes && d->change[c].lid == lid)
            c++;
        while (e < r->entries && r->entry[e].lid == lid)
            e++;
        good = fab_repair_lanes_add_column(r, lft, lid, e > e_first ? &r->entry[e_first] : NULL,
                                           e - e_first, c > c_first ? &d->change[c_first] : NULL,
                                           c - c_first);
    }
    if (status == FAB_OK && r->graph.failed)
        return FAB_E_NOMEM;
    return status == FAB_OK && !good ? FAB_E_CYCLE : status;
}
