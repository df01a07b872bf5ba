/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two sweeps over the order give the ways for 64 destinations at once.
 *
 * From the bottom up: how far it is by descending only. From the top down: how far by climbing to a
 * neighbour first; and with that the choice between the two. A packet that has come down must not
 * climb again, and tables do not know where a packet came from: so a switch that somebody above has
 * to descend through has to descend. One that nobody above needs is met by packets from below only;
 * it takes the shorter of the two, and where they are equal, both; then it needs nobody below.
 *
 * One row of 64 lengths is one cache line, and all arithmetic is on whole rows, without a branch
 * (compilers make vectors of that). In a tree most rows are the same as others: all core switches
 * are equally far from all leaves, and switches above none of the 64 destinations descend to none.
 * Switches with the same neighbours (slopes.c) get one row, and neighbours whose row is known to be
 * that of the neighbour before are passed over.
 */
#include "libfabmgr/route/updown/legal_paths.h"

#include <stdlib.h>
#include <string.h>

struct row {
    uint8_t hops[FAB_LEGAL_BATCH];
};

#define UNKNOWN FAB_LEGAL_HOPS

/* min(*to, from + 1); lengths are at most 0x7f, so that nothing overflows. */
static void relax(struct row *restrict to, const struct row *restrict from)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++) {
        uint8_t hop = (uint8_t)((from->hops[i] & FAB_LEGAL_HOPS) + 1);
        to->hops[i] = hop < to->hops[i] ? hop : to->hops[i];
    }
}

/* min(*to, from) */
static void lessen(struct row *restrict to, const struct row *restrict from)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        to->hops[i] = from->hops[i] < to->hops[i] ? from->hops[i] : to->hops[i];
}

/* Sets *needed where the neighbour above at *above has to descend, and does so through one that is
 * `down` away. (Those that climb as well are not in need.) */
static void find_need(struct row *restrict needed, const struct row *above, const struct row *down)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        needed->hops[i] |= above->hops[i] == (uint8_t)(down->hops[i] + 1) ? 0xff : 0;
}

/* *way holds the descent, and gets what is taken. No way stays 0xff. */
static void choose(struct row *restrict way, const struct row *climb, const struct row *needed)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++) {
        uint8_t up = climb->hops[i], climbs = up <= way->hops[i] ? 0xff : 0;
        climbs &= (uint8_t)~needed->hops[i];
        way->hops[i] = (uint8_t)(((up | FAB_LEGAL_CLIMBS) & climbs) | (way->hops[i] & ~climbs));
    }
}

/* ---- which rows are the same ------------------------------------------------------------------
 */

#define MEMORY 1024 /* rows that are remembered, by a signature */

