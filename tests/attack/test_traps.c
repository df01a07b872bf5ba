/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rogue host and traps (IBA 13.4.8, 14.2.5.1). The rogue forges notices of the manager and of
 * other devices, and floods the manager with traps.
 *
 *  In versions before trap_check.c and trap_limit.c, the manager forwarded forged notices to
 * subscribers: notices 65 about other hosts, with the manager as the issuer, and notices of other
 * devices. Each of 100,000 traps caused a port probe or targeted sweep and a stored event, so the
 * journal lost its earlier events. Traps from unknown LIDs caused a heavy sweep every two seconds.
 *
 *  The fabric has 4 leaves with 4 hosts each and 2 spines. The manager is host 0 (leaf-001/1), the
 * rogue host 6 (leaf-002/3).
 */
#include "tests/sim/sa_scene.h"

#define ROGUE 6
#define ROGUE_PLACE "leaf-002/3"
#define UNKNOWN_LID 0x1234

enum { URGENT = 1, SECURITY = 2, INFORMATIONAL = 4, OF_CA = 1, OF_SWITCH = 2, OF_MANAGER = 4 };

static struct lab *const lab = &scene.lab;

/* Sends a trap with this notice to the manager. slid: source LID of the packet. */
static void send_trap(uint16_t slid, const struct fab_notice *notice)
{
    static uint64_t tid;
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                           .method = FAB_METHOD_TRAP,
                           .tid = ++tid,
                           .attr_id = FAB_ATTR_NOTICE};
    uint8_t data[FAB_SMP_DATA] = {0}, bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_notice, notice, data, sizeof data), 0);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), 0);
    lab_receive_from(lab, slid, bytes);
}

static struct fab_notice notice_of(uint16_t trap, uint16_t issuer, uint32_t producer)
{
    struct fab_notice n = {.generic = 1,
                           .type = trap < 144   ? URGENT
                                   : trap < 256 ? INFORMATIONAL
                                                : SECURITY,
                           .producer_type = producer,
                           .trap = trap,
                           .issuer_lid = issuer};
    if (trap >= 128 && trap < 256)
        fab_base_put_be16(n.details + (trap == 128 ? 0 : 2), issuer);
    return n;
}

static uint16_t lid_of(const char *name)
{
    struct fab_view *v = sm_view(lab->sm);
    uint32_t node = 0;
    while (strcmp(v->fabric->nodes[node].desc, name) != 0)
        ck_assert_uint_lt(++node, v->fabric->node_count);
    bool is_switch = fab_fabric_node_is_switch(v->fabric, node);
    uint32_t port = fab_fabric_port_id(v->fabric, node, is_switch ? 0 : 1);
    uint16_t lid = (uint16_t)v->target->lids.base[port];
    fab_view_unref(v);
    return lid;
}

static void subscribe(uint16_t trap)
{
    const struct fab_inform_info info = all_notices(trap);
    ck_assert_uint_eq(inform(host_lid(1), trap >= 256 ? SM_KEY : 0, &info), 0);
}

static struct sm_status status(void)
{
    struct sm_status s;
    sm_get_status(lab->sm, &s);
    return s;
}

/* ---- forged notices ---- */

START_TEST(notices_of_the_manager_come_from_nobody_else)
{
    open_scene(false);
    for (uint16_t trap = 64; trap <= 67; trap++)
        subscribe(trap);
    uint16_t own = host_lid(0), rogue = host_lid(ROGUE);
    const uint16_t slids[] = {rogue, own, UNKNOWN_LID};
    lab_forget_events(lab);
    for (uint16_t trap = 64; trap <= 67; trap++)
        for (unsigned i = 0; i < 3; i++) {
            uint64_t gid[2] = {UINT64_C(0xfe80) << 48, host_guid(3)};
            struct fab_notice n = fab_registry_gid_notice(trap, gid, own);
            send_trap(slids[i], &n);
            lab_run_for(lab, 0.3);
        }
    ck_assert_uint_eq(scene.reports, 0);
    ck_assert_uint_eq(status().traps.refused, 12);
    ck_assert_uint_eq(lab_count_events(lab, "trap-refused"), 3); /* one for each source LID */
    const struct lab_event *e = lab_event(lab, "trap-refused");
    ck_assert_str_eq(e->subject, ROGUE_PLACE);
    ck_assert_uint_eq(e->guid, lab_node_guid(lab, "host-0007"));
    close_scene();
}
END_TEST

