/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps of simulated devices: their contents, destination and repetition. Also managers that are
 * attached to ports.
 */
#include "tests/unit/sim_lab.h"

/* ---- traps of ports ------------------------------------------------------------------------ */

static unsigned traps_from(struct lab *x, uint16_t number, bool *from)
{
    struct fab_sim_delivery mail;
    unsigned count = 0;
    while (fab_sim_receive(x->r.sim, &mail)) {
        struct fab_notice notice;
        ck_assert_uint_eq(mail.node, x->r.node);
        ck_assert_uint_eq(mail.mad[1], FAB_CLASS_SMP_LID);
        ck_assert_uint_eq(mail.mad[3], FAB_METHOD_TRAP);
        fab_wire_attr_unpack(&fab_wire_attr_notice, mail.mad + 64, FAB_SMP_DATA, &notice);
        ck_assert_uint_eq(notice.trap, number);
        ck_assert_uint_eq(notice.issuer_lid, mail.slid);
        ck_assert_uint_eq(fab_wire_notice_lid(&notice), mail.slid);
        if (from != NULL)
            from[mail.slid - 1] = true;
        count++;
    }
    return count;
}

START_TEST(traps_of_ports)
{
    struct lab x = lab_managed();
    bool from[64] = {false};
    uint32_t up = uplink(&x), spine = fab_fabric_peer_node(x.f, up);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    fab_sim_unlink(x.r.sim, x.leaf, fab_fabric_port(x.f, up)->num);
    /* the trap of the spine is lost if its path to the manager leads over the failed link */
    unsigned count = traps_from(&x, 128, from);
    ck_assert_uint_ge(count, 1);
    ck_assert(from[x.leaf]);
    fab_sim_relink(x.r.sim, x.leaf, fab_fabric_port(x.f, up)->num);
    ck_assert_uint_eq(traps_from(&x, 128, from), 2);
    ck_assert(from[spine]);
    lab_free(&x);
}
END_TEST

START_TEST(traps_until_repressed)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    fab_sim_unlink(x.r.sim, x.leaf, fab_fabric_port(x.f, up)->num);
    fab_sim_relink(x.r.sim, x.leaf, fab_fabric_port(x.f, up)->num);
    traps_from(&x, 128, NULL);
    ck_assert_uint_eq(fab_sim_repeat_traps(x.r.sim), 2);
    struct fab_sim_delivery mail;
    uint8_t reply[FAB_MAD_SIZE];
    while (fab_sim_receive(x.r.sim, &mail)) {
        mail.mad[3] = FAB_METHOD_TRAP_REPRESS;
        ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, mail.slid, mail.mad, reply), 0);
    }
    ck_assert_uint_eq(fab_sim_repeat_traps(x.r.sim), 0);
    lab_free(&x);
}
END_TEST

START_TEST(no_traps_before_there_are_lids)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x);
    struct fab_sim_delivery mail;
    fab_sim_attach(x.r.sim, x.r.node, x.r.port, true);
    fab_sim_unlink(x.r.sim, x.leaf, fab_fabric_port(x.f, up)->num);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    lab_free(&x);
}
END_TEST

/* ---- contents of traps --------------------------------------------------------------------- */

START_TEST(repeated_until_repressed)
{
    struct lab x = lab_manager();
    struct fab_sim_delivery mail;
    uint8_t data[FAB_SMP_DATA];
    struct fab_notice notice;
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    fab_sim_trap(x.r.sim, x.leaf, x.up, 130);
    ck_assert_uint_eq(traps(&x, 130, NULL, &mail), 1);
    fab_sim_advance(x.r.sim, 3500000); /* the device repeats the trap once a second */
    ck_assert_uint_eq(traps(&x, 130, NULL, &mail), 3);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NOTICE, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 130);
    repress(&x, &mail);
    fab_sim_advance(x.r.sim, 9000000);
    ck_assert_uint_eq(traps(&x, 130, NULL, NULL), 0);
    ck_assert_uint_eq(fab_sim_deadline(x.r.sim), UINT64_MAX);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NOTICE, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 0);
    lab_free(&x);
}
END_TEST

/* A device that lost its power has no traps left to repeat, neither its first one nor a later one.
 */
START_TEST(forgotten_without_power)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA];
    struct fab_notice notice;
    fab_sim_trap(x.r.sim, x.spine, 1, 130);
    fab_sim_trap(x.r.sim, x.spine, 1, 129);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NOTICE, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 130);
    ck_assert_int_eq(fab_sim_power_off(x.r.sim, x.spine), FAB_OK);
    ck_assert_int_eq(fab_sim_power_on(x.r.sim, x.spine, 0, 0), FAB_OK);
    fab_sim_advance(x.r.sim, 20000000);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NOTICE, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 0);
    lab_free(&x);
}
END_TEST

