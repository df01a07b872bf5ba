/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub of `fabsim serve` without sockets: who gets which MAD, who may ask what, and that nothing
 * is lost without a word; names of places; and the console's commands.
 */
#include "cli/sim/hub.h"

#include <string.h>

#include "cli/sim/cmd.h"
#include "cli/sim/console.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/wire/sa.h"
#include "tests/unit/fabrics.h"

enum {
    CONNECT = 1,
    DISCONNECT,
    GET_PORT,
    GET_VENDOR,
    GET_GID,
    GET_GUID,
    GET_NODE,
    GET_INFO,
    SET_SM
};
#define LOST 110

/* Two leaves, two spines, two hosts a leaf, and an owner who keeps the last packet of each. */
struct lab {
    struct fab_fabric *f;
    struct hub hub;
    struct console console;
    struct fab_text out;
    unsigned count[HUB_CLIENTS];
    uint8_t last[HUB_CLIENTS][HUB_PACKET_SIZE];
    bool full, refuses;
};

static bool do_open(void *context, unsigned client, uint32_t pid)
{
    struct lab *x = context;
    x->count[client] = 0;
    return pid != 0 && !x->refuses;
}

static void do_close(void *context, unsigned client)
{
    struct lab *x = context;
    x->count[client] = 0;
}

static bool do_deliver(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE])
{
    struct lab *x = context;
    if (x->full)
        return false;
    x->count[client]++;
    memcpy(x->last[client], packet, HUB_PACKET_SIZE);
    return true;
}

static void lab_start(struct lab *x)
{
    struct fab_sim *sim;
    struct hub_owner owner = {
        .context = x, .open = do_open, .close = do_close, .deliver = do_deliver};
    *x = (struct lab){.f = leaf_spine(2, 2, 2)};
    ck_assert_int_eq(fab_sim_new(x->f, 1, &sim), FAB_OK);
    hub_init(&x->hub, sim, 0, &owner);
    x->console = (struct console){.hub = &x->hub, .name = "lab"};
}

static void lab_end(struct lab *x)
{
    fab_text_fini(&x->out);
    fab_sim_free(x->hub.sim);
    fab_fabric_unref(x->f);
}

/* ---- as clients do ----------------------------------------------------------------------------
 */

static uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The datagram after it; its type is 0 if it was refused. */
static uint8_t *control(struct lab *x, uint32_t pid, uint32_t id, uint32_t type, uint8_t d[80])
{
    uint32_t head[4] = {0xdeadbeef, id, type, 64};
    memcpy(d, head, sizeof head);
    ck_assert(hub_control(&x->hub, pid, d, HUB_CONTROL_SIZE));
    return d;
}

/* The client's id, or -1. */
static int come(struct lab *x, uint32_t pid, const char *node, bool is_sm)
{
    uint8_t d[80] = {0};
    uint32_t sm = is_sm;
    memcpy(d + 16, &pid, 4);
    memcpy(d + 24, &sm, 4);
    strncpy((char *)d + 28, node, 32);
    control(x, pid, 0, CONNECT, d);
    return word(d + 8) == CONNECT ? (int)word(d + 16) : -1;
}

/* Sends it, and gives what the client has last received. */
static const uint8_t *request(struct lab *x, int id, uint16_t dlid, const struct fab_mad *mad)
{
    uint8_t packet[HUB_PACKET_SIZE] = {0};
    fab_put_be16(packet, dlid);
    fab_put_be32(packet + 12, 1);
    if (mad->mgmt_class == FAB_CLASS_SMP_LID || mad->mgmt_class == FAB_CLASS_SMP_DIRECTED)
        ck_assert_int_eq(fab_smp_pack(mad, NULL, packet + 32), FAB_OK);
    else
        ck_assert_int_eq(fab_gmp_pack(mad, NULL, 0, packet + 32), FAB_OK);
    hub_packet(&x->hub, (unsigned)id, packet, sizeof packet);
    return x->last[id];
}

static const struct fab_mad get_node = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                        .method = FAB_METHOD_GET,
                                        .tid = 0x1111222233334444,
                                        .attr_id = FAB_ATTR_NODE_INFO};
static const struct fab_mad get_sm = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                      .method = FAB_METHOD_GET,
                                      .tid = 7,
                                      .attr_id = FAB_ATTR_SM_INFO};

