/* SPDX-License-Identifier: BSD-3-Clause */
/* Damping: thresholds, doubling, forgiveness, against a naive account of random falls. */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/health/damping.h"
#include "tests/unit/testing.h"

static const struct fab_damping_rule rule = {
    .falls = 3, .within_us = 60, .hold_us = 10, .most_us = 70};

/* A fall that is up again `later`. */
static bool bounce(struct fab_damping *d, uint64_t at, uint64_t later)
{
    bool held = fab_health_damping_down(d, &rule, at);
    fab_health_damping_up(d, at + later);
    return held;
}

START_TEST(too_many_falls_within_the_while_hold)
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

START_TEST(seldom_falls_do_not)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 10000; t += 31)
        ck_assert_msg(!bounce(&d, t, 1), "at %llu", (unsigned long long)t);
    ck_assert_uint_eq(d.falls, 320);
    ck_assert_uint_eq(fab_health_damping_flap_count(&d), FAB_DAMPING_FLAPS);
    ck_assert_uint_eq(fab_health_damping_flap_time(&d, 0) - fab_health_damping_flap_time(&d, 15),
                      15 * 31);
}
END_TEST

START_TEST(a_fall_while_held_starts_the_wait_again)
{
    struct fab_damping d = {0};
    for (uint64_t t = 100; t < 103; t++)
        (void)bounce(&d, t, 0);
    ck_assert_uint_eq(fab_health_damping_due(&d), 112);
    ck_assert(!fab_health_damping_down(&d, &rule, 111));
    ck_assert_uint_eq(fab_health_damping_due(&d), 0); /* it is down: nobody knows */
    fab_health_damping_up(&d, 120);
    fab_health_damping_up(&d, 125); /* known */
    ck_assert_uint_eq(fab_health_damping_due(&d), 130);
    ck_assert_uint_eq(d.hold_us, 10);
}
END_TEST

START_TEST(holds_double_up_to_the_most)
{
    static const uint64_t holds[] = {10, 20, 40, 70, 70};
    struct fab_damping d = {0};
    uint64_t t = 100;
    (void)bounce(&d, t, 0);
    (void)bounce(&d, t, 0);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(bounce(&d, t, 1));
        ck_assert_uint_eq(d.hold_us, holds[i]);
        fab_health_damping_release(&d, fab_health_damping_due(&d));
        ck_assert(!d.held);
        t = d.free_us + rule.most_us - 1; /* just before it is forgiven */
        ck_assert(!fab_health_damping_is_clear(&d, &rule, t));
    }
}
END_TEST

START_TEST(who_stays_up_begins_anew)
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

START_TEST(forgiven_falls_count_no_more)
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
    ck_assert_uint_eq(d.hold_us, 10);
    ck_assert_uint_eq(d.falls, 6); /* not forgotten */
}
END_TEST

/* Whatever happens: never held with fewer falls than the rule says, never free while too many are
 * recent and none was forgiven, holds within their bounds and a due time after it rose. */
START_TEST(random_falls_keep_to_the_rule)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("damping", 20));
    for (unsigned round = 0; round < 200; round++) {
        struct fab_damping d = {0};
        uint64_t now = 1, step = 1 + fab_base_prng_below(&prng, 60);
        for (unsigned i = 0; i < 200; i++, now += 1 + fab_base_prng_below(&prng, step)) {
            uint64_t before = d.falls, due = fab_health_damping_due(&d);
            bool was = d.held, held = false;
            if (due != 0 && now >= due)
                fab_health_damping_release(&d, now);
            else if (fab_base_prng_below(&prng, 2) == 0)
                held = fab_health_damping_down(&d, &rule, now);
            else
                fab_health_damping_up(&d, now);
            ck_assert(!held || (!was && d.held && d.falls == before + 1));
            ck_assert(!d.held || d.falls >= rule.falls);
            ck_assert(!d.held || (d.hold_us >= rule.hold_us && d.hold_us <= rule.most_us));
            if (held && d.free_us == 0)
                ck_assert_uint_le(now - fab_health_damping_flap_time(&d, rule.falls - 1),
                                  rule.within_us);
            if (fab_health_damping_due(&d) != 0)
                ck_assert_uint_eq(fab_health_damping_due(&d), d.up_us + d.hold_us);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("damping");
    TCase *tcase = tcase_create("damping");
    tcase_add_test(tcase, too_many_falls_within_the_while_hold);
    tcase_add_test(tcase, seldom_falls_do_not);
    tcase_add_test(tcase, a_fall_while_held_starts_the_wait_again);
    tcase_add_test(tcase, holds_double_up_to_the_most);
    tcase_add_test(tcase, who_stays_up_begins_anew);
    tcase_add_test(tcase, forgiven_falls_count_no_more);
    tcase_add_test(tcase, random_falls_keep_to_the_rule);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
