/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the samples of a pass as one round of counters. At the end of the pass, the round goes
 * to the history (fabricd/store/counters.h). Also emits events about the history.
 *
 * The history also has the down time of links. It is counted at each port whose link was up before.
 * The event link-down starts the count, and link-up ends it. If many links fail at once, one
 * summary replaces the events of the single links; each pass therefore also checks the state of all
 * ports.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/status.h"

#define SECOND UINT64_C(1000000)
#define LOOK_US SECOND
/* maximum number of events about findings in the history that one call of pm_history_look emits */
#define FINDINGS 32
#define ROOM_LEAST 1024

/* ---- the round ------------------------------------------------------------------------------- */

static bool grow_columns(struct counters_round *r, uint32_t ports)
{
    uint32_t room = r->room > 0 ? r->room : ROOM_LEAST;
    while (room < ports)
        room *= 2;
    for (int c = 0; c < FAB_COLUMNS; c++) {
        uint16_t *grown = r->code[c] ? reallocarray(r->code[c], room, sizeof(*grown)) : NULL;
        if (r->code[c] && !grown)
            return false;
        if (grown)
            memset(grown + r->room, 0, (room - r->room) * sizeof(*grown));
        r->code[c] = grown;
    }
    uint32_t *peer = reallocarray(r->peer, room, sizeof(*peer));
    if (!peer)
        return false;
    /* sets each element to FAB_NONE */
    memset(peer + r->room, 0xff, (room - r->room) * sizeof(*peer));
    r->peer = peer;
    r->room = room;
    return true;
}

static bool add_node(struct counters_round *r, const struct pm_node *n)
{
    uint32_t ports = r->ports + n->ports + 1u;
    if (ports > r->room && !grow_columns(r, ports))
        return false;
    if (r->node_count == r->node_room) {
        size_t room = r->node_room > 0 ? 2 * r->node_room : ROOM_LEAST;
        struct counters_node *nodes = reallocarray(r->nodes, room, sizeof(*nodes));
        if (!nodes)
            return false;
        r->nodes = nodes;
        r->node_room = room;
    }
    r->nodes[r->node_count++] =
        (struct counters_node){.guid = n->guid, .first = r->ports, .ports = n->ports};
    r->ports = ports;
    return true;
}

/* Adds the node to the present round of the history, unless the round already has it. Returns the
 * round; NULL: the manager keeps no history, or memory ran out. */
static struct counters_round *round_for(struct pm *pm, struct pm_node *n)
{
    if (!pm->in.history)
        return NULL;
    if (!pm->round)
        pm->round = calloc(1, sizeof(*pm->round));
    if (!pm->round || n->history_pass == pm->pass + 1)
        return pm->round;
    if (!add_node(pm->round, n))
        return NULL;
    n->history_pass = pm->pass + 1;
    n->history_first = pm->round->nodes[pm->round->node_count - 1].first;
    return pm->round;
}

/* Stores the code of a value in a column, at index `at`. If the port already has a value in this
 * round, a rate replaces it, and a count is added to it. */
static void put(struct counters_round *r, unsigned column, uint32_t at, uint16_t code)
{
    if (!r->code[column])
        r->code[column] = calloc(r->room, sizeof(*r->code[column]));
    uint16_t *to = r->code[column];
    if (!to)
        return;
    if (fab_column_is_count(column) && to[at] != 0)
        code = fab_counters_encode_value(column, fab_counters_decode_value(column, to[at]) +
                                                     fab_counters_decode_value(column, code));
    to[at] = code;
}

void pm_history_put(struct pm *pm, struct pm_node *n, uint8_t port, const struct fab_sample *s)
{
    struct counters_round *r = round_for(pm, n);
    for (unsigned c = 0; r && c < FAB_COLUMNS; c++)
        if (s->code[c] != 0)
            put(r, c, n->history_first + port, s->code[c]);
}

void pm_history_link(struct pm *pm, struct pm_node *a, uint8_t a_port, struct pm_node *b,
                     uint8_t b_port)
{
    if (!round_for(pm, a) || !round_for(pm, b))
        return;
    pm->round->peer[a->history_first + a_port] = b->history_first + b_port;
    pm->round->peer[b->history_first + b_port] = a->history_first + a_port;
}

static bool has_values(const struct counters_round *r)
{
    for (int c = 0; c < FAB_COLUMNS; c++)
        if (r->code[c])
            return true;
    return false;
}

