/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rogue host and wrong keys (IBA 14.2.5.1, traps 256 to 259). The rogue tries keys at devices,
 * and forges traps that accuse other hosts of trying keys. Before trap_violation.c was written, no
 * event reported a wrong key: after 65,535 tries at each device, the journal said nothing.
 *
 *  The fabric has 6 leaves with 4 hosts each and 3 spines. The manager is host-0001 (leaf-001/1),
 * the rogue host-0013 (leaf-004/1), and its neighbour host-0014 (leaf-004/2).
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

#define ROGUE "host-0013"
#define ROGUE_PLACE "leaf-004/1"
#define VICTIM "host-0014"
#define M_KEY UINT64_C(0xfeed)
#define WRONG_KEY UINT64_C(0xbadc0de)

static struct lab lab;

static void open_lab_with(uint64_t m_key)
{
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(&lab);
    lab.config.policy.m_keys.number = m_key;
    lab.config.sweep.scrub_interval_s = 0;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab_run_for(&lab, 5);
    lab_forget_events(&lab);
}

static void open_lab(void)
{
    open_lab_with(M_KEY);
}

static struct sm_trap_counts counts(void)
{
    struct sm_status s;
    sm_get_status(lab.sm, &s);
    return s.traps;
}

/* The rogue sends a Set with a wrong M_Key along this directed route. */
static void try_key(struct fab_path path)
{
    struct fab_mad set = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .attr_mod = 1,
                          .m_key = WRONG_KEY,
                          .path = path};
    lab_send(&lab, ROGUE, &set, NULL);
}

static const struct fab_path to_victim = {.hops = 2, .port = {0, 1, 2}};

static uint16_t lid_of(const char *node)
{
    struct fab_view *v = sm_view(lab.sm);
    uint32_t at = fab_fabric_node_by_guid(v->fabric, lab_node_guid(&lab, node));
    uint8_t num = fab_fabric_node_is_switch(v->fabric, at) ? 0 : 1;
    uint16_t lid = (uint16_t)v->target->lids.base[fab_fabric_port_id(v->fabric, at, num)];
    fab_view_unref(v);
    return lid;
}

static struct fab_port_info *port_info(const char *node, uint8_t port)
{
    return (struct fab_port_info *)(uintptr_t)fab_sim_port(lab.sim, lab_node(&lab, node), port);
}

/* Sends a forged trap 256 of `device`. The trap says that the device received a wrong key from the
 * LID of `accused`. */
static void accuse(const char *device, const char *accused)
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                           .method = FAB_METHOD_TRAP,
                           .tid = 7,
                           .attr_id = FAB_ATTR_NOTICE};
    struct fab_notice n = {
        .generic = 1, .type = 2, .producer_type = 1, .trap = 256, .issuer_lid = lid_of(device)};
    uint8_t data[FAB_SMP_DATA] = {0}, bytes[FAB_MAD_SIZE];
    fab_base_put_be16(n.details + 2, lid_of(accused));
    n.details[6] = FAB_METHOD_SET;
    fab_base_put_be16(n.details + 8, FAB_ATTR_LFT);
    fab_base_put_be64(n.details + 14, WRONG_KEY);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_notice, &n, data, sizeof data), 0);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), 0);
    lab_receive_from(&lab, lid_of(device), bytes);
    lab_run_for(&lab, 0.1);
}

/* ---- naming ---- */

START_TEST(a_wrong_m_key_names_its_host_by_the_route)
{
    open_lab();
    try_key(to_victim);
    const struct lab_event *e = lab_await(&lab, 2, "m-key-violation");
    ck_assert_str_eq(e->subject, ROGUE_PLACE);
    ck_assert_uint_eq(e->guid, lab_node_guid(&lab, ROGUE));
    ck_assert_ptr_nonnull(strstr(e->message, VICTIM));
    ck_assert_ptr_nonnull(strstr(e->message, "Set(PortInfo) with modifier 0x1"));
    ck_assert_ptr_nonnull(strstr(e->message, "recorded the directed route"));
    /* badc0de is the tried key, which may resemble a key of the operator, so no message may show
     * it */
    ck_assert_ptr_null(strstr(e->message, "badc0de"));
    ck_assert_uint_eq(counts().violations[SM_KEY_M], 1);
    lab_close(&lab);
}
END_TEST

/* The directed route from the rogue to the attacked device leads over a spine. */
START_TEST(a_longer_route_names_its_host_too)
{
    open_lab();
    struct fab_path path = lab_path_from(&lab, ROGUE);
    path.port[4] = 2; /* the attacked host, which is at the same leaf as the manager */
    try_key(path);
    const struct lab_event *e = lab_await(&lab, 2, "m-key-violation");
    ck_assert_str_eq(e->subject, ROGUE_PLACE);
    ck_assert_ptr_nonnull(strstr(e->message, "host-0002"));
    lab_close(&lab);
}
END_TEST

