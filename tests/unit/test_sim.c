/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric: devices answer as IBA chapter 14 says, links have states, MADs go where the
 * tables send them and are lost where tables lose them, traps come, and nothing that anybody sends
 * does harm.
 */
#include "libfabmgr/sim/sim.h"

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "tests/support/drive.h"
#include "tests/unit/fabrics.h"

/* Two leaves, two spines, two hosts a leaf; we sit on the first host. */
struct lab {
    struct fab_fabric *f, *found;
    struct drive r;
    struct fab_path *paths;
    uint32_t self_switch; /* our leaf */
};

static struct lab lab_new(void)
{
    struct lab x = {.f = leaf_spine(2, 2, 2)};
    ck_assert_int_eq(fab_sim_new(x.f, 1, &x.r.sim), FAB_OK);
    drive_sit(&x.r);
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    ck_assert_uint_eq(x.found->node_count, x.f->node_count); /* so ids are the same */
    ck_assert_int_eq(fab_paths_new(x.found, &x.paths), FAB_OK);
    x.self_switch = fab_peer_node(x.f, fab_port_id(x.f, x.r.node, x.r.port));
    return x;
}

static struct lab lab_managed(void)
{
    struct lab x = lab_new();
    ck_assert_int_eq(drive_program(&x.r, x.found), FAB_OK);
    return x;
}

static void lab_free(struct lab *x)
{
    free(x->paths);
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->f);
    fab_fabric_unref(x->found);
}

static int get(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data)
{
    memset(data, 0, FAB_SMP_DATA);
    return drive_smp(&x->r, &x->paths[node], FAB_METHOD_GET, attr, mod, data);
}
static int set(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data)
{
    return drive_smp(&x->r, &x->paths[node], FAB_METHOD_SET, attr, mod, data);
}

static struct fab_port_info port_info(struct lab *x, uint32_t node, uint8_t port)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info;
    ck_assert_int_eq(get(x, node, FAB_ATTR_PORT_INFO, port, data), 0);
    ck_assert_int_eq(fab_attr_unpack(&fab_attr_port_info, data, sizeof data, &info), FAB_OK);
    return info;
}

static int set_states(struct lab *x, uint32_t node, uint8_t port, uint8_t state, uint8_t phys)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(x, node, port);
    info.port_state = state;
    info.phys_state = phys;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    return set(x, node, FAB_ATTR_PORT_INFO, port, data);
}

static void states_are(const struct lab *x, uint32_t port, uint8_t state, uint8_t phys)
{
    const struct fab_port *p = &x->f->ports[port];
    const struct fab_port_info *info = fab_sim_port(x->r.sim, p->node, p->num);
    ck_assert_uint_eq(info->port_state, state);
    ck_assert_uint_eq(info->phys_state, phys);
}

/* A cable from our leaf to a spine. */
static uint32_t uplink(const struct lab *x)
{
    uint32_t first = x->f->nodes[x->self_switch].first_port;
    for (uint32_t p = first + 1; p <= first + x->f->nodes[x->self_switch].num_ports; p++)
        if (fab_peer_node(x->f, p) < x->f->switch_count)
            return p;
    ck_abort();
    return 0;
}

/* ---- states -----------------------------------------------------------------------------------
 */

START_TEST(power_on)
{
    struct lab x = lab_new();
    for (uint32_t p = 0; p < x.f->port_count; p++) {
        const struct fab_port *port = &x.f->ports[p];
        if (port->peer != FAB_NONE)
            states_are(&x, p, FAB_STATE_INIT, FAB_PHYS_LINKUP);
        else if (port->num == 0 && fab_node_is_switch(x.f, port->node))
            states_are(&x, p, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
        ck_assert_uint_eq(fab_sim_port(x.r.sim, port->node, port->num)->lid, 0);
    }
    lab_free(&x);
}
END_TEST

START_TEST(link_states)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = x.f->ports[up].peer, sw = x.self_switch;
    uint8_t num = x.f->ports[up].num;
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
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, 0), 0); /* trains again */
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

