/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab: the whole manager on a simulated fabric. All checks read the simulated devices. They do
 * not ask the manager. */
#include "tests/sim/lab.h"

#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"
#include "libfabmgr/verify/verify.h"

struct replica *lab_replica;

/* ---- the tap ---- */

struct lab_tap {
    struct transport base;
    struct lab *lab;
    /* an answer of the other manager that is not yet delivered */
    struct transport_mad reply;
};

static void count(struct lab *lab, const struct fab_mad *mad)
{
    bool set = mad->method == FAB_METHOD_SET;
    lab->sets_port_info += set && mad->attr_id == FAB_ATTR_PORT_INFO;
    lab->sets_lft += set && mad->attr_id == FAB_ATTR_LFT;
    lab->sets_by_lid += set && mad->attr_id == FAB_ATTR_LFT && mad->mgmt_class == FAB_CLASS_SMP_LID;
    lab->sets_switch_info += set && mad->attr_id == FAB_ATTR_SWITCH_INFO;
    lab->gets_lft += !set && mad->attr_id == FAB_ATTR_LFT;
    lab->sets += set;
    lab->sets_mft += set && mad->attr_id == FAB_ATTR_MFT;
    lab->gets_mft += !set && mad->attr_id == FAB_ATTR_MFT;
    lab->sets_pkeys += set && mad->attr_id == FAB_ATTR_PKEY_TABLE;
    lab->gets_pkeys += !set && mad->attr_id == FAB_ATTR_PKEY_TABLE;
}

/* Checks that the reserved bits of AttributeModifier are 0 in a request of the manager (IBA
 * 14.2.5). Real devices may refuse a request in which they are not; simulated devices ignore
 * them. */
static void check_modifier(const struct fab_mad *mad)
{
    static const struct {
        uint16_t attr_id;
        uint32_t mask;
    } bits[] = {
        {FAB_ATTR_NODE_DESC, 0},         {FAB_ATTR_NODE_INFO, 0},
        {FAB_ATTR_SWITCH_INFO, 0},       {FAB_ATTR_NOTICE, 0},
        {FAB_ATTR_GUID_INFO, 31},        {FAB_ATTR_PORT_INFO, UINT32_C(1) << 31 | 0xff},
        {FAB_ATTR_PKEY_TABLE, 0xff07ff}, {FAB_ATTR_SL2VL, 0x3ffff},
        {FAB_ATTR_VLARB, 0x700ff},       {FAB_ATTR_LFT, 0x3ff},
        {FAB_ATTR_MFT, 0xf00001ff},      {FAB_ATTR_SM_INFO, 7},
    };
    if (mad->method != FAB_METHOD_GET && mad->method != FAB_METHOD_SET)
        /* not a request: answers repeat the AttributeModifier of the requester */
        return;
    if (mad->mgmt_class != FAB_CLASS_SMP_LID && mad->mgmt_class != FAB_CLASS_SMP_DIRECTED)
        return;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        ck_assert_msg(mad->attr_id != bits[i].attr_id || (mad->attr_mod & ~bits[i].mask) == 0,
                      "attribute 0x%x has modifier 0x%x", mad->attr_id, mad->attr_mod);
    ck_assert(mad->attr_id != FAB_ATTR_SM_INFO || mad->method != FAB_METHOD_GET ||
              mad->attr_mod == 0);
}

static void interrupt(void *ctx)
{
    struct lab *lab = ctx;
    lab->interrupt(lab);
}

static void deliver_other(void *ctx)
{
    struct lab_tap *t = ctx;
    transport_hand_up(&t->base, &t->reply, 1);
}

/* Answers the request `mad` as the other manager would. The request is a SubnGet(SMInfo), or a
 * SubnSet(SMInfo) with HANDOVER. */
static void answer_as_other(struct lab_tap *t, const struct transport_mad *mad)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    struct fab_sm_info info = t->lab->other;
    if (t->lab->m_key_seen != t->lab->other_m_key)
        info.sm_key = 0;
    if (mad->bytes[3] == FAB_METHOD_SET && t->lab->other_accepts)
        t->lab->other.state = info.state = FAB_SM_MASTER;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, sizeof(data)), FAB_OK);
    t->reply = *mad;
    t->reply.bytes[3] = FAB_METHOD_GET_RESP;
    t->reply.bytes[4] = 0x80;
    memcpy(t->reply.bytes + 64, data, sizeof(data));
    (void)loop_post(t->lab->loop, deliver_other, t); /* without memory, the answer is lost */
}

