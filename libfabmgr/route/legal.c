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
 * One row of 64 lengths is one cache line, and all arithmetic is on whole rows (the compiler's
 * vector extension). In a tree most rows are the same as others: all core switches are equally far
 * from all leaves, and switches above none of the 64 destinations descend to none. Neighbours whose
 * row is known to be that of the neighbour before are passed over.
 */
#include "libfabmgr/route/legal.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

typedef uint8_t lane16 __attribute__((vector_size(16)));
struct row {
    lane16 v[FAB_LEGAL_BATCH / 16];
};

#define UNKNOWN FAB_LEGAL_HOPS

static lane16 all(uint8_t x)
{
    return (lane16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

/* min(*to, from + 1); lengths are at most 0x7f, so that nothing overflows. */
static void relax(struct row *to, const struct row *from)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH / 16; i++) {
        lane16 hop = (from->v[i] & all(FAB_LEGAL_HOPS)) + all(1);
        lane16 shorter = (lane16)(hop < to->v[i]);
        to->v[i] = (hop & shorter) | (to->v[i] & ~shorter);
    }
}

/* Sets *needed where the neighbour above at *above has to descend, and does so through one that is
 * `down` away. (Those that climb as well are not in need.) */
static void find_need(struct row *needed, const struct row *above, const struct row *down)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH / 16; i++)
        needed->v[i] |= (lane16)(above->v[i] == (lane16)(down->v[i] + all(1)));
}