START_TEST(disable_and_enable)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x), far = x.f->ports[up].peer, sw = x.self_switch;
    uint8_t num = x.f->ports[up].num;
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_ARMED, FAB_PHYS_DISABLED),
                     FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, 0, FAB_PHYS_LINKUP), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, FAB_PHYS_DISABLED), 0);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_DISABLED);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    ck_assert_int_eq(set_states(&x, sw, num, FAB_STATE_DOWN, 0), 0); /* stays disabled */
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
    uint32_t up = uplink(&x), far = x.f->ports[up].peer, sw = x.self_switch;
    uint8_t num = x.f->ports[up].num, data[FAB_SMP_DATA];
    struct fab_switch_info info;
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, 0), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, 999, 1), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, 255), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, num), FAB_OK);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, sw, num), FAB_OK);
    states_are(&x, up, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    states_are(&x, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    fab_attr_unpack(&fab_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 1);
    info.port_state_change = 0; /* zero leaves it */
    fab_attr_pack(&fab_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    fab_attr_unpack(&fab_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 1);
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SWITCH_INFO, 0, data), 0); /* one clears it */
    fab_attr_unpack(&fab_attr_switch_info, data, sizeof data, &info);
    ck_assert_uint_eq(info.port_state_change, 0);
    ck_assert_int_eq(fab_sim_relink(x.r.sim, x.f->ports[far].node, x.f->ports[far].num), FAB_OK);
    states_are(&x, up, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    states_are(&x, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    lab_free(&x);
}
END_TEST

/* ---- attributes -------------------------------------------------------------------------------
 */

START_TEST(what_is_refused)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    uint32_t sw = x.self_switch, host = x.r.node;
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_MLNX_EXT_PORT_INFO, 1, data), 0); /* no FDR10 */
    ck_assert_uint_eq(data[15], 0);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_MLNX_EXT_PORT_INFO, 200, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_VENDOR_DIAG, 0, data), FAB_SMP_BAD_ATTR);
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
    info.lid = 0xc000; /* multicast */
    info.sm_lid = 5;
    info.port_state = info.phys_state = 0;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(port_info(&x, x.r.node, x.r.port).sm_lid, 0);
    info.lid = 0xbfff;
    info.lmc = 1; /* reaches into multicast */
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    info.lmc = 0;
    info.op_vls = 15;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.r.node, FAB_ATTR_PORT_INFO, x.r.port, data), FAB_SMP_BAD_VALUE);
    ck_assert_uint_eq(port_info(&x, x.r.node, x.r.port).lid, 0);
    info.op_vls = 1;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
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
    uint32_t sw = x.self_switch;
    ck_assert_int_eq(get(&x, sw, FAB_ATTR_LFT, 3, data), 0);
    ck_assert_uint_eq(data[0], 0xff);
    ck_assert_int_eq(get(&x, x.r.node, FAB_ATTR_PKEY_TABLE, 0, data), 0);
    ck_assert_uint_eq(fab_be16(data), 0xffff);
    ck_assert_uint_eq(fab_be16(data + 2), 0);
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

/* For each pair of ports the last write counts that was for it, be it for many. */
START_TEST(lanes_are_set_for_many_ports_at_once)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA] = {0x11};
    uint32_t sw = x.self_switch;
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x0102, data), 0);
    data[0] = 0x22;
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x30000, data), 0);
    assert_map(&x, sw, 0x0102, 0x22);
    assert_map(&x, sw, 0x0001, 0x22);
    data[0] = 0x33; /* from all to 2 */
    ck_assert_int_eq(set(&x, sw, FAB_ATTR_SL2VL, 0x20002, data), 0);
    assert_map(&x, sw, 0x0102, 0x33);
    assert_map(&x, sw, 0x0302, 0x33);
    assert_map(&x, sw, 0x0201, 0x22);
    data[0] = 0x44; /* from 3 to all */
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

