/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control with the real manager on a simulated fabric, in virtual time. The manager must
 * program all devices, read the congestion logs evenly, and count each log entry once. It must stop
 * asking devices that have no log or do not answer, and must find settings that another program
 * changed. A transport between congestion control and the fabric counts MADs, and can corrupt them.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/cc/cc.h"
#include "fabricd/cc/compute.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/wire/gs.h"
#include "tests/sim/lab.h"

#define HOSTS 6
#define DEVICES (HOSTS + 4)
#define LIDS 128

enum trick { HONEST, REFUSES, SILENT, GARBAGE, SHORT, SELDOM_READABLE };
struct wire {
    struct transport base;
    uint32_t asked[LIDS]; /* requests for congestion logs, by LID */
    uint32_t requests;    /* all requests of the congestion control class */
    uint32_t sets[LIDS];  /* Sets of all attributes, by LID */
    uint32_t sent[LIDS];  /* requests of all kinds, by LID */
    uint16_t lost_lid;    /* requests to this LID are lost */
    /* true: of the requests to lost_lid, only Sets are lost */
    bool sets_only;
    uint64_t waiting, most_waiting;
    uint16_t lid; /* the congestion log of this LID cannot be read correctly */
    enum trick trick;
};

static struct lab lab;
static struct wire wire;
static struct cc *cc;

/* ---- the wire -------------------------------------------------------------------------------- */

static bool is_log(const struct transport_mad *mad)
{
    return fab_base_get_be16(mad->bytes + 16) == FAB_CC_LOG;
}

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    ck_assert_uint_lt(mad->addr.dlid, LIDS);
    wire.asked[mad->addr.dlid] += is_log(mad);
    wire.requests++;
    bool set = mad->bytes[3] == FAB_METHOD_SET;
    wire.sets[mad->addr.dlid] += set;
    wire.sent[mad->addr.dlid]++;
    if (mad->addr.dlid == wire.lost_lid && (set || !wire.sets_only))
        return FAB_OK;
    if (++wire.waiting > wire.most_waiting)
        wire.most_waiting = wire.waiting;
    return transport_send(lab.sim_transport, mad);
}

static void wire_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        struct transport_mad mad = mads[i];
        bool spoils = is_log(&mad) && mad.addr.slid == wire.lid;
        wire.waiting -= wire.waiting > 0;
        if (spoils && wire.trick == SILENT)
            continue;
        if (spoils && wire.trick == REFUSES)
            fab_base_put_be16(mad.bytes + 4, 3 << 2);
        bool garbage = wire.trick == GARBAGE ||
                       (wire.trick == SELDOM_READABLE && wire.asked[wire.lid] % 3 != 0);
        if (spoils && garbage)
            mad.bytes[FAB_CC_LOG_DATA] = 77; /* an invalid LogType */
        if (spoils && wire.trick == SHORT)
            mad.len = 100;
        transport_hand_up(&wire.base, &mad, 1);
    }
}

/* ---- the scene ------------------------------------------------------------------------------- */

static void bring_up_hosts(uint32_t a_leaf)
{
    lab_open_virtual(&lab, lab_leaf_spine(2, 2, a_leaf), NULL);
    lab.config.counters.interval_s = 10;
    lab.config.policy.congestion.apply = true;
    sm_start(lab.sm);
    lab_run(&lab, 20, lab_is_idle, "the fabric is up");
}

static void bring_up(void)
{
    bring_up_hosts(HOSTS / 2);
}

static void start_cc(enum trick trick, uint16_t lid)
{
    static const struct transport_ops ops = {.send = wire_send};
    wire = (struct wire){.base = {.ops = &ops, .window_max = 256}, .trick = trick, .lid = lid};
    ck_assert_int_eq(transport_on_class(lab.sim_transport, FAB_CLASS_CC, wire_receive, &wire), 0);
    const struct cc_input in = {.loop = lab.loop,
                                .transport = &wire.base,
                                .sm = lab.sm,
                                .bus = lab.bus,
                                .config = &lab.config};
    ck_assert_int_eq(cc_new(&in, &cc), 0);
}

static void begin(enum trick trick, uint16_t lid)
{
    bring_up();
    start_cc(trick, lid);
}

static void end(void)
{
    cc_free(cc);
    (void)transport_on_class(lab.sim_transport, FAB_CLASS_CC, NULL, NULL);
    lab_close(&lab);
}

static struct cc_status status(void)
{
    struct cc_status s;
    cc_get_status(cc, &s);
    return s;
}

