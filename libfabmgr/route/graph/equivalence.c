/* SPDX-License-Identifier: BSD-3-Clause */
/* The first of each kind, by a table of signatures, half of it empty. */
#include "libfabmgr/route/graph/equivalence.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

int fab_route_equivalence_classes(const struct fab_equivalence *k, uint32_t n, uint32_t *ret_first)
{
    uint32_t room = 64;
    while (room < 2 * n)
        room *= 2;
    uint32_t *first = fab_alloc_array(room, sizeof(*first));
    if (first == NULL)
        return FAB_E_NOMEM;
    memset(first, 0xff, room * sizeof(*first)); /* FAB_NONE */
    for (uint32_t s = 0; s < n; s++) {
        uint32_t at = (uint32_t)fab_mix64(k->sign(k->ctx, s)) & (room - 1);
        while (first[at] != FAB_NONE && !k->alike(k->ctx, first[at], s))
            at = (at + 1) & (room - 1);
        if (first[at] == FAB_NONE)
            first[at] = s;
        ret_first[s] = first[at];
    }
    free(first);
    return FAB_OK;
}
