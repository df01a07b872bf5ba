/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes this manager master or standby, and answers requests for its SMInfo (IBA 14.4.1).
 * libfabmgr/smstate has the state machine; poll.c polls the master in standby.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/ha/state.h"
#include "fabricd/sm/mcast/mcast.h"

void sm_ha_because(struct sm *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->ha->why, sizeof(s->ha->why), fmt, args);
    va_end(args);
    s->ha->since_us = clock_unix_us();
}

/* Begins the work of the master. This manager has its own priority again, which a hand-over by
 * command may have lowered. */
static void became_master(struct sm *s)
{
    if (s->ha->poll.lost_node)
        fab_smstate_holds_lost(&s->ha->handover.holds, s->ha->master_guid, clock_now_us());
    s->role.priority = s->ha->priority;
    s->ha->rediscovers = false;
    s->ha->watch.second_guid = 0;
    s->ha->watch.master_us = clock_now_us();
    s->ha->master_guid = s->role.guid;
    s->ha->former_master = s->ha->master;
    s->ha->master.lid = 0;
    sm_poll_end(s);
    event_emit(s->in.bus, sm_master, .subject = s->in.transport->name, .guid = s->role.guid,
               .priority = s->role.priority);
    s->wiring->mastership_gained(s);
}

static void became_standby(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    bool already = s->ha->rediscovers && s->ha->master_guid == s->role.master_guid;
    s->ha->rediscovers = false;
    sm_model_forget(&s->model);
    sm_multicast_forget(s);
    s->ha->master_guid = s->role.master_guid;
    s->ha->master = (struct sm_other){.path.hops = FAB_PATH_UNKNOWN, .place = "an unknown port"};
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && x->others[i].info.guid == s->ha->master_guid)
            s->ha->master = x->others[i];
    if (!already)
        event_emit(s->in.bus, sm_standby, .subject = s->in.transport->name, .guid = s->role.guid,
                   .master_guid = s->ha->master_guid, .place = s->ha->master.place);
    sm_poll_begin(s);
    s->wiring->standby_began(s);
}

void sm_ha_step_down(struct sm *s, const struct sm_other *to)
{
    if (sm_run_busy(s))
        sm_run_abort(s);
    sm_handover_forget(s);
    fab_smstate_step_down(&s->role, to->info.guid);
    s->wiring->mastership_lost(s);
    became_standby(s);
    sm_waiters_end(s, FAB_E_DENIED, "another subnet manager is master now");
}

/* Call this function when an election has changed the state of this manager. Notes the reason for
 * operators. */
static void because_elected(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    if (sm_is_master(s)) {
        sm_ha_because(s, s->ha->poll.lost_node ? "the former master stopped answering"
                                               : "no other manager is master or has precedence");
        return;
    }
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].info.guid == s->role.master_guid)
            sm_ha_because(s, "the manager at %s %s", x->others[i].place,
                          x->others[i].info.state == FAB_SM_MASTER ? "is master"
                                                                   : "has precedence");
}

void sm_ha_elect(struct sm *s)
{
    uint8_t before = s->role.state;
    struct fab_sm_info infos[SM_MAX_OTHERS];
    uint32_t count = sm_others(s, infos, SM_MAX_OTHERS);
    fab_smstate_discovered(&s->role, infos, count);
    if (s->role.state != before)
        because_elected(s);
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
        /* in state not-active, this manager did not poll the master; became_standby begins to poll
         * it again */
        became_standby(s);
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
    if (head->directed)
        sm_watch_heard(s, sm_trust_origin(s, mad, head));
    sm_reply(s, mad, FAB_METHOD_GET_RESP, 0, own);
    sm_schedule(s);
}

uint8_t sm_ha_priority(const struct sm *s)
{
    return s->ha->priority;
}

void sm_ha_set_priority(struct sm *s, uint8_t priority)
{
    s->ha->priority = s->role.priority = priority;
    sm_handover_consider(s);
}

void sm_ha_reload(struct sm *s, uint8_t former_priority)
{
    if (s->policy.sm_priority != former_priority)
        sm_ha_set_priority(s, s->policy.sm_priority);
}

uint64_t sm_ha_master_guid(const struct sm *s)
{
    return s->ha->master_guid;
}

uint32_t sm_ha_master_lid(const struct sm *s)
{
    return s->ha->master.lid;
}

uint32_t sm_ha_former_master_lid(const struct sm *s)
{
    return s->ha->former_master.lid;
}

uint64_t sm_ha_former_master_guid(const struct sm *s)
{
    return s->ha->former_master.info.guid;
}

const struct fab_path *sm_ha_former_master_path(const struct sm *s)
{
    return &s->ha->former_master.path;
}

uint32_t sm_ha_former_master_port(const struct sm *s)
{
    return s->ha->former_master.info.guid ? sm_trust_port_of(s, &s->ha->former_master) : FAB_NONE;
}

static void renew_path(const struct sm *s, struct sm_other *o)
{
    uint32_t port = sm_trust_port_of(s, o);
    const struct fab_path *path = port != FAB_NONE ? sm_model_path(&s->model, port) : NULL;
    if (path)
        o->path = *path;
}

void sm_ha_renew_paths(struct sm *s)
{
    struct sm_election *x = &s->ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        renew_path(s, &x->others[i]);
    if (s->ha->master.info.guid)
        renew_path(s, &s->ha->master);
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
    sm_handover_forget(s);
    sm_watch_cancel(s);
    sm_ha_because(s, "the port of the manager is gone");
    s->ha->master_guid = 0;
    sm_poll_end(s);
    fab_mads_cancel(s->mads, s);
    if (was_master)
        s->wiring->mastership_lost(s);
}

void sm_ha_find_port(struct sm *s)
{
    fab_smstate_init(&s->role, s->in.transport->port_guid, s->ha->priority);
    sm_ha_because(s, "it was started, or its port came back");
    s->ha->master_guid = 0;
    s->ha->master = (struct sm_other){.path.hops = FAB_PATH_UNKNOWN};
}

int sm_ha_init(struct sm *s)
{
    s->ha = calloc(1, sizeof(*s->ha));
    if (!s->ha)
        return FAB_E_NOMEM;
    s->ha->priority = s->policy.sm_priority;
    sm_ha_find_port(s);
    int r = sm_handover_init(s);
    if (r == FAB_OK)
        r = sm_poll_init(s);
    return r == FAB_OK ? sm_watch_init(s) : r;
}

void sm_ha_fini(struct sm *s)
{
    if (!s->ha)
        return;
    if (s->ha->announced)
        (void)set_is_sm(s, false);
    sm_ha_control_forget(s);
    sm_handover_fini(s);
    sm_poll_fini(s);
    sm_watch_fini(s);
    free(s->ha);
    s->ha = NULL;
}
