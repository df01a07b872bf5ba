/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether the failed links of a port probe belong to a switch that failed. When a switch
 * fails, each of its neighbours sends a trap. Reading all ports of all neighbours would take a
 * thousand reads, and would delay the first write by 10 ms. Many traps may also be lost, because
 * they are routed through the failed switch.
 *
 * A port probe therefore reads all ports of the first suspects only. If the probe finds one failed
 * link to a switch, it asks another neighbour of this switch about the link between the two. If two
 * links to a switch failed, the switch has probably failed. Directed routes then avoid the switch.
 * The probe visits all neighbours of the failed switch, even those that sent no trap, but reads
 * only their ports that lead to it. One local repair thus handles the failure of the whole switch.
 *
 * Suspects are neighbours that sent a trap. If a suspect's port to the failed switch is down, this
 * explains its trap; other changes at this suspect are left to the targeted sweep after the probe.
 * If that port is up, the trap had another reason, so the probe reads all ports of the suspect.
 */
#include <string.h>

#include "fabricd/sm/fault/state.h"
#include "libfabmgr/base/bitset.h"

/* if at least this many links of a switch failed, the switch itself counts as failed */
#define LEAST_LINKS 2

static uint32_t suspect_node(const struct sm *s, uint32_t suspect)
{
    return fab_fabric_node_by_guid(s->model.fabric, s->run.suspects.guid[suspect]);
}

static bool is_lost(const struct sm_lost_switches *l, uint32_t node)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->node[i] == node)
            return true;
    return false;
}

bool sm_lost_switch_is(const struct sm *s, uint32_t node)
{
    return is_lost(&s->fault->lost, node);
}

static uint32_t count_failed_links_to(const struct sm *s, uint32_t node)
{
    const struct sm_probe *p = &s->fault->probe;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        count +=
            !p->link[i].isolated && fab_fabric_peer_node(s->model.fabric, p->link[i].port) == node;
    return count;
}

/* Returns the port at the other end of the link at port `num` of the switch `node`, if it is a port
 * of another switch, and the link is up and was not found failed by the probe. Otherwise returns
 * FAB_NONE. */
static uint32_t port_to(const struct sm *s, uint32_t node, uint32_t num)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = fab_fabric_port_id(f, node, (uint8_t)num), far = fab_fabric_peer_node(f, port);
    if (far == FAB_NONE || !fab_fabric_node_is_switch(f, far) || !fab_fabric_port_is_up(f, port) ||
        sm_probe_has(&s->fault->probe, port))
        return FAB_NONE;
    return fab_fabric_port(f, port)->peer;
}

/* Finds a neighbour of the switch `node` that can tell whether `node` has failed: a neighbour that
 * is not `suspect`, and that a directed route reaches without passing `node`. Returns the id of the
 * neighbour's port to `node`; FAB_NONE: there is no such neighbour. */
static uint32_t find_other_neighbour(const struct sm *s, uint32_t node, uint32_t suspect)
{
    const struct sm_model *m = &s->model;
    for (uint32_t num = 1; num <= m->fabric->nodes[node].num_ports; num++) {
        uint32_t port = port_to(s, node, num);
        uint32_t near = port == FAB_NONE ? FAB_NONE : fab_fabric_port(m->fabric, port)->node;
        if (near != FAB_NONE && near != suspect && m->paths[near].hops != FAB_PATH_UNKNOWN &&
            !fab_discover_path_leads_through(m->paths, near, node))
            return port;
    }
    return FAB_NONE;
}

/* Call this function when the link between the switches `node` and `suspect` has failed, perhaps
 * because `node` has failed. Notes that the probe must ask another neighbour of `node`. */
static void doubt(struct sm *s, uint32_t node, uint32_t suspect)
{
    struct sm_lost_switches *l = &s->fault->lost;
    for (uint32_t i = 0; i < l->doubts; i++)
        if (l->doubt[i] == node)
            return;
    if (l->doubts == SM_LOST_SWITCHES)
        return;
    uint32_t other = find_other_neighbour(s, node, suspect);
    /* All directed routes to the neighbours may lead through `node`, for example if it is next to
     * the manager. New directed routes around `node` are then computed. */
    if (other == FAB_NONE) {
        sm_reads_cut(s, node);
        if (sm_model_avoid(&s->model, node) == FAB_OK)
            other = find_other_neighbour(s, node, suspect);
    }
    l->doubt[l->doubts] = node;
    l->other[l->doubts++] = other;
}

void sm_lost_switch_note(struct sm *s, uint32_t port)
{
    struct sm_lost_switches *l = &s->fault->lost;
    uint32_t node = fab_fabric_peer_node(s->model.fabric, port);
    if (node == FAB_NONE || is_lost(l, node))
        return;
    sm_reads_cut(s, FAB_NONE);
    if (count_failed_links_to(s, node) < LEAST_LINKS) {
        doubt(s, node, fab_fabric_port(s->model.fabric, port)->node);
    } else if (l->count < SM_LOST_SWITCHES) {
        l->next[l->count] = 1;
        l->node[l->count++] = node;
        sm_reads_cut(s, FAB_NONE);
        if (sm_model_avoid(&s->model, node) != FAB_OK)
            s->fault->probe.more = true;
    }
}

