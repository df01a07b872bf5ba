/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours below and above, by an order; and which switches have the same ones. In a tree those
 * are many: the leaves of a pod stand under one roof, its middle switches on one floor, the core
 * switches of a plane have both in common.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/graph/equivalence.h"
#include "libfabmgr/route/updown/legal_paths.h"

static bool same(const uint32_t *nbr, const uint32_t a[2], const uint32_t b[2])
{
    uint32_t count = a[1] - a[0];
    return count == b[1] - b[0] && memcmp(nbr + a[0], nbr + b[0], count * sizeof(*nbr)) == 0;
}

static uint64_t sign(const uint32_t *nbr, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum = fab_mix64(sum + nbr[i]);
    return sum;
}

static bool same_roof(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_updown *s = ctx;
    return same(s->nbr, (uint32_t[]){s->mid[a], s->at[a + 1]},
                (uint32_t[]){s->mid[b], s->at[b + 1]});
}
static uint64_t sign_roof(const void *ctx, uint32_t sw)
{
    const struct fab_updown *s = ctx;
    return sign(s->nbr, s->mid[sw], s->at[sw + 1]);
}

static bool same_floor(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_updown *s = ctx;
    return same(s->nbr, (uint32_t[]){s->at[a], s->mid[a]}, (uint32_t[]){s->at[b], s->mid[b]});
}
static uint64_t sign_floor(const void *ctx, uint32_t sw)
{
    const struct fab_updown *s = ctx;
    return sign(s->nbr, s->at[sw], s->mid[sw]);
}

struct pairs {
    const uint32_t *roof, *floor;
};
static bool same_pair(const void *ctx, uint32_t a, uint32_t b)
{
    const struct pairs *p = ctx;
    return p->roof[a] == p->roof[b] && p->floor[a] == p->floor[b];
}
static uint64_t sign_pair(const void *ctx, uint32_t sw)
{
    const struct pairs *p = ctx;
    return ((uint64_t)p->roof[sw] << 32) + p->floor[sw];
}

/* floor[]: from the lowest id to the switch that stands lowest. first: [n] */
static void list_storeys(struct fab_updown *s, uint32_t *first)
{
    memset(first, 0xff, s->n * sizeof(*first)); /* FAB_NONE */
    for (uint32_t p = 0; p < s->n; p++) {
        uint32_t sw = s->by_height[p], *lowest = &first[s->floor[sw]];
        if (*lowest == FAB_NONE)
            *lowest = s->storey[s->storeys++] = sw;
        s->floor[sw] = *lowest;
    }
}

/* roof, pair: [n], scratch. */
static int find_kinds(struct fab_updown *s, uint32_t *roof, uint32_t *pair)
{
    const struct pairs p = {roof, s->floor};
    int status = fab_route_equivalence_classes(&(struct fab_equivalence){s, same_roof, sign_roof},
                                               s->n, roof);
    if (status == FAB_OK)
        status = fab_route_equivalence_classes(&(struct fab_equivalence){s, same_floor, sign_floor},
                                               s->n, s->floor);
    if (status == FAB_OK)
        status = fab_route_equivalence_classes(&(struct fab_equivalence){&p, same_pair, sign_pair},
                                               s->n, pair);
    for (uint32_t sw = 0; sw < s->n && status == FAB_OK; sw++) {
        s->kind[2 * sw] = 2 * roof[sw];
        s->kind[2 * sw + 1] = 2 * pair[sw] + 1;
    }
    if (status == FAB_OK)
        list_storeys(s, roof);
    return status;
}

static int find_kin(struct fab_updown *s)
{
    uint32_t *roof = fab_alloc_array(s->n, sizeof(*roof));
    uint32_t *pair = fab_alloc_array(s->n, sizeof(*pair));
    int status = roof != NULL && pair != NULL ? find_kinds(s, roof, pair) : FAB_E_NOMEM;
    free(roof);
    free(pair);
    return status;
}

int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret)
{
    struct fab_updown s = {.n = g->n, .by_height = o->at};
    size_t n = (size_t)g->n + 1;
    s.at = calloc(n, sizeof(*s.at));
    s.mid = calloc(n, sizeof(*s.mid));
    s.nbr = calloc((size_t)g->nbr_at[g->n] + 1, sizeof(*s.nbr));
    s.kind = calloc(n, 2 * sizeof(*s.kind));
    s.floor = calloc(n, sizeof(*s.floor));
    s.storey = calloc(n, sizeof(*s.storey));
    if (s.at == NULL || s.mid == NULL || s.nbr == NULL || s.kind == NULL || s.floor == NULL ||
        s.storey == NULL) {
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
    int status = find_kin(&s);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_route_updown_fini(&s);
    return status;
}

void fab_route_updown_fini(struct fab_updown *s)
{
    free(s->at);
    free(s->mid);
    free(s->nbr);
    free(s->kind);
    free(s->floor);
    free(s->storey);
    memset(s, 0, sizeof(*s));
}
