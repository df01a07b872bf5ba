/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads the inventory. */
#include "fabricd/store/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/sql.h"
#include "fabricd/store/state.h"
#include "fabricd/store/writer.h"
#include "libfabmgr/base/status.h"

/* ---- writing --------------------------------------------------------------------------------- */

struct store_inventory *inventory_copy(const struct store_inventory *i)
{
    size_t size = i->count * sizeof(*i->modules);
    struct store_inventory *copy = malloc(sizeof(*copy) + size);
    if (!copy)
        return NULL;
    *copy = *i;
    copy->modules = (struct store_module *)(copy + 1);
    if (size > 0)
        memcpy(copy->modules, i->modules, size);
    return copy;
}

static int64_t limit_of(int16_t temperature)
{
    return temperature == FAB_NO_TEMPERATURE ? 0 : temperature;
}

static int write_module(struct sql *q, uint64_t guid, const struct store_module *m)
{
    const struct fab_module *c = &m->module;
    return sql_run(q, SQL_MODULE_PUT, "giiiittttiiiiti", guid, (int64_t)m->port, (int64_t)m->index,
                   (int64_t)c->identifier, (int64_t)c->medium, c->vendor, c->part, c->serial,
                   c->date, (int64_t)c->length_cm, (int64_t)c->power_mw,
                   limit_of(c->temperature.limit), limit_of(c->warning), c->revision,
                   (int64_t)c->damaged);
}

int inventory_write(struct sql *q, const struct store_inventory *i)
{
    const struct fab_inventory_device *d = &i->device;
    int r =
        sql_run(q, SQL_DEVICE_PUT, "gtiiiittttttti", i->guid, i->name, (int64_t)i->type,
                (int64_t)i->vendor_id, (int64_t)d->device_id, (int64_t)d->hw_revision, d->firmware,
                d->firmware_date, d->psid, d->part, d->serial, d->revision, d->product, i->read_us);
    if (r == FAB_OK)
        r = sql_run(q, SQL_MODULES_DELETE, "g", i->guid);
    for (size_t m = 0; m < i->count && r == FAB_OK; m++)
        r = write_module(q, i->guid, &i->modules[m]);
    return r;
}

