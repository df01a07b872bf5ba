/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lanes wait for each other for ever. A lane without credits for what it has to send waits
 * for any one packet to leave the buffer that it sends to, so it is stuck when all packets there
 * wait for lanes that are stuck. Lanes that are not are found from those with credits backwards
 * (packets know whose room they hold, and by which lane they go on); what remains waits for itself
 * (a knot in the graph of waiting; Dally & Towles, "Principles and Practices of Interconnection
 * Networks", ch. 14).
 */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/model.h"

static bool is_blocked(const struct fab_traffic *t, uint32_t id)
{
    const struct traffic_lane *lane = &t->lanes[id];
    const struct traffic_port *p = &t->ports[traffic_lane_port(t, id)];
    if (lane->queued == 0 || p->to_end)
        return false;
    uint32_t input = fab_traffic_next_input(lane, p->inputs);
    uint32_t head = t->fifos[lane->fifos + input].head;
    return !traffic_has_room(t, id, t->packets[head].bytes);
}

/* Marks lanes of switches that are blocked; true: there are some. */
static bool mark_blocked(const struct fab_traffic *t, uint64_t *stuck)
{
    bool any = false;
    for (uint32_t port = 0; port < t->in.fabric->port_count; port++) {
        if (t->ports[port].pending == 0)
            continue;
        for (uint8_t vl = 0; vl < t->vl_count; vl++) {
            uint32_t id = traffic_lane_id(t, port, vl);
            if (is_blocked(t, id)) {
                fab_bits_set(stuck, id);
                any = true;
            }
        }
    }
    return any;
}

static void clear_coming(const struct fab_traffic *t, uint64_t *stuck)
{
    struct traffic_event e;
    for (size_t cursor = 0; fab_traffic_events_next(&t->events, &cursor, &e);)
        if (e.kind == TRAFFIC_CREDIT)
            fab_bits_clear(stuck, e.arg);
}

/* One round backwards; true: more were found. */
static bool clear_moving(const struct fab_traffic *t, uint64_t *stuck)
{
    bool more = false;
    for (size_t i = 0; i < t->packet_used; i++) {
        const struct traffic_packet *x = &t->packets[i];
        if (x->flow != TRAFFIC_NONE && x->from != TRAFFIC_NONE && fab_bits_get(stuck, x->from) &&
            !fab_bits_get(stuck, x->to)) {
            fab_bits_clear(stuck, x->from);
            more = true;
        }
    }
    return more;
}

/* The lane that one of those in the way of `lane` waits for. */
static uint32_t next_of(const struct fab_traffic *t, uint32_t lane)
{
    for (size_t i = 0; i < t->packet_used; i++)
        if (t->packets[i].flow != TRAFFIC_NONE && t->packets[i].from == lane)
            return t->packets[i].to;
    return TRAFFIC_NONE;
}

/* Keeps the ports of the cycle that waiting leads into from lane `at`. */
static int keep_cycle(struct fab_traffic *t, uint32_t at)
{
    uint32_t lanes = t->in.fabric->port_count * t->vl_count, steps = 0, count = 0;
    for (; steps < lanes && at != TRAFFIC_NONE; steps++)
        at = next_of(t, at);
    uint32_t first = at, room = 0;
    do
        room++;
    while ((at = next_of(t, at)) != first && at != TRAFFIC_NONE);
    uint32_t *cycle = fab_alloc_array(room, sizeof *cycle);
    if (cycle == NULL)
        return FAB_E_NOMEM;
    for (; count < room; at = next_of(t, at))
        cycle[count++] = traffic_lane_port(t, at);
    free(t->cycle);
    t->cycle = cycle;
    t->cycle_count = count;
    return FAB_E_CYCLE;
}

int fab_traffic_find_cycle(struct fab_traffic *t)
{
    size_t lanes = (size_t)t->in.fabric->port_count * t->vl_count;
    uint64_t *stuck = fab_bits_new(lanes);
    int status = stuck != NULL ? FAB_OK : FAB_E_NOMEM;
    if (stuck != NULL && mark_blocked(t, stuck)) {
        clear_coming(t, stuck);
        while (clear_moving(t, stuck))
            ;
        size_t first = fab_bits_next(stuck, lanes, 0);
        if (first < lanes)
            status = keep_cycle(t, (uint32_t)first);
    }
    free(stuck);
    return status;
}
