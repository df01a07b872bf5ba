/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices that no operator approved: a rogue host with a new GUID, a rogue host with the GUID of a
 * host that is switched off, and an adapter that replaces another one. Without a baseline, each of
 * these devices gets a LID and routes, and only the rogue with the GUID of another host causes an
 * event (node-moved).
 *
 *  The fabric has 6 leaves with 4 hosts each and 3 spines. The manager is host-0001 (leaf-001/1).
 * host-0024 (leaf-006/4), the newcomer, is not connected when the baseline is made.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
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

/* ---- changes of the baseline ----------------------------------------------------------------- */

static bool made; /* the last change of the baseline has ended */
static int made_status;
static char made_text[160];

static void on_made(void *ctx, int status, const char *message)
{
    (void)ctx;
    snprintf(made_text, sizeof made_text, "%s", message);
    made = true;
    made_status = status;
}

/* Runs the loop until the requested change of the baseline has ended. The change waits for the
 * database, which works in real time; the lab runs in virtual time. So this function waits for the
 * database by store_flush. */
static void run_until_made(struct lab *lab)
{
    for (int i = 0; i < 1000 && !made; i++) {
        lab_run_for(lab, 0.01);
        if (lab->store)
            store_flush(lab->store);
    }
    ck_assert(made);
}

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

/* Opens a lab in which the newcomer is not connected. */
static void open_lab(struct lab *lab, const char *state)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), state);
    start(lab);
    lab_unlink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
}

static int wait_for_change(struct lab *lab, int status)
{
    if (status != FAB_OK)
        return status;
    run_until_made(lab);
    return made_status;
}

static uint32_t take_baseline(struct lab *lab)
{
    size_t count;
    made = false;
    ck_assert_int_eq(wait_for_change(lab, sm_baseline_take(lab->sm, "tester", on_made, lab)),
                     FAB_OK);
    (void)fab_discover_baseline_list(sm_baseline(lab->sm), &count);
    lab_forget_events(lab);
    return (uint32_t)count;
}

static int disapprove(struct lab *lab, const char *name)
{
    char *text = (char *)name;
    made = false;
    return wait_for_change(lab, sm_baseline_disapprove(lab->sm, &text, 1, "tester", on_made, lab));
}

