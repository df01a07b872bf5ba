/* SPDX-License-Identifier: BSD-3-Clause */
/* The repair of directed routes after links were lost. Repaired routes must be as short as the
 * routes of a search of the whole fabric, and must lead to their nodes over existing links. A route
 * may lead through a silent switch, or through a switch that the caller wants to avoid, only if no
 * other route leads to the node. */
#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

#define MOST_LOST 12

/* number of compared routes that had to lead through a silent switch */
static uint64_t behind_silent;

static struct fab_fabric *fabric_of(uint64_t seed)
{
    const struct fab_random_spec spec = {
        .switches = 5 + (uint32_t)(seed % 25), .degree = 3, .hosts_per_switch = 2, .seed = seed};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL, *own = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    ck_assert_int_eq(fab_fabric_clone(f, &own), FAB_OK);
    fab_fabric_unref(f);
    own->self_port = own->nodes[own->switch_count].first_port + 1u;
    return own;
}

/* Marks random switches as silent, but never the first one, to which the manager is connected. */
static void silence(struct fab_fabric *f, struct fab_prng *random)
{
    uint64_t count = 1 + fab_base_prng_below(random, 4);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t sw = (uint32_t)fab_base_prng_below(random, f->switch_count);
        f->nodes[sw].silent = sw != fab_fabric_peer_node(f, f->self_port);
    }
}

static bool is_through_silent(const struct fab_fabric *f, const struct fab_path *path)
{
    uint32_t node = fab_fabric_port(f, f->self_port)->node;
    bool silent = false;
    for (unsigned hop = 1; hop <= path->hops; hop++) {
        silent |= f->nodes[node].silent;
        node = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, path->port[hop]));
    }
    return silent;
}

static uint32_t end_of(const struct fab_fabric *f, const struct fab_path *path)
{
    uint32_t node = fab_fabric_port(f, f->self_port)->node;
    for (unsigned hop = 1; hop <= path->hops; hop++) {
        uint32_t port = fab_fabric_port_id(f, node, path->port[hop]);
        ck_assert(fab_fabric_node_is_switch(f, node) || port == f->self_port);
        ck_assert(fab_fabric_port_is_up(f, port));
        node = fab_fabric_peer_node(f, port);
        ck_assert_uint_ne(node, FAB_NONE);
    }
    return node;
}

static void compare(const struct fab_fabric *f, const struct fab_path *paths)
{
    struct fab_path *whole = NULL;
    ck_assert_int_eq(fab_discover_paths(f, &whole), FAB_OK);
    for (uint32_t n = 0; n < f->node_count; n++) {
        ck_assert_uint_eq(paths[n].hops == FAB_PATH_UNKNOWN, whole[n].hops == FAB_PATH_UNKNOWN);
        if (paths[n].hops == FAB_PATH_UNKNOWN)
            continue;
        ck_assert_uint_eq(end_of(f, &paths[n]), n);
        bool silent = is_through_silent(f, &whole[n]);
        ck_assert(is_through_silent(f, &paths[n]) == silent);
        behind_silent += silent;
        if (!silent)
            ck_assert_uint_eq(paths[n].hops, whole[n].hops);
    }
    free(whole);
}

/* Removes random links, in some cases all links of a switch. Returns their number. ports[] gets
 * both ports of each. */
static size_t lose(struct fab_fabric *f, struct fab_prng *random, uint32_t ports[2 * MOST_LOST])
{
    size_t lost = 0, wanted = 1 + fab_base_prng_below(random, MOST_LOST);
    uint32_t sw = (uint32_t)fab_base_prng_below(random, f->switch_count);
    bool whole_switch = fab_base_prng_below(random, 2) == 0;
    for (unsigned tries = 0; tries < 200 && lost < wanted; tries++) {
        uint32_t port = (uint32_t)fab_base_prng_below(random, f->port_count);
        if (whole_switch)
            port = fab_fabric_port_id(f, sw, (uint8_t)(1 + tries % f->nodes[sw].num_ports));
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE || peer == port)
            continue;
        ports[2 * lost] = port;
        ports[2 * lost + 1] = peer;
        lost++;
        ck_assert_int_eq(fab_fabric_remove_link(f, port), FAB_OK);
    }
    return lost;
}

