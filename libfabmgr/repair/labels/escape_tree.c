/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds an escape tree: a spanning tree of living links, along which packets may go from any switch
 * to any other on every VL (the term is Nue's: Domke, Hoefler, Matsuoka, HPDC 2016).
 *
 * Only for tables in which the VL depends on the source (labels/lanes.c). There, a detour may close
 * a cycle on the VL of its packets, and a repair must not change their VL. If the dependencies of
 * all paths along the tree are in the graphs of all VLs before any entry is decided, no detour can
 * take their place, and the tree always leads to the destination (column/escape.c).
 *
 * The tree grows link by link. A link joins it if it connects two parts of the tree, and if no
 * dependency between this link and the links of the tree at its two switches closes a cycle. First
 * come the links of the tree for which the engine dfsssp leaves room (fab_route_escapes_find), then
 * all others.
 */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* Adds a dependency on all VLs. */
static bool add_everywhere(struct fab_repair *r, uint32_t from, uint32_t to)
{
    for (uint32_t vl = 0; vl < r->network->vl_count; vl++) {
        if (!fab_repair_dependencies_add(r, vl, from, to))
            return false;
    }
    return true;
}

/* Adds the dependencies between the links of the tree at switch `sw` and the link of `port`, a port
 * of this switch. */
static bool add_turns(struct fab_repair *r, uint32_t sw, uint32_t port)
{
    const struct fab_repair_network *b = r->network;
    uint32_t arriving = fab_repair_peer_port(b, port), end = b->first[sw + 1];
    for (uint32_t other = b->first[sw] + 1; other < end; other++) {
        if (fab_base_bits_get(r->tree, other) &&
            (!add_everywhere(r, fab_repair_peer_port(b, other), port) ||
             !add_everywhere(r, arriving, other)))
            return false;
    }
    return true;
}

static uint32_t part_of(uint32_t *part, uint32_t sw)
{
    while (part[sw] != sw) {
        part[sw] = part[part[sw]];
        sw = part[sw];
    }
    return sw;
}

/* Adds the link of `port` to the tree, if it connects two parts of it and closes no cycle. */
static void try_link(struct fab_repair *r, uint32_t sw, uint32_t port, uint32_t *part)
{
    uint32_t peer = fab_repair_neighbour(r, port);
    size_t mark = r->graph.undos;
    if (peer == FAB_NONE || part_of(part, sw) == part_of(part, peer))
        return;
    uint32_t back = fab_repair_peer_port(r->network, port);
    if (!add_turns(r, sw, port) || !add_turns(r, peer, back)) {
        fab_repair_dependencies_undo(r, mark);
        return;
    }
    part[part_of(part, sw)] = part_of(part, peer);
    fab_base_bits_set(r->tree, port);
    fab_base_bits_set(r->tree, back);
}

/* Returns true if the tree connects all switches that living links connect. */
static bool spans(const struct fab_repair *r, uint32_t *part)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t peer = fab_repair_neighbour(r, port);
            if (peer != FAB_NONE && part_of(part, sw) != part_of(part, peer))
                return false;
        }
    }
    return true;
}

int fab_repair_tree_find(struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    uint32_t *part = fab_base_alloc_array((size_t)b->n + 1, sizeof(*part));
    size_t mark = r->graph.undos;
    if (r->tree == NULL)
        r->tree = fab_base_bits_new(b->ports);
    if (part == NULL || r->tree == NULL) {
        free(part);
        return FAB_E_NOMEM;
    }
    fab_base_bits_zero(r->tree, b->ports);
    for (uint32_t sw = 0; sw < b->n; sw++)
        part[sw] = sw;
    for (unsigned all = 0; all <= 1; all++) {
        for (uint32_t sw = 0; sw < b->n; sw++) {
            for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
                if (all || fab_base_bits_get(b->preferred, port))
                    try_link(r, sw, port, part);
            }
        }
    }
    r->has_tree = spans(r, part);
    if (!r->has_tree)
        fab_repair_dependencies_undo(r, mark);
    free(part);
    return FAB_OK;
}
