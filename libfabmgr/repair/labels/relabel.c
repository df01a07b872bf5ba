/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the channels of a delta the labels that follow from the new positions of its relabelled
 * switches (labels/reorder.c), and checks that the baseline's paths keep ascending labels. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

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

/* Returns the position of each switch in the order; the switches of moved[] have the positions that
 * are stored there. The array is r->component, which is free at the beginning of a call. */
static uint32_t *places_of(struct fab_repair *r, const struct fab_repair_relabel *moved,
                           size_t count)
{
    uint32_t *place = r->component;
    memcpy(place, r->network->order, r->network->n * sizeof(*place));
    for (size_t i = 0; i < count; i++)
        place[moved[i].sw] = moved[i].place;
    return place;
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

/* Returns true if all living links of the switch `sw`, except links to the switch `but`, lead to
 * switches with lower positions. */
static bool is_above_all(const struct fab_repair *r, uint32_t sw, uint32_t but)
{
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t to = fab_repair_neighbour(r, port);
        if (to != FAB_NONE && to != but && fab_repair_goes_up(r->network, r->label, port))
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
            uint32_t to = fab_repair_neighbour(r, port);
            if (to == FAB_NONE ||
                fab_repair_goes_up(b, b->label, port) == fab_repair_goes_up(b, r->label, port))
                continue;
            bool ok = fab_repair_goes_up(b, r->label, port) ? is_above_all(r, sw, to)
                                                            : is_above_all(r, to, sw);
            if (!ok)
                return false;
        }
    }
    return true;
}
