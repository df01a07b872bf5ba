/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel dependency graph. Private to the room. */
#ifndef LIBFABMGR_VERIFY_DEPENDENCIES_H
#define LIBFABMGR_VERIFY_DEPENDENCIES_H

#include "libfabmgr/verify/switch_graph.h"

/* A channel is a lane of the out port of a switch whose cable leads to another switch: port id *
 * lanes + VL. It depends on the channels of that switch that its packets go on to: of each lane,
 * bit i is port i + 1 of the peer (port 0 has no cable). */
struct fab_verify_deps {
    const struct fab_verify_graph *net;
    uint32_t lanes; /* 1.. */
    uint32_t words; /* a lane of the next: enough for the widest switch */
    uint64_t *bits; /* [ports][lanes][lanes][words] */
};
int fab_verify_deps_init(struct fab_verify_deps *c, const struct fab_verify_graph *net,
                         uint32_t lanes);
void fab_verify_deps_fini(struct fab_verify_deps *c);

/* In the words of one channel. */
static inline void fab_verify_deps_set(uint64_t *words, uint8_t next_num)
{
    if (next_num > 0)
        words[(next_num - 1) / 64] |= UINT64_C(1) << ((next_num - 1) % 64);
}
/* With one lane. */
static inline void fab_verify_deps_add(struct fab_verify_deps *c, uint32_t channel,
                                       uint8_t next_num)
{
    fab_verify_deps_set(c->bits + (size_t)channel * c->words, next_num);
}
static inline void fab_verify_deps_add_vl(struct fab_verify_deps *c, uint32_t channel,
                                          uint8_t next_num, uint8_t next_vl)
{
    fab_verify_deps_set(c->bits + ((size_t)channel * c->lanes + next_vl) * c->words, next_num);
}
/* Adds those of another one for the same net and lanes. */
void fab_verify_deps_merge(struct fab_verify_deps *to, const struct fab_verify_deps *from);
/* Forgets dependencies on what is no channel (the last cable to an end); counts what is left. */
uint64_t fab_verify_deps_prune(struct fab_verify_deps *c);
/* OK: acyclic. FAB_E_CYCLE: a cycle, as short as was found, in order; malloc'd. NOMEM. */
int fab_verify_deps_cycle(const struct fab_verify_deps *c, uint32_t **ret_cycle,
                          uint32_t *ret_count);

#endif
