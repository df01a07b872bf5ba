/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rogue host and the election of the master (IBA 14.4.1). The rogue claims to have precedence,
 * requests keys, forges control packets, delays the start of the manager, and sends floods of
 * packets. Before trust.c and control.c were written, all these attacks succeeded except the
 * floods.
 *
 *  The fabric has 6 leaves with 4 hosts each and 3 spines. The manager under test is host-0001
 * (leaf-001/1). The other manager, which is the rogue in some tests, is host-0020 (leaf-005/4).
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"
#include "tests/sim/lab.h"

#define OTHER "host-0020"
#define OTHER_GUID 0x42
#define OTHER_PLACE "leaf-005/4"
#define ROGUE "host-0013" /* a host that runs no manager, at leaf-004/1 */
#define ROGUE_PLACE "leaf-004/1"
#define SM_KEY UINT64_C(0x5ec2e7)
#define M_KEY UINT64_C(0xfeed)

enum { AT_DATA = 64, AT_RETURN_PATH = 192 };

static void secure(struct lab *lab)
{
    lab->config.policy.sm_key = SM_KEY;
    lab->config.policy.m_keys.number = M_KEY;
}

/* Sets an M_Key. The SM_Key keeps its default, 1. */
static void secure_by_m_key(struct lab *lab)
{
    lab->config.policy.m_keys.number = M_KEY;
}

static void list_other(struct lab *lab)
{
    lab->config.policy.managers[0] =
        (struct fab_manager){.guid = OTHER_GUID, .switch_name = "leaf-005", .switch_port = 4};
    lab->config.policy.manager_count = 1;
}

static void list_other_elsewhere(struct lab *lab)
{
    list_other(lab);
    lab->config.policy.managers[0].switch_port = 3;
}

static void open_lab(struct lab *lab, void (*configure)(struct lab *lab))
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(lab);
    lab->config.policy.sm_priority = 5;
    if (configure)
        configure(lab);
    lab_begin(lab, NULL);
}

static void play_other(struct lab *lab, uint8_t priority, uint8_t state, uint64_t sm_key)
{
    lab_play_other(lab, OTHER, priority, state);
    lab->other.sm_key = sm_key;
}

static void sweep(struct lab *lab)
{
    ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
    lab_run_for(lab, 1);
    lab_run(lab, 10, lab_is_idle, "sweep");
}

/* Reads SMInfo of the manager from a host. Returns false if the manager did not answer. */
static bool get_sminfo(struct lab *lab, const char *node, uint64_t m_key, struct fab_sm_info *ret)
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_GET,
                           .tid = 9,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .m_key = m_key,
                           .path = lab_path_from(lab, node)};
    lab->replies = 0;
    lab_send(lab, node, &head, NULL);
    lab_run_for(lab, 0.01);
    if (lab->replies == 0)
        return false;
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, lab->reply + AT_DATA, FAB_SMP_DATA, ret),
        FAB_OK);
    return true;
}

/* Sends a control packet from `node` to the manager. from: the SMInfo in the packet. Returns false
 * if the manager did not answer. */
static bool send_control(struct lab *lab, const char *node, uint32_t packet, uint64_t m_key,
                         const struct fab_sm_info *from)
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_SET,
                           .tid = 11,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = packet,
                           .m_key = m_key,
                           .path = lab_path_from(lab, node)};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, from, data, sizeof data), FAB_OK);
    lab->replies = 0;
    lab_send(lab, node, &head, data);
    lab_run_for(lab, 0.5);
    return lab->replies > 0 && fab_base_get_be16(lab->reply + 4) == 0x8000;
}

/* ---- claims ---- */

START_TEST(a_better_master_without_the_key_is_ignored_and_named)
{
    void (*const modes[])(struct lab *) = {NULL, secure, list_other_elsewhere};
    for (size_t i = 0; i < 3; i++)
        for (uint64_t wrong = 0; wrong < 3; wrong++) {
            struct lab lab;
            open_lab(&lab, modes[i]);
            play_other(&lab, 15, FAB_SM_MASTER, wrong == 1 ? lab.config.policy.sm_key + 1 : 0);
            lab.other.guid = wrong == 2 ? 1 : OTHER_GUID;
            sm_start(lab.sm);
            lab_run(&lab, 10, lab_is_idle, "bring-up beside a rogue");
            ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
            const struct lab_event *e = lab_event(&lab, "sm-refused");
            ck_assert_ptr_nonnull(e);
            ck_assert_str_eq(e->subject, OTHER_PLACE);
            ck_assert_uint_eq(e->guid, lab.other.guid);
            lab_assert_good(&lab);
            lab_close(&lab);
        }
}
END_TEST