static bool all_stand(struct lab *l)
{
    (void)l;
    return status().devices[CC_PROGRAMMED] == DEVICES;
}

static uint16_t lid_of(const char *name, uint8_t port)
{
    struct fab_view *v = sm_view(lab.sm);
    uint32_t node = lab_node(&lab, name), id = FAB_NONE;
    uint64_t guid = fab_sim_fabric(lab.sim)->nodes[node].guid;
    id = fab_fabric_port_id(v->fabric, fab_fabric_node_by_guid(v->fabric, guid), port);
    uint16_t lid = (uint16_t)v->target->lids.base[id];
    fab_view_unref(v);
    return lid;
}

/* Adds an entry to the congestion log of a host, as if packets from it to this LID had been
 * marked. */
static void congest(const char *host, uint16_t to)
{
    const struct fab_sim_congestion what = {.slid = lid_of(host, 1), .dlid = to, .sl = 3};
    ck_assert_int_eq(fab_sim_congest(lab.sim, lab_node(&lab, host), 1, &what), 0);
}

/* ---- */

START_TEST(logs_are_read_evenly_and_counted_once)
{
    begin(HONEST, 0);
    lab_run(&lab, 20, all_stand, "all devices are set");
    lab_run_for(&lab, 30);
    uint64_t reads = status().log_reads;
    ck_assert_uint_ge(reads, 2 * DEVICES);
    congest("host-0001", lid_of("host-0006", 1));
    congest("host-0002", lid_of("host-0006", 1));
    congest("host-0002", lid_of("host-0006", 1));
    lab_run_for(&lab, 100);
    struct cc_status s = status();
    ck_assert_uint_eq(s.log_events, 3);
    ck_assert_uint_ge(s.log_reads - reads, 9 * DEVICES);
    ck_assert_uint_le(s.log_reads - reads, 11 * DEVICES);
    ck_assert_uint_eq(s.without_log, 0);
    ck_assert_uint_le(wire.most_waiting, 32);
    uint16_t senders[LIDS] = {0};
    congest("host-0003", lid_of("host-0006", 1));
    congest("host-0004", lid_of("host-0006", 1));
    lab_run_for(&lab, 12);
    cc_count_senders(cc, senders, LIDS);
    /* two senders have recent log entries; those of the others are too old to count */
    ck_assert_uint_eq(senders[lid_of("host-0006", 1)], 2);
    struct cc_log_status logs[DEVICES];
    ck_assert_uint_eq(cc_logs(cc, 0, logs, DEVICES), 4);
    end();
}
END_TEST

/* The congestion log of one device cannot be read correctly, for the reason `trick`. The manager
 * must request it at least `least` and at most `most` times. It must go on reading the logs of all
 * other devices. */
static void leaves_alone(enum trick trick, uint32_t least, uint32_t most)
{
    begin(trick, 3);
    lab_run(&lab, 20, all_stand, "all devices are set");
    lab_run_for(&lab, 150);
    ck_assert_uint_eq(status().without_log, 1);
    ck_assert_uint_ge(wire.asked[3], least);
    ck_assert_uint_le(wire.asked[3], most);
    ck_assert_uint_ge(wire.asked[4], 12);
    struct cc_log_status logs[DEVICES];
    /* only the device without a readable log is listed */
    ck_assert_uint_eq(cc_logs(cc, 0, logs, DEVICES), 1);
    ck_assert(logs[0].none);
    /* a device without a readable log must be programmed, too */
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], DEVICES);
    end();
}

START_TEST(who_has_no_log_is_left_alone)
{
    leaves_alone(REFUSES, 1, 1);
    leaves_alone(SILENT, 3, 9); /* three requests for the log, each with up to two retries */
    leaves_alone(GARBAGE, 3, 3);
    leaves_alone(SHORT, 3, 9);
}
END_TEST

/* Only failures in a row make the manager give up a log. A good answer between them lets the count
 * begin anew. */
START_TEST(a_log_that_fails_now_and_then_is_read_on)
{
    begin(SELDOM_READABLE, 3);
    lab_run(&lab, 20, all_stand, "all devices are set");
    lab_run_for(&lab, 150);
    ck_assert_uint_eq(status().without_log, 0);
    ck_assert_uint_ge(wire.asked[3], 12);
    end();
}
END_TEST

/* ---- settings of devices --------------------------------------------------------------------- */

