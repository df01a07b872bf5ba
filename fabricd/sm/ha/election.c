/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "electing" reads SMInfo from every port that reports a subnet manager (IsSM). The managers
 * that are trusted (trust.c) enter the state machine of libfabmgr/smstate, which decides which
 * manager is master (IBA 14.4.1). An event names each manager that is not trusted, and its switch
 * port.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/ha/state.h"

#define CAP_IS_SM 0x2u /* PortInfo CapabilityMask, IBA 14.2.5.6 */

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_election *x = &s->ha->election;
    x->count = x->asked = x->other_count = 0;
    for (uint32_t p = 0; p < f->port_count && x->count < SM_MAX_OTHERS; p++) {
        const struct fab_port *port = &f->ports[p];
        if (port->present && p != f->self_port && (port->info.cap_mask & CAP_IS_SM) &&
            fab_fabric_port_has_lid(f, p) && sm_model_path(&s->model, p))
            x->ports[x->count++] = p;
    }
    return FAB_OK;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_election *x = &s->ha->election;
    if (x->asked == x->count)
        return false;
    uint32_t port = x->ports[x->asked];
    ret->path = sm_model_path(&s->model, port);
    ret->attr_id = FAB_ATTR_SM_INFO;
    ret->attr_mod = 0;
    ret->m_key = sm_trust_m_key(s, port);
    ret->tag = x->asked++;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_election *x = &s->ha->election;
    uint32_t port = x->ports[tag], peer = f->ports[port].peer;
    struct fab_sm_info info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) != FAB_OK)
        return;
    if (info.guid == s->role.guid || info.state == FAB_SM_NOT_ACTIVE)
        return;
    struct sm_other *o = &x->others[x->other_count++];
    *o = (struct sm_other){
        .info = info,
        .path = *sm_model_path(&s->model, port),
        .node_guid = f->nodes[f->ports[port].node].guid,
        .port_num = f->ports[port].num,
        .lid = f->ports[port].info.lid,
        .trusted = sm_trust_answer(s, port, &info),
    };
    sm_port_name(f, peer != FAB_NONE ? peer : port, o->place);
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

/* Reports a claim (same_claim) unless the previous election reported it already. */
static void report_refused(struct sm *s)
{
    struct sm_ha *ha = s->ha;
    const struct sm_election *x = &ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (!x->others[i].trusted && !is_reported(ha, &x->others[i]))
            report(s, &x->others[i]);
    ha->refused_count = 0;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (!x->others[i].trusted)
            ha->refused[ha->refused_count++] = x->others[i];
}

/* The directed route of our request proves the place: only what is connected to the last switch
 * port of the route could answer. */
static void isolate_refused(struct sm *s)
{
    const struct sm_ha *ha = s->ha;
    char cause[160];
    if (!sm_is_master(s) || s->in.config->offenders.refused_manager != CONFIG_OFFENCE_ISOLATE)
        return;
    for (uint32_t i = 0; i < ha->refused_count; i++) {
        uint32_t port = sm_trust_port_of(s, &ha->refused[i]);
        snprintf(cause, sizeof(cause),
                 "it answers as a subnet manager that is not trusted (%s, priority %u)",
                 fab_smstate_name(ha->refused[i].info.state), ha->refused[i].info.priority);
        if (port != FAB_NONE)
            s->wiring->offender_found(s, port, cause);
    }
}

static int leave(struct sm *s)
{
    report_refused(s);
    sm_ha_elect(s);
    isolate_refused(s);
    return sm_is_master(s) ? FAB_OK : SM_ROUND_OVER;
}

uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max)
{
    const struct sm_election *x = &s->ha->election;
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && count++ < max)
            ret[count - 1] = x->others[i].info;
    return count;
}

const struct sm_phase sm_phase_sminfo = {.name = "electing",
                                         .enter = enter,
                                         .next = next,
                                         .answer = answer,
                                         .finished = finished,
                                         .leave = leave};