/* Every manager knows the default SM_Key, which is 1. It proves nothing if an M_Key or a list of
 * managers is configured. */
START_TEST(the_default_sm_key_proves_nothing)
{
    void (*const modes[])(struct lab *) = {secure_by_m_key, list_other_elsewhere};
    for (size_t i = 0; i < 2; i++) {
        struct lab lab;
        struct fab_sm_info info;
        open_lab(&lab, modes[i]);
        play_other(&lab, 15, FAB_SM_MASTER, 1);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_idle, "bring-up beside a rogue");
        ck_assert_ptr_nonnull(strstr(lab_event(&lab, "sm-refused")->message, "everybody knows"));
        ck_assert(!send_control(&lab, OTHER, FAB_SM_HANDOVER, 0, &lab.other));
        if (i == 0) {
            /* The other manager sends a request with the M_Key, which proves that it may be
             * trusted. */
            ck_assert(get_sminfo(&lab, OTHER, M_KEY, &info));
            lab_run(&lab, 15, lab_is_standby, "yielding");
        }
        lab_close(&lab);
    }
}
END_TEST

START_TEST(a_master_does_not_yield_to_a_rogue)
{
    struct lab lab;
    struct fab_sm_info seen;
    open_lab(&lab, secure);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    play_other(&lab, 15, FAB_SM_MASTER, 0);
    for (int i = 0; i < 4; i++)
        sweep(&lab);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    ck_assert_uint_eq(lab_count_events(&lab, "sm-refused"),
                      1); /* one event, and not one for each sweep */
    ck_assert_uint_eq(sm_others(lab.sm, &seen, 1), 0);
    lab.other.priority = 14; /* the other manager claims another priority */
    sweep(&lab);
    ck_assert_uint_eq(lab_count_events(&lab, "sm-refused"), 2);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(a_listed_manager_is_master_without_a_key)
{
    struct lab lab;
    open_lab(&lab, list_other);
    play_other(&lab, 15, FAB_SM_MASTER, 0);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_standby, "standby");
    const struct lab_event *e = lab_event(&lab, "sm-standby");
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_nonnull(strstr(e->message, OTHER_PLACE));
    lab_run_for(&lab, 60);
    ck_assert(lab_is_standby(&lab));
    lab_end_other(&lab);
    lab_run(&lab, 30, lab_is_idle, "taking over");
    ck_assert_ptr_nonnull(strstr(lab_event(&lab, "sm-master-lost")->message, OTHER_PLACE));
    lab_close(&lab);
}
END_TEST

/* The GUID of a listed manager answers at another switch port than the listed one. It is not
 * trusted. */
START_TEST(the_listed_guid_elsewhere_is_refused)
{
    struct lab lab;
    open_lab(&lab, list_other_elsewhere);
    play_other(&lab, 15, FAB_SM_MASTER, 0);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    ck_assert_str_eq(lab_event(&lab, "sm-refused")->subject, OTHER_PLACE);
    lab_close(&lab);
}
END_TEST

/* The master is trusted because its answers contain the SM_Key. When they no longer do, the manager
 * under test no longer trusts it, and takes over. */
START_TEST(a_master_that_loses_the_key_is_not_waited_for)
{
    struct lab lab;
    open_lab(&lab, secure);
    play_other(&lab, 15, FAB_SM_MASTER, SM_KEY);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_standby, "standby");
    lab.other.sm_key = 7;
    lab_run(&lab, 30, lab_is_idle, "taking over");
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-refused"));
    lab_close(&lab);
}
END_TEST

START_TEST(a_better_manager_that_never_becomes_master_is_passed_over)
{
    static const uint8_t states[] = {FAB_SM_STANDBY, FAB_SM_DISCOVERING};
    for (size_t i = 0; i < 2; i++) {
        struct lab lab;
        open_lab(&lab, NULL); /* the other manager knows the SM_Key, so it is trusted */
        play_other(&lab, 15, states[i], lab.config.policy.sm_key);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_standby, "standby");
        lab_run_for(&lab, 20);
        ck_assert(lab_is_standby(&lab));
        lab_run(&lab, 20, lab_is_idle, "passing over");
        ck_assert_str_eq(lab_event(&lab, "sm-passed-over")->subject, OTHER_PLACE);
        sweep(&lab);
        ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
        /* The other manager becomes master after all, so the manager under test yields to it. */
        lab.other.state = FAB_SM_MASTER;
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
        lab_run(&lab, 10, lab_is_standby, "yielding");
        lab_close(&lab);
    }
}
END_TEST

