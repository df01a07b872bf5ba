/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the engine with the best tables, if the first engine reports that the topology is flawed.
 *
 * Engines that recognise a topology are best where it is complete. If links are missing, local
 * search (libfabmgr/route/local_search/local_search.h) can improve their tables, or another engine
 * may be better. Which tables are best is not known beforehand. So this file measures the tables of
 * all engines, as "route compare" does, and appends the figures to the reason for the operator.
 * Local search takes longest. It runs only for the first engine, and for another engine whose
 * tables are better than the result of that search.
 *
 * A fault must not change the SL of a path that it does not affect. So tables that need other SLs
 * than 0 neither replace other tables nor are replaced.
 *
 * One figure alone is not enough: an engine that balances all-to-all better often has more flows of
 * a shift on one link, and an engine that balances shifts better often has a greater load of
 * all-to-all. The product of both figures decides. Complete trees are never compared, because their
 * engine reports no flaw.
 */
#include "libfabmgr/study/choose_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/local_search/local_search.h"
#include "libfabmgr/study/quality.h"

struct comparison {
    struct fab_route_input in;
    /* the tables that the first engine of the chain has made */
    struct fab_engine_choice *first;
    /* the best tables tried so far, if they are better than those of `first`; otherwise its member
     * `engine` is NULL */
    struct fab_engine_choice best;
    /* Score of the best tables so far: the greatest channel load of all-to-all traffic, multiplied
     * by the greatest number of flows that a shift puts on one channel. A lower score is better. */
    uint64_t best_score;
    char figures[200];
    uint32_t compared;
};

static void choice_fini(struct fab_engine_choice *c)
{
    fab_target_lft_fini(&c->lft);
    fab_target_vls_fini(&c->vls);
    fab_verify_verdict_fini(&c->verdict);
}

static void note(struct comparison *c, const char *name, const struct fab_quality *q)
{
    size_t used = strlen(c->figures);
    snprintf(c->figures + used, sizeof(c->figures) - used, "%s%s %.2f and %u",
             c->compared++ > 0 ? ", " : "", name, fab_study_quality_imbalance(q), q->shift.max);
}

static int measure(struct comparison *c, const struct fab_engine_choice *of, const char *name,
                   uint64_t *ret_score)
{
    struct fab_quality q;
    int status = fab_study_quality_measure(
        &(struct fab_quality_input){
            .fabric = c->in.fabric, .lids = c->in.lids, .lft = &of->lft, .seed = 1},
        &q);
    if (status != FAB_OK)
        return status;
    note(c, name, &q);
    *ret_score = q.all.max * q.shift.max;
    return FAB_OK;
}

/* Runs the proof of the tables. Returns UNSUPPORTED if they do not pass it. */
static int prove(const struct comparison *c, struct fab_engine_choice *t)
{
    const struct fab_verify_input in = {
        .fabric = c->in.fabric,
        .lids = c->in.lids,
        .lft = &t->lft,
        .vls = &t->vls,
        .policy = c->in.policy,
        .max_hops = c->in.policy->max_hops,
        .pool = c->in.pool,
    };
    int status = fab_verify(&in, &t->verdict);
    return status == FAB_OK && !fab_verify_verdict_good(&t->verdict) ? FAB_E_UNSUPPORTED : status;
}

/* Returns true if some paths have an SL other than 0. Hosts learn such an SL only from path records
 * of subnet administration. */
static bool needs_sls(const struct fab_engine_choice *c)
{
    return fab_target_vls_multiple(&c->vls) && c->vls.sls > 1;
}

/* Computes the tables of an engine, and proves them. Returns UNSUPPORTED if they do not pass the
 * proof, need more VLs than the tables of the first engine, or need SLs other than 0. Also returns
 * the errors of the engine. */
static int compute(const struct comparison *c, struct fab_engine_choice *t)
{
    int status = t->engine->run(&c->in, &t->lft, &t->vls, t->why, sizeof(t->why));
    if (status == FAB_OK &&
        (fab_target_vls_count(&t->vls) > fab_target_vls_count(&c->first->vls) || needs_sls(t)))
        status = FAB_E_UNSUPPORTED;
    return status == FAB_OK ? prove(c, t) : status;
}

/* Takes over the tables t, whose computation returned `status`. Keeps them as the best tables if
 * their score is at most `limit`; otherwise frees them. If `status` is UNSUPPORTED, there are no
 * tables to measure, and the function returns FAB_OK. It returns any other error. */