START_TEST(a_host_issues_no_notice_of_another_device)
{
    static const uint16_t traps[] = {128, 129, 130, 131, 144, 145, 256, 257, 258, 259};
    open_scene(false);
    uint16_t rogue = host_lid(ROGUE), victims[] = {host_lid(3), lid_of("leaf-003"), UNKNOWN_LID};
    for (size_t i = 0; i < 10; i++)
        subscribe(traps[i]);
    for (size_t i = 0; i < 10; i++)
        for (int k = 0; k < 3; k++) {
            struct fab_notice n = notice_of(traps[i], victims[k], k == 1 ? OF_SWITCH : OF_CA);
            send_trap(rogue, &n);
            lab_run_for(lab, 0.3);
        }
    ck_assert_uint_eq(scene.reports, 0);
    ck_assert_uint_eq(status().traps.refused, 30);
    close_scene();
}
END_TEST

START_TEST(a_host_is_no_switch)
{
    open_scene(false);
    subscribe(128);
    subscribe(259);
    uint16_t rogue = host_lid(ROGUE);
    lab_forget_events(lab);
    struct fab_notice link = notice_of(128, rogue, OF_SWITCH), key = notice_of(259, rogue, OF_CA);
    send_trap(rogue, &link);
    send_trap(rogue, &key);
    lab_run_for(lab, 1);
    ck_assert_uint_eq(scene.reports, 0);
    ck_assert_str_eq(lab_event(lab, "trap-refused")->subject, ROGUE_PLACE);
    close_scene();
}
END_TEST

/* A notice about its own sender is forwarded only after the manager has read an attribute of the
 * sender. */
START_TEST(a_notice_is_forwarded_if_the_device_answers)
{
    open_scene(false);
    subscribe(144);
    subscribe(129);
    uint16_t host = host_lid(3), leaf = lid_of("leaf-003");
    struct fab_notice n = notice_of(144, host, OF_CA), errors = notice_of(129, leaf, OF_SWITCH);
    send_trap(host, &n);
    send_trap(leaf, &errors);
    lab_run_for(lab, 1);
    ck_assert_uint_eq(reports_of(host_lid(1), 144), 1);
    ck_assert_uint_eq(reports_of(host_lid(1), 129), 1);
    /* From now on, the switch does not answer, so its notice is not confirmed. */
    lab_silence(lab, "leaf-003");
    errors.details[4] = 7;
    send_trap(leaf, &errors);
    lab_run_for(lab, 20);
    ck_assert_uint_eq(reports_of(host_lid(1), 129), 1);
    ck_assert_uint_ge(status().traps.unconfirmed, 1);
    close_scene();
}
END_TEST

/* Each of the two uplinks of the leaf fails in turn. One of them is on the manager's directed route
 * to the leaf. */
START_TEST(a_switch_is_read_on_another_path_if_the_first_one_failed)
{
    open_scene(false);
    lab_run(lab, 20, lab_is_ready, "contingencies");
    subscribe(129);
    for (uint8_t port = 5; port <= 6; port++) {
        uint16_t leaf = lid_of("leaf-004");
        struct fab_notice n = notice_of(129, leaf, OF_SWITCH);
        n.details[4] = port;
        scene.reports = 0;
        lab_unlink(lab, "leaf-004", port);
        send_trap(leaf, &n);
        lab_run_for(lab, 20);
        ck_assert_uint_eq(reports_of(host_lid(1), 129), 1);
        lab_relink(lab, "leaf-004", port);
        lab_run_for(lab, 60);
    }
    close_scene();
}
END_TEST

/* ---- floods ---- */

struct flood {
    struct loop_timer *timer;
    uint16_t lid;
    uint16_t trap;
    uint32_t left;
};

static void send_ten(void *ctx)
{
    struct flood *f = ctx;
    struct fab_notice n = notice_of(f->trap, f->lid, f->trap == 128 ? OF_SWITCH : OF_CA);
    for (int i = 0; i < 10 && f->left > 0; i++, f->left--)
        send_trap(f->lid, &n);
    if (f->left > 0)
        loop_timer_set(f->timer, 1000);
}

static struct flood *begin_flood(uint16_t lid, uint16_t trap, uint32_t count)
{
    static struct flood f;
    f = (struct flood){.timer = loop_timer_new(lab->loop, send_ten, &f), lid, trap, count};
    loop_timer_set(f.timer, 0);
    return &f;
}

static bool is_rerouted(struct lab *l)
{
    return lab_event(l, "reroute-done") != NULL;
}

/* Takes a link down, and returns the time until the manager has rerouted. *ret_mads: number of MADs
 * that the manager sent in this time. */
