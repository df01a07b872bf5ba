/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines that know a topology are best where it is whole. With cables missing another one may be
 * better, and nothing tells beforehand which: so all are measured, as people would measure them
 * with "route compare", and the figures are in the reason that people read.
 *
 * Neither figure alone will do. Who spreads all-to-all best often has more flows of a shift on one
 * cable, and the other way round: the product of both has a price for each. A whole tree never
 * comes here.
 */
#include "libfabmgr/choose/choose.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/quality/quality.h"

struct comparison {
    struct fab_route_input in;
    struct fab_choice *first; /* what there was */
    struct fab_choice best;   /* with no engine: still the first */
    uint64_t best_score;
    char figures[200];
    uint32_t compared;
};

static void choice_fini(struct fab_choice *c)
{
    fab_lft_fini(&c->lft);
    fab_vls_fini(&c->vls);
    fab_verdict_fini(&c->verdict);
}

static void note(struct comparison *c, const char *engine, const struct fab_quality *q)
{
    size_t used = strlen(c->figures);
    snprintf(c->figures + used, sizeof(c->figures) - used, "%s%s %.2f and %u",
             c->compared++ > 0 ? ", " : "", engine, fab_quality_imbalance(q), q->shift.max);
}

static int measure(struct comparison *c, const struct fab_choice *of, uint64_t *ret_score)
{
    struct fab_quality q;
    int status = fab_quality_measure(
        &(struct fab_quality_input){
            .fabric = c->in.fabric, .lids = c->in.lids, .lft = &of->lft, .seed = 1},
        &q);
    if (status != FAB_OK)
        return status;
    note(c, of->engine->name, &q);
    *ret_score = q.all.max * q.shift.max;
    return FAB_OK;
}

static int prove(const struct comparison *c, struct fab_choice *t)
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
    return fab_verify(&in, &t->verdict);
}

/* UNSUPPORTED, too, where it needs more lanes, which would give paths other SLs. */
static int compute(const struct comparison *c, struct fab_choice *t)
{
    int status = t->engine->run(&c->in, &t->lft, &t->vls, t->why, sizeof(t->why));
    if (status == FAB_OK && fab_vls_count(&t->vls) > fab_vls_count(&c->first->vls))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK)
        status = prove(c, t);
    if (status == FAB_OK && !fab_verdict_good(&t->verdict))
        status = FAB_E_UNSUPPORTED;
    return status;
}

static int contend(struct comparison *c, const struct fab_route_engine *engine)
{
    struct fab_choice t = {.engine = engine};
    uint64_t score = 0;
    int status = compute(c, &t);
    if (status == FAB_OK)
        status = measure(c, &t, &score);
    if (status == FAB_OK && score < c->best_score) {
        choice_fini(&c->best);
        c->best = t;
        c->best_score = score;
    } else {
        choice_fini(&t);
    }
    return status == FAB_E_UNSUPPORTED ? FAB_OK : status;
}

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

int fab_choose(const struct fab_route_input *in, const struct fab_route_chain *chain,
               uint32_t taken, struct fab_choice *choice)
{
    struct comparison c = {.in = *in, .first = choice};
    uint64_t work = (uint64_t)in->fabric->switch_count * in->lids->top;
    if (!chain->automatic || in->flawed == NULL || !*in->flawed || work > FAB_CHOOSE_WORK)
        return FAB_OK;
    c.in.flawed = NULL;
    int status = measure(&c, choice, &c.best_score);
    for (uint32_t i = taken + 1; status == FAB_OK && i < chain->count; i++)
        status = contend(&c, chain->engine[i]);
    if (status == FAB_OK)
        settle(&c);
    else
        choice_fini(&c.best);
    return status;
}
