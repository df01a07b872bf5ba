/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the groups of a dragonfly or dragonfly+ from the links.
 *
 * Dragonfly: two switches of one group have nearly all other switches of the group as common
 * neighbours; two switches of different groups have few. So a threshold for the number of common
 * neighbours separates local links from global links. find_cliques() tries all thresholds, from the
 * greatest down, until each component of local links is nearly a clique. list_hubs() then checks
 * that there is a hub, and that links join most pairs of groups.
 *
 * Dragonfly+: switches with hosts are leaves. Leaves and spines that links connect with each other
 * form a group. A switch without hosts may be a leaf that lost its hosts: it has no links to
 * leaves, and its links to spines lead to one group only.
 *
 * Groups without a link between them communicate through a hub, a group that is linked to all
 * others. If most pairs of groups have several links, and a pair lacks some of its links, the pair
 * sends a part of its packets through hubs. Without this, its remaining links would carry more than
 * other links.
 */
#include "libfabmgr/route/dragonfly/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

#define GROUPS_MAX 4096

struct search {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *set;   /* [switches] disjoint sets (sets.h) */
    uint32_t *stamp; /* [switches] scratch memory */
    /* [neighbours] number of neighbours that a switch and its neighbour have in common, by index of
     * the neighbour in g->nbr */
    uint32_t *common;
    /* [pairs of groups] number of parallel links between any two linked switches of the two groups;
     * FAB_NONE: not all linked pairs of switches have the same number */
    uint32_t *even;
    bool spines; /* true: dragonfly+, whose groups consist of leaves and spines */
    struct fab_groups s;
    char *why;
    size_t why_len;
};

static const char *name(const struct search *x, uint32_t sw)
{
    return x->f->nodes[sw].name;
}

static int init(struct search *x)
{
    size_t n = (size_t)x->g->n + 1;
    x->s.n = x->g->n;
    x->set = fab_base_arena_alloc(&x->arena, n, sizeof(*x->set));
    x->stamp = fab_base_arena_alloc(&x->arena, n, sizeof(*x->stamp));
    x->common =
        fab_base_arena_alloc(&x->arena, (size_t)x->g->nbr_at[x->g->n] + 1, sizeof(*x->common));
    x->s.of = fab_base_arena_alloc(&x->s.arena, n, sizeof(*x->s.of));
    x->s.spine = fab_base_arena_alloc(&x->s.arena, n, sizeof(*x->s.spine));
    x->s.all = fab_base_arena_alloc(&x->s.arena, n, sizeof(*x->s.all));
    x->s.pivot = fab_base_arena_alloc(&x->s.arena, n, sizeof(*x->s.pivot));
    x->s.link =
        fab_base_arena_alloc(&x->s.arena, (size_t)x->g->port_at[x->g->n] + 1, sizeof(*x->s.link));
    return !x->arena.failed && !x->s.arena.failed ? FAB_OK : FAB_E_NOMEM;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Turns each set of switches that the search has joined into a group. Groups are numbered in the
 * order of their lowest switch ids. Returns false if there is only one group, or too many. */
static bool number_groups(struct search *x)
{
    x->s.count = 0;
    for (uint32_t u = 0; u < x->g->n; u++) {
        uint32_t root = fab_base_sets_find(x->set, u);
        x->s.of[u] = root == u ? x->s.count++ : x->s.of[root];
    }
    return x->s.count > 1 && x->s.count <= GROUPS_MAX;
}

static int list_members(struct search *x)
{
    struct fab_groups *s = &x->s;
    s->first = fab_base_arena_alloc(&s->arena, (size_t)s->count + 2, sizeof(*s->first));
    if (s->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t u = 0; u < s->n; u++)
        s->first[s->of[u] + 2]++;
    for (uint32_t i = 0; i < s->count; i++)
        s->first[i + 2] += s->first[i + 1];
    for (uint32_t u = 0; u < s->n; u++)
        s->all[s->first[s->of[u] + 1]++] = u;
    return FAB_OK;
}

/* ---- global links ---------------------------------------------------------------------------- */

/* Sets stamp[u] to the position of switch u among the switches of its group, for all switches. In a
 * dragonfly+, spines and leaves are counted separately. */
static void rank_members(struct search *x)
{
    const struct fab_groups *s = &x->s;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t ranks[2] = {0, 0};
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
            x->stamp[s->all[k]] = ranks[s->spine[s->all[k]]]++;
    }
}