static int clear(struct lab *lab)
{
    made = false;
    return wait_for_change(lab, sm_baseline_clear(lab->sm, "tester", on_made, lab));
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

/* The victim is switched off, and the rogue takes its GUIDs. */
static void take_guids_of_the_victim(struct lab *lab)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t victim = lab_node(lab, VICTIM);
    lab_unlink(lab, VICTIM_LEAF, VICTIM_PORT);
    settle(lab);
    pretend(lab, ROGUE, f->nodes[victim].guid,
            fab_fabric_port(f, fab_fabric_port_id(f, victim, 1))->guid);
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
    made = false;
    int r = sm_baseline_approve(lab->sm, place, count, "tester", on_made, lab);
    ck_assert_int_eq(wait_for_change(lab, r), FAB_OK);
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

static void assert_named(struct lab *lab, const char *place, const char *text)
{
    const struct lab_event *e = lab_event(lab, "node-unapproved");
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->subject, place);
    ck_assert_msg(strstr(e->message, text) != NULL, "%s", e->message);
    ck_assert_msg(strstr(e->message, "fabricctl topo approve 0x") != NULL, "%s", e->message);
    ck_assert_uint_eq(lab_count_events(lab, "node-unapproved"), 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

START_TEST(without_a_baseline_every_device_is_accepted)
{
    struct lab lab;
    open_lab(&lab, NULL);
    plug_in(&lab);
    ck_assert(is_served(&lab, NEWCOMER));
    ck_assert_uint_eq(lab_count_events(&lab, "node-unapproved"), 0);
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
    ck_assert_uint_eq(lab_count_events(&lab, "node-unapproved"), 2);
    const struct lab_event *e = lab_event(&lab, "node-unapproved");
    ck_assert_msg(strstr(e->message, "the link from") != NULL, "%s", e->message);
    lab_close(&lab);
}
END_TEST

/* For two hours, the link of a rogue host goes down and up every 20 s. Each time, the host shows a
 * new GUID. */
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
    ck_assert_uint_eq(lab_count_events(&lab, "node-unapproved"), 1);
    approve_all(&lab);
    ck_assert_int_eq(disapprove(&lab, VICTIM), FAB_OK);
    lab_stop(&lab);
    lab_begin(&lab, dir);
    start(&lab);
    ck_assert_uint_eq(count_waiting(&lab), 1);
    ck_assert_int_eq(clear(&lab), FAB_OK);
    ck_assert_int_eq(clear(&lab), FAB_E_NOT_FOUND);
    lab_stop(&lab);
    lab_begin(&lab, dir);
    start(&lab);
    ck_assert(sm_baseline(lab.sm) == NULL);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    lab_close(&lab);
    remove_dir();
}
END_TEST

START_TEST(each_change_says_what_it_did)
{
    struct lab lab;
    begin(&lab, NULL);
    ck_assert_str_eq(made_text,
                     "approved 23 ports of adapters and routers, and 18 links between switches");
    plug_in(&lab);
    approve_all(&lab);
    ck_assert_str_eq(made_text, "approved 1 place");
    ck_assert_int_eq(disapprove(&lab, VICTIM), FAB_OK);
    ck_assert_str_eq(made_text, "1 node is no longer approved");
    ck_assert_int_eq(disapprove(&lab, VICTIM), FAB_E_NOT_FOUND);
    ck_assert_str_eq(made_text, "no node \"" VICTIM
                                "\" is approved; 'fabricctl topo baseline' lists those that are");
    char newcomer[] = NEWCOMER, rogue[] = ROGUE, *both[] = {newcomer, rogue};
    made = false;
    int r = sm_baseline_disapprove(lab.sm, both, 2, "tester", on_made, &lab);
    ck_assert_int_eq(wait_for_change(&lab, r), FAB_OK);
    ck_assert_str_eq(made_text, "2 nodes are no longer approved");
    ck_assert_uint_eq(lab_count_events(&lab, "baseline-disapproved"), 3);
    ck_assert_int_eq(clear(&lab), FAB_OK);
    ck_assert_str_eq(made_text, "the baseline is dropped; every device is accepted");
    ck_assert_uint_eq(lab_count_events(&lab, "baseline-cleared"), 1);
    lab_close(&lab);
}
END_TEST

struct ending {
    unsigned count; /* number of changes that ended */
    int status[4];
    char text[4][160];
};

static void on_end(void *ctx, int status, const char *message)
{
    struct ending *e = ctx;
    e->status[e->count] = status;
    snprintf(e->text[e->count++], sizeof e->text[0], "%s", message);
}

/* Three changes of the baseline are requested during a sweep. The manager makes them one after the
 * other when the sweep has ended. Two of them clear the baseline; the second of these fails,
 * because there is no baseline any more. */
START_TEST(changes_wait_for_each_other)
{
    struct lab lab;
    struct ending e = {0};
    begin(&lab, NULL);
    char name[] = VICTIM, *victim = name;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    ck_assert_int_eq(sm_baseline_disapprove(lab.sm, &victim, 1, "tester", on_end, &e), FAB_OK);
    ck_assert_int_eq(sm_baseline_clear(lab.sm, "tester", on_end, &e), FAB_OK);
    ck_assert_int_eq(sm_baseline_clear(lab.sm, "tester", on_end, &e), FAB_OK);
    ck_assert_uint_eq(e.count, 0);
    settle(&lab);
    ck_assert_uint_eq(e.count, 3);
    ck_assert_int_eq(e.status[0], FAB_OK);
    ck_assert_int_eq(e.status[1], FAB_OK);
    ck_assert_int_eq(e.status[2], FAB_E_NOT_FOUND);
    ck_assert_str_eq(e.text[2], "there is no baseline");
    ck_assert_ptr_null(sm_baseline(lab.sm));
    lab_close(&lab);
}
END_TEST

static struct {
    unsigned queued, made, denied;
} changes;

static void count_change(void *ctx, int status, const char *message)
{
    (void)ctx;
    changes.made += status == FAB_OK;
    changes.denied += status == FAB_E_DENIED;
    if (status != FAB_OK)
        ck_assert_str_eq(message, "another subnet manager became master; the baseline stays");
}

static void approve_with_each_mad(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)head;
    (void)dlid;
    changes.queued += sm_baseline_take(lab->sm, "tester", count_change, NULL) == FAB_OK;
}

/* Another manager becomes master during a sweep. An operator requests to approve the fabric each
 * time that the manager under test sends a MAD. Each request waits for the end of the sweep, and is
 * denied if the manager under test is standby by then. */
START_TEST(changes_end_when_another_manager_is_master)
{
    struct lab lab;
    begin(&lab, NULL);
    lab_play_other(&lab, ROGUE, 15, FAB_SM_MASTER);
    lab.sent = approve_with_each_mad;
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run(&lab, 20, lab_is_standby, "standby");
    lab_run_for(&lab, 4);
    ck_assert_uint_eq(changes.made + changes.denied, changes.queued);
    ck_assert_uint_ge(changes.denied, 2);
    lab_close(&lab);
}
END_TEST

