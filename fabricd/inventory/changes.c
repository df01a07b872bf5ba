/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores what a visit has read from a device, and emits events about changes of firmware and
 * modules and about temperatures above their limits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/inventory/private.h"
#include "libfabmgr/inventory/odd.h"

#define PLACE_LEN (FAB_NODE_DESC_LEN + 5)
/* A temperature that has reached its limit counts as too hot until it is lower than the limit by
 * this amount. Unit: 0.125 degrees Celsius. */
#define HYSTERESIS (5 * 8)
/* time in us until the next visit of a device that did not answer */
#define RETRY_US (600 * UINT64_C(1000000))
/* A comparison emits one event for each device that has odd firmware and did not have it in the
 * comparison before, but for at most this number of devices. If there are more, it also emits one
 * event that gives their number, and the names of the first ODD_EVENTS. */
#define ODD_EVENTS 8u
#define NAMES_LEN 400

/* ---- temperatures ---------------------------------------------------------------------------- */

static uint64_t degrees(int16_t temperature)
{
    return temperature > 0 ? (uint64_t)temperature / 8 : 0;
}

/* Returns true if the temperature `now` counts as too hot. After a temperature has reached its
 * limit, it counts as too hot until it is HYSTERESIS below the limit. */
static bool is_hot(bool was_hot, int16_t now, int16_t limit)
{
    if (now == FAB_NO_TEMPERATURE || limit == FAB_NO_TEMPERATURE)
        return false;
    return was_hot ? now > limit - HYSTERESIS : now >= limit;
}

/* Returns the limit from which on the module counts as too hot: its warning limit or, if it has
 * none, its alarm limit. */
static int16_t module_limit(const struct fab_module *m)
{
    return m->warning != FAB_NO_TEMPERATURE ? m->warning : m->temperature.limit;
}

static void check_device(struct inventory *inv, struct inventory_node *n, bool was_hot)
{
    n->hot = is_hot(was_hot, n->temperature.now, n->temperature.limit);
    if (n->hot && !was_hot)
        event_emit(inv->in.bus, temperature_high, .subject = n->name, .guid = n->guid,
                   .celsius = degrees(n->temperature.now), .limit = degrees(n->temperature.limit));
    else if (!n->hot && was_hot)
        event_emit(inv->in.bus, temperature_normal, .subject = n->name, .guid = n->guid,
                   .celsius = degrees(n->temperature.now), .limit = degrees(n->temperature.limit));
}

static void place_of(const struct inventory_node *n, uint8_t port, char ret[PLACE_LEN])
{
    snprintf(ret, PLACE_LEN, "%s/%u", n->name, port);
}

