/* SPDX-License-Identifier: BSD-3-Clause */
/* The manager on a simulated fabric beside other managers, and requests of operators. */
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/ha/ha.h"
#include "fabricd/sm/links/links.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/lab.h"
#include "tests/unit/state_dir.h"

/* ---- other managers ---- */

START_TEST(yields_to_a_better_manager_and_takes_over)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, "host-0020", 9, FAB_SM_MASTER);
    sm_start(lab.sm);
    lab_run(&lab, 5, lab_is_standby, "standby");
    ck_assert_uint_eq(lab.sets_lft + lab.sets_port_info, 0);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.master_guid, 0x42);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_E_DENIED);
    lab_run_for(&lab, 1.5);
    ck_assert(lab_is_standby(&lab));
    lab_end_other(&lab);
    lab_run(&lab, 15, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The master fails. The standby manager knows all other managers from its own sweep, so it must
 * become master before it sweeps again. */
START_TEST(takes_over_before_it_sweeps)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, "host-0020", 9, FAB_SM_MASTER);
    sm_start(lab.sm);
    lab_run(&lab, 5, lab_is_standby, "standby");
    lab_run_for(&lab, 1);
    lab_end_other(&lab);
    for (int i = 0; i < 3000 && !lab_event(&lab, "sm-master-lost"); i++)
        lab_run_for(&lab, 0.001);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-master"));
    lab_run(&lab, 15, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Takes an uplink down, and returns the number of LFT blocks that the manager writes. standby: when
 * the link fails, the other manager is master and fails in the same instant. */
static uint64_t blocks_of_a_fault(bool standby)
{
    struct lab lab;
    struct fab_builder *b;
    const struct fab_fat_tree_spec spec = {.radix = 8, .levels = 3};
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    lab_open_virtual(&lab, b, NULL);
    lab.config.rebalance_s = 0;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    if (standby) {
        lab_play_other(&lab, "host-0020", 9, FAB_SM_MASTER);
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
        lab_run(&lab, 5, lab_is_standby, "yielding");
    }
    lab_forget_writes(&lab);
    lab_unlink(&lab, "leaf-019", 7);
    if (standby)
        lab_end_other(&lab);
    lab_run_for(&lab, 3);
    lab_run(&lab, 15, lab_is_idle, "the repair");
    lab_assert_good(&lab);
    uint64_t blocks = lab.sets_lft;
    lab_close(&lab);
    return blocks;
}

START_TEST(writes_after_a_take_over_what_the_fault_needs)
{
    uint64_t blocks = blocks_of_a_fault(false);
    ck_assert_uint_gt(blocks, 0);
    ck_assert_uint_eq(blocks_of_a_fault(true), blocks);
}
END_TEST

/* ---- tables that were read in standby ---- */

/* Brings up a fat tree of three levels, and makes the manager the standby of another one. */
static void stand_by(struct lab *lab, uint8_t radix, uint32_t rate)
{
    struct fab_builder *b;
    const struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3};
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    lab_open_virtual(lab, b, NULL);
    lab->config.rebalance_s = 0;
    lab->config.managers.standby_rate = rate;
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_idle, "bring-up");
    lab_play_other(lab, "host-0020", 9, FAB_SM_MASTER);
    ck_assert_int_eq(sm_sweep(lab->sm, NULL, NULL), FAB_OK);
    lab_run(lab, 5, lab_is_standby, "yielding");
    lab_forget_writes(lab);
    lab_forget_events(lab);
}

/* Number of LFT blocks that the manager had read when it wrote the first one; UINT64_MAX: it has
 * written none. */
static uint64_t reads_before_writes;

static void note_reads(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    if (head->method == FAB_METHOD_SET && head->attr_id == FAB_ATTR_LFT &&
        reads_before_writes == UINT64_MAX)
        reads_before_writes = lab->gets_lft;
}

