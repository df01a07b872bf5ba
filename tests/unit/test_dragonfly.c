/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines "dragonfly" and "dragonfly+" on fabrics with and without damage. The tables must pass
 * the proof. */
#include "tests/unit/proving.h"

static struct fab_fabric *dragonfly(uint32_t groups, uint32_t size, uint32_t global, uint32_t hosts,
                                    uint32_t parallel)
{
    struct fab_dragonfly_spec spec = {groups, size, global, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *plus(uint32_t groups, uint32_t leaves, uint32_t spines, uint32_t global,
                               uint32_t hosts, uint32_t parallel)
{
    struct fab_dragonfly_plus_spec spec = {groups, leaves, spines, global, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_dragonfly_plus(&spec, &b), FAB_OK);
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

static bool is_flawed(const char *engine, const struct fab_fabric *f)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_target *t = routed_by(f, &p, engine);
    struct fab_lft lft;
    struct fab_vls vls = {0};
    char why[480] = "";
    bool flawed = false;
    const struct fab_route_input in = {
        .fabric = f, .policy = &p, .lids = &t->lids, .flawed = &flawed};
    ck_assert_int_eq(fab_route_engine_by_name(engine)->run(&in, &lft, &vls, why, sizeof(why)),
                     FAB_OK);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&vls);
    fab_target_unref(t);
    fab_policy_fini(&p);
    return flawed;
}

/* If a link is missing, the engine must report a flaw. The manager then compares the tables with
 * those of other engines. Frees f. */
static void check_flaws(const char *engine, struct fab_fabric *f)
{
    ck_assert(!is_flawed(engine, f));
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_isl_is_up(f, port)) {
            fab_fabric_edit_port(f, port)->info.phys_state = FAB_PHYS_POLLING;
            break;
        }
    ck_assert(is_flawed(engine, f));
    fab_fabric_unref(f);
}

START_TEST(a_missing_link_is_a_flaw)
{
    check_flaws("dragonfly", dragonfly(0, 4, 2, 2, 1));
    check_flaws("dragonfly+", plus(5, 4, 4, 2, 4, 1));
}
END_TEST

START_TEST(several_faults)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("several faults of dragonflies", 13));
    mostly_survives("dragonfly", dragonfly(0, 4, 2, 1, 1), &prng, 150, 10, "dragonfly 9 x 4");
    mostly_survives("dragonfly", dragonfly(9, 8, 4, 1, 1), &prng, 150, 10, "dragonfly 9 x 8");
    mostly_survives("dragonfly", dragonfly(3, 5, 2, 1, 2), &prng, 150, 10, "dragonfly 3 x 5");
    mostly_survives("dragonfly+", plus(0, 4, 4, 2, 1, 1), &prng, 150, 10, "dragonfly+ 9");
    mostly_survives("dragonfly+", plus(5, 4, 4, 2, 1, 1), &prng, 150, 10, "dragonfly+ 5");
    mostly_survives("dragonfly+", plus(4, 8, 8, 4, 1, 1), &prng, 150, 10, "dragonfly+ 4");
}
END_TEST

/* Two links connect each pair of groups. If one of them is missing, part of the traffic between the
 * groups must take a path through a hub, so that the other link is not overloaded. */
START_TEST(hubs_relieve_the_links_that_are_left)
{
    struct made whole = made_by("dragonfly", dragonfly(5, 8, 1, 2, 1));
    for (uint32_t port = 0; port < whole.f->port_count; port++) {
        if (!is_trunk(whole.f, port) || fab_fabric_port(whole.f, port)->peer < port)
            continue;
        struct made m = made_by("dragonfly", without_cable(whole.f, port));
        ck_assert_msg(imbalance(&m) <= 1.4 * imbalance(&whole),
                      "port %u: max/mean %.2f, whole %.2f", port, imbalance(&m), imbalance(&whole));
        made_fini(&m);
    }
    made_fini(&whole);
}
END_TEST

START_TEST(the_order_of_discovery_changes_nothing)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("order of discovery", 14));
    for (unsigned i = 0; i < 5; i++) {
        struct fab_fabric *f = dragonfly(5, 5, 2, 2, 2);
        is_told_in_any_order("dragonfly", with_faults(f, &prng, i, i % 2), &prng);
        fab_fabric_unref(f);
        f = plus(5, 4, 4, 2, 2, 2);
        is_told_in_any_order("dragonfly+", with_faults(f, &prng, i, i % 2), &prng);
        fab_fabric_unref(f);
    }
    bears_other_guids("dragonfly", dragonfly(5, 5, 2, 2, 2), &prng, "dragonfly");
    bears_other_guids("dragonfly+", plus(5, 4, 4, 2, 2, 2), &prng, "dragonfly+");
}
END_TEST

START_TEST(others_are_refused_with_a_reason)
{
    const char *no_groups = "no dragonfly: no groups of switches that are linked to each other";
    is_refused("dragonfly", fat_tree(8, 3, 1), no_groups);
    is_refused("dragonfly", leaf_spine(4, 2, 2), no_groups);
    is_refused("dragonfly+", fat_tree(8, 3, 1),
               "no dragonfly+: switch core-001 is in no group of leaves and spines");
    is_refused("dragonfly+", leaf_spine(4, 2, 2),
               "no dragonfly+: leaves and spines form one group");
    is_refused("dragonfly+", dragonfly(5, 4, 2, 1, 1),
               "no dragonfly+: a link joins group01-switch-01 and group01-switch-02, which both "
               "have hosts");
    is_refused("dragonfly", plus(5, 4, 4, 2, 2, 2), no_groups);
    is_refused("dragonfly", leaf_spine(1, 0, 2), no_groups);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("dragonfly");
    TCase *c = tcase_create("dragonfly");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, whole_and_damaged_dragonflies);
    tcase_add_test(c, whole_and_damaged_dragonflies_plus);
    tcase_add_test(c, several_faults);
    tcase_add_test(c, a_missing_link_is_a_flaw);
    tcase_add_test(c, hubs_relieve_the_links_that_are_left);
    tcase_add_test(c, the_order_of_discovery_changes_nothing);
    tcase_add_test(c, others_are_refused_with_a_reason);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
