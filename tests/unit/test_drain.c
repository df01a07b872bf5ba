/* SPDX-License-Identifier: BSD-3-Clause */
/* Drains, on many fabrics with random switches: which links a drain takes out of the routes. Also
 * batches of switches for a rolling maintenance. */
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/health/drain.h"
#include "libfabmgr/health/drain_plan.h"
#include "tests/unit/testing.h"

static struct fab_fabric *seal(struct fab_builder *b)
{
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

static struct fab_fabric *draw(struct fab_prng *prng)
{
    struct fab_builder *b = NULL;
    int r;
    switch (fab_base_prng_below(prng, 4)) {
    case 0: {
        const struct fab_fat_tree_spec spec = {.radix =
                                                   4 + 2 * (uint32_t)fab_base_prng_below(prng, 3),
                                               .levels = 2 + (uint32_t)fab_base_prng_below(prng, 2),
                                               .taper = 1};
        r = fab_fabric_generate_fat_tree(&spec, &b);
        break;
    }
    case 1: {
        struct fab_torus_spec spec = {.dimensions = 2, .hosts = 1, .parallel = 1};
        spec.size[0] = 3 + (uint32_t)fab_base_prng_below(prng, 3);
        spec.size[1] = 3 + (uint32_t)fab_base_prng_below(prng, 3);
        spec.mesh = fab_base_prng_chance(prng, 0.5);
        r = fab_fabric_generate_torus(&spec, &b);
        break;
    }
    default: {
        const struct fab_leaf_spine_spec spec = {
            .leaves = 2 + (uint32_t)fab_base_prng_below(prng, 6),
            .spines = 1 + (uint32_t)fab_base_prng_below(prng, 4),
            .hosts_per_leaf = 1 + (uint32_t)fab_base_prng_below(prng, 3),
            .parallel = 1 + (uint32_t)fab_base_prng_below(prng, 2)};
        r = fab_fabric_generate_leaf_spine(&spec, &b);
        break;
    }
    }
    ck_assert_int_eq(r, FAB_OK);
    return seal(b);
}

static uint32_t hosts_at(const struct fab_fabric *f, uint32_t sw)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        n += fab_fabric_port(f, p)->node == sw && fab_fabric_port(f, p)->peer != FAB_NONE &&
             !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, p));
    return n;
}

static bool is_out(const struct fab_drain *d, const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer, low = port < peer ? port : peer;
    for (uint32_t i = 0; i < d->out_count; i++)
        if (d->out[i] == low)
            return true;
    return false;
}

/* Counts the switches that cannot reach the first switch. Switches in `without` and ISLs that the
 * drain takes out of the routes are not used. */
static uint32_t count_apart(const struct fab_fabric *f, const struct fab_drain *d,
                            const uint64_t *without)
{
    uint32_t *sets = calloc(f->switch_count + 1u, sizeof(*sets)), apart = 0, first = FAB_NONE;
    fab_base_sets_init(sets, f->switch_count);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_port_is_isl(f, p) || is_out(d, f, p))
            continue;
        uint32_t a = fab_fabric_port(f, p)->node, b = fab_fabric_peer_node(f, p);
        if (!fab_base_bits_get(without, a) && !fab_base_bits_get(without, b))
            fab_base_sets_join(sets, a, b);
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        if (fab_base_bits_get(without, sw))
            continue;
        if (first == FAB_NONE)
            first = sw;
        apart += fab_base_sets_find(sets, sw) != fab_base_sets_find(sets, first);
    }
    free(sets);
    return apart;
}

static uint32_t isls_left(const struct fab_fabric *f, const struct fab_drain *d, uint32_t sw)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        n += fab_fabric_port(f, p)->node == sw && fab_fabric_port_is_isl(f, p) && !is_out(d, f, p);
    return n;
}

/* Counts the switches that a switch reaches by one ISL, without the ISLs that the drain takes out
 * of the routes. */
