/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places in a tree. D-mod-k (Zahavi) wants to know which leaf of its pod a leaf is, which pod of
 * the fabric a pod is, and which switch of its group an upper switch is. GUIDs do not say it, and
 * counting what is there would give all later ones another place when one goes away. Cables do say
 * it: the third leaf of a pod is on the third port of each switch above it, and keeps that port
 * when the second leaf dies. So:
 *
 *   Switches of rank r and r + 1 that cables join form a group. In a group the lower ones are
 *   placed by the least port number at which they are met from above, the upper ones by that at
 *   which they are met from below, in steps of the least difference (parallel cables), from the
 *   least number that occurs on the level; where all differ and no more than a fifth of the places
 *   is empty. Cabling without such an order, or with ends of different makes, gives two switches
 *   the same place, or many empty ones: there the group is counted through by (port number, GUID).
 *
 *   The number of a switch is its place in the group above it, and before that the number of the
 *   group: that which most of the upper switches have. So leaves of a pod are numbered one after
 *   the other, pods too, and so on.
 *
 * Nothing is remembered: the same fabric always gets the same places, and a cable that comes back
 * brings the old ones back.
 */
#include "libfabmgr/route/fattree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define NUMBER_MAX (1u << 20)
#define LEVELS 256

/* ---- the cables of each neighbour ------------------------------------------------------------ */

static void sort_cables(const struct fab_graph *g, const struct fab_updown *s, uint32_t *local,
                        struct fab_nbr_ports *c)
{
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t out = g->port_at[sw];
        for (uint32_t i = s->at[sw]; i < s->at[sw + 1]; i++) {
            local[s->nbr[i]] = i;
            c->at[i] = 0;
        }
        for (uint32_t p = g->port_at[sw]; p < g->port_at[sw + 1]; p++)
            c->at[local[g->port_peer[p]]]++;
        for (uint32_t i = s->at[sw]; i < s->at[sw + 1]; i++) {
            uint32_t count = c->at[i];
            c->at[i] = out;
            out += count;
        }
        for (uint32_t p = g->port_at[sw]; p < g->port_at[sw + 1]; p++)
            c->num[c->at[local[g->port_peer[p]]]++] = g->port_num[p];
        for (uint32_t i = s->at[sw + 1]; i-- > s->at[sw] + 1;)
            c->at[i] = c->at[i - 1];
        if (s->at[sw + 1] > s->at[sw])
            c->at[s->at[sw]] = g->port_at[sw];
    }
    c->at[s->at[g->n]] = g->port_at[g->n];
}

static void cables_fini(struct fab_nbr_ports *c)
{
    free(c->at);
    free(c->num);
    memset(c, 0, sizeof(*c));
}

static int cables_make(const struct fab_graph *g, const struct fab_updown *s,
                       struct fab_nbr_ports *ret)
{
    struct fab_nbr_ports c = {0};
    uint32_t *local = fab_alloc_array((size_t)g->n + 1, sizeof(*local));
    c.at = fab_alloc_array((size_t)s->at[g->n] + 1, sizeof(*c.at));
    c.num = fab_alloc_array((size_t)g->port_at[g->n] + 1, sizeof(*c.num));
    if (local == NULL || c.at == NULL || c.num == NULL) {
        free(local);
        cables_fini(&c);
        return FAB_E_NOMEM;
    }
    sort_cables(g, s, local, &c);
    free(local);
    *ret = c;
    return FAB_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Each switch is in two: as a lower one (member s) and as an upper one (member n + s). */
struct member {
    uint32_t group, rail, met, sw;
};
struct places {
    struct fab_tree *t;
    uint32_t *group;        /* [2n] */
    uint32_t *met;          /* [2n] least port number it is met at, FAB_NONE: not at all */
    uint32_t *rail;         /* [n] */
    uint32_t *vote, *votes; /* [2n] by group: number of the group, and its lead */
    struct member *members; /* [n] */
};

static uint32_t find(uint32_t *parent, uint32_t x)
{
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

static void least(uint32_t *to, uint32_t num)
{
    *to = num < *to ? num : *to;
}

static void join_groups(struct places *p)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n;
    for (uint32_t i = 0; i < 2 * n; i++) {
        p->group[i] = i;
        p->met[i] = FAB_NONE;
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = t->slopes->at[s]; i < t->slopes->at[s + 1]; i++) {
            uint32_t v = t->slopes->nbr[i], num = t->cables.num[t->cables.at[i]];
            if (t->o->rank[v] == t->o->rank[s] + 1) {
                uint32_t a = find(p->group, s), b = find(p->group, n + v);
                p->group[a > b ? a : b] = a < b ? a : b;
                least(&p->met[n + v], num);
            } else if (t->o->rank[v] + 1 == t->o->rank[s]) {
                least(&p->met[v], num);
            }
        }
    }
    for (uint32_t i = 0; i < 2 * n; i++)
        p->group[i] = find(p->group, i);
}

