/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/levels.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

uint32_t fab_cabling_peer_switch(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_peer_node(f, port);
    return node != FAB_NONE && fab_fabric_node_is_switch(f, node) ? node : FAB_NONE;
}

static void count_hosts(const struct fab_fabric *f, struct fab_cabling_links *links)
{
    for (uint32_t s = 0; s < f->switch_count; s++)
        for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_fabric_peer_node(f, f->nodes[s].first_port + k);
            if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
                !f->nodes[peer].aggregation)
                links[s].hosts++;
        }
}

static bool is_leaf(const struct fab_fabric *f, const struct fab_cabling_links *links, uint32_t s)
{
    unsigned larger = 0;
    for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
        uint32_t peer = fab_cabling_peer_switch(f, f->nodes[s].first_port + k);
        larger += peer != FAB_NONE && links[peer].hosts > links[s].hosts;
    }
    return links[s].hosts > 0 && links[s].hosts >= larger;
}

/* Sets the levels of all switches, by a breadth-first search from the leaves. */
static int number_levels(const struct fab_fabric *f, struct fab_cabling_links *links)
{
    uint32_t *queue = fab_base_alloc_array(f->switch_count, sizeof *queue), head = 0, tail = 0;
    if (queue == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < f->switch_count; s++)
        if (is_leaf(f, links, s)) {
            links[s].level = 1;
            queue[tail++] = s;
        }
    for (; head < tail; head++) {
        uint32_t s = queue[head];
        for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_cabling_peer_switch(f, f->nodes[s].first_port + k);
            if (peer == FAB_NONE || links[peer].level != 0 || links[s].level == UINT8_MAX)
                continue;
            links[peer].level = (uint8_t)(links[s].level + 1);
            queue[tail++] = peer;
        }
    }
    free(queue);
    return FAB_OK;
}

/* Returns true if a leaf and another switch have mostly the same neighbours: more than half of the
 * ISLs of each of them lead to common neighbours. marked[n] is true if switch n is a neighbour of
 * the other switch. `count` is the number of ISLs of the other switch. */
static bool is_like(const struct fab_fabric *f, uint32_t leaf, const bool *marked, uint32_t count)
{
    uint32_t shared = 0, own = 0;
    for (unsigned k = 1; k <= f->nodes[leaf].num_ports; k++) {
        uint32_t peer = fab_cabling_peer_switch(f, f->nodes[leaf].first_port + k);
        own += peer != FAB_NONE;
        shared += peer != FAB_NONE && marked[peer];
    }
    return shared * 2 > own && shared * 2 > count;
}

/* Returns true if some leaf has mostly the same neighbours as switch s (is_like). marked[] is
 * scratch memory; all its elements must be false before the call, and are false after it. */
static bool is_like_a_leaf(const struct fab_fabric *f, const struct fab_cabling_links *links,
                           uint32_t s, bool *marked)
{
    uint32_t count = 0;
    bool found = false;
    for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
        uint32_t peer = fab_cabling_peer_switch(f, f->nodes[s].first_port + k);
        count += peer != FAB_NONE;
        if (peer != FAB_NONE)
            marked[peer] = true;
    }
    for (uint32_t i = 0; i < f->switch_count && !found; i++)
        found = links[i].level == 1 && links[i].hosts > 0 && is_like(f, i, marked, count);
    for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
        uint32_t peer = fab_cabling_peer_switch(f, f->nodes[s].first_port + k);
        if (peer != FAB_NONE)
            marked[peer] = false;
    }
    return found;
}

/* Finds leaves that have no hosts at present, because all their hosts are off or not yet installed.
 * The breadth-first search has given such a leaf level 3, because its neighbours have level 2. This
 * function sets its level to 1. */
static int find_empty_leaves(const struct fab_fabric *f, struct fab_cabling_links *links)
{
    bool *marked = calloc(f->switch_count + 1u, sizeof *marked);
    if (marked == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < f->switch_count; s++)
        if (links[s].level == 3 && is_like_a_leaf(f, links, s, marked))
            links[s].level = 1;
    free(marked);
    return FAB_OK;
}

static void count_links(const struct fab_fabric *f, struct fab_cabling_links *links, uint32_t s)
{
    struct fab_cabling_links *l = &links[s];
    for (unsigned k = 1; k <= f->nodes[s].num_ports; k++) {
        uint32_t peer = fab_cabling_peer_switch(f, f->nodes[s].first_port + k);
        if (peer == FAB_NONE)
            continue;
        uint8_t level = links[peer].level;
        *(level > l->level ? &l->up : level < l->level ? &l->down : &l->side) += 1;
    }
}

int fab_cabling_find_levels(const struct fab_fabric *f, struct fab_cabling_links *links)
{
    count_hosts(f, links);
    int rc = number_levels(f, links);
    if (rc == FAB_OK)
        rc = find_empty_leaves(f, links);
    for (uint32_t s = 0; s < f->switch_count && rc == FAB_OK; s++)
        count_links(f, links, s);
    return rc;
}
