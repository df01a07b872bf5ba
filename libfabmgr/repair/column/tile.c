/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathering. Tables lie switch by switch; a column is a byte in each of thousands of pages. When a
 * leaf loses a cable, all LIDs of its ends are concerned in hundreds of switches each. These LIDs
 * follow each other, so one look at each switch's table brings all of them, and they are put side
 * by side as columns, a few kB each, before work on them begins: computing, proving and
 * ordering alike.
 */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/repair/internal.h"

#define AHEAD 16 /* rows */

uint32_t fab_repair_tile_width(const struct fab_repair *r, uint32_t first)
{
    const struct fab_repair_network *b = r->base;
    uint32_t count = 1;
    while (count < FAB_REPAIR_TILE_LIDS && first + count <= b->top &&
           b->home[first + count] == b->home[first])
        count++;
    return count;
}

static bool has_room(struct fab_repair_tile *g, size_t bytes)
{
    if (g->room >= bytes)
        return true;
    free(g->table);
    g->table = malloc(bytes);
    g->room = g->table != NULL ? bytes : 0;
    return g->table != NULL;
}

void fab_repair_tile_load(struct fab_repair *r, const struct fab_lft *lft, uint32_t first,
                          uint32_t count)
{
    struct fab_repair_tile *g = &r->gathered;
    uint32_t n = r->base->n;
    g->count = 0;
    if (!has_room(g, (size_t)n * count))
        return;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *from = fab_target_lft_row(lft, sw) + first;
        if (sw + AHEAD < n) {
            const uint8_t *ahead = fab_target_lft_row(lft, sw + AHEAD) + first;
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + count - 1);
        }
        for (uint32_t i = 0; i < count; i++)
            g->table[(size_t)i * n + sw] = from[i];
    }
    g->first = first;
    g->count = count;
}