/* Sorts the `count` links from one group to another. Let p be the position of a switch in the
 * second group. A link to this switch becomes link p modulo count, if no other link has taken this
 * place. The number of a destination LID selects the link, and the LIDs at one switch have
 * consecutive numbers. So packets to these LIDs enter the group over different links. */
static void align_links(const struct search *x, struct fab_global_link *link, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = i;
        while (k < count && x->stamp[link[k].to] % count != i)
            k++;
        if (k == count)
            continue;
        struct fab_global_link swap = link[i];
        link[i] = link[k];
        link[k] = swap;
    }
}

/* Returns the number of parallel links from switch u to switch v. */
static uint32_t count_parallel(const struct fab_graph *g, uint32_t u, uint32_t v)
{
    uint32_t count = 0;
    for (uint32_t p = g->port_at[u]; p < g->port_at[u + 1]; p++)
        count += g->port_peer[p] == v;
    return count;
}

/* Calls add() for each switch u and each neighbour v of u in another group. Passes the number of
 * parallel links between u and v, and the index of the pair of groups. */
static void each_global(struct search *x, uint32_t *array,
                        void (*add)(struct search *x, uint32_t *array, size_t pair, uint32_t u,
                                    uint32_t v, uint32_t parallel))
{
    const struct fab_graph *g = x->g;
    for (uint32_t u = 0; u < x->s.n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (x->s.of[u] != x->s.of[v])
                add(x, array, (size_t)x->s.of[u] * x->s.count + x->s.of[v], u, v,
                    count_parallel(g, u, v));
        }
    }
}

/* Sets even[pair] to the number of parallel links between two switches of the groups, or to
 * FAB_NONE if two pairs of linked switches differ in this number. */
static void compare_parallel(struct search *x, uint32_t *even, size_t pair, uint32_t u, uint32_t v,
                             uint32_t parallel)
{
    (void)x;
    (void)u;
    (void)v;
    even[pair] = even[pair] == 0 || even[pair] == parallel ? parallel : FAB_NONE;
}

static void count_global(struct search *x, uint32_t *at, size_t pair, uint32_t u, uint32_t v,
                         uint32_t parallel)
{
    (void)u;
    (void)v;
    at[pair + 2] += x->even[pair] == FAB_NONE ? parallel : 1;
}

static void list_global(struct search *x, uint32_t *at, size_t pair, uint32_t u, uint32_t v,
                        uint32_t parallel)
{
    for (uint32_t i = 0; i < (x->even[pair] == FAB_NONE ? parallel : 1); i++)
        x->s.link[at[pair + 1]++] = (struct fab_global_link){u, v};
}

static int list_links(struct search *x)
{
    struct fab_groups *s = &x->s;
    size_t pairs = (size_t)s->count * s->count;
    uint32_t *at = calloc(pairs + 2, sizeof(*at));
    x->even = fab_base_arena_alloc(&x->arena, pairs + 1, sizeof(*x->even));
    s->at = at;
    if (at == NULL || x->even == NULL)
        return FAB_E_NOMEM;
    each_global(x, x->even, compare_parallel);
    each_global(x, at, count_global);
    for (size_t i = 0; i < pairs; i++)
        at[i + 2] += at[i + 1];
    each_global(x, at, list_global);
    rank_members(x);
    for (size_t i = 0; i < pairs; i++)
        align_links(x, s->link + at[i], at[i + 1] - at[i]);
    return FAB_OK;
}

/* Returns true if no local link of switch u is missing. In a dragonfly, u has a link to each other
 * switch of the group; in a dragonfly+, to each spine of the group. */
static bool has_all_local_links(const struct search *x, uint32_t u)
{
    const struct fab_groups *s = &x->s;
    for (uint32_t i = s->first[s->of[u]]; i < s->first[s->of[u] + 1]; i++) {
        uint32_t v = s->all[i];
        if (v != u && s->spine[v] == x->spines && !fab_route_graph_linked(x->g, u, v))
            return false;
    }
    return true;
}

