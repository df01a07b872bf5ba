/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds alternatives to the arcs that search.c has chosen, so that the destination LIDs of a switch
 * can be spread over several paths.
 *
 * Let c be an arc from switch s to switch v, which is one hop nearer to the destination. Arc c is
 * an alternative on two conditions. First, packets may continue by c from each arc by which paths
 * enter s. Second, packets that come by c may continue by each arc by which paths leave v. All
 * these dependencies must be in use in the channel dependency graph. So no combination of
 * alternatives closes a cycle.
 */
#include <string.h>

#include "libfabmgr/route/nue/search.h"

void fab_route_nue_restore(struct fab_nue *d, uint32_t home)
{
    memset(d->hops, 0xff, d->g->n * sizeof(*d->hops));
    d->home = home;
    d->hops[home] = 0;
    d->by_distance[0] = home;
    d->count = 1;
    for (uint32_t at = 0; at < d->count; at++) {
        uint32_t s = d->by_distance[at];
        for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
            uint32_t r = d->g->nbr[out];
            if (r == home || d->slot[r] == FAB_NUE_SLOT_NONE ||
                fab_route_nue_next(d, r) != d->cdg->reverse[out])
                continue;
            d->hops[r] = (uint16_t)(d->hops[s] + 1);
            d->by_distance[d->count++] = r;
        }
    }
}

/* Collects in deferred[] the arcs by which paths to the destination enter switch s. Sets ret_common
 * to the bitset of the arcs out of s by which packets may continue from every entering arc. */
static void find_entering_arcs(struct fab_nue *d, uint32_t s, uint64_t ret_common[4])
{
    const struct fab_cdg *t = d->cdg;
    d->deferred_count = 0;
    memset(ret_common, 0xff, t->words * sizeof(*ret_common));
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = t->reverse[out];
        if (d->hops[r] == FAB_NUE_UNREACHED || r == d->home || fab_route_nue_next(d, r) != in)
            continue;
        d->deferred[d->deferred_count++].arc = in;
        for (uint32_t w = 0; w < t->words; w++)
            ret_common[w] &= fab_route_cdg_used_from(t, in)[w];
    }
}

static bool has_all(const struct fab_nue *d, uint32_t arc)
{
    const uint64_t *used = fab_route_cdg_used_from(d->cdg, arc);
    const uint64_t *alternatives = d->alternatives + (size_t)d->g->nbr[arc] * d->cdg->words;
    uint64_t missing = 0;
    for (uint32_t w = 0; w < d->cdg->words; w++)
        missing |= alternatives[w] & ~used[w];
    return missing == 0;
}

/* Adds the dependencies that `arc` needs to be an alternative: from all arcs in deferred[] to
 * `arc`, and from `arc` to all alternatives of the next switch. If one of these dependencies would
 * close a cycle, adds none and returns false. */
static bool add_all(struct fab_nue *d, uint32_t arc)
{
    struct fab_cdg *t = d->cdg;
    uint32_t head = d->g->nbr[arc], base = d->g->nbr_at[head];
    const uint64_t *alternatives = d->alternatives + (size_t)head * t->words;
    bool good = true;
    t->logging = true;
    t->logged = 0;
    for (uint32_t i = 0; i < d->deferred_count && good; i++)
        good = fab_route_cdg_add(t, d->deferred[i].arc, arc);
    for (uint32_t w = 0; w < t->words && head != d->home; w++) {
        for (uint64_t bits = alternatives[w]; bits != 0 && good; bits &= bits - 1)
            good = fab_route_cdg_add(t, arc, base + w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    if (!good)
        fab_route_cdg_undo(t, 0);
    t->logging = false;
    return good;
}

static void find_alternatives_at(struct fab_nue *d, uint32_t s, bool add)
{
    uint32_t base = d->g->nbr_at[s];
    uint64_t *alternatives = d->alternatives + (size_t)s * d->cdg->words, common[4];
    find_entering_arcs(d, s, common);
    memset(alternatives, 0, d->cdg->words * sizeof(*alternatives));
    alternatives[d->slot[s] / 64] |= UINT64_C(1) << d->slot[s] % 64;
    for (uint32_t arc = base; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t slot = arc - base, v = d->g->nbr[arc];
        if (slot == d->slot[s] || d->hops[v] == FAB_NUE_UNREACHED || d->hops[v] + 1 != d->hops[s])
            continue;
        bool good = (common[slot / 64] >> slot % 64 & 1) != 0 && (v == d->home || has_all(d, arc));
        if (good || (add && add_all(d, arc)))
            alternatives[slot / 64] |= UINT64_C(1) << slot % 64;
    }
}

void fab_route_nue_find_alternatives(struct fab_nue *d, bool add)
{
    for (uint32_t i = 1; i < d->count; i++)
        find_alternatives_at(d, d->by_distance[i], add);
}

void fab_route_nue_candidates(const struct fab_nue *d, struct fab_shortest *ret)
{
    uint32_t count = 0;
    memset(ret->hops, 0xff, d->g->n * sizeof(*ret->hops));
    ret->reached = d->count;
    ret->first[0] = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t s = d->by_distance[i];
        const uint64_t *alternatives = d->alternatives + (size_t)s * d->cdg->words;
        ret->at[i] = s;
        ret->hops[s] = d->hops[s];
        for (uint32_t port = d->g->port_at[s]; port < d->g->port_at[s + 1] && i > 0; port++) {
            ret->port[count] = port;
            count += (alternatives[d->port_slot[port] / 64] >> d->port_slot[port] % 64 & 1) != 0;
        }
        ret->first[i + 1] = count;
    }
    fab_route_shortest_mark_used(ret);
    /* ret->port[] has ports for all switches, even for switches that no host uses, so balance.c
     * need not find paths for them */
    ret->unused = 0;
}
