/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of a subnet manager: every rule of the election, and every control packet. If
 * several managers see each other, exactly one of them must become master, the one with precedence.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/smstate/holds.h"
#include "libfabmgr/smstate/smstate.h"
#include "tests/unit/testing.h"

#define OUR_GUID 0x50
#define OUR_PRIORITY 5

static struct fab_smstate ours(uint8_t state)
{
    struct fab_smstate s;
    fab_smstate_init(&s, OUR_GUID, OUR_PRIORITY);
    s.state = state;
    return s;
}

static struct fab_sm_info other(uint64_t guid, uint8_t priority, uint8_t state)
{
    return (struct fab_sm_info){.guid = guid, .priority = priority, .state = state};
}

START_TEST(higher_priority_then_lower_guid_wins)
{
    ck_assert(fab_smstate_beats(6, 9, 5, 1));
    ck_assert(!fab_smstate_beats(5, 1, 6, 9));
    ck_assert(fab_smstate_beats(5, 1, 5, 2));
    ck_assert(!fab_smstate_beats(5, 2, 5, 1));
    ck_assert(!fab_smstate_beats(5, 1, 5, 1));
}
END_TEST

START_TEST(alone_becomes_master)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    fab_smstate_discovered(&s, NULL, 0);
    ck_assert_uint_eq(s.state, FAB_SM_MASTER);
}
END_TEST

START_TEST(a_master_is_respected_whatever_its_priority)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    struct fab_sm_info others[] = {other(0x10, 9, FAB_SM_STANDBY), other(0x90, 0, FAB_SM_MASTER)};
    fab_smstate_discovered(&s, others, 2);
    ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(s.master_guid, 0x90);
}
END_TEST

START_TEST(a_better_one_that_discovers_goes_first)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    struct fab_sm_info better = other(0x10, OUR_PRIORITY, FAB_SM_DISCOVERING);
    fab_smstate_discovered(&s, &better, 1);
    ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(s.master_guid, 0x10);
}
END_TEST

START_TEST(worse_and_sleeping_ones_do_not_count)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    struct fab_sm_info others[] = {other(0x90, OUR_PRIORITY, FAB_SM_DISCOVERING),
                                   other(0x10, 15, FAB_SM_NOT_ACTIVE), other(0x11, 15, 9),
                                   other(OUR_GUID, 15, FAB_SM_MASTER)};
    fab_smstate_discovered(&s, others, 4);
    ck_assert_uint_eq(s.state, FAB_SM_MASTER);
}
END_TEST

START_TEST(a_master_yields_to_a_better_master_only)
{
    struct fab_smstate s = ours(FAB_SM_MASTER);
    struct fab_sm_info others[] = {other(0x10, 9, FAB_SM_STANDBY), other(0x90, 4, FAB_SM_MASTER)};
    fab_smstate_discovered(&s, others, 2);
    ck_assert_uint_eq(s.state, FAB_SM_MASTER);
    others[1].priority = 6;
    fab_smstate_discovered(&s, others, 2);
    ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(s.master_guid, 0x90);
}
END_TEST

START_TEST(standby_watches_until_the_polls_are_used_up)
{
    struct fab_smstate s = ours(FAB_SM_STANDBY);
    struct fab_sm_info master = other(0x90, 0, FAB_SM_MASTER);
    s.master_guid = 0x90;
    for (uint32_t i = 1; i < s.polls_allowed; i++)
        ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, NULL));
    ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, &master));
    ck_assert_uint_eq(s.missed, 0);
    for (uint32_t i = 1; i < s.polls_allowed; i++)
        ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, NULL));
    ck_assert_int_eq(FAB_SMSTATE_GONE, fab_smstate_poll(&s, NULL));
    ck_assert_uint_eq(s.state, FAB_SM_DISCOVERING);
    ck_assert_int_eq(FAB_SMSTATE_STAYS,
                     /* this manager is not in standby, so a poll has no effect */
                     fab_smstate_poll(&s, NULL));
}
END_TEST

START_TEST(standby_does_not_wait_for_one_that_gave_up)
{
    struct fab_smstate s = ours(FAB_SM_STANDBY);
    struct fab_sm_info better = other(0x10, 9, FAB_SM_STANDBY);
    struct fab_sm_info worse = other(0x10, 0, FAB_SM_STANDBY);
    struct fab_sm_info asleep = other(0x10, 9, FAB_SM_NOT_ACTIVE);
    s.master_guid = 0x10;
    ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, &better));
    ck_assert_uint_eq(s.missed, 0);
    ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, &worse));
    ck_assert_int_eq(FAB_SMSTATE_STAYS, fab_smstate_poll(&s, &asleep));
    ck_assert_uint_eq(s.missed, 2);
}
END_TEST

