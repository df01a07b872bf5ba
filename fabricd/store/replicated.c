/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of replicated rows (replicated.h). replicated_rows.c does the work of the writer
 * thread. */
#include "fabricd/store/replicated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/store/key.h"
#include "fabricd/store/record.h"
#include "fabricd/store/replicated_tables.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/state.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- lists of rows --------------------------------------------------------------------------- */

int store_rows_add(struct store_rows *rows, const char *table, const char *key, const char *value,
                   uint64_t version)
{
    const struct replicated_table *t = replicated_table(table);
    if (t == NULL)
        return FAB_E_NOT_FOUND;
    if (rows->count == rows->room) {
        struct store_row *more =
            fab_base_grow(rows->row, sizeof(*more), rows->count + 1, &rows->room);
        if (more == NULL)
            return FAB_E_NOMEM;
        rows->row = more;
    }
    struct store_row row = {.table = t->name, .key = strdup(key), .version = version};
    row.value = value != NULL ? strdup(value) : NULL;
    if (row.key == NULL || (value != NULL && row.value == NULL)) {
        free(row.key);
        free(row.value);
        return FAB_E_NOMEM;
    }
    rows->row[rows->count++] = row;
    return FAB_OK;
}

bool store_is_registration(const struct store_row *row)
{
    static const char *const tables[] = {"service", "subscription", "multicast_group",
                                         "multicast_member", "alias_guid"};
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        if (strcmp(row->table, tables[i]) == 0)
            return true;
    return false;
}

void store_rows_fini(struct store_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->row[i].key);
        free(rows->row[i].value);
    }
    free(rows->row);
    *rows = (struct store_rows){0};
}

/* ---- requests to the writer ------------------------------------------------------------------ */

/* Puts the request into the queue of the writer. Takes over its rows, even on failure. */
static int put(struct store *s, struct record_replica *request)
{
    struct record *r = record_of_replica(request);
    if (r == NULL) {
        store_rows_fini(&request->received.rows);
        return FAB_E_NOMEM;
    }
    writer_put_urgent(s->writer, r);
    return FAB_OK;
}

int store_replicate(struct store *s, void (*marked)(void *ctx), void *ctx)
{
    struct record_replica request = {.kind = REPLICA_BEGIN};
    writer_on_marked(s->writer, marked, ctx);
    int status = put(s, &request);
    uint64_t mark = store_mark(s);
    if (status != FAB_OK)
        return status;
    store_flush(s);
    return store_written(s, mark) == STORE_WRITTEN ? FAB_OK : FAB_E_IO;
}

void store_stop_marked(struct store *s)
{
    writer_on_marked(s->writer, NULL, NULL);
    store_flush(s); /* wait until a call of `marked` that is running has returned */
}

int store_put_confirmed(struct store *s, struct store_rows *rows)
{
    struct record_replica request = {.kind = REPLICA_CONFIRMED, .received.rows = *rows};
    *rows = (struct store_rows){0};
    return put(s, &request);
}

int store_mark_all(struct store *s)
{
    return put(s, &(struct record_replica){.kind = REPLICA_MARK_ALL});
}

int store_put_received(struct store *s, struct store_received *received)
{
    struct record_replica request = {.kind = REPLICA_RECEIVED, .received = *received};
    *received = (struct store_received){.whole = false};
    return put(s, &request);
}

uint64_t store_received_changes(struct store *s)
{
    return writer_received(s->writer).changes;
}

uint64_t store_marked_version(struct store *s)
{
    return writer_received(s->writer).version;
}

uint64_t store_received_drops(struct store *s)
{
    return writer_received(s->writer).drops;
}

/* ---- marked rows ----------------------------------------------------------------------------- */

struct store_pending {
    sqlite3 *db;
    sqlite3_stmt *list, *count;
    sqlite3_stmt *select[REPLICATED_TABLES];
};