bool sm_lost_switch_next(struct sm *s, uint32_t *ret_port)
{
    struct sm_lost_switches *l = &s->fault->lost;
    *ret_port = FAB_NONE;
    for (uint32_t i = 0; i < l->doubts && *ret_port == FAB_NONE; i++) {
        *ret_port = is_lost(l, l->doubt[i]) ? FAB_NONE : l->other[i];
        l->other[i] = FAB_NONE;
    }
    for (uint32_t i = 0; i < l->count; i++)
        while (*ret_port == FAB_NONE && l->next[i] <= s->model.fabric->nodes[l->node[i]].num_ports)
            *ret_port = port_to(s, l->node[i], l->next[i]++);
    return *ret_port != FAB_NONE;
}

/* Returns true if reads of one of the first suspects are unanswered. Suspects that have failed do
 * not count, because they cannot answer. */
static bool reads_pending(const struct sm *s)
{
    const struct sm_lost_switches *l = &s->fault->lost;
    for (uint32_t i = 0; i < SM_FIRST_SUSPECTS; i++)
        if (l->pending[i] > 0 && !is_lost(l, suspect_node(s, i)))
            return true;
    return false;
}

bool sm_lost_switch_awaited(struct sm *s)
{
    struct sm_lost_switches *l = &s->fault->lost;
    if (l->decided || s->fault->next_suspect != SM_FIRST_SUSPECTS)
        return false;
    l->decided = !reads_pending(s);
    return !l->decided;
}

void sm_lost_switch_count(struct sm *s, uint32_t node, int change)
{
    struct sm_lost_switches *l = &s->fault->lost;
    /* A read can be sent before its switch becomes a suspect. Such a read was not counted in
     * pending[], so its answer must not make pending[i] negative. */
    for (uint32_t i = 0; i < SM_FIRST_SUSPECTS && i < s->run.suspects.count; i++)
        if (suspect_node(s, i) == node && (change > 0 || l->pending[i] > 0))
            l->pending[i] = (uint32_t)((int)l->pending[i] + change);
}

bool sm_lost_switch_give_up(struct sm *s)
{
    struct sm_lost_switches *l = &s->fault->lost;
    bool waits = !l->decided && s->fault->next_suspect == SM_FIRST_SUSPECTS &&
                 s->run.suspects.count > SM_FIRST_SUSPECTS;
    l->decided |= waits;
    return waits;
}

static bool leads_to_lost(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_fabric_port_is_up(f, port) &&
           is_lost(&s->fault->lost, fab_fabric_peer_node(f, port));
}

bool sm_lost_switch_skips(struct sm *s, uint32_t suspect, uint32_t node)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_lost_switches *l = &s->fault->lost;
    if (l->count == 0 || l->again)
        return false;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++)
        if (leads_to_lost(s, fab_fabric_port_id(f, node, (uint8_t)num))) {
            fab_base_bits_set(l->narrow, suspect);
            l->any = true;
            return true;
        }
    return false;
}

bool sm_lost_switch_explains(const struct sm *s, uint32_t node)
{
    const struct fab_fabric *f = s->model.fabric;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, node, (uint8_t)num);
        if (leads_to_lost(s, port) && sm_probe_has(&s->fault->probe, port))
            return true;
    }
    return false;
}

void sm_lost_switch_read_again(struct sm *s)
{
    struct sm_lost_switches *l = &s->fault->lost;
    const struct sm_guids *suspects = &s->run.suspects;
    if (!l->any || l->again || sm_run_outstanding(s) > 0)
        return;
    l->again = true;
    l->end = suspects->count;
    for (uint32_t i = 0; i < l->end; i++)
        if (fab_base_bits_get(l->narrow, i) && !sm_lost_switch_explains(s, suspect_node(s, i)) &&
            !sm_guids_have(&s->fault->probe.unresponsive, suspects->guid[i]))
            fab_base_bits_set(l->reread, i);
    s->fault->next_suspect = 0;
    s->fault->next_port = 1;
}

bool sm_lost_switch_is_read(const struct sm *s, uint32_t suspect)
{
    const struct sm_lost_switches *l = &s->fault->lost;
    return l->again && suspect < l->end && !fab_base_bits_get(l->reread, suspect);
}

bool sm_lost_switch_done(const struct sm *s)
{
    const struct sm_lost_switches *l = &s->fault->lost;
    for (uint32_t i = 0; i < l->doubts; i++)
        if (l->other[i] != FAB_NONE)
            return false;
    for (uint32_t i = 0; i < l->count; i++)
        if (l->next[i] <= s->model.fabric->nodes[l->node[i]].num_ports)
            return false;
    return !l->any || l->again;
}

void sm_lost_switch_stop(struct sm *s)
{
    struct sm_lost_switches *l = &s->fault->lost;
    if (!l->again)
        l->end = 0;
    l->again = true;
    /* the reads were cancelled, so no answers are awaited any more */
    memset(l->pending, 0, sizeof(l->pending));
}
