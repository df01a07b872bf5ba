/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the entries of all switches. For this folder only. */
#ifndef LIBFABMGR_ROUTE_FATTREE_FILL_H
#define LIBFABMGR_ROUTE_FATTREE_FILL_H

#include "libfabmgr/base/pool.h"
#include "libfabmgr/route/fattree/dmodk.h"

/* Writes all entries. A work item of the thread pool is some batches of 64 destinations; without a
 * pool (NULL) the caller's thread does all. Fails only with NOMEM. */
int fab_route_tree_fill(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                        const struct fab_pool *pool, const struct fab_lft *lft);

#endif
