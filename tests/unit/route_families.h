/* SPDX-License-Identifier: BSD-3-Clause */
/* Families of small fabrics, with faults, and the engines that route them. */
#ifndef TESTS_UNIT_ROUTE_FAMILIES_H
#define TESTS_UNIT_ROUTE_FAMILIES_H

#include "tests/unit/naive.h"
#include "tests/unit/routing.h"

/* Returns a copy of f in which some links have failed, or all links of a switch. The copy has the
 * same nodes and LIDs. */
static inline struct fab_fabric *damaged_copy(const struct fab_fabric *f, struct fab_prng *prng)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    double rate = (double)fab_base_prng_below(prng, 4) / (f->link_count + 1.0);
    uint32_t dead = FAB_NONE;
    if (fab_base_prng_chance(prng, 0.2))
        dead = (uint32_t)fab_base_prng_below(prng, f->switch_count);
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        if (naive_is_channel(f, port) && (p->node == dead || fab_base_prng_chance(prng, rate)))
            ck_assert_int_eq(fab_fabric_builder_unlink(b, p->node, p->num), FAB_OK);
    }
    return sealed(b);
}

static inline struct fab_fabric *trees(struct fab_prng *prng)
{
    static const uint32_t shapes[][2] = {{4, 3}, {6, 3}, {8, 2}, {12, 2}};
    const uint32_t *shape = shapes[fab_base_prng_below(prng, 4)];
    return fat_tree(shape[0], shape[1], 1);
}

static inline struct fab_fabric *random_ones(struct fab_prng *prng)
{
    uint32_t switches = 4 + (uint32_t)fab_base_prng_below(prng, 20);
    return random_fabric(switches, 3 + (uint32_t)fab_base_prng_below(prng, 3), 1,
                         fab_base_prng_next(prng));
}

static inline struct fab_fabric *draw_grid(struct fab_prng *prng, bool mesh)
{
    struct fab_torus_spec spec = {.dimensions = 2, .hosts = 1, .parallel = 1, .mesh = mesh};
    struct fab_builder *b = NULL;
    spec.size[0] = 3 + (uint32_t)fab_base_prng_below(prng, 3);
    spec.size[1] = 3 + (uint32_t)fab_base_prng_below(prng, 3);
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

static inline struct fab_fabric *tori(struct fab_prng *prng)
{
    return draw_grid(prng, false);
}

static inline struct fab_fabric *meshes(struct fab_prng *prng)
{
    return draw_grid(prng, true);
}

static inline struct fab_fabric *dragonflies(struct fab_prng *prng)
{
    struct fab_dragonfly_spec spec = {.group_size = 2 + (uint32_t)fab_base_prng_below(prng, 2),
                                      .global = 1,
                                      .hosts = 1,
                                      .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&spec, &b), FAB_OK);
    return sealed(b);
}

static inline struct fab_fabric *rails(struct fab_prng *prng)
{
    struct fab_rail_spec spec = {.servers = 4,
                                 .adapters = 2 + (uint32_t)fab_base_prng_below(prng, 2),
                                 .group_size = 2,
                                 .spines = 2 + (uint32_t)fab_base_prng_below(prng, 2),
                                 .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), FAB_OK);
    return sealed(b);
}

static inline struct fab_fabric *hypercubes(struct fab_prng *prng)
{
    struct fab_hypercube_spec spec = {
        .dimensions = 3 + (uint32_t)fab_base_prng_below(prng, 2), .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_hypercube(&spec, &b), FAB_OK);
    return sealed(b);
}

static inline struct fab_fabric *hyperxs(struct fab_prng *prng)
{
    struct fab_hyperx_spec spec = {.dimensions = 2, .size = {3, 3}, .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    spec.size[0] += (uint32_t)fab_base_prng_below(prng, 2);
    ck_assert_int_eq(fab_fabric_generate_hyperx(&spec, &b), FAB_OK);
    return sealed(b);
}

static const struct family {
    const char *name;
    struct fab_fabric *(*draw)(struct fab_prng *prng);
    const char *engines[9];
} families[] = {
    {"trees", trees, {"fattree", "updn", "minhop", "sssp", "dfsssp", "nue"}},
    {"random fabrics", random_ones, {"updn", "minhop", "sssp", "dfsssp", "nue"}},
    {"tori", tori, {"torus", "dor", "updn", "dfsssp", "nue"}},
    {"meshes", meshes, {"dor", "updn", "minhop", "dfsssp", "nue"}},
    {"dragonflies", dragonflies, {"dragonfly", "updn", "minhop", "dfsssp", "nue"}},
    {"rails", rails, {"fattree", "updn", "minhop", "sssp", "dfsssp", "nue"}},
    {"hypercubes", hypercubes, {"dor", "updn", "minhop", "sssp", "dfsssp", "nue"}},
    {"hyperx", hyperxs, {"dor", "updn", "minhop", "sssp", "dfsssp", "nue"}},
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

#endif