/* ---- left out -------------------------------------------------------------------------------- */

static void begin_with(struct lab *lab, enum config_unapproved mode, const char *state)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(lab);
    lab->config.unapproved = (uint8_t)mode;
    lab_begin(lab, state);
    start(lab);
    lab_unlink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
    ck_assert_uint_eq(take_baseline(lab), 23 + 18);
}

static void restart(struct lab *lab, const char *state)
{
    lab_stop(lab);
    lab_begin(lab, state);
    start(lab);
    settle(lab);
}

static uint8_t switch_port_state(struct lab *lab, const char *leaf, uint8_t port)
{
    return fab_sim_port(lab->sim, lab_node(lab, leaf), port)->port_state;
}

/* Checks that the device is left out: it has no LID, it is not in the view, and its switch port
 * carries no data. */
static void assert_left_out(struct lab *lab, const char *name, const char *leaf, uint8_t port)
{
    struct fab_view *v = sm_view(lab->sm);
    uint32_t near = fab_fabric_node_by_guid(v->fabric, lab_node_guid(lab, leaf));
    ck_assert_uint_ne(near, FAB_NONE);
    ck_assert_uint_eq(fab_fabric_port(v->fabric, fab_fabric_port_id(v->fabric, near, port))->peer,
                      FAB_NONE);
    fab_view_unref(v);
    ck_assert(!is_served(lab, name));
    ck_assert_uint_eq(switch_port_state(lab, leaf, port), FAB_STATE_INIT);
}

START_TEST(a_new_device_stays_out_until_it_is_approved)
{
    struct lab lab;
    make_dir();
    begin_with(&lab, CONFIG_EXCLUDE, dir);
    plug_in(&lab);
    assert_left_out(&lab, NEWCOMER, NEW_LEAF, NEW_PORT);
    assert_named(&lab, "leaf-006/4", "it gets no LID and no routes");
    sweep(&lab);
    lab_run_for(&lab, 60);
    assert_left_out(&lab, NEWCOMER, NEW_LEAF, NEW_PORT);
    restart(&lab, dir);
    assert_left_out(&lab, NEWCOMER, NEW_LEAF, NEW_PORT);
    ck_assert_uint_eq(count_waiting(&lab), 1);
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert(is_served(&lab, NEWCOMER));
    ck_assert_uint_eq(count_waiting(&lab), 0);
    lab_assert_good(&lab);
    lab_close(&lab);
    remove_dir();
}
END_TEST

START_TEST(the_guid_of_an_absent_host_stays_out)
{
    struct lab lab;
    begin_with(&lab, CONFIG_EXCLUDE, NULL);
    take_guids_of_the_victim(&lab);
    assert_left_out(&lab, ROGUE, ROGUE_LEAF, ROGUE_PORT);
    assert_named(&lab, "leaf-004/1", "is approved at leaf-005/4");
    sweep(&lab);
    assert_left_out(&lab, ROGUE, ROGUE_LEAF, ROGUE_PORT);
    /* The victim is switched on again, and gets a LID and routes at once. */
    lab_relink(&lab, VICTIM_LEAF, VICTIM_PORT);
    settle(&lab);
    ck_assert(is_served(&lab, VICTIM));
    assert_left_out(&lab, ROGUE, ROGUE_LEAF, ROGUE_PORT);
    lab_close(&lab);
}
END_TEST

START_TEST(a_replaced_adapter_stays_out)
{
    struct lab lab;
    begin_with(&lab, CONFIG_EXCLUDE, NULL);
    pretend(&lab, ROGUE, 0xbad1, 0xbad2);
    bounce(&lab, ROGUE_LEAF, ROGUE_PORT);
    assert_left_out(&lab, ROGUE, ROGUE_LEAF, ROGUE_PORT);
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert(is_served(&lab, ROGUE));
    lab_close(&lab);
}
END_TEST

/* A device that was in service has an Active link. The manager must take the link down when an
 * operator removes the approval of the device. */
