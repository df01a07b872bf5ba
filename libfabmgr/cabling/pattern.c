/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the cabling that most switches show. Each switch of a group votes with its port k for the
 * upper switch to which this port leads. The winner u is the upper switch to which port k of every
 * lower switch l of the group should lead. Several ports of l may lead to u; let port k be the t-th
 * of them, from 0. Each upper switch of the group then votes for the number of its t-th port that
 * leads to l. The winner is the number of the port of u to which port k of l should be connected.
 */
#include "libfabmgr/cabling/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct pattern {
    const struct fab_fabric *f;
    const struct fab_cabling_links *links;
    struct fab_cabling_plan *plan;
    /* The upper neighbours of each switch, sorted, without duplicates. Switch s has the neighbours
     * uppers[first[s]] to uppers[first[s + 1] - 1]. */
    uint32_t *first, *uppers;
    /* [f->switch_count] ids of the switches, sorted by their sets of upper neighbours */
    uint32_t *order;
    bool *grouped; /* [f->switch_count] true: the switch already belongs to a group */
    /* [f->switch_count] true: the switch is an upper neighbour of the group that is being made */
    bool *marked;
    uint32_t *members; /* [member_count] switches of the group that is being made */
    uint32_t member_count;
    uint32_t sure; /* number of links in the plan that were decided by a majority vote */
};

/* A majority vote by the algorithm of Boyer and Moore: a first pass over all votes finds the
 * candidate, a second pass counts its votes. */
struct vote {
    uint32_t candidate, lead, votes, seen;
};

static void add_vote(struct vote *v, uint32_t choice)
{
    if (v->lead == 0)
        v->candidate = choice;
    v->lead += choice == v->candidate ? 1u : -1u;
}

static void count_vote(struct vote *v, uint32_t choice)
{
    v->seen++;
    v->votes += choice == v->candidate;
}

