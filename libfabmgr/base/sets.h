/* SPDX-License-Identifier: BSD-3-Clause */
/* Disjoint sets of the numbers 0..n-1, that are joined (union-find). Room is the caller's. */
#ifndef LIBFABMGR_BASE_SETS_H
#define LIBFABMGR_BASE_SETS_H

#include <stdint.h>

/* sets[n]: each number alone. */
void fab_base_sets_init(uint32_t *sets, uint32_t n);
/* The lowest number of the set that i is in. */
uint32_t fab_base_sets_find(uint32_t *sets, uint32_t i);
void fab_base_sets_join(uint32_t *sets, uint32_t a, uint32_t b);

#endif