START_TEST(a_disapproved_device_loses_its_link)
{
    struct lab lab;
    begin_with(&lab, CONFIG_EXCLUDE, NULL);
    ck_assert(is_served(&lab, VICTIM));
    ck_assert_int_eq(disapprove(&lab, VICTIM), FAB_OK);
    settle(&lab);
    lab_run_for(&lab, 30);
    assert_left_out(&lab, VICTIM, VICTIM_LEAF, VICTIM_PORT);
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert(is_served(&lab, VICTIM));
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* An operator removes the approval of a switch. The switch and its hosts leave the fabric. The
 * operator then approves the switch, and after that its hosts, and all of them return. */
START_TEST(a_switch_is_left_out_with_all_behind_it)
{
    struct lab lab;
    begin_with(&lab, CONFIG_EXCLUDE, NULL);
    ck_assert_int_eq(disapprove(&lab, "leaf-005"), FAB_OK);
    settle(&lab);
    lab_run_for(&lab, 30);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(fab_fabric_node_by_guid(v->fabric, lab_node_guid(&lab, "leaf-005")),
                      FAB_NONE);
    ck_assert_uint_eq(fab_fabric_node_by_guid(v->fabric, lab_node_guid(&lab, VICTIM)), FAB_NONE);
    fab_view_unref(v);
    ck_assert_uint_eq(count_waiting(&lab), 3); /* the three ISLs of the switch */
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert_uint_eq(count_waiting(&lab), 4); /* the hosts of the switch */
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert(is_served(&lab, VICTIM));
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(the_manager_itself_is_never_left_out)
{
    struct lab lab;
    make_dir();
    begin_with(&lab, CONFIG_EXCLUDE, dir);
    ck_assert_int_eq(disapprove(&lab, "leaf-001"), FAB_OK);
    settle(&lab);
    lab_run_for(&lab, 30);
    restart(&lab, dir);
    ck_assert(is_served(&lab, "host-0001") ||
              fab_sim_port(lab.sim, lab_node(&lab, "host-0001"), 1)->port_state ==
                  FAB_STATE_ACTIVE);
    for (int i = 0; i < 4 && count_waiting(&lab) > 0; i++) {
        approve_all(&lab);
        lab_run_for(&lab, 20);
    }
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(count_waiting(&lab), 0);
    ck_assert(is_served(&lab, VICTIM));
    lab_close(&lab);
    remove_dir();
}
END_TEST

/* ---- quarantine ------------------------------------------------------------------------------ */

#define QUARANTINE 0x7ffe

static bool get(struct lab *lab, uint32_t node, uint8_t port, uint16_t attr, uint32_t mod,
                const struct fab_attr *table, void *ret)
{
    bool is_switch = node < fab_sim_fabric(lab->sim)->switch_count;
    struct position at = {.node = node, .port = is_switch ? 0 : port};
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = attr,
                          .attr_mod = mod};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), 0);
    return fab_sim_sma_answer(lab->sim, at, 0, &mad, bytes) &&
           fab_wire_attr_unpack(table, bytes + 64, FAB_SMP_DATA, ret) == 0;
}

/* Reads the P_Keys of a device. Returns their number; ret has the first two. */
static uint32_t read_keys(struct lab *lab, const char *name, uint8_t port, uint16_t ret[2])
{
    struct fab_pkey_block block;
    uint32_t node = lab_node(lab, name), count = 0;
    bool is_switch = node < fab_sim_fabric(lab->sim)->switch_count;
    ck_assert(get(lab, node, port, FAB_ATTR_PKEY_TABLE, is_switch ? (uint32_t)port << 16 : 0,
                  &fab_wire_attr_pkey_block, &block));
    ret[0] = ret[1] = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (block.pkey[i] != 0 && count++ < 2)
            ret[count - 1] = block.pkey[i];
    return count;
}

/* Returns a P_Key with which the two hosts can communicate, according to their P_Key tables; 0:
 * there is none. */
static uint16_t common_key(struct lab *lab, const char *a, const char *b)
{
    struct fab_view *v = sm_view(lab->sm);
    const struct fab_fabric *f = v->fabric;
    uint32_t x = fab_fabric_node_by_guid(f, lab_node_guid(lab, a));
    uint32_t y = fab_fabric_node_by_guid(f, lab_node_guid(lab, b));
    uint16_t key = fab_target_pkeys_common(&v->target->pkeys, fab_fabric_port_id(f, x, 1),
                                           fab_fabric_port_id(f, y, 1), 0);
    fab_view_unref(v);
    return key;
}

/* Checks that the newcomer has a LID and a route, but can communicate with the manager only. The
 * P_Key tables of the newcomer and of its switch port contain only the P_Key of the quarantine. */
