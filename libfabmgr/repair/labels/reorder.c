/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the switches that need another position in the order from which the labels follow, while
 * certain links are dead. Without a new position, switches that lose their last link upwards would
 * have no legal path to most other switches.
 *
 * The order has a root: one switch that all other switches can reach by going up in the order.
 * (This root is not a root switch of the tree.) In a tree the root is a leaf switch, because spines
 * of different planes reach each other only over leaf switches. (A plane consists of the core
 * switches that are connected with the same spine of each pod, and of these spines.) A spine goes
 * up to the root by a single link, and a core switch goes up by a single spine. No order of a tree
 * avoids this: with two such leaf switches in different pods, the channel dependencies of the paths
 * between spines and of the paths between hosts would form cycles.
 *
 * A switch without a living link upwards is a maximum. If links die, a switch s other than the root
 * can become a maximum. Then s, and all switches that can go no higher than s, have no legal path
 * to switches that go up to the root. Paths between endports are not affected. There are two ways
 * to connect s with the root again:
 *
 *   - Over a neighbour: s has a neighbour y that goes up to the root by another link. Then s moves
 *     to a position just above all its neighbours except y, and y gets a position above s, but
 *     still below all switches that y goes up to. Of all living links, only those between s and y
 *     change their direction. So a core switch that has lost the link to its only spine goes up
 *     through another spine. A spine that has lost the link to the root goes up through a leaf
 *     switch.
 *   - Over a switch two links away: s and all other switches to which its neighbour y goes up are
 *     maxima, and y has a lower neighbour g that goes up to the root. Then these maxima get
 *     positions below y, and y gets a position below g. Their other lower neighbours move
 *     further down where necessary. Of all living links, only those between y and the maxima, and
 *     those between y and g, change their direction. So all switches of a plane that has lost the
 *     spine next to the root go up through the spine y of another pod, and a leaf switch g of this
 *     pod.
 *
 * Both changes are safe if no packets pass the dead links any more. Each switch that has a new link
 * upwards (s and the other maxima, and y in the second case) has no living link upwards to a third
 * switch. So every turn at this switch is legal in the new order. Hence the new order allows each
 * turn between living links that the old order allowed. Therefore the labels of the active tables'
 * paths ascend in the new order, too, and only lost entries have to change. When the links come
 * back, the old order returns; entries of paths that the old order does not allow drop packets
 * during that change.
 *
 * If the dead links are up, because they are drained or isolated, packets still turn at their
 * switches as in the old order. The second change is then not safe: together with new paths through
 * the leaf switch g, old paths through the root could close a cycle of dependencies. The caller
 * then forbids it (fab_repair_permit_detours).
 *
 * A dead link of a relabelled switch may lead up in one of the two orders, and down in the other.
 * Such a link keeps the direction of the old order. The label of its channel tells over which
 * channels packets could arrive before the link died: those with lower labels. The switch that lost
 * the channel therefore begins its search for another path with this label as its key
 * (column/column.c).
 *
 * Which switches are relabelled depends only on the order, the dead links, and whether the second
 * change is permitted.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- the rooted switches --------------------------------------------------------------------- */

struct reordering {
    struct fab_arena arena; /* holds the memory of the arrays below */
    struct fab_repair *r;
    uint32_t *place; /* [switches] the new position of each switch */
    uint32_t *saved; /* [switches] the positions before the present attempt */
    uint32_t *queue; /* [switches] scratch memory */
    /* bitset of the switches that reach the root of their component by going up over living links
     */
    uint64_t *rooted;
    /* bitset of the components (fab_repair.component) that have a rooted switch */
    uint64_t *has_root;
    /* [maxima] the maxima, as position << 32 | switch; a heap, the greatest first */
    uint64_t *maximum;
    uint32_t maxima;
};

