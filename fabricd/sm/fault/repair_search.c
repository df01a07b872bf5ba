/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the repair for the links that the last port probe found failed or returned. If a
 * contingency plan exists for exactly these links, the search uses the plan. A plan that was made
 * for an earlier state is checked and proved first. Otherwise the search computes the repair from
 * the repair session, and proves it.
 *
 * For a few links, the loop thread searches, because the start of a worker task would take as long
 * as the search. For more links, for example after the failure of a switch, a check can take 25 ms
 * and a computation 0.1 s; so a worker task searches, with a copy of the session's state. Right
 * after a take-over, the loop thread always searches, because the same phase then reads blocks of
 * the tables (confirm_tables.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"

/* if more links than this failed or came back, a worker task and not the loop thread computes the
 * repair */
#define LINKS_ON_LOOP 4

static void drop_input(struct sm_repair_search *x)
{
    fab_repair_free(x->copy);
    x->copy = NULL;
    fab_target_lft_fini(&x->tables);
}

void sm_repair_search_free(struct sm_repair_search *x)
{
    if (!x)
        return;
    fab_repair_delta_fini(&x->delta);
    drop_input(x);
    fab_repair_stored_plan_unref(x->plan);
    free(x->dead);
    free(x);
}

/* Lists all links that are failed now: those that the last port probe found, and those around which
 * local repairs of this session have routed before. Leaves out the links that have come back, as
 * the probe has found. */
static int list_failed(struct sm *s, struct sm_repair_search *x)
{
    const struct fab_repair_session *t = sm_repair_session_of(s);
    const struct sm_probe *p = &s->fault->probe;
    x->dead = calloc((size_t)t->idmap.deads + p->count + 1, sizeof(*x->dead));
    if (!x->dead)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < t->idmap.deads; i++)
        if (!sm_return_has(s, t->idmap.dead[i]))
            x->dead[x->deads++] = t->idmap.dead[i];
    for (uint32_t i = 0; i < p->count; i++) {
        x->dead[x->deads++] = fab_repair_session_port(t, s->model.fabric, p->link[i].port);
        x->up = x->up || p->link[i].isolated;
    }
    return FAB_OK;
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Uses the contingency plan. Sets the status to NOT_FOUND if there is no plan for these links,
 * if the plan is not valid any more, or if it has detours although one of these links is still
 * up. */
static void take_plan(struct sm_repair_search *x, struct fab_repair *state,
                      const struct fab_lft *tables)
{
    x->status = x->plan ? fab_repair_stored_plan_take(x->plan, x->plan_commits, state, tables,
                                                      x->dead, x->deads, &x->delta)
                        : FAB_E_NOT_FOUND;
    if (x->status == FAB_OK && x->up && x->delta.detours) {
        fab_repair_delta_fini(&x->delta);
        x->status = FAB_E_NOT_FOUND;
    }
    x->by_contingency = x->status == FAB_OK;
    x->computed_us = x->proved_us = clock_now_us();
}

static void compute(struct sm_repair_search *x, struct fab_repair *state,
                    const struct fab_lft *tables)
{
    take_plan(x, state, tables);
    if (x->status != FAB_E_NOT_FOUND)
        return;
    fab_repair_permit_detours(state, !x->up);
    x->status =
        fab_repair_plan(state, tables, x->dead, x->deads, &x->delta, x->why, sizeof(x->why));
    fab_repair_permit_detours(state, true);
    x->computed_us = x->proved_us = clock_now_us();
    if (x->status != FAB_OK)
        return;
    x->status = fab_repair_prove(state, tables, &x->delta, &x->unproved);
    x->refuted = x->status != FAB_OK && x->status != FAB_E_NOMEM;
    x->proved_us = clock_now_us();
    if (x->status == FAB_OK)
        x->status = fab_repair_order(state, tables, &x->delta);
}

static void compute_on_loop(struct sm *s, struct sm_repair_search *x)
{
    struct fab_repair_session *t = sm_repair_session(s);
    compute(x, t->state, fab_repair_session_tables(t, s->model.target));
}

static void work(void *ctx)
{
    struct sm_repair_search *x = ctx;
    compute(x, x->copy, &x->tables);
}

static void drop(struct sm *s, void *ctx)
{
    (void)s;
    sm_repair_search_free(ctx);
}

/* Starts a worker task that computes the repair. The task owns `x` from now on. Returns OK, or
 * NOMEM after it has freed `x`. */
static int compute_on_worker(struct sm *s, struct sm_repair_search *x)
{
    static const struct sm_phase_work search_work = {work, drop};
    struct fab_repair_session *t = sm_repair_session(s);
    int r = fab_repair_clone(t->state, &x->copy);
    if (r != FAB_OK) {
        sm_repair_search_free(x);
        return r;
    }
    x->tables = fab_target_lft_share(fab_repair_session_tables(t, s->model.target));
    return sm_phase_task_begin(s, &search_work, x);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Lists the failed links, and looks for the contingency plan that is for exactly these links. No
 * plan fits if the probe also found links that came back. */
static void prepare(struct sm *s, struct sm_repair_search *x)
{
    x->status = list_failed(s, x);
    if (x->status == FAB_OK && s->fault->probe.gains == 0)
        x->plan = sm_contingency_lookup(s, x->dead, x->deads, &x->plan_commits);
}

int sm_repair_search_begin(struct sm *s)
{
    const struct sm_probe *p = &s->fault->probe;
    struct sm_repair_search *x = calloc(1, sizeof(*x));
    if (!x)
        return FAB_E_NOMEM;
    prepare(s, x);
    if (x->status == FAB_OK && p->count + p->gains > LINKS_ON_LOOP && !sm_standby_unchecked(s))
        return compute_on_worker(s, x);
    if (x->status == FAB_OK)
        compute_on_loop(s, x);
    s->fault->search = x;
    return FAB_OK;
}

/* ---- missing writes -------------------------------------------------------------------------- */

/* Returns whether packets may be forwarded through the switch: it has at least one ISL that is up
 * and that the probe has not found failed. */
static bool forwards(const struct sm *s, uint32_t sw)
{
    const struct fab_fabric *f = s->model.fabric;
    for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
        if (fab_fabric_port_is_isl(f, port) && fab_fabric_port_is_up(f, port) &&
            !sm_probe_has(&s->fault->probe, port))
            return true;
    }
    return false;
}

static bool writes_block(const struct fab_repair_delta *d, uint32_t block)
{
    for (size_t i = 0; i < d->writes; i++)
        if (d->write[i].block == block)
            return true;
    return false;
}

/* Returns true if the proof of the repair depends on an entry of the active tables that a switch
 * may lack, because an earlier write failed. If all missing writes are those of local repairs, the
 * switches hold a mixture of old and new entries along whose paths the labels ascend
 * (libfabmgr/repair/write_order.c). A further repair is then safe if it brings back no link, keeps
 * the labels of the active tables, and writes no block with the number (LID / 64) of a missing
 * block. The last condition ensures that all switches hold the active entries for the LIDs that the
 * repair changes. */
static bool lacks_entries(const struct sm *s, const struct sm_repair_search *x)
{
    uint32_t count;
    const struct sm_failed_block *b = sm_failed_blocks(s, &count);
    bool differ = count > 0 && fab_repair_labels_differ(sm_repair_session_of(s)->state, &x->delta);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = fab_fabric_node_by_guid(s->model.fabric, b[i].guid);
        if (sw != FAB_NONE && forwards(s, sw) &&
            (differ || s->fault->probe.gains > 0 || !b[i].by_repair ||
             writes_block(&x->delta, b[i].block)))
            return true;
    }
    return false;
}

