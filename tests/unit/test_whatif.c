/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What-if studies: the predicted fabric must equal the fabric after the same links have really
 * failed.
 */
#include "libfabmgr/study/whatif.h"

#include "tests/unit/routing.h"

static struct fab_whatif made(const struct fab_fabric *f, const struct fab_target *t,
                              const uint32_t *ports, uint32_t count)
{
    struct fab_whatif w;
    struct fab_whatif_input in = {f, &t->lids, &t->lft, ports, count};
    ck_assert_int_eq(fab_study_whatif_make(&in, &w), FAB_OK);
    return w;
}

/* Each leaf has hosts at ports 1 to 4, and spines at ports 5 and 6. */
START_TEST(cables_and_switches)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *plain = leaf_spine(3, 2, 4), *f;
    ck_assert_int_eq(fab_fabric_clone(plain, &f), FAB_OK);
    f->self_port = fab_fabric_port_id(f, f->node_count - 1, 1);
    struct fab_target *t = routed(f, &p);
    struct fab_whatif w = made(f, t, (uint32_t[]){fab_fabric_port_id(f, 0, 5)}, 1);
    struct fab_whatif_change change;
    ck_assert_uint_eq(w.cables, 1);
    ck_assert_uint_eq(w.lost_switches + w.lost_count, 0);
    ck_assert_uint_eq(w.fabric->link_count, f->link_count - 1);
    fab_study_whatif_compare(&t->lft, &w.kept, &change);
    ck_assert_uint_eq(change.entries + change.blocks + change.switches, 0);
    ck_assert_uint_eq(change.all_blocks, 5);
    fab_study_whatif_fini(&w);

    /* the first two ports belong to the same link, which counts once */
    const uint32_t both[] = {fab_fabric_port_id(f, 0, 5),
                             fab_fabric_port(f, fab_fabric_port_id(f, 0, 5))->peer,
                             fab_fabric_port_id(f, 0, 6), fab_fabric_port_id(f, 1, 1)};
    w = made(f, t, both, 4);
    ck_assert_uint_eq(w.cables, 3);
    ck_assert_uint_eq(w.lost_switches, 1);
    ck_assert_uint_eq(w.lost_count, 5);
    ck_assert_uint_eq(w.fabric->switch_count, 4);
    for (uint32_t i = 0; i < w.lost_count; i++)
        ck_assert_uint_eq(w.port_now[w.lost[i]], FAB_NONE);
    for (uint32_t port = 0; port < f->port_count; port++)
        if (w.port_now[port] != FAB_NONE)
            ck_assert_uint_eq(w.lids.base[w.port_now[port]], t->lids.base[port]);
    ck_assert_mem_eq(fab_target_lft_row(&w.kept, 0), fab_target_lft_row(&t->lft, 1), 18);
    fab_study_whatif_fini(&w);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
}
END_TEST

START_TEST(invalid_requests_are_refused)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *plain = leaf_spine(2, 2, 2), *f;
    ck_assert_int_eq(fab_fabric_clone(plain, &f), FAB_OK);
    f->self_port = fab_fabric_port_id(f, f->node_count - 1, 1);
    struct fab_target *t = routed(f, &p);
    const struct {
        uint32_t port;
        int want;
    } cases[] = {
        {0, FAB_E_NOT_FOUND}, {FAB_NONE, FAB_E_NOT_FOUND}, {f->self_port, FAB_E_UNREACHABLE}};
    for (unsigned i = 0; i < 3; i++) {
        struct fab_whatif w;
        struct fab_whatif_input in = {f, &t->lids, &t->lft, &cases[i].port, 1};
        ck_assert_int_eq(fab_study_whatif_make(&in, &w), cases[i].want);
    }
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
}
END_TEST

START_TEST(equals_a_real_failure)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("equals_a_real_failure", 3));
    struct fab_policy p;
    fab_policy_defaults(&p);
    for (unsigned round = 0; round < 30; round++) {
        struct fab_fabric *f = random_fabric(14, 4, 20, round), *pulled = NULL;
        struct fab_target *t = routed(f, &p);
        uint32_t ports[3], count = 0;
        struct fab_builder *b = fab_fabric_builder_from(f);
        while (count < 3) {
            uint32_t port = (uint32_t)fab_base_prng_below(&prng, f->port_count);
            if (fab_fabric_port(f, port)->peer == FAB_NONE)
                continue;
            fab_fabric_builder_unlink(b, fab_fabric_port(f, port)->node,
                                      fab_fabric_port(f, port)->num);
            ports[count++] = port;
        }
        ck_assert_int_eq(fab_fabric_builder_seal(b, &pulled), FAB_OK);
        struct fab_whatif w = made(f, t, ports, count);
        struct fab_target *then = routed(pulled, &p);
        ck_assert_uint_eq(w.fabric->link_count, pulled->link_count);
        ck_assert_uint_eq(w.cables, f->link_count - pulled->link_count);
        fab_fabric_builder_free(b);
        fab_target_unref(then);
        fab_study_whatif_fini(&w);
        fab_target_unref(t);
        fab_fabric_unref(f);
        fab_fabric_unref(pulled);
    }
    fab_policy_fini(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("whatif");
    TCase *t = tcase_create("whatif");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, cables_and_switches);
    tcase_add_test(t, invalid_requests_are_refused);
    tcase_add_test(t, equals_a_real_failure);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
