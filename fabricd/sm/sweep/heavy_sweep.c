/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heavy sweep runs as a round. It either sweeps the whole fabric itself, or adopts the result
 * of a background heavy sweep and reads again the nodes that were touched meanwhile.
 */
#include <stdlib.h>

#include "fabricd/sm/sweep/state.h"
#include "libfabmgr/base/status.h"

/* If the round adopts a background sweep, other requests stay pending, as that sweep may have read
 * a node before the change that caused the request. */
void sm_heavy_begun(struct sm *s)
{
    const struct sm_guids *targets = sm_requested_targets(s);
    const struct sm_background *b = &s->sweep->background;
    s->run.from_background = sm_background_ready(s) && !sm_is_requested(s, SM_REQUEST_HEAVY);
    sm_request_met(s, SM_REQUEST_LIGHT);
    if (!s->run.from_background) {
        sm_background_drop(s);
        sm_request_met(s, SM_REQUEST_HEAVY | SM_REQUEST_BACKGROUND | SM_REQUEST_REROUTE);
        return;
    }
    for (uint32_t i = 0; i < targets->count; i++)
        sm_background_touch(s, targets->guid[i]);
    s->run.started_us = b->started_us;
    s->run.sent_before = b->sent_before;
}

void sm_heavy_ended(struct sm *s, int status)
{
    (void)status;
    if (s->run.from_background)
        sm_background_drop(s);
}

/* Handles a postponed round. It keeps the result of the background sweep, which another round can
 * then adopt. */
void sm_heavy_postponed(struct sm *s, bool awaited)
{
    (void)awaited;
    if (s->run.from_background)
        sm_request_met(s, SM_REQUEST_HEAVY);
    else
        sm_request(s, SM_REQUEST_HEAVY);
}

int sm_sweep(struct sm *s, sm_done *done, void *ctx)
{
    int r = sm_wait(s, SM_ROUND_HEAVY, done, ctx);
    if (r != FAB_OK)
        return r;
    sm_request_sweep(s);
    sm_schedule(s);
    return FAB_OK;
}

int sm_sweep_init(struct sm *s)
{
    s->sweep = calloc(1, sizeof(*s->sweep));
    return s->sweep ? sm_background_init(s) : FAB_E_NOMEM;
}

void sm_sweep_fini(struct sm *s)
{
    if (!s->sweep)
        return;
    sm_background_fini(s);
    loop_tasks_orphan(&s->sweep->tasks);
    fab_discover_free(s->sweep->discover);
    fab_fabric_unref(s->sweep->found);
    free(s->sweep);
    s->sweep = NULL;
}
