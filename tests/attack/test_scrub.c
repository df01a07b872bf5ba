/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that knows the M_Key writes to devices. Before the scrub was written, the manager found
 * such a change of a table only after a restart. A Set(LFT) could cut a host off, and five heavy
 * sweeps and `route verify` found nothing wrong.
 *
 *  The fabric has 6 leaves with 4 hosts each and 3 spines. test_scrub_scale.c repeats the random
 * changes with 648 hosts.
 */
#include "libfabmgr/sim/fault.h"
#include "tests/attack/tamper.h"

#define INTERVAL_S 60
#define CHANGES 100

static void bring_up(struct lab *lab, uint32_t interval_s)
{
    bring_up_fabric(lab, lab_leaf_spine(6, 3, 4), interval_s);
}

/* ---- tests ---- */

static bool is_found(struct lab *lab)
{
    return lab_event(lab, "settings-changed") != NULL;
}

/* Applies a change to a device, and waits until the manager has found it and has restored the
 * value. */
static void change_and_find(struct lab *lab, const struct kind *k)
{
    uint8_t before[FAB_SMP_DATA], wrong[FAB_SMP_DATA], now[FAB_SMP_DATA];
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct target t = k->change(lab, wrong);
    get(lab, &t, before);
    set(lab, &t, wrong);
    get(lab, &t, wrong);
    if (memcmp(before, wrong, sizeof wrong) == 0)
        return; /* the device did not accept the change */
    lab_forget_events(lab);
    uint64_t found = status(lab).settings_changed;
    lab_run(lab, INTERVAL_S * k->turns * 1.1 + 1, is_found, k->attribute);
    const struct lab_event *e = lab_event(lab, "settings-changed");
    bool hex = t.attr_id == FAB_ATTR_PKEY_TABLE || t.attr_id == FAB_ATTR_MFT ||
               strstr(e->message, "GIDPrefix") != NULL;
    ck_assert_msg((strstr(e->message, ", the manager wrote 0x") != NULL) == hex, "%s", e->message);
    ck_assert_uint_eq(e->guid, f->nodes[t.node].guid);
    ck_assert_ptr_nonnull(strstr(e->message, "author unknown"));
    ck_assert_ptr_nonnull(strstr(e->message, k->attribute));
    lab_run_for(lab, 2);
    lab_run(lab, 10, lab_is_idle, "the restoration");
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
    /* the host knows the M_Key after three wrong tries, and changes the table */
    set(&lab, &t, data);
    lab_run(&lab, INTERVAL_S * 1.1, is_found, "the change");
    ck_assert_ptr_nonnull(
        strstr(lab_event(&lab, "settings-changed")->message, "3 M_Key violations"));
    lab_close(&lab);
}
END_TEST

/* The host gives a port another M_Key, so that the manager cannot write to the port. Until the port
 * has the right key again, `route verify` reports that the settings differ. */
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
    /* no lease period: after it, the manager could write to the port again */
    info.m_key_lease = 0;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, FAB_SMP_DATA),
                     FAB_OK);
    set(&lab, &t, data);
    lab_run(&lab, INTERVAL_S * 1.1, is_found, "the change");
    const struct lab_event *e = lab_event(&lab, "settings-changed");
    ck_assert_str_eq(e->subject, "host-0005/1");
    ck_assert_ptr_null(strstr(e->message, "65262")); /* 0xfeee, the key, must not be shown */
    lab_run_for(&lab, 2 * INTERVAL_S);
    ck_assert_uint_eq(status(&lab).settings_not_restored, 1);
    lab_close(&lab);
}
END_TEST

/* The host changes 66 blocks of P_Key tables at once. In each turn, the scrub emits at most 64
 * events about single changes, and one event that sums up the others. */
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
    unsigned named = lab_count_events(&lab, "settings-changed");
    ck_assert_uint_ge(named, 64);
    /* The changes are found in two turns: the one that is running when they are made, and the next
     * one. Each of the two turns may emit up to 64 events. */
    ck_assert_uint_le(named, 65 + changes / 2);
    ck_assert_uint_eq(status(&lab).settings_not_restored, 0);
    lab_close(&lab);
}
END_TEST