static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->rail != y->rail)
        return x->rail < y->rail ? -1 : 1;
    if (x->met != y->met)
        return x->met < y->met ? -1 : 1;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

static bool together(const struct member *x, const struct member *y)
{
    return x->group == y->group && x->rail == y->rail;
}

/* Places for members[from..to), which are of one group. Returns how many places that makes. */
static uint32_t seat(const struct member *m, uint32_t from, uint32_t to, uint32_t origin,
                     uint32_t step, uint32_t *ret_place)
{
    uint32_t count = to - from;
    uint32_t span = (m[to - 1].met - origin) / step + 1;
    bool distinct = span * 4 <= count * 5 + 3;
    for (uint32_t i = from + 1; i < to && distinct; i++)
        distinct = (m[i].met - origin) / step != (m[i - 1].met - origin) / step;
    for (uint32_t i = from; i < to; i++)
        ret_place[m[i].sw] = distinct ? (m[i].met - origin) / step : i - from;
    return distinct ? span : count;
}

/* Places of all switches of a rank as lower or upper ones. Returns how many the greatest group
 * has. */
static uint32_t seat_rank(struct places *p, uint32_t rank, bool upper, uint32_t *ret_place)
{
    struct member *m = p->members;
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n, count = 0, origin = FAB_NONE, step = FAB_NONE, most = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t at = upper ? n + s : s;
        if (t->o->rank[s] != rank || p->met[at] == FAB_NONE)
            continue;
        m[count++] = (struct member){p->group[at], upper ? 0 : p->rail[s], p->met[at], s};
        least(&origin, p->met[at]);
    }
    qsort(m, count, sizeof(*m), by_group);
    for (uint32_t i = 1; i < count; i++) {
        if (together(&m[i], &m[i - 1]) && m[i].met != m[i - 1].met)
            least(&step, m[i].met - m[i - 1].met);
    }
    for (uint32_t from = 0, to = 0; from < count; from = to) {
        while (to < count && together(&m[from], &m[to]))
            to++;
        uint32_t places = seat(m, from, to, origin, step, ret_place);
        most = places > most ? places : most;
    }
    return most;
}

/* Places for siblings of an upper switch: those of its level, unless its own group has far fewer.
 */
static void count_siblings(struct places *p, uint32_t rank, uint32_t most)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n, *own = p->votes;
    memset(own, 0, 2 * (size_t)n * sizeof(*own));
    for (uint32_t s = 0; s < n; s++) {
        uint32_t *count = &own[p->group[n + s]];
        if (t->o->rank[s] == rank && t->over[s] + 1 > *count)
            *count = t->over[s] + 1;
    }
    for (uint32_t s = 0; s < n; s++) {
        if (t->o->rank[s] != rank)
            continue;
        uint32_t here = own[p->group[n + s]];
        t->siblings[s] = here * 4 >= most * 3 ? most : here;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The number that most of the upper switches of each group have (Boyer and Moore). */
static void vote(struct places *p, uint32_t rank)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t group = p->group[n + s];
        if (t->o->rank[s] != rank || p->met[n + s] == FAB_NONE)
            continue;
        if (p->votes[group] == 0)
            p->vote[group] = t->number[s];
        p->votes[group] += p->vote[group] == t->number[s] ? 1u : -1u;
    }
}

static void number_rank(struct places *p, uint32_t rank, uint32_t places)
{
    struct fab_tree *t = p->t;
    uint32_t rails = rank == 0 ? t->rails : 1;
    memset(p->votes, 0, 2 * (size_t)t->g->n * sizeof(*p->votes));
    memset(p->vote, 0, 2 * (size_t)t->g->n * sizeof(*p->vote));
    vote(p, rank + 1);
    for (uint32_t s = 0; s < t->g->n; s++) {
        if (t->o->rank[s] != rank)
            continue;
        uint64_t above = p->met[s] != FAB_NONE ? p->vote[p->group[s]] : 0;
        uint64_t number = (above * rails + (rank == 0 ? p->rail[s] : 0)) * places + t->under[s];
        t->number[s] = (uint32_t)(number % NUMBER_MAX);
    }
}

static void find_places(struct places *p)
{
    struct fab_tree *t = p->t;
    uint32_t n = t->g->n, places[LEVELS] = {0};
    join_groups(p);
    for (uint32_t s = 0; s < n; s++)
        t->levels = t->o->rank[s] + 1u > t->levels ? t->o->rank[s] + 1u : t->levels;
    t->rails = fab_route_tree_rails(t->f, t->o, p->rail);
    for (uint32_t s = 0; s < n; s++)
        t->pods += t->o->rank[s] == 0 && p->group[s] == s && t->o->leaf[s];
    for (uint32_t rank = t->levels; rank-- > 0;) {
        places[rank] = seat_rank(p, rank, false, t->under);
        if (rank > 0)
            count_siblings(p, rank, seat_rank(p, rank, true, t->over));
        number_rank(p, rank, places[rank] > 0 ? places[rank] : 1);
    }
}

