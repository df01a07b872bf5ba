/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rotations of the CC_Key while the manager works, and hosts that try CC_Keys. In earlier versions,
 * a new congestion.cc_key locked the manager out of all devices, because they still had the old
 * key, which the manager took for the key of another manager. A lost key stayed in the devices
 * until they restarted. No event reported a host that tried CC_Keys.
 *
 *  Every 10 ms of virtual time, the tests check that each device has one of the two keys in the key
 * file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/cc/cc.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/wire/gs.h"
#include "tests/sim/lab.h"

#define LEASE_S 300

struct wire {
    struct transport base;
    /* sends: number of requests that the manager has sent. most: the manager counts as killed after
     * this number of requests; 0: no limit. */
    uint64_t sends, most;
};

static struct lab lab;
static struct wire wire;
static struct cc *cc;
static char dir[64];
static uint64_t violations; /* sum of CC_KeyViolations of all devices */

/* ---- the manager ----------------------------------------------------------------------------- */

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    if (wire.most > 0 && wire.sends >= wire.most)
        return FAB_OK;
    wire.sends++;
    return transport_send(lab.sim_transport, mad);
}

static void wire_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    (void)ctx;
    transport_hand_up(&wire.base, mads, count);
}

static void start_cc(void)
{
    static const struct transport_ops ops = {.send = wire_send};
    char why[512] = "";
    wire = (struct wire){.base = {.ops = &ops, .window_max = 256}};
    if (lab.config.cc_key_generated)
        ck_assert_msg(store_cc_key_generated(dir, &lab.config.policy.congestion.key, why,
                                             sizeof why) == FAB_OK,
                      "%s", why);
    ck_assert_int_eq(transport_on_class(lab.sim_transport, FAB_CLASS_CC, wire_receive, &wire), 0);
    const struct cc_input in = {.loop = lab.loop,
                                .transport = &wire.base,
                                .sm = lab.sm,
                                .bus = lab.bus,
                                .config = &lab.config,
                                .keys_dir = dir};
    ck_assert_int_eq(cc_new(&in, &cc), 0);
}

static void stop_cc(void)
{
    cc_free(cc);
    cc = NULL;
    (void)transport_on_class(lab.sim_transport, FAB_CLASS_CC, NULL, NULL);
}

static struct cc_status status(void)
{
    struct cc_status s;
    cc_get_status(cc, &s);
    return s;
}

static struct sm_key_status key_status(void)
{
    struct sm_key_status k;
    cc_get_key_status(cc, &k);
    return k;
}

static uint32_t node_count(void)
{
    return fab_sim_fabric(lab.sim)->node_count;
}

static bool all_programmed(struct lab *l)
{
    (void)l;
    return status().devices[CC_PROGRAMMED] == node_count();
}

static void open_scene(struct fab_builder *builder, bool generated)
{
    snprintf(dir, sizeof dir, "/tmp/fabricd-cc-keys.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    lab_open_virtual(&lab, builder, NULL);
    lab.config.policy.congestion.apply = true;
    lab.config.policy.congestion.key_lease_s = LEASE_S;
    lab.config.cc_key_generated = generated;
    sm_start(lab.sm);
    lab_run(&lab, 30, lab_is_idle, "bring-up");
    violations = 0;
    start_cc();
    lab_run(&lab, 60, all_programmed, "all devices are programmed");
}

static void close_scene(void)
{
    char command[100];
    stop_cc();
    lab_close(&lab);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

/* ---- devices --------------------------------------------------------------------------------- */

static uint16_t lid_of(uint32_t node)
{
    bool is_switch = fab_fabric_node_is_switch(fab_sim_fabric(lab.sim), node);
    return fab_sim_port(lab.sim, node, is_switch ? 0 : 1)->lid;
}

/* Sends a request as a program on host-0001 would. Returns false if the device did not answer. */
static bool request(uint32_t node, uint8_t method, uint64_t key, const struct fab_attr *attr,
                    const void *value, void *ret)
{
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], data[FAB_GS_DATA] = {0};
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_CC,
                                 .class_version = 2,
                                 .method = method,
                                 .tid = 10,
                                 .attr_id = attr->id};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), 0);
    if (value)
        ck_assert_int_eq(fab_wire_attr_pack(attr, value, data, sizeof data), 0);
    memcpy(mad + FAB_CC_DATA, data, sizeof data);
    fab_base_put_be64(mad + FAB_CC_KEY, key);
    if (fab_sim_send(lab.sim, lab_node(&lab, "host-0001"), 1, lid_of(node), mad, reply) != 1)
        return false;
    if (ret)
        ck_assert_int_eq(fab_wire_attr_unpack(attr, reply + FAB_CC_DATA, FAB_GS_DATA, ret), 0);
    return fab_base_get_be16(reply + 4) == 0;
}

