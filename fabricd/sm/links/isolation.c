/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Isolates links: routes avoid an isolated link until an operator releases it, even after a
 * restart. Isolated links are in the list of list.c, and are removed from snapshots like held-down
 * links.
 *
 * The manager first changes the routes so that they avoid the link. If counters.on_errors is
 * "disable", it then disables one port of the link. The same list has the links of misbehaving
 * hosts (offenders.c). The manager always disables a port of such a link, and does not change
 * routes.
 *
 * libfabmgr/health/isolation.h decides whether a link may be isolated. The manager makes this
 * decision when the isolation is requested, and again in each sweep. If a sweep finds that an
 * isolated link must stay in use, for example because a part of the fabric would be unreachable
 * without it, the link is reinstated: routes use it as long as they need it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* ---- the store ------------------------------------------------------------------------------- */

static void keep(struct sm *s, const struct sm_flap *e)
{
    struct store_isolated row = {
        .operated = e->operated, .offence = e->offence, .since_us = e->isolated_us};
    if (!s->in.store)
        return;
    for (int i = 0; i < 2; i++) {
        row.guid[i] = e->guid[i];
        row.port[i] = e->port[i];
        snprintf(row.name[i], sizeof(row.name[i]), "%s", e->place[i]);
    }
    snprintf(row.cause, sizeof(row.cause), "%s", e->cause);
    store_put_isolated(s->in.store, &row, e->isolated);
}

static void take_row(struct sm_flap *e, const struct store_isolated *row)
{
    e->isl = !row->offence;
    e->isolated = true;
    e->operated = row->operated;
    e->offence = row->offence;
    e->out |= row->offence;
    e->isolated_us = row->since_us;
    for (int i = 0; i < 2; i++) {
        e->guid[i] = row->guid[i];
        e->port[i] = row->port[i];
        snprintf(e->place[i], sizeof(e->place[i]), "%s", row->name[i]);
    }
    snprintf(e->cause, sizeof(e->cause), "%s", row->cause);
}

int sm_isolate_load(struct sm *s)
{
    struct store_isolated *rows = NULL;
    size_t count = 0;
    int r = s->in.store ? store_load_isolated(s->in.store, &rows, &count) : FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < count; i++) {
        struct sm_flap *e = sm_flap_find(s, rows[i].guid[0], rows[i].port[0]);
        if (!e && (e = sm_flap_room(s)))
            *e = (struct sm_flap){.isolated = false};
        if (!e)
            log_error("sm", "too many isolated links: those from %s on are in service",
                      rows[i].name[0]);
        if (!e)
            break;
        take_row(e, &rows[i]);
    }
    free(rows);
    return r;
}

bool sm_isolation_differs(const struct sm *s)
{
    struct store_isolated *rows = NULL;
    size_t count = 0;
    if (!s->in.store || store_load_isolated(s->in.store, &rows, &count) != FAB_OK)
        return false;
    bool differs = count != sm_isolated_count(s);
    for (size_t i = 0; i < count && !differs; i++) {
        const struct sm_flap *e = sm_flap_find(s, rows[i].guid[0], rows[i].port[0]);
        differs = !e || !e->isolated;
    }
    free(rows);
    return differs;
}

/* ---- whether a link may be isolated ---------------------------------------------------------- */

/* Returns the snapshot of the model or, if the model has none, that of the published view. */
static const struct fab_fabric *known(const struct sm *s)
{
    return s->model.fabric ? s->model.fabric : s->model.view->fabric;
}

/* Decides for each link in port[ports], one after the other, whether it may be excluded
 * (libfabmgr/health/isolation.h). Each decision takes the following links as excluded: those that
 * are excluded already or will be soon, and those earlier in port[] that may be excluded. operated:
 * an operator isolates the links. ret[ports]: the decisions. Returns OK or NOMEM. */