static uint32_t status_of(const uint8_t *packet)
{
    return fab_be32(packet + 16);
}

/* ---- coming and going -------------------------------------------------------------------------
 */

START_TEST(seats)
{
    struct lab x;
    lab_start(&x);
    ck_assert_int_eq(come(&x, 10, "", false), 0);
    ck_assert_int_eq(come(&x, 11, "host-0002", false), 1);
    ck_assert_int_eq(come(&x, 12, "leaf-001", false), 2);
    ck_assert_int_eq(come(&x, 13, "nobody", false), -1);
    ck_assert_uint_eq(x.hub.clients[0].at.node, 0);
    ck_assert_uint_eq(x.hub.clients[0].at.port, 0);
    ck_assert_uint_eq(x.hub.clients[1].at.port, 1);
    ck_assert_str_eq(x.f->nodes[x.hub.clients[2].at.node].desc, "leaf-001");
    hub_detach(&x.hub, 1);
    ck_assert_int_eq(come(&x, 14, "host-0001", false), 1);
    x.refuses = true;
    ck_assert_int_eq(come(&x, 15, "host-0001", false), -1);
    lab_end(&x);
}
END_TEST

START_TEST(many_clients)
{
    struct lab x;
    lab_start(&x);
    for (uint32_t i = 0; i < HUB_CLIENTS; i++)
        ck_assert_int_eq(come(&x, 100 + i, "host-0001", false), (int)i);
    ck_assert_int_eq(come(&x, 99, "host-0001", false), -1);
    for (int i = 0; i < HUB_CLIENTS; i++) {
        const uint8_t *p = request(&x, i, FAB_LID_PERMISSIVE, &get_node);
        ck_assert_uint_eq(x.count[i], 1);
        ck_assert_uint_eq(status_of(p), 0);
        ck_assert_uint_eq(p[32 + 3], FAB_METHOD_GET_RESP);
        ck_assert_uint_eq(fab_be64(p + 32 + 8), (uint64_t)i << 48 | 0x0000222233334444);
    }
    lab_end(&x);
}
END_TEST

START_TEST(one_sm_a_port)
{
    struct lab x;
    uint32_t node;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "host-0001", &node), FAB_OK);
    ck_assert_int_eq(come(&x, 10, "host-0001", true), 0);
    ck_assert_int_eq(come(&x, 11, "host-0001", true), -1);
    ck_assert_int_eq(come(&x, 12, "host-0001", false), 1);
    ck_assert(fab_sim_port(x.hub.sim, node, 1)->cap_mask & 2);
    hub_detach(&x.hub, 1);
    ck_assert(fab_sim_port(x.hub.sim, node, 1)->cap_mask & 2);
    hub_detach(&x.hub, 0);
    ck_assert(!(fab_sim_port(x.hub.sim, node, 1)->cap_mask & 2));
    lab_end(&x);
}
END_TEST

START_TEST(questions)
{
    struct lab x;
    uint8_t d[80] = {0};
    struct fab_node_info node;
    struct fab_port_info port;
    lab_start(&x);
    ck_assert_int_eq(come(&x, 10, "host-0003", false), 0);
    const struct fab_node *host = &x.f->nodes[x.hub.clients[0].at.node];
    control(&x, 10, 0, GET_NODE, d);
    ck_assert_int_eq(fab_attr_unpack(&fab_attr_node_info, d + 16, 64, &node), FAB_OK);
    ck_assert_uint_eq(node.node_guid, host->guid);
    ck_assert_uint_eq(node.local_port, 1);
    d[16] = 0;
    control(&x, 10, 0, GET_INFO, d);
    ck_assert_int_eq(fab_attr_unpack(&fab_attr_port_info, d + 16, 64, &port), FAB_OK);
    ck_assert_uint_eq(port.local_port, 1);
    ck_assert_uint_eq(port.port_state, FAB_STATE_INIT);
    ck_assert_uint_eq(control(&x, 10, 0, GET_PORT, d)[18], FAB_STATE_INIT);
    ck_assert_uint_eq(fab_be64(control(&x, 10, 0, GET_GUID, d) + 16), host->guid);
    ck_assert_uint_eq(word(control(&x, 10, 0, GET_VENDOR, d) + 16), host->info.vendor_id);
    ck_assert_uint_eq(word(control(&x, 10, 0, 11, d) + 8), 0);
    ck_assert_uint_eq(word(control(&x, 10, 9, GET_PORT, d) + 8), 0);
    lab_end(&x);
}
END_TEST

