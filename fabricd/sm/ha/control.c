/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles control packets of other managers: SubnSet(SMInfo) (IBA 14.4.1).
 *
 * A control packet can change which manager is master. fabricd therefore accepts it only under
 * three conditions. The last election trusted the sender (trust.c). The packet came from the port
 * where the election found the sender. The packet has a valid M_Key or SM_Key, or it has a directed
 * route and subnet.managers lists the sender.
 *
 * If the state machine does not accept such a packet, the answer is an error. Otherwise fabricd
 * reads SMInfo from that port. It acts on the packet and answers it only if this SMInfo has the
 * GUID and the state that the packet claims. (After HANDOVER, the state may also be standby.
 * ACKNOWLEDGE for a hand-over of this manager takes effect without this read.) Packets that are
 * refused for other reasons get no answer.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/ha/state.h"

/* minimum time in us between two events about refused packets */
#define EVENT_EVERY_US UINT64_C(10000000)
/* If this manager is master already, HANDOVER packets cause a heavy sweep at most once in this
 * time, in us. */
#define SWEEP_EVERY_US UINT64_C(10000000)

static const char *packet_name(uint32_t packet)
{
    static const char *const names[] = {"unknown", "HANDOVER", "ACKNOWLEDGE",
                                        "DISABLE", "STANDBY",  "DISCOVER"};
    return names[packet < sizeof(names) / sizeof(*names) ? packet : 0];
}

/* ---- refusal ---- */

/* Handles a forged packet that seems to come from the host at `port`. Isolates the host only if the
 * last election refused a manager at this port, too: the return path of the packet alone is no
 * proof, because an adapter with hostile firmware can invent a return path and use a permissive
 * source LID. */
static void isolate_forger(struct sm *s, uint32_t port, const char *packet)
{
    const struct sm_ha *ha = s->ha;
    char cause[160];
    if (port == FAB_NONE || !sm_is_master(s) ||
        s->in.config->offenders.forged_control != CONFIG_OFFENCE_ISOLATE)
        return;
    snprintf(cause, sizeof(cause),
             "it answers as a subnet manager that is not trusted, and sent %s", packet);
    for (uint32_t i = 0; i < ha->refused_count; i++)
        if (sm_trust_port_of(s, &ha->refused[i]) == port)
            s->wiring->offender_found(s, port, cause);
}

/* Drops a packet without an answer, and may isolate its sender (isolate_forger). An event gives the
 * number of packets that were refused since the last event, so a flood of packets causes few
 * events. */
static void refuse(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   uint64_t guid, const char *reason)
{
    struct sm_control *c = &s->ha->control;
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = sm_trust_origin(s, mad, head);
    uint32_t peer = port != FAB_NONE ? fab_fabric_port(f, port)->peer : FAB_NONE;
    char place[SM_PLACE_LEN] = "an unknown port";
    c->refused++;
    if (head->directed)
        isolate_forger(s, port, packet_name(head->attr_mod));
    if (clock_now_us() < c->next_event_us)
        return;
    if (port != FAB_NONE)
        sm_port_name(f, peer != FAB_NONE ? peer : port, place);
    event_emit(s->in.bus, sm_control_refused, .subject = place, .guid = guid,
               .packet = packet_name(head->attr_mod), .packets = c->refused, .reason = reason);
    c->refused = 0;
    c->next_event_us = clock_now_us() + EVENT_EVERY_US;
}

/* ---- senders ---- */

static const struct sm_other *trusted_manager(const struct sm *s, uint64_t guid)
{
    const struct sm_election *x = &s->ha->election;
    for (uint32_t i = 0; i < x->other_count; i++)
        if (x->others[i].trusted && x->others[i].info.guid == guid)
            return &x->others[i];
    return NULL;
}

static bool shows_key(const struct sm *s, const struct fab_mad *head,
                      const struct fab_sm_info *from)
{
    return sm_m_key_proves(s, head->m_key) || sm_trust_sm_key(s, from->sm_key);
}

/* Returns why fabricd ignores the packet, as a phrase for operators. NULL: the packet may be
 * genuine, so confirm() requests SMInfo from its sender. */
static const char *doubt(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head, const struct fab_sm_info *from,
                         const struct sm_other *sender)
{
    if (!sender)
        return "no trusted manager has this GUID";
    uint32_t port = sm_trust_port_of(s, sender);
    if (port == FAB_NONE || sm_trust_origin(s, mad, head) != port)
        return "it did not come from the port of this manager";
    if (!shows_key(s, head, from) && !(head->directed && sm_trust_listed(s, port, from->guid)))
        return "it has neither M_Key nor SM_Key";
    return NULL;
}

/* ---- taking effect ---- */

