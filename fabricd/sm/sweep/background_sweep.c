/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The background heavy sweep reads the whole fabric while rounds continue. It keeps few requests in
 * flight, and fewer still while a round runs (ALONE_MOST, BESIDE_MOST). Nodes can change while the
 * sweep runs, so the sweep notes the touched nodes: nodes to which a round wrote, nodes that a
 * round read again, and nodes that sent a trap.
 *
 * The sweep reads the fabric in passes. The first pass reads all nodes. The second pass reads again
 * the nodes that were touched during the first pass. The third pass reads the nodes touched during
 * the second pass, and so on until no node was touched. Then a round takes over the result and
 * continues as a heavy sweep (heavy_sweep.c). The passes after the first are short, so there is
 * soon a pass during which no node is touched, even in a fabric that changes all the time. After
 * PASSES_MOST passes, or if the round must not wait, the round itself reads the touched nodes.
 *
 * The first heavy sweep and heavy sweeps caused by a fault run as rounds from the start.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/state.h"

/* maximum number of requests that the background sweep has in flight: ALONE_MOST while no round
 * runs, BESIDE_MOST while a round runs */
#define ALONE_MOST 16
#define BESIDE_MOST 4
/* maximum number of touched nodes that the sweep notes; if there are more, it starts again */
#define TOUCHED_MOST 1024
#define PASSES_MOST 16

/* ---- nodes touched during the sweep ---------------------------------------------------------- */

static bool is_among(const uint64_t *guid, uint32_t count, uint64_t what)
{
    uint32_t i = 0;
    while (i < count && guid[i] != what)
        i++;
    return i < count;
}

bool sm_background_touched(const struct sm *s, uint64_t guid)
{
    return is_among(s->sweep->background.touched, s->sweep->background.touched_count, guid);
}

void sm_background_touch(struct sm *s, uint64_t guid)
{
    struct sm_background *v = &s->sweep->background;
    if (!guid || !sm_background_active(s) || sm_background_touched(s, guid))
        return;
    if (!v->touched)
        v->touched = calloc(TOUCHED_MOST, sizeof(*v->touched));
    if (v->touched && v->touched_count < TOUCHED_MOST) {
        v->touched[v->touched_count++] = guid;
        return;
    }
    /* so many nodes were touched that the list is full; the sweep starts again */
    sm_background_drop(s);
    sm_request(s, SM_REQUEST_BACKGROUND);
}

/* ---- unresponsive ports ---------------------------------------------------------------------- */

/* Returns true if the pass that has just ended asked the node at the near end of this
 * unresponsive port and, if the GUID at the far end is known, also the node there. */
static bool was_asked(const struct sm_background *v, const struct fab_unresponsive *p)
{
    return is_among(v->asked, v->asked_count, p->near_guid) &&
           (!p->guid || is_among(v->asked, v->asked_count, p->guid));
}

/* Called when a pass has ended. Makes the new list of unresponsive ports: those that this pass
 * has found, and those of earlier passes whose nodes this pass has not asked (was_asked). */
