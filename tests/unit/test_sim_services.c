/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General services of simulated devices: performance counters, samples, and congestion control.
 */
#include "tests/unit/sim_lab.h"

/* ---- counters -------------------------------------------------------------------------------- */

static struct fab_port_counters counters(struct lab *x, uint8_t method, uint8_t port,
                                         struct fab_port_counters want)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_port_counters n;
    want.port_select = port;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_counters, &want, data, sizeof data),
                     FAB_OK);
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, method, FAB_PERF_PORT_COUNTERS, 0, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_port_counters, data, sizeof data, &n);
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
    fab_wire_attr_unpack(&fab_wire_attr_class_port_info, data, sizeof data, &cpi);
    ck_assert_uint_eq(cpi.cap_mask & 0x1300, 0x1300);
    fab_sim_counter_add(x.r.sim, x.leaf, 1, FAB_SIM_SYMBOL_ERRORS, 70000);
    fab_sim_counter_add(x.r.sim, x.leaf, 2, FAB_SIM_SYMBOL_ERRORS, 5);
    fab_sim_increment(x.r.sim, x.leaf, 1, FAB_SIM_XMIT_WAIT, 2.5);
    fab_sim_advance(x.r.sim, 3000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).symbol_errors,
                      65535); /* the counter has 16 bits, and stops at its maximum */
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 7);
    fab_sim_advance(x.r.sim, 4000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 10);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 0xff, none).xmit_wait,
                      10); /* PortSelect 0xff: the sum over all ports */
    memset(data, 0, sizeof data);
    data[1] = 1;
    ck_assert_int_eq(
        gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, FAB_PERF_PORT_COUNTERS_EXT, 0, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, data, sizeof data, &wide);
    ck_assert_uint_eq(wide.symbol_errors, 70000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_SET, 1, clear).symbol_errors, 0);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait,
                      10); /* CounterSelect did not select PortXmitWait, so the Set left it alone */
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
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, near))->peer;
    far_port = fab_fabric_port(x.f, far)->num;
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, near, 0.2), FAB_OK);
    for (unsigned i = 0; i < 1000; i++)
        lost += get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data) != 0;
    /* 20 % of the requests and 20 % of the answers are lost: 36 % of 1,000 requests have no
     * answer */
    ck_assert_uint_gt(lost, 280);
    ck_assert_uint_lt(lost, 440);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, near, FAB_SIM_RCV_ERRORS) +
                          fab_sim_counter(x.r.sim, x.spine, (uint8_t)far_port, FAB_SIM_RCV_ERRORS),
                      lost);
    lab_free(&x);
}
END_TEST

/* Each packet is corrupted. Whenever more than LocalPhyErrors packets in a row were corrupted, the
 * port must count one local link integrity error. */
START_TEST(bursts_of_noise_are_integrity_errors)
{
    static const enum fab_sim_counter each[] = {FAB_SIM_SYMBOL_ERRORS, FAB_SIM_RCV_ERRORS,
                                                FAB_SIM_LOCAL_PHYSICAL_ERRORS};
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA];
    uint8_t near = x.paths[x.spine].port[x.paths[x.spine].hops];
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, near))->peer;
    uint8_t far_port = fab_fabric_port(x.f, far)->num;
    unsigned burst = 1u + fab_sim_port(x.r.sim, x.spine, far_port)->local_phy_errors;
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, near, 1), FAB_OK);
    for (unsigned i = 0; i < 10 * burst; i++)
        ck_assert_int_ne(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data), 0);
    for (unsigned i = 0; i < sizeof each / sizeof *each; i++)
        ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.spine, far_port, each[i]), 10 * burst);
    ck_assert_uint_eq(
        fab_sim_counter(x.r.sim, x.spine, far_port, FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS), 10);
    for (int i = 0; i < FAB_SIM_COUNTERS; i++)
        ck_assert_uint_le(fab_sim_counter(x.r.sim, x.spine, far_port, (enum fab_sim_counter)i),
                          10 * burst);
    lab_free(&x);
}
END_TEST

/* a counter in one of the attributes that split a counter by causes or VLs */
struct detail {
    const struct fab_attr *attr;
    const struct fab_field *field, *select;
    unsigned at; /* number of its first bit in the attribute */
    /* number of its bit in the field CounterSelect of the attribute */
    unsigned chosen;
    enum fab_sim_counter counter;
};

