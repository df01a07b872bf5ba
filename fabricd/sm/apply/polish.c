/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polishes the tables of large fabrics in the background. With "routing.engine: auto", small
 * fabrics are polished before their first tables are written (libfabmgr/study/choose_engine.h). On
 * large ones this would take too long, so the engine's tables are written first. A worker task then
 * lowers the maximum link load (libfabmgr/route/local_search/polish.h), and measures whether the
 * result is worth its writes (libfabmgr/study/polish_gain.h).
 *
 * If it is, a rebalance follows, which takes the polished tables instead of running an engine. So,
 * as in any rebalance (rebalance.c), the polished tables are proved, their writes have a safe
 * order, and a fault interrupts the writes. The polished tables keep the SLs of all paths.
 *
 * The task runs in slices, and takes at most PERCENT of one core. No slice begins while a round
 * runs. If the tables change meanwhile, for example by a local repair, the result is dropped. The
 * search begins again when no entry differs any more from the tables that an engine or a former
 * search has made. Its work is counted, not timed, so equal tables give equal results.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/route/local_search/polish.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/polish_gain.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/target/choice.h"

#define PERCENT 25
/* time in us from the end of a round until the search begins */
#define QUIET_US 2000000u
/* Minimum pause between two slices, in us. In virtual time, every pause is this long. */
#define PAUSE_US 4000u
/* number of table entries that a slice visits: about 10 ms of processor time */
#define SLICE_WORK (UINT64_C(1) << 21)

/* The input and the result of the worker task. No other code uses this struct while a slice
 * runs, except `stop`. */
struct sm_polish_job {
    struct fab_view *view;    /* the tables to polish */
    uint64_t tables, commits; /* the state of the repair session for which the job was made */
    struct fab_polish *search;
    struct fab_polish_progress progress;
    struct fab_lft lft; /* the polished tables, after the search has ended */
    struct fab_polish_gain gain;
    /* set by the loop thread to end a measurement */
    int stop;
    bool searched; /* the search has ended */
    bool over;     /* the task is complete; if `status` is OK, `gain` has its result */
    int status;
    uint64_t slice_ns; /* processor time of the last slice */
};

/* ---- on the worker --------------------------------------------------------------------------- */

static int begin_search(struct sm_polish_job *j)
{
    const struct fab_view *v = j->view;
    const struct fab_target *t = v->target;
    const struct fab_quality_input measured = {
        .fabric = v->fabric, .lids = &t->lids, .lft = &t->lft};
    struct fab_local_search_input in = {
        .fabric = v->fabric, .policy = &v->policy, .lids = &t->lids, .vls = &t->vls};
    uint32_t *ends;
    int r = fab_study_quality_endports(&measured, &ends, &in.end_count);
    if (r != FAB_OK)
        return r;
    in.ends = ends;
    r = fab_route_polish_new(&in, &t->lft, &j->search);
    free(ends);
    return r;
}

static bool is_stopped(void *ctx)
{
    struct sm_polish_job *j = ctx;
    return __atomic_load_n(&j->stop, __ATOMIC_RELAXED) != 0;
}

/* Measures the tables before and after the search. If a trap stops the measurement, a later slice
 * repeats it. */
static void judge(struct sm_polish_job *j)
{
    const struct fab_polish_gain_input in = {.fabric = j->view->fabric,
                                             .lids = &j->view->target->lids,
                                             .before = &j->view->target->lft,
                                             .after = &j->lft,
                                             .stopped = is_stopped,
                                             .stopped_ctx = j};
    int r = fab_study_polish_gain(&in, &j->gain);
    j->over = r != FAB_E_BUSY;
    j->status = j->over ? r : FAB_OK;
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_polish_job *j = ctx;
    uint64_t start_ns = clock_cpu_ns();
    (void)task;
    if (!j->search) {
        j->status = begin_search(j);
        j->over = j->status != FAB_OK;
    } else if (!j->searched) {
        j->searched = fab_route_polish_slice(j->search, SLICE_WORK);
        fab_route_polish_get(j->search, &j->progress);
        if (j->searched)
            j->status = fab_route_polish_take(j->search, &j->lft);
        j->over = j->status != FAB_OK;
    } else {
        judge(j);
    }
    j->slice_ns = clock_cpu_ns() - start_ns;
}

static void job_free(void *ctx)
{
    struct sm_polish_job *j = ctx;
    fab_route_polish_free(j->search);
    fab_target_lft_fini(&j->lft);
    fab_view_unref(j->view);
    free(j);
}

/* ---- when to polish -------------------------------------------------------------------------- */

static uint64_t commits_of(const struct sm *s)
{
    return fab_repair_commits(sm_repair_session_of(s)->state);
}

