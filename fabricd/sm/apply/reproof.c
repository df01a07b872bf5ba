/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The background proof. A local repair proves only the paths that it changes, and relies on what
 * the repair session knows of the other paths. After local repairs, a worker task therefore proves
 * all published tables (libfabmgr/verify/steps.h), and uses nothing but these tables. So the
 * manager notices if the proof of a local repair has a defect, or if memory is damaged.
 *
 * The proof begins QUIET_US after the last local repair. If another local repair is published
 * during the proof, the proof ends, and a proof of the new tables follows. If local repairs keep
 * coming, a proof begins LONGEST_US after the first local repair that no proof covers; later local
 * repairs do not end this proof. A round that computes tables proves all of them (route.c), so it
 * needs no background proof.
 *
 * The task reads a view, whose tables do not change. It runs in slices of SLICE_US of processor
 * time, and takes at most contingency.cpu percent of one core. While a background proof runs, no
 * contingencies are computed. A trap ends the running slice after at most 256 further destination
 * LIDs (sm_reproof_yield). While a round runs, a slice begins only if the first unproved local
 * repair is more than LONGEST_US ago.
 *
 * The background proof may find a failure that the incremental proofs did not find. The manager
 * then emits reproof-failed, raises the alarm, publishes the verdict of the background proof, and
 * lets an engine compute new tables.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/verify/steps.h"

#define QUIET_US 1000000u
#define LONGEST_US 10000000u
#define SLICE_US 4000u
/* Minimum pause between two slices, in us. In virtual time, every pause is this long. */
#define PAUSE_US 4000u
/* Maximum number of steps in a slice. In virtual time, a slice has no limit of time, only this
 * one. */
#define SLICE_PIECES 64
/* delay in us before the proof begins again after memory ran out */
#define RETRY_US 10000000

struct sm_reproof_job {
    struct fab_view *view;
    /* number of local repairs (sm_reproof.repairs) that `view` includes; later ones need another
     * proof */
    uint64_t repairs;
    struct fab_verify_steps *steps;
    struct fab_verdict verdict;
    char *witness;
    /* true: a slice ends after SLICE_US, or after SLICE_PIECES steps; false (virtual time): only
     * after SLICE_PIECES steps */
    bool timed;
    /* set by the loop thread to end the running slice */
    int stop;
    /* true: the proof is complete, and `verdict` has its result */
    bool over;
    int status;        /* status of the proof so far */
    uint64_t slice_ns; /* processor time of the last slice */
    uint64_t began_us; /* time (manager's clock) at which the proof began */
};

/* ---- on the worker --------------------------------------------------------------------------- */

static bool slice_is_over(const struct sm_reproof_job *j, uint64_t start_ns)
{
    return __atomic_load_n(&j->stop, __ATOMIC_RELAXED) != 0 ||
           (j->timed && clock_cpu_ns() - start_ns >= SLICE_US * UINT64_C(1000));
}

static void judge(struct sm_reproof_job *j)
{
    j->status = fab_verify_steps_judge(j->steps, &j->verdict);
    j->over = true;
    if (j->status == FAB_OK && !fab_verify_verdict_good(&j->verdict))
        (void)fab_verify_witness_text(j->view->fabric, &j->verdict.witness, &j->witness);
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_reproof_job *j = ctx;
    uint64_t start_ns = clock_cpu_ns();
    (void)task;
    if (!j->steps) {
        const struct fab_verify_input in = fab_view_verify_input(j->view);
        j->status = fab_verify_steps_new(&in, &j->steps);
        j->over = j->status != FAB_OK;
    }
    bool more = !j->over;
    for (unsigned i = 0; i < SLICE_PIECES && more && !slice_is_over(j, start_ns); i++) {
        more = fab_verify_steps_next(j->steps);
        /* The loop thread may need the processor to handle a fault. */
        (void)sched_yield();
    }
    if (!j->over && !more)
        judge(j);
    j->slice_ns = clock_cpu_ns() - start_ns;
}

static void job_free(void *ctx)
{
    struct sm_reproof_job *j = ctx;
    fab_verify_steps_free(j->steps);
    fab_verify_verdict_fini(&j->verdict);
    fab_view_unref(j->view);
    free(j->witness);
    free(j);
}

/* ---- when to prove --------------------------------------------------------------------------- */

static bool is_overdue(const struct sm_reproof *r, uint64_t now)
{
    return r->due_us && now - r->due_us >= LONGEST_US;
}

/* Returns the time in us until the background proof may begin; 0: at once. */
static uint64_t wait_us(const struct sm_reproof *r)
{
    uint64_t now = clock_now_us(), quiet = r->repaired_us + QUIET_US,
             latest = r->due_us + LONGEST_US, at = quiet < latest ? quiet : latest;
    return at > now ? at - now : 0;
}

