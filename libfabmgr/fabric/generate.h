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
int fab_fabric_generate_leaf_spine(const struct fab_leaf_spine_spec *spec,
                                   struct fab_builder **ret);

/* Parallel ports generalised fat trees PGFT(h; m; w; p) (Zahavi, "Fat-trees routing and node
 * ordering", 2012); with all p 1 they are extended generalised fat trees, XGFT (Ohring et al., IPPS
 * 1995). Element i of each vector is that of level i + 1: a switch of level l has m[l-1] children;
 * a node of level l-1 (level 0: hosts) has w[l-1] parents, and p[l-1] cables to each of them. With
 * W(l) = w[0] * .. * w[l-1] and M(l) = m[l] * .. * m[h-1]: W(l) * M(l) nodes at level l (hosts at
 * level 0), each with w[l] * p[l] cables up; from any host to any other at most 2h - 1 switches.
 * With w[0] > 1 hosts have ports on that many trees, which nothing but hosts joins.
 * FAB_E_RANGE: levels not 1..6, an element 0, a host with more than 3 ports, a switch with more
 * than 254 (or radix), or more than 2^20 nodes. */
#define FAB_GENERATE_LEVELS 6
struct fab_pgft_spec {
    uint32_t levels, m[FAB_GENERATE_LEVELS], w[FAB_GENERATE_LEVELS], p[FAB_GENERATE_LEVELS];
    uint32_t radix; /* ports of every switch; 0: as many as are used */
};
int fab_fabric_generate_pgft(const struct fab_pgft_spec *spec, struct fab_builder **ret);

/* k-level fat tree of switches with `radix` ports, full bisection (XGFT with half-radix arities):
 * levels 3, radix 36 gives 11,664 hosts and 1,620 switches. taper t: the leaves have t hosts for
 * each uplink, as many as their ports allow (0 and 1: half and half). parallel k: k cables for each
 * of one, to a k-th of the switches above (0 and 1: one); there are fewer and fuller subtrees.
 * FAB_E_RANGE: radix not 2..254, levels not 1..6, no uplink left, half of radix not a multiple of
 * parallel, or more than 2^20 nodes. */
struct fab_fat_tree_spec {
    uint32_t radix, levels, taper, parallel;
};
int fab_fabric_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret);

/* A cluster of servers with several adapters, wired rail by rail: adapter r of each of the
 * `group_size` servers of a group is on that group's leaf r. Server i (from 0) is in group
 * i / group_size, where it has port i % group_size + 1 of each leaf. With G groups, the last of
 * which may have fewer servers: cores 0: G * adapters leaves, each with `parallel` cables to each
 * of `spines` spines else:    each rail has its own `spines` spines above its leaves; spine j of
 * each rail has `core_parallel` cables to each of the `cores` cores at position j: adapters *
 * spines spines and spines * cores cores Adapters of one rail are 3 switches apart at most, those
 * of two rails 3 or (with cores) 5. Names: node-0001/mlx5_0, su01-leaf-1, spine-001 or
 * rail1-spine-01, core-001. FAB_E_RANGE: something but cores is 0 (spines may be 0 with one leaf,
 * core_parallel without cores), a switch with more than 254 ports, or more than 2^20 nodes. */
struct fab_rail_spec {
    uint32_t servers, adapters, group_size, spines, parallel, cores, core_parallel;
};
int fab_fabric_generate_rail(const struct fab_rail_spec *spec, struct fab_builder **ret);

/* Dragonfly (Kim et al., ISCA 2008): `groups` groups of group_size switches, all of a group
 * connected with each other by `parallel` cables; each switch has `global` ports to other groups
 * and `hosts` hosts. Each two groups have group_size * global / (groups - 1) cables, rounded down;
 * what is left over is not used. groups 0: as many as can be, group_size * global + 1. A switch has
 * hosts + (group_size - 1) * parallel + global ports; from any to any other at most 3 cables
 * between switches. FAB_E_RANGE: no switch, groups that cannot all be connected, a switch with none
 * or more than 254 ports, or more than 2^20 nodes. */
struct fab_dragonfly_spec {
    uint32_t groups, group_size, global, hosts, parallel;
};
int fab_fabric_generate_dragonfly(const struct fab_dragonfly_spec *spec, struct fab_builder **ret);

