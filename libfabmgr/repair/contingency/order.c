/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides in which order contingencies are computed. First come the failures of links that the
 * caller thinks likely. Next come the neighbours of the root, whose repairs take two to four times
 * as long as those of other switches, and the links that are the only way up for a switch, whose
 * repairs take up to ten times as long as those of other links (labels/reorder.c). (The root is the
 * switch with the highest position in the order of the labels.) The other switches follow, because
 * they cost more without a plan than the remaining links: at 43,904 endports, a repair takes 50 to
 * 180 ms of processor time for a switch, and 4 to 7 ms for a link. The remaining links come last.
 * Within each of these groups, except the first two, the failures are sorted by descending number
 * of paths, because a failure harms more if it cuts more paths.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/repair/contingency/maker.h"

struct weighted {
    uint64_t paths;
    uint32_t row;
};

static int by_paths(const void *a, const void *b)
{
    const struct weighted *x = a, *y = b;
    if (x->paths != y->paths)
        return x->paths > y->paths ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static uint64_t paths_of_link(const struct fab_repair_contingency_maker *m, uint32_t port)
{
    uint64_t out = m->load.load[port];
    uint64_t in = m->load.load[fab_repair_peer_port(m->r->network, port)];
    return out > in ? out : in;
}

static uint64_t paths_of_switch(const struct fab_repair_contingency_maker *m, uint32_t sw)
{
    const struct fab_repair_network *b = m->r->network;
    uint64_t sum = 0;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (b->peer_sw[port] != FAB_NONE)
            sum += m->load.load[port] + m->load.load[fab_repair_peer_port(b, port)];
    }
    return sum;
}

/* Returns the index of the element with this id; FAB_NONE: there is none. Searches the elements of
 * the collection from `low` up to, but not including, `end`. */
static uint32_t find_id(const struct fab_repair_contingency_maker *m, size_t low, size_t end,
                        uint32_t id)
{
    size_t high = end;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (m->id[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < end && m->id[low] == id ? (uint32_t)low : FAB_NONE;
}

static uint32_t row_of_port(const struct fab_repair_contingency_maker *m, uint32_t port)
{
    const struct fab_repair_network *b = m->r->network;
    if (port >= b->ports || !fab_repair_is_living(m->r, port))
        return FAB_NONE;
    uint32_t far = fab_repair_peer_port(b, port);
    return find_id(m, 0, m->links, port < far ? port : far);
}

/* Appends the contingency to the queue, unless its bit in placed[] is set already, and sets the
 * bit. row: FAB_NONE for none. */
static void put(struct fab_repair_contingency_maker *m, uint64_t *placed, uint32_t row)
{
    if (row != FAB_NONE && fab_base_bits_add(placed, row))
        m->queue[m->queued++] = row;
}

/* Puts the links that are likely to fail into the queue, and sets their bits in placed[]. */
static void put_likely(struct fab_repair_contingency_maker *m, uint64_t *placed)
{
    for (size_t i = 0; i < m->likelies; i++)
        put(m, placed, row_of_port(m, m->likely[i]));
}

/* Puts the neighbours of the root into the queue, and sets their bits in placed[]. The root is the
 * switch with the highest position in the order of the labels. The repairs for its neighbours take
 * the most time (labels/maxima.c). */
static void put_beside_root(struct fab_repair_contingency_maker *m, uint64_t *placed)
{
    const struct fab_repair_network *b = m->r->network;
    uint32_t root = 0;
    if (b->order == NULL || b->n == 0)
        return;
    for (uint32_t sw = 0; sw < b->n; sw++)
        root = b->order[sw] > b->order[root] ? sw : root;
    for (uint32_t port = b->first[root] + 1; port < b->first[root + 1]; port++) {
        if (fab_repair_is_living(m->r, port))
            put(m, placed, find_id(m, m->links, m->rows, b->peer_sw[port]));
    }
}

/* Appends the failures of list[] to the queue, by descending number of paths. */
static void put_sorted(struct fab_repair_contingency_maker *m, struct weighted *list, size_t count)
{
    qsort(list, count, sizeof(*list), by_paths);
    for (size_t i = 0; i < count; i++)
        m->queue[m->queued++] = list[i].row;
}

/* Returns the only port by which a living link leads up from the switch in the order of the labels;
 * FAB_NONE: there is none, or more than one. */
static uint32_t only_way_up(const struct fab_repair_contingency_maker *m, uint32_t sw)
{
    const struct fab_repair_network *b = m->r->network;
    uint32_t found = FAB_NONE;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (!fab_repair_is_living(m->r, port) || b->order[b->peer_sw[port]] < b->order[sw])
            continue;
        if (found != FAB_NONE)
            return FAB_NONE;
        found = port;
    }
    return found;
}

/* Puts the links that are the only way up for a switch into the queue, and sets their bits in
 * placed[]. list[] is scratch memory. */
static void put_only_ways_up(struct fab_repair_contingency_maker *m, uint64_t *placed,
                             struct weighted *list)
{
    const struct fab_repair_network *b = m->r->network;
    size_t count = 0;
    for (uint32_t sw = 0; b->order != NULL && sw < b->n; sw++) {
        uint32_t port = only_way_up(m, sw);
        uint32_t row = port != FAB_NONE ? row_of_port(m, port) : FAB_NONE;
        if (row != FAB_NONE && fab_base_bits_add(placed, row))
            list[count++] = (struct weighted){paths_of_link(m, port), row};
    }
    put_sorted(m, list, count);
}

/* Appends elements of the collection to the queue, by descending number of paths: the elements from
 * `first` up to, but not including, `end`. Omits elements that are already queued, and links that
 * are already dead. list[] is scratch memory. */
static void put_by_paths(struct fab_repair_contingency_maker *m, const uint64_t *placed,
                         size_t first, size_t end, struct weighted *list)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        bool is_switch = i >= m->links;
        if (fab_base_bits_get(placed, i) || (!is_switch && fab_repair_was_dead(m->r, m->id[i])))
            continue;
        list[count++] = (struct weighted){
            is_switch ? paths_of_switch(m, m->id[i]) : paths_of_link(m, m->id[i]), (uint32_t)i};
    }
    put_sorted(m, list, count);
}

void fab_repair_contingency_order(struct fab_repair_contingency_maker *m)
{
    uint64_t *placed = fab_base_bits_new(m->rows);
    struct weighted *list = fab_base_alloc_array(m->rows, sizeof(*list));
    if (m->queue == NULL)
        m->queue = fab_base_alloc_array(m->rows, sizeof(*m->queue));
    m->queued = m->next = 0;
    if (placed != NULL && list != NULL && m->queue != NULL) {
        put_likely(m, placed);
        put_beside_root(m, placed);
        put_only_ways_up(m, placed, list);
        put_by_paths(m, placed, m->links, m->rows, list);
        put_by_paths(m, placed, 0, m->links, list);
    }
    free(placed);
    free(list);
}