void store_put_inventory(struct store *s, const struct store_inventory *i)
{
    struct record *r = record_of_inventory(i);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        log_error("store", "out of memory: the inventory of %s is not stored", i->name);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take_text(sqlite3_stmt *stmt, int column, char *to, size_t size)
{
    snprintf(to, size, "%s", sql_text(stmt, column));
}
#define TAKE(stmt, column, array) take_text(stmt, column, array, sizeof(array))

/* Returns the number in a column. Returns 0 if the number is negative or above `most`; only a row
 * that somebody edited by hand has such a number. */
static uint32_t take_number(sqlite3_stmt *stmt, int column, uint32_t most)
{
    int64_t value = sqlite3_column_int64(stmt, column);
    return value >= 0 && value <= most ? (uint32_t)value : 0;
}

static int16_t take_limit(sqlite3_stmt *stmt, int column)
{
    uint32_t value = take_number(stmt, column, INT16_MAX);
    return value != 0 ? (int16_t)value : FAB_NO_TEMPERATURE;
}

struct inventory_list {
    struct store_inventory *list;
    size_t count;
    size_t next; /* index in `list` of the node whose modules are being read */
};

static int take_device(sqlite3_stmt *stmt, struct inventory_list *all)
{
    struct store_inventory i = {.read_us = sqlite3_column_int64(stmt, 12)};
    if (sql_guid_parse(sql_text(stmt, 0), &i.guid) != FAB_OK)
        return FAB_OK;
    struct store_inventory *more = reallocarray(all->list, all->count + 1, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    all->list = more;
    TAKE(stmt, 1, i.name);
    i.type = (uint8_t)take_number(stmt, 2, FAB_NODE_ROUTER);
    i.vendor_id = take_number(stmt, 3, 0xffffff);
    i.device.device_id = (uint16_t)take_number(stmt, 4, UINT16_MAX);
    i.device.hw_revision = (uint16_t)take_number(stmt, 5, UINT16_MAX);
    TAKE(stmt, 6, i.device.firmware);
    TAKE(stmt, 7, i.device.firmware_date);
    TAKE(stmt, 8, i.device.psid);
    TAKE(stmt, 9, i.device.part);
    TAKE(stmt, 10, i.device.serial);
    TAKE(stmt, 11, i.device.revision);
    TAKE(stmt, 13, i.device.product);
    more[all->count++] = i;
    return FAB_OK;
}

/* Returns the node of a module; NULL: there is none. Modules and nodes are both read in the order
 * of node GUIDs, so the search begins at the node of the previous module. */
static struct store_inventory *owner_of(struct inventory_list *all, uint64_t guid)
{
    while (all->next < all->count && all->list[all->next].guid < guid)
        all->next++;
    return all->next < all->count && all->list[all->next].guid == guid ? &all->list[all->next]
                                                                       : NULL;
}

static int take_module(sqlite3_stmt *stmt, struct inventory_list *all)
{
    struct store_module m = {.port = (uint8_t)take_number(stmt, 1, 254),
                             .index = (uint8_t)take_number(stmt, 2, UINT8_MAX)};
    uint64_t guid;
    struct store_inventory *i =
        sql_guid_parse(sql_text(stmt, 0), &guid) == FAB_OK ? owner_of(all, guid) : NULL;
    if (!i || m.port == 0)
        return FAB_OK;
    struct store_module *more = reallocarray(i->modules, i->count + 1, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    i->modules = more;
    struct fab_module *c = &m.module;
    c->identifier = (uint8_t)take_number(stmt, 3, UINT8_MAX);
    c->medium = (uint8_t)take_number(stmt, 4, FAB_MEDIUM_OPTICAL);
    TAKE(stmt, 5, c->vendor);
    TAKE(stmt, 6, c->part);
    TAKE(stmt, 7, c->serial);
    TAKE(stmt, 8, c->date);
    c->length_cm = take_number(stmt, 9, UINT32_MAX);
    c->power_mw = take_number(stmt, 10, UINT32_MAX);
    c->temperature = (struct fab_temperature){FAB_NO_TEMPERATURE, take_limit(stmt, 11)};
    c->warning = take_limit(stmt, 12);
    TAKE(stmt, 13, c->revision);
    c->damaged = sqlite3_column_int(stmt, 14) != 0;
    more[i->count++] = m;
    return FAB_OK;
}

static int for_each(struct store *s, const char *text,
                    int (*take)(sqlite3_stmt *stmt, struct inventory_list *all),
                    struct inventory_list *all)
{
    sqlite3_stmt *stmt = NULL;
    int r = sql_status(sqlite3_prepare_v2(s->reader, text, -1, &stmt, NULL)), code;
    while (r == FAB_OK && (code = sqlite3_step(stmt)) != SQLITE_DONE)
        r = code == SQLITE_ROW ? take(stmt, all) : sql_status(code);
    sqlite3_finalize(stmt);
    return r;
}

int store_load_inventory(struct store *s, struct store_inventory **ret, size_t *ret_count)
{
    struct inventory_list all = {0};
    int r = for_each(s,
                     "SELECT node_guid, name, type, vendor_id, device_id, hw_revision, firmware, "
                     "firmware_date, psid, part, serial, revision, read_us, product "
                     "FROM inventory_device ORDER BY node_guid",
                     take_device, &all);
    if (r == FAB_OK)
        r = for_each(s,
                     "SELECT node_guid, port, module, identifier, medium, vendor, part, serial, "
                     "date, length_cm, power_mw, alarm, warning, revision, damaged "
                     "FROM inventory_module ORDER BY node_guid, port",
                     take_module, &all);
    if (r != FAB_OK) {
        store_inventory_free(all.list, all.count);
        return r;
    }
    *ret = all.list;
    *ret_count = all.count;
    return FAB_OK;
}

void store_inventory_free(struct store_inventory *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(all[i].modules);
    free(all);
}
