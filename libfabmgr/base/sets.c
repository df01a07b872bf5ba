/* SPDX-License-Identifier: BSD-3-Clause */
/* Union-find with path halving (Tarjan and van Leeuwen 1984). The lowest number of a set is its
 * root, so results do not depend on the order of joining. */
#include "libfabmgr/base/sets.h"

void fab_base_sets_init(uint32_t *sets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sets[i] = i;
}

uint32_t fab_base_sets_find(uint32_t *sets, uint32_t i)
{
    while (sets[i] != i) {
        sets[i] = sets[sets[i]];
        i = sets[i];
    }
    return i;
}

bool fab_base_sets_join(uint32_t *sets, uint32_t a, uint32_t b)
{
    a = fab_base_sets_find(sets, a);
    b = fab_base_sets_find(sets, b);
    sets[a < b ? b : a] = a < b ? a : b;
    return a != b;
}