START_TEST(management_keys)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(&x, x.self_switch, 0);
    info.m_key = 0x1234;
    info.m_key_protect = 1;
    info.port_state = info.phys_state = 0;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.self_switch, FAB_ATTR_PORT_INFO, 0, data), 0);
    ck_assert_uint_eq(port_info(&x, x.self_switch, 0).m_key, 0); /* hidden */
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.self_switch, 0)->m_key, 0x1234);
    ck_assert_int_eq(set(&x, x.self_switch, FAB_ATTR_PORT_INFO, 0, data), -1);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.self_switch, 0)->m_key_violations, 1);

    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .m_key = 0x1234,
                          .path = x.paths[x.self_switch]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    info.m_key_protect = 2;
    fab_attr_pack(&fab_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(fab_smp_pack(&mad, data, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), 1);
    ck_assert_int_eq(get(&x, x.self_switch, FAB_ATTR_NODE_INFO, 0, data), -1);
    lab_free(&x);
}
END_TEST

/* ---- directed routes --------------------------------------------------------------------------
 */

static int send_directed(struct lab *x, const struct fab_path *path, uint8_t hop_pointer,
                         uint8_t reply[FAB_MAD_SIZE])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .tid = 0x1122334455667788,
                          .hop_pointer = hop_pointer,
                          .path = *path};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_smp_pack(&mad, NULL, bytes), FAB_OK);
    return fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply);
}

START_TEST(directed_routes)
{
    struct lab x = lab_new();
    uint8_t reply[FAB_MAD_SIZE];
    uint32_t up = uplink(&x), far = x.f->ports[up].peer;
    struct fab_path path = {.hops = 2, .port = {0, x.r.port, x.f->ports[up].num}};
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 1);
    ck_assert_uint_eq(reply[3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(reply[4], 0x80);                      /* the direction bit */
    ck_assert_uint_eq(reply[6], 0);                         /* hop pointer: back at the start */
    ck_assert_uint_eq(reply[7], 2);                         /* hop count */
    ck_assert_uint_eq(reply[192 + 2], x.f->ports[far].num); /* return path */
    ck_assert_uint_eq(reply[64 + 36], x.f->ports[far].num); /* LocalPortNum */

    ck_assert_int_eq(send_directed(&x, &path, 1, reply), 0); /* already under way */
    path.port[2] = 0;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    path.port[2] = 254;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0);
    path.port[2] = x.f->ports[x.f->ports[fab_port_id(x.f, x.r.node, x.r.port)].peer].num;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 1); /* back to ourselves */
    path.hops = 3;
    path.port[3] = 1;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0); /* adapters pass nothing on */
    path.port[1] = (uint8_t)(x.r.port + 1);
    path.hops = 1;
    ck_assert_int_eq(send_directed(&x, &path, 0, reply), 0); /* not our port */
    lab_free(&x);
}
END_TEST

START_TEST(not_a_mad)
{
    struct lab x = lab_new();
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    fab_smp_pack(&mad, NULL, bytes);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), 1);
    ck_assert_int_eq(fab_sim_send(x.r.sim, 10000, x.r.port, 0, bytes, reply), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, 99, 0, bytes, reply), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, 0, 0, bytes, reply), FAB_E_INVAL);
    bytes[7] = 64; /* hops */
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), FAB_E_FORMAT);
    bytes[7] = 0;
    bytes[0] = 2; /* base version */
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 0, bytes, reply), FAB_E_FORMAT);
    lab_free(&x);
}
END_TEST

/* ---- LID routes -------------------------------------------------------------------------------
 */

static int ask_lid(struct lab *x, uint16_t dlid, uint64_t *ret_guid)
{
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_SMP_LID, .method = FAB_METHOD_GET, .attr_id = FAB_ATTR_NODE_INFO};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_node_info info;
    ck_assert_int_eq(fab_smp_pack(&mad, NULL, bytes), FAB_OK);
    int got = fab_sim_send(x->r.sim, x->r.node, x->r.port, dlid, bytes, reply);
    if (got == 1) {
        fab_attr_unpack(&fab_attr_node_info, reply + 64, FAB_SMP_DATA, &info);
        *ret_guid = info.node_guid;
    }
    return got;
}

