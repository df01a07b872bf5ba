/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that knows the M_Key writes to devices. Until the scrub, nothing but a restart of the
 * manager found such a change of a table: a Set(LFT) cut a host off, and five full sweeps and
 * `route verify` went on saying that all is sound.
 *
 * The fabric has 6 leaves with 4 hosts each and 3 spines, two traffic classes, partitions that
 * switches enforce, and an M_Key. The heavy sweeps at intervals are off, as they would mend some
 * changes before the scrub finds them.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/trees.h"
#include "tests/sim/lab.h"

#define ROGUE "host-0013"
#define M_KEY UINT64_C(0xfeed)
#define INTERVAL_S 60
#define CHANGES 100

enum { AT_DATA = 64, AT_STATUS = 4 };

/* ---- the manager ---- */

static void add_class(struct fab_classes *c, const char *name, uint8_t share)
{
    struct fab_class class = {.name = name, .share = share, .sl = FAB_CLASS_NO_SL};
    struct fab_classes_error e;
    uint8_t number;
    ck_assert_int_eq(fab_policy_classes_add(c, &class, &number, &e), FAB_OK);
}

static void use_classes(struct lab *lab)
{
    struct fab_classes *c;
    ck_assert_int_eq(fab_policy_classes_new(&c), FAB_OK);
    add_class(c, "bulk", 30);
    add_class(c, "urgent", 20);
    fab_policy_classes_unref(lab->config.policy.classes);
    lab->config.policy.classes = c;
}

static void use_partitions(struct lab *lab)
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

/* All hosts join three groups. */
static void join(struct lab *lab)
{
    enum { MASK = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16 };
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t node = f->switch_count; node < f->node_count; node++)
        for (uint64_t group = 1; group <= 3; group++) {
            const struct fab_wire_mc_member_record record = {
                .mgid = {UINT64_C(0xff12000000000000), group},
                .port_gid = {UINT64_C(0xfe80000000000000),
                             f->ports[fab_fabric_port_id(f, node, 1)].guid},
                .pkey = 0xffff,
                .qkey = 0x1234,
                .join_state = 1};
            const struct fab_mcast_request ask = {
                .record = &record, .comp_mask = MASK, .mtu = 4, .rate = 3, .life = 18};
            struct fab_wire_mc_member_record is;
            ck_assert_uint_eq(sm_mgroup_join(lab->sm, &ask, &is), 0);
        }
}

static void bring_up(struct lab *lab, uint32_t interval_s)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(lab);
    lab->config.policy.m_key = M_KEY;
    lab->config.sweep.heavy_interval_s = 0;
    lab->config.sweep.scrub_interval_s = interval_s;
    use_classes(lab);
    use_partitions(lab);
    lab_begin(lab, NULL);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_ready, "bring-up");
    join(lab);
    lab_run_for(lab, 1);
    lab_forget_events(lab);
}

static struct sm_status status(struct lab *lab)
{
    struct sm_status ret;
    sm_get_status(lab->sm, &ret);
    return ret;
}

/* ---- the rogue ---- */

struct target { /* an attribute of a device */
    uint32_t node;
    uint8_t port; /* whose LID the rogue uses, and PortInfo of which it changes */
    uint16_t attr_id;
    uint32_t mod;
};

static uint16_t lid_of(struct lab *lab, uint32_t node)
{
    bool is_switch = fab_fabric_node_is_switch(fab_sim_fabric(lab->sim), node);
    return fab_sim_port(lab->sim, node, is_switch ? 0 : 1)->lid;
}

static void send_to(struct lab *lab, uint8_t method, const struct target *t, uint16_t lid,
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

static void get(struct lab *lab, const struct target *t, uint8_t data[FAB_SMP_DATA])
{
    memset(data, 0, FAB_SMP_DATA);
    send_to(lab, FAB_METHOD_GET, t, lid_of(lab, t->node), data);
}

static void set(struct lab *lab, const struct target *t, const uint8_t data[FAB_SMP_DATA])
{
    uint8_t copy[FAB_SMP_DATA];
    memcpy(copy, data, sizeof copy);
    send_to(lab, FAB_METHOD_SET, t, lid_of(lab, t->node), copy);
}

static uint32_t any_switch(struct lab *lab)
{
    return (uint32_t)(lab_random(lab) % fab_sim_fabric(lab->sim)->switch_count);
}

static uint32_t any_host(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    return f->switch_count + (uint32_t)(lab_random(lab) % (f->node_count - f->switch_count));
}

/* A port with a link. */
static uint8_t any_port(struct lab *lab, uint32_t node)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint8_t num;
    do
        num = (uint8_t)(1 + lab_random(lab) % f->nodes[node].num_ports);
    while (f->ports[fab_fabric_port_id(f, node, num)].peer == FAB_NONE);
    return num;
}

