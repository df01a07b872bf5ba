/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/store/counters_db.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/store/sql.h"
#include "libfabmgr/base/status.h"

#define APPLICATION_ID 0x66616263 /* "fabc" in ASCII */
#define VERSION 2
#define BUSY_MS 2000

/* page_size and auto_vacuum have an effect only on a new database. secure_delete is off, because it
 * would overwrite each page of a deleted block. */
static const char set_up[] = "PRAGMA page_size = 4096;"
                             "PRAGMA auto_vacuum = INCREMENTAL;"
                             "PRAGMA journal_mode = WAL;"
                             "PRAGMA synchronous = NORMAL;"
                             "PRAGMA secure_delete = OFF;"
                             "PRAGMA journal_size_limit = 16777216;"
                             "PRAGMA cache_size = -16000;"
                             "PRAGMA temp_store = MEMORY;";
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE node (guid INTEGER PRIMARY KEY, first INTEGER NOT NULL, ports INTEGER NOT NULL,"
    "                   seen INTEGER NOT NULL);"
    "CREATE TABLE block (id INTEGER PRIMARY KEY, data BLOB NOT NULL);"
    "PRAGMA application_id = 1717658211;"
    "PRAGMA user_version = 2;"
    "COMMIT;";
_Static_assert(APPLICATION_ID == 1717658211, "the schema has the same number");

int counters_db_number(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    *ret = 0;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return sql_status(code);
}

static int open_connection(const char *path, int flags, sqlite3 **ret)
{
    int code =
        sqlite3_open_v2(path, ret, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(*ret, BUSY_MS);
    if (code != SQLITE_OK) {
        sqlite3_close(*ret);
        *ret = NULL;
    }
    return sql_status(code);
}

/* Checks that the file is a history of counters. If the file is empty, creates the tables in it. */
static int check(sqlite3 *db, char *why, size_t why_len)
{
    int64_t id, version, tables;
    int status = counters_db_number(db, "PRAGMA application_id", &id);
    if (status == FAB_OK)
        status = counters_db_number(db, "PRAGMA user_version", &version);
    if (status == FAB_OK)
        status = counters_db_number(db, "SELECT count(*) FROM sqlite_schema", &tables);
    if (status == FAB_OK)
        status = sql_status(sqlite3_exec(db, set_up, NULL, NULL, NULL));
    if (status == FAB_OK && tables == 0 && id == 0 && version == 0)
        status = sql_status(sqlite3_exec(db, schema, NULL, NULL, NULL));
    else if (status == FAB_OK && (id != APPLICATION_ID || version != VERSION)) {
        snprintf(why, why_len, "it is of another program or of another version of fabricd");
        return FAB_E_FORMAT;
    }
    if (status != FAB_OK)
        snprintf(why, why_len, "%s", sqlite3_errmsg(db));
    return status;
}

int counters_db_open(const char *path, sqlite3 **ret, char *why, size_t why_len)
{
    sqlite3 *db = NULL;
    int status = open_connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db);
    if (status != FAB_OK) {
        snprintf(why, why_len, "%s", fab_base_status_text(status));
        return status;
    }
    status = check(db, why, why_len);
    if (status == FAB_OK)
        *ret = db;
    else
        sqlite3_close(db);
    return status;
}

int counters_db_open_reader(const char *path, sqlite3 **ret)
{
    return open_connection(path, SQLITE_OPEN_READONLY, ret);
}

int counters_db_blocks(sqlite3_stmt *select, int64_t from_id, int64_t to_id, uint64_t columns,
                       counters_block_fn *fn, void *ctx)
{
    int status = FAB_OK, code = SQLITE_DONE;
    sqlite3_bind_int64(select, 1, from_id);
    sqlite3_bind_int64(select, 2, to_id);
    while (status == FAB_OK && (code = sqlite3_step(select)) == SQLITE_ROW) {
        struct fab_counters_block block;
        const void *bytes = sqlite3_column_blob(select, 0);
        status = bytes != NULL
                     ? fab_counters_block_decode(bytes, (size_t)sqlite3_column_bytes(select, 0),
                                                 columns, &block)
                     : FAB_E_FORMAT;
        if (status == FAB_OK) {
            status = fn(ctx, &block);
            fab_counters_block_fini(&block);
        }
    }
    sqlite3_reset(select);
    return status == FAB_OK && code != SQLITE_DONE ? sql_status(code) : status;
}
