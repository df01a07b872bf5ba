/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of the inventory, one for each node. When a node leaves the fabric, its entry stays.
 * If the node returns, the inventory compares the node with this entry.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/inventory/private.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* Maximum work of one call of inventory_compare. A node that has not changed since the last
 * comparison counts as 1, and a node that must be compared counts as COMPARE_WORK. */
#define WORK_MOST 2048u
#define COMPARE_WORK 8u

struct inventory_entry *inventory_entry_of(const struct inventory *inv, uint64_t guid)
{
    uint32_t i;
    return fab_base_map_get(&inv->index, guid, &i) ? &inv->entries[i] : NULL;
}

static struct inventory_entry *add(struct inventory *inv, uint64_t guid)
{
    if (inv->count == inv->room) {
        void *grown =
            fab_base_grow(inv->entries, sizeof(*inv->entries), inv->count + 1, &inv->room);
        if (!grown)
            return NULL;
        inv->entries = grown;
    }
    if (fab_base_map_put(&inv->index, guid, (uint32_t)inv->count) != FAB_OK)
        return NULL;
    struct inventory_entry *e = &inv->entries[inv->count++];
    *e = (struct inventory_entry){
        .node = {.guid = guid, .temperature = {FAB_NO_TEMPERATURE, FAB_NO_TEMPERATURE}}};
    return e;
}

/* ---- the store ------------------------------------------------------------------------------- */

static int take_stored(struct inventory *inv, const struct store_inventory *from)
{
    struct inventory_entry *e = add(inv, from->guid);
    struct inventory_module *modules =
        e && from->count > 0 ? calloc(from->count, sizeof(*modules)) : NULL;
    if (!e || (from->count > 0 && !modules))
        return FAB_E_NOMEM;
    struct inventory_node *n = &e->node;
    memcpy(n->name, from->name, sizeof(n->name));
    n->type = from->type;
    n->vendor_id = from->vendor_id;
    n->read_us = from->read_us;
    n->device = from->device;
    n->modules = modules;
    n->module_count = from->count;
    for (size_t i = 0; i < from->count; i++)
        modules[i] =
            (struct inventory_module){.known = from->modules[i], .now = FAB_NO_TEMPERATURE};
    return FAB_OK;
}

