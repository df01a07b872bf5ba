/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports violations of keys to operators, by the events m-key-violation, p-key-violation and
 * q-key-violation. A violation is a packet with a wrong M_Key, P_Key or Q_Key. The device that
 * receives such a packet counts the violation in PortInfo (IBA 14.2.5.6), and names the sender in
 * one of the traps 256 to 259 (IBA 14.2.5.1).
 *
 * A trap can be forged. The manager therefore reads PortInfo of the device by its directed route.
 * If the counter has not risen since it was last read, the trap is dropped. A counter at its
 * maximum, 0xffff, cannot rise, so it counts as risen. Because traps can be lost, the manager also
 * compares the counters of all ports after each heavy sweep.
 *
 * A counter that has risen proves a violation, but not who caused it: a host that forges a trap can
 * also cause the violation. If the wrong packet had a directed route, its sender is the first
 * adapter on its return path, because switches write this path. In all other cases only the source
 * LID is known, which the sender can forge.
 *
 * The rate of events is limited for each port and key, and for the whole fabric. But the manager
 * counts all violations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/core/trap.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/mads/mads.h"

#define ROWS 256
/* Minimum time between two events about the same port and key. */
#define EVENT_EVERY_US UINT64_C(60000000)
#define COUNTER_MOST 0xffffu

static const struct fab_bucket_rate event_rate = {.each_us = 4000000, .burst = 16};

/* The violations of one key (M_Key, P_Key or Q_Key) at one port. */
struct row {
    struct sm *sm;
    uint64_t guid; /* GUID of the node that has the port */
    /* time (manager's clock) at which the last event about this key and port was emitted; 0: none
     * yet */
    uint64_t told_us;
    uint32_t untold; /* number of violations since the last event */
    /* source LID of the trap that is being confirmed */
    uint16_t lid;
    uint8_t port, key; /* port number, and which key (enum sm_key) */
    /* used: the row belongs to a port and key. reading: a PortInfo request is in flight, to confirm
     * a trap. */
    bool used, reading;
    /* Directed route of the PortInfo request that is in flight. */
    struct fab_path path;
    /* Number (256 to 259) of the trap that the manager is confirming. */
    uint16_t trap;
    struct fab_violation violation; /* the data of the trap that the manager is confirming */
};

struct sm_violations {
    struct row row[ROWS];
    /* maps map_key() of a violation counter to its value when it was last read; counters that were
     * 0 are usually left out */
    struct fab_map known;
    /* true: a heavy sweep has ended since the start, so `known` has the counters of all ports */
    bool swept;
    uint64_t events_full_us;
    uint64_t counts[SM_KEYS], unconfirmed;
};

/* ---- counters ---- */

/* Returns the number under which the map `known` stores a counter. Two counters may have the same
 * number; a violation can then be overlooked. */
static uint64_t map_key(uint64_t guid, uint8_t port, uint8_t key)
{
    return guid * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)port * SM_KEYS + key;
}

static uint16_t counter_of(const struct fab_port_info *info, uint8_t key)
{
    return key == SM_KEY_M   ? info->m_key_violations
           : key == SM_KEY_P ? info->p_key_violations
                             : info->q_key_violations;
}

/* Stores the value `now` of a counter in the map `to`. Returns by how much it is higher than in the
 * map `from`; 0 if it is lower, because the device was restarted and counts from 0 again. */
static uint32_t note_counter(struct fab_map *to, const struct fab_map *from, uint64_t at,
                             uint16_t now)
{
    uint32_t was = 0;
    (void)fab_base_map_get(from, at, &was);
    if (now > 0 || was > 0)
        /* if memory runs out, this rise of the counter will be reported a second time */
        (void)fab_base_map_put(to, at, now);
    return now >= was ? now - was : 0;
}

/* ---- rows ---- */

static bool is_older(const struct row *a, const struct row *b)
{
    return !a->used || (b->used && a->told_us < b->told_us);
}

/* Returns the row for this key and port. If there is none, takes over the row whose last event is
 * the oldest. Returns NULL if all rows wait for an answer to PortInfo. */