/* Reads CongestionKeyInfo; repeats the request, because answers can be lost. Returns false if the
 * device is absent. */
static bool try_info(uint32_t node, uint64_t key, struct fab_cc_key_info *ret)
{
    for (int i = 0; i < 50; i++)
        if (request(node, FAB_METHOD_GET, key, &fab_wire_attr_cc_key_info, NULL, ret))
            return true;
    return false;
}

static struct fab_cc_key_info read_info(uint32_t node, uint64_t key)
{
    struct fab_cc_key_info info = {0};
    ck_assert(try_info(node, key, &info));
    return info;
}

static struct store_m_key read_file(void)
{
    struct store_m_key k;
    char why[512] = "";
    ck_assert_msg(store_cc_key_read(dir, &k, why, sizeof why) == FAB_OK, "%s", why);
    return k;
}

/* Counts the devices with the current key. Checks that each other device has the previous key, or
 * is absent. */
static uint32_t check(void)
{
    struct store_m_key k = read_file();
    uint32_t count = 0;
    violations = 0;
    for (uint32_t node = 0; node < node_count(); node++) {
        struct fab_cc_key_info info;
        if (!try_info(node, k.current, &info))
            continue;
        if (info.key == k.current)
            count++;
        else
            ck_assert_msg(read_info(node, k.previous).key == k.previous, "%s has neither key",
                          fab_sim_fabric(lab.sim)->nodes[node].desc);
        violations += info.violations;
    }
    store_m_key_fini(&k);
    return count;
}

static void assert_all_current(void)
{
    ck_assert_uint_eq(check(), node_count());
    struct sm_key_status k = key_status();
    ck_assert_uint_eq(k.current, node_count());
    ck_assert_uint_eq(k.previous + k.unknown, 0);
    for (uint32_t node = 0; node < node_count(); node++) {
        struct fab_cc_key_info info = read_info(node, 0);
        ck_assert(info.key == 0 && info.protect && info.lease == LEASE_S);
    }
}

static void rotate(void)
{
    char why[512] = "";
    ck_assert_msg(cc_key_rotate(cc, false, false, why, sizeof why) == FAB_OK, "%s", why);
}

static void run_rotation(double seconds)
{
    for (double t = 0; t < seconds && key_status().rotating; t += 0.01) {
        lab_run_for(&lab, 0.01);
        (void)check();
    }
    struct sm_key_status k = key_status();
    ck_assert_msg(!k.rotating, "not complete: %u previous, %u unknown, %u absent: %s", k.previous,
                  k.unknown, k.absent, k.names);
}

/* Simulates kill -9. The manager can send this number of further requests; then it writes and sends
 * nothing more, and is stopped. */
static void kill_after(uint64_t requests)
{
    wire.most = wire.sends + requests;
    lab_run_for(&lab, 1);
    stop_cc();
    (void)check();
}

/* ---- rotation -------------------------------------------------------------------------------- */

