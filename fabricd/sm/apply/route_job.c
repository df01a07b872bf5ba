/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work of the routing task, on a worker thread. New tables come from one of four sources: a
 * repair of the previous tables; an engine of the chain (the list of engines to try); the tables
 * that the switches hold; or the polish of the active tables (polish.c). The task proves the tables
 * and compares their load.
 */
#include "fabricd/sm/apply/route_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/study/choose_engine.h"

void sm_route_job_record(struct sm_route_job *j, const char *engine,
                         enum fab_choice_outcome outcome, const char *why)
{
    struct fab_choice_row *row = fab_target_choice_add(j->choice, engine, outcome, why);
    row->time_us = clock_now_us() - j->began_us;
    if (outcome != FAB_CHOICE_REFUSED)
        row->lanes = fab_target_vls_count(&j->of.target->vls);
}

int sm_route_job_prove(struct sm_route_job *j)
{
    struct fab_verify_input in = {
        .fabric = j->of.fabric,
        .lids = &j->of.target->lids,
        .lft = &j->of.target->lft,
        .vls = &j->of.target->vls,
        .policy = &j->of.policy,
        .max_hops = j->of.policy.max_hops,
        .pool = j->pool,
    };
    uint64_t start = clock_now_us();
    int r = fab_verify(&in, &j->verdict);
    j->proved_us = clock_now_us();
    j->verify_us += j->proved_us - start;
    return r;
}

bool sm_route_job_is_good(const struct sm_route_job *j)
{
    const struct fab_verdict *v = &j->verdict;
    return fab_verify_verdict_good(v) || (j->left_out && fab_verify_verdict_good_for_hosts(v)) ||
           (j->lost_pairs > 0 && v->unreachable_pairs == j->lost_pairs && v->deadlock_free &&
            v->beyond == 0 && v->witness.kind != FAB_E_LOOP);
}

/* In the new tables, replaces the entries of silent switches by those that these switches hold.
 * *ret_changed: this changed an entry of a switch that routes cannot avoid; the function then
 * proves the tables again. The first proof found a path for each pair, so pairs without a path are
 * now lost because of the silent switches. */
static int prove_fixed(struct sm_route_job *j, bool *ret_changed)
{
    *ret_changed = false;
    if (j->fixed.count == 0 || !fab_verify_verdict_good(&j->verdict))
        return FAB_OK;
    int r = sm_fixed_apply(&j->fixed, j->of.fabric, j->of.target, ret_changed);
    if (r != FAB_OK || !*ret_changed)
        return r;
    fab_verify_verdict_fini(&j->verdict);
    r = sm_route_job_prove(j);
    j->lost_pairs = r == FAB_OK ? j->verdict.unreachable_pairs : 0;
    return r;
}

struct fab_route_input sm_route_job_input(struct sm_route_job *j)
{
    return (struct fab_route_input){.fabric = j->of.fabric,
                                    .policy = &j->of.policy,
                                    .lids = &j->of.target->lids,
                                    .pool = j->pool,
                                    .flawed = &j->flawed};
}

/* Frees the tables that an engine computed, and their verdict. */
static void discard(struct sm_route_job *j)
{
    fab_verify_verdict_fini(&j->verdict);
    fab_target_lft_fini(&j->of.target->lft);
    fab_target_vls_fini(&j->of.target->vls);
}

static int run_engine(struct sm_route_job *j, const struct fab_route_engine *engine)
{
    struct fab_route_input in = sm_route_job_input(j);
    uint64_t start = clock_now_us();
    j->began_us = start;
    j->why[0] = 0;
    j->flawed = false;
    snprintf(j->of.target->engine, sizeof(j->of.target->engine), "%s", engine->name);
    int r = engine->run(&in, &j->of.target->lft, &j->of.target->vls, j->why, sizeof(j->why));
    j->computed_us = clock_now_us();
    j->route_us += j->computed_us - start;
    j->lost_pairs = 0;
    if (r == FAB_OK && j->former &&
        !sm_fixed_accepts_vls(&j->fixed, &j->former->vls, &j->of.target->vls)) {
        snprintf(j->why, sizeof(j->why), "silent switches cannot get other virtual lanes");
        discard(j);
        return FAB_E_UNSUPPORTED;
    }
    bool changed;
    if (r == FAB_OK)
        r = sm_route_job_prove(j);
    return r == FAB_OK ? prove_fixed(j, &changed) : r;
}