static struct row *row_of(struct sm *s, uint64_t guid, uint8_t port, uint8_t key)
{
    struct row *oldest = NULL;
    for (struct row *r = s->core->violations->row; r < s->core->violations->row + ROWS; r++) {
        if (r->used && r->guid == guid && r->port == port && r->key == key)
            return r;
        if (!r->reading && (!oldest || is_older(r, oldest)))
            oldest = r;
    }
    if (oldest)
        *oldest = (struct row){.sm = s, .used = true, .guid = guid, .port = port, .key = key};
    return oldest;
}

/* ---- the sender ---- */

static uint32_t across(const struct fab_fabric *f, uint32_t node, uint8_t num)
{
    return num > 0 && num <= f->nodes[node].num_ports
               ? fab_fabric_port(f, fab_fabric_port_id(f, node, num))->peer
               : FAB_NONE;
}

/* Finds the sender of a packet with a directed route, which the device at `port` has received:
 * follows the return path in the packet to the first port of an adapter. The rest of the path
 * proves nothing, because this adapter wrote it. Returns FAB_NONE if a link of the path no longer
 * exists. */
static uint32_t sender_by_route(const struct fab_fabric *f, uint32_t port,
                                const struct fab_violation *v)
{
    for (uint8_t hop = v->hops; hop > 0; hop--) {
        port = across(f, fab_fabric_port(f, port)->node, v->return_path[hop - 1]);
        if (port == FAB_NONE || !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
            return port;
    }
    return port;
}

static bool has_route(const struct fab_violation *v)
{
    return v->directed && !v->truncated && v->slid == FAB_LID_PERMISSIVE &&
           v->dr_slid == FAB_LID_PERMISSIVE;
}

static uint32_t sender_of(const struct sm *s, uint32_t port, const struct fab_violation *v)
{
    return has_route(v) ? sender_by_route(s->model.view->fabric, port, v)
                        : sm_trap_owner(s, v->slid);
}

/* ---- events ---- */

static uint32_t port_at(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = f ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    return node != FAB_NONE && num <= f->nodes[node].num_ports ? fab_fabric_port_id(f, node, num)
                                                               : FAB_NONE;
}

/* Writes the name of the port whose counter rose. For port 0 of a switch, writes the name of the
 * switch. */
static void name_device(const struct fab_fabric *f, const struct row *r, char name[SM_PLACE_LEN])
{
    uint32_t node = r->port == 0 ? fab_fabric_node_by_guid(f, r->guid) : FAB_NONE;
    if (node != FAB_NONE)
        sm_node_name(f, node, name);
    else
        sm_place_name(f, r->guid, r->port, name);
}

/* Texts of the fields of the event m-key-violation, p-key-violation or q-key-violation. */
struct told {
    char place[SM_PLACE_LEN], device[SM_PLACE_LEN], sender[96];
    uint64_t guid;
};

static void describe(const struct sm *s, const struct row *r, struct told *t)
{
    const struct fab_fabric *f = s->model.view->fabric;
    const struct fab_violation *v = &r->violation;
    uint32_t port = port_at(f, r->guid, r->port);
    uint32_t from = port != FAB_NONE ? sender_of(s, port, v) : FAB_NONE;
    name_device(f, r, t->device);
    sm_trap_place(s, from, t->place);
    t->guid = from != FAB_NONE ? f->nodes[fab_fabric_port(f, from)->node].guid : 0;
    if (from == f->self_port)
        snprintf(t->sender, sizeof(t->sender), "the sender is this manager");
    else if (has_route(v))
        snprintf(t->sender, sizeof(t->sender), "the switches recorded the directed route");
    else if (v->slid == 0)
        snprintf(t->sender, sizeof(t->sender), "the sender is not known");
    else
        snprintf(t->sender, sizeof(t->sender), "the source LID was %u, which can be forged",
                 v->slid);
}

static void emit_m_key(struct sm *s, const struct row *r, const struct told *t)
{
    const struct fab_violation *v = &r->violation;
    char request[80];
    snprintf(request, sizeof(request), "%s(%s) with modifier 0x%x",
             v->method == FAB_METHOD_SET            ? "Set"
             : v->method == FAB_METHOD_GET          ? "Get"
             : v->method == FAB_METHOD_TRAP_REPRESS ? "TrapRepress"
                                                    : "a request",
             sm_attr_name(v->attr_id), (unsigned)v->attr_mod);
    event_emit(s->in.bus, m_key_violation, .subject = t->place, .guid = t->guid,
               .device = t->device, .request = request, .sender = t->sender,
               .violations = r->untold);
}

static void emit(struct sm *s, const struct row *r)
{
    const struct fab_violation *v = &r->violation;
    struct told t;
    describe(s, r, &t);
    if (r->key == SM_KEY_M)
        emit_m_key(s, r, &t);
    else if (r->key == SM_KEY_P)
        event_emit(s->in.bus, p_key_violation, .subject = t.place, .guid = t.guid,
                   .device = t.device, .p_key = v->p_key, .dlid = v->dlid, .sender = t.sender,
                   .violations = r->untold);
    else
        event_emit(s->in.bus, q_key_violation, .subject = t.place, .guid = t.guid,
                   .device = t.device, .qp = v->qp[1], .sender = t.sender, .violations = r->untold);
}

static void emit_counted(struct sm *s, const struct row *r)
{
    char place[SM_PLACE_LEN];
    name_device(s->model.view->fabric, r, place);
    if (r->key == SM_KEY_M)
        event_emit(s->in.bus, m_key_violation_counted, .subject = place, .guid = r->guid,
                   .violations = r->untold);
    else if (r->key == SM_KEY_P)
        event_emit(s->in.bus, p_key_violation_counted, .subject = place, .guid = r->guid,
                   .violations = r->untold);
    else
        event_emit(s->in.bus, q_key_violation_counted, .subject = place, .guid = r->guid,
                   .violations = r->untold);
}

static void tell(struct sm *s, struct row *r, uint32_t rise,
                 void (*fn)(struct sm *s, const struct row *r))
{
    struct sm_violations *x = s->core->violations;
    uint64_t now = clock_now_us();
    x->counts[r->key] += rise;
    r->untold += rise;
    if ((r->told_us && now < r->told_us + EVENT_EVERY_US) || !s->model.view ||
        !fab_base_bucket_take(&x->events_full_us, now, &event_rate))
        return;
    fn(s, r);
    r->untold = 0;
    r->told_us = now;
}

/* ---- traps ---- */

/* Returns by how much the counter has risen (1 if it is at its maximum); 0: the device does not
 * confirm the trap. The function also returns 0 if the source LID of the trap does not belong to
 * the port. (It does not check this for external ports of switches, which have no LID.) */
static uint32_t confirmed_rise(struct row *r, const struct fab_mads_answer *a)
{
    struct sm_violations *x = r->sm->core->violations;
    struct fab_port_info info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &info) != FAB_OK ||
        (r->trap != TRAP_BAD_SWITCH_P_KEY &&
         (r->lid < info.lid || r->lid >= info.lid + (1u << info.lmc))))
        return 0;
    uint16_t now = counter_of(&info, r->key);
    uint32_t rise = note_counter(&x->known, &x->known, map_key(r->guid, r->port, r->key), now);
    return rise == 0 && now == COUNTER_MOST ? 1 : rise;
}