/* Returns whether the first event of type `a` came before the first one of type `b`. */
static bool came_before(const struct lab *lab, const char *a, const char *b)
{
    const struct lab_event *x = lab_event(lab, a), *y = lab_event(lab, b);
    return x && (!y || x->smps_sent < y->smps_sent);
}

static void lose_master_and_link(struct lab *lab, const char *leaf, uint8_t port)
{
    lab_await(lab, 20, "sm-standby-ready");
    ck_assert_uint_eq(lab->sets_lft + lab->sets_port_info + lab->sets_switch_info, 0);
    lab_forget_writes(lab);
    lab_forget_events(lab);
    reads_before_writes = UINT64_MAX;
    lab->sent = note_reads;
    lab_unlink(lab, leaf, port);
    lab_end_other(lab);
}

static uint32_t number_of_blocks(struct lab *lab)
{
    uint32_t top, blocks = 0;
    for (uint32_t sw = 0; sw < fab_sim_fabric(lab->sim)->switch_count; sw++) {
        (void)fab_sim_lft(lab->sim, sw, &top);
        blocks += top / FAB_LFT_BLOCK + 1;
    }
    return blocks;
}

/* The manager repairs before it sweeps, and reads few tables before the repair. In the second run,
 * the link is an uplink of the manager's own leaf, over which it has sent a part of its requests.
 */
