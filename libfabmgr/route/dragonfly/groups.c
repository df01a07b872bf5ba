/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which switches are a group.
 *
 * Cliques: two switches of one group have nearly all others of it as common neighbours, two of
 * different groups have few. So there is a number of common neighbours that tells local cables
 * from global ones; all are tried, from the greatest on, until what hangs together by the local
 * ones is, group by group, nearly a clique, and each two groups are joined.
 *
 * Leaves and spines: leaves have hosts. What leaves and spines make of cables between them is a
 * group; a switch with neither hosts nor leaves that hangs on spines of one group only is a leaf
 * that lost its hosts.
 *
 * Groups without a cable between them meet at a hub, a group that is joined to all.
 */
#include "libfabmgr/route/dragonfly/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

#define GROUPS_MAX 4096

struct search {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *set;    /* [n] sets.h */
    uint32_t *stamp;  /* [n] */
    uint32_t *common; /* [neighbours] common neighbours of both ends */
    bool spines;      /* groups have leaves and spines */
    struct fab_groups s;
    char *why;
    size_t why_len;
};

static const char *name(const struct search *x, uint32_t sw)
{
    return x->f->nodes[sw].desc;
}

static int init(struct search *x)
{
    size_t n = (size_t)x->g->n + 1;
    x->s.n = x->g->n;
    x->set = calloc(n, sizeof(*x->set));
    x->stamp = calloc(n, sizeof(*x->stamp));
    x->common = calloc((size_t)x->g->nbr_at[x->g->n] + 1, sizeof(*x->common));
    x->s.of = calloc(n, sizeof(*x->s.of));
    x->s.spine = calloc(n, sizeof(*x->s.spine));
    x->s.all = calloc(n, sizeof(*x->s.all));
    x->s.turner = calloc(n, sizeof(*x->s.turner));
    x->s.gate = calloc((size_t)x->g->nbr_at[x->g->n] + 1, sizeof(*x->s.gate));
    return x->set && x->stamp && x->common && x->s.of && x->s.spine && x->s.all && x->s.turner &&
                   x->s.gate
               ? FAB_OK
               : FAB_E_NOMEM;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Roots are the lowest of their set. False: too many groups, or one only. */
static bool number_groups(struct search *x)
{
    x->s.count = 0;
    for (uint32_t u = 0; u < x->g->n; u++) {
        uint32_t root = fab_sets_find(x->set, u);
        x->s.of[u] = root == u ? x->s.count++ : x->s.of[root];
    }
    return x->s.count > 1 && x->s.count <= GROUPS_MAX;
}

static int list_members(struct search *x)
{
    struct fab_groups *s = &x->s;
    s->first = calloc((size_t)s->count + 2, sizeof(*s->first));
    if (s->first == NULL)
        return FAB_E_NOMEM;
    for (uint32_t u = 0; u < s->n; u++)
        s->first[s->of[u] + 2]++;
    for (uint32_t i = 0; i < s->count; i++)
        s->first[i + 2] += s->first[i + 1];
    for (uint32_t u = 0; u < s->n; u++)
        s->all[s->first[s->of[u] + 1]++] = u;
    return FAB_OK;
}

/* ---- gates ----------------------------------------------------------------------------------- */

/* stamp[u]: the place of u in its group, among spines or among others. */
static void rank_members(struct search *x)
{
    const struct fab_groups *s = &x->s;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t ranks[2] = {0, 0};
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
            x->stamp[s->all[k]] = ranks[s->spine[s->all[k]]]++;
    }
}

/* Gate i leads to a place that is i modulo their number, where there is one: so the destinations of
 * a switch, numbered on, come to it by different cables, wherever they come from. */
static void align(const struct search *x, struct fab_global_link *gate, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        while (k < count && x->stamp[gate[k].to] % count != i)
            k++;
        if (k == count)
            continue;
        struct fab_global_link swap = gate[i];
        gate[i] = gate[k];
        gate[k] = swap;
    }
}

static int list_gates(struct search *x)
{
    const struct fab_graph *g = x->g;
    struct fab_groups *s = &x->s;
    size_t pairs = (size_t)s->count * s->count;
    uint32_t *at = calloc(pairs + 2, sizeof(*at));
    if (at == NULL)
        return FAB_E_NOMEM;
    for (uint32_t u = 0; u < s->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++)
            at[(size_t)s->of[u] * s->count + s->of[g->nbr[i]] + 2] += s->of[u] != s->of[g->nbr[i]];
    }
    for (size_t i = 0; i < pairs; i++)
        at[i + 2] += at[i + 1];
    for (uint32_t u = 0; u < s->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (s->of[u] != s->of[v])
                s->gate[at[(size_t)s->of[u] * s->count + s->of[v] + 1]++] =
                    (struct fab_global_link){u, v};
        }
    }
    s->at = at;
    rank_members(x);
    for (size_t i = 0; i < pairs; i++)
        align(x, s->gate + at[i], at[i + 1] - at[i]);
    return FAB_OK;
}