static int keep_unresponsive(struct sm_background *v)
{
    uint32_t count, kept;
    const struct fab_unresponsive *found = fab_discover_unresponsive(v->discover, &count);
    struct fab_unresponsive *list =
        calloc((size_t)count + v->unresponsive_count + 1, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    for (kept = 0; kept < count; kept++)
        list[kept] = found[kept];
    for (uint32_t i = 0; i < v->unresponsive_count; i++)
        if (!was_asked(v, &v->unresponsive[i]))
            list[kept++] = v->unresponsive[i];
    free(v->unresponsive);
    v->unresponsive = list;
    v->unresponsive_count = kept;
    return FAB_OK;
}

/* ---- work of the worker thread between two passes ---- */

struct job {
    /* Before the task runs: the discovery of the pass that has ended; NULL: the result of this pass
     * is in `fabric` already. After the task has run: the discovery of the next pass; NULL: there
     * is no next pass. */
    struct fab_discover *discover;
    struct fab_fabric *fabric; /* the snapshot made so far */
    /* GUIDs of the nodes that the next pass reads; NULL: there is no next pass */
    uint64_t *suspects;
    uint32_t suspect_count;
    struct fab_places *places;
    struct fab_baseline *baseline;
    struct fab_silent *silent;
    struct fab_fabric *former;
    int status;
};

static void work(void *ctx, struct loop_task *task)
{
    struct job *j = ctx;
    (void)task;
    if (j->discover) {
        struct fab_fabric *found = NULL;
        j->status = fab_discover_result(j->discover, &found);
        fab_discover_free(j->discover);
        j->discover = NULL;
        fab_fabric_unref(j->fabric);
        j->fabric = found;
    }
    if (j->status != FAB_OK || !j->suspects)
        return;
    const struct fab_discover_config config = {.base = j->fabric,
                                               .suspects = j->suspects,
                                               .suspect_count = j->suspect_count,
                                               .places = j->places,
                                               .baseline = j->baseline,
                                               .silent = j->silent,
                                               .former = j->former};
    j->status = fab_discover_new(&config, &j->discover);
}

static void job_free(struct job *j)
{
    fab_discover_free(j->discover);
    fab_fabric_unref(j->fabric);
    fab_discover_places_unref(j->places);
    fab_discover_baseline_unref(j->baseline);
    fab_discover_silent_unref(j->silent);
    fab_fabric_unref(j->former);
    free(j->suspects);
    free(j);
}

static void failed(struct sm *s, int status)
{
    log_debug("sm", "background sweep failed: %s; a heavy sweep follows",
              fab_base_status_text(status));
    sm_request_heavy(s);
    sm_schedule(s);
}

static void take(struct sm_background *v, struct job *j)
{
    v->task = NULL;
    v->discover = j->discover;
    v->fabric = j->fabric;
    free(v->asked);
    v->asked = j->suspects;
    v->asked_count = j->suspect_count;
    v->passes += v->discover != NULL;
    j->discover = NULL;
    j->fabric = NULL;
    j->suspects = NULL;
    job_free(j);
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct job *j = ctx;
    int status = j->status;
    take(&s->sweep->background, j);
    if (status != FAB_OK)
        failed(s, status);
    else if (s->sweep->background.discover)
        sm_run_pump(s);
    else
        sm_schedule(s);
}

static void drop_job(void *owner, void *ctx)
{
    (void)owner;
    job_free(ctx);
}

/* Moves the GUIDs of the nodes that were touched during this pass to j->suspects, because the next
 * pass reads these nodes. If no node was touched, or after PASSES_MOST passes, there is no next
 * pass, and j->suspects stays NULL. */
static void set_suspects(struct sm_background *v, struct job *j)
{
    if (v->touched_count == 0 || v->passes >= PASSES_MOST)
        return;
    j->suspects = v->touched;
    j->suspect_count = v->touched_count;
    v->touched = NULL;
    v->touched_count = 0;
}

static void go_on(struct sm *s)
{
    static const struct loop_task_ops ops = {NULL, work, done, drop_job};
    struct sm_background *v = &s->sweep->background;
    struct job *j = calloc(1, sizeof(*j));
    int r = j && v->discover ? keep_unresponsive(v) : j ? FAB_OK : FAB_E_NOMEM;
    if (r != FAB_OK) {
        free(j);
        failed(s, r);
        return;
    }
    *j = (struct job){.discover = v->discover,
                      .fabric = v->fabric,
                      .places = fab_discover_places_ref(s->model.places),
                      .baseline = fab_discover_baseline_ref(sm_baseline_barrier(s)),
                      .silent = fab_discover_silent_ref(sm_silent_set(s)),
                      .former = s->model.fabric ? fab_fabric_ref(s->model.fabric) : NULL};
    set_suspects(v, j);
    v->discover = NULL;
    v->fabric = NULL;
    const struct loop_task_config config = {
        .ops = &ops, .tasks = &s->sweep->tasks, .owner = s, .ctx = j, .place = LOOP_TASK_SHORT};
    r = loop_task_start(s->in.loop, &config, &v->task);
    if (r != FAB_OK)
        failed(s, r);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_background *v = ctx;
    bool good = a->status == FAB_OK && a->len >= FAB_SMP_DATA;
    int status = good || a->status != FAB_OK ? a->status : FAB_E_FORMAT;
    v->outstanding--;
    sm_m_key_answered(v->s, a);
    if (fab_discover_answer(v->discover, tag, status, good ? a->data : NULL) != FAB_OK)
        log_error("sm", "out of memory during a background sweep; a part of the fabric is missed");
    if (v->outstanding == 0 && fab_discover_done(v->discover))
        go_on(v->s);
}

bool sm_background_next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_background *v = &s->sweep->background;
    struct fab_discover_ask ask;
    if (!v->discover || v->outstanding >= (sm_run_busy(s) ? BESIDE_MOST : ALONE_MOST))
        return false;
    if (!fab_discover_next(v->discover, &ask)) {
        if (v->outstanding == 0 && fab_discover_done(v->discover))
            loop_timer_set(v->timer, 0); /* this pass has nothing to read */
        return false;
    }
    *ret = (struct fab_mads_request){.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                     .method = FAB_METHOD_GET,
                                     .attr_id = ask.attr_id,
                                     .attr_mod = ask.attr_mod,
                                     .dlid = 0xffff,
                                     .path = ask.path,
                                     .done = on_answer,
                                     .ctx = v,
                                     .tag = ask.tag};
    sm_m_key_fill_discovery(s, ask.guid, ret);
    v->outstanding++;
    return true;
}

