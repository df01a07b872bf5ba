/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the N-1 contingencies: the local repair for the failure of each single link and each
 * single switch, before the failure happens. A local repair first searches the contingencies
 * (sm_contingency_find).
 *
 * A worker task computes contingencies while no round runs. The task runs in slices of SLICE_US,
 * with a pause of PAUSE_US after each slice. It reads one version of the tables,
 * which stays as it is when a local repair makes the next version.
 *
 * Contingencies are valid only for the repair session from which they were computed. After a local
 * repair or a reroute they are no longer used; they are freed when the round has ended.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"

#define QUIET_US 1000000u /* delay from the end of a round to the start of the computation */
#define SLICE_US 4000u
#define PAUSE_US 4000u
#define SLICE_CASES 64
/* LFT blocks per second, assumed until reroutes have shown the real rate. */
#define WRITE_RATE 25000

struct sm_contingency_job {
    struct fab_repair_contingency_maker *maker;
    size_t room; /* bytes that contingency plans may still use */
    struct fab_repair_contingency made[SLICE_CASES];
    uint32_t count;
    int status; /* NOT_FOUND: all contingencies are computed */
};

/* ---- on the worker --------------------------------------------------------------------------- */

static void make_one(struct sm_contingency_job *j)
{
    struct fab_repair_contingency *c = &j->made[j->count];
    j->status = fab_repair_contingency_next(j->maker, j->room > 0, c);
    if (j->status != FAB_OK)
        return;
    j->count++;
    if (c->plan_len > j->room) {
        free(c->plan);
        c->plan = NULL;
        j->room = 0;
    }
    j->room -= c->plan ? c->plan_len : 0;
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_contingency_job *j = ctx;
    uint64_t end = clock_now_us() + SLICE_US;
    (void)task;
    for (unsigned i = 0; j->status == FAB_OK && i < SLICE_CASES && clock_now_us() < end; i++) {
        if (!fab_repair_contingency_prepare(j->maker))
            make_one(j);
        /* Gives the processor to the loop thread, which may have to handle a fault. */
        (void)sched_yield();
    }
}

static void job_free(struct sm_contingency_job *j)
{
    for (uint32_t i = 0; i < j->count; i++)
        free(j->made[i].plan);
    fab_repair_contingency_end(j->maker);
    free(j);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static size_t budget(const struct sm *s)
{
    return (size_t)s->in.config->contingency_mb << 20;
}

static size_t room(const struct sm *s)
{
    size_t used = s->fault->contingency.all.memory, most = budget(s);
    return used < most ? most - used : 0;
}

static int take(struct sm *s, struct sm_contingency_job *j)
{
    int r = FAB_OK;
    for (uint32_t i = 0; i < j->count; i++) {
        int one = fab_repair_contingencies_add(&s->fault->contingency.all, &j->made[i]);
        r = r == FAB_OK ? one : r;
    }
    j->count = 0;
    return r;
}

static void finish(struct sm *s, int status)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    fab_repair_contingency_end(a->maker);
    a->maker = NULL;
    if (status != FAB_E_NOT_FOUND)
        log_debug("sm", "no more contingencies are computed: %s", fab_base_status_text(status));
    log_debug("sm", "contingencies cases=%zu of=%u plans=%zu memory=%zu", a->all.count, a->cases,
              a->all.plans, a->all.memory);
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_contingency_job *j = ctx;
    struct sm_contingency_state *a = &s->fault->contingency;
    int status = take(s, j);
    a->task = NULL;
    a->maker = j->maker;
    a->load = fab_repair_contingency_load(j->maker);
    j->maker = NULL;
    status = j->status == FAB_OK ? status : j->status;
    if (status == FAB_OK)
        loop_timer_set(a->timer, PAUSE_US);
    else
        finish(s, status);
    job_free(j);
}

static void drop_job(void *owner, void *ctx)
{
    (void)owner;
    job_free(ctx);
}

static int go_on(struct sm *s)
{
    static const struct loop_task_ops ops = {"computing contingencies", work, done, drop_job};
    struct sm_contingency_state *a = &s->fault->contingency;
    struct sm_contingency_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    j->maker = a->maker;
    j->room = room(s);
    a->maker = NULL;
    const struct loop_task_config config = {
        .ops = &ops, .tasks = &s->fault->tasks, .owner = s, .ctx = j, .place = LOOP_TASK_LONG};
    return loop_task_start(s->in.loop, &config, &a->task);
}