/* Joined to all others of its group that it should be joined to. */
static bool is_whole(const struct search *x, uint32_t u)
{
    const struct fab_groups *s = &x->s;
    for (uint32_t i = s->first[s->of[u]]; i < s->first[s->of[u] + 1]; i++) {
        uint32_t v = s->all[i];
        if (v != u && s->spine[v] == x->spines && !fab_route_graph_linked(x->g, u, v))
            return false;
    }
    return true;
}

static int list_turners(struct search *x)
{
    struct fab_groups *s = &x->s;
    uint32_t count = 0;
    s->turn = calloc(2 * (size_t)s->count + 1, sizeof(*s->turn));
    if (s->turn == NULL)
        return FAB_E_NOMEM;
    for (uint32_t half = 0; half < 2 * s->count; half++) {
        uint32_t whole = 0;
        for (uint32_t i = s->first[half / 2]; i < s->first[half / 2 + 1]; i++) {
            uint32_t u = s->all[i];
            if (!s->spine[u] && is_whole(x, u) && whole++ % 2 == half % 2)
                s->turner[count++] = u;
        }
        s->turn[half + 1] = count;
    }
    return FAB_OK;
}

/* Whom group a is not joined to, or FAB_NONE. */
static uint32_t lacks(const struct search *x, uint32_t a)
{
    const struct fab_global_link *gate;
    for (uint32_t b = 0; b < x->s.count; b++) {
        if (a != b && fab_route_groups_links(&x->s, a, b, &gate) == 0)
            return b;
    }
    return FAB_NONE;
}

/* At least half of the groups must be hubs: else it was meant to be something else. */
static int list_hubs(struct search *x)
{
    struct fab_groups *s = &x->s;
    uint32_t odd = 0;
    s->hub = calloc((size_t)s->count + 1, sizeof(*s->hub));
    s->is_hub = calloc((size_t)s->count + 1, sizeof(*s->is_hub));
    if (s->hub == NULL || s->is_hub == NULL)
        return FAB_E_NOMEM;
    for (uint32_t a = 0; a < s->count; a++) {
        s->is_hub[a] = lacks(x, a) == FAB_NONE;
        if (s->is_hub[a])
            s->hub[s->hubs++] = a;
        else
            odd = a;
    }
    if (s->hubs * 2 >= s->count)
        return FAB_OK;
    snprintf(x->why, x->why_len, "no dragonfly: no cable joins the groups of %.64s and of %.64s",
             name(x, s->all[s->first[lacks(x, odd)]]), name(x, s->all[s->first[odd]]));
    return FAB_E_UNSUPPORTED;
}

static int list_all(struct search *x)
{
    int status = list_members(x);
    if (status == FAB_OK)
        status = list_gates(x);
    if (status == FAB_OK)
        status = list_turners(x);
    return status == FAB_OK ? list_hubs(x) : status;
}

/* ---- cliques --------------------------------------------------------------------------------- */

static uint32_t count_common(struct search *x)
{
    const struct fab_graph *g = x->g;
    uint32_t most = 0;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++)
            x->stamp[g->nbr[i]] = u + 1;
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t v = g->nbr[i];
            for (uint32_t k = g->nbr_at[v]; k < g->nbr_at[v + 1]; k++)
                x->common[i] += x->stamp[g->nbr[k]] == u + 1;
            most = x->common[i] > most ? x->common[i] : most;
        }
    }
    return most;
}

static void join_local(struct search *x, uint32_t least)
{
    const struct fab_graph *g = x->g;
    fab_sets_init(x->set, x->g->n);
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (x->common[i] >= least)
                fab_sets_join(x->set, u, g->nbr[i]);
        }
    }
}

/* Everybody has cables to half of the others of his group, which are not just himself. */
static bool are_cliques(struct search *x)
{
    const struct fab_graph *g = x->g;
    memset(x->stamp, 0, (size_t)g->n * sizeof(*x->stamp));
    for (uint32_t u = 0; u < g->n; u++)
        x->stamp[x->s.of[u]]++;
    for (uint32_t u = 0; u < g->n; u++) {
        uint32_t local = 0, others = x->stamp[x->s.of[u]] - 1;
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++)
            local += x->s.of[g->nbr[i]] == x->s.of[u];
        if (others == 0 || local * 2 < others)
            return false;
    }
    return true;
}