START_TEST(repairs_before_it_sweeps)
{
    struct lab lab;
    stand_by(&lab, 8, 4000);
    lose_master_and_link(&lab, _i == 0 ? "leaf-019" : "leaf-001", _i == 0 ? 7 : 5);
    lab_await(&lab, 1.5, "reroute-done");
    ck_assert(came_before(&lab, "reroute-done", "sweep-done"));
    ck_assert_uint_gt(reads_before_writes, 0);
    ck_assert_uint_lt(reads_before_writes, number_of_blocks(&lab) * 3 / 4);
    lab_run_for(&lab, 1);
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert_ptr_nonnull(lab_event(&lab, "sweep-done"));
    if (_i == 0)
        ck_assert_uint_eq(lab.sets_lft, blocks_of_a_fault(false));
    ck_assert(!sm_standby_unchecked(lab.sm));
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Returns whether the block of this LID also has the LID of one of two leaves or of their hosts. */
static bool is_near(const struct fab_fabric *f, const struct fab_lids *lids, uint32_t lid,
                    const uint32_t leaf[2])
{
    for (uint32_t other = lid / FAB_LFT_BLOCK * FAB_LFT_BLOCK; other <= lids->top; other++) {
        uint32_t port = lids->owner[other];
        if (other / FAB_LFT_BLOCK > lid / FAB_LFT_BLOCK)
            return false;
        if (port == FAB_NONE)
            continue;
        uint32_t node = fab_fabric_port(f, port)->node;
        uint32_t at = fab_fabric_node_is_switch(f, node) ? node : fab_fabric_peer_node(f, port);
        if (at == leaf[0] || at == leaf[1])
            return true;
    }
    return false;
}

/* Writes an entry of a leaf, as the former master: packets for a host go by the uplink `to`, and no
 * longer by the uplink `by`. far: no LID in the same block belongs to this leaf, to leaf-019 or to
 * their hosts. Returns the entry. */
static const uint8_t *move_entry(struct lab *lab, const char *leaf, uint8_t by, uint8_t to,
                                 bool far)
{
    struct fab_lids lids = {0};
    struct fab_fabric *f = lab_devices(lab);
    const uint32_t near[2] = {lab_node(lab, leaf), lab_node(lab, "leaf-019")};
    uint32_t top, lid = 1;
    uint8_t *row = (uint8_t *)(uintptr_t)fab_sim_lft(lab->sim, near[0], &top);
    lab_read_lids(f, &lids);
    while (lid < lids.top &&
           (row[lid] != by || lids.owner[lid] == FAB_NONE ||
            fab_fabric_node_is_switch(f, fab_fabric_port(f, lids.owner[lid])->node) ||
            (far && is_near(f, &lids, lid, near))))
        lid++;
    ck_assert_uint_lt(lid, lids.top);
    row[lid] = to;
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
    return &row[lid];
}

/* The former master changed an entry that the repair needs, after this manager had read it. The
 * manager writes nothing before it has read all tables, and keeps the entry. */
START_TEST(does_not_repair_tables_that_changed)
{
    struct lab lab;
    stand_by(&lab, 8, 4000);
    lab_await(&lab, 20, "sm-standby-ready");
    const uint8_t *entry = move_entry(&lab, "leaf-019", 7, 8, false);
    lose_master_and_link(&lab, "leaf-019", 7);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert_uint_ge(reads_before_writes, number_of_blocks(&lab));
    ck_assert(!sm_standby_unchecked(lab.sm));
    lab_assert_good(&lab);
    ck_assert_uint_eq(*entry, 8);
    lab_close(&lab);
}
END_TEST

/* The former master changed an entry that the repair does not need. The manager repairs at once,
 * and finds the changed entry in the sweep. It keeps the entry, and writes no other block. */
START_TEST(finds_other_tables_after_the_repair)
{
    struct lab lab;
    const uint8_t first_uplink = 7;
    stand_by(&lab, 12, 4000);
    lab_await(&lab, 20, "sm-standby-ready");
    const uint8_t *entry = move_entry(&lab, "leaf-001", first_uplink, first_uplink + 1, true);
    lose_master_and_link(&lab, "leaf-019", 7);
    lab_await(&lab, 1.5, "reroute-done");
    ck_assert(came_before(&lab, "reroute-done", "sweep-done"));
    lab_await(&lab, 5, "tables-adopted");
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert(!sm_standby_unchecked(lab.sm));
    lab_assert_good(&lab);
    ck_assert_uint_eq(*entry, first_uplink + 1u);
    lab_close(&lab);
}
END_TEST

/* The link that fails is on the route by which this manager polls the master, which still lives.
 * The manager takes over, but asks the master over another route before it writes. */
START_TEST(does_not_write_beside_a_living_master)
{
    struct lab lab;
    stand_by(&lab, 8, 4000);
    lab_set_master_lid(&lab, "host-0020");
    lab.silent_others = true;
    lab_await(&lab, 20, "sm-standby-ready");
    lab_forget_events(&lab);
    lab_forget_writes(&lab);
    lab.cut_node = "leaf-001";
    for (lab.cut_port = 5; lab.cut_port <= 8; lab.cut_port++) {
        lab_unlink(&lab, lab.cut_node, lab.cut_port);
        lab_run_for(&lab, 1.3);
        if (lab_event(&lab, "sm-master"))
            break; /* the polls went over this link */
        lab_relink(&lab, lab.cut_node, lab.cut_port);
    }
    lab_await(&lab, 1, "sm-master");
    lab_run(&lab, 5, lab_is_standby, "yielding");
    ck_assert_ptr_null(lab_event(&lab, "reroute-done"));
    ck_assert_uint_eq(lab.sets_lft, 0);
    ck_assert_uint_eq(lab.sets_port_info, 0); /* not even MasterSMLID */
    lab_close(&lab);
}
END_TEST

/* A standby manager sends no more requests than subnet.standby_rate permits, and no writes. */
START_TEST(reads_slowly_in_standby)
{
    static const uint32_t rates[] = {0, 50, 1000};
    uint32_t rate = rates[_i];
    struct lab lab;
    stand_by(&lab, 8, rate);
    lab_run_for(&lab, 0.5);
    uint64_t sent = lab.sends;
    lab_run_for(&lab, 1);
    /* The polls of the master, and the reads of its SMInfo, are not counted by standby_rate. */
    ck_assert_uint_le(lab.sends - sent, rate + rate / 50 + 10);
    ck_assert_uint_ge(lab.sends - sent, rate - rate / 10);
    ck_assert_uint_eq(lab.sets, 0);
    lab_close(&lab);
}
END_TEST

/* The master changes an entry while this manager is standby. The next round in standby reads it, so
 * the repair keeps it. */
START_TEST(follows_the_master)
{
    struct lab lab;
    stand_by(&lab, 8, 4000);
    lab_await(&lab, 20, "sm-standby-ready");
    const uint8_t *entry = move_entry(&lab, "leaf-019", 7, 8, false);
    lab_run_for(&lab, 12);
    lose_master_and_link(&lab, "leaf-019", 7);
    lab_await(&lab, 1.5, "reroute-done");
    ck_assert(came_before(&lab, "reroute-done", "sweep-done"));
    lab_run_for(&lab, 1);
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    lab_assert_good(&lab);
    ck_assert_uint_eq(*entry, 8);
    lab_close(&lab);
}
END_TEST

static bool has_read_most(struct lab *lab)
{
    return lab->gets_lft >= number_of_blocks(lab) * 2 / 3;
}

/* The master dies while this manager reads the tables for the first time. The master may have
 * changed the blocks that this manager has read already, so it reads all blocks again. */
START_TEST(reads_again_what_an_interrupted_standby_sweep_read)
{
    struct lab lab;
    stand_by(&lab, 8, 50);
    lab_run(&lab, 60, has_read_most, "reading in standby");
    const uint8_t *entry = move_entry(&lab, "leaf-019", 7, 8, false);
    lab_end_other(&lab);
    lab_run_for(&lab, 0.5);
    lab_forget_writes(&lab);
    lab_await(&lab, 5, "sweep-done");
    lab_run(&lab, 15, lab_is_idle, "the sweep");
    ck_assert_ptr_null(lab_event(&lab, "sm-standby-ready"));
    ck_assert_uint_ge(lab.gets_lft, number_of_blocks(&lab));
    ck_assert_uint_eq(*entry, 8);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The other manager writes its own tables while it is master. */
START_TEST(takes_over_again_from_a_better_manager)
{
    struct lab lab;
    uint32_t top;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, "host-0020", 9, FAB_SM_MASTER);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run(&lab, 5, lab_is_standby, "yielding");
    for (uint32_t sw = 0; sw < 3; sw++) {
        uint8_t *row = (uint8_t *)(uintptr_t)fab_sim_lft(lab.sim, sw, &top);
        memset(row + 1, 255, top);
    }
    lab_end_other(&lab);
    lab_run(&lab, 15, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(stays_before_a_lesser_manager)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.policy.sm_priority = 5;
    lab_stop(&lab);
    lab_play_other(&lab, "host-0020", 3, FAB_SM_STANDBY);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 5, lab_is_idle, "bring-up beside a lesser manager");
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-master"));
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- hand-over ---- */

struct outcome {
    int count, status;
    char message[256];
};
static void note(void *ctx, int status, const char *message)
{
    struct outcome *o = ctx;
    o->count++;
    o->status = status;
    snprintf(o->message, sizeof(o->message), "%s", message);
}

static void bring_up_beside(struct lab *lab, uint8_t priority)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab->config.policy.sm_priority = 5;
    lab_stop(lab);
    lab_play_other(lab, "host-0020", 3, FAB_SM_STANDBY);
    lab_begin(lab, NULL);
    sm_start(lab->sm);
    lab_run(lab, 5, lab_is_idle, "bring-up beside another manager");
    lab->other.priority = priority;
}

/* The priority of the other manager rises. The master must notice this and hand over, without a
 * sweep. */
START_TEST(hands_over_to_a_better_manager)
{
    struct lab lab;
    size_t len;
    bring_up_beside(&lab, 9);
    lab.other_accepts = true;
    uint8_t *tables = lab_tables(&lab, &len);
    lab_run(&lab, 2, lab_is_standby, "handing over");
    ck_assert_uint_eq(lab.handovers, 1);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-handed-over"));
    lab_run_for(&lab, 20);
    ck_assert(lab_is_standby(&lab));
    lab_assert_same_tables(&lab, tables, len, true);
    lab_end_other(&lab);
    lab_run(&lab, 2, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    free(tables);
    lab_close(&lab);
}
END_TEST

/* A better manager that has just become standby reads the tables first, at 50 requests a second. */
START_TEST(hands_over_when_the_better_manager_has_read_the_tables)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.managers.standby_rate = 50;
    sm_start(lab.sm);
    lab_run(&lab, 5, lab_is_idle, "bring-up");
    lab.other_accepts = true;
    lab_play_other(&lab, "host-0020", 9, FAB_SM_DISCOVERING);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 30);
    lab.other.state = FAB_SM_STANDBY;
    lab_run_for(&lab, 5);
    ck_assert_uint_eq(lab.handovers, 0);
    lab_run(&lab, 5, lab_is_standby, "handing over");
    ck_assert_uint_eq(lab.handovers, 1);
    lab_close(&lab);
}
END_TEST

