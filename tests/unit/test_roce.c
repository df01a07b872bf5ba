/* SPDX-License-Identifier: BSD-3-Clause */
/* RoCE settings: the order of the thresholds, how headroom grows, Ethernet speeds, and a comparison
 * with the headroom of another implementation. */
#include "libfabmgr/congestion/roce.h"

#include "libfabmgr/base/prng.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

/* A small fabric with its congestion control settings, from which RoCE settings are derived. Tests
 * may change these settings. */
struct made {
    struct fab_fabric *fabric;
    struct fab_policy policy;
    struct fab_congestion c;
};

static struct made make(struct fab_fabric *f)
{
    struct made m = {.fabric = f};
    fab_policy_defaults(&m.policy);
    struct fab_congestion_input in = {.fabric = f, .policy = &m.policy};
    ck_assert_int_eq(fab_congestion_compute(&in, &m.c), 0);
    return m;
}

static void unmake(struct made *m)
{
    fab_congestion_fini(&m->c);
    fab_fabric_unref(m->fabric);
}

static size_t roce(const struct made *m, struct fab_congestion_roce **ret)
{
    size_t count;
    ck_assert_int_eq(fab_congestion_roce_compute(&m->c, m->fabric, &m->policy, ret, &count), 0);
    return count;
}

/* Returns the RoCE settings of switch ports with endports, for links of this rate and MTU, and
 * cables of this length. */
static struct fab_congestion_roce at(struct made *m, uint32_t rate, uint16_t mtu, uint32_t cable_m)
{
    struct fab_congestion_roce *all, r;
    m->policy.congestion.cable_m = cable_m;
    for (uint32_t i = 0; i < m->c.port_count; i++) {
        struct fab_congestion_basis *b = &m->c.port_basis[i];
        b->rate = b->slowest = rate;
        b->mtu = mtu;
    }
    ck_assert_uint_ge(roce(m, &all), 1);
    r = all[0];
    ck_assert(r.edge);
    free(all);
    return r;
}

static void check(const struct fab_congestion_roce *r)
{
    ck_assert_uint_ge(r->kmin, 2 * r->frame);
    ck_assert_uint_lt(r->kmin, r->kmax);
    ck_assert_msg(r->kmax < r->pause, "PFC acts before ECN: %u, %u", r->kmax, r->pause);
    ck_assert_uint_ge(UINT32_MAX - r->headroom, r->pause);
    ck_assert(r->pmax >= 1 && r->pmax <= 20);
    ck_assert_uint_gt(r->headroom, 9216 + r->frame);
    ck_assert(r->edge == (r->ai_mbps > 0));
    ck_assert_uint_le(r->ai_mbps, r->slowest / 1000);
    ck_assert(r->ai_mbps == 1 || r->ai_mbps * r->fan_in <= r->slowest / 20);
    ck_assert_uint_eq(r->hai_mbps, 10 * r->ai_mbps);
}

static void check_reasons(const struct fab_congestion_roce *r)
{
    struct fab_congestion_reason why[FAB_CONGESTION_ROCE_VALUES];
    unsigned count = fab_congestion_roce_explain(r, why);
    ck_assert_uint_eq(count, r->edge ? FAB_CONGESTION_ROCE_VALUES : 5);
    for (unsigned i = 0; i < count; i++) {
        size_t len = strlen(why[i].why);
        ck_assert_msg(len > 20 && len + 1 < sizeof why[i].why, "%s: %s", why[i].name, why[i].why);
    }
    ck_assert_str_eq(why[0].name, "kmin_bytes");
    ck_assert_uint_eq(why[0].value, r->kmin);
    ck_assert_str_eq(why[4].name, "headroom_bytes");
    ck_assert_uint_eq(why[4].value, r->headroom);
}

START_TEST(thresholds_are_in_order)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("RoCE", 14));
    for (int i = 0; i < 50; i++) {
        struct made m = make(random_fabric(
            2 + (uint32_t)fab_base_prng_below(&r, 30), 2 + (uint32_t)fab_base_prng_below(&r, 6),
            1 + (uint32_t)fab_base_prng_below(&r, 12), fab_base_prng_next(&r)));
        struct fab_congestion_roce *all;
        size_t count = roce(&m, &all);
        uint32_t ports = 0, switch_ports = 0;
        for (size_t k = 0; k < count; k++) {
            check(&all[k]);
            check_reasons(&all[k]);
            ports += all[k].ports;
            ck_assert(k == 0 || all[k].speed > all[k - 1].speed ||
                      (all[k].speed == all[k - 1].speed && all[k - 1].edge && !all[k].edge));
        }
        for (uint32_t q = 0; q < m.fabric->port_count; q++)
            switch_ports += fab_congestion_of_switch(&m.c, m.fabric, q) != NULL;
        ck_assert_uint_eq(ports, switch_ports);
        free(all);
        unmake(&m);
    }
}
END_TEST

