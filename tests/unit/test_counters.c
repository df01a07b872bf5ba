/* SPDX-License-Identifier: BSD-3-Clause */
/* Error counters: increases of counters of every width, counters at their maximum, cleared
 * counters, and thresholds. */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/health/counters.h"
#include "tests/unit/testing.h"

#define MINUTE UINT64_C(60000000)

static struct fab_counters narrow(uint16_t symbols, uint8_t integrity)
{
    struct fab_port_counters p = {.symbol_errors = symbols,
                                  .local_link_integrity_errors = integrity};
    struct fab_counters c;
    fab_health_counters_from(&p, &c);
    return c;
}

static struct fab_counters wide(uint64_t symbols)
{
    struct fab_port_counters_ext p = {.symbol_errors = symbols};
    struct fab_counters c;
    fab_health_counters_from_ext(&p, &c);
    return c;
}

START_TEST(rises_are_differences)
{
    static const struct {
        uint64_t was, now, rise;
    } cases[] = {
        {0, 0, 0},
        {5, 5, 0},
        {5, 17, 12},
        /* the counter was cleared after it had shown 17, and then rose to 5 */
        {17, 5, 5},
        {UINT64_MAX, 0, 1}, /* a 64-bit counter wrapped from its maximum to 0 */
        {UINT64_MAX - 2, 7, 10},
        {UINT64_C(1) << 61, 3, 3},
        {0, UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fab_counters a = wide(cases[i].was), b = wide(cases[i].now);
        ck_assert_uint_eq(fab_health_counters_increase(&a, &b, FAB_SYMBOL_ERRORS), cases[i].rise);
        ck_assert_uint_eq(fab_health_counters_increased(&a, &b), cases[i].rise > 0);
        ck_assert(!fab_health_counters_full(&b, FAB_SYMBOL_ERRORS));
    }
    struct fab_counters a = narrow(65000, 3), b = narrow(2, 3);
    ck_assert_uint_eq(fab_health_counters_increase(&a, &b, FAB_SYMBOL_ERRORS), 2);
}
END_TEST

START_TEST(narrow_ones_fill_up)
{
    struct fab_counters a = narrow(65534, 14), b = narrow(65535, 15);
    ck_assert(!fab_health_counters_full(&a, FAB_SYMBOL_ERRORS));
    ck_assert_uint_eq(fab_health_counters_full_select(&a), 0);
    ck_assert(fab_health_counters_full(&b, FAB_SYMBOL_ERRORS));
    ck_assert(fab_health_counters_full(&b, FAB_LOCAL_LINK_INTEGRITY_ERRORS));
    ck_assert_uint_eq(fab_health_counters_full_select(&b), 1u << 0 | 1u << 9);
    struct fab_counters w = wide(UINT64_MAX);
    ck_assert_uint_eq(fab_health_counters_full_select(&w), 0);
}
END_TEST

/* Sets all bits of one counter in PortCounters, where the table of libfabmgr/wire places them. All
 * other counters must then be 0. */
START_TEST(each_counter_has_its_own_place)
{
    for (int i = 0; i < FAB_COUNTERS; i++) {
        uint8_t bytes[FAB_GS_DATA] = {0};
        const struct fab_field *f = fab_wire_attr_port_counters.fields;
        for (size_t n = 0; n < fab_wire_attr_port_counters.field_count; n++, f++)
            if (strcmp(f->name, fab_health_counter_kinds[i].name) == 0)
                break;
        ck_assert_msg(f < fab_wire_attr_port_counters.fields +
                              fab_wire_attr_port_counters.field_count,
                      "no %s", fab_health_counter_kinds[i].name);
        ck_assert_uint_eq(fab_health_counter_kinds[i].most, (UINT64_C(1) << f->bits) - 1);
        for (unsigned b = 0; b < f->bits; b++)
            bytes[(f->bit + b) / 8] |= (uint8_t)(0x80 >> (f->bit + b) % 8);
        struct fab_port_counters p;
        struct fab_counters c;
        ck_assert_int_eq(
            fab_wire_attr_unpack(&fab_wire_attr_port_counters, bytes, sizeof(bytes), &p), 0);
        fab_health_counters_from(&p, &c);
        for (int k = 0; k < FAB_COUNTERS; k++)
            ck_assert_uint_eq(c.value[k], k == i ? fab_health_counter_kinds[i].most : 0);
    }
}
END_TEST

static struct fab_counter_rule usual(void)
{
    struct fab_counter_rule rule = {.within_us = MINUTE};
    for (int i = 0; i < FAB_COUNTERS; i++)
        rule.threshold[i] = fab_health_counter_kinds[i].threshold;
    return rule;
}

static void note(struct fab_health_history *h, uint64_t minute, uint64_t was, uint64_t now)
{
    struct fab_counters a = wide(was), b = wide(now);
    /* readings are not exactly a minute apart */
    fab_health_history_add(h, minute * MINUTE + minute % 7,
                           (minute + 1) * MINUTE + (minute + 1) % 7, &a, &b);
}

START_TEST(a_threshold_is_of_a_while)
{
    struct fab_health_history h = {0};
    struct fab_counter_rule rule = usual();
    uint64_t us;
    note(&h, 0, 0, 9);
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, true), FAB_COUNTERS);
    note(&h, 1, 9, 18);
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, true), FAB_COUNTERS);
    ck_assert_uint_eq(fab_health_recent_increase(&h, &rule, FAB_SYMBOL_ERRORS, &us), 9);
    ck_assert_uint_eq(us, MINUTE + 1);
    note(&h, 2, 18, 28);
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, true), FAB_SYMBOL_ERRORS);
    rule.within_us = 3 * MINUTE;
    ck_assert_uint_eq(fab_health_recent_increase(&h, &rule, FAB_SYMBOL_ERRORS, NULL), 28);
    /* the period is shorter than the time between readings, but the newest sample always counts */
    rule.within_us = 1;
    ck_assert_uint_eq(fab_health_recent_increase(&h, &rule, FAB_SYMBOL_ERRORS, NULL), 10);
    rule.threshold[FAB_SYMBOL_ERRORS] = 0;
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, false), FAB_COUNTERS);
}
END_TEST