static uint32_t neighbours(const struct fab_fabric *f, const struct fab_drain *d, uint32_t sw)
{
    uint64_t *seen = fab_base_bits_new(f->switch_count);
    uint32_t n = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->node == sw && fab_fabric_port_is_isl(f, p) && !is_out(d, f, p))
            n += fab_base_bits_add(seen, fab_fabric_peer_node(f, p));
    free(seen);
    return n;
}

static struct {
    uint32_t allowed, refused, needed, bare, hosted;
} seen;

/* Drains the switches in `set`, and checks the result against the rules of drains. via: bitset of
 * the switches with hosts that also forward packets between other switches. */
static void check(const struct fab_fabric *f, const uint64_t *set, const uint64_t *via)
{
    const struct fab_drain_input in = {.fabric = f, .switches = set, .transit = via};
    struct fab_drain d;
    uint64_t *none = fab_base_bits_new(f->switch_count), *bare = fab_base_bits_new(f->switch_count);
    uint32_t hosts = 0;
    ck_assert_int_eq(fab_health_drain(&in, &d), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        hosts += fab_base_bits_get(set, sw) ? hosts_at(f, sw) : 0;
        if (fab_base_bits_get(set, sw) && hosts_at(f, sw) == 0)
            fab_base_bits_set(bare, sw);
    }
    ck_assert_uint_eq(d.hosts, hosts);
    for (uint32_t i = 0; i < d.out_count; i++)
        ck_assert(fab_base_bits_get(set, fab_fabric_port(f, d.out[i])->node) ||
                  fab_base_bits_get(set, fab_fabric_peer_node(f, d.out[i])));
    if (d.first_cut != FAB_NONE) {
        seen.refused++;
        ck_assert_uint_gt(d.cut_switches, 0);
    } else {
        seen.allowed++;
        seen.needed += d.needed > 0;
        /* even over the remaining ISLs, all switches reach each other */
        ck_assert_uint_eq(count_apart(f, &d, none), 0);
        /* `bare` has the drained switches without hosts. If no host needs them, all other switches
         * must be connected without them. Each switch in `bare` keeps an ISL, so that the manager
         * reaches it. */
        if (d.needed == 0)
            ck_assert_uint_eq(count_apart(f, &d, bare), 0);
        for (uint32_t sw = 0; sw < f->switch_count && d.needed == 0; sw++) {
            if (fab_base_bits_get(bare, sw)) {
                seen.bare++;
                ck_assert_uint_ge(isls_left(f, &d, sw), 1);
            } else if (fab_base_bits_get(set, sw) && fab_base_bits_get(via, sw)) {
                seen.hosted++;
                ck_assert_uint_ge(neighbours(f, &d, sw), 1);
            }
        }
    }
    free(none);
    free(bare);
    fab_health_drain_fini(&d);
}

START_TEST(random_drains_keep_all_hosts)
{
    struct fab_prng prng;
    memset(&seen, 0, sizeof(seen));
    fab_base_prng_init(&prng, test_seed("drains", 2101));
    for (unsigned round = 0; round < test_rounds(400); round++) {
        struct fab_fabric *f = draw(&prng);
        uint64_t *set = fab_base_bits_new(f->switch_count),
                 *via = fab_base_bits_new(f->switch_count);
        double share = (double)(1 + fab_base_prng_below(&prng, 5)) / 10;
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            fab_base_bits_put(set, sw, fab_base_prng_chance(&prng, share));
            fab_base_bits_put(via, sw, hosts_at(f, sw) > 0 && fab_base_prng_chance(&prng, share));
        }
        check(f, set, via);
        free(set);
        free(via);
        fab_fabric_unref(f);
    }
    printf(
        "# %u allowed, %u refused, %u with needed switches; %u stubs without and %u with hosts\n",
        seen.allowed, seen.refused, seen.needed, seen.bare, seen.hosted);
    fflush(stdout);
    ck_assert_uint_gt(seen.allowed, 20);
    ck_assert_uint_gt(seen.refused, 0);
    ck_assert_uint_gt(seen.bare, 20);
    ck_assert_uint_gt(seen.hosted, 20);
}
END_TEST