static int reordering_init(struct reordering *c, struct fab_repair *r)
{
    size_t n = (size_t)r->network->n + 1, words = fab_base_bits_words(n);
    *c = (struct reordering){.r = r};
    c->place = fab_base_arena_alloc(&c->arena, n, sizeof(*c->place));
    c->saved = fab_base_arena_alloc(&c->arena, n, sizeof(*c->saved));
    c->queue = fab_base_arena_alloc(&c->arena, n, sizeof(*c->queue));
    c->rooted = fab_base_arena_alloc(&c->arena, words, sizeof(*c->rooted));
    c->has_root = fab_base_arena_alloc(&c->arena, words, sizeof(*c->has_root));
    c->maximum = fab_base_arena_alloc(&c->arena, n, sizeof(*c->maximum));
    if (c->arena.failed)
        return FAB_E_NOMEM;
    memcpy(c->place, r->network->order, r->network->n * sizeof(*c->place));
    return FAB_OK;
}

/* Returns the highest position among the neighbours of `sw` over living links. The neighbour `but`
 * does not count. 0: there are no other neighbours. */
static uint32_t highest(const struct fab_repair *r, const uint32_t *place, uint32_t sw,
                        uint32_t but)
{
    uint32_t most = 0;
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t to = fab_repair_neighbour(r, port);
        if (to != FAB_NONE && to != but && place[to] > most)
            most = place[to];
    }
    return most;
}

/* Returns true if the switch has living links, and none of them leads up. */
static bool is_maximum(const struct fab_repair *r, const uint32_t *place, uint32_t sw)
{
    uint32_t most = highest(r, place, sw, FAB_NONE);
    return most > 0 && most < place[sw];
}

static bool is_rooted(const struct reordering *c, uint32_t sw)
{
    return fab_base_bits_get(c->rooted, sw);
}

/* Counts `sw`, and all switches that go up to it, as rooted. */
static void add_rooted(struct reordering *c, uint32_t sw)
{
    const struct fab_repair_network *b = c->r->network;
    uint32_t head = 0, tail = 0;
    if (!fab_base_bits_add(c->rooted, sw))
        return;
    fab_base_bits_set(c->has_root, c->r->component[sw]);
    c->queue[tail++] = sw;
    while (head < tail) {
        uint32_t at = c->queue[head++];
        for (uint32_t port = b->first[at] + 1; port < b->first[at + 1]; port++) {
            uint32_t to = fab_repair_neighbour(c->r, port);
            if (to != FAB_NONE && c->place[to] < c->place[at] && fab_base_bits_add(c->rooted, to))
                c->queue[tail++] = to;
        }
    }
}

static void list_maxima(struct reordering *c)
{
    for (uint32_t sw = 0; sw < c->r->network->n; sw++) {
        if (is_maximum(c->r, c->place, sw))
            fab_repair_heap_push(c->maximum, &c->maxima, (uint64_t)c->place[sw] << 32 | sw);
    }
}

/* ---- over a neighbour ------------------------------------------------------------------------ */

/* Returns true if y can move to position `to`. A living link of y must then still lead up to a
 * rooted switch other than s. Only links between y and s may change their direction. */
static bool would_fit(const struct reordering *c, uint32_t y, uint32_t s, uint32_t to)
{
    const struct fab_repair_network *b = c->r->network;
    bool goes_up = false;
    for (uint32_t port = b->first[y] + 1; port < b->first[y + 1]; port++) {
        uint32_t v = fab_repair_neighbour(c->r, port);
        if (v == FAB_NONE || v == s)
            continue;
        if ((c->place[v] > c->place[y]) != (c->place[v] > to) || c->place[v] == to)
            return false;
        goes_up = goes_up || (c->place[v] > to && is_rooted(c, v));
    }
    return goes_up;
}

/* Gives the maximum s a link upwards to one of its neighbours. Returns false, and changes nothing,
 * if no neighbour has a suitable position. */
static bool go_up_to_neighbour(struct reordering *c, uint32_t s)
{
    const struct fab_repair_network *b = c->r->network;
    for (uint32_t port = b->first[s] + 1; port < b->first[s + 1]; port++) {
        uint32_t y = fab_repair_neighbour(c->r, port);
        if (y == FAB_NONE)
            continue;
        uint32_t low = highest(c->r, c->place, s, y) + 1;
        uint32_t to = c->place[y] > low ? c->place[y] : low + 1;
        if (!would_fit(c, y, s, to))
            continue;
        c->place[s] = low;
        c->place[y] = to;
        add_rooted(c, s);
        return true;
    }
    return false;
}