/* ---- keys ---- */

START_TEST(a_host_reads_no_key)
{
    struct lab lab;
    struct fab_sm_info info;
    open_lab(&lab, secure);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    ck_assert(get_sminfo(&lab, ROGUE, 0, &info));
    ck_assert_uint_eq(info.guid, lab.sim_transport->port_guid);
    ck_assert_uint_eq(info.state, FAB_SM_MASTER);
    ck_assert_uint_eq(info.sm_key, 0);
    ck_assert(get_sminfo(&lab, ROGUE, M_KEY + 1, &info));
    ck_assert_uint_eq(info.sm_key, 0);
    /* A request with the M_Key of this fabric gets the SM_Key. */
    ck_assert(get_sminfo(&lab, OTHER, M_KEY, &info));
    ck_assert_uint_eq(info.sm_key, SM_KEY);
    lab_close(&lab);
}
END_TEST

START_TEST(only_the_listed_place_reads_the_key)
{
    struct lab lab;
    struct fab_sm_info info;
    open_lab(&lab, list_other);
    /* Lists the other manager with the port GUID of its simulated adapter. */
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    uint32_t node = lab_node(&lab, OTHER);
    lab.config.policy.managers[0].guid = fab_fabric_port(f, fab_fabric_port_id(f, node, 1))->guid;
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    ck_assert(get_sminfo(&lab, ROGUE, 0, &info));
    ck_assert_uint_eq(info.sm_key, 0);
    ck_assert(get_sminfo(&lab, OTHER, 0, &info));
    ck_assert_uint_eq(info.sm_key, lab.config.policy.sm_key);
    lab_close(&lab);
}
END_TEST

/* A host forges the return path of its request: it leads through an adapter, to a port that does
 * not exist, or to the manager itself. The manager must not put the SM_Key into the answer. */
START_TEST(a_forged_return_path_reads_no_key)
{
    static const uint8_t forged[][6] = {{0, 1, 1, 5, 1, 1}, {0, 9, 9, 9, 9, 9}, {0, 0, 0, 0, 0, 0}};
    struct lab lab;
    open_lab(&lab, list_other);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    for (size_t i = 0; i < 3; i++)
        for (uint8_t hops = 0; hops < 6; hops++) {
            struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                   .method = FAB_METHOD_GET,
                                   .attr_id = FAB_ATTR_SM_INFO,
                                   .path = {.hops = hops}};
            uint8_t bytes[FAB_MAD_SIZE];
            struct fab_sm_info info;
            ck_assert_int_eq(fab_wire_smp_pack(&head, NULL, bytes), FAB_OK);
            memcpy(bytes + AT_RETURN_PATH, forged[i], sizeof forged[i]);
            lab.replies = 0;
            lab_receive_from(&lab, FAB_LID_PERMISSIVE, bytes);
            ck_assert_uint_eq(lab.replies, 1);
            ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_sm_info, lab.reply + AT_DATA,
                                                  FAB_SMP_DATA, &info),
                             FAB_OK);
            ck_assert_uint_eq(info.sm_key, 0);
        }
    lab_close(&lab);
}
END_TEST

/* Fills in the return path that the switches would have written if `node` had sent the request. */
static void make_up_return_path(struct lab *lab, const char *node, uint8_t bytes[FAB_MAD_SIZE])
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct fab_path path = lab_path_from(lab, node);
    uint32_t at = lab_node(lab, node);
    for (uint8_t hop = 1; hop <= path.hops; hop++) {
        const struct fab_port *in =
            fab_fabric_port(f, fab_fabric_port(f, fab_fabric_port_id(f, at, path.port[hop]))->peer);
        bytes[AT_RETURN_PATH + hop] = in->num;
        at = in->node;
    }
}