int inventory_load(struct inventory *inv)
{
    struct store_inventory *all = NULL;
    size_t count = 0;
    int r = inv->in.store ? store_load_inventory(inv->in.store, &all, &count) : FAB_OK;
    for (size_t i = 0; i < count && r == FAB_OK; i++)
        r = take_stored(inv, &all[i]);
    store_inventory_free(all, count);
    return r;
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Returns the LID to which requests for the node are sent; 0: the node has no LID yet. */
static uint16_t lid_of(const struct fab_view *v, uint32_t node)
{
    const struct fab_node *n = &v->fabric->nodes[node];
    const uint32_t *base = v->target->lids.base;
    if (fab_fabric_node_is_switch(v->fabric, node))
        return (uint16_t)base[n->first_port];
    for (unsigned p = 1; p <= n->num_ports; p++)
        if (base[n->first_port + p] != 0 &&
            fab_fabric_port(v->fabric, n->first_port + p)->info.phys_state == FAB_PHYS_LINKUP)
            return (uint16_t)base[n->first_port + p];
    return 0;
}

/* Returns a hash of the peers of a node's ports. If the hash differs from an earlier one, a cable
 * of the node was moved, added or removed. */
static uint64_t hash_links(const struct fab_fabric *f, const struct fab_node *n)
{
    uint64_t hash = n->num_ports;
    for (unsigned p = 1; p <= n->num_ports; p++) {
        uint32_t peer = fab_fabric_port(f, n->first_port + p)->peer;
        if (peer == FAB_NONE)
            continue;
        const struct fab_port *q = fab_fabric_port(f, peer);
        hash = fab_base_mix64(hash ^ fab_base_mix64(f->nodes[q->node].guid + p) ^ q->num);
    }
    return hash;
}

/* Sets the times of the next visits. A device is visited at once if it is new or if its links
 * changed. Otherwise its next full visit is due one interval after the last one, even if the
 * manager was restarted in between. */
static void schedule(const struct inventory *inv, struct inventory_entry *e, bool changed)
{
    uint64_t now = clock_now_us(),
             interval = inv->in.config->inventory.interval_s * UINT64_C(1000000);
    int64_t age = clock_unix_us() - e->node.read_us;
    if (changed || e->node.read_us == 0 || age < 0 || (uint64_t)age >= interval)
        e->due = now;
    else
        e->due = now + interval - (uint64_t)age;
    e->temperature_due = now;
}

static int compare_node(struct inventory *inv, const struct fab_view *v, uint32_t node)
{
    const struct fab_node *n = &v->fabric->nodes[node];
    struct inventory_entry *e = inventory_entry_of(inv, n->guid);
    uint64_t links = hash_links(v->fabric, n);
    if (!e && !(e = add(inv, n->guid)))
        return FAB_E_NOMEM;
    bool was_current = e->node.current, changed = was_current && e->links != links;
    memcpy(e->node.name, n->name, sizeof(e->node.name));
    e->node.type = n->type;
    e->node.vendor_id = n->info.vendor_id;
    e->node.current = e->in_view = true;
    if (e->node.device.device_id == 0)
        e->node.device.device_id = n->info.device_id;
    e->lid = lid_of(v, node);
    e->ports = n->num_ports;
    e->links = links;
    if (!was_current)
        e->node.state = !fab_inventory_is_known_vendor(n->info.vendor_id) ? INVENTORY_UNSUPPORTED
                        : e->node.read_us != 0                            ? INVENTORY_READ
                                                                          : INVENTORY_UNREAD;
    if (!was_current || changed)
        schedule(inv, e, changed);
    return FAB_OK;
}

/* Returns true if both views have the same nodes and the same LIDs. */
static bool same_nodes(const struct fab_view *a, const struct fab_view *b)
{
    return fab_fabric_same_ids(a->fabric, b->fabric) &&
           memcmp(a->target->lids.base, b->target->lids.base,
                  a->fabric->port_count * sizeof(*a->target->lids.base)) == 0;
}

/* Returns true if the node has the same name and the same links as in the last comparison. */
static bool is_unchanged(const struct inventory *inv, uint32_t node)
{
    const struct fab_fabric *was = inv->compared->fabric, *now = inv->view->fabric;
    return strcmp(was->nodes[node].name, now->nodes[node].name) == 0 &&
           fab_fabric_same_links(was, now, node);
}

void inventory_compare_begin(struct inventory *inv)
{
    inv->next_node = 0;
    inv->follows = inv->compared && same_nodes(inv->compared, inv->view);
    for (size_t i = 0; i < inv->count && !inv->follows; i++)
        inv->entries[i].in_view = false;
}

static void end(struct inventory *inv)
{
    for (size_t i = 0; i < inv->count && !inv->follows; i++)
        inv->entries[i].node.current = inv->entries[i].in_view;
}

int inventory_compare(struct inventory *inv, bool *ret_done)
{
    const struct fab_fabric *f = inv->view->fabric;
    uint32_t work = 0;
    int r = FAB_OK;
    while (r == FAB_OK && inv->next_node < f->node_count && work < WORK_MOST) {
        uint32_t node = inv->next_node++;
        bool same = inv->follows && is_unchanged(inv, node);
        work += same ? 1 : COMPARE_WORK;
        if (!same)
            r = compare_node(inv, inv->view, node);
    }
    *ret_done = r == FAB_OK && inv->next_node == f->node_count;
    if (*ret_done)
        end(inv);
    return r;
}

void inventory_nodes_fini(struct inventory *inv)
{
    for (size_t i = 0; i < inv->count; i++)
        free(inv->entries[i].node.modules);
    free(inv->entries);
    fab_base_map_fini(&inv->index);
}
