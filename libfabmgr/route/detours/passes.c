/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreads the loads of detours over more links, in passes over the broken trees.
 *
 * The first passes change one path after the other (spread.c). If a pass replaces a detour, the
 * dependencies of the old detour stay in the graph until the graph is made anew. They can exclude
 * other detours, but never hide a cycle.
 *
 * After some passes, nearly every further change would close a cycle with the detours of other
 * trees. So the next rounds ruin and recreate detours (Schrimpf, Schneider, Stamm-Wilbrandt, Dueck,
 * "Record breaking optimization results using the ruin and recreate principle", J. Computational
 * Physics 159, 2000). All trees that use one of the busiest links lose their detours, and with them
 * their dependencies. Then they get new detours, one tree after the other. If the greatest load is
 * not lower afterwards, the former detours return.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/detours/tree.h"

/* maximum number of passes that change single paths */
#define SPREADS 8
/* If trees x switches exceeds this number, the search does not spread loads. */
#define SPREAD_WORK (UINT64_C(1) << 23)
/* maximum number of rounds that recreate detours, and of trees x switches in all these rounds */
#define RECREATE_ROUNDS 32
#define RECREATE_WORK (UINT64_C(1) << 23)
/* number of passes over single paths in each round, after detours were recreated */
#define RECREATE_SPREADS 2
/* A round recreates the detours over one link. After a round that failed, the next round takes
 * another one of the BUSIEST links with the greatest loads. */
#define BUSIEST 5
/* While loads are spread, the searches for cycles may take SPREAD_LEAST steps, and SPREAD_STEPS
 * more for each pair of a tree and a switch. */
#define SPREAD_LEAST UINT64_C(40000000)
#define SPREAD_STEPS 4
/* The passes that change single paths may move this number of channels in the order of the graph,
 * and one channel more for each four pairs of a tree and a switch. */
#define SPREAD_MOVES UINT64_C(2000000)
/* Loads are spread until the greatest load is at most 5/4 of the greatest load of regular paths. */
#define GOOD(regular) ((regular) + (regular) / 4)

/* The state before a round that recreates detours. */
struct former {
    struct fab_arena arena;       /* memory of the arrays */
    struct fab_detour_tree *tree; /* [trees] */
    uint64_t *load;               /* [arcs] */
    size_t detours;
    uint64_t greatest;
    bool *ruined; /* [trees] true: the round removes the detours of the tree */
};

int fab_route_detour_store(struct fab_detour_search *x, struct fab_detour_tree *t)
{
    struct fab_detours *d = x->d;
    t->first = (uint32_t)d->detours;
    t->count = 0;
    for (uint32_t s = 0; s < x->g->n; s++) {
        if (s == t->dest || x->arc[s] == x->regular[s])
            continue;
        struct fab_detour *grown =
            fab_base_grow(d->detour, sizeof(*d->detour), d->detours + 1, &d->room);
        if (grown == NULL)
            return FAB_E_NOMEM;
        d->detour = grown;
        d->detour[d->detours++] = (struct fab_detour){s, x->head[x->arc[s]]};
        t->count++;
    }
    return FAB_OK;
}

bool fab_route_detour_renew_graph(struct fab_detour_search *x, bool regular, const bool *without)
{
    bool fine = true;
    fab_route_cdg_clear(&x->cdg.cdg);
    x->cdg.cdg.logging = false;
    fab_route_detour_add_reserved(x);
    for (uint32_t i = 0; i < x->d->trees; i++) {
        if (without != NULL && without[i])
            continue;
        fab_route_detour_load(x, &x->d->tree[i], regular);
        fab_route_detour_lay_out(x);
        fine &= fab_route_detour_add(x);
    }
    x->cdg.cdg.logging = true;
    return fine && !fab_route_detour_is_spent(x);
}

/* Returns true if the tree may get other detours. All other trees keep their regular paths, or the
 * paths that they share. */
static bool may_change(const struct fab_detour_tree *t)
{
    return t->broken && !t->fixed;
}

