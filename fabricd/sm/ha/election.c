/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "electing" reads SMInfo from the ports that report a subnet manager (IsSM). The SMInfo of
 * trusted managers (trust.c) is passed to the state machine of libfabmgr/smstate, which decides
 * which manager is master (IBA 14.4.1). For each manager that is not trusted, an event names the
 * manager and its switch port.
 *
 * Every host can set IsSM, so a sweep asks at most SM_MAX_OTHERS ports. First come managers that
 * subnet.managers lists or that have proved themselves before (trust.c), at most KNOWN_MOST. The
 * other ports are for all other managers, the strangers: each sweep asks the next ones, in the
 * order of their GUIDs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/ha/state.h"

/* maximum number of listed or proved managers that a sweep asks; at least 16 of the SM_MAX_OTHERS
 * requests are left for strangers */
#define KNOWN_MOST (SM_MAX_OTHERS - 16)
/* An SMInfo of another manager is too old after this time, in us. Such a manager does not count as
 * another master, and gets no hand-over. */
#define FRESH_US UINT64_C(2500000)
/* Minimum time between two events sm-ports-many. */
#define MANY_EVERY_US UINT64_C(3600000000)
/* IsSM in PortInfo CapabilityMask (IBA 14.2.5.6). */
#define CAP_IS_SM 0x2u

bool sm_election_is_manager_port(const struct sm *s, uint32_t p)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_port *port = fab_fabric_port(f, p);
    return port->present && p != f->self_port && (port->info.cap_mask & CAP_IS_SM) &&
           fab_fabric_port_has_lid(f, p) && sm_model_path(&s->model, p);
}

/* A port with IsSM, whose manager is neither listed in subnet.managers nor has proved itself
 * before. */
struct stranger {
    uint64_t guid; /* GUID of the port's node */
    uint32_t port;
};

static int by_guid(const void *a, const void *b)
{
    const struct stranger *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return x->port < y->port ? -1 : x->port > y->port;
}

/* Adds strangers to the ports that this sweep asks, as far as there is room. It continues where
 * the previous sweep ended: the strangers are sorted by GUID, and the lowest GUID follows the
 * highest. */
static void add_in_turn(struct sm *s, struct stranger *all, size_t count)
{
    struct sm_election *x = &s->ha->election;
    size_t first = 0, room = SM_MAX_OTHERS - x->count;
    size_t take = count < room ? count : room;
    if (count == 0)
        return;
    qsort(all, count, sizeof(*all), by_guid);
    while (first < count && all[first].guid <= x->last_guid)
        first++;
    for (size_t i = 0; i < take; i++)
        x->ports[x->count++] = all[(first + i) % count].port;
    x->last_guid = take < count ? all[(first + take - 1) % count].guid : 0;
}

static void report_many(struct sm *s, size_t ports)
{
    struct sm_election *x = &s->ha->election;
    uint64_t now = clock_now_us();
    if (ports <= SM_MAX_OTHERS || (x->many_us && now < x->many_us + MANY_EVERY_US))
        return;
    x->many_us = now;
    event_emit(s->in.bus, sm_ports_many, .subject = s->in.transport->name, .ports = ports,
               .asked = x->count);
}

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_election *x = &s->ha->election;
    struct stranger *strangers = NULL;
    size_t known = 0, count = 0, room = 0;
    sm_watch_cancel(s);
    memcpy(x->former, x->others, x->other_count * sizeof(*x->former));
    x->former_count = x->other_count;
    x->count = x->asked = x->other_count = 0;
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!sm_election_is_manager_port(s, p))
            continue;
        if (sm_trust_known(s, p) && x->count < KNOWN_MOST) {
            x->ports[x->count++] = p;
            known++;
            continue;
        }
        if (count == room) {
            room = room ? 2 * room : 64;
            struct stranger *more = reallocarray(strangers, room, sizeof(*more));
            if (!more) {
                free(strangers);
                return FAB_E_NOMEM;
            }
            strangers = more;
        }
        strangers[count++] =
            (struct stranger){.guid = f->nodes[fab_fabric_port(f, p)->node].guid, .port = p};
    }
    add_in_turn(s, strangers, count);
    free(strangers);
    report_many(s, known + count);
    return FAB_OK;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_election *x = &s->ha->election;
    if (x->asked == x->count)
        return false;
    uint32_t port = x->ports[x->asked];
    ret->path = sm_model_path(&s->model, port);
    ret->attr_id = FAB_ATTR_SM_INFO;
    ret->attr_mod = 0;
    ret->m_key = sm_trust_m_key(s, port);
    /* The master at this node stopped answering. Its port is asked only once, because a take-over
     * must not wait for all tries. */
    ret->once = f->nodes[fab_fabric_port(f, port)->node].guid == s->ha->poll.lost_node;
    ret->tag = x->asked++;
    return true;
}

