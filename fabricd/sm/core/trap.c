/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps of devices (IBA 13.4.9, 14.2.5.1).
 *
 * The manager answers each trap at once with TrapRepress, so that the device stops repeating it.
 * Traps 128 (a link of a switch changed) and 144 (capabilities of a port changed) lead to a port
 * probe or a targeted sweep; other traps only lead to an event. The listener of sm_on_notice
 * (subnet administration) gets all traps.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/core/state.h"

enum { TRAP_LINK_STATE = 128, TRAP_LOCAL_CHANGE = 144 };

static uint64_t node_of(const struct sm *s, const struct fab_notice *n)
{
    uint64_t guid = sm_model_guid_of_lid(&s->model, fab_wire_notice_lid(n));
    return guid ? guid : sm_model_guid_of_lid(&s->model, n->issuer_lid);
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
        /* The sweep is delayed, so that traps with invalid LIDs cannot cause endless sweeps. */
        sm_request_heavy_later(s);
        return;
    }
    s->wiring->trap_came(s);
    name_of(s, guid, name);
    sm_cause_set(s, "trap %u from %.64s", trap, name);
    sm_request_after_trap(s, guid, trap == TRAP_LINK_STATE);
    sm_schedule(s);
}

static void emit(struct sm *s, const struct fab_notice *n, uint64_t guid)
{
    char name[SM_PLACE_LEN];
    name_of(s, guid, name);
    event_emit(s->in.bus, trap_received, .subject = name, .guid = guid, .trap = n->trap,
               .lid = n->issuer_lid);
}

void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len)
{
    struct fab_notice notice;
    if (head->attr_id != FAB_ATTR_NOTICE ||
        fab_wire_attr_unpack(&fab_wire_attr_notice, data, len, &notice) != FAB_OK)
        return;
    sm_reply(s, mad, FAB_METHOD_TRAP_REPRESS, 0, NULL);
    if (!sm_is_master(s))
        return;
    uint64_t guid = node_of(s, &notice);
    if (notice.generic && (notice.trap == TRAP_LINK_STATE || notice.trap == TRAP_LOCAL_CHANGE))
        suspect(s, guid, notice.trap);
    emit(s, &notice, guid);
    if (s->core->on_notice)
        s->core->on_notice(s->core->on_notice_ctx, &notice);
}

void sm_on_notice(struct sm *s, sm_notice *fn, void *ctx)
{
    s->core->on_notice = fn;
    s->core->on_notice_ctx = ctx;
}
