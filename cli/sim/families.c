/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The topology families that fabsim can generate. A new family needs a function and a row in the
 * table. The functions only copy the values of the options into the specs of
 * libfabmgr/fabric/generate.h, which checks them.
 */
#include <string.h>

#include "cli/sim/generate.h"

/* Returns the value of a numeric option. A value above UINT32_MAX becomes UINT32_MAX, which the
 * generators refuse. */
static uint32_t u32(const struct value *v)
{
    return v->number < UINT32_MAX ? (uint32_t)v->number : UINT32_MAX;
}

static int make_leaf_spine(const struct value *v, struct fab_builder **ret)
{
    struct fab_leaf_spine_spec spec = {.leaves = u32(&v[OPT_LEAVES]),
                                       .spines = u32(&v[OPT_SPINES]),
                                       .hosts_per_leaf = u32(&v[OPT_HOSTS]),
                                       .parallel = u32(&v[OPT_PARALLEL])};
    return fab_fabric_generate_leaf_spine(&spec, ret);
}

static int make_fat_tree(const struct value *v, struct fab_builder **ret)
{
    struct fab_fat_tree_spec spec = {.radix = u32(&v[OPT_RADIX]),
                                     .levels = u32(&v[OPT_LEVELS]),
                                     .taper = u32(&v[OPT_TAPER]),
                                     .parallel = u32(&v[OPT_PARALLEL])};
    return fab_fabric_generate_fat_tree(&spec, ret);
}

/* Copies the list that the user gave for an option. If the user gave none, all elements become
 * 1. */
static void copy_list(const struct value *v, uint32_t *ret)
{
    for (uint32_t i = 0; i < LIST_MAX; i++)
        ret[i] = v->number > 0 ? v->list[i] : 1;
}

/* Makes a fat tree from three lists, with one element for each level. If one list is shorter than
 * another, it has 0 at some level, which the generator refuses. */
static int make_pgft(const struct value *v, struct fab_builder **ret)
{
    struct fab_pgft_spec spec = {.levels = u32(&v[OPT_M])};
    if (u32(&v[OPT_W]) > spec.levels)
        spec.levels = u32(&v[OPT_W]);
    if (u32(&v[OPT_P]) > spec.levels)
        spec.levels = u32(&v[OPT_P]);
    copy_list(&v[OPT_M], spec.m);
    copy_list(&v[OPT_W], spec.w);
    copy_list(&v[OPT_P], spec.p);
    return fab_fabric_generate_pgft(&spec, ret);
}

static int make_rail(const struct value *v, struct fab_builder **ret)
{
    struct fab_rail_spec spec = {.servers = u32(&v[OPT_SERVERS]),
                                 .adapters = u32(&v[OPT_ADAPTERS]),
                                 .group_size = u32(&v[OPT_GROUP_SIZE]),
                                 .spines = u32(&v[OPT_SPINES]),
                                 .parallel = u32(&v[OPT_PARALLEL]),
                                 .cores = u32(&v[OPT_CORES]),
                                 .core_parallel = u32(&v[OPT_CORE_PARALLEL])};
    return fab_fabric_generate_rail(&spec, ret);
}

static int make_dragonfly(const struct value *v, struct fab_builder **ret)
{
    struct fab_dragonfly_spec spec = {.groups = u32(&v[OPT_GROUPS]),
                                      .group_size = u32(&v[OPT_GROUP_SIZE]),
                                      .global = u32(&v[OPT_GLOBAL]),
                                      .hosts = u32(&v[OPT_HOSTS]),
                                      .parallel = u32(&v[OPT_PARALLEL])};
    return fab_fabric_generate_dragonfly(&spec, ret);
}

static int make_dragonfly_plus(const struct value *v, struct fab_builder **ret)
{
    struct fab_dragonfly_plus_spec spec = {.groups = u32(&v[OPT_GROUPS]),
                                           .leaves = u32(&v[OPT_LEAVES]),
                                           .spines = u32(&v[OPT_SPINES]),
                                           .global = u32(&v[OPT_GLOBAL]),
                                           .hosts = u32(&v[OPT_HOSTS]),
                                           .parallel = u32(&v[OPT_PARALLEL])};
    return fab_fabric_generate_dragonfly_plus(&spec, ret);
}

static int make_grid(const struct value *v, bool mesh, struct fab_builder **ret)
{
    struct fab_torus_spec spec = {.dimensions = u32(&v[OPT_SIZE]),
                                  .hosts = u32(&v[OPT_HOSTS]),
                                  .parallel = u32(&v[OPT_PARALLEL]),
                                  .mesh = mesh};
    copy_list(&v[OPT_SIZE], spec.size);
    return fab_fabric_generate_torus(&spec, ret);
}

static int make_torus(const struct value *v, struct fab_builder **ret)
{
    return make_grid(v, false, ret);
}

static int make_mesh(const struct value *v, struct fab_builder **ret)
{
    return make_grid(v, true, ret);
}

static int make_hypercube(const struct value *v, struct fab_builder **ret)
{
    struct fab_hypercube_spec spec = {.dimensions = u32(&v[OPT_DIMENSIONS]),
                                      .hosts = u32(&v[OPT_HOSTS]),
                                      .parallel = u32(&v[OPT_PARALLEL])};
    return fab_fabric_generate_hypercube(&spec, ret);
}