/* Another manager has precedence, but never becomes master. This manager waits in standby for a
 * limited number of polls, and then passes it over. If the other one becomes master later, this
 * manager goes back to standby. */
START_TEST(a_better_one_that_never_becomes_master_is_passed_over)
{
    static const uint8_t states[] = {FAB_SM_STANDBY, FAB_SM_DISCOVERING};
    for (unsigned i = 0; i < 2; i++) {
        struct fab_smstate s = ours(FAB_SM_DISCOVERING);
        struct fab_sm_info better = other(0x10, 15, states[i]);
        fab_smstate_discovered(&s, &better, 1);
        ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
        for (uint32_t n = 0; n < s.waits_allowed; n++)
            ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_STAYS);
        ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_PASSED_OVER);
        ck_assert_uint_eq(s.state, FAB_SM_DISCOVERING);
        fab_smstate_discovered(&s, &better, 1);
        ck_assert_uint_eq(s.state, FAB_SM_MASTER);
        better.state = FAB_SM_MASTER;
        fab_smstate_discovered(&s, &better, 1);
        ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
        better.state = states[i];
        ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_STAYS);
    }
}
END_TEST

/* The former master is in standby now, because it handed over or was restarted. It has precedence,
 * but this manager must not wait for it: after a few polls, it elects anew. */
START_TEST(a_master_that_stepped_down_is_not_waited_for)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    struct fab_sm_info better = other(0x10, 15, FAB_SM_MASTER);
    fab_smstate_discovered(&s, &better, 1);
    ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_STAYS);
    better.state = FAB_SM_STANDBY;
    for (uint32_t i = 1; i < s.polls_allowed; i++)
        ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_STAYS);
    ck_assert_int_eq(fab_smstate_poll(&s, &better), FAB_SMSTATE_GONE);
}
END_TEST

START_TEST(the_successor_is_the_best_manager_in_standby)
{
    struct fab_smstate s = ours(FAB_SM_MASTER);
    struct fab_sm_info others[] = {other(0x60, OUR_PRIORITY, FAB_SM_STANDBY),
                                   other(0x40, OUR_PRIORITY, FAB_SM_STANDBY),
                                   other(0x70, 9, FAB_SM_DISCOVERING),
                                   other(0x71, 9, FAB_SM_NOT_ACTIVE),
                                   other(0x72, 9, FAB_SM_MASTER),
                                   other(OUR_GUID, 15, FAB_SM_STANDBY)};
    /* with equal priorities, a higher GUID gives no precedence */
    ck_assert_ptr_null(fab_smstate_successor(&s, others, 1));
    ck_assert_ptr_eq(fab_smstate_successor(&s, others, 6), &others[1]);
    others[2].state = FAB_SM_STANDBY;
    ck_assert_ptr_eq(fab_smstate_successor(&s, others, 6), &others[2]);
    s.passed_over[s.passed_count++] = 0x70;
    ck_assert_ptr_eq(fab_smstate_successor(&s, others, 6), &others[1]);
    s.state = FAB_SM_STANDBY;
    ck_assert_ptr_null(fab_smstate_successor(&s, others, 6));
}
END_TEST

/* An operator makes a manager hand over. The manager lowers its priority just enough that the new
 * master has precedence. If even the lowest priority is too high, the result is -1. */
START_TEST(a_lowered_priority_does_not_beat_the_new_master)
{
    for (uint8_t priority = 0; priority < 16; priority++)
        for (uint8_t of_other = 0; of_other < 16; of_other++)
            for (uint64_t guid = 0x4f; guid <= 0x51; guid += 2) {
                struct fab_sm_info o = other(guid, of_other, FAB_SM_STANDBY);
                int p = fab_smstate_priority_below(priority, OUR_GUID, &o);
                if (of_other == 0 && guid > OUR_GUID) {
                    ck_assert_int_eq(p, -1);
                    continue;
                }
                ck_assert_int_ge(p, 0);
                ck_assert_int_le(p, priority);
                ck_assert(!fab_smstate_beats((uint8_t)p, OUR_GUID, of_other, guid));
                ck_assert(p == priority ||
                          fab_smstate_beats((uint8_t)(p + 1), OUR_GUID, of_other, guid));
            }
    struct fab_smstate s = ours(FAB_SM_MASTER);
    fab_smstate_step_down(&s, 0x60);
    ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(s.master_guid, 0x60);
}
END_TEST