START_TEST(nobody_speaks_for_others)
{
    struct lab x;
    uint8_t d[80] = {1};
    lab_start(&x);
    ck_assert_int_eq(come(&x, 10, "host-0001", false), 0);
    ck_assert_uint_eq(word(control(&x, 11, 0, SET_SM, d) + 8), 0);
    ck_assert(!x.hub.clients[0].is_sm);
    control(&x, 11, 0, DISCONNECT, d);
    ck_assert_uint_eq(x.hub.clients[0].pid, 10);
    control(&x, 10, 0, DISCONNECT, d);
    ck_assert_uint_eq(x.hub.clients[0].pid, 0);
    ck_assert(!hub_control(&x.hub, 10, d, 79));
    d[0] ^= 1;
    ck_assert(!hub_control(&x.hub, 10, d, 80));
    lab_end(&x);
}
END_TEST

/* ---- who gets what ----------------------------------------------------------------------------
 */

START_TEST(requests_to_the_sm_and_back)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    ck_assert_uint_eq(x.count[sm], 1);
    ck_assert_uint_eq(x.count[asks], 0);
    uint8_t answer[HUB_PACKET_SIZE];
    memcpy(answer, x.last[sm], sizeof answer);
    ck_assert_uint_eq(fab_be16(answer + 32 + 8), (unsigned)asks);
    ck_assert_int_eq(fab_smp_answer(answer + 32, 0, NULL, answer + 32), FAB_OK);
    hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
    ck_assert_uint_eq(x.count[asks], 1);
    ck_assert_uint_eq(status_of(x.last[asks]), 0);
    ck_assert_uint_eq(x.last[asks][32 + 3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    lab_end(&x);
}
END_TEST

/* A table that ends early says so; nothing else may be of another length than a MAD's. */
START_TEST(short_tables)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    struct fab_mad get = {.mgmt_class = FAB_CLASS_SA,
                          .class_version = 2,
                          .method = FAB_METHOD_GET_TABLE,
                          .attr_id = FAB_SA_NODE_RECORD};
    static const struct {
        uint64_t said, told;
        uint8_t flags;
    } answers[] = {{56 + 112, 56 + 112, FAB_RMPP_ACTIVE},
                   {56, 56, FAB_RMPP_ACTIVE},
                   {55, 256, FAB_RMPP_ACTIVE},
                   {UINT64_MAX, 256, FAB_RMPP_ACTIVE},
                   {56 + 112, 256, 0}};
    for (unsigned i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        (void)request(&x, asks, FAB_LID_PERMISSIVE, &get);
        ck_assert_uint_eq(x.count[sm], i + 1);
        uint8_t answer[HUB_PACKET_SIZE];
        memcpy(answer, x.last[sm], sizeof answer);
        ck_assert_uint_eq(fab_be64(answer + 24), FAB_MAD_SIZE);
        answer[32 + 3] |= FAB_METHOD_RESPONSE;
        answer[32 + FAB_RMPP_AT + 2] = answers[i].flags;
        fab_put_be64(answer + 24, answers[i].said);
        hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
        ck_assert_uint_eq(x.count[asks], i + 1);
        ck_assert_uint_eq(fab_be64(x.last[asks] + 24), answers[i].told);
    }
    lab_end(&x);
}
END_TEST

START_TEST(lost_comes_back)
{
    struct lab x;
    lab_start(&x);
    int id = come(&x, 11, "host-0001", false);
    const uint8_t *p = request(&x, id, FAB_LID_PERMISSIVE, &get_sm); /* no SM there */
    ck_assert_uint_eq(status_of(p), LOST);
    ck_assert_uint_eq(p[32 + 3], FAB_METHOD_GET);
    fab_sim_loss(x.hub.sim, 1);
    ck_assert_uint_eq(status_of(request(&x, id, FAB_LID_PERMISSIVE, &get_node)), LOST);
    ck_assert_uint_eq(x.hub.clients[id].lost, 2);
    struct fab_mad repress = {.mgmt_class = FAB_CLASS_SMP_LID,
                              .method = FAB_METHOD_TRAP_REPRESS,
                              .attr_id = FAB_ATTR_NOTICE};
    (void)request(&x, id, 5, &repress);
    ck_assert_uint_eq(x.count[id], 2);
    lab_end(&x);
}
END_TEST