/* The other manager has the higher priority, but does not accept HANDOVER. The master must repeat
 * the offer only a few times a minute. */
START_TEST(stays_master_if_nobody_accepts)
{
    struct lab lab;
    bring_up_beside(&lab, 9);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    ck_assert_uint_ge(lab_count_events(&lab, "sm-handover-failed"), 3);
    ck_assert_uint_le(lab_count_events(&lab, "sm-handover-failed"), 6);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* The other manager is master and stops answering, so the manager under test becomes master. Then
 * the other manager answers again, as master. In the second run, this happens after 15 minutes,
 * when the manager under test has already forgotten the other one. */
START_TEST(meets_a_master_that_hung)
{
    struct lab lab;
    bring_up_beside(&lab, 9);
    lab.other_accepts = true;
    lab_run(&lab, 5, lab_is_standby, "handing over");
    lab.other_answers = false;
    lab_run(&lab, 5, lab_is_idle, "taking over");
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab_run_for(&lab, _i == 0 ? 3 : 900);
    lab.other_answers = true;
    lab_run(&lab, 3, lab_is_standby, "yielding to the other master");
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-two-masters"));
    lab_close(&lab);
}
END_TEST

/* Twice, the manager under test hands over to the other manager, which then stops answering. After
 * that, the manager under test must wait for subnet.handover_hold before it hands over again. */
START_TEST(a_manager_that_keeps_losing_the_role_is_held)
{
    struct lab lab;
    bring_up_beside(&lab, 9);
    lab.other_accepts = true;
    for (int i = 0; i < 2; i++) {
        lab_run(&lab, 5, lab_is_standby, "handing over");
        lab.other_answers = false;
        lab_run(&lab, 5, lab_is_idle, "taking over");
        lab.other_answers = true;
        lab.other.state = FAB_SM_STANDBY;
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    }
    lab_run_for(&lab, 50);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    struct sm_manager other;
    ck_assert_uint_eq(sm_managers(lab.sm, &other, 1), 1);
    ck_assert_uint_gt(other.held_us, 0);
    ck_assert(other.trusted);
    lab_run(&lab, 20, lab_is_standby, "handing over after the hold");
    ck_assert_uint_eq(lab.handovers, 3);
    lab_close(&lab);
}
END_TEST

/* An operator commands a hand-over to a manager of lower priority: 3 instead of 5. After that, the
 * manager under test must show priority 3, so that it does not take precedence over the new master.
 * When it is master again, it must show 5. */
START_TEST(hands_over_by_command)
{
    struct lab lab;
    struct outcome o = {0};
    struct sm_ha_status ha;
    char why[400];
    bring_up_beside(&lab, 3);
    lab_run_for(&lab, 3);
    ck_assert_uint_eq(lab.handovers, 0);
    ck_assert_int_eq(sm_hand_over(lab.sm, 0x43, note, &o, why, sizeof why), FAB_E_DENIED);
    lab.other_accepts = true;
    ck_assert_int_eq(sm_hand_over(lab.sm, 0, note, &o, why, sizeof why), FAB_OK);
    lab_run(&lab, 2, lab_is_standby, "handing over");
    ck_assert_int_eq(o.count, 1);
    ck_assert_int_eq(o.status, FAB_OK);
    sm_get_ha_status(lab.sm, &ha);
    /* With equal priorities, the other manager has precedence, because its port GUID is lower. */
    ck_assert_uint_eq(ha.priority, 3);
    ck_assert_uint_eq(ha.own_priority, 5);
    ck_assert_uint_eq(ha.master_guid, 0x42);
    ck_assert_int_eq(sm_hand_over(lab.sm, 0, note, &o, why, sizeof why), FAB_E_DENIED);
    lab_end_other(&lab);
    lab_run(&lab, 2, lab_is_idle, "taking over");
    sm_get_ha_status(lab.sm, &ha);
    ck_assert_uint_eq(ha.priority, 5);
    lab_close(&lab);
}
END_TEST

/* Another manager acts as master, although the manager under test has precedence over it. The
 * manager under test must stay master and emit one event. */
START_TEST(reports_a_second_master_once)
{
    struct lab lab;
    bring_up_beside(&lab, 3);
    lab.other.state = FAB_SM_MASTER;
    lab_run_for(&lab, 10);
    ck_assert_uint_eq(lab_count_events(&lab, "sm-two-masters"), 1);
    ck_assert_uint_eq(lab_event(&lab, "sm-two-masters")->guid, 0x42);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab.other.priority = 9; /* from here on, the other manager has precedence */
    lab_run(&lab, 1, lab_is_standby, "yielding");
    lab_close(&lab);
}
END_TEST

/* ---- requests ---- */

START_TEST(sweeps_and_reroutes_on_request)
{
    struct lab lab;
    struct outcome sweep = {0}, reroute = {0}, forgotten = {0};
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_writes(&lab);
    ck_assert_int_eq(sm_sweep(lab.sm, note, &sweep), FAB_OK);
    ck_assert_int_eq(sm_reroute(lab.sm, note, &reroute), FAB_OK);
    ck_assert_int_eq(sm_sweep(lab.sm, note, &forgotten), FAB_OK);
    sm_forget(lab.sm, &forgotten);
    lab_run_for(&lab, 0.3);
    ck_assert_int_eq(sweep.count, 1);
    ck_assert_int_eq(sweep.status, FAB_OK);
    ck_assert_int_eq(reroute.count, 1);
    ck_assert_int_eq(forgotten.count, 0);
    ck_assert_uint_eq(lab.sets_lft + lab.sets_port_info, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(tells_of_a_reroute_that_changes_nothing)
{
    struct lab lab;
    struct outcome o = {0};
    struct sm_status status;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_events(&lab);
    ck_assert_int_eq(sm_reroute(lab.sm, note, &o), FAB_OK);
    lab_await(&lab, 1, "reroute-done");
    ck_assert_int_eq(o.status, FAB_OK);
    sm_get_status(lab.sm, &status);
    ck_assert_uint_gt(status.last_reroute_us, 0);
    lab_close(&lab);
}
END_TEST

static uint64_t guid_of(struct lab *lab, const char *name)
{
    return fab_sim_fabric(lab->sim)->nodes[lab_node(lab, name)].guid;
}

START_TEST(disables_and_enables_a_port)
{
    struct lab lab;
    struct outcome o = {0};
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    uint64_t leaf = guid_of(&lab, "leaf-003");
    ck_assert_int_eq(sm_port_set(lab.sm, leaf, 2, false, "an operator", note, &o), FAB_OK);
    lab_await(&lab, 3, "node-removed");
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, "leaf-003"), 2)->phys_state,
                      FAB_PHYS_DISABLED);
    lab_run_for(&lab, 0.05);
    ck_assert_int_eq(sm_port_set(lab.sm, leaf, 2, true, "an operator", note, &o), FAB_OK);
    lab_await(&lab, 3, "node-added");
    lab_run_for(&lab, 0.1);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(isolates_a_link_once)
{
    struct lab lab;
    char why[512];
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    uint64_t leaf = guid_of(&lab, "leaf-003");
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 5, true, "by an operator", why, sizeof why),
                     FAB_OK);
    ck_assert_str_eq(why, "");
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 5, true, "by an operator", why, sizeof why),
                     FAB_E_EXISTS);
    ck_assert_str_eq(why, "it is isolated already");
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 30, true, "by an operator", why, sizeof why),
                     FAB_E_NOT_FOUND);
    ck_assert_str_eq(why, "no link is up at this port");
    lab_close(&lab);
}
END_TEST

