/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "probing ports" reads the state of all links of its suspects, the switches that traps or
 * failed requests named, with one SubnGet(PortInfo) per port. These reads find failed ISLs, whose
 * routes must be repaired at once. Links that must be isolated are handled like failed links. If a
 * switch failed, the phase reads few ports of its neighbours (lost_switch.c).
 *
 * The phase compares the answers with the snapshot. It also verifies ISLs that came back
 * (returned_links.c). A targeted sweep handles all other changes (a new link, a host, another link
 * speed), and also checks the result of the probe. The sweep follows at once if there were other
 * changes or failures, otherwise after CHECK_US.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/links/links.h"

/* time in us from a port probe to the targeted sweep that checks its result */
#define CHECK_US 100000u

/* ---- the phase ------------------------------------------------------------------------------- */

static int enter(struct sm *s)
{
    sm_probe_fini(&s->fault->probe);
    s->fault->lost = (struct sm_lost_switches){0};
    s->fault->next_suspect = 0;
    s->fault->next_port = 1;
    return FAB_OK;
}

static void next_suspect(struct sm *s)
{
    s->fault->next_suspect++;
    s->fault->next_port = 1;
}

/* If the next suspect is a switch to which a directed route is known, sets *ret_node to this
 * switch, and returns true. */
static bool find_suspect(struct sm *s, uint32_t *ret_node)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, s->run.suspects.guid[s->fault->next_suspect]);
    if (node == FAB_NONE || !fab_fabric_node_is_switch(f, node) ||
        s->model.paths[node].hops == FAB_PATH_UNKNOWN)
        return false;
    *ret_node = node;
    return true;
}

/* Returns true if this suspect is a silent switch, which cannot be read. If routes can avoid this
 * switch, adds all its links to those that the local repair must exclude. */
static bool take_silent(struct sm *s, uint64_t guid)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_probe *p = &s->fault->probe;
    uint32_t node = sm_is_silent(s, guid) ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    if (node == FAB_NONE)
        return false;
    for (uint32_t num = 1; sm_silent_can_leave_out(f, node) && num <= f->nodes[node].num_ports;
         num++) {
        uint32_t port = fab_fabric_port_id(f, node, (uint8_t)num);
        const struct sm_link link = {
            .port = port, .peer = fab_fabric_port(f, port)->peer, .isolated = true, .silent = true};
        if (fab_fabric_port_is_up(f, port))
            p->more |= sm_probe_add(p, &link) != FAB_OK;
    }
    return true;
}

/* Begins with the next suspect, and sets *ret_node to it. Returns false if read_suspect must not
 * read its ports: they are read already, cannot be read, or lost_switch.c chooses which of them to
 * read. */
static bool begin_suspect(struct sm *s, uint32_t *ret_node)
{
    struct sm_fault *x = s->fault;
    uint64_t guid = s->run.suspects.guid[x->next_suspect];
    if (sm_lost_switch_is_read(s, x->next_suspect) || take_silent(s, guid))
        return false;
    bool known = find_suspect(s, ret_node);
    if (known && sm_lost_switch_skips(s, x->next_suspect, *ret_node))
        return false;
    sm_guids_add(&x->probe.unresponsive, guid);
    x->probe.more |= !known;
    return known;
}

/* Fills in a request that reads PortInfo of a port of a switch. */
static void read_port(struct sm *s, uint32_t port, struct fab_mads_request *ret)
{
    const struct fab_port *p = fab_fabric_port(s->model.fabric, port);
    ret->path = &s->model.paths[p->node];
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->attr_mod = p->num;
    ret->tag = port;
    sm_m_key_fill(s, ret);
    sm_lost_switch_count(s, p->node, 1);
}

/* Fills in a request that reads the next port of a neighbour of a failed switch (lost_switch.c).
 * Returns false if there is none now. */
