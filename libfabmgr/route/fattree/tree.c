/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the positions of switches in a tree. D-mod-k (Zahavi) needs the position of each leaf in
 * its pod, of each pod in the fabric, and of each upper switch in its group.
 *
 * GUIDs do not contain this information. If the present switches were simply counted, the failure
 * of one switch would change the positions of all later ones. Port numbers contain the information:
 * the third leaf of a pod is connected to the third port of each of its upper switches, and stays
 * connected to this port when the second leaf fails.
 *
 * A group consists of switches of two successive ranks that are connected by links between these
 * ranks (for example the leaves and the middle switches of a pod). The position of a lower switch
 * in its group follows from the least port number by which upper switches reach it. The position of
 * an upper switch follows from the least port number by which lower switches reach it. The least
 * port number of the level stands for position 0. The port numbers of adjacent positions differ by
 * the least difference between port numbers of one group in the level; this difference is greater
 * than 1 if links are parallel. These positions are used if no two switches of the group have the
 * same position, and no more than about a fifth of the positions is empty. Otherwise (irregular
 * cabling, different switch models) the switches of the group are counted in the order of (port
 * number, GUID).
 *
 * The number of a switch is composed of two numbers: the number of the group in which it is a lower
 * switch, and its position in that group. A group takes the number that most of its upper switches
 * have. So the leaves of a pod have consecutive numbers, and the pods do, too.
 *
 * This file keeps no state: the same fabric always has the same positions, and when a link comes
 * back, the switches have their previous positions again.
 */
#include "libfabmgr/route/fattree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define NUMBER_MAX (1u << 20)
#define LEVELS 256

/* ---- ports to each neighbour ----------------------------------------------------------------- */