/* Returns true if a HANDOVER to a master may cause a sweep now. A sweep is the only effect of such
 * a HANDOVER, and many HANDOVERs must not cause many sweeps. */
static bool may_sweep(struct sm_control *c)
{
    if (clock_now_us() < c->next_sweep_us)
        return false;
    c->next_sweep_us = clock_now_us() + SWEEP_EVERY_US;
    return true;
}

static void take_effect(struct sm *s)
{
    struct sm_control *c = &s->ha->control;
    uint8_t before = s->role.state, own[FAB_SMP_DATA];
    bool rediscover = false;
    uint16_t status = fab_smstate_control(&s->role, c->packet, &c->from, &rediscover);
    if (before != s->role.state)
        sm_ha_because(s, "the manager at %s sent %s", c->sender.place, packet_name(c->packet));
    log_line(before == s->role.state ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "sm",
             "control packet %s of the manager at %s: now %s", packet_name(c->packet),
             c->sender.place, fab_smstate_name(s->role.state));
    if (rediscover && (before != FAB_SM_MASTER || may_sweep(c)))
        sm_request_heavy(s);
    sm_ha_role_changed(s, before);
    sm_ha_own_info(s, true, own);
    sm_reply(s, &c->mad, FAB_METHOD_GET_RESP, status, own);
    sm_schedule(s);
}

static void on_confirmation(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_control *c = ctx;
    struct sm *s = c->s;
    struct fab_sm_info info;
    (void)tag;
    c->pending = false;
    bool confirmed =
        a->status == FAB_OK &&
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) == FAB_OK &&
        info.guid == c->from.guid &&
        (info.state == c->from.state ||
         /* OpenSM is standby as soon as it has sent HANDOVER, so its SMInfo may say standby */
         (c->packet == FAB_SM_HANDOVER && info.state == FAB_SM_STANDBY)) &&
        sm_trust_answer(s, sm_trust_port_of(s, &c->sender), &info);
    if (confirmed) {
        take_effect(s);
        return;
    }
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    if (fab_wire_mad_unpack(c->mad.bytes, c->mad.len, &head, &data, &len) == FAB_OK)
        refuse(s, &c->mad, &head, c->from.guid, "the manager at this port does not confirm it");
}

static int confirm(struct sm *s)
{
    struct sm_control *c = &s->ha->control;
    const struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_SM_INFO,
        .m_key = sm_trust_m_key(s, sm_trust_port_of(s, &c->sender)),
        .dlid = 0xffff,
        .path = &c->sender.path,
        .done = on_confirmation,
        .ctx = c,
    };
    int r = fab_mads_submit(s->mads, &req);
    if (r == FAB_OK)
        agent_pump(s->agent);
    return r;
}

/* Returns whether the state machine (IBA 14.4.1) accepts this control packet in the present state
 * of this manager. */
static bool is_legal(const struct sm *s, uint32_t packet, const struct fab_sm_info *from)
{
    struct fab_smstate copy = s->role;
    bool rediscover;
    return fab_smstate_control(&copy, packet, from, &rediscover) == 0;
}

void sm_ha_control_forget(struct sm *s)
{
    fab_mads_cancel(s->mads, &s->ha->control);
    s->ha->control.pending = false;
}

void sm_ha_control(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   const uint8_t *data, size_t len)
{
    struct sm_control *c = &s->ha->control;
    struct fab_sm_info from;
    uint8_t own[FAB_SMP_DATA];
    if (c->pending || fab_wire_attr_unpack(&fab_wire_attr_sm_info, data, len, &from) != FAB_OK)
        return; /* no answer now; the sender will send its packet again */
    const struct sm_other *sender = trusted_manager(s, from.guid);
    const char *reason = doubt(s, mad, head, &from, sender);
    if (reason) {
        refuse(s, mad, head, from.guid, reason);
        return;
    }
    if (head->attr_mod == FAB_SM_ACKNOWLEDGE && sm_handover_acknowledged(s, &from)) {
        sm_ha_own_info(s, true, own);
        sm_reply(s, mad, FAB_METHOD_GET_RESP, 0, own);
        return;
    }
    if (!is_legal(s, head->attr_mod, &from)) {
        sm_ha_own_info(s, sm_trust_requester(s, mad, head), own);
        sm_reply(s, mad, FAB_METHOD_GET_RESP, FAB_SMP_BAD_VALUE, own);
        return;
    }
    *c = (struct sm_control){.s = s,
                             .pending = true,
                             .mad = *mad,
                             .packet = head->attr_mod,
                             .from = from,
                             .sender = *sender,
                             .refused = c->refused,
                             .next_event_us = c->next_event_us,
                             .next_sweep_us = c->next_sweep_us};
    c->pending = confirm(s) == FAB_OK;
}
