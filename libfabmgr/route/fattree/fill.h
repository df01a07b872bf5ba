/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the LFT entries of all switches of a fat tree. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_FATTREE_FILL_H
#define LIBFABMGR_ROUTE_FATTREE_FILL_H

#include "libfabmgr/base/pool.h"
#include "libfabmgr/route/fattree/dmodk.h"

/* Writes the LFT entries of all switches. Each task of the thread pool fills some batches of 64
 * destination switches. Without a pool (NULL), the caller's thread does all the work. Returns NOMEM
 * if there is no memory. */
int fab_route_tree_fill(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                        const struct fab_pool *pool, const struct fab_lft *lft);

#endif