uint32_t lab_end_of(struct lab *lab, const struct fab_path *path)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t node = lab_node(lab, "host-0001");
    for (uint8_t hop = 1; hop <= path->hops && node != FAB_NONE; hop++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, node, path->port[hop]))->peer;
        node = peer != FAB_NONE ? fab_fabric_port(f, peer)->node : FAB_NONE;
    }
    return node;
}

static bool is_cut(struct lab *lab, const struct fab_path *path)
{
    for (uint8_t hop = 1; lab->cut_node && hop <= path->hops; hop++) {
        struct fab_path part = *path;
        part.hops = (uint8_t)(hop - 1);
        if (path->port[hop] == lab->cut_port &&
            lab_end_of(lab, &part) == lab_node(lab, lab->cut_node))
            return true;
    }
    return false;
}

/* Returns whether a SubnGet(SMInfo) on this directed route gets an answer of the other manager.
 * With silent_others, only requests to its own node do. */
static bool is_for_other(struct lab *lab, const struct fab_path *path)
{
    if (is_cut(lab, path))
        return false;
    if (!lab->silent_others)
        return true;
    uint32_t node = lab_end_of(lab, path);
    ck_assert_uint_lt(node, sizeof(lab->asked));
    lab->asked[node]++;
    return node == lab->other_node;
}

static int tap_send(struct transport *base, const struct transport_mad *mad)
{
    struct lab_tap *t = (struct lab_tap *)base;
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    ck_assert_int_eq(fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len), FAB_OK);
    count(t->lab, &head);
    check_modifier(&head);
    if (t->lab->sent && head.mgmt_class != FAB_CLASS_SA)
        t->lab->sent(t->lab, &head, mad->addr.dlid);
    if (t->lab->watch)
        t->lab->watch(t->lab, &head, data, mad->addr.dlid, true);
    if (++t->lab->sends == t->lab->interrupt_at && t->lab->interrupt)
        ck_assert_int_eq(loop_post(t->lab->loop, interrupt, t->lab), FAB_OK);
    if (head.method == FAB_METHOD_TRAP_REPRESS || head.method == FAB_METHOD_GET_RESP) {
        memcpy(t->lab->reply, mad->bytes, FAB_MAD_SIZE);
        t->lab->replies++;
    }
    if (head.attr_id == FAB_ATTR_SM_INFO && head.method == FAB_METHOD_GET && t->lab->other.guid) {
        t->lab->m_key_seen = head.m_key;
        if (is_for_other(t->lab, &head.path) && t->lab->other_answers)
            answer_as_other(t, mad);
        return FAB_OK;
    }
    if (head.attr_id == FAB_ATTR_SM_INFO && head.method == FAB_METHOD_SET && t->lab->other.guid) {
        ck_assert_uint_eq(head.attr_mod, FAB_SM_HANDOVER);
        t->lab->handovers++;
        if (t->lab->other_accepts)
            answer_as_other(t, mad);
        return FAB_OK;
    }
    if (t->lab->lost != 0 && head.attr_id == t->lab->lost)
        return FAB_OK;
    return transport_send(t->lab->sim_transport, mad);
}

static int tap_set_is_sm(struct transport *base, bool is_sm)
{
    struct transport *to = ((struct lab_tap *)base)->lab->sim_transport;
    return to->ops->set_is_sm(to, is_sm);
}

static void tap_close(struct transport *base)
{
    free(base);
}

/* Changes some bytes of the attribute in an answer. The header stays unchanged, so that the MAD
 * still matches the request. */
static void spoil(struct lab *lab, struct transport_mad *mad)
{
    for (uint64_t i = lab_random(lab) % 8; i < 8; i++)
        mad->bytes[64 + lab_random(lab) % 64] = (uint8_t)lab_random(lab);
}

