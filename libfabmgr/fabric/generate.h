/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics made from a description, for tests, demos and benchmarks. */
#ifndef LIBFABMGR_FABRIC_GENERATE_H
#define LIBFABMGR_FABRIC_GENERATE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_leaf_spine_spec {
    uint32_t leaves, spines, hosts_per_leaf;
    uint32_t parallel; /* cables between each leaf and each spine, 1.. */
    uint32_t radix;    /* ports of every switch; 0: as many as are used */
};
/* FAB_E_RANGE: more than 254 (or radix) ports would be needed; no leaf, no cable in parallel, or
 * several leaves without a spine. */
int fab_generate_leaf_spine(const struct fab_leaf_spine_spec *spec, struct fab_builder **ret);

/* k-level fat tree of switches with `radix` ports, full bisection (XGFT with half-radix arities):
 * levels 3, radix 36 gives 11,664 hosts and 1,620 switches. taper t: the leaves have t hosts for
 * each uplink, as many as their ports allow (0 and 1: half and half). FAB_E_RANGE: radix not
 * 2..254, levels not 1..6, no uplink left, or more than 2^20 nodes. */
struct fab_fat_tree_spec {
    uint32_t radix, levels, taper;
};
int fab_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret);

/* A connected random fabric for property tests: `switches` switches, about `degree` cables each,
 * parallel cables and all, adapters with one or two ports; some fabrics with an aggregation node on
 * every switch, some with a router; the same seed gives the same fabric. FAB_E_RANGE: no switch, a
 * switch with more than 254 ports, or about 2^20 cables. */
struct fab_random_spec {
    uint32_t switches, degree, hosts_per_switch;
    uint64_t seed;
};
int fab_generate_random(const struct fab_random_spec *spec, struct fab_builder **ret);

#endif