void pm_history_end(struct pm *pm)
{
    int64_t now = clock_unix_us() / (int64_t)SECOND, span = now - pm->round_began_s;
    struct counters_round *r = pm->round;
    pm->round_began_s = now;
    if (!r)
        return;
    pm->round = NULL;
    if (!has_values(r)) { /* no port has been read twice yet, so there are no rates */
        counters_round_free(r);
        return;
    }
    r->time = (struct fab_counters_time){now, span > 0 && span < UINT32_MAX ? (uint32_t)span : 1};
    counters_put(pm->in.history, r);
}

/* ---- down time ------------------------------------------------------------------------------- */

static void add_down_time(struct pm *pm, struct pm_node *n, uint8_t port, uint64_t now)
{
    struct pm_port *p = &n->port[port];
    uint64_t seconds = (now - p->down_us) / SECOND;
    struct fab_sample s = {0};
    if (seconds == 0)
        return;
    p->down_us += seconds * SECOND;
    s.code[FAB_COLUMN_DOWN] = fab_counters_encode_value(FAB_COLUMN_DOWN, seconds);
    pm_history_put(pm, n, port, &s);
}

void pm_history_state(struct pm *pm, struct pm_node *n, uint8_t port, bool up)
{
    struct pm_port *p = &n->port[port];
    uint64_t now = clock_now_us();
    p->linked |= up;
    if (p->down_us != 0)
        add_down_time(pm, n, port, now);
    if (up)
        p->down_us = 0;
    else if (p->down_us == 0 && p->linked)
        p->down_us = now;
}

static uint64_t number_of(const struct event *e, const char *name)
{
    for (uint32_t i = 0; i < e->field_count; i++)
        if (strcmp(e->fields[i].name, name) == 0)
            return e->fields[i].number;
    return 0;
}

static void note_state(struct pm *pm, uint64_t guid, uint64_t port, bool up)
{
    struct pm_node *n = pm_node_of(pm, guid);
    if (n && port > 0 && port <= n->ports)
        pm_history_state(pm, n, (uint8_t)port, up);
}

static void on_event(void *ctx, const struct event *e)
{
    struct pm *pm = ctx;
    bool up = strcmp(e->type, event_rows[EVENT_link_up].type) == 0;
    if (e->port == 0 || (!up && strcmp(e->type, event_rows[EVENT_link_down].type) != 0))
        return;
    note_state(pm, e->guid, e->port, up);
    note_state(pm, number_of(e, "peer_guid"), number_of(e, "peer_port"), up);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* the two ends of a link, for events */
struct ends {
    char place[2][PM_PLACE_LEN];
    uint64_t guid[2];
    uint8_t port[2];
};

/* Finds the link of a port. Returns false if the port has no link in the view. */
static bool find_ends(const struct fab_view *v, uint64_t guid, uint8_t port, struct ends *ret)
{
    uint32_t node = v ? fab_fabric_node_by_guid(v->fabric, guid) : FAB_NONE;
    if (node == FAB_NONE || port > v->fabric->nodes[node].num_ports)
        return false;
    uint32_t id[2] = {fab_fabric_port_id(v->fabric, node, port)};
    id[1] = fab_fabric_port(v->fabric, id[0])->peer;
    for (int i = 0; i < 2 && id[1] != FAB_NONE; i++) {
        const struct fab_port *p = fab_fabric_port(v->fabric, id[i]);
        ret->guid[i] = v->fabric->nodes[p->node].guid;
        ret->port[i] = p->num;
        pm_name_place(v->fabric, id[i], ret->place[i]);
    }
    return id[1] != FAB_NONE;
}

static void report_finding(struct pm *pm, const struct counters_finding *f, const struct ends *e)
{
    if (f->kind == COUNTERS_RISING)
        event_emit(pm->in.bus, errors_rising, EVENT_LINK(e),
                   .counter = fab_health_counter_kinds[f->counter].name, .before = f->before,
                   .errors = f->now);
    else
        event_emit(pm->in.bus, link_asymmetric, EVENT_LINK(e), .sent = f->sent,
                   .received = f->received);
}

static void report_findings(struct pm *pm)
{
    struct counters_finding found[FINDINGS];
    size_t count = counters_take_findings(pm->in.history, found, FINDINGS);
    struct fab_view *v = count > 0 ? sm_view(pm->in.sm) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct ends ends;
        if (find_ends(v, found[i].guid, found[i].port, &ends))
            report_finding(pm, &found[i], &ends);
    }
    fab_view_unref(v);
}