START_TEST(repeated_losses_hold_a_manager_for_a_growing_time)
{
    const uint64_t first = 60000000, hour = FAB_SMSTATE_HOLD_MAX_US;
    struct fab_smstate_holds h = {0};
    uint64_t now = 5;
    fab_smstate_holds_lost(&h, 0x10, now);
    /* losing the role once does not keep a manager from getting it back */
    ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, first, now), 0);
    for (uint64_t hold = first; hold < 3 * hour; hold *= 2) {
        uint64_t due = now + 1 + (hold < hour ? hold : hour);
        now++;
        fab_smstate_holds_lost(&h, 0x10, now);
        ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, first, now), due);
        ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, first, due - 1), due);
        ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, first, due), 0);
        ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, 0, now), 0);
        ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x11, first, now), 0);
    }
    now += 2 * hour;
    fab_smstate_holds_lost(&h, 0x10, now);
    ck_assert_uint_eq(fab_smstate_holds_until(&h, 0x10, first, now), 0);
    for (uint64_t guid = 0x20; guid < 0x20 + 2 * FAB_SMSTATE_HELD; guid++)
        fab_smstate_holds_lost(&h, guid, ++now);
    ck_assert_uint_eq(h.count, FAB_SMSTATE_HELD);
}
END_TEST

/* a poll that finds the master resets the number of failed polls */
START_TEST(a_master_is_polled_for_ever)
{
    struct fab_smstate s = ours(FAB_SM_STANDBY);
    struct fab_sm_info better = other(0x10, 15, FAB_SM_STANDBY), master = better;
    master.state = FAB_SM_MASTER;
    s.master_guid = 0x10;
    for (uint32_t n = 0; n < 5 * s.waits_allowed; n++)
        ck_assert_int_eq(fab_smstate_poll(&s, n % s.polls_allowed == 0 ? &master : &better),
                         FAB_SMSTATE_STAYS);
}
END_TEST

/* The list of managers that were passed over is full. A further manager must replace the oldest
 * one, and nothing may be written behind the list. */
START_TEST(the_list_of_those_passed_over_is_bounded)
{
    struct fab_smstate s = ours(FAB_SM_DISCOVERING);
    for (uint64_t guid = 0x10; guid < 0x10 + FAB_SMSTATE_PASSED + 3; guid++) {
        struct fab_sm_info better = other(guid, 15, FAB_SM_STANDBY);
        fab_smstate_discovered(&s, &better, 1);
        ck_assert_uint_eq(s.master_guid, guid);
        while (fab_smstate_poll(&s, &better) == FAB_SMSTATE_STAYS)
            ck_assert_uint_eq(s.state, FAB_SM_STANDBY);
    }
    ck_assert_uint_eq(s.passed_count, FAB_SMSTATE_PASSED);
    ck_assert_uint_eq(s.passed_over[0], 0x13);
    ck_assert_uint_eq(s.waits_allowed, FAB_SMSTATE_WAITS);
}
END_TEST

/* Tries each control packet (8 attribute modifiers) with each state of the sender and of the
 * receiver. Only the combinations in the list are legal. */
START_TEST(control_packets_do_what_the_standard_says)
{
    static const struct {
        uint8_t control, sender, ours, then;
        bool rediscover;
    } legal[] = {
        {1, 3, 1, 1, true},  {1, 3, 2, 3, true},  {1, 3, 3, 3, true}, {2, 2, 2, 2, false},
        {3, 3, 2, 0, false}, {4, 3, 0, 2, false}, {5, 3, 2, 1, true},
    };
    for (unsigned i = 0; i < 8 * 4 * 4; i++) {
        uint8_t control = (uint8_t)(i / 16), sender = i / 4 % 4, state = i % 4, then = state;
        bool is_legal = false, rediscover = false, wanted = false;
        for (size_t l = 0; l < sizeof legal / sizeof legal[0]; l++)
            if (legal[l].control == control && legal[l].sender == sender &&
                legal[l].ours == state) {
                is_legal = true;
                then = legal[l].then;
                wanted = legal[l].rediscover;
            }
        struct fab_smstate s = ours(state);
        struct fab_sm_info from = other(0x90, 1, sender);
        uint16_t status = fab_smstate_control(&s, control, &from, &rediscover);
        ck_assert_uint_eq(status, is_legal ? 0 : FAB_SMP_BAD_VALUE);
        ck_assert_uint_eq(s.state, then);
        ck_assert_int_eq(rediscover, wanted);
        ck_assert_uint_eq(s.master_guid, is_legal && control == FAB_SM_GO_STANDBY ? 0x90 : 0);
    }
}
END_TEST