/* Reads an attribute of the device as another manager would. */
static void read_attr(const char *name, uint16_t attr_id, uint32_t attr_mod,
                      const struct fab_attr *a, void *ret)
{
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_CC,
                                 .class_version = 2,
                                 .method = FAB_METHOD_GET,
                                 .tid = 10,
                                 .attr_id = attr_id,
                                 .attr_mod = attr_mod};
    uint8_t port = strncmp(name, "host", 4) == 0;
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), 0);
    ck_assert_int_eq(
        fab_sim_send(lab.sim, lab_node(&lab, "host-0001"), 1, lid_of(name, port), mad, reply), 1);
    ck_assert_uint_eq(fab_base_get_be16(reply + 4), 0);
    ck_assert_int_eq(fab_wire_attr_unpack(a, reply + FAB_CC_DATA, FAB_GS_DATA, ret), 0);
}

static uint32_t view_node(const struct fab_view *v, const char *name)
{
    return fab_fabric_node_by_guid(v->fabric,
                                   fab_sim_fabric(lab.sim)->nodes[lab_node(&lab, name)].guid);
}

static void switch_holds(const struct fab_view *v, const struct fab_congestion *all,
                         const char *name)
{
    struct fab_cc_switch_setting whole;
    struct fab_cc_switch_port_setting block[2];
    const struct fab_congestion_port *edge = NULL, *any = NULL;
    uint32_t sw = view_node(v, name), ports = v->fabric->nodes[sw].num_ports, with = 0;
    read_attr(name, FAB_CC_SWITCH_SETTING, 0, &fab_wire_attr_cc_switch_setting, &whole);
    for (uint32_t b = 0; b <= ports / 32; b++)
        read_attr(name, FAB_CC_SWITCH_PORT_SETTING, b, &fab_wire_attr_cc_switch_port_setting,
                  &block[b]);
    /* port 0 gets no setting, because it has no link */
    ck_assert_uint_eq(block[0].port[0].valid, 0);
    for (uint8_t num = 1; num <= ports; num++) {
        uint32_t port = fab_fabric_port_id(v->fabric, sw, num);
        const struct fab_congestion_port *want = fab_congestion_of_switch(all, v->fabric, port);
        bool victim = whole.victim_mask[31 - num / 8] >> num % 8 & 1;
        ck_assert_msg(block[num / 32].port[num % 32].valid == (want != NULL), "%s/%u", name, num);
        ck_assert_int_eq(victim, want != NULL && want->victim);
        if (want == NULL)
            continue;
        ck_assert_uint_eq(block[num / 32].port[num % 32].control_type, 0);
        ck_assert_uint_eq(block[num / 32].port[num % 32].threshold, want->threshold);
        ck_assert_uint_eq(block[num / 32].port[num % 32].packet_size, want->packet_size);
        ck_assert_uint_eq(block[num / 32].port[num % 32].marking_rate, want->marking_rate);
        any = want;
        if (all->port_basis[all->of_port[port]].edge)
            edge = want;
        with++;
    }
    ck_assert_uint_gt(with, 0);
    any = edge != NULL ? edge : any;
    ck_assert_uint_eq(whole.threshold, any->threshold);
    ck_assert_uint_eq(whole.packet_size, any->packet_size);
    ck_assert_uint_eq(whole.marking_rate, any->marking_rate);
}

static void host_holds(const struct fab_view *v, const struct fab_congestion *all, const char *name)
{
    struct fab_cc_ca_setting ca;
    struct fab_cc_table table;
    uint32_t port = fab_fabric_port_id(v->fabric, view_node(v, name), 1);
    const struct fab_congestion_adapter *want = fab_congestion_of_adapter(all, v->fabric, port);
    ck_assert_ptr_nonnull(want);
    ck_assert_uint_ne(want->sls, 0);
    read_attr(name, FAB_CC_CA_SETTING, 0, &fab_wire_attr_cc_ca_setting, &ca);
    ck_assert_uint_eq(ca.port_control, 0); /* throttling by queue pair, not by SL */
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        bool on = want->sls >> sl & 1;
        ck_assert_uint_eq(ca.sl[sl].timer, on ? want->sl[sl].timer : 0);
        ck_assert_uint_eq(ca.sl[sl].increase, on ? want->sl[sl].increase : 0);
        ck_assert_uint_eq(ca.sl[sl].trigger_threshold, on ? want->sl[sl].trigger : 0);
        ck_assert_uint_eq(ca.sl[sl].min, on ? want->sl[sl].min : 0);
    }
    for (uint32_t i = 0; i <= want->table.limit; i++) {
        if (i % FAB_CONGESTION_BLOCK == 0)
            read_attr(name, FAB_CC_TABLE, i / FAB_CONGESTION_BLOCK, &fab_wire_attr_cc_table,
                      &table);
        ck_assert_uint_eq(table.limit, want->table.limit);
        ck_assert_uint_eq((uint32_t)table.entry[i % FAB_CONGESTION_BLOCK].shift << 14 |
                              table.entry[i % FAB_CONGESTION_BLOCK].multiplier,
                          want->table.entry[i]);
    }
    /* the table must be so long that it needs several blocks */
    ck_assert_uint_gt(want->table.limit, FAB_CONGESTION_BLOCK);
}

