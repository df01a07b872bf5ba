/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks the rows that must be sent to other managers, and stores the rows that came from them
 * (replicated.h). All of this runs on the writer thread.
 *
 * The triggers are temporary: they exist only on the connection of the writer, and only if
 * replication is configured. Three SQL functions connect them with struct replicated:
 * replica_marks() says whether changes are marked now, replica_version() numbers the marks, and
 * replica_bytes() converts hexadecimal digits to bytes.
 *
 * A row from another manager may have a wrong form. If the schema refuses a row, the thread logs
 * the row and leaves it out.
 */
#include "fabricd/store/replicated_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/forgotten.h"
#include "fabricd/store/replicated_tables.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/base/status.h"

/* ---- functions of the triggers --------------------------------------------------------------- */

static void sql_marks(sqlite3_context *c, int n, sqlite3_value **v)
{
    const struct replicated *r = sqlite3_user_data(c);
    (void)n, (void)v;
    sqlite3_result_int(c, !r->silent);
}

static void sql_version(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct replicated *r = sqlite3_user_data(c);
    (void)n, (void)v;
    sqlite3_result_int64(c, (int64_t)++r->version);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Implements the SQL function replica_bytes(). Its result is NULL if the text has an odd length or
 * characters other than 0 to 9 and A to F, or if memory ran out; columns of bytes refuse NULL. */
static void sql_bytes(sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *text = n == 1 ? (const char *)sqlite3_value_text(v[0]) : NULL;
    size_t len = text != NULL ? strlen(text) : 1;
    uint8_t *bytes = len % 2 == 0 ? malloc(len / 2 + 1) : NULL;
    for (size_t i = 0; bytes != NULL && i < len; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return;
        }
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    if (bytes != NULL)
        sqlite3_result_blob(c, bytes, (int)(len / 2), free);
}

/* ---- running statements ---------------------------------------------------------------------- */

static int run_text(sqlite3 *db, struct fab_text *sql)
{
    int status = sql->status;
    if (status == FAB_OK)
        status = sql_status(sqlite3_exec(db, fab_base_text_get(sql), NULL, NULL, NULL));
    fab_base_text_fini(sql);
    return status;
}

static int prepare(sqlite3 *db, struct fab_text *sql, sqlite3_stmt **ret)
{
    int status = sql->status;
    if (status == FAB_OK)
        status = sql_status(sqlite3_prepare_v2(db, fab_base_text_get(sql), -1, ret, NULL));
    fab_base_text_fini(sql);
    return status;
}

static int begin(struct replicated *r, sqlite3 *db)
{
    struct fab_text sql = {0};
    sqlite3_stmt *stmt = NULL;
    if (r->marks)
        return FAB_OK;
    fab_base_text_add(&sql, "CREATE TABLE IF NOT EXISTS replica_pending("
                            "tbl TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, "
                            "PRIMARY KEY (tbl, key)) WITHOUT ROWID;"
                            "CREATE TABLE IF NOT EXISTS shared_key("
                            "name TEXT PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;"
                            "CREATE TABLE IF NOT EXISTS forgotten_node("
                            "node_guid TEXT PRIMARY KEY, time_s INTEGER NOT NULL) WITHOUT ROWID;");
    for (size_t i = 0; i < REPLICATED_TABLES; i++)
        replicated_triggers(&sql, &replicated_tables[i]);
    int code =
        sqlite3_create_function(db, "replica_marks", 0, SQLITE_UTF8, r, sql_marks, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "replica_version", 0, SQLITE_UTF8, r, sql_version, NULL,
                                       NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(db, "replica_bytes", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                       r, sql_bytes, NULL, NULL);
    int status = code == SQLITE_OK ? run_text(db, &sql) : sql_status(code);
    if (status == FAB_OK)
        status = sql_status(sqlite3_prepare_v2(
            db, "SELECT coalesce(max(version), 0) FROM replica_pending", -1, &stmt, NULL));
    if (status == FAB_OK && sqlite3_step(stmt) == SQLITE_ROW)
        r->version = (uint64_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    r->marks = status == FAB_OK;
    return status;
}

static int put_instance(sqlite3 *db, uint64_t number)
{
    char sql[120];
    snprintf(sql, sizeof(sql),
             "INSERT OR REPLACE INTO meta(key, value) VALUES ('replica_instance', '%016" PRIx64
             "')",
             number);
    return sql_status(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int mark_all(sqlite3 *db)
{
    struct fab_text sql = {0};
    for (size_t i = 0; i < REPLICATED_TABLES; i++)
        replicated_mark_all(&sql, &replicated_tables[i]);
    return run_text(db, &sql);
}

static int confirm(sqlite3 *db, const struct store_rows *rows)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        db, "DELETE FROM replica_pending WHERE tbl = ?1 AND key = ?2 AND version = ?3", -1, &stmt,
        NULL);
    for (size_t i = 0; code == SQLITE_OK && i < rows->count; i++) {
        sqlite3_bind_text(stmt, 1, rows->row[i].table, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, rows->row[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 3, (int64_t)rows->row[i].version);
        sqlite3_step(stmt);
        code = sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

/* ---- rows of other managers ------------------------------------------------------------------ */

/* what receive() needs to store rows; `of` has the prepared statements of each table, and all
 * tables share the last three statements */
struct storing {
    struct replicated *r;
    sqlite3 *db;
    uint64_t keeps_after;
    struct {
        sqlite3_stmt *select, *put, *delete;
    } of[REPLICATED_TABLES];
    sqlite3_stmt *is_marked, *unmark, *see;
};

static void storing_fini(struct storing *x)
{
    for (size_t i = 0; i < REPLICATED_TABLES; i++) {
        sqlite3_finalize(x->of[i].select);
        sqlite3_finalize(x->of[i].put);
        sqlite3_finalize(x->of[i].delete);
    }
    sqlite3_finalize(x->is_marked);
    sqlite3_finalize(x->unmark);
    sqlite3_finalize(x->see);
}

static int storing_init(struct storing *x)
{
    int status = sql_status(sqlite3_exec(x->db,
                                         "CREATE TEMP TABLE IF NOT EXISTS replica_seen(tbl, key, "
                                         "PRIMARY KEY (tbl, key)) WITHOUT ROWID; "
                                         "DELETE FROM replica_seen;",
                                         NULL, NULL, NULL));
    for (size_t i = 0; status == FAB_OK && i < REPLICATED_TABLES; i++) {
        struct fab_text select = {0}, put = {0}, delete = {0};
        replicated_select(&select, &replicated_tables[i]);
        replicated_put(&put, &replicated_tables[i]);
        replicated_delete(&delete, &replicated_tables[i]);
        status = prepare(x->db, &select, &x->of[i].select);
        int put_status = prepare(x->db, &put, &x->of[i].put);
        int delete_status = prepare(x->db, &delete, &x->of[i].delete);
        status = status != FAB_OK ? status : put_status != FAB_OK ? put_status : delete_status;
    }
    const struct {
        const char *sql;
        sqlite3_stmt **stmt;
    } more[] = {
        {"SELECT version FROM replica_pending WHERE tbl = ?3 AND key = ?1", &x->is_marked},
        {"DELETE FROM replica_pending WHERE tbl = ?3 AND key = ?1", &x->unmark},
        {"INSERT OR IGNORE INTO replica_seen VALUES (?3, ?1)", &x->see},
    };
    for (size_t i = 0; status == FAB_OK && i < sizeof(more) / sizeof(*more); i++)
        status = sql_status(sqlite3_prepare_v2(x->db, more[i].sql, -1, more[i].stmt, NULL));
    return status;
}

/* Returns true if the row must not be overwritten, because this manager changed it last: the
 * version of its mark is higher than `keeps_after`. */
static bool is_kept(struct storing *x, const struct store_row *row)
{
    sqlite3_stmt *stmt = x->is_marked;
    sqlite3_bind_text(stmt, 1, row->key, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, row->table, -1, SQLITE_STATIC);
    bool kept = sqlite3_step(stmt) == SQLITE_ROW &&
                (uint64_t)sqlite3_column_int64(stmt, 0) > x->keeps_after;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return kept;
}

/* Runs a statement with the parameters ?1 (key), ?2 (value) and ?3 (table). *ret_same: true if the
 * result is the value in `row` or, for a deleted row, if there is no result. Returns a result code
 * of SQLite. */
static int step(sqlite3_stmt *stmt, const struct store_row *row, bool *ret_same)
{
    const char *text[] = {row->key, row->value, row->table};
    int count = sqlite3_bind_parameter_count(stmt);
    for (int i = 0; i < count && i < 3; i++)
        sqlite3_bind_text(stmt, i + 1, text[i], -1, SQLITE_STATIC);
    int code = sqlite3_step(stmt);
    const char *found = code == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (ret_same != NULL)
        *ret_same = row->value != NULL ? found != NULL && strcmp(found, row->value) == 0
                                       : code == SQLITE_DONE;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return code;
}

/* Returns true if the error is a fault of the row; other rows can then still be stored. Returns
 * false if it is a fault of the database. */
static bool is_of_row(int code)
{
    return code == SQLITE_ERROR || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH ||
           code == SQLITE_TOOBIG;
}

static int store_row(struct storing *x, const struct store_row *row)
{
    size_t at = (size_t)(replicated_table(row->table) - replicated_tables);
    bool same = false;
    if (is_kept(x, row))
        return FAB_OK;
    step(x->unmark, row, NULL);
    int unmarked = sqlite3_changes(x->db);
    step(x->of[at].select, row, &same);
    if (same)
        return FAB_OK;
    int code = step(row->value != NULL ? x->of[at].put : x->of[at].delete, row, NULL);
    if (is_of_row(code & 0xff)) {
        log_error("store", "a replicated row of table %s is not valid and is ignored: %s",
                  row->table, sqlite3_errmsg(x->db));
        return FAB_OK;
    }
    if (code != SQLITE_DONE)
        return sql_status(code);
    x->r->changes++;
    x->r->drops += (uint64_t)unmarked;
    x->r->leases |= strcmp(row->table, "lease") == 0;
    return FAB_OK;
}

/* Deletes all marks whose version is at most `keeps_after`. *ret_marks: number of the deleted
 * marks. */
static int unmark_old(struct storing *x, int *ret_marks)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(x->db, "DELETE FROM replica_pending WHERE version <= ?1", -1,
                                  &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1,
                           x->keeps_after < INT64_MAX ? (int64_t)x->keeps_after : INT64_MAX);
        sqlite3_step(stmt);
        *ret_marks = sqlite3_changes(x->db);
        code = sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

/* Deletes all replicated rows that the other manager did not send, except those that this manager
 * changed last (`keeps_after`). */
static int delete_unseen(struct storing *x)
{
    int marks = 0, deleted = 0, status = unmark_old(x, &marks);
    for (size_t i = 0; status == FAB_OK && i < REPLICATED_TABLES; i++) {
        struct fab_text sql = {0};
        replicated_delete_unseen(&sql, &replicated_tables[i]);
        status = run_text(x->db, &sql);
        int changes = status == FAB_OK ? sqlite3_changes(x->db) : 0;
        x->r->changes += (uint64_t)changes;
        deleted += changes;
        x->r->leases |= changes > 0;
    }
    /* Count the changes of this manager that are lost: rows that were deleted although a mark said
     * that their change was not sent. A mark without a deleted row was that of a deletion, which
     * stays in effect. A deleted row without a mark was deleted by another manager. So the smaller
     * of both numbers is an upper bound. */
    x->r->drops += (uint64_t)(marks < deleted ? marks : deleted);
    return status;
}

static int receive(struct replicated *r, sqlite3 *db, const struct store_received *in)
{
    struct storing x = {.r = r, .db = db, .keeps_after = in->keeps_after};
    int status = storing_init(&x);
    r->silent = true;
    for (size_t i = 0; status == FAB_OK && i < in->rows.count; i++) {
        if (in->whole)
            step(x.see, &in->rows.row[i], NULL);
        status = store_row(&x, &in->rows.row[i]);
    }
    if (status == FAB_OK && in->whole)
        status = delete_unseen(&x);
    if (status == FAB_OK)
        status = forgotten_apply(db);
    r->silent = false;
    storing_fini(&x);
    return status;
}

/* Writes rows of this manager, and marks them as changed. */
static int put_rows(sqlite3 *db, const struct store_rows *rows)
{
    int status = FAB_OK;
    for (size_t i = 0; status == FAB_OK && i < rows->count; i++) {
        struct fab_text sql = {0};
        sqlite3_stmt *put = NULL;
        replicated_put(&sql, replicated_table(rows->row[i].table));
        status = prepare(db, &sql, &put);
        if (status == FAB_OK)
            status = sql_status(step(put, &rows->row[i], NULL));
        sqlite3_finalize(put);
    }
    return status;
}

int replicated_write(struct replicated *r, sqlite3 *db, const struct record_replica *q)
{
    switch (q->kind) {
    case REPLICA_BEGIN:
        return begin(r, db);
    case REPLICA_INSTANCE:
        return put_instance(db, q->instance);
    case REPLICA_CONFIRMED:
        return confirm(db, &q->received.rows);
    case REPLICA_MARK_ALL:
        return mark_all(db);
    case REPLICA_PUT:
        return put_rows(db, &q->received.rows);
    case REPLICA_RECEIVED:
        return receive(r, db, &q->received);
    }
    return FAB_E_INVAL;
}
