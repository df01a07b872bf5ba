/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation of the proof fail once: with several workers, in steps, with multicast
 * tables, and of a trace. Each call must return NOMEM, and nothing may leak.
 * tests/unit/test_route_nomem.c does the same for the proof in a single call.
 */
#include "libfabmgr/verify/multicast.h"
#include "libfabmgr/verify/steps.h"
#include "libfabmgr/verify/trace.h"
#include "tests/unit/dealing_pool.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

static struct fab_fabric *fabric;
static struct fab_policy policy;
static struct fab_target *good, *cyclic;
static uint32_t workers = 3;

/* Makes tables that send all packets round the ring clockwise. They arrive, but their channel
 * dependencies form a cycle. */
static struct fab_target *clockwise(void)
{
    struct fab_target *t = routed(fabric, &policy);
    for (uint32_t sw = 0; sw < fabric->switch_count; sw++) {
        uint32_t port = fab_fabric_port_id(fabric, sw, 1);
        while (fab_fabric_peer_node(fabric, port) != (sw + 1) % fabric->switch_count)
            port++;
        for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
            uint32_t owner = t->lids.owner[lid];
            if (owner == FAB_NONE)
                continue;
            uint32_t node = fab_fabric_port(fabric, owner)->node;
            uint32_t home = fab_fabric_node_is_switch(fabric, node)
                                ? node
                                : fab_fabric_peer_node(fabric, owner);
            if (home != sw)
                fab_target_lft_row(&t->lft, sw)[lid] = fab_fabric_port(fabric, port)->num;
        }
    }
    return t;
}

/* Gives the tables two VLs, by the SL of each LID. All LIDs have SL 0. */
static void use_two_vls(struct fab_target *t)
{
    fab_target_vls_init(&t->vls, 2);
    ck_assert_int_eq(fab_target_vls_by_lid(&t->vls, t->lids.top), FAB_OK);
}

static struct fab_verify_input input_of(const struct fab_target *t)
{
    return (struct fab_verify_input){.fabric = fabric,
                                     .lids = &t->lids,
                                     .lft = &t->lft,
                                     .vls = &t->vls,
                                     .policy = &policy,
                                     .max_hops = 64};
}

static int prove_with_workers(void)
{
    struct fab_pool pool = dealing_pool(&workers);
    struct fab_verify_input in = input_of(good);
    struct fab_verdict v;
    in.pool = &pool;
    int status = fab_verify(&in, &v);
    if (status == FAB_OK)
        fab_verify_verdict_fini(&v);
    return status;
}

static int prove_in_steps(void)
{
    struct fab_verify_input in = input_of(cyclic);
    struct fab_verify_steps *steps = NULL;
    struct fab_verdict v;
    int status = fab_verify_steps_new(&in, &steps);
    if (status != FAB_OK)
        return status;
    while (fab_verify_steps_next(steps))
        ;
    status = fab_verify_steps_judge(steps, &v);
    if (status == FAB_OK)
        fab_verify_verdict_fini(&v);
    fab_verify_steps_free(steps);
    return status;
}

/* Proves empty multicast tables with the unicast tables t. together: the expected verdict about
 * cycles; if the proof says otherwise, returns INVAL. */
static int prove_multicast(const struct fab_target *t, bool together)
{
    const struct fab_verify_input unicast = input_of(t);
    const struct fab_blocks none = {0};
    struct fab_verify_channels *channels = NULL;
    struct fab_multicast_verdict v;
    char *text = NULL;
    int status = fab_verify_channels_new(&unicast, &channels);
    if (status != FAB_OK)
        return status;
    const struct fab_verify_multicast_input in = {
        .fabric = fabric, .mft = &none, .unicast = channels, .keep = true};
    status = fab_verify_multicast(&in, &v);
    fab_verify_channels_free(channels);
    if (status != FAB_OK)
        return status;
    bool right = v.with_unicast && v.alone && v.together == together &&
                 v.cycle.kind == (together ? FAB_OK : FAB_E_CYCLE);
    status = fab_verify_multicast_text(fabric, &v, &text);
    free(text);
    fab_verify_multicast_fini(&v);
    return right ? status : FAB_E_INVAL;
}

static int prove_good_multicast(void)
{
    return prove_multicast(good, true);
}

static int prove_cyclic_multicast(void)
{
    return prove_multicast(cyclic, false);
}

static int trace(void)
{
    struct fab_verify_input in = input_of(good);
    struct fab_verify_trace t;
    const struct fab_lids *lids = &good->lids;
    int status =
        fab_verify_trace(&in, lids->owner[lids->top], lids->base[fabric->nodes[0].first_port], &t);
    if (status == FAB_OK)
        fab_verify_trace_fini(&t);
    return status;
}

static void fail_all(void)
{
    ck_assert_uint_gt(fail_each_allocation(prove_with_workers, FAB_E_NOMEM), 10);
    ck_assert_uint_gt(fail_each_allocation(prove_in_steps, FAB_E_NOMEM), 5);
    ck_assert_uint_gt(fail_each_allocation(prove_good_multicast, FAB_E_NOMEM), 5);
    ck_assert_uint_gt(fail_each_allocation(prove_cyclic_multicast, FAB_E_NOMEM), 5);
    ck_assert_uint_eq(fail_each_allocation(trace, FAB_E_NOMEM), 2);
}

START_TEST(each_allocation_of_a_proof)
{
    fabric = grid((uint32_t[3]){6, 1, 1}, true, 2);
    fab_policy_defaults(&policy);
    policy.lmc = 5; /* with 32 LIDs for each endport, several workers have something to do */
    good = routed_by(fabric, &policy, "updn");
    cyclic = clockwise();
    ck_assert_uint_gt(good->lids.top, 256);
    fail_all();
    use_two_vls(good);
    use_two_vls(cyclic);
    fail_all();
    fab_target_unref(good);
    fab_target_unref(cyclic);
    fab_policy_fini(&policy);
    fab_fabric_unref(fabric);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proof without memory");
    TCase *tcase = tcase_create("proof");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_allocation_of_a_proof);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