static struct fab_sm_info info_of(const struct fab_smstate *s)
{
    return other(s->guid, s->priority, s->state);
}

/* One manager takes its turn: it sees the states of all others, and may change its own state. */
static void take_turn(struct fab_smstate *all, const bool *alive, uint32_t count, uint32_t who)
{
    struct fab_sm_info seen[8];
    uint32_t n = 0;
    struct fab_smstate *s = &all[who];
    const struct fab_sm_info *watched = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (i == who || !alive[i])
            continue;
        seen[n] = info_of(&all[i]);
        if (seen[n].guid == s->master_guid)
            watched = &seen[n];
        n++;
    }
    if (s->state == FAB_SM_STANDBY)
        fab_smstate_poll(s, watched);
    else
        fab_smstate_discovered(s, seen, n);
}

static uint32_t masters(const struct fab_smstate *all, const bool *alive, uint32_t count)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += alive[i] && all[i].state == FAB_SM_MASTER;
    return n;
}

START_TEST(any_managers_settle_on_one_master)
{
    uint64_t first = test_seed("crowd", 1);
    for (uint64_t seed = first; seed < first + 3000; seed++) {
        struct fab_prng prng;
        struct fab_smstate all[8];
        bool alive[8];
        fab_base_prng_init(&prng, seed);
        uint32_t count = 2 + (uint32_t)fab_base_prng_below(&prng, 7);
        for (uint32_t i = 0; i < count; i++) {
            fab_smstate_init(&all[i], 100 + i, (uint8_t)fab_base_prng_below(&prng, 3));
            alive[i] = true;
        }
        for (int step = 0; step < 200; step++)
            take_turn(all, alive, count, (uint32_t)fab_base_prng_below(&prng, count));
        ck_assert_msg(masters(all, alive, count) == 1, "seed %" PRIu64 ": before", seed);
        for (uint32_t i = 0; i < count; i++) /* the present master dies */
            alive[i] = all[i].state != FAB_SM_MASTER;
        for (int step = 0; step < 400; step++) {
            uint32_t who = (uint32_t)fab_base_prng_below(&prng, count);
            if (alive[who])
                take_turn(all, alive, count, who);
        }
        ck_assert_msg(masters(all, alive, count) == 1, "seed %" PRIu64 ": after", seed);
    }
}
END_TEST

START_TEST(states_have_names)
{
    ck_assert_str_eq(fab_smstate_name(FAB_SM_NOT_ACTIVE), "not-active");
    ck_assert_str_eq(fab_smstate_name(FAB_SM_DISCOVERING), "discovering");
    ck_assert_str_eq(fab_smstate_name(FAB_SM_STANDBY), "standby");
    ck_assert_str_eq(fab_smstate_name(FAB_SM_MASTER), "master");
    ck_assert_str_eq(fab_smstate_name(15), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("smstate");
    TCase *tcase = tcase_create("smstate");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, higher_priority_then_lower_guid_wins);
    tcase_add_test(tcase, alone_becomes_master);
    tcase_add_test(tcase, a_master_is_respected_whatever_its_priority);
    tcase_add_test(tcase, a_better_one_that_discovers_goes_first);
    tcase_add_test(tcase, worse_and_sleeping_ones_do_not_count);
    tcase_add_test(tcase, a_master_yields_to_a_better_master_only);
    tcase_add_test(tcase, standby_watches_until_the_polls_are_used_up);
    tcase_add_test(tcase, standby_does_not_wait_for_one_that_gave_up);
    tcase_add_test(tcase, a_master_that_stepped_down_is_not_waited_for);
    tcase_add_test(tcase, a_better_one_that_never_becomes_master_is_passed_over);
    tcase_add_test(tcase, the_successor_is_the_best_manager_in_standby);
    tcase_add_test(tcase, a_lowered_priority_does_not_beat_the_new_master);
    tcase_add_test(tcase, repeated_losses_hold_a_manager_for_a_growing_time);
    tcase_add_test(tcase, a_master_is_polled_for_ever);
    tcase_add_test(tcase, the_list_of_those_passed_over_is_bounded);
    tcase_add_test(tcase, control_packets_do_what_the_standard_says);
    tcase_add_test(tcase, any_managers_settle_on_one_master);
    tcase_add_test(tcase, states_have_names);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