/* Returns what the election before knew about the manager at this node, for a comparison of
 * ActCounts; NULL: it did not find this manager. */
static const struct sm_other *former_at(const struct sm_election *x, uint64_t node_guid)
{
    for (uint32_t i = 0; i < x->former_count; i++)
        if (x->former[i].node_guid == node_guid)
            return &x->former[i];
    return NULL;
}

bool sm_other_is_fresh(const struct sm_other *o)
{
    return o->answered_us + FRESH_US >= clock_now_us();
}

void sm_other_answered(struct sm *s, struct sm_other *o, const struct fab_sm_info *info)
{
    uint32_t port = sm_trust_port_of(s, o);
    o->advancing = o->answered_us != 0 && info->activity != o->info.activity;
    o->answered_us = clock_now_us();
    if (info->state != FAB_SM_STANDBY)
        o->standby_us = 0;
    else if (o->standby_us == 0)
        o->standby_us = o->answered_us;
    o->info = *info;
    o->trusted = sm_trust_answer(s, port, info);
    sm_trust_note(s, o);
}

struct sm_other *sm_election_note(struct sm *s, uint32_t port, const struct fab_sm_info *info)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_election *x = &s->ha->election;
    uint32_t peer = fab_fabric_port(f, port)->peer;
    if (info->guid == s->role.guid || info->state == FAB_SM_NOT_ACTIVE ||
        x->other_count == SM_MAX_OTHERS)
        return NULL;
    struct sm_other *o = &x->others[x->other_count++];
    uint64_t node_guid = f->nodes[fab_fabric_port(f, port)->node].guid;
    const struct sm_other *former = former_at(x, node_guid);
    *o = (struct sm_other){
        .path = *sm_model_path(&s->model, port),
        .node_guid = node_guid,
        .port_num = fab_fabric_port(f, port)->num,
        .lid = fab_fabric_port(f, port)->info.lid,
        .answered_us = former ? former->answered_us : 0,
        .standby_us = former ? former->standby_us : 0,
        .info.activity = former ? former->info.activity : 0,
    };
    sm_other_answered(s, o, info);
    sm_port_name(f, peer != FAB_NONE ? peer : port, o->place);
    sm_watch_begin(s);
    return o;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t port = x->ports[tag];
    struct fab_sm_info info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) != FAB_OK)
        return;
    sm_election_note(s, port, &info);
}

static bool finished(const struct sm *s)
{
    return s->ha->election.asked == s->ha->election.count;
}

/* ---- managers that are not trusted ---- */

static bool same_claim(const struct sm_other *a, const struct sm_other *b)
{
    return a->info.guid == b->info.guid && a->info.state == b->info.state &&
           a->info.priority == b->info.priority && strcmp(a->place, b->place) == 0;
}

static bool is_reported(const struct sm_ha *ha, const struct sm_other *o)
{
    for (uint32_t i = 0; i < ha->refused_count; i++)
        if (same_claim(&ha->refused[i], o))
            return true;
    return false;
}

