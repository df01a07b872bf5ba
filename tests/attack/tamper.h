/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of the scrub. Simulates a host that knows the M_Key, and that changes tables
 * and settings of devices chosen at random. The manager has an M_Key, two traffic classes,
 * multicast groups, and partitions that switches enforce. It makes no periodic heavy sweeps,
 * because they would restore some settings before the scrub finds the change.
 */
#ifndef TESTS_ATTACK_TAMPER_H
#define TESTS_ATTACK_TAMPER_H

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/trees.h"
#include "tests/sim/lab.h"

/* the hostile host; the manager runs on host-0001 */
#define ROGUE "host-0013"
#define M_KEY UINT64_C(0xfeed)

enum { AT_DATA = 64, AT_STATUS = 4 };

/* ---- the manager ---- */

static inline void add_class(struct fab_classes *c, const char *name, uint8_t share)
{
    struct fab_class class = {.name = name, .share = share, .sl = FAB_CLASS_NO_SL};
    struct fab_classes_error e;
    uint8_t number;
    ck_assert_int_eq(fab_policy_classes_add(c, &class, &number, &e), FAB_OK);
}

static inline void use_classes(struct lab *lab)
{
    struct fab_classes *c;
    ck_assert_int_eq(fab_policy_classes_new(&c), FAB_OK);
    add_class(c, "bulk", 30);
    add_class(c, "urgent", 20);
    fab_policy_classes_unref(lab->config.policy.classes);
    lab->config.policy.classes = c;
}

static inline void use_partitions(struct lab *lab)
{
    static const char text[] = "Default=0x7fff, ipoib, defmember=full: ALL;\n"
                               "One=0x1, ipoib, defmember=full: ALL_CAS;\n"
                               "Two=0x2, defmember=limited: ALL_CAS;\n";
    struct fab_partitions *p;
    struct fab_partitions_error e;
    ck_assert_int_eq(fab_policy_partitions_read(text, sizeof text - 1, &p, &e), FAB_OK);
    fab_policy_partitions_unref(lab->config.policy.partitions);
    lab->config.policy.partitions = p;
    lab->config.policy.enforce = FAB_ENFORCE_IN | FAB_ENFORCE_OUT;
}

/* All hosts join three multicast groups. */
static inline void join(struct lab *lab)
{
    enum { MASK = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16 };
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t node = f->switch_count; node < f->node_count; node++)
        for (uint64_t group = 1; group <= 3; group++) {
            const struct fab_wire_mc_member_record record = {
                .mgid = {UINT64_C(0xff12000000000000), group},
                .port_gid = {UINT64_C(0xfe80000000000000),
                             fab_fabric_port(f, fab_fabric_port_id(f, node, 1))->guid},
                .pkey = 0xffff,
                .qkey = 0x1234,
                .join_state = 1};
            const struct fab_mcast_request ask = {
                .record = &record, .comp_mask = MASK, .mtu = 4, .rate = 3, .life = 18};
            struct fab_wire_mc_member_record is;
            ck_assert_uint_eq(sm_mgroup_join(lab->sm, &ask, &is), 0);
        }
}

static inline void bring_up_fabric(struct lab *lab, struct fab_builder *builder,
                                   uint32_t interval_s)
{
    lab_open_virtual(lab, builder, NULL);
    lab_stop(lab);
    lab->config.policy.m_keys.number = M_KEY;
    lab->config.sweep.heavy_interval_s = 0;
    lab->config.sweep.scrub_interval_s = interval_s;
    use_classes(lab);
    use_partitions(lab);
    lab_begin(lab, NULL);
    sm_start(lab->sm);
    lab_run(lab, 60, lab_is_ready, "bring-up");
    join(lab);
    lab_run_for(lab, 2);
    lab_forget_events(lab);
}

static inline struct sm_status status(struct lab *lab)
{
    struct sm_status ret;
    sm_get_status(lab->sm, &ret);
    return ret;
}

/* ---- the rogue ---- */

struct target { /* an attribute of a device */
    uint32_t node;
    /* only for PortInfo: number of the port that the rogue changes */
    uint8_t port;
    uint16_t attr_id;
    uint32_t mod;
};