/* ---- passes that change single paths --------------------------------------------------------- */

/* Makes one pass over the trees. *ret_changed: true if some path changed. */
static int spread_once(struct fab_detour_search *x, uint64_t most_moved, bool *ret_changed)
{
    struct fab_detours *d = x->d;
    int status = FAB_OK;
    *ret_changed = false;
    for (uint32_t i = 0; i < d->trees && status == FAB_OK && !fab_route_detour_is_spent(x); i++) {
        if (x->cdg.cdg.moved > most_moved)
            break;
        if (!may_change(&d->tree[i]) || !fab_route_detour_spread(x, &d->tree[i]))
            continue;
        status = fab_route_detour_store(x, &d->tree[i]);
        *ret_changed = true;
    }
    x->greatest = fab_route_detour_greatest(x);
    return status;
}

static int spread_by_path(struct fab_detour_search *x, uint64_t good, uint64_t most_moved)
{
    int status = FAB_OK;
    bool more = true;
    for (unsigned pass = 0; pass < SPREADS && more && x->greatest > good; pass++) {
        if (pass % 2 == 0)
            fab_route_detour_renew_graph(x, false, NULL);
        status = spread_once(x, most_moved, &more);
        more &= status == FAB_OK && x->cdg.cdg.moved <= most_moved;
    }
    return status;
}

/* ---- rounds that recreate detours ------------------------------------------------------------ */

static bool uses(struct fab_detour_search *x, const struct fab_detour_tree *t, uint32_t arc)
{
    fab_route_detour_load(x, t, false);
    return x->arc[x->tail[arc]] == arc;
}

/* Removes the loads of those trees that use the arc and may change (may_change), and makes the
 * graph anew without their dependencies. ret_ruined[] tells which trees these are. Returns false if
 * the graph could not be made (fab_route_detour_renew_graph). */
static bool ruin(struct fab_detour_search *x, uint32_t arc, bool *ret_ruined)
{
    struct fab_detours *d = x->d;
    for (uint32_t i = 0; i < d->trees; i++) {
        ret_ruined[i] = may_change(&d->tree[i]) && uses(x, &d->tree[i], arc);
        if (!ret_ruined[i])
            continue;
        fab_route_detour_lay_out(x);
        fab_route_detour_change_loads(x, false);
    }
    return fab_route_detour_renew_graph(x, false, ret_ruined);
}

static bool add_paths(struct fab_detour_search *x, const struct fab_detour_tree *t, bool regular)
{
    fab_route_detour_load(x, t, regular);
    fab_route_detour_lay_out(x);
    return fab_route_detour_add(x);
}

/* Finds new detours for the tree. If there are none, the tree gets its former detours. Returns BUSY
 * if these would close a cycle, too; or NOMEM. */
static int recreate(struct fab_detour_search *x, struct fab_detour_tree *t)
{
    bool fine = add_paths(x, t, true) && fab_route_detour_connect(x, true);
    if (!fine) {
        fab_route_cdg_undo(&x->cdg.cdg, 0);
        fine = add_paths(x, t, false);
    }
    x->cdg.cdg.logged = 0;
    if (!fine)
        return FAB_E_BUSY;
    fab_route_detour_lay_out(x);
    fab_route_detour_change_loads(x, true);
    return fab_route_detour_store(x, t);
}

/* Recreates the detours of all trees that use the arc, in ascending or descending order of the
 * trees, and spreads the loads. Returns BUSY if the graph could not be made anew, or if some tree
 * gets no detours; or NOMEM. */
static int recreate_all(struct fab_detour_search *x, uint32_t arc, bool ascending, bool *ruined)
{
    struct fab_detours *d = x->d;
    int status = ruin(x, arc, ruined) ? FAB_OK : FAB_E_BUSY;
    bool changed;
    for (uint32_t i = 0; i < d->trees && status == FAB_OK; i++) {
        uint32_t tree = ascending ? i : d->trees - 1 - i;
        if (ruined[tree])
            status = recreate(x, &d->tree[tree]);
    }
    x->greatest = fab_route_detour_greatest(x);
    for (unsigned i = 0; i < RECREATE_SPREADS && status == FAB_OK; i++) {
        if (i > 0)
            fab_route_detour_renew_graph(x, false, NULL);
        status = spread_once(x, UINT64_MAX, &changed);
    }
    return status;
}