static void report_health(struct pm *pm)
{
    struct counters_health h;
    counters_get_health(pm->in.history, &h);
    if (h.replaced != pm->history_replaced)
        event_emit(pm->in.bus, counters_replaced, .subject = "manager", .file = h.aside,
                   .reason = h.reason);
    pm->history_replaced = h.replaced;
    if (h.failures != pm->history_failures && h.failing && !pm->history_failing) {
        pm->history_failing = true;
        pm->history_dropped = h.dropped;
        event_emit(pm->in.bus, counters_failing, .subject = "manager",
                   .directory = pm->in.config->state_dir, .reason = h.reason);
    }
    pm->history_failures = h.failures;
    if (pm->history_failing && !h.failing) {
        pm->history_failing = false;
        event_emit(pm->in.bus, counters_recovered, .subject = "manager",
                   .directory = pm->in.config->state_dir,
                   .rounds = h.dropped - pm->history_dropped);
    }
}

void pm_history_look(struct pm *pm)
{
    uint64_t now = clock_now_us();
    if (!pm->in.history || now - pm->history_looked_us < LOOK_US)
        return;
    pm->history_looked_us = now;
    report_findings(pm);
    report_health(pm);
}

int pm_history_start(struct pm *pm)
{
    pm->round_began_s = clock_unix_us() / (int64_t)SECOND;
    return pm->in.history ? bus_subscribe(pm->in.bus, on_event, pm) : FAB_OK;
}

void pm_history_fini(struct pm *pm)
{
    if (pm->in.history)
        bus_unsubscribe(pm->in.bus, on_event, pm);
    counters_round_free(pm->round);
}

/* ---- the last samples ------------------------------------------------------------------------ */

static bool has_sample(const struct pm_port *p)
{
    return p->at_us != 0 && p->down_us == 0;
}

/* Returns true if a port with this value belongs in the list. In lists by waits or by errors, ports
 * with value 0 are left out. */
static bool is_ranked(enum counters_by by, uint64_t value)
{
    return value > 0 || by == COUNTERS_BY_DATA || by == COUNTERS_BY_PACKETS;
}

int pm_top(const struct pm *pm, enum counters_by by, uint32_t most, struct pm_rates *ret,
           uint32_t *ret_count, uint32_t *ret_ports)
{
    struct fab_rank_entry *entry = calloc(most > 0 ? most : 1, sizeof(*entry));
    struct fab_rank rank;
    uint32_t ports = 0;
    if (!entry)
        return FAB_E_NOMEM;
    fab_counters_rank_init(&rank, entry, most);
    for (size_t i = 0; i < pm->node_count; i++)
        for (uint32_t p = 0; pm->nodes[i].port && p <= pm->nodes[i].ports; p++) {
            const struct pm_port *port = &pm->nodes[i].port[p];
            uint64_t value = has_sample(port) ? counters_rank_value(by, port->sample.code) : 0;
            if (!has_sample(port) || !is_ranked(by, value))
                continue;
            ports++;
            fab_counters_rank_add(&rank, i << 8 | p, value);
        }
    fab_counters_rank_sort(&rank);
    for (uint32_t i = 0; i < rank.count; i++) {
        const struct pm_node *n = &pm->nodes[entry[i].id >> 8];
        const struct pm_port *p = &n->port[entry[i].id & 0xff];
        ret[i] = (struct pm_rates){.guid = n->guid, .port = (uint8_t)(entry[i].id & 0xff)};
        memcpy(ret[i].code, p->sample.code, sizeof(ret[i].code));
    }
    *ret_count = rank.count;
    *ret_ports = ports;
    free(entry);
    return FAB_OK;
}

bool pm_port_rates(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_rates *ret)
{
    const struct pm_node *n = pm_node_of(pm, node_guid);
    if (!n || port > n->ports || !has_sample(&n->port[port]))
        return false;
    *ret = (struct pm_rates){.guid = node_guid, .port = port};
    memcpy(ret->code, n->port[port].sample.code, sizeof(ret->code));
    return true;
}

void pm_history_sum(const struct pm *pm, struct pm_status *ret)
{
    for (size_t i = 0; i < pm->node_count; i++)
        for (uint32_t p = 0; pm->nodes[i].port && p <= pm->nodes[i].ports; p++) {
            const struct pm_port *port = &pm->nodes[i].port[p];
            if (!has_sample(port))
                continue;
            ret->ports++;
            ret->bytes_per_s += fab_counters_decode_value(FAB_COLUMN_XMIT_DATA,
                                                          port->sample.code[FAB_COLUMN_XMIT_DATA]);
            ret->packets_per_s += fab_counters_decode_value(
                FAB_COLUMN_XMIT_PKTS, port->sample.code[FAB_COLUMN_XMIT_PKTS]);
        }
}