static struct fab_fabric *tree(uint32_t radix, uint32_t levels)
{
    const struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels, .taper = 1};
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    return seal(b);
}

static uint32_t find(const struct fab_fabric *f, const char *name)
{
    for (uint32_t n = 0; n < f->node_count; n++)
        if (strcmp(f->nodes[n].desc, name) == 0)
            return n;
    ck_abort_msg("no node %s", name);
}

/* Drains one switch of a tree. If it has no hosts, all its links but one go out of the routes. If
 * it is a leaf, all its links stay. */
START_TEST(one_switch_of_a_tree)
{
    struct fab_fabric *f = tree(4, 3);
    uint64_t *set = fab_base_bits_new(f->switch_count), *none = fab_base_bits_new(f->switch_count);
    const struct fab_drain_input in = {.fabric = f, .switches = set, .transit = none};
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        struct fab_drain d;
        fab_base_bits_zero(set, f->switch_count);
        fab_base_bits_set(set, sw);
        ck_assert_int_eq(fab_health_drain(&in, &d), FAB_OK);
        ck_assert_uint_eq(d.first_cut, FAB_NONE);
        bool leaf = hosts_at(f, sw) > 0;
        ck_assert_uint_eq(d.out_count, leaf ? 0 : 3);
        ck_assert_uint_eq(d.kept_count, leaf ? 0 : 1);
        ck_assert_uint_eq(d.hosts, leaf ? 2 : 0);
        fab_health_drain_fini(&d);
    }
    free(set);
    free(none);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(pods_of_a_tree)
{
    struct fab_fabric *f = tree(4, 3);
    uint64_t *set = fab_base_bits_new(f->switch_count), *none = fab_base_bits_new(f->switch_count);
    struct fab_drain d;
    ck_assert_int_eq(fab_health_drain_pod(f, find(f, "core-001"), set), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_health_drain_pod(f, find(f, "leaf-003"), set), FAB_OK);
    ck_assert_uint_eq(fab_base_bits_count(set, f->switch_count), 4);
    ck_assert(fab_base_bits_get(set, find(f, "leaf-004")));
    ck_assert(fab_base_bits_get(set, find(f, "spine-003")));
    /* the drain would cut off the hosts of the pod, so all links stay */
    const struct fab_drain_input in = {.fabric = f, .switches = set, .transit = none};
    ck_assert_int_eq(fab_health_drain(&in, &d), FAB_OK);
    ck_assert_uint_eq(d.needed, 2);
    ck_assert_uint_eq(d.out_count, 0);
    ck_assert_uint_eq(d.hosts, 4);
    fab_health_drain_fini(&d);
    free(set);
    free(none);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(all_pods_at_once)
{
    struct fab_fabric *f = tree(4, 3);
    uint32_t *pod = calloc(f->switch_count, sizeof *pod);
    uint32_t pods = 0, tops = 0;
    ck_assert_int_eq(fab_health_drain_pods(f, pod), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        tops += pod[sw] == FAB_NONE;
        pods += pod[sw] == sw;
        ck_assert(pod[sw] == FAB_NONE || pod[pod[sw]] == pod[sw]);
        ck_assert(pod[sw] == FAB_NONE || pod[sw] <= sw);
    }
    ck_assert_uint_eq(tops, 4);
    ck_assert_uint_eq(pods, 4);
    ck_assert_uint_eq(pod[find(f, "leaf-003")], pod[find(f, "spine-004")]);
    ck_assert_uint_ne(pod[find(f, "leaf-003")], pod[find(f, "leaf-002")]);
    free(pod);
    fab_fabric_unref(f);
}
END_TEST

static uint32_t isls_of(const struct fab_fabric *f, uint32_t sw, const uint32_t *batch_of,
                        uint32_t batch)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        n += fab_fabric_port(f, p)->node == sw && fab_fabric_port_is_isl(f, p) &&
             (batch == FAB_NONE || batch_of[fab_fabric_peer_node(f, p)] != batch);
    return n;
}