/* *way holds the descent, and gets what is taken. No way stays 0xff. */
static void choose(struct row *way, const struct row *climb, const struct row *needed)
{
    for (unsigned i = 0; i < FAB_LEGAL_BATCH / 16; i++) {
        lane16 climbs = (lane16)(climb->v[i] <= way->v[i]) & ~needed->v[i];
        way->v[i] = ((climb->v[i] | all(FAB_LEGAL_CLIMBS)) & climbs) | (way->v[i] & ~climbs);
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

/* From those that descend to the ones above them; rows of others stay unknown. */
static void sweep_up(const struct fab_slopes *s, struct row *way, bool *descends)
{
    for (uint32_t p = 0; p < s->n; p++) {
        uint32_t sw = s->by_height[p];
        if (!descends[sw])
            continue;
        for (uint32_t i = s->mid[sw]; i < s->at[sw + 1]; i++) {
            relax(&way[s->nbr[i]], &way[sw]);
            descends[s->nbr[i]] = true;
        }
    }
}

/* Who descends to none of the destinations climbs as all others do that stand under one roof: of
 * such under[roof] is one. */
static void sweep_down(const struct fab_slopes *s, struct row *way, const bool *descends,
                       uint32_t *under, uint32_t *alike)
{
    uint32_t memory[MEMORY];
    struct row unknown;
    memset(memory, 0xff, sizeof(memory));
    memset(&unknown, UNKNOWN, sizeof(unknown));
    for (uint32_t p = s->n; p-- > 0;) {
        uint32_t sw = s->by_height[p], before = FAB_NONE, *first = &under[s->roof[sw]];
        struct row climb = unknown, needed = {0};
        if (!descends[sw] && *first != FAB_NONE) {
            way[sw] = way[*first];
            alike[sw] = alike[*first];
            continue;
        }
        for (uint32_t i = s->mid[sw]; i < s->at[sw + 1]; i++) {
            if (alike[s->nbr[i]] == before)
                continue;
            before = alike[s->nbr[i]];
            relax(&climb, &way[before]);
            find_need(&needed, &way[before], &way[sw]);
        }
        choose(&way[sw], &climb, &needed);
        alike[sw] = recall(memory, way, s->n, sw);
        if (!descends[sw])
            *first = sw;
    }
}

void fab_legal_ways(const struct fab_slopes *s, const uint32_t *destinations, uint32_t count,
                    uint8_t *ret_way)
{
    struct row *way = (struct row *)(void *)ret_way;
    bool *descends = fab_legal_descends(ret_way, s->n);
    memset(way, UNKNOWN, s->n * sizeof(*way));
    memset(descends, false, s->n * sizeof(*descends));
    for (uint32_t i = 0; i < count; i++) {
        ret_way[(size_t)destinations[i] * FAB_LEGAL_BATCH + i] = 0;
        descends[destinations[i]] = true;
    }
    sweep_up(s, way, descends);
    memset(fab_legal_under(ret_way, s->n), 0xff, s->n * sizeof(uint32_t)); /* FAB_NONE */
    sweep_down(s, way, descends, fab_legal_under(ret_way, s->n), fab_legal_alike(ret_way, s->n));
}

uint8_t *fab_legal_alloc(uint32_t n)
{
    size_t rows = (size_t)n + 1;
    size_t behind = rows * (2 * sizeof(uint32_t) + sizeof(bool));
    return aligned_alloc(64, rows * FAB_LEGAL_BATCH + (behind + 63) / 64 * 64);
}

static bool same_roof(const struct fab_slopes *s, uint32_t a, uint32_t b)
{
    uint32_t count = s->at[a + 1] - s->mid[a];
    return count == s->at[b + 1] - s->mid[b] &&
           memcmp(s->nbr + s->mid[a], s->nbr + s->mid[b], count * sizeof(*s->nbr)) == 0;
}

static int find_roofs(struct fab_slopes *s)
{
    uint32_t room = 64;
    while (room < 2 * s->n)
        room *= 2;
    uint32_t *first = malloc(room * sizeof(*first)); /* by signature */
    if (first == NULL)
        return FAB_E_NOMEM;
    memset(first, 0xff, room * sizeof(*first)); /* FAB_NONE */
    for (uint32_t sw = 0; sw < s->n; sw++) {
        uint64_t sum = 0;
        for (uint32_t i = s->mid[sw]; i < s->at[sw + 1]; i++)
            sum = fab_mix64(sum + s->nbr[i]);
        uint32_t at = (uint32_t)sum & (room - 1);
        while (first[at] != FAB_NONE && !same_roof(s, first[at], sw))
            at = (at + 1) & (room - 1);
        first[at] = first[at] == FAB_NONE ? sw : first[at];
        s->roof[sw] = first[at];
    }
    free(first);
    return FAB_OK;
}

int fab_slopes_make(const struct fab_graph *g, const struct fab_order *o, struct fab_slopes *ret)
{
    struct fab_slopes s = {.n = g->n, .by_height = o->at};
    size_t n = (size_t)g->n + 1;
    s.at = calloc(n, sizeof(*s.at));
    s.mid = calloc(n, sizeof(*s.mid));
    s.nbr = calloc((size_t)g->nbr_at[g->n] + 1, sizeof(*s.nbr));
    s.roof = calloc(n, sizeof(*s.roof));
    if (s.at == NULL || s.mid == NULL || s.nbr == NULL || s.roof == NULL) {
        fab_slopes_fini(&s);
        return FAB_E_NOMEM;
    }
    memcpy(s.at, g->nbr_at, n * sizeof(*s.at));
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t out = s.at[sw];
        for (unsigned up = 0; up <= 1; up++) {
            for (uint32_t i = g->nbr_at[sw]; i < g->nbr_at[sw + 1]; i++) {
                if (fab_order_is_up(o, sw, g->nbr[i]) == (up == 1))
                    s.nbr[out++] = g->nbr[i];
            }
            if (up == 0)
                s.mid[sw] = out;
        }
    }
    int status = find_roofs(&s);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_slopes_fini(&s);
    return status;
}

void fab_slopes_fini(struct fab_slopes *s)
{
    free(s->at);
    free(s->mid);
    free(s->nbr);
    free(s->roof);
    memset(s, 0, sizeof(*s));
}