static uint8_t port_to_host(struct lab *lab, uint32_t host, uint32_t *ret_leaf)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    const struct fab_port *peer = &f->ports[f->ports[fab_fabric_port_id(f, host, 1)].peer];
    *ret_leaf = peer->node;
    return peer->num;
}

/* ---- one random change of each kind; data has the present value, and is changed ---- */

typedef struct target change_fn(struct lab *lab, uint8_t data[FAB_SMP_DATA]);

static struct target change_lft(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct target t = {.node = any_switch(lab), .attr_id = FAB_ATTR_LFT};
    uint32_t lid = 1 + (uint32_t)(lab_random(lab) % 33); /* of one of the 33 nodes */
    get(lab, &t, data);
    data[lid] = data[lid] == 0 ? 1 : lab_random(lab) % 2 ? (uint8_t)(data[lid] ^ 1) : 0xff;
    return t;
}

static struct target change_port(struct lab *lab, uint8_t data[FAB_SMP_DATA])
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

static struct target change_pkeys(struct lab *lab, uint8_t data[FAB_SMP_DATA])
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

static struct target change_mft(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    struct target t = {.node = any_switch(lab), .attr_id = FAB_ATTR_MFT};
    t.mod = fab_mft_modifier(fab_mft_number(0xc000, 0));
    get(lab, &t, data);
    uint8_t *entry = data + 2 * (lab_random(lab) % 2);
    fab_base_put_be16(entry,
                      (uint16_t)(fab_base_get_be16(entry) ^ 1u << (1 + lab_random(lab) % 7)));
    return t;
}

static struct target change_sl2vl(struct lab *lab, uint8_t data[FAB_SMP_DATA])
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

static struct target change_vlarb(struct lab *lab, uint8_t data[FAB_SMP_DATA])
{
    bool of_switch = lab_random(lab) % 4 != 0;
    struct target t = {.node = of_switch ? any_switch(lab) : any_host(lab),
                       .attr_id = FAB_ATTR_VLARB,
                       .mod = 1u << 16};
    if (of_switch)
        t.mod |= any_port(lab, t.node);
    get(lab, &t, data);
    data[1] ^= 0x21; /* the weight of the first entry */
    return t;
}