START_TEST(what_traps_say)
{
    struct lab x = lab_manager();
    static const uint16_t all[] = {128, 129, 130, 131, 144, 145, 256, 257, 258, 259};
    uint16_t lid = fab_sim_port(x.r.sim, x.leaf, 0)->lid;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct fab_notice n;
        ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, x.up, all[i]), FAB_OK);
        ck_assert_uint_eq(traps(&x, all[i], &n, NULL), 1);
        ck_assert(n.generic);
        ck_assert_uint_eq(n.producer_type, FAB_NODE_SWITCH);
        ck_assert_uint_eq(n.trap, all[i]);
        ck_assert_uint_eq(n.type, all[i] <= 131 ? 1 : all[i] <= 145 ? 4 : 2);
        ck_assert_uint_eq(n.issuer_lid, lid);
        if (all[i] <= 145)
            ck_assert_uint_eq(fab_wire_notice_lid(&n), lid);
        if (all[i] >= 129 && all[i] <= 131)
            ck_assert_uint_eq(n.details[4], x.up);
        if (all[i] == 259) {
            ck_assert_uint_eq(fab_base_get_be16(n.details + 48), lid);
            ck_assert_uint_eq(n.details[50], x.up);
        }
    }
    ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, x.up, 64), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, 250, 128), FAB_E_NOT_FOUND);
    lab_free(&x);
}
END_TEST

/* Traps of a switch and of a host must be repeated once a second, until a TrapRepress arrives. */
START_TEST(each_until_repressed)
{
    struct lab x = lab_manager();
    static const uint16_t all[] = {128, 129, 130, 131, 144, 145, 256, 257, 258, 259};
    struct fab_sim_delivery mail;
    uint64_t now = 0;
    for (size_t i = 0; i < 2 * sizeof all / sizeof all[0]; i++) {
        uint16_t trap = all[i / 2];
        uint32_t node = i % 2 ? x.f->node_count - 1 : x.spine;
        ck_assert_int_eq(fab_sim_trap(x.r.sim, node, 1, trap), FAB_OK);
        ck_assert_uint_eq(traps(&x, trap, NULL, &mail), 1);
        ck_assert_uint_eq(mail.slid, node + 1);
        fab_sim_advance(x.r.sim, now += 2500000);
        ck_assert_uint_eq(traps(&x, trap, NULL, &mail), 2);
        ck_assert_uint_eq(mail.slid, node + 1);
        repress(&x, &mail);
        fab_sim_advance(x.r.sim, now += 5000000);
        ck_assert_uint_eq(traps(&x, trap, NULL, NULL), 0);
    }
    lab_free(&x);
}
END_TEST

/* A TrapRepress takes effect only with the device's M_Key (IBA 14.2.4). */
START_TEST(repressed_with_the_key)
{
    struct lab x = lab_manager();
    struct fab_sim_delivery mail;
    ck_assert_int_eq(fab_sim_set_m_key(x.r.sim, x.spine, 42, 1, 0), FAB_OK);
    fab_sim_trap(x.r.sim, x.spine, 1, 131);
    ck_assert_uint_eq(traps(&x, 131, NULL, &mail), 1);
    fab_base_put_be64(mail.mad + 24, 7);
    repress(&x, &mail);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.spine, 0)->m_key_violations, 1);
    fab_sim_advance(x.r.sim, 1500000);
    ck_assert_uint_eq(traps(&x, 131, NULL, &mail), 1);
    fab_base_put_be64(mail.mad + 24, 42);
    repress(&x, &mail);
    fab_sim_advance(x.r.sim, 5000000);
    ck_assert_uint_eq(traps(&x, 131, NULL, NULL), 0);
    lab_free(&x);
}
END_TEST

/* A cable corrupts packets. When a port has received more corrupted packets than LocalPhyErrors
 * allows, its device must send trap 129. */
START_TEST(errors_are_told)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA];
    struct fab_notice n;
    struct fab_sim_delivery mail;
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, x.up))->peer;
    uint8_t far_num = fab_fabric_port(x.f, far)->num;
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, x.up, 0.9), FAB_OK);
    for (unsigned i = 0; i < 200; i++)
        (void)get(&x, fab_fabric_port(x.f, far)->node, FAB_ATTR_NODE_INFO, 0, data);
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, x.up, 0), FAB_OK);
    fab_sim_advance(x.r.sim, 3000000);
    ck_assert_uint_ge(
        fab_sim_counter(x.r.sim, x.spine, far_num, FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS), 1);
    unsigned told = 0;
    while (fab_sim_receive(x.r.sim, &mail)) {
        fab_wire_attr_unpack(&fab_wire_attr_notice, mail.mad + 64, 64, &n);
        ck_assert_uint_eq(n.trap, 129);
        ck_assert_uint_eq(n.details[4], mail.slid == x.spine + 1 ? far_num : x.up);
        told += mail.slid == x.spine + 1;
    }
    ck_assert_uint_ge(told, 1);
    fab_sim_counter_add(x.r.sim, x.leaf, 1, FAB_SIM_EXCESSIVE_BUFFER_OVERRUN_ERRORS, 1);
    fab_sim_advance(x.r.sim, 3000001);
    ck_assert_uint_eq(traps(&x, 130, &n, NULL), 1);
    ck_assert_uint_eq(n.issuer_lid, x.leaf + 1);
    ck_assert_uint_eq(n.details[4], 1);
    lab_free(&x);
}
END_TEST