/* Makes an answer say that the port does not enforce partitions. */
static void hide_enforcement(const struct lab *lab, struct transport_mad *mad)
{
    struct fab_port_info info;
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    if (lab->unenforcing == 0 ||
        fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len) != FAB_OK ||
        head.attr_id != FAB_ATTR_PORT_INFO || (head.attr_mod & 0xff) != lab->unenforcing ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &info) != FAB_OK)
        return;
    info.part_enforce_in = info.part_enforce_out = 0;
    (void)fab_wire_attr_pack(&fab_wire_attr_port_info, &info, mad->bytes + (data - mad->bytes),
                             FAB_SMP_DATA);
}

static void note_answer(struct lab *lab, const struct transport_mad *mad)
{
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    if (fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len) != FAB_OK)
        return;
    if (lab->answered)
        lab->answered(lab, &head);
    if (lab->watch)
        lab->watch(lab, &head, data, 0, false);
}

static void tap_receive(void *ctx, const struct transport_mad *mads, size_t n)
{
    struct lab_tap *t = ctx;
    for (size_t i = 0; i < n && t->base.receive; i++) {
        struct transport_mad mad = mads[i];
        if (t->lab->spoil && lab_random(t->lab) % t->lab->spoil == 0)
            spoil(t->lab, &mad);
        hide_enforcement(t->lab, &mad);
        note_answer(t->lab, &mad);
        t->base.receive(t->base.receive_ctx, &mad, 1);
    }
}

void lab_receive(struct lab *lab, const uint8_t bytes[FAB_MAD_SIZE])
{
    lab_receive_from(lab, 3, bytes);
}

void lab_receive_from(struct lab *lab, uint16_t slid, const uint8_t bytes[FAB_MAD_SIZE])
{
    struct transport_mad mad = {.len = FAB_MAD_SIZE, .addr = {.slid = slid}};
    memcpy(mad.bytes, bytes, FAB_MAD_SIZE);
    lab->tap->base.receive(lab->tap->base.receive_ctx, &mad, 1);
}

void lab_play_other(struct lab *lab, const char *node, uint8_t priority, uint8_t state)
{
    lab->other_node = lab_node(lab, node);
    lab->other = (struct fab_sm_info){
        .guid = 0x42, .priority = priority, .state = state, .sm_key = lab->config.policy.sm_key};
    lab->other_answers = true;
    ck_assert_int_eq(fab_sim_attach(lab->sim, lab->other_node, 1, true), FAB_OK);
}

void lab_set_master_lid(struct lab *lab, const char *host)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint16_t lid = fab_sim_port(lab->sim, lab_node(lab, host), 1)->lid;
    for (uint32_t node = 0; node < f->node_count; node++) {
        uint8_t num = fab_fabric_node_is_switch(f, node) ? 0 : 1;
        ((struct fab_port_info *)(uintptr_t)fab_sim_port(lab->sim, node, num))->sm_lid = lid;
    }
}

void lab_end_other(struct lab *lab)
{
    lab->other_answers = false;
    fab_sim_detach(lab->sim, lab->other_node, 1);
}

bool lab_is_standby(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.role == FAB_SM_STANDBY && strcmp(status.state, "standby") == 0;
}

uint8_t lab_role(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.role;
}

/* Returns the number of the port by which `from` is connected to `to`. */
static uint8_t port_to(const struct fab_fabric *f, uint32_t from, uint32_t to)
{
    for (uint8_t p = 1; p <= f->nodes[from].num_ports; p++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, from, p))->peer;
        if (peer != FAB_NONE && fab_fabric_port(f, peer)->node == to)
            return p;
    }
    ck_abort_msg("%s is not connected to %s", f->nodes[from].desc, f->nodes[to].desc);
}

struct fab_path lab_path_from(struct lab *lab, const char *host)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t from = lab_node(lab, host), ours = lab_node(lab, "host-0001");
    uint32_t near =
        fab_fabric_port(f, fab_fabric_port(f, fab_fabric_port_id(f, from, 1))->peer)->node;
    uint32_t far =
        fab_fabric_port(f, fab_fabric_port(f, fab_fabric_port_id(f, ours, 1))->peer)->node;
    uint32_t spine = lab_node(lab, "spine-001");
    return (struct fab_path){
        .hops = 4,
        .port = {0, 1, port_to(f, near, spine), port_to(f, spine, far), port_to(f, far, ours)}};
}

