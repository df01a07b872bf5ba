/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "routing" computes and proves tables on a worker thread. The task has a reference to the
 * snapshot, the LIDs of this round, and a copy of the policy. So the input of the task cannot
 * change while the task runs. If the round is aborted before the result reaches the loop thread,
 * the result is dropped.
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
#include "fabricd/sm/apply/route_job.h"
#include "libfabmgr/base/plural.h"

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
    sm_route_job_free(ctx);
}

/* Drops the result of the routing task. If the task still runs, its result is dropped when it
 * arrives. */
static void drop_job(struct sm *s)
{
    struct sm_route_job *j = s->apply->job;
    s->apply->job = NULL;
    if (j && j->over)
        sm_route_job_free(j);
    else if (j)
        loop_task_cancel(j->task);
}

void sm_route_fini(struct sm *s)
{
    drop_job(s);
    sm_standing_fini(&s->apply->standing);
    free(s->apply->lost);
    s->apply->lost = NULL;
    sm_route_drop_replaced(s);
    loop_tasks_orphan(&s->model.readers);
}

static int start(struct sm *s)
{
    static const struct loop_task_ops ops = {"routing", sm_route_job_work, done, drop};
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
        sm_route_job_free(j);
        return r;
    }
    sm_standing_take(s, &j->standing);
    j->may_leave_out = j->fixed.count == 0;
    j->no_engine = sm_freeze_bars_engine(s);
    j->catches = s->run.round->catches;
    /* A rebalance is not urgent, so it uses only one thread. */
    const bool rebalance = s->run.round->engine == SM_ENGINE_IF_BETTER;
    j->pool = rebalance ? NULL : loop_thread_pool(s->in.loop);
    if (rebalance && s->model.target) {
        j->active = fab_target_ref(s->model.target);
        j->polished = sm_polish_lend(s, &j->polish, &j->gain);
    }
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
    /* A round that was aborted may have left its job. */
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

/* Returns true if this is a rebalance that found no better tables; the active tables then stay. */
static bool keep(struct sm *s, const struct sm_route_job *j)
{
    bool good = j->status == FAB_OK && sm_route_job_is_good(j);
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

/* Call this function before the result of the routing task replaces the active tables. Stores the
 * active tables, and what belongs to them, in s->apply->replaced, so that they can be restored.
 * Stores nothing if no tables are active, for example because a sweep found that ids or links have
 * changed. */
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

/* Decides what happens with the result of the routing task. Returns OK if the new tables passed
 * their proof, SM_ROUND_OVER if the active tables stay, or the error of the task, such as NOMEM. */
static int judge(struct sm *s, struct sm_route_job *j)
{
    if (keep(s, j))
        return SM_ROUND_OVER;
    if (s->run.round->reads_only && (j->status != FAB_OK || !sm_route_job_is_good(j)))
        return SM_ROUND_OVER;
    if (j->status == FAB_E_UNSUPPORTED) {
        emit_refused(s, j);
        return SM_ROUND_OVER;
    }
    if (j->status == FAB_E_DENIED) {
        sm_freeze_alarm(s, "no local repair is possible: an engine must compute new tables");
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
    if (!sm_route_job_is_good(j)) {
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
        if (j->left_out && !s->run.round->reads_only)
            sm_reroute_repaired(s, true);
        sm_repair_give_back(s, &j->session);
        sm_repair_seal(s);
        if (!j->followed)
            sm_standing_report(s, &j->standing);
    } else {
        fab_target_unref(s->apply->fresh);
        if (!s->run.round->reads_only && sm_publish_fabric(s) != FAB_OK)
            log_warning("sm", "no memory to publish the fabric that was found");
    }
    sm_route_job_free(j);
    s->apply->fresh = NULL;
    return r;
}

const struct sm_phase sm_phase_route = {.name = "routing",
                                        .enter = enter,
                                        .finished = finished,
                                        .leave = leave,
                                        .abort = drop_job,
                                        .yields = SM_YIELDS_OPTIONAL};
