/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the differences between two snapshots. Nodes with the same GUID in both snapshots count
 * as the same node, unless their types or numbers of ports differ: then the old node was removed,
 * and another one was added. Links are the same if they connect the same two ports. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

struct changes {
    struct fab_change *items;
    size_t count, room;
    int status; /* error of the first call that failed; FAB_OK: none failed */
};

static void add(struct changes *c, struct fab_change change)
{
    if (c->status != FAB_OK)
        return;
    if (c->count == c->room) {
        void *bigger = fab_base_grow(c->items, sizeof *c->items, c->count + 1, &c->room);
        if (bigger == NULL) {
            c->status = FAB_E_NOMEM;
            return;
        }
        c->items = bigger;
    }
    c->items[c->count++] = change;
}

/* Finds the node of the snapshot `other` that has the GUID of `node` in f. Returns the id of this
 * node in `other`, which usually equals `node`; FAB_NONE: there is no such node. */
static uint32_t counterpart(const struct fab_fabric *f, uint32_t node,
                            const struct fab_fabric *other)
{
    const struct fab_node *n = &f->nodes[node];
    bool same_id = node < other->node_count && other->nodes[node].guid == n->guid;
    uint32_t o = same_id ? node : fab_fabric_node_by_guid(other, n->guid);
    if (o == FAB_NONE || other->nodes[o].type != n->type ||
        other->nodes[o].num_ports != n->num_ports)
        return FAB_NONE;
    return o;
}

/* Returns true if p, a port of f, and q, a port of `other`, have the same port at the other end of
 * their links. p must have a link. */
static bool same_link(const struct fab_fabric *f, const struct fab_port *p,
                      const struct fab_fabric *other, const struct fab_port *q)
{
    if (q->peer == FAB_NONE)
        return false;
    const struct fab_port *x = fab_fabric_port(f, p->peer), *y = fab_fabric_port(other, q->peer);
    return x->num == y->num && f->nodes[x->node].guid == other->nodes[y->node].guid;
}

static struct fab_change link_change(const struct fab_fabric *f, const struct fab_port *p,
                                     enum fab_change_kind kind)
{
    const struct fab_port *x = fab_fabric_port(f, p->peer);
    uint64_t guid_p = f->nodes[p->node].guid, guid_x = f->nodes[x->node].guid;
    bool turn = guid_x < guid_p || (guid_x == guid_p && x->num < p->num);
    return (struct fab_change){.kind = kind,
                               .guid_a = turn ? guid_x : guid_p,
                               .guid_b = turn ? guid_p : guid_x,
                               .port_a = turn ? x->num : p->num,
                               .port_b = turn ? p->num : x->num};
}

/* Adds a change of kind `kind` for each link of `node` in f that the snapshot `other` does not
 * have. o is the id of the node in `other`; FAB_NONE: `other` does not have the node. Each link is
 * added only once, from the end with the lower port id. */
static void compare_links(struct changes *c, const struct fab_fabric *f, uint32_t node,
                          const struct fab_fabric *other, uint32_t o, enum fab_change_kind kind)
{
    for (unsigned i = 1; i <= f->nodes[node].num_ports; i++) {
        uint32_t id = fab_fabric_port_id(f, node, (uint8_t)i);
        const struct fab_port *p = fab_fabric_port(f, id);
        if (p->peer == FAB_NONE || p->peer < id)
            continue;
        if (o == FAB_NONE ||
            !same_link(f, p, other,
                       fab_fabric_port(other, fab_fabric_port_id(other, o, (uint8_t)i))))
            add(c, link_change(f, p, kind));
    }
}

static bool same_state(const struct fab_port *p, const struct fab_port *q)
{
    const struct fab_port_info *a = &p->info, *b = &q->info;
    return p->present == q->present && a->port_state == b->port_state &&
           a->phys_state == b->phys_state && a->width_active == b->width_active &&
           a->speed_active == b->speed_active && a->speed_ext_active == b->speed_ext_active &&
           a->speed_ext2_active == b->speed_ext2_active;
}

