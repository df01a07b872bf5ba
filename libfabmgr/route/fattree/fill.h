/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of all switches. Private to the room. */
#ifndef LIBFABMGR_ROUTE_FATTREE_FILL_H
#define LIBFABMGR_ROUTE_FATTREE_FILL_H

#include "libfabmgr/base/crew.h"
#include "libfabmgr/route/fattree/dmodk.h"

/* All of them: 64 destinations are a piece of work for one hand of the crew (or NULL). */
int fab_route_tree_fill(const struct fab_tree *t, const struct fab_dmodk *lanes,
                        const struct fab_crew *crew, const struct fab_lft *lft);

#endif
