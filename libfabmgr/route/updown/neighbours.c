/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the lower and upper neighbours of each switch by the total order, and groups switches into
 * equivalence classes by their neighbours. In a tree the classes are large. The leaves of a pod
 * have the same upper neighbours, and the middle switches of a pod have the same lower neighbours.
 * The core switches of a plane have the same neighbours of both kinds.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/graph/equivalence.h"
#include "libfabmgr/route/updown/legal_paths.h"

static bool equal_ranges(const uint32_t *nbr, const uint32_t a[2], const uint32_t b[2])
{
    uint32_t count = a[1] - a[0];
    return count == b[1] - b[0] && memcmp(nbr + a[0], nbr + b[0], count * sizeof(*nbr)) == 0;
}

static uint64_t hash_range(const uint32_t *nbr, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum = fab_base_mix64(sum + nbr[i]);
    return sum;
}

static bool equal_upper(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_updown *s = ctx;
    return equal_ranges(s->nbr, (uint32_t[]){s->mid[a], s->at[a + 1]},
                        (uint32_t[]){s->mid[b], s->at[b + 1]});
}
static uint64_t hash_upper(const void *ctx, uint32_t sw)
{
    const struct fab_updown *s = ctx;
    return hash_range(s->nbr, s->mid[sw], s->at[sw + 1]);
}

static bool equal_lower(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_updown *s = ctx;
    return equal_ranges(s->nbr, (uint32_t[]){s->at[a], s->mid[a]},
                        (uint32_t[]){s->at[b], s->mid[b]});
}
static uint64_t hash_lower(const void *ctx, uint32_t sw)
{
    const struct fab_updown *s = ctx;
    return hash_range(s->nbr, s->at[sw], s->mid[sw]);
}

struct pairs {
    const uint32_t *upper_class, *lower_class;
};
static bool equal_both(const void *ctx, uint32_t a, uint32_t b)
{
    const struct pairs *p = ctx;
    return p->upper_class[a] == p->upper_class[b] && p->lower_class[a] == p->lower_class[b];
}
static uint64_t hash_both(const void *ctx, uint32_t sw)
{
    const struct pairs *p = ctx;
    return ((uint64_t)p->upper_class[sw] << 32) + p->lower_class[sw];
}

/* Chooses the representative of each lower class (switches with the same lower neighbours): the
 * member that comes first in the order. On entry, lower_class[] names the member with the lowest
 * id. first[n] is scratch memory. */
static void list_lower_classes(struct fab_updown *s, uint32_t *first)
{
    memset(first, 0xff, s->n * sizeof(*first)); /* sets all elements to FAB_NONE */
    for (uint32_t p = 0; p < s->n; p++) {
        uint32_t sw = s->by_height[p], *lowest = &first[s->lower_class[sw]];
        if (*lowest == FAB_NONE)
            *lowest = s->lower_class_rep[s->lower_classes++] = sw;
        s->lower_class[sw] = *lowest;
    }
}

/* Finds the equivalence classes of switches with the same neighbours. upper_class[n] and pair[n]
 * are scratch memory. */
static int find_classes(struct fab_updown *s, uint32_t *upper_class, uint32_t *pair)
{
    const struct pairs p = {upper_class, s->lower_class};
    int status = fab_route_equivalence_classes(
        &(struct fab_equivalence){s, equal_upper, hash_upper}, s->n, upper_class);
    if (status == FAB_OK)
        status = fab_route_equivalence_classes(
            &(struct fab_equivalence){s, equal_lower, hash_lower}, s->n, s->lower_class);
    if (status == FAB_OK)
        status = fab_route_equivalence_classes(&(struct fab_equivalence){&p, equal_both, hash_both},
                                               s->n, pair);
    for (uint32_t sw = 0; sw < s->n && status == FAB_OK; sw++) {
        s->row_class[2 * sw] = 2 * upper_class[sw];
        s->row_class[2 * sw + 1] = 2 * pair[sw] + 1;
    }
    if (status == FAB_OK)
        list_lower_classes(s, upper_class);
    return status;
}

static int alloc_and_find_classes(struct fab_updown *s)
{
    uint32_t *upper_class = fab_base_alloc_array(s->n, sizeof(*upper_class));
    uint32_t *pair = fab_base_alloc_array(s->n, sizeof(*pair));
    int status =
        upper_class != NULL && pair != NULL ? find_classes(s, upper_class, pair) : FAB_E_NOMEM;
    free(upper_class);
    free(pair);
    return status;
}

int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret)
{
    struct fab_updown s = {.n = g->n, .by_height = o->at};
    size_t n = (size_t)g->n + 1;
    s.at = fab_base_arena_alloc(&s.arena, n, sizeof(*s.at));
    s.mid = fab_base_arena_alloc(&s.arena, n, sizeof(*s.mid));
    s.nbr = fab_base_arena_alloc(&s.arena, (size_t)g->nbr_at[g->n] + 1, sizeof(*s.nbr));
    s.row_class = fab_base_arena_alloc(&s.arena, n, 2 * sizeof(*s.row_class));
    s.lower_class = fab_base_arena_alloc(&s.arena, n, sizeof(*s.lower_class));
    s.lower_class_rep = fab_base_arena_alloc(&s.arena, n, sizeof(*s.lower_class_rep));
    if (s.arena.failed) {
        fab_route_updown_fini(&s);
        return FAB_E_NOMEM;
    }
    memcpy(s.at, g->nbr_at, n * sizeof(*s.at));
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t out = s.at[sw];
        for (unsigned up = 0; up <= 1; up++) {
            for (uint32_t i = g->nbr_at[sw]; i < g->nbr_at[sw + 1]; i++) {
                if (fab_route_order_is_up(o, sw, g->nbr[i]) == (up == 1))
                    s.nbr[out++] = g->nbr[i];
            }
            if (up == 0)
                s.mid[sw] = out;
        }
    }
    int status = alloc_and_find_classes(&s);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_route_updown_fini(&s);
    return status;
}

void fab_route_updown_fini(struct fab_updown *s)
{
    fab_base_arena_fini(&s->arena);
    memset(s, 0, sizeof(*s));
}