START_TEST(congestion_is_no_fault_of_a_cable)
{
    struct fab_health_history h = {0};
    struct fab_counter_rule rule = usual();
    struct fab_counters a = {.wide = true}, b = a;
    b.value[FAB_XMIT_DISCARDS] = 100000;
    b.value[FAB_RCV_ERRORS] = 20;
    fab_health_history_add(&h, 0, MINUTE, &a, &b);
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, false), FAB_XMIT_DISCARDS);
    ck_assert_int_eq(fab_health_worst_counter(&h, &rule, true), FAB_RCV_ERRORS);
}
END_TEST

START_TEST(random_histories_against_a_naive_account)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("counters", 11));
    for (int round = 0; round < 200; round++) {
        struct fab_health_history h = {0};
        struct fab_counter_rule rule = usual();
        uint64_t rises[64], value = 0, keep = 1 + fab_base_prng_below(&prng, 5), total = 0;
        rule.within_us = keep * MINUTE;
        for (uint64_t n = 0; n < 64; n++) {
            rises[n] = fab_base_prng_below(&prng, 12);
            note(&h, n, value, value + rises[n]);
            value += rises[n];
            total += rises[n];
            uint64_t sum = 0;
            for (uint64_t k = n + 1 > keep ? n + 1 - keep : 0; k <= n; k++)
                sum += rises[k];
            ck_assert_uint_eq(fab_health_recent_increase(&h, &rule, FAB_SYMBOL_ERRORS, NULL), sum);
            ck_assert_int_eq(fab_health_worst_counter(&h, &rule, true),
                             sum >= 10 ? FAB_SYMBOL_ERRORS : FAB_COUNTERS);
        }
        ck_assert_uint_eq(h.sum[FAB_SYMBOL_ERRORS], total);
        ck_assert_uint_eq(fab_health_sample_count(&h), FAB_COUNTERS_KEPT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("counters");
    TCase *tcase = tcase_create("counters");
    tcase_add_test(tcase, rises_are_differences);
    tcase_add_test(tcase, narrow_ones_fill_up);
    tcase_add_test(tcase, each_counter_has_its_own_place);
    tcase_add_test(tcase, a_threshold_is_of_a_while);
    tcase_add_test(tcase, congestion_is_no_fault_of_a_cable);
    tcase_add_test(tcase, random_histories_against_a_naive_account);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