/* Returns an arc with the n-th greatest load per link. n = 0: the greatest load. Arcs with equal
 * loads count once. */
static uint32_t busiest(const struct fab_detour_search *x, uint32_t n)
{
    uint64_t limit = UINT64_MAX;
    uint32_t found = 0;
    for (uint32_t i = 0; i <= n; i++) {
        uint64_t most = 0;
        for (uint32_t arc = 0; arc < x->g->nbr_at[x->g->n]; arc++) {
            uint64_t load = x->load[arc] / x->width[arc];
            if (load <= most || load >= limit)
                continue;
            most = load;
            found = arc;
        }
        limit = most;
    }
    return found;
}

static int allocate(const struct fab_detour_search *x, struct former *f)
{
    f->tree = fab_base_arena_alloc(&f->arena, x->d->trees, sizeof(*f->tree));
    f->load = fab_base_arena_alloc(&f->arena, x->g->nbr_at[x->g->n], sizeof(*f->load));
    f->ruined = fab_base_arena_alloc(&f->arena, x->d->trees, sizeof(*f->ruined));
    return f->arena.failed ? FAB_E_NOMEM : FAB_OK;
}

static void save(const struct fab_detour_search *x, struct former *f)
{
    memcpy(f->tree, x->d->tree, x->d->trees * sizeof(*f->tree));
    memcpy(f->load, x->load, x->g->nbr_at[x->g->n] * sizeof(*f->load));
    f->detours = x->d->detours;
    f->greatest = x->greatest;
}

static void restore(struct fab_detour_search *x, const struct former *f)
{
    memcpy(x->d->tree, f->tree, x->d->trees * sizeof(*f->tree));
    memcpy(x->load, f->load, x->g->nbr_at[x->g->n] * sizeof(*f->load));
    x->d->detours = f->detours;
    x->greatest = f->greatest;
}

static int spread_by_recreating(struct fab_detour_search *x, uint64_t good, uint64_t rounds)
{
    struct former f = {.arena = {0}};
    int status = allocate(x, &f);
    uint32_t number = 0;
    for (uint32_t i = 0;
         i < rounds && status == FAB_OK && x->greatest > good && !fab_route_detour_is_spent(x);
         i++) {
        save(x, &f);
        status = recreate_all(x, busiest(x, number), i % 2 != 0, f.ruined);
        bool worse = status == FAB_E_BUSY || x->greatest >= f.greatest;
        number = worse ? i % BUSIEST : 0;
        if (worse)
            restore(x, &f);
        status = status == FAB_E_BUSY ? FAB_OK : status;
    }
    fab_base_arena_fini(&f.arena);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

int fab_route_detour_spread_all(struct fab_detour_search *x, uint64_t regular)
{
    uint64_t work = (uint64_t)x->d->trees * x->g->n, *budget = &x->cdg.cdg.budget;
    uint64_t kept = *budget, most_moved = x->cdg.cdg.moved + SPREAD_MOVES + work / 4;
    if (work == 0 || work > SPREAD_WORK)
        return FAB_OK;
    /* These steps are not subtracted from the caller's budget. The caller uses the rest of its
     * budget only if detours are lost. */
    *budget = SPREAD_LEAST + work * SPREAD_STEPS;
    x->greatest = fab_route_detour_greatest(x);
    int status = spread_by_path(x, GOOD(regular), most_moved);
    uint64_t rounds = RECREATE_WORK / work;
    if (status == FAB_OK)
        status = spread_by_recreating(x, GOOD(regular),
                                      rounds < RECREATE_ROUNDS ? rounds : RECREATE_ROUNDS);
    *budget = kept;
    return status;
}