/* Reads of a short turn. From each of the 9 switches: SwitchInfo, one LFT block, one MFT block, and
 * PortInfo of port 0. From the 60 switch ports and 24 host ports with a link: PortInfo. P_Key
 * tables: two blocks of each host, one block of each of the 24 switch ports that enforce
 * partitions, and one of each port 0. */
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
    /* A long turn, of 6 intervals, reads the VL tables: one SL-to-VL table for each of 6 * 8 * 7 +
     * 3 * 7 * 6 pairs of switch ports and for each of 24 hosts, and at most two blocks of VL
     * arbitration for each of 84 ports. */
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
    ck_assert_uint_eq(status(&lab).smps_sent - before, 90); /* ten light sweeps of 9 switches */
    lab.config.sweep.scrub_interval_s = INTERVAL_S;
    (void)sm_reload(lab.sm);
    lab_run_for(&lab, INTERVAL_S / 2.0);
    lab_run_for(&lab, 5); /* the time is now between two light sweeps */
    lab.config.sweep.scrub_interval_s = 0;
    (void)sm_reload(lab.sm); /* the reload ends the turn of the scrub, and no other turn begins */
    before = status(&lab).smps_sent;
    lab_run_for(&lab, 2);
    ck_assert_uint_eq(status(&lab).smps_sent, before);
    lab_run_for(&lab, 98);
    ck_assert_uint_eq(status(&lab).scrub_turns, 0);
    ck_assert_uint_eq(status(&lab).smps_sent - before, 90);
    lab_close(&lab);
}
END_TEST

/* A host does not answer; the turn ends in time nevertheless. A switch does not enforce partitions;
 * the event partition-not-enforced reports this, and the scrub does not. */
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
    ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 0);
    lab_close(&lab);
}
END_TEST

/* A light sweep finds a changed LinearFDBTop earlier than the scrub. In earlier versions, it
 * restored the value without an event. */
START_TEST(a_changed_linear_fdb_top_is_named_and_restored)
{
    struct lab lab;
    struct fab_switch_info info;
    uint8_t before[FAB_SMP_DATA], data[FAB_SMP_DATA];
    bring_up(&lab, INTERVAL_S);
    struct target t = {.node = lab_node(&lab, "leaf-003"), .attr_id = FAB_ATTR_SWITCH_INFO};
    get(&lab, &t, before);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, before, FAB_SMP_DATA, &info),
                     FAB_OK);
    /* LinearFDBTop becomes greater, not smaller, so that the manager's answers still reach the
     * host. */
    info.linear_fdb_top = (uint16_t)(info.linear_fdb_top + 7);
    info.port_state_change = 0;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, FAB_SMP_DATA),
                     FAB_OK);
    set(&lab, &t, data);
    lab_run(&lab, 12, is_found, "the change");
    lab_run_for(&lab, 2);
    const struct lab_event *e = lab_event(&lab, "settings-changed");
    ck_assert_str_eq(e->subject, "leaf-003");
    ck_assert_ptr_nonnull(strstr(e->message, "LinearFDBTop is "));
    get(&lab, &t, data);
    ck_assert(memcmp(before, data, sizeof data) == 0);
    lab_run_for(&lab, 2 * INTERVAL_S);
    ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 1);
    lab_close(&lab);
}
END_TEST

/* A switch sends packets for LIDs without a table entry to its default ports. In earlier versions,
 * the scrub did not compare the default ports, and a sweep accepted the value that the host had
 * written. */
