/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the dead links of a delta: lists their ports, and marks them in the repair for the
 * duration of a call. Also finds the connected components of the network without its dead links.
 */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int fab_repair_list_dead(const struct fab_repair_network *b, const uint32_t *dead, size_t count,
                         struct fab_repair_delta *d)
{
    size_t kept = 0;
    d->dead = fab_base_alloc_array(count, 2 * sizeof(*d->dead));
    if (d->dead == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (dead[i] >= b->ports || b->peer_sw[dead[i]] == FAB_NONE)
            continue;
        d->dead[kept++] = dead[i];
        d->dead[kept++] = fab_repair_peer_port(b, dead[i]);
    }
    qsort(d->dead, kept, sizeof(*d->dead), ascending);
    for (size_t i = 0; i < kept; i++) {
        if (d->deads == 0 || d->dead[d->deads - 1] != d->dead[i])
            d->dead[d->deads++] = d->dead[i];
    }
    return FAB_OK;
}

void fab_repair_apply_dead(struct fab_repair *r, const struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->deads; i++) {
        fab_base_bits_set(r->is_dead, d->dead[i]);
        r->alive[fab_repair_switch_of(r->network, d->dead[i])]--;
    }
    fab_repair_relabel_apply(r, d);
}

void fab_repair_undo_dead(struct fab_repair *r, const struct fab_repair_delta *d)
{
    fab_repair_relabel_undo(r, d);
    for (size_t i = 0; i < d->deads; i++) {
        fab_base_bits_clear(r->is_dead, d->dead[i]);
        r->alive[fab_repair_switch_of(r->network, d->dead[i])]++;
    }
}

/* Finds the connected component of switch `from`: sets component[] to `from` for all switches that
 * living links connect with it. stack[n] is scratch memory. */
static void flood(struct fab_repair *r, uint32_t from, uint64_t *stack)
{
    const struct fab_repair_network *b = r->network;
    uint32_t count = 0;
    r->component[from] = from;
    stack[count++] = from;
    while (count > 0) {
        uint32_t sw = (uint32_t)stack[--count];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t next = b->peer_sw[port];
            if (next == FAB_NONE || fab_base_bits_get(r->is_dead, port) ||
                r->component[next] != FAB_NONE)
                continue;
            r->component[next] = from;
            stack[count++] = next;
        }
    }
}

void fab_repair_find_components(struct fab_repair *r)
{
    for (uint32_t sw = 0; sw < r->network->n; sw++)
        r->component[sw] = FAB_NONE;
    for (uint32_t sw = 0; sw < r->network->n; sw++) {
        if (r->component[sw] == FAB_NONE)
            /* the heap of the column is unused now, so its memory serves as the stack */
            flood(r, sw, r->column.heap);
    }
}

bool fab_repair_was_dead(const struct fab_repair *r, uint32_t port)
{
    size_t low = 0, high = r->deads;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->dead[middle] < port)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->deads && r->dead[low] == port;
}