static bool none_is_pending(struct lab *l)
{
    (void)l;
    struct cc_status s = status();
    return s.generation > 0 && s.devices[CC_PROGRAMMED] > 0 && s.devices[CC_PENDING] == 0;
}

/* A leaf has 36 ports, so their settings take two blocks of 32 ports. A port without a link must
 * get no setting. */
START_TEST(devices_hold_what_was_computed)
{
    const struct fab_congestion *all;
    bring_up_hosts(34);
    lab_unlink(&lab, "leaf-001", 33);
    lab_run_for(&lab, 5);
    start_cc(HONEST, 0);
    lab_run(&lab, 60, none_is_pending, "all devices are set");
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], 4 + 67);
    ck_assert_uint_ge(status().reads, 4 + 67);
    ck_assert_uint_ge(status().writes, 4 + 67);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_int_eq(cc_settings(cc, v, &all), 0);
    static const char *const switches[] = {"leaf-001", "leaf-002", "spine-001", "spine-002"};
    for (int i = 0; i < 4; i++)
        switch_holds(v, all, switches[i]);
    host_holds(v, all, "host-0001");
    host_holds(v, all, "host-0068");
    fab_view_unref(v);
    end();
}
END_TEST

static uint32_t basis_rate(const char *host)
{
    const struct fab_congestion *all;
    struct fab_view *v = sm_view(lab.sm);
    uint32_t port = fab_fabric_port_id(v->fabric, view_node(v, host), 1);
    ck_assert_int_eq(cc_settings(cc, v, &all), 0);
    uint32_t rate = all->adapter_basis[all->of_port[port]].rate;
    fab_view_unref(v);
    return rate;
}

/* The manager computes settings from the active rates of the links of hosts, and again when a rate
 * changes. A sender must be able to slow down to the rate of the slowest host. */
START_TEST(settings_follow_the_rate_of_a_link)
{
    struct fab_cc_table set[3];
    begin(HONEST, 0);
    lab_run(&lab, 60, none_is_pending, "all devices are set");
    lab.config.flapping.hold_down_s = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(basis_rate("host-0006"), i == 1 ? 25000 : 100000);
        read_attr("host-0001", FAB_CC_TABLE, 1, &fab_wire_attr_cc_table, &set[i]);
        ck_assert_int_eq(
            fab_sim_degrade(lab.sim, lab_node(&lab, "host-0006"), 1, i == 0 ? 1 : 0, NULL), FAB_OK);
        transport_sim_kick(lab.sim_transport);
        lab_run_for(&lab, 20);
        lab_run(&lab, 60, none_is_pending, "all devices are set again");
    }
    ck_assert_mem_ne(&set[0], &set[1], sizeof set[0]);
    ck_assert_mem_eq(&set[0], &set[2], sizeof set[0]);
    end();
}
END_TEST

START_TEST(what_somebody_else_set_is_found)
{
    begin(HONEST, 0);
    lab_run(&lab, 20, all_stand, "all devices are set");
    uint64_t writes = status().writes;
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], attr[FAB_GS_DATA];
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_CC,
                                 .class_version = 2,
                                 .method = FAB_METHOD_SET,
                                 .tid = 9,
                                 .attr_id = FAB_CC_CA_SETTING};
    const struct fab_cc_ca_setting theirs = {.control_map = 0xffff};
    /* the manager reads all settings once more, and finds no difference */
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(status().writes, writes);
    ck_assert_uint_eq(status().changed, 0);
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), 0);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_ca_setting, &theirs, attr, sizeof attr),
                     0);
    memcpy(mad + FAB_CC_DATA, attr, sizeof attr);
    ck_assert_int_eq(
        fab_sim_send(lab.sim, lab_node(&lab, "host-0001"), 1, lid_of("host-0004", 1), mad, reply),
        1);
    ck_assert_uint_eq(fab_base_get_be16(reply + 4), 0);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(status().changed, 1);
    ck_assert_uint_eq(status().changed_recently, 1);
    ck_assert_uint_eq(status().writes, writes + 1);
    const struct lab_event *e = lab_event(&lab, "congestion-advice");
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_nonnull(strstr(e->message, "1 devices had other settings"));
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(status().changed, 1);
    ck_assert_uint_eq(status().changed_recently, 0);
    end();
}
END_TEST

