/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three phases of a sweep. They run on a worker thread, because their time grows with the size of
 * the fabric. Phase "preparing" sets up the discovery. Phase "sealing" makes a snapshot of what the
 * discovery found. Phase "adopting" computes directed routes to all nodes, compares the snapshot
 * with the previous one, and gives the snapshot to the model.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/sweep/state.h"
#include "libfabmgr/verify/verify.h"

#define LOST_MOST 256u /* maximum number of lost links that a sweep lists */

/* The input and the result of the worker task. While the task runs, no other code uses this struct,
 * except for `stop`. */
struct step {
    struct fab_discover *discover;
    struct fab_fabric *base;
    struct fab_places *places;
    struct fab_baseline *baseline;
    struct fab_silent *silent;
    struct fab_fabric *former;
    struct fab_node_names *names; /* the names that the operator gave to nodes */
    uint64_t *suspects;
    uint32_t suspect_count;
    struct sm_guids failed; /* switches that have probably failed */
    struct fab_fabric *fabric;
    /* the model, which is lent to the task (sm_model_lend) */
    struct sm_model model;
    bool lent, same;
    bool flawed; /* the active tables do not pass the verification */
    bool finds_lost;
    struct sm_move moves[SM_MOVES];
    uint32_t move_count;
    /* ISLs that are up in the previous snapshot and missing in the new one */
    struct fab_silent_link *lost;
    uint32_t lost_count;
    /* the loop thread sets it if the model must not adopt the snapshot any more */
    atomic_bool stop;
    int status;
};

static void step_free(struct step *l)
{
    fab_discover_free(l->discover);
    fab_fabric_unref(l->base);
    fab_discover_places_unref(l->places);
    fab_discover_baseline_unref(l->baseline);
    fab_discover_silent_unref(l->silent);
    fab_fabric_unref(l->former);
    fab_fabric_unref(l->fabric);
    fab_policy_node_names_unref(l->names);
    free(l->suspects);
    free(l->lost);
    if (l->lent)
        sm_model_fini(&l->model);
    free(l);
}

/* Takes the model back from the worker task. The model then has the new snapshot or, if the task
 * was stopped, is unchanged. Returns the status of the task. */
static int take_model(struct sm *s, struct step *l)
{
    s->sweep->adopting = NULL;
    sm_model_take_back(&s->model, &l->model);
    sm_multicast_swept(s);
    l->lent = false;
    if (l->status != FAB_OK)
        return l->status;
    if (!l->same) {
        sm_model_take_target(&s->model, NULL);
        sm_known_note(s);
    }
    sm_standing_note_lost(s, l->lost, l->lost_count);
    sm_moves_report(s, l->moves, l->move_count);
    return FAB_OK;
}

