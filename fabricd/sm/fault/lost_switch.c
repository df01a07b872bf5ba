/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a switch fails, each of its neighbours sends a trap. To read all ports of all neighbours
 * would take a thousand reads, and 10 ms before the first write. A port probe therefore reads all
 * ports of the first suspects only. If it finds that two links to one switch failed, the switch has
 * probably failed. The probe then reads, of the other suspects that are its neighbours, only the
 * ports that lead to it.
 *
 * If such a port is still up, it does not explain the trap of the suspect, and the probe reads all
 * ports of the suspect after all. Other changes at a suspect whose trap is explained are found by
 * the targeted sweep that checks the result of the probe.
 */
#include "fabricd/sm/fault/state.h"
#include "libfabmgr/base/bitset.h"

#define LEAST_LINKS 2 /* failed links that make a switch count as failed */

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

static uint32_t count_failed_links_to(const struct sm *s, uint32_t node)
{
    const struct sm_probe *p = &s->fault->probe;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        count +=
            !p->link[i].isolated && fab_fabric_peer_node(s->model.fabric, p->link[i].port) == node;
    return count;
}

/* Finds the switches that have probably failed. */
static void find_lost(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct sm_probe *p = &s->fault->probe;
    struct sm_lost_switches *l = &s->fault->lost;
    for (uint32_t i = 0; i < p->count && l->count < SM_LOST_SWITCHES; i++) {
        uint32_t node = fab_fabric_peer_node(f, p->link[i].port);
        if (node != FAB_NONE && !is_lost(l, node) && count_failed_links_to(s, node) >= LEAST_LINKS)
            l->node[l->count++] = node;
    }
}

/* Returns whether reads of a first suspect are unanswered. Failed switches do not count. */
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
    find_lost(s);
    l->decided = !reads_pending(s);
    return !l->decided;
}

void sm_lost_switch_count(struct sm *s, uint32_t node, int change)
{
    struct sm_lost_switches *l = &s->fault->lost;
    for (uint32_t i = 0; i < SM_FIRST_SUSPECTS && i < s->run.suspects.count; i++)
        if (suspect_node(s, i) == node)
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

void sm_lost_switch_begin(struct sm *s, uint32_t suspect, uint32_t node)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_lost_switches *l = &s->fault->lost;
    if (suspect < SM_FIRST_SUSPECTS || l->count == 0 || l->again)
        return;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++)
        if (leads_to_lost(s, fab_fabric_port_id(f, node, (uint8_t)num))) {
            fab_base_bits_set(l->narrow, suspect);
            l->any = true;
            return;
        }
}

bool sm_lost_switch_skips(const struct sm *s, uint32_t suspect, uint32_t port)
{
    const struct sm_lost_switches *l = &s->fault->lost;
    return !l->again && fab_base_bits_get(l->narrow, suspect) && !leads_to_lost(s, port);
}

/* Returns whether a port of the suspect to a failed switch was found down. */
static bool is_explained(const struct sm *s, uint32_t suspect)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = suspect_node(s, suspect);
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
        if (fab_base_bits_get(l->narrow, i) && !is_explained(s, i) &&
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
    return !s->fault->lost.any || s->fault->lost.again;
}

void sm_lost_switch_stop(struct sm *s)
{
    struct sm_lost_switches *l = &s->fault->lost;
    if (!l->again)
        l->end = 0;
    l->again = true;
}
