/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads the drains that have not ended. */
#include "fabricd/store/drains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/sql.h"
#include "fabricd/store/state.h"
#include "fabricd/store/writer.h"
#include "libfabmgr/base/status.h"

/* ---- writing --------------------------------------------------------------------------------- */

struct store_drain *drain_copy(const struct store_drain *d)
{
    size_t nodes = d->nodes * sizeof(*d->node), links = d->links * sizeof(*d->link);
    struct store_drain *copy = malloc(sizeof(*copy) + nodes + links);
    if (!copy)
        return NULL;
    *copy = *d;
    copy->node = (uint64_t *)(copy + 1);
    copy->link = (struct store_drain_link *)(copy->node + d->nodes);
    if (nodes > 0)
        memcpy(copy->node, d->node, nodes);
    if (links > 0)
        memcpy(copy->link, d->link, links);
    return copy;
}

int drain_write(struct sql *q, const struct store_drain *d, bool there)
{
    const int64_t id = d->id;
    int r = sql_run(q, SQL_DRAIN_NODES_DELETE, "i", id);
    if (r == FAB_OK)
        r = sql_run(q, SQL_DRAIN_LINKS_DELETE, "i", id);
    if (r == FAB_OK && !there)
        return sql_run(q, SQL_DRAIN_DELETE, "i", id);
    if (r == FAB_OK)
        r = sql_run(q, SQL_DRAIN_PUT, "iitiitti", id, (int64_t)d->kind, d->name, d->since_us,
                    d->until_us, d->by, d->reason, (int64_t)d->force);
    for (uint32_t i = 0; i < d->nodes && r == FAB_OK; i++)
        r = sql_run(q, SQL_DRAIN_NODE_PUT, "ig", id, d->node[i]);
    for (uint32_t i = 0; i < d->links && r == FAB_OK; i++) {
        const struct store_drain_link *l = &d->link[i];
        r = sql_run(q, SQL_DRAIN_LINK_PUT, "igigitt", id, l->guid[0], (int64_t)l->port[0],
                    l->guid[1], (int64_t)l->port[1], l->name[0], l->name[1]);
    }
    return r;
}

void store_put_drain(struct store *s, const struct store_drain *d, bool there)
{
    struct record *r = record_of_drain(d, there);
    if (r != NULL)
        writer_put_urgent(s->writer, r);
    else
        log_error("store", "out of memory: a drain is not stored, and would end in a restart");
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_text(sqlite3_stmt *stmt, int column, char *to, size_t len)
{
    snprintf(to, len, "%s", sql_text(stmt, column));
}

/* Runs the SQL query `text`, and calls `take` for each row of its result. id: parameter 1 of the
 * query; 0: the query has none. */
static int for_each(struct store *s, const char *text, int64_t id,
                    int (*take)(sqlite3_stmt *stmt, void *to), void *to)
{
    sqlite3_stmt *stmt = NULL;
    int r = sql_status(sqlite3_prepare_v2(s->reader, text, -1, &stmt, NULL)), code;
    if (r == FAB_OK && id != 0)
        r = sql_status(sqlite3_bind_int64(stmt, 1, id));
    while (r == FAB_OK && (code = sqlite3_step(stmt)) != SQLITE_DONE)
        r = code == SQLITE_ROW ? take(stmt, to) : sql_status(code);
    sqlite3_finalize(stmt);
    return r;
}

static int take_node(sqlite3_stmt *stmt, void *to)
{
    struct store_drain *d = to;
    uint64_t guid;
    if (sql_guid_parse(sql_text(stmt, 0), &guid) != FAB_OK)
        return FAB_OK;
    uint64_t *more = reallocarray(d->node, d->nodes + 1u, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    d->node = more;
    more[d->nodes++] = guid;
    return FAB_OK;
}

static int take_link(sqlite3_stmt *stmt, void *to)
{
    struct store_drain *d = to;
    struct store_drain_link l = {0};
    for (int end = 0; end < 2; end++) {
        int64_t port = sqlite3_column_int64(stmt, 2 * end + 1);
        if (sql_guid_parse(sql_text(stmt, 2 * end), &l.guid[end]) != FAB_OK || port < 1 ||
            port > 254)
            return FAB_OK;
        l.port[end] = (uint8_t)port;
        read_text(stmt, 4 + end, l.name[end], sizeof(l.name[end]));
    }
    struct store_drain_link *more = reallocarray(d->link, d->links + 1u, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    d->link = more;
    more[d->links++] = l;
    return FAB_OK;
}

struct drain_list {
    struct store_drain *list;
    size_t count;
};

static int take_drain(sqlite3_stmt *stmt, void *to)
{
    struct drain_list *all = to;
    int64_t id = sqlite3_column_int64(stmt, 0), kind = sqlite3_column_int64(stmt, 1);
    if (id < 1 || id > INT32_MAX || kind < 0 || kind > UINT8_MAX)
        return FAB_OK;
    struct store_drain *more = reallocarray(all->list, all->count + 1, sizeof(*more));
    if (!more)
        return FAB_E_NOMEM;
    all->list = more;
    struct store_drain *d = &more[all->count++];
    *d = (struct store_drain){.id = (uint32_t)id,
                              .kind = (uint32_t)kind,
                              .since_us = sqlite3_column_int64(stmt, 3),
                              .until_us = sqlite3_column_int64(stmt, 4),
                              .force = sqlite3_column_int(stmt, 7) != 0};
    read_text(stmt, 2, d->name, sizeof(d->name));
    read_text(stmt, 5, d->by, sizeof(d->by));
    read_text(stmt, 6, d->reason, sizeof(d->reason));
    return FAB_OK;
}

int store_load_drains(struct store *s, struct store_drain **ret, size_t *ret_count)
{
    struct drain_list all = {0};
    int r = for_each(s,
                     "SELECT id, kind, name, since_us, until_us, person, reason, force FROM drain "
                     "ORDER BY id",
                     0, take_drain, &all);
    for (size_t i = 0; i < all.count && r == FAB_OK; i++) {
        struct store_drain *d = &all.list[i];
        r = for_each(s, "SELECT guid FROM drain_node WHERE drain = ?1 ORDER BY guid", d->id,
                     take_node, d);
        if (r == FAB_OK)
            r = for_each(s,
                         "SELECT node_a, port_a, node_b, port_b, name_a, name_b FROM drain_link "
                         "WHERE drain = ?1 ORDER BY node_a, port_a",
                         d->id, take_link, d);
    }
    if (r != FAB_OK) {
        store_drains_free(all.list, all.count);
        return r;
    }
    *ret = all.list;
    *ret_count = all.count;
    return FAB_OK;
}

void store_drains_free(struct store_drain *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].node);
        free(list[i].link);
    }
    free(list);
}
