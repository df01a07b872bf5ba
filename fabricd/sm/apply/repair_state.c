/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the repair session (libfabmgr/repair) of the active tables. A worker task makes the
 * session. With the session, local repairs are fast: their time depends on the number of routes
 * over the failed links, and not on the size of the fabric.
 *
 * The task begins together with the writes of new tables, so that the session is ready if a fault
 * follows soon after the round. The writes would otherwise change the snapshot in place, and the
 * task must not see these changes. So sm_repair_seal takes a reference to the snapshot before phase
 * "planning". A shared snapshot does not change: phase "planning" copies it, and the writes change
 * the copy.
 *
 * A session is valid for one set of active tables, which the number model.tables identifies. The
 * routing task that replaces the tables borrows the session, and updates it for the new tables if
 * it can (fab_repair_session_update).
 */
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/repair/repair.h"

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct sm_repair_making {
    struct sm_sealed of;
    uint64_t tables;
    struct fab_repair_session session;
    char why[200];
    int status;
};

static void making_free(struct sm_repair_making *j)
{
    fab_repair_session_fini(&j->session);
    sm_sealed_fini(&j->of);
    free(j);
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_repair_making *j = ctx;
    const struct fab_repair_input in = {.fabric = j->of.fabric,
                                        .policy = &j->of.policy,
                                        .lids = &j->of.target->lids,
                                        .lft = &j->of.target->lft,
                                        .vls = &j->of.target->vls};
    (void)task;
    j->status = fab_repair_session_new(&in, &j->session, j->why, sizeof(j->why));
}

static void take(struct sm *s, struct sm_repair_making *j)
{
    struct sm_repair_state *r = &s->apply->repair;
    if (j->status != FAB_OK) {
        log_debug("sm", "an engine has to answer faults: %s",
                  j->why[0] ? j->why : fab_base_status_text(j->status));
        return;
    }
    fab_repair_session_fini(&r->session);
    r->session = j->session;
    r->tables = j->tables;
    j->session = (struct fab_repair_session){0};
    sm_repair_prepare_memory(s);
    log_debug("sm", "ready for local repairs labels=\"%s\" memory=%zu",
              fab_repair_label_source(r->session.state), fab_repair_memory(r->session.state));
}

static void go_on(struct sm *s)
{
    s->apply->repair.task = NULL;
    sm_repair_prepare(s);
    s->wiring->repair_state_made(s);
    sm_rebalance_prepare(s);
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    take(s, ctx);
    making_free(ctx);
    go_on(s);
}

/* Called instead of done() if the result is not needed any more, because other tables became
 * active, or if memory ran out. */
static void drop(void *owner, void *ctx)
{
    struct sm *s = owner;
    making_free(ctx);
    if (s && s->apply->repair.task)
        go_on(s);
}

/* Makes the input of the task: references to the snapshot and to the active tables. Returns NULL if
 * there is no memory. */
static struct sm_repair_making *seal(const struct sm *s)
{
    struct sm_repair_making *j = calloc(1, sizeof(*j));
    if (j && sm_seal(&s->model, &s->policy, s->model.target, &j->of) != FAB_OK) {
        free(j);
        j = NULL;
    }
    if (j)
        j->tables = s->model.tables;
    return j;
}

static int start(struct sm *s, struct sm_repair_making *j)
{
    static const struct loop_task_ops ops = {"preparing for local repairs", work, done, drop};
    struct sm_repair_state *r = &s->apply->repair;
    if (!j)
        return FAB_E_NOMEM;
    r->asked = j->tables;
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->apply->tasks,
                                            .owner = s,
                                            .ctx = j,
                                            .place =
                                                s->in.recorded ? LOOP_TASK_INLINE : LOOP_TASK_LONG,
                                            .generation = &s->model.tables};
    return loop_task_start(s->in.loop, &config, &r->task);
}

static void drop_sealed(struct sm_repair_state *r)
{
    if (r->sealed)
        making_free(r->sealed);
    r->sealed = NULL;
}

void sm_repair_drop_sealed(struct sm *s)
{
    drop_sealed(&s->apply->repair);
}

void sm_repair_seal(struct sm *s)
{
    struct sm_repair_state *r = &s->apply->repair;
    drop_sealed(r);
    if (!s->in.recorded && r->tables != s->model.tables)
        r->sealed = seal(s);
}

