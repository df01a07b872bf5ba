/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confirms sudden losses before anything is written. A loss is sudden in two cases: more than
 * sweep.confirm_loss percent of the nodes do not answer, although neighbours report links to them
 * as up; or the manager's own node has no link any more. (If sweep.confirm_loss is 0, no loss
 * counts as sudden.) The manager drops the snapshot of a sweep that found a sudden loss, and does a
 * heavy sweep after a pause of one second. If that sweep finds the same number of lost nodes, the
 * loss is confirmed. If the number differs, one more sweep follows; a sudden loss in that sweep
 * counts as confirmed. If the neighbours report the links to lost nodes as down, the loss is proved
 * and needs no confirmation.
 *
 * While the manager's own node has no link, the former snapshot stays: the manager could write
 * nothing, and most likely all nodes are still there. The pauses grow to ten seconds.
 *
 * This file also drops snapshots with new nodes or links while the manager is frozen in mode
 * "repairs only".
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/sweep/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/discover/losses.h"

#define PAUSE_US 1000000u
#define PAUSE_MOST_US 10000000u
#define DOUBLINGS_MOST 4 /* after this many doublings, the pause exceeds PAUSE_MOST_US */
#define SWEEPS_MOST 2    /* maximum number of sweeps that confirm a loss of nodes */

static bool has_tables(const struct sm *s)
{
    return s->model.fabric && s->model.view && s->model.view->target;
}

/* ---- losses ---------------------------------------------------------------------------------- */

static bool is_sudden(const struct sm *s, const struct fab_losses *l)
{
    uint64_t percent = s->in.config->sweep.confirm_loss_percent;
    return percent > 0 &&
           (l->own_uplink || (uint64_t)l->unproved * 100 > percent * s->model.fabric->node_count);
}

static void wait_and_sweep(struct sm *s, const struct fab_losses *l)
{
    struct sm_confirming *c = &s->sweep->confirming;
    uint32_t doublings = !l->own_uplink               ? 0
                         : c->sweeps < DOUBLINGS_MOST ? c->sweeps
                                                      : DOUBLINGS_MOST;
    uint64_t pause = (uint64_t)PAUSE_US << doublings;
    char what[160];
    if (l->own_uplink)
        snprintf(what, sizeof(what), "the manager's own node has no link any more");
    else
        snprintf(what, sizeof(what), "%u of %u nodes do not answer, but links to them are up",
                 l->unproved, s->model.fabric->node_count);
    if (c->sweeps == 0)
        event_emit(s->in.bus, fabric_loss_confirming, .subject = "fabric", .nodes = l->nodes,
                   .unproved = l->unproved, .reason = what);
    sm_freeze_note_confirming(s, what);
    c->sweeps++;
    c->unproved = l->unproved;
    loop_timer_set(c->timer, pause < PAUSE_MOST_US ? pause : PAUSE_MOST_US);
}

static void end_confirming(struct sm *s)
{
    s->sweep->confirming.sweeps = 0;
    loop_timer_cancel(s->sweep->confirming.timer);
    sm_freeze_note_confirming(s, "");
}

/* Returns true if the loss of nodes is confirmed, because enough sweeps have found it. */
static bool is_confirmed(const struct sm_confirming *c, const struct fab_losses *l)
{
    return !l->own_uplink && c->sweeps > 0 &&
           (c->unproved == l->unproved || c->sweeps >= SWEEPS_MOST);
}

int sm_sweep_confirm(struct sm *s, const struct fab_fabric *now)
{
    struct sm_confirming *c = &s->sweep->confirming;
    struct fab_losses l = {0};
    if (!has_tables(s))
        return FAB_OK;
    int r = fab_discover_losses(s->model.fabric, now, &l);
    if (r != FAB_OK)
        return r;
    if (is_sudden(s, &l) && (loop_timer_pending(c->timer) || !is_confirmed(c, &l))) {
        if (!loop_timer_pending(c->timer))
            wait_and_sweep(s, &l);
        return SM_ROUND_OVER;
    }
    if (c->sweeps > 0 && is_sudden(s, &l))
        event_emit(s->in.bus, fabric_loss_confirmed, .subject = "fabric", .nodes = l.nodes);
    else if (c->sweeps > 0)
        event_emit(s->in.bus, fabric_loss_refuted, .subject = "fabric", .nodes = l.nodes);
    end_confirming(s);
    return FAB_OK;
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    sm_cause_set(s, "confirmation of a sudden loss");
    sm_request_heavy(s);
    sm_schedule(s);
}

/* ---- gains while the manager is frozen ------------------------------------------------------- */

int sm_sweep_leave_gains(struct sm *s, const struct fab_fabric *now)
{
    struct fab_change *changes = NULL;
    size_t count = 0;
    uint32_t nodes = 0, links = 0, lost = 0;
    if (!sm_freeze_bars_engine(s) || !has_tables(s))
        return FAB_OK;
    int r = fab_fabric_diff(s->model.fabric, now, &changes, &count);
    for (size_t i = 0; r == FAB_OK && i < count; i++) {
        nodes += changes[i].kind == FAB_CHANGE_NODE_ADDED;
        links += changes[i].kind == FAB_CHANGE_LINK_ADDED;
        lost += changes[i].kind == FAB_CHANGE_LINK_REMOVED;
    }
    free(changes);
    if (r != FAB_OK)
        return r;
    sm_freeze_note_gains(s, nodes, links);
    if (nodes == 0 && links == 0)
        return FAB_OK;
    log_info("sm", "frozen: %u new node%s and %u new link%s wait until the manager is resumed",
             nodes, fab_base_plural_s(nodes), links, fab_base_plural_s(links));
    if (lost > 0)
        sm_freeze_alarm(s,
                        "a sweep found lost links together with new nodes or links, so that routes "
                        "may still use the lost links");
    return SM_ROUND_OVER;
}

int sm_confirm_init(struct sm *s)
{
    s->sweep->confirming.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->sweep->confirming.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_confirm_drop(struct sm *s)
{
    if (s->sweep)
        end_confirming(s);
}

void sm_confirm_fini(struct sm *s)
{
    loop_timer_free(s->sweep->confirming.timer);
}
