/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of fabrics for tests of engines that support any topology: random fabrics, damaged trees,
 * grids, and topology families. Each fabric is passed to a check function, which frees it.
 */
#ifndef TESTS_UNIT_FABRIC_SETS_H
#define TESTS_UNIT_FABRIC_SETS_H

#include "tests/unit/routing.h"

typedef void fabric_set_check(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx);

/* Passes random fabrics of 1 to 40 switches to `check`. Some are damaged, and in some the ports
 * have several LIDs (LMC). */
static inline void fabric_set_random(unsigned count, uint64_t seed, fabric_set_check *check,
                                     void *ctx)
{
    char what[96];
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("random fabrics", seed));
    for (unsigned i = 0; i < count; i++) {
        uint32_t switches = 1 + (uint32_t)fab_base_prng_below(&prng, 40);
        uint32_t degree = 1 + (uint32_t)fab_base_prng_below(&prng, 8);
        uint32_t hosts = (uint32_t)fab_base_prng_below(&prng, 4);
        uint64_t own = fab_base_prng_next(&prng);
        uint8_t lmc =
            (uint8_t)(fab_base_prng_below(&prng, 4) == 0 ? fab_base_prng_below(&prng, 4) : 0);
        struct fab_fabric *f = random_fabric(switches, degree, hosts, own);
        snprintf(what, sizeof(what), "random %u/%u/%u seed %" PRIu64, switches, degree, hosts, own);
        if (fab_base_prng_below(&prng, 3) == 0)
            f = damaged(f, &prng, 0.1, 0.05);
        check(f, lmc, what, ctx);
    }
}

/* Passes trees of two to four levels to `check`, with nodes in random order. The first 12 trees are
 * complete; in the rest, links and switches are missing. From the seventh tree on, the GUIDs of the
 * nodes are changed, too. */
static inline void fabric_set_trees(unsigned count, uint64_t seed, fabric_set_check *check,
                                    void *ctx)
{
    static const struct {
        uint32_t radix, levels, taper;
    } trees[] = {{8, 2, 1}, {6, 3, 1}, {8, 3, 1}, {12, 2, 2}, {4, 4, 1}, {8, 3, 3}};
    struct fab_prng prng;
    char what[96];
    fab_base_prng_init(&prng, test_seed("damaged trees", seed));
    for (unsigned i = 0; i < count; i++) {
        unsigned k = i % (sizeof(trees) / sizeof(trees[0]));
        double cables = i < 12 ? 0 : (double)fab_base_prng_below(&prng, 30) / 100;
        double switches = i < 12 ? 0 : (double)fab_base_prng_below(&prng, 15) / 100;
        struct fab_fabric *f = fat_tree(trees[k].radix, trees[k].levels, trees[k].taper);
        struct fab_fabric *other = retold(f, &prng, i / 6);
        fab_fabric_unref(f);
        snprintf(what, sizeof(what), "tree %u, round %u", k, i);
        check(damaged(other, &prng, cables, switches), 0, what, ctx);
    }
}

/* Passes grids of each size to `check`: a torus with hosts, a torus without hosts, and a mesh.
 * Grids of one dimension are rings and rows. */
static inline void fabric_set_grids(fabric_set_check *check, void *ctx)
{
    static const uint32_t sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {5, 1, 1}, {40, 1, 1},
                                        {2, 2, 1}, {4, 4, 1}, {5, 7, 1}, {9, 9, 1}, {12, 12, 1},
                                        {3, 3, 3}, {5, 4, 3}, {2, 2, 2}, {4, 4, 4}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check(grid(sizes[i], true, 2), 0, "torus", ctx);
        check(grid(sizes[i], false, 1), 1, "mesh", ctx);
        check(grid(sizes[i], true, 0), 0, "torus without hosts", ctx);
    }
}

