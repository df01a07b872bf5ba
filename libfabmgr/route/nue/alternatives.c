/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds alternatives to the arcs that search.c has chosen, so that the destination LIDs of a switch
 * can be spread over several paths.
 *
 * Let c be an arc from switch s to switch v, which is one hop nearer to the destination. Arc c is
 * an alternative on two conditions. First, packets may continue by c from each arc by which paths
 * enter s. Second, packets that come by c may continue by each arc by which paths leave v, and so
 * on up to the destination. All these dependencies must be in use on the VLs of all packets that
 * can take them. So no combination of alternatives closes a cycle.
 */
#include <string.h>

#include "libfabmgr/route/nue/search.h"

void fab_route_nue_sort(struct fab_nue *d)
{
    uint32_t home = d->home;
    memset(d->hops, 0xff, d->g->n * sizeof(*d->hops));
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

void fab_route_nue_restore(struct fab_nue *d, uint32_t home)
{
    size_t n = d->g->n;
    memcpy(d->slot, d->kept + home * n, n);
    memcpy(d->lane, d->lane_of + home * n, n);
    d->home = home;
    fab_route_nue_sort(d);
}

/* Returns the VL of the path from switch s as a bitset; 0 if it has none yet. */
static uint16_t lane_bit(const struct fab_nue *d, uint32_t s)
{
    return d->lane[s] != FAB_NUE_LANE_NONE ? (uint16_t)(1u << d->lane[s]) : 0;
}

/* Sets arc_lanes[] for the paths of the tree: each arc has the VLs of all switches whose path leads
 * over it. */
static void find_lanes_of_tree(struct fab_nue *d)
{
    memset(d->arc_lanes, 0, d->cdg->arcs * sizeof(*d->arc_lanes));
    memset(d->through, 0, d->g->n * sizeof(*d->through));
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t s = d->by_distance[i], arc = fab_route_nue_next(d, s);
        d->through[s] |= lane_bit(d, s);
        d->arc_lanes[arc] = d->through[s];
        d->through[d->g->nbr[arc]] |= d->through[s];
    }
}

/* Returns true if the dependency of the arc `from` on the arc `to` is in use on all VLs of the
 * bitset `lanes`. If `add` is true, first tries to put the dependency into use. */
static bool depend(struct fab_nue *d, unsigned lanes, uint32_t from, uint32_t to, bool add)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        struct fab_cdg *t = &d->cdg[__builtin_ctz(lanes)];
        if (add ? !fab_route_cdg_add(t, from, to) : !fab_route_cdg_used(t, from, to))
            return false;
    }
    return true;
}

/* Lets packets on the VLs of the bitset `lanes` take the arc, and all alternatives of the following
 * switches. Returns false if a dependency is missing. Lists in deferred[] each arc whose
 * arc_lanes[] it changes, with the former value of arc_lanes[] in the member `cost`. */
static bool extend(struct fab_nue *d, unsigned lanes, uint32_t arc, bool add)
{
    uint32_t head = d->g->nbr[arc];
    if ((lanes & ~(unsigned)d->arc_lanes[arc]) == 0)
        return true;
    d->deferred[d->deferred_count++] = (struct fab_nue_deferred){d->arc_lanes[arc], arc};
    d->arc_lanes[arc] |= (uint16_t)lanes;
    const uint64_t *alternatives = d->alternatives + (size_t)head * d->cdg->words;
    for (uint32_t w = 0; w < d->cdg->words && head != d->home; w++) {
        for (uint64_t bits = alternatives[w]; bits != 0; bits &= bits - 1) {
            uint32_t next = d->g->nbr_at[head] + w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (!depend(d, lanes, arc, next, add) || !extend(d, lanes, next, add))
                return false;
        }
    }
    return true;
}

/* Makes `arc` an alternative of switch s, if all necessary dependencies are in use or, with `add`
 * true, can be added. Otherwise changes nothing and returns false. */
static bool try_arc(struct fab_nue *d, uint32_t s, uint32_t arc, bool add)
{
    unsigned lanes = lane_bit(d, s);
    bool good = true;
    for (uint32_t l = 0; l < d->lanes && add; l++) {
        d->cdg[l].logging = true;
        d->cdg[l].logged = 0;
    }
    d->deferred_count = 0;
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1] && good; out++) {
        uint32_t in = d->cdg->reverse[out];
        good = depend(d, d->arc_lanes[in], in, arc, add);
        lanes |= d->arc_lanes[in];
    }
    good = good && extend(d, lanes, arc, add);
    for (uint32_t i = d->deferred_count; i-- > 0 && !good;)
        d->arc_lanes[d->deferred[i].arc] = (uint16_t)d->deferred[i].cost;
    for (uint32_t l = 0; l < d->lanes && add; l++) {
        if (!good)
            fab_route_cdg_undo(&d->cdg[l], 0);
        d->cdg[l].logging = false;
    }
    return good;
}

static void find_alternatives_at(struct fab_nue *d, uint32_t s, bool add)
{
    uint32_t base = d->g->nbr_at[s];
    uint64_t *alternatives = d->alternatives + (size_t)s * d->cdg->words;
    memset(alternatives, 0, d->cdg->words * sizeof(*alternatives));
    alternatives[d->slot[s] / 64] |= UINT64_C(1) << d->slot[s] % 64;
    for (uint32_t arc = base; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t slot = arc - base, v = d->g->nbr[arc];
        if (slot != d->slot[s] && d->hops[v] != FAB_NUE_UNREACHED && d->hops[v] + 1 == d->hops[s] &&
            try_arc(d, s, arc, add))
            alternatives[slot / 64] |= UINT64_C(1) << slot % 64;
    }
}

void fab_route_nue_find_alternatives(struct fab_nue *d, bool add)
{
    find_lanes_of_tree(d);
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