/* ---- over a switch two links away ------------------------------------------------------------ */

/* Moves the switch below the position `limit`, if it is not there, and its lower neighbours below
 * it. The switch g must not move. Returns false if g would have to move, or if a position would not
 * be above `floor`; the positions are then wrong. */
static bool sink(struct reordering *c, uint32_t sw, uint32_t limit, uint32_t floor, uint32_t g)
{
    const struct fab_repair_network *b = c->r->network;
    bool good = true;
    if (c->place[sw] < limit)
        return true;
    if (sw == g || limit <= floor + 1)
        return false;
    c->place[sw] = limit - 1;
    for (uint32_t port = b->first[sw] + 1; good && port < b->first[sw + 1]; port++) {
        uint32_t to = fab_repair_neighbour(c->r, port);
        if (to != FAB_NONE && c->saved[to] < c->saved[sw])
            good = sink(c, to, limit - 1, floor, g);
    }
    return good;
}

/* Moves the lower neighbours of `sw` below its position, except the neighbour `but`. */
static bool sink_below(struct reordering *c, uint32_t sw, uint32_t but, uint32_t floor, uint32_t g)
{
    const struct fab_repair_network *b = c->r->network;
    bool good = true;
    for (uint32_t port = b->first[sw] + 1; good && port < b->first[sw + 1]; port++) {
        uint32_t to = fab_repair_neighbour(c->r, port);
        if (to != FAB_NONE && to != but && c->saved[to] < c->saved[sw])
            good = sink(c, to, c->place[sw], floor, g);
    }
    return good;
}

/* Returns true if all switches to which y goes up are maxima that are not rooted. */
static bool is_below_maxima(const struct reordering *c, uint32_t y)
{
    const struct fab_repair_network *b = c->r->network;
    if (is_rooted(c, y))
        return false;
    for (uint32_t port = b->first[y] + 1; port < b->first[y + 1]; port++) {
        uint32_t m = fab_repair_neighbour(c->r, port);
        if (m != FAB_NONE && c->place[m] > c->place[y] && !is_maximum(c->r, c->place, m))
            return false;
    }
    return true;
}

/* Returns the lowest position among the switches to which g goes up, except y. */
static uint32_t lowest_above(const struct reordering *c, uint32_t g, uint32_t y)
{
    const struct fab_repair_network *b = c->r->network;
    uint32_t least = UINT32_MAX;
    for (uint32_t port = b->first[g] + 1; port < b->first[g + 1]; port++) {
        uint32_t to = fab_repair_neighbour(c->r, port);
        if (to != FAB_NONE && to != y && c->place[to] > c->place[g] && c->place[to] < least)
            least = c->place[to];
    }
    return least;
}

/* Moves the maxima above y below y, and y below its neighbour g, which is rooted. Returns false,
 * and changes nothing, if other links would have to change their direction. */
static bool hang_below(struct reordering *c, uint32_t y, uint32_t g)
{
    const struct fab_repair_network *b = c->r->network;
    uint32_t n = b->n, top = lowest_above(c, g, y);
    uint32_t floor = top > FAB_REPAIR_LABEL_GAP ? top - FAB_REPAIR_LABEL_GAP : 0;
    memcpy(c->saved, c->place, n * sizeof(*c->place));
    c->place[g] = top - 1;
    c->place[y] = top - 2;
    bool good = top < UINT32_MAX && top > floor + 4;
    for (uint32_t port = b->first[y] + 1; good && port < b->first[y + 1]; port++) {
        uint32_t m = fab_repair_neighbour(c->r, port);
        if (m == FAB_NONE || c->saved[m] < c->saved[y])
            continue;
        c->place[m] = top - 3;
        good = sink_below(c, m, y, floor, g);
    }
    good = good && sink_below(c, y, g, floor, g);
    if (!good)
        memcpy(c->place, c->saved, n * sizeof(*c->place));
    return good;
}