static inline uint16_t lid_of(struct lab *lab, uint32_t node)
{
    bool is_switch = fab_fabric_node_is_switch(fab_sim_fabric(lab->sim), node);
    return fab_sim_port(lab->sim, node, is_switch ? 0 : 1)->lid;
}

static inline void send_to(struct lab *lab, uint8_t method, const struct target *t, uint16_t lid,
                           uint8_t data[FAB_SMP_DATA])
{
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                           .method = method,
                           .tid = 7,
                           .attr_id = t->attr_id,
                           .attr_mod = t->mod,
                           .m_key = M_KEY};
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), FAB_OK);
    ck_assert_int_eq(fab_sim_send(lab->sim, lab_node(lab, ROGUE), 1, lid, bytes, reply), 1);
    ck_assert_uint_eq(fab_base_get_be16(reply + AT_STATUS), 0);
    memcpy(data, reply + AT_DATA, FAB_SMP_DATA);
    transport_sim_kick(lab->sim_transport);
}

static inline void get(struct lab *lab, const struct target *t, uint8_t data[FAB_SMP_DATA])
{
    memset(data, 0, FAB_SMP_DATA);
    send_to(lab, FAB_METHOD_GET, t, lid_of(lab, t->node), data);
}

static inline void set(struct lab *lab, const struct target *t, const uint8_t data[FAB_SMP_DATA])
{
    uint8_t copy[FAB_SMP_DATA];
    memcpy(copy, data, sizeof copy);
    send_to(lab, FAB_METHOD_SET, t, lid_of(lab, t->node), copy);
}

static inline uint32_t any_switch(struct lab *lab)
{
    return (uint32_t)(lab_random(lab) % fab_sim_fabric(lab->sim)->switch_count);
}

static inline uint32_t any_host(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    return f->switch_count + (uint32_t)(lab_random(lab) % (f->node_count - f->switch_count));
}

/* Returns a random port of the node that has a link. */
static inline uint8_t any_port(struct lab *lab, uint32_t node)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint8_t num;
    do
        num = (uint8_t)(1 + lab_random(lab) % f->nodes[node].num_ports);
    while (fab_fabric_port(f, fab_fabric_port_id(f, node, num))->peer == FAB_NONE);
    return num;
}

static inline uint8_t port_to_host(struct lab *lab, uint32_t host, uint32_t *ret_leaf)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    const struct fab_port *peer =
        fab_fabric_port(f, fab_fabric_port(f, fab_fabric_port_id(f, host, 1))->peer);
    *ret_leaf = peer->node;
    return peer->num;
}

/* Each function change_... chooses a device and an attribute at random, reads the attribute into
 * data[], and changes a value in data[]. It returns the chosen attribute. The caller then writes
 * data[] to the device. */

typedef struct target change_fn(struct lab *lab, uint8_t data[FAB_SMP_DATA]);

static inline struct target change_lft(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct target t = {.node = any_switch(lab), .attr_id = FAB_ATTR_LFT};
    uint32_t lid = 1 + (uint32_t)(lab_random(lab) % fab_sim_fabric(lab->sim)->node_count);
    t.mod = lid / FAB_LFT_BLOCK;
    lid %= FAB_LFT_BLOCK;
    get(lab, &t, data);
    data[lid] = data[lid] == 0 ? 1 : lab_random(lab) % 2 ? (uint8_t)(data[lid] ^ 1) : 0xff;
    return t;
}

static inline struct target change_port(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct fab_port_info info;
    bool of_switch = lab_random(lab) % 2;
    struct target t = {.node = of_switch ? any_switch(lab) : any_host(lab),
                       .attr_id = FAB_ATTR_PORT_INFO};
    t.port = of_switch ? any_port(lab, t.node) : 1;
    t.mod = t.port;
    get(lab, &t, data);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &info),
                     FAB_OK);
    info.port_state = info.phys_state = 0;
    info.down_default_state = info.width_enabled = info.speed_enabled = 0;
    info.speed_ext_enabled = info.speed_ext2_enabled = 0;
    switch (lab_random(lab) % 4) {
    case 0:
        info.neighbor_mtu = info.neighbor_mtu == 1 ? 2 : 1;
        break;
    case 1:
        info.op_vls = info.op_vls == 1 ? 2 : 1;
        break;
    case 2:
        if (of_switch)
            info.part_enforce_in = !info.part_enforce_in;
        else
            info.gid_prefix ^= 0x10;
        break;
    default:
        if (of_switch)
            info.neighbor_mtu = info.neighbor_mtu == 1 ? 2 : 1;
        else
            info.sm_lid ^= 3;
    }
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, FAB_SMP_DATA),
                     FAB_OK);
    return t;
}

