/* SPDX-License-Identifier: BSD-3-Clause */
/* Flap damping: thresholds, doubling, reset, and invariants under random flaps. */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/health/damping.h"
#include "tests/unit/testing.h"

static const struct fab_damping_rule rule = {
    .flaps = 3, .within_us = 60, .hold_down_us = 10, .max_hold_down_us = 70};

/* The link goes down at the time `at`, and up again after `later` microseconds. Returns whether
 * damping now holds the link down. */
static bool bounce(struct fab_damping *d, uint64_t at, uint64_t later)
{
    bool held = fab_health_damping_down(d, &rule, at);
    fab_health_damping_up(d, at + later);
    return held;
}

START_TEST(too_many_flaps_hold_the_link_down)
{
    struct fab_damping d = {0};
    ck_assert(!bounce(&d, 100, 1));
    ck_assert(!bounce(&d, 110, 1));
    ck_assert_uint_eq(fab_health_damping_due(&d), 0);
    ck_assert(bounce(&d, 160, 5));
    ck_assert(d.held);
    ck_assert_uint_eq(fab_health_damping_due(&d), 175);
}
END_TEST

START_TEST(rare_flaps_do_not)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 10000; t += 31)
        ck_assert_msg(!bounce(&d, t, 1), "at %llu", (unsigned long long)t);
    ck_assert_uint_eq(d.flaps, 320);
    ck_assert_uint_eq(fab_health_damping_flap_count(&d), FAB_DAMPING_FLAPS);
    ck_assert_uint_eq(fab_health_damping_flap_time(&d, 0) - fab_health_damping_flap_time(&d, 15),
                      15 * 31);
}
END_TEST

START_TEST(a_flap_while_held_down_restarts_the_time)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 103; t++)
        (void)bounce(&d, t, 0);
    ck_assert_uint_eq(fab_health_damping_due(&d), 112);
    ck_assert(!fab_health_damping_down(&d, &rule, 111));
    /* the hold-down ends a certain time after the link comes up, which has not happened yet */
    ck_assert_uint_eq(fab_health_damping_due(&d), 0);
    fab_health_damping_up(&d, 120);
    /* the second report does not restart the time, so the hold-down ends at 120 + 10 */
    fab_health_damping_up(&d, 125);
    ck_assert_uint_eq(fab_health_damping_due(&d), 130);
    ck_assert_uint_eq(d.hold_down_us, 10);
}
END_TEST

START_TEST(hold_downs_double_up_to_the_maximum)
{
    static const uint64_t holds[] = {10, 20, 40, 70, 70};
    struct fab_damping d = {0};
    uint64_t t = 100;
    (void)bounce(&d, t, 0);
    (void)bounce(&d, t, 0);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(bounce(&d, t, 1));
        ck_assert_uint_eq(d.hold_down_us, holds[i]);
        fab_health_damping_release(&d, fab_health_damping_due(&d));
        ck_assert(!d.held);
        /* one microsecond later, damping would forget the earlier hold-downs */
        t = d.released_us + rule.max_hold_down_us - 1;
        ck_assert(!fab_health_damping_is_clear(&d, &rule, t));
    }
}
END_TEST

START_TEST(a_link_that_stays_up_counts_as_new)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 103; t++)
        (void)bounce(&d, t, 0);
    fab_health_damping_release(&d, 112);
    ck_assert(fab_health_damping_is_clear(&d, &rule, 112 + 70));
    ck_assert(!bounce(&d, 112 + 70, 1));
    ck_assert(!d.held);
}
END_TEST

START_TEST(flaps_before_a_reset_do_not_count)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 103; t++)
        (void)bounce(&d, t, 0);
    fab_health_damping_reset(&d);
    ck_assert(!d.held);
    ck_assert(fab_health_damping_is_clear(&d, &rule, 104));
    ck_assert(!bounce(&d, 105, 0));
    ck_assert(!bounce(&d, 106, 0));
    ck_assert(bounce(&d, 107, 0));
    ck_assert_uint_eq(d.hold_down_us, 10);
    ck_assert_uint_eq(d.flaps, 6); /* the total number of flaps, which a reset does not change */
}
END_TEST

/* The first hold-down after a reset has the shortest length, even if the reset ended a longer
 * hold-down. */
START_TEST(hold_downs_before_a_reset_do_not_count)
{
    struct fab_damping d = {0};
    for (uint64_t t = 1; t < 4; t++)
        (void)bounce(&d, t, 0);
    ck_assert(d.held);
    fab_health_damping_release(&d, 13);
    /* One flap soon after a hold-down begins the next hold-down, which lasts twice as long. */
    ck_assert(bounce(&d, 14, 0));
    ck_assert_uint_eq(d.hold_down_us, 20);
    fab_health_damping_reset(&d);
    ck_assert_uint_eq(fab_health_damping_due(&d), 0);
    ck_assert_uint_eq(d.hold_down_us, 0);
    ck_assert_uint_eq(d.released_us, 0);
    ck_assert(fab_health_damping_is_clear(&d, &rule, 15));
    ck_assert(!bounce(&d, 15, 0));
    ck_assert(!bounce(&d, 16, 0));
    ck_assert(bounce(&d, 17, 0));
    ck_assert_uint_eq(d.hold_down_us, 10);
}
END_TEST

/* Random flaps. A link must not be held down after fewer flaps than the rule says. The length of
 * each hold-down must be within the limits. A hold-down must end hold_down_us after the link came
 * up. */
START_TEST(random_flaps_keep_the_invariants)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("damping", 20));
    for (unsigned round = 0; round < 200; round++) {
        struct fab_damping d = {0};
        uint64_t now = 1, step = 1 + fab_base_prng_below(&prng, 60);
        for (unsigned i = 0; i < 200; i++, now += 1 + fab_base_prng_below(&prng, step)) {
            uint64_t before = d.flaps, due = fab_health_damping_due(&d);
            bool was = d.held, held = false;
            if (due != 0 && now >= due)
                fab_health_damping_release(&d, now);
            else if (fab_base_prng_below(&prng, 2) == 0)
                held = fab_health_damping_down(&d, &rule, now);
            else
                fab_health_damping_up(&d, now);
            ck_assert(!held || (!was && d.held && d.flaps == before + 1));
            ck_assert(!d.held || d.flaps >= rule.flaps);
            ck_assert(!d.held || (d.hold_down_us >= rule.hold_down_us &&
                                  d.hold_down_us <= rule.max_hold_down_us));
            if (held && d.released_us == 0)
                ck_assert_uint_le(now - fab_health_damping_flap_time(&d, rule.flaps - 1),
                                  rule.within_us);
            if (fab_health_damping_due(&d) != 0)
                ck_assert_uint_eq(fab_health_damping_due(&d), d.up_us + d.hold_down_us);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("damping");
    TCase *tcase = tcase_create("damping");
    tcase_add_test(tcase, too_many_flaps_hold_the_link_down);
    tcase_add_test(tcase, rare_flaps_do_not);
    tcase_add_test(tcase, a_flap_while_held_down_restarts_the_time);
    tcase_add_test(tcase, hold_downs_double_up_to_the_maximum);
    tcase_add_test(tcase, a_link_that_stays_up_counts_as_new);
    tcase_add_test(tcase, flaps_before_a_reset_do_not_count);
    tcase_add_test(tcase, hold_downs_before_a_reset_do_not_count);
    tcase_add_test(tcase, random_flaps_keep_the_invariants);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