static uint64_t read_detail(struct lab *x, const struct detail *d)
{
    uint8_t data[FAB_GS_DATA] = {[1] = x->up};
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, FAB_METHOD_GET, d->attr->id, 0, 0, data), 0);
    return fab_base_get_be64(data + d->at / 8) << d->at % 8 >> (64 - d->field->bits);
}

/* Clears the counter d. others: clears all other counters of the attribute instead. */
static void clear_details(struct lab *x, const struct detail *d, bool others)
{
    uint8_t data[FAB_GS_DATA] = {[1] = x->up};
    for (unsigned bit = d->select->bit; bit < d->select->bit + d->select->bits; bit++)
        if ((bit == d->chosen) != others)
            data[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, FAB_METHOD_SET, d->attr->id, 0, 0, data), 0);
}

/* Checks two properties of a counter: it stops at its maximum, and a Set clears it if, and only if,
 * CounterSelect selects it. */
static void check_detail(struct lab *x, const struct detail *d)
{
    uint64_t most = UINT64_MAX >> (64 - d->field->bits);
    ck_assert_int_eq(fab_sim_counter_add(x->r.sim, x->leaf, x->up, d->counter, 2), FAB_OK);
    ck_assert_uint_eq(read_detail(x, d), 2);
    ck_assert_int_eq(fab_sim_counter_add(x->r.sim, x->leaf, x->up, d->counter, most), FAB_OK);
    ck_assert_uint_eq(read_detail(x, d), most);
    clear_details(x, d, true);
    ck_assert_uint_eq(fab_sim_counter(x->r.sim, x->leaf, x->up, d->counter), most + 2);
    clear_details(x, d, false);
    ck_assert_uint_eq(fab_sim_counter(x->r.sim, x->leaf, x->up, d->counter), 0);
}

static uint32_t check_attribute(struct lab *x, const struct fab_attr *attr, uint32_t counter)
{
    struct detail d = {.attr = attr, .select = attr->fields};
    while (strcmp(d.select->name, "CounterSelect") != 0)
        d.select++;
    d.chosen = d.select->bit + d.select->bits - 1u;
    for (d.field = d.select + 1; d.field < attr->fields + attr->field_count; d.field++) {
        for (unsigned e = 0; e < d.field->repeat; e++) {
            char name[80];
            snprintf(name, sizeof name, d.field->repeat > 1 ? "%s%u" : "%s", d.field->name, e);
            ck_assert_int_eq(fab_sim_counter_by_name(name, &d.counter), FAB_OK);
            ck_assert_uint_eq(d.counter, counter++);
            d.at = d.field->bit + e * d.field->bit_stride;
            check_detail(x, &d);
            d.chosen--;
        }
    }
    return counter;
}

START_TEST(details)
{
    struct lab x = lab_manager();
    uint32_t counter = FAB_SIM_COUNTERS;
    enum fab_sim_counter named;
    for (size_t a = 0; a < FAB_PERF_DETAILS; a++)
        counter = check_attribute(&x, &fab_wire_attr_perf_details[a], counter);
    counter = check_attribute(&x, &fab_wire_attr_perf_ext_speeds, counter);
    ck_assert_uint_eq(counter, FAB_SIM_ALL_COUNTERS);
    ck_assert_int_eq(fab_sim_counter_by_name("PortVLXmitWait16", &named), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_counter_by_name("PortVLXmitWait", &named), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_counter_by_name("PortVLXmitWait1x", &named), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_counter_by_name("PortLoopingErrors0", &named), FAB_E_NOT_FOUND);
    lab_free(&x);
}
END_TEST

START_TEST(details_of_all_ports)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_GS_DATA] = {[1] = 0xff};
    fab_sim_counter_add(x.r.sim, x.leaf, 1, FAB_SIM_SL_RCV_FECN + 3, 5);
    fab_sim_counter_add(x.r.sim, x.leaf, 2, FAB_SIM_SL_RCV_FECN + 3, 6);
    fab_sim_increment(x.r.sim, x.leaf, 2, FAB_SIM_SL_RCV_FECN + 3, 10);
    fab_sim_advance(x.r.sim, 2000000);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, 1, FAB_PERF_SL_RCV_FECN, 0, 0, data), 0);
    ck_assert_uint_eq(fab_base_get_be32(data + 4 + 3 * 4), 31);
    fab_sim_power_off(x.r.sim, x.leaf);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, 1, FAB_SIM_SL_RCV_FECN + 3), 0);
    lab_free(&x);
}
END_TEST

