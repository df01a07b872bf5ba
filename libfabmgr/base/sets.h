/* SPDX-License-Identifier: BSD-3-Clause */
/* Union-find: disjoint sets of the numbers 0..n-1, in an array that the caller allocates. */
#ifndef LIBFABMGR_BASE_SETS_H
#define LIBFABMGR_BASE_SETS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes each number 0..n-1 a set of its own. `sets` has n elements. */
void fab_base_sets_init(uint32_t *sets, uint32_t n);
/* Returns the lowest number of the set that contains i. */
uint32_t fab_base_sets_find(uint32_t *sets, uint32_t i);
/* Joins the sets that contain a and b. Returns false if a and b were in the same set already. */
bool fab_base_sets_join(uint32_t *sets, uint32_t a, uint32_t b);

#endif
