/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the inventory, decides which device is visited next, and answers queries.
 *
 * A timer ticks TICKS times a second, or less often if inventory.requests is lower. This setting
 * limits the requests per second: each tick sets how many requests (tokens) all visits together may
 * send until the next tick. The first visit of a device is due at once. Each later visit is due one
 * interval after the visit before it, or earlier if the device did not answer or its links have
 * changed.
 */
#include "fabricd/inventory/inventory.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/inventory/private.h"
#include "libfabmgr/base/status.h"

#define TICKS 10u
#define ODD_US UINT64_C(5000000) /* minimum time in us between two comparisons of firmware */
/* A new view is compared with the entries in several parts. This is the time in us between two
 * parts. */
#define COMPARE_US 2000u
/* maximum number of entries that a tick examines, to find devices whose visit is due */
#define SCAN 4096u

const char *inventory_state_name(enum inventory_state state)
{
    static const char *const names[] = {"unread", "read", "unsupported", "no-answer"};
    return (size_t)state < sizeof(names) / sizeof(*names) ? names[state] : "";
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* Returns true if the device has registers with temperatures. */
static bool has_temperatures(const struct inventory_node *n)
{
    return n->state == INVENTORY_READ && (n->temperature.now != FAB_NO_TEMPERATURE ||
                                          n->module_count > 0 || n->device.part[0] != '\0');
}

static bool can_visit(const struct inventory_entry *e)
{
    return e->node.current && !e->busy && e->lid != 0 &&
           fab_inventory_is_known_vendor(e->node.vendor_id);
}

static bool wants(const struct inventory *inv, const struct inventory_entry *e, uint64_t now,
                  bool *ret_whole)
{
    if (!can_visit(e))
        return false;
    *ret_whole = e->due <= now;
    return *ret_whole || (inv->in.config->inventory.temperature_interval_s != 0 &&
                          e->temperature_due <= now && has_temperatures(&e->node));
}

static uint32_t count_visits(const struct inventory *inv)
{
    uint32_t active = 0;
    for (size_t i = 0; i < INVENTORY_VISITS; i++)
        active += inv->visits[i].active;
    return active;
}

static void start_visits(struct inventory *inv)
{
    uint64_t now = clock_now_us();
    uint32_t active = count_visits(inv);
    bool whole;
    for (size_t i = 0; i < inv->count && i < SCAN && active < INVENTORY_VISITS; i++) {
        struct inventory_entry *e = &inv->entries[inv->cursor++ % inv->count];
        if (wants(inv, e, now, &whole)) {
            inventory_visit_start(inv, e, whole);
            active++;
        }
    }
    if (inv->count > 0)
        inv->cursor %= inv->count;
}

static void unref_view(void *ctx)
{
    fab_view_unref(ctx);
}

static void end_comparison(struct inventory *inv, bool good)
{
    /* This may be the last reference to the view. Another thread frees its tables, which takes
     * milliseconds in a large fabric. */
    if (inv->compared)
        loop_discard(inv->in.loop, unref_view, inv->compared);
    inv->compared = good ? fab_view_ref(inv->view) : NULL;
    inv->odd_due = true;
    fab_view_unref(inv->view);
    inv->view = NULL;
}

static bool is_compared(const struct inventory *inv, const struct fab_view *v)
{
    const struct fab_view *was = inv->compared;
    return was && was->fabric == v->fabric && was->generation == v->generation;
}

/* Begins to compare the inventory with the present view, unless it was compared with this view
 * already. Returns false if the manager is busy or has no view yet. */
static bool see_view(struct inventory *inv)
{
    struct fab_view *v = sm_is_quiet(inv->in.sm) ? sm_view(inv->in.sm) : NULL;
    bool good = v && v->target;
    if (good && !is_compared(inv, v)) {
        inv->view = v;
        inventory_compare_begin(inv);
        return true;
    }
    fab_view_unref(v);
    return good;
}

/* Compares the next nodes of a new view with the inventory. Returns true if all nodes of the
 * present view were compared. Returns false if nodes are left, or if the manager is busy or has no
 * view yet. */
static bool follow_view(struct inventory *inv)
{
    if (!inv->view && !see_view(inv))
        return false;
    if (!inv->view)
        return true;
    bool done;
    int r = inventory_compare(inv, &done);
    if (r != FAB_OK || done)
        end_comparison(inv, r == FAB_OK);
    return r == FAB_OK && done;
}

/* Returns true if firmware must be compared now. The first comparison after the start is due at
 * once, and uses the versions in the store. A later comparison is due when firmware or the set of
 * devices has changed, all devices of the fabric have been visited, and ODD_US have passed since
 * the last comparison. */
static bool odd_is_due(const struct inventory *inv)
{
    if (!inv->odd_due || (inv->odd_known && clock_now_us() - inv->odd_us < ODD_US))
        return false;
    for (size_t i = 0; i < inv->count && inv->odd_known; i++) {
        const struct inventory_entry *e = &inv->entries[i];
        if (e->node.current && e->lid != 0 && e->node.state == INVENTORY_UNREAD)
            return false;
    }
    return true;
}

static void tick(void *ctx)
{
    struct inventory *inv = ctx;
    uint32_t rate = inv->in.config->inventory.requests;
    loop_at(inv->in.loop, "inventory");
    if (follow_view(inv) && inv->in.config->inventory.read) {
        inv->tokens = rate / TICKS > 0 ? rate / TICKS : 1;
        start_visits(inv);
        inventory_visits_go_on(inv);
        if (odd_is_due(inv))
            inventory_find_odd(inv);
    }
    loop_timer_set(inv->timer, inv->view ? COMPARE_US : 1000000 / (rate < TICKS ? rate : TICKS));
    agent_pump(inv->agent);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int new_agent(struct inventory *inv)
{
    const struct config_smp *smp = &inv->in.config->smp;
    struct fab_mads_config config = {
        .window_start = INVENTORY_VISITS,
        .window_max = INVENTORY_VISITS,
        .timeout_us = (uint64_t)smp->timeout_ms * 1000,
        .retries = smp->retries < 2 ? smp->retries : 2,
    };
    return agent_new_class(inv->in.loop, inv->in.transport, FAB_CLASS_VENDOR, &config, NULL, NULL,
                           &inv->agent);
}

int inventory_new(const struct inventory_input *in, struct inventory **ret)
{
    struct inventory *inv = calloc(1, sizeof(*inv));
    if (!inv)
        return FAB_E_NOMEM;
    inv->in = *in;
    int r = new_agent(inv);
    if (r == FAB_OK)
        r = inventory_load(inv);
    inv->timer = r == FAB_OK ? loop_timer_new(in->loop, tick, inv) : NULL;
    if (r == FAB_OK && !inv->timer)
        r = FAB_E_NOMEM;
    if (r != FAB_OK) {
        inventory_free(inv);
        return r;
    }
    loop_timer_set(inv->timer, 0);
    *ret = inv;
    return FAB_OK;
}

void inventory_free(struct inventory *inv)
{
    if (!inv)
        return;
    loop_timer_free(inv->timer);
    agent_free(inv->agent);
    inventory_visits_stop(inv);
    fab_view_unref(inv->view);
    fab_view_unref(inv->compared);
    inventory_nodes_fini(inv);
    free(inv);
}

void inventory_reload(struct inventory *inv)
{
    if (inv->in.config->inventory.read)
        return;
    inventory_visits_stop(inv);
    for (size_t i = 0; i < inv->count; i++)
        inv->entries[i].busy = false;
}

/* ---- queries --------------------------------------------------------------------------------- */

const struct inventory_node *inventory_find(const struct inventory *inv, uint64_t guid)
{
    const struct inventory_entry *e = inv ? inventory_entry_of(inv, guid) : NULL;
    return e ? &e->node : NULL;
}

const struct inventory_module *inventory_find_module(const struct inventory_node *n, uint8_t port)
{
    for (size_t i = 0; n && i < n->module_count; i++)
        if (n->modules[i].known.port == port)
            return &n->modules[i];
    return NULL;
}

void inventory_each_gone(const struct inventory *inv,
                         void (*fn)(void *ctx, const struct inventory_node *n), void *ctx)
{
    for (size_t i = 0; inv && i < inv->count; i++)
        if (!inv->entries[i].node.current && inv->entries[i].node.read_us != 0)
            fn(ctx, &inv->entries[i].node);
}

const struct inventory_firmware *inventory_firmwares(const struct inventory *inv,
                                                     uint32_t *ret_count)
{
    *ret_count = inv->firmware_count;
    return inv->firmware;
}

void inventory_get_status(const struct inventory *inv, struct inventory_status *ret)
{
    *ret = (struct inventory_status){.requests = inv->requests, .failed = inv->failed};
    for (size_t i = 0; i < inv->count; i++) {
        const struct inventory_node *n = &inv->entries[i].node;
        if (!n->current)
            continue;
        ret->state[n->state]++;
        ret->odd += n->odd;
        ret->hot += n->hot;
        ret->modules += (uint32_t)n->module_count;
        for (size_t m = 0; m < n->module_count; m++)
            ret->hot += n->modules[m].hot;
    }
}
