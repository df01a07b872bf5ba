/* SPDX-License-Identifier: BSD-3-Clause */
/* P_Key tables that are too small. A port then gets as many of its P_Keys as fit, and an event
 * names the port. In the simulated fabric, an adapter has room for 64 P_Keys, and a switch port for
 * 32.
 *
 * The file also tests switches that do not enforce partitions, and a restart of the manager. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/partition.h"
#include "tests/sim/lab.h"

static uint64_t port_guid(struct lab *lab, const char *name)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    return fab_fabric_port(f, fab_fabric_port_id(f, lab_node(lab, name), 1))->guid;
}

/* Makes a host a full member of the partitions 1 to `count`. host: name; NULL: all hosts. */
static void use_partitions(struct lab *lab, const char *host, unsigned count)
{
    char text[8192], who[40] = "ALL_CAS";
    size_t len = 0;
    struct fab_partitions_error e;
    struct fab_partitions *p;
    if (host)
        snprintf(who, sizeof who, "0x%" PRIx64, port_guid(lab, host));
    for (unsigned i = 1; i <= count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "P%u=0x%x, defmember=full: %s;\n", i,
                                i, who);
    ck_assert_int_eq(fab_policy_partitions_read(text, len, &p, &e), FAB_OK);
    fab_policy_partitions_unref(lab->config.policy.partitions);
    lab->config.policy.partitions = p;
    lab_forget_events(lab);
    lab_forget_writes(lab);
    ck_assert_int_eq(sm_reload(lab->sm), FAB_OK);
    lab_run_for(lab, 1);
    lab_run(lab, 20, lab_is_idle, "the partitions");
    lab_assert_good(lab);
}

static unsigned told(struct lab *lab, const char *subject)
{
    unsigned count = 0;
    for (unsigned i = 0; i < lab->event_count; i++)
        count += strcmp(lab->events[i].type, "pkey-table-full") == 0 &&
                 (!subject || strcmp(lab->events[i].subject, subject) == 0);
    return count;
}

/* Returns the number of P_Keys of a host's port in the published tables. */
static uint32_t held(struct lab *lab, const char *host)
{
    struct fab_view *v = sm_view(lab->sm);
    uint32_t port = fab_fabric_port_by_guid(v->fabric, port_guid(lab, host)), count = 0, used = 0;
    const uint16_t *key = fab_target_pkeys_table(&v->target->pkeys, port, &count);
    for (uint32_t i = 0; i < count; i++)
        used += key[i] != 0;
    fab_view_unref(v);
    return used;
}

START_TEST(full_tables_are_told_of)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    use_partitions(&lab, "host-0006",
                   /* Together with the P_Key of the default partition, these are 32 P_Keys. The
                    * switch port of the host has room for exactly 32. */
                   31);
    ck_assert_uint_eq(told(&lab, NULL), 0);
    ck_assert_uint_eq(held(&lab, "host-0006"), 32);
    use_partitions(&lab, "host-0006", 32);
    ck_assert_uint_eq(told(&lab, NULL), 1);
    ck_assert_uint_eq(told(&lab, "leaf-002/2"), 1);
    ck_assert_uint_eq(held(&lab, "host-0006"), 33);
    use_partitions(&lab, "host-0006", 63);
    ck_assert_uint_eq(told(&lab, NULL), 1);
    ck_assert_uint_eq(held(&lab, "host-0006"), 64);
    use_partitions(&lab, "host-0006", 70);
    ck_assert_uint_eq(told(&lab, NULL), 2);
    ck_assert_uint_eq(told(&lab, "leaf-002/2"), 1);
    ck_assert_uint_eq(told(&lab, "host-0006/1"), 1);
    ck_assert_uint_eq(held(&lab, "host-0006"), 64);
    ck_assert_uint_eq(held(&lab, "host-0007"), 1);
    use_partitions(&lab, "host-0006", 5);
    ck_assert_uint_eq(told(&lab, NULL), 0);
    ck_assert_uint_eq(held(&lab, "host-0006"), 6);
    lab_close(&lab);
}
END_TEST