START_TEST(a_source_lid_is_called_a_claim)
{
    open_lab();
    port_info(VICTIM, 1)->m_key_violations++;
    accuse(VICTIM, ROGUE);
    const struct lab_event *e = lab_await(&lab, 2, "m-key-violation");
    ck_assert_str_eq(e->subject, ROGUE_PLACE);
    ck_assert_ptr_nonnull(strstr(e->message, "can be forged"));
    lab_close(&lab);
}
END_TEST

START_TEST(p_keys_and_q_keys_have_events)
{
    open_lab();
    ck_assert_int_eq(fab_sim_trap(lab.sim, lab_node(&lab, VICTIM), 1, 257), FAB_OK);
    ck_assert_int_eq(fab_sim_trap(lab.sim, lab_node(&lab, VICTIM), 1, 258), FAB_OK);
    ck_assert_int_eq(fab_sim_trap(lab.sim, lab_node(&lab, "leaf-004"), 1, 259), FAB_OK);
    transport_sim_kick(lab.sim_transport);
    lab_run_for(&lab, 1);
    ck_assert_uint_eq(lab_count_events(&lab, "p-key-violation"), 2);
    ck_assert_ptr_nonnull(strstr(lab_event(&lab, "p-key-violation")->message, "P_Key 0x7ffe"));
    const struct lab_event *e = lab_event(&lab, "q-key-violation");
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_null(strstr(e->message, "80010000")); /* the Q_Key must not be shown */
    ck_assert_uint_eq(counts().violations[SM_KEY_P], 2);
    ck_assert_uint_eq(counts().violations[SM_KEY_Q], 1);
    lab_close(&lab);
}
END_TEST

/* No trap about a wrong key arrives: it was lost, or a flood with the source LID of the device
 * suppressed it. The next sweep finds that the counter of violations has increased. */
START_TEST(a_counter_without_a_trap_is_reported_by_the_next_sweep)
{
    open_lab();
    port_info(VICTIM, 1)->m_key_violations += 3;
    port_info("leaf-003", 2)->p_key_violations += 5;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    const struct lab_event *e = lab_await(&lab, 5, "m-key-violation");
    ck_assert_str_eq(e->subject, VICTIM "/1");
    ck_assert_ptr_nonnull(strstr(e->message, "refused 3 requests"));
    ck_assert_str_eq(lab_await(&lab, 5, "p-key-violation")->subject, "leaf-003/2");
    lab_forget_events(&lab);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 5);
    ck_assert_uint_eq(lab_count_events(&lab, "m-key-violation"), 0); /* no second event */
    lab_close(&lab);
}
END_TEST

/* ---- forgery and floods ---- */

/* No M_Keys in this fabric. Otherwise the manager's TrapRepress, sent in answer to the forged trap,
 * would have a wrong M_Key, and the device would count a violation of its own. */
START_TEST(a_forged_accusation_is_not_confirmed)
{
    open_lab_with(0);
    for (int i = 0; i < 10; i++) {
        accuse(VICTIM, "host-0003");
        accuse(ROGUE, "host-0005");
        lab_run_for(&lab, 1);
    }
    ck_assert_uint_eq(lab_count_events(&lab, "m-key-violation"), 0);
    ck_assert_uint_eq(counts().violations[SM_KEY_M], 0);
    ck_assert_uint_eq(counts().violations_unconfirmed, 20);
    lab_close(&lab);
}
END_TEST

START_TEST(a_flood_of_tries_is_counted_and_makes_few_events)
{
    open_lab();
    for (int i = 0; i < 20000; i++) {
        try_key(to_victim);
        if (i % 10 == 0)
            lab_run_for(&lab, 0.01);
    }
    lab_run_for(&lab, 60);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 5);
    ck_assert_uint_ge(lab_count_events(&lab, "m-key-violation"), 1);
    ck_assert_uint_le(lab_count_events(&lab, "m-key-violation"), 4);
    ck_assert_uint_ge(counts().violations[SM_KEY_M], 19000);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attack/violations");
    TCase *t = tcase_create("violations");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_wrong_m_key_names_its_host_by_the_route);
    tcase_add_test(t, a_longer_route_names_its_host_too);
    tcase_add_test(t, a_source_lid_is_called_a_claim);
    tcase_add_test(t, p_keys_and_q_keys_have_events);
    tcase_add_test(t, a_counter_without_a_trap_is_reported_by_the_next_sweep);
    tcase_add_test(t, a_forged_accusation_is_not_confirmed);
    tcase_add_test(t, a_flood_of_tries_is_counted_and_makes_few_events);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