/* `taken` is the first engine in the chain whose tables passed the proof. With "auto", if this
 * engine says that another one may make better tables (flawed), and the fabric is small enough,
 * runs the later engines, too, and keeps the best tables. Otherwise keeps the tables of `taken`. */
static int choose(struct sm_route_job *j, const struct fab_route_chain *chain, uint32_t taken)
{
    struct fab_target *t = j->of.target;
    struct fab_route_input in = sm_route_job_input(j);
    struct fab_engine_choice c = {.engine = chain->engine[taken],
                                  .lft = t->lft,
                                  .vls = t->vls,
                                  .verdict = j->verdict,
                                  .record = j->choice,
                                  .now_us = clock_now_us};
    uint32_t row = j->choice->count;
    snprintf(c.why, sizeof(c.why), "%s", j->why);
    int r = fab_study_choose_engine(&in, chain, taken, &c);
    j->choice->row[row].time_us = j->proved_us - j->began_us;
    t->lft = c.lft;
    t->vls = c.vls;
    j->verdict = c.verdict;
    snprintf(t->engine, sizeof(t->engine), "%s", c.engine->name);
    snprintf(j->why, sizeof(j->why), "%s", c.why);
    uint64_t now = clock_now_us();
    j->route_us += now - j->proved_us;
    j->proved_us = now;
    return r;
}

/* Records that the tables of this engine are used, without a comparison with other engines. */
static void take(struct sm_route_job *j, const struct fab_route_engine *engine)
{
    sm_route_job_record(j, engine->name, FAB_CHOICE_TAKEN, j->why);
}

static void give_reason(struct sm_route_job *j)
{
    struct fab_target *t = j->of.target;
    fab_target_choice_sentence(j->choice, t->reason, sizeof(t->reason));
    fab_target_choice_unref(t->choice);
    t->choice = fab_target_choice_ref(j->choice);
}

/* Proves `standing`: the tables that the switches hold, with the missing paths added. If they pass
 * the proof, they replace the tables of the engine; otherwise they are freed. */
static int try_standing(struct sm_route_job *j, struct fab_lft *standing)
{
    struct fab_lft fresh = j->of.target->lft;
    struct fab_verdict verdict = j->verdict;
    bool left_out = j->left_out;
    j->verdict = (struct fab_verdict){0};
    j->of.target->lft = *standing;
    int r = sm_route_job_prove(j);
    j->left_out = r == FAB_OK && !fab_verify_verdict_good(&j->verdict);
    j->standing.adopted = r == FAB_OK && sm_route_job_is_good(j);
    if (j->standing.adopted) {
        fab_target_lft_fini(&fresh);
        fab_verify_verdict_fini(&verdict);
        return FAB_OK;
    }
    fab_target_lft_fini(standing);
    fab_verify_verdict_fini(&j->verdict);
    j->of.target->lft = fresh;
    j->verdict = verdict;
    j->left_out = left_out;
    return r;
}

/* Tries to use the tables that the switches hold, instead of the engine's tables. First adds the
 * missing paths to the tables of the switches, by a local repair if this is possible. The result
 * must pass the proof. few: use them only if the switches need few writes. */
static int adopt(struct sm_route_job *j, bool few)
{
    struct fab_lft standing = {0};
    struct fab_repair_session session = {0};
    int r = sm_standing_repair(&j->standing, &j->of, few, &session, &standing);
    if (r == FAB_OK && j->standing.differs)
        r = try_standing(j, &standing);
    if (r == FAB_OK && j->standing.adopted) {
        fab_repair_session_fini(&j->session);
        j->session = session;
        return FAB_OK;
    }
    fab_repair_session_fini(&session);
    if (r != FAB_OK && r != FAB_E_NOT_FOUND)
        return r;
    r = sm_standing_complete(&j->standing, j->of.fabric, j->of.target, few, &standing);
    return r == FAB_OK && j->standing.differs ? try_standing(j, &standing) : r;
}

/* Returns whether the tables that the switches hold may be adopted as soon as one engine has
 * succeeded. With several traffic classes they may not, because the VLs of the target are not
 * complete at this time. */
static bool may_adopt(const struct sm_route_job *j)
{
    return j->standing.any && j->fixed.needed == 0 &&
           fab_policy_classes_count(j->of.policy.classes) <= 1;
}

/* ---- the chain of engines -------------------------------------------------------------------- */

