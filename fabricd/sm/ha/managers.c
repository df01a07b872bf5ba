/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the role of this manager, and the other managers that it sees, for operators. */
#include <inttypes.h>
#include <stdio.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/ha/state.h"

void sm_get_ha_status(const struct sm *s, struct sm_ha_status *ret)
{
    const struct sm_ha *ha = s->ha;
    *ret = (struct sm_ha_status){
        .state = s->role.state,
        .priority = s->role.priority,
        .own_priority = ha->priority,
        .set_priority = s->policy.sm_priority,
        .guid = s->role.guid,
        .master_guid = ha->master_guid,
        .handing_over = ha->handover.pending,
        .since_us = ha->since_us,
    };
    snprintf(ret->why, sizeof(ret->why), "%s", ha->why);
}

static void describe(const struct sm *s, const struct sm_other *o, struct sm_manager *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, o->node_guid) : FAB_NONE;
    uint64_t now = clock_now_us(), held = sm_handover_held_until(s, o->info.guid);
    *ret = (struct sm_manager){
        .guid = o->info.guid,
        .node_guid = o->node_guid,
        .lid = o->lid,
        .priority = o->info.priority,
        .state = o->info.state,
        .trusted = o->trusted,
        .activity = o->info.activity,
        .advancing = o->advancing,
        .silent_us = now - o->answered_us,
        .held_us = held ? held - now : 0,
    };
    if (node != FAB_NONE)
        sm_node_name(f, node, ret->name);
    snprintf(ret->place, sizeof(ret->place), "%s", o->place);
}

uint32_t sm_managers(const struct sm *s, struct sm_manager *ret, uint32_t max)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t count = x->other_count < max ? x->other_count : max;
    for (uint32_t i = 0; i < count; i++)
        describe(s, &x->others[i], &ret[i]);
    return count;
}

int sm_set_priority(struct sm *s, uint8_t priority)
{
    if (priority > SM_PRIORITY_MAX)
        return FAB_E_RANGE;
    sm_ha_set_priority(s, priority);
    return FAB_OK;
}