static void set_lft_entry(struct lab *x, uint32_t sw, uint32_t lid, uint8_t port)
{
    uint8_t data[FAB_SMP_DATA];
    ck_assert_int_eq(get(x, sw, FAB_ATTR_LFT, lid / 64, data), 0);
    data[lid % 64] = port;
    ck_assert_int_eq(set(x, sw, FAB_ATTR_LFT, lid / 64, data), 0);
}

START_TEST(lids_lead_where_tables_say)
{
    struct lab x = lab_new();
    uint64_t guid = 0;
    ck_assert_int_eq(ask_lid(&x, 1, &guid), 0); /* nobody has LIDs */
    lab_free(&x);
    x = lab_managed();
    for (uint32_t node = 0; node < x.f->node_count; node++) {
        ck_assert_int_eq(ask_lid(&x, (uint16_t)(node + 1), &guid), 1);
        ck_assert_uint_eq(guid, x.f->nodes[node].guid);
    }
    ck_assert_int_eq(ask_lid(&x, 0, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, 500, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, 0xc001, &guid), 0);
    lab_free(&x);
}
END_TEST

/* By LID to a switch, and along a directed route from there (as ibportstate asks). */
START_TEST(directed_routes_from_a_lid)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), far = x.f->ports[up].peer;
    uint16_t ours = (uint16_t)(x.r.node + 1), leaf = (uint16_t)(x.self_switch + 1);
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .dr_slid = ours,
                          .path = {.hops = 1, .port = {0, x.f->ports[up].num}}};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_node_info info;
    ck_assert_int_eq(fab_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, leaf, bytes, reply), 1);
    fab_attr_unpack(&fab_attr_node_info, reply + 64, FAB_SMP_DATA, &info);
    ck_assert_uint_eq(info.node_guid, x.f->nodes[x.f->ports[far].node].guid);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, 500, bytes, reply), 0);
    mad.dr_slid = (uint16_t)(ours + 1); /* the answer goes to somebody else */
    ck_assert_int_eq(fab_smp_pack(&mad, NULL, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, leaf, bytes, reply), 0);
    lab_free(&x);
}
END_TEST

START_TEST(wrong_tables_lose)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), spine = fab_peer_node(x.f, up), top;
    uint16_t lid = (uint16_t)(spine + 1);
    uint64_t guid;
    const uint8_t *lft = fab_sim_lft(x.r.sim, x.self_switch, &top);
    ck_assert_ptr_nonnull(lft);
    ck_assert_uint_eq(top, x.f->node_count);
    uint8_t good = lft[lid],
            home = x.f->ports[x.f->ports[fab_port_id(x.f, x.r.node, x.r.port)].peer].num;
    set_lft_entry(&x, x.self_switch, lid, 0xff);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.self_switch, lid, 0);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.self_switch, lid, 253);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.self_switch, lid, home); /* back to us: not ours */
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    set_lft_entry(&x, x.self_switch, lid, good);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 1);
    /* the way there is good, the way back is not */
    set_lft_entry(&x, spine, x.r.node + 1, 0xff);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    lab_free(&x);
}
END_TEST

START_TEST(loops_and_tops_lose)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), far = x.f->ports[up].peer;
    uint16_t lid = (uint16_t)x.f->node_count; /* the last node's */
    uint8_t data[FAB_SMP_DATA];
    struct fab_switch_info info;
    uint64_t guid;
    set_lft_entry(&x, x.self_switch, lid, x.f->ports[up].num);
    set_lft_entry(&x, x.f->ports[far].node, lid, x.f->ports[far].num);
    ck_assert_int_eq(ask_lid(&x, lid, &guid), 0);
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(lid - 1), &guid), 1);
    get(&x, x.self_switch, FAB_ATTR_SWITCH_INFO, 0, data);
    fab_attr_unpack(&fab_attr_switch_info, data, sizeof data, &info);
    info.linear_fdb_top = (uint16_t)(lid - 2);
    fab_attr_pack(&fab_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.self_switch, FAB_ATTR_SWITCH_INFO, 0, data), 0);
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(lid - 1), &guid), 0);
    info.linear_fdb_top = info.linear_fdb_cap;
    fab_attr_pack(&fab_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(set(&x, x.self_switch, FAB_ATTR_SWITCH_INFO, 0, data), FAB_SMP_BAD_VALUE);
    lab_free(&x);
}
END_TEST