static int begin(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    struct fab_repair_session *t = sm_repair_session(s);
    int r = fab_repair_contingency_begin(t->state, &a->maker);
    if (r != FAB_OK)
        return r;
    fab_repair_contingency_set_tables(a->maker, fab_repair_session_tables(t, s->model.target));
    fab_repair_contingencies_init(&a->all, t->state);
    a->cases = fab_repair_contingency_cases(a->maker);
    return go_on(s);
}

static void drop(struct sm_contingency_state *a)
{
    loop_task_cancel(a->task);
    a->task = NULL;
    fab_repair_contingency_end(a->maker);
    a->maker = NULL;
    fab_repair_contingencies_fini(&a->all);
    a->cases = 0;
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    struct sm_contingency_state *a = &s->fault->contingency;
    loop_at(s->in.loop, "computing contingencies");
    if (sm_run_busy(s) || a->task || !sm_repair_ready(s))
        return; /* sm_contingency_prepare sets the timer again when the round has ended */
    bool good = fab_repair_contingencies_valid(&a->all, sm_repair_session_of(s)->state);
    if (!good)
        drop(a);
    int r = good && a->maker ? go_on(s) : good ? FAB_OK : begin(s);
    if (r != FAB_OK)
        log_debug("sm", "no memory for contingencies");
}

void sm_contingency_prepare(struct sm *s)
{
    struct sm_contingency_state *a = &s->fault->contingency;
    bool ready = sm_repair_ready(s),
         good = ready && fab_repair_contingencies_valid(&a->all, sm_repair_session_of(s)->state);
    if (!good && a->all.network)
        drop(a);
    if (budget(s) == 0 || !ready || sm_run_busy(s) || a->task)
        return;
    if (!good)
        loop_timer_set(a->timer, QUIET_US);
    else if (a->maker && !loop_timer_pending(a->timer))
        loop_timer_set(a->timer, PAUSE_US);
}

int sm_contingency_find(struct sm *s, const uint32_t *dead, size_t count,
                        struct fab_repair_delta *ret)
{
    struct fab_repair_session *t = sm_repair_session(s);
    return fab_repair_contingencies_find(&s->fault->contingency.all, t->state,
                                         fab_repair_session_tables(t, s->model.target), dead, count,
                                         ret);
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

/* ---- queries --------------------------------------------------------------------------------- */

void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret)
{
    const struct sm_contingency_state *a = &s->fault->contingency;
    bool good = sm_repair_ready(s) &&
                fab_repair_contingencies_valid(&a->all, sm_repair_session_of(s)->state);
    uint32_t rate = sm_table_write_rate(s);
    *ret = (struct sm_contingencies){
        .budget = budget(s),
        .rate = rate > 0 ? rate : WRITE_RATE,
        .rate_measured = rate > 0,
    };
    if (!good)
        return;
    ret->all = &a->all;
    ret->cases = a->cases;
    ret->load = a->load;
    ret->under_way = a->maker || a->task;
    ret->working = a->maker ? fab_repair_contingency_memory(a->maker) : 0;
}

/* Converts a port id of the repair session to the id of the same port in the snapshot. */
static uint32_t port_now(const struct sm *s, uint32_t port)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    return port != FAB_NONE
               ? fab_repair_idmap_to_current(&t->idmap, t->baseline, s->model.fabric, port)
               : FAB_NONE;
}

void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret)
{
    *ret = *row;
    ret->busiest = port_now(s, row->busiest);
    ret->id =
        row->is_switch ? sm_repair_session_of(s)->idmap.to_current[row->id] : port_now(s, row->id);
    ret->peer = port_now(s, row->peer);
}

const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    struct sm_contingencies all;
    sm_get_contingencies(s, &all);
    if (!all.all || (is_switch && id >= s->model.fabric->switch_count))
        return NULL;
    return is_switch ? fab_repair_contingencies_switch(all.all, t->idmap.to_baseline[id])
                     : fab_repair_contingencies_link(
                           all.all, fab_repair_session_port(t, s->model.fabric, id));
}
