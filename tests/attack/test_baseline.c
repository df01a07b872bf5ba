/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices that no operator approved: a rogue host with a new GUID, one with the GUID of a host that
 * is switched off, and an adapter that replaces another one. Before there was a baseline, each of
 * them got a LID and routes, and only the one with the GUID of another host raised an event
 * (node-moved).
 *
 * The fabric has 6 leaves with 4 hosts each and 3 spines. The manager is host-0001 (leaf-001/1).
 * host-0024 (leaf-006/4) is not there when the baseline is taken.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"
#include "tests/unit/state_dir.h"

#define NEWCOMER "host-0024"
#define NEW_LEAF "leaf-006"
#define NEW_PORT 4
#define ROGUE "host-0013"
#define ROGUE_LEAF "leaf-004"
#define ROGUE_PORT 1
#define VICTIM "host-0020"
#define VICTIM_LEAF "leaf-005"
#define VICTIM_PORT 4

/* ---- the lab --------------------------------------------------------------------------------- */

static void settle(struct lab *lab)
{
    lab_run_for(lab, 4);
    lab_run(lab, 60, lab_is_idle, "idle");
}

static void sweep(struct lab *lab)
{
    ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
    settle(lab);
}

static void start(struct lab *lab)
{
    sm_start(lab->sm);
    lab_run(lab, 30, lab_is_idle, "bring-up");
}

/* Opens a lab without the newcomer. */
static void open_lab(struct lab *lab, const char *state)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), state);
    start(lab);
    lab_unlink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
}

static uint32_t take_baseline(struct lab *lab)
{
    uint32_t count = 0;
    ck_assert_int_eq(sm_baseline_take(lab->sm, "tester", &count), FAB_OK);
    lab_forget_events(lab);
    return count;
}

static void begin(struct lab *lab, const char *state)
{
    open_lab(lab, state);
    ck_assert_uint_eq(take_baseline(lab), 23 + 18);
}

static void plug_in(struct lab *lab)
{
    lab_relink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
}

static void pretend(struct lab *lab, const char *name, uint64_t node_guid, uint64_t port_guid)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    struct fab_node_info as = f->nodes[lab_node(lab, name)].info;
    as.local_port = 0;
    as.node_guid = node_guid;
    as.port_guid = port_guid;
    ck_assert_int_eq(fab_sim_impersonate(lab->sim, lab_node(lab, name), &as), FAB_OK);
}

static void bounce(struct lab *lab, const char *leaf, uint8_t port)
{
    lab_unlink(lab, leaf, port);
    lab_run_for(lab, 1);
    lab_relink(lab, leaf, port);
    settle(lab);
}

/* The rogue takes the GUIDs of the victim, which is switched off. */
static void take_guids_of_the_victim(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t victim = lab_node(lab, VICTIM);
    lab_unlink(lab, VICTIM_LEAF, VICTIM_PORT);
    settle(lab);
    pretend(lab, ROGUE, f->nodes[victim].guid, f->ports[fab_fabric_port_id(f, victim, 1)].guid);
    bounce(lab, ROGUE_LEAF, ROGUE_PORT);
}

static uint32_t count_waiting(struct lab *lab)
{
    uint32_t count;
    (void)sm_unapproved(lab->sm, &count);
    return count;
}

static void approve_all(struct lab *lab)
{
    uint32_t count;
    const struct sm_unapproved *list = sm_unapproved(lab->sm, &count);
    struct fab_place *place = calloc(count + 1u, sizeof(*place));
    for (uint32_t i = 0; i < count; i++)
        place[i] = list[i].what.place;
    ck_assert_int_eq(sm_baseline_approve(lab->sm, place, count, "tester"), FAB_OK);
    free(place);
    settle(lab);
}

/* Returns whether the host has a LID, and the LFTs of all switches lead to it. */
static bool is_served(struct lab *lab, const char *name)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t node = lab_node(lab, name), lid = fab_sim_port(lab->sim, node, 1)->lid;
    if (lid == 0 || fab_sim_port(lab->sim, node, 1)->port_state != FAB_STATE_ACTIVE)
        return false;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t at = sw;
        for (int hops = 0; at < f->switch_count && hops < 64; hops++) {
            uint32_t top = 0;
            const uint8_t *lft = fab_sim_lft(lab->sim, at, &top);
            if (lft == NULL || lid > top || lft[lid] == 0 || lft[lid] > f->nodes[at].num_ports)
                return false;
            at = fab_fabric_peer_node(f, fab_fabric_port_id(f, at, lft[lid]));
        }
        if (at != node)
            return false;
    }
    return true;
}

static unsigned count_events(const struct lab *lab, const char *type)
{
    unsigned n = 0;
    for (unsigned i = 0; i < lab->event_count; i++)
        n += strcmp(lab->events[i].type, type) == 0;
    return n;
}