/* The proof of a repair assumes that all switches hold the active tables. If the proof depends on
 * an entry that a switch may lack, sets the result to BUSY; a sweep then sends all missing writes
 * in a safe order. */
static void check_tables(struct sm *s, struct sm_repair_search *x)
{
    bool gains = s->fault->probe.gains > 0;
    if (x->status != FAB_OK || (!lacks_entries(s, x) && (!gains || sm_returns_stand(s, &x->delta))))
        return;
    snprintf(x->why, sizeof(x->why),
             "some switches do not hold the tables of the last reroute yet");
    x->status = FAB_E_BUSY;
}

static void report_refuted(const struct sm_repair_search *x)
{
    if (x->refuted)
        log_error("sm", "a repair failed its proof (%s, switch %u, LID %u): not written",
                  fab_base_status_text(x->status), x->unproved.sw, x->unproved.lid);
}

struct sm_repair_search *sm_repair_search_end(struct sm *s)
{
    struct sm_repair_search *x = sm_phase_task_take(s);
    if (!x) {
        x = s->fault->search;
        s->fault->search = NULL;
    }
    drop_input(x);
    report_refuted(x);
    check_tables(s, x);
    return x;
}

struct sm_repair_search *sm_repair_search_failed_only(struct sm *s, struct sm_repair_search *x)
{
    sm_repair_search_free(x);
    sm_returns_drop(s);
    x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    prepare(s, x);
    if (x->status == FAB_OK)
        compute_on_loop(s, x);
    report_refuted(x);
    check_tables(s, x);
    return x;
}

void sm_repair_search_abort(struct sm *s)
{
    sm_repair_search_free(s->fault->search);
    s->fault->search = NULL;
}