START_TEST(default_ports_that_lead_to_a_link_are_closed)
{
    static const char *const fields[] = {"DefaultPort", "DefaultMulticastPrimaryPort",
                                         "DefaultMulticastNotPrimaryPort"};
    struct lab lab;
    bring_up(&lab, INTERVAL_S);
    struct target t = {.node = lab_node(&lab, "leaf-003"), .attr_id = FAB_ATTR_SWITCH_INFO};
    for (unsigned i = 0; i < 3; i++) {
        struct fab_switch_info info;
        uint8_t data[FAB_SMP_DATA];
        get(&lab, &t, data);
        ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info),
                         FAB_OK);
        uint8_t *const ports[] = {&info.default_port, &info.default_mcast_primary_port,
                                  &info.default_mcast_not_primary_port};
        *ports[i] = 2;
        info.port_state_change = 0;
        ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data),
                         FAB_OK);
        lab_forget_events(&lab);
        set(&lab, &t, data);
        lab_run(&lab, INTERVAL_S * 1.1, is_found, fields[i]);
        const struct lab_event *e = lab_event(&lab, "settings-changed");
        ck_assert_str_eq(e->subject, "leaf-003");
        ck_assert_ptr_nonnull(strstr(e->message, fields[i]));
        lab_run_for(&lab, 2);
        get(&lab, &t, data);
        ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, sizeof data, &info),
                         FAB_OK);
        ck_assert_uint_eq(*ports[i], i == 0 ? 0 : 0xff);
        lab_forget_events(&lab);
        lab_run_for(&lab, 2 * INTERVAL_S);
        ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 0);
    }
    ck_assert_uint_eq(status(&lab).settings_not_restored, 0);
    lab_close(&lab);
}
END_TEST

/* A host writes SwitchInfo:DefaultPort of a switch before the manager starts. The manager must not
 * take this value for that of the factory. */
START_TEST(default_ports_are_closed_at_the_first_sweep)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    struct fab_fabric *f = (struct fab_fabric *)(uintptr_t)fab_sim_fabric(lab.sim);
    uint32_t leaf = lab_node(&lab, "leaf-003");
    f->switches[leaf].default_mcast_primary_port = 2;
    lab_stop(&lab);
    lab_power_cycle(&lab);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 60, lab_is_ready, "bring-up");
    struct fab_view *v = sm_view(lab.sm);
    uint32_t sw = fab_fabric_node_by_guid(v->fabric, f->nodes[leaf].guid);
    ck_assert_uint_eq(v->fabric->switches[sw].default_mcast_primary_port, 0xff);
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

/* The host writes an entry into an MFT block that no tree uses and that the manager never wrote.
 * Such an entry could copy the packets of a multicast LID to the host for ever. In earlier
 * versions, the scrub did not read such blocks. */
START_TEST(entries_in_mft_blocks_that_were_never_written_are_cleared)
{
    struct lab lab;
    uint8_t data[FAB_SMP_DATA];
    bring_up(&lab, INTERVAL_S);
    lab_run_for(&lab, 6.5 * INTERVAL_S); /* a turn over unused MFT blocks ends */
    ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 0);
    struct target t = {.node = lab_node(&lab, "spine-002"), .attr_id = FAB_ATTR_MFT};
    t.mod = fab_mft_modifier(fab_mft_number(0xc000 + 32 * 9, 1));
    get(&lab, &t, data);
    ck_assert(is_zero(data, sizeof data));
    fab_base_put_be16(data + 2 * 5, 1 << 3);
    set(&lab, &t, data);
    lab_run(&lab, 6 * INTERVAL_S * 1.1, is_found, "the entry");
    const struct lab_event *e = lab_event(&lab, "settings-changed");
    ck_assert_str_eq(e->subject, "spine-002");
    ck_assert_ptr_nonnull(strstr(e->message, "entry 0xc125 is 0x8, the manager wrote 0x0"));
    ck_assert_ptr_nonnull(strstr(e->message, "author unknown"));
    ck_assert_ptr_null(strstr(e->message, "before this manager"));
    lab_run_for(&lab, 2);
    get(&lab, &t, data);
    ck_assert(is_zero(data, sizeof data));
    lab_run_for(&lab, 7 * INTERVAL_S);
    ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 1);
    ck_assert_uint_eq(status(&lab).settings_not_restored, 0);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The host turns the enforcement of partitions off at its switch port, and causes a sweep before
 * the scrub reads the port. In earlier versions, the manager concluded that the switch refuses the
 * setting, and left enforcement off. */