static void assert_quarantined(struct lab *lab)
{
    uint16_t keys[2];
    const struct fab_port_info *guard = fab_sim_port(lab->sim, lab_node(lab, NEW_LEAF), NEW_PORT);
    ck_assert(is_served(lab, NEWCOMER));
    ck_assert_uint_eq(read_keys(lab, NEWCOMER, 1, keys), 1);
    ck_assert_uint_eq(keys[0], QUARANTINE);
    ck_assert_uint_eq(read_keys(lab, NEW_LEAF, NEW_PORT, keys), 1);
    ck_assert_uint_eq(keys[0], QUARANTINE);
    ck_assert(guard->part_enforce_in && guard->part_enforce_out);
    ck_assert_uint_eq(common_key(lab, NEWCOMER, "host-0001"), QUARANTINE);
    ck_assert_uint_eq(common_key(lab, NEWCOMER, VICTIM), 0);
    ck_assert_uint_eq(common_key(lab, NEWCOMER, "host-0023"), 0);
    ck_assert_uint_ne(common_key(lab, VICTIM, "host-0023"), 0);
}

START_TEST(a_quarantined_device_reaches_only_the_manager)
{
    struct lab lab;
    uint16_t keys[2];
    make_dir();
    begin_with(&lab, CONFIG_QUARANTINE, dir);
    plug_in(&lab);
    assert_quarantined(&lab);
    assert_named(&lab, "leaf-006/4", "only in the quarantine partition");
    sweep(&lab);
    assert_quarantined(&lab);
    restart(&lab, dir);
    assert_quarantined(&lab);
    approve_all(&lab);
    lab_run_for(&lab, 20);
    ck_assert_uint_eq(read_keys(&lab, NEWCOMER, 1, keys), 1);
    ck_assert_uint_eq(keys[0], 0xffff);
    ck_assert_uint_ne(common_key(&lab, NEWCOMER, VICTIM), 0);
    const struct fab_port_info *guard = fab_sim_port(lab.sim, lab_node(&lab, NEW_LEAF), NEW_PORT);
    ck_assert(!guard->part_enforce_in && !guard->part_enforce_out);
    lab_close(&lab);
    remove_dir();
}
END_TEST

/* In this fabric, the manager is the only full member of the default partition. Quarantined hosts
 * then become limited members of this partition, so that they reach subnet administration. */
START_TEST(a_restricted_default_partition_stays)
{
    static const char text[] = "Default=0x7fff: ALL=limited, SELF=full;\n"
                               "All=0x5, defmember=full: ALL;\n";
    struct lab lab;
    struct fab_partitions_error e;
    uint16_t keys[2];
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(&lab);
    lab.config.unapproved = CONFIG_QUARANTINE;
    ck_assert_int_eq(
        fab_policy_partitions_read(text, sizeof text - 1, &lab.config.policy.partitions, &e),
        FAB_OK);
    lab_begin(&lab, NULL);
    start(&lab);
    take_baseline(&lab);
    ck_assert_int_eq(disapprove(&lab, VICTIM), FAB_OK);
    settle(&lab);
    lab_run_for(&lab, 20);
    ck_assert_uint_eq(read_keys(&lab, VICTIM, 1, keys), 2);
    ck_assert_uint_eq(keys[0], 0x7fff);
    ck_assert_uint_eq(keys[1], QUARANTINE);
    ck_assert_uint_eq(common_key(&lab, VICTIM, "host-0023"), 0);
    lab_close(&lab);
}
END_TEST

/* A rogue with the GUID of an absent host does not get the partitions of this host. */
START_TEST(the_guid_of_an_absent_host_is_quarantined)
{
    struct lab lab;
    uint16_t keys[2];
    begin_with(&lab, CONFIG_QUARANTINE, NULL);
    take_guids_of_the_victim(&lab);
    ck_assert_uint_eq(read_keys(&lab, ROGUE, 1, keys), 1);
    ck_assert_uint_eq(keys[0], QUARANTINE);
    assert_named(&lab, "leaf-004/1", "is approved at leaf-005/4");
    lab_close(&lab);
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
    tcase_add_test(t, each_change_says_what_it_did);
    tcase_add_test(t, changes_wait_for_each_other);
    tcase_add_test(t, changes_end_when_another_manager_is_master);
    suite_add_tcase(s, t);
    t = tcase_create("left out");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_new_device_stays_out_until_it_is_approved);
    tcase_add_test(t, the_guid_of_an_absent_host_stays_out);
    tcase_add_test(t, a_replaced_adapter_stays_out);
    tcase_add_test(t, a_disapproved_device_loses_its_link);
    tcase_add_test(t, a_switch_is_left_out_with_all_behind_it);
    tcase_add_test(t, the_manager_itself_is_never_left_out);
    suite_add_tcase(s, t);
    t = tcase_create("quarantine");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_quarantined_device_reaches_only_the_manager);
    tcase_add_test(t, a_restricted_default_partition_stays);
    tcase_add_test(t, the_guid_of_an_absent_host_is_quarantined);
    suite_add_tcase(s, t);
    return test_run(s);
}
