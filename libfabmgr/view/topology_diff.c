/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the differences between two fabrics (fab_fabric_diff) into the changes that a person sees.
 * If a missing link and a new link have a port in common, they are reported as one moved cable. */
#include "libfabmgr/view/topology_diff.h"

#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

struct diff {
    const struct fab_fabric *before, *after;
    /* array with space for all changes that fab_fabric_diff found */
    struct fab_topology_change *items;
    size_t count;
    uint64_t *moved; /* bitset of the ports of `after` whose links are reported as moved */
};

static void add(struct diff *d, enum fab_topology_kind kind, uint32_t before, uint32_t after)
{
    d->items[d->count++] = (struct fab_topology_change){kind, before, after};
}

static uint32_t port_of(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    return node != FAB_NONE && num <= f->nodes[node].num_ports ? fab_fabric_port_id(f, node, num)
                                                               : FAB_NONE;
}

static void add_node(struct diff *d, const struct fab_change *c)
{
    uint32_t before = fab_fabric_node_by_guid(d->before, c->guid_a);
    uint32_t after = fab_fabric_node_by_guid(d->after, c->guid_a);
    if (c->kind == FAB_CHANGE_NODE_REMOVED)
        add(d, FAB_TOPOLOGY_NODE_REMOVED, before, FAB_NONE);
    else if (c->kind == FAB_CHANGE_NODE_ADDED)
        add(d, FAB_TOPOLOGY_NODE_ADDED, FAB_NONE, after);
    else
        add(d, FAB_TOPOLOGY_NODE_RENAMED, before, after);
}

/* Returns true if the fabric `other` has both nodes of the link. */
static bool has_both(const struct fab_fabric *other, const struct fab_change *c)
{
    return fab_fabric_node_by_guid(other, c->guid_a) != FAB_NONE &&
           fab_fabric_node_by_guid(other, c->guid_b) != FAB_NONE;
}

/* Sets ends[] to the ports of a link, an adapter's port first. */
static void order_ends(const struct fab_fabric *f, const struct fab_change *c, uint32_t ends[2])
{
    ends[0] = port_of(f, c->guid_a, c->port_a);
    ends[1] = port_of(f, c->guid_b, c->port_b);
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, ends[0])->node) &&
        !fab_fabric_node_is_switch(f, fab_fabric_port(f, ends[1])->node)) {
        uint32_t first = ends[0];
        ends[0] = ends[1];
        ends[1] = first;
    }
}

static void add_removed(struct diff *d, const struct fab_change *c)
{
    uint32_t ends[2];
    if (!has_both(d->after, c))
        return;
    order_ends(d->before, c, ends);
    for (int i = 0; i < 2; i++) {
        const struct fab_port *p = fab_fabric_port(d->before, ends[i]);
        uint32_t now = port_of(d->after, d->before->nodes[p->node].guid, p->num);
        if (now == FAB_NONE || fab_fabric_port(d->after, now)->peer == FAB_NONE ||
            fab_base_bits_get(d->moved, now))
            continue;
        fab_base_bits_set(d->moved, now);
        fab_base_bits_set(d->moved, fab_fabric_port(d->after, now)->peer);
        add(d, FAB_TOPOLOGY_LINK_MOVED, ends[i], now);
        return;
    }
    add(d, FAB_TOPOLOGY_LINK_REMOVED, ends[0], FAB_NONE);
}

static void add_added(struct diff *d, const struct fab_change *c)
{
    uint32_t ends[2];
    if (!has_both(d->before, c))
        return;
    order_ends(d->after, c, ends);
    if (!fab_base_bits_get(d->moved, ends[0]))
        add(d, FAB_TOPOLOGY_LINK_ADDED, FAB_NONE, ends[0]);
}

/* Adds a link whose width or speed has changed. */
static void add_rate(struct diff *d, const struct fab_change *c)
{
    uint32_t before = port_of(d->before, c->guid_a, c->port_a);
    uint32_t after = port_of(d->after, c->guid_a, c->port_a);
    if (before == FAB_NONE || after == FAB_NONE)
        return;
    const struct fab_port *p = fab_fabric_port(d->before, before);
    const struct fab_port *q = fab_fabric_port(d->after, after);
    if (p->peer != FAB_NONE && q->peer > after && q->peer != FAB_NONE &&
        fab_wire_link_rate(&p->info) != fab_wire_link_rate(&q->info))
        add(d, FAB_TOPOLOGY_LINK_RATE, before, after);
}

static void add_change(struct diff *d, const struct fab_change *c)
{
    switch (c->kind) {
    case FAB_CHANGE_NODE_ADDED:
    case FAB_CHANGE_NODE_REMOVED:
    case FAB_CHANGE_NODE_RENAMED:
        add_node(d, c);
        return;
    case FAB_CHANGE_LINK_REMOVED:
        add_removed(d, c);
        return;
    case FAB_CHANGE_LINK_ADDED:
        add_added(d, c);
        return;
    case FAB_CHANGE_PORT_STATE:
        add_rate(d, c);
        return;
    }
}

static int compare(const void *x, const void *y)
{
    const struct fab_topology_change *a = x, *b = y;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    return a->after < b->after ? -1 : a->after > b->after;
}

/* Adds all changes. Missing links come first, because a new link counts as a moved cable if it
 * shares a port with a missing link. */
static void add_all(struct diff *d, const struct fab_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == FAB_CHANGE_LINK_REMOVED)
            add_change(d, &changes[i]);
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind != FAB_CHANGE_LINK_REMOVED)
            add_change(d, &changes[i]);
    if (d->count > 0)
        qsort(d->items, d->count, sizeof *d->items, compare);
}

int fab_view_topology_diff(const struct fab_fabric *before, const struct fab_fabric *after,
                           struct fab_topology_change **ret_changes, size_t *ret_count)
{
    struct diff d = {.before = before, .after = after};
    struct fab_change *changes = NULL;
    size_t count = 0;
    int status = fab_fabric_diff(before, after, &changes, &count);
    if (status != FAB_OK)
        return status;
    d.items = calloc(count > 0 ? count : 1, sizeof *d.items);
    d.moved = fab_base_bits_new(after->port_count);
    if (d.items != NULL && d.moved != NULL) {
        add_all(&d, changes, count);
        *ret_changes = d.items;
        *ret_count = d.count;
        d.items = NULL;
    } else {
        status = FAB_E_NOMEM;
    }
    free(d.items);
    free(d.moved);
    free(changes);
    return status;
}