START_TEST(enforcement_that_a_sweep_finds_switched_off_is_restored)
{
    struct lab lab;
    struct fab_port_info info;
    uint8_t before[FAB_SMP_DATA], data[FAB_SMP_DATA];
    bring_up(&lab, INTERVAL_S);
    struct target t = {
        .node = lab_node(&lab, "leaf-003"), .port = 2, .attr_id = FAB_ATTR_PORT_INFO, .mod = 2};
    for (int i = 0; i < 2; i++) {
        lab_run_for(&lab, 1);
        get(&lab, &t, before);
        ck_assert_int_eq(
            fab_wire_attr_unpack(&fab_wire_attr_port_info, before, FAB_SMP_DATA, &info), FAB_OK);
        ck_assert(info.part_enforce_in && info.part_enforce_out);
        info.part_enforce_in = info.part_enforce_out = info.port_state = info.phys_state = 0;
        info.down_default_state = 0;
        ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, FAB_SMP_DATA),
                         FAB_OK);
        set(&lab, &t, data);
        lab_forget_events(&lab);
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
        lab_run_for(&lab, 2);
        get(&lab, &t, data);
        ck_assert(memcmp(before, data, sizeof data) == 0);
        ck_assert_str_eq(lab_event(&lab, "settings-changed")->subject, "leaf-003/2");
        ck_assert_ptr_null(lab_event(&lab, "partition-not-enforced"));
    }
    lab_close(&lab);
}
END_TEST

/* Number of reads of the LFT of leaf-002. The test begins a reroute during each of them. */
static unsigned disturbed;

static void disturb(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    if (head->attr_id != FAB_ATTR_LFT || head->method != FAB_METHOD_GET ||
        lab_end_of(lab, &head->path) != lab_node(lab, "leaf-002"))
        return;
    disturbed++;
    (void)sm_reroute(lab->sm, NULL, NULL);
}

/* A reroute may change what the scrub reads at the same time. So the scrub repeats a read during
 * which a round of the manager ran. After eight repetitions, it goes on with the next attribute. */
START_TEST(a_read_that_is_always_disturbed_is_given_up)
{
    struct lab lab;
    bring_up(&lab, INTERVAL_S);
    lab_run_for(&lab, 1.5 * INTERVAL_S); /* the second turn of the scrub has begun */
    uint64_t before = status(&lab).scrub_turns;
    disturbed = 0;
    ck_assert_int_eq(fab_sim_delay(lab.sim, lab_node(&lab, "leaf-002"), 5000, 0), FAB_OK);
    lab.sent = disturb;
    lab_run_for(&lab, INTERVAL_S);
    ck_assert_uint_eq(disturbed, 1 + 8);
    ck_assert_uint_eq(status(&lab).scrub_turns, before + 1);
    ck_assert_uint_eq(lab_count_events(&lab, "settings-changed"), 0);
    lab_close(&lab);
}
END_TEST

/* ---- requests under way ---- */

static struct {
    struct lab *lab;
    const struct transport_ops *ops; /* functions of the transport that these wrappers call */
    transport_receive *receive;
    void *ctx;
    struct {
        uint8_t tid[8];
        uint32_t node; /* FAB_NONE: the slot is free */
    } open[64];
    unsigned count, most; /* requests in flight: now, and at most so far */
} wire;