/* Packs a directed-route SMP with a return path that begins at OTHER. */
static void pack_as_other(struct lab *lab, uint8_t method, uint32_t packet,
                          const struct fab_sm_info *from, uint8_t bytes[FAB_MAD_SIZE])
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = method,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = packet,
                           .path = lab_path_from(lab, OTHER)};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, from, data, sizeof data), FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), FAB_OK);
    make_up_return_path(lab, OTHER, bytes);
}

static uint64_t sm_key_of_reply(const struct lab *lab)
{
    struct fab_sm_info info;
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, lab->reply + AT_DATA, FAB_SMP_DATA, &info),
        FAB_OK);
    return info.sm_key;
}

/* The rogue sends a LID-routed request, with the return path of the listed manager in it. Switches
 * correct the return path only if the packet is directed-route. The manager recognizes the forgery
 * by the source LID, which is the permissive LID if the whole route is directed (IBA 14.2.2.1). In
 * earlier versions, the rogue could read the SM_Key, and the manager accepted a HANDOVER of the
 * rogue as one of the listed manager. */
START_TEST(a_return_path_made_up_by_a_host_proves_nothing)
{
    struct lab lab;
    uint8_t bytes[FAB_MAD_SIZE];
    open_lab(&lab, list_other);
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    lab.config.policy.managers[0].guid =
        fab_fabric_port(f, fab_fabric_port_id(f, lab_node(&lab, OTHER), 1))->guid;
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    play_other(&lab, 3, FAB_SM_STANDBY, 0);
    lab.other.guid = lab.config.policy.managers[0].guid;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    const uint16_t lids[] = {fab_sim_port(lab.sim, lab_node(&lab, ROGUE), 1)->lid,
                             fab_sim_port(lab.sim, lab_node(&lab, OTHER), 1)->lid, 0};
    for (size_t i = 0; i < 3; i++) {
        lab.replies = 0;
        pack_as_other(&lab, FAB_METHOD_GET, 0, &lab.other, bytes);
        lab_receive_from(&lab, lids[i], bytes);
        ck_assert_uint_eq(lab.replies, 1);
        ck_assert_uint_eq(sm_key_of_reply(&lab), 0);
        lab_forget_events(&lab);
        pack_as_other(&lab, FAB_METHOD_SET, FAB_SM_HANDOVER, &lab.other, bytes);
        lab_receive_from(&lab, lids[i], bytes);
        lab_run_for(&lab, 11);
        ck_assert_uint_eq(lab.replies, 1);
        ck_assert_str_eq(lab_event(&lab, "sm-control-refused")->subject, "an unknown port");
    }
    pack_as_other(&lab, FAB_METHOD_GET, 0, &lab.other, bytes);
    /* a genuine directed-route request has a permissive source LID */
    lab_receive_from(&lab, FAB_LID_PERMISSIVE, bytes);
    ck_assert_uint_eq(sm_key_of_reply(&lab), lab.config.policy.sm_key);
    lab_close(&lab);
}
END_TEST

/* The manager sends its M_Key to no host that only claims to be a manager. It sends the key to
 * listed managers, and to managers that have shown the key themselves. */
START_TEST(the_m_key_is_sent_to_no_stranger)
{
    struct lab lab;
    struct fab_sm_info info;
    open_lab(&lab, secure);
    play_other(&lab, 3, FAB_SM_STANDBY, SM_KEY);
    /* the other manager puts its SM_Key only into answers to requests with the M_Key, as OpenSM
     * does */
    lab.other_m_key = M_KEY;
    lab.m_key_seen = 99;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    ck_assert_uint_eq(lab.m_key_seen, 0);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-refused"));
    ck_assert_uint_eq(sm_others(lab.sm, &info, 1), 0);
    /* The other manager sends a request with the M_Key. The manager under test trusts it after its
     * next regular sweep. */
    ck_assert(get_sminfo(&lab, OTHER, M_KEY, &info));
    lab_run_for(&lab, 15);
    ck_assert_uint_eq(lab.m_key_seen, M_KEY);
    ck_assert_uint_eq(sm_others(lab.sm, &info, 1), 1);
    ck_assert_uint_eq(info.guid, OTHER_GUID);
    lab_close(&lab);
}
END_TEST

/* ---- the M_Key ---- */

/* Sends an SMP from a host to another device by directed route. Returns false if the device does
 * not answer. */