static const struct kind {
    const char *attribute;
    change_fn *change;
    unsigned turns; /* of LFTs and the like, that may pass until it is found */
} kinds[] = {
    {"LinearForwardingTable", change_lft, 1}, {"PortInfo", change_port, 1},
    {"P_KeyTable", change_pkeys, 1},          {"MulticastForwardingTable", change_mft, 1},
    {"SLtoVLMappingTable", change_sl2vl, 6},  {"VLArbitrationTable", change_vlarb, 6},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ---- tests ---- */

static bool is_found(struct lab *lab)
{
    return lab_event(lab, "settings-changed") != NULL;
}

/* Applies a change, and waits until it is found and undone. */
static void change_and_find(struct lab *lab, const struct kind *k)
{
    uint8_t before[FAB_SMP_DATA], wrong[FAB_SMP_DATA], now[FAB_SMP_DATA];
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct target t = k->change(lab, wrong);
    get(lab, &t, before);
    set(lab, &t, wrong);
    get(lab, &t, wrong);
    if (memcmp(before, wrong, sizeof wrong) == 0)
        return; /* the device did not accept it */
    lab_forget_events(lab);
    uint64_t found = status(lab).settings_changed;
    lab_run(lab, INTERVAL_S * k->turns * 1.1 + 1, is_found, k->attribute);
    const struct lab_event *e = lab_event(lab, "settings-changed");
    ck_assert_uint_eq(e->guid, f->nodes[t.node].guid);
    ck_assert_ptr_nonnull(strstr(e->message, "author unknown"));
    ck_assert_ptr_nonnull(strstr(e->message, k->attribute));
    lab_run_for(lab, 2);
    lab_run(lab, 10, lab_is_idle, "the mend");
    get(lab, &t, now);
    ck_assert_msg(memcmp(before, now, sizeof now) == 0, "%s of node %u is not as it was",
                  k->attribute, t.node);
    ck_assert_uint_eq(status(lab).settings_changed, found + 1);
    ck_assert_uint_eq(status(lab).settings_not_restored, 0);
}

START_TEST(a_table_written_by_a_host_is_found_and_mended)
{
    struct lab lab;
    size_t len;
    bring_up(&lab, INTERVAL_S);
    lab.prng = test_seed("scrub", 11);
    uint8_t *before = lab_tables(&lab, &len);
    for (int i = 0; i < 10; i++)
        change_and_find(&lab, &kinds[0]);
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

START_TEST(a_hundred_random_changes_are_found_named_and_mended)
{
    struct lab lab;
    size_t len;
    bring_up(&lab, INTERVAL_S);
    lab.prng = test_seed("scrub", 12);
    uint8_t *before = lab_tables(&lab, &len);
    for (unsigned i = 0; i < CHANGES; i++)
        change_and_find(&lab, &kinds[i % KINDS]);
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

START_TEST(a_changed_key_violation_count_is_named)
{
    struct lab lab;
    uint8_t data[FAB_SMP_DATA], bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    bring_up(&lab, INTERVAL_S);
    struct target t = {.node = lab_node(&lab, "leaf-002"), .attr_id = FAB_ATTR_LFT};
    struct fab_mad guess = {.mgmt_class = FAB_CLASS_SMP_LID,
                            .method = FAB_METHOD_SET,
                            .attr_id = FAB_ATTR_LFT,
                            .m_key = M_KEY + 1};
    get(&lab, &t, data);
    ck_assert_int_eq(fab_wire_smp_pack(&guess, data, bytes), FAB_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_le(
            fab_sim_send(lab.sim, lab_node(&lab, ROGUE), 1, lid_of(&lab, t.node), bytes, reply), 1);
    transport_sim_kick(lab.sim_transport);
    data[3] ^= 1;
    set(&lab, &t, data); /* the fourth guess is right */
    lab_run(&lab, INTERVAL_S * 1.1, is_found, "the change");
    ck_assert_ptr_nonnull(
        strstr(lab_event(&lab, "settings-changed")->message, "3 M_Key violations"));
    lab_close(&lab);
}
END_TEST

/* The host gives a port another M_Key, so that the manager cannot write to it: the difference
 * stands, and `route verify` says so, until the key is right again. */
START_TEST(a_difference_that_cannot_be_mended_stands)
{
    struct lab lab;
    struct fab_port_info info;
    uint8_t data[FAB_SMP_DATA];
    bring_up(&lab, INTERVAL_S);
    struct target t = {
        .node = lab_node(&lab, "host-0005"), .port = 1, .attr_id = FAB_ATTR_PORT_INFO, .mod = 1};
    get(&lab, &t, data);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &info),
                     FAB_OK);
    info.port_state = info.phys_state = 0;
    info.m_key = M_KEY + 1;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, FAB_SMP_DATA),
                     FAB_OK);
    set(&lab, &t, data);
    lab_run(&lab, INTERVAL_S * 1.1, is_found, "the change");
    const struct lab_event *e = lab_event(&lab, "settings-changed");
    ck_assert_str_eq(e->subject, "host-0005/1");
    ck_assert_ptr_null(strstr(e->message, "65262")); /* no message shows a key */
    lab_run_for(&lab, 2 * INTERVAL_S);
    ck_assert_uint_eq(status(&lab).settings_not_restored, 1);
    lab_close(&lab);
}
END_TEST

static unsigned count_events(const struct lab *lab, const char *type)
{
    unsigned n = 0;
    for (unsigned i = 0; i < lab->event_count; i++)
        n += strcmp(lab->events[i].type, type) == 0;
    return n;
}

/* The host writes 90 LFT entries, P_Keys and ports at once: 64 events and a summary. */
START_TEST(many_changes_make_few_events)
{
    struct lab lab;
    uint8_t data[FAB_SMP_DATA];
    const struct fab_fabric *f;
    uint64_t changes = 0;
    bring_up(&lab, INTERVAL_S);
    f = fab_sim_fabric(lab.sim);
    for (uint32_t node = 0; node < f->node_count; node++)
        for (uint32_t i = 0; i < 3; i++) {
            struct target t = {.node = node, .attr_id = FAB_ATTR_PKEY_TABLE};
            bool of_switch = fab_fabric_node_is_switch(f, node);
            t.mod = of_switch ? (i + 1) << 16 : i;
            if (of_switch ? strncmp(f->nodes[node].desc, "leaf", 4) != 0 : i > 1)
                continue;
            get(&lab, &t, data);
            fab_base_put_be16(data + 40, 0x8123);
            set(&lab, &t, data);
            changes++;
        }
    ck_assert_uint_gt(changes, 64);
    lab_forget_events(&lab);
    lab_run_for(&lab, INTERVAL_S * 2.5);
    ck_assert_uint_eq(status(&lab).settings_changed, changes);
    unsigned named = count_events(&lab, "settings-changed");
    ck_assert_uint_ge(named, 64);
    ck_assert_uint_le(named, 65 + changes / 2); /* the first turn names 64, the rest follow */
    ck_assert_uint_eq(status(&lab).settings_not_restored, 0);
    lab_close(&lab);
}
END_TEST

