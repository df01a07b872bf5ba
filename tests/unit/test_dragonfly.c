/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines "dragonfly" and "dragonfly+": whole and damaged, every way proven lane by lane. */
#include "tests/unit/proving.h"

static struct fab_fabric *dragonfly(uint32_t groups, uint32_t size, uint32_t global, uint32_t hosts,
                                    uint32_t parallel)
{
    struct fab_dragonfly_spec spec = {groups, size, global, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_dragonfly(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *plus(uint32_t groups, uint32_t leaves, uint32_t spines, uint32_t global,
                               uint32_t hosts, uint32_t parallel)
{
    struct fab_dragonfly_plus_spec spec = {groups, leaves, spines, global, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_dragonfly_plus(&spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(whole_and_damaged_dragonflies)
{
    static const uint32_t spec[][5] = {{0, 4, 2, 2, 1}, {5, 4, 1, 4, 1}, {3, 4, 2, 2, 1},
                                       {9, 4, 2, 2, 2}, {4, 6, 2, 2, 1}, {2, 5, 1, 2, 1},
                                       {0, 6, 1, 2, 1}, {7, 8, 4, 2, 1}};
    for (unsigned i = 0; i < sizeof(spec) / sizeof(spec[0]); i++) {
        char what[60];
        snprintf(what, sizeof(what), "dragonfly g%u a%u h%u p%u x%u", spec[i][0], spec[i][1],
                 spec[i][2], spec[i][3], spec[i][4]);
        survives("dragonfly", dragonfly(spec[i][0], spec[i][1], spec[i][2], spec[i][3], spec[i][4]),
                 what);
    }
}
END_TEST

START_TEST(whole_and_damaged_dragonflies_plus)
{
    static const uint32_t spec[][6] = {{5, 4, 4, 2, 4, 1}, {2, 2, 2, 1, 2, 1}, {3, 4, 4, 4, 4, 1},
                                       {9, 4, 4, 2, 2, 1}, {0, 4, 4, 1, 2, 1}, {4, 6, 3, 2, 3, 2},
                                       {5, 8, 8, 4, 8, 1}};
    for (unsigned i = 0; i < sizeof(spec) / sizeof(spec[0]); i++) {
        char what[60];
        snprintf(what, sizeof(what), "dragonfly+ g%u l%u s%u h%u p%u x%u", spec[i][0], spec[i][1],
                 spec[i][2], spec[i][3], spec[i][4], spec[i][5]);
        survives("dragonfly+",
                 plus(spec[i][0], spec[i][1], spec[i][2], spec[i][3], spec[i][4], spec[i][5]),
                 what);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("dragonfly");
    TCase *c = tcase_create("dragonfly");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, whole_and_damaged_dragonflies);
    tcase_add_test(c, whole_and_damaged_dragonflies_plus);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