/* Returns whether the violation was caused by a TrapRepress of this manager. Because the sender of
 * a trap can be forged, TrapRepress carries the M_Key of the trap and not that of the device; the
 * device counts a wrong key as a violation. */
static bool is_own_answer(const struct sm *s, const struct row *r)
{
    uint32_t port = port_at(s->model.view ? s->model.view->fabric : NULL, r->guid, r->port);
    return port != FAB_NONE && r->trap == TRAP_BAD_M_KEY &&
           r->violation.method == FAB_METHOD_TRAP_REPRESS &&
           sender_of(s, port, &r->violation) == s->model.view->fabric->self_port;
}

static void on_port_info(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct row *r = ctx;
    struct sm *s = r->sm;
    (void)tag;
    r->reading = false;
    uint32_t rise = confirmed_rise(r, a);
    if (rise == 0)
        s->core->violations->unconfirmed++;
    else if (!is_own_answer(s, r))
        tell(s, r, rise, emit);
}

static void read_counters(struct sm *s, struct row *r)
{
    uint32_t port = port_at(s->model.fabric, r->guid, r->port);
    const struct fab_path *path = port != FAB_NONE ? sm_model_path(&s->model, port) : NULL;
    if (path)
        r->path = *path;
    struct fab_mads_request req = {
        .mgmt_class = FAB_CLASS_SMP_DIRECTED,
        .method = FAB_METHOD_GET,
        .attr_id = FAB_ATTR_PORT_INFO,
        .attr_mod = r->port,
        .dlid = 0xffff,
        .path = &r->path,
        .done = on_port_info,
        .ctx = r,
    };
    sm_m_key_fill(s, &req);
    r->reading = path && fab_mads_submit(s->mads, &req) == FAB_OK;
    if (r->reading)
        agent_pump(s->agent);
    else
        s->core->violations->unconfirmed++;
}