static int list_pivots(struct search *x)
{
    struct fab_groups *s = &x->s;
    uint32_t count = 0;
    s->pivot_at = fab_base_arena_alloc(&s->arena, 2 * (size_t)s->count + 1, sizeof(*s->pivot_at));
    if (s->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t half = 0; half < 2 * s->count; half++) {
        uint32_t complete = 0;
        for (uint32_t i = s->first[half / 2]; i < s->first[half / 2 + 1]; i++) {
            uint32_t u = s->all[i];
            if (!s->spine[u] && has_all_local_links(x, u) && complete++ % 2 == half % 2)
                s->pivot[count++] = u;
        }
        s->pivot_at[half + 1] = count;
    }
    return FAB_OK;
}

/* Returns the group with the lowest number that has no link to group a; FAB_NONE: all groups have
 * links to group a. */
static uint32_t first_unlinked(const struct search *x, uint32_t a)
{
    const struct fab_global_link *link;
    for (uint32_t b = 0; b < x->s.count; b++) {
        if (a != b && fab_route_groups_links(&x->s, a, b, &link) == 0)
            return b;
    }
    return FAB_NONE;
}

/* Returns true if at least three quarters of the pairs of groups are linked. */
static bool are_mostly_linked(const struct search *x)
{
    const struct fab_global_link *link;
    uint64_t linked = 0, pairs = (uint64_t)x->s.count * (x->s.count - 1);
    for (uint32_t a = 0; a < x->s.count; a++) {
        for (uint32_t b = 0; b < x->s.count; b++)
            linked += a != b && fab_route_groups_links(&x->s, a, b, &link) > 0;
    }
    return linked * 4 >= pairs * 3;
}

/* Returns the number of links that at least three quarters of the pairs of groups have between
 * them; 1 if there is no such number, or if it is 0. */
static uint32_t usual_links(const struct search *x)
{
    const struct fab_global_link *link;
    uint32_t usual = 1, balance = 0;
    uint64_t found = 0, pairs = (uint64_t)x->s.count * (x->s.count - 1);
    for (unsigned counting = 0; counting < 2; counting++) {
        for (size_t i = 0; i < (size_t)x->s.count * x->s.count; i++) {
            uint32_t a = (uint32_t)(i / x->s.count), b = (uint32_t)(i % x->s.count);
            uint32_t links = a != b ? fab_route_groups_links(&x->s, a, b, &link) : usual;
            if (counting == 1) {
                found += a != b && links == usual;
            } else if (a != b) {
                usual = balance == 0 ? links : usual;
                balance = links == usual ? balance + 1 : balance - 1;
            }
        }
    }
    return usual > 0 && found * 4 >= pairs * 3 ? usual : 1;
}

/* Returns how many links group a lacks if it should have `usual` links to each other group. */
static uint32_t missing_links(const struct search *x, uint32_t a, uint32_t usual)
{
    const struct fab_global_link *link;
    uint32_t missing = 0;
    for (uint32_t b = 0; b < x->s.count; b++) {
        uint32_t links = a != b ? fab_route_groups_links(&x->s, a, b, &link) : usual;
        missing += links < usual ? usual - links : 0;
    }
    return missing;
}

/* Lists as hubs the groups that have at least `usual` links to each other group. Returns the
 * greatest number of links that any group lacks. */
static uint32_t choose_hubs(struct search *x, uint32_t usual)
{
    struct fab_groups *s = &x->s;
    uint32_t most = 0;
    s->usual = usual;
    s->hubs = 0;
    for (uint32_t a = 0; a < s->count; a++) {
        uint32_t missing = missing_links(x, a, usual);
        most = missing > most ? missing : most;
        s->is_hub[a] = missing == 0;
        if (missing == 0)
            s->hub[s->hubs++] = a;
    }
    return most;
}

/* Lists the hubs. If a group lacks links, its links to hubs also carry the traffic of the missing
 * links. This is too much if, in some group, each link to a hub would have to carry, in addition to
 * its own traffic, more than half the traffic of a missing link. In this case, hubs carry only the
 * traffic of groups without any link between them. Returns UNSUPPORTED if the topology is not a
 * dragonfly: it has no hub, or too few groups are linked. */
