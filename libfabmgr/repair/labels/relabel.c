/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relabelling finds legal paths for switches that lose their only link upwards in the order from
 * which the labels follow. It gives two switches other positions in this order while certain links
 * are dead.
 *
 * The order has a root: one switch that all other switches can reach by going up in the order.
 * (This root is not a root switch of the tree.) In a tree the root is a leaf switch, because spines
 * of different planes reach each other only over leaf switches. A spine goes up to the root by a
 * single link, and a core switch goes up by a single spine. Let s be the switch at the lower end of
 * such a link. When the link dies, s, and all switches that can go no higher than s, would have no
 * legal path to the switches of other planes. Paths between endports would not be affected.
 *
 * Let y be one neighbour of s over a living link. Then s moves to a position just above all such
 * neighbours except y, and y gets a position above s, but still below all switches that y goes up
 * to. So s goes up through y. Of all living links, only those between s and y change their
 * direction. The change is safe:
 *
 *   - The channel from s to y now leads up, and any channel may follow an up channel.
 *   - The channel from y to s leads down, and any channel may precede a down channel. So every turn
 *     at y over such a link is legal.
 *   - All other living links of s lead down, so every turn at s is legal, too.
 *
 * Hence the new order allows each turn between living links that the old order allowed. Therefore
 * the labels of the active tables' paths ascend in the new order, too, and only lost entries have
 * to change. When the link comes back, the old order returns; entries of paths that lead from s
 * over y upwards drop packets during that change.
 *
 * A dead link of y or s may lead up in one of the two orders, and down in the other. Such a link
 * keeps the direction of the old order. The label of its channel tells over which channels packets
 * could arrive before the link died: those with lower labels. The switch that lost the channel
 * therefore begins its search for another path with this label as its key (column/column.c).
 *
 * Which switches are relabelled depends only on the order and the dead links.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- places in the order --------------------------------------------------------------------- */

/* Returns the position of each switch in the order; switches of lift[] have the positions that are
 * stored there. The array is r->component, which is free at the beginning of a call. */
static uint32_t *places_of(struct fab_repair *r, const struct fab_repair_relabel *lift,
                           size_t lifts)
{
    uint32_t *place = r->component;
    memcpy(place, r->network->order, r->network->n * sizeof(*place));
    for (size_t i = 0; i < lifts; i++)
        place[lift[i].sw] = lift[i].place;
    return place;
}

/* Returns the switch at the other end of the port's link; FAB_NONE: the link is dead, or leads to
 * no switch. */
static uint32_t neighbour(const struct fab_repair *r, uint32_t port)
{
    return fab_base_bits_get(r->is_dead, port) ? FAB_NONE : r->network->peer_sw[port];
}

/* Returns the highest position in the order among the neighbours of `sw` over living links. The
 * neighbour `but` does not count. 0: there are no other neighbours. */
static uint32_t highest(const struct fab_repair *r, const uint32_t *place, uint32_t sw,
                        uint32_t but)
{
    uint32_t most = 0;
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t to = neighbour(r, port);
        if (to != FAB_NONE && to != but && place[to] > most)
            most = place[to];
    }
    return most;
}

/* ---- which switches move --------------------------------------------------------------------- */

/* Returns true if y can move to position `to`. A living link of y must then still lead up to a
 * switch other than s. Only links between y and s may change their direction. */
static bool would_fit(const struct fab_repair *r, const uint32_t *place, uint32_t y, uint32_t s,
                      uint32_t to)
{
    bool goes_up = false;
    for (uint32_t port = r->network->first[y] + 1; port < r->network->first[y + 1]; port++) {
        uint32_t v = neighbour(r, port);
        if (v == FAB_NONE || v == s)
            continue;
        if ((place[v] > place[y]) != (place[v] > to) || place[v] == to)
            return false;
        goes_up = goes_up || place[v] > to;
    }
    return goes_up;
}

static int add(struct fab_repair_delta *d, size_t *room, uint32_t *place, uint32_t sw, uint32_t to)
{
    if (d->relabels == *room) {
        void *more = fab_base_grow(d->relabel, sizeof(*d->relabel), d->relabels + 1, room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->relabel = more;
    }
    d->relabel[d->relabels++] = (struct fab_repair_relabel){.sw = sw, .place = to};
    place[sw] = to;
    return FAB_OK;
}

/* Gives s and a neighbour y new positions, as the comment at the top of this file describes.
 * Changes nothing if no neighbour has a suitable position. */
static int place_above(struct fab_repair *r, struct fab_repair_delta *d, size_t *room,
                       uint32_t *place, uint32_t s)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t port = b->first[s] + 1; port < b->first[s + 1]; port++) {
        uint32_t y = neighbour(r, port);
        if (y == FAB_NONE)
            continue;
        uint32_t low = highest(r, place, s, y) + 1;
        uint32_t to = place[y] > low ? place[y] : low + 1;
        if (!would_fit(r, place, y, s, to))
            continue;
        int status = add(d, room, place, s, low);
        return status == FAB_OK ? add(d, room, place, y, to) : status;
    }
    return FAB_OK;
}