/* The answer of another client is lost on its way: who asked gets the word, not who answered. */
START_TEST(lost_answer)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    uint8_t answer[HUB_PACKET_SIZE];
    memcpy(answer, x.last[sm], sizeof answer);
    ck_assert_int_eq(fab_smp_answer(answer + 32, 0, NULL, answer + 32), FAB_OK);
    fab_sim_loss(x.hub.sim, 1);
    hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
    ck_assert_uint_eq(x.count[sm], 1);
    ck_assert_uint_eq(x.count[asks], 1);
    ck_assert_uint_eq(status_of(x.last[asks]), LOST);
    lab_end(&x);
}
END_TEST

/* Who has a request and goes, or keeps it, is answered for; who asked and goes is not. */
START_TEST(unanswered)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    hub_tick(&x.hub, 1000);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    hub_tick(&x.hub, 1000 + HUB_PATIENCE_MS);
    ck_assert_uint_eq(x.count[asks], 0);
    hub_tick(&x.hub, 1001 + HUB_PATIENCE_MS);
    ck_assert_uint_eq(x.count[asks], 1);
    ck_assert_uint_eq(status_of(x.last[asks]), LOST);
    ck_assert_uint_eq(x.last[asks][32 + 3], FAB_METHOD_GET);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    hub_detach(&x.hub, (unsigned)sm);
    ck_assert_uint_eq(x.count[asks], 2);
    ck_assert_uint_eq(status_of(x.last[asks]), LOST);
    sm = come(&x, 12, "host-0001", true);
    for (unsigned i = 0; i < HUB_WAITS + 10; i++)
        (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    ck_assert_uint_eq(x.hub.wait_count, HUB_WAITS);
    hub_detach(&x.hub, (unsigned)asks);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    ck_assert_uint_eq(x.count[sm], HUB_WAITS + 10);
    lab_end(&x);
}
END_TEST

START_TEST(full_client)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true);
    x.full = true;
    (void)request(&x, sm, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.hub.clients[sm].unread, 1);
    ck_assert_uint_eq(x.hub.clients[sm].received, 0);
    lab_end(&x);
}
END_TEST

/* libumad2sim would crash an SM that gets a MAD of a class that it did not register. */
START_TEST(classes_nobody_registered)
{
    struct lab x;
    struct fab_mad ping = {.mgmt_class = 0x32, .method = FAB_METHOD_GET, .attr_id = 1};
    struct fab_mad sa = {.mgmt_class = FAB_CLASS_SA, .method = FAB_METHOD_GET, .attr_id = 1};
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    ck_assert_uint_eq(status_of(request(&x, asks, FAB_LID_PERMISSIVE, &ping)), LOST);
    ck_assert_uint_eq(x.count[sm], 0);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &sa);
    ck_assert_uint_eq(x.count[sm], 1);
    lab_end(&x);
}
END_TEST

START_TEST(not_a_packet)
{
    struct lab x;
    uint8_t packet[HUB_PACKET_SIZE] = {0};
    lab_start(&x);
    int id = come(&x, 10, "host-0001", false);
    hub_packet(&x.hub, (unsigned)id, packet, 287);
    hub_packet(&x.hub, 77, packet, sizeof packet);
    hub_packet(&x.hub, 100000, packet, sizeof packet);
    ck_assert_uint_eq(x.count[id], 0);
    hub_packet(&x.hub, (unsigned)id, packet, sizeof packet); /* of no version */
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    lab_end(&x);
}
END_TEST

/* ---- places and the console -------------------------------------------------------------------
 */

