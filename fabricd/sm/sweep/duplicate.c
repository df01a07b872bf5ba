/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports devices that have the GUID of another device, and devices that have moved.
 *
 * A host can use the GUID of another host again and again. So events about the same switch port and
 * the same GUID become rarer: the minimum time between two events doubles, from 1 minute to 1 hour.
 * It is 1 minute again if another GUID appears at the port, or if no duplicate has newly appeared
 * there for a long time. Each event gives the number of times that a duplicate newly appeared at
 * this port since the last event.
 */
#include "fabricd/base/clock.h"
#include "fabricd/sm/sweep/state.h"

#define FIRST_WAIT_US UINT64_C(60000000)
#define LONGEST_WAIT_US UINT64_C(3600000000)

/* Returns the entry of a switch port. If there is none, takes over the entry whose last event is
 * the oldest. */
static struct sm_duplicate *entry_of(struct sm *s, const struct fab_unresponsive *place)
{
    struct sm_duplicate *list = s->sweep->duplicates, *oldest = &list[0];
    for (unsigned i = 0; i < SM_DUPLICATES; i++) {
        if (list[i].near_guid == place->near_guid && list[i].near_port == place->near_port)
            return &list[i];
        if (list[i].told_us < oldest->told_us)
            oldest = &list[i];
    }
    *oldest = (struct sm_duplicate){.near_guid = place->near_guid, .near_port = place->near_port};
    return oldest;
}

void sm_duplicate_found(struct sm *s, const struct fab_unresponsive *place)
{
    char name[SM_PLACE_LEN], first[SM_PLACE_LEN];
    struct sm_duplicate *d = entry_of(s, place);
    uint64_t now = clock_now_us(), past = now - d->told_us;
    bool again = d->claimed == place->claimed;
    if (d->told_us != 0 && past < (again ? d->wait_us : FIRST_WAIT_US)) {
        d->unreported++;
        return;
    }
    bool recent = d->told_us != 0 && again && past < 4 * d->wait_us;
    uint64_t wait = recent ? 2 * d->wait_us : FIRST_WAIT_US;
    sm_place_name(s->model.fabric, place->near_guid, place->near_port, name);
    sm_place_name(s->model.fabric, place->first_guid, place->first_port, first);
    event_emit(s->in.bus, duplicate_guid, .subject = name, .guid = place->near_guid,
               .port = place->near_port, .claimed_guid = place->claimed, .first_place = first,
               .first_guid = place->first_guid, .first_port = place->first_port,
               .other_place = name, .repeated = d->unreported);
    d->claimed = place->claimed;
    d->unreported = 0;
    d->told_us = now;
    d->wait_us = wait < LONGEST_WAIT_US ? wait : LONGEST_WAIT_US;
}

/* ---- moved devices --------------------------------------------------------------------------- */

uint32_t sm_moves_find(const struct fab_places *was, const struct fab_places *now,
                       struct sm_move ret[SM_MOVES])
{
    size_t count;
    uint32_t found = 0;
    const struct fab_place *list = fab_discover_places_list(now, &count);
    for (size_t i = 0; i < count && was != NULL; i++) {
        const struct fab_place *old =
            list[i].is_switch ? NULL : fab_discover_place(was, list[i].guid, list[i].port);
        if (old == NULL ||
            (old->near_guid == list[i].near_guid && old->near_port == list[i].near_port))
            continue;
        if (found < SM_MOVES)
            ret[found] = (struct sm_move){.from = *old, .to = list[i]};
        found++;
    }
    return found;
}

void sm_moves_report(struct sm *s, const struct sm_move *moves, uint32_t count)
{
    const struct fab_fabric *f = s->model.fabric;
    char name[SM_PLACE_LEN], from[SM_PLACE_LEN], to[SM_PLACE_LEN];
    for (uint32_t i = 0; i < count && i < SM_MOVES; i++) {
        const struct sm_move *m = &moves[i];
        sm_place_name(f, m->to.guid, m->to.port, name);
        sm_place_name(f, m->from.near_guid, m->from.near_port, from);
        sm_place_name(f, m->to.near_guid, m->to.near_port, to);
        event_emit(s->in.bus, node_moved, .subject = name, .guid = m->to.guid, .port = m->to.port,
                   .first_place = from, .first_guid = m->from.near_guid,
                   .first_port = m->from.near_port, .other_place = to,
                   .other_guid = m->to.near_guid, .other_port = m->to.near_port);
    }
    if (count > SM_MOVES)
        event_emit(s->in.bus, nodes_moved, .subject = "fabric", .ports = count - SM_MOVES);
}
