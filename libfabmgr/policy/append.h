/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends to an array whose owner stores only its length. The capacity of the array is its length,
 * rounded up to a power of two. For this folder only. */
#ifndef LIBFABMGR_POLICY_APPEND_H
#define LIBFABMGR_POLICY_APPEND_H

#include <stddef.h>

/* Appends the item at `value` to an array, and increments *count. items: address of the caller's
 * pointer to the array. item: size of one item in bytes. If the function returns NOMEM, the array
 * has not changed. */
int fab_policy_append(void *items, size_t item, size_t *count, const void *value);

#define APPEND(list, count, value) fab_policy_append(&(list), sizeof(*(list)), &(count), (value))

#endif