START_TEST(places)
{
    struct lab x;
    struct place p;
    char text[64];
    lab_start(&x);
    const struct fab_sim *sim = x.hub.sim;
    uint64_t guid = x.f->nodes[0].guid;
    for (int form = 0; form < 4; form++) {
        static const char *const forms[] = {"S-%016" PRIx64 "/2", "0x%" PRIx64 "/2",
                                            "\"S-%016" PRIx64 "\"[2]", "\"0x%" PRIx64 "\"[2]"};
        snprintf(text, sizeof text, forms[form], guid);
        ck_assert_int_eq(place_find(sim, text, &p), FAB_OK);
        ck_assert_uint_eq(p.node, 0);
        ck_assert_uint_eq(p.port, 2);
    }
    ck_assert_int_eq(place_find(sim, "leaf-001", &p), FAB_OK);
    ck_assert_uint_eq(p.port, 0);
    ck_assert_int_eq(place_find(sim, "leaf-001/200", &p), FAB_E_RANGE);
    static const char *const wrong[] = {
        "",       "leaf",          "leaf-001/0", "leaf-001/",     "/1",
        "\"",     "\"leaf-001",    "leaf-001/x", "leaf-001/1x",   "\"\"",
        "\"\"[1", "\"leaf-001\"1", "S-zz",       "\"leaf-001\"[1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(place_find(sim, wrong[i], &p), FAB_E_NOT_FOUND);
    lab_end(&x);
}
END_TEST

static int say(struct lab *x, const char *line)
{
    fab_text_fini(&x->out);
    return console_run(&x->console, line, strlen(line), &x->out);
}

START_TEST(console)
{
    struct lab x;
    uint32_t leaf;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    ck_assert_int_eq(say(&x, "unlink leaf-001/1"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 1)->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "  ReLink \"leaf-001\"[1] \n# nothing\n\nUnlink leaf-001"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 1)->port_state, FAB_STATE_DOWN);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, leaf, 2)->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "relink leaf-001"), CMD_OK);
    ck_assert_int_eq(come(&x, 10, "host-0001", false), 0);
    ck_assert_int_eq(say(&x, "silence host-0001\nloss 0.5\nwake host-0001\nloss 0%"), CMD_OK);
    ck_assert_int_eq(say(&x, "status"), CMD_OK);
    ck_assert_ptr_nonnull(strstr(fab_text_get(&x.out), "client 0 pid 10 at"));
    ck_assert_int_eq(say(&x, "detach 0"), CMD_OK);
    ck_assert_uint_eq(x.hub.clients[0].pid, 0);
    ck_assert_int_eq(say(&x, "stop"), CMD_OK);
    ck_assert(x.console.stop);
    lab_end(&x);
}
END_TEST

