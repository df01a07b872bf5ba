/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements ListNodeInventory and ListCableInventory. The nodes and cables of the fabric are
 * listed in the order of the view. Nodes that are gone are listed in the order of their GUIDs,
 * until they are forgotten. */
#include "fabricd/rpc/server.h"

#include <stdlib.h>

#include "fabric/v1/inventory.pb-c.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/page.h"
#include "fabricd/store/gone.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- values ---------------------------------------------------------------------------------- */

static double celsius(int16_t temperature)
{
    return temperature == FAB_NO_TEMPERATURE ? 0 : temperature / 8.0;
}

static Fabric__V1__Temperature *convert_temperature(struct answer *a, int16_t now, int16_t limit,
                                                    int16_t warning, bool high)
{
    Fabric__V1__Temperature *m =
        now != FAB_NO_TEMPERATURE ? ANSWER_NEW(a, Fabric__V1__Temperature, fabric__v1__temperature)
                                  : NULL;
    if (m == NULL)
        return NULL;
    m->celsius = celsius(now);
    m->limit_celsius = celsius(limit);
    m->warning_celsius = celsius(warning);
    m->high = high;
    return m;
}

static void convert_device(struct answer *a, const struct inventory_node *n,
                           Fabric__V1__NodeInventory *m)
{
    const struct fab_inventory_device *d = &n->device;
    m->hardware_revision = d->hw_revision;
    m->firmware = answer_text(a, d->firmware);
    m->firmware_date = answer_text(a, d->firmware_date);
    m->psid = answer_text(a, d->psid);
    m->part_number = answer_text(a, d->part);
    m->serial_number = answer_text(a, d->serial);
    m->revision = answer_text(a, d->revision);
    m->product_name = answer_text(a, d->product);
    m->usual_firmware = answer_text(a, n->usual);
    m->odd_firmware = n->odd;
    m->temperature = convert_temperature(a, n->temperature.now, n->temperature.limit,
                                         FAB_NO_TEMPERATURE, n->hot);
    m->fan_rpm = answer_alloc(a, FAB_INVENTORY_FANS, sizeof *m->fan_rpm);
    for (int i = 0; m->fan_rpm != NULL && i < FAB_INVENTORY_FANS; i++)
        if ((n->fans >> i & 1) != 0)
            m->fan_rpm[m->n_fan_rpm++] = n->fan_rpm[i];
    m->module_count = (uint32_t)n->module_count;
    if (n->read_us != 0)
        m->read_time = convert_time(a, n->read_us);
    if (n->uptime_s != 0)
        m->uptime = convert_duration(a, n->uptime_s * UINT64_C(1000000));
}

/* The API has the states in the same order as enum inventory_state. */
static Fabric__V1__InventoryState convert_state(uint8_t state)
{
    return (Fabric__V1__InventoryState)(FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_UNREAD +
                                        state);
}

/* ---- nodes of the fabric --------------------------------------------------------------------- */

static Fabric__V1__NodeInventory *convert_current(struct answer *a, const struct fab_view *v,
                                                  const struct fab_hosts *h, uint32_t node,
                                                  const struct inventory_node *n)
{
    const struct fab_node *from = &v->fabric->nodes[node];
    Fabric__V1__NodeInventory *m =
        ANSWER_NEW(a, Fabric__V1__NodeInventory, fabric__v1__node_inventory);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, from->guid);
    m->name = answer_text(a, from->name);
    m->type = (Fabric__V1__NodeType)from->type;
    m->vendor_id = from->info.vendor_id;
    m->device_id = from->info.device_id;
    m->state = convert_state(n != NULL ? n->state : INVENTORY_UNREAD);
    m->location = convert_location(a, location_of_node(h, v, node));
    if (n != NULL)
        convert_device(a, n, m);
    return m;
}

static bool is_wanted(const Fabric__V1__ListNodeInventoryRequest *q, const struct fab_hosts *h,
                      struct fab_view_filter *filter, uint32_t node, const struct inventory_node *n)
{
    const struct fab_view *v = filter->view;
    return (q->type == 0 || v->fabric->nodes[node].type == (uint8_t)q->type) &&
           is_in_rack(h, v, node, q->rack) && (!q->odd || (n != NULL && n->odd)) &&
           (!q->hot || (n != NULL && n->hot)) && fab_view_filter_node(filter, node);
}