static uint64_t reroute(uint64_t *ret_mads)
{
    lab_forget_events(lab);
    uint64_t from = clock_now_us(), sent = lab->sends - lab->replies;
    lab_unlink(lab, "leaf-004", 5);
    lab_run(lab, 5, is_rerouted, "the reroute");
    uint64_t took = clock_now_us() - from;
    *ret_mads = lab->sends - lab->replies - sent;
    ck_assert_ptr_nonnull(lab_event(lab, "link-down"));
    return took;
}

static void count_stored(void *ctx, const struct event *e)
{
    (void)e;
    ++*(unsigned *)ctx;
}

/* Returns the number of stored events with a sequence number of at most `last`. */
static unsigned stored(uint64_t last)
{
    unsigned count = 0;
    store_flush(lab->store);
    ck_assert_int_eq(store_events(lab->store, 0, last + 1, false, 1000, count_stored, &count), 0);
    return count;
}

/* Sends 100,000 traps in 10 s. In the middle of this time, a link fails. */
static void flood_and_fault(uint16_t trap, const char *from)
{
    uint64_t quiet_mads, mads;
    open_scene(true);
    lab_run(lab, 20, lab_is_ready, "contingencies");
    uint64_t quiet = reroute(&quiet_mads);
    lab_relink(lab, "leaf-004", 5);
    lab_run_for(lab, 60);
    lab_run(lab, 20, lab_is_ready, "the link");
    store_journal_keep(lab->store, 100);
    lab_forget_events(lab);
    uint64_t newest = bus_last_seq(lab->bus);
    unsigned kept = stored(newest);
    ck_assert_uint_gt(kept, 5);
    struct sm_status before = status();
    struct flood *f = begin_flood(lid_of(from), trap, 100000);
    lab_run_for(lab, 5);
    ck_assert_uint_eq(lab_count_events(lab, "trap-flood"), 1);
    ck_assert_ptr_nonnull(strstr(lab_event(lab, "trap-flood")->message, "traps in"));
    ck_assert_uint_le(lab->event_count, 120);
    uint64_t took = reroute(&mads);
    ck_assert_uint_le(took, 2 * quiet + 2000);
    ck_assert_uint_le(mads, 2 * quiet_mads + 100);
    while (f->left > 0)
        lab_run_for(lab, 0.1);
    loop_timer_free(f->timer);
    lab_run_for(lab, 3);
    struct sm_status after = status();
    /* 100,000 traps of the flood, and one from each end of the failed link */
    ck_assert_uint_eq(after.traps.received - before.traps.received, 100000 + 2);
    ck_assert_uint_ge(after.traps.repressed, 99000);
    ck_assert_uint_lt(after.sweeps - before.sweeps, 5);
    ck_assert_uint_eq(stored(newest), kept);
    ck_assert_uint_lt(stored(bus_last_seq(lab->bus)), kept + 20);
    lab_run(lab, 20, lab_is_idle, "the end of the flood");
    lab_assert_good(lab);
    close_scene();
}

START_TEST(a_flood_of_a_host_delays_no_repair)
{
    flood_and_fault(144, "host-0007");
}
END_TEST

START_TEST(a_flood_of_a_switch_delays_no_repair)
{
    flood_and_fault(128, "spine-001");
}
END_TEST

/* Simulated devices no longer repeat traps. Real switches may repeat a trap only after seconds, so
 * the manager must find the change without a repetition. */
static void repeat_no_traps(void)
{
    struct fab_sim_timing timing = fab_sim_timing(lab->sim);
    timing.trap_us = 0;
    fab_sim_set_timing(lab->sim, &timing);
}

/* Sends 40 traps. The rate limit lets only 32 of one source pass at once. */
static void send_burst(const char *from, uint16_t trap)
{
    uint64_t repressed = status().traps.repressed;
    struct fab_notice n = notice_of(trap, lid_of(from), OF_SWITCH);
    for (int i = 0; i < 40; i++)
        send_trap(n.issuer_lid, &n);
    ck_assert_uint_eq(status().traps.repressed, repressed + 8);
}

/* A leaf sends a burst of traps that the manager only has to forward. Then the link of a host
 * fails, and only the leaf sends a trap about it. This trap exceeds the rate limit: the manager
 * answers it with TrapRepress without reading the leaf, and the leaf does not repeat it. The
 * manager must find the failure nevertheless. */
static void lose_host_after_burst(const char *leaf)
{
    uint64_t repressed = status().traps.repressed;
    send_burst(leaf, 129);
    lab_forget_events(lab);
    lab_unlink(lab, leaf, 2);
    lab_run_for(lab, 0.01);
    ck_assert_uint_eq(status().traps.repressed, repressed + 9);
    ck_assert_ptr_null(lab_event(lab, "node-removed"));
    lab_await(lab, 1, "node-removed");
    /* 40 traps are not enough for the event trap-flood */
    ck_assert_ptr_null(lab_event(lab, "trap-flood"));
}

