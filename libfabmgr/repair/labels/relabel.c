/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lifting: labels by an order of the switches need one switch that all others can climb to. In a
 * tree that is a leaf, the summit, over which spines of one plane come to those of another; a spine
 * climbs there by a single cable, and a core switch by a single spine. When that cable dies, what
 * is behind it (s, and all that climb no higher than to s) would have no legal way to the other
 * planes, and back, though ends do not notice.
 *
 * Then s gets a place as low as its neighbours allow, and one of these, y, a place just above it,
 * where y still is below all that it can climb to: s climbs by way of y. Of all cables only those
 * between s and y have turned round. Turns at y with such a cable are legal whatever the other one
 * is, and all others of s lead down; so each turn between living cables that the order allowed is
 * allowed still. (The dead cable is what makes it possible: over it s would come to y from above.)
 * Hence the tables in force ascend by the new labels, too, and nothing has to move but what was
 * lost. When the cable is back, so is the order, and entries that went s-y-up drop for the time of
 * the change.
 *
 * A dead cable may join y, or s, with a switch that is on its other side now. It does not turn
 * round: its label says what may have come there before it died, and whoever has to find another
 * way begins with that (column.c).
 *
 * Which switches are lifted is a function of the order and the dead cables alone.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- places ---------------------------------------------------------------------------------- */

/* place: [n], in r->island, which nobody needs at the beginning of a call. */
static uint32_t *places_of(struct fab_repair *r, const struct fab_repair_relabel *lift,
                           size_t lifts)
{
    uint32_t *place = r->island;
    memcpy(place, r->base->order, r->base->n * sizeof(*place));
    for (size_t i = 0; i < lifts; i++)
        place[lift[i].sw] = lift[i].place;
    return place;
}

/* The switch at the other end of a living cable, or FAB_NONE. */
static uint32_t neighbour(const struct fab_repair *r, uint32_t port)
{
    return fab_base_bits_get(r->dark, port) ? FAB_NONE : r->base->hop[port];
}

/* The highest place of living neighbours, but for one; 0: there is none. */
static uint32_t highest(const struct fab_repair *r, const uint32_t *place, uint32_t sw,
                        uint32_t but)
{
    uint32_t most = 0;
    for (uint32_t port = r->base->first[sw] + 1; port < r->base->first[sw + 1]; port++) {
        uint32_t to = neighbour(r, port);
        if (to != FAB_NONE && to != but && place[to] > most)
            most = place[to];
    }
    return most;
}

/* ---- who is lifted --------------------------------------------------------------------------- */

/* Could y be where it is above s, and climb further, with no cable but theirs turned round? */
static bool fits(const struct fab_repair *r, const uint32_t *place, uint32_t y, uint32_t s,
                 uint32_t to)
{
    bool climbs = false;
    for (uint32_t port = r->base->first[y] + 1; port < r->base->first[y + 1]; port++) {
        uint32_t v = neighbour(r, port);
        if (v == FAB_NONE || v == s)
            continue;
        if ((place[v] > place[y]) != (place[v] > to) || place[v] == to)
            return false;
        climbs = climbs || place[v] > to;
    }
    return climbs;
}