START_TEST(all_devices_get_a_new_key)
{
    struct stat st;
    char path[96];
    open_scene(lab_leaf_spine(12, 6, 12), true);
    assert_all_current();
    uint64_t sends = wire.sends, writes = status().writes;
    rotate();
    ck_assert(key_status().rotating);
    run_rotation(30);
    assert_all_current();
    printf("# %u devices: %u MADs\n", node_count(), (unsigned)(wire.sends - sends));
    /* for each device a Get, a Set and a Get, and some reads of congestion logs */
    ck_assert_uint_le(wire.sends - sends, 3u * node_count() + node_count() / 10);
    ck_assert_uint_eq(status().writes - writes, node_count());
    ck_assert_uint_eq(violations, 0);
    ck_assert_uint_eq(key_status().generation, 2);
    ck_assert_ptr_nonnull(lab_event(&lab, "cc-key-rotation"));
    ck_assert_ptr_nonnull(lab_event(&lab, "cc-key-rotated"));
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], node_count());
    snprintf(path, sizeof path, "%s/cc_key", dir);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    close_scene();
}
END_TEST

/* During a rotation, MADs are lost, a host is absent, and the manager is killed at several moments.
 */
START_TEST(a_rotation_survives_faults_and_a_kill)
{
    for (unsigned requests = 1; requests < 110; requests += 12) {
        open_scene(lab_leaf_spine(6, 3, 4), true);
        lab_unlink(&lab, "leaf-003", 2);
        lab_run(&lab, 10, lab_is_idle, "a host is away");
        lab_run_for(&lab, 5);
        rotate();
        fab_sim_loss(lab.sim, 0.05);
        kill_after(requests);
        uint32_t done = check();
        start_cc();
        run_rotation(600);
        ck_assert_uint_ge(check(), node_count() - 1);
        fab_sim_loss(lab.sim, 0);
        /* The host at this port returns with the previous key. */
        lab_relink(&lab, "leaf-003", 2);
        lab_run_for(&lab, 60);
        printf("# killed after %u requests, %u of %u devices changed; %u violations\n", requests,
               done, node_count(), (unsigned)violations);
        lab_run(&lab, 700, all_programmed, "all devices are programmed again");
        assert_all_current();
        ck_assert_uint_eq(violations, 0);
        close_scene();
    }
}
END_TEST

/* Reads the key from the simulated device directly, without a MAD. */
static uint64_t key_in(uint32_t node)
{
    struct fab_cc_key_info info;
    uint8_t data[FAB_GS_DATA] = {0};
    const struct fab_fabric *f = fab_sim_fabric(lab.sim);
    uint8_t num = fab_fabric_node_is_switch(f, node) ? 0 : 1;
    ck_assert(
        fab_sim_table_read(lab.sim, fab_fabric_port_id(f, node, num), FAB_CC_KEY_INFO, 0, data));
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_cc_key_info, data, sizeof data, &info), 0);
    return info.key;
}

/* Returns the number of devices with the current key. All others must have the previous one. */
static uint32_t check_devices(void)
{
    struct store_m_key k = read_file();
    uint32_t count = 0;
    for (uint32_t node = 0; node < node_count(); node++) {
        uint64_t key = key_in(node);
        ck_assert_msg(key != 0 && (key == k.current || key == k.previous), "%s has neither key",
                      fab_sim_fabric(lab.sim)->nodes[node].desc);
        count += key == k.current;
    }
    store_m_key_fini(&k);
    return count;
}

/* Runs until at least this number of devices has the current key, or the rotation is complete. */
static void run_until_changed(uint32_t devices)
{
    for (int i = 0; i < 12000 && check_devices() < devices && key_status().rotating; i++)
        lab_run_for(&lab, 0.01);
}

/* Takes links down, or up again if `back` is true. what: 0 for the link of a host, 1 for two ISLs,
 * 2 for all links of a spine. */
static void change_fabric(unsigned what, bool back)
{
    void (*act)(struct lab *, const char *, uint8_t) = back ? lab_relink : lab_unlink;
    switch (what) {
    case 0:
        act(&lab, "leaf-013", 4);
        break;
    case 1:
        act(&lab, "leaf-002", 20);
        act(&lab, "leaf-030", 33);
        break;
    default:
        for (uint8_t port = 1; port <= 36; port++)
            act(&lab, "spine-007", port);
    }
}

