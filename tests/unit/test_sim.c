/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric. Devices must answer as IBA chapter 14 specifies, and no MAD may do harm.
 * test_sim_links.c tests the links.
 */
#include "libfabmgr/sim/device.h"
#include "tests/unit/sim_lab.h"

/* ---- attributes ------------------------------------------------------------------------------ */

START_TEST(what_is_refused)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    uint32_t sw = x.leaf, host = x.r.node;
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_MLNX_EXT_PORT_INFO, 1, data),
                     0); /* the attribute shows FDR10, which the device does not support */
    ck_assert_uint_eq(data[15], 0);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_MLNX_EXT_PORT_INFO, 200, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_VENDOR_DIAG, 0, data), 0);
    ck_assert_uint_eq(fab_base_get_be16(data), 0); /* number of the next page: there is none */
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_VENDOR_DIAG, 1, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_VENDOR_DIAG, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_RFT, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LED_INFO, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, sw, 0x0077, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_NODE_INFO, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_NODE_DESC, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, host, FAB_ATTR_SWITCH_INFO, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, host, FAB_ATTR_LFT, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, host, FAB_ATTR_MFT, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_PORT_INFO, 200, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_PORT_INFO, 0x100, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LFT, 768, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LFT, 0xffffffff, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_MFT, 0xffffffff, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_PKEY_TABLE, 0x00ff0000, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_SL2VL, 0xffff, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_VLARB, 1, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, host, FAB_ATTR_GUID_INFO, 0xffffffff, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(drive_smp(&x.r, &x.paths[sw], 0x15, FAB_ATTR_NODE_INFO, 0, data), -1);
    lab_free(&x);
}
END_TEST

START_TEST(set_is_all_or_nothing)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(&x, x.r.node, x.r.port);
    info.lid = 0xc000; /* a multicast LID, which no port can have */
    info.sm_lid = 5;
    info.port_state = info.phys_state = 0;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(port_info(&x, x.r.node, x.r.port).sm_lid, 0);
    info.lid = 0xbfff;
    info.lmc = 1; /* with LMC 1, the second LID would be a multicast LID */
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    info.lmc = 0;
    info.op_vls = 15;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(port_info(&x, x.r.node, x.r.port).lid, 0);
    info.op_vls = 1;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), 0);
    info = port_info(&x, x.r.node, x.r.port);
    ck_assert_uint_eq(info.lid, 0xbfff);
    ck_assert_uint_eq(info.sm_lid, 5);
    ck_assert_uint_eq(info.op_vls, 1);
    lab_free(&x);
}
END_TEST

static void kept(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, size_t len)
{
    uint8_t data[FAB_SMP_DATA], back[FAB_SMP_DATA];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + mod);
    ck_assert_int_eq(set(x, node, attr, mod, data), 0);
    ck_assert_int_eq(get(x, node, attr, mod, back), 0);
    ck_assert_int_eq(memcmp(data, back, len), 0);
}

START_TEST(tables_are_kept)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    uint32_t sw = x.leaf;
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LFT, 3, data), 0);
    ck_assert_uint_eq(data[0], 0xff);
    ck_assert_int_eq(get(&x, x.r.node, FAB_ATTR_PKEY_TABLE, 0, data), 0);
    ck_assert_uint_eq(fab_base_get_be16(data), 0xffff);
    ck_assert_uint_eq(fab_base_get_be16(data + 2), 0);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_SL2VL, 0x0102, data), 0);
    ck_assert_uint_eq(data[0], 0x01);
    kept(&x, sw, FAB_ATTR_LFT, 0, 64);
    kept(&x, sw, FAB_ATTR_LFT, 3, 64);
    kept(&x, sw, FAB_ATTR_LFT, 767, 64);
    kept(&x, sw, FAB_ATTR_MFT, 2, 64);
    kept(&x, sw, FAB_ATTR_SL2VL, 0x0102, 8);
    kept(&x, sw, FAB_ATTR_SL2VL, 0x0201, 8);
    kept(&x, sw, FAB_ATTR_VLARB, 0x00010001, 64);
    kept(&x, sw, FAB_ATTR_PKEY_TABLE, 0x00010000, 64);
    kept(&x, x.r.node, FAB_ATTR_PKEY_TABLE, 1, 64);
    kept(&x, x.r.node, FAB_ATTR_SL2VL, 0, 8);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LFT, 1, data), 0);
    ck_assert_uint_eq(data[5], 0xff);
    lab_free(&x);
}
END_TEST

static void assert_map(struct lab *x, uint32_t node, uint32_t mod, uint8_t first)
{
    uint8_t data[FAB_SMP_DATA];
    ck_assert_int_eq(get(x, node, FAB_ATTR_SL2VL, mod, data), 0);
    ck_assert_uint_eq(data[0], first);
}

/* A write of an SL-to-VL table can be for one pair of ports or for many. Each pair keeps the table
 * of the last write that included it. */
