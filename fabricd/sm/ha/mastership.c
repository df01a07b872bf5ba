/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file makes the manager master or standby, and reports its SMInfo (IBA 14.4.1).
 * libfabmgr/smstate has the state machine; this file has the messages and timers.
 *
 * A standby manager does not sweep; it reads the master's SMInfo every POLL_US. If several polls in
 * a row fail, or the other manager is not master any more, it sweeps and elects anew.
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
    s->ha->master_lid = 0;
    loop_timer_cancel(s->ha->poll_timer);
    event_emit(s->in.bus, sm_master, .subject = s->in.transport->name, .guid = s->role.guid,
               .priority = s->role.priority);
}

static void became_standby(struct sm *s)
{
    const struct sm_sminfo *x = &s->ha->sminfo;
    sm_model_forget(&s->model);
    sm_multicast_forget(s);
    s->ha->master_guid = s->role.master_guid;
    s->ha->master_path.hops = FAB_PATH_UNKNOWN;
    for (uint32_t i = 0; i < x->info_count; i++)
        if (x->infos[i].guid == s->ha->master_guid) {
            s->ha->master_path = x->info_paths[i];
            s->ha->master_lid = x->info_lids[i];
        }
    event_emit(s->in.bus, sm_standby, .subject = s->in.transport->name, .guid = s->role.guid,
               .master_guid = s->ha->master_guid);
    loop_timer_set(s->ha->poll_timer, POLL_US);
}

void sm_ha_elect(struct sm *s)
{
    uint8_t before = s->role.state;
    fab_smstate_discovered(&s->role, s->ha->sminfo.infos, s->ha->sminfo.info_count);
    if (sm_is_master(s) && before != FAB_SM_MASTER)
        became_master(s);
    if (s->role.state == FAB_SM_STANDBY)
        became_standby(s);
}

/* ---- standby --------------------------------------------------------------------------------- */

static void take_over(struct sm *s)
{
    event_emit(s->in.bus, sm_master_lost, .subject = s->in.transport->name,
               .guid = s->ha->master_guid, .master_guid = s->ha->master_guid);
    sm_request_heavy(s);
    sm_schedule(s);
}

static void on_poll_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm *s = ctx;
    struct fab_sm_info info;
    (void)tag;
    if (s->role.state != FAB_SM_STANDBY)
        return;
    bool good = a->status == FAB_OK &&
                fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) == FAB_OK;
    if (fab_smstate_poll(&s->role, good ? &info : NULL))
        take_over(s);
    else
        loop_timer_set(s->ha->poll_timer, POLL_US);
}

static void on_poll(void *ctx)
{
    struct sm *s = ctx;
    struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_SM_INFO,
        .m_key = s->policy.m_key,
        .dlid = 0xffff,
        .path = &s->ha->master_path,
        .done = on_poll_answer,
        .ctx = s,
    };
    if (s->role.state != FAB_SM_STANDBY)
        return;
    if (s->ha->master_path.hops == FAB_PATH_UNKNOWN || fab_mads_submit(s->mads, &req) != FAB_OK) {
        const struct fab_mads_answer none = {.status = FAB_E_TIMEOUT};
        on_poll_answer(s, 0, &none);
        return;
    }
    agent_pump(s->agent);
}

/* ---- answering SMInfo requests --------------------------------------------------------------- */

static void own_info(struct sm *s, uint8_t data[FAB_SMP_DATA])
{
    struct fab_sm_info info = {
        .guid = s->role.guid,
        .sm_key = s->policy.sm_key,
        .activity = ++s->ha->activity,
        .priority = s->role.priority,
        .state = s->role.state,
    };
    memset(data, 0, FAB_SMP_DATA);
    fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, FAB_SMP_DATA);
}

static uint16_t control(struct sm *s, uint32_t attr_mod, const uint8_t *data, size_t len)
{
    struct fab_sm_info from;
    if (fab_wire_attr_unpack(&fab_wire_attr_sm_info, data, len, &from) != FAB_OK)
        return FAB_SMP_BAD_VALUE;
    bool rediscover = false;
    uint16_t status = fab_smstate_control(&s->role, attr_mod, &from, &rediscover);
    log_line(status ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "sm",
             "SMInfo control packet %u from 0x%016" PRIx64 ": status 0x%04x, now %s", attr_mod,
             from.guid, status, fab_smstate_name(s->role.state));
    if (rediscover)
        sm_request_heavy(s);
    return status;
}

void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len)
{
    uint8_t before = s->role.state, own[FAB_SMP_DATA];
    uint16_t status = 0;
    if (head->method == FAB_METHOD_SET)
        status = control(s, head->attr_mod, data, len);
    if (before != FAB_SM_MASTER && sm_is_master(s))
        became_master(s);
    if (before == FAB_SM_NOT_ACTIVE && s->role.state == FAB_SM_STANDBY)
        became_standby(s); /* starts polling again, which had stopped in the state not-active */
    own_info(s, own);
    sm_reply(s, mad, FAB_METHOD_GET_RESP, status, own);
    if (before == FAB_SM_MASTER && !sm_is_master(s)) {
        sm_model_forget(&s->model);
        sm_multicast_forget(s);
        s->wiring->mastership_lost(s);
        sm_round_interrupt(s);
    }
    sm_schedule(s);
}

uint64_t sm_ha_master_guid(const struct sm *s)
{
    return s->ha->master_guid;
}

uint32_t sm_ha_master_lid(const struct sm *s)
{
    return s->ha->master_lid;
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

int sm_ha_init(struct sm *s)
{
    s->ha = calloc(1, sizeof(*s->ha));
    if (!s->ha)
        return FAB_E_NOMEM;
    fab_smstate_init(&s->role, s->in.transport->port_guid, s->policy.sm_priority);
    s->ha->master_path.hops = FAB_PATH_UNKNOWN;
    s->ha->poll_timer = loop_timer_new(s->in.loop, on_poll, s);
    return s->ha->poll_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_ha_fini(struct sm *s)
{
    if (!s->ha)
        return;
    if (s->ha->announced)
        (void)set_is_sm(s, false);
    loop_timer_free(s->ha->poll_timer);
    free(s->ha);
    s->ha = NULL;
}
