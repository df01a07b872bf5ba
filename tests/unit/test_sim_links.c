/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links of the simulated fabric: their states and transitions, the states of a link that is down,
 * and the negotiation of width and speed.
 */
#include "tests/unit/sim_lab.h"

/* ---- states ---------------------------------------------------------------------------------- */

static void states_are(const struct lab *x, uint32_t port, uint8_t state, uint8_t phys)
{
    const struct fab_port *p = fab_fabric_port(x->f, port);
    const struct fab_port_info *info = fab_sim_port(x->r.sim, p->node, p->num);
    ck_assert_uint_eq(info->port_state, state);
    ck_assert_uint_eq(info->phys_state, phys);
}

START_TEST(power_on)
{
    struct lab x = lab_new();
    for (uint32_t p = 0; p < x.f->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(x.f, p);
        if (port->peer != FAB_NONE)
            states_are(&x, p, FAB_STATE_INIT, FAB_PHYS_LINKUP);
        else if (port->num == 0 && fab_fabric_node_is_switch(x.f, port->node))
            states_are(&x, p, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
        ck_assert_uint_eq(fab_sim_port(x.r.sim, port->node, port->num)->lid, 0);
    }
    lab_free(&x);
}
END_TEST

START_TEST(link_states)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer, sw = x.leaf;
    uint8_t num = fab_fabric_port(x.f, up)->num;
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ACTIVE, 0), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_INIT, 0), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, 7, 0), FAB_SMP_BAD_VALUE);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ARMED, 0), 0);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ACTIVE, 0), 0);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ARMED, 0), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_NOP, 0), 0);
    states_are(&x, up, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    /* the state Down makes the link train, which leads to Init at both ends */
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, 0), 0);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

START_TEST(disable_and_enable)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer, sw = x.leaf;
    uint8_t num = fab_fabric_port(x.f, up)->num;
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ARMED, FAB_PHYS_DISABLED),
                     FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, 0, FAB_PHYS_LINKUP), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, FAB_PHYS_DISABLED), 0);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_DISABLED);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    /* the state Down does not enable a disabled port */
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, 0), 0);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_DISABLED);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ARMED, 0), FAB_SMP_BAD_VALUE);
    fab_sim_unlink(x.r.sim, sw, num);
    fab_sim_relink(x.r.sim, sw, num);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    ck_assert_int_eq(set_states(&x, sw, num, 0, FAB_PHYS_POLLING), 0);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

START_TEST(cables)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer, sw = x.leaf;
    uint8_t num = fab_fabric_port(x.f, up)->num, data[FAB_SMP_DATA];
    struct fab_switch_info info;
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, 0), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, 999, 1), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, x.f->node_count, 1), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, (uint8_t)(x.f->nodes[sw].num_ports + 1)),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, 255), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, num), FAB_OK);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, num), FAB_OK);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 1);
    info.port_state_change = 0; /* writing 0 keeps the bit */
    fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 1);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0); /* writing 1 clears the bit */
    fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 0);
    ck_assert_int_eq(
        fab_sim_relink(x.r.sim, fab_fabric_port(x.f, far)->node, fab_fabric_port(x.f, far)->num),
        FAB_OK);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

START_TEST(sleep_and_wake)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer,
             spine = fab_fabric_port(x.f, far)->node;
    uint8_t num = fab_fabric_port(x.f, up)->num, far_num = fab_fabric_port(x.f, far)->num,
            data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(&x, x.leaf, num);
    /* the port sleeps only for a moment, because its peer polls and wakes it */
    ck_assert_int_eq(set_states(&x, x.leaf, num, FAB_STATE_DOWN, FAB_PHYS_SLEEP), 0);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    info.down_default_state = FAB_PHYS_SLEEP;
    info.port_state = info.phys_state = 0;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_PORT_INFO, num, data), 0);
    fab_sim_unlink(x.r.sim, x.leaf, num);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_SLEEP);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    fab_sim_relink(x.r.sim, x.leaf, num);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    /* now the peer sleeps, too, so neither port wakes the other */
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, spine, FAB_ATTR_PORT_INFO, far_num, data), 0);
    fab_sim_unlink(x.r.sim, x.leaf, num);
    fab_sim_relink(x.r.sim, x.leaf, num);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_SLEEP);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_SLEEP);
    ck_assert_int_eq(set_states(&x, x.leaf, num, 0, FAB_PHYS_POLLING), 0);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

/* ---- data packets make Armed ports Active ------------------------------------------------------
 */