START_TEST(lanes_are_set_for_many_ports_at_once)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA] = {0x11};
    uint32_t sw = x.leaf;
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x0102, data), 0);
    data[0] = 0x22;
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x30000, data), 0);
    assert_map(&x, sw, 0x0102, 0x22);
    assert_map(&x, sw, 0x0001, 0x22);
    data[0] = 0x33; /* for all pairs with output port 2 */
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x20002, data), 0);
    assert_map(&x, sw, 0x0102, 0x33);
    assert_map(&x, sw, 0x0302, 0x33);
    assert_map(&x, sw, 0x0201, 0x22);
    data[0] = 0x44; /* for all pairs with input port 3 */
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x10300, data), 0);
    assert_map(&x, sw, 0x0302, 0x44);
    assert_map(&x, sw, 0x0102, 0x33);
    data[0] = 0x55;
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x0302, data), 0);
    assert_map(&x, sw, 0x0302, 0x55);
    assert_map(&x, sw, 0x0301, 0x44);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_SL2VL, 0x30000, data), FAB_SMP_BAD_VALUE);
    lab_free(&x);
}
END_TEST

/* A device must ignore entries beyond its capacity, even within a block. */
START_TEST(tables_have_ends)
{
    struct lab x = lab_new();
    static const struct {
        uint16_t attr;
        bool host;
        uint32_t mod;
        size_t first, used;
    } ends[] = {
        /* the low-priority table has 8 entries of 2 bytes */
        {FAB_ATTR_VLARB, false, 0x00010001, 0, 16},
        /* the high-priority table has 8 entries of 2 bytes */
        {FAB_ATTR_VLARB, false, 0x00030001, 0, 16},
        {FAB_ATTR_VLARB, true, 0x00010000, 0, 16},
        /* port 0 of a switch has room for 8 P_Keys of 2 bytes */
        {FAB_ATTR_PKEY_TABLE, false, 0, 0, 16},
        {FAB_ATTR_PKEY_TABLE, false, 0x00010000, 0, 64},
        /* an adapter has room for 64 P_Keys, so all of block 1 is kept */
        {FAB_ATTR_PKEY_TABLE, true, 1, 0, 64},
        /* a write does not change entry 0, the port's own GUID */
        {FAB_ATTR_GUID_INFO, true, 0, 8, 64},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        uint8_t data[FAB_SMP_DATA];
        uint32_t node = ends[i].host ? x.r.node : x.leaf;
        memset(data, 0x5a, sizeof data);
        ck_assert_int_eq(set(&x, node, ends[i].attr, ends[i].mod, data), 0);
        ck_assert_int_eq(get(&x, node, ends[i].attr, ends[i].mod, data), 0);
        for (size_t b = ends[i].first; b < sizeof data; b++)
            ck_assert_msg(data[b] == (b < ends[i].used ? 0x5a : 0), "%zu: byte %zu", i, b);
        ck_assert_uint_eq(data[0] == 0x5a, ends[i].first == 0);
    }
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_VLARB, 0x00020001, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_VLARB, 0x00040001, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_VLARB, 0x00010000, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_PKEY_TABLE, 1, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, x.r.node, FAB_ATTR_PKEY_TABLE, 2, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, x.r.node, FAB_ATTR_GUID_INFO, 1, data), FAB_SMP_BAD_VALUE);
    lab_free(&x);
}
END_TEST

START_TEST(multicast_tables_have_positions)
{
    /* a position is for 16 ports, so 42 ports have the positions 0 to 2 */
    struct fab_fabric *f = leaf_spine(2, 2, 40);
    struct lab x = {.f = f};
    ck_assert_int_eq(fab_sim_new(f, 1, &x.r.sim), FAB_OK);
    drive_sit(&x.r);
    x.leaf = fab_fabric_peer_node(f, fab_fabric_port_id(f, x.r.node, x.r.port));
    const struct fab_path path = {.hops = 1, .port = {0, x.r.port}};
    uint8_t data[FAB_SMP_DATA];
    for (uint32_t position = 0; position < 16; position++) {
        memset(data, (int)position + 1, sizeof data);
        int status =
            drive_smp(&x.r, &path, FAB_METHOD_SET, FAB_ATTR_MFT, position << 28 | 31, data);
        ck_assert_int_eq(status, position <= 2 ? 0 : FAB_SMP_BAD_VALUE);
    }
    for (uint32_t position = 0; position <= 2; position++) {
        ck_assert_int_eq(
            drive_smp(&x.r, &path, FAB_METHOD_GET, FAB_ATTR_MFT, position << 28 | 31, data), 0);
        ck_assert_uint_eq(data[63], position + 1);
    }
    ck_assert_int_eq(drive_smp(&x.r, &path, FAB_METHOD_GET, FAB_ATTR_MFT, 32, data),
                     FAB_SMP_BAD_VALUE); /* block 31 is the last one of an MFT with 0x400 entries */
    fab_sim_free(x.r.sim);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(lamps)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA] = {0xff, 0xff};
    x.r.sim->ports[fab_fabric_port_id(x.f, x.leaf, 0)].info.cap_mask |= CAP_LED_INFO;
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_LED_INFO, 3, data), 0);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_LED_INFO, 3, data), 0);
    ck_assert_uint_eq(fab_base_get_be16(data), 0x8000);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_LED_INFO, 2, data), 0);
    ck_assert_uint_eq(data[0], 0);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_LED_INFO, 200, data), FAB_SMP_BAD_VALUE);
    lab_free(&x);
}
END_TEST

