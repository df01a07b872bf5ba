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
#include "libfabmgr/route/legal.h"

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

/* What is behind the rows (legal.h), as the sweeps see it. "First" is FAB_NONE until there is one;
 * destinations have rows of their own and are none. */
struct sweep {
    const struct fab_slopes *s;
    struct row *way;
    uint32_t *alike;
    uint32_t *first_floor; /* by floor: the first that was met on it */
    uint32_t *first_roof;  /* by roof: the first under it that descends to no destination */
    uint32_t *first_pair;  /* by both: the first that descends */
    bool *descends, *here;
};

static struct sweep lay_out(const struct fab_slopes *s, uint8_t *way)
{
    uint32_t *words = fab_legal_alike(way, s->n);
    bool *flags = fab_legal_descends(way, s->n);
    return (struct sweep){.s = s,
                          .way = (struct row *)(void *)way,
                          .alike = words,
                          .first_floor = words + s->n,
                          .first_roof = words + 2 * (size_t)s->n,
                          .first_pair = words + 3 * (size_t)s->n,
                          .descends = flags,
                          .here = flags + s->n};
}

uint8_t *fab_legal_alloc(uint32_t n)
{
    size_t rows = (size_t)n + 1;
    size_t behind = rows * (4 * sizeof(uint32_t) + 2 * sizeof(bool));
    return aligned_alloc(64, rows * FAB_LEGAL_BATCH + (behind + 63) / 64 * 64);
}

/* How far down it is from sw: the least of those below, and one. */
static void descend(const struct sweep *w, uint32_t sw)
{
    uint32_t before = FAB_NONE;
    for (uint32_t i = w->s->at[sw]; i < w->s->mid[sw]; i++) {
        uint32_t nbr = w->s->nbr[i];
        if (!w->descends[nbr] || w->alike[nbr] == before)
            continue;
        if (!w->descends[sw])
            memset(&w->way[sw], UNKNOWN, sizeof(*w->way));
        w->descends[sw] = true;
        before = w->alike[nbr];
        relax(&w->way[sw], &w->way[before]);
    }
}

/* Rows of those that descend to no destination stay as they are. */
static void sweep_up(const struct sweep *w)
{
    for (uint32_t p = 0; p < w->s->n; p++) {
        uint32_t sw = w->s->by_height[p], *first = &w->first_floor[w->s->floor[sw]];
        w->alike[sw] = sw;
        if (w->here[sw] || *first == FAB_NONE) {
            descend(w, sw);
            if (!w->here[sw])
                *first = sw;
        } else if (w->descends[*first]) {
            w->descends[sw] = true;
            w->way[sw] = w->way[*first];
            w->alike[sw] = *first;
        }
    }
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

/* From the way down to the way that is taken. */
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

/* Who descends to none of the destinations climbs as all others do that stand under one roof; who
 * descends to some goes as those that have the same neighbours below as well. */
static void sweep_down(const struct sweep *w)
{
    uint32_t memory[MEMORY];
    memset(memory, 0xff, sizeof(memory));
    for (uint32_t p = w->s->n; p-- > 0;) {
        uint32_t sw = w->s->by_height[p];
        uint32_t *first =
            w->descends[sw] ? &w->first_pair[w->s->pair[sw]] : &w->first_roof[w->s->roof[sw]];
        if (!w->here[sw] && *first != FAB_NONE) {
            w->way[sw] = w->way[*first];
            w->alike[sw] = w->alike[*first];
            continue;
        }
        if (w->descends[sw])
            climb_or_descend(w, sw);
        else
            climb(w, sw);
        w->alike[sw] = recall(memory, w->way, w->s->n, sw);
        if (!w->here[sw])
            *first = sw;
    }
}

void fab_legal_ways(const struct fab_slopes *s, const uint32_t *destinations, uint32_t count,
                    uint8_t *ret_way)
{
    struct sweep w = lay_out(s, ret_way);
    memset(w.first_floor, 0xff, 3 * (size_t)s->n * sizeof(uint32_t)); /* FAB_NONE, all three */
    memset(w.descends, false, 2 * (size_t)s->n * sizeof(bool));       /* and here */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = destinations[i];
        if (!w.here[sw])
            memset(&w.way[sw], UNKNOWN, sizeof(*w.way));
        ret_way[(size_t)sw * FAB_LEGAL_BATCH + i] = 0;
        w.here[sw] = w.descends[sw] = true;
    }
    sweep_up(&w);
    sweep_down(&w);
}
