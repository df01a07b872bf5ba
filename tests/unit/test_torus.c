/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "dor" and "torus" on whole and damaged grids: every way proven lane by lane, as short
 * as cables allow where nothing is missing, SLs that no fault changes, the same bytes whatever the
 * order of discovery, and a reason where the topology is another one.
 */
#include "tests/unit/proving.h"

static struct fab_fabric *torus(uint32_t x, uint32_t y, uint32_t z, uint32_t hosts,
                                uint32_t parallel, bool mesh)
{
    struct fab_torus_spec spec = {.dimensions = z > 0 ? 3 : 2,
                                  .size = {x, y, z},
                                  .hosts = hosts,
                                  .parallel = parallel,
                                  .mesh = mesh};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(whole_tori_are_proven)
{
    static const uint32_t sizes[][3] = {{3, 3, 0}, {3, 4, 0}, {4, 4, 0}, {5, 5, 0}, {4, 6, 0},
                                        {3, 3, 3}, {4, 4, 4}, {5, 4, 3}, {5, 5, 5}, {6, 5, 2},
                                        {7, 1, 1}, {8, 8, 0}, {6, 6, 4}, {8, 8, 8}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "torus %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        whole("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1, false), NULL, what);
        whole("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 2, 2, true), NULL, what);
        whole("dor", torus(sizes[i][0], sizes[i][1], sizes[i][2], 2, 2, true), NULL, what);
    }
}
END_TEST

START_TEST(single_faults_of_tori)
{
    static const uint32_t sizes[][3] = {{3, 3, 0}, {3, 4, 0}, {4, 4, 0}, {5, 5, 0},
                                        {4, 6, 0}, {8, 8, 0}, {5, 6, 0}, {3, 3, 3},
                                        {4, 4, 4}, {5, 4, 3}, {5, 5, 5}, {6, 5, 2}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "torus %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        survives("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1, false), what);
    }
}
END_TEST

static struct fab_fabric *hyperx(uint32_t x, uint32_t y, uint32_t z, uint32_t hosts,
                                 uint32_t parallel)
{
    struct fab_hyperx_spec spec = {.dimensions = z > 0   ? 3
                                                 : y > 0 ? 2
                                                         : 1,
                                   .size = {x, y, z},
                                   .hosts = hosts,
                                   .parallel = parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_hyperx(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *hypercube(uint32_t dimensions, uint32_t hosts, uint32_t parallel)
{
    struct fab_hypercube_spec spec = {dimensions, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_hypercube(&spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(single_faults_of_others)
{
    for (uint32_t d = 2; d <= 6; d++) {
        char what[40];
        snprintf(what, sizeof(what), "hypercube %u", d);
        survives("dor", hypercube(d, 1, 1), what);
    }
    static const uint32_t sizes[][3] = {{4, 0, 0}, {8, 0, 0}, {3, 5, 0}, {4, 4, 0},
                                        {4, 6, 0}, {6, 8, 0}, {3, 3, 4}, {4, 5, 3}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "HyperX %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        survives("dor", hyperx(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1), what);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("torus");
    TCase *c = tcase_create("torus");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, whole_tori_are_proven);
    tcase_add_test(c, single_faults_of_tori);
    tcase_add_test(c, single_faults_of_others);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
