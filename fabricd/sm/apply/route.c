/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "routing" computes and proves tables on a worker thread. The task has a reference to the
 * snapshot, the LIDs of this round, and a copy of the policy. So its input cannot change during the
 * task. If the round is aborted before the result reaches the loop thread, the result is dropped.
 *
 * Tables that fail their proof are dropped. The switches then keep their tables; an alarm gives the
 * reason, and an event gives the witness.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/choose_engine.h"

struct sm_route_job {
    struct loop_task *task; /* the worker task; NULL: it has ended */
    /* The snapshot and policy of this task; of.target has the LIDs, and the task adds tables, VLs
     * and the name of the engine. */
    struct sm_sealed of;
    struct fab_target *former; /* the previous tables; NULL: none */
    /* The active tables, with which a rebalance compares the new ones; NULL in other rounds. */
    struct fab_target *active;
    struct sm_gain gain;
    struct fab_repair_session session; /* repair session of `former`; empty: none */
    struct sm_fixed fixed;             /* the tables of silent switches */
    /* Number of pairs without a path because of the fixed tables of silent switches. */
    uint64_t lost_pairs;
    /* A repair may leave out paths from and to switches. */
    bool may_leave_out;
    bool left_out; /* such a repair has left out paths */
    const struct fab_pool *pool;
    struct fab_verdict verdict;
    char *witness;
    int status;
    /* Message for operators from the engine that ran last or that was chosen, for example why it
     * failed. */
    char why[300];
    /* The engines considered so far, with figures or reasons. */
    struct fab_choice *choice;
    uint64_t began_us; /* manager's clock when the last engine began */
    /* Names of the engines that were passed over, with reasons. */
    char passed[800];
    /* At least one engine was passed over because its tables failed their proof. */
    bool refuted;
    uint64_t route_us, verify_us;
    /* manager's clock when the last engine ended (computed_us), and when the proof of its tables
     * ended (proved_us) */
    uint64_t computed_us, proved_us;
    uint64_t cpu_ns; /* CPU time of the worker thread */
    struct sm_classes classes;
    bool composed; /* the task has set `classes` */
    /* The engine reports that another engine may spread load better on this fabric. */
    bool flawed;
    bool over;
};

/* ---- on the worker ---- */

/* Records an engine whose tables will not be used. */
static void pass_over(struct sm_route_job *j, const char *engine, enum fab_choice_outcome outcome,
                      const char *why)
{
    struct fab_choice_row *row = fab_target_choice_add(j->choice, engine, outcome, why);
    row->time_us = clock_now_us() - j->began_us;
    if (outcome != FAB_CHOICE_REFUSED)
        row->lanes = fab_target_vls_count(&j->of.target->vls);
}

static int prove(struct sm_route_job *j)
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

/* Returns whether the tables passed their proof. Two kinds of lost paths do not count as a failure:
 * paths lost only because of the fixed tables of a silent switch, and paths from and to switches
 * that a repair left out. */
static bool is_good(const struct sm_route_job *j)
{
    const struct fab_verdict *v = &j->verdict;
    return fab_verify_verdict_good(v) || (j->left_out && fab_verify_verdict_good_for_hosts(v)) ||
           (j->lost_pairs > 0 && v->unreachable_pairs == j->lost_pairs && v->deadlock_free &&
            v->beyond == 0 && v->witness.kind != FAB_E_LOOP);
}

/* Gives silent switches the entries that they hold, and proves the tables again. The pairs that now
 * have no path are counted as lost, because they had one before. */
static int prove_fixed(struct sm_route_job *j, bool *ret_changed)
{
    *ret_changed = false;
    if (j->fixed.count == 0 || !fab_verify_verdict_good(&j->verdict))
        return FAB_OK;
    int r = sm_fixed_apply(&j->fixed, j->of.fabric, j->of.target, ret_changed);
    if (r != FAB_OK || !*ret_changed)
        return r;
    fab_verify_verdict_fini(&j->verdict);
    r = prove(j);
    j->lost_pairs = r == FAB_OK ? j->verdict.unreachable_pairs : 0;
    return r;
}