/* Tries the engines of the chain in order, until the tables of one pass the proof. With "auto",
 * later engines may then be compared with this one, unless the tables that the switches hold are
 * adopted: a take-over must not wait for a comparison. If no engine succeeds, returns OK with
 * the bad verdict of the last engine, or UNSUPPORTED if this engine made no tables. */
static int run_chain(struct sm_route_job *j, const struct fab_route_chain *chain)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct fab_route_engine *engine = chain->engine[i];
        bool last = i + 1 == chain->count;
        int status = run_engine(j, engine);
        if (status != FAB_OK && status != FAB_E_UNSUPPORTED)
            return status;
        if (status == FAB_OK && sm_route_job_is_good(j)) {
            if (may_adopt(j))
                status = adopt(j, true);
            /* without this flag, choose() does not run other engines */
            j->flawed = j->flawed && !j->standing.adopted && !j->standing.near;
            /* choose() would compare the tables without the entries of silent switches */
            if (status == FAB_OK && j->fixed.needed == 0)
                status = choose(j, chain, i);
            else
                take(j, engine);
            if (status == FAB_OK)
                status = sm_route_job_keep_sls(j);
            give_reason(j);
            return status;
        }
        if (status == FAB_OK && last)
            return FAB_OK;
        sm_route_job_record(j, engine->name,
                            status == FAB_OK ? FAB_CHOICE_UNPROVED : FAB_CHOICE_REFUSED,
                            status == FAB_OK ? fab_verify_verdict_failure(&j->verdict) : j->why);
        j->refuted |= status == FAB_OK;
        if (status == FAB_OK)
            discard(j);
        else if (last)
            return FAB_E_UNSUPPORTED;
    }
    return FAB_OK;
}

/* Chooses an engine for this topology, and records the choice. */
static int route(struct sm_route_job *j)
{
    struct fab_route_chain chain;
    int r = fab_route_chain_parse(j->of.policy.engine, &chain, j->why, sizeof(j->why));
    fab_target_choice_unref(j->choice);
    j->choice = fab_target_choice_new();
    if (r == FAB_OK && j->choice == NULL)
        r = FAB_E_NOMEM;
    if (r != FAB_OK)
        return r;
    r = run_chain(j, &chain);
    fab_target_choice_rejected(j->choice, j->passed, sizeof(j->passed));
    return r;
}

/* Makes the tables that the switches hold the new ones, and lets the repair session follow the
 * changes that another manager has made. */
static int follow_held(struct sm_route_job *j)
{
    struct fab_lft held = {0};
    int r = j->standing.any ? sm_standing_held(&j->standing, j->of.fabric->switch_count,
                                               j->of.target->lids.top, &held)
                            : FAB_E_NOT_FOUND;
    if (r == FAB_OK)
        r = fab_repair_session_follow(&j->session, j->former, j->of.fabric, &held, j->of.target);
    fab_target_lft_fini(&held);
    return r;
}

/* Makes the new tables as a repair of the former ones. Returns false if this is not possible; an
 * engine must then compute the tables. The repair may lack some paths from and to switches; a later
 * reroute adds these paths (reroutes.c). To compute them now, an engine would have to run in a
 * sweep, which faults cannot interrupt; a fault can interrupt the reroute. */
static bool follow(struct sm_route_job *j)
{
    if (!j->session.state || !sm_classes_fit(&j->of.policy, &j->former->vls))
        return false;
    uint64_t start = clock_now_us();
    int r = j->catches
                ? follow_held(j)
                : fab_repair_session_update(&j->session, j->former, j->of.fabric, j->of.target);
    j->computed_us = clock_now_us();
    j->route_us += j->computed_us - start;
    bool changed = false;
    if (r == FAB_OK && j->session.leaves_out && !j->may_leave_out)
        r = FAB_E_NOT_FOUND;
    j->left_out = r == FAB_OK && j->session.leaves_out;
    if (r == FAB_OK)
        r = sm_route_job_prove(j);
    if (r == FAB_OK)
        r = prove_fixed(j, &changed);
    if (r != FAB_OK || changed) /* the session does not fit the tables of this round */
        fab_repair_session_fini(&j->session);
    j->followed = j->catches && r == FAB_OK && sm_route_job_is_good(j);
    if (r == FAB_OK && sm_route_job_is_good(j))
        return true;
    fab_repair_session_fini(&j->session);
    j->lost_pairs = 0;
    j->left_out = false;
    discard(j);
    return false;
}

