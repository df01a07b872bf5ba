/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a path for one switch without changing more entries than necessary.
 *
 * After maxima were connected with the root over a switch two links away (labels/reorder.c), the
 * labels may allow a switch a path only if other switches on this path, which now send up to this
 * switch, send down instead. An example is a tree that has lost a spine next to the root. (The root
 * is the switch that all others reach by going up.) Before, the root sent packets for the plane of
 * this spine down to the spine, and switches of other planes sent them up to the root. The new path
 * from the root leads down to another plane, and over a leaf switch into the plane that has lost
 * its spine. So one switch of each rank of the other plane must now send down. If the repair
 * decided the entries of all switches that sent to the root, as column.c would, it would change
 * hundreds of entries for each LID. This file changes the entries of one path.
 *
 * The search begins at the switch that needs a path, and visits the other switches in the order of
 * their distance from it. It goes from switch to switch by channels with ascending labels, until it
 * finds a switch whose present path continues by greater labels. It passes only switches whose
 * present path does not work, and the label of a new entry is never lower than that of the old one.
 * So the labels of all paths to these switches still ascend.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* Returns true if the search may change the entry of this switch. */
static bool may_change(const struct fab_repair *r, uint32_t sw)
{
    uint8_t mark = r->column.mark[sw];
    return (mark == FAB_MARK_NONE || mark == FAB_MARK_KNOWN) && sw != r->column.home;
}

/* Returns the label of the channel to which the present entry of the switch leads; 0: it leads to
 * no channel. */
static uint32_t present_label(const struct fab_repair *r, uint32_t sw)
{
    uint32_t channel = fab_repair_channel(r->network, sw, fab_repair_column_entry(&r->column, sw));
    return channel != FAB_NONE ? r->column.label[channel] : 0;
}

/* Returns the lowest label by which the path may leave the switch `at`, which the search has
 * reached. key: this label for the first switch. */
static uint32_t least_label(const struct fab_repair *r, uint32_t at, uint32_t key)
{
    const struct fab_repair_column *c = &r->column;
    if (c->via[at] == FAB_NONE)
        return key;
    uint32_t above = c->label[c->via[at]] + 1, present = present_label(r, at);
    return present > above ? present : above;
}

/* Gives the switches from the first one to `at` their entries. The entry of `at` is `channel`, and
 * its path has `length` hops. Returns false, and changes nothing, if the path is too long. */
static bool take_path(struct fab_repair *r, uint32_t at, uint32_t channel, uint16_t length)
{
    const struct fab_repair_network *b = r->network;
    const struct fab_repair_column *c = &r->column;
    uint32_t hops = length;
    for (uint32_t sw = at; c->via[sw] != FAB_NONE; sw = fab_repair_switch_of(b, c->via[sw]))
        hops++;
    if (hops >= b->max_hops)
        return false;
    for (;; length++) {
        fab_repair_column_settle(r, at, channel, length);
        channel = c->via[at];
        if (channel == FAB_NONE)
            return true;
        at = fab_repair_switch_of(b, channel);
    }
}

bool fab_repair_column_detour(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    const struct fab_repair_network *b = r->network;
    struct fab_repair_column *c = &r->column;
    uint32_t head = 0, tail = 0;
    fab_base_bits_zero(c->reached, b->n);
    fab_base_bits_set(c->reached, sw);
    c->via[sw] = FAB_NONE;
    c->queue[tail++] = sw;
    while (head < tail && c->detour_work < b->ports) {
        uint32_t at = c->queue[head++], least = least_label(r, at, key);
        c->detour_work += b->first[at + 1] - b->first[at];
        for (uint32_t port = b->first[at] + 1; port < b->first[at + 1]; port++) {
            uint32_t to = fab_repair_neighbour(r, port);
            if (to == FAB_NONE || c->label[port] < least || fab_base_bits_get(c->reached, to))
                continue;
            uint16_t length = fab_repair_column_length(r, port);
            if (length != FAB_REPAIR_FAR)
                return take_path(r, at, port, length);
            if (!may_change(r, to) || fab_repair_column_works(r, to))
                continue;
            fab_base_bits_set(c->reached, to);
            c->via[to] = port;
            c->queue[tail++] = to;
        }
    }
    return false;
}
