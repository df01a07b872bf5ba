/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "addressing": who gets which LID. Leases go to the store before the first LID is written,
 * so that a restart at any later moment finds them.
 *
 * When the look found the fabric in the shape that the tables in force were proved for, they are
 * kept and nothing is computed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/private.h"

static void tell(struct sm *s, const struct fab_address_note *n)
{
    char name[SM_PLACE_LEN];
    uint32_t port = fab_fabric_port_by_guid(s->model.fabric, n->port_guid);
    if (port != FAB_NONE)
        sm_port_name(s->model.fabric, port, name);
    else
        snprintf(name, sizeof(name), "0x%016" PRIx64, n->port_guid);
    bool duplicate = n->kind == FAB_NOTE_DUPLICATE_LID;
    bus_say(s->in.bus, EVENT_WARNING, duplicate ? "duplicate-lid" : "invalid-lid", name,
            n->port_guid, 0, "%s came with LID %u, which %s; it gets another one", name, n->lid,
            duplicate ? "another port has" : "is not a valid unicast LID here");
}

static void save_leases(struct sm *s)
{
    if (s->in.store)
        store_put_leases(s->in.store, s->model.leases, s->model.lease_count);
}

static int assign(struct sm *s, struct fab_target *target)
{
    struct fab_address_input in = {
        .fabric = s->model.fabric,
        .policy = &s->policy,
        .leases = s->model.leases,
        .lease_count = s->model.lease_count,
    };
    struct fab_address_note *notes = NULL;
    size_t count = 0;
    int r = fab_address_assign(&in, &target->lids, &notes, &count);
    if (r != FAB_OK)
        return r;
    for (size_t i = 0; i < count && i < SM_EVENTS_A_ROUND; i++)
        tell(s, &notes[i]);
    free(notes);
    return sm_model_keep_leases(&s->model, &target->lids);
}

static int enter(struct sm *s)
{
    fab_target_unref(s->fresh);
    s->fresh = NULL;
    if (s->model.target && s->run.same && s->run.kind != SM_ROUND_REROUTE &&
        s->run.kind != SM_ROUND_REBALANCE)
        return FAB_OK;
    struct fab_target *target = fab_target_new();
    if (!target)
        return FAB_E_NOMEM;
    int r = assign(s, target);
    if (r != FAB_OK) {
        fab_target_unref(target);
        return r;
    }
    s->fresh = target;
    save_leases(s);
    return sm_model_reserve(&s->model, target->lids.top);
}

const struct sm_phase sm_phase_address = {"addressing", enter, NULL, NULL, NULL, NULL};