static int find_cliques(struct search *x)
{
    for (uint32_t least = count_common(x); least > 0; least--) {
        join_local(x, least);
        if (number_groups(x) && are_cliques(x))
            return list_all(x);
    }
    snprintf(x->why, x->why_len,
             "no dragonfly: no groups of switches that are joined each to each");
    return FAB_E_UNSUPPORTED;
}

/* ---- leaves and spines ----------------------------------------------------------------------- */

static void join_leaves(struct search *x)
{
    const struct fab_graph *g = x->g;
    fab_sets_init(x->set, x->g->n);
    for (uint32_t u = 0; u < g->n; u++)
        x->s.spine[u] = g->hosts[u] == 0;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (x->s.spine[u] != x->s.spine[g->nbr[i]])
                fab_sets_join(x->set, u, g->nbr[i]);
        }
    }
}

/* The set that all neighbours of u are in, if u is alone; or FAB_NONE. */
static uint32_t only_set(struct search *x, uint32_t u)
{
    const struct fab_graph *g = x->g;
    uint32_t set = FAB_NONE;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t theirs = fab_sets_find(x->set, g->nbr[i]);
        if (theirs == u || !x->s.spine[g->nbr[i]] || (set != FAB_NONE && theirs != set))
            return FAB_NONE;
        set = theirs;
    }
    return set;
}

static void adopt_leaves(struct search *x)
{
    for (uint32_t u = 0; u < x->g->n; u++) {
        uint32_t set = x->s.spine[u] && fab_sets_find(x->set, u) == u ? only_set(x, u) : FAB_NONE;
        if (set == FAB_NONE)
            continue;
        x->s.spine[u] = false;
        fab_sets_join(x->set, u, set);
    }
}

static int check_pair(const struct search *x, uint32_t u, uint32_t v)
{
    const char *what = NULL;
    if (!x->s.spine[u] && !x->s.spine[v])
        what = "both with hosts";
    else if (x->s.spine[u] && x->s.spine[v] && x->s.of[u] == x->s.of[v])
        what = "spines of one group";
    if (what == NULL)
        return FAB_OK;
    snprintf(x->why, x->why_len, "no dragonfly+: a cable joins %.64s and %.64s, %s", name(x, u),
             name(x, v), what);
    return FAB_E_UNSUPPORTED;
}

static int check_leaf_spine(const struct search *x)
{
    const struct fab_graph *g = x->g;
    for (uint32_t u = 0; u < g->n; u++) {
        uint32_t local = 0;
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            int status = check_pair(x, u, g->nbr[i]);
            if (status != FAB_OK)
                return status;
            local += x->s.of[u] == x->s.of[g->nbr[i]];
        }
        if (local == 0) {
            snprintf(x->why, x->why_len,
                     "no dragonfly+: switch %.64s is in no group of leaves "
                     "and spines",
                     name(x, u));
            return FAB_E_UNSUPPORTED;
        }
    }
    return FAB_OK;
}

static int find_leaf_spine(struct search *x)
{
    x->spines = true;
    join_leaves(x);
    adopt_leaves(x);
    if (!number_groups(x)) {
        snprintf(x->why, x->why_len, "no dragonfly+: leaves and spines are %s",
                 x->s.count < 2 ? "one group" : "too many groups");
        return FAB_E_UNSUPPORTED;
    }
    int status = check_leaf_spine(x);
    return status == FAB_OK ? list_all(x) : status;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int search(const struct fab_fabric *f, const struct fab_graph *g, int how(struct search *),
                  struct fab_groups *ret, char *why, size_t why_len)
{
    struct search x = {.f = f, .g = g, .why = why, .why_len = why_len};
    int status = init(&x);
    if (status == FAB_OK)
        status = how(&x);
    free(x.set);
    free(x.stamp);
    free(x.common);
    if (status == FAB_OK)
        *ret = x.s;
    else
        fab_route_groups_fini(&x.s);
    return status;
}

int fab_route_groups_cliques(const struct fab_fabric *f, const struct fab_graph *g,
                             struct fab_groups *ret, char *why, size_t why_len)
{
    return search(f, g, find_cliques, ret, why, why_len);
}

int fab_route_groups_leaf_spine(const struct fab_fabric *f, const struct fab_graph *g,
                                struct fab_groups *ret, char *why, size_t why_len)
{
    return search(f, g, find_leaf_spine, ret, why, why_len);
}

void fab_route_groups_fini(struct fab_groups *s)
{
    free(s->of);
    free(s->spine);
    free(s->first);
    free(s->all);
    free(s->turn);
    free(s->turner);
    free(s->hub);
    free(s->is_hub);
    free(s->at);
    free(s->gate);
    memset(s, 0, sizeof(*s));
}