void lab_send(struct lab *lab, const char *node, struct fab_mad *head, const uint8_t *data)
{
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(head, data, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(lab->sim, lab_node(lab, node), 1, 0xffff, bytes, reply), 0);
    transport_sim_kick(lab->sim_transport);
}

uint64_t lab_random(struct lab *lab)
{
    /* one step of the random number generator splitmix64 */
    lab->prng += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = lab->prng;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static struct lab_tap *tap_new(struct lab *lab)
{
    static const struct transport_ops ops = {
        .send = tap_send, .set_is_sm = tap_set_is_sm, .close = tap_close};
    struct lab_tap *t = calloc(1, sizeof(*t));
    ck_assert_ptr_nonnull(t);
    t->base = *lab->sim_transport;
    t->base.ops = &ops;
    t->base.receive = NULL;
    t->lab = lab;
    transport_on_receive(lab->sim_transport, tap_receive, t);
    return t;
}

/* ---- opening and closing ---- */

static void on_event(void *ctx, const struct event *e)
{
    struct lab *lab = ctx;
    if (getenv("LAB_VERBOSE"))
        printf("# %.3f %s: %s\n", (double)clock_now_us() / 1e6, e->type, e->message);
    if (lab->store && e->severity > EVENT_DEBUG)
        store_put_event(lab->store, e);
    if (lab->event_count == LAB_EVENTS)
        return;
    struct lab_event *to = &lab->events[lab->event_count++];
    snprintf(to->type, sizeof(to->type), "%s", e->type);
    snprintf(to->subject, sizeof(to->subject), "%s", e->subject);
    snprintf(to->message, sizeof(to->message), "%s", e->message);
    to->guid = e->guid;
    to->port = e->port;
    struct sm_status status = {0};
    if (lab->sm)
        sm_get_status(lab->sm, &status);
    to->smps_sent = status.smps_sent;
}

void lab_begin(struct lab *lab, const char *state)
{
    char why[256] = "";
    if (state)
        ck_assert_msg(store_open(state, &lab->store, why, sizeof(why)) == FAB_OK, "%s", why);
    lab->bus = bus_new(0);
    ck_assert_int_eq(bus_subscribe(lab->bus, on_event, lab), FAB_OK);
    ck_assert_msg(transport_sim_open(lab->loop, lab->sim, NULL, &lab->sim_transport, why,
                                     sizeof(why)) == FAB_OK,
                  "%s", why);
    lab->tap = tap_new(lab);
    struct sm_input in = {
        .loop = lab->loop,
        .transport = &lab->tap->base,
        .bus = lab->bus,
        .store = lab->store,
        .replica = lab_replica,
        .config = &lab->config,
        .keys_dir = state,
    };
    struct fab_m_keys *keys = &lab->config.policy.m_keys;
    int r = lab->config.m_key_derived ? store_m_key_derived(state, keys, why, sizeof(why))
            : lab->config.m_key_generated
                ? store_m_key_generated(state, &keys->number, why, sizeof(why))
                : FAB_OK;
    ck_assert_msg(r == FAB_OK, "%s", why);
    ck_assert_int_eq(sm_new(&in, &lab->sm), FAB_OK);
}

static void open_with(struct lab *lab, struct fab_builder *builder, const char *state,
                      struct loop *loop)
{
    struct fab_fabric *fabric;
    memset(lab, 0, sizeof(*lab));
    ck_assert_int_eq(fab_fabric_builder_seal(builder, &fabric), FAB_OK);
    fab_fabric_builder_free(builder);
    ck_assert_int_eq(fab_sim_new(fabric, test_seed("sim", 7), &lab->sim), FAB_OK);
    fab_fabric_unref(fabric);
    ck_assert_int_eq(config_defaults(&lab->config), FAB_OK);
    lab->config.policy.sa_key = 1;
    lab->config.smp.timeout_ms = 20;
    lab->config.smp.retries = 3;
    lab->loop = loop;
    ck_assert_ptr_nonnull(lab->loop);
    lab_begin(lab, state);
}

void lab_open(struct lab *lab, struct fab_builder *builder, const char *state)
{
    open_with(lab, builder, state, loop_new());
}

void lab_open_virtual(struct lab *lab, struct fab_builder *builder, const char *state)
{
    open_with(lab, builder, state, loop_new_virtual());
}

void lab_stop(struct lab *lab)
{
    sm_free(lab->sm);
    lab->sm = NULL;
    /* worker tasks of the freed manager may still have results, which the loop must drop */
    lab_run_for(lab, 0);
    transport_close(&lab->tap->base);
    transport_close(lab->sim_transport);
    bus_free(lab->bus);
    store_close(lab->store);
    lab->store = NULL;
}

void lab_power_cycle(struct lab *lab)
{
    struct fab_fabric *fabric = fab_fabric_ref(fab_sim_fabric(lab->sim));
    fab_sim_free(lab->sim);
    ck_assert_int_eq(fab_sim_new(fabric, 7, &lab->sim), FAB_OK);
    fab_fabric_unref(fabric);
}

void lab_close(struct lab *lab)
{
    lab_stop(lab);
    loop_free(lab->loop);
    fab_sim_free(lab->sim);
    config_fini(&lab->config);
}

/* ---- running ---- */

struct run {
    struct lab *lab;
    struct loop_timer *timer;
    lab_condition *until;
    uint64_t end_us;
    bool met;
};

static void look(void *ctx)
{
    struct run *r = ctx;
    r->met = r->until && r->until(r->lab);
    if (r->met || clock_now_us() >= r->end_us)
        loop_stop(r->lab->loop);
    else
        loop_timer_set(r->timer, 1000);
}

static bool run(struct lab *lab, double seconds, lab_condition *until)
{
    struct run r = {
        .lab = lab, .until = until, .end_us = clock_now_us() + (uint64_t)(seconds * 1e6)};
    r.timer = loop_timer_new(lab->loop, look, &r);
    loop_timer_set(r.timer, 1000);
    ck_assert_int_eq(loop_run(lab->loop), FAB_OK);
    loop_timer_free(r.timer);
    return r.met;
}

void lab_run(struct lab *lab, double seconds, lab_condition *until, const char *what)
{
    struct sm_status status;
    if (run(lab, seconds, until))
        return;
    sm_get_status(lab->sm, &status);
    ck_abort_msg("not within %.1f s: %s (state %s)", seconds, what, status.state);
}

void lab_run_for(struct lab *lab, double seconds)
{
    (void)run(lab, seconds, NULL);
}

bool lab_is_idle(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.generation > 0 && strcmp(status.state, "idle") == 0;
}

bool lab_is_ready(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.ready && lab_is_idle(lab);
}

const struct lab_event *lab_event(const struct lab *lab, const char *type)
{
    for (unsigned i = 0; i < lab->event_count; i++)
        if (strcmp(lab->events[i].type, type) == 0)
            return &lab->events[i];
    return NULL;
}

const struct lab_event *lab_await(struct lab *lab, double seconds, const char *type)
{
    uint64_t end = clock_now_us() + (uint64_t)(seconds * 1e6);
    while (!lab_event(lab, type) && clock_now_us() < end)
        lab_run_for(lab, 0.002);
    const struct lab_event *e = lab_event(lab, type);
    ck_assert_msg(e != NULL, "no event %s within %.1f s", type, seconds);
    return e;
}

unsigned lab_count_events(const struct lab *lab, const char *type)
{
    unsigned count = 0;
    for (unsigned i = 0; i < lab->event_count; i++)
        count += strcmp(lab->events[i].type, type) == 0;
    return count;
}

void lab_forget_events(struct lab *lab)
{
    lab->event_count = 0;
}

void lab_forget_writes(struct lab *lab)
{
    lab->sets = lab->sets_by_lid = lab->sets_mft = lab->gets_mft = 0;
    lab->sets_pkeys = lab->gets_pkeys = 0;
    lab->sets_port_info = lab->sets_lft = lab->sets_switch_info = lab->gets_lft = 0;
}

/* ---- faults ---- */

uint64_t lab_node_guid(struct lab *lab, const char *name)
{
    return fab_sim_fabric(lab->sim)->nodes[lab_node(lab, name)].guid;
}

uint32_t lab_node(struct lab *lab, const char *name)
{
    uint32_t node;
    ck_assert_msg(fab_sim_find(lab->sim, name, &node) == FAB_OK, "no node %s", name);
    return node;
}

void lab_unlink(struct lab *lab, const char *node, uint8_t port)
{
    ck_assert_int_eq(fab_sim_unlink(lab->sim, lab_node(lab, node), port), FAB_OK);
    transport_sim_kick(lab->sim_transport);
}

void lab_relink(struct lab *lab, const char *node, uint8_t port)
{
    ck_assert_int_eq(fab_sim_relink(lab->sim, lab_node(lab, node), port), FAB_OK);
    transport_sim_kick(lab->sim_transport);
}

void lab_exchange(struct lab *lab, const char *node, uint8_t port, const char *other,
                  uint8_t other_port)
{
    struct fab_fabric *f = (struct fab_fabric *)(uintptr_t)fab_sim_fabric(lab->sim);
    uint32_t a = fab_fabric_port_id(f, lab_node(lab, node), port);
    uint32_t b = fab_fabric_port_id(f, lab_node(lab, other), other_port);
    uint32_t far_a = fab_fabric_port(f, a)->peer, far_b = fab_fabric_port(f, b)->peer;
    ck_assert(far_a != FAB_NONE && far_b != FAB_NONE);
    fab_fabric_edit_port(f, a)->peer = far_b;
    fab_fabric_edit_port(f, far_b)->peer = a;
    fab_fabric_edit_port(f, b)->peer = far_a;
    fab_fabric_edit_port(f, far_a)->peer = b;
}

void lab_repeat_traps(struct lab *lab)
{
    for (int i = 0; i < 6; i++) {
        lab_run_for(lab, 0.05);
        if (fab_sim_repeat_traps(lab->sim) > 0)
            transport_sim_kick(lab->sim_transport);
    }
}

void lab_silence(struct lab *lab, const char *node)
{
    if (lab->silent)
        ck_assert_int_eq(fab_sim_silence(lab->sim, lab_node(lab, lab->silent), false), FAB_OK);
    lab->silent = node;
    if (node)
        ck_assert_int_eq(fab_sim_silence(lab->sim, lab_node(lab, node), true), FAB_OK);
}

/* ---- what the devices hold ---- */

static void cut_off(struct fab_fabric *f, uint32_t node)
{
    for (unsigned i = 0; i <= f->nodes[node].num_ports; i++) {
        struct fab_port *port = fab_fabric_edit_port(f, fab_fabric_port_id(f, node, (uint8_t)i));
        port->info.phys_state = FAB_PHYS_POLLING;
        port->present = false;
        if (port->peer != FAB_NONE)
            fab_fabric_edit_port(f, port->peer)->info.phys_state = FAB_PHYS_POLLING;
    }
}

struct fab_fabric *lab_devices(struct lab *lab)
{
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_clone(fab_sim_fabric(lab->sim), &f), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port_info *info =
            fab_sim_port(lab->sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
        if (info)
            fab_fabric_edit_port(f, p)->info = *info;
    }
    if (lab->silent)
        cut_off(f, lab_node(lab, lab->silent));
    return f;
}

static void assert_active(const struct fab_fabric *f)
{
    uint32_t bad = 0, up = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->num > 0 && fab_fabric_port(f, p)->peer != FAB_NONE &&
            fab_fabric_port_is_up(f, p) && fab_fabric_port_is_up(f, fab_fabric_port(f, p)->peer)) {
            up++;
            bad += fab_fabric_port(f, p)->info.port_state != FAB_STATE_ACTIVE;
        }
    ck_assert_uint_gt(up, 0);
    ck_assert_msg(bad == 0, "%u of %u ports with a cable are not Active", bad, up);
}

