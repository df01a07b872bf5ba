/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More than one way: arcs beside those that detours.c has found, so that destination LIDs can be
 * spread. Arc c of switch s may stand beside the first one when all turns are in use from the arcs
 * into s that are taken, and from c to all arcs that are taken behind it. So any combination of
 * them closes no circle.
 */
#include <string.h>

#include "libfabmgr/route/nue/search.h"

void fab_route_nue_restore(struct fab_nue *d, uint32_t home)
{
    memset(d->hops, 0xff, d->g->n * sizeof(*d->hops));
    d->home = home;
    d->hops[home] = 0;
    d->near[0] = home;
    d->count = 1;
    for (uint32_t at = 0; at < d->count; at++) {
        uint32_t s = d->near[at];
        for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
            uint32_t r = d->g->nbr[out];
            if (r == home || d->slot[r] == FAB_NUE_SLOT_NONE ||
                fab_route_nue_next(d, r) != d->turns->back[out])
                continue;
            d->hops[r] = (uint16_t)(d->hops[s] + 1);
            d->near[d->count++] = r;
        }
    }
}

/* Arcs by which others come to s, into hard[]; and the slots of s that all of them can turn to. */
static void find_comers(struct fab_nue *d, uint32_t s, uint64_t ret_common[4])
{
    const struct fab_cdg *t = d->turns;
    d->hards = 0;
    memset(ret_common, 0xff, t->words * sizeof(*ret_common));
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = t->back[out];
        if (d->hops[r] == FAB_NUE_UNREACHED || r == d->home || fab_route_nue_next(d, r) != in)
            continue;
        d->hard[d->hards++].arc = in;
        for (uint32_t w = 0; w < t->words; w++)
            ret_common[w] &= fab_route_cdg_used_from(t, in)[w];
    }
}

static bool has_all(const struct fab_nue *d, uint32_t arc)
{
    const uint64_t *used = fab_route_cdg_used_from(d->turns, arc);
    const uint64_t *wide = d->wide + (size_t)d->g->nbr[arc] * d->turns->words;
    uint64_t missing = 0;
    for (uint32_t w = 0; w < d->turns->words; w++)
        missing |= wide[w] & ~used[w];
    return missing == 0;
}

/* All turns that the arc needs, or none. */
static bool take_all(struct fab_nue *d, uint32_t arc)
{
    struct fab_cdg *t = d->turns;
    uint32_t head = d->g->nbr[arc], base = d->g->nbr_at[head];
    const uint64_t *wide = d->wide + (size_t)head * t->words;
    bool good = true;
    t->logging = true;
    t->logged = 0;
    for (uint32_t i = 0; i < d->hards && good; i++)
        good = fab_route_cdg_add(t, d->hard[i].arc, arc);
    for (uint32_t w = 0; w < t->words && head != d->home; w++) {
        for (uint64_t bits = wide[w]; bits != 0 && good; bits &= bits - 1)
            good = fab_route_cdg_add(t, arc, base + w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    if (!good)
        fab_route_cdg_undo(t, 0);
    t->logging = false;
    return good;
}

static void widen_at(struct fab_nue *d, uint32_t s, bool take)
{
    uint32_t base = d->g->nbr_at[s];
    uint64_t *wide = d->wide + (size_t)s * d->turns->words, common[4];
    find_comers(d, s, common);
    memset(wide, 0, d->turns->words * sizeof(*wide));
    wide[d->slot[s] / 64] |= UINT64_C(1) << d->slot[s] % 64;
    for (uint32_t arc = base; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t slot = arc - base, v = d->g->nbr[arc];
        if (slot == d->slot[s] || d->hops[v] == FAB_NUE_UNREACHED || d->hops[v] + 1 != d->hops[s])
            continue;
        bool good = (common[slot / 64] >> slot % 64 & 1) != 0 && (v == d->home || has_all(d, arc));
        if (good || (take && take_all(d, arc)))
            wide[slot / 64] |= UINT64_C(1) << slot % 64;
    }
}

void fab_route_nue_find_alternatives(struct fab_nue *d, bool take)
{
    for (uint32_t i = 1; i < d->count; i++)
        widen_at(d, d->near[i], take);
}

void fab_route_nue_candidates(const struct fab_nue *d, struct fab_shortest *ret)
{
    uint32_t count = 0;
    memset(ret->hops, 0xff, d->g->n * sizeof(*ret->hops));
    ret->reached = d->count;
    ret->first[0] = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t s = d->near[i];
        const uint64_t *wide = d->wide + (size_t)s * d->turns->words;
        ret->at[i] = s;
        ret->hops[s] = d->hops[s];
        for (uint32_t port = d->g->port_at[s]; port < d->g->port_at[s + 1] && i > 0; port++) {
            ret->port[count] = port;
            count += (wide[d->port_slot[port] / 64] >> d->port_slot[port] % 64 & 1) != 0;
        }
        ret->first[i + 1] = count;
    }
    fab_route_shortest_mark_used(ret);
    ret->asides = 0; /* nobody leaves these ways */
}
