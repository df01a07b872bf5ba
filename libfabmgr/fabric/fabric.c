/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts references to sealed snapshots, copies snapshots and answers queries. Nodes are found by
 * GUID with two binary searches, since switches and other nodes are each sorted by GUID. Ports are
 * found by the index of port GUIDs. */
#include "libfabmgr/fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/owners.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/builder.h"

struct fab_fabric *fab_fabric_ref(const struct fab_fabric *f)
{
    /* The cast drops const: only the reference count changes, and readers of a snapshot do not use
     * it. */
    struct fab_fabric *held = (struct fab_fabric *)(uintptr_t)f;
    __atomic_add_fetch(&held->refs, 1, __ATOMIC_RELAXED);
    return held;
}

void fab_fabric_free(struct fab_fabric *f)
{
    if (f == NULL)
        return;
    if (fab_base_owners_remove(f->owners)) {
        if (f->index != NULL)
            fab_base_map_fini(&f->index->ports);
        free(f->index);
        free(f->nodes);
    }
    fab_base_pages_fini(&f->ports);
    free(f->switches);
    free(f);
}

void fab_fabric_unref(struct fab_fabric *f)
{
    if (f != NULL && __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) == 0)
        fab_fabric_free(f);
}

static int copy_index(const struct fab_map *from, struct fab_map *to)
{
    if (from->slots == NULL)
        return FAB_OK;
    to->slots = fab_base_alloc_array(from->capacity, sizeof *to->slots);
    if (to->slots == NULL)
        return FAB_E_NOMEM;
    memcpy(to->slots, from->slots, from->capacity * sizeof *to->slots);
    to->capacity = from->capacity;
    to->count = from->count;
    return FAB_OK;
}

void fab_fabric_copy_ports(const struct fab_fabric *f, struct fab_port *to)
{
    for (uint32_t port = 0; port < f->port_count; port += FAB_PORT_PAGE) {
        uint32_t rest = f->port_count - port, count = rest < FAB_PORT_PAGE ? rest : FAB_PORT_PAGE;
        memcpy(to + port, fab_fabric_port(f, port), count * sizeof *to);
    }
}

struct fab_port *fab_fabric_edit_port(struct fab_fabric *f, uint32_t port)
{
    void *page = fab_base_pages_edit(&f->ports, port / FAB_PORT_PAGE);
    return page != NULL ? (struct fab_port *)page + port % FAB_PORT_PAGE : NULL;
}

int fab_fabric_set_port_info(struct fab_fabric *f, uint32_t port, const struct fab_port_info *info)
{
    struct fab_port *p = fab_fabric_edit_port(f, port);
    if (p == NULL)
        return FAB_E_NOMEM;
    p->info = *info;
    return FAB_OK;
}

int fab_fabric_next(struct fab_fabric *f, struct fab_fabric **ret_next)
{
    struct fab_fabric *next = fab_base_alloc_array(1, sizeof *next);
    struct fab_switch_info *switches = fab_base_alloc_array(f->switch_count, sizeof *switches);
    if (next == NULL || switches == NULL || fab_base_owners_add(&f->owners) != FAB_OK) {
        free(next);
        free(switches);
        return FAB_E_NOMEM;
    }
    /* The members are copied one by one, because other threads may change f->refs at this
     * moment. */
    *next = (struct fab_fabric){.node_count = f->node_count,
                                .switch_count = f->switch_count,
                                .port_count = f->port_count,
                                .link_count = f->link_count,
                                .self_port = f->self_port,
                                .nodes = f->nodes,
                                .ports = fab_base_pages_share(&f->ports),
                                .switches = switches,
                                .index = f->index,
                                .owners = f->owners,
                                .refs = 1};
    memcpy(switches, f->switches, f->switch_count * sizeof *switches);
    int status = fab_base_pages_unshare(&next->ports);
    if (status == FAB_OK)
        *ret_next = next;
    else
        fab_fabric_free(next);
    return status;
}