START_TEST(management_keys)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(&x, x.leaf, 0);
    info.m_key = 0x1234;
    info.m_key_protect = 1;
    info.port_state = info.phys_state = 0;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_PORT_INFO, 0, data), 0);
    ck_assert_uint_eq(port_info(&x, x.leaf, 0).m_key, 0); /* a reader without the M_Key sees 0 */
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.leaf, 0)->m_key, 0x1234);
    ck_assert_int_eq(set(&x, x.leaf, FAB_ATTR_PORT_INFO, 0, data), -1);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.leaf, 0)->m_key_violations, 1);

    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .m_key = 0x1234,
                          .path = x.paths[x.leaf]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    info.m_key_protect = 2;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), 1);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NODE_INFO, 0, data), -1);
    lab_free(&x);
}
END_TEST

/* ---- nodes by GUID and name ---------------------------------------------------------------- */

START_TEST(finding)
{
    struct lab x = lab_new();
    char text[32];
    uint32_t node;
    snprintf(text, sizeof text, "0x%" PRIx64, x.f->nodes[3].guid);
    ck_assert_int_eq(fab_sim_find(x.r.sim, text, &node), FAB_OK);
    ck_assert_uint_eq(node, 3);
    ck_assert_int_eq(fab_sim_find(x.r.sim, x.f->nodes[5].desc, &node), FAB_OK);
    ck_assert_uint_eq(node, 5);
    ck_assert_int_eq(fab_sim_find(x.r.sim, "nobody", &node), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_find(x.r.sim, "", &node), FAB_E_NOT_FOUND);
    lab_free(&x);
}
END_TEST

/* ---- hostile --------------------------------------------------------------------------------- */

static void hostile_mad(struct fab_prng *p, uint8_t mad[FAB_MAD_SIZE])
{
    static const uint8_t classes[] = {0x01, 0x81, 0x81, 0x81, 0x03, 0x04};
    static const uint8_t methods[] = {1, 2, 2, 2, 5, 7, 0x81};
    for (size_t i = 0; i < FAB_MAD_SIZE; i++)
        mad[i] = (uint8_t)fab_base_prng_next(p);
    mad[0] = mad[2] = 1;
    mad[1] = classes[fab_base_prng_below(p, sizeof classes)];
    mad[3] = methods[fab_base_prng_below(p, sizeof methods)];
    mad[4] &= 0x80;
    mad[6] = (uint8_t)fab_base_prng_below(p, 3);
    mad[7] = (uint8_t)fab_base_prng_below(p, 4);
    mad[16] = 0;
    mad[17] = (uint8_t)(0x10 + fab_base_prng_below(p, 17));
    memset(mad + 20, 0, 4);
    mad[20 + fab_base_prng_below(p, 4)] = (uint8_t)fab_base_prng_next(p);
    memset(mad + 32, 0xff, 4);
    for (size_t i = 0; i < 8; i++) {
        mad[128 + i] = (uint8_t)fab_base_prng_below(p, 6);
        mad[192 + i] = (uint8_t)fab_base_prng_below(p, 6);
    }
}

START_TEST(hostile_mads)
{
    uint64_t seed = test_seed("hostile MADs", 31);
    struct lab x = lab_managed();
    struct fab_prng p;
    struct fab_sim_delivery mail;
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    unsigned answered = 0;
    fab_base_prng_init(&p, seed);
    fab_sim_attach(x.r.sim, x.r.node, x.r.port, true);
    for (unsigned i = 0; i < 200000; i++) {
        hostile_mad(&p, mad);
        uint16_t dlid = (uint16_t)fab_base_prng_below(&p, 12);
        int got = fab_sim_send(x.r.sim, x.r.node, x.r.port, dlid, mad, reply);
        ck_assert_int_le(got, 1);
        answered += got == 1;
        /* brings the fabric up again, because hostile Sets may have disconnected parts of it */
        if (i % 1000 == 0)
            drive_program(&x.r, x.found);
        while (i % 7 == 0 && fab_sim_receive(x.r.sim, &mail)) {
        }
    }
    ck_assert_uint_gt(answered, 1000);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim");
    TCase *c = tcase_create("sim");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, what_is_refused);
    tcase_add_test(c, set_is_all_or_nothing);
    tcase_add_test(c, tables_are_kept);
    tcase_add_test(c, lanes_are_set_for_many_ports_at_once);
    tcase_add_test(c, tables_have_ends);
    tcase_add_test(c, multicast_tables_have_positions);
    tcase_add_test(c, lamps);
    tcase_add_test(c, management_keys);
    tcase_add_test(c, finding);
    tcase_add_test(c, hostile_mads);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
