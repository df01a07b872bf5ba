/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of unresponsive ports. The link of an unresponsive port is up, but the device at
 * its other end does not answer, or sweeps left it out: it is not approved (status DENIED), or it
 * has the GUID of another device (EXISTS). The manager emits an event when it first finds such a
 * port. Each light sweep requests a targeted sweep of the nodes at both ends of the link. A
 * targeted sweep updates the entries of its suspects and leaves other entries unchanged.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/state.h"

static bool same_place(const struct fab_unresponsive *a, const struct fab_unresponsive *b)
{
    return a->near_guid == b->near_guid && a->near_port == b->near_port;
}

static bool listed(const struct fab_unresponsive *list, uint32_t count,
                   const struct fab_unresponsive *what)
{
    for (uint32_t i = 0; i < count; i++)
        if (same_place(&list[i], what))
            return true;
    return false;
}

static void emit(struct sm *s, const struct fab_unresponsive *place)
{
    char name[SM_PLACE_LEN];
    if (place->status == FAB_E_DENIED)
        /* this device is not approved; phase "comparing with the baseline" emits its event */
        return;
    if (place->status == FAB_E_EXISTS) {
        sm_duplicate_found(s, place);
        return;
    }
    if (sm_port_is_disabled(s, place->near_guid, place->near_port))
        /* An operator disabled this port, but the switch has lost this setting, so the port is up
         * again. After this sweep, the manager disables the port again. */
        return;
    sm_place_name(s->model.fabric, place->near_guid, place->near_port, name);
    event_emit(s->in.bus, node_unresponsive, .subject = name, .guid = place->near_guid,
               .port = place->near_port, .attribute = sm_attr_name(place->attr_id),
               .reason = fab_base_status_text(place->status));
}

static bool was_suspect(const struct sm *s, uint64_t guid)
{
    if (sm_is_silent(s, guid))
        return false; /* silent switches are never read */
    return s->run.from_background ? sm_background_touched(s, guid)
                                  : sm_guids_have(&s->run.suspects, guid);
}

/* Returns true if the running sweep sent requests to the node at the near end of this unresponsive
 * port and, if the GUID at the far end is known, also to the node there. */
static bool was_asked(const struct sm *s, const struct fab_unresponsive *place)
{
    return was_suspect(s, place->near_guid) && (!place->guid || was_suspect(s, place->guid));
}

int sm_unresponsive_update(struct sm *s, const struct fab_unresponsive *found, uint32_t count,
                           bool scoped)
{
    struct fab_unresponsive *list =
        calloc((size_t)count + s->model.unresponsive_count + 1, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    uint32_t n = 0, told = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (listed(list, n, &found[i]))
            continue;
        list[n++] = found[i];
        if (!listed(s->model.unresponsive, s->model.unresponsive_count, &found[i]) &&
            told++ < SM_EVENTS_A_ROUND)
            emit(s, &found[i]);
    }
    if (told > SM_EVENTS_A_ROUND)
        event_emit(s->in.bus, nodes_unresponsive, .subject = "fabric",
                   .ports = told - SM_EVENTS_A_ROUND);
    for (uint32_t i = 0; scoped && i < s->model.unresponsive_count; i++)
        if (!was_asked(s, &s->model.unresponsive[i]) && !listed(list, n, &s->model.unresponsive[i]))
            list[n++] = s->model.unresponsive[i];
    free(s->model.unresponsive);
    s->model.unresponsive = list;
    s->model.unresponsive_count = n;
    return FAB_OK;
}

void sm_unresponsive_suspect(struct sm *s)
{
    for (uint32_t i = 0; i < s->model.unresponsive_count; i++) {
        sm_request_target(s, s->model.unresponsive[i].near_guid);
        /* The GUID is 0 if the node has never answered NodeInfo; sm_request_target ignores GUID
         * 0. */
        sm_request_target(s, s->model.unresponsive[i].guid);
    }
}

uint32_t sm_unresponsive_ports(const struct sm *s, struct sm_unresponsive *ret, uint32_t max)
{
    uint32_t n = 0;
    for (uint64_t guid; n < max && (guid = sm_silent_guid(s, n)) != 0; n++) {
        sm_place_name(s->model.fabric, guid, 0, ret[n].place);
        ret[n].status = FAB_E_TIMEOUT;
    }
    for (uint32_t i = 0; i < s->model.unresponsive_count && n < max; i++) {
        const struct fab_unresponsive *u = &s->model.unresponsive[i];
        if (u->status == FAB_E_DENIED)
            continue;
        sm_place_name(s->model.fabric, u->near_guid, u->near_port, ret[n].place);
        ret[n++].status = u->status;
    }
    return n;
}

uint32_t sm_unresponsive_count(const struct sm *s)
{
    uint32_t n = sm_silent_count(s);
    for (uint32_t i = 0; i < s->model.unresponsive_count; i++)
        n += s->model.unresponsive[i].status != FAB_E_DENIED;
    return n;
}