/* Dragonfly+ (Shpiner et al., HiPINEB 2017): each group is leaves with `hosts` hosts each and
 * spines, all leaves connected with all spines by `parallel` cables; each spine has `global` ports
 * to other groups, which are connected as those of a dragonfly are, with spines * global cables a
 * group. From leaf to leaf at most 3 cables between switches. FAB_E_RANGE as for the dragonfly. */
struct fab_dragonfly_plus_spec {
    uint32_t groups, leaves, spines, global, hosts, parallel;
};
int fab_fabric_generate_dragonfly_plus(const struct fab_dragonfly_plus_spec *spec,
                                       struct fab_builder **ret);

#define FAB_GENERATE_DIMENSIONS 6

/* A torus of size[0] x size[1] x ..: each switch has `hosts` hosts and `parallel` cables to the
 * next in each dimension, the last to the first (in a dimension of 2 that would be the same again,
 * and is left out). mesh: the last has no next. With N switches, dimension d has parallel * N
 * cables (torus, size > 2), or parallel * N * (size - 1) / size (mesh, or size 2). From any switch
 * to any other: the sum of size / 2 (torus, rounded down), of size - 1 (mesh). FAB_E_RANGE:
 * dimensions not 1..6, a size 0, parallel 0, a switch with none or more than 254 ports, or more
 * than 2^20 nodes. */
struct fab_torus_spec {
    uint32_t dimensions, size[FAB_GENERATE_DIMENSIONS], hosts, parallel;
    bool mesh;
};
int fab_fabric_generate_torus(const struct fab_torus_spec *spec, struct fab_builder **ret);

/* 2^dimensions switches, each with `hosts` hosts, `parallel` cables to each switch whose number
 * differs in one bit: 2^(dimensions - 1) * dimensions * parallel cables between switches, from any
 * to any other at most `dimensions` of them. FAB_E_RANGE: dimensions more than 16, and as above. */
struct fab_hypercube_spec {
    uint32_t dimensions, hosts, parallel;
};
int fab_fabric_generate_hypercube(const struct fab_hypercube_spec *spec, struct fab_builder **ret);

/* HyperX (Ahn et al., SC 2009): a lattice as the torus, where each switch has `parallel` cables to
 * all others that differ in one coordinate: parallel * N * (size[d] - 1) / 2 cables in dimension d;
 * from any switch to any other as many as there are dimensions of more than one. One dimension is a
 * full mesh. FAB_E_RANGE as for the torus. */
struct fab_hyperx_spec {
    uint32_t dimensions, size[FAB_GENERATE_DIMENSIONS], hosts, parallel;
};
int fab_fabric_generate_hyperx(const struct fab_hyperx_spec *spec, struct fab_builder **ret);

/* A connected random fabric for property tests: `switches` switches, about `degree` cables each,
 * parallel cables and all, adapters with one or two ports; some fabrics with an aggregation node on
 * every switch, some with a router; the same seed gives the same fabric. FAB_E_RANGE: no switch, a
 * switch with more than 254 ports, or about 2^20 cables. */
struct fab_random_spec {
    uint32_t switches, degree, hosts_per_switch;
    uint64_t seed;
};
int fab_fabric_generate_random(const struct fab_random_spec *spec, struct fab_builder **ret);

/* What any fabric may be dressed with, once it is made. All zero: nothing. */
struct fab_variation {
    uint32_t radix;   /* ports of each switch; RANGE where one has more */
    bool aggregation; /* an aggregation node on each switch that has none, on a port after all */
    /* Cables between switches that are not there, chosen by the seed: so many, and so many of a
     * million more. Those left connect what was connected, unless islands are allowed. LIMIT:
     * so many cannot be missing. */
    uint32_t missing, missing_ppm;
    bool allow_partitioned;
    bool shuffle_guids; /* GUIDs of switches among themselves, those of others likewise */
    uint64_t seed;
    /* 1..255: one of several fabrics alike, with GUIDs of its own, the plane's number in front of
     * switches' names ("p2-leaf-001") and behind others' ("host-0001/p2"), and its own cables
     * missing; 0: the only one. */
    uint32_t plane;
    const struct fab_port_info *rate; /* of all cables; NULL: as they are */
};
int fab_fabric_generate_variation(const struct fab_fabric *plain,
                                  const struct fab_variation *variation, struct fab_builder **ret);

#endif