static bool stop(void *ctx)
{
    ++*(unsigned *)ctx;
    return true;
}

START_TEST(plans_are_stopped)
{
    struct fab_prng prng;
    unsigned asked = 0;
    fab_base_prng_init(&prng, test_seed("stopped plans", 2103));
    struct fab_fabric *f = draw(&prng);
    uint64_t *of = fab_base_bits_new(f->switch_count);
    const struct fab_drain_plan_input in = {f, of, 1, stop, &asked};
    struct fab_drain_plan p = {.count = 77};
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        fab_base_bits_set(of, sw);
    ck_assert_int_eq(fab_health_drain_plan(&in, &p), FAB_E_BUSY);
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(p.count, 77); /* a failure leaves the output as it was */
    free(of);
    fab_fabric_unref(f);
}
END_TEST

/* Random plans of a maintenance. While a batch is drained, each switch outside of it must keep at
 * least `keep` percent of its ISLs, and no switch may be cut off. */
START_TEST(batches_keep_their_share)
{
    struct fab_prng prng;
    uint32_t batches = 0;
    fab_base_prng_init(&prng, test_seed("plans", 2102));
    for (unsigned round = 0; round < test_rounds(100); round++) {
        struct fab_fabric *f = draw(&prng);
        uint32_t keep = 25 * (1 + (uint32_t)fab_base_prng_below(&prng, 3));
        uint64_t *of = fab_base_bits_new(f->switch_count),
                 *none = fab_base_bits_new(f->switch_count);
        struct fab_drain_plan p;
        for (uint32_t sw = 0; sw < f->switch_count; sw++)
            fab_base_bits_put(of, sw, fab_base_prng_chance(&prng, 0.7));
        const struct fab_drain_plan_input in = {.fabric = f, .of = of, .keep_percent = keep};
        ck_assert_int_eq(fab_health_drain_plan(&in, &p), FAB_OK);
        for (uint32_t b = 0; b < p.count; b++) {
            uint64_t *in = fab_base_bits_new(f->switch_count);
            uint32_t least = 100;
            for (uint32_t sw = 0; sw < f->switch_count; sw++)
                fab_base_bits_put(in, sw, p.batch_of[sw] == b);
            for (uint32_t sw = 0; sw < f->switch_count; sw++) {
                uint32_t all = isls_of(f, sw, p.batch_of, FAB_NONE),
                         left = isls_of(f, sw, p.batch_of, b);
                if (fab_base_bits_get(in, sw) || all == 0)
                    continue;
                ck_assert_uint_ge(left * 100, keep * all);
                least = left * 100 / all < least ? left * 100 / all : least;
            }
            ck_assert_uint_eq(p.batch[b].kept_percent, least);
            const struct fab_drain_input q = {.fabric = f, .switches = in, .transit = none};
            struct fab_drain d;
            ck_assert_int_eq(fab_health_drain(&q, &d), FAB_OK);
            ck_assert_uint_eq(d.first_cut, FAB_NONE);
            ck_assert_uint_eq(d.hosts, p.batch[b].hosts);
            fab_health_drain_fini(&d);
            free(in);
            batches++;
        }
        for (uint32_t sw = 0; sw < f->switch_count; sw++)
            ck_assert(fab_base_bits_get(of, sw) || p.batch_of[sw] == FAB_NONE);
        fab_health_drain_plan_fini(&p);
        free(of);
        free(none);
        fab_fabric_unref(f);
    }
    printf("# %u batches\n", batches);
    fflush(stdout);
    ck_assert_uint_gt(batches, 20);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drain");
    TCase *t = tcase_create("drain");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, random_drains_keep_all_hosts);
    tcase_add_test(t, one_switch_of_a_tree);
    tcase_add_test(t, pods_of_a_tree);
    tcase_add_test(t, all_pods_at_once);
    tcase_add_test(t, batches_keep_their_share);
    tcase_add_test(t, plans_are_stopped);
    suite_add_tcase(s, t);
    return test_run(s);
}