static bool ask_device(struct lab *lab, const char *node, struct fab_mad *head, uint8_t *ret_data)
{
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_smp_pack(head, data, bytes), FAB_OK);
    int answered = fab_sim_send(lab->sim, lab_node(lab, node), 1, 0xffff, bytes, reply);
    if (answered == 1)
        memcpy(ret_data, reply + AT_DATA, FAB_SMP_DATA);
    transport_sim_kick(lab->sim_transport);
    return answered == 1;
}

/* Diagnostic programs without the M_Key can read everything but the key, and can write nothing.
 * Wrong keys start the lease period of the port. The manager stops the lease period when the trap
 * about the wrong key arrives, so the protection never ends. */
START_TEST(the_m_key_is_neither_read_nor_worn_out)
{
    struct lab lab;
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info info;
    open_lab(&lab, secure);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    uint32_t leaf = lab_node(&lab, "leaf-004");
    for (uint32_t n = 0; n < fab_sim_fabric(lab.sim)->node_count; n++) {
        bool is_switch = fab_fabric_node_is_switch(fab_sim_fabric(lab.sim), n);
        const struct fab_port_info *port = fab_sim_port(lab.sim, n, is_switch ? 0 : 1);
        ck_assert_uint_eq(port->m_key, M_KEY);
        ck_assert_uint_eq(port->m_key_protect, 1);
        ck_assert_uint_eq(port->m_key_lease, 60);
    }
    struct fab_mad get = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .path = {.hops = 1, .port = {0, 1}}};
    ck_assert(ask_device(&lab, ROGUE, &get, data));
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &info),
                     FAB_OK);
    ck_assert_uint_ne(info.lid, 0);
    ck_assert_uint_eq(info.m_key, 0);
    struct fab_mad set = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_LFT,
                          .m_key = M_KEY + 1,
                          .path = {.hops = 1, .port = {0, 1}}};
    for (int minute = 0; minute < 20; minute++) {
        ck_assert(!ask_device(&lab, ROGUE, &set, data));
        lab_run_for(&lab, 50);
        ck_assert_uint_eq(fab_sim_port(lab.sim, leaf, 0)->m_key_protect, 1);
    }
    ck_assert(ask_device(&lab, ROGUE, &get, data));
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &info),
                     FAB_OK);
    ck_assert_uint_eq(info.m_key, 0);
    ck_assert_uint_eq(info.m_key_protect, 1);
    ck_assert_uint_gt(info.m_key_violations, 10);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* A host sends so many wrong keys that the rate limit suppresses most traps about them, including
 * the last ones. The victim is an adapter, which no light sweep reads. Its protection must last:
 * each TrapRepress and each targeted sweep restarts its lease period. */
START_TEST(a_flood_of_wrong_keys_does_not_end_the_protection)
{
    struct lab lab;
    uint8_t data[FAB_SMP_DATA];
    struct fab_mad set = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .m_key = M_KEY + 1,
                          .path = {.hops = 2, .port = {0, 1, 2}}};
    open_lab(&lab, secure);
    /* the scrub is off, because its reads would restart the lease period, too */
    lab.config.sweep.scrub_interval_s = 0;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    for (int i = 0; i < 1000; i++) {
        ck_assert(!ask_device(&lab, ROGUE, &set, data));
        lab_run_for(&lab, 0.01);
    }
    lab_run_for(&lab, 200);
    ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, "host-0014"), 1)->m_key_protect, 1);
    ck_assert_uint_gt(fab_sim_port(lab.sim, lab_node(&lab, "host-0014"), 1)->m_key_violations, 900);
    lab_close(&lab);
}
END_TEST

/* ---- many ports with IsSM ---- */

#define IS_SM_PORTS 90
/* Host at leaf-006/16. The manager finds all other hosts with IsSM before this one. */
#define LAST "host-0096"

static void open_many_is_sm(struct lab *lab, bool listed)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 16), NULL);
    lab_stop(lab);
    secure(lab);
    if (listed) {
        lab->config.policy.managers[0] =
            (struct fab_manager){.guid = OTHER_GUID, .switch_name = "leaf-006", .switch_port = 16};
        lab->config.policy.manager_count = 1;
    }
    lab_begin(lab, NULL);
    for (unsigned i = 2; i < IS_SM_PORTS + 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "host-%04u", i);
        ck_assert_int_eq(fab_sim_attach(lab->sim, lab_node(lab, name), 1, true), FAB_OK);
    }
    lab->silent_others = true;
    lab_play_other(lab, LAST, 15, FAB_SM_MASTER);
    lab->other.sm_key = listed ? 0 : SM_KEY;
    sm_start(lab->sm);
}