static const struct killed_round {
    /* The manager is killed when at least this number of devices has the new key. */
    int devices;
    int lost, back; /* links that fail and that return then (`what` of change_fabric); -1: none */
} killed_rounds[] = {{0, -1, -1},  {1, 0, -1},  {50, 1, -1},  {200, 2, 1},
                     {400, -1, 0}, {600, 1, 2}, {695, -1, 1}, {702, -1, -1}};

/* The manager is killed several times during a rotation: before any device has the new key, after
 * the first device has it, several times later, and after the last device has it. At each kill,
 * other links fail or return. MADs are lost all the time. */
START_TEST(a_rotation_at_648_hosts_survives_faults_and_kills)
{
    open_scene(lab_leaf_spine(36, 18, 18), true);
    ck_assert_uint_eq(check_devices(), node_count());
    rotate();
    fab_sim_loss(lab.sim, 0.02);
    for (size_t i = 0; i < sizeof killed_rounds / sizeof *killed_rounds; i++) {
        const struct killed_round *r = &killed_rounds[i];
        if (r->lost >= 0)
            change_fabric((unsigned)r->lost, false);
        if (r->back >= 0)
            change_fabric((unsigned)r->back, true);
        run_until_changed((uint32_t)r->devices);
        wire.most = wire.sends;
        stop_cc();
        printf("# killed when %u of %u devices had the new key\n", check_devices(), node_count());
        start_cc();
    }
    for (int s = 0; s < 1200 && key_status().rotating; s++) {
        lab_run_for(&lab, 1);
        (void)check_devices();
    }
    ck_assert(!key_status().rotating);
    fab_sim_loss(lab.sim, 0);
    lab_run(&lab, 1300, all_programmed, "all devices are programmed again");
    ck_assert_uint_eq(check_devices(), node_count());
    assert_all_current();
    ck_assert_uint_eq(violations, 0);
    ck_assert_uint_eq(key_status().absent, 0);
    close_scene();
}
END_TEST

START_TEST(a_rotation_is_refused_where_it_would_lose_devices)
{
    char why[512] = "";
    open_scene(lab_leaf_spine(2, 2, 3), true);
    rotate();
    ck_assert_int_eq(cc_key_rotate(cc, false, false, why, sizeof why), FAB_E_BUSY);
    lab_unlink(&lab, "leaf-001", 2);
    run_rotation(30);
    ck_assert_uint_le(key_status().absent, 1);
    lab_relink(&lab, "leaf-001", 2);
    lab_run_for(&lab, 30);
    assert_all_current();
    lab.config.policy.congestion.apply = false;
    ck_assert_int_eq(cc_key_rotate(cc, false, false, why, sizeof why), FAB_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why, "congestion.apply"));
    lab.config.policy.congestion.apply = true;
    lab.config.policy.manager_count = 1;
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    ck_assert_int_eq(cc_key_rotate(cc, false, false, why, sizeof why), FAB_E_DENIED);
    ck_assert_ptr_nonnull(strstr(why, "copy the file cc_key"));
    lab.config.policy.manager_count = 0;
    lab.config.cc_key_generated = false;
    ck_assert_int_eq(cc_key_rotate(cc, false, false, why, sizeof why), FAB_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why, "congestion.cc_key"));
    close_scene();
}
END_TEST

/* A device that does not answer does not delay the rotation of the others. The status lists this
 * device, even after the next rotation. */
START_TEST(a_silent_device_gets_the_key_later)
{
    char why[512] = "";
    open_scene(lab_leaf_spine(2, 2, 3), true);
    ck_assert_int_eq(fab_sim_silence(lab.sim, lab_node(&lab, "host-0004"), true), 0);
    rotate();
    for (int s = 0; s < 1000 && key_status().rotating; s++)
        lab_run_for(&lab, 1);
    ck_assert(!key_status().rotating);
    ck_assert_int_eq(cc_key_rotate(cc, false, false, why, sizeof why), FAB_E_EXISTS);
    ck_assert_ptr_nonnull(strstr(why, "--give-up-absent"));
    ck_assert_int_eq(fab_sim_silence(lab.sim, lab_node(&lab, "host-0004"), false), 0);
    lab_run(&lab, 1200, all_programmed, "the device answers again");
    assert_all_current();
    ck_assert_uint_eq(key_status().absent, 0);
    ck_assert_uint_eq(violations, 0);
    rotate();
    run_rotation(30);
    close_scene();
}
END_TEST

