/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rebalances the routes step by step after local repairs (libfabmgr/repair: fab_repair_rebalance).
 * Local repairs spread the traffic of failed links without regard to the link loads. A step counts
 * the loads, and moves some of the displaced entries to paths of the same length whose links have
 * less load. The step does not change the baseline. So when the links come back, a repair can give
 * the entries their baseline values again.
 *
 * The first step begins DELAY_US after a repair. A worker task computes and proves the step and
 * orders its writes. The task starts only while no round runs. A fault never waits for the task,
 * because a round may begin while the task runs. If the repair session has changed when the task
 * ends, the step is dropped. Otherwise a separate round applies the step and sends its few writes.
 * Steps follow each other, with pauses for other work, until a whole pass over the LIDs moves no
 * entry.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/mcast/mcast.h"

#define DELAY_US 50000u
/* the pause after a computation is at least this many times as long as the computation */
#define PAUSE_FACTOR 4
/* A step ends when it has changed this many entries. It completes its last LID, so it may change a
 * few more. */
#define STEP_ENTRIES 256

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct sm_step {
    struct fab_repair *copy;
    struct fab_lft tables;
    /* the state of the repair session for which the step was computed: which tables were active
     * (the value of model.tables), and how many commits the session had made */
    uint64_t tables_number, commits;
    /* the last LID that the step examined; 0: it has reached the last LID of the fabric */
    uint32_t at;
    struct fab_repair_delta delta;
    int status;
    uint64_t cpu_ns;
};

static void step_free(struct sm_step *x)
{
    if (!x)
        return;
    fab_repair_delta_fini(&x->delta);
    fab_repair_free(x->copy);
    fab_target_lft_fini(&x->tables);
    free(x);
}

static uint64_t commits_of(const struct sm *s)
{
    return fab_repair_commits(sm_repair_session_of(s)->state);
}

static bool is_current(const struct sm *s, const struct sm_step *x)
{
    return sm_repair_ready(s) && x->tables_number == s->model.tables && x->commits == commits_of(s);
}

/* Returns true if the repair session is unchanged since the last step. */
static bool goes_on(const struct sm *s)
{
    const struct sm_step_state *a = &s->fault->step;
    return a->tables_number == s->model.tables && a->commits == commits_of(s);
}

static void note_state(struct sm *s)
{
    s->fault->step.tables_number = s->model.tables;
    s->fault->step.commits = commits_of(s);
}

static bool may_run(const struct sm *s)
{
    uint32_t failed_blocks;
    if (s->in.config->rebalance_s == 0 || sm_run_busy(s) || sm_fault_waits(s) ||
        !sm_repair_ready(s) || fab_repair_overlay_size(sm_repair_session_of(s)->state) == 0)
        return false;
    (void)sm_failed_blocks(s, &failed_blocks);
    return failed_blocks == 0;
}

/* ---- the worker task ------------------------------------------------------------------------- */

static void work(void *ctx, struct loop_task *task)
{
    struct sm_step *x = ctx;
    struct fab_repair_change at;
    uint64_t start_ns = clock_cpu_ns();
    (void)task;
    x->status = fab_repair_rebalance(x->copy, &x->tables, STEP_ENTRIES, &x->at, &x->delta);
    if (x->status == FAB_OK)
        x->status = fab_repair_prove(x->copy, &x->tables, &x->delta, &at);
    if (x->status == FAB_OK)
        x->status = fab_repair_order(x->copy, &x->tables, &x->delta);
    x->cpu_ns = clock_cpu_ns() - start_ns;
}

static void pause_after(struct sm *s, const struct sm_step *x)
{
    uint64_t pause_us = clock_is_virtual() ? 0 : PAUSE_FACTOR * x->cpu_ns / 1000;
    loop_timer_set(s->fault->step.timer, pause_us > DELAY_US ? pause_us : DELAY_US);
}

/* Call this function for a step that changes nothing or would drop packets. Notes how far the step
 * has come, and does not apply it. */
static void skip(struct sm *s, const struct sm_step *x)
{
    struct sm_step_state *a = &s->fault->step;
    a->at = x->at;
    a->settled = a->at == 0 && !a->moved;
    a->moved = a->moved && a->at > 0;
    if (!a->settled)
        pause_after(s, x);
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_step *x = ctx;
    struct sm_step_state *a = &s->fault->step;
    a->task = NULL;
    if (x->status != FAB_OK)
        log_debug("sm", "no incremental rebalance: %s", fab_base_status_text(x->status));
    a->settled = x->status != FAB_OK;
    if (x->status == FAB_OK && is_current(s, x) && x->delta.changes > 0 && x->delta.drained == 0) {
        a->ready = x;
        sm_schedule(s);
        return;
    }
    if (x->status == FAB_OK && is_current(s, x)) {
        fab_repair_balance_take(sm_repair_session(s)->state, x->copy);
        skip(s, x);
    }
    step_free(x);
    sm_step_prepare(s);
}

