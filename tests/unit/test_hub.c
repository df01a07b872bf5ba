/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hub of `fabsim serve`, which connects programs (its clients) with the simulated fabric. The
 * test checks to which client the hub delivers each MAD, which control requests it accepts, and
 * that it reports every lost MAD.
 */
#include "libfabmgr/wire/sa.h"
#include "tests/unit/hub_lab.h"

/* ---- coming and going ------------------------------------------------------------------------ */

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
        ck_assert_uint_eq(fab_base_get_be64(p + 32 + 8), (uint64_t)i << 48 | 0x0000222233334444);
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
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_node_info, d + 16, 64, &node), FAB_OK);
    ck_assert_uint_eq(node.node_guid, host->guid);
    ck_assert_uint_eq(node.local_port, 1);
    d[16] = 0;
    control(&x, 10, 0, GET_INFO, d);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, d + 16, 64, &port), FAB_OK);
    ck_assert_uint_eq(port.local_port, 1);
    ck_assert_uint_eq(port.port_state, FAB_STATE_INIT);
    ck_assert_uint_eq(control(&x, 10, 0, GET_PORT, d)[18], FAB_STATE_INIT);
    ck_assert_uint_eq(fab_base_get_be64(control(&x, 10, 0, GET_GUID, d) + 16), host->guid);
    x.f->nodes[x.hub.clients[0].at.node].info.revision = 0x1b;
    control(&x, 10, 0, GET_VENDOR, d);
    ck_assert_uint_eq(word(d + 16), host->info.vendor_id);
    ck_assert_uint_eq(word(d + 20), host->info.device_id);
    ck_assert_uint_eq(word(d + 24), 0x1b);
    uint64_t firmware;
    memcpy(&firmware, d + 32, sizeof firmware);
    ck_assert_uint_eq(firmware, 1);
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

/* ---- deliveries ------------------------------------------------------------------------------ */

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
    ck_assert_uint_eq(fab_base_get_be16(answer + 32 + 8), (unsigned)asks);
    ck_assert_int_eq(fab_wire_smp_answer(answer + 32, 0, NULL, answer + 32), FAB_OK);
    hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
    ck_assert_uint_eq(x.count[asks], 1);
    ck_assert_uint_eq(status_of(x.last[asks]), 0);
    ck_assert_uint_eq(x.last[asks][32 + 3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(x.hub.wait_count, 0);
    lab_end(&x);
}
END_TEST

/* A response of subnet administration may have fewer than 256 bytes. MADs of other classes must
 * have all 256. */
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
        ck_assert_uint_eq(fab_base_get_be64(answer + 24), FAB_MAD_SIZE);
        answer[32 + 3] |= FAB_METHOD_RESPONSE;
        answer[32 + FAB_RMPP_AT + 2] = answers[i].flags;
        fab_base_put_be64(answer + 24, answers[i].said);
        hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
        ck_assert_uint_eq(x.count[asks], i + 1);
        ck_assert_uint_eq(fab_base_get_be64(x.last[asks] + 24), answers[i].told);
    }
    lab_end(&x);
}
END_TEST

/* The answer of a device goes to the sender of the request: source and destination LIDs and queue
 * pairs are exchanged. */
START_TEST(answers_return_to_the_sender)
{
    struct lab x;
    lab_start(&x);
    int id = come(&x, 11, "host-0001", false);
    for (size_t i = 0; i < 2; i++) {
        uint8_t packet[HUB_PACKET_SIZE] = {0};
        fab_base_put_be16(packet, FAB_LID_PERMISSIVE);
        fab_base_put_be32(packet + 8, 1); /* the destination queue pair */
        fab_base_put_be32(packet + 12, 0x11223344 + (uint32_t)i);
        ck_assert_int_eq(fab_wire_smp_pack(&get_node, NULL, packet + 32), FAB_OK);
        hub_packet(&x.hub, (unsigned)id, packet, sizeof packet);
        ck_assert_uint_eq(x.count[id], i + 1);
        const uint8_t *p = x.last[id];
        ck_assert_uint_eq(status_of(p), 0);
        ck_assert_uint_eq(fab_base_get_be16(p + 4), FAB_LID_PERMISSIVE);
        ck_assert_uint_eq(fab_base_get_be32(p + 8), 0x11223344 + i);
        ck_assert_uint_eq(fab_base_get_be32(p + 12), 1);
    }
    lab_end(&x);
}
END_TEST

START_TEST(lost_comes_back)
{
    struct lab x;
    lab_start(&x);
    int id = come(&x, 11, "host-0001", false);
    /* host-0001 has no SM, so the request is lost */
    const uint8_t *p = request(&x, id, FAB_LID_PERMISSIVE, &get_sm);
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

/* A client answers a request of another client, and the answer is lost. The hub must report this to
 * the client that waits for the answer, and not to the client that answered. */
START_TEST(lost_answer)
{
    struct lab x;
    lab_start(&x);
    int sm = come(&x, 10, "host-0001", true), asks = come(&x, 11, "host-0001", false);
    (void)request(&x, asks, FAB_LID_PERMISSIVE, &get_sm);
    uint8_t answer[HUB_PACKET_SIZE];
    memcpy(answer, x.last[sm], sizeof answer);
    ck_assert_int_eq(fab_wire_smp_answer(answer + 32, 0, NULL, answer + 32), FAB_OK);
    fab_sim_loss(x.hub.sim, 1);
    hub_packet(&x.hub, (unsigned)sm, answer, sizeof answer);
    ck_assert_uint_eq(x.count[sm], 1);
    ck_assert_uint_eq(x.count[asks], 1);
    ck_assert_uint_eq(status_of(x.last[asks]), LOST);
    lab_end(&x);
}
END_TEST

/* A client gets a request, and disconnects or never answers. The hub must return the request to its
 * sender as lost. If the sender itself disconnects, nobody gets anything. */
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

/* A client gets only MADs of classes that it has registered. libumad2sim would crash an SM that
 * receives any other. */
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
    /* a packet whose MAD has an invalid BaseVersion */
    hub_packet(&x.hub, (unsigned)id, packet, sizeof packet);
    ck_assert_uint_eq(status_of(x.last[id]), LOST);
    lab_end(&x);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hub");
    TCase *tcase = tcase_create("hub");
    tcase_add_test(tcase, seats);
    tcase_add_test(tcase, many_clients);
    tcase_add_test(tcase, one_sm_a_port);
    tcase_add_test(tcase, questions);
    tcase_add_test(tcase, nobody_speaks_for_others);
    tcase_add_test(tcase, requests_to_the_sm_and_back);
    tcase_add_test(tcase, short_tables);
    tcase_add_test(tcase, answers_return_to_the_sender);
    tcase_add_test(tcase, lost_comes_back);
    tcase_add_test(tcase, lost_answer);
    tcase_add_test(tcase, unanswered);
    tcase_add_test(tcase, full_client);
    tcase_add_test(tcase, classes_nobody_registered);
    tcase_add_test(tcase, not_a_packet);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