static void assert_named(struct lab *lab, const char *place, const char *text)
{
    const struct lab_event *e = lab_event(lab, "node-unapproved");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, place);
    ck_assert_msg(strstr(e->message, text) != NULL, "%s", e->message);
    ck_assert_msg(strstr(e->message, "fabricctl topo approve 0x") != NULL, "%s", e->message);
    ck_assert_uint_eq(count_events(lab, "node-unapproved"), 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

START_TEST(without_a_baseline_every_device_is_accepted)
{
    struct lab lab;
    open_lab(&lab, NULL);
    plug_in(&lab);
    ck_assert(is_served(&lab, NEWCOMER));
    ck_assert_uint_eq(count_events(&lab, "node-unapproved"), 0);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(a_new_device_is_named)
{
    struct lab lab;
    begin(&lab, NULL);
    plug_in(&lab);
    assert_named(&lab, "leaf-006/4", "is not approved");
    ck_assert_uint_eq(count_waiting(&lab), 1);
    approve_all(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    ck_assert_ptr_nonnull(lab_event(&lab, "baseline-approved"));
    sweep(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    lab_close(&lab);
}
END_TEST

START_TEST(a_device_that_moved_is_named_with_both_places)
{
    struct lab lab;
    begin(&lab, NULL);
    take_guids_of_the_victim(&lab);
    assert_named(&lab, "leaf-004/1", "is approved at leaf-005/4");
    ck_assert_uint_eq(count_waiting(&lab), 1);
    lab_close(&lab);
}
END_TEST

START_TEST(a_replaced_adapter_is_named_with_the_approved_one)
{
    struct lab lab;
    char holder[64];
    begin(&lab, NULL);
    snprintf(holder, sizeof holder, "0x%016" PRIx64 " is approved there",
             lab_node_guid(&lab, ROGUE));
    pretend(&lab, ROGUE, 0xbad1, 0xbad2);
    bounce(&lab, ROGUE_LEAF, ROGUE_PORT);
    assert_named(&lab, "leaf-004/1", holder);
    lab_close(&lab);
}
END_TEST

START_TEST(a_link_between_switches_is_named)
{
    struct lab lab;
    begin(&lab, NULL);
    lab_exchange(&lab, "spine-001", 1, "spine-001", 2);
    sweep(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 2);
    ck_assert_uint_eq(count_events(&lab, "node-unapproved"), 2);
    const struct lab_event *e = lab_event(&lab, "node-unapproved");
    ck_assert_msg(strstr(e->message, "the link from") != NULL, "%s", e->message);
    lab_close(&lab);
}
END_TEST

/* A rogue host shows another GUID each 20 s, for two hours. */
START_TEST(a_flapping_rogue_makes_few_events)
{
    struct lab lab;
    begin(&lab, NULL);
    for (uint64_t i = 0; i < 360; i++) {
        pretend(&lab, ROGUE, 0xbad0000 + 2 * i, 0xbad0001 + 2 * i);
        lab_unlink(&lab, ROGUE_LEAF, ROGUE_PORT);
        lab_run_for(&lab, 10);
        lab_relink(&lab, ROGUE_LEAF, ROGUE_PORT);
        lab_run_for(&lab, 10);
        lab.event_count = lab.event_count > LAB_EVENTS / 2 ? 0 : lab.event_count;
    }
    uint64_t events = bus_counted(lab.bus, EVENT_node_unapproved);
    ck_assert_msg(events >= 2 && events <= 13, "%llu events", (unsigned long long)events);
    ck_assert_uint_le(count_waiting(&lab), 1);
    lab_close(&lab);
}
END_TEST

/* ---- the baseline ---------------------------------------------------------------------------- */

START_TEST(it_lasts_over_restarts_and_is_dropped)
{
    struct lab lab;
    make_dir();
    begin(&lab, dir);
    lab_relink(&lab, NEW_LEAF, NEW_PORT);
    lab_stop(&lab);
    lab_begin(&lab, dir);
    start(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 1);
    ck_assert_uint_eq(count_events(&lab, "node-unapproved"), 1);
    approve_all(&lab);
    ck_assert_int_eq(sm_baseline_disapprove(lab.sm, lab_node_guid(&lab, VICTIM), "tester"), FAB_OK);
    lab_stop(&lab);
    lab_begin(&lab, dir);
    start(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 1);
    ck_assert_int_eq(sm_baseline_clear(lab.sm, "tester"), FAB_OK);
    ck_assert_int_eq(sm_baseline_clear(lab.sm, "tester"), FAB_E_NOT_FOUND);
    lab_stop(&lab);
    lab_begin(&lab, dir);
    start(&lab);
    ck_assert(sm_baseline(lab.sm) == NULL);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    lab_close(&lab);
    remove_dir();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("devices that are not approved");
    TCase *t = tcase_create("events");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, without_a_baseline_every_device_is_accepted);
    tcase_add_test(t, a_new_device_is_named);
    tcase_add_test(t, a_device_that_moved_is_named_with_both_places);
    tcase_add_test(t, a_replaced_adapter_is_named_with_the_approved_one);
    tcase_add_test(t, a_link_between_switches_is_named);
    tcase_add_test(t, a_flapping_rogue_makes_few_events);
    tcase_add_test(t, it_lasts_over_restarts_and_is_dropped);
    suite_add_tcase(s, t);
    return test_run(s);
}