/* Other classes than subnet management need links that are Active. */
START_TEST(data_needs_active_links)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x), spine = fab_peer_node(x.f, up);
    uint8_t mad[FAB_MAD_SIZE] = {1, FAB_CLASS_SA, 2, FAB_METHOD_GET}, reply[FAB_MAD_SIZE];
    struct fab_sim_mail mail;
    uint64_t guid;
    ck_assert_int_eq(fab_sim_attach(x.r.sim, spine, 0, false), FAB_OK);
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(spine + 1), mad, reply),
                     0);
    ck_assert(fab_sim_outbox(x.r.sim, &mail));
    ck_assert_uint_eq(mail.node, spine);
    ck_assert_uint_eq(mail.slid, x.r.node + 1);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    ck_assert_int_eq(set_states(&x, x.self_switch, x.f->ports[up].num, FAB_STATE_DOWN, 0), 0);
    while (fab_sim_outbox(x.r.sim, &mail)) {
    }
    ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(spine + 1), mad, reply),
                     0);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(spine + 1), &guid), 1); /* VL15 passes in Init */
    lab_free(&x);
}
END_TEST

/* ---- managers and traps -----------------------------------------------------------------------
 */

static unsigned traps(struct lab *x, uint16_t number, bool *from)
{
    struct fab_sim_mail mail;
    unsigned count = 0;
    while (fab_sim_outbox(x->r.sim, &mail)) {
        struct fab_notice notice;
        ck_assert_uint_eq(mail.node, x->r.node);
        ck_assert_uint_eq(mail.mad[1], FAB_CLASS_SMP_LID);
        ck_assert_uint_eq(mail.mad[3], FAB_METHOD_TRAP);
        fab_attr_unpack(&fab_attr_notice, mail.mad + 64, FAB_SMP_DATA, &notice);
        ck_assert_uint_eq(notice.trap, number);
        ck_assert_uint_eq(notice.issuer_lid, mail.slid);
        ck_assert_uint_eq(fab_notice_lid(&notice), mail.slid);
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
    uint32_t up = uplink(&x), spine = fab_peer_node(x.f, up);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    fab_sim_unlink(x.r.sim, x.self_switch, x.f->ports[up].num);
    /* the spine's way to us may have been that cable: its trap is then lost */
    unsigned count = traps(&x, 128, from);
    ck_assert_uint_ge(count, 1);
    ck_assert(from[x.self_switch]);
    fab_sim_relink(x.r.sim, x.self_switch, x.f->ports[up].num);
    ck_assert_uint_eq(traps(&x, 128, from), 2);
    ck_assert(from[spine]);
    lab_free(&x);
}
END_TEST

START_TEST(traps_until_repressed)
{
    struct lab x = lab_managed();
    uint32_t up = uplink(&x);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    fab_sim_unlink(x.r.sim, x.self_switch, x.f->ports[up].num);
    fab_sim_relink(x.r.sim, x.self_switch, x.f->ports[up].num);
    traps(&x, 128, NULL);
    ck_assert_uint_eq(fab_sim_repeat(x.r.sim), 2);
    struct fab_sim_mail mail;
    uint8_t reply[FAB_MAD_SIZE];
    while (fab_sim_outbox(x.r.sim, &mail)) {
        mail.mad[3] = FAB_METHOD_TRAP_REPRESS;
        ck_assert_int_eq(fab_sim_send(x.r.sim, x.r.node, x.r.port, mail.slid, mail.mad, reply), 0);
    }
    ck_assert_uint_eq(fab_sim_repeat(x.r.sim), 0);
    lab_free(&x);
}
END_TEST

START_TEST(no_traps_before_there_are_lids)
{
    struct lab x = lab_new();
    uint32_t up = uplink(&x);
    struct fab_sim_mail mail;
    fab_sim_attach(x.r.sim, x.r.node, x.r.port, true);
    fab_sim_unlink(x.r.sim, x.self_switch, x.f->ports[up].num);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    lab_free(&x);
}
END_TEST

START_TEST(is_sm)
{
    struct lab x = lab_managed();
    uint32_t other = x.f->node_count - 1;
    ck_assert_uint_ne(other, x.r.node);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, true), FAB_OK);
    ck_assert(port_info(&x, other, 1).cap_mask & 2);
    ck_assert_uint_eq(traps(&x, 144, NULL), 1);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, true), FAB_OK);
    ck_assert_uint_eq(traps(&x, 144, NULL), 0);
    fab_sim_detach(x.r.sim, other, 1);
    ck_assert(!(port_info(&x, other, 1).cap_mask & 2));
    ck_assert_uint_eq(traps(&x, 144, NULL), 1);
    lab_free(&x);
}
END_TEST