/* 9 switches: SwitchInfo, one LFT block, PortInfo of port 0. 60 ports of switches with a link, and
 * 24 of hosts: PortInfo. P_Keys: two blocks of each host, one of each switch port that enforces,
 * and of each port 0; an MFT block of each switch. */
START_TEST(a_turn_reads_each_thing_once)
{
    struct lab lab;
    bring_up(&lab, INTERVAL_S);
    lab_run_for(&lab, 2.5 * INTERVAL_S);
    struct sm_status before = status(&lab);
    ck_assert_uint_eq(before.scrub_turns, 2);
    lab_run_for(&lab, 4 * INTERVAL_S);
    struct sm_status after = status(&lab);
    uint64_t mads = after.smps_sent - before.smps_sent, light = 9 * 4 * INTERVAL_S / 10;
    ck_assert_uint_eq(after.scrub_turns, 6);
    ck_assert_uint_eq(after.scrub_reads, 9 * 3 + 60 + 24 + 24 * 2 + 24 + 9 + 9);
    ck_assert_uint_eq(before.scrub_reads, after.scrub_reads);
    /* The VL tables, in 6 intervals: 6 * 8 * 7 + 3 * 7 * 6 pairs of ports, and of 84 ports at most
     * two blocks of VL arbitration; 24 tables of hosts. */
    uint64_t lanes = 6 * 8 * 7 + 3 * 7 * 6 + 2 * 84 + 24;
    ck_assert_uint_le(mads - light, 4 * after.scrub_reads + lanes);
    ck_assert_uint_ge(mads - light, 4 * after.scrub_reads + lanes / 3);
    lab_close(&lab);
}
END_TEST

START_TEST(the_rate_has_a_limit)
{
    struct lab lab;
    bring_up(&lab, 0);
    lab_stop(&lab);
    lab.config.sweep.scrub_interval_s = 1;
    lab.config.sweep.light_interval_s = 0;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "restart");
    lab_run_for(&lab, 5);
    for (int i = 0; i < 20; i++) {
        uint64_t before = status(&lab).smps_sent;
        lab_run_for(&lab, 1);
        ck_assert_uint_le(status(&lab).smps_sent - before, 1500);
    }
    ck_assert_uint_ge(status(&lab).scrub_turns, 20);
    lab_close(&lab);
}
END_TEST

START_TEST(without_an_interval_nothing_is_read)
{
    struct lab lab;
    bring_up(&lab, 0);
    uint64_t before = status(&lab).smps_sent;
    lab_run_for(&lab, 100);
    ck_assert_uint_eq(status(&lab).scrub_turns, 0);
    ck_assert_uint_eq(status(&lab).smps_sent - before, 90); /* ten light sweeps */
    lab_close(&lab);
}
END_TEST

/* A host that does not answer delays no turn; a switch that ignores partition enforcement is named
 * by partition-not-enforced, and not by the scrub. */
START_TEST(silent_and_odd_devices_are_no_difference)
{
    struct lab lab;
    bring_up(&lab, INTERVAL_S);
    lab.unenforcing = 1;
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run_for(&lab, 5);
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "restart");
    lab_run_for(&lab, 2);
    lab_forget_events(&lab);
    uint64_t before = status(&lab).scrub_turns;
    lab_silence(&lab, "host-0005");
    lab_run_for(&lab, 3 * INTERVAL_S);
    ck_assert_uint_ge(status(&lab).scrub_turns - before, 2);
    ck_assert_uint_eq(count_events(&lab, "settings-changed"), 0);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tampering");
    TCase *t = tcase_create("attacks");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_table_written_by_a_host_is_found_and_mended);
    tcase_add_test(t, a_hundred_random_changes_are_found_named_and_mended);
    tcase_add_test(t, a_changed_key_violation_count_is_named);
    tcase_add_test(t, a_difference_that_cannot_be_mended_stands);
    tcase_add_test(t, many_changes_make_few_events);
    tcase_add_test(t, a_turn_reads_each_thing_once);
    tcase_add_test(t, the_rate_has_a_limit);
    tcase_add_test(t, without_an_interval_nothing_is_read);
    tcase_add_test(t, silent_and_odd_devices_are_no_difference);
    suite_add_tcase(s, t);
    return test_run(s);
}