/* The manager releases an isolated link, and then another manager isolates the same link. The list
 * must have this link only once. */
START_TEST(an_isolated_link_of_another_manager_is_in_the_list_once)
{
    struct lab lab;
    struct sm_isolation found;
    char why[512];
    make_dir();
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), dir);
    uint64_t leaf = guid_of(&lab, "leaf-003");
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 5, true, "by an operator", why, sizeof why),
                     FAB_OK);
    lab_run_for(&lab, 1);
    ck_assert_uint_eq(sm_isolations(lab.sm, &found, 1), 1);
    ck_assert_int_eq(sm_link_release(lab.sm, leaf, 5, "an operator"), FAB_OK);
    lab_run_for(&lab, 1);
    struct store_isolated row = {.operated = true,
                                 .guid = {found.guid[0], found.guid[1]},
                                 .port = {found.port[0], found.port[1]},
                                 .name = {"leaf-003/5", "spine-001/3"}};
    store_put_isolated(lab.store, &row, true);
    store_flush(lab.store);
    ck_assert_int_eq(sm_links_load(lab.sm), FAB_OK);
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 5, true, "by an operator", why, sizeof why),
                     FAB_E_EXISTS);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&lab, 1);
    ck_assert_int_eq(sm_link_release(lab.sm, leaf, 5, "an operator"), FAB_OK);
    ck_assert_uint_eq(sm_isolations(lab.sm, &found, 1), 0);
    lab_close(&lab);
    remove_dir();
}
END_TEST