static struct fab_route_input input(struct sm_route_job *j)
{
    return (struct fab_route_input){.fabric = j->of.fabric,
                                    .policy = &j->of.policy,
                                    .lids = &j->of.target->lids,
                                    .pool = j->pool,
                                    .flawed = &j->flawed};
}

/* Drops the tables of an engine whose tables will not be used. */
static void discard(struct sm_route_job *j)
{
    fab_verify_verdict_fini(&j->verdict);
    fab_target_lft_fini(&j->of.target->lft);
    fab_target_vls_fini(&j->of.target->vls);
}

static int run_engine(struct sm_route_job *j, const struct fab_route_engine *engine)
{
    struct fab_route_input in = input(j);
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
        r = prove(j);
    return r == FAB_OK ? prove_fixed(j, &changed) : r;
}

/* Runs the engines that come later in the chain (the list of engines to try). If their tables are
 * better than the first ones that passed the proof, takes them instead. This happens only with
 * engine "auto" on a damaged fabric. */
static int choose(struct sm_route_job *j, const struct fab_route_chain *chain, uint32_t taken)
{
    struct fab_target *t = j->of.target;
    struct fab_route_input in = input(j);
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

/* Records tables that were not compared with others. */
static void take(struct sm_route_job *j, const struct fab_route_engine *engine)
{
    pass_over(j, engine->name, FAB_CHOICE_TAKEN, j->why);
}

static void give_reason(struct sm_route_job *j)
{
    struct fab_target *t = j->of.target;
    fab_target_choice_sentence(j->choice, t->reason, sizeof(t->reason));
    fab_target_choice_unref(t->choice);
    t->choice = fab_target_choice_ref(j->choice);
}

/* Runs the engines of the chain in order, until the tables of one pass the proof. "auto" may then
 * choose a better engine. If no engine succeeds, the verdict is that of the last engine. */
static int run_chain(struct sm_route_job *j, const struct fab_route_chain *chain)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct fab_route_engine *engine = chain->engine[i];
        bool last = i + 1 == chain->count;
        int status = run_engine(j, engine);
        if (status != FAB_OK && status != FAB_E_UNSUPPORTED)
            return status;
        if (status == FAB_OK && is_good(j)) {
            /* choose() cannot take fixed tables into account. */
            if (j->fixed.needed == 0)
                status = choose(j, chain, i);
            else
                take(j, engine);
            give_reason(j);
            return status;
        }
        if (status == FAB_OK && last)
            return FAB_OK;
        pass_over(j, engine->name, status == FAB_OK ? FAB_CHOICE_UNPROVED : FAB_CHOICE_REFUSED,
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

/* Makes the new tables as a repair of the former ones for the present fabric. Returns false if this
 * is not possible, so that an engine must compute the tables. The tables are used even if paths
 * from and to switches are left out: a sweep does not yield to faults while an engine computes. The
 * reroute that follows does yield (reroutes.c). */
static bool follow(struct sm_route_job *j)
{
    if (!j->session.state || !sm_classes_fit(&j->of.policy, &j->former->vls))
        return false;
    uint64_t start = clock_now_us();
    int r = fab_repair_session_update(&j->session, j->former, j->of.fabric, j->of.target);
    j->computed_us = clock_now_us();
    j->route_us += j->computed_us - start;
    bool changed = false;
    if (r == FAB_OK && j->session.leaves_out && !j->may_leave_out)
        r = FAB_E_NOT_FOUND;
    j->left_out = r == FAB_OK && j->session.leaves_out;
    if (r == FAB_OK)
        r = prove(j);
    if (r == FAB_OK)
        r = prove_fixed(j, &changed);
    if (r != FAB_OK || changed) /* the session has the labels of other tables, or is empty */
        fab_repair_session_fini(&j->session);
    if (r == FAB_OK && is_good(j))
        return true;
    fab_repair_session_fini(&j->session);
    j->lost_pairs = 0;
    j->left_out = false;
    discard(j);
    return false;
}

/* Divides the VLs that the engine left free among the traffic classes, and proves the tables on the
 * VLs of all classes. */
static int compose(struct sm_route_job *j)
{
    int r = sm_classes_compose(&j->of, &j->classes);
    j->composed = r == FAB_OK;
    if (r != FAB_OK || fab_target_vls_levels(&j->of.target->vls) < 2)
        return r;
    fab_verify_verdict_fini(&j->verdict);
    return prove(j);
}

/* Divides the VLs into as many equal sets as there are traffic classes. The engines route with the
 * VLs of one set only, so that each class can have its own set. If no engine can route with so few
 * VLs, halves the number of sets until an engine can. Several classes then share a set. */
static int route_classes(struct sm_route_job *j)
{
    int r = FAB_OK;
    for (uint8_t sets = fab_policy_classes_count(j->of.policy.classes);; sets /= 2) {
        j->of.policy.lane_sets = sets;
        r = route(j);
        bool good = r == FAB_OK && is_good(j);
        if (good || sets <= 1 || (r != FAB_OK && r != FAB_E_UNSUPPORTED))
            break;
        discard(j);
        j->refuted = false;
    }
    j->of.policy.lane_sets = 0;
    return r == FAB_OK && is_good(j) ? compose(j) : r;
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_route_job *j = ctx;
    uint64_t began_ns = clock_cpu_ns();
    j->status = follow(j) ? FAB_OK : route_classes(j);
    if (j->active && j->status == FAB_OK && is_good(j))
        j->status = sm_rebalance_weigh(j->of.fabric, j->active, j->of.target, task, &j->gain);
    if (j->active && j->status == FAB_OK && sm_gains(&j->gain))
        j->status = sm_rebalance_order(j->of.fabric, j->active, j->of.target, j->pool, &j->gain);
    if (j->status == FAB_OK && !is_good(j))
        (void)fab_verify_witness_text(j->of.fabric, &j->verdict.witness, &j->witness);
    j->cpu_ns = clock_cpu_ns() - began_ns;
}

/* ---- on the loop ---- */

static void job_free(struct sm_route_job *j)
{
    if (!j)
        return;
    fab_verify_verdict_fini(&j->verdict);
    fab_repair_session_fini(&j->session);
    sm_fixed_fini(&j->fixed);
    fab_target_unref(j->former);
    fab_target_unref(j->active);
    fab_target_choice_unref(j->choice);
    sm_sealed_fini(&j->of);
    free(j->witness);
    free(j);
}

static void done(void *owner, void *ctx)
{
    struct sm_route_job *j = ctx;
    j->over = true;
    j->task = NULL;
    sm_run_check(owner);
}

static void drop(void *owner, void *ctx)
{
    (void)owner;
    log_debug("sm", "tables of an aborted round dropped");
    job_free(ctx);
}

/* Drops the routing task. If a worker still computes, its result is dropped when it arrives. */
static void drop_job(struct sm *s)
{
    struct sm_route_job *j = s->apply->job;
    s->apply->job = NULL;
    if (j && j->over)
        job_free(j);
    else if (j)
        loop_task_cancel(j->task);
}

void sm_route_fini(struct sm *s)
{
    drop_job(s);
    sm_route_drop_replaced(s);
    loop_tasks_orphan(&s->model.readers);
}

static int start(struct sm *s)
{
    static const struct loop_task_ops ops = {"routing", work, done, drop};
    struct sm_route_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    int r = sm_seal(&s->model, &s->policy, s->apply->fresh, &j->of);
    if (r != FAB_OK) {
        free(j);
        return r;
    }
    r = sm_fixed_take(s, &j->fixed);
    if (r != FAB_OK) {
        job_free(j);
        return r;
    }
    j->may_leave_out = j->fixed.count == 0;
    /* No host waits for a rebalance, so it leaves the other processors to repairs. */
    const bool rebalance = s->run.round->engine == SM_ENGINE_IF_BETTER;
    j->pool = rebalance ? NULL : loop_thread_pool(s->in.loop);
    if (rebalance && s->model.target)
        j->active = fab_target_ref(s->model.target);
    if (s->model.former && s->run.round->engine != SM_ENGINE_ANEW) {
        j->former = fab_target_ref(s->model.former);
        sm_repair_lend(s, &j->session);
    }
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->model.readers,
                                            .owner = s,
                                            .ctx = j,
                                            .place =
                                                rebalance ? LOOP_TASK_BACKGROUND : LOOP_TASK_LONG};
    s->apply->job = j;
    r = loop_task_start(s->in.loop, &config, &j->task);
    if (r != FAB_OK)
        s->apply->job = NULL;
    return r;
}

static int enter(struct sm *s)
{
    /* A job may be left from an aborted round. */
    drop_job(s);
    sm_route_drop_replaced(s);
    return s->apply->fresh ? start(s) : FAB_OK;
}

static bool finished(const struct sm *s)
{
    return !s->apply->job || s->apply->job->over;
}

void sm_route_one_line(char *text)
{
    size_t len = text ? strlen(text) : 0;
    while (len > 0 && text[len - 1] == '\n')
        text[--len] = 0;
    for (char *at = text; at && (at = strchr(at, '\n')) != NULL;)
        *at = ';';
}

static void raise_alarm(struct sm *s, const struct sm_route_job *j)
{
    char what[160], pairs[48] = "";
    if (j->verdict.unreachable_pairs)
        snprintf(pairs, sizeof(pairs), ", %" PRIu64 " unreachable pairs",
                 j->verdict.unreachable_pairs);
    snprintf(what, sizeof(what), "%s (engine %.20s%s)", fab_verify_verdict_failure(&j->verdict),
             j->of.target->engine, pairs);
    sm_alarm_set(s, "%s%s%s", what, j->passed[0] ? "; passed over " : "", j->passed);
    sm_route_one_line(j->witness);
    event_emit(s->in.bus, proof_failed, .subject = j->of.target->engine, .reason = what,
               .witness = j->witness ? j->witness : "none");
}

static void emit_refused(struct sm *s, const struct sm_route_job *j)
{
    char roots[128] = "";
    if (j->of.policy.root_count > 0)
        snprintf(
            roots, sizeof(roots),
            "; routing.roots names %zu root switch%s: correct it, or set routing.engine to auto",
            j->of.policy.root_count, fab_base_plural_es((uint32_t)j->of.policy.root_count));
    sm_alarm_set(s, "%s: %s%s",
                 j->refuted ? "no engine computed tables that pass the verification"
                            : "no engine supports this topology",
                 j->passed, roots);
    event_emit(s->in.bus, routing_refused, .subject = j->of.policy.engine, .reason = sm_alarm(s),
               .have_tables = s->model.view && s->model.view->target);
}

/* Returns whether this is a rebalance that found no better tables, so that the active tables
 * stay. */
static bool keep(struct sm *s, const struct sm_route_job *j)
{
    bool good = j->status == FAB_OK && is_good(j);
    if (!j->active || (j->status != FAB_OK && j->status != FAB_E_UNSUPPORTED) ||
        (good && sm_gains(&j->gain)))
        return false;
    sm_rebalance_skipped(s, &j->gain, good ? NULL : j->passed);
    return true;
}

void sm_route_drop_replaced(struct sm *s)
{
    struct sm_replaced *old = &s->apply->replaced;
    fab_target_unref(old->target);
    fab_verify_verdict_fini(&old->verdict);
    *old = (struct sm_replaced){0};
}

/* Call this function before the results of the routing task are taken. A round with a sweep has no
 * active tables at this point, because its snapshot may have other ids. */
static void keep_replaced(struct sm *s)
{
    struct sm_replaced *old = &s->apply->replaced;
    sm_route_drop_replaced(s);
    if (!s->model.target)
        return;
    *old = (struct sm_replaced){.target = fab_target_ref(s->model.target),
                                .tables = s->model.tables,
                                .verdict = s->apply->verdict,
                                .lost_pairs = s->apply->lost_pairs,
                                .left_out = s->apply->left_out,
                                .unproved = s->apply->reproof.due_us > 0};
    s->apply->verdict = (struct fab_verdict){0};
}

void sm_route_restore(struct sm *s)
{
    struct sm_replaced *old = &s->apply->replaced;
    if (!old->target)
        return;
    sm_model_restore_target(&s->model, old->target, old->tables);
    old->target = NULL;
    fab_verify_verdict_fini(&s->apply->verdict);
    s->apply->verdict = old->verdict;
    old->verdict = (struct fab_verdict){0};
    s->apply->lost_pairs = old->lost_pairs;
    s->apply->left_out = old->left_out;
    s->apply->reproof.fresh = (struct sm_whole_proof){0};
    if (old->unproved)
        sm_reproof_repaired(s);
    sm_repair_drop_sealed(s);
    log_debug("sm", "the former tables stay active");
}

/* Returns FAB_OK if the new tables passed their proof, SM_ROUND_OVER if the active tables stay, or
 * the error of the routing task, such as FAB_E_NOMEM. */
static int judge(struct sm *s, struct sm_route_job *j)
{
    if (keep(s, j))
        return SM_ROUND_OVER;
    if (j->status == FAB_E_UNSUPPORTED) {
        emit_refused(s, j);
        return SM_ROUND_OVER;
    }
    if (j->status != FAB_OK) {
        log_error("sm", "routing failed: %s%s%s", fab_base_status_text(j->status),
                  j->why[0] ? ": " : "", j->why);
        return j->status;
    }
    log_debug("sm", "routed engine=%s route_ms=%.1f proof_ms=%.1f reason=\"%s\"",
              j->of.target->engine, (double)j->route_us / 1e3, (double)j->verify_us / 1e3,
              j->of.target->reason);
    if (!is_good(j)) {
        raise_alarm(s, j);
        return SM_ROUND_OVER;
    }
    sm_alarm_clear(s);
    if (j->lost_pairs > 0 && j->lost_pairs != s->apply->lost_pairs)
        event_emit(s->in.bus, switch_silent_pairs, .subject = "fabric", .pairs = j->lost_pairs);
    if (j->composed)
        sm_classes_report(s, &j->classes);
    keep_replaced(s);
    s->apply->lost_pairs = j->lost_pairs;
    fab_verify_verdict_fini(&s->apply->verdict);
    s->apply->verdict = j->verdict;
    j->verdict = (struct fab_verdict){0};
    sm_reproof_whole(s, j->verify_us);
    s->run.computed = true;
    s->run.computed_us = j->computed_us;
    s->run.proved_us = j->proved_us;
    return FAB_OK;
}

static int leave(struct sm *s)
{
    struct sm_route_job *j = s->apply->job;
    if (!j)
        return FAB_OK;
    s->apply->job = NULL;
    sm_phase_time_worker(s, j->cpu_ns);
    int r = judge(s, j);
    if (r == FAB_OK) {
        s->apply->rebalance.gain = j->gain;
        sm_model_take_target(&s->model, s->apply->fresh);
        s->apply->left_out = 0;
        if (j->left_out)
            sm_reroute_repaired(s, true);
        sm_repair_give_back(s, &j->session);
        sm_repair_seal(s);
    } else {
        fab_target_unref(s->apply->fresh);
        if (sm_publish_fabric(s) != FAB_OK)
            log_warning("sm", "no memory to publish the fabric that was found");
    }
    job_free(j);
    s->apply->fresh = NULL;
    return r;
}

const struct sm_phase sm_phase_route = {.name = "routing",
                                        .enter = enter,
                                        .finished = finished,
                                        .leave = leave,
                                        .abort = drop_job,
                                        .yields = SM_YIELDS_OPTIONAL};