/* ---- samples --------------------------------------------------------------------------------- */

static int sample(struct lab *x, struct fab_samples_control *control)
{
    uint8_t data[FAB_GS_DATA];
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_samples_control, control, data, sizeof data),
                     FAB_OK);
    int status = gs(x, x->leaf, FAB_CLASS_PERF, 2, FAB_PERF_SAMPLES_CONTROL, 0, 0, data);
    fab_wire_attr_unpack(&fab_wire_attr_samples_control, data, sizeof data, control);
    return status;
}

static struct fab_samples_result samples(struct lab *x, const struct fab_attr *attr)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_samples_result result;
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, 1, attr->id, 0, 0, data), 0);
    ck_assert_int_eq(fab_wire_attr_unpack(attr, data, sizeof data, &result), FAB_OK);
    return result;
}

/* A sample must count the errors and congestion marks of its interval, and none before or after
 * it. */
START_TEST(samples_count_an_interval)
{
    struct lab x = lab_manager();
    struct fab_samples_control c = {.port_select = x.up,
                                    .start = 1000,
                                    .interval = 5000000,
                                    .tag = 0xabcd,
                                    .select = {0x0005, 0x4005, 0x4031, 0, 0x4334, 0x4916}};
    static const enum fab_sim_counter counters[] = {
        FAB_SIM_XMIT_WAIT, FAB_SIM_LOCAL_PHYSICAL_ERRORS, FAB_SIM_PKT_RCV_FECN,
        FAB_SIM_RCV_DATA,  FAB_SIM_SL_RCV_BECN + 3,       FAB_SIM_VL_XMIT_WAIT + 9};
    struct fab_samples_result result;
    for (unsigned i = 0; i < 6; i++) {
        fab_sim_counter_add(x.r.sim, x.leaf, x.up, counters[i], 1000000);
        fab_sim_increment(x.r.sim, x.leaf, x.up, counters[i], 100 * (i + 1));
    }
    fab_sim_advance(x.r.sim, 1000000);
    ck_assert_int_eq(sample(&x, &c), 0);
    ck_assert_uint_eq(c.status, FAB_SAMPLE_STARTS);
    ck_assert_uint_eq(c.tick, 249); /* code 249 of a tick means 1 us */
    ck_assert_uint_eq(c.counter_width, 4);
    ck_assert_uint_eq(c.counter_mask[14], 3);
    ck_assert_uint_eq(c.option_mask, 0x01ff000000ffffc0); /* bits 6 to 23 and 48 to 56 */
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).status, FAB_SAMPLE_STARTS);
    fab_sim_advance(x.r.sim, 1001000);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).status, FAB_SAMPLE_RUNS);
    /* while a sample runs, a further Set must have no effect */
    c = (struct fab_samples_control){.port_select = x.up, .tag = 1};
    ck_assert_int_eq(sample(&x, &c), 0);
    ck_assert_uint_eq(c.tag, 0xabcd);
    ck_assert_uint_eq(c.status, FAB_SAMPLE_RUNS);
    fab_sim_advance(x.r.sim, 6000999);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).status, FAB_SAMPLE_RUNS);
    fab_sim_advance(x.r.sim, 9000000);
    result = samples(&x, &fab_wire_attr_samples_result);
    ck_assert_uint_eq(result.status, FAB_SAMPLE_DONE);
    ck_assert_uint_eq(result.tag, 0xabcd);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(result.counter[i], i == 3 ? 0 : 500 * (i + 1));
    result = samples(&x, &fab_wire_attr_samples_result_ext);
    ck_assert_uint_eq(result.width, 2);
    ck_assert_uint_eq(result.counter[5], 3000);
    lab_free(&x);
}
END_TEST