/* A standby manager elects again, for example after another manager isolated a link. Until this is
 * over, it must refuse to isolate or release links and to disable ports. */
START_TEST(a_manager_that_elects_again_decides_nothing)
{
    struct lab lab;
    char why[512];
    bring_up_beside(&lab, 9);
    lab.other_accepts = true;
    uint64_t leaf = guid_of(&lab, "leaf-003");
    lab_run(&lab, 5, lab_is_standby, "handing over");
    sm_ha_rediscover(lab.sm);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_DISCOVERING);
    ck_assert_int_eq(sm_link_isolate(lab.sm, leaf, 5, true, "by an operator", why, sizeof why),
                     FAB_E_DENIED);
    ck_assert_int_eq(sm_link_release(lab.sm, leaf, 5, "an operator"), FAB_E_DENIED);
    ck_assert_int_eq(sm_port_set(lab.sm, leaf, 1, false, "an operator", NULL, NULL), FAB_E_DENIED);
    lab_run(&lab, 5, lab_is_standby, "standby");
    lab_close(&lab);
}
END_TEST

START_TEST(refuses_to_cut_itself_off)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    const struct {
        const char *node;
        uint8_t port;
        int status;
    } cases[] = {
        /* the two ends of the link between the manager's host and its leaf */
        {"leaf-001", 1, FAB_E_DENIED},
        {"host-0001", 1, FAB_E_DENIED},
        /* The manager could not enable this port again, because a disabled host port cannot be
         * reached. */
        {"host-0010", 1, FAB_E_DENIED},
        {"leaf-001", 99, FAB_E_NOT_FOUND},
        {"leaf-001", 0, FAB_E_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome o = {0};
        ck_assert_int_eq(sm_port_set(lab.sm, guid_of(&lab, cases[i].node), cases[i].port, false,
                                     "an operator", note, &o),
                         FAB_OK);
        lab_run_for(&lab, 0.05);
        ck_assert_int_eq(o.count, 1);
        ck_assert_int_eq(o.status, cases[i].status);
    }
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* An operator disables the three uplinks of a leaf in quick succession. The third request must be
 * refused, because the first two leave only this uplink, although no sweep has seen that yet. */
START_TEST(refuses_to_cut_off_a_part_in_a_hurry)
{
    struct lab lab;
    struct outcome o[3] = {{0}, {0}, {0}};
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    for (uint8_t i = 0; i < 3; i++)
        ck_assert_int_eq(sm_port_set(lab.sm, guid_of(&lab, "leaf-001"), (uint8_t)(5 + i), false,
                                     "an operator", note, &o[i]),
                         FAB_OK);
    lab_run_for(&lab, 0.2);
    ck_assert_int_eq(o[0].status, FAB_OK);
    ck_assert_int_eq(o[1].status, FAB_OK);
    ck_assert_int_eq(o[2].count, 1);
    ck_assert_int_eq(o[2].status, FAB_E_DENIED);
    lab_assert_good(&lab);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->node_count, 33);
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

/* Returns the capability mask of the manager's port in the fabric. */
static uint32_t capabilities(struct lab *lab)
{
    return fab_sim_port(lab->sim, lab_node(lab, "host-0001"), 1)->cap_mask;
}

/* While a manager runs, other managers find it by the bit IsSM of its port. When it ends, it must
 * clear the bit itself: the transport may stay open. */
START_TEST(a_manager_that_ends_is_no_longer_found)
{
    const uint32_t is_sm = 2; /* PortInfo.CapabilityMask, IBA 14.2.5.6 */
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(2, 2, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    ck_assert_uint_ne(capabilities(&lab) & is_sm, 0);
    sm_free(lab.sm);
    lab.sm = NULL;
    ck_assert_uint_eq(capabilities(&lab) & is_sm, 0);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm others");
    TCase *t = tcase_create("scenarios");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, yields_to_a_better_manager_and_takes_over);
    tcase_add_test(t, takes_over_before_it_sweeps);
    tcase_add_test(t, writes_after_a_take_over_what_the_fault_needs);
    tcase_add_loop_test(t, repairs_before_it_sweeps, 0, 2);
    tcase_add_test(t, does_not_repair_tables_that_changed);
    tcase_add_test(t, finds_other_tables_after_the_repair);
    tcase_add_test(t, follows_the_master);
    tcase_add_test(t, reads_again_what_an_interrupted_standby_sweep_read);
    tcase_add_test(t, does_not_write_beside_a_living_master);
    tcase_add_loop_test(t, reads_slowly_in_standby, 0, 3);
    tcase_add_test(t, takes_over_again_from_a_better_manager);
    tcase_add_test(t, stays_before_a_lesser_manager);
    tcase_add_test(t, hands_over_to_a_better_manager);
    tcase_add_test(t, hands_over_when_the_better_manager_has_read_the_tables);
    tcase_add_test(t, stays_master_if_nobody_accepts);
    tcase_add_loop_test(t, meets_a_master_that_hung, 0, 2);
    tcase_add_test(t, a_manager_that_keeps_losing_the_role_is_held);
    tcase_add_test(t, hands_over_by_command);
    tcase_add_test(t, reports_a_second_master_once);
    tcase_add_test(t, sweeps_and_reroutes_on_request);
    tcase_add_test(t, tells_of_a_reroute_that_changes_nothing);
    tcase_add_test(t, disables_and_enables_a_port);
    tcase_add_test(t, isolates_a_link_once);
    tcase_add_test(t, an_isolated_link_of_another_manager_is_in_the_list_once);
    tcase_add_test(t, a_manager_that_elects_again_decides_nothing);
    tcase_add_test(t, refuses_to_cut_itself_off);
    tcase_add_test(t, refuses_to_cut_off_a_part_in_a_hurry);
    tcase_add_test(t, a_manager_that_ends_is_no_longer_found);
    suite_add_tcase(s, t);
    return test_run(s);
}
