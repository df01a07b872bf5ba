/* SPDX-License-Identifier: BSD-3-Clause */
/* An acyclic channel dependency graph (acyclic_cdg.h) whose nodes are pairs of an arc and a VL. An
 * arc stands for all parallel links from a switch to one neighbour. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_VL_CDG_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_VL_CDG_H

#include "libfabmgr/route/dependencies/acyclic_cdg.h"

struct fab_vl_cdg {
    struct fab_arena arena; /* memory of the graph's arrays */
    uint32_t vls;
    /* a copy of the graph of the switches, in which each arc is repeated for each VL */
    struct fab_graph graph;
    struct fab_cdg cdg;
};
/* Returns a number that says where the channel from switch `from` to switch `to` on VL `vl` should
 * be in the initial topological order. Additions are fast if most dependencies lead to channels
 * with greater numbers. */
typedef uint64_t fab_vl_cdg_rank(const void *ctx, uint32_t from, uint32_t to, uint32_t vl);
/* Creates a graph in which no dependency is in use. `budget` limits the work of all additions
 * (struct fab_cdg). Returns NOMEM if there is no memory. *t contains pointers into itself, so the
 * caller must not copy or move *t. */
int fab_route_vl_cdg_init(struct fab_vl_cdg *t, const struct fab_graph *g, uint32_t vls,
                          uint64_t budget, fab_vl_cdg_rank *rank, const void *ctx);
void fab_route_vl_cdg_fini(struct fab_vl_cdg *t);

/* Adds a dependency of arc `from` on VL from_vl on arc `to` on VL to_vl. Returns false if this
 * would close a cycle, if the budget is used up, or if there is no memory. */
static inline bool fab_route_vl_cdg_add(struct fab_vl_cdg *t, uint32_t from, uint32_t from_vl,
                                        uint32_t to, uint32_t to_vl)
{
    return fab_route_cdg_add(&t->cdg, from * t->vls + from_vl, to * t->vls + to_vl);
}

#endif