/* Passes damaged tori to `check`, five of each size. */
static inline void fabric_set_damaged_grids(uint64_t seed, fabric_set_check *check, void *ctx)
{
    static const uint32_t sizes[][3] = {{5, 1, 1},   {40, 1, 1}, {4, 4, 1}, {5, 7, 1}, {9, 9, 1},
                                        {12, 12, 1}, {3, 3, 3},  {5, 4, 3}, {2, 2, 2}, {4, 4, 4}};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("damaged grids", seed));
    for (unsigned i = 0; i < 5 * sizeof(sizes) / sizeof(sizes[0]); i++)
        check(damaged(grid(sizes[i / 5], true, 1), &prng, 0.1, 0.03), 0, "damaged torus", ctx);
}

/* Passes trees of two levels to `check`. All switches have aggregation nodes, and some spines have
 * hosts. In every second tree, links and switches are missing. */
static inline void fabric_set_modern(unsigned count, uint64_t seed, fabric_set_check *check,
                                     void *ctx)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("modern trees", seed));
    for (unsigned i = 0; i < count; i++) {
        uint32_t leaves = 1 + (uint32_t)fab_base_prng_below(&prng, 12);
        uint32_t spines = 1 + (uint32_t)fab_base_prng_below(&prng, 6);
        uint32_t spine_hosts = (uint32_t)fab_base_prng_below(&prng, 3);
        uint32_t parallel = 1 + (uint32_t)fab_base_prng_below(&prng, 3);
        struct fab_fabric *f = modern_tree(leaves, spines, 4, spine_hosts, parallel);
        check(i % 2 == 0 ? f : damaged(f, &prng, 0.2, 0.05), 0, "modern tree", ctx);
    }
}

/* Takes ownership of the builder b. Passes six fabrics to `check`: the fabric without damage, and
 * five times the fabric with random damage. */
static inline void fabric_set_of(struct fab_builder *b, struct fab_prng *prng, const char *what,
                                 fabric_set_check *check, void *ctx)
{
    struct fab_fabric *f = sealed(b);
    check(fab_fabric_ref(f), 0, what, ctx);
    for (unsigned i = 0; i < 5; i++)
        check(damaged(fab_fabric_ref(f), prng, 0.1, 0.05), 0, what, ctx);
    fab_fabric_unref(f);
}

/* Passes dragonflies, a hypercube, HyperX, a full mesh of more than 64 switches, and a fabric with
 * several rails to `check`. */
static inline void fabric_set_families(uint64_t seed, fabric_set_check *check, void *ctx)
{
    struct fab_prng prng;
    struct fab_builder *b = NULL;
    fab_base_prng_init(&prng, test_seed("families", seed));
    struct fab_dragonfly_spec dragonfly = {.group_size = 4, .global = 2, .hosts = 2, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&dragonfly, &b), FAB_OK);
    fabric_set_of(b, &prng, "dragonfly", check, ctx);
    struct fab_dragonfly_plus_spec plus = {
        .groups = 5, .leaves = 4, .spines = 4, .global = 2, .hosts = 4, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_dragonfly_plus(&plus, &b), FAB_OK);
    fabric_set_of(b, &prng, "dragonfly+", check, ctx);
    struct fab_hypercube_spec cube = {.dimensions = 6, .hosts = 1, .parallel = 2};
    ck_assert_int_eq(fab_fabric_generate_hypercube(&cube, &b), FAB_OK);
    fabric_set_of(b, &prng, "hypercube", check, ctx);
    struct fab_hyperx_spec hyperx = {.dimensions = 2, .size = {9, 9}, .hosts = 3, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_hyperx(&hyperx, &b), FAB_OK);
    fabric_set_of(b, &prng, "HyperX", check, ctx);
    struct fab_hyperx_spec mesh = {.dimensions = 1, .size = {90}, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_hyperx(&mesh, &b), FAB_OK);
    fabric_set_of(b, &prng, "full mesh of more than 64", check, ctx);
    struct fab_rail_spec rail = {.servers = 40,
                                 .adapters = 4,
                                 .group_size = 10,
                                 .spines = 4,
                                 .parallel = 1,
                                 .cores = 2,
                                 .core_parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_rail(&rail, &b), FAB_OK);
    fabric_set_of(b, &prng, "rails", check, ctx);
}

#endif