START_TEST(storms_end)
{
    struct lab x = lab_manager();
    ck_assert_int_eq(fab_sim_trap_storm(x.r.sim, x.leaf, 128, 0, 5), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_trap_storm(x.r.sim, x.leaf, 128, 1000, 5), FAB_OK);
    fab_sim_advance(x.r.sim, 100000);
    ck_assert_uint_eq(traps(&x, 128, NULL, NULL), 5);
    lab_free(&x);
}
END_TEST

/* ---- managers -------------------------------------------------------------------------------- */

START_TEST(is_sm)
{
    struct lab x = lab_managed();
    uint32_t other = x.f->node_count - 1;
    ck_assert_uint_ne(other, x.r.node);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, true), FAB_OK);
    ck_assert(port_info(&x, other, 1).cap_mask & 2);
    ck_assert_uint_eq(traps_from(&x, 144, NULL), 1);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, true), FAB_OK);
    ck_assert_uint_eq(traps_from(&x, 144, NULL), 0);
    fab_sim_detach(x.r.sim, other, 1);
    ck_assert(!(port_info(&x, other, 1).cap_mask & 2));
    ck_assert_uint_eq(traps_from(&x, 144, NULL), 1);
    lab_free(&x);
}
END_TEST

/* Sends SMInfo requests to an attached manager, by directed route and by LID. Its answers must
 * arrive. */
static void sm_info(struct lab *x, uint8_t mgmt_class, uint32_t other)
{
    struct fab_mad mad = {.mgmt_class = mgmt_class,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_SM_INFO,
                          .tid = 77,
                          .path = x->paths[other]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], data[FAB_SMP_DATA] = {42};
    struct fab_sim_delivery mail;
    bool directed = mgmt_class == FAB_CLASS_SMP_DIRECTED;
    fab_wire_smp_pack(&mad, NULL, bytes);
    uint16_t dlid = directed ? 0xffff : (uint16_t)(other + 1);
    ck_assert_int_eq(fab_sim_send(x->r.sim, x->r.node, x->r.port, dlid, bytes, reply), 0);
    ck_assert(fab_sim_receive(x->r.sim, &mail));
    ck_assert_uint_eq(mail.node, other);
    ck_assert_int_eq(fab_wire_smp_answer(mail.mad, 0, data, bytes), FAB_OK);
    ck_assert_int_eq(
        fab_sim_send(x->r.sim, mail.node, mail.port, directed ? 0xffff : mail.slid, bytes, reply),
        0);
    ck_assert(fab_sim_receive(x->r.sim, &mail));
    ck_assert_uint_eq(mail.node, x->r.node);
    ck_assert_uint_eq(mail.mad[3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(mail.mad[64], 42);
    ck_assert_uint_eq(mail.mad[15], 77);
}

START_TEST(sm_info_goes_to_the_manager)
{
    struct lab x = lab_managed();
    uint32_t other = x.f->node_count - 1;
    uint8_t data[FAB_SMP_DATA];
    struct fab_sim_delivery mail;
    /* no manager is attached to this node */
    ck_assert_int_eq(get(&x, other, FAB_ATTR_SM_INFO, 0, data), -1);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, false), FAB_OK);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    sm_info(&x, FAB_CLASS_SMP_DIRECTED, other);
    sm_info(&x, FAB_CLASS_SMP_LID, other);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, 999, 0, true), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, 77, true), FAB_E_INVAL);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_traps");
    TCase *c = tcase_create("sim_traps");
    tcase_add_test(c, traps_of_ports);
    tcase_add_test(c, traps_until_repressed);
    tcase_add_test(c, no_traps_before_there_are_lids);
    tcase_add_test(c, repeated_until_repressed);
    tcase_add_test(c, forgotten_without_power);
    tcase_add_test(c, what_traps_say);
    tcase_add_test(c, each_until_repressed);
    tcase_add_test(c, repressed_with_the_key);
    tcase_add_test(c, errors_are_told);
    tcase_add_test(c, storms_end);
    tcase_add_test(c, is_sm);
    tcase_add_test(c, sm_info_goes_to_the_manager);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
