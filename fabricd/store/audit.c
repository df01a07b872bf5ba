/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements the functions of audit.h, with which other folders write, list and verify the audit
 * log. */
#include "fabricd/store/audit.h"

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/state.h"
#include "libfabmgr/base/status.h"

int store_audit_start(struct store *s, const char *dir, char *why, size_t why_len)
{
    int status = audit_key_get(dir, &s->audit.key, why, why_len);
    if (status == FAB_OK)
        status =
            audit_head_open(dir, &s->audit.key, &s->audit.head_fd, &s->audit.head, why, why_len);
    /* This run's call numbers begin with the present time, so they are higher than those of all
     * earlier runs. */
    s->audit_call = (uint64_t)clock_unix_us();
    return status;
}

uint64_t store_audit_call(struct store *s)
{
    return ++s->audit_call;
}

int store_put_audit(struct store *s, const struct audit_row *row)
{
    if (row->kind != AUDIT_BEGIN)
        store_audit_log(row);
    if (s == NULL)
        return FAB_OK;
    struct record *r = record_of_audit(row);
    if (r == NULL)
        return FAB_E_NOMEM;
    writer_put_urgent(s->writer, r);
    return FAB_OK;
}

void store_audit_keep(struct store *s, uint64_t max_age_s, uint64_t max_bytes)
{
    writer_audit_keep(s->writer, &(struct audit_limits){max_age_s, max_bytes});
}

struct audit_head store_audit_head(struct store *s)
{
    return writer_audit_head(s->writer);
}

int store_audit_list(struct store *s, uint64_t before, uint32_t limit, audit_handler *fn, void *ctx)
{
    static const char sql[] =
        "SELECT " AUDIT_COLUMNS ", kind = 1 AND EXISTS (SELECT 1 FROM audit e WHERE e.kind = 2 AND "
        "e.call = a.call) FROM audit a WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2";
    sqlite3_stmt *stmt = NULL;
    struct audit_row row;
    int code = sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1,
                           before == 0 || before > INT64_MAX ? INT64_MAX : (int64_t)before);
        sqlite3_bind_int64(stmt, 2, limit);
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
            audit_read(stmt, &row);
            for (int i = 0; i < AUDIT_TEXTS; i++)
                row.text[i] = row.text[i] != NULL ? row.text[i] : "";
            row.ended = sqlite3_column_int(stmt, 6 + AUDIT_TEXTS) != 0;
            if (!fn(ctx, &row)) {
                code = SQLITE_DONE;
                break;
            }
        }
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

int store_audit_verify(struct store *s, bool (*stopped)(void *ctx), void *ctx,
                       struct audit_verdict *ret)
{
    char why[300];
    sqlite3 *db = NULL;
    /* Take the head before audit_verify reads the table. The writer thread may append rows
     * meanwhile, but the table must have all rows up to this head. */
    struct audit_verdict v = {.head = writer_audit_head(s->writer)};
    int status = schema_open_reader(s->path, &db, why, sizeof(why));
    if (status == FAB_OK)
        status = audit_verify(db, &s->audit.key, stopped, ctx, &v);
    sqlite3_close(db);
    if (status == FAB_OK)
        *ret = v;
    return status;
}