START_TEST(a_listed_manager_is_always_asked)
{
    struct lab lab;
    open_many_is_sm(&lab, true);
    lab_run(&lab, 10, lab_is_standby, "standby: the listed manager is master");
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-ports-many"));
    lab_close(&lab);
}
END_TEST

static bool is_settled(struct lab *lab)
{
    return lab_is_standby(lab) || lab_is_idle(lab);
}

START_TEST(every_port_with_is_sm_is_asked_in_turn)
{
    struct lab lab;
    open_many_is_sm(&lab, false);
    lab_run(&lab, 20, is_settled, "bring-up");
    for (int i = 0; i < 2 && !lab_is_standby(&lab); i++) {
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
        lab_run_for(&lab, 5);
        lab_run(&lab, 20, is_settled, "a sweep");
    }
    /* the manager under test has found the other manager among all ports with IsSM, and yields to
     * it */
    ck_assert(lab_is_standby(&lab));
    unsigned asked = 0;
    for (unsigned i = 0; i < sizeof lab.asked; i++)
        asked += lab.asked[i] > 0;
    ck_assert_uint_ge(asked, IS_SM_PORTS);
    lab_close(&lab);
}
END_TEST

/* ---- control packets ---- */

static void stand_by(struct lab *lab)
{
    open_lab(lab, secure);
    play_other(lab, 15, FAB_SM_MASTER, SM_KEY);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_standby, "standby");
    lab_forget_events(lab);
}

START_TEST(forged_control_packets_change_nothing)
{
    static const uint32_t packets[] = {FAB_SM_HANDOVER, FAB_SM_ACKNOWLEDGE, FAB_SM_DISABLE,
                                       FAB_SM_GO_STANDBY, FAB_SM_DISCOVER};
    struct lab lab;
    stand_by(&lab);
    for (size_t i = 0; i < 5; i++)
        for (uint8_t state = 0; state < 4; state++) {
            struct fab_sm_info from = lab.other;
            from.state = state;
            from.sm_key = 0;
            ck_assert(!send_control(&lab, ROGUE, packets[i], 0, &from));
            ck_assert(!send_control(&lab, ROGUE, packets[i], M_KEY,
                                    &from)); /* the rogue knows the M_Key */
            /* the other manager is trusted, but this packet has no key */
            ck_assert(!send_control(&lab, OTHER, packets[i], 0, &from));
            from.guid = 7;
            ck_assert(!send_control(&lab, ROGUE, packets[i], 0, &from));
            ck_assert_uint_eq(lab_role(&lab), FAB_SM_STANDBY);
        }
    const struct lab_event *e = lab_event(&lab, "sm-control-refused");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, ROGUE_PLACE);
    lab_end_other(&lab); /* the manager under test can still take over */
    lab_run(&lab, 30, lab_is_idle, "taking over");
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(an_authentic_packet_counts_only_if_its_sender_confirms_it)
{
    struct lab lab;
    stand_by(&lab);
    struct fab_sm_info from = lab.other;
    lab.other.state = FAB_SM_DISCOVERING; /* it says that it is not master */
    ck_assert(!send_control(&lab, OTHER, FAB_SM_DISABLE, M_KEY, &from));
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_STANDBY);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-control-refused"));
    lab.other.state = FAB_SM_MASTER;
    ck_assert(send_control(&lab, OTHER, FAB_SM_DISABLE, M_KEY, &from));
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_NOT_ACTIVE);
    lab_close(&lab);
}
END_TEST

/* OpenSM sends a HANDOVER by directed route and with the SM_Key, and is in state standby right
 * afterwards. The manager must accept such a HANDOVER. */
