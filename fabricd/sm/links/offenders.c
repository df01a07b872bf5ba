/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes misbehaving hosts out of service. The manager disables the switch port of such a host, and
 * does so again whenever it finds the port enabled, until an operator releases the link (fabricctl
 * link release). The list of isolated links (isolation.c) keeps the reason and the time, even over
 * a restart.
 *
 * The caller must have proof from which switch port the misbehaviour came. Otherwise a host could
 * cause the isolation of another host. The manager never isolates itself, a switch, or the port of
 * a manager in subnet.managers. It isolates at most offenders.max_isolated hosts, so that a mistake
 * does not remove many hosts from the fabric.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/links/state.h"

/* minimum time in us between two events offender-not-isolated */
#define EVENT_EVERY_US UINT64_C(600000000)

static bool is_switch_port(const struct fab_fabric *f, uint32_t port)
{
    return port != FAB_NONE && fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
}

/* Returns whether subnet.managers lists this switch port, with any manager GUID. */
static bool is_listed(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_node *node = &f->nodes[fab_fabric_port(f, port)->node];
    char guid[24];
    snprintf(guid, sizeof(guid), "0x%016" PRIx64, node->guid);
    for (uint32_t i = 0; i < s->policy.manager_count; i++) {
        const struct fab_manager *m = &s->policy.managers[i];
        if (m->switch_port == fab_fabric_port(f, port)->num &&
            (strcmp(node->desc, m->switch_name) == 0 || strcmp(node->name, m->switch_name) == 0 ||
             strcasecmp(guid, m->switch_name) == 0))
            return true;
    }
    return false;
}

static uint32_t isolated_hosts(const struct sm *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        n += s->links->list[i].offence;
    return n;
}

/* Returns why the host that is connected to this switch port must not be isolated, as a phrase for
 * operators. NULL: it may be isolated. */
static const char *objection(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    if (fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node ==
        fab_fabric_port(f, f->self_port)->node)
        return "it is the host of this manager";
    if (is_listed(s, port))
        return "subnet.managers lists its switch port";
    if (isolated_hosts(s) >= s->in.config->offenders.max_isolated)
        return "offenders.max_isolated hosts are isolated already";
    return NULL;
}

static void tell_spared(struct sm *s, const struct sm_link *link, const char *cause,
                        const char *why)
{
    const struct fab_fabric *f = s->model.fabric;
    const uint32_t end[2] = {link->port, link->peer};
    uint64_t now = clock_now_us();
    struct {
        char place[2][SM_PLACE_LEN];
        uint64_t guid[2];
        uint8_t port[2];
    } x;
    if (s->links->spared_us && now < s->links->spared_us + EVENT_EVERY_US)
        return;
    s->links->spared_us = now;
    for (int i = 0; i < 2; i++) {
        sm_port_name(f, end[i], x.place[i]);
        x.guid[i] = f->nodes[fab_fabric_port(f, end[i])->node].guid;
        x.port[i] = fab_fabric_port(f, end[i])->num;
    }
    event_emit(s->in.bus, offender_not_isolated, EVENT_LINK(&x), .reason = cause, .why = why);
}

/* Returns the entry of this link in the list of links (list.c); adds one if there is none. In an
 * entry that was added because of a flap, the host may be at end 0; the function then swaps the
 * ends, so that end 0 is the switch port. NULL: memory ran out or the list is full. */
static struct sm_flap *entry_of(struct sm *s, const struct sm_link *link)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_port *p = fab_fabric_port(f, link->port);
    struct sm_flap *e = sm_flap_find(s, f->nodes[p->node].guid, p->num);
    if (!e)
        return sm_flap_add(s, f, link);
    const struct fab_port *peer = fab_fabric_port(f, link->peer);
    e->guid[0] = f->nodes[p->node].guid;
    e->port[0] = p->num;
    e->guid[1] = f->nodes[peer->node].guid;
    e->port[1] = peer->num;
    sm_port_name(f, link->port, e->place[0]);
    sm_port_name(f, link->peer, e->place[1]);
    return e;
}

void sm_offender_found(struct sm *s, uint32_t port, const char *cause)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct sm_link link = {.port = fab_fabric_port(f, port)->peer, .peer = port};
    if (!is_switch_port(f, link.port) || is_switch_port(f, port))
        return;
    struct sm_flap *e = sm_flap_find(s, f->nodes[fab_fabric_port(f, link.port)->node].guid,
                                     fab_fabric_port(f, link.port)->num);
    if (e && e->isolated)
        return;
    const char *why = objection(s, link.port);
    if (why) {
        tell_spared(s, &link, cause, why);
        return;
    }
    e = entry_of(s, &link);
    if (!e)
        /* The host is not isolated now, but will be when it misbehaves again. */
        return;
    e->damping = (struct fab_damping){0};
    e->offence = e->out = true;
    sm_isolate_begin(s, e, cause);
    event_emit(s->in.bus, offender_isolated, EVENT_LINK(e), .reason = cause);
    sm_isolate_settle(s);
    sm_schedule(s);
}