static int add(struct fab_repair_delta *d, size_t *room, uint32_t *place, uint32_t sw, uint32_t to)
{
    if (d->lifts == *room) {
        void *more = fab_base_grow(d->lift, sizeof(*d->lift), d->lifts + 1, room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->lift = more;
    }
    d->lift[d->lifts++] = (struct fab_repair_relabel){.sw = sw, .place = to};
    place[sw] = to;
    return FAB_OK;
}

/* Puts a neighbour above s, if one fits. */
static int lift_above(struct fab_repair *r, struct fab_repair_delta *d, size_t *room,
                      uint32_t *place, uint32_t s)
{
    const struct fab_repair_network *b = r->base;
    for (uint32_t port = b->first[s] + 1; port < b->first[s + 1]; port++) {
        uint32_t y = neighbour(r, port);
        if (y == FAB_NONE)
            continue;
        uint32_t low = highest(r, place, s, y) + 1;
        uint32_t to = place[y] > low ? place[y] : low + 1;
        if (!fits(r, place, y, s, to))
            continue;
        int status = add(d, room, place, s, low);
        return status == FAB_OK ? add(d, room, place, y, to) : status;
    }
    return FAB_OK;
}

static int own_labels(struct fab_repair *r)
{
    size_t count = (size_t)r->base->lanes * r->base->ports + 1;
    if (r->own_label != NULL)
        return FAB_OK;
    r->own_label = fab_base_alloc_array(count, sizeof(*r->own_label));
    if (r->own_label == NULL)
        return FAB_E_NOMEM;
    memcpy(r->own_label, r->base->label, count * sizeof(*r->own_label));
    return FAB_OK;
}

int fab_repair_relabel_find(struct fab_repair *r, struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = r->base;
    uint32_t *place = NULL, last = FAB_NONE;
    size_t room = 0;
    int status = FAB_OK;
    for (size_t i = 0; b->order != NULL && status == FAB_OK && i < d->deads; i++) {
        uint32_t up = b->hop[d->dead[i]], s = b->hop[fab_repair_peer_port(b, d->dead[i])];
        if (s == last || b->order[up] < b->order[s] || r->alive[s] == 0)
            continue;
        if (place == NULL)
            place = places_of(r, NULL, 0);
        if (highest(r, place, s, FAB_NONE) < place[s])
            status = lift_above(r, d, &room, place, s);
        last = s;
    }
    return status == FAB_OK && d->lifts > 0 ? own_labels(r) : status;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void relabel(struct fab_repair *r, const uint32_t *place, uint32_t channel)
{
    const struct fab_repair_network *b = r->base;
    uint32_t from = b->hop[fab_repair_peer_port(b, channel)], to = b->hop[channel];
    const uint32_t *order = fab_base_bits_get(r->dark, channel) ? b->order : place;
    uint32_t label = fab_repair_label(b, place[from], order[to] > order[from]);
    for (uint32_t lane = 0; lane < b->lanes; lane++)
        r->own_label[(size_t)lane * b->ports + channel] = label;
}

static void relabel_all(struct fab_repair *r, const struct fab_repair_delta *d,
                        const uint32_t *place)
{
    const struct fab_repair_network *b = r->base;
    for (size_t i = 0; i < d->lifts; i++) {
        uint32_t sw = d->lift[i].sw;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            if (b->hop[port] == FAB_NONE)
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
    r->label = fab_repair_label_set(r->base, d->set);
    if (d->lifts == 0)
        return;
    relabel_all(r, d, places_of(r, d->lift, d->lifts));
    r->label = r->own_label;
}

void fab_repair_relabel_undo(struct fab_repair *r, const struct fab_repair_delta *d)
{
    r->label = r->base->label;
    if (d->lifts > 0)
        relabel_all(r, d, r->base->order);
}

/* ---- looking at them ------------------------------------------------------------------------- */

bool fab_repair_labels_differ(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    return r->set != d->set || r->lifts != d->lifts ||
           (d->lifts > 0 && memcmp(r->lift, d->lift, d->lifts * sizeof(*d->lift)) != 0);
}

/* Is the end of the channel above its beginning, by its label? */
static bool climbs(const struct fab_repair_network *b, const uint32_t *label, uint32_t channel)
{
    return label[channel] < label[fab_repair_peer_port(b, channel)];
}

/* All living cables of a switch but those to `but` lead down. */
static bool is_above_all(const struct fab_repair *r, uint32_t sw, uint32_t but)
{
    for (uint32_t port = r->base->first[sw] + 1; port < r->base->first[sw + 1]; port++) {
        uint32_t to = neighbour(r, port);
        if (to != FAB_NONE && to != but && climbs(r->base, r->label, port))
            return false;
    }
    return true;
}

bool fab_repair_relabel_sound(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = r->base;
    for (size_t i = 0; i < d->lifts; i++) {
        uint32_t sw = d->lift[i].sw;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t to = neighbour(r, port);
            if (to == FAB_NONE || climbs(b, b->label, port) == climbs(b, r->label, port))
                continue;
            bool ok = climbs(b, r->label, port) ? is_above_all(r, sw, to) : is_above_all(r, to, sw);
            if (!ok)
                return false;
        }
    }
    return true;
}
