/* SPDX-License-Identifier: BSD-3-Clause */
/* See sim_lab.h. */
#include "tests/unit/sim_lab.h"

struct lab lab_new(void)
{
    struct lab x = {.f = leaf_spine(2, 2, 2)};
    ck_assert_int_eq(fab_sim_new(x.f, 1, &x.r.sim), FAB_OK);
    drive_sit(&x.r);
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    /* Nodes are sorted by GUID. So if both fabrics have as many nodes, a node has the same id in
     * both. */
    ck_assert_uint_eq(x.found->node_count, x.f->node_count);
    ck_assert_int_eq(fab_discover_paths(x.found, &x.paths), FAB_OK);
    x.leaf = fab_fabric_peer_node(x.f, fab_fabric_port_id(x.f, x.r.node, x.r.port));
    for (uint8_t p = 1; p <= x.f->nodes[x.leaf].num_ports; p++)
        if (fab_fabric_peer_node(x.f, fab_fabric_port_id(x.f, x.leaf, p)) < x.f->switch_count)
            x.up = p;
    x.spine = fab_fabric_peer_node(x.f, fab_fabric_port_id(x.f, x.leaf, x.up));
    return x;
}

struct lab lab_managed(void)
{
    struct lab x = lab_new();
    ck_assert_int_eq(drive_program(&x.r, x.found), FAB_OK);
    return x;
}

struct lab lab_manager(void)
{
    struct lab x = lab_managed();
    struct fab_sim_delivery mail;
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    while (fab_sim_receive(x.r.sim, &mail)) {
    }
    return x;
}

void lab_free(struct lab *x)
{
    free(x->paths);
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->f);
    fab_fabric_unref(x->found);
}

uint32_t uplink(const struct lab *x)
{
    uint32_t first = x->f->nodes[x->leaf].first_port;
    for (uint32_t p = first + 1; p <= first + x->f->nodes[x->leaf].num_ports; p++)
        if (fab_fabric_peer_node(x->f, p) < x->f->switch_count)
            return p;
    ck_abort();
    return 0;
}

int get(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data)
{
    memset(data, 0, FAB_SMP_DATA);
    return drive_smp(&x->r, &x->paths[node], FAB_METHOD_GET, attr, mod, data);
}

int set(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data)
{
    return drive_smp(&x->r, &x->paths[node], FAB_METHOD_SET, attr, mod, data);
}

struct fab_port_info port_info(struct lab *x, uint32_t node, uint8_t port)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info;
    ck_assert_int_eq(get(x, node, FAB_ATTR_PORT_INFO, port, data), 0);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &info),
                     FAB_OK);
    return info;
}

int set_states(struct lab *x, uint32_t node, uint8_t port, uint8_t state, uint8_t phys)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info = port_info(x, node, port);
    info.port_state = state;
    info.phys_state = phys;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    return set(x, node, FAB_ATTR_PORT_INFO, port, data);
}

int ask_lid(struct lab *x, uint16_t dlid, uint64_t *ret_guid)
{
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_SMP_LID, .method = FAB_METHOD_GET, .attr_id = FAB_ATTR_NODE_INFO};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_node_info info;
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    int got = fab_sim_send(x->r.sim, x->r.node, x->r.port, dlid, bytes, reply);
    if (got == 1) {
        fab_wire_attr_unpack(&fab_wire_attr_node_info, reply + 64, FAB_SMP_DATA, &info);
        *ret_guid = info.node_guid;
    }
    return got;
}

int gs(struct lab *x, uint32_t node, uint8_t mgmt_class, uint8_t method, uint16_t attr,
       uint32_t mod, uint64_t key, uint8_t *data)
{
    struct fab_mad mad = {.mgmt_class = mgmt_class,
                          .class_version = mgmt_class == FAB_CLASS_CC ? 2 : 1,
                          .method = method,
                          .attr_id = attr,
                          .attr_mod = mod};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], payload[FAB_GMP_DATA] = {0};
    fab_base_put_be64(payload, key);
    memcpy(payload + 40, data, FAB_GS_DATA);
    ck_assert_int_eq(fab_wire_gmp_pack(&mad, payload, sizeof payload, bytes), FAB_OK);
    if (fab_sim_send(x->r.sim, x->r.node, x->r.port, (uint16_t)(node + 1), bytes, reply) != 1)
        return -1;
    ck_assert_uint_eq(reply[3], FAB_METHOD_GET_RESP);
    memcpy(data, reply + 64, FAB_GS_DATA);
    return fab_base_get_be16(reply + 4);
}

unsigned traps(struct lab *x, uint16_t trap, struct fab_notice *ret,
               struct fab_sim_delivery *ret_mail)
{
    struct fab_sim_delivery mail;
    struct fab_notice notice;
    unsigned count = 0;
    while (fab_sim_receive(x->r.sim, &mail)) {
        if (mail.mad[3] != FAB_METHOD_TRAP)
            continue;
        ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_notice, mail.mad + 64, 64, &notice),
                         FAB_OK);
        if (notice.trap != trap)
            continue;
        count++;
        if (ret)
            *ret = notice;
        if (ret_mail)
            *ret_mail = mail;
    }
    return count;
}

void repress(struct lab *x, struct fab_sim_delivery *mail)
{
    uint8_t reply[FAB_MAD_SIZE];
    mail->mad[3] = FAB_METHOD_TRAP_REPRESS;
    ck_assert_int_eq(fab_sim_send(x->r.sim, x->r.node, x->r.port, mail->slid, mail->mad, reply), 0);
}
