/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the legal paths to 64 destinations at once, by two sweeps over the order of the switches.
 *
 * The sweep from the bottom up computes the length of the path that only descends. The sweep from
 * the top down computes the length of the path that first ascends to a neighbour, and then chooses
 * one of the two paths for each switch. A packet that has descended must not ascend again, and LFTs
 * do not consider where a packet came from. So if an upper neighbour sends packets down through a
 * switch, this switch takes its descending path, even if the ascending path is shorter. If no upper
 * neighbour does so, packets arrive only from lower neighbours, and the switch takes the shorter of
 * the two paths, or both if the lengths are equal.
 *
 * A row of 64 lengths is one cache line, and all arithmetic is on whole rows without branches,
 * which compilers turn into vector instructions. In a tree most rows are equal: all core switches
 * have equal distances to all leaves, and a switch that is above none of the 64 destinations has no
 * descending path to any of them. So switches with the same neighbours (neighbours.c) share one
 * row. When the row of a switch is computed, a neighbour is skipped if it shares its row with the
 * neighbour before.
 */
#include "libfabmgr/route/updown/legal_paths.h"

#include <stdlib.h>
#include <string.h>

struct row {
    uint8_t hops[FAB_LEGAL_BATCH];
};

#define UNKNOWN FAB_LEGAL_HOPS

/* For each of the 64 path lengths: *to = min(*to, *from + 1). Lengths are at most 0x7f, so that the
 * sum fits into a byte. */
static void relax(struct row *restrict to, const struct row *restrict from)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++) {
        uint8_t hop = (uint8_t)((from->hops[i] & FAB_LEGAL_HOPS) + 1);
        to->hops[i] = hop < to->hops[i] ? hop : to->hops[i];
    }
}

/* For each of the 64 path lengths: *to = min(*to, *from). */
static void take_minimum(struct row *restrict to, const struct row *restrict from)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        to->hops[i] = from->hops[i] < to->hops[i] ? from->hops[i] : to->hops[i];
}

/* Finds the destinations to which an upper neighbour may send packets down through this switch, and
 * sets their bytes of *needed to 0xff. `above` has the path lengths of the upper neighbour, `down`
 * the lengths of this switch's descending paths. An upper neighbour whose length has the flag
 * FAB_LEGAL_CLIMBS sends up, not down. */
static void find_need(struct row *restrict needed, const struct row *above, const struct row *down)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        needed->hops[i] |= above->hops[i] == (uint8_t)(down->hops[i] + 1) ? 0xff : 0;
}

/* Chooses between two paths of a switch, for each of the 64 destinations. On entry *row has the
 * length of the descending path, and *climb has the length of the path over an upper neighbour;
 * UNKNOWN: no such path. The descending path is chosen if it is shorter, or if *needed is 0xff
 * (find_need). On return *row has the length of the chosen path, with the flag FAB_LEGAL_CLIMBS if
 * the first hop ascends; FAB_LEGAL_NONE: no path. */
static void choose(struct row *restrict row, const struct row *climb, const struct row *needed)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++) {
        uint8_t up = climb->hops[i], climbs = up <= row->hops[i] ? 0xff : 0;
        climbs &= (uint8_t)~needed->hops[i];
        row->hops[i] = (uint8_t)(((up | FAB_LEGAL_CLIMBS) & climbs) | (row->hops[i] & ~climbs));
    }
}

/* ---- equal rows ------------------------------------------------------------------------------ */

/* Number of hash values. For each hash value, memory[] keeps the last switch whose path lengths
 * have this hash. */
#define MEMORY 1024