static int ask(struct sm *s, const uint32_t *port, size_t ports, bool operated,
               struct fab_isolation *ret)
{
    const struct fab_fabric *f = known(s);
    size_t count = 0, room = s->links->count + ports;
    struct fab_isolation_link *cable = calloc(room, sizeof(*cable));
    struct fab_isolation *got = calloc(room, sizeof(*got));
    uint32_t *entry = calloc(room, sizeof(*entry)), *at = calloc(room, sizeof(*at));
    struct sm_rule rule = {0};
    int r = cable && got && entry && at ? sm_rule_init(s, f, &rule) : FAB_E_NOMEM;
    for (uint32_t i = 0; r == FAB_OK && i < s->links->count; i++)
        at[i] = s->links->list[i].isolated ? sm_flap_up_at(f, &s->links->list[i]) : FAB_NONE;
    if (r == FAB_OK) {
        sm_flap_candidates(s, f, at, cable, entry, &count);
        for (size_t i = 0; i < ports; i++)
            cable[count++] = (struct fab_isolation_link){.port = port[i], .operated = operated};
        r = fab_health_isolation_choose(f, &rule.rule, cable, count, got);
    }
    if (r == FAB_OK)
        memcpy(ret, got + count - ports, ports * sizeof(*ret));
    sm_rule_fini(&rule);
    free(cable);
    free(got);
    free(entry);
    free(at);
    return r;
}

/* Writes to why[] how many nodes can be reached only over the link of this port. */
static void say_needed(const struct fab_fabric *f, uint32_t port, char *why, size_t len)
{
    uint32_t switches = 0, others = 0, first = FAB_NONE;
    char name[SM_PLACE_LEN];
    if (fab_health_isolation_cut_off(f, &port, 1, &switches, &others, &first) != FAB_OK ||
        first == FAB_NONE) {
        snprintf(why, len,
                 "without this link and the excluded ones a part of the fabric could not be "
                 "reached");
        return;
    }
    sm_node_name(f, first, name);
    snprintf(why, len, "%s%s would be cut off: %u switch%s and %u other node%s", name,
             switches + others > 1 ? " and what is behind it" : "", switches,
             switches == 1 ? "" : "es", others, others == 1 ? "" : "s");
}

static int refusal(const struct sm *s, uint32_t port, const struct fab_isolation *a, char *why,
                   size_t len)
{
    const struct fab_fabric *f = known(s);
    char name[SM_PLACE_LEN] = "";
    if (a->node != FAB_NONE)
        sm_node_name(f, a->node, name);
    switch (a->verdict) {
    case FAB_ISOLATION_ALLOWED:
        return FAB_OK;
    case FAB_ISOLATION_HOST:
        snprintf(why, len, "%s would be cut off: this is its only link", name);
        return FAB_E_UNREACHABLE;
    case FAB_ISOLATION_LIMIT:
        snprintf(why, len,
                 "%s would lose more than %u percent of its links in that direction: it has %u, "
                 "of which %u %s excluded already",
                 name, s->in.config->flapping.max_excluded_percent, a->links, a->out,
                 a->out == 1 ? "is" : "are");
        return FAB_E_LIMIT;
    case FAB_ISOLATION_LEAF_FLOOR:
    case FAB_ISOLATION_POD_FLOOR:
        snprintf(why, len,
                 "%s%s must keep %u of its %u uplinks (flapping.min_capacity_percent is %u), and "
                 "%u %s excluded or down already",
                 a->verdict == FAB_ISOLATION_POD_FLOOR ? "the pod of " : "", name, a->least,
                 a->links, s->in.config->flapping.min_capacity_percent, a->out,
                 a->out == 1 ? "is" : "are");
        return FAB_E_LIMIT;
    case FAB_ISOLATION_NEEDED:
    default:
        say_needed(f, port, why, len);
        return FAB_E_UNREACHABLE;
    }
}

/* Returns the id of this port, if the snapshot has its link and the link is up; otherwise
 * FAB_NONE. */
static uint32_t find_link(const struct sm *s, uint64_t guid, uint8_t num)
{
    const struct fab_fabric *f = known(s);
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node == FAB_NONE || num == 0 || num > f->nodes[node].num_ports)
        return FAB_NONE;
    uint32_t port = fab_fabric_port_id(f, node, num);
    return fab_fabric_port(f, port)->peer != FAB_NONE && fab_fabric_port_is_up(f, port) ? port
                                                                                        : FAB_NONE;
}