/* SMInfo goes to the manager, and its answer comes back, by directed route and by LID. */
static void sm_info(struct lab *x, uint8_t mgmt_class, uint32_t other)
{
    struct fab_mad mad = {.mgmt_class = mgmt_class,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_SM_INFO,
                          .tid = 77,
                          .path = x->paths[other]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], data[FAB_SMP_DATA] = {42};
    struct fab_sim_mail mail;
    bool directed = mgmt_class == FAB_CLASS_SMP_DIRECTED;
    fab_smp_pack(&mad, NULL, bytes);
    uint16_t dlid = directed ? 0xffff : (uint16_t)(other + 1);
    ck_assert_int_eq(fab_sim_send(x->r.sim, x->r.node, x->r.port, dlid, bytes, reply), 0);
    ck_assert(fab_sim_outbox(x->r.sim, &mail));
    ck_assert_uint_eq(mail.node, other);
    ck_assert_int_eq(fab_smp_answer(mail.mad, 0, data, bytes), FAB_OK);
    ck_assert_int_eq(
        fab_sim_send(x->r.sim, mail.node, mail.port, directed ? 0xffff : mail.slid, bytes, reply),
        0);
    ck_assert(fab_sim_outbox(x->r.sim, &mail));
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
    struct fab_sim_mail mail;
    ck_assert_int_eq(get(&x, other, FAB_ATTR_SM_INFO, 0, data), -1); /* nobody there */
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, other, 1, false), FAB_OK);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    sm_info(&x, FAB_CLASS_SMP_DIRECTED, other);
    sm_info(&x, FAB_CLASS_SMP_LID, other);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, 999, 0, true), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, 77, true), FAB_E_INVAL);
    lab_free(&x);
}
END_TEST

/* ---- faults -----------------------------------------------------------------------------------
 */

START_TEST(silence_and_loss)
{
    struct lab x = lab_managed();
    uint32_t spine = fab_peer_node(x.f, uplink(&x));
    uint8_t data[FAB_SMP_DATA];
    uint64_t guid;
    ck_assert_int_eq(fab_sim_silence(x.r.sim, 999, true), FAB_E_NOT_FOUND);
    fab_sim_silence(x.r.sim, x.self_switch, true);
    ck_assert_int_eq(get(&x, x.self_switch, FAB_ATTR_NODE_INFO, 0, data), -1);
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(spine + 1), &guid), 1); /* it still forwards */
    fab_sim_silence(x.r.sim, x.self_switch, false);
    ck_assert_int_eq(get(&x, x.self_switch, FAB_ATTR_NODE_INFO, 0, data), 0);
    fab_sim_loss(x.r.sim, 0.5);
    unsigned answered = 0;
    for (unsigned i = 0; i < 1000; i++)
        answered += get(&x, spine, FAB_ATTR_NODE_INFO, 0, data) == 0;
    ck_assert_uint_gt(answered, 150); /* a quarter: both ways are lossy */
    ck_assert_uint_lt(answered, 350);
    lab_free(&x);
}
END_TEST

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