/* Late is not lost. */
START_TEST(late_answers)
{
    struct lab x;
    lab_start(&x);
    int id = come(&x, 10, "host-0001", false);
    ck_assert_int_eq(say(&x, "late host-0001 by=20ms"), CMD_OK);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 0);
    fab_sim_advance(x.hub.sim, 30000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    ck_assert_uint_eq(status_of(x.last[id]), 0);
    ck_assert_uint_eq(x.last[id][32 + 3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    fab_sim_loss(x.hub.sim, 1);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 2);
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    lab_end(&x);
}
END_TEST

/* A MAD that is held up on its way is not lost either, but may be later on. */
START_TEST(late_requests)
{
    struct fab_sim_weather foul = {.delay = 1, .delay_us = 5000};
    struct lab x;
    lab_start(&x);
    int id = come(&x, 10, "host-0001", false);
    fab_sim_set_weather(x.hub.sim, &foul);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    ck_assert_uint_eq(x.count[id], 0);
    ck_assert_uint_eq(x.hub.wait_count, 1);
    fab_sim_advance(x.hub.sim, 20000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    ck_assert_uint_eq(status_of(x.last[id]), 0);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    (void)request(&x, id, FAB_LID_PERMISSIVE, &get_node);
    fab_sim_loss(x.hub.sim, 1);
    fab_sim_advance(x.hub.sim, 40000);
    hub_collect(&x.hub);
    ck_assert_uint_eq(x.count[id], 1);
    hub_tick(&x.hub, HUB_PATIENCE_MS + 1);
    ck_assert_uint_eq(x.count[id], 2);
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    lab_end(&x);
}
END_TEST

START_TEST(faults_that_take_time)
{
    struct lab x;
    uint32_t leaf;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    const struct fab_port_info *port = fab_sim_port(x.hub.sim, leaf, 1);
    ck_assert_int_eq(say(&x, "degrade leaf-001/1 lanes=1 speed=QDR"), CMD_OK);
    ck_assert_uint_eq(fab_link_width(port), 1);
    ck_assert_str_eq(fab_link_speed(port), "QDR");
    ck_assert_int_eq(say(&x, "mend \"leaf-001\"[1] "), CMD_OK);
    ck_assert_uint_eq(fab_link_width(port), 4);
    ck_assert_int_eq(say(&x, "flap leaf-001/1 period=100ms  count=1"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    fab_sim_advance(x.hub.sim, 200000);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(say(&x, "power-off leaf-001"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "power-on leaf-001"), CMD_OK);
    fab_sim_advance(x.hub.sim, 300000);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    lab_end(&x);
}
END_TEST

static uint8_t method_of_answer(struct lab *x, int id)
{
    uint32_t before = x->count[id];
    (void)request(x, id, FAB_LID_PERMISSIVE, &get_node);
    return x->count[id] > before && status_of(x->last[id]) == 0 ? x->last[id][32 + 3] : 0;
}

/* Each fault is there, and what undoes it undoes it. */
START_TEST(faults_and_back)
{
    struct lab x;
    uint32_t leaf, host;
    lab_start(&x);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "leaf-001", &leaf), FAB_OK);
    ck_assert_int_eq(fab_sim_find(x.hub.sim, "host-0001", &host), FAB_OK);
    const struct fab_port_info *port = fab_sim_port(x.hub.sim, leaf, 1);
    int id = come(&x, 10, "host-0001", false);
    ck_assert_int_eq(say(&x, "pull leaf-*/1"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_DOWN);
    ck_assert_int_eq(say(&x, "status"), CMD_OK);
    ck_assert_ptr_nonnull(strstr(fab_text_get(&x.out), " of them down\n"));
    ck_assert_int_eq(say(&x, "plug-all"), CMD_OK);
    ck_assert_uint_eq(port->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(say(&x, "off *"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), 0);
    ck_assert_int_eq(say(&x, "on *\nreboot leaf-001"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), FAB_METHOD_GET_RESP);
    ck_assert_int_eq(say(&x, "lie host-0001 strange"), CMD_OK);
    (void)method_of_answer(&x, id);
    ck_assert_uint_eq(x.last[id][32 + 15], (uint8_t)get_node.tid ^ 0x55);
    ck_assert_int_eq(say(&x, "lie host-0001 nothing"), CMD_OK);
    ck_assert_int_eq(say(&x, "lock host-00?? 0xdeadbeef protect=2 lease=10s"), CMD_OK);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, host, 1)->m_key, 0xdeadbeef);
    ck_assert_uint_eq(fab_sim_port(x.hub.sim, host, 1)->m_key_lease, 10);
    ck_assert_uint_eq(method_of_answer(&x, id), 0);
    ck_assert_int_eq(say(&x, "lock host-0001 0"), CMD_OK);
    ck_assert_uint_eq(method_of_answer(&x, id), FAB_METHOD_GET_RESP);
    ck_assert_int_eq(say(&x, "rise leaf-001/1 PortXmitWait rate=1000"), CMD_OK);
    fab_sim_advance(x.hub.sim, 1000000);
    ck_assert_int_eq(say(&x, "rise leaf-001/1 PortXmitWait"), CMD_OK);
    fab_sim_advance(x.hub.sim, 2000000);
    ck_assert_uint_eq(fab_sim_counter(x.hub.sim, leaf, 1, FAB_SIM_XMIT_WAIT), 1000);
    ck_assert_int_eq(say(&x, "weather loss=1%  duplicate=2% delay=100% by=1ms spread=2s"), CMD_OK);
    struct fab_sim_weather weather = fab_sim_weather(x.hub.sim);
    ck_assert(weather.loss > 0.009 && weather.loss < 0.011 && weather.delay > 0.99);
    ck_assert_uint_eq(weather.delay_us, 1000);
    ck_assert_uint_eq(weather.spread_us, 2000000);
    ck_assert_int_eq(say(&x, "weather"), CMD_OK);
    ck_assert(!(fab_sim_weather(x.hub.sim).delay > 0));
    ck_assert_int_eq(say(&x, "noise leaf-001/1 share=100%\nmend leaf-001/1"), CMD_OK);
    ck_assert_int_eq(say(&x, "pace train=20ms hop=1us"), CMD_OK);
    ck_assert_uint_eq(fab_sim_pace(x.hub.sim).train_us, 20000);
    ck_assert_int_eq(say(&x, "trap leaf-001/1 129\nstorm leaf-001 128 every=1ms count=3"), CMD_OK);
    lab_end(&x);
}
END_TEST

START_TEST(console_mistakes)
{
    struct lab x;
    lab_start(&x);
    static const struct {
        const char *line, *says;
        int code;
    } cases[] = {
        {"frobnicate", "no command \"frobnicate\"", CMD_USAGE},
        {"unlink", "usage: pull NODE", CMD_USAGE},
        {"stop now", "usage: stop", CMD_USAGE},
        {"loss 2", "usage: loss", CMD_USAGE},
        {"loss nan", "usage: loss", CMD_USAGE},
        {"loss 0.1x", "usage: loss", CMD_USAGE},
        {"unlink nobody/1", "no node \"nobody/1\"", CMD_FAILED},
        {"unlink leaf-001/99", "no such port", CMD_FAILED},
        {"silence leaf-001/1", "is a port", CMD_FAILED},
        {"detach 0", "no client", CMD_FAILED},
        {"late leaf-001 5", "no node \"leaf-001 5\"", CMD_FAILED},
        {"late leaf-001 by=x", "by=\"x\" is not a number", CMD_USAGE},
        {"late by=5ms", "usage: late", CMD_USAGE},
        {"late leaf-001 by=5ms by=6ms", "\"by\" is there twice", CMD_USAGE},
        {"late leaf-001 lanes=5", "late takes no option \"lanes\"", CMD_USAGE},
        {"late nobody-*", "no node \"nobody-*\"", CMD_FAILED},
        {"flap leaf-001/1 count=0", "usage: flap", CMD_USAGE},
        {"flap leaf-001", "which port of \"leaf-001\"? usage: flap", CMD_USAGE},
        {"degrade leaf-001/1 lanes=3", "usage: degrade", CMD_USAGE},
        {"degrade leaf-001/1 speed=XXX", "leaf-001/1: that cannot be; usage", CMD_USAGE},
        {"noise leaf-001/1 share=2", "usage: noise", CMD_USAGE},
        {"noise leaf-*/99 share=1%", "no node \"leaf-*/99\"", CMD_FAILED},
        {"rise leaf-001/1 PortFoo rate=1", "usage: rise", CMD_USAGE},
        {"rise leaf-001/1", "usage: rise", CMD_USAGE},
        {"rise PortXmitWait", "usage: rise", CMD_USAGE},
        {"lie leaf-001 always", "busy|refusals", CMD_USAGE},
        {"lie leaf-001 busy rate=101%", "usage: lie", CMD_USAGE},
        {"lock leaf-001 secret", "usage: lock", CMD_USAGE},
        {"lock leaf-001 1 protect=4", "usage: lock", CMD_USAGE},
        {"trap leaf-001/1 7", "usage: trap", CMD_USAGE},
        {"storm leaf-001 128 count=0", "usage: storm", CMD_USAGE},
        {"weather loss=2", "usage: weather", CMD_USAGE},
        {"weather everywhere", "usage: weather", CMD_USAGE},
        {"plug-all leaf-001", "usage: plug-all", CMD_USAGE},
        {"power-on nobody", "no node", CMD_FAILED},
        {"detach -1", "no client", CMD_FAILED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(say(&x, cases[i].line), cases[i].code);
        ck_assert_msg(strstr(fab_text_get(&x.out), cases[i].says) != NULL, "%s: %s", cases[i].line,
                      fab_text_get(&x.out));
    }
    char long_line[400];
    memset(long_line, 'x', sizeof long_line);
    ck_assert_int_eq(console_run(&x.console, long_line, sizeof long_line, &x.out), CMD_USAGE);
    ck_assert_int_eq(console_run(&x.console, "sta\0tus", 7, &x.out), CMD_USAGE);
    lab_end(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hub");
    TCase *c = tcase_create("hub");
    tcase_add_test(c, seats);
    tcase_add_test(c, many_clients);
    tcase_add_test(c, one_sm_a_port);
    tcase_add_test(c, questions);
    tcase_add_test(c, nobody_speaks_for_others);
    tcase_add_test(c, requests_to_the_sm_and_back);
    tcase_add_test(c, short_tables);
    tcase_add_test(c, lost_comes_back);
    tcase_add_test(c, lost_answer);
    tcase_add_test(c, unanswered);
    tcase_add_test(c, full_client);
    tcase_add_test(c, classes_nobody_registered);
    tcase_add_test(c, not_a_packet);
    tcase_add_test(c, places);
    tcase_add_test(c, console);
    tcase_add_test(c, late_answers);
    tcase_add_test(c, late_requests);
    tcase_add_test(c, faults_that_take_time);
    tcase_add_test(c, faults_and_back);
    tcase_add_test(c, console_mistakes);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
