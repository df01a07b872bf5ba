/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of all switches for up to 64 destination switches. Private to the room. */
#ifndef LIBFABMGR_ROUTE_FILL_H
#define LIBFABMGR_ROUTE_FILL_H

#include "libfabmgr/route/lanes.h"

struct fab_fill {
    const struct fab_tree *t;
    const struct fab_lanes *lanes;
    uint32_t first, count; /* the destinations at hand: lanes->sw[first..first + count) */
    const uint8_t *way;    /* [n][64] of fab_legal_ways */
    const struct fab_lft *lft;
};
/* Those of one switch. ways are known. */
void fab_fill_switch(const struct fab_fill *f, uint32_t s);

#endif
