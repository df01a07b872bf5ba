/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the manager answers SMPs that it did not request, and what control packets of other managers
 * (IBA 14.4.1) cause in each of its states.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"
#include "tests/sim/lab.h"

#define OTHER "host-0020"

/* ---- traps are repressed ---- */

enum { AT_STATUS = 4, AT_DR_SLID = 32, AT_DATA = 64 };

static void pack_trap(uint8_t mgmt_class, uint8_t mad[FAB_MAD_SIZE])
{
    struct fab_mad head = {.mgmt_class = mgmt_class,
                           .method = FAB_METHOD_TRAP,
                           .tid = UINT64_C(0x1122334455667788),
                           .attr_id = FAB_ATTR_NOTICE,
                           .dr_slid = 0x1234,
                           .dr_dlid = 0x5678};
    struct fab_notice notice = {.generic = 1, .type = 1, .producer_type = 2, .trap = 129};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_notice, &notice, data, sizeof data), FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, mad), FAB_OK);
}

/* The answer to a directed-route trap takes the trap's route back: DrSLID and DrDLID are exchanged
 * (IBA 14.2.2), and the D bit is set. All other fields are those of the trap. */
START_TEST(a_directed_trap_is_repressed_on_its_way_back)
{
    struct lab lab;
    uint8_t trap[FAB_MAD_SIZE], expect[FAB_MAD_SIZE];
    lab_open_virtual(&lab, lab_leaf_spine(2, 1, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    pack_trap(FAB_CLASS_SMP_DIRECTED, trap);
    memcpy(expect, trap, sizeof expect);
    expect[3] = FAB_METHOD_TRAP_REPRESS;
    fab_base_put_be16(expect + AT_STATUS, 0x8000);
    fab_base_put_be16(expect + AT_DR_SLID, 0x5678);
    fab_base_put_be16(expect + AT_DR_SLID + 2, 0x1234);
    lab.replies = 0;
    lab_receive(&lab, trap);
    ck_assert_uint_eq(lab.replies, 1);
    ck_assert_mem_eq(lab.reply, expect, sizeof expect);
    lab_close(&lab);
}
END_TEST

/* A LID-routed trap has reserved bytes in place of DrSLID and DrDLID. The answer repeats them
 * unchanged. */
START_TEST(a_trap_by_lid_is_repressed)
{
    struct lab lab;
    uint8_t trap[FAB_MAD_SIZE], expect[FAB_MAD_SIZE];
    lab_open_virtual(&lab, lab_leaf_spine(2, 1, 2), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    pack_trap(FAB_CLASS_SMP_LID, trap);
    fab_base_put_be32(trap + AT_DR_SLID, 0x12345678);
    memcpy(expect, trap, sizeof expect);
    expect[3] = FAB_METHOD_TRAP_REPRESS;
    lab.replies = 0;
    lab_receive(&lab, trap);
    ck_assert_uint_eq(lab.replies, 1);
    ck_assert_mem_eq(lab.reply, expect, sizeof expect);
    /* A Trap with an attribute other than Notice gets no answer. */
    trap[17] = FAB_ATTR_PORT_INFO;
    lab_receive(&lab, trap);
    ck_assert_uint_eq(lab.replies, 1);
    lab_close(&lab);
}
END_TEST

/* ---- other managers ---- */

/* The other manager sends SubnSet(SMInfo). */
static void send_control(struct lab *lab, uint32_t what, uint8_t sender_state)
{
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_SET,
                           .tid = 77,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = what,
                           .path = lab_path_from(lab, OTHER)};
    struct fab_sm_info info = lab->other;
    uint8_t data[FAB_SMP_DATA] = {0};
    info.state = sender_state;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, sizeof data), FAB_OK);
    lab->replies = 0;
    lab_send(lab, OTHER, &head, data);
}

/* Sends a control packet with attribute modifier `what` to the manager under test. Returns the
 * status of the answer. *ret_state: the state that the answer gives. */
static uint16_t control(struct lab *lab, uint32_t what, uint8_t sender_state, uint8_t *ret_state)
{
    struct fab_sm_info answer;
    uint8_t told = lab->other.state;
    /* The other manager answers SubnGet(SMInfo) with the state in the packet. Only after HANDOVER,
     * it is already in standby. */
    if (what != FAB_SM_HANDOVER)
        lab->other.state = sender_state;
    send_control(lab, what, sender_state);
    lab_run_for(lab, 0.005);
    lab->other.state = told;
    ck_assert_uint_eq(lab->replies, 1);
    ck_assert_uint_eq(lab->reply[3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(fab_base_get_be64(lab->reply + 8), 77);
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, lab->reply + AT_DATA, FAB_SMP_DATA, &answer),
        FAB_OK);
    ck_assert_uint_eq(answer.guid, lab->sim_transport->port_guid);
    ck_assert_uint_eq(answer.priority, lab->config.policy.sm_priority);
    *ret_state = answer.state;
    return fab_base_get_be16(lab->reply + AT_STATUS) & 0x7fff;
}