START_TEST(samples_of_all_ports_and_after_power)
{
    struct lab x = lab_manager();
    struct fab_samples_control c = {.port_select = 0xff, .interval = 1000, .select = {4}};
    ck_assert_int_eq(sample(&x, &c), 0);
    ck_assert_uint_eq(c.status, FAB_SAMPLE_RUNS);
    for (uint8_t port = 1; port <= 4; port++)
        fab_sim_counter_add(x.r.sim, x.leaf, port, FAB_SIM_RCV_PKTS, port);
    fab_sim_advance(x.r.sim, 1000);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).counter[0], 10);
    c = (struct fab_samples_control){.port_select = 1,
                                     /* an interval of 0, so the sample ends at once */
                                     .select = {2}};
    ck_assert_int_eq(sample(&x, &c), 0);
    ck_assert_uint_eq(c.status, FAB_SAMPLE_DONE);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).counter[0], 0);
    c = (struct fab_samples_control){.port_select = 1, .select = {[7] = 0x4002}};
    /* CounterSelect values from 0x4000 on are for vendors */
    ck_assert_int_eq(sample(&x, &c), FAB_SMP_BAD_VALUE);
    c = (struct fab_samples_control){.port_select = 1, .select = {0x4f36}};
    ck_assert_int_eq(sample(&x, &c), FAB_SMP_BAD_VALUE); /* a selection of VL 15 */
    c = (struct fab_samples_control){.port_select = 200};
    ck_assert_int_eq(sample(&x, &c), FAB_SMP_BAD_VALUE);
    c = (struct fab_samples_control){.port_select = 1, .interval = 1000, .select = {4}};
    ck_assert_int_eq(sample(&x, &c), 0);
    for (uint32_t node = 0; node < x.f->node_count; node++)
        fab_sim_power_off(x.r.sim, node);
    for (uint32_t node = 0; node < x.f->node_count; node++)
        fab_sim_power_on(x.r.sim, node, 0, 0);
    fab_sim_advance(x.r.sim, 5000);
    ck_assert_int_eq(drive_program(&x.r, x.found), FAB_OK);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).status, FAB_SAMPLE_DONE);
    ck_assert_uint_eq(samples(&x, &fab_wire_attr_samples_result).tag, 0);
    uint8_t data[FAB_GS_DATA] = {[1] = 1};
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, 1, FAB_PERF_SAMPLES_RESULT, 3, 0, data),
                     FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, 2, FAB_PERF_SAMPLES_RESULT, 0, 0, data),
                     FAB_SMP_BAD_ATTR);
    lab_free(&x);
}
END_TEST

/* ---- classes --------------------------------------------------------------------------------- */

/* The firmware of a device implements some classes. It must refuse requests of all others, unless a
 * program at the port might answer them. */
START_TEST(classes)
{
    struct lab x = lab_manager();
    struct fab_sim_delivery mail;
    for (unsigned node = 0; node < x.f->node_count; node++) {
        for (uint8_t c = 2; c < 0x30; c++) {
            bool own = c == FAB_CLASS_PERF || c == FAB_CLASS_CC || c == 0x05 || c == 0x0a;
            bool program = node == x.r.node && !own;
            uint8_t data[FAB_GS_DATA] = {0};
            ck_assert_int_eq(gs(&x, node, c, FAB_METHOD_GET, FAB_ATTR_CLASS_PORT_INFO, 0, 0, data),
                             program ? -1
                             : own   ? 0
                                     : FAB_SMP_BAD_ATTR);
            ck_assert_uint_eq(fab_sim_receive(x.r.sim, &mail), program);
            /* the method Send gets no answer */
            ck_assert_int_eq(gs(&x, node, c, 3, 0x10, 0, 0, data), -1);
            while (fab_sim_receive(x.r.sim, &mail)) {
            }
        }
    }
    lab_free(&x);
}
END_TEST

START_TEST(trap_addresses_are_kept)
{
    struct lab x = lab_manager();
    const struct fab_class_port_info want = {.class_version = 9, .trap_lid = 77, .trap_qp = 5};
    struct fab_class_port_info info;
    uint8_t data[FAB_GS_DATA] = {0};
    fab_wire_attr_pack(&fab_wire_attr_class_port_info, &want, data, sizeof data);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_SET, 1, 0, 0, data), 0);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, 1, 0, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_class_port_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.class_version, 1);
    ck_assert_uint_eq(info.trap_lid, 77);
    ck_assert_uint_eq(info.trap_qp, 5);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_CC, FAB_METHOD_GET, 1, 0, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_class_port_info, data, sizeof data, &info);
    /* the trap LID of one class must not change that of another */
    ck_assert_uint_eq(info.trap_lid, 0);
    lab_free(&x);
}
END_TEST