/* Gives a host a CC_Key before congestion control starts. */
static void give_key(struct lab *l, const char *name, uint64_t key, uint8_t protect, uint16_t lease)
{
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], attr[FAB_GS_DATA] = {0};
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_CC,
                                 .class_version = 2,
                                 .method = FAB_METHOD_SET,
                                 .tid = 9,
                                 .attr_id = FAB_CC_KEY_INFO};
    const struct fab_cc_key_info theirs = {.key = key, .protect = protect, .lease = lease};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), 0);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_cc_key_info, &theirs, attr, sizeof attr), 0);
    memcpy(mad + FAB_CC_DATA, attr, sizeof attr);
    ck_assert_int_eq(fab_sim_send(l->sim, lab_node(l, "host-0001"), 1, lid_of(name, 1), mad, reply),
                     1);
    ck_assert_uint_eq(fab_base_get_be16(reply + 4), 0);
}

/* Host 2 has a foreign CC_Key, which it shows. Host 3 has a foreign key, which it hides. Host 5
 * already has the key of the manager. */
static void begin_with_keys(uint64_t ours)
{
    bring_up();
    lab.config.policy.congestion.key = ours;
    give_key(&lab, "host-0002", 77, 0, 0);
    give_key(&lab, "host-0003", 78, 1, 0);
    give_key(&lab, "host-0005", ours != 0 ? ours : 79, 1, lab.config.policy.congestion.key_lease_s);
    start_cc(HONEST, 0);
}

static bool all_but_two_stand(struct lab *l)
{
    (void)l;
    return status().devices[CC_PROGRAMMED] == DEVICES - 2 && status().devices[CC_FOREIGN_KEY] == 2;
}

/* A device with a foreign CC_Key, shown or hidden, must be reported, and must never get a Set. A
 * device that has the manager's key must not get the key again. */
START_TEST(devices_with_a_foreign_key_are_left_alone)
{
    const uint64_t ours = 0x1234;
    begin_with_keys(ours);
    lab_run(&lab, 20, all_but_two_stand, "all devices but two are set");
    uint16_t shown = lid_of("host-0002", 1), hidden = lid_of("host-0003", 1);
    struct cc_device_status troubled[DEVICES];
    ck_assert_uint_eq(cc_not_programmed(cc, troubled, DEVICES), 2);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(troubled[i].state, CC_FOREIGN_KEY);
    ck_assert_uint_eq(wire.sets[shown] + wire.sets[hidden], 0);
    ck_assert_uint_eq(wire.sets[lid_of("host-0005", 1)] + 1, wire.sets[lid_of("host-0006", 1)]);
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(wire.sets[shown] + wire.sets[hidden], 0);
    ck_assert_uint_eq(status().devices[CC_FOREIGN_KEY], 2);
    end();
    /* Without a key of its own, the manager cannot program any of the three devices that have
     * one. */
    begin_with_keys(0);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], DEVICES - 3);
    ck_assert_uint_eq(status().devices[CC_FOREIGN_KEY], 3);
    end();
}
END_TEST

/* ---- devices that are given up --------------------------------------------------------------- */

static bool is_given_up(struct lab *l)
{
    struct cc_device_status troubled[DEVICES];
    (void)l;
    return cc_not_programmed(cc, troubled, DEVICES) == 1 && troubled[0].gives_up &&
           troubled[0].tries == 3;
}

/* Starts congestion control while a host answers no request, or (sets_only) no Set. Returns how
 * many requests the host got until the manager gave it up. *ret_lid: LID of the host. */
static uint32_t begin_with_lost(bool sets_only, uint16_t *ret_lid)
{
    begin(HONEST, 0);
    *ret_lid = wire.lost_lid = lid_of("host-0003", 1);
    wire.sets_only = sets_only;
    lab_run(&lab, 3600, is_given_up, "the device is given up");
    uint32_t sent = wire.sent[*ret_lid];
    ck_assert_uint_ge(sent, 3);
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(wire.sent[*ret_lid], sent);
    return sent;
}

/* After a reload of the settings, the manager must try a device again that it has given up.
 * (Earlier versions tried again only after the device had left the fabric.) */
