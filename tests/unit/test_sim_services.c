/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General services of simulated devices: counters and their samples, congestion control.
 */
#include "tests/unit/sim_lab.h"

/* ---- counters -----------------------------------------------------------------------------
 */

static struct fab_port_counters counters(struct lab *x, uint8_t method, uint8_t port,
                                         struct fab_port_counters want)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_port_counters n;
    want.port_select = port;
    ck_assert_int_eq(fab_attr_pack(&fab_attr_port_counters, &want, data, sizeof data), FAB_OK);
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, method, FAB_PERF_PORT_COUNTERS, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_port_counters, data, sizeof data, &n);
    return n;
}

START_TEST(port_counters)
{
    struct lab x = lab_manager();
    const struct fab_port_counters none = {0};
    struct fab_port_counters clear = {.counter_select = 0x0001};
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_port_counters_ext wide;
    struct fab_class_port_info cpi;
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, 1, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_class_port_info, data, sizeof data, &cpi);
    ck_assert_uint_eq(cpi.cap_mask & 0x1300, 0x1300);
    fab_sim_count(x.r.sim, x.leaf, 1, FAB_SIM_SYMBOL_ERRORS, 70000);
    fab_sim_count(x.r.sim, x.leaf, 2, FAB_SIM_SYMBOL_ERRORS, 5);
    fab_sim_rise(x.r.sim, x.leaf, 1, FAB_SIM_XMIT_WAIT, 2.5);
    fab_sim_advance(x.r.sim, 3000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).symbol_errors, 65535); /* its end */
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 7);
    fab_sim_advance(x.r.sim, 4000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 10);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 0xff, none).xmit_wait, 10); /* all ports */
    memset(data, 0, sizeof data);
    data[1] = 1;
    ck_assert_int_eq(
        gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, FAB_PERF_PORT_COUNTERS_EXT, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_port_counters_ext, data, sizeof data, &wide);
    ck_assert_uint_eq(wide.symbol_errors, 70000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_SET, 1, clear).symbol_errors, 0);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 10); /* was not selected */
    clear = (struct fab_port_counters){.counter_select2 = 1};
    ck_assert_uint_eq(counters(&x, FAB_METHOD_SET, 0xff, clear).xmit_wait, 0);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 2, none).symbol_errors, 5);
    data[1] = 200;
    ck_assert_int_eq(
        gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, FAB_PERF_PORT_COUNTERS, 0, 0, data),
        FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, 0x77, 0, 0, data),
                     FAB_SMP_BAD_ATTR);
    lab_free(&x);
}
END_TEST

START_TEST(noise_is_counted)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA];
    unsigned lost = 0, far_port;
    uint8_t near = x.paths[x.spine].port[x.paths[x.spine].hops];
    uint32_t far = x.f->ports[fab_port_id(x.f, x.leaf, near)].peer;
    far_port = x.f->ports[far].num;
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, near, 0.2), FAB_OK);
    for (unsigned i = 0; i < 1000; i++)
        lost += get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data) != 0;
    ck_assert_uint_gt(lost, 280); /* 36 %: both ways */
    ck_assert_uint_lt(lost, 440);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, near, FAB_SIM_RCV_ERRORS) +
                          fab_sim_counter(x.r.sim, x.spine, (uint8_t)far_port, FAB_SIM_RCV_ERRORS),
                      lost);
    lab_free(&x);
}
END_TEST

/* ---- congestion control -------------------------------------------------------------------
 */

static int cc(struct lab *x, uint32_t node, uint8_t method, uint16_t attr, uint32_t mod,
              uint8_t *data)
{
    return gs(x, node, FAB_CLASS_CC, method, attr, mod, 0, data);
}

START_TEST(congestion_settings)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_table t = {.limit = 127};
    struct fab_cc_switch_port_setting p = {.port[3] = {1, 0, 9, 4, 77}};
    for (unsigned i = 0; i < 64; i++)
        t.entry[i].multiplier = (uint16_t)i;
    fab_attr_pack(&fab_attr_cc_table, &t, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_SET, FAB_CC_TABLE, 1, data), 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_table, data, sizeof data, &t);
    ck_assert_uint_eq(t.limit, 127); /* one for all blocks */
    ck_assert_uint_eq(t.entry[63].multiplier, 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 1, data), 0);
    fab_attr_unpack(&fab_attr_cc_table, data, sizeof data, &t);
    ck_assert_uint_eq(t.entry[63].multiplier, 63);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 2, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_SWITCH_SETTING, 0, data),
                     FAB_SMP_BAD_ATTR);
    fab_attr_pack(&fab_attr_cc_switch_port_setting, &p, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_SET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    memset(data, 0, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_switch_port_setting, data, sizeof data, &p);
    ck_assert_uint_eq(p.port[3].marking_rate, 77);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 9, data),
                     FAB_SMP_BAD_VALUE);
    fab_sim_power_off(x.r.sim, x.leaf); /* forgets */
    lab_free(&x);
}
END_TEST

START_TEST(congestion_is_logged)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_time_stamp stamp;
    const struct fab_sim_congestion what = {.slid = 3, .dlid = 5, .sl = 2};
    fab_sim_advance(x.r.sim, 1024000);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_TIME_STAMP, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_time_stamp, data, sizeof data, &stamp);
    ck_assert_uint_eq(stamp.value, 1000000);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, x.up, &what), FAB_OK);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, 250, &what), FAB_E_NOT_FOUND);
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_CC, .class_version = 2, .method = 1, .attr_id = FAB_CC_LOG};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_cc_log log;
    fab_gmp_pack(&mad, NULL, 0, bytes);
    ck_assert_int_eq(
        fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(x.leaf + 1), bytes, reply), 1);
    fab_attr_unpack(&fab_attr_cc_log, reply + FAB_CC_LOG_DATA, 224, &log);
    ck_assert_uint_eq(log.type, 1);
    ck_assert_uint_eq(log.count, 1);
    ck_assert_uint_eq(log.port_map[31], 1u << x.up);
    ck_assert_uint_eq(log.entry[0].slid, 3);
    ck_assert_uint_eq(log.entry[0].dlid, 5);
    ck_assert_uint_eq(log.entry[0].time_stamp, 1000000);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_services");
    TCase *c = tcase_create("sim_services");
    tcase_add_test(c, port_counters);
    tcase_add_test(c, noise_is_counted);
    tcase_add_test(c, congestion_settings);
    tcase_add_test(c, congestion_is_logged);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
