/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the nodes and links of a discovery, and the list of unresponsive ports and nodes. The
 * builder (fabric.h) has the snapshot that is being made; this file stores what discovery needs in
 * addition.
 *
 * A link is called fresh if this discovery itself has seen it. A link that is known only from the
 * base snapshot is not fresh. If two fresh links contradict each other, two nodes have the same
 * GUID, or a cable was moved during the sweep. Discovery keeps the link that it has seen first, and
 * lists the device at the second link with the status EXISTS. If a fresh link contradicts a link of
 * the base snapshot, the fresh link replaces it.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

struct known_node *fab_discover_node_get(const struct fab_discover *d, uint32_t ref)
{
    return ref < d->known_capacity ? d->known[ref] : NULL;
}

static int room_for(struct fab_discover *d, uint32_t ref)
{
    size_t had = d->known_capacity;
    if (ref < had)
        return FAB_OK;
    void *grown =
        fab_base_grow(d->known, sizeof(struct known_node *), (size_t)ref + 1, &d->known_capacity);
    if (grown == NULL)
        return FAB_E_NOMEM;
    d->known = grown;
    memset(d->known + had, 0, (d->known_capacity - had) * sizeof(struct known_node *));
    return FAB_OK;
}

int fab_discover_node_add(struct fab_discover *d, uint32_t ref, const struct fab_node_info *info,
                          struct known_node **ret)
{
    int status = room_for(d, ref);
    if (status != FAB_OK)
        return status;
    struct known_node *p = fab_base_arena_alloc(&d->arena, 1, sizeof *p);
    if (p == NULL)
        return FAB_E_NOMEM;
    p->path.hops = FAB_PATH_UNKNOWN;
    p->ref = ref;
    p->type = info->node_type;
    p->num_ports = info->num_ports;
    p->guid = info->node_guid;
    d->known[ref] = p;
    d->node_count++;
    d->port_count += info->num_ports + 1u;
    *ret = p;
    return FAB_OK;
}

/* ---- unresponsive nodes ---------------------------------------------------------------------- */

int fab_discover_unresponsive_add(struct fab_discover *d, struct fab_unresponsive entry)
{
    if (d->unresponsive_count == d->unresponsive_capacity) {
        void *grown = fab_base_grow(d->unresponsive, sizeof entry, d->unresponsive_count + 1,
                                    &d->unresponsive_capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        d->unresponsive = grown;
    }
    d->unresponsive[d->unresponsive_count++] = entry;
    return FAB_OK;
}

int fab_discover_node_unresponsive(struct fab_discover *d, struct known_node *p, uint8_t kind,
                                   int status)
{
    uint8_t bit = (uint8_t)(1u << kind);
    if (p->reported & bit)
        return FAB_OK;
    p->reported |= bit;
    return fab_discover_unresponsive_add(
        d, (struct fab_unresponsive){.near_guid = p->near_guid,
                                     .near_port = p->near_port,
                                     .guid = p->guid,
                                     .attr_id = fab_discover_query_attr(kind),
                                     .status = status});
}

/* ---- links ----------------------------------------------------------------------------------- */

bool fab_discover_port_has_link(const struct fab_discover *d, const struct known_node *p,
                                uint8_t port)
{
    uint32_t ref;
    uint8_t far_port;
    return fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) == FAB_OK;
}

int fab_discover_link_lost(struct fab_discover *d, struct known_node *p, uint8_t port)
{
    uint32_t ref;
    uint8_t far_port;
    if (fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK)
        return FAB_OK;
    struct known_node *far = fab_discover_node_get(d, ref);
    fab_fabric_builder_unlink(d->builder, p->ref, port);
    fab_base_bits_clear(p->fresh, port);
    fab_base_bits_clear(far->fresh, far_port);
    d->cut = true;
    return fab_discover_targeted_link_lost(d, far, far_port);
}

static bool same_link(const struct fab_discover *d, const struct known_node *a, uint8_t port_a,
                      const struct known_node *b, uint8_t port_b)
{
    uint32_t ref;
    uint8_t far_port;
    return fab_fabric_builder_peer(d->builder, a->ref, port_a, &ref, &far_port) == FAB_OK &&
           ref == b->ref && far_port == port_b;
}

bool fab_discover_link_contradicts(const struct fab_discover *d, const struct known_node *a,
                                   uint8_t port_a, const struct known_node *b, uint8_t port_b)
{
    /* A loopback plug connects a port to itself; such a link is ignored. */
    if (a == b && port_a == port_b)
        return true;
    if (b != NULL && same_link(d, a, port_a, b, port_b))
        return false;
    return fab_base_bits_get(a->fresh, port_a) ||
           (b != NULL && port_b <= b->num_ports && fab_base_bits_get(b->fresh, port_b));
}

int fab_discover_link_seen(struct fab_discover *d, struct known_node *a, uint8_t port_a,
                           struct known_node *b, uint8_t port_b)
{
    int status = FAB_OK;
    if (fab_discover_link_contradicts(d, a, port_a, b, port_b))
        return FAB_E_EXISTS;
    if (!same_link(d, a, port_a, b, port_b)) {
        status = fab_discover_link_lost(d, a, port_a);
        if (status == FAB_OK)
            status = fab_discover_link_lost(d, b, port_b);
        if (status == FAB_OK)
            status = fab_fabric_builder_link(d->builder, a->ref, port_a, b->ref, port_b);
        d->paths_stale = true;
    }
    if (status == FAB_OK) {
        fab_base_bits_set(a->fresh, port_a);
        fab_base_bits_set(b->fresh, port_b);
    }
    return status;
}