static int make_hyperx(const struct value *v, struct fab_builder **ret)
{
    struct fab_hyperx_spec spec = {.dimensions = u32(&v[OPT_SIZE]),
                                   .hosts = u32(&v[OPT_HOSTS]),
                                   .parallel = u32(&v[OPT_PARALLEL])};
    copy_list(&v[OPT_SIZE], spec.size);
    return fab_fabric_generate_hyperx(&spec, ret);
}

static int make_random(const struct value *v, struct fab_builder **ret)
{
    struct fab_random_spec spec = {.switches = u32(&v[OPT_SWITCHES]),
                                   .degree = u32(&v[OPT_DEGREE]),
                                   .hosts_per_switch = u32(&v[OPT_HOSTS]),
                                   .seed = v[OPT_SEED].number};
    return fab_fabric_generate_random(&spec, ret);
}

#define BIT(id) (UINT64_C(1) << OPT_##id)
#define LATTICE_LIMITS                                                                             \
    "--size is 1 to 6 numbers, none 0, --parallel 1 or more, each switch has 1 to 254 ports, and " \
    "there are at most 1,048,576 nodes"
#define GROUP_LIMITS                                                                               \
    "each group needs a cable to each other (--groups, --global), --parallel is 1 or more, each "  \
    "switch has 1 to 254 ports, and there are at most 1,048,576 nodes"

const struct family families[] = {
    {"leaf-spine", "leaf switches, each connected to each spine",
     BIT(LEAVES) | BIT(SPINES) | BIT(HOSTS), BIT(PARALLEL), make_leaf_spine,
     "each switch has at most 254 ports, each leaf a spine, --parallel is 1 or more"},
    {"fat-tree", "a tree of switches of one radix: half of the ports up, half down",
     BIT(RADIX) | BIT(LEVELS), BIT(TAPER) | BIT(PARALLEL), make_fat_tree,
     "--radix is 2 to 254, --levels 1 to 6, --taper less than the radix, --parallel divides half "
     "of "
     "the radix, and all nodes are at most 1,048,576"},
    {"pgft", "a fat tree PGFT(h; m; w; p) given by its vectors", BIT(M) | BIT(W), BIT(P), make_pgft,
     "--m, --w and --p are 1 to 6 numbers, as many of each, none 0, each switch has at most 254 "
     "ports, a host at most 3, and there are at most 1,048,576 nodes"},
    {"xgft", "a fat tree XGFT(h; m; w) given by its vectors", BIT(M) | BIT(W), 0, make_pgft,
     "--m and --w are 1 to 6 numbers, as many of each, none 0, each switch has at most 254 ports, "
     "a host at most 3, and there are at most 1,048,576 nodes"},
    {"rail", "servers with several adapters; each group of servers has a leaf for each adapter",
     BIT(SERVERS) | BIT(GROUP_SIZE) | BIT(SPINES),
     BIT(ADAPTERS) | BIT(PARALLEL) | BIT(CORES) | BIT(CORE_PARALLEL), make_rail,
     "only --cores may be 0 (--spines too, with one leaf), each switch has at most 254 ports, and "
     "there are at most 1,048,576 nodes"},
    {"dragonfly", "groups of switches: all switches of a group are connected, and all groups",
     BIT(GROUP_SIZE) | BIT(GLOBAL) | BIT(HOSTS), BIT(GROUPS) | BIT(PARALLEL), make_dragonfly,
     GROUP_LIMITS},
    {"dragonfly-plus", "groups of leaves and spines; spines connect the groups",
     BIT(LEAVES) | BIT(SPINES) | BIT(GLOBAL) | BIT(HOSTS), BIT(GROUPS) | BIT(PARALLEL),
     make_dragonfly_plus, GROUP_LIMITS},
    {"torus", "a grid of 1 to 6 dimensions with wraparound", BIT(SIZE) | BIT(HOSTS), BIT(PARALLEL),
     make_torus, LATTICE_LIMITS},
    {"mesh", "a grid of 1 to 6 dimensions", BIT(SIZE) | BIT(HOSTS), BIT(PARALLEL), make_mesh,
     LATTICE_LIMITS},
    {"hypercube", "2^D switches, connected if their numbers differ in one bit",
     BIT(DIMENSIONS) | BIT(HOSTS), BIT(PARALLEL), make_hypercube,
     "--dimensions is at most 16, --parallel 1 or more, each switch has 1 to 254 ports, and there "
     "are at most 1,048,576 nodes"},
    {"hyperx", "a grid of 1 to 6 dimensions, in which all switches of a row are connected",
     BIT(SIZE) | BIT(HOSTS), BIT(PARALLEL), make_hyperx, LATTICE_LIMITS},
    {"random", "switches connected at random", BIT(SWITCHES) | BIT(DEGREE) | BIT(HOSTS), 0,
     make_random,
     "--switches is 1 or more, each switch has at most 254 ports, and there are at most about a "
     "million cables"},
};
const unsigned family_count = sizeof families / sizeof *families;

const struct family *family_find(const char *name)
{
    for (unsigned i = 0; i < family_count; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}
