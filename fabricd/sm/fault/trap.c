/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes in unasked: traps of devices (IBA 13.4.9, 14.2.5.1) and SMInfo of other managers.
 *
 * A trap is repressed at once with the same notice, so that the device stops repeating it. Traps
 * 128 (a link of a switch changed) and 144 (capabilities of a port changed) make their node a
 * suspect: a scoped look follows. All other traps are told and nothing more. Whoever listens (the
 * agent of subnet administration) hears all of them.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"

#define RESTARTS_MOST 16

enum { TRAP_LINK_STATE = 128, TRAP_LOCAL_CHANGE = 144 };

/* Offsets in an SMP, IBA 14.2.1: an answer is the request with these changed. */
enum { AT_CLASS = 1, AT_METHOD = 3, AT_STATUS = 4, AT_DR_SLID = 32, AT_DR_DLID = 34, AT_DATA = 64 };

void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data)
{
    uint8_t bytes[FAB_MAD_SIZE];
    memcpy(bytes, to->bytes, sizeof(bytes));
    bytes[AT_METHOD] = method;
    if (bytes[AT_CLASS] == FAB_CLASS_SMP_DIRECTED) {
        memcpy(bytes + AT_DR_SLID, to->bytes + AT_DR_DLID, 2);
        memcpy(bytes + AT_DR_DLID, to->bytes + AT_DR_SLID, 2);
        status |= 0x8000; /* the D bit: on the way back */
    }
    bytes[AT_STATUS] = (uint8_t)(status >> 8);
    bytes[AT_STATUS + 1] = (uint8_t)status;
    if (data)
        memcpy(bytes + AT_DATA, data, FAB_SMP_DATA);
    if (agent_reply(s->agent, to, bytes) != FAB_OK)
        log_debug("sm", "an answer could not be sent");
}

static uint64_t node_of(const struct sm *s, const struct fab_notice *n)
{
    uint64_t guid = sm_model_guid_of_lid(&s->model, fab_notice_lid(n));
    return guid ? guid : sm_model_guid_of_lid(&s->model, n->issuer_lid);
}

/* A look that runs may be about to go over the very cable whose loss this trap tells of: it begins
 * again with this suspect, too. Not for ever, should traps never cease. */
static void look_again(struct sm *s, uint64_t guid)
{
    if (s->run.kind != SM_ROUND_TARGETED || sm_run_phase(s) != &sm_phase_discover ||
        s->restarts >= RESTARTS_MOST || sm_guids_have(&s->suspects, guid))
        return;
    s->restarts++;
    s->want.trap_us = s->run.trap_us;
    sm_cause_keep(s);
    sm_request_targets(s, &s->suspects);
    sm_run_abort(s);
}

/* A light look may be waiting for the answers of what this trap tells has gone: it makes room, and
 * comes later. Not for ever, either. */
static void make_room(struct sm *s)
{
    if (s->run.kind != SM_ROUND_LIGHT || !sm_run_busy(s) || s->light_aborts >= RESTARTS_MOST)
        return;
    s->light_aborts++;
    s->want.light = true;
    sm_run_abort(s);
}

static void name_of(const struct sm *s, uint64_t guid, char name[SM_PLACE_LEN])
{
    const struct fab_fabric *f = s->model.view ? s->model.view->fabric : NULL;
    uint32_t node = f && guid ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    snprintf(name, SM_PLACE_LEN, "an unknown node");
    if (node != FAB_NONE)
        sm_node_name(f, node, name);
}

static void suspect(struct sm *s, uint64_t guid, uint32_t trap)
{
    char name[SM_PLACE_LEN];
    if (!guid) {
        sm_request_heavy_later(s); /* whoever sends nonsense shall not make us sweep all the time */
        return;
    }
    if (!s->want.trap_us)
        s->want.trap_us = clock_now_us();
    sm_rebalance_yield(s);
    name_of(s, guid, name);
    sm_cause_set(s, "trap %u from %.64s", trap, name);
    if (trap == TRAP_LINK_STATE && sm_repair_ready(s) && !sm_guids_have(&s->mute, guid)) {
        sm_guids_add(&s->want.glance, guid);
        sm_round_postpone(s);
    } else {
        sm_request_target(s, guid);
        look_again(s, guid);
        make_room(s);
    }
    sm_schedule(s);
}

static void tell(struct sm *s, const struct fab_notice *n, uint64_t guid)
{
    char name[SM_PLACE_LEN];
    name_of(s, guid, name);
    bus_say(s->in.bus, EVENT_DEBUG, "trap", name, guid, 0, "trap %u from LID %u (%s)", n->trap,
            n->issuer_lid, name);
}

void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len)
{
    struct fab_notice notice;
    if (head->attr_id != FAB_ATTR_NOTICE ||
        fab_attr_unpack(&fab_attr_notice, data, len, &notice) != FAB_OK)
        return;
    sm_reply(s, mad, FAB_METHOD_TRAP_REPRESS, 0, NULL);
    if (s->role.state != FAB_SM_MASTER)
        return;
    uint64_t guid = node_of(s, &notice);
    if (notice.generic && (notice.trap == TRAP_LINK_STATE || notice.trap == TRAP_LOCAL_CHANGE))
        suspect(s, guid, notice.trap);
    tell(s, &notice, guid);
    if (s->on_notice)
        s->on_notice(s->on_notice_ctx, &notice);
}