void lab_read_lids(const struct fab_fabric *f, struct fab_lids *lids)
{
    ck_assert_int_eq(fab_target_lids_init(lids, f->port_count), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_port_has_lid(f, p) ||
            (fab_fabric_port(f, p)->num > 0 && fab_fabric_port(f, p)->peer == FAB_NONE))
            continue;
        ck_assert_msg(fab_fabric_port(f, p)->info.lid != 0, "%s has no LID",
                      f->nodes[fab_fabric_port(f, p)->node].desc);
        lids->base[p] = fab_fabric_port(f, p)->info.lid;
        lids->lmc[p] = fab_fabric_port(f, p)->info.lmc;
    }
    ck_assert_int_eq(fab_target_lids_index(lids), FAB_OK);
}

void lab_read_lft(struct lab *lab, const struct fab_fabric *f, uint32_t top, struct fab_lft *lft)
{
    ck_assert_int_eq(fab_target_lft_init(lft, f->switch_count, top), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t has;
        const uint8_t *row = fab_sim_lft(lab->sim, sw, &has);
        if (row)
            memcpy(fab_target_lft_row(lft, sw), row, (has < top ? has : top) + 1u);
    }
}

void lab_take_inactive_down(struct fab_fabric *f)
{
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->num > 0 &&
            fab_fabric_port(f, p)->info.port_state != FAB_STATE_ACTIVE)
            fab_fabric_edit_port(f, p)->info.phys_state = FAB_PHYS_POLLING;
}

