/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the contingency plans: the local repairs for the failure of each single link and each
 * single switch. Such a failure is called a case in this folder. A local repair uses the plan of
 * its case, if there is one (sm_contingency_lookup).
 *
 * A worker task computes contingencies while no round runs. The task reads a version of the tables
 * that does not change when a local repair makes new tables. It runs in slices of a few
 * milliseconds (contingency_slice.c). The pauses between slices are so long that the computation
 * takes at most contingency.cpu percent of one core. A trap ends the slice early
 * (sm_contingency_yield).
 *
 * After a local repair, a targeted sweep or a rebalance, the plans must fit the new state of the
 * repair session. Plans that the change does not affect stay valid. All other plans are checked,
 * and computed again if they are not valid any more (libfabmgr/repair/contingency/contingency.h).
 * If an engine computes tables for another fabric, all plans are dropped.
 *
 * The order of the cases is: first the links that flapped or had errors, then the switches, then
 * all other links. If the plans fill the memory that contingency.memory allows, a new plan replaces
 * plans of an earlier state whose cases come later in this order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/contingency_slice.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/links/links.h"

/* time in us from the end of a round until the computation begins */
#define QUIET_US 1000000u
/* Minimum pause between two slices, in us. In virtual time, every pause is this long. */
#define PAUSE_US 4000u
/* pause between two slices, in us, while a background proof runs (apply/reproof.c) */
#define PROOF_PAUSE_US 20000u
/* A plan is kept only if it takes at most 1 / PLAN_SHARE of contingency.memory. */
#define PLAN_SHARE 8

static size_t budget(const struct sm *s)
{
    return (size_t)s->in.config->contingency_mb << 20;
}

/* Frees one plan to make room for a new one. Only a plan that was computed for an earlier state of
 * the repair session can be freed, and only if its case has not been handled yet for the present
 * state. The search begins at the end of the list, where the cases are least likely. Returns false
 * if there is no such plan. */
static bool evict_last(struct sm_contingency_state *a)
{
    size_t left = fab_repair_contingency_left(a->maker);
    while (a->searched < left) {
        uint32_t row = fab_repair_contingency_peek(a->maker, left - 1 - a->searched++);
        if (row == FAB_NONE)
            return false;
        if (a->all.row[row].plan) {
            fab_repair_contingencies_evict(&a->all, row);
            return true;
        }
    }
    return false;
}

/* Stores what was computed for a case. If the plan is too long, or contingency.memory has no room
 * for it, stores everything except the plan. */
static void take_one(struct sm *s, struct fab_repair_contingency *c)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    bool fits = c->plan && c->plan_len <= budget(s) / PLAN_SHARE;
    /* the plan that this case had in an earlier state is not needed any more */
    fab_repair_contingencies_evict(&a->all, c->row);
    while (fits && a->all.memory + c->plan_len > budget(s))
        fits = evict_last(a);
    if (!fits) {
        fab_repair_stored_plan_unref(c->plan);
        c->plan = NULL;
    }
    fab_repair_contingencies_add(&a->all, c);
}

static void take(struct sm *s, struct sm_contingency_job *j)
{
    for (uint32_t i = 0; i < j->confirms; i++)
        fab_repair_contingencies_confirm(&s->fault->contingency.all, j->confirmed[i]);
    s->fault->contingency.kept += j->confirms;
    for (uint32_t i = 0; i < j->count; i++)
        take_one(s, &j->made[i]);
    j->count = 0;
}

/* Ends the computation for the present state of the repair session. status: NOT_FOUND if nothing is
 * left to compute, otherwise the error with which the computation failed. The maker (struct
 * fab_repair_contingency_maker) is kept for the next state, unless the computation failed. */
static void finish(struct sm *s, int status)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    a->complete = true;
    if (status != FAB_E_NOT_FOUND) {
        log_debug("sm", "no more contingencies are computed: %s", fab_base_status_text(status));
        fab_repair_contingency_end(a->maker);
        a->maker = NULL;
    }
    log_debug("sm", "contingencies cases=%zu of=%zu plans=%zu kept=%u memory=%zu cpu_ms=%" PRIu64,
              a->all.count, a->all.cases, a->all.plans, a->kept, a->all.memory,
              a->cpu_ns / 1000000);
}

static void begin_state(struct sm_contingency_state *a)
{
    a->complete = false;
    a->searched = 0;
    a->kept = 0;
}

