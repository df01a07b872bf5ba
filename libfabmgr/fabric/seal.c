/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a snapshot from a builder, which is called sealing. The ids and bytes of the snapshot do
 * not depend on the order of discovery.
 *
 * Nodes are sorted (switches first, then by GUID) and copied with their ports. A table that maps
 * the builder's port indexes to port ids translates the links.
 *
 * Three values depend on the port through which a device was queried. Sealing therefore replaces
 * them. LocalPortNum and PortGUID of NodeInfo become the values of port 0 (switches) or of the
 * first port with a known GUID (other nodes). LocalPortNum of PortInfo becomes the port's own
 * number.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/builder.h"
#include "libfabmgr/fabric/classify.h"

struct place {
    uint64_t guid;
    uint32_t ref;
    bool end; /* true: the node is not a switch */
};

struct sealing {
    const struct fab_builder *b;
    struct fab_fabric *f;
    /* [f->node_count] the nodes in the order of their ids in the snapshot */
    struct place *order;
    /* [b->port_count] port id in the snapshot for each port of the builder */
    uint32_t *port_id;
};

static int compare_places(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->end != b->end)
        return a->end ? 1 : -1;
    return (a->guid > b->guid) - (a->guid < b->guid);
}

/* Sorts the nodes into the order of their ids in the snapshot. A builder made by
 * fab_fabric_builder_from usually has this order already; then nothing is sorted. */
static void sort_nodes(struct sealing *s)
{
    bool sorted = true;
    uint32_t n = 0;
    for (uint32_t ref = 0; ref < s->b->node_count; ref++) {
        const struct builder_node *from = fab_fabric_builder_node_at(s->b, ref);
        if (from->removed)
            continue;
        s->order[n] = (struct place){
            .guid = from->node.guid, .ref = ref, .end = from->node.type != FAB_NODE_SWITCH};
        sorted = sorted && (n == 0 || compare_places(&s->order[n - 1], &s->order[n]) < 0);
        s->f->switch_count += !s->order[n].end;
        s->f->port_count += from->node.num_ports + 1u;
        n++;
    }
    if (!sorted)
        qsort(s->order, n, sizeof *s->order, compare_places);
}

static void settle_node_info(const struct fab_fabric *f, struct fab_node *n)
{
    const struct fab_port *p = fab_fabric_port(f, n->first_port);
    uint8_t num = n->type == FAB_NODE_SWITCH ? 0 : 1;
    while (num > 0 && num < n->num_ports && p[num].guid == 0)
        num++;
    n->info.local_port = num;
    n->info.port_guid = p[num].guid;
}

static void copy_ports(struct sealing *s, uint32_t id, uint32_t from, uint32_t to)
{
    unsigned count = s->f->nodes[id].num_ports + 1u;
    for (unsigned i = 0; i < count; i++) {
        struct fab_port *p = fab_fabric_edit_port(s->f, to + i);
        *p = *fab_fabric_builder_port_at(s->b, from + i);
        p->node = id;
        if (p->present)
            p->info.local_port = p->num;
        s->port_id[from + i] = to + i;
    }
}

static void copy_nodes(struct sealing *s)
{
    struct fab_fabric *f = s->f;
    uint32_t first_port = 0;
    for (uint32_t id = 0; id < f->node_count; id++) {
        const struct builder_node *from = fab_fabric_builder_node_at(s->b, s->order[id].ref);
        struct fab_node *n = &f->nodes[id];
        *n = from->node;
        n->first_port = first_port;
        n->aggregation = fab_fabric_is_aggregation_node(n);
        copy_ports(s, id, from->node.first_port, first_port);
        settle_node_info(f, n);
        if (id < f->switch_count)
            f->switches[id] = from->switch_info;
        first_port += n->num_ports + 1u;
    }
}

static void translate_links(struct sealing *s)
{
    struct fab_fabric *f = s->f;
    for (uint32_t i = 0; i < f->port_count; i++) {
        if (fab_fabric_port(f, i)->peer == FAB_NONE)
            continue;
        fab_fabric_edit_port(f, i)->peer = s->port_id[fab_fabric_port(f, i)->peer];
        f->link_count += fab_fabric_port(f, i)->peer > i;
    }
    f->self_port = s->b->self == FAB_NONE ? FAB_NONE : s->port_id[s->b->self];
}

/* Makes the index of port GUIDs. If two ports have the same GUID, the index contains the first
 * one. */
static int index_ports(struct fab_fabric *f)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->port_count; i++)
        count += fab_fabric_port(f, i)->guid != 0;
    int status = fab_base_map_reserve(&f->index->ports, count);
    for (uint32_t i = 0; i < f->port_count && status == FAB_OK; i++)
        if (fab_fabric_port(f, i)->guid != 0)
            fab_base_map_add(&f->index->ports, fab_fabric_port(f, i)->guid, i);
    return status;
}

static int alloc_ports(struct fab_fabric *f)
{
    size_t pages = f->port_count / FAB_PORT_PAGE + 1,
           page_bytes = FAB_PORT_PAGE * sizeof(struct fab_port);
    struct fab_port *ports = calloc(pages, page_bytes);
    const struct fab_pages_layout one_row = {1, pages, page_bytes, pages * page_bytes};
    if (ports == NULL || fab_base_pages_new(ports, one_row, &f->ports) != FAB_OK) {
        free(ports);
        return FAB_E_NOMEM;
    }
    return FAB_OK;
}

int fab_fabric_alloc(struct fab_fabric *f)
{
    f->nodes = fab_base_alloc_array(f->node_count, sizeof *f->nodes);
    f->switches = fab_base_alloc_array(f->switch_count, sizeof *f->switches);
    f->index = calloc(1, sizeof *f->index);
    bool good = f->nodes != NULL && f->switches != NULL && f->index != NULL;
    return good ? alloc_ports(f) : FAB_E_NOMEM;
}

static int fill(struct sealing *s)
{
    s->f->refs = 1;
    s->f->node_count = s->b->live_count;
    sort_nodes(s);
    int status = fab_fabric_alloc(s->f);
    if (status != FAB_OK)
        return status;
    copy_nodes(s);
    translate_links(s);
    return index_ports(s->f);
}

int fab_fabric_builder_seal(const struct fab_builder *b, struct fab_fabric **ret_fabric)
{
    struct sealing s = {.b = b};
    int status = FAB_E_NOMEM;
    s.f = calloc(1, sizeof *s.f);
    s.order = fab_base_alloc_array(b->live_count, sizeof *s.order);
    s.port_id = fab_base_alloc_array(b->port_count, sizeof *s.port_id);
    if (s.f == NULL || s.order == NULL || s.port_id == NULL)
        goto out;
    status = fill(&s);
    if (status == FAB_OK) {
        *ret_fabric = s.f;
        s.f = NULL;
    }
out:
    fab_fabric_free(s.f);
    free(s.order);
    free(s.port_id);
    return status;
}