static void use_key(uint64_t key)
{
    lab.config.cc_key_generated = false;
    lab.config.policy.congestion.key = key;
}

/* The setting congestion.cc_key changes five times: from no key to a number, by a reload to another
 * number, while the manager is stopped to a third number, then to a generated key, and at the end
 * to no key. */
START_TEST(a_key_of_the_settings_changes_in_the_same_way)
{
    open_scene(lab_leaf_spine(2, 2, 3), false);
    ck_assert_uint_eq(read_info(0, 0).protect, 0);
    for (uint64_t key = 0x1111; key <= 0x3333; key += 0x1111) {
        bool restarts = key == 0x3333;
        if (restarts)
            stop_cc();
        use_key(key);
        if (restarts)
            start_cc();
        else
            cc_reload(cc);
        lab_run_for(&lab, 20);
        run_rotation(30);
        assert_all_current();
        ck_assert_uint_eq(read_info(node_count() - 1, key).key, key);
    }
    stop_cc();
    lab.config.cc_key_generated = true;
    start_cc();
    lab_run_for(&lab, 20);
    run_rotation(30);
    assert_all_current();
    ck_assert_uint_eq(violations, 0);
    use_key(0);
    cc_reload(cc);
    lab_run_for(&lab, 20);
    ck_assert(!key_status().rotating);
    for (uint32_t node = 0; node < node_count(); node++) {
        struct fab_cc_key_info info = read_info(node, 0);
        ck_assert(info.key == 0 && !info.protect && info.violations == 0);
    }
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], node_count());
    close_scene();
}
END_TEST

/* ---- lost keys ------------------------------------------------------------------------------- */

static void lose_the_file(void)
{
    char path[96];
    stop_cc();
    snprintf(path, sizeof path, "%s/cc_key", dir);
    ck_assert_int_eq(unlink(path), 0);
    start_cc();
}

/* The steps are those of "Lost keys" in doc/security.md. */
START_TEST(a_lost_key_is_recovered_when_its_lease_ends)
{
    open_scene(lab_leaf_spine(2, 2, 3), true);
    lose_the_file();
    lab_run_for(&lab, LEASE_S - 30);
    ck_assert_uint_eq(status().devices[CC_FOREIGN_KEY], node_count());
    ck_assert_uint_eq(key_status().unknown, node_count());
    double before = (double)fab_sim_now(lab.sim) / 1e6;
    lab_run(&lab, 120, all_programmed, "taking the devices back");
    printf("# all devices taken back after %.0f s\n",
           (double)fab_sim_now(lab.sim) / 1e6 - before + LEASE_S - 30);
    assert_all_current();
    close_scene();
}
END_TEST

START_TEST(a_foreign_key_without_a_lease_is_left_alone)
{
    open_scene(lab_leaf_spine(2, 2, 3), true);
    struct store_m_key k = read_file();
    const struct fab_cc_key_info forever = {.key = k.current, .protect = 1};
    uint32_t node = lab_node(&lab, "host-0005");
    stop_cc();
    ck_assert(request(node, FAB_METHOD_SET, k.current, &fab_wire_attr_cc_key_info, &forever, NULL));
    start_cc();
    lose_the_file();
    lab_run_for(&lab, 3600);
    ck_assert_uint_eq(status().devices[CC_PROGRAMMED], node_count() - 1);
    ck_assert_uint_eq(status().devices[CC_FOREIGN_KEY], 1);
    ck_assert_uint_eq(read_info(node, k.current).key, k.current);
    ck_assert_uint_eq(read_info(node, k.current).violations, 0);
    store_m_key_fini(&k);
    close_scene();
}
END_TEST