static int enter(struct comparison *c, struct fab_engine_choice *t, int status, const char *name,
                 uint64_t limit)
{
    uint64_t score = 0;
    if (status == FAB_OK)
        status = measure(c, t, name, &score);
    if (status == FAB_OK && score <= limit) {
        choice_fini(&c->best);
        c->best = *t;
        c->best_score = score;
    } else {
        choice_fini(t);
    }
    return status == FAB_E_UNSUPPORTED ? FAB_OK : status;
}

static int enter_engine(struct comparison *c, const struct fab_route_engine *engine)
{
    struct fab_engine_choice t = {.engine = engine};
    int status = compute(c, &t);
    return enter(c, &t, status, engine->name, c->best_score - 1);
}

/* ---- local search ---------------------------------------------------------------------------- */

static int copy(const struct fab_engine_choice *from, struct fab_engine_choice *to)
{
    to->engine = from->engine;
    memcpy(to->why, from->why, sizeof(to->why));
    int status = fab_target_vls_copy(&from->vls, &to->vls);
    if (status == FAB_OK)
        status = fab_target_lft_copy(&from->lft, &to->lft);
    return status;
}

static int search_locally(const struct comparison *c, struct fab_engine_choice *t)
{
    const struct fab_quality_input measured = {
        .fabric = c->in.fabric, .lids = c->in.lids, .lft = &t->lft};
    struct fab_local_search_input in = {
        .fabric = c->in.fabric, .policy = c->in.policy, .lids = c->in.lids, .vls = &t->vls};
    uint32_t *ends;
    int status = fab_study_quality_endports(&measured, &ends, &in.end_count);
    if (status != FAB_OK)
        return status;
    in.ends = ends;
    status = fab_route_local_search(&in, &t->lft);
    free(ends);
    return status;
}

/* Improves the tables of `from` by local search, and proves the result. The result replaces the
 * best tables even if their score is equal, because fewer flows then share links. */
static int refine(struct comparison *c, const struct fab_engine_choice *from)
{
    struct fab_engine_choice t = {.engine = NULL};
    int status = copy(from, &t);
    if (status == FAB_OK)
        status = search_locally(c, &t);
    if (status == FAB_OK)
        status = prove(c, &t);
    return enter(c, &t, status, "after local search", c->best_score);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void report_choice(struct comparison *c)
{
    if (c->best.engine != NULL) {
        choice_fini(c->first);
        *c->first = c->best;
    }
    if (c->compared < 2)
        return;
    size_t used = strlen(c->first->why);
    snprintf(c->first->why + used, sizeof(c->first->why) - used,
             "; best by all-to-all max/mean and worst shift: %s", c->figures);
}

static void report_sls(struct fab_engine_choice *choice)
{
    size_t used = strlen(choice->why);
    if (needs_sls(choice))
        snprintf(choice->why + used, sizeof(choice->why) - used,
                 "; paths use SLs 0 to %u: hosts must take the SL from path records",
                 choice->vls.sls - 1u);
}

static int compare(struct comparison *c, const struct fab_route_chain *chain, uint32_t taken)
{
    int status = measure(c, c->first, c->first->engine->name, &c->best_score);
    if (status == FAB_OK)
        status = refine(c, c->first);
    bool alone = needs_sls(c->first);
    for (uint32_t i = taken + 1; status == FAB_OK && !alone && i < chain->count; i++)
        status = enter_engine(c, chain->engine[i]);
    if (status == FAB_OK && c->best.engine != NULL && c->best.engine != c->first->engine)
        status = refine(c, &c->best);
    return status;
}

int fab_study_choose_engine(const struct fab_route_input *in, const struct fab_route_chain *chain,
                            uint32_t taken, struct fab_engine_choice *choice)
{
    struct comparison c = {.in = *in, .first = choice};
    uint64_t work = (uint64_t)in->fabric->switch_count * in->lids->top;
    int status = FAB_OK;
    c.in.flawed = NULL;
    if (chain->automatic && in->flawed != NULL && *in->flawed && work <= FAB_STUDY_CHOOSE_WORK) {
        status = compare(&c, chain, taken);
        if (status == FAB_OK)
            report_choice(&c);
        else
            choice_fini(&c.best);
    }
    if (status == FAB_OK)
        report_sls(choice);
    return status;
}