static void check_module(struct inventory *inv, const struct inventory_node *n,
                         struct inventory_module *m, bool was_hot)
{
    int16_t limit = module_limit(&m->known.module);
    char place[PLACE_LEN];
    m->hot = is_hot(was_hot, m->now, limit);
    place_of(n, m->known.port, place);
    if (m->hot && !was_hot)
        event_emit(inv->in.bus, module_temperature_high, .subject = place, .guid = n->guid,
                   .port = m->known.port, .celsius = degrees(m->now), .limit = degrees(limit));
    else if (!m->hot && was_hot)
        event_emit(inv->in.bus, module_temperature_normal, .subject = place, .guid = n->guid,
                   .port = m->known.port, .celsius = degrees(m->now), .limit = degrees(limit));
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool same_module(const struct store_module *a, const struct store_module *b)
{
    return strcmp(a->module.vendor, b->module.vendor) == 0 &&
           strcmp(a->module.part, b->module.part) == 0 &&
           strcmp(a->module.serial, b->module.serial) == 0;
}

static const struct inventory_module *module_at(const struct inventory_node *n, uint8_t port)
{
    for (size_t i = 0; i < n->module_count; i++)
        if (n->modules[i].known.port == port)
            return &n->modules[i];
    return NULL;
}

static void report_module(struct inventory *inv, const struct inventory_node *n,
                          const struct store_module *was, const struct store_module *now)
{
    char place[PLACE_LEN];
    if (same_module(was, now) || now->module.serial[0] == '\0' || now->module.damaged)
        return;
    place_of(n, now->port, place);
    event_emit(inv->in.bus, cable_changed, .subject = place, .guid = n->guid, .port = now->port,
               .part = now->module.part, .serial = now->module.serial,
               .previous_part = was->module.part, .previous_serial = was->module.serial);
}

/* Compares the modules that this visit has read with those of the visit before. Emits an event for
 * each module that was exchanged, and for each temperature that has reached its limit or is normal
 * again. */
static void compare_modules(struct inventory *inv, const struct inventory_node *was,
                            struct inventory_node *now)
{
    for (size_t i = 0; i < now->module_count; i++) {
        struct inventory_module *m = &now->modules[i];
        const struct inventory_module *before = module_at(was, m->known.port);
        if (before)
            report_module(inv, now, &before->known, &m->known);
        check_module(inv, now, m, before && before->hot);
    }
}

static void report_firmware(struct inventory *inv, const struct inventory_node *was,
                            const struct inventory_node *now)
{
    if (strcmp(was->device.firmware, now->device.firmware) == 0)
        return;
    inv->odd_due = true;
    if (was->device.firmware[0] != '\0' && now->device.firmware[0] != '\0')
        event_emit(inv->in.bus, firmware_changed, .subject = now->name, .guid = now->guid,
                   .firmware = now->device.firmware, .previous = was->device.firmware);
}

static bool has_stopped(const struct inventory_node *n, unsigned fan)
{
    return (n->fans >> fan & 1) != 0 && n->fan_rpm[fan] == 0;
}

/* Emits an event for each fan that has stopped since the visit before, and for each fan that runs
 * again. A fan that the device no longer reports counts as running. */
static void report_fans(struct inventory *inv, const struct inventory_node *was,
                        const struct inventory_node *now)
{
    for (unsigned fan = 0; fan < FAB_INVENTORY_FANS; fan++) {
        if (has_stopped(now, fan) && !has_stopped(was, fan))
            event_emit(inv->in.bus, fan_stopped, .subject = now->name, .guid = now->guid,
                       .fan = fan + 1);
        else if (!has_stopped(now, fan) && has_stopped(was, fan))
            event_emit(inv->in.bus, fan_running, .subject = now->name, .guid = now->guid,
                       .fan = fan + 1, .rpm = now->fan_rpm[fan]);
    }
}

/* Returns true if the visit has read something that the database does not have yet. Differences in
 * temperatures and in the time of the visit do not count. */
static bool has_changed(const struct inventory_node *was, const struct inventory_node *now)
{
    if (was->read_us == 0 || was->module_count != now->module_count ||
        memcmp(&was->device, &now->device, sizeof(now->device)) != 0)
        return true;
    for (size_t i = 0; i < now->module_count; i++)
        if (was->modules[i].known.port != now->modules[i].known.port ||
            !same_module(&was->modules[i].known, &now->modules[i].known))
            return true;
    return false;
}

static void keep(struct inventory *inv, const struct inventory_node *n)
{
    struct store_inventory out = {.guid = n->guid,
                                  .read_us = n->read_us,
                                  .type = n->type,
                                  .vendor_id = n->vendor_id,
                                  .device = n->device,
                                  .count = n->module_count};
    if (!inv->in.store)
        return;
    memcpy(out.name, n->name, sizeof(out.name));
    out.modules = n->module_count > 0 ? calloc(n->module_count, sizeof(*out.modules)) : NULL;
    for (size_t i = 0; i < n->module_count && out.modules; i++)
        out.modules[i] = n->modules[i].known;
    if (n->module_count == 0 || out.modules)
        store_put_inventory(inv->in.store, &out);
    free(out.modules);
}

/* ---- the end of a visit ---------------------------------------------------------------------- */

static void take_read(struct inventory *inv, struct inventory_entry *e, struct inventory_visit *v)
{
    struct inventory_node was = e->node;
    struct inventory_node *n = &v->read;
    /* the node may have got a new name while the visit ran */
    memcpy(n->name, was.name, sizeof(n->name));
    n->current = was.current;
    n->state = INVENTORY_READ;
    if (v->whole) {
        n->read_us = clock_unix_us();
        report_firmware(inv, &was, n);
        report_fans(inv, &was, n);
    }
    memcpy(n->usual, was.usual, sizeof(n->usual));
    n->odd = was.odd;
    check_device(inv, n, was.hot);
    compare_modules(inv, &was, n);
    if (v->whole && has_changed(&was, n))
        keep(inv, n);
    e->node = *n;
    n->modules = NULL; /* the entry owns the modules now, and frees them */
    free(was.modules);
}

static void schedule(const struct inventory *inv, struct inventory_entry *e, bool whole,
                     enum inventory_state state)
{
    const struct config_inventory *c = &inv->in.config->inventory;
    uint64_t now = clock_now_us();
    if (state == INVENTORY_NO_ANSWER) {
        e->due = e->temperature_due = now + RETRY_US;
        return;
    }
    if (whole)
        e->due = now + c->interval_s * UINT64_C(1000000);
    e->temperature_due = now + c->temperature_interval_s * UINT64_C(1000000);
}

void inventory_take(struct inventory *inv, struct inventory_visit *v, enum inventory_state state)
{
    struct inventory_entry *e = inventory_entry_of(inv, v->guid);
    if (e) {
        e->busy = false;
        if (state == INVENTORY_READ)
            take_read(inv, e, v);
        else
            e->node.state = (uint8_t)state;
        schedule(inv, e, v->whole, state);
    }
    free(v->read.modules);
    *v = (struct inventory_visit){0};
}

/* ---- odd firmware ---------------------------------------------------------------------------- */

/* The comparison of the firmware of all devices. The first comparison after the start emits no
 * events, because an earlier run of the manager has emitted them. */
struct odd {
    struct fab_firmware *all; /* [count] */
    char (*model)[24];        /* [count] */
    size_t count;
    /* number of devices that have odd firmware now, but did not have it in the comparison before */
    uint32_t fresh;
    char names[NAMES_LEN];
};

static void report_odd(struct inventory *inv, const struct inventory_node *n)
{
    event_emit(inv->in.bus, firmware_differs, .subject = n->name, .guid = n->guid,
               .firmware = n->device.firmware, .usual = n->usual, .model = n->device.psid);
}

static void take_odd(struct inventory_node *n, const struct fab_firmware *f, struct odd *o)
{
    bool was_odd = n->odd;
    snprintf(n->usual, sizeof(n->usual), "%s", f->usual ? f->usual : "");
    n->odd = f->odd;
    if (!n->odd || was_odd)
        return;
    size_t len = strlen(o->names);
    if (o->fresh++ < ODD_EVENTS)
        snprintf(o->names + len, sizeof(o->names) - len, "%s%s", len > 0 ? ", " : "", n->name);
}

/* Lists the devices of the fabric whose firmware is known. Devices with the same device ID and PSID
 * are of the same model. Returns false if memory ran out. */
static bool list_firmware(const struct inventory *inv, struct odd *o)
{
    o->all = calloc(inv->count, sizeof(*o->all));
    o->model = calloc(inv->count, sizeof(*o->model));
    if (!o->all || !o->model)
        return false;
    for (size_t i = 0; i < inv->count; i++) {
        const struct inventory_node *n = &inv->entries[i].node;
        if (!n->current || n->device.firmware[0] == '\0')
            continue;
        snprintf(o->model[o->count], sizeof(*o->model), "%04x %s", n->device.device_id,
                 n->device.psid);
        o->all[o->count] = (struct fab_firmware){
            .model = o->model[o->count], .version = n->device.firmware, .tag = i};
        o->count++;
    }
    return true;
}

/* Counts the devices of each model and version. o->all must be sorted by model and version, as
 * fab_inventory_find_odd leaves it. */
static void count_firmware(struct inventory *inv, const struct odd *o)
{
    struct inventory_firmware *row = NULL;
    inv->firmware_count = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct fab_inventory_device *d = &inv->entries[o->all[i].tag].node.device;
        if (i == 0 || strcmp(o->all[i].model, o->all[i - 1].model) != 0 ||
            strcmp(o->all[i].version, o->all[i - 1].version) != 0) {
            if (inv->firmware_count == INVENTORY_FIRMWARES)
                return;
            row = &inv->firmware[inv->firmware_count++];
            *row = (struct inventory_firmware){.device_id = d->device_id};
            memcpy(row->psid, d->psid, sizeof(row->psid));
            memcpy(row->version, d->firmware, sizeof(row->version));
        }
        row->nodes++;
    }
}

void inventory_find_odd(struct inventory *inv)
{
    struct odd o = {0};
    if (inv->count > 0 && list_firmware(inv, &o)) {
        fab_inventory_find_odd(o.all, o.count);
        count_firmware(inv, &o);
        /* `usual` in o.all[] points into the entries. These pointers stay valid, because this loop
         * does not move the entries. */
        for (size_t i = 0; i < o.count; i++) {
            struct inventory_node *n = &inv->entries[o.all[i].tag].node;
            uint32_t before = o.fresh;
            take_odd(n, &o.all[i], &o);
            if (o.fresh > before && o.fresh <= ODD_EVENTS && inv->odd_known)
                report_odd(inv, n);
        }
        if (o.fresh > ODD_EVENTS && inv->odd_known)
            event_emit(inv->in.bus, firmwares_differ, .nodes = o.fresh, .names = o.names);
        inv->odd_due = false;
        inv->odd_known = true;
    }
    inv->odd_us = clock_now_us();
    free(o.all);
    free(o.model);
}
