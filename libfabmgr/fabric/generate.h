/* SPDX-License-Identifier: BSD-3-Clause */
/* Generators of fabrics, for tests, demonstrations and benchmarks. All generators may also return
 * NOMEM. */
#ifndef LIBFABMGR_FABRIC_GENERATE_H
#define LIBFABMGR_FABRIC_GENERATE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_leaf_spine_spec {
    uint32_t leaves, spines, hosts_per_leaf;
    /* Number of links between each leaf and each spine, at least 1. */
    uint32_t parallel;
    /* Number of ports of every switch; 0: as many as the switch needs. */
    uint32_t radix;
};
/* Generates a leaf-spine fabric. RANGE: no leaf, or more than 4096; parallel is 0; several leaves
 * without a spine; a leaf without ports; or a switch needs more ports than radix or 254. */
int fab_fabric_generate_leaf_spine(const struct fab_leaf_spine_spec *spec,
                                   struct fab_builder **ret);

#define FAB_GENERATE_LEVELS 6
/*
 * Parallel ports generalised fat trees PGFT(h; m; w; p) (Zahavi, "Fat-trees routing and node
 * ordering", 2012). If all p are 1, they are extended generalised fat trees, XGFT (Ohring et al.,
 * IPPS 1995). Element i of each vector belongs to level i + 1. A switch of level l has m[l-1]
 * children. A node of level l-1 has w[l-1] parents, and p[l-1] links to each of them. The hosts are
 * the nodes of level 0.
 *
 * Let W(l) = w[0] * .. * w[l-1] and M(l) = m[l] * .. * m[h-1]. Level l has W(l) * M(l) nodes, each
 * with w[l] * p[l] uplinks. Paths between hosts have at most 2h - 1 switches. If w[0] > 1, there
 * are w[0] separate trees, and each host has ports in all of them.
 *
 * RANGE: levels not 1..6, an element 0, a host with more than 3 ports, a switch that needs more
 * ports than radix or 254, or more than 2^20 nodes.
 */
struct fab_pgft_spec {
    uint32_t levels, m[FAB_GENERATE_LEVELS], w[FAB_GENERATE_LEVELS], p[FAB_GENERATE_LEVELS];
    /* Number of ports of each switch; 0: as many as the switch needs. */
    uint32_t radix;
};
int fab_fabric_generate_pgft(const struct fab_pgft_spec *spec, struct fab_builder **ret);

/*
 * A fat tree of switches with `radix` ports each. Without a taper it has full bisection bandwidth:
 * every switch below the highest level has as many uplinks as downlinks. For example, 3 levels with
 * radix 36 give 11,664 hosts and 1,620 switches.
 *
 * `taper` is the number of hosts at a leaf for each of its uplinks; 0 and 1: as many hosts as
 * uplinks. `parallel` is the number of links from a switch to each of its parents; 0 means 1. The
 * number of parents is divided by `parallel`, so that a switch has as many uplinks as without
 * parallel links.
 *
 * RANGE: radix not 2..254, levels not 1..6, a leaf without uplinks, half of radix not a multiple of
 * parallel, or more than 2^20 nodes.
 */
struct fab_fat_tree_spec {
    uint32_t radix, levels, taper, parallel;
};
int fab_fabric_generate_fat_tree(const struct fab_fat_tree_spec *spec, struct fab_builder **ret);

/*
 * A rail-optimised cluster of servers with several adapters. Each group of `group_size` servers has
 * one leaf for each rail: adapter r of each server in the group is connected to leaf r of the
 * group. Server i (from 0) is in group i / group_size, at port i % group_size + 1 of each leaf.
 * With G groups, the last of which may have fewer servers:
 *
 *   - Without cores, there are G * adapters leaves, each with `parallel` links to each of the
 *     `spines` spines.
 *   - With cores, each rail has `spines` spines above its leaves, in total adapters * spines. The
 *     spines with the same number in their rails, one in each rail, share `cores` cores; the total
 *     is spines * cores. Each of these spines has `core_parallel` links to each of these cores.
 *
 * A path between adapters of one rail has at most 3 switches. A path between rails has at most 3
 * switches without cores, and at most 5 with cores. Names are like node-0001/mlx5_0, su01-leaf-1,
 * spine-001 or rail1-spine-01, and core-001.
 *
 * RANGE: a switch has more than 254 ports, there are more than 2^20 nodes, or a value is 0.
 * Exceptions: `cores` may be 0, `core_parallel` may be 0 if `cores` is 0, and `spines` may be 0 if
 * there is only one leaf.
 */
struct fab_rail_spec {
    uint32_t servers, adapters, group_size, spines, parallel, cores, core_parallel;
};
int fab_fabric_generate_rail(const struct fab_rail_spec *spec, struct fab_builder **ret);

/*
 * A dragonfly (Kim et al., ISCA 2008) of `groups` groups with group_size switches each. Every two
 * switches of a group are connected by `parallel` links. Each switch has `hosts` hosts, and
 * `global` ports for links to other groups. groups 0: as many groups as possible, group_size *
 * global + 1.
 *
 * Every two groups are connected by group_size * global / (groups - 1) links, rounded down; the
 * remaining ports are not used. A switch has hosts + (group_size - 1) * parallel + global ports.
 * Shortest paths have at most 3 ISLs.
 *
 * RANGE: no switch, parallel 0, too many groups to connect them all, a switch with 0 or more than
 * 254 ports, or more than 2^20 nodes.
 */
