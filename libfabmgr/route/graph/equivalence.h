/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds equivalence classes, so that a computation whose result is the same for all members of a
 * class is done once. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRAPH_EQUIVALENCE_H
#define LIBFABMGR_ROUTE_GRAPH_EQUIVALENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fab_equivalence {
    const void *ctx;
    bool (*equal)(const void *ctx, uint32_t a, uint32_t b);
    /* returns a hash of element s, which must be equal for all elements of one class */
    uint64_t (*hash)(const void *ctx, uint32_t s);
};
/* Finds the equivalence classes of the elements 0 to n - 1. Sets ret_first[n] to the class
 * representative of each element: the lowest element of its class. Calls hash and equal O(n) times
 * on average. Returns NOMEM if there is no memory. */
int fab_route_equivalence_classes(const struct fab_equivalence *k, uint32_t n, uint32_t *ret_first);

#endif
