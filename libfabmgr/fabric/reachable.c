/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the nodes that can be reached over links from the manager's port, by a breadth-first
 * search. If other nodes exist, makes a new snapshot without them. */
#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

/* Marks the node `start` and all nodes that can be reached from it over links: sets their bits in
 * `reached`. Returns the number of marked nodes. `queue` is scratch memory, [node_count]. */
static uint32_t mark(const struct fab_fabric *f, uint32_t start, uint64_t *reached, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    fab_base_bits_set(reached, start);
    queue[tail++] = start;
    while (head < tail) {
        const struct fab_node *n = &f->nodes[queue[head++]];
        for (uint32_t i = 1; i <= n->num_ports; i++) {
            uint32_t next = fab_fabric_peer_node(f, n->first_port + i);
            if (next != FAB_NONE && fab_base_bits_add(reached, next))
                queue[tail++] = next;
        }
    }
    return tail;
}

static int drop_others(const struct fab_fabric *f, const uint64_t *reached,
                       struct fab_fabric **ret_reachable)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    if (b == NULL)
        return FAB_E_NOMEM;
    for (uint32_t n = 0; n < f->node_count; n++)
        if (!fab_base_bits_get(reached, n))
            fab_fabric_builder_remove_node(b, n);
    int status = fab_fabric_builder_seal(b, ret_reachable);
    fab_fabric_builder_free(b);
    return status;
}

int fab_fabric_reachable(const struct fab_fabric *f, struct fab_fabric **ret_reachable,
                         uint32_t *ret_dropped)
{
    int status = FAB_E_NOMEM;
    uint64_t *reached = fab_base_bits_new(f->node_count);
    uint32_t *queue = fab_base_alloc_array(f->node_count, sizeof *queue), count = f->node_count;
    if (reached == NULL || queue == NULL)
        goto out;
    if (f->self_port != FAB_NONE)
        count = mark(f, fab_fabric_port(f, f->self_port)->node, reached, queue);
    status = FAB_OK;
    if (count == f->node_count)
        *ret_reachable = fab_fabric_ref(f);
    else
        status = drop_others(f, reached, ret_reachable);
    if (status == FAB_OK)
        *ret_dropped = f->node_count - count;
out:
    free(queue);
    free(reached);
    return status;
}
