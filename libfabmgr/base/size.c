/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays grow geometrically, so that n appends copy O(n) items in total. */
#include "libfabmgr/base/size.h"

#include <assert.h>

#define FIRST_CAPACITY 16

void *fab_base_grow(void *items, size_t item, size_t need, size_t *capacity)
{
    size_t want, bytes;
    assert(need > 0 && item > 0);
    if (items != NULL && need <= *capacity)
        return items;
    if (!fab_base_size_add(*capacity, *capacity / 2, &want) || want < need)
        want = need;
    if (want < FIRST_CAPACITY)
        want = FIRST_CAPACITY;
    if (!fab_base_size_mul(want, item, &bytes))
        return NULL;
    void *grown = realloc(items, bytes);
    if (grown != NULL)
        *capacity = want;
    return grown;
}
