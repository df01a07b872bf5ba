/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "addressing" assigns LIDs on a worker thread. The phase stores the LID leases before the
 * first LID is written to a port, so that a restarted manager knows all LIDs in use. If the manager
 * may adopt the tables that the switches hold (standing.c), the worker thread also copies these
 * tables for the phase "routing".
 *
 * If the sweep found exactly the fabric for which the active tables were proved, the manager keeps
 * the LIDs and tables and computes nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/apply/state.h"

static void emit(struct sm *s, const struct fab_address_note *n)
{
    char name[SM_PLACE_LEN];
    uint32_t port = fab_fabric_port_by_guid(s->model.fabric, n->port_guid);
    if (port != FAB_NONE)
        sm_port_name(s->model.fabric, port, name);
    else
        snprintf(name, sizeof(name), "0x%016" PRIx64, n->port_guid);
    if (n->kind == FAB_NOTE_DUPLICATE_LID)
        event_emit(s->in.bus, duplicate_lid, .subject = name, .guid = n->port_guid, .lid = n->lid);
    else
        event_emit(s->in.bus, invalid_lid, .subject = name, .guid = n->port_guid, .lid = n->lid);
}

static void save_leases(struct sm *s)
{
    if (s->in.store && sm_is_master(s))
        store_put_leases(s->in.store, s->model.leases, s->model.lease_count);
}

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct assignment {
    /* sm_model_lend lends the model to the task until the task ends. */
    struct sm_model model;
    struct fab_policy policy;
    struct fab_target *target;
    struct fab_address_note *notes;
    size_t note_count;
    bool adopts;
    /* valid only if `adopts` is true: the tables that the switches hold */
    struct sm_standing standing;
    int status;
};

static void assignment_free(struct assignment *a)
{
    fab_policy_fini(&a->policy);
    fab_target_unref(a->target);
    free(a->notes);
    sm_standing_fini(&a->standing);
    free(a);
}

static void drop(struct sm *s, void *ctx)
{
    struct assignment *a = ctx;
    if (s)
        sm_model_take_back(&s->model, &a->model);
    else
        sm_model_fini(&a->model);
    assignment_free(a);
}

static void assign(void *ctx)
{
    struct assignment *a = ctx;
    struct fab_address_input in = {
        .fabric = a->model.fabric,
        .policy = &a->policy,
        .leases = a->model.leases,
        .lease_count = a->model.lease_count,
    };
    int r = fab_address_assign(&in, &a->target->lids, &a->notes, &a->note_count);
    if (r == FAB_OK)
        r = sm_model_keep_leases(&a->model, &a->target->lids);
    if (r == FAB_OK)
        r = sm_model_reserve(&a->model, a->target->lids.top);
    if (r == FAB_OK && a->adopts)
        sm_standing_copy(&a->model.observed, &a->standing);
    a->status = r;
}

static int enter(struct sm *s)
{
    static const struct sm_phase_work assigning = {assign, drop};
    fab_target_unref(s->apply->fresh);
    s->apply->fresh = NULL;
    sm_standing_fini(&s->apply->standing);
    if (s->model.target && s->run.same && s->run.round->engine == SM_ENGINE_IF_NEEDED)
        return FAB_OK;
    struct assignment *a = calloc(1, sizeof(*a));
    if (!a)
        return FAB_E_NOMEM;
    int r = fab_policy_copy(&s->policy, &a->policy);
    a->target = r == FAB_OK ? fab_target_new() : NULL;
    if (!a->target) {
        assignment_free(a);
        return FAB_E_NOMEM;
    }
    a->adopts = s->run.round->engine == SM_ENGINE_IF_NEEDED && sm_standing_exist(s);
    sm_model_lend(&s->model, &a->model);
    return sm_phase_task_begin(s, &assigning, a);
}

static int leave(struct sm *s)
{
    struct assignment *a = sm_phase_task_take(s);
    if (!a)
        /* enter() has kept the active LIDs, so no worker task ran, and there is no result. */
        return FAB_OK;
    int r = a->status;
    sm_model_take_back(&s->model, &a->model);
    for (size_t i = 0; i < a->note_count && i < SM_EVENTS_A_ROUND && !s->run.round->reads_only; i++)
        emit(s, &a->notes[i]);
    if (r == FAB_OK) {
        s->apply->fresh = a->target;
        a->target = NULL;
        s->apply->standing = a->standing;
        a->standing = (struct sm_standing){0};
        save_leases(s);
    }
    assignment_free(a);
    return r;
}

const struct sm_phase sm_phase_address = {
    .name = "addressing", .enter = enter, .finished = sm_phase_task_over, .leave = leave};