START_TEST(data_activates)
{
    struct lab x = lab_managed();
    uint32_t own = fab_fabric_port_id(x.f, x.r.node, x.r.port),
             leaf_port = fab_fabric_port(x.f, own)->peer;
    uint8_t data[FAB_GS_DATA] = {0};
    ck_assert_int_eq(set_states(&x, x.r.node, x.r.port, FAB_STATE_DOWN, 0), 0);
    ck_assert_int_eq(
        set_states(&x, x.leaf, fab_fabric_port(x.f, leaf_port)->num, FAB_STATE_ARMED, 0), 0);
    ck_assert_int_eq(set_states(&x, x.r.node, x.r.port, FAB_STATE_ARMED, 0), 0);
    /* both ports are only Armed, so they do not carry this MAD */
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, 1, 1, 0, 0, data), -1);
    ck_assert_int_eq(set_states(&x, x.r.node, x.r.port, FAB_STATE_ACTIVE, 0), 0);
    states_are(&x, leaf_port, FAB_STATE_ARMED, FAB_PHYS_LINKUP);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, 1, 1, 0, 0, data), 0);
    states_are(&x, leaf_port, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

/* ---- width and speed ------------------------------------------------------------------------- */

static int enable(struct lab *x, uint32_t node, uint8_t port, uint8_t widths, uint8_t speeds,
                  uint8_t ext_speeds)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(x, node, port);
    info.width_enabled = widths;
    info.speed_enabled = speeds;
    info.speed_ext_enabled = ext_speeds;
    info.port_state = FAB_STATE_DOWN; /* makes the link train with the new modes */
    info.phys_state = FAB_PHYS_POLLING;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    return set(x, node, FAB_ATTR_PORT_INFO, port, data);
}

START_TEST(both_ends_agree)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = fab_fabric_port(x.f, up)->peer,
             spine = fab_fabric_port(x.f, far)->node;
    uint8_t num = fab_fabric_port(x.f, up)->num, far_num = fab_fabric_port(x.f, far)->num;
    const struct fab_port_info *near_info = fab_sim_port(x.r.sim, x.leaf, num),
                               *far_info = fab_sim_port(x.r.sim, spine, far_num);
    ck_assert_uint_eq(fab_wire_link_rate(near_info), 100000); /* 4x EDR */
    ck_assert_int_eq(enable(&x, x.leaf, num, 1, 7, 3), 0);
    ck_assert_uint_eq(fab_wire_link_rate(near_info), 25000); /* 1x EDR */
    ck_assert_uint_eq(fab_wire_link_rate(far_info), 25000);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    ck_assert_int_eq(enable(&x, spine, far_num, 3, 7, 1), 0);
    ck_assert_uint_eq(fab_wire_link_width(near_info), 1);
    ck_assert_str_eq(fab_wire_link_speed(near_info), "FDR");
    /* the leaf enables EDR, and the spine FDR; QDR is the best speed that both enable */
    ck_assert_int_eq(enable(&x, x.leaf, num, 3, 7, 2), 0);
    ck_assert_uint_eq(fab_wire_link_rate(far_info), 40000);
    ck_assert_int_eq(enable(&x, spine, far_num, 2, 7, 3), 0);
    ck_assert_uint_eq(fab_wire_link_rate(near_info), 100000);
    /* width 12x, which the port does not support */
    ck_assert_int_eq(enable(&x, x.leaf, num, 8, 7, 3), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(enable(&x, x.leaf, num, 1, 7, 3),
                     /* only 1x is enabled here, and only 4x at the peer, so the link stays down */
                     0);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    ck_assert_int_eq(enable(&x, x.leaf, num, 0xff, 15, 3), 0);
    ck_assert_uint_eq(fab_wire_link_rate(near_info), 100000);
    lab_free(&x);
}
END_TEST

/* A link that was degraded by fab_sim_degrade() stays degraded, even if the node at one end is
 * switched off and on. */
START_TEST(degraded_for_good)
{
    struct lab x = lab_new();
    const struct fab_port_info *info = fab_sim_port(x.r.sim, x.leaf, x.up);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 2, "DDR"), FAB_OK);
    /* the limit is 2x, but the ports have only 1x and 4x */
    ck_assert_uint_eq(fab_wire_link_width(info), 1);
    ck_assert_str_eq(fab_wire_link_speed(info), "DDR");
    ck_assert_int_eq(fab_sim_power_off(x.r.sim, x.leaf), FAB_OK);
    ck_assert_int_eq(fab_sim_power_on(x.r.sim, x.leaf, 0, 0), FAB_OK);
    ck_assert_uint_eq(info->port_state, FAB_STATE_INIT);
    ck_assert_str_eq(fab_wire_link_speed(info), "DDR");
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 0, NULL), FAB_OK);
    ck_assert_uint_eq(fab_wire_link_rate(info), 100000);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_links");
    TCase *c = tcase_create("sim_links");
    tcase_add_test(c, power_on);
    tcase_add_test(c, link_states);
    tcase_add_test(c, disable_and_enable);
    tcase_add_test(c, cables);
    tcase_add_test(c, sleep_and_wake);
    tcase_add_test(c, data_activates);
    tcase_add_test(c, both_ends_agree);
    tcase_add_test(c, degraded_for_good);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