START_TEST(a_reload_tries_a_silent_device_again)
{
    uint16_t lid;
    uint32_t sent = begin_with_lost(false, &lid);
    lab.config.policy.congestion.profile = FAB_CONGESTION_INCAST;
    cc_reload(cc);
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(wire.sent[lid], 2 * sent);
    ck_assert(is_given_up(&lab));
    /* this link failure changes tables, but no setting of congestion control, so the device is not
     * tried again */
    lab_unlink(&lab, "leaf-002", 5);
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(wire.sent[lid], 2 * sent);
    lab_relink(&lab, "leaf-002", 5);
    /* now the device answers, and a reload must program it although no setting has changed */
    wire.lost_lid = 0;
    cc_reload(cc);
    lab_run(&lab, 60, all_stand, "all devices are set");
    end();
}
END_TEST

/* The manager has given up a device that does not answer. When it computes other settings, it must
 * try the device again, as often as the first time. */
START_TEST(new_settings_are_tried_as_often_as_the_first)
{
    uint16_t lid;
    begin(HONEST, 0);
    lid = wire.lost_lid = lid_of("host-0003", 1);
    wire.sets_only = true;
    lab.config.counters.interval_s = 0; /* switches the reading of logs off */
    lab_run(&lab, 3600, is_given_up, "the device is given up");
    uint32_t sets = wire.sets[lid];
    lab.config.policy.congestion.fan_in = 2;
    lab_unlink(&lab, "leaf-002", 3);
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(status().devices[CC_FOREIGN_KEY], 1);
    ck_assert_uint_eq(wire.sets[lid], 2 * sets);
    end();
}
END_TEST

static bool all_but_one_stand(struct lab *l)
{
    (void)l;
    struct cc_status s = status();
    return s.devices[CC_PROGRAMMED] == DEVICES - 1 && s.devices[CC_PENDING] == 1;
}

static bool one_is_gone(struct lab *l)
{
    (void)l;
    struct cc_status s = status();
    return s.devices[CC_PROGRAMMED] == DEVICES - 1 && s.devices[CC_PENDING] == 0;
}

/* A host does not answer, and leaves the fabric while requests to it are in flight. Their time-outs
 * must not count as failures of the device that takes its place in the list of devices. */
START_TEST(requests_to_a_host_that_left_fail_for_no_other_device)
{
    struct cc_device_status troubled[DEVICES];
    bring_up();
    lab.config.smp.timeout_ms = 5000;
    start_cc(HONEST, 0);
    wire.lost_lid = lid_of("host-0003", 1);
    lab_run(&lab, 10, all_but_one_stand, "all other devices are set");
    lab_unlink(&lab, "leaf-001", 3);
    lab_run(&lab, 10, one_is_gone, "the host has left the list");
    for (unsigned s = 0; s < 60; s++) {
        lab_run_for(&lab, 1);
        ck_assert_uint_eq(cc_not_programmed(cc, troubled, DEVICES), 0);
        ck_assert_uint_eq(status().devices[CC_PROGRAMMED], DEVICES - 1);
    }
    end();
}
END_TEST

/* If all traffic classes share the same SLs, all endports may send with each SL. */
START_TEST(without_classes_all_endports_may_send)
{
    const struct cc_work w = {.levels = 0};
    uint32_t fan_in[FAB_CONGESTION_SLS];
    memset(fan_in, 0xff, sizeof(fan_in));
    ck_assert_int_eq(cc_class_fan_in(&w, fan_in), FAB_OK);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        ck_assert_uint_eq(fan_in[sl], 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("congestion control of the daemon");
    TCase *t = tcase_create("cc");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, logs_are_read_evenly_and_counted_once);
    tcase_add_test(t, who_has_no_log_is_left_alone);
    tcase_add_test(t, a_log_that_fails_now_and_then_is_read_on);
    tcase_add_test(t, devices_hold_what_was_computed);
    tcase_add_test(t, settings_follow_the_rate_of_a_link);
    tcase_add_test(t, what_somebody_else_set_is_found);
    tcase_add_test(t, devices_with_a_foreign_key_are_left_alone);
    tcase_add_test(t, a_reload_tries_a_silent_device_again);
    tcase_add_test(t, new_settings_are_tried_as_often_as_the_first);
    tcase_add_test(t, requests_to_a_host_that_left_fail_for_no_other_device);
    tcase_add_test(t, without_classes_all_endports_may_send);
    return test_run(s);
}
