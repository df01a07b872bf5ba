/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the engine with the best tables, if the first engine reports that the topology is flawed.
 *
 * An engine for a certain topology makes the best tables if the topology is complete. If links are
 * missing, local search (libfabmgr/route/local_search/local_search.h) can improve its tables, or
 * another engine may be better. Which tables are best is not known beforehand. So this file
 * measures the tables of all engines, as "route compare" does, and records the figures for the
 * operator. Local search takes the most time. So it runs only for the tables of the first engine
 * and, if the tables of another engine are better than the result, for those.
 *
 * figures.c says which tables are better. Complete trees are never compared, because their engine
 * reports no flaw.
 *
 * A fault should not change the SL of a path that it does not affect, because hosts learn SLs only
 * from path records. So tables that need SLs other than 0 never replace tables that need only SL 0.
 * They replace tables that also need other SLs only if the first engine changes SLs after faults
 * anyway.
 */
#include "libfabmgr/study/choose_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/local_search/local_search.h"
#include "libfabmgr/study/figures.h"
#include "libfabmgr/study/quality.h"

struct comparison {
    struct fab_route_input in;
    /* the tables that the first engine of the chain has made */
    struct fab_engine_choice *first;
    /* the best tables so far; member `engine` NULL: the tables of `first` are the best so far */
    struct fab_engine_choice best;
    /* the record that operators see, with a row for each candidate; row number `best_row` is about
     * the best tables so far */
    struct fab_choice *record;
    uint32_t best_row;
};

static void choice_fini(struct fab_engine_choice *c)
{
    fab_target_lft_fini(&c->lft);
    fab_target_vls_fini(&c->vls);
    fab_verify_verdict_fini(&c->verdict);
}

static uint64_t now_us(const struct comparison *c)
{
    return c->first->now_us != NULL ? c->first->now_us() : 0;
}

/* Measures the tables of the engine choice `of`, and stores the figures in the row. */
static int measure(struct comparison *c, const struct fab_engine_choice *of,
                   struct fab_choice_row *row)
{
    const struct fab_figures_input in = {c->in.fabric, c->in.lids, &of->lft};
    int status = fab_study_figures_measure(&in, &row->figures);
    row->measured = status == FAB_OK;
    return status;
}

/* Runs the proof of the tables *t. Returns UNSUPPORTED if the tables do not pass it, or an error of
 * fab_verify. */
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

static struct fab_choice_row *add_row(struct comparison *c, const struct fab_engine_choice *t,
                                      enum fab_choice_outcome outcome, uint64_t start)
{
    struct fab_choice_row *row = fab_target_choice_add(c->record, t->engine->name, outcome, t->why);
    if (outcome != FAB_CHOICE_REFUSED)
        row->lanes = fab_target_vls_count(&t->vls);
    row->time_us = now_us(c) - start;
    return row;
}

/* Returns true if the SLs of the tables *t allow them to replace the first engine's tables. If the
 * first tables use only SL 0, *t must also use only SL 0, and must not need more VLs. If the first
 * tables use other SLs, tables with SL 0 alone may replace them, but tables with other SLs may
 * replace them only if the first engine changes SLs after faults anyway (moves_sls). Even then,
 * tables in which the VL depends on classes of ports may replace only tables of the same kind,
 * because local repairs do not support them. */
static bool lanes_fit(const struct comparison *c, const struct fab_engine_choice *t)
{
    const struct fab_engine_choice *first = c->first;
    if (!needs_sls(first))
        return !needs_sls(t) && fab_target_vls_count(&t->vls) <= fab_target_vls_count(&first->vls);
    return !needs_sls(t) ||
           (first->engine->moves_sls && (t->vls.classes <= 1 || first->vls.classes > 1));
}

/* Computes the tables of the engine t->engine, and proves them. Returns UNSUPPORTED if there are no
 * tables to compare; t->why then has the reason, and *ret_outcome the kind of reason. Returns other
 * errors of the engine and of the proof, too. */
static int compute(struct comparison *c, struct fab_engine_choice *t,
                   enum fab_choice_outcome *ret_outcome)
{
    int status = t->engine->run(&c->in, &t->lft, &t->vls, t->why, sizeof(t->why));
    if (status != FAB_OK) {
        *ret_outcome = FAB_CHOICE_REFUSED;
        return status;
    }
    if (!lanes_fit(c, t)) {
        *ret_outcome = FAB_CHOICE_UNFIT;
        snprintf(t->why, sizeof(t->why),
                 "its SLs or %u virtual lanes would make faults more costly than with %s",
                 fab_target_vls_count(&t->vls), c->first->engine->name);
        return FAB_E_UNSUPPORTED;
    }
    status = prove(c, t);
    if (status == FAB_E_UNSUPPORTED) {
        *ret_outcome = FAB_CHOICE_UNPROVED;
        snprintf(t->why, sizeof(t->why), "%s", fab_verify_verdict_failure(&t->verdict));
    }
    return status;
}

