/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel dependency graph. Only this folder, libfabmgr/transition and libfabmgr/spanning use
 * this header. */
#ifndef LIBFABMGR_VERIFY_DEPENDENCIES_H
#define LIBFABMGR_VERIFY_DEPENDENCIES_H

#include "libfabmgr/verify/switch_graph.h"

/* A channel is an ISL in one direction on one VL; its number is (port id of the sending port) *
 * vl_count + VL. Its packets arrive at the next switch and leave that switch on other channels: the
 * channel depends on these. The dependencies of a channel are stored as bits: `words` words for
 * each VL of the next channel. Bit i stands for port i + 1 of the next switch, because port 0 has
 * no link. */
struct fab_verify_deps {
    const struct fab_verify_graph *graph;
    uint32_t vl_count; /* at least 1 */
    /* number of 64-bit words that a bitset of the ports of a switch needs; the same for all
     * switches, so it depends on the switch with the most ports */
    uint32_t words;
    uint64_t *bits; /* [ports][vl_count][vl_count][words] */
};
/* Creates a graph without dependencies. Returns NOMEM if there is no memory. */
int fab_verify_deps_init(struct fab_verify_deps *c, const struct fab_verify_graph *graph,
                         uint32_t vl_count);
void fab_verify_deps_fini(struct fab_verify_deps *c);
/* Returns the size of `bits` in bytes. */
static inline size_t fab_verify_deps_size(const struct fab_verify_deps *c)
{
    return (size_t)c->graph->ports * c->vl_count * c->vl_count * c->words * sizeof(*c->bits);
}
/* Returns a pointer to the word with the bit that says whether packets of `channel` leave the next
 * switch by port `next_num` (at least 1) on VL `next_vl`. It is bit (next_num - 1) % 64 of the
 * word. */
static inline uint64_t *fab_verify_deps_word(const struct fab_verify_deps *c, uint32_t channel,
                                             uint32_t next_num, uint32_t next_vl)
{
    return c->bits + ((size_t)channel * c->vl_count + next_vl) * c->words + (next_num - 1) / 64;
}
/* Returns true if packets of `channel` leave the next switch by port `next_num` on VL `next_vl`. */
static inline bool fab_verify_deps_has(const struct fab_verify_deps *c, uint32_t channel,
                                       uint32_t next_num, uint32_t next_vl)
{
    return (*fab_verify_deps_word(c, channel, next_num, next_vl) >> (next_num - 1) % 64 & 1) != 0;
}

/* Sets the bit of port `next_num` of the next switch. Does nothing for port 0, which has no link.
 * `words` points to the bits that one channel has for one VL of the next switch. */
static inline void fab_verify_deps_set(uint64_t *words, uint8_t next_num)
{
    if (next_num > 0)
        words[(next_num - 1) / 64] |= UINT64_C(1) << ((next_num - 1) % 64);
}
/* fab_verify_deps_add and fab_verify_deps_add_vl record that packets of `channel` leave the next
 * switch by port `next_num`. The first function is for tables with one VL. The second one also
 * takes the VL on which the packets leave. */
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
/* Adds to *to the dependencies of *from, a graph of the same switches and VLs. */
void fab_verify_deps_merge(struct fab_verify_deps *to, const struct fab_verify_deps *from);
/* Removes dependencies on ports that lead to no switch, because these ports have no channels.
 * Returns the number of dependencies left. */
uint64_t fab_verify_deps_prune(struct fab_verify_deps *c);
/* Looks for a cycle. Returns OK if the graph is acyclic, NOMEM, or CYCLE. After CYCLE, *ret_cycle
 * lists the channels of a short cycle in order, and the caller frees the list. */
int fab_verify_deps_cycle(const struct fab_verify_deps *c, uint32_t **ret_cycle,
                          uint32_t *ret_count);
/* Gives each channel a label: 1 + the length of the longest chain of dependencies that ends at this
 * channel. ret_number[] has the labels, by number of the channel (struct fab_verify_deps). If a
 * port has no channel, its elements are 0. Returns OK, NOMEM, or CYCLE if the dependencies have a
 * cycle; then no such labels exist. */
int fab_verify_deps_number(const struct fab_verify_deps *c, uint32_t *ret_number);

/* Computes the dependencies of all packets that follow the tables graph->in->lft, as if there were
 * one VL (verify.c). Sets *ret_arrive to true if each pair has a path, otherwise to false. Returns
 * NOMEM if there is no memory, or INVAL if graph->in has VL tables that are not valid. */
int fab_verify_dependencies(const struct fab_verify_graph *graph, struct fab_verify_deps *ret,
                            bool *ret_arrive);

#endif