static int decide(struct sm *s, uint32_t port, bool operated, char *why, size_t len)
{
    struct fab_isolation answer;
    int r = ask(s, &port, 1, operated, &answer);
    return r == FAB_OK ? refusal(s, port, &answer, why, len) : r;
}

/* ---- isolating a link ------------------------------------------------------------------------ */

void sm_isolate_begin(struct sm *s, struct sm_flap *e, const char *cause)
{
    e->isolated = true;
    e->reinstated = false;
    e->isolated_us = clock_unix_us();
    snprintf(e->cause, sizeof(e->cause), "%s", cause);
    keep(s, e);
}

static void isolate(struct sm *s, struct sm_flap *e, bool operated, const char *cause)
{
    e->operated = operated;
    sm_isolate_begin(s, e, cause);
    event_emit(s->in.bus, link_isolated, EVENT_LINK(e), .reason = cause);
    sm_flap_leave(s, e, "isolation");
    sm_schedule(s);
}

bool sm_is_isolated_out(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    const struct sm_flap *e = sm_flap_find(s, node_guid, port);
    return e && (e->isolated || e->drain) && e->out && !e->offence;
}

bool sm_isolate_due(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct sm_flap *e = sm_flap_find(s, f->nodes[fab_fabric_port(f, port)->node].guid,
                                           fab_fabric_port(f, port)->num);
    return e && (e->isolated || (e->drain && !e->returning)) && !e->out && !e->reinstated &&
           !e->offence;
}

void sm_isolate_done(struct sm *s, const struct sm_link *c)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_port *p = fab_fabric_port(f, c->port);
    struct sm_flap *e = sm_flap_find(s, f->nodes[p->node].guid, p->num);
    if (!e)
        return;
    e->out = true;
    fab_health_damping_up(&e->damping, clock_now_us());
}

int sm_link_isolate_check(struct sm *s, uint64_t node_guid, uint8_t port, bool operated, char *why,
                          size_t why_len)
{
    const struct sm_flap *e = sm_flap_find(s, node_guid, port);
    snprintf(why, why_len, "%s", "");
    if (!s->model.view)
        return sm_is_standby(s) ? FAB_E_DENIED : FAB_E_BUSY;
    /* a manager that is not master can have a view, too: in standby, it also sweeps the fabric */
    if (!sm_is_master(s))
        return FAB_E_DENIED;
    if (e && e->isolated) {
        snprintf(why, why_len, "it is isolated already");
        return FAB_E_EXISTS;
    }
    uint32_t at = find_link(s, node_guid, port);
    if (at == FAB_NONE && !(e && e->out)) {
        snprintf(why, why_len, "no link is up at this port");
        return FAB_E_NOT_FOUND;
    }
    return at != FAB_NONE ? decide(s, at, operated, why, why_len) : FAB_OK;
}

int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len)
{
    int r = sm_link_isolate_check(s, node_guid, port, operated, why, why_len);
    if (r != FAB_OK)
        return r;
    struct sm_flap *e = sm_flap_find(s, node_guid, port);
    uint32_t at = find_link(s, node_guid, port);
    if (!e)
        e = sm_flap_add(s, known(s),
                        &(struct sm_link){.port = at, .peer = fab_fabric_port(known(s), at)->peer});
    if (!e)
        return FAB_E_NOMEM;
    isolate(s, e, operated, cause);
    return FAB_OK;
}