/* ---- congestion control ---------------------------------------------------------------------- */

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
    fab_wire_attr_pack(&fab_wire_attr_cc_table, &t, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_SET, FAB_CC_TABLE, 1, data), 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_cc_table, data, sizeof data, &t);
    /* the limit was written with block 1, but is the same in all blocks */
    ck_assert_uint_eq(t.limit, 127);
    ck_assert_uint_eq(t.entry[63].multiplier, 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 1, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_cc_table, data, sizeof data, &t);
    ck_assert_uint_eq(t.entry[63].multiplier, 63);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 2, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_SWITCH_SETTING, 0, data),
                     FAB_SMP_BAD_ATTR);
    fab_wire_attr_pack(&fab_wire_attr_cc_switch_port_setting, &p, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_SET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    memset(data, 0, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_cc_switch_port_setting, data, sizeof data, &p);
    ck_assert_uint_eq(p.port[3].marking_rate, 77);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 9, data),
                     FAB_SMP_BAD_VALUE);
    fab_sim_power_off(x.r.sim, x.leaf); /* a device without power loses its congestion log */
    lab_free(&x);
}
END_TEST

static struct fab_cc_switch_setting switch_setting(struct lab *x, uint8_t method,
                                                   const struct fab_cc_switch_setting *want)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_switch_setting is;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_switch_setting, want, data, sizeof data),
                     FAB_OK);
    ck_assert_int_eq(cc(x, x->leaf, method, FAB_CC_SWITCH_SETTING, 0, data), 0);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_cc_switch_setting, data, sizeof data, &is),
                     FAB_OK);
    return is;
}

/* Each bit of Control_Map selects its fields, and no others (IBA A10.4.3.6). */
START_TEST(control_map_selects_fields)
{
    struct lab x = lab_manager();
    struct fab_cc_switch_setting want = {0};
    (void)switch_setting(&x, FAB_METHOD_SET, &(struct fab_cc_switch_setting){.control_map = 31});
    for (uint32_t turn = 1; turn <= 3; turn++)
        for (uint32_t map = 0; map < 32; map++) {
            const uint8_t n = (uint8_t)((turn * 5 + map) % 15 + 1);
            struct fab_cc_switch_setting all = {.control_map = map,
                                                .threshold = n,
                                                .packet_size = (uint8_t)(n + 1),
                                                .cs_threshold = n,
                                                .cs_return_delay = (uint16_t)(n + 2),
                                                .marking_rate = (uint16_t)(n + 3)};
            memset(all.victim_mask, n, sizeof all.victim_mask);
            memset(all.credit_mask, n + 1, sizeof all.credit_mask);
            want.control_map = map;
            if (map & 1)
                memset(want.victim_mask, n, sizeof want.victim_mask);
            if (map & 2)
                memset(want.credit_mask, n + 1, sizeof want.credit_mask);
            want.threshold = map & 4 ? all.threshold : want.threshold;
            want.packet_size = map & 4 ? all.packet_size : want.packet_size;
            want.cs_threshold = map & 8 ? all.cs_threshold : want.cs_threshold;
            want.cs_return_delay = map & 8 ? all.cs_return_delay : want.cs_return_delay;
            want.marking_rate = map & 16 ? all.marking_rate : want.marking_rate;
            (void)switch_setting(&x, FAB_METHOD_SET, &all);
            struct fab_cc_switch_setting is = switch_setting(&x, FAB_METHOD_GET, &want);
            ck_assert_uint_eq(is.control_map, want.control_map);
            ck_assert_mem_eq(is.victim_mask, want.victim_mask, sizeof is.victim_mask);
            ck_assert_mem_eq(is.credit_mask, want.credit_mask, sizeof is.credit_mask);
            ck_assert_uint_eq(is.threshold, want.threshold);
            ck_assert_uint_eq(is.packet_size, want.packet_size);
            ck_assert_uint_eq(is.cs_threshold, want.cs_threshold);
            ck_assert_uint_eq(is.cs_return_delay, want.cs_return_delay);
            ck_assert_uint_eq(is.marking_rate, want.marking_rate);
        }
    lab_free(&x);
}
END_TEST