/* ---- hosts ----------------------------------------------------------------------------------- */

uint32_t fab_route_tree_host_positions(const struct fab_fabric *f, uint32_t sw, uint32_t first,
                                       uint8_t ret[256])
{
    uint32_t hosts = 0, places = 0, seat = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_port_id(f, sw, (uint8_t)num), peer = fab_peer_node(f, port);
        bool to_switch = peer != FAB_NONE && fab_node_is_switch(f, peer);
        bool host = peer != FAB_NONE && !to_switch && !f->nodes[peer].aggregation &&
                    fab_port_is_up(f, port);
        seat += num > first && !to_switch;
        ret[num] = (uint8_t)seat;
        hosts += host;
        places = host ? seat + 1 : places;
    }
    if (places * 4 <= hosts * 5 + 3)
        return places;
    places = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_port_id(f, sw, (uint8_t)num), peer = fab_peer_node(f, port);
        ret[num] = (uint8_t)places;
        places += peer != FAB_NONE && !fab_node_is_switch(f, peer) && fab_port_is_up(f, port);
    }
    return places;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int alloc_places(struct places *p)
{
    size_t n = (size_t)p->t->g->n + 1;
    p->group = calloc(2 * n, sizeof(*p->group));
    p->met = calloc(2 * n, sizeof(*p->met));
    p->rail = calloc(n, sizeof(*p->rail));
    p->vote = calloc(2 * n, sizeof(*p->vote));
    p->votes = calloc(2 * n, sizeof(*p->votes));
    p->members = calloc(n, sizeof(*p->members));
    return p->group && p->met && p->rail && p->vote && p->votes && p->members ? FAB_OK
                                                                              : FAB_E_NOMEM;
}

static int alloc_tree(struct fab_tree *t)
{
    size_t n = (size_t)t->g->n + 1;
    t->number = calloc(n, sizeof(*t->number));
    t->under = calloc(n, sizeof(*t->under));
    t->over = calloc(n, sizeof(*t->over));
    t->siblings = calloc(n, sizeof(*t->siblings));
    t->divider = calloc(n, sizeof(*t->divider));
    t->slot_at = calloc(n, sizeof(*t->slot_at));
    t->slot_nbrs = calloc(n, sizeof(*t->slot_nbrs));
    t->higher = calloc((size_t)t->slopes->at[t->g->n] + 1, 1);
    t->lone = calloc((size_t)t->slopes->at[t->g->n] + 1, 1);
    t->twin = calloc(n, 2 * sizeof(*t->twin));
    t->cousin = calloc(n, 2 * sizeof(*t->cousin));
    t->whole = calloc(n, sizeof(*t->whole));
    t->irregular_switch = calloc(n, sizeof(*t->irregular_switch));
    bool good = t->number && t->under && t->over && t->siblings && t->divider && t->slot_at &&
                t->slot_nbrs && t->higher && t->lone && t->twin && t->cousin && t->whole &&
                t->irregular_switch;
    return good ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_tree_make(const struct fab_fabric *f, const struct fab_graph *g,
                        const struct fab_order *o, const struct fab_updown *slopes,
                        struct fab_tree *ret)
{
    struct fab_tree t = {.f = f, .g = g, .o = o, .slopes = slopes};
    struct places p = {.t = &t};
    int status = alloc_tree(&t);
    if (status == FAB_OK)
        status = cables_make(g, slopes, &t.cables);
    if (status == FAB_OK)
        status = alloc_places(&p);
    if (status == FAB_OK) {
        find_places(&p);
        status = fab_route_tree_slots(&t);
    }
    if (status == FAB_OK)
        status = fab_route_tree_classes(&t);
    free(p.group);
    free(p.met);
    free(p.rail);
    free(p.vote);
    free(p.votes);
    free(p.members);
    if (status == FAB_OK)
        *ret = t;
    else
        fab_route_tree_fini(&t);
    return status;
}

void fab_route_tree_fini(struct fab_tree *t)
{
    cables_fini(&t->cables);
    free(t->number);
    free(t->under);
    free(t->over);
    free(t->siblings);
    free(t->divider);
    free(t->slot_at);
    free(t->slot_num);
    free(t->slot_nbr);
    free(t->slot_nbrs);
    free(t->higher);
    free(t->lone);
    free(t->twin);
    free(t->cousin);
    free(t->whole);
    free(t->irregular_switch);
    memset(t, 0, sizeof(*t));
}
