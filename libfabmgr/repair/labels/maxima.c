/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides without a search whether the labels allow a path between two switches.
 *
 * This needs labels that follow from an order of the switches. A maximum is a switch from which no
 * living link leads up in this order. Two switches have a legal path, first up and then down, if
 * and only if both reach the same switch by going up. From that switch, one can go on up to a
 * maximum, which both switches then reach. So it suffices to know which maxima each switch reaches
 * by going up.
 *
 * Usually the root is the only maximum. After faults, switches that cannot go up any more are
 * maxima, too, if no other position in the order connects them with the root (reorder.c). Then no
 * legal path connects the switches that go up only to such a maximum with other switches. In a
 * tree, no host sends to a host over such a path, but thousands of entries may lose their path.
 * Without this file, a repair would search in vain for a path for each of these entries.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* Number of bits of a set of maxima. If there are more maxima, several share a bit. Then the result
 * may say that a legal path exists although there is none, but it never denies a path that
 * exists. */
#define BITS 64

/* Returns true if the port has a living link that leads up (or down, if `up` is false). */
static bool leads(const struct fab_repair *r, uint32_t port, bool up)
{
    const struct fab_repair_network *b = r->network;
    return b->peer_sw[port] != FAB_NONE && !fab_base_bits_get(r->is_dead, port) &&
           (r->label[port] < r->label[fab_repair_peer_port(b, port)]) == up;
}

/* Computes the sets of all switches, from the maxima down. queue[] has the switches whose sets are
 * complete. waiting[]: for each switch, the number of living links that lead up to switches that
 * are not yet visited. */
static void spread(struct fab_repair *r, uint32_t *waiting, uint32_t *queue, uint32_t tail)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t sw = queue[head];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            if (!leads(r, port, false))
                continue;
            uint32_t below = b->peer_sw[port];
            r->maxima[below] |= r->maxima[sw];
            if (--waiting[below] == 0)
                queue[tail++] = below;
        }
    }
}

int fab_repair_maxima_find(struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    uint32_t count = 0;
    if (r->maxima_known || b->order == NULL)
        return FAB_OK;
    uint32_t *waiting = fab_base_alloc_array((size_t)b->n + 1, sizeof(*waiting));
    uint32_t *queue = fab_base_alloc_array((size_t)b->n + 1, sizeof(*queue));
    int status = waiting != NULL && queue != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t sw = 0; status == FAB_OK && sw < b->n; sw++) {
        waiting[sw] = 0;
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++)
            waiting[sw] += leads(r, port, true);
        r->maxima[sw] = waiting[sw] == 0 ? (uint64_t)1 << count % BITS : 0;
        if (waiting[sw] == 0)
            queue[count++] = sw;
    }
    if (status == FAB_OK)
        spread(r, waiting, queue, count);
    r->maxima_known = status == FAB_OK;
    free(waiting);
    free(queue);
    return status;
}