/* Gives the maximum s a path upwards: over a neighbour y, to a lower neighbour of y. Returns false,
 * and changes nothing, if there are no suitable switches. */
static bool go_up_over_neighbour(struct reordering *c, uint32_t s)
{
    const struct fab_repair_network *b = c->r->network;
    for (uint32_t port = b->first[s] + 1; port < b->first[s + 1]; port++) {
        uint32_t y = fab_repair_neighbour(c->r, port);
        if (y == FAB_NONE || !is_below_maxima(c, y))
            continue;
        for (uint32_t down = b->first[y] + 1; down < b->first[y + 1]; down++) {
            uint32_t g = fab_repair_neighbour(c->r, down);
            if (g == FAB_NONE || c->place[g] > c->place[y] || !is_rooted(c, g) ||
                !hang_below(c, y, g))
                continue;
            add_rooted(c, y);
            c->r->detours = true;
            return true;
        }
    }
    return false;
}

/* ---- all switches ---------------------------------------------------------------------------- */

/* Connects each maximum with the root of its component. The root is the maximum with the greatest
 * position. If a maximum cannot be connected, the switches that can go no higher than it keep their
 * positions. */
static void connect_maxima(struct reordering *c)
{
    list_maxima(c);
    while (c->maxima > 0) {
        uint32_t s = (uint32_t)fab_repair_heap_pop(c->maximum, &c->maxima);
        if (!fab_base_bits_get(c->has_root, c->r->component[s]))
            add_rooted(c, s);
        else if (!is_rooted(c, s) && !go_up_to_neighbour(c, s) && !c->r->no_detours)
            (void)go_up_over_neighbour(c, s);
    }
}

static int own_labels(struct fab_repair *r)
{
    size_t count = (size_t)r->network->vl_count * r->network->ports + 1;
    if (r->own_label != NULL)
        return FAB_OK;
    r->own_label = fab_base_alloc_array(count, sizeof(*r->own_label));
    if (r->own_label == NULL)
        return FAB_E_NOMEM;
    memcpy(r->own_label, r->network->label, count * sizeof(*r->own_label));
    return FAB_OK;
}

/* Lists the switches whose positions have changed. */
static int list_moved(const struct reordering *c, struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = c->r->network;
    size_t count = 0;
    for (uint32_t sw = 0; sw < b->n; sw++)
        count += c->place[sw] != b->order[sw];
    d->relabel = fab_base_alloc_array(count, sizeof(*d->relabel));
    if (d->relabel == NULL)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        if (c->place[sw] != b->order[sw])
            d->relabel[d->relabels++] =
                (struct fab_repair_relabel){.sw = sw, .place = c->place[sw]};
    }
    return FAB_OK;
}

/* Returns true if a switch has lost its last link upwards, but not its last link. */
static bool any_new_maximum(const struct fab_repair *r, const struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = r->network;
    uint32_t last = FAB_NONE;
    for (size_t i = 0; i < d->deads; i++) {
        uint32_t up = b->peer_sw[d->dead[i]], s = fab_repair_switch_of(b, d->dead[i]);
        if (s == last || b->order[up] < b->order[s])
            continue;
        if (is_maximum(r, b->order, s))
            return true;
        last = s;
    }
    return false;
}

int fab_repair_relabel_find(struct fab_repair *r, struct fab_repair_delta *d)
{
    struct reordering c;
    r->detours = false;
    if (r->no_detours && r->detoured)
        return FAB_E_UNSUPPORTED;
    if (r->network->order == NULL || !any_new_maximum(r, d))
        return FAB_OK;
    int status = reordering_init(&c, r);
    if (status == FAB_OK) {
        fab_repair_find_components(r);
        connect_maxima(&c);
        status = list_moved(&c, d);
    }
    if (status == FAB_OK && d->relabels > 0)
        status = own_labels(r);
    d->detours = r->detours;
    fab_base_arena_fini(&c.arena);
    return status;
}