static uint8_t key_of(uint16_t trap)
{
    return trap == TRAP_BAD_M_KEY ? SM_KEY_M : trap == TRAP_BAD_Q_KEY ? SM_KEY_Q : SM_KEY_P;
}

void sm_trap_violation(struct sm *s, const struct sm_trap *t)
{
    struct fab_violation v;
    const struct fab_fabric *f = s->model.view->fabric;
    if (!fab_wire_notice_violation(&t->notice, &v))
        return;
    uint8_t num =
        t->notice.trap == TRAP_BAD_SWITCH_P_KEY ? v.port : fab_fabric_port(f, t->port)->num;
    struct row *r = row_of(s, t->guid, num, key_of(t->notice.trap));
    if (!r || r->reading)
        /* All rows are in use, or a trap about this counter is being confirmed already. The next
         * trap or heavy sweep will find this rise of the counter. */
        return;
    r->lid = t->slid;
    r->trap = t->notice.trap;
    r->violation = v;
    read_counters(s, r);
}

/* ---- sweeps ---- */

static void compare_port(struct sm *s, uint32_t port, struct fab_map *now)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_violations *x = s->core->violations;
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t guid = f->nodes[p->node].guid;
    for (unsigned k = 0; k < SM_KEYS; k++) {
        uint8_t key = (uint8_t)k;
        uint16_t count = counter_of(&p->info, key);
        if (count == 0)
            continue;
        uint32_t rise = note_counter(now, &x->known, map_key(guid, p->num, key), count);
        struct row *r = rise > 0 && x->swept ? row_of(s, guid, p->num, key) : NULL;
        if (r)
            tell(s, r, rise, emit_counted);
    }
}

void sm_violations_swept(struct sm *s)
{
    struct sm_violations *x = s->core->violations;
    const struct fab_fabric *f = s->model.fabric;
    struct fab_map now = {0};
    if (!f || !s->model.view)
        return;
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_port(f, port)->present)
            compare_port(s, port, &now);
    fab_base_map_fini(&x->known);
    x->known = now;
    x->swept = true;
}

/* ---- init and fini ---- */

void sm_violation_counts(const struct sm *s, struct sm_trap_counts *ret)
{
    const struct sm_violations *x = s->core->violations;
    for (int key = 0; key < SM_KEYS; key++)
        ret->violations[key] = x->counts[key];
    ret->violations_unconfirmed = x->unconfirmed;
}

int sm_violations_init(struct sm *s)
{
    s->core->violations = calloc(1, sizeof(*s->core->violations));
    return s->core->violations ? FAB_OK : FAB_E_NOMEM;
}

void sm_violations_fini(struct sm *s)
{
    if (!s->core->violations)
        return;
    fab_base_map_fini(&s->core->violations->known);
    free(s->core->violations);
}