/* Ends the running background proof without a result. If a slice runs, it ends early. */
static void drop_job(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    if (r->task) {
        __atomic_store_n(&r->job->stop, 1, __ATOMIC_RELAXED);
        loop_task_cancel(r->task);
    } else if (r->job) {
        loop_discard(s->in.loop, job_free, r->job);
    }
    r->task = NULL;
    r->job = NULL;
}

void sm_reproof_repaired(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    r->repairs++;
    r->repaired_us = clock_now_us();
    if (!r->due_us)
        r->due_us = r->repaired_us;
}

void sm_reproof_whole(struct sm *s, uint64_t duration_us)
{
    struct sm_reproof *r = &s->apply->reproof;
    drop_job(s);
    loop_timer_cancel(r->timer);
    r->due_us = 0;
    r->fresh = (struct sm_whole_proof){.duration_us = duration_us, .time_us = clock_unix_us()};
}

void sm_reproof_published(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    if (!r->fresh.time_us)
        return;
    r->last = r->fresh;
    r->last.generation = s->apply->generation;
    r->fresh = (struct sm_whole_proof){0};
}

/* ---- the result ------------------------------------------------------------------------------ */

static const char *failure(const struct fab_verdict *v)
{
    return v->witness.kind == FAB_E_LOOP ? "they have a forwarding loop"
           : !v->deadlock_free           ? "they could deadlock"
           : v->unreachable_pairs        ? "some endports cannot reach each other"
                                         : "they exceed the limits of a device";
}

/* Publishes the verdict of the background proof. But if failed writes have left a mixture of old
 * and new tables in the switches, the published verdict is the one of this mixture, and does not
 * change. */
static void take_over(struct sm *s, struct sm_reproof_job *j)
{
    if (s->apply->mixed)
        return;
    if (sm_publish_verdict(s, &j->verdict) != FAB_OK)
        log_warning("sm", "no memory to publish the verdict of the background verification");
    fab_verify_verdict_fini(&s->apply->verdict);
    s->apply->verdict = j->verdict;
    j->verdict = (struct fab_verdict){0};
}

static void raise_alarm(struct sm *s, struct sm_reproof_job *j)
{
    const char *what = failure(&j->verdict);
    s->apply->reproof.failures++;
    sm_route_one_line(j->witness);
    sm_alarm_set(s,
                 "the tables of generation %" PRIu64
                 " failed the background verification, although each "
                 "local repair was verified: %s; an engine computes new tables",
                 j->view->generation, what);
    event_emit(s->in.bus, reproof_failed, .subject = "fabric", .generation = j->view->generation,
               .reason = what, .witness = j->witness ? j->witness : "none",
               .pairs = j->verdict.unreachable_pairs);
    take_over(s, j);
    /* The repair session cannot be trusted any more, so an engine must compute the next tables. */
    sm_repair_forget(s);
    sm_request(s, SM_REQUEST_REROUTE);
}

static void note_proved(struct sm *s, struct sm_reproof_job *j)
{
    struct sm_reproof *r = &s->apply->reproof;
    r->last = (struct sm_whole_proof){.generation = j->view->generation,
                                      .time_us = clock_unix_us(),
                                      .duration_us = clock_now_us() - j->began_us,
                                      .background = true};
}

static void take_verdict(struct sm *s, struct sm_reproof_job *j)
{
    struct sm_reproof *r = &s->apply->reproof;
    const struct fab_verdict *v = &j->verdict;
    /* Pairs without a path that the local repair has reported as left out are no failure: an engine
     * will compute new tables anyway. */
    bool announced = s->apply->left_out && v->deadlock_free && v->beyond == 0 &&
                     v->witness.kind == FAB_E_UNREACHABLE;
    /* Pairs without a path because of the tables of silent switches are no failure either. */
    announced |= sm_silent_count(s) > 0 && v->deadlock_free && v->beyond == 0 &&
                 v->witness.kind != FAB_E_LOOP;
    bool good = fab_verify_verdict_good(v);
    r->proofs++;
    r->due_us = j->repairs == r->repairs ? 0 : clock_now_us();
    if (good)
        note_proved(s, j);
    else if (!announced)
        raise_alarm(s, j);
    log_debug("sm", "background proof generation=%" PRIu64 " good=%d cpu_ms=%.1f",
              j->view->generation, good, (double)r->cpu_ns / 1e6);
}

/* Handles the result of a background proof that has ended. Call this function only while no round
 * runs. */
