/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes, lists and reads snapshots of the topology. */
#include "fabricd/store/snapshots.h"

#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/state.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the FNV-1a hash of the text, shifted right by one bit, because integers in SQLite are
 * signed. */
static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return h >> 1;
}

static int put(struct sql *q, const struct record_snapshot *r, const char *text, size_t len)
{
    uint64_t hash = hash_of(text, len), last = UINT64_MAX;
    int status = r->automatic ? sql_number(q, SQL_SNAPSHOT_LAST_HASH, &last) : FAB_OK;
    if (status != FAB_OK || hash == last)
        return status;
    status = sql_run(q, SQL_SNAPSHOT_PUT, "tiitiiiib", r->name, r->time, (int64_t)r->automatic,
                     r->by, (int64_t)hash, (int64_t)r->fabric->node_count,
                     (int64_t)r->fabric->link_count, (int64_t)len, (const void *)text, (int)len);
    if (status == FAB_OK)
        status = sql_run(q, SQL_SNAPSHOT_TRIM, "i", (int64_t)r->limits.keep);
    if (status == FAB_OK)
        status = sql_run(q, SQL_SNAPSHOT_SHRINK, "i", (int64_t)r->limits.bytes);
    return status;
}

int snapshot_write(struct sql *q, const struct record_snapshot *r)
{
    char *text = NULL;
    size_t len = 0;
    if (r->fabric == NULL)
        return sql_run(q, SQL_SNAPSHOT_DELETE, "t", r->name);
    int status = fab_fabric_text_write(r->fabric, &text, &len);
    if (status == FAB_OK)
        status = len <= INT32_MAX ? put(q, r, text, len) : FAB_OK;
    free(text);
    return status;
}

static void queue(struct store *s, const struct record_snapshot *snapshot)
{
    struct record *r = record_of_snapshot(snapshot);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        log_error("store", "out of memory: a snapshot is not stored or deleted");
}

void store_put_snapshot(struct store *s, const struct store_snapshot *snapshot,
                        const struct fab_fabric *fabric, const struct store_snapshot_limits *limits)
{
    queue(s, &(struct record_snapshot){.fabric = (struct fab_fabric *)(uintptr_t)fabric,
                                       .limits = *limits,
                                       .time = snapshot->time,
                                       .automatic = snapshot->automatic,
                                       .name = snapshot->name,
                                       .by = snapshot->by});
}

void store_delete_snapshot(struct store *s, const char *name)
{
    queue(s, &(struct record_snapshot){.name = name, .by = ""});
}

/* ---- reading --------------------------------------------------------------------------------- */

int store_snapshots(struct store *s, store_snapshot_fn *fn, void *ctx)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader,
                                  "SELECT name, made_by, time, automatic, nodes, links, size "
                                  "FROM snapshot ORDER BY time, name",
                                  -1, &stmt, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        if (code != SQLITE_ROW)
            break;
        const struct store_snapshot snapshot = {
            .name = sql_text(stmt, 0),
            .by = sql_text(stmt, 1),
            .time = sqlite3_column_int64(stmt, 2),
            .automatic = sqlite3_column_int(stmt, 3) != 0,
            .nodes = (uint32_t)sqlite3_column_int64(stmt, 4),
            .links = (uint32_t)sqlite3_column_int64(stmt, 5),
            .size = (uint64_t)sqlite3_column_int64(stmt, 6),
        };
        fn(ctx, &snapshot);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

static int parse(const char *text, size_t len, struct fab_fabric **ret_fabric)
{
    struct fab_builder *b = NULL;
    struct fab_text_error error;
    int status = fab_fabric_text_read(text, len, &b, &error);
    if (status == FAB_OK)
        status = fab_fabric_builder_seal(b, ret_fabric);
    fab_fabric_builder_free(b);
    return status;
}

static int read_topology(sqlite3 *db, const char *name, int64_t time,
                         struct fab_fabric **ret_fabric)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db,
                                  name != NULL ? "SELECT topology FROM snapshot WHERE name = ?1"
                                               : "SELECT topology FROM snapshot WHERE time <= ?2 "
                                                 "ORDER BY time DESC, name LIMIT 1",
                                  -1, &stmt, NULL);
    if (code == SQLITE_OK && name != NULL)
        sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    else if (code == SQLITE_OK)
        sqlite3_bind_int64(stmt, 2, time);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    int status = code == SQLITE_DONE ? FAB_E_NOT_FOUND : sql_status(code);
    if (code == SQLITE_ROW)
        status =
            parse(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0), ret_fabric);
    sqlite3_finalize(stmt);
    return status;
}

int store_snapshot_load(const struct store *s, const char *name, int64_t time,
                        struct fab_fabric **ret_fabric)
{
    char why[300];
    sqlite3 *db = NULL;
    int status = schema_open_reader(s->path, &db, why, sizeof(why));
    if (status == FAB_OK)
        status = read_topology(db, name, time, ret_fabric);
    sqlite3_close(db);
    return status;
}

int store_snapshot_of(const struct fab_fabric *fabric, struct fab_fabric **ret_fabric)
{
    char *text = NULL;
    size_t len = 0;
    int status = fab_fabric_text_write(fabric, &text, &len);
    if (status == FAB_OK)
        status = parse(text, len, ret_fabric);
    free(text);
    return status;
}