static int own_labels(struct fab_repair *r)
{
    size_t count = (size_t)r->network->vl_count * r->network->ports + 1;
    if (r->own_label != NULL)
        return FAB_OK;
    r->own_label = fab_base_alloc_array(count, sizeof(*r->own_label));
    if (r->own_label == NULL)
        return FAB_E_NOMEM;
    memcpy(r->own_label, r->network->label, count * sizeof(*r->own_label));
    return FAB_OK;
}

int fab_repair_relabel_find(struct fab_repair *r, struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = r->network;
    uint32_t *place = NULL, last = FAB_NONE;
    size_t room = 0;
    int status = FAB_OK;
    for (size_t i = 0; b->order != NULL && status == FAB_OK && i < d->deads; i++) {
        uint32_t up = b->peer_sw[d->dead[i]], s = fab_repair_switch_of(b, d->dead[i]);
        if (s == last || b->order[up] < b->order[s] || r->alive[s] == 0)
            continue;
        if (place == NULL)
            place = places_of(r, NULL, 0);
        if (highest(r, place, s, FAB_NONE) < place[s])
            status = place_above(r, d, &room, place, s);
        last = s;
    }
    return status == FAB_OK && d->relabels > 0 ? own_labels(r) : status;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void relabel(struct fab_repair *r, const uint32_t *place, uint32_t channel)
{
    const struct fab_repair_network *b = r->network;
    uint32_t from = fab_repair_switch_of(b, channel), to = b->peer_sw[channel];
    const uint32_t *order = fab_base_bits_get(r->is_dead, channel) ? b->order : place;
    uint32_t label = fab_repair_label(b, place[from], order[to] > order[from]);
    for (uint32_t lane = 0; lane < b->vl_count; lane++)
        r->own_label[(size_t)lane * b->ports + channel] = label;
}

static void set_labels(struct fab_repair *r, const struct fab_repair_delta *d,
                       const uint32_t *place)
{
    const struct fab_repair_network *b = r->network;
    for (size_t i = 0; i < d->relabels; i++) {
        uint32_t sw = d->relabel[i].sw;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            if (b->peer_sw[port] == FAB_NONE)
                continue;
            relabel(r, place, port);
            relabel(r, place, fab_repair_peer_port(b, port));
        }
    }
    for (size_t i = 0; i < FAB_REPAIR_CANDIDATES; i++)
        r->candidates[i].label = NULL;
}

void fab_repair_relabel_apply(struct fab_repair *r, const struct fab_repair_delta *d)
{
    r->label = fab_repair_label_set(r->network, d->label_set);
    if (d->relabels == 0)
        return;
    set_labels(r, d, places_of(r, d->relabel, d->relabels));
    r->label = r->own_label;
}

void fab_repair_relabel_undo(struct fab_repair *r, const struct fab_repair_delta *d)
{
    r->label = r->network->label;
    if (d->relabels > 0)
        set_labels(r, d, r->network->order);
}

/* ---- checks ---------------------------------------------------------------------------------- */

bool fab_repair_labels_vary(const struct fab_repair *r)
{
    return r->network->pair_vl != NULL;
}

bool fab_repair_labels_differ(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    if (fab_repair_labels_vary(r))
        return d->changes > 0;
    return r->label_set != d->label_set || r->relabels != d->relabels ||
           (d->relabels > 0 &&
            memcmp(r->relabel, d->relabel, d->relabels * sizeof(*d->relabel)) != 0);
}

/* Returns true if the channel leads to a switch with a higher position in the order. Its label is
 * then lower than that of the channel in the opposite direction. */
static bool goes_up(const struct fab_repair_network *b, const uint32_t *label, uint32_t channel)
{
    return label[channel] < label[fab_repair_peer_port(b, channel)];
}

/* Returns true if all living links of the switch `sw`, except links to the switch `but`, lead to
 * switches with lower positions. */
static bool is_above_all(const struct fab_repair *r, uint32_t sw, uint32_t but)
{
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t to = neighbour(r, port);
        if (to != FAB_NONE && to != but && goes_up(r->network, r->label, port))
            return false;
    }
    return true;
}

bool fab_repair_relabel_sound(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = r->network;
    for (size_t i = 0; i < d->relabels; i++) {
        uint32_t sw = d->relabel[i].sw;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t to = neighbour(r, port);
            if (to == FAB_NONE || goes_up(b, b->label, port) == goes_up(b, r->label, port))
                continue;
            bool ok =
                goes_up(b, r->label, port) ? is_above_all(r, sw, to) : is_above_all(r, to, sw);
            if (!ok)
                return false;
        }
    }
    return true;
}
