/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tile is a copy of the columns of consecutive LIDs.
 *
 * The tables are stored switch by switch, so a column is one byte in each of thousands of memory
 * pages. When a leaf switch loses a link, entries of hundreds of switches change for every LID of
 * its endports. These LIDs are consecutive. So one pass over the switches copies the columns of all
 * these LIDs, a few kB each. The LIDs of a tile lie in one page of the tables. Planning, proof and
 * ordering then read the copies.
 */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/repair/internal.h"

/* distance, in switches, between the row that is copied and the row that is prefetched */
#define PREFETCH_ROWS 16

uint32_t fab_repair_tile_width(const struct fab_repair *r, uint32_t first)
{
    const struct fab_repair_network *b = r->network;
    uint32_t count = 1;
    while (count < FAB_REPAIR_TILE_LIDS && first + count <= b->top &&
           (first + count) % FAB_LFT_PAGE != 0 && b->home[first + count] == b->home[first])
        count++;
    return count;
}

static bool ensure_room(struct fab_repair_tile *g, size_t bytes)
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
    struct fab_repair_tile *g = &r->tile;
    uint32_t n = r->network->n;
    g->count = 0;
    if (!ensure_room(g, (size_t)n * count))
        return;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *from = fab_target_lft_entry(lft, sw, first);
        if (sw + PREFETCH_ROWS < n) {
            const uint8_t *ahead = fab_target_lft_entry(lft, sw + PREFETCH_ROWS, first);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + count - 1);
        }
        for (uint32_t i = 0; i < count; i++)
            g->table[(size_t)i * n + sw] = from[i];
    }
    g->first = first;
    g->count = count;
}