static void compare_node(struct changes *c, const struct fab_fabric *old, uint32_t a,
                         const struct fab_fabric *now, uint32_t b)
{
    const struct fab_node *x = &old->nodes[a], *y = &now->nodes[b];
    if (strcmp(x->desc, y->desc) != 0)
        add(c, (struct fab_change){.kind = FAB_CHANGE_NODE_RENAMED, .guid_a = y->guid});
    for (unsigned i = 0; i <= y->num_ports; i++)
        if (!same_state(fab_fabric_port(old, x->first_port + i),
                        fab_fabric_port(now, y->first_port + i)))
            add(c, (struct fab_change){
                       .kind = FAB_CHANGE_PORT_STATE, .guid_a = y->guid, .port_a = (uint8_t)i});
}

static int compare_changes(const void *x, const void *y)
{
    const struct fab_change *a = x, *b = y;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->guid_a != b->guid_a)
        return a->guid_a < b->guid_a ? -1 : 1;
    if (a->guid_b != b->guid_b)
        return a->guid_b < b->guid_b ? -1 : 1;
    if (a->port_a != b->port_a)
        return a->port_a < b->port_a ? -1 : 1;
    return (a->port_b > b->port_b) - (a->port_b < b->port_b);
}

int fab_fabric_diff(const struct fab_fabric *old, const struct fab_fabric *now,
                    struct fab_change **ret_changes, size_t *ret_count)
{
    struct changes c = {0};
    for (uint32_t n = 0; n < old->node_count; n++) {
        uint32_t o = counterpart(old, n, now);
        if (o == FAB_NONE)
            add(&c,
                (struct fab_change){.kind = FAB_CHANGE_NODE_REMOVED, .guid_a = old->nodes[n].guid});
        else
            compare_node(&c, old, n, now, o);
        compare_links(&c, old, n, now, o, FAB_CHANGE_LINK_REMOVED);
    }
    for (uint32_t n = 0; n < now->node_count; n++) {
        uint32_t o = counterpart(now, n, old);
        if (o == FAB_NONE)
            add(&c,
                (struct fab_change){.kind = FAB_CHANGE_NODE_ADDED, .guid_a = now->nodes[n].guid});
        compare_links(&c, now, n, old, o, FAB_CHANGE_LINK_ADDED);
    }
    if (c.status != FAB_OK) {
        free(c.items);
        return c.status;
    }
    if (c.count > 1)
        qsort(c.items, c.count, sizeof *c.items, compare_changes);
    *ret_changes = c.items;
    *ret_count = c.count;
    return FAB_OK;
}

/* ---- comparing nodes ------------------------------------------------------------------------- */

bool fab_fabric_same_ids(const struct fab_fabric *a, const struct fab_fabric *b)
{
    uint32_t node = 0;
    if (a->nodes == b->nodes)
        return true;
    if (a->node_count != b->node_count || a->port_count != b->port_count)
        return false;
    while (node < a->node_count && a->nodes[node].guid == b->nodes[node].guid &&
           a->nodes[node].first_port == b->nodes[node].first_port)
        node++;
    return node == a->node_count;
}

/* Returns true if the snapshots share the memory of all ports of the node. */
static bool shares_ports(const struct fab_fabric *a, const struct fab_fabric *b, uint32_t node)
{
    const struct fab_node *n = &a->nodes[node];
    uint32_t page = n->first_port / FAB_PORT_PAGE;
    const uint32_t last = (n->first_port + n->num_ports) / FAB_PORT_PAGE;
    while (page <= last && a->ports.page[page] == b->ports.page[page])
        page++;
    return page > last;
}

bool fab_fabric_same_links(const struct fab_fabric *a, const struct fab_fabric *b, uint32_t node)
{
    const struct fab_node *n = &a->nodes[node];
    if (shares_ports(a, b, node))
        return true;
    for (uint32_t p = n->first_port; p <= n->first_port + n->num_ports; p++) {
        const struct fab_port *x = fab_fabric_port(a, p), *y = fab_fabric_port(b, p);
        if (x->peer != y->peer || x->info.phys_state != y->info.phys_state)
            return false;
    }
    return true;
}
