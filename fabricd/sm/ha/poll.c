/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The polls of a standby manager (IBA 14.4.1). A standby manager reads the master's SMInfo every
 * subnet.standby_poll_ms. If FAB_SMSTATE_POLLS polls in a row fail, or if the other manager is no
 * longer master, this manager sweeps and elects the master again.
 *
 * A standby manager reads the SMInfo of all other managers twice a second (watch.c). If the master
 * is gone and all others have answered recently, these answers are enough for an election at once;
 * a sweep follows the election, unless another manager is then master. Otherwise the election is a
 * part of the sweep, which takes a second in a fabric of 11,664 hosts.
 *
 * A poll is sent once, and its answer must come before the next poll; the time-outs of other SMPs
 * do not apply. A take-over therefore begins at most FAB_SMSTATE_POLLS + 1 intervals after the
 * master stopped. This is also true if the master hangs while its port still answers all other
 * requests.
 */
#include "fabricd/base/clock.h"
#include "fabricd/sm/ha/state.h"

/* If a manager with precedence does not become master within this time, in us, this manager no
 * longer waits for it. */
#define WAIT_US UINT64_C(30000000)
/* maximum age in us of an SMInfo that an election may use without reading it again. It is longer
 * than the interval of the reads in watch.c, and shorter than the time after which the master
 * counts as gone. If it were longer than that, a manager that was lost together with the master
 * would count as present. */
#define LATELY_US UINT64_C(800000)

static uint64_t interval_us(const struct sm *s)
{
    return (uint64_t)s->in.config->managers.standby_poll_ms * 1000;
}

static void sweep_and_elect(struct sm *s)
{
    sm_poll_end(s);
    sm_request_heavy(s);
    sm_schedule(s);
}

/* Returns true if all trusted managers have answered recently, except the master, which is gone. */
static bool knows_all(const struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    uint64_t now = clock_now_us();
    uint32_t i = 0;
    while (i < x->other_count &&
           (!x->others[i].trusted || x->others[i].answered_us + LATELY_US >= now ||
            x->others[i].node_guid == s->ha->poll.lost_node))
        i++;
    return i == x->other_count && s->model.fabric != NULL;
}

void sm_ha_rediscover(struct sm *s)
{
    if (s->role.state != FAB_SM_STANDBY)
        return;
    fab_smstate_rediscover(&s->role);
    s->ha->rediscovers = true;
    sweep_and_elect(s);
}

/* After a hand-over by command, this manager shows a lower priority than its own (handover.c). As
 * master, the other manager may show a higher priority than in standby. This manager then raises
 * its priority, as far as it can while the master keeps precedence. Otherwise each hand-over
 * between the two would lower both priorities, until no further hand-over is possible. */
static void raise_priority(struct sm *s, const struct fab_sm_info *master)
{
    int highest = fab_smstate_priority_below(s->ha->priority, s->role.guid, master);
    if (master->state == FAB_SM_MASTER && highest > s->role.priority)
        s->role.priority = (uint8_t)highest;
}

/* Passes the result of a poll to the state machine. info: SMInfo of the manager that was polled;
 * NULL: it has not answered, or is not trusted any more. */
static void conclude(struct sm *s, const struct fab_sm_info *info)
{
    const struct sm_other *master = &s->ha->master;
    switch (fab_smstate_poll(&s->role, info)) {
    case FAB_SMSTATE_GONE:
        event_emit(s->in.bus, sm_master_lost, .subject = s->in.transport->name,
                   .guid = s->ha->master_guid, .master_guid = s->ha->master_guid,
                   .place = master->place);
        s->ha->poll.lost_node = master->node_guid;
        s->ha->poll.lost_us = clock_now_us();
        if (!info && knows_all(s))
            sm_ha_elect(s);
        if (s->role.state != FAB_SM_STANDBY)
            sweep_and_elect(s);
        break;
    case FAB_SMSTATE_PASSED_OVER:
        event_emit(s->in.bus, sm_passed_over, .subject = master->place, .guid = s->ha->master_guid,
                   .priority = info->priority, .state = fab_smstate_name(info->state));
        sweep_and_elect(s);
        break;
    default:
        break;
    }
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_poll *p = ctx;
    struct sm *s = p->s;
    struct fab_sm_info info;
    (void)tag;
    if (s->role.state != FAB_SM_STANDBY || a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) != FAB_OK)
        return; /* the next poll finds this one unanswered, and counts it as failed */
    p->unanswered = false;
    bool trusted = sm_trust_answer(s, sm_trust_port_of(s, &s->ha->master), &info);
    if (trusted)
        raise_priority(s, &info);
    conclude(s, trusted ? &info : NULL);
}

static void send(struct sm *s)
{
    const struct sm_other *master = &s->ha->master;
    const struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_SM_INFO,
        .m_key = sm_trust_m_key(s, sm_trust_port_of(s, master)),
        .once = true,
        .dlid = 0xffff,
        .path = &master->path,
        .done = on_answer,
        .ctx = &s->ha->poll,
    };
    s->ha->poll.unanswered = true;
    if (master->path.hops != FAB_PATH_UNKNOWN && fab_mads_submit(s->mads, &req) == FAB_OK)
        agent_pump(s->agent);
}

static void on_time(void *ctx)
{
    struct sm_poll *p = ctx;
    struct sm *s = p->s;
    if (s->role.state != FAB_SM_STANDBY)
        return;
    fab_mads_cancel(s->mads, p);
    loop_timer_set(p->timer, interval_us(s));
    if (p->unanswered)
        conclude(s, NULL);
    if (s->role.state == FAB_SM_STANDBY)
        send(s);
}

void sm_poll_begin(struct sm *s)
{
    struct sm_poll *p = &s->ha->poll;
    fab_mads_cancel(s->mads, p);
    p->unanswered = false;
    p->lost_node = 0;
    s->role.waits_allowed = (uint32_t)(WAIT_US / interval_us(s));
    loop_timer_set(p->timer, interval_us(s));
}

void sm_poll_end(struct sm *s)
{
    loop_timer_cancel(s->ha->poll.timer);
    fab_mads_cancel(s->mads, &s->ha->poll);
}

int sm_poll_init(struct sm *s)
{
    struct sm_poll *p = &s->ha->poll;
    p->s = s;
    p->timer = loop_timer_new(s->in.loop, on_time, p);
    return p->timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_poll_fini(struct sm *s)
{
    if (s->ha->poll.timer)
        sm_poll_end(s);
    loop_timer_free(s->ha->poll.timer);
}