static void sort_ports(const struct fab_graph *g, const struct fab_updown *s, uint32_t *local,
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

static void ports_fini(struct fab_nbr_ports *c)
{
    free(c->at);
    free(c->num);
    memset(c, 0, sizeof(*c));
}

static int ports_make(const struct fab_graph *g, const struct fab_updown *s,
                      struct fab_nbr_ports *ret)
{
    struct fab_nbr_ports c = {0};
    uint32_t *local = fab_base_alloc_array((size_t)g->n + 1, sizeof(*local));
    c.at = fab_base_alloc_array((size_t)s->at[g->n] + 1, sizeof(*c.at));
    c.num = fab_base_alloc_array((size_t)g->port_at[g->n] + 1, sizeof(*c.num));
    if (local == NULL || c.at == NULL || c.num == NULL) {
        free(local);
        ports_fini(&c);
        return FAB_E_NOMEM;
    }
    sort_ports(g, s, local, &c);
    free(local);
    *ret = c;
    return FAB_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A switch as a member of a group. Each switch is in two groups, as a lower and as an upper switch.
 * In the arrays of struct positions, switch s has the index s as a lower switch, and the index n +
 * s as an upper switch (n: number of switches). */
struct member {
    uint32_t group, rail, least_port, sw;
};
struct positions {
    struct fab_arena arena; /* memory of the arrays */
    struct fab_tree *t;
    /* [2 * switches] group of switch s as a lower switch (index s), and as an upper switch (index s
     * + number of switches) */
    uint32_t *group;
    /* [2 * switches] least port number by which the other switches of the group reach the switch;
     * FAB_NONE if it has no links to them */
    uint32_t *least_port;
    uint32_t *rail; /* [switches] rail of each leaf */
    /* [2 * switches] By group: state of the majority vote (Boyer and Moore) that finds the number
     * that most upper switches of the group have. `vote` is the number that leads at present, and
     * `votes` is its lead over the other numbers. */
    uint32_t *vote, *votes;
    struct member *members; /* [switches] the members of the groups that are being examined */
};

static uint32_t find(uint32_t *parent, uint32_t x)
{
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

static void take_least(uint32_t *to, uint32_t num)
{
    *to = num < *to ? num : *to;
}

static void join_groups(struct positions *p)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n;
    for (uint32_t i = 0; i < 2 * n; i++) {
        p->group[i] = i;
        p->least_port[i] = FAB_NONE;
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = t->updown->at[s]; i < t->updown->at[s + 1]; i++) {
            uint32_t v = t->updown->nbr[i], num = t->ports.num[t->ports.at[i]];
            if (t->o->rank[v] == t->o->rank[s] + 1) {
                uint32_t a = find(p->group, s), b = find(p->group, n + v);
                p->group[a > b ? a : b] = a < b ? a : b;
                take_least(&p->least_port[n + v], num);
            } else if (t->o->rank[v] + 1 == t->o->rank[s]) {
                take_least(&p->least_port[v], num);
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
    if (x->least_port != y->least_port)
        return x->least_port < y->least_port ? -1 : 1;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

static bool same_group(const struct member *x, const struct member *y)
{
    return x->group == y->group && x->rail == y->rail;
}

/* Finds the positions of the members of one group. The members are m[from] to m[to - 1], sorted by
 * least_port. The position of a switch is (least_port - origin) / step, so positions of missing
 * switches stay free. If two positions are equal, or more than about a fifth of them are free, the
 * switches are numbered from 0 without gaps. origin: the least port number of the level. step: the
 * least difference between port numbers of one group in the level. Returns the number of positions,
 * free ones included. */
static uint32_t position(const struct member *m, uint32_t from, uint32_t to, uint32_t origin,
                         uint32_t step, uint32_t *ret_position)
{
    uint32_t count = to - from;
    uint32_t span = (m[to - 1].least_port - origin) / step + 1;
    bool distinct = span * 4 <= count * 5 + 3;
    for (uint32_t i = from + 1; i < to && distinct; i++)
        distinct = (m[i].least_port - origin) / step != (m[i - 1].least_port - origin) / step;
    for (uint32_t i = from; i < to; i++)
        ret_position[m[i].sw] = distinct ? (m[i].least_port - origin) / step : i - from;
    return distinct ? span : count;
}

/* Finds the position of each switch of a rank in one of its two groups: if `upper` is true, in the
 * group in which it is an upper switch; otherwise in the group in which it is a lower switch. The
 * leaves of each rail (rails.c) are numbered separately. Returns the greatest number of positions
 * in a group. */
static uint32_t position_rank(struct positions *p, uint32_t rank, bool upper,
                              uint32_t *ret_position)
{
    struct member *m = p->members;
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n, count = 0, origin = FAB_NONE, step = FAB_NONE, most = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t at = upper ? n + s : s;
        if (t->o->rank[s] != rank || p->least_port[at] == FAB_NONE)
            continue;
        m[count++] = (struct member){p->group[at], upper ? 0 : p->rail[s], p->least_port[at], s};
        take_least(&origin, p->least_port[at]);
    }
    qsort(m, count, sizeof(*m), by_group);
    for (uint32_t i = 1; i < count; i++) {
        if (same_group(&m[i], &m[i - 1]) && m[i].least_port != m[i - 1].least_port)
            take_least(&step, m[i].least_port - m[i - 1].least_port);
    }
    for (uint32_t from = 0, to = 0; from < count; from = to) {
        while (to < count && same_group(&m[from], &m[to]))
            to++;
        uint32_t positions = position(m, from, to, origin, step, ret_position);
        most = positions > most ? positions : most;
    }
    return most;
}

/* Sets upper_positions[] of each switch of a rank to `most`, the number of positions in the largest
 * group. Exception: if the group of the switch has fewer than three quarters as many positions,
 * upper_positions[] is the number of positions in this group. */
static void count_siblings(struct positions *p, uint32_t rank, uint32_t most)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n, *own = p->votes;
    memset(own, 0, 2 * (size_t)n * sizeof(*own));
    for (uint32_t s = 0; s < n; s++) {
        uint32_t *count = &own[p->group[n + s]];
        if (t->o->rank[s] == rank && t->upper_pos[s] + 1 > *count)
            *count = t->upper_pos[s] + 1;
    }
    for (uint32_t s = 0; s < n; s++) {
        if (t->o->rank[s] != rank)
            continue;
        uint32_t here = own[p->group[n + s]];
        t->upper_positions[s] = here * 4 >= most * 3 ? most : here;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Finds the number of each group: the number that most of its upper switches have (majority vote of
 * Boyer and Moore). */
static void vote(struct positions *p, uint32_t rank)
{
    const struct fab_tree *t = p->t;
    uint32_t n = t->g->n;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t group = p->group[n + s];
        if (t->o->rank[s] != rank || p->least_port[n + s] == FAB_NONE)
            continue;
        if (p->votes[group] == 0)
            p->vote[group] = t->number[s];
        p->votes[group] += p->vote[group] == t->number[s] ? 1u : -1u;
    }
}

static void number_rank(struct positions *p, uint32_t rank, uint32_t positions)
{
    struct fab_tree *t = p->t;
    uint32_t rails = rank == 0 ? t->rails : 1;
    memset(p->votes, 0, 2 * (size_t)t->g->n * sizeof(*p->votes));
    memset(p->vote, 0, 2 * (size_t)t->g->n * sizeof(*p->vote));
    vote(p, rank + 1);
    for (uint32_t s = 0; s < t->g->n; s++) {
        if (t->o->rank[s] != rank)
            continue;
        uint64_t above = p->least_port[s] != FAB_NONE ? p->vote[p->group[s]] : 0;
        uint64_t number =
            (above * rails + (rank == 0 ? p->rail[s] : 0)) * positions + t->lower_pos[s];
        t->number[s] = (uint32_t)(number % NUMBER_MAX);
    }
}

static void find_positions(struct positions *p)
{
    struct fab_tree *t = p->t;
    uint32_t n = t->g->n, positions[LEVELS] = {0};
    join_groups(p);
    for (uint32_t s = 0; s < n; s++)
        t->levels = t->o->rank[s] + 1u > t->levels ? t->o->rank[s] + 1u : t->levels;
    t->rails = fab_route_tree_rails(t->f, t->o, p->rail);
    for (uint32_t s = 0; s < n; s++)
        t->pods += t->o->rank[s] == 0 && p->group[s] == s && t->o->leaf[s];
    for (uint32_t rank = t->levels; rank-- > 0;) {
        positions[rank] = position_rank(p, rank, false, t->lower_pos);
        if (rank > 0)
            count_siblings(p, rank, position_rank(p, rank, true, t->upper_pos));
        number_rank(p, rank, positions[rank] > 0 ? positions[rank] : 1);
    }
}

/* ---- hosts ----------------------------------------------------------------------------------- */

uint32_t fab_route_tree_host_positions(const struct fab_fabric *f, uint32_t sw, uint32_t first,
                                       uint8_t ret[256])
{
    uint32_t hosts = 0, positions = 0, position = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                 peer = fab_fabric_peer_node(f, port);
        bool to_switch = peer != FAB_NONE && fab_fabric_node_is_switch(f, peer);
        bool host = peer != FAB_NONE && !to_switch && !f->nodes[peer].aggregation &&
                    fab_fabric_port_is_up(f, port);
        position += num > first && !to_switch;
        ret[num] = (uint8_t)position;
        hosts += host;
        positions = host ? position + 1 : positions;
    }
    if (positions * 4 <= hosts * 5 + 3)
        return positions;
    positions = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                 peer = fab_fabric_peer_node(f, port);
        ret[num] = (uint8_t)positions;
        positions += peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
                     fab_fabric_port_is_up(f, port);
    }
    return positions;
}

/* ---- making the tree ------------------------------------------------------------------------- */

static int alloc_positions(struct positions *p)
{
    size_t n = (size_t)p->t->g->n + 1;
    p->group = fab_base_arena_alloc(&p->arena, 2 * n, sizeof(*p->group));
    p->least_port = fab_base_arena_alloc(&p->arena, 2 * n, sizeof(*p->least_port));
    p->rail = fab_base_arena_alloc(&p->arena, n, sizeof(*p->rail));
    p->vote = fab_base_arena_alloc(&p->arena, 2 * n, sizeof(*p->vote));
    p->votes = fab_base_arena_alloc(&p->arena, 2 * n, sizeof(*p->votes));
    p->members = fab_base_arena_alloc(&p->arena, n, sizeof(*p->members));
    return !p->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

static int alloc_tree(struct fab_tree *t)
{
    size_t n = (size_t)t->g->n + 1;
    t->number = fab_base_arena_alloc(&t->arena, n, sizeof(*t->number));
    t->lower_pos = fab_base_arena_alloc(&t->arena, n, sizeof(*t->lower_pos));
    t->upper_pos = fab_base_arena_alloc(&t->arena, n, sizeof(*t->upper_pos));
    t->upper_positions = fab_base_arena_alloc(&t->arena, n, sizeof(*t->upper_positions));
    t->divider = fab_base_arena_alloc(&t->arena, n, sizeof(*t->divider));
    t->slot_at = fab_base_arena_alloc(&t->arena, n, sizeof(*t->slot_at));
    t->slot_nbrs = fab_base_arena_alloc(&t->arena, n, sizeof(*t->slot_nbrs));
    t->higher = fab_base_arena_alloc(&t->arena, (size_t)t->updown->at[t->g->n] + 1, 1);
    t->single_port = fab_base_arena_alloc(&t->arena, (size_t)t->updown->at[t->g->n] + 1, 1);
    t->full_class = fab_base_arena_alloc(&t->arena, n, 2 * sizeof(*t->full_class));
    t->port_class = fab_base_arena_alloc(&t->arena, n, 2 * sizeof(*t->port_class));
    t->whole = fab_base_arena_alloc(&t->arena, n, sizeof(*t->whole));
    t->irregular_switch = fab_base_arena_alloc(&t->arena, n, sizeof(*t->irregular_switch));
    return !t->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_tree_make(const struct fab_fabric *f, const struct fab_graph *g,
                        const struct fab_order *o, const struct fab_updown *updown,
                        struct fab_tree *ret)
{
    struct fab_tree t = {.f = f, .g = g, .o = o, .updown = updown};
    struct positions p = {.t = &t};
    int status = alloc_tree(&t);
    if (status == FAB_OK)
        status = ports_make(g, updown, &t.ports);
    if (status == FAB_OK)
        status = alloc_positions(&p);
    if (status == FAB_OK) {
        find_positions(&p);
        status = fab_route_tree_slots(&t);
    }
    if (status == FAB_OK)
        status = fab_route_tree_classes(&t);
    fab_base_arena_fini(&p.arena);
    if (status == FAB_OK)
        *ret = t;
    else
        fab_route_tree_fini(&t);
    return status;
}

void fab_route_tree_fini(struct fab_tree *t)
{
    ports_fini(&t->ports);
    fab_base_arena_fini(&t->arena);
    free(t->slot_num);
    free(t->slot_nbr);
    memset(t, 0, sizeof(*t));
}
