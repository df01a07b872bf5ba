/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heavy sweep as a round. The round either sweeps the whole fabric itself, or adopts the result
 * of a background heavy sweep (background_sweep.c). In the second case, the round reads only the
 * nodes that may have changed during the background heavy sweep.
 */
#include <stdlib.h>

#include "fabricd/sm/sweep/state.h"
#include "libfabmgr/base/status.h"

/* Called when a heavy sweep begins as a round. If the round takes over the result of a background
 * heavy sweep, the nodes for which targeted sweeps are requested become touched nodes, which the
 * round reads again: the background heavy sweep may have read a node before the node changed. */
void sm_heavy_begun(struct sm *s)
{
    const struct sm_guids *targets = sm_requested_targets(s);
    const struct sm_background *b = &s->sweep->background;
    bool adopts = sm_background_ready(s) && !sm_is_requested(s, SM_REQUEST_HEAVY);
    for (uint32_t i = 0; adopts && i < targets->count; i++)
        sm_background_touch(s, targets->guid[i]);
    /* if the list of touched nodes has become too long, the background heavy sweep was dropped */
    s->run.from_background = adopts && sm_background_ready(s);
    sm_request_met(s, SM_REQUEST_LIGHT | SM_REQUEST_MASTER_LID);
    if (!s->run.from_background) {
        sm_background_drop(s);
        sm_request_met(s, SM_REQUEST_HEAVY | SM_REQUEST_BACKGROUND | SM_REQUEST_REROUTE);
        return;
    }
    s->run.started_us = b->started_us;
    s->run.sent_before = b->sent_before;
}

void sm_heavy_ended(struct sm *s, int status)
{
    (void)status;
    if (s->run.from_background)
        sm_background_drop(s);
}

/* Called when the round of a heavy sweep is postponed. If the round sweeps the fabric itself,
 * requests the sweep again. If the round takes over the result of a background heavy sweep, this
 * result stays for a later round; but if the round has used it up already, requests another
 * background heavy sweep. */
void sm_heavy_postponed(struct sm *s, bool awaited)
{
    (void)awaited;
    if (!s->run.from_background) {
        sm_request(s, SM_REQUEST_HEAVY);
        return;
    }
    sm_request_met(s, SM_REQUEST_HEAVY);
    if (!sm_background_ready(s)) {
        sm_background_drop(s);
        sm_request(s, SM_REQUEST_BACKGROUND);
    }
}

int sm_sweep_check(const struct sm *s)
{
    return sm_wait_check(s, SM_ROUND_HEAVY);
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
    int r = s->sweep ? sm_confirm_init(s) : FAB_E_NOMEM;
    return r == FAB_OK ? sm_background_init(s) : r;
}

void sm_sweep_fini(struct sm *s)
{
    if (!s->sweep)
        return;
    sm_background_fini(s);
    sm_confirm_fini(s);
    loop_tasks_orphan(&s->sweep->tasks);
    fab_discover_free(s->sweep->discover);
    fab_fabric_unref(s->sweep->found);
    free(s->sweep->asked);
    free(s->sweep);
    s->sweep = NULL;
}