static uint32_t sign(const struct row *row)
{
    uint64_t word[FAB_LEGAL_BATCH / 8], sum = 0;
    memcpy(word, row, sizeof(word));
    for (unsigned i = 0; i < FAB_LEGAL_BATCH / 8; i++) {
        sum = (sum ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return (uint32_t)(sum % MEMORY);
}

/* A switch with the row of `sw`: the last one that left the same signature, or `sw` itself. */
static uint32_t recall(uint32_t memory[MEMORY], const struct row *way, uint32_t n, uint32_t sw)
{
    uint32_t *known = &memory[sign(&way[sw])];
    if (*known >= n || memcmp(&way[*known], &way[sw], sizeof(*way)) != 0)
        *known = sw;
    return *known;
}

/* ---- the sweeps ------------------------------------------------------------------------------ */

/* What is behind the rows (legal.h), as the sweeps see it. */
struct sweep {
    const struct fab_updown *s;
    struct row *way;
    uint32_t *alike;
    bool *descends, *here;
    bool *over;       /* by floor: from those on it one descends to some destination; */
    struct row *down; /* how far it is, without those that are on the floor itself */
    uint32_t *first;  /* by kind: whose row those have that are no destinations, or FAB_NONE */
};

/* Rows, then words, then flags; and again rows and words. */
static struct sweep lay_out(const struct fab_updown *s, uint8_t *way)
{
    size_t rows = (size_t)s->n + 1, n = s->n;
    bool *flags = fab_route_legal_descends(way, s->n);
    struct row *more = (struct row *)(void *)way + rows + (rows * 7 + 63) / 64;
    return (struct sweep){.s = s,
                          .way = (struct row *)(void *)way,
                          .alike = fab_route_legal_row_of(way, s->n),
                          .descends = flags,
                          .here = flags + n,
                          .over = flags + 2 * n,
                          .down = more,
                          .first = (uint32_t *)(void *)(more + rows)};
}

uint8_t *fab_route_legal_alloc(uint32_t n)
{
    size_t rows = (size_t)n + 1;
    return aligned_alloc(64, (2 * rows + (rows * 7 + 63) / 64 + (rows * 8 + 63) / 64) *
                                 sizeof(struct row));
}

/* How far down it is from those on one floor: the least of those below, and one. Rows of way[] are
 * those of destinations, with nothing but themselves. */
static void descend(const struct sweep *w, uint32_t floor)
{
    uint32_t before = FAB_NONE;
    struct row *down = &w->down[floor];
    memset(down, UNKNOWN, sizeof(*down));
    for (uint32_t i = w->s->at[floor]; i < w->s->mid[floor]; i++) {
        uint32_t nbr = w->s->nbr[i], below = w->s->floor[nbr];
        if (w->here[nbr])
            relax(down, &w->way[nbr]);
        if (w->over[below] && below != before)
            relax(down, &w->down[below]);
        w->over[floor] = w->over[floor] || w->here[nbr] || w->over[below];
        before = below;
    }
}

static void sweep_up(const struct sweep *w)
{
    for (uint32_t i = 0; i < w->s->storeys; i++)
        descend(w, w->s->storey[i]);
}

/* From nothing to the way up. */
static void climb(const struct sweep *w, uint32_t sw)
{
    uint32_t before = FAB_NONE;
    struct row up;
    memset(&up, UNKNOWN, sizeof(up));
    for (uint32_t i = w->s->mid[sw]; i < w->s->at[sw + 1]; i++) {
        if (w->alike[w->s->nbr[i]] == before)
            continue;
        before = w->alike[w->s->nbr[i]];
        relax(&up, &w->way[before]);
    }
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        w->way[sw].hops[i] = up.hops[i] | FAB_LEGAL_CLIMBS;
}

/* From the way down, which sw has, to the way that is taken. */
static void climb_or_descend(const struct sweep *w, uint32_t sw)
{
    uint32_t before = FAB_NONE;
    struct row up, needed = {0};
    memset(&up, UNKNOWN, sizeof(up));
    for (uint32_t i = w->s->mid[sw]; i < w->s->at[sw + 1]; i++) {
        if (w->alike[w->s->nbr[i]] == before)
            continue;
        before = w->alike[w->s->nbr[i]];
        relax(&up, &w->way[before]);
        find_need(&needed, &w->way[before], &w->way[sw]);
    }
    choose(&w->way[sw], &up, &needed);
}

/* The row of one that no other has been found for. */
static void find_way(const struct sweep *w, uint32_t sw)
{
    const struct row *down = &w->down[w->s->floor[sw]];
    if (!w->descends[sw]) {
        climb(w, sw);
        return;
    }
    if (!w->here[sw])
        w->way[sw] = *down;
    else if (w->over[w->s->floor[sw]])
        lessen(&w->way[sw], down);
    climb_or_descend(w, sw);
}

/* Who descends to none of the destinations climbs as all others do that stand under one roof; who
 * descends to some goes as those that have the same neighbours below as well. */
static void sweep_down(const struct sweep *w)
{
    uint32_t memory[MEMORY];
    memset(memory, 0xff, sizeof(memory));
    for (uint32_t p = w->s->n; p-- > 0;) {
        uint32_t sw = w->s->by_height[p];
        bool here = w->here[sw], descends = here || w->over[w->s->floor[sw]];
        uint32_t *first = &w->first[w->s->kind[2 * sw + descends]], like = *first;
        w->descends[sw] = descends;
        if (!here && like != FAB_NONE) {
            w->alike[sw] = like;
            continue;
        }
        find_way(w, sw);
        w->alike[sw] = recall(memory, w->way, w->s->n, sw);
        if (!here)
            *first = w->alike[sw];
    }
}

void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_way)
{
    struct sweep w = lay_out(s, ret_way);
    memset(w.first, 0xff, 2 * (size_t)s->n * sizeof(*w.first)); /* FAB_NONE */
    memset(w.here, false, 2 * (size_t)s->n * sizeof(bool));     /* and over */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = destinations[i];
        if (!w.here[sw])
            memset(&w.way[sw], UNKNOWN, sizeof(*w.way));
        ret_way[(size_t)sw * FAB_LEGAL_BATCH + i] = 0;
        w.here[sw] = true;
    }
    sweep_up(&w);
    sweep_down(&w);
}

void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_way)
{
    struct row *way = (struct row *)(void *)ret_way;
    const uint32_t *alike = fab_route_legal_row_of(ret_way, s->n);
    fab_route_legal_rows(s, destinations, count, ret_way);
    for (uint32_t sw = 0; sw < s->n; sw++)
        way[sw] = way[alike[sw]];
}
