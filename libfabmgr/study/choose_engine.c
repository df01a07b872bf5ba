/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines that know a topology are best where it is whole. With cables missing their tables can be
 * polished (libfabmgr/route/local_search/local_search.h), or another one may be better, and nothing
 * tells beforehand which: so all are measured, as people would measure them with "route compare",
 * and the figures are in the reason that people read. Polishing takes longest: it is done for the
 * first one, and for one that is better than that polished.
 *
 * A fault must not change the SL of a path that it does not touch. So none that needs other SLs
 * than 0 takes the place of another, and nothing takes its place.
 *
 * Neither figure alone will do. Who spreads all-to-all best often has more flows of a shift on one
 * cable, and the other way round: the product of both has a price for each. A whole tree never
 * comes here.
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
    struct fab_engine_choice *first; /* what there was */
    struct fab_engine_choice best;   /* with no engine: still the first */
    uint64_t best_score;
    char figures[200];
    uint32_t compared;
};

static void choice_fini(struct fab_engine_choice *c)
{
    fab_lft_fini(&c->lft);
    fab_vls_fini(&c->vls);
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

/* UNSUPPORTED: it is not good. */
static int prove(const struct comparison *c, struct fab_engine_choice *t)
{
    const struct fab_verify_input in = {
        .fabric = c->in.fabric,
        .lids = c->in.lids,
        .lft = &t->lft,
        .vls = &t->vls,
        .policy = c->in.policy,
        .max_hops = c->in.policy->max_hops,
        .crew = c->in.crew,
    };
    int status = fab_verify(&in, &t->verdict);
    return status == FAB_OK && !fab_verify_verdict_good(&t->verdict) ? FAB_E_UNSUPPORTED : status;
}

/* Hosts learn the SL of a path from subnet administration alone. */
static bool needs_sls(const struct fab_engine_choice *c)
{
    return fab_vls_many(&c->vls) && c->vls.sls > 1;
}

/* UNSUPPORTED, too, where it needs more lanes, or would give paths other SLs. */
static int compute(const struct comparison *c, struct fab_engine_choice *t)
{
    int status = t->engine->run(&c->in, &t->lft, &t->vls, t->why, sizeof(t->why));
    if (status == FAB_OK &&
        (fab_vls_count(&t->vls) > fab_vls_count(&c->first->vls) || needs_sls(t)))
        status = FAB_E_UNSUPPORTED;
    return status == FAB_OK ? prove(c, t) : status;
}

/* Takes t over: as the best, or not at all. `limit`: a greater score is worse. */
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

static int contend(struct comparison *c, const struct fab_route_engine *engine)
{
    struct fab_engine_choice t = {.engine = engine};
    int status = compute(c, &t);
    return enter(c, &t, status, engine->name, c->best_score - 1);
}

/* ---- polish ---------------------------------------------------------------------------------- */

static int copy(const struct fab_engine_choice *from, struct fab_engine_choice *to)
{
    to->engine = from->engine;
    memcpy(to->why, from->why, sizeof(to->why));
    int status = fab_vls_copy(&from->vls, &to->vls);
    if (status == FAB_OK)
        status = fab_lft_init(&to->lft, from->lft.switch_count, from->lft.top);
    if (status == FAB_OK)
        memcpy(to->lft.entries, from->lft.entries, from->lft.stride * from->lft.switch_count);
    return status;
}

static int polish(const struct comparison *c, struct fab_engine_choice *t)
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

/* What there is, in place of it when it is as good in figures: it is better in what these do not
 * say. */
static int refine(struct comparison *c, const struct fab_engine_choice *from)
{
    struct fab_engine_choice t = {.engine = NULL};
    int status = copy(from, &t);
    if (status == FAB_OK)
        status = polish(c, &t);
    if (status == FAB_OK)
        status = prove(c, &t);
    return enter(c, &t, status, "polished", c->best_score);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void settle(struct comparison *c)
{
    if (c->best.engine != NULL) {
        choice_fini(c->first);
        *c->first = c->best;
    }
    if (c->compared < 2)
        return;
    size_t used = strlen(c->first->why);
    snprintf(c->first->why + used, sizeof(c->first->why) - used,
             "; the best by all-to-all max/mean and worst shift: %s", c->figures);
}

static void warn_of_sls(struct fab_engine_choice *choice)
{
    size_t used = strlen(choice->why);
    if (needs_sls(choice))
        snprintf(choice->why + used, sizeof(choice->why) - used,
                 "; its paths take SLs 0 to %u, which hosts learn from subnet administration only",
                 choice->vls.sls - 1u);
}

static int compare(struct comparison *c, const struct fab_route_chain *chain, uint32_t taken)
{
    int status = measure(c, c->first, c->first->engine->name, &c->best_score);
    if (status == FAB_OK)
        status = refine(c, c->first);
    bool alone = needs_sls(c->first);
    for (uint32_t i = taken + 1; status == FAB_OK && !alone && i < chain->count; i++)
        status = contend(c, chain->engine[i]);
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
            settle(&c);
        else
            choice_fini(&c.best);
    }
    if (status == FAB_OK)
        warn_of_sls(choice);
    return status;
}