static void stand_by(struct lab *lab)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(lab, OTHER, 9, FAB_SM_MASTER);
    sm_start(lab->sm);
    lab_run(lab, 5, lab_is_standby, "standby");
    ck_assert_uint_eq(lab->sets, 0);
}

START_TEST(takes_the_mastership_that_is_handed_over)
{
    struct lab lab;
    uint8_t state;
    stand_by(&lab);
    lab.other.state = FAB_SM_STANDBY;
    lab.other.priority = 0;
    lab_forget_events(&lab);
    ck_assert_uint_eq(control(&lab, FAB_SM_HANDOVER, FAB_SM_MASTER, &state), 0);
    /* The manager becomes master before it sweeps. */
    ck_assert_uint_eq(state, FAB_SM_MASTER);
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-master"));
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.master_guid, lab.sim_transport->port_guid);
    lab_run(&lab, 10, lab_is_idle, "the sweep of the new master");
    lab_assert_good(&lab);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab_close(&lab);
}
END_TEST

START_TEST(refuses_control_packets_that_are_not_legal)
{
    static const uint32_t all[] = {FAB_SM_HANDOVER, FAB_SM_ACKNOWLEDGE, FAB_SM_DISABLE,
                                   FAB_SM_GO_STANDBY, FAB_SM_DISCOVER};
    struct lab lab;
    struct sm_status before, after;
    uint8_t state;
    size_t len;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, OTHER, 3, FAB_SM_STANDBY);
    lab.config.policy.sm_priority = 5;
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    uint8_t *tables = lab_tables(&lab, &len);
    lab_forget_writes(&lab);
    sm_get_status(lab.sm, &before);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (uint8_t sender = 0; sender < 4; sender++) {
            if (all[i] == FAB_SM_HANDOVER && sender == FAB_SM_MASTER)
                continue; /* a HANDOVER of a master is accepted; the end of this test covers it */
            ck_assert_uint_eq(control(&lab, all[i], sender, &state), FAB_SMP_BAD_VALUE);
            ck_assert_uint_eq(state, FAB_SM_MASTER);
        }
    lab_run_for(&lab, 1);
    sm_get_status(lab.sm, &after);
    ck_assert_uint_eq(after.sweeps, before.sweeps);
    ck_assert_uint_eq(lab.sets, 0);
    lab_assert_same_tables(&lab, tables, len, true);
    ck_assert_uint_eq(control(&lab, FAB_SM_HANDOVER, FAB_SM_MASTER, &state), 0);
    ck_assert_uint_eq(state, FAB_SM_MASTER);
    lab_run_for(&lab, 1);
    sm_get_status(lab.sm, &after);
    /* after the HANDOVER, the manager sweeps once */
    ck_assert_uint_eq(after.sweeps, before.sweeps + 1);
    ck_assert_uint_eq(lab.sets, 0);
    free(tables);
    lab_close(&lab);
}
END_TEST

static uint8_t state_then;

static void hand_over(struct lab *lab)
{
    state_then = lab_role(lab);
    send_control(lab, FAB_SM_HANDOVER, FAB_SM_MASTER);
}

/* During a bring-up, the manager gets a HANDOVER after it has sent `at` MADs. expect: its state at
 * this moment. sweeps: expected number of sweeps. Before the election, the manager refuses the
 * HANDOVER. As master, it accepts it and sweeps once more. */
static void interrupt_bring_up(uint64_t at, uint8_t expect, uint64_t sweeps)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, OTHER, 0, FAB_SM_STANDBY);
    lab.config.policy.sm_priority = 5;
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    lab.interrupt_at = at;
    lab.interrupt = hand_over;
    state_then = 99;
    sm_start(lab.sm);
    lab_run_for(&lab, 2);
    ck_assert_uint_eq(state_then, expect);
    ck_assert(lab_is_idle(&lab));
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_MASTER);
    lab_assert_good(&lab);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.sweeps, sweeps);
    ck_assert_int_eq(lab_event(&lab, "sm-control-refused") != NULL, sweeps == 1);
    lab_close(&lab);
}

START_TEST(a_handover_before_the_election_is_refused)
{
    interrupt_bring_up(1, FAB_SM_DISCOVERING, 1);
    interrupt_bring_up(100, FAB_SM_DISCOVERING, 1);
}
END_TEST

START_TEST(a_handover_amid_the_writes_makes_another_sweep)
{
    interrupt_bring_up(200, FAB_SM_MASTER, 2);
    interrupt_bring_up(350, FAB_SM_MASTER, 2);
}
END_TEST