START_TEST(a_handover_like_that_of_opensm_is_accepted)
{
    struct lab lab;
    stand_by(&lab);
    struct fab_sm_info from = lab.other;
    lab.other.state = FAB_SM_STANDBY;
    lab.other.priority = 0;
    ck_assert(send_control(&lab, OTHER, FAB_SM_HANDOVER, 0, &from));
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    ck_assert_uint_eq(lab_count_events(&lab, "sm-control-refused"), 0);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The new master must not report two masters after a hand-over. It read SMInfo of the former master
 * before the hand-over, and the former master was master then. Its first sweep ends before it reads
 * this SMInfo again. */
START_TEST(what_a_former_master_said_before_the_handover_does_not_count)
{
    struct lab lab;
    stand_by(&lab);
    lab_run_for(&lab, 2);
    struct fab_sm_info from = lab.other;
    lab.other.state = FAB_SM_STANDBY;
    lab.lost = FAB_ATTR_NODE_INFO;
    ck_assert(send_control(&lab, OTHER, FAB_SM_HANDOVER, 0, &from));
    lab_run_for(&lab, 0.2);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab.lost = 0;
    lab.other.priority = 0;
    lab_run(&lab, 20, lab_is_idle, "bring-up");
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    ck_assert_uint_eq(lab_count_events(&lab, "sm-two-masters"), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(a_flood_of_forged_packets_makes_few_events)
{
    struct lab lab;
    struct fab_sm_info from;
    stand_by(&lab);
    from = lab.other;
    from.sm_key = 0;
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_SET,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = FAB_SM_DISABLE,
                           .path = lab_path_from(&lab, ROGUE)};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &from, data, sizeof data), FAB_OK);
    for (int i = 0; i < 30000; i++) {
        lab_send(&lab, ROGUE, &head, data);
        if (i % 1000 == 0)
            lab_run_for(&lab, 1);
    }
    ck_assert(lab_is_standby(&lab));
    ck_assert_uint_le(lab_count_events(&lab, "sm-control-refused"), 4);
    lab_close(&lab);
}
END_TEST

/* Each HANDOVER to a master requests a sweep. 200 HANDOVERs in 100 s cause only a few sweeps. */
START_TEST(repeated_handovers_cause_few_sweeps)
{
    struct lab lab;
    struct sm_status before, after;
    open_lab(&lab, secure);
    play_other(&lab, 3, FAB_SM_MASTER, SM_KEY);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_standby, "standby: there is a master");
    lab.other.state = FAB_SM_STANDBY;
    struct fab_sm_info from = lab.other;
    from.state = FAB_SM_MASTER;
    ck_assert(send_control(&lab, OTHER, FAB_SM_HANDOVER, M_KEY, &from));
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    sm_get_status(lab.sm, &before);
    for (int i = 0; i < 200; i++)
        ck_assert(send_control(&lab, OTHER, FAB_SM_HANDOVER, M_KEY, &from));
    sm_get_status(lab.sm, &after);
    ck_assert_uint_le(after.sweeps - before.sweeps, 12); /* they arrived within 100 s */
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("election under attack");
    TCase *t = tcase_create("attacks");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_better_master_without_the_key_is_ignored_and_named);
    tcase_add_test(t, the_default_sm_key_proves_nothing);
    tcase_add_test(t, a_master_does_not_yield_to_a_rogue);
    tcase_add_test(t, a_listed_manager_is_master_without_a_key);
    tcase_add_test(t, the_listed_guid_elsewhere_is_refused);
    tcase_add_test(t, a_master_that_loses_the_key_is_not_waited_for);
    tcase_add_test(t, a_better_manager_that_never_becomes_master_is_passed_over);
    tcase_add_test(t, a_host_reads_no_key);
    tcase_add_test(t, only_the_listed_place_reads_the_key);
    tcase_add_test(t, a_forged_return_path_reads_no_key);
    tcase_add_test(t, a_return_path_made_up_by_a_host_proves_nothing);
    tcase_add_test(t, the_m_key_is_sent_to_no_stranger);
    tcase_add_test(t, the_m_key_is_neither_read_nor_worn_out);
    tcase_add_test(t, a_flood_of_wrong_keys_does_not_end_the_protection);
    tcase_add_test(t, a_listed_manager_is_always_asked);
    tcase_add_test(t, every_port_with_is_sm_is_asked_in_turn);
    tcase_add_test(t, forged_control_packets_change_nothing);
    tcase_add_test(t, an_authentic_packet_counts_only_if_its_sender_confirms_it);
    tcase_add_test(t, a_handover_like_that_of_opensm_is_accepted);
    tcase_add_test(t, what_a_former_master_said_before_the_handover_does_not_count);
    tcase_add_test(t, a_flood_of_forged_packets_makes_few_events);
    tcase_add_test(t, repeated_handovers_cause_few_sweeps);
    suite_add_tcase(s, t);
    return test_run(s);
}
