/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables that switches hold from an earlier manager, completed for the present fabric
 * (libfabmgr/repair/standing.h). The test damages random entries and takes random links down. The
 * completed tables must reach all that newly computed tables reach, and must keep each entry whose
 * path still leads to its LID.
 */
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/repair/standing.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/testing.h"

struct bench {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_lids lids;
};

static void bench_init(struct bench *b, struct fab_builder *builder)
{
    *b = (struct bench){0};
    ck_assert_int_eq(fab_fabric_builder_seal(builder, &b->f), FAB_OK);
    fab_fabric_builder_free(builder);
    fab_policy_defaults(&b->policy);
    const struct fab_address_input in = {.fabric = b->f, .policy = &b->policy};
    struct fab_address_note *notes = NULL;
    size_t count = 0;
    ck_assert_int_eq(fab_address_assign(&in, &b->lids, &notes, &count), FAB_OK);
    free(notes);
}

static void bench_fini(struct bench *b)
{
    fab_target_lids_fini(&b->lids);
    fab_policy_fini(&b->policy);
    fab_fabric_unref(b->f);
}

static void route(const struct bench *b, const struct fab_fabric *f, const char *engine,
                  struct fab_lft *ret, struct fab_vls *ret_vls)
{
    const struct fab_route_input in = {.fabric = f, .policy = &b->policy, .lids = &b->lids};
    char why[300];
    ck_assert_int_eq(fab_route_engine_by_name(engine)->run(&in, ret, ret_vls, why, sizeof(why)),
                     FAB_OK);
}

static void verify(const struct bench *b, const struct fab_fabric *f, const struct fab_lft *lft,
                   const struct fab_vls *vls, struct fab_verdict *ret)
{
    const struct fab_verify_input in = {.fabric = f,
                                        .lids = &b->lids,
                                        .lft = lft,
                                        .vls = vls,
                                        .policy = &b->policy,
                                        .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, ret), FAB_OK);
}

/* Returns a copy of the fabric in which `count` random ISLs are missing. */
static struct fab_fabric *cut_links(const struct bench *b, struct fab_prng *prng, uint32_t count)
{
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_clone(b->f, &f), FAB_OK);
    for (uint32_t tries = 0; count > 0 && tries < 1000; tries++) {
        uint32_t port = (uint32_t)fab_base_prng_below(prng, f->port_count);
        if (fab_fabric_port_is_isl(f, port)) {
            ck_assert_int_eq(fab_fabric_remove_link(f, port), FAB_OK);
            count--;
        }
    }
    return f;
}

/* Some links fail while no manager runs. The completed tables must be as good as newly computed
 * ones, and must change fewer blocks. */
START_TEST(links_fail)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("standing", 1) + (uint64_t)_i);
    const struct fab_leaf_spine_spec spec = {
        .leaves = 12, .spines = 6, .hosts_per_leaf = 12, .parallel = 1};
    struct fab_builder *builder = NULL;
    struct bench b;
    struct fab_lft held = {0}, fresh = {0}, lft = {0};
    struct fab_vls held_vls = {0}, vls = {0};
    struct fab_verdict v = {0};
    struct fab_standing_count count;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &builder), FAB_OK);
    bench_init(&b, builder);
    struct fab_fabric *f = cut_links(&b, &prng, 1 + (uint32_t)_i % 4);
    route(&b, b.f, "updn", &held, &held_vls);
    route(&b, f, "updn", &fresh, &vls);
    const struct fab_standing in = {.held = &held, .fresh = &fresh, .fabric = f, .lids = &b.lids};
    ck_assert_int_eq(fab_repair_standing(&in, &lft, &count), FAB_OK);
    verify(&b, f, &lft, &vls, &v);
    ck_assert_uint_eq(v.unreachable_host_pairs, 0);
    ck_assert_uint_gt(count.entries, 0);
    ck_assert_uint_le(count.blocks, count.fresh_blocks);
    fab_verify_verdict_fini(&v);
    fab_target_lft_fini(&held);
    fab_target_lft_fini(&fresh);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&held_vls);
    fab_target_vls_fini(&vls);
    fab_fabric_unref(f);
    bench_fini(&b);
}
END_TEST

/* Correct tables must stay as they are, whichever engine made them, and so must entries for LIDs
 * that no port has. Only damaged entries may change. */
START_TEST(correct_tables_stay)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("standing", 1) + (uint64_t)_i);
    const struct fab_torus_spec spec = {.dimensions = 2, .size = {4, 4}, .hosts = 2, .parallel = 1};
    struct fab_builder *builder = NULL;
    struct bench b;
    struct fab_lft held = {0}, fresh = {0}, lft = {0};
    struct fab_vls held_vls = {0}, vls = {0};
    struct fab_standing_count count;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &builder), FAB_OK);
    bench_init(&b, builder);
    route(&b, b.f, "minhop", &held, &held_vls);
    route(&b, b.f, "updn", &fresh, &vls);
    const struct fab_standing in = {.held = &held, .fresh = &fresh, .fabric = b.f, .lids = &b.lids};
    ck_assert_int_eq(fab_repair_standing(&in, &lft, &count), FAB_OK);
    ck_assert(fab_target_lft_same(&held, &lft));
    ck_assert_uint_eq(count.blocks, 0);
    ck_assert_uint_gt(count.fresh_blocks, 0);
    fab_target_lft_fini(&lft);
    uint32_t sw = (uint32_t)fab_base_prng_below(&prng, held.switch_count);
    uint32_t lid = 1 + (uint32_t)fab_base_prng_below(&prng, held.top);
    fab_target_lft_row(&held, sw)[lid] = _i % 2 ? FAB_LFT_NO_ROUTE : 200;
    ck_assert_int_eq(fab_repair_standing(&in, &lft, &count), FAB_OK);
    ck_assert_uint_le(count.blocks, held.switch_count);
    ck_assert_uint_gt(count.entries, 0);
    struct fab_verdict v = {0};
    verify(&b, b.f, &lft, &vls, &v);
    ck_assert_uint_eq(v.unreachable_pairs, 0);
    fab_verify_verdict_fini(&v);
    fab_target_lft_fini(&held);
    fab_target_lft_fini(&fresh);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&held_vls);
    fab_target_vls_fini(&vls);
    bench_fini(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standing");
    TCase *tc = tcase_create("standing");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, links_fail, 0, 24);
    tcase_add_loop_test(tc, correct_tables_stay, 0, 24);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