struct fab_dragonfly_spec {
    uint32_t groups, group_size, global, hosts, parallel;
};
int fab_fabric_generate_dragonfly(const struct fab_dragonfly_spec *spec, struct fab_builder **ret);

/*
 * A Dragonfly+ (Shpiner et al., HiPINEB 2017). A group has leaves with `hosts` hosts each, and
 * spines. Each leaf is connected with each spine of the same group by `parallel` links. Each spine
 * has `global` ports to other groups. The groups are connected like the groups of a dragonfly; each
 * group has spines * global ports for these links. Shortest paths between leaves have at most 3
 * ISLs.
 *
 * RANGE: no leaf or no spine in a group, parallel 0, too many groups to connect them all, a switch
 * with more than 254 ports, or more than 2^20 nodes.
 */
struct fab_dragonfly_plus_spec {
    uint32_t groups, leaves, spines, global, hosts, parallel;
};
int fab_fabric_generate_dragonfly_plus(const struct fab_dragonfly_plus_spec *spec,
                                       struct fab_builder **ret);

#define FAB_GENERATE_DIMENSIONS 6

/*
 * A torus or mesh of size[0] x size[1] x .. switches. Each switch has `hosts` hosts and `parallel`
 * links to the next switch in each dimension. In a torus, the last switch is connected with the
 * first, except in a dimension of size 2. In a mesh, the last switch has no next switch.
 *
 * With N switches, a dimension has parallel * N links (torus, size > 2), or parallel * N * (size -
 * 1) / size links (mesh, or size 2). The diameter is the sum of size / 2, rounded down (torus), or
 * of size - 1 (mesh), over all dimensions.
 *
 * RANGE: dimensions not 1..6, a size 0, parallel 0, a switch with 0 or more than 254 ports, or more
 * than 2^20 nodes.
 */
struct fab_torus_spec {
    uint32_t dimensions, size[FAB_GENERATE_DIMENSIONS], hosts, parallel;
    bool mesh;
};
int fab_fabric_generate_torus(const struct fab_torus_spec *spec, struct fab_builder **ret);

/* A hypercube of 2^dimensions switches. Each has `hosts` hosts and `parallel` links to each switch
 * whose number differs in one bit. There are 2^(dimensions - 1) * dimensions * parallel ISLs, and
 * the diameter is `dimensions`. RANGE: more than 16 dimensions, parallel 0, a switch with 0 or more
 * than 254 ports, or more than 2^20 nodes. */
struct fab_hypercube_spec {
    uint32_t dimensions, hosts, parallel;
};
int fab_fabric_generate_hypercube(const struct fab_hypercube_spec *spec, struct fab_builder **ret);

/* HyperX (Ahn et al., SC 2009): a lattice like the torus, in which each switch has `parallel` links
 * to each switch that differs from it in one coordinate. With N switches, dimension d has parallel
 * * N * (size[d] - 1) / 2 links. The diameter is the number of dimensions of size > 1. A HyperX of
 * one dimension is a full mesh. RANGE: dimensions not 1..6, a size 0, parallel 0, a switch with 0
 * or more than 254 ports, or more than 2^20 nodes. */
struct fab_hyperx_spec {
    uint32_t dimensions, size[FAB_GENERATE_DIMENSIONS], hosts, parallel;
};
int fab_fabric_generate_hyperx(const struct fab_hyperx_spec *spec, struct fab_builder **ret);

/* A connected random fabric for property tests. It has `switches` switches with about `degree`
 * links each, some of them parallel, and adapters with one or two ports. Some of these fabrics have
 * an aggregation node at every switch, some a router. The same seed gives the same fabric. RANGE:
 * no switch, a switch with more than 254 ports, or more than about 2^20 links. */
struct fab_random_spec {
    uint32_t switches, degree, hosts_per_switch;
    uint64_t seed;
};
int fab_fabric_generate_random(const struct fab_random_spec *spec, struct fab_builder **ret);

/* Changes to a generated fabric. If all members are 0, nothing is changed. */
struct fab_variation {
    /* number of ports of each switch; 0: unchanged. If a switch of the fabric has more ports, the
     * function returns RANGE */
    uint32_t radix;
    /* true: each switch without an aggregation node gets one, at an additional port after the last
     * one */
    bool aggregation;
    /* How many ISLs are removed at random: the number `missing`, plus the share `missing_ppm`
     * (parts per million) of all ISLs. The fabric stays connected unless allow_partitioned is set.
     * If fewer links can be removed than requested, LIMIT is returned. */
    uint32_t missing, missing_ppm;
    bool allow_partitioned;
    /* true: the GUIDs are permuted at random: those of switches among the switches, all others
     * among the other nodes */
    bool shuffle_guids;
    uint64_t seed;
    /* Number of this fabric, 1..255, in a set of parallel fabrics (planes); 0: there are no planes.
     * The number changes the GUIDs, the choice of missing links, and the names, as in "p2-leaf-001"
     * (a switch) and "host-0001/p2" (another node). */
    uint32_t plane;
    /* Width and speed of all links; NULL: unchanged. */
    const struct fab_port_info *rate;
};
/* Makes a fabric like `plain` with the changes that `variation` describes. RANGE: a member of
 * *variation is out of range, or a switch would have more ports than `radix` or 254. LIMIT: fewer
 * ISLs can be removed than requested. Also returns NOMEM. */
int fab_fabric_generate_variation(const struct fab_fabric *plain,
                                  const struct fab_variation *variation, struct fab_builder **ret);

#endif