/* Takes over the tables *t, which are those of the last row of the record. Keeps them as the best
 * tables so far if `better` is true; otherwise frees them. */
static void enter(struct comparison *c, struct fab_engine_choice *t, bool better)
{
    if (!better) {
        choice_fini(t);
        return;
    }
    choice_fini(&c->best);
    c->best = *t;
    c->best_row = c->record->count - 1;
}

/* Returns true if the tables of the last row are better than the best tables so far. */
static bool is_better(const struct comparison *c)
{
    const struct fab_choice_row *best = &c->record->row[c->best_row],
                                *row = &c->record->row[c->record->count - 1];
    return fab_study_figures_better(&row->figures, row->lanes, &best->figures, best->lanes);
}

static int enter_engine(struct comparison *c, const struct fab_route_engine *engine)
{
    struct fab_engine_choice t = {.engine = engine};
    enum fab_choice_outcome outcome = FAB_CHOICE_NOT_BETTER;
    uint64_t start = now_us(c);
    int status = compute(c, &t, &outcome);
    bool better = false;
    if (status == FAB_OK || status == FAB_E_UNSUPPORTED) {
        struct fab_choice_row *row = add_row(c, &t, outcome, start);
        if (status == FAB_OK)
            status = measure(c, &t, row);
        better = status == FAB_OK && is_better(c);
    }
    enter(c, &t, better);
    return status == FAB_E_UNSUPPORTED ? FAB_OK : status;
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
 * best tables so far if no figure is worse by more than its tolerance. It need not be better in any
 * figure, because local search has also reduced the number of flows that share links. */
static int refine(struct comparison *c, const struct fab_engine_choice *from)
{
    struct fab_engine_choice t = {.engine = NULL};
    uint64_t start = now_us(c);
    bool better = false;
    int status = copy(from, &t);
    if (status == FAB_OK)
        status = search_locally(c, &t);
    if (status == FAB_OK)
        status = prove(c, &t);
    if (status == FAB_OK) {
        struct fab_choice_row *row = add_row(c, &t, FAB_CHOICE_NOT_BETTER, start);
        row->searched = true;
        status = measure(c, &t, row);
        better = status == FAB_OK &&
                 fab_study_figures_keep(&c->record->row[c->best_row].figures, &row->figures);
    }
    enter(c, &t, better);
    return status == FAB_E_UNSUPPORTED ? FAB_OK : status;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Replaces the tables in *c->first by the best tables, if better tables were found. */
static void report_choice(struct comparison *c)
{
    struct fab_engine_choice *first = c->first;
    if (c->best.engine == NULL)
        return;
    choice_fini(first);
    first->engine = c->best.engine;
    first->lft = c->best.lft;
    first->vls = c->best.vls;
    first->verdict = c->best.verdict;
    memcpy(first->why, c->best.why, sizeof(first->why));
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
    int status = measure(c, c->first, &c->record->row[c->best_row]);
    if (status == FAB_OK)
        status = refine(c, c->first);
    for (uint32_t i = taken + 1; status == FAB_OK && i < chain->count; i++)
        status = enter_engine(c, chain->engine[i]);
    if (status == FAB_OK && c->best.engine != NULL && c->best.engine != c->first->engine)
        status = refine(c, &c->best);
    return status;
}

/* Marks the row of the best tables, which will be used, as FAB_CHOICE_TAKEN. The outcomes of the
 * other rows stay as they are. */
static void mark_taken(struct comparison *c)
{
    struct fab_choice_row *row = &c->record->row[c->best_row];
    row->outcome = FAB_CHOICE_TAKEN;
    snprintf(row->why, sizeof(row->why), "%s", c->first->why);
}

int fab_study_choose_engine(const struct fab_route_input *in, const struct fab_route_chain *chain,
                            uint32_t taken, struct fab_engine_choice *choice)
{
    struct fab_choice unrecorded = {0};
    struct comparison c = {.in = *in, .first = choice};
    uint64_t work = (uint64_t)in->fabric->switch_count * in->lids->top;
    int status = FAB_OK;
    c.in.flawed = NULL;
    c.record = choice->record != NULL ? choice->record : &unrecorded;
    add_row(&c, choice, FAB_CHOICE_NOT_BETTER, now_us(&c));
    c.best_row = c.record->count - 1;
    if (chain->automatic && in->flawed != NULL && *in->flawed && work <= FAB_STUDY_CHOOSE_WORK) {
        status = compare(&c, chain, taken);
        if (status == FAB_OK)
            report_choice(&c);
        else
            choice_fini(&c.best);
    }
    if (status == FAB_OK) {
        report_sls(choice);
        mark_taken(&c);
    }
    return status;
}
