/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion control from the fabric: ranges, order, steadiness, over random fabrics. */
#include "libfabmgr/congestion/congestion.h"

#include "libfabmgr/base/prng.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

static struct fab_policy defaults(void)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    return p;
}

static struct fab_congestion computed(const struct fab_fabric *f, const struct fab_policy *p)
{
    struct fab_congestion_input in = {.fabric = f, .policy = p};
    struct fab_congestion c;
    ck_assert_int_eq(fab_congestion_compute(&in, &c), 0);
    return c;
}

/* ---- entries of the table ----------------------------------------------------------------------
 */

START_TEST(an_entry_is_never_shorter_than_asked)
{
    uint32_t last = 0;
    for (uint64_t e = 0; e < 140000; e++) {
        uint32_t delay = fab_congestion_delay(fab_congestion_entry(e));
        ck_assert(delay >= e || delay == 0x3fffu << 3);
        ck_assert(delay <= e + e / 4096 + 1);
        ck_assert_uint_ge(delay, last);
        last = delay;
    }
    ck_assert_uint_eq(fab_congestion_entry(UINT64_MAX / 2), 0x3fff);
}
END_TEST

/* ---- every setting ----------------------------------------------------------------------------
 */

static void check_adapter(const struct fab_congestion_adapter *a,
                          const struct fab_congestion_basis *b)
{
    ck_assert_uint_eq(a->sls, 0xffff);
    ck_assert_uint_ge(a->table.limit, 1);
    ck_assert_uint_lt(a->table.limit, b->entries);
    ck_assert_uint_eq(a->table.entry[0], fab_congestion_entry(0));
    for (uint32_t i = 1; i <= a->table.limit; i++)
        ck_assert_uint_ge(fab_congestion_delay(a->table.entry[i]),
                          fab_congestion_delay(a->table.entry[i - 1]));
    double slow = 1 + fab_congestion_delay(a->table.entry[a->table.limit]) / 8.0;
    bool longest = a->table.entry[a->table.limit] == 0x3fff;
    ck_assert_msg(longest || slow * b->slowest * 1.001 >= (double)b->rate * b->fan_in,
                  "%u senders of %u Mb/s to an end of %u (%u ends): only %.2f times slower",
                  b->fan_in, b->rate, b->slowest, b->ends, slow);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        ck_assert_uint_ge(a->sl[sl].timer, 1);
        ck_assert_uint_ge(a->sl[sl].increase, 1);
        ck_assert_uint_le(a->sl[sl].min, a->table.limit);
        ck_assert_uint_le(a->sl[sl].increase, a->table.limit);
    }
}

static void check_port(const struct fab_congestion_port *p, const struct fab_congestion_basis *b)
{
    ck_assert_uint_ge(p->threshold, 1);
    ck_assert_uint_le(p->threshold, 15);
    ck_assert(p->victim == b->edge);
}

static void check_all(const struct fab_fabric *f, const struct fab_congestion *c)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_congestion_port *s = fab_congestion_of_switch(c, f, p);
        const struct fab_congestion_adapter *a = fab_congestion_of_adapter(c, f, p);
        bool has =
            f->ports[p].num > 0 && fab_port_is_up(f, p) && !f->nodes[f->ports[p].node].aggregation;
        ck_assert(has == (s != NULL || a != NULL));
        ck_assert(!(s != NULL && a != NULL));
    }
    for (uint32_t i = 0; i < c->port_count; i++)
        check_port(&c->port[i], &c->port_basis[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        check_adapter(&c->adapter[i], &c->adapter_basis[i]);
}

START_TEST(all_is_in_range)
{
    uint64_t seed = test_seed("random fabrics", 7);
    struct fab_prng r;
    fab_prng_init(&r, seed);
    for (int i = 0; i < 200; i++) {
        struct fab_fabric *f =
            random_fabric(2 + (uint32_t)fab_prng_below(&r, 30), 2 + (uint32_t)fab_prng_below(&r, 6),
                          (uint32_t)fab_prng_below(&r, 20), fab_prng_next(&r));
        struct fab_policy p = defaults();
        p.congestion.profile = (uint8_t)(1 + fab_prng_below(&r, FAB_CONGESTION_PROFILES - 1));
        p.congestion.fan_in =
            fab_prng_chance(&r, 0.5) ? (uint32_t)fab_prng_next(&r) >> fab_prng_below(&r, 32) : 0;
        struct fab_congestion c = computed(f, &p);
        check_all(f, &c);
        fab_congestion_fini(&c);
        fab_fabric_unref(f);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("congestion");
    TCase *t = tcase_create("values");
    suite_add_tcase(s, t);
    tcase_add_test(t, an_entry_is_never_shorter_than_asked);
    tcase_add_test(t, all_is_in_range);
    return s;
}

int main(void)
{
    return test_run(suite());
}