static inline struct target change_pkeys(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    uint32_t leaf, host = any_host(lab);
    uint8_t num = port_to_host(lab, host, &leaf);
    bool guard = lab_random(lab) % 2;
    struct target t = {.node = guard ? leaf : host,
                       .attr_id = FAB_ATTR_PKEY_TABLE,
                       .mod = guard ? (uint32_t)num << 16 : 0};
    get(lab, &t, data);
    fab_base_put_be16(data + 2 * (1 + lab_random(lab) % 31),
                      (uint16_t)(0x8100 + lab_random(lab) % 0x100));
    return t;
}

static inline bool is_zero(const uint8_t *data, size_t len)
{
    while (len > 0 && data[len - 1] == 0)
        len--;
    return len == 0;
}

/* Chooses only an MFT block that has entries. An empty block may be one that the manager never
 * wrote, and the scrub does not read such blocks in a short turn. */
static inline struct target change_mft(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct target t = {.attr_id = FAB_ATTR_MFT};
    do {
        t.node = any_switch(lab);
        t.mod = fab_mft_modifier(fab_mft_number(0xc000, any_port(lab, t.node)));
        get(lab, &t, data);
    } while (is_zero(data, FAB_SMP_DATA));
    uint8_t *entry = data + 2 * (lab_random(lab) % 4);
    fab_base_put_be16(entry,
                      (uint16_t)(fab_base_get_be16(entry) ^ 1u << (1 + lab_random(lab) % 7)));
    return t;
}

static inline struct target change_sl2vl(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    bool of_switch = lab_random(lab) % 4 != 0;
    struct target t = {.node = of_switch ? any_switch(lab) : any_host(lab),
                       .attr_id = FAB_ATTR_SL2VL};
    if (of_switch) {
        uint32_t from = any_port(lab, t.node), to = any_port(lab, t.node);
        t.mod = from << 8 | to;
    }
    get(lab, &t, data);
    data[lab_random(lab) % 8] ^= lab_random(lab) % 2 ? 0x10 : 0x01;
    return t;
}

static inline struct target change_switch(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct fab_switch_info info;
    struct target t = {.node = any_switch(lab), .attr_id = FAB_ATTR_SWITCH_INFO};
    get(lab, &t, data);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &info),
                     FAB_OK);
    info.port_state_change = 0;
    info.life_time ^= (uint8_t)(1 + lab_random(lab) % 7);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, FAB_SMP_DATA),
                     FAB_OK);
    return t;
}

static inline struct target change_vlarb(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    bool of_switch = lab_random(lab) % 4 != 0;
    struct target t = {.node = of_switch ? any_switch(lab) : any_host(lab),
                       .attr_id = FAB_ATTR_VLARB,
                       .mod = 1u << 16};
    if (of_switch)
        t.mod |= any_port(lab, t.node);
    get(lab, &t, data);
    data[1] ^= 0x21; /* the weight of the first entry of the table */
    return t;
}

static const struct kind {
    const char *attribute;
    change_fn *change;
    /* Time within which the scrub must find the change, in short turns. A short turn reads the LFTs
     * and most other tables. Only a long turn reads the VL tables; it takes as long as six short
     * turns. */
    unsigned turns;
} kinds[] = {
    {"LinearForwardingTable", change_lft, 1}, {"PortInfo", change_port, 1},
    {"P_KeyTable", change_pkeys, 1},          {"MulticastForwardingTable", change_mft, 1},
    {"SwitchInfo", change_switch, 1},         {"SLtoVLMappingTable", change_sl2vl, 6},
    {"VLArbitrationTable", change_vlarb, 6},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

#endif
