/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Isolation of bad links among many healthy links that also have errors (isolation_world.h), in
 * virtual time. In each step, no healthy link may be isolated, and each leaf must keep its capacity
 * floor. At the end, all bad links must be found. HEALTH_SEEDS in the environment sets the number
 * of seeds.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/isolation_world.h"

#define MINUTES 15
#define FLOOR 18 /* a leaf must keep 75 % of its 25 uplinks, rounded down */

static struct world t;

/* ---- checks ---------------------------------------------------------------------------------- */

/* Counts in the manager's snapshot the uplinks of each leaf with an isolated link. No leaf may have
 * fewer than FLOOR. */
static void check_floor(const struct sm_isolation *list, uint32_t count)
{
    struct fab_view *v = sm_view(t.lab.sm);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t up = 0;
        const struct isl *l = world_isl(&t, list[i].guid[0], list[i].port[0]);
        uint32_t leaf =
            fab_fabric_node_by_guid(v->fabric, fab_sim_fabric(t.lab.sim)->nodes[l->leaf].guid);
        for (uint32_t p = 1; p <= v->fabric->nodes[leaf].num_ports; p++)
            up += fab_fabric_isl_is_up(v->fabric, fab_fabric_port_id(v->fabric, leaf, (uint8_t)p));
        ck_assert_msg(up >= FLOOR, "a leaf has only %u uplinks in use", up);
    }
    fab_view_unref(v);
}

static uint32_t check_isolations(double minute)
{
    struct sm_isolation list[64];
    uint32_t count = sm_isolations(t.lab.sm, list, 64);
    ck_assert_uint_le(count, 64);
    for (uint32_t i = 0; i < count; i++) {
        struct isl *l = world_isl(&t, list[i].guid[0], list[i].port[0]);
        ck_assert_msg(l->manner > WARM, "a healthy link is isolated after %.1f min: %s - %s, %s",
                      minute, list[i].place[0], list[i].place[1], list[i].cause);
        if (l->found_min == 0)
            l->found_min = minute;
    }
    check_floor(list, count);
    return count;
}

struct result {
    uint32_t isolated, kept;
    double last; /* minutes after which the last bad link was found */
};

static struct result run(uint64_t seed, bool at_one_leaf)
{
    struct result r = {0};
    world_begin(&t, seed);
    world_make_bad(&t, at_one_leaf);
    for (uint32_t s = 0; s < MINUTES * 60; s += STEP_S) {
        world_add_errors(&t, &world_noise, s / 60.0);
        if (s % 60 == 30)
            world_flap_one(&t);
        lab_run_for(&t.lab, STEP_S);
        r.isolated = check_isolations((s + STEP_S) / 60.0);
        r.kept = world_note_kept(&t, (s + STEP_S) / 60.0);
        lab_forget_events(&t.lab);
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        const struct isl *l = &t.isl[i];
        ck_assert_msg(l->manner <= WARM || l->found_min > 0, "seed %llu: a bad link is not found",
                      (unsigned long long)seed);
        if (l->found_min > r.last)
            r.last = l->found_min;
    }
    ck_assert_uint_gt(t.above, 100);
    world_end(&t);
    return r;
}

START_TEST(bad_links_are_found_and_no_healthy_one_is_isolated)
{
    double last = 0;
    uint64_t seed = test_seed("health", 1);
    uint32_t above = 0, seeds = getenv("HEALTH_SEEDS") ? (uint32_t)atoi(getenv("HEALTH_SEEDS")) : 4;
    for (uint64_t i = 0; i < seeds; i++) {
        struct result r = run(seed + i, false);
        ck_assert_uint_eq(r.isolated, BAD);
        last = r.last > last ? r.last : last;
        above += t.above;
    }
    printf(
        "# %u seeds: all %d bad links of %d isolated within %.1f min; no other, although healthy "
        "links had %u bursts above the threshold\n",
        seeds, BAD, LINKS, last, above);
}
END_TEST

START_TEST(a_leaf_with_many_bad_links_keeps_its_floor)
{
    uint64_t seed = test_seed("floor", 101);
    for (uint64_t i = 0; i < 2; i++) {
        struct result r = run(seed + i, true);
        printf("# seed %llu: %u isolated, %u kept for the floor, all found within %.1f min\n",
               (unsigned long long)(seed + i), r.isolated, r.kept, r.last);
        ck_assert_uint_eq(r.isolated, SPINES - FLOOR);
        ck_assert_uint_eq(r.isolated + r.kept, BAD);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *tcase = tcase_create("health");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, bad_links_are_found_and_no_healthy_one_is_isolated);
    tcase_add_test(tcase, a_leaf_with_many_bad_links_keeps_its_floor);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