static struct fab_cc_ca_setting ca_setting(struct lab *x, uint8_t method,
                                           const struct fab_cc_ca_setting *want)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_ca_setting is;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_ca_setting, want, data, sizeof data),
                     FAB_OK);
    ck_assert_int_eq(cc(x, x->r.node, method, FAB_CC_CA_SETTING, 0, data), 0);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_cc_ca_setting, data, sizeof data, &is),
                     FAB_OK);
    return is;
}

/* Control_Map of a CACongestionSetting selects the service levels; Port_Control is always set. */
START_TEST(control_map_selects_service_levels)
{
    struct lab x = lab_manager();
    struct fab_cc_ca_setting one = {.port_control = 1, .control_map = 0x8001}, two;
    for (uint8_t sl = 0; sl < 16; sl++)
        one.sl[sl].timer = (uint16_t)(100 + sl);
    two = one;
    two.port_control = 0;
    two.control_map = 2;
    two.sl[1].timer = 7;
    (void)ca_setting(&x, FAB_METHOD_SET, &one);
    struct fab_cc_ca_setting is = ca_setting(&x, FAB_METHOD_GET, &two);
    ck_assert_uint_eq(is.port_control, 1);
    ck_assert_uint_eq(is.control_map, 0x8001);
    ck_assert_uint_eq(is.sl[0].timer, 100);
    ck_assert_uint_eq(is.sl[1].timer, 0);
    ck_assert_uint_eq(is.sl[14].timer, 0);
    ck_assert_uint_eq(is.sl[15].timer, 115);
    (void)ca_setting(&x, FAB_METHOD_SET, &two);
    is = ca_setting(&x, FAB_METHOD_GET, &one);
    ck_assert_uint_eq(is.port_control, 0);
    ck_assert_uint_eq(is.control_map, 2);
    ck_assert_uint_eq(is.sl[0].timer, 100);
    ck_assert_uint_eq(is.sl[1].timer, 7);
    ck_assert_uint_eq(is.sl[15].timer, 115);
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
    fab_wire_attr_unpack(&fab_wire_attr_cc_time_stamp, data, sizeof data, &stamp);
    ck_assert_uint_eq(stamp.value, 1000000);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, x.up, &what), FAB_OK);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, 250, &what), FAB_E_NOT_FOUND);
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_CC, .class_version = 2, .method = 1, .attr_id = FAB_CC_LOG};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_cc_log log;
    fab_wire_gmp_pack(&mad, NULL, 0, bytes);
    ck_assert_int_eq(
        fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(x.leaf + 1), bytes, reply), 1);
    fab_wire_attr_unpack(&fab_wire_attr_cc_log, reply + FAB_CC_LOG_DATA, 224, &log);
    ck_assert_uint_eq(log.type, 1);
    ck_assert_uint_eq(log.count, 1);
    ck_assert_uint_eq(log.port_map[31], 1u << x.up);
    ck_assert_uint_eq(log.entry[0].slid, 3);
    ck_assert_uint_eq(log.entry[0].dlid, 5);
    ck_assert_uint_eq(log.entry[0].time_stamp, 1000000);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, x.up, FAB_SIM_SW_VL_CONGESTION + 2), 1);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.r.node, x.r.port, &what), FAB_OK);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.r.node, x.r.port, FAB_SIM_SL_RCV_BECN + 2), 1);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.r.node, x.r.port, FAB_SIM_PKT_RCV_BECN), 1);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_services");
    TCase *c = tcase_create("sim_services");
    tcase_add_test(c, port_counters);
    tcase_add_test(c, noise_is_counted);
    tcase_add_test(c, bursts_of_noise_are_integrity_errors);
    tcase_add_test(c, details);
    tcase_add_test(c, details_of_all_ports);
    tcase_add_test(c, samples_count_an_interval);
    tcase_add_test(c, samples_of_all_ports_and_after_power);
    tcase_add_test(c, classes);
    tcase_add_test(c, trap_addresses_are_kept);
    tcase_add_test(c, congestion_settings);
    tcase_add_test(c, control_map_selects_fields);
    tcase_add_test(c, control_map_selects_service_levels);
    tcase_add_test(c, congestion_is_logged);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
