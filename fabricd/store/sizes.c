/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes the sizes of the tables and indexes, for reports about faults. The virtual table dbstat
 * of SQLite has the sizes. If SQLite was built without dbstat, only the numbers of rows are known.
 */
#include "fabricd/store/sizes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "fabricd/store/schema.h"
#include "fabricd/store/state.h"
#include "libfabmgr/base/status.h"

/* number of instructions of SQLite's virtual machine between two calls of stopped() */
#define STEPS 100000

struct stopper {
    bool (*stopped)(void *ctx);
    void *ctx;
};

static int on_progress(void *ctx)
{
    const struct stopper *s = ctx;
    return s->stopped(s->ctx);
}

/* Returns the number in the first column of the first row; 0 if the statement fails. */
static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t ret = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return ret;
}

int64_t sizes_count_rows(sqlite3 *db, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
    int64_t rows = sql != NULL ? number(db, sql) : 0;
    sqlite3_free(sql);
    return rows;
}

static int64_t count_bytes(sqlite3 *db, const char *name)
{
    char *sql = sqlite3_mprintf("SELECT sum(pgsize) FROM dbstat WHERE name = %Q", name);
    int64_t bytes = sql != NULL ? number(db, sql) : 0;
    sqlite3_free(sql);
    return bytes;
}

static int tables(sqlite3 *db, struct fab_text *to)
{
    static const char sql[] = "SELECT name, type FROM sqlite_schema WHERE type IN ('table', "
                              "'index') ORDER BY tbl_name, type DESC, name";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    fab_base_text_addf(to, "\n%-40s %12s %14s\n", "table or index", "rows", "bytes");
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        if (code != SQLITE_ROW)
            break;
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *type = (const char *)sqlite3_column_text(stmt, 1);
        if (name == NULL || type == NULL)
            continue;
        if (type[0] == 't')
            fab_base_text_addf(to, "%-40s %12" PRId64 " %14" PRId64 "\n", name,
                               sizes_count_rows(db, name), count_bytes(db, name));
        else
            fab_base_text_addf(to, "  %-38s %12s %14" PRId64 "\n", name, "", count_bytes(db, name));
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

int store_describe(const struct store *s, bool (*stopped)(void *ctx), void *ctx,
                   struct fab_text *to)
{
    char why[300];
    sqlite3 *db = NULL;
    struct stopper stopper = {stopped, ctx};
    int status = schema_open_reader(s->path, &db, why, sizeof(why));
    if (status != FAB_OK)
        return status;
    sqlite3_progress_handler(db, STEPS, on_progress, &stopper);
    fab_base_text_addf(to, "SQLite %s, schema version %" PRId64 "\n", sqlite3_libversion(),
                       number(db, "PRAGMA user_version"));
    fab_base_text_addf(to,
                       "%" PRId64 " pages of %" PRId64 " bytes, of which %" PRId64 " are free\n",
                       number(db, "PRAGMA page_count"), number(db, "PRAGMA page_size"),
                       number(db, "PRAGMA freelist_count"));
    status = tables(db, to);
    sqlite3_close(db);
    return status;
}