static int prepare_all(struct store_pending *p)
{
    int code = sqlite3_prepare_v2(
        p->db, "SELECT tbl, key, version FROM replica_pending ORDER BY version LIMIT ?1", -1,
        &p->list, NULL);
    if (code == SQLITE_OK)
        code =
            sqlite3_prepare_v2(p->db, "SELECT count(*) FROM replica_pending", -1, &p->count, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < REPLICATED_TABLES; i++) {
        struct fab_text sql = {0};
        replicated_select(&sql, &replicated_tables[i]);
        code = sql.status == FAB_OK
                   ? sqlite3_prepare_v2(p->db, fab_base_text_get(&sql), -1, &p->select[i], NULL)
                   : SQLITE_NOMEM;
        fab_base_text_fini(&sql);
    }
    return sql_status(code);
}

int store_pending_open(const struct store *s, struct store_pending **ret, char *why, size_t why_len)
{
    struct store_pending *p = calloc(1, sizeof(*p));
    snprintf(why, why_len, "%s", fab_base_status_text(FAB_E_NOMEM));
    if (p == NULL)
        return FAB_E_NOMEM;
    int status = schema_open_reader(s->path, &p->db, why, why_len);
    if (status == FAB_OK)
        status = prepare_all(p);
    if (status == FAB_OK)
        *ret = p;
    else
        store_pending_close(p);
    return status;
}

void store_pending_close(struct store_pending *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < REPLICATED_TABLES; i++)
        sqlite3_finalize(p->select[i]);
    sqlite3_finalize(p->list);
    sqlite3_finalize(p->count);
    sqlite3_close(p->db);
    free(p);
}

/* Reads the row to which the current mark of p->list belongs, and appends it with its present value
 * to `to`. */
static int add_marked(struct store_pending *p, struct store_rows *to)
{
    const char *key = sql_text(p->list, 1);
    const struct replicated_table *t = replicated_table(sql_text(p->list, 0));
    /* NULL: a later version of fabricd has marked a row of a table that this version does not
     * know */
    if (t == NULL)
        return FAB_OK;
    sqlite3_stmt *select = p->select[t - replicated_tables];
    sqlite3_bind_text(select, 1, key, -1, SQLITE_STATIC);
    int code = sqlite3_step(select);
    int status = code == SQLITE_ROW || code == SQLITE_DONE ? FAB_OK : sql_status(code);
    if (status == FAB_OK)
        status = store_rows_add(to, t->name, key, code == SQLITE_ROW ? sql_text(select, 0) : NULL,
                                (uint64_t)sqlite3_column_int64(p->list, 2));
    sqlite3_reset(select);
    sqlite3_clear_bindings(select);
    return status;
}

int store_pending_read(struct store_pending *p, size_t limit, struct store_rows *ret,
                       uint64_t *ret_all)
{
    struct store_rows rows = {0};
    /* Read the marks and the rows in one transaction, because each value must belong to the version
     * of its mark. */
    int status = sql_status(sqlite3_exec(p->db, "BEGIN", NULL, NULL, NULL));
    if (status != FAB_OK)
        return status;
    int code = sqlite3_bind_int64(p->list, 1, (int64_t)limit);
    while (status == FAB_OK && (code = sqlite3_step(p->list)) == SQLITE_ROW)
        status = add_marked(p, &rows);
    if (status == FAB_OK)
        status = sql_status(code);
    if (status == FAB_OK && sqlite3_step(p->count) == SQLITE_ROW)
        *ret_all = (uint64_t)sqlite3_column_int64(p->count, 0);
    sqlite3_reset(p->list);
    sqlite3_reset(p->count);
    sqlite3_exec(p->db, "COMMIT", NULL, NULL, NULL);
    if (status == FAB_OK)
        *ret = rows;
    else
        store_rows_fini(&rows);
    return status;
}

/* ---- the number of the database -------------------------------------------------------------- */

static uint64_t read_instance(struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    uint64_t number = 0;
    if (sqlite3_prepare_v2(s->reader, "SELECT value FROM meta WHERE key = 'replica_instance'", -1,
                           &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = strtoull(sql_text(stmt, 0), NULL, 16);
    sqlite3_finalize(stmt);
    return number;
}

uint64_t store_instance(struct store *s)
{
    uint64_t number = read_instance(s);
    if (number != 0 || store_key_random(&number) != FAB_OK)
        return number;
    struct record_replica request = {.kind = REPLICA_INSTANCE, .instance = number};
    if (put(s, &request) != FAB_OK)
        return 0;
    store_flush(s);
    return read_instance(s);
}