static void on_nothing(void *ctx)
{
    struct sm *s = ctx;
    struct sm_background *v = &s->sweep->background;
    if (v->discover && v->outstanding == 0 && fab_discover_done(v->discover))
        go_on(s);
}

/* ---- interface ------------------------------------------------------------------------------- */

bool sm_background_active(const struct sm *s)
{
    return s->sweep->background.discover || s->sweep->background.task ||
           s->sweep->background.fabric;
}

bool sm_background_behind(const struct sm *s)
{
    return s->sweep->background.touched_count > 0;
}

bool sm_background_ready(const struct sm *s)
{
    const struct sm_background *v = &s->sweep->background;
    return v->fabric && !v->discover && (v->touched_count == 0 || v->passes >= PASSES_MOST);
}

static void begin(struct sm *s)
{
    struct sm_background *v = &s->sweep->background;
    const struct fab_discover_config config = {.places = s->model.places,
                                               .baseline = sm_baseline_barrier(s),
                                               .silent = sm_silent_set(s),
                                               .former = s->model.fabric};
    struct fab_mads_stats stats;
    sm_request_met(s, SM_REQUEST_BACKGROUND);
    if (fab_discover_new(&config, &v->discover) != FAB_OK) {
        sm_request_heavy(s);
        return;
    }
    fab_mads_stats(s->mads, &stats);
    v->passes = 1;
    v->started_us = clock_now_us();
    v->sent_before = stats.sent;
    sm_wait_for_background(s);
    log_debug("sm", "background sweep begins");
    sm_run_pump(s);
}

void sm_background_schedule(struct sm *s)
{
    const struct sm_background *v = &s->sweep->background;
    if (v->fabric && !v->discover && !v->task && !sm_background_ready(s))
        go_on(s);
    else if (sm_is_requested(s, SM_REQUEST_BACKGROUND) && s->model.view &&
             !sm_is_requested(s, SM_REQUEST_HEAVY) && !sm_background_active(s))
        begin(s);
}

void sm_background_drop(struct sm *s)
{
    struct sm_background *v = &s->sweep->background;
    if (s->mads)
        fab_mads_cancel(s->mads, v);
    loop_timer_cancel(v->timer);
    loop_task_cancel(v->task);
    fab_discover_free(v->discover);
    fab_fabric_unref(v->fabric);
    free(v->touched);
    free(v->asked);
    free(v->unresponsive);
    *v = (struct sm_background){.s = s, .timer = v->timer};
}

int sm_background_init(struct sm *s)
{
    s->sweep->background =
        (struct sm_background){.s = s, .timer = loop_timer_new(s->in.loop, on_nothing, s)};
    return s->sweep->background.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_background_fini(struct sm *s)
{
    sm_background_drop(s);
    loop_timer_free(s->sweep->background.timer);
    s->sweep->background.timer = NULL;
}