/* ---- hostile ----------------------------------------------------------------------------------
 */

static void hostile_mad(struct fab_prng *p, uint8_t mad[FAB_MAD_SIZE])
{
    static const uint8_t classes[] = {0x01, 0x81, 0x81, 0x81, 0x03, 0x04};
    static const uint8_t methods[] = {1, 2, 2, 2, 5, 7, 0x81};
    for (size_t i = 0; i < FAB_MAD_SIZE; i++)
        mad[i] = (uint8_t)fab_prng_next(p);
    mad[0] = mad[2] = 1;
    mad[1] = classes[fab_prng_below(p, sizeof classes)];
    mad[3] = methods[fab_prng_below(p, sizeof methods)];
    mad[4] &= 0x80;
    mad[6] = (uint8_t)fab_prng_below(p, 3);
    mad[7] = (uint8_t)fab_prng_below(p, 4);
    mad[16] = 0;
    mad[17] = (uint8_t)(0x10 + fab_prng_below(p, 17));
    memset(mad + 20, 0, 4);
    mad[20 + fab_prng_below(p, 4)] = (uint8_t)fab_prng_next(p);
    memset(mad + 32, 0xff, 4);
    for (size_t i = 0; i < 8; i++) {
        mad[128 + i] = (uint8_t)fab_prng_below(p, 6);
        mad[192 + i] = (uint8_t)fab_prng_below(p, 6);
    }
}

START_TEST(hostile_mads)
{
    uint64_t seed = test_seed("hostile MADs", 31);
    struct lab x = lab_managed();
    struct fab_prng p;
    struct fab_sim_mail mail;
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    unsigned answered = 0;
    fab_prng_init(&p, seed);
    fab_sim_attach(x.r.sim, x.r.node, x.r.port, true);
    for (unsigned i = 0; i < 200000; i++) {
        hostile_mad(&p, mad);
        uint16_t dlid = (uint16_t)fab_prng_below(&p, 12);
        int got = fab_sim_send(x.r.sim, x.r.node, x.r.port, dlid, mad, reply);
        ck_assert_int_le(got, 1);
        answered += got == 1;
        if (i % 1000 == 0) /* Sets may have cut the fabric to pieces */
            drive_program(&x.r, x.found);
        while (i % 7 == 0 && fab_sim_outbox(x.r.sim, &mail)) {
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
    tcase_add_test(c, power_on);
    tcase_add_test(c, link_states);
    tcase_add_test(c, disable_and_enable);
    tcase_add_test(c, cables);
    tcase_add_test(c, what_is_refused);
    tcase_add_test(c, set_is_all_or_nothing);
    tcase_add_test(c, tables_are_kept);
    tcase_add_test(c, lanes_are_set_for_many_ports_at_once);
    tcase_add_test(c, management_keys);
    tcase_add_test(c, directed_routes);
    tcase_add_test(c, not_a_mad);
    tcase_add_test(c, lids_lead_where_tables_say);
    tcase_add_test(c, directed_routes_from_a_lid);
    tcase_add_test(c, wrong_tables_lose);
    tcase_add_test(c, loops_and_tops_lose);
    tcase_add_test(c, data_needs_active_links);
    tcase_add_test(c, traps_of_ports);
    tcase_add_test(c, traps_until_repressed);
    tcase_add_test(c, no_traps_before_there_are_lids);
    tcase_add_test(c, is_sm);
    tcase_add_test(c, sm_info_goes_to_the_manager);
    tcase_add_test(c, silence_and_loss);
    tcase_add_test(c, finding);
    tcase_add_test(c, hostile_mads);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