static void finish(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    struct sm_reproof_job *j = r->job;
    r->job = NULL;
    if (j->status == FAB_OK) {
        take_verdict(s, j);
    } else {
        log_warning("sm", "the background proof failed: %s", fab_base_status_text(j->status));
        loop_timer_set(r->timer, RETRY_US);
    }
    loop_discard(s->in.loop, job_free, j);
}

void sm_reproof_round_ended(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    if (r->job && !r->task && r->job->over)
        finish(s);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Returns how long the pause after a slice is, in us. cpu_ns: processor time that the slice
 * took. */
static uint64_t pause_after(const struct sm *s, uint64_t cpu_ns)
{
    uint64_t percent = s->in.config->contingency_cpu;
    uint64_t pause_us = cpu_ns / 1000 * (100 - percent) / percent;
    return clock_is_virtual() || pause_us < PAUSE_US ? PAUSE_US : pause_us;
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_reproof_job *j = ctx;
    struct sm_reproof *r = &s->apply->reproof;
    r->task = NULL;
    r->cpu_ns += clock_is_virtual() ? 0 : j->slice_ns;
    if (!j->over) {
        loop_timer_set(r->timer, pause_after(s, j->slice_ns));
    } else if (!sm_run_busy(s)) {
        finish(s);
        sm_reproof_prepare(s);
        sm_schedule(s);
    }
}

static void drop(void *owner, void *ctx)
{
    (void)owner;
    job_free(ctx);
}

static int begin(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    struct sm_reproof_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    j->view = fab_view_ref(s->model.view);
    j->repairs = r->repairs;
    j->timed = !clock_is_virtual();
    j->began_us = clock_now_us();
    r->job = j;
    return FAB_OK;
}

static void go_on(struct sm *s)
{
    static const struct loop_task_ops ops = {"proving all tables", work, done, drop};
    struct sm_reproof *r = &s->apply->reproof;
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->apply->tasks,
                                            .owner = s,
                                            .ctx = r->job,
                                            .place = LOOP_TASK_BACKGROUND};
    r->job->stop = 0;
    if (loop_task_start(s->in.loop, &config, &r->task) == FAB_OK)
        return;
    r->job = NULL; /* The task could not start, so drop() was called and has freed the job. */
    loop_timer_set(r->timer, RETRY_US);
}

/* Returns whether a slice may run now. */
static bool may_run(const struct sm *s)
{
    const struct sm_model *m = &s->model;
    bool late = is_overdue(&s->apply->reproof, clock_now_us());
    return sm_is_master(s) && m->view && m->target && m->view->target == m->target &&
           (!sm_run_busy(s) || (late && !s->run.round->probes));
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_reproof *r = &s->apply->reproof;
    loop_at(s->in.loop, "proving all tables");
    if (!r->due_us || r->task || (r->job && r->job->over) || !may_run(s))
        /* sm_reproof_prepare sets the timer again at the end of the running round */
        return;
    if (r->job && r->job->repairs != r->repairs && !is_overdue(r, clock_now_us()))
        drop_job(s);
    if (!r->job && wait_us(r) > 0)
        loop_timer_set(r->timer, wait_us(r));
    else if (!r->job && begin(s) != FAB_OK)
        loop_timer_set(r->timer, RETRY_US);
    else
        go_on(s);
}

void sm_reproof_prepare(struct sm *s)
{
    struct sm_reproof *r = &s->apply->reproof;
    if (r->due_us && sm_is_master(s) && !r->task && !loop_timer_pending(r->timer))
        loop_timer_set(r->timer, r->job ? PAUSE_US : wait_us(r));
}

void sm_reproof_yield(struct sm *s)
{
    if (s->apply->reproof.task)
        __atomic_store_n(&s->apply->reproof.job->stop, 1, __ATOMIC_RELAXED);
}

void sm_reproof_drop(struct sm *s)
{
    drop_job(s);
    s->apply->reproof.due_us = 0;
    loop_timer_cancel(s->apply->reproof.timer);
}

bool sm_reproof_runs(const struct sm *s)
{
    return s->apply->reproof.job != NULL;
}

void sm_reproof_get_status(const struct sm *s, struct sm_proof *ret)
{
    const struct sm_reproof *r = &s->apply->reproof;
    *ret = (struct sm_proof){.last = r->last,
                             .due = r->due_us != 0,
                             .proofs = r->proofs,
                             .failures = r->failures,
                             .cpu_us = r->cpu_ns / 1000};
}

int sm_reproof_init(struct sm *s)
{
    s->apply->reproof.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->apply->reproof.timer ? FAB_OK : FAB_E_NOMEM;
}

/* If a slice is running, its task owns the job, and frees the job when the slice has ended. */
void sm_reproof_fini(struct sm *s)
{
    drop_job(s);
    loop_timer_free(s->apply->reproof.timer);
}