/* A trap about a change exceeds the rate limit. The manager reads the device later, as soon as the
 * rate limit permits another trap of this source. */
START_TEST(a_repressed_trap_is_made_up_for)
{
    open_scene(false);
    repeat_no_traps();
    lose_host_after_burst("leaf-004");
    close_scene();
}
END_TEST

/* Traps of several switches exceed the rate limit at the same time. The manager later reads each of
 * these switches. */
START_TEST(repressed_traps_of_all_switches_are_made_up_for)
{
    static const char *const leaves[] = {"leaf-002", "leaf-003", "leaf-004"};
    open_scene(false);
    repeat_no_traps();
    for (unsigned i = 0; i < 3; i++)
        send_burst(leaves[i], 128);
    lab_run_for(lab, 61);
    for (unsigned i = 0; i < 3; i++) {
        lose_host_after_burst(leaves[i]);
        lab_run_for(lab, 61);
    }
    close_scene();
}
END_TEST

static uint64_t sweeps_before;

static bool has_swept(struct lab *l)
{
    return status().traps.sweeps > sweeps_before && lab_is_idle(l);
}

START_TEST(unknown_lids_cause_few_sweeps)
{
    open_scene(false);
    lab_forget_events(lab);
    struct sm_status before = status();
    for (uint32_t i = 0; i < 36000; i++) { /* ten traps a second, for an hour */
        uint16_t lid = (uint16_t)(0x1000 + lab_random(lab) % 0x8000);
        struct fab_notice n = notice_of(i % 2 ? 128 : 144, lid, OF_CA);
        send_trap(lid, &n);
        if (i == 0)
            ck_assert_ptr_nonnull(
                strstr(lab_event(lab, "trap-received")->message, "an unknown node"));
        if (i == 30)
            /* the first trap has caused a sweep, and the other traps have not */
            ck_assert_uint_eq(status().sweeps, before.sweeps + 1);
        lab_run_for(lab, 0.1);
    }
    struct sm_status after = status();
    ck_assert_uint_ge(after.traps.sweeps, 6);
    ck_assert_uint_le(after.traps.sweeps, 11);
    sweeps_before = after.traps.sweeps;
    /* Once a heavy sweep has found a change, the next trap from an unknown LID causes a sweep soon
     * again. */
    lab_run(lab, 600, has_swept, "the sweep that the last trap caused");
    lab_exchange(lab, "leaf-002", 2, "leaf-003", 2);
    ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
    lab_run_for(lab, 5);
    after = status();
    struct fab_notice n = notice_of(144, 0x4000, OF_CA);
    send_trap(0x4000, &n);
    lab_run_for(lab, 5);
    ck_assert_uint_eq(status().traps.sweeps, after.traps.sweeps + 1);
    close_scene();
}
END_TEST

/* A host uses the LID of each other host in turn, to fill the journal with events. */
START_TEST(forged_sources_cause_few_events)
{
    open_scene(false);
    lab_forget_events(lab);
    for (uint32_t i = 0; i < 60000; i++) {
        uint16_t lid = (uint16_t)(1 + i % 0xbfff);
        struct fab_notice n = notice_of(65, lid, OF_MANAGER);
        send_trap(lid, &n);
        n = notice_of(144, lid, OF_CA);
        send_trap(lid, &n);
        if (i % 5 == 0)
            lab_run_for(lab, 0.001);
    }
    ck_assert_uint_le(lab_count_events(lab, "trap-refused") + lab_count_events(lab, "trap-flood"),
                      20);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attack/traps");
    TCase *tcase = tcase_create("forged");
    tcase_add_test(tcase, notices_of_the_manager_come_from_nobody_else);
    tcase_add_test(tcase, a_host_issues_no_notice_of_another_device);
    tcase_add_test(tcase, a_host_is_no_switch);
    tcase_add_test(tcase, a_notice_is_forwarded_if_the_device_answers);
    tcase_add_test(tcase, a_switch_is_read_on_another_path_if_the_first_one_failed);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("floods");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_flood_of_a_host_delays_no_repair);
    tcase_add_test(tcase, a_flood_of_a_switch_delays_no_repair);
    tcase_add_test(tcase, a_repressed_trap_is_made_up_for);
    tcase_add_test(tcase, repressed_traps_of_all_switches_are_made_up_for);
    tcase_add_test(tcase, unknown_lids_cause_few_sweeps);
    tcase_add_test(tcase, forged_sources_cause_few_events);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