static void fill_current(struct answer *a, struct call *c, struct fab_view_filter *filter,
                         const struct fab_hosts *h, const Fabric__V1__ListNodeInventoryRequest *q,
                         const struct page *page, Fabric__V1__ListNodeInventoryResponse *m)
{
    const struct fab_view *v = filter->view;
    bool same = false;
    uint32_t i = page->given ? page_node(v->fabric, &page->key, &same) : 0;
    m->nodes = answer_alloc(a, page->want, sizeof *m->nodes);
    for (i += same; m->nodes != NULL && i < v->fabric->node_count; i++) {
        const struct inventory_node *n =
            inventory_find(call_rpc(c)->in.inventory, v->fabric->nodes[i].guid);
        if (!is_wanted(q, h, filter, i, n))
            continue;
        if (m->n_nodes == page->want)
            break;
        m->nodes[m->n_nodes++] = convert_current(a, v, h, i, n);
    }
    if (i < v->fabric->node_count && i > 0) {
        struct page_key last = page_key_of_node(v->fabric, i - 1);
        last.list = 'I';
        m->next_page_token = page_token(a, &last);
    }
}

/* ---- nodes that are gone --------------------------------------------------------------------- */

struct gone_list {
    struct store *store;
    const Fabric__V1__ListNodeInventoryRequest *q;
    uint64_t after;
    const struct inventory_node **all; /* [count] */
    size_t count, room;
    bool known; /* true: the store lists the node as gone */
    bool failed;
};

static void see_gone(void *ctx, const struct store_gone_node *n)
{
    (void)n;
    ((struct gone_list *)ctx)->known = true;
}

static void add_gone(void *ctx, const struct inventory_node *n)
{
    struct gone_list *l = ctx;
    l->known = false;
    if (n->guid <= l->after || (l->q->type != 0 && n->type != (uint8_t)l->q->type))
        return;
    if (store_gone_node(l->store, n->guid, see_gone, l) != FAB_OK || !l->known)
        return;
    if (l->count == l->room) {
        void *more = fab_base_grow(l->all, sizeof *l->all, l->count + 1, &l->room);
        l->failed |= more == NULL;
        if (more == NULL)
            return;
        l->all = more;
    }
    l->all[l->count++] = n;
}

static int by_guid(const void *x, const void *y)
{
    uint64_t a = (*(const struct inventory_node *const *)x)->guid;
    uint64_t b = (*(const struct inventory_node *const *)y)->guid;
    return (a > b) - (a < b);
}

static Fabric__V1__NodeInventory *convert_gone(struct answer *a, const struct inventory_node *n)
{
    Fabric__V1__NodeInventory *m =
        ANSWER_NEW(a, Fabric__V1__NodeInventory, fabric__v1__node_inventory);
    if (m == NULL)
        return NULL;
    m->guid = answer_guid(a, n->guid);
    m->name = answer_text(a, n->name);
    m->type = (Fabric__V1__NodeType)n->type;
    m->vendor_id = n->vendor_id;
    m->device_id = n->device.device_id;
    m->state = FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_READ;
    m->gone = true;
    convert_device(a, n, m);
    return m;
}

/* Fills in a page of nodes that are gone. Returns false if memory ran out. */
static bool fill_gone(struct answer *a, struct call *c, struct store *store,
                      const Fabric__V1__ListNodeInventoryRequest *q, const struct page *page,
                      Fabric__V1__ListNodeInventoryResponse *m)
{
    struct gone_list l = {.store = store, .q = q, .after = page->given ? page->key.number : 0};
    inventory_each_gone(call_rpc(c)->in.inventory, add_gone, &l);
    if (l.count > 0)
        qsort(l.all, l.count, sizeof *l.all, by_guid);
    m->nodes = answer_alloc(a, page->want, sizeof *m->nodes);
    for (size_t i = 0; m->nodes != NULL && i < l.count && i < page->want; i++)
        m->nodes[m->n_nodes++] = convert_gone(a, l.all[i]);
    if (l.count > page->want && m->n_nodes > 0)
        m->next_page_token =
            page_token(a, &(struct page_key){.list = 'J', .number = l.all[m->n_nodes - 1]->guid});
    free(l.all);
    return !l.failed;
}