void lab_judge(struct lab *lab, const uint8_t *tables, struct fab_verdict *ret)
{
    struct fab_fabric *f = lab_devices(lab);
    lab_take_inactive_down(f);
    struct fab_lids lids = {0};
    struct fab_lft lft = {0};
    lab_read_lids(f, &lids);
    lab_read_lft(lab, f, lids.top, &lft);
    size_t stride = (FAB_LID_UNICAST_MAX / FAB_LFT_BLOCK + 1) * FAB_LFT_BLOCK;
    for (uint32_t sw = 0; tables && sw < f->switch_count; sw++)
        memcpy(fab_target_lft_row(&lft, sw), tables + sw * stride, lids.top + 1u);
    struct fab_verify_input in = {.fabric = f, .lids = &lids, .lft = &lft, .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, ret), FAB_OK);
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
}

void lab_assert_good(struct lab *lab)
{
    struct fab_fabric *f = lab_devices(lab);
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_verdict verdict;
    assert_active(f);
    lab_read_lids(f, &lids);
    lab_read_lft(lab, f, lids.top, &lft);
    struct fab_verify_input in = {.fabric = f, .lids = &lids, .lft = &lft, .max_hops = 64};
    struct fab_view *view = sm_view(lab->sm);
    in.vls =
        /* the SLs are those of the published view, from which path records are made */
        view != NULL ? &view->target->vls : NULL;
    ck_assert_int_eq(fab_verify(&in, &verdict), FAB_OK);
    fab_view_unref(view);
    char *text = NULL;
    if (!fab_verify_verdict_good(&verdict))
        (void)fab_verify_witness_text(f, &verdict.witness, &text);
    ck_assert_msg(fab_verify_verdict_good(&verdict), "the tables in the devices are wrong: %s",
                  text ? text : "?");
    ck_assert_uint_gt(verdict.pairs, 0);
    fab_verify_verdict_fini(&verdict);
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
}

uint8_t *lab_tables(struct lab *lab, size_t *ret_len)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct fab_lft lft;
    lab_read_lft(lab, f, FAB_LID_UNICAST_MAX, &lft);
    *ret_len = lft.stride * lft.switch_count;
    uint8_t *copy = malloc(*ret_len);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, lft.entries, *ret_len);
    fab_target_lft_fini(&lft);
    return copy;
}

struct fab_builder *lab_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = leaves, .spines = spines, .hosts_per_leaf = hosts, .parallel = 1};
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    return b;
}

void lab_bring_up(struct lab *lab, struct fab_builder *builder, const char *state)
{
    lab_open(lab, builder, state);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_idle, "bring-up");
}

void lab_assert_same_tables(struct lab *lab, const uint8_t *before, size_t len, bool same)
{
    size_t now_len;
    uint8_t *now = lab_tables(lab, &now_len);
    ck_assert_uint_eq(len, now_len);
    ck_assert((memcmp(before, now, len) == 0) == same);
    free(now);
}
