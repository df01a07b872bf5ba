/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles traps of devices (IBA 13.4.9, 14.2.5.1).
 *
 * The manager answers each trap at once with TrapRepress, so that the device stops repeating the
 * trap. The root user of any host can send any trap, so the manager does not trust the content of a
 * trap. trap_check.c refuses notices that their sender cannot issue, and trap_limit.c limits the
 * rate of each source.
 *
 * Traps 128 (link state of a switch), 144 (capabilities of a port) and 256 (wrong M_Key) cause a
 * port probe or a targeted sweep, which reads the device. Other traps cause no sweep. Each trap
 * within the limit causes the event trap-received. trap_violation.c reports wrong keys (traps 256
 * to 259). trap_forward.c first reads the device and then passes the notice to the listener of
 * sm_on_notice, which is subnet administration.
 */
#include <stdio.h>

#include "fabricd/sm/core/trap.h"

static void name_of(const struct sm *s, uint64_t guid, char name[SM_PLACE_LEN])
{
    const struct fab_fabric *f = s->model.view ? s->model.view->fabric : NULL;
    uint32_t node = f && guid ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    snprintf(name, SM_PLACE_LEN, "an unknown node");
    if (node != FAB_NONE)
        sm_node_name(f, node, name);
}

/* Returns true if a write of the manager probably caused this trap. The trap must then not cause a
 * targeted sweep, for this reason: The manager repeats failed writes, after delays that grow
 * (sm_request_retry). A device that refuses a write because of a wrong M_Key also sends trap 256. A
 * targeted sweep after this trap would repeat the write, and so cause the next trap, without
 * end. */
static bool is_about_our_writes(const struct sm *s, uint64_t guid, uint16_t trap)
{
    return trap == TRAP_BAD_M_KEY && sm_is_refusing(s, guid);
}

void sm_trap_act(struct sm *s, uint64_t guid, uint16_t trap)
{
    char name[SM_PLACE_LEN];
    if (is_about_our_writes(s, guid, trap))
        return;
    s->wiring->trap_came(s);
    name_of(s, guid, name);
    sm_cause_set(s, "trap %u from %.64s", (unsigned)trap, name);
    sm_request_after_trap(s, guid, trap == TRAP_LINK_STATE);
    sm_schedule(s);
}

static void emit(struct sm *s, const struct sm_trap *t)
{
    char name[SM_PLACE_LEN];
    name_of(s, t->guid, name);
    event_emit(s->in.bus, trap_received, .subject = name, .guid = t->guid, .trap = t->notice.trap,
               .lid = t->notice.issuer_lid);
}

static struct sm_trap trap_of(const struct sm *s, const struct transport_mad *mad,
                              const struct fab_notice *notice)
{
    struct sm_trap t = {.notice = *notice, .slid = mad->addr.slid};
    t.port = sm_trap_owner(s, t.slid);
    t.guid = t.port != FAB_NONE ? sm_model_guid_of_lid(&s->model, t.slid) : 0;
    return t;
}

/* Returns whether the device must be read because of this notice. The device must also be read
 * after trap 256: a wrong M_Key has started the lease period of the port, and a request with the
 * correct key stops this period. */
bool sm_trap_acts(const struct sm *s, const struct fab_notice *n)
{
    bool key = n->trap == TRAP_BAD_M_KEY && fab_policy_m_keys_set(&s->policy.m_keys);
    return n->generic && (n->trap == TRAP_LINK_STATE || n->trap == TRAP_LOCAL_CHANGE || key);
}

static void take_effect(struct sm *s, const struct sm_trap *t)
{
    bool acts = sm_trap_acts(s, &t->notice);
    if (acts && t->guid)
        sm_trap_act(s, t->guid, t->notice.trap);
    else if (acts)
        sm_trap_unknown(s);
    emit(s, t);
    if (!t->guid)
        return;
    sm_trap_violation(s, t);
    sm_trap_forward(s, t);
}

/* Returns whether the manager may answer the trap. TrapRepress carries the M_Key of the trap: if
 * the source LID is forged, any other key would be sent to an attacker. There are two reasons not
 * to answer. First, the port may have got another key meanwhile; TrapRepress would then be a key
 * violation, and the device will repeat the trap with its new key. Second, the trap may have the
 * key of another manager; TrapRepress would then stop the lease period that a wrong M_Key has
 * started, and a lost key would never expire. */
static bool may_repress(const struct sm *s, const struct transport_mad *mad,
                        const struct fab_mad *head, const struct fab_notice *notice)
{
    uint32_t port = sm_m_key_port_of_lid(s, mad->addr.slid);
    if (!sm_is_master(s) || head->m_key == 0 || head->m_key == sm_m_key_wanted(s, port))
        return true;
    if (head->m_key != sm_m_key_former(s, port))
        return !fab_policy_m_keys_set(&s->policy.m_keys) || notice->trap != TRAP_BAD_M_KEY;
    bool changes = sm_run_busy(s) && s->run.round->alone;
    return !changes && sm_m_key_of_port(s, port) == head->m_key;
}

void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len)
{
    struct fab_notice notice;
    if (head->attr_id != FAB_ATTR_NOTICE ||
        fab_wire_attr_unpack(&fab_wire_attr_notice, data, len, &notice) != FAB_OK)
        return;
    if (may_repress(s, mad, head, &notice))
        sm_reply(s, mad, FAB_METHOD_TRAP_REPRESS, 0, NULL);
    if (!sm_is_master(s))
        return;
    struct sm_trap t = trap_of(s, mad, &notice);
    const char *reason = sm_trap_doubt(s, &t);
    if (reason)
        sm_trap_refuse(s, &t, reason);
    else if (sm_trap_admit(s, &t))
        take_effect(s, &t);
}