/* Assigns VLs to all traffic classes, because the engine has used the VLs of one class only. Then
 * proves the tables on the VLs of all classes. */
static int compose(struct sm_route_job *j)
{
    int r = sm_classes_compose(&j->of, &j->classes);
    j->composed = r == FAB_OK;
    if (r != FAB_OK || fab_target_vls_levels(&j->of.target->vls) < 2)
        return r;
    fab_verify_verdict_fini(&j->verdict);
    return sm_route_job_prove(j);
}

/* Divides the VLs into equal sets, one for each traffic class, and runs the engines with the VLs of
 * one set. If no engine can route with so few VLs, tries again with half as many sets, so that
 * several classes share a set. */
static int route_classes(struct sm_route_job *j)
{
    int r = FAB_OK;
    for (uint8_t sets = fab_policy_classes_count(j->of.policy.classes);; sets /= 2) {
        j->of.policy.lane_sets = sets;
        r = route(j);
        bool good = r == FAB_OK && sm_route_job_is_good(j);
        if (good || sets <= 1 || (r != FAB_OK && r != FAB_E_UNSUPPORTED))
            break;
        discard(j);
        j->refuted = false;
    }
    j->of.policy.lane_sets = 0;
    return r == FAB_OK && sm_route_job_is_good(j) ? compose(j) : r;
}

static bool same_lids(const struct fab_lids *a, const struct fab_lids *b)
{
    return a->top == b->top && a->port_count == b->port_count &&
           memcmp(a->base, b->base, a->port_count * sizeof(*a->base)) == 0;
}

/* Makes the polished tables the new ones, with the VLs of the active tables, and proves them.
 * Returns UNSUPPORTED if LIDs have changed since the active tables were made. */
static int take_polished(struct sm_route_job *j)
{
    struct fab_target *t = j->of.target;
    const struct fab_target *active = j->active;
    if (!same_lids(&t->lids, &active->lids))
        return FAB_E_UNSUPPORTED;
    t->lft = j->polish;
    j->polish = (struct fab_lft){0};
    snprintf(t->engine, sizeof(t->engine), "%s", active->engine);
    snprintf(t->reason, sizeof(t->reason), "%s", active->reason);
    t->choice = fab_target_choice_ref(active->choice);
    j->computed_us = clock_now_us();
    int r = fab_target_vls_copy(&active->vls, &t->vls);
    return r == FAB_OK ? sm_route_job_prove(j) : r;
}

static int make_tables(struct sm_route_job *j)
{
    if (j->polished)
        return take_polished(j);
    if (follow(j))
        return FAB_OK;
    return j->no_engine && !j->standing.any ? FAB_E_DENIED : route_classes(j);
}

void sm_route_job_work(void *ctx, struct loop_task *task)
{
    struct sm_route_job *j = ctx;
    uint64_t began_ns = clock_cpu_ns();
    j->status = make_tables(j);
    if (j->standing.any && !j->standing.adopted && !j->followed && j->status == FAB_OK &&
        sm_route_job_is_good(j) && j->fixed.needed == 0)
        j->status = adopt(j, false);
    if (j->no_engine && j->standing.any && j->standing.differs && !j->standing.adopted)
        j->status = FAB_E_DENIED;
    if (j->active && !j->polished && j->status == FAB_OK && sm_route_job_is_good(j))
        j->status = sm_rebalance_weigh(j->of.fabric, j->active, j->of.target, task, &j->gain);
    if (j->active && j->status == FAB_OK && sm_gains(&j->gain))
        j->status = sm_rebalance_order(j->of.fabric, j->active, j->of.target, j->pool, &j->gain);
    if (j->status == FAB_OK && !sm_route_job_is_good(j))
        (void)fab_verify_witness_text(j->of.fabric, &j->verdict.witness, &j->witness);
    j->cpu_ns = clock_cpu_ns() - began_ns;
}

void sm_route_job_free(struct sm_route_job *j)
{
    if (!j)
        return;
    fab_verify_verdict_fini(&j->verdict);
    fab_repair_session_fini(&j->session);
    fab_target_lft_fini(&j->polish);
    sm_fixed_fini(&j->fixed);
    sm_standing_fini(&j->standing);
    fab_target_unref(j->former);
    fab_target_unref(j->active);
    fab_target_choice_unref(j->choice);
    sm_sealed_fini(&j->of);
    free(j->witness);
    free(j);
}