/* Makes a random fabric, removes links, and repairs the routes. silent: some switches are silent.
 * Returns the number of removed links. */
static uint64_t repair(uint64_t seed, bool silent)
{
    struct fab_prng random;
    uint64_t changed = 0;
    fab_base_prng_init(&random, seed);
    for (unsigned round = 0; round < 150; round++) {
        struct fab_fabric *f = fabric_of(fab_base_prng_next(&random));
        struct fab_path *paths = NULL;
        if (silent)
            silence(f, &random);
        ck_assert_int_eq(fab_discover_paths(f, &paths), FAB_OK);
        for (unsigned step = 0; step < 6; step++) {
            uint32_t ports[2 * MOST_LOST];
            size_t lost = lose(f, &random, ports);
            ck_assert_int_eq(fab_discover_paths_without(f, ports, lost, paths), FAB_OK);
            compare(f, paths);
            changed += lost;
        }
        free(paths);
        fab_fabric_unref(f);
    }
    return changed;
}

START_TEST(repaired_routes_are_shortest_routes)
{
    ck_assert_uint_gt(repair(test_seed("lost links", 5), false), 1500);
    ck_assert_uint_eq(behind_silent, 0);
}
END_TEST

START_TEST(repaired_routes_avoid_silent_switches)
{
    behind_silent = 0;
    ck_assert_uint_gt(repair(test_seed("lost links, silent switches", 6), true), 1500);
    ck_assert_uint_gt(behind_silent, 1000);
}
END_TEST

static bool is_through(const struct fab_fabric *f, const struct fab_path *path, uint32_t node)
{
    uint32_t at = fab_fabric_port(f, f->self_port)->node;
    bool through = false;
    for (unsigned hop = 1; hop <= path->hops; hop++) {
        through |= at == node;
        at = fab_fabric_peer_node(f, fab_fabric_port_id(f, at, path->port[hop]));
    }
    return through;
}

/* The caller wanted to avoid the switch `sw`. Compares each route with one of a search of the whole
 * fabric. Returns the number of nodes to which all routes lead through this switch. */
static uint32_t compare_around(const struct fab_fabric *f, uint32_t sw,
                               const struct fab_path *paths)
{
    uint64_t *avoid = fab_base_bits_new(f->node_count);
    struct fab_path *whole = NULL;
    uint32_t behind = 0;
    ck_assert_ptr_nonnull(avoid);
    fab_base_bits_set(avoid, sw);
    ck_assert_int_eq(fab_discover_paths_around(f, avoid, &whole), FAB_OK);
    for (uint32_t n = 0; n < f->node_count; n++) {
        bool through = is_through(f, &whole[n], sw);
        ck_assert_uint_eq(end_of(f, &paths[n]), n);
        ck_assert(is_through(f, &paths[n], sw) == through);
        ck_assert(fab_discover_path_leads_through(paths, n, sw) == through);
        behind += through;
        if (!through)
            ck_assert_uint_eq(paths[n].hops, whole[n].hops);
    }
    free(avoid);
    free(whole);
    return behind;
}

START_TEST(routes_avoid_a_switch)
{
    struct fab_prng random;
    uint32_t behind = 0;
    fab_base_prng_init(&random, test_seed("a switch to avoid", 7));
    for (unsigned round = 0; round < 300; round++) {
        struct fab_fabric *f = fabric_of(fab_base_prng_next(&random));
        struct fab_path *paths = NULL;
        uint32_t sw = (uint32_t)fab_base_prng_below(&random, f->switch_count);
        ck_assert_int_eq(fab_discover_paths(f, &paths), FAB_OK);
        ck_assert_int_eq(fab_discover_paths_avoid(f, sw, paths), FAB_OK);
        behind += compare_around(f, sw, paths);
        free(paths);
        fab_fabric_unref(f);
    }
    ck_assert_uint_gt(behind, 500);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("paths");
    TCase *t = tcase_create("paths");
    tcase_add_test(t, repaired_routes_are_shortest_routes);
    tcase_add_test(t, repaired_routes_avoid_silent_switches);
    tcase_add_test(t, routes_avoid_a_switch);
    suite_add_tcase(s, t);
    return test_run(s);
}