bool sm_repair_is_sealed(const struct sm *s)
{
    return s->apply->repair.sealed != NULL;
}

void sm_repair_begin(struct sm *s)
{
    struct sm_repair_state *r = &s->apply->repair;
    struct sm_repair_making *j = r->sealed;
    r->sealed = NULL;
    if (j && (r->task || j->tables != s->model.tables))
        making_free(j);
    else if (j && start(s, j) != FAB_OK)
        log_debug("sm", "no memory to prepare for local repairs");
}

void sm_repair_prepare(struct sm *s)
{
    struct sm_repair_state *r = &s->apply->repair;
    if (sm_run_busy(s) || !s->model.view || !s->model.target || r->task ||
        r->asked == s->model.tables || s->apply->program.stopped || !sm_is_master(s))
        return;
    drop_sealed(r);
    if (start(s, seal(s)) != FAB_OK)
        log_debug("sm", "no memory to prepare for local repairs");
}

/* Returns true if failed writes have left a mixture of old and new tables in which some pairs have
 * no path, or packets may loop or deadlock. No local repair may begin then, because its proof
 * assumes the new tables; instead, a sweep writes what is missing. If a local repair has
 * left out paths from or to switches, pairs with a switch at one end do not count. */
static bool stands_on_bad_mixture(const struct sm *s)
{
    const struct fab_verdict *v = &s->apply->verdict;
    return s->apply->mixed && !fab_verify_verdict_good(v) &&
           !(s->apply->left_out && fab_verify_verdict_good_for_hosts(v));
}

/* Returns the number (model.tables) of the tables on which a local repair would be based now. As
 * long as no write of a new plan was sent, these are the tables from before the round: a fault
 * interrupts the round and restores them (route.c). */
static uint64_t active_tables(const struct sm *s)
{
    return s->apply->planning && s->apply->replaced.target ? s->apply->replaced.tables
                                                           : s->model.tables;
}

bool sm_repair_ready(const struct sm *s)
{
    const struct sm_repair_state *r = &s->apply->repair;
    return r->session.state && !stands_on_bad_mixture(s) && r->tables == active_tables(s) &&
           !s->apply->standby.differs && !s->apply->standby.catching &&
           !s->apply->program.stopped && !s->apply->program.barred && s->model.view &&
           s->model.target && sm_is_master(s);
}

struct fab_repair_session *sm_repair_session(struct sm *s)
{
    return &s->apply->repair.session;
}

const struct fab_repair_session *sm_repair_session_of(const struct sm *s)
{
    return &s->apply->repair.session;
}

void sm_repair_prepare_memory(struct sm *s)
{
    struct sm_repair_state *r = &s->apply->repair;
    if (r->session.state && r->tables == s->model.tables && s->model.target)
        fab_repair_session_prepare(&r->session, s->model.target);
}

void sm_repair_forget(struct sm *s)
{
    fab_repair_session_fini(&s->apply->repair.session);
    s->apply->repair.asked = 0;
}

void sm_repair_take_last(struct sm *s, struct fab_repair_delta *ret)
{
    struct sm_repair_state *r = &s->apply->repair;
    *ret = (struct fab_repair_delta){0};
    if (r->session.state && r->tables == s->model.tables)
        fab_repair_session_take_last(&r->session, ret);
}

void sm_repair_state_fini(struct sm *s)
{
    drop_sealed(&s->apply->repair);
    fab_repair_session_fini(&s->apply->repair.session);
}

void sm_repair_lend(struct sm *s, struct fab_repair_session *ret)
{
    struct sm_repair_state *r = &s->apply->repair;
    bool good = s->model.former && r->tables == s->model.tables;
    *ret = good ? r->session : (struct fab_repair_session){0};
    if (good)
        r->session = (struct fab_repair_session){0};
}

void sm_repair_give_back(struct sm *s, struct fab_repair_session *t)
{
    struct sm_repair_state *r = &s->apply->repair;
    if (!t->state)
        return;
    fab_repair_session_fini(&r->session);
    r->session = *t;
    r->tables = r->asked = s->model.tables;
    *t = (struct fab_repair_session){0};
}