int fab_fabric_clone(const struct fab_fabric *f, struct fab_fabric **ret_clone)
{
    struct fab_fabric *c = fab_base_alloc_array(1, sizeof *c);
    if (c == NULL)
        return FAB_E_NOMEM;
    *c = (struct fab_fabric){.node_count = f->node_count,
                             .switch_count = f->switch_count,
                             .port_count = f->port_count,
                             .link_count = f->link_count,
                             .self_port = f->self_port,
                             .refs = 1};
    if (fab_fabric_alloc(c) != FAB_OK || copy_index(&f->index->ports, &c->index->ports) != FAB_OK) {
        fab_fabric_free(c);
        return FAB_E_NOMEM;
    }
    memcpy(c->nodes, f->nodes, f->node_count * sizeof *f->nodes);
    fab_fabric_copy_ports(f, fab_fabric_edit_port(c, 0));
    memcpy(c->switches, f->switches, f->switch_count * sizeof *f->switches);
    *ret_clone = c;
    return FAB_OK;
}

void fab_fabric_set_name(struct fab_fabric *f, uint32_t node, const char *name)
{
    struct fab_node *n = &f->nodes[node];
    if (name == NULL)
        name = n->desc;
    size_t len = strnlen(name, FAB_NODE_DESC_LEN);
    memmove(n->name, name, len);
    memset(n->name + len, 0, sizeof n->name - len);
}

static void unplug(struct fab_port *p)
{
    p->peer = FAB_NONE;
    p->info.port_state = FAB_STATE_DOWN;
    p->info.phys_state = FAB_PHYS_POLLING;
}

int fab_fabric_remove_link(struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    if (peer == FAB_NONE)
        return FAB_OK;
    struct fab_port *a = fab_fabric_edit_port(f, port), *b = fab_fabric_edit_port(f, peer);
    if (a == NULL || b == NULL)
        return FAB_E_NOMEM;
    unplug(a);
    unplug(b);
    f->link_count--;
    return FAB_OK;
}

int fab_fabric_add_link(struct fab_fabric *f, const uint32_t port[2],
                        const struct fab_port_info info[2])
{
    struct fab_port *a = fab_fabric_edit_port(f, port[0]), *b = fab_fabric_edit_port(f, port[1]);
    if (a == NULL || b == NULL)
        return FAB_E_NOMEM;
    a->peer = port[1];
    a->info = info[0];
    b->peer = port[0];
    b->info = info[1];
    f->link_count++;
    return FAB_OK;
}

bool fab_fabric_is_shared(const struct fab_fabric *f)
{
    return __atomic_load_n(&f->refs, __ATOMIC_ACQUIRE) > 1;
}

/* Finds the node with this GUID in a range of node ids, which are sorted by GUID. The range begins
 * with `from` and ends before `to`. Returns the id of the node, or FAB_NONE. */
static uint32_t search(const struct fab_fabric *f, uint32_t from, uint32_t to, uint64_t guid)
{
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (f->nodes[middle].guid == guid)
            return middle;
        if (f->nodes[middle].guid < guid)
            from = middle + 1;
        else
            to = middle;
    }
    return FAB_NONE;
}

uint32_t fab_fabric_node_by_guid(const struct fab_fabric *f, uint64_t guid)
{
    uint32_t id = search(f, 0, f->switch_count, guid);
    return id != FAB_NONE ? id : search(f, f->switch_count, f->node_count, guid);
}

uint32_t fab_fabric_port_by_guid(const struct fab_fabric *f, uint64_t guid)
{
    uint32_t id;
    return fab_base_map_get(&f->index->ports, guid, &id) ? id : FAB_NONE;
}

bool fab_fabric_port_has_lid(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    return fab_fabric_node_is_switch(f, p->node) ? p->num == 0 : p->num > 0 && p->present;
}

bool fab_fabric_port_is_up(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    return p->peer != FAB_NONE && p->info.phys_state == FAB_PHYS_LINKUP &&
           fab_fabric_port(f, p->peer)->info.phys_state == FAB_PHYS_LINKUP;
}

bool fab_fabric_port_is_isl(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) &&
           fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
}

bool fab_fabric_isl_is_up(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port_is_isl(f, port) && fab_fabric_port_is_up(f, port);
}