/* If many P_Key tables are too small, each of the first FAB_PARTITION_OVERFLOWS ports gets its own
 * event. One more event gives the number of the remaining ports. */
START_TEST(many_full_tables_are_counted)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    use_partitions(&lab, NULL, 40); /* 41 P_Keys do not fit at the switch ports of the 24 hosts */
    ck_assert_uint_eq(told(&lab, NULL), FAB_PARTITION_OVERFLOWS + 1);
    ck_assert_uint_eq(told(&lab, "fabric"), 1);
    const struct lab_event *last = NULL;
    for (unsigned i = 0; i < lab.event_count; i++)
        if (strcmp(lab.events[i].type, "pkey-table-full") == 0)
            last = &lab.events[i];
    ck_assert_str_eq(last->subject, "fabric");
    ck_assert_msg(strtoul(last->message, NULL, 10) == 24 - FAB_PARTITION_OVERFLOWS, "%s",
                  last->message);
    ck_assert_uint_eq(held(&lab, "host-0020"), 41);
    lab_close(&lab);
}
END_TEST

/* In each case, all switch ports with number `port` acknowledge partition enforcement, but do not
 * enforce. The event must give the number of switches that have a host at this port. At ports
 * between switches, enforcement is not needed, so there is no event. */
START_TEST(switches_that_do_not_enforce_are_told_of)
{
    static const struct {
        uint32_t leaves, spines, hosts;
        uint8_t port;
        unsigned switches;
    } cases[] = {{2, 1, 2, 1, 2}, {2, 1, 2, 2, 2}, {2, 1, 2, 3, 0}, {2, 1, 2, 0, 0},
                 {1, 0, 4, 1, 1}, {1, 0, 4, 4, 1}, {1, 0, 4, 5, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lab lab;
        lab_open_virtual(&lab, lab_leaf_spine(cases[i].leaves, cases[i].spines, cases[i].hosts),
                         NULL);
        lab.unenforcing = cases[i].port;
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_idle, "bring-up");
        use_partitions(&lab, "host-0004", 3);
        for (int sweep = 0; sweep < 3; sweep++) {
            ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
            lab_run_for(&lab, 5);
        }
        unsigned count = 0;
        for (unsigned e = 0; e < lab.event_count; e++) {
            if (strcmp(lab.events[e].type, "partition-not-enforced") != 0)
                continue;
            count++;
            ck_assert_uint_eq(strtoul(lab.events[e].message, NULL, 10), cases[i].switches);
            ck_assert_str_eq(lab.events[e].subject, "leaf-001");
        }
        ck_assert_msg(count == (cases[i].switches > 0), "port %u: %u events", cases[i].port, count);
        lab_close(&lab);
    }
}
END_TEST

/* After a restart, the manager reads the P_Key tables and writes only what is wrong, which is
 * nothing here. This includes the second block of a host with more than 32 P_Keys. */
START_TEST(right_tables_are_not_written_again)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(2, 1, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    use_partitions(&lab, "host-0004", 40);
    /* two blocks of host-0004, and one block of its switch port */
    ck_assert_uint_ge(lab.sets_pkeys, 2 + 1);
    ck_assert_uint_gt(lab.gets_pkeys, 0);
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    lab_forget_writes(&lab);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "the second manager");
    ck_assert_uint_ge(lab.gets_pkeys, 4 * 2); /* two blocks of each of the four hosts */
    ck_assert_uint_eq(lab.sets_pkeys, 0);
    ck_assert_uint_eq(held(&lab, "host-0004"), 41);
    uint64_t gets = lab.gets_pkeys;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 1);
    ck_assert_uint_eq(lab.gets_pkeys, gets); /* A later sweep does not read the tables again. */
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm partitions");
    TCase *t = tcase_create("tables");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, full_tables_are_told_of);
    tcase_add_test(t, many_full_tables_are_counted);
    tcase_add_test(t, switches_that_do_not_enforce_are_told_of);
    tcase_add_test(t, right_tables_are_not_written_again);
    suite_add_tcase(s, t);
    return test_run(s);
}