/* Returns true if the active tables are still those for which the job was made. */
static bool is_current(const struct sm *s, const struct sm_polish_job *j)
{
    return sm_repair_ready(s) && j->tables == s->model.tables && j->commits == commits_of(s);
}

/* Returns true if a search has ended for the active tables, or for earlier tables of the same run
 * of an engine. A sweep that finds a new host changes the number (model.tables) of the tables, but
 * hardly their link loads. */
static bool is_done(const struct sm *s)
{
    const struct sm_polish *p = &s->apply->polish;
    const struct fab_choice *run = s->model.target->choice;
    return p->done_tables == s->model.tables || (run && run == p->done_run);
}

static void set_done(struct sm *s)
{
    struct sm_polish *p = &s->apply->polish;
    fab_target_choice_unref(p->done_run);
    p->done_run = fab_target_choice_ref(s->model.target->choice);
    p->done_tables = s->model.tables;
}

static bool is_large(const struct sm *s)
{
    const struct fab_target *t = s->model.target;
    return (uint64_t)s->model.fabric->switch_count * t->lids.top > FAB_STUDY_CHOOSE_WORK;
}

static bool is_automatic(const struct sm *s)
{
    struct fab_route_chain chain;
    char why[200];
    return fab_route_chain_parse(s->policy.engine, &chain, why, sizeof(why)) == FAB_OK &&
           chain.automatic;
}

/* Returns true if the active tables are to be polished now. Returns false if a rebalance is due,
 * because an engine will then compute other tables; and while a recording is made or replayed,
 * because a replay has no worker thread. */
static bool is_due(const struct sm *s)
{
    uint64_t at;
    uint32_t failed_blocks;
    if (s->in.config->rebalance_s == 0 || s->in.recorded || !sm_is_master(s) || sm_is_frozen(s) ||
        !sm_repair_ready(s) || s->model.view->target != s->model.target || is_done(s))
        return false;
    (void)sm_failed_blocks(s, &failed_blocks);
    return failed_blocks == 0 && sm_rebalance_entries(s) == 0 && !sm_rebalance_due(s, &at) &&
           sm_silent_count(s) == 0 && is_large(s) && is_automatic(s);
}