static bool read_neighbour(struct sm *s, struct fab_mads_request *ret)
{
    uint32_t port;
    do {
        if (!sm_lost_switch_next(s, &port))
            return false;
    } while (s->model.paths[fab_fabric_port(s->model.fabric, port)->node].hops == FAB_PATH_UNKNOWN);
    sm_guids_add(&s->fault->probe.unresponsive,
                 s->model.fabric->nodes[fab_fabric_port(s->model.fabric, port)->node].guid);
    read_port(s, port, ret);
    return true;
}

static bool is_at_end(const struct sm *s)
{
    return s->fault->next_suspect >= s->run.suspects.count;
}

/* Fills in a request that reads the next port of the next suspect. Returns false if all suspects
 * are read, or if the probe must first find out which switches have failed. */
static bool read_suspect(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_fault *x = s->fault;
    for (; !is_at_end(s); next_suspect(s)) {
        uint32_t node = FAB_NONE;
        if (x->next_port == 1 && sm_lost_switch_awaited(s))
            return false;
        bool known = x->next_port == 1 ? begin_suspect(s, &node) : find_suspect(s, &node);
        if (!known || x->next_port > f->nodes[node].num_ports)
            continue;
        if (sm_read_is_cut(s, node)) {
            sm_guids_add(&x->probe.cut, f->nodes[node].guid);
            continue;
        }
        read_port(s, fab_fabric_port_id(f, node, (uint8_t)x->next_port++), ret);
        return true;
    }
    return false;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct sm_probe *p = &s->fault->probe;
    if (sm_return_next(s, ret) || read_neighbour(s, ret))
        return true;
    if (is_at_end(s))
        sm_probe_join(s, p->count > 0 || p->back != NULL);
    if (is_at_end(s))
        sm_lost_switch_read_again(s);
    if (read_suspect(s, ret))
        return true;
    /* The runner calls this function again after each answer. If the new suspects need no read,
     * there is no further answer, so the second pass through the suspects must begin now. */
    if (is_at_end(s))
        sm_lost_switch_read_again(s);
    return read_suspect(s, ret);
}

static bool is_isl(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, peer);
}

static bool is_up(const struct fab_port_info *info)
{
    return info->phys_state == FAB_PHYS_LINKUP;
}

static bool differs(const struct fab_port_info *was, const struct fab_port_info *now)
{
    return is_up(was) != is_up(now) ||
           (is_up(now) &&
            (was->port_state != now->port_state || was->width_active != now->width_active ||
             was->speed_active != now->speed_active ||
             was->speed_ext_active != now->speed_ext_active ||
             was->speed_ext2_active != now->speed_ext2_active));
}

static void add_failed(struct sm *s, const struct sm_link *link)
{
    struct sm_probe *p = &s->fault->probe;
    p->more |= sm_probe_add(p, link) != FAB_OK;
    if (!link->isolated)
        sm_lost_switch_note(s, link->port);
}

static void compare(struct sm *s, uint32_t port, const struct fab_port_info *now)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_probe *p = &s->fault->probe;
    const struct sm_link link = {.port = port,
                                 .peer = fab_fabric_port(f, port)->peer,
                                 .isolated = is_up(now) && sm_isolate_due(s, port)};
    if (fab_fabric_port_is_up(f, port) && is_isl(f, port) && (!is_up(now) || link.isolated))
        add_failed(s, &link);
    else if (sm_return_is(s, port, now))
        p->more |= sm_return_add(s, port, now) != FAB_OK;
    else
        p->more |= differs(&fab_fabric_port(f, port)->info, now);
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = (uint32_t)tag;
    struct sm_probe *p = &s->fault->probe;
    struct fab_port_info now;
    if (sm_return_is_answer(tag)) {
        sm_return_answer(s, tag, a);
        return;
    }
    sm_lost_switch_count(s, fab_fabric_port(f, port)->node, -1);
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &now) != FAB_OK) {
        p->more = true;
        return;
    }
    sm_guids_remove(&p->unresponsive, f->nodes[fab_fabric_port(f, port)->node].guid);
    enum sm_flap_probe held = sm_flap_probed(s, port, is_up(&now));
    p->held += held == SM_FLAP_HELD_CHANGED;
    if (held == SM_FLAP_NOT_HELD)
        compare(s, port, &now);
}

