/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads the versions of the applied policy. */
#include "fabricd/store/policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"
#include "fabricd/store/state.h"
#include "fabricd/store/writer.h"
#include "libfabmgr/base/status.h"

int policy_write(struct sql *q, const struct store_policy *p)
{
    int r = sql_run(q, SQL_POLICY_PUT, "iitttt", (int64_t)p->version, p->time_us, p->by, p->reason,
                    p->hash, p->text);
    if (r == FAB_OK && p->version > STORE_POLICIES_KEPT)
        r = sql_run(q, SQL_POLICY_TRIM, "i", (int64_t)(p->version - STORE_POLICIES_KEPT));
    return r;
}

static void put(struct store *s, struct record *r)
{
    if (r != NULL)
        writer_put_urgent(s->writer, r);
    else
        log_error("store", "out of memory: the applied policy is not stored, and the next start "
                           "does not know it");
}

void store_put_policy(struct store *s, const struct store_policy *policy)
{
    put(s, record_of_policy(policy));
}

void store_put_policy_settled(struct store *s, uint64_t version)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, version);
    put(s, record_of_meta("policy_settled", text));
}

int store_policies(struct store *s, uint64_t version, uint32_t limit, store_policy_fn *fn,
                   void *ctx)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader,
                                  "SELECT version, time_us, person, reason, hash, text "
                                  "FROM policy_version WHERE ?1 = 0 OR version = ?1 "
                                  "ORDER BY version DESC LIMIT ?2",
                                  -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, (int64_t)version);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 2, (int64_t)limit);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        if (code != SQLITE_ROW)
            break;
        const struct store_policy p = {.version = (uint64_t)sqlite3_column_int64(stmt, 0),
                                       .time_us = sqlite3_column_int64(stmt, 1),
                                       .by = sql_text(stmt, 2),
                                       .reason = sql_text(stmt, 3),
                                       .hash = sql_text(stmt, 4),
                                       .text = sql_text(stmt, 5)};
        fn(ctx, &p);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

uint64_t store_policy_settled(struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    uint64_t version = 0;
    if (sqlite3_prepare_v2(s->reader, "SELECT value FROM meta WHERE key = 'policy_settled'", -1,
                           &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        version = strtoull(sql_text(stmt, 0), NULL, 10);
    sqlite3_finalize(stmt);
    return version;
}
