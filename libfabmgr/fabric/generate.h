/* Fabrics made from a description, for tests, demos and benchmarks. */
#ifndef LIBFABMGR_FABRIC_GENERATE_H
#define LIBFABMGR_FABRIC_GENERATE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_leaf_spine_spec {
    uint32_t leaves, spines, hosts_per_leaf;
    uint32_t parallel; /* cables between each leaf and each spine, 1.. */
    uint32_t radix;    /* ports of every switch; 0: as many as are used */
};
/* FAB_E_RANGE: more than 254 ports would be needed. */
int fab_generate_leaf_spine(const struct fab_leaf_spine_spec *spec, struct fab_builder **ret);

/* k-level fat tree of switches with `radix` ports, full bisection (XGFT with half-radix arities):
 * levels 3, radix 36 gives 11,664 hosts and 1,620 switches. taper t: the leaves have t hosts for
 * each uplink. */
struct fab_fat_tree_spec {
    uint32_t radix, levels, taper;
};
int fab_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret);

/* A connected random fabric for property tests: `switches` switches, about `degree` cables each,
 * parallel cables and all, adapters with one or two ports, some aggregation nodes; the same seed
 * gives the same fabric. */
struct fab_random_spec {
    uint32_t switches, degree, hosts_per_switch;
    uint64_t seed;
};
int fab_generate_random(const struct fab_random_spec *spec, struct fab_builder **ret);

#endif