static bool is_sure(const struct vote *v)
{
    return v->votes >= FAB_CABLING_VOTES && v->votes * 3 > v->seen * 2;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the switch of a higher level to which port k of switch s leads; FAB_NONE: port k leads to
 * none. */
static uint32_t upper_of(const struct pattern *p, uint32_t s, unsigned k)
{
    if (k > p->f->nodes[s].num_ports)
        return FAB_NONE;
    uint32_t peer = fab_cabling_peer_switch(p->f, p->f->nodes[s].first_port + k);
    return peer != FAB_NONE && p->links[peer].level > p->links[s].level ? peer : FAB_NONE;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void list_uppers(struct pattern *p)
{
    uint32_t end = 0;
    for (uint32_t s = 0; s < p->f->switch_count; s++) {
        uint32_t from = end, kept;
        p->first[s] = from;
        for (unsigned k = 1; k <= p->f->nodes[s].num_ports; k++)
            if (upper_of(p, s, k) != FAB_NONE)
                p->uppers[end++] = upper_of(p, s, k);
        qsort(p->uppers + from, end - from, sizeof *p->uppers, compare_ids);
        kept = from;
        for (uint32_t i = from; i < end; i++)
            if (kept == from || p->uppers[kept - 1] != p->uppers[i])
                p->uppers[kept++] = p->uppers[i];
        end = kept;
    }
    p->first[p->f->switch_count] = end;
}

static int compare_sets(const struct pattern *p, uint32_t x, uint32_t y)
{
    uint32_t a = p->first[x + 1] - p->first[x], b = p->first[y + 1] - p->first[y];
    if (a != b)
        return a < b ? -1 : 1;
    return memcmp(p->uppers + p->first[x], p->uppers + p->first[y], a * sizeof *p->uppers);
}

static int compare_switches(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare_sets(ctx, x, y);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Among the switches that are in no group yet, finds the most frequent set of upper neighbours, and
 * returns a switch with this set. FAB_NONE: each set occurs only once. */
static uint32_t find_seed(const struct pattern *p)
{
    uint32_t best = FAB_NONE, most = 1, run = 0, last = FAB_NONE;
    for (uint32_t i = 0; i < p->f->switch_count; i++) {
        uint32_t s = p->order[i];
        if (p->grouped[s] || p->first[s] == p->first[s + 1])
            continue;
        run = last != FAB_NONE && compare_sets(p, last, s) == 0 ? run + 1 : 1;
        last = s;
        if (run > most) {
            most = run;
            best = s;
        }
    }
    return best;
}

/* Makes the group of `seed`: the switches of its level that are in no group yet and have mostly the
 * same upper neighbours as `seed`. The common neighbours must be more than half of each of the two
 * sets. */
static void collect_group(struct pattern *p, uint32_t seed)
{
    uint32_t size = p->first[seed + 1] - p->first[seed];
    memset(p->marked, 0, p->f->switch_count * sizeof *p->marked);
    for (uint32_t i = p->first[seed]; i < p->first[seed + 1]; i++)
        p->marked[p->uppers[i]] = true;
    p->member_count = 0;
    for (uint32_t s = 0; s < p->f->switch_count; s++) {
        uint32_t shared = 0, own = p->first[s + 1] - p->first[s];
        if (p->grouped[s] || p->links[s].level != p->links[seed].level)
            continue;
        for (uint32_t i = p->first[s]; i < p->first[s + 1]; i++)
            shared += p->marked[p->uppers[i]];
        if (shared * 2 <= size || shared * 2 <= own)
            continue;
        p->grouped[s] = true;
        p->members[p->member_count++] = s;
    }
}

/* ---- votes ----------------------------------------------------------------------------------- */

static struct vote vote_for_upper(const struct pattern *p, unsigned k)
{
    struct vote v = {.candidate = FAB_NONE};
    for (uint32_t i = 0; i < p->member_count; i++)
        if (upper_of(p, p->members[i], k) != FAB_NONE)
            add_vote(&v, upper_of(p, p->members[i], k));
    for (uint32_t i = 0; i < p->member_count; i++)
        if (upper_of(p, p->members[i], k) != FAB_NONE)
            count_vote(&v, upper_of(p, p->members[i], k));
    return v;
}

/* Returns the number of the t-th port (from 0) of switch `upper` that leads to switch `lower`; 0:
 * there is none. */
static uint32_t port_to(const struct pattern *p, uint32_t upper, uint32_t lower, unsigned t)
{
    for (unsigned j = 1; j <= p->f->nodes[upper].num_ports; j++)
        if (fab_fabric_peer_node(p->f, p->f->nodes[upper].first_port + j) == lower && t-- == 0)
            return j;
    return 0;
}

static struct vote vote_for_port(const struct pattern *p, uint32_t lower, unsigned t)
{
    struct vote v = {.candidate = 0};
    for (uint32_t u = 0; u < p->f->switch_count; u++)
        if (p->marked[u] && port_to(p, u, lower, t) != 0)
            add_vote(&v, port_to(p, u, lower, t));
    for (uint32_t u = 0; u < p->f->switch_count; u++)
        if (p->marked[u] && port_to(p, u, lower, t) != 0)
            count_vote(&v, port_to(p, u, lower, t));
    return v;
}

/* ---- plan ------------------------------------------------------------------------------------ */

/* Adds a link to the plan, unless one of its ports already has a planned link. `sure` is true if
 * the link was decided by a majority vote. */
static int add_link(struct pattern *p, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b,
                    bool sure)
{
    const struct fab_cabling_link link = {.node = {a, b},
                                          .port = {(uint8_t)port_a, (uint8_t)port_b}};
    uint32_t other, before = p->plan->link_count;
    int rc = fab_cabling_plan_link(p->plan, &link, &other);
    p->sure += sure && p->plan->link_count > before;
    return rc == FAB_E_EXISTS || rc == FAB_E_INVAL ? FAB_OK : rc;
}

/* For each port number of the lower switches of a group: the vote for the upper switch to which
 * this port should lead. */
struct columns {
    struct vote upper[256];
    /* number of ports with a lower number than this port that, by majority vote, lead to the same
     * upper switch */
    unsigned t[256];
};

static void vote_for_columns(const struct pattern *p, struct columns *c)
{
    *c = (struct columns){0};
    for (unsigned k = 1; k < 255; k++) {
        c->upper[k] = vote_for_upper(p, k);
        for (unsigned i = 1; i < k; i++)
            c->t[k] += is_sure(&c->upper[i]) && c->upper[i].candidate == c->upper[k].candidate;
    }
}

/* Returns true if at least half of the cables of a switch agree with the votes of its group.
 * Otherwise the switch is probably cabled differently on purpose. */
static bool conforms(const struct pattern *p, const struct columns *c, uint32_t s)
{
    uint32_t same = 0, seen = 0;
    for (unsigned k = 1; k <= p->f->nodes[s].num_ports; k++) {
        if (!is_sure(&c->upper[k]) || upper_of(p, s, k) == FAB_NONE)
            continue;
        seen++;
        same += upper_of(p, s, k) == c->upper[k].candidate;
    }
    return same * 2 >= seen;
}

/* Adds to the plan each link of switch `s` that is decided by a majority of its group. */
static int add_member(struct pattern *p, const struct columns *c, uint32_t s)
{
    struct vote port[256];
    unsigned known = 0;
    int rc = FAB_OK;
    for (unsigned k = 1; k <= p->f->nodes[s].num_ports && rc == FAB_OK; k++) {
        if (!is_sure(&c->upper[k]))
            continue;
        for (; known <= c->t[k]; known++)
            port[known] = vote_for_port(p, s, known);
        const struct vote *far = &port[c->t[k]];
        if (is_sure(far))
            rc = add_link(p, s, k, c->upper[k].candidate, far->candidate, true);
    }
    return rc;
}

static int add_group(struct pattern *p)
{
    struct columns c;
    int rc = FAB_OK;
    vote_for_columns(p, &c);
    for (uint32_t i = 0; i < p->member_count && rc == FAB_OK; i++)
        if (conforms(p, &c, p->members[i]))
            rc = add_member(p, &c, p->members[i]);
    return rc;
}

static int add_groups(struct pattern *p)
{
    uint32_t seed;
    int rc = FAB_OK;
    while (rc == FAB_OK && (seed = find_seed(p)) != FAB_NONE) {
        collect_group(p, seed);
        rc = add_group(p);
    }
    return rc;
}

/* Adds the cables whose ports have no planned link yet to the plan, as they are. */
static int add_rest(struct pattern *p)
{
    int rc = FAB_OK;
    for (uint32_t i = 0; i < p->f->port_count && rc == FAB_OK; i++) {
        const struct fab_port *a = fab_fabric_port(p->f, i);
        if (a->peer == FAB_NONE || a->peer < i)
            continue;
        const struct fab_port *b = fab_fabric_port(p->f, a->peer);
        rc = add_link(p, a->node, a->num, b->node, b->num, false);
    }
    return rc;
}

int fab_cabling_find_pattern(const struct fab_fabric *f, const struct fab_cabling_links *links,
                             struct fab_cabling_plan *plan, uint32_t *ret_links)
{
    struct pattern p = {.f = f, .links = links, .plan = plan};
    p.first = fab_base_alloc_array(f->switch_count + 1u, sizeof *p.first);
    p.uppers = fab_base_alloc_array(f->port_count, sizeof *p.uppers);
    p.order = fab_base_alloc_array(f->switch_count, sizeof *p.order);
    p.members = fab_base_alloc_array(f->switch_count, sizeof *p.members);
    p.grouped = calloc(f->switch_count + 1u, sizeof *p.grouped);
    p.marked = calloc(f->switch_count + 1u, sizeof *p.marked);
    int rc = FAB_E_NOMEM;
    if (p.first != NULL && p.uppers != NULL && p.order != NULL && p.members != NULL &&
        p.grouped != NULL && p.marked != NULL)
        rc = fab_cabling_plan_add_nodes(plan, f);
    if (rc == FAB_OK) {
        list_uppers(&p);
        for (uint32_t s = 0; s < f->switch_count; s++)
            p.order[s] = s;
        if (f->switch_count > 1)
            qsort_r(p.order, f->switch_count, sizeof *p.order, compare_switches, &p);
        rc = add_groups(&p);
    }
    if (rc == FAB_OK)
        rc = add_rest(&p);
    if (rc == FAB_OK)
        *ret_links = p.sure;
    free(p.first);
    free(p.uppers);
    free(p.order);
    free(p.members);
    free(p.grouped);
    free(p.marked);
    return rc;
}
