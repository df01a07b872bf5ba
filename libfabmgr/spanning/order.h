/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph of channel dependencies that never has a cycle: fab_spanning_order_add refuses a
 * dependency that would close a cycle. For this folder only. */
#ifndef LIBFABMGR_SPANNING_ORDER_H
#define LIBFABMGR_SPANNING_ORDER_H

#include "libfabmgr/verify/channels.h"

struct fab_spanning_order {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_verify_graph *graph;
    const struct fab_fabric *f;
    /* the channel dependencies of unicast packets, and those that fab_spanning_order_add added */
    struct fab_verify_deps deps;
    /* [channels] position of each channel in the order; packets continue only on channels with
     * greater positions */
    uint32_t *position;
    uint32_t *ahead, *behind, *places; /* [channels] scratch memory of fab_spanning_order_add */
    /* [channels] true: the search that is running has visited the channel; between two calls, all
     * elements are false */
    bool *seen;
};
/* Makes an order in which every unicast packet passes channels at ascending positions. Returns OK,
 * NOMEM, or CYCLE if the dependencies of unicast packets have a cycle. */
int fab_spanning_order_init(struct fab_spanning_order *o,
                            const struct fab_verify_channels *unicast);
void fab_spanning_order_fini(struct fab_spanning_order *o);
/* Adds the dependency of packets that leave a switch by `channel`, and leave the next switch by its
 * port number `next_num` on VL `next_vl`. This port must have a link to a switch. If the dependency
 * would close a cycle, changes nothing and returns false. */
bool fab_spanning_order_add(struct fab_spanning_order *o, uint32_t channel, uint32_t next_num,
                            uint32_t next_vl);
void fab_spanning_order_remove(struct fab_spanning_order *o, uint32_t channel, uint32_t next_num,
                               uint32_t next_vl);

#endif