static void drop(struct sm_contingency_state *a)
{
    if (a->job)
        __atomic_store_n(&a->job->stop, 1, __ATOMIC_RELAXED);
    loop_task_cancel(a->task);
    a->task = NULL;
    a->job = NULL;
    fab_repair_contingency_end(a->maker);
    a->maker = NULL;
    fab_repair_contingencies_fini(&a->all);
    begin_state(a);
}

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
    struct sm_contingency_job *j = ctx;
    struct sm_contingency_state *a = &s->fault->contingency;
    a->task = NULL;
    a->job = NULL;
    a->maker = j->maker;
    fab_repair_contingency_stop_at(a->maker, NULL);
    j->maker = NULL;
    a->load = fab_repair_contingency_load(a->maker);
    a->cpu_ns += clock_is_virtual() ? 0 : j->cpu_ns;
    take(s, j);
    if (j->status == FAB_OK)
        loop_timer_set(a->timer, pause_after(s, j->cpu_ns));
    else if (j->strays)
        drop(a);
    else
        finish(s, j->status);
    sm_contingency_job_free(j);
    if (!loop_timer_pending(a->timer))
        /* The repair session may have changed while the task ran; sm_contingency_prepare then
         * begins the computation for the new state. */
        sm_contingency_prepare(s);
}

static void drop_job(void *owner, void *ctx)
{
    (void)owner;
    sm_contingency_job_free(ctx);
}

/* For the cases of the next slice, gives the worker task the plans that were computed for an
 * earlier state of the repair session. */
static void lend_plans(const struct sm_contingency_state *a, struct sm_contingency_job *j)
{
    for (uint32_t i = 0; i < SLICE_CASES; i++) {
        uint32_t row = fab_repair_contingency_peek(j->maker, i);
        if (row != FAB_NONE && a->all.row[row].plan) {
            j->earlier[i] = fab_repair_stored_plan_ref(a->all.row[row].plan);
            j->valid_at[i] = a->all.row[row].commits;
        }
    }
}

static const struct fab_lft *session_tables(struct sm *s)
{
    return fab_repair_session_tables(sm_repair_session(s), s->model.target);
}

/* Starts a worker task that computes the next slice. `later`: a newer state of the repair session,
 * which the task owns from now on; NULL: the state is the same. Returns OK or NOMEM. */
static int go_on(struct sm *s, struct fab_repair *later)
{
    static const struct loop_task_ops ops = {"computing contingencies", sm_contingency_work, done,
                                             drop_job};
    struct sm_contingency_state *a = &s->fault->contingency;
    struct sm_contingency_job *j = calloc(1, sizeof(*j));
    if (!j) {
        fab_repair_free(later);
        return FAB_E_NOMEM;
    }
    j->maker = a->maker;
    j->later = later;
    if (later)
        j->tables = fab_target_lft_share(session_tables(s));
    j->keep = a->all.memory < budget(s) || a->searched < fab_repair_contingency_left(a->maker);
    j->timed = !clock_is_virtual();
    fab_repair_contingency_stop_at(j->maker, &j->stop);
    if (!later)
        lend_plans(a, j);
    a->maker = NULL;
    a->job = j;
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->fault->tasks,
                                            .owner = s,
                                            .ctx = j,
                                            .place = LOOP_TASK_BACKGROUND};
    int r = loop_task_start(s->in.loop, &config, &a->task);
    if (r != FAB_OK)
        a->job = NULL;
    return r;
}

/* Lists the links that flapped or had errors. Their plans are computed first, because these links
 * are more likely to fail. Links are identified by port ids of the repair session. */
static int set_likely(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    uint32_t port[SM_SUSPECTS + SM_RECENT_FLAPS], count = 0;
    const struct fab_fabric *f = s->model.fabric;
    count = sm_flap_recent(s, port, SM_RECENT_FLAPS);
    for (uint32_t i = 0; i < a->suspects; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, a->suspect[i].guid);
        if (node != FAB_NONE && a->suspect[i].port <= f->nodes[node].num_ports)
            port[count++] = fab_fabric_port_id(f, node, a->suspect[i].port);
    }
    for (uint32_t i = 0; i < count; i++)
        port[i] = fab_repair_session_port(sm_repair_session_of(s), f, port[i]);
    return fab_repair_contingency_set_likely(a->maker, port, count);
}