/* ---- a rogue --------------------------------------------------------------------------------- */

/* Attacks a device for `seconds`: every 20 s, sends it two Sets with wrong CC_Keys. */
static void attack(const char *name, double seconds)
{
    const struct fab_cc_key_info theirs = {.key = 0xbad, .protect = 1};
    const struct fab_cc_ca_setting off = {.control_map = 0xffff};
    uint32_t node = lab_node(&lab, name);
    for (double t = 0; t < seconds; t += 20) {
        ck_assert(!request(node, FAB_METHOD_SET, 0, &fab_wire_attr_cc_ca_setting, &off, NULL));
        ck_assert(!request(node, FAB_METHOD_SET, 0xbad, &fab_wire_attr_cc_key_info, &theirs, NULL));
        lab_run_for(&lab, 20);
        ck_assert_uint_eq(read_info(node, 0).key, 0);
    }
}

/* Each request with a wrong CC_Key starts the lease period of the device. The manager sends a
 * request with the right key in time, which stops the lease period before it ends. */
START_TEST(wrong_keys_do_not_end_the_protection)
{
    static const uint32_t intervals[] = {0, 60, 3600}; /* values of counters.interval, in seconds */
    for (int i = 0; i < 3; i++) {
        struct store_m_key k;
        open_scene(lab_leaf_spine(2, 2, 3), true);
        lab.config.counters.interval_s = intervals[i];
        lab_run_for(&lab, 60);
        lab_forget_events(&lab);
        attack("host-0004", 4 * LEASE_S);
        k = read_file();
        struct fab_cc_key_info info = read_info(lab_node(&lab, "host-0004"), k.current);
        ck_assert(info.key == k.current && info.protect && info.violations > 100);
        if (intervals[i] == 60) {
            const struct lab_event *e = lab_event(&lab, "cc-key-violation");
            ck_assert_ptr_nonnull(e);
            ck_assert_str_eq(e->subject, "host-0004");
        }
        ck_assert_uint_eq(status().changed, 0);
        ck_assert_ptr_null(lab_event(&lab, "cc-key-exposed"));
        store_m_key_fini(&k);
        close_scene();
    }
}
END_TEST

START_TEST(a_key_that_was_shown_is_reported)
{
    const struct fab_cc_key_info theirs = {.key = 0xbad, .protect = 1};
    open_scene(lab_leaf_spine(2, 2, 3), true);
    uint32_t node = lab_node(&lab, "host-0004");
    /* While the manager is stopped, nobody sends requests with the right key, so the lease period
     * ends. */
    stop_cc();
    ck_assert(!request(node, FAB_METHOD_SET, 1, &fab_wire_attr_cc_key_info, &theirs, NULL));
    lab_run_for(&lab, LEASE_S + 30);
    struct store_m_key k = read_file();
    ck_assert_uint_eq(read_info(node, 0).key, k.current);
    start_cc();
    lab_run(&lab, 60, all_programmed, "all devices are programmed");
    const struct lab_event *e = lab_event(&lab, "cc-key-exposed");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, "host-0004");
    assert_all_current();
    store_m_key_fini(&k);
    close_scene();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cc keys");
    TCase *c = tcase_create("cc keys");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, all_devices_get_a_new_key);
    tcase_add_test(c, a_rotation_survives_faults_and_a_kill);
    tcase_add_test(c, a_rotation_at_648_hosts_survives_faults_and_kills);
    tcase_add_test(c, a_rotation_is_refused_where_it_would_lose_devices);
    tcase_add_test(c, a_silent_device_gets_the_key_later);
    tcase_add_test(c, a_key_of_the_settings_changes_in_the_same_way);
    tcase_add_test(c, a_lost_key_is_recovered_when_its_lease_ends);
    tcase_add_test(c, a_foreign_key_without_a_lease_is_left_alone);
    tcase_add_test(c, wrong_keys_do_not_end_the_protection);
    tcase_add_test(c, a_key_that_was_shown_is_reported);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
