/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds class representatives with an open-addressing hash table that is at most half full. */
#include "libfabmgr/route/graph/equivalence.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

int fab_route_equivalence_classes(const struct fab_equivalence *k, uint32_t n, uint32_t *ret_first)
{
    uint32_t size = 64;
    while (size < 2 * n)
        size *= 2;
    uint32_t *first = fab_base_alloc_array(size, sizeof(*first));
    if (first == NULL)
        return FAB_E_NOMEM;
    memset(first, 0xff, size * sizeof(*first)); /* sets all elements of first[] to FAB_NONE */
    for (uint32_t s = 0; s < n; s++) {
        uint32_t at = (uint32_t)fab_base_mix64(k->hash(k->ctx, s)) & (size - 1);
        while (first[at] != FAB_NONE && !k->equal(k->ctx, first[at], s))
            at = (at + 1) & (size - 1);
        if (first[at] == FAB_NONE)
            first[at] = s;
        ret_first[s] = first[at];
    }
    free(first);
    return FAB_OK;
}