/* Returns the node to which the SMP goes, by its directed route or its LID. */
static uint32_t destination(const struct transport_mad *mad)
{
    enum { AT_HOPS = 7, AT_PATH = 128 };
    const struct fab_fabric *f = fab_sim_fabric(wire.lab->sim);
    uint32_t node = lab_node(wire.lab, "host-0001");
    if (mad->bytes[1] == FAB_CLASS_SMP_DIRECTED)
        for (unsigned hop = 1; hop <= mad->bytes[AT_HOPS]; hop++)
            node = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, mad->bytes[AT_PATH + hop]));
    else
        for (node = 0; lid_of(wire.lab, node) != mad->addr.dlid; node++)
            ck_assert_uint_lt(node + 1, f->node_count);
    return node;
}

static int spy_send(struct transport *t, const struct transport_mad *mad)
{
    uint32_t node = destination(mad);
    unsigned place = 64;
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_msg(wire.open[i].node != node, "node %u has two requests at a time", node);
        place = wire.open[i].node == FAB_NONE ? i : place;
    }
    ck_assert_uint_lt(place, 64);
    memcpy(wire.open[place].tid, mad->bytes + 8, 8);
    wire.open[place].node = node;
    wire.most = ++wire.count > wire.most ? wire.count : wire.most;
    return wire.ops->send(t, mad);
}

static void spy_receive(void *ctx, const struct transport_mad *mads, size_t n)
{
    (void)ctx;
    for (size_t k = 0; k < n; k++)
        for (unsigned i = 0; i < 64; i++)
            if (wire.open[i].node != FAB_NONE &&
                memcmp(wire.open[i].tid + 4, mads[k].bytes + 12, 4) == 0) {
                wire.open[i].node = FAB_NONE;
                wire.count--;
            }
    wire.receive(wire.ctx, mads, n);
}

/* Devices answer slowly. The scrub has requests to several devices in flight at the same time, but
 * at most one to each device. */
START_TEST(a_device_is_asked_for_one_thing_at_a_time)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(3, 2, 2), NULL);
    lab_stop(&lab);
    lab.config.smp.timeout_ms = 5000;
    lab.config.sweep.light_interval_s = lab.config.sweep.heavy_interval_s = 0;
    lab.config.sweep.scrub_interval_s = 10;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 60, lab_is_ready, "bring-up");
    struct transport_ops ops = *lab.sim_transport->ops;
    ops.send = spy_send;
    memset(&wire, 0, sizeof wire);
    for (unsigned i = 0; i < 64; i++)
        wire.open[i].node = FAB_NONE;
    wire.lab = &lab;
    wire.ops = lab.sim_transport->ops;
    wire.receive = lab.sim_transport->receive;
    wire.ctx = lab.sim_transport->receive_ctx;
    lab.sim_transport->ops = &ops;
    transport_on_receive(lab.sim_transport, spy_receive, NULL);
    uint64_t before = status(&lab).scrub_reads;
    for (uint32_t node = 0; node < fab_sim_fabric(lab.sim)->node_count; node++)
        ck_assert_int_eq(fab_sim_delay(lab.sim, node, 200000, 0), FAB_OK);
    lab_run_for(&lab, 60);
    ck_assert_uint_ge(wire.most, 2);
    ck_assert_uint_gt(status(&lab).scrub_reads, before + 20);
    lab.sim_transport->ops = wire.ops;
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
    tcase_add_test(t, a_read_that_is_always_disturbed_is_given_up);
    tcase_add_test(t, silent_and_odd_devices_are_no_difference);
    tcase_add_test(t, a_device_is_asked_for_one_thing_at_a_time);
    tcase_add_test(t, a_changed_linear_fdb_top_is_named_and_restored);
    tcase_add_test(t, default_ports_that_lead_to_a_link_are_closed);
    tcase_add_test(t, default_ports_are_closed_at_the_first_sweep);
    tcase_add_test(t, entries_in_mft_blocks_that_were_never_written_are_cleared);
    tcase_add_test(t, enforcement_that_a_sweep_finds_switched_off_is_restored);
    suite_add_tcase(s, t);
    return test_run(s);
}