int sm_isolate_check(struct sm *s, const struct store_port *link, size_t count, size_t *ret_link,
                     char *why, size_t why_len)
{
    struct fab_isolation *answer = calloc(count + 1, sizeof(*answer));
    uint32_t *port = calloc(count + 1, sizeof(*port));
    size_t *at = calloc(count + 1, sizeof(*at)), ports = 0;
    int r = answer && port && at ? FAB_OK : FAB_E_NOMEM;
    snprintf(why, why_len, "%s", "");
    for (size_t i = 0; r == FAB_OK && i < count; i++) {
        const struct sm_flap *e = sm_flap_find(s, link[i].node_guid, link[i].port);
        if (e && (e->isolated || e->out))
            continue;
        *ret_link = at[ports] = i;
        port[ports] = find_link(s, link[i].node_guid, link[i].port);
        if (port[ports++] == FAB_NONE) {
            snprintf(why, why_len, "no link is up at this port");
            r = FAB_E_NOT_FOUND;
        }
    }
    if (r == FAB_OK && ports > 0)
        r = ask(s, port, ports, true, answer);
    for (size_t i = 0; r == FAB_OK && i < ports; i++) {
        *ret_link = at[i];
        r = refusal(s, port[i], &answer[i], why, why_len);
    }
    free(answer);
    free(port);
    free(at);
    return r;
}

void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out)
{
    if (was_out && !e->out)
        event_emit(s->in.bus, link_reinstated, EVENT_LINK(e));
    e->setting = false;
}

void sm_isolate_moved(struct sm *s, struct sm_flap *e)
{
    if (!e->isolated)
        return;
    e->isolated = e->out = false;
    keep(s, e);
    event_emit(s->in.bus, link_replaced, EVENT_LINK(e));
}

/* ---- ports ----------------------------------------------------------------------------------- */

static uint8_t phys_state(const struct sm *s, const struct sm_flap *e, int end)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = f ? fab_fabric_node_by_guid(f, e->guid[end]) : FAB_NONE;
    return node != FAB_NONE && e->port[end] <= f->nodes[node].num_ports
               ? fab_fabric_port(f, fab_fabric_port_id(f, node, e->port[end]))->info.phys_state
               : FAB_PHYS_NOP;
}

void sm_isolate_end(struct sm *s, struct sm_flap *e)
{
    e->isolated = e->offence = false;
    keep(s, e);
    for (int i = 0; i < 2; i++)
        if (phys_state(s, e, i) == FAB_PHYS_DISABLED &&
            !sm_port_is_operators(s, e->guid[i], e->port[i]) &&
            sm_port_request(s, e->guid[i], e->port[i], true, ", because its link was released") !=
                FAB_OK)
            log_error("sm", "out of memory: %s stays disabled", e->place[i]);
}

/* Returns true if a port of the isolated link must be disabled now. The switch port of a
 * misbehaving host must be disabled whenever it is found enabled, for example after a restart of
 * the switch. */
static bool is_to_be_disabled(const struct sm *s, const struct sm_flap *e)
{
    if (e->offence)
        return phys_state(s, e, 0) != FAB_PHYS_DISABLED && phys_state(s, e, 0) != FAB_PHYS_NOP;
    return s->in.config->counters.on_errors == CONFIG_ON_ERRORS_DISABLE && e->out &&
           phys_state(s, e, 0) == FAB_PHYS_LINKUP;
}

void sm_isolate_settle(struct sm *s)
{
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        if (!e->isolated || e->setting || !is_to_be_disabled(s, e))
            continue;
        e->setting = sm_port_request(s, e->guid[0], e->port[0], false,
                                     e->offence ? ", because its host was isolated"
                                                : ", because its link was isolated") == FAB_OK;
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

uint32_t sm_isolated_count(const struct sm *s)
{
    return sm_isolations(s, NULL, 0);
}

uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->links->count; i++) {
        const struct sm_flap *e = &s->links->list[i];
        if (!e->isolated)
            continue;
        if (n < max) {
            ret[n] = (struct sm_isolation){.guid = {e->guid[0], e->guid[1]},
                                           .port = {e->port[0], e->port[1]},
                                           .out = e->out,
                                           .operated = e->operated,
                                           .since_us = e->isolated_us};
            memcpy(ret[n].place, e->place, sizeof(ret[n].place));
            memcpy(ret[n].cause, e->cause, sizeof(ret[n].cause));
        }
        n++;
    }
    return n;
}