void list_node_inventory(struct call *c, const void *request)
{
    const Fabric__V1__ListNodeInventoryRequest *q = request;
    Fabric__V1__ListNodeInventoryResponse m = FABRIC__V1__LIST_NODE_INVENTORY_RESPONSE__INIT;
    struct answer a = {0};
    struct page page;
    struct fab_view_filter filter;
    struct fab_view *v = need_view(c);
    struct store *store = v != NULL && q->gone ? need_store(c) : NULL;
    if (v == NULL || (q->gone && store == NULL) ||
        !read_page(c, q->gone ? 'J' : 'I', q->page_token, q->page_size, &page))
        return;
    const struct fab_hosts *h = need_hosts(c, v);
    if (h == NULL || !need_rack(c, h, v, q->rack) ||
        find_filter(c, v, q->gone ? "" : q->name, &filter) != FAB_OK)
        return;
    m.reading = call_rpc(c)->in.config->inventory.read != 0;
    if (!q->gone) {
        fill_current(&a, c, &filter, h, q, &page, &m);
    } else if (!fill_gone(&a, c, store, q, &page, &m)) {
        fab_base_arena_fini(&a.arena);
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    answer_reply(&a, c, &m.base);
}

/* ---- modules --------------------------------------------------------------------------------- */

static Fabric__V1__CableInventory *convert_module(struct answer *a, const struct fab_view *v,
                                                  uint32_t port, const struct inventory_node *n,
                                                  const struct inventory_module *from)
{
    const struct fab_module *c = &from->known.module;
    uint32_t peer = fab_fabric_port(v->fabric, port)->peer;
    Fabric__V1__CableInventory *m =
        ANSWER_NEW(a, Fabric__V1__CableInventory, fabric__v1__cable_inventory);
    if (m == NULL)
        return NULL;
    m->port = convert_port_ref(a, v, port);
    if (peer != FAB_NONE)
        m->peer = convert_port_ref(a, v, peer);
    m->kind = answer_constant(fab_inventory_module_kind(c->identifier));
    m->medium = answer_constant(fab_inventory_medium_name((enum fab_medium)c->medium));
    m->vendor = answer_text(a, c->vendor);
    m->part_number = answer_text(a, c->part);
    m->serial_number = answer_text(a, c->serial);
    m->revision = answer_text(a, c->revision);
    m->date = answer_text(a, c->date);
    m->length_metres = c->length_cm / 100.0;
    m->power_watts = c->power_mw / 1000.0;
    m->temperature = convert_temperature(a, from->now, c->temperature.limit, c->warning, from->hot);
    m->damaged = c->damaged;
    if (n->read_us != 0)
        m->read_time = convert_time(a, n->read_us);
    return m;
}

static void fill_modules(struct answer *a, struct call *c, struct port_range *range,
                         const struct fab_hosts *h, uint32_t want,
                         const Fabric__V1__ListCableInventoryRequest *q,
                         Fabric__V1__ListCableInventoryResponse *m)
{
    const struct fab_view *v = range->filter.view;
    /* the inventory of the node `node`; NULL: nothing is known */
    const struct inventory_node *n = NULL;
    uint32_t i, node = FAB_NONE;
    m->cables = answer_alloc(a, want, sizeof *m->cables);
    for (i = range->first; m->cables != NULL && i < range->end; i++) {
        const struct fab_port *p = fab_fabric_port(v->fabric, i);
        if (p->node != node)
            n = inventory_find(call_rpc(c)->in.inventory, v->fabric->nodes[p->node].guid);
        node = p->node;
        const struct inventory_module *module = inventory_find_module(n, p->num);
        if (module == NULL || (q->hot && !module->hot) || !is_in_rack(h, v, p->node, q->rack) ||
            !fab_view_filter_port(&range->filter, i))
            continue;
        if (m->n_cables == want)
            break;
        m->cables[m->n_cables++] = convert_module(a, v, i, n, module);
    }
    if (i < range->end && i > 0) {
        struct page_key last = page_key_of_port(v->fabric, i - 1, 'M');
        m->next_page_token = page_token(a, &last);
    }
}

void list_cable_inventory(struct call *c, const void *request)
{
    const Fabric__V1__ListCableInventoryRequest *q = request;
    Fabric__V1__ListCableInventoryResponse m = FABRIC__V1__LIST_CABLE_INVENTORY_RESPONSE__INIT;
    struct answer a = {0};
    struct port_range range;
    struct fab_view *v = need_view(c);
    if (v == NULL || read_port_range(c, v, 'M', q->page_token, q->node, &range) != FAB_OK)
        return;
    const struct fab_hosts *h = need_hosts(c, v);
    if (h == NULL || !need_rack(c, h, v, q->rack))
        return;
    m.reading = call_rpc(c)->in.config->inventory.read != 0;
    fill_modules(&a, c, &range, h, page_size(q->page_size), q, &m);
    answer_reply(&a, c, &m.base);
}