static uint32_t hash_row(const struct row *row)
{
    uint64_t word[FAB_LEGAL_BATCH / 8], sum = 0;
    memcpy(word, row, sizeof(word));
    for (unsigned i = 0; i < FAB_LEGAL_BATCH / 8; i++) {
        sum = (sum ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return (uint32_t)(sum % MEMORY);
}

/* Looks up the hash of the path lengths of `sw` in memory[]. Returns the switch that it finds
 * there, if that switch has the same path lengths; otherwise stores `sw` there, and returns it. */
static uint32_t find_equal_row(uint32_t memory[MEMORY], const struct row *row, uint32_t n,
                               uint32_t sw)
{
    uint32_t *known = &memory[hash_row(&row[sw])];
    if (*known >= n || memcmp(&row[*known], &row[sw], sizeof(*row)) != 0)
        *known = sw;
    return *known;
}

/* ---- the sweeps ------------------------------------------------------------------------------ */

/* Pointers that the sweeps use: to the rows of path lengths, and to the arrays that follow the rows
 * in the same block of memory (legal_paths.h). */
struct sweep {
    const struct fab_updown *s;
    struct row *row;
    uint32_t *row_of;
    bool *descends, *here;
    /* [switches] over[c] is true if a path descends from the switches of lower class c (switches
     * with the same lower neighbours) to at least one destination */
    bool *over;
    /* [switches] down[c] has the lengths of the descending paths from the switches of lower class
     * c */
    struct row *down;
    /* [2 * switches] first[c] is a switch with the same path lengths as all those switches of row
     * class c (legal_paths.h) for which sweep_down() uses this class. FAB_NONE: not known yet. */
    uint32_t *first;
};

/* Divides a block of memory into its parts. Other files may read the first three of them: the path
 * lengths (rows), row_of[] and descends[]. The arrays after them are private. */
static struct sweep lay_out(const struct fab_updown *s, uint8_t *row)
{
    size_t rows = (size_t)s->n + 1, n = s->n;
    bool *flags = fab_route_legal_descends(row, s->n);
    struct row *more = (struct row *)(void *)row + rows + (rows * 7 + 63) / 64;
    return (struct sweep){.s = s,
                          .row = (struct row *)(void *)row,
                          .row_of = fab_route_legal_row_of(row, s->n),
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

/* Computes the lengths of the descending paths of the switches of class `lower_class`. The path of
 * a switch is one hop longer than the shortest descending path of its lower neighbours. On entry
 * the row of a destination holds only the length 0 from the destination to itself. */
static void descend(const struct sweep *w, uint32_t lower_class)
{
    uint32_t before = FAB_NONE;
    struct row *down = &w->down[lower_class];
    memset(down, UNKNOWN, sizeof(*down));
    for (uint32_t i = w->s->at[lower_class]; i < w->s->mid[lower_class]; i++) {
        uint32_t nbr = w->s->nbr[i], below = w->s->lower_class[nbr];
        if (w->here[nbr])
            relax(down, &w->row[nbr]);
        if (w->over[below] && below != before)
            relax(down, &w->down[below]);
        w->over[lower_class] = w->over[lower_class] || w->here[nbr] || w->over[below];
        before = below;
    }
}

static void sweep_up(const struct sweep *w)
{
    for (uint32_t i = 0; i < w->s->lower_classes; i++)
        descend(w, w->s->lower_class_rep[i]);
}

/* Computes the path lengths of a switch from which no path descends to any of the destinations. */
static void climb(const struct sweep *w, uint32_t sw)
{
    uint32_t before = FAB_NONE;
    struct row up;
    memset(&up, UNKNOWN, sizeof(up));
    for (uint32_t i = w->s->mid[sw]; i < w->s->at[sw + 1]; i++) {
        if (w->row_of[w->s->nbr[i]] == before)
            continue;
        before = w->row_of[w->s->nbr[i]];
        relax(&up, &w->row[before]);
    }
    for (unsigned i = 0; i < FAB_LEGAL_BATCH; i++)
        w->row[sw].hops[i] = up.hops[i] | FAB_LEGAL_CLIMBS;
}

/* Chooses between the descending and the ascending paths of a switch. On entry its row holds the
 * lengths of the descending paths; on return, the row holds the lengths of the chosen paths. */
static void climb_or_descend(const struct sweep *w, uint32_t sw)
{
    uint32_t before = FAB_NONE;
    struct row up, needed = {0};
    memset(&up, UNKNOWN, sizeof(up));
    for (uint32_t i = w->s->mid[sw]; i < w->s->at[sw + 1]; i++) {
        if (w->row_of[w->s->nbr[i]] == before)
            continue;
        before = w->row_of[w->s->nbr[i]];
        relax(&up, &w->row[before]);
        find_need(&needed, &w->row[before], &w->row[sw]);
    }
    choose(&w->row[sw], &up, &needed);
}

/* Computes the path lengths of a switch, and stores them in the switch's own row. */
static void compute_row(const struct sweep *w, uint32_t sw)
{
    const struct row *down = &w->down[w->s->lower_class[sw]];
    if (!w->descends[sw]) {
        climb(w, sw);
        return;
    }
    if (!w->here[sw])
        w->row[sw] = *down;
    else if (w->over[w->s->lower_class[sw]])
        take_minimum(&w->row[sw], down);
    climb_or_descend(w, sw);
}

/* Computes the path lengths of all switches, from the top of the order down. If two switches
 * are certain to have equal lengths, computes them once. This is so if neither switch is a
 * destination, and both have the same neighbours: the same upper neighbours if no path descends
 * from the switches to any of the destinations; otherwise the same upper and lower neighbours. */
static void sweep_down(const struct sweep *w)
{
    uint32_t memory[MEMORY];
    memset(memory, 0xff, sizeof(memory));
    for (uint32_t p = w->s->n; p-- > 0;) {
        uint32_t sw = w->s->by_height[p];
        bool here = w->here[sw], descends = here || w->over[w->s->lower_class[sw]];
        uint32_t *first = &w->first[w->s->row_class[2 * sw + descends]], like = *first;
        w->descends[sw] = descends;
        if (!here && like != FAB_NONE) {
            w->row_of[sw] = like;
            continue;
        }
        compute_row(w, sw);
        w->row_of[sw] = find_equal_row(memory, w->row, w->s->n, sw);
        if (!here)
            *first = w->row_of[sw];
    }
}

void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_paths)
{
    struct sweep w = lay_out(s, ret_paths);
    memset(w.first, 0xff, 2 * (size_t)s->n * sizeof(*w.first)); /* sets all elements to FAB_NONE */
    /* clears here[] and over[], which are adjacent in memory */
    memset(w.here, false, 2 * (size_t)s->n * sizeof(bool));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = destinations[i];
        if (!w.here[sw])
            memset(&w.row[sw], UNKNOWN, sizeof(*w.row));
        ret_paths[(size_t)sw * FAB_LEGAL_BATCH + i] = 0;
        w.here[sw] = true;
    }
    sweep_up(&w);
    sweep_down(&w);
}

void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_paths)
{
    struct row *row = (struct row *)(void *)ret_paths;
    const uint32_t *row_of = fab_route_legal_row_of(ret_paths, s->n);
    fab_route_legal_rows(s, destinations, count, ret_paths);
    for (uint32_t sw = 0; sw < s->n; sw++)
        row[sw] = row[row_of[sw]];
}
