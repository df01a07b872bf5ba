/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches that are alike in some way, so that work is done once for all of them. Private. */
#ifndef LIBFABMGR_ROUTE_GRAPH_EQUIVALENCE_H
#define LIBFABMGR_ROUTE_GRAPH_EQUIVALENCE_H

#include <stdbool.h>
#include <stdint.h>

struct fab_equivalence {
    const void *ctx;
    bool (*alike)(const void *ctx, uint32_t a, uint32_t b);
    uint64_t (*sign)(const void *ctx, uint32_t s); /* any number; the same for those alike */
};
/* ret_first: [n] the lowest that is like each of 0..n-1, itself if there is none. NOMEM. */
int fab_route_equivalence_classes(const struct fab_equivalence *k, uint32_t n, uint32_t *ret_first);

#endif