static const char *reason_of(const struct sm *s, const struct sm_other *o)
{
    if (o->info.sm_key == 0)
        return "it did not show the SM_Key, and subnet.managers does not list it";
    if (o->info.sm_key == s->policy.sm_key)
        return "its SM_Key is 1, which everybody knows; set another subnet.sm_key";
    return "its SM_Key is not subnet.sm_key";
}

static void report(struct sm *s, const struct sm_other *o)
{
    event_emit(s->in.bus, sm_refused, .subject = o->place, .guid = o->info.guid,
               .state = fab_smstate_name(o->info.state), .priority = o->info.priority,
               .reason = reason_of(s, o));
}

/* `o` is a manager that an earlier election refused. Returns true if this election has asked its
 * port, or if there is no manager at this port any more. */
static bool is_asked(const struct sm *s, const struct sm_other *o)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t port = sm_trust_port_of(s, o);
    for (uint32_t i = 0; i < x->count; i++)
        if (x->ports[i] == port)
            return true;
    return port == FAB_NONE || !sm_election_is_manager_port(s, port);
}

/* Removes managers from the list of refused managers if this election has asked them again, or if
 * there is no manager at their ports any more. */
static void keep_refused(struct sm *s)
{
    struct sm_ha *ha = s->ha;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ha->refused_count; i++)
        if (!is_asked(s, &ha->refused[i]))
            ha->refused[kept++] = ha->refused[i];
    ha->refused_count = kept;
}

/* Emits an event for each refused manager, except those that an earlier election reported with
 * the same port GUID, state, priority and place (same_claim). */
static void report_refused(struct sm *s)
{
    struct sm_ha *ha = s->ha;
    const struct sm_election *x = &ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (!x->others[i].trusted && !is_reported(ha, &x->others[i]))
            report(s, &x->others[i]);
    keep_refused(s);
    for (uint32_t i = 0; i < x->other_count && ha->refused_count < SM_REFUSED_MOST; i++)
        if (!x->others[i].trusted)
            ha->refused[ha->refused_count++] = x->others[i];
}

/* Isolates the hosts of refused managers, if the settings demand it. Only such a host can have sent
 * the SMInfo: the request had a directed route, and only the device at the end of this route could
 * answer. */
static void isolate_refused(struct sm *s)
{
    const struct sm_election *x = &s->ha->election;
    char cause[160];
    if (!sm_is_master(s) || s->in.config->offenders.refused_manager != CONFIG_OFFENCE_ISOLATE)
        return;
    for (uint32_t i = 0; i < x->other_count; i++) {
        const struct sm_other *o = &x->others[i];
        uint32_t port = sm_trust_port_of(s, o);
        snprintf(cause, sizeof(cause),
                 "it answers as a subnet manager that is not trusted (%s, priority %u)",
                 fab_smstate_name(o->info.state), o->info.priority);
        if (!o->trusted && port != FAB_NONE)
            s->wiring->offender_found(s, port, cause);
    }
}

static int leave(struct sm *s)
{
    report_refused(s);
    sm_watch_note_missing(s);
    sm_watch_report_masters(s);
    sm_ha_elect(s);
    s->ha->poll.lost_node = 0;
    isolate_refused(s);
    return sm_is_master(s) ? FAB_OK : SM_ROUND_OVER;
}

/* Returns true if this is the master that stopped answering the polls, and has not answered since
 * then. */
static bool is_lost(const struct sm *s, const struct sm_other *o)
{
    const struct sm_poll *p = &s->ha->poll;
    return o->node_guid == p->lost_node && o->answered_us <= p->lost_us;
}

uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && !is_lost(s, &x->others[i]) && count++ < max)
            ret[count - 1] = x->others[i].info;
    return count;
}

const struct sm_phase sm_phase_sminfo = {.name = "electing",
                                         .enter = enter,
                                         .next = next,
                                         .keyed = true,
                                         .answer = answer,
                                         .finished = finished,
                                         .leave = leave};
