/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the owners of memory that several values share. While the memory is shared, no owner
 * writes to it. */
#ifndef LIBFABMGR_BASE_OWNERS_H
#define LIBFABMGR_BASE_OWNERS_H

#include <stdbool.h>
#include <stdlib.h>

#include "libfabmgr/base/status.h"

/* Adds an owner. *owners points to the count that all owners share. If *owners is NULL, there is
 * one owner so far, and the function allocates the count. Only one thread at a time may add owners.
 * Returns OK or NOMEM. */
static inline int fab_base_owners_add(int **owners)
{
    if (*owners == NULL) {
        int *made = malloc(sizeof(*made));
        if (made == NULL)
            return FAB_E_NOMEM;
        *made = 1;
        *owners = made;
    }
    __atomic_add_fetch(*owners, 1, __ATOMIC_RELAXED);
    return FAB_OK;
}

/* Removes an owner; any thread may call this function. Returns true if no owner is left; the caller
 * then frees the memory. */
static inline bool fab_base_owners_remove(int *owners)
{
    if (owners != NULL && __atomic_sub_fetch(owners, 1, __ATOMIC_ACQ_REL) > 0)
        return false;
    free(owners);
    return true;
}

#endif
