/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts act as subnet managers although the manager under test does not trust them. The manager
 * emits sm-refused. With the settings in the group `offenders`, it also disables the switch port of
 * such a host, but only if it is proved that the host is at this port.
 *
 * The fabric has 6 leaves with 4 hosts each and 3 spines. The manager is host-0001 (leaf-001/1).
 * The host that answers as a manager is host-0020 (leaf-005/4). Another rogue is host-0013
 * (leaf-004/1).
 */
#include <string.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/smstate/smstate.h"
#include "tests/sim/lab.h"

#define OTHER "host-0020"
#define OTHER_PLACE "leaf-005/4"
#define FORGER "host-0013"

static struct lab lab;
static char dir[64];

static void configure(struct config *c)
{
    c->policy.sm_priority = 5;
    c->policy.m_keys.number = 0xfeed;
    c->policy.sm_key = 0x5ec2e7;
    c->offenders.refused_manager = CONFIG_OFFENCE_ISOLATE;
}

static void open_lab(void (*more)(struct config *c))
{
    snprintf(dir, sizeof dir, "/tmp/test-offenders-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), dir);
    lab_stop(&lab);
    configure(&lab.config);
    if (more)
        more(&lab.config);
    lab_begin(&lab, dir);
    lab_play_other(&lab, OTHER, 15, FAB_SM_MASTER);
    lab.other.sm_key = 0;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab_run_for(&lab, 5);
    lab_run(&lab, 10, lab_is_idle, "the sweeps after it");
}

static void close_lab(void)
{
    char command[100];
    lab_close(&lab);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct fab_port_info *switch_port(void)
{
    return (struct fab_port_info *)(uintptr_t)fab_sim_port(lab.sim, lab_node(&lab, "leaf-005"), 4);
}

static bool is_disabled(void)
{
    return switch_port()->phys_state == FAB_PHYS_DISABLED;
}

static void sweep(void)
{
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 2);
    lab_run(&lab, 10, lab_is_idle, "sweep");
}

static void restart(void)
{
    lab_stop(&lab);
    lab_begin(&lab, dir);
    lab_forget_events(&lab);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    lab_run_for(&lab, 5);
    lab_run(&lab, 10, lab_is_idle, "the sweeps after it");
}

START_TEST(a_refused_manager_is_isolated_until_released)
{
    struct sm_isolation list[2];
    open_lab(NULL);
    const struct lab_event *e = lab_event(&lab, "offender-isolated");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, OTHER_PLACE);
    ck_assert_ptr_nonnull(strstr(e->message, "master, priority 15"));
    ck_assert(is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, list, 2), 1);
    ck_assert_str_eq(list[0].place[0], OTHER_PLACE);
    ck_assert_ptr_nonnull(strstr(list[0].cause, "answers as a subnet manager"));
    ck_assert(list[0].out && list[0].since_us > 0);
    ck_assert_ptr_null(lab_event(&lab, "link-reinstated"));
    lab_assert_good(&lab);

    restart();
    ck_assert(is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, list, 2), 1);
    /* Something else than the manager enables the port, as a restart of the switch would. */
    lab_relink(&lab, "leaf-005", 4);
    switch_port()->phys_state = FAB_PHYS_LINKUP;
    sweep();
    ck_assert(is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, list, 2), 1);

    lab_end_other(&lab);
    ck_assert_int_eq(sm_link_release(lab.sm, lab_node_guid(&lab, "leaf-005"), 4, "an operator"),
                     FAB_OK);
    lab_run_for(&lab, 2);
    lab_run(&lab, 10, lab_is_idle, "release");
    ck_assert(!is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, list, 2), 0);
    restart();
    ck_assert(!is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, list, 2), 0);
    close_lab();
}
END_TEST

static void report_only(struct config *c)
{
    struct config defaults;
    ck_assert_int_eq(config_defaults(&defaults), FAB_OK);
    c->offenders = defaults.offenders;
    config_fini(&defaults);
}

START_TEST(the_default_reports)
{
    open_lab(report_only);
    sweep();
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-refused"));
    ck_assert(!is_disabled());
    ck_assert_uint_eq(sm_isolations(lab.sm, NULL, 0), 0);
    close_lab();
}
END_TEST

/* Adds the switch port of the offender to subnet.managers, with the GUID of another manager. The
 * manager never disables a port in this list, even if a wrong GUID answers there. */
static void list_the_place(struct config *c)
{
    c->policy.managers[0] =
        (struct fab_manager){.guid = 0x77, .switch_name = "leaf-005", .switch_port = 4};
    c->policy.manager_count = 1;
}

static void no_room(struct config *c)
{
    c->offenders.max_isolated = 0;
}

