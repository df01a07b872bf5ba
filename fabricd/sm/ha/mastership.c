/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes this manager master or standby, and answers requests for its SMInfo (IBA 14.4.1).
 * libfabmgr/smstate has the state machine; this file has the messages and timers.
 *
 * A standby manager does not sweep. It reads the master's SMInfo every POLL_US. If several polls in
 * a row fail, or if the other manager is no longer master, this manager sweeps and elects again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/ha/state.h"
#include "fabricd/sm/mcast/mcast.h"

#define POLL_US 1000000u

static void became_master(struct sm *s)
{
    s->ha->master_guid = s->role.guid;
    s->ha->master.lid = 0;
    loop_timer_cancel(s->ha->poll_timer);
    event_emit(s->in.bus, sm_master, .subject = s->in.transport->name, .guid = s->role.guid,
               .priority = s->role.priority);
}

static void became_standby(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    sm_model_forget(&s->model);
    sm_multicast_forget(s);
    s->ha->master_guid = s->role.master_guid;
    s->ha->master = (struct sm_other){.path.hops = FAB_PATH_UNKNOWN, .place = "an unknown port"};
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && x->others[i].info.guid == s->ha->master_guid)
            s->ha->master = x->others[i];
    event_emit(s->in.bus, sm_standby, .subject = s->in.transport->name, .guid = s->role.guid,
               .master_guid = s->ha->master_guid, .place = s->ha->master.place);
    loop_timer_set(s->ha->poll_timer, POLL_US);
}

void sm_ha_elect(struct sm *s)
{
    uint8_t before = s->role.state;
    struct fab_sm_info infos[SM_MAX_OTHERS];
    uint32_t count = sm_others(s, infos, SM_MAX_OTHERS);
    fab_smstate_discovered(&s->role, infos, count);
    if (sm_is_master(s) && before != FAB_SM_MASTER)
        became_master(s);
    if (before == FAB_SM_MASTER && !sm_is_master(s))
        s->wiring->mastership_lost(s);
    if (s->role.state == FAB_SM_STANDBY)
        became_standby(s);
}

void sm_ha_role_changed(struct sm *s, uint8_t before)
{
    if (before != FAB_SM_MASTER && sm_is_master(s))
        became_master(s);
    if (before == FAB_SM_NOT_ACTIVE && s->role.state == FAB_SM_STANDBY)
        /* Leaves the state not-active, in which the manager does not poll the master. */
        became_standby(s);
}

/* ---- standby --------------------------------------------------------------------------------- */

static void sweep_and_elect(struct sm *s)
{
    sm_request_heavy(s);
    sm_schedule(s);
}

static void on_poll_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm *s = ctx;
    const struct sm_other *master = &s->ha->master;
    struct fab_sm_info info;
    (void)tag;
    if (s->role.state != FAB_SM_STANDBY)
        return;
    bool good = a->status == FAB_OK &&
                fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) == FAB_OK &&
                sm_trust_answer(s, sm_trust_port_of(s, master), &info);
    switch (fab_smstate_poll(&s->role, good ? &info : NULL)) {
    case FAB_SMSTATE_GONE:
        event_emit(s->in.bus, sm_master_lost, .subject = s->in.transport->name,
                   .guid = s->ha->master_guid, .master_guid = s->ha->master_guid,
                   .place = master->place);
        sweep_and_elect(s);
        break;
    case FAB_SMSTATE_PASSED_OVER:
        event_emit(s->in.bus, sm_passed_over, .subject = master->place, .guid = s->ha->master_guid,
                   .priority = info.priority, .state = fab_smstate_name(info.state));
        sweep_and_elect(s);
        break;
    default:
        loop_timer_set(s->ha->poll_timer, POLL_US);
    }
}

static void on_poll(void *ctx)
{
    struct sm *s = ctx;
    const struct sm_other *master = &s->ha->master;
    struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_SM_INFO,
        .m_key = sm_trust_m_key(s, sm_trust_port_of(s, master)),
        .dlid = 0xffff,
        .path = &master->path,
        .done = on_poll_answer,
        .ctx = s,
    };
    if (s->role.state != FAB_SM_STANDBY)
        return;
    if (master->path.hops == FAB_PATH_UNKNOWN || fab_mads_submit(s->mads, &req) != FAB_OK) {
        const struct fab_mads_answer none = {.status = FAB_E_TIMEOUT};
        on_poll_answer(s, 0, &none);
        return;
    }
    agent_pump(s->agent);
}

/* ---- answering SMInfo requests --------------------------------------------------------------- */

void sm_ha_own_info(struct sm *s, bool with_key, uint8_t data[FAB_SMP_DATA])
{
    struct fab_sm_info info = {
        .guid = s->role.guid,
        .sm_key = with_key ? s->policy.sm_key : 0,
        .activity = ++s->ha->activity,
        .priority = s->role.priority,
        .state = s->role.state,
    };
    memset(data, 0, FAB_SMP_DATA);
    fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, FAB_SMP_DATA);
}

void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len)
{
    uint8_t own[FAB_SMP_DATA];
    if (head->method == FAB_METHOD_SET) {
        sm_ha_control(s, mad, head, data, len);
        return;
    }
    sm_ha_own_info(s, sm_trust_requester(s, mad, head), own);
    sm_reply(s, mad, FAB_METHOD_GET_RESP, 0, own);
    sm_schedule(s);
}

uint64_t sm_ha_master_guid(const struct sm *s)
{
    return s->ha->master_guid;
}

uint32_t sm_ha_master_lid(const struct sm *s)
{
    return s->ha->master.lid;
}

static int set_is_sm(struct sm *s, bool on)
{
    return s->in.transport->ops->set_is_sm(s->in.transport, on);
}

void sm_ha_announce(struct sm *s)
{
    s->ha->announced = set_is_sm(s, true) == FAB_OK;
    if (!s->ha->announced)
        log_warning("sm",
                    "port %s could not be marked as that of a subnet manager (IsSM); other "
                    "managers will not see us",
                    s->in.transport->name);
}

void sm_ha_lose_port(struct sm *s)
{
    bool was_master = sm_is_master(s);
    s->role.state = FAB_SM_NOT_ACTIVE;
    sm_ha_control_forget(s);
    s->ha->master_guid = 0;
    loop_timer_cancel(s->ha->poll_timer);
    fab_mads_cancel(s->mads, s);
    if (was_master)
        s->wiring->mastership_lost(s);
}

void sm_ha_find_port(struct sm *s)
{
    fab_smstate_init(&s->role, s->in.transport->port_guid, s->policy.sm_priority);
    s->ha->master_guid = 0;
    s->ha->master = (struct sm_other){.path.hops = FAB_PATH_UNKNOWN};
}

int sm_ha_init(struct sm *s)
{
    s->ha = calloc(1, sizeof(*s->ha));
    if (!s->ha)
        return FAB_E_NOMEM;
    sm_ha_find_port(s);
    s->ha->poll_timer = loop_timer_new(s->in.loop, on_poll, s);
    return s->ha->poll_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_ha_fini(struct sm *s)
{
    if (!s->ha)
        return;
    if (s->ha->announced)
        (void)set_is_sm(s, false);
    sm_ha_control_forget(s);
    loop_timer_free(s->ha->poll_timer);
    free(s->ha);
    s->ha = NULL;
}