static int begin(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    const struct fab_repair *state = sm_repair_session_of(s)->state;
    int r = fab_repair_contingency_begin(state, &a->maker);
    if (r == FAB_OK)
        r = set_likely(s);
    if (r == FAB_OK && !a->all.network)
        r = fab_repair_contingencies_init(&a->all, state);
    if (r != FAB_OK) {
        fab_repair_contingency_end(a->maker);
        a->maker = NULL;
        return r;
    }
    fab_repair_contingency_set_tables(a->maker, session_tables(s));
    fab_repair_contingencies_follow(&a->all, state);
    begin_state(a);
    return go_on(s, NULL);
}

/* Call this function when the repair session has a new state. Starts to compute the missing plans,
 * and to check the plans of earlier states. Returns OK or NOMEM. */
static int follow(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    const struct fab_repair *state = sm_repair_session_of(s)->state;
    struct fab_repair *later = NULL;
    int r = set_likely(s);
    if (r == FAB_OK)
        r = fab_repair_clone(state, &later);
    if (r != FAB_OK)
        return r;
    fab_repair_contingencies_follow(&a->all, state);
    begin_state(a);
    return go_on(s, later);
}

/* If the repair session was made anew, connects the collection of plans with the new session. If
 * the networks of both do not agree (fab_repair_contingencies_adopt), drops all plans. Call this
 * function only while no worker task runs. */
static void take_over(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    struct fab_repair *state = sm_repair_session(s)->state;
    if (!a->all.network || fab_repair_contingencies_valid(&a->all, state))
        return;
    if (fab_repair_contingencies_adopt(&a->all, state) != FAB_OK)
        drop(a);
}

/* Returns whether plans must be computed or checked for the present state of the repair session. */
static bool is_behind(const struct sm *s)
{
    const struct sm_contingency_state *a = &s->fault->contingency;
    return !a->complete ||
           !fab_repair_contingencies_follows(&a->all, sm_repair_session_of(s)->state);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_contingency_state *a = &s->fault->contingency;
    loop_at(s->in.loop, "computing contingencies");
    if (sm_reproof_runs(s) && !sm_run_busy(s)) {
        /* contingency.cpu limits the CPU time of the background proof and of the plans together, so
         * the plans wait until the proof has ended */
        loop_timer_set(a->timer, PROOF_PAUSE_US);
        return;
    }
    if (sm_run_busy(s) || a->task || !sm_repair_ready(s))
        /* sm_contingency_prepare sets the timer again at the end of the running round */
        return;
    take_over(s);
    if (!is_behind(s))
        return;
    const struct fab_repair *state = sm_repair_session_of(s)->state;
    int r = !a->maker                                           ? begin(s)
            : !fab_repair_contingencies_follows(&a->all, state) ? follow(s)
                                                                : go_on(s, NULL);
    if (r != FAB_OK)
        log_debug("sm", "no memory for contingencies");
}

void sm_contingency_prepare(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    if (budget(s) == 0 || !sm_repair_ready(s) || sm_run_busy(s))
        return;
    if (a->task)
        return; /* done() calls this function again when the task has ended */
    take_over(s);
    if (!is_behind(s))
        return;
    if (!a->maker || !fab_repair_contingencies_follows(&a->all, sm_repair_session_of(s)->state))
        loop_timer_set(a->timer, QUIET_US);
    else if (!loop_timer_pending(a->timer))
        loop_timer_set(a->timer, PAUSE_US);
}

void sm_contingency_yield(struct sm *s)
{
    if (s->fault->contingency.job)
        __atomic_store_n(&s->fault->contingency.job->stop, 1, __ATOMIC_RELAXED);
}

void sm_suspect_link(struct sm *s, uint64_t node_guid, uint8_t port)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    const struct sm_suspect one = {.guid = node_guid, .port = port};
    uint32_t at = 0;
    while (at < a->suspects && (a->suspect[at].guid != node_guid || a->suspect[at].port != port))
        at++;
    if (at == a->suspects)
        a->suspects += a->suspects < SM_SUSPECTS;
    at = at < a->suspects ? at : a->suspects - 1;
    memmove(a->suspect + 1, a->suspect, at * sizeof(*a->suspect));
    a->suspect[0] = one;
}

struct fab_repair_stored_plan *sm_contingency_lookup(struct sm *s, const uint32_t *dead,
                                                     size_t count, uint64_t *ret_commits)
{
    struct fab_repair_session *t = sm_repair_session(s);
    return fab_repair_contingencies_lookup(&s->fault->contingency.all, t->state, dead, count,
                                           ret_commits);
}

int sm_contingency_init(struct sm *s)
{
    s->fault->contingency.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->fault->contingency.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_contingency_fini(struct sm *s)
{
    drop(&s->fault->contingency);
    loop_timer_free(s->fault->contingency.timer);
}