START_TEST(a_listed_port_and_a_host_beyond_the_bound_stay)
{
    void (*const modes[])(struct config * c) = {list_the_place, no_room};
    static const char *const whys[] = {"subnet.managers", "offenders.max_isolated"};
    for (int i = 0; i < 2; i++) {
        open_lab(modes[i]);
        for (int k = 0; k < 3; k++)
            sweep();
        const struct lab_event *e = lab_event(&lab, "offender-not-isolated");
        ck_assert_ptr_nonnull(e);
        ck_assert_str_eq(e->subject, OTHER_PLACE);
        ck_assert_ptr_nonnull(strstr(e->message, whys[i]));
        ck_assert(!is_disabled());
        close_lab();
    }
}
END_TEST

static void send_control(const char *from, struct fab_path path)
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_SET,
                           .tid = 11,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = FAB_SM_DISABLE,
                           .path = path};
    struct fab_sm_info info = {.guid = 0x42, .priority = 15, .state = FAB_SM_MASTER};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, sizeof data), FAB_OK);
    lab_send(&lab, from, &head, data);
    lab_run_for(&lab, 1);
}

static void isolate_forgers(struct config *c)
{
    c->offenders.refused_manager = CONFIG_OFFENCE_REPORT;
    c->offenders.forged_control = CONFIG_OFFENCE_ISOLATE;
}

/* A return path can be forged, so a forged control packet alone proves nothing. The manager
 * isolates the host at the end of the return path only if an untrusted manager also answers at the
 * port of this host. */
START_TEST(a_forger_is_isolated_only_where_a_manager_answered)
{
    open_lab(isolate_forgers);
    ck_assert(!is_disabled());
    send_control(FORGER, lab_path_from(&lab, FORGER));
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-control-refused"));
    ck_assert_uint_eq(sm_isolations(lab.sm, NULL, 0), 0);
    send_control(OTHER, lab_path_from(&lab, OTHER));
    lab_run_for(&lab, 2);
    ck_assert(is_disabled());
    ck_assert_ptr_nonnull(strstr(lab_event(&lab, "offender-isolated")->message, "DISABLE"));
    lab_assert_good(&lab);
    close_lab();
}
END_TEST

/* A host sends a flood of traps with the source LID of another host, and the settings demand to
 * isolate all offenders. The packet counters of the other host's switch port show as many packets
 * as the flood has. This must prove nothing (doc/security.md). */
START_TEST(a_flood_under_the_lid_of_another_host_isolates_nobody)
{
    uint8_t data[FAB_SMP_DATA] = {0}, bytes[FAB_MAD_SIZE];
    open_lab(isolate_forgers);
    lab.config.offenders.refused_manager = CONFIG_OFFENCE_ISOLATE;
    lab_end_other(&lab);
    uint32_t victim = lab_node(&lab, "host-0014"), leaf = lab_node(&lab, "leaf-004");
    uint16_t lid = fab_sim_port(lab.sim, victim, 1)->lid;
    struct fab_notice n = {
        .generic = 1, .type = 3, .producer_type = 1, .trap = 144, .issuer_lid = lid};
    n.details[2] = (uint8_t)(lid >> 8);
    n.details[3] = (uint8_t)lid;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_notice, &n, data, sizeof data), FAB_OK);
    lab_forget_events(&lab);
    ck_assert_int_eq(fab_sim_increment(lab.sim, leaf, 2, FAB_SIM_RCV_PKTS, 10000), FAB_OK);
    for (unsigned i = 0; i < 30000; i++) {
        struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                               .method = FAB_METHOD_TRAP,
                               .tid = i + 1,
                               .attr_id = FAB_ATTR_NOTICE};
        ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), FAB_OK);
        lab_receive_from(&lab, lid, bytes);
        if (i % 10 == 9)
            lab_run_for(&lab, 0.001);
    }
    lab_run_for(&lab, 5);
    const struct lab_event *e = lab_event(&lab, "trap-flood");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, "leaf-004/2");
    ck_assert_ptr_null(lab_event(&lab, "offender-isolated"));
    ck_assert_uint_eq(sm_isolations(lab.sm, NULL, 0), 0);
    lab_assert_good(&lab);
    close_lab();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attack/offenders");
    TCase *t = tcase_create("offenders");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_refused_manager_is_isolated_until_released);
    tcase_add_test(t, the_default_reports);
    tcase_add_test(t, a_listed_port_and_a_host_beyond_the_bound_stay);
    tcase_add_test(t, a_forger_is_isolated_only_where_a_manager_answered);
    tcase_add_test(t, a_flood_under_the_lid_of_another_host_isolates_nobody);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