static int list_hubs(struct search *x)
{
    struct fab_groups *s = &x->s;
    uint32_t odd = 0, usual = usual_links(x);
    s->hub = fab_base_arena_alloc(&s->arena, (size_t)s->count + 1, sizeof(*s->hub));
    s->is_hub = fab_base_arena_alloc(&s->arena, (size_t)s->count + 1, sizeof(*s->is_hub));
    if (s->arena.failed)
        return FAB_E_NOMEM;
    uint64_t most = choose_hubs(x, usual);
    if (usual > 1 && 2 * most > (uint64_t)s->hubs * usual)
        choose_hubs(x, 1);
    if (s->hubs > 0 && are_mostly_linked(x))
        return FAB_OK;
    for (uint32_t a = 0; a < s->count; a++)
        odd = s->is_hub[a] ? odd : a;
    snprintf(x->why, x->why_len, "no dragonfly: no link between the groups of %.64s and %.64s",
             name(x, s->all[s->first[first_unlinked(x, odd)]]), name(x, s->all[s->first[odd]]));
    return FAB_E_UNSUPPORTED;
}

static int list_all(struct search *x)
{
    int status = list_members(x);
    if (status == FAB_OK)
        status = list_links(x);
    if (status == FAB_OK)
        status = list_pivots(x);
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
    fab_base_sets_init(x->set, x->g->n);
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (x->common[i] >= least)
                fab_base_sets_join(x->set, u, g->nbr[i]);
        }
    }
}

/* Returns true if each switch is linked to at least half of the other switches of its group, and
 * each group has several switches. */
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
             "no dragonfly: no groups of switches that are linked to each other");
    return FAB_E_UNSUPPORTED;
}

/* ---- leaves and spines ----------------------------------------------------------------------- */

static void join_leaves(struct search *x)
{
    const struct fab_graph *g = x->g;
    fab_base_sets_init(x->set, x->g->n);
    for (uint32_t u = 0; u < g->n; u++)
        x->s.spine[u] = g->hosts[u] == 0;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (x->s.spine[u] != x->s.spine[g->nbr[i]])
                fab_base_sets_join(x->set, u, g->nbr[i]);
        }
    }
}

/* Called for a switch u without hosts, which may be a leaf that lost them. If all neighbours of u
 * are spines of the same group, returns this group, as the root of its disjoint set (sets.h).
 * Otherwise returns FAB_NONE. */
static uint32_t only_set(struct search *x, uint32_t u)
{
    const struct fab_graph *g = x->g;
    uint32_t set = FAB_NONE;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t theirs = fab_base_sets_find(x->set, g->nbr[i]);
        if (theirs == u || !x->s.spine[g->nbr[i]] || (set != FAB_NONE && theirs != set))
            return FAB_NONE;
        set = theirs;
    }
    return set;
}

static void join_hostless_leaves(struct search *x)
{
    for (uint32_t u = 0; u < x->g->n; u++) {
        uint32_t set =
            x->s.spine[u] && fab_base_sets_find(x->set, u) == u ? only_set(x, u) : FAB_NONE;
        if (set == FAB_NONE)
            continue;
        x->s.spine[u] = false;
        fab_base_sets_join(x->set, u, set);
    }
}

static int check_pair(const struct search *x, uint32_t u, uint32_t v)
{
    const char *what = NULL;
    if (!x->s.spine[u] && !x->s.spine[v])
        what = "which both have hosts";
    else if (x->s.spine[u] && x->s.spine[v] && x->s.of[u] == x->s.of[v])
        what = "which are spines of one group";
    if (what == NULL)
        return FAB_OK;
    snprintf(x->why, x->why_len, "no dragonfly+: a link joins %.64s and %.64s, %s", name(x, u),
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
                     "no dragonfly+: switch %.64s is in no group of leaves and "
                     "spines",
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
    join_hostless_leaves(x);
    if (!number_groups(x)) {
        snprintf(x->why, x->why_len, "no dragonfly+: leaves and spines form %s",
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
    fab_base_arena_fini(&x.arena);
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
    fab_base_arena_fini(&s->arena);
    free(s->at);
    memset(s, 0, sizeof(*s));
}