/* Whatever the delays, fan-ins, rates, MTUs and cable lengths are, the thresholds must be in
 * ascending order. */
START_TEST(extremes_keep_the_order)
{
    struct made m = make(random_fabric(4, 2, 6, 1));
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("extremes", 15));
    for (int i = 0; i < 2000; i++) {
        uint32_t rtt = (uint32_t)fab_base_prng_next(&r) >> fab_base_prng_below(&r, 32);
        uint32_t fan_in = (uint32_t)fab_base_prng_next(&r) >> fab_base_prng_below(&r, 32);
        for (uint32_t k = 0; k < m.c.port_count; k++) {
            m.c.port_basis[k].rtt_ns = rtt;
            m.c.port_basis[k].fan_in = fan_in;
        }
        uint32_t rate = (uint32_t)fab_base_prng_below(&r, 2400001);
        uint16_t mtu = (uint16_t)(256u << fab_base_prng_below(&r, 5));
        struct fab_congestion_roce one =
            at(&m, rate, mtu, (uint32_t)fab_base_prng_below(&r, 100001));
        check(&one);
        check_reasons(&one);
    }
    unmake(&m);
}
END_TEST

START_TEST(headroom_rises)
{
    static const uint32_t speeds[] = {10000, 25000, 40000, 50000, 100000, 200000, 400000, 800000};
    struct made m = make(random_fabric(4, 2, 6, 1));
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        for (uint16_t mtu = 256; mtu <= 4096; mtu = (uint16_t)(mtu * 2))
            for (uint32_t metres = 1; metres <= 1000; metres *= 10) {
                uint32_t here = at(&m, speeds[i], mtu, metres).headroom;
                ck_assert_uint_eq(at(&m, speeds[i], mtu, metres).speed, speeds[i]);
                ck_assert_uint_eq(at(&m, speeds[i], (uint16_t)(mtu * 2), metres).headroom,
                                  here + mtu);
                ck_assert_uint_gt(at(&m, speeds[i], mtu, metres + 100).headroom, here);
                if (i > 0)
                    ck_assert_uint_gt(here, at(&m, speeds[i - 1], mtu, metres).headroom);
            }
    unmake(&m);
}
END_TEST

/* For links with 1, 2, 4 and 12 lanes, checks the nearest Ethernet speed in Mb/s. */
START_TEST(a_rate_is_the_nearest_speed)
{
    static const struct {
        uint32_t rate, speed;
    } expected[] = {{0, 10000},       {2500, 10000},    {10000, 10000},   {14000, 10000},
                    {20000, 25000},   {25000, 25000},   {30000, 25000},   {40000, 40000},
                    {50000, 50000},   {56000, 50000},   {100000, 100000}, {120000, 100000},
                    {168000, 200000}, {200000, 200000}, {300000, 400000}, {400000, 400000},
                    {800000, 800000}, {2400000, 800000}};
    struct made m = make(random_fabric(4, 2, 6, 1));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        ck_assert_msg(at(&m, expected[i].rate, 4096, 10).speed == expected[i].speed, "%u Mb/s",
                      expected[i].rate);
    unmake(&m);
}
END_TEST

/* Linux's ConnectX driver (mlx5 en/port_buffer.c) computes headroom as (301 + 2.16 * metres) * Gb/s
 * + 2.72 * MTU, from 40 Gb/s on. The manager's headroom must be similar, within a factor of two. */
START_TEST(another_comes_to_much_the_same)
{
    static const uint32_t speeds[] = {40000, 50000, 100000, 200000, 400000};
    struct made m = make(random_fabric(4, 2, 6, 1));
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        for (uint32_t metres = 3; metres <= 300; metres *= 10) {
            double linux_has = (301 + 2.16 * metres) * speeds[i] / 1000 + 2.72 * 9216;
            double ratio = at(&m, speeds[i], 4096, metres).headroom / linux_has;
            ck_assert_msg(ratio > 0.5 && ratio < 2, "%u Mb/s, %u m: %.2f", speeds[i], metres,
                          ratio);
        }
    unmake(&m);
}
END_TEST

START_TEST(off_is_none)
{
    struct made m = make(random_fabric(4, 2, 6, 1));
    struct fab_congestion_roce *all;
    m.policy.congestion.profile = FAB_CONGESTION_OFF;
    ck_assert_uint_eq(roce(&m, &all), 0);
    free(all);
    unmake(&m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("roce");
    TCase *t = tcase_create("values");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, thresholds_are_in_order);
    tcase_add_test(t, extremes_keep_the_order);
    tcase_add_test(t, headroom_rises);
    tcase_add_test(t, a_rate_is_the_nearest_speed);
    tcase_add_test(t, another_comes_to_much_the_same);
    tcase_add_test(t, off_is_none);
    return s;
}

int main(void)
{
    return test_run(suite());
}
