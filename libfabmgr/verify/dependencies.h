/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel dependency graph. For this folder only. */
#ifndef LIBFABMGR_VERIFY_DEPENDENCIES_H
#define LIBFABMGR_VERIFY_DEPENDENCIES_H

#include "libfabmgr/verify/switch_graph.h"

/* A channel is an ISL in one direction on one VL, named by (id of the out port) * vl_count + VL.
 * It depends on the channels of the next switch that its packets continue on. Those are bits,
 * `words` of them for each VL of the next channel: bit i is port i + 1 of the next switch (port 0
 * has no link). */
struct fab_verify_deps {
    const struct fab_verify_graph *graph;
    uint32_t vl_count; /* 1.. */
    uint32_t words; /* 64-bit words for one VL of the next switch; enough for the widest switch */
    uint64_t *bits; /* [ports][vl_count][vl_count][words] */
};
/* Creates a graph without dependencies. Returns NOMEM. */
int fab_verify_deps_init(struct fab_verify_deps *c, const struct fab_verify_graph *graph,
                         uint32_t vl_count);
void fab_verify_deps_fini(struct fab_verify_deps *c);

/* Sets the bit of a next port in the words of one channel. */
static inline void fab_verify_deps_set(uint64_t *words, uint8_t next_num)
{
    if (next_num > 0)
        words[(next_num - 1) / 64] |= UINT64_C(1) << ((next_num - 1) % 64);
}
/* Notes that packets continue from `channel` by port next_num of the next switch; for one VL. */
static inline void fab_verify_deps_add(struct fab_verify_deps *c, uint32_t channel,
                                       uint8_t next_num)
{
    fab_verify_deps_set(c->bits + (size_t)channel * c->words, next_num);
}
static inline void fab_verify_deps_add_vl(struct fab_verify_deps *c, uint32_t channel,
                                          uint8_t next_num, uint8_t next_vl)
{
    fab_verify_deps_set(c->bits + ((size_t)channel * c->vl_count + next_vl) * c->words, next_num);
}
/* Adds the dependencies of another set for the same network and VLs. */
void fab_verify_deps_merge(struct fab_verify_deps *to, const struct fab_verify_deps *from);
/* Removes dependencies on ports that are no channels (the last link, to an endport). Returns how
 * many dependencies are left. */
uint64_t fab_verify_deps_prune(struct fab_verify_deps *c);
/* Returns OK (acyclic), CYCLE (*ret_cycle is a short cycle, in order, which the caller frees) or
 * NOMEM. */
int fab_verify_deps_cycle(const struct fab_verify_deps *c, uint32_t **ret_cycle,
                          uint32_t *ret_count);

#endif