static void drop(struct sm *s, void *ctx)
{
    struct step *l = ctx;
    if (s && l->lent)
        (void)take_model(s, l);
    step_free(l);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void prepare(void *ctx)
{
    struct step *l = ctx;
    const struct fab_discover_config config = {
        .base = l->base,
        .suspects = l->suspects,
        .suspect_count = l->suspect_count,
        .failed = l->failed.guid,
        .failed_count = l->failed.count,
        .places = l->places,
        .baseline = l->baseline,
        .silent = l->silent,
        .former = l->former,
    };
    l->status = fab_discover_new(&config, &l->discover);
}

/* Sets the snapshot and the suspects from which the discovery starts. A targeted sweep starts from
 * the known fabric and the suspects. A round that takes over a background heavy sweep starts from
 * the result of that sweep and the touched nodes (background_sweep.c). Any other heavy sweep starts
 * from nothing. */
static int set_out(const struct sm *s, struct step *l)
{
    const uint64_t *suspects = s->run.suspects.guid;
    l->suspect_count = s->run.suspects.count;
    if (s->run.round->scoped) {
        l->base = fab_fabric_ref(s->model.fabric);
    } else if (s->run.from_background && sm_background_ready(s)) {
        l->base = fab_fabric_ref(s->sweep->background.fabric);
        l->suspect_count = s->sweep->background.touched_count;
        suspects = s->sweep->background.touched;
    } else {
        return FAB_OK;
    }
    l->suspects = calloc(l->suspect_count + 1u, sizeof(*l->suspects));
    if (!l->suspects)
        return FAB_E_NOMEM;
    if (l->suspect_count > 0)
        memcpy(l->suspects, suspects, l->suspect_count * sizeof(*suspects));
    return FAB_OK;
}

/* Returns true if the round takes over the result of a background heavy sweep without reading a
 * node, because no node was touched. */
static bool is_found(const struct sm *s)
{
    return s->run.from_background && sm_background_ready(s) &&
           s->sweep->background.touched_count == 0;
}

static int enter_prepare(struct sm *s)
{
    static const struct sm_phase_work prepare_work = {prepare, drop};
    fab_discover_free(s->sweep->discover);
    s->sweep->discover = NULL;
    if (is_found(s))
        return FAB_OK;
    struct step *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->places = fab_discover_places_ref(s->model.places);
    l->baseline = fab_discover_baseline_ref(sm_baseline_barrier(s));
    l->silent = fab_discover_silent_ref(sm_silent_set(s));
    l->failed = *sm_silent_failed(s);
    l->former = s->model.fabric ? fab_fabric_ref(s->model.fabric) : NULL;
    int r = set_out(s, l);
    if (r != FAB_OK) {
        step_free(l);
        return r;
    }
    return sm_phase_task_begin(s, &prepare_work, l);
}

static int leave_prepare(struct sm *s)
{
    struct step *l = sm_phase_task_take(s);
    if (!l)
        return FAB_OK;
    int r = l->status;
    s->sweep->discover = l->discover;
    l->discover = NULL;
    step_free(l);
    return r;
}

/* ---- sealing --------------------------------------------------------------------------------- */

static void seal(void *ctx)
{
    struct step *l = ctx;
    l->status = fab_discover_result(l->discover, &l->fabric);
}

static int enter_seal(struct sm *s)
{
    static const struct sm_phase_work seal_work = {seal, drop};
    fab_fabric_unref(s->sweep->found);
    s->sweep->found = NULL;
    if (!s->sweep->discover) {
        s->sweep->found = s->sweep->background.fabric;
        s->sweep->background.fabric = NULL;
        return FAB_OK;
    }
    struct step *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->discover = s->sweep->discover;
    s->sweep->discover = NULL;
    l->base = s->model.fabric ? fab_fabric_ref(s->model.fabric) : NULL;
    return sm_phase_task_begin(s, &seal_work, l);
}

static int leave_seal(struct sm *s)
{
    struct step *l = sm_phase_task_take(s);
    if (!l)
        return sm_sweep_judge(s);
    int r = l->status;
    s->sweep->discover = l->discover;
    l->discover = NULL;
    s->sweep->found = l->fabric;
    l->fabric = NULL;
    step_free(l);
    return r == FAB_OK ? sm_sweep_judge(s) : r;
}

/* ---- adopting -------------------------------------------------------------------------------- */

/* Returns true if the new snapshot has a link at this port. */
static bool is_linked(const struct fab_fabric *now, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(now, guid);
    return node != FAB_NONE && num <= now->nodes[node].num_ports &&
           fab_fabric_port(now, fab_fabric_port_id(now, node, num))->peer != FAB_NONE;
}

/* Lists the ISLs that are up in the previous snapshot `was` and missing in the new snapshot `now`,
 * at most LOST_MOST of them. */
static void find_lost(struct step *l, const struct fab_fabric *was, const struct fab_fabric *now)
{
    l->lost = calloc(LOST_MOST, sizeof(*l->lost));
    for (uint32_t p = 0; l->lost && p < was->port_count && l->lost_count < LOST_MOST; p++) {
        const struct fab_port *port = fab_fabric_port(was, p);
        if (!fab_fabric_isl_is_up(was, p) || port->peer < p)
            continue;
        const struct fab_port *peer = fab_fabric_port(was, port->peer);
        struct fab_silent_link x = {{was->nodes[port->node].guid, was->nodes[peer->node].guid},
                                    {port->num, peer->num}};
        if (!is_linked(now, x.guid[0], x.port[0]) || !is_linked(now, x.guid[1], x.port[1]))
            l->lost[l->lost_count++] = x;
    }
}

static void adopt(void *ctx)
{
    struct step *l = ctx;
    struct fab_fabric *fabric = l->fabric;
    l->fabric = NULL;
    if (l->finds_lost && l->model.fabric)
        find_lost(l, l->model.fabric, fabric);
    sm_names_give(fabric, l->names);
    l->places = fab_discover_places_ref(l->model.places);
    l->status = sm_model_adopt(&l->model, fabric, l->flawed, &l->stop, &l->same);
    if (l->status == FAB_OK)
        l->move_count = sm_moves_find(l->places, l->model.places, l->moves);
}

static int note_unresponsive_of(struct sm *s, const struct fab_discover *d, bool scoped)
{
    uint32_t count;
    const struct fab_unresponsive *unresponsive = d ? fab_discover_unresponsive(d, &count) : NULL;
    return d ? sm_unresponsive_update(s, unresponsive, count, scoped) : FAB_OK;
}

static int note_unresponsive(struct sm *s)
{
    if (!s->run.from_background)
        return note_unresponsive_of(s, s->sweep->discover, s->run.round->scoped);
    int r = sm_unresponsive_update(s, s->sweep->background.unresponsive,
                                   s->sweep->background.unresponsive_count, false);
    return r == FAB_OK ? note_unresponsive_of(s, s->sweep->discover, true) : r;
}

static int enter_adopt(struct sm *s)
{
    static const struct sm_phase_work adopt_work = {adopt, drop};
    struct step *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->fabric = s->sweep->found;
    s->sweep->found = NULL;
    l->names = fab_policy_node_names_ref(s->policy.node_names);
    l->lent = true;
    l->finds_lost = sm_standing_awaited(s);
    l->flawed = s->model.view && !fab_verify_verdict_good(&s->model.view->verdict);
    l->status = FAB_E_BUSY; /* status if drop() is called because the task could not run */
    sm_model_lend(&s->model, &l->model);
    s->sweep->adopting = &l->stop;
    return sm_phase_task_begin(s, &adopt_work, l);
}

static void stop_adopting(struct sm *s)
{
    if (s->sweep->adopting)
        atomic_store(s->sweep->adopting, true);
}

static void free_discover(void *ctx)
{
    fab_discover_free(ctx);
}

static int leave_adopt(struct sm *s)
{
    struct step *l = sm_phase_task_take(s);
    int r = take_model(s, l);
    s->run.same = l->same;
    step_free(l);
    if (r == FAB_OK)
        r = note_unresponsive(s);
    s->run.known_us = clock_now_us();
    if (s->sweep->discover)
        loop_discard(s->in.loop, free_discover, s->sweep->discover);
    s->sweep->discover = NULL;
    return r;
}

const struct sm_phase sm_phase_prepare = {.name = "preparing",
                                          .enter = enter_prepare,
                                          .finished = sm_phase_task_over,
                                          .leave = leave_prepare,
                                          .yields = SM_YIELDS};
const struct sm_phase sm_phase_seal = {.name = "sealing",
                                       .enter = enter_seal,
                                       .finished = sm_phase_task_over,
                                       .leave = leave_seal,
                                       .yields = SM_YIELDS};
const struct sm_phase sm_phase_adopt = {.name = "adopting",
                                        .enter = enter_adopt,
                                        .finished = sm_phase_task_over,
                                        .leave = leave_adopt,
                                        .abort = stop_adopting,
                                        .yields = SM_YIELDS};