static bool finished(const struct sm *s)
{
    return is_at_end(s) && sm_lost_switch_done(s) && sm_returns_asked(s);
}

static int leave(struct sm *s)
{
    sm_reads_cut_end(s);
    const struct sm_guids *unresponsive = &s->fault->probe.unresponsive;
    for (uint32_t i = 0; i < unresponsive->count; i++) {
        (void)sm_silent_check(s, unresponsive->guid[i]);
        sm_probe_unanswered(s, unresponsive->guid[i]);
    }
    int r = sm_returns_verified(s);
    s->run.known_us = clock_now_us();
    sm_flap_arm(s);
    /* In these cases, only a sweep may put the links that came back into the routes again: targeted
     * sweeps have changed the tables several times within seconds; the manager is frozen; or it has
     * taken over, and not all tables that it read in standby are confirmed (confirm_tables.c). */
    if (s->fault->probe.gains > 0 &&
        (sm_targets_wait(s) || sm_is_frozen(s) || sm_standby_unchecked(s)))
        sm_returns_drop(s);
    bool any = s->fault->probe.count > 0 || s->fault->probe.gains > 0;
    return r != FAB_OK || any ? r : SM_ROUND_OVER;
}

/* Requests another port probe for the suspects that did not answer or were not read, probably
 * because the directed routes to them lead over the failed links. After the repair, that probe uses
 * other directed routes. */
static void postpone_unread(struct sm *s)
{
    struct sm_fault *x = s->fault;
    const struct sm_guids *suspects = &s->run.suspects, *silent = &x->probe.unresponsive;
    for (uint32_t i = 0; i < silent->count; i++)
        sm_request_probe(s, silent->guid[i]);
    for (; x->next_suspect < suspects->count; x->next_suspect++)
        sm_request_probe(s, suspects->guid[x->next_suspect]);
}

/* Cancels the unanswered requests, and leaves the switches that have not answered to a targeted
 * sweep. If the probe has found a failed link, the function does so at once, because a switch that
 * hangs must not delay the repair. If the probe has found none, the function waits for the time of
 * one try. */
static void stalled(struct sm *s, uint64_t stalled_us)
{
    struct sm_probe *p = &s->fault->probe;
    bool tried = stalled_us >= sm_first_try_us(s);
    bool waited = sm_lost_switch_give_up(s);
    if (waited && p->count == 0)
        sm_run_pump(s); /* now the reads of the other suspects can be sent */
    if (p->count == 0 && (waited || !tried))
        return;
    if (waited)
        postpone_unread(s);
    p->more = true;
    sm_lost_switch_stop(s);
    if (!tried)
        /* these switches had less time than one try to answer, so they do not count as
         * unresponsive */
        p->unresponsive = (struct sm_guids){0};
    sm_run_give_up(s);
}

const struct sm_phase sm_phase_probe = {.name = "probing ports",
                                        .keyed = true,
                                        .enter = enter,
                                        .next = next,
                                        .answer = answer,
                                        .finished = finished,
                                        .leave = leave,
                                        .stalled = stalled};

/* ---- the check by a sweep -------------------------------------------------------------------- */

/* Adds to `to` all switches on the directed route to a node that did not answer, because each of
 * these switches may be the one that hangs. */
static void add_path(const struct sm *s, uint64_t guid, struct sm_guids *to)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, guid), at = fab_fabric_port(f, f->self_port)->node;
    const struct fab_path *path = node != FAB_NONE ? &s->model.paths[node] : NULL;
    if (path == NULL || path->hops == FAB_PATH_UNKNOWN)
        return;
    for (unsigned hop = 1; hop < path->hops && at != FAB_NONE; hop++) {
        at = fab_fabric_peer_node(f, fab_fabric_port_id(f, at, path->port[hop]));
        if (at != FAB_NONE)
            sm_guids_add(to, f->nodes[at].guid);
    }
}