/* Ends the job without a result. If a slice runs, it ends soon. */
static void drop_job(struct sm *s)
{
    struct sm_polish *p = &s->apply->polish;
    if (p->task) {
        __atomic_store_n(&p->job->stop, 1, __ATOMIC_RELAXED);
        loop_task_cancel(p->task);
    } else if (p->job) {
        loop_discard(s->in.loop, job_free, p->job);
    }
    p->task = NULL;
    p->job = NULL;
    p->ready = false;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void describe_search(struct sm_polish *p)
{
    const struct fab_polish_progress *x = &p->job->progress;
    size_t used = (size_t)snprintf(p->text, sizeof(p->text), "polishing in the background");
    if (x->before > 0)
        used += (size_t)snprintf(p->text + used, sizeof(p->text) - used,
                                 ": maximum link load %" PRIu64 ", before %" PRIu64
                                 ", lower bound %" PRIu64,
                                 x->load, x->before, x->bound);
    if (p->job->searched)
        snprintf(p->text + used, sizeof(p->text) - used, "; measuring shifts and permutations");
}

static void describe_result(struct sm_polish *p)
{
    const struct sm_polish_job *j = p->job;
    const struct fab_polish_gain *g = &j->gain;
    if (j->status != FAB_OK)
        snprintf(p->text, sizeof(p->text), "not polished: %s", fab_base_status_text(j->status));
    else if (g->objection)
        snprintf(p->text, sizeof(p->text),
                 "not polished, because %s (maximum link load %" PRIu64 ", before %" PRIu64
                 ", lower bound %" PRIu64 "; %u of %u LFT blocks)",
                 g->objection, j->progress.load, j->progress.before, j->progress.bound, g->blocks,
                 g->all_blocks);
    else
        snprintf(p->text, sizeof(p->text),
                 "polished: maximum link load %" PRIu64 ", before %" PRIu64 ", lower bound %" PRIu64
                 "; %" PRIu64 " entries in %u of %u LFT blocks changed",
                 g->load_after, g->load_before, j->progress.bound, g->entries, g->blocks,
                 g->all_blocks);
}

/* If the polished tables are worth their writes, requests a rebalance, which programs them.
 * Otherwise drops them. */
static void finish(struct sm *s)
{
    struct sm_polish *p = &s->apply->polish;
    struct sm_polish_job *j = p->job;
    if (!p->ready) {
        describe_result(p);
        log_debug("sm", "%s; cpu_ms=%.1f", p->text, (double)p->cpu_ns / 1e6);
    }
    p->ready = j->status == FAB_OK && !j->gain.objection;
    if (p->ready) {
        sm_request(s, SM_REQUEST_REBALANCE);
        sm_schedule(s);
        return;
    }
    set_done(s);
    drop_job(s);
}

bool sm_polish_lend(struct sm *s, struct fab_lft *ret, struct sm_gain *ret_gain)
{
    struct sm_polish *p = &s->apply->polish;
    if (!p->ready || !is_current(s, p->job))
        return false;
    *ret = fab_target_lft_share(&p->job->lft);
    *ret_gain =
        (struct sm_gain){.was = p->job->gain.product_before, .now = p->job->gain.product_after};
    p->lent = true;
    return true;
}

bool sm_polish_waits(const struct sm *s)
{
    const struct sm_polish *p = &s->apply->polish;
    return p->ready && is_current(s, p->job);
}

bool sm_polish_ended(struct sm *s, bool complete)
{
    struct sm_polish *p = &s->apply->polish;
    bool lent = p->lent;
    p->lent = false;
    if (!lent || !complete)
        return lent;
    if (s->model.target)
        set_done(s);
    drop_job(s);
    return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Returns how long the pause after a slice is, in us. */
static uint64_t pause_after(uint64_t cpu_ns)
{
    uint64_t pause_us = cpu_ns / 1000 * (100 - PERCENT) / PERCENT;
    return clock_is_virtual() || pause_us < PAUSE_US ? PAUSE_US : pause_us;
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_polish_job *j = ctx;
    struct sm_polish *p = &s->apply->polish;
    p->task = NULL;
    p->cpu_ns += clock_is_virtual() ? 0 : j->slice_ns;
    describe_search(p);
    loop_timer_set(p->timer, pause_after(j->slice_ns));
}

static void drop(void *owner, void *ctx)
{
    (void)owner;
    job_free(ctx);
}

static int begin(struct sm *s)
{
    struct sm_polish *p = &s->apply->polish;
    struct sm_polish_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    j->view = fab_view_ref(s->model.view);
    j->tables = s->model.tables;
    j->commits = commits_of(s);
    p->job = j;
    p->cpu_ns = 0;
    p->text[0] = 0;
    return FAB_OK;
}

static int go_on(struct sm *s)
{
    static const struct loop_task_ops ops = {"polishing routes", work, done, drop};
    struct sm_polish *p = &s->apply->polish;
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->apply->tasks,
                                            .owner = s,
                                            .ctx = p->job,
                                            .place = LOOP_TASK_BACKGROUND};
    p->job->stop = 0;
    return loop_task_start(s->in.loop, &config, &p->task);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_polish *p = &s->apply->polish;
    loop_at(s->in.loop, "polishing routes");
    if (p->job && !p->task && !is_current(s, p->job))
        drop_job(s);
    if (p->task || sm_run_busy(s) || !is_due(s))
        /* sm_polish_prepare sets the timer again at the end of the running round */
        return;
    if (p->ready || (p->job && p->job->over)) {
        finish(s);
        return;
    }
    int r = p->job ? FAB_OK : begin(s);
    if (r == FAB_OK && go_on(s) != FAB_OK) {
        p->job = NULL; /* drop() has freed it */
        r = FAB_E_NOMEM;
    }
    if (r != FAB_OK)
        log_debug("sm", "no memory to polish the routes");
}

void sm_polish_prepare(struct sm *s)
{
    struct sm_polish *p = &s->apply->polish;
    if (p->job && !p->task && !is_current(s, p->job))
        drop_job(s);
    if (!p->task && !loop_timer_pending(p->timer) && is_due(s))
        loop_timer_set(p->timer, p->job && !p->ready ? PAUSE_US : QUIET_US);
}

void sm_polish_yield(struct sm *s)
{
    if (s->apply->polish.task)
        __atomic_store_n(&s->apply->polish.job->stop, 1, __ATOMIC_RELAXED);
}

void sm_polish_drop(struct sm *s)
{
    drop_job(s);
    s->apply->polish.text[0] = 0;
    loop_timer_cancel(s->apply->polish.timer);
}

const char *sm_polish_text(const struct sm *s)
{
    return s->apply->polish.text;
}

int sm_polish_init(struct sm *s)
{
    s->apply->polish.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->apply->polish.timer ? FAB_OK : FAB_E_NOMEM;
}

/* If a slice is running, its task owns the job, and frees the job when the slice has ended. */
void sm_polish_fini(struct sm *s)
{
    drop_job(s);
    fab_target_choice_unref(s->apply->polish.done_run);
    loop_timer_free(s->apply->polish.timer);
}