/* A disabled manager does not take over when the master stops answering. It can do so only after a
 * control packet has put it into standby. */
START_TEST(who_is_disabled_takes_over_from_nobody)
{
    struct lab lab;
    uint8_t state;
    stand_by(&lab);
    ck_assert_uint_eq(control(&lab, FAB_SM_DISABLE, FAB_SM_MASTER, &state), 0);
    ck_assert_uint_eq(state, FAB_SM_NOT_ACTIVE);
    lab_end_other(&lab);
    lab_run_for(&lab, 60);
    ck_assert_uint_eq(lab_role(&lab), FAB_SM_NOT_ACTIVE);
    ck_assert_uint_eq(lab.sets, 0);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_E_DENIED);
    lab_play_other(&lab, OTHER, 9, FAB_SM_MASTER);
    ck_assert_uint_eq(control(&lab, FAB_SM_GO_STANDBY, FAB_SM_MASTER, &state), 0);
    ck_assert_uint_eq(state, FAB_SM_STANDBY);
    lab_end_other(&lab);
    lab_run(&lab, 60, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

static void reload(void *ctx)
{
    struct lab *lab = ctx;
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    ck_assert_str_eq(status.state, "programming");
    ck_assert_int_eq(sm_reload(lab->sm), FAB_OK);
    lab->other_answers = true; /* from now on, the other manager answers */
}

/* Called for each MAD that the manager sends. When it is a SubnGet(SMInfo), the event loop calls
 * reload() next. */
static void reload_when_asked(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    if (head->attr_id != FAB_ATTR_SM_INFO || head->method != FAB_METHOD_GET)
        return;
    lab->sent = NULL;
    ck_assert_int_eq(loop_post(lab->loop, reload, lab), FAB_OK);
}

static void hand_over_and_reload(struct lab *lab)
{
    lab->other_answers = false;
    lab->sent = reload_when_asked;
    hand_over(lab);
}

/* After a control packet, the manager asks the sender for its SMInfo. Meanwhile, a reload of the
 * settings aborts the running round. The packet must take effect all the same, and so must later
 * packets. */
START_TEST(an_aborted_round_keeps_the_confirmation_of_a_packet)
{
    struct lab lab;
    uint8_t state;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_play_other(&lab, OTHER, 3, FAB_SM_STANDBY);
    lab.config.policy.sm_priority = 5;
    lab_stop(&lab);
    lab_begin(&lab, NULL);
    lab.interrupt_at = 200;
    lab.interrupt = hand_over_and_reload;
    sm_start(lab.sm);
    lab_run_for(&lab, 2);
    ck_assert(lab.sent == NULL && lab.other_answers);
    ck_assert_uint_eq(lab.replies, 1);
    ck_assert_uint_eq(control(&lab, FAB_SM_HANDOVER, FAB_SM_MASTER, &state), 0);
    ck_assert_uint_eq(state, FAB_SM_MASTER);
    lab_run(&lab, 10, lab_is_idle, "the sweep after the packets");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(looks_again_when_it_is_told_to_discover)
{
    struct lab lab;
    uint8_t state;
    struct sm_status before, after;
    stand_by(&lab);
    sm_get_status(lab.sm, &before);
    ck_assert_uint_eq(control(&lab, FAB_SM_DISCOVER, FAB_SM_MASTER, &state), 0);
    ck_assert_uint_eq(state, FAB_SM_DISCOVERING);
    lab_run(&lab, 10, lab_is_standby, "standing by again");
    sm_get_status(lab.sm, &after);
    /* The fabric has 33 nodes, and the manager reads each of them. */
    ck_assert_uint_gt(after.smps_sent - before.smps_sent, 33);
    ck_assert_uint_eq(after.master_guid, 0x42);
    ck_assert_uint_eq(lab.sets, 0);
    lab_end_other(&lab);
    lab_run(&lab, 30, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm control");
    TCase *t = tcase_create("scenarios");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_directed_trap_is_repressed_on_its_way_back);
    tcase_add_test(t, a_trap_by_lid_is_repressed);
    tcase_add_test(t, takes_the_mastership_that_is_handed_over);
    tcase_add_test(t, refuses_control_packets_that_are_not_legal);
    tcase_add_test(t, a_handover_before_the_election_is_refused);
    tcase_add_test(t, an_aborted_round_keeps_the_confirmation_of_a_packet);
    tcase_add_test(t, a_handover_amid_the_writes_makes_another_sweep);
    tcase_add_test(t, who_is_disabled_takes_over_from_nobody);
    tcase_add_test(t, looks_again_when_it_is_told_to_discover);
    suite_add_tcase(s, t);
    return test_run(s);
}