static void drop(void *owner, void *ctx)
{
    struct sm *s = owner;
    if (s)
        s->fault->step.task = NULL;
    step_free(ctx);
}

static int begin(struct sm *s)
{
    static const struct loop_task_ops ops = {"rebalancing step by step", work, done, drop};
    struct fab_repair_session *t = sm_repair_session(s);
    struct sm_step_state *a = &s->fault->step;
    struct sm_step *x = calloc(1, sizeof(*x));
    if (!x || fab_repair_clone(t->state, &x->copy) != FAB_OK) {
        free(x);
        return FAB_E_NOMEM;
    }
    x->tables = fab_target_lft_share(fab_repair_session_tables(t, s->model.target));
    x->tables_number = s->model.tables;
    x->commits = commits_of(s);
    if (!goes_on(s)) {
        a->at = 0;
        a->moved = false;
    }
    x->at = a->at;
    note_state(s);
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->fault->tasks,
                                            .owner = s,
                                            .ctx = x,
                                            .place = s->in.recorded ? LOOP_TASK_INLINE
                                                                    : LOOP_TASK_BACKGROUND};
    return loop_task_start(s->in.loop, &config, &a->task);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_step_state *a = &s->fault->step;
    if (a->task || a->ready || !may_run(s))
        /* sm_step_prepare will be called again when the task, or the running round, has ended */
        return;
    if (begin(s) != FAB_OK)
        log_debug("sm", "no memory for an incremental rebalance");
}

void sm_step_prepare(struct sm *s)
{
    struct sm_step_state *a = &s->fault->step;
    if (a->ready && !is_current(s, a->ready)) {
        step_free(a->ready);
        a->ready = NULL;
    }
    if (a->task || a->ready || !may_run(s) || (a->settled && goes_on(s)))
        return;
    a->settled = false;
    if (!loop_timer_pending(a->timer))
        loop_timer_set(a->timer, DELAY_US);
}

/* ---- the round ------------------------------------------------------------------------------- */

bool sm_step_waits(const struct sm *s)
{
    const struct sm_step *x = s->fault->step.ready;
    return x && is_current(s, x);
}

/* Applies the step, publishes the tables, and passes the writes to phase "programming". */
static int carry_out(struct sm *s, struct sm_step *x)
{
    const struct fab_plan none = {0};
    struct fab_plan plan = {0};
    struct fab_repair_session *t = sm_repair_session(s);
    if (s->fault->on_patch)
        s->fault->on_patch(s->fault->on_patch_ctx);
    int r = sm_model_own(&s->model);
    if (r == FAB_OK)
        r = sm_repair_plan_writes(s, &x->delta, &none, &plan);
    if (r == FAB_OK) {
        fab_repair_balance_take(t->state, x->copy);
        r = fab_repair_session_commit(t, s->model.target, &x->delta);
    }
    if (r == FAB_OK)
        r = sm_publish_repair(s, 0, 0);
    if (r == FAB_OK)
        r = sm_program_take(s, &plan);
    fab_plan_fini(&plan);
    if (r != FAB_OK)
        sm_repair_forget(s);
    return r;
}

static int enter(struct sm *s)
{
    struct sm_step_state *a = &s->fault->step;
    struct sm_step *x = a->ready;
    a->ready = NULL;
    if (!x || !is_current(s, x) || sm_repair_writes_fixed(s, &x->delta)) {
        a->settled = x != NULL;
        step_free(x);
        return SM_ROUND_OVER;
    }
    uint32_t entries = (uint32_t)x->delta.changes, blocks = (uint32_t)x->delta.blocks;
    int r = carry_out(s, x);
    if (r == FAB_OK) {
        a->at = x->at;
        a->moved = true;
        note_state(s);
        pause_after(s, x);
        log_debug("sm", "incremental rebalance entries=%u blocks=%u cpu_ms=%.1f", entries, blocks,
                  (double)x->cpu_ns / 1e6);
    }
    step_free(x);
    return r;
}

static int report(struct sm *s)
{
    uint32_t failed_blocks;
    sm_multicast_repaired(s);
    sm_repair_prepare_memory(s);
    (void)sm_failed_blocks(s, &failed_blocks);
    if (failed_blocks > 0)
        sm_request_heavy(s);
    return FAB_OK;
}

/* ---- init and fini --------------------------------------------------------------------------- */

int sm_step_init(struct sm *s)
{
    s->fault->step.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->fault->step.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_step_fini(struct sm *s)
{
    loop_task_cancel(s->fault->step.task);
    step_free(s->fault->step.ready);
    loop_timer_free(s->fault->step.timer);
}

const struct sm_phase sm_phase_step = {.name = "rebalancing", .enter = enter};
const struct sm_phase sm_phase_report_step = {.name = "reporting", .enter = report};