static void request_check(struct sm *s)
{
    sm_request_targets(s, &s->fault->unchecked);
    s->fault->unchecked = (struct sm_guids){0};
}

/* Requests the targeted sweep that checks the result of the probe. It is not needed after a probe
 * that was caused by a trap and found only changes of held-down links; a light sweep would find
 * other changes. */
void sm_probe_ended(struct sm *s, int status)
{
    struct sm_guids *to = &s->fault->unchecked;
    const struct sm_probe *p = &s->fault->probe;
    const struct fab_fabric *f = s->model.fabric;
    if (status == FAB_OK && s->run.trap_us && p->held && !p->count && !p->more)
        return;
    for (uint32_t i = 0; i < s->run.suspects.count; i++)
        sm_guids_add(to, s->run.suspects.guid[i]);
    for (uint32_t i = 0; i < p->unresponsive.count; i++)
        add_path(s, p->unresponsive.guid[i], to);
    for (uint32_t i = 0; i < p->count; i++)
        sm_guids_add(to, f->nodes[fab_fabric_port(f, p->link[i].peer)->node].guid);
    for (const struct sm_return *l = p->back; l; l = l->next)
        sm_guids_add(to, f->nodes[fab_fabric_port(f, l->peer)->node].guid);
    if (p->more && !s->run.computed && s->run.trap_us)
        sm_cause_carry_over(s);
    for (uint32_t i = 0; s->run.computed && i < p->cut.count; i++)
        sm_request_probe(s, p->cut.guid[i]);
    if (status != FAB_OK || p->more || sm_program_failed(s))
        request_check(s);
    else if (!loop_timer_pending(s->fault->check_timer))
        loop_timer_set(s->fault->check_timer, CHECK_US);
}

bool sm_probe_unchecked(const struct sm *s)
{
    return s->fault->unchecked.count > 0;
}

bool sm_probe_check_waits(const struct sm *s, uint64_t node_guid)
{
    return sm_guids_have(&s->fault->unchecked, node_guid);
}

static void on_check(void *ctx)
{
    struct sm *s = ctx;
    request_check(s);
    sm_schedule(s);
}

/* ---- results of the probe -------------------------------------------------------------------- */

bool sm_probe_has(const struct sm_probe *p, uint32_t port)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->link[i].port == port || p->link[i].peer == port)
            return true;
    return false;
}

int sm_probe_add(struct sm_probe *p, const struct sm_link *link)
{
    if (sm_probe_has(p, link->port))
        return FAB_OK;
    struct sm_link *more = realloc(p->link, (p->count + 1) * sizeof(*more));
    if (more == NULL)
        return FAB_E_NOMEM;
    p->link = more;
    p->link[p->count++] = *link;
    return FAB_OK;
}

void sm_probe_fini(struct sm_probe *p)
{
    free(p->link);
    sm_returns_fini(p);
    *p = (struct sm_probe){0};
}

/* ---- init and fini --------------------------------------------------------------------------- */

int sm_fault_init(struct sm *s)
{
    s->fault = calloc(1, sizeof(*s->fault));
    if (!s->fault)
        return FAB_E_NOMEM;
    s->fault->check_timer = loop_timer_new(s->in.loop, on_check, s);
    int r = s->fault->check_timer ? sm_contingency_init(s) : FAB_E_NOMEM;
    return r == FAB_OK ? sm_step_init(s) : r;
}

void sm_fault_fini(struct sm *s)
{
    if (!s->fault)
        return;
    sm_contingency_fini(s);
    sm_step_fini(s);
    loop_tasks_orphan(&s->fault->tasks);
    loop_timer_free(s->fault->check_timer);
    sm_probe_fini(&s->fault->probe);
    sm_repair_search_abort(s);
    sm_confirm_tables_fini(s);
    free(s->fault);
    s->fault = NULL;
}
