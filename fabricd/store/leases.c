/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of LID leases: the LIDs of each port in the fabric, and the last LIDs of each port that
 * has left. The writer compares a new set of leases with the rows in the database, and writes only
 * the differences.
 *
 * A port that is not in the new set has left the fabric, but its lease stays reserved. Its row is
 * deleted only if the manager gave the LIDs to another port because no free LIDs were left.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/status.h"

/* ---- reading ---- */

static int append(struct lease_table *t, size_t *room, const struct lease_row *row)
{
    if (t->count == *room) {
        size_t more = *room > 0 ? *room * 2 : 1024;
        struct lease_row *rows = reallocarray(t->rows, more, sizeof(*rows));
        if (rows == NULL)
            return FAB_E_NOMEM;
        t->rows = rows;
        *room = more;
    }
    t->rows[t->count++] = *row;
    return FAB_OK;
}

/* Reads a row of the table. Returns false if the row is not valid because somebody edited it by
 * hand. */
static bool read_row(sqlite3_stmt *stmt, struct lease_row *row)
{
    const char *guid = (const char *)sqlite3_column_text(stmt, 0);
    int64_t lid = sqlite3_column_int64(stmt, 1), lmc = sqlite3_column_int64(stmt, 2);
    if (sql_guid_parse(guid, &row->lease.port_guid) != FAB_OK || lid <= 0 || lid > UINT32_MAX ||
        lmc < 0 || lmc > 7)
        return false;
    row->lease.lid = (uint32_t)lid;
    row->lease.lmc = (uint8_t)lmc;
    row->current = sqlite3_column_int(stmt, 3) != 0;
    return true;
}

static int read_rows(sqlite3_stmt *stmt, struct lease_table *t)
{
    size_t room = 0, strange = 0;
    int code, status = FAB_OK;
    while (status == FAB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct lease_row row;
        if (read_row(stmt, &row))
            status = append(t, &room, &row);
        else
            strange++;
    }
    if (strange > 0)
        log_warning("store", "%zu leases in the database are not valid and are ignored", strange);
    return status != FAB_OK ? status : sql_status(code);
}

/* Loads the table, sorted by GUID. GUIDs are stored as text of equal length, which ORDER BY sorts
 * like the numbers. */
int lease_table_load(sqlite3 *db, struct lease_table *ret)
{
    struct lease_table t = {0};
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(
        db, "SELECT port_guid, lid, lmc, current FROM lease ORDER BY port_guid", -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_rows(stmt, &t);
    sqlite3_finalize(stmt);
    if (status == FAB_OK)
        *ret = t;
    else
        lease_table_fini(&t);
    return status;
}

void lease_table_fini(struct lease_table *t)
{
    free(t->rows);
    *t = (struct lease_table){0};
}

/* ---- LIDs of the new set ---- */

/* bitset of the LIDs that the new set of leases uses */
struct taken {
    uint8_t *bits;
    uint32_t top;
};

static uint32_t last_lid(const struct fab_lease *l)
{
    return l->lid + (1u << l->lmc) - 1;
}

static int taken_init(struct taken *t, const struct fab_lease *leases, size_t count)
{
    *t = (struct taken){0};
    for (size_t i = 0; i < count; i++)
        if (last_lid(&leases[i]) > t->top)
            t->top = last_lid(&leases[i]);
    t->bits = calloc(t->top / 8 + 1, 1);
    if (t->bits == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < count; i++)
        for (uint32_t lid = leases[i].lid; lid <= last_lid(&leases[i]); lid++)
            t->bits[lid / 8] |= (uint8_t)(1u << lid % 8);
    return FAB_OK;
}

static bool is_taken(const struct taken *t, const struct fab_lease *l)
{
    for (uint32_t lid = l->lid; lid <= last_lid(l) && lid <= t->top; lid++)
        if (t->bits[lid / 8] >> lid % 8 & 1)
            return true;
    return false;
}

/* ---- writing ---- */

static int put(struct sql *q, const struct fab_lease *l, int64_t now)
{
    return sql_run(q, SQL_LEASE_PUT, "giii", l->port_guid, (int64_t)l->lid, (int64_t)l->lmc, now);
}

/* Handles the row of a port that has no lease in the new set. Keeps the row in the table (*ret_keep
 * is true), unless the new set uses the LIDs of the row for another port. */
static int put_absent(struct sql *q, struct lease_row *row, const struct taken *taken, int64_t now,
                      bool *ret_keep)
{
    bool was_current = row->current;
    row->current = false;
    *ret_keep = !is_taken(taken, &row->lease);
    if (!*ret_keep)
        return sql_run(q, SQL_LEASE_DELETE, "g", row->lease.port_guid);
    return was_current ? sql_run(q, SQL_LEASE_ABSENT, "gi", row->lease.port_guid, now) : FAB_OK;
}

static bool same(const struct lease_row *row, const struct fab_lease *l)
{
    return row->current && row->lease.lid == l->lid && row->lease.lmc == l->lmc;
}

/* Compares the table with the new leases, and writes the differences to the database. Both are
 * sorted by GUID. */
static int merge(const struct lease_table *t, struct sql *q, const struct fab_lease *leases,
                 size_t count, const struct taken *taken, int64_t now, struct lease_table *out)
{
    size_t i = 0, k = 0;
    int status = FAB_OK;
    while (status == FAB_OK && (i < t->count || k < count)) {
        bool only_old =
            i < t->count && (k == count || t->rows[i].lease.port_guid < leases[k].port_guid);
        if (only_old) {
            struct lease_row row = t->rows[i++];
            bool keep = true;
            status = put_absent(q, &row, taken, now, &keep);
            if (keep)
                out->rows[out->count++] = row;
            continue;
        }
        bool known = i < t->count && t->rows[i].lease.port_guid == leases[k].port_guid;
        if (!known || !same(&t->rows[i], &leases[k]))
            status = put(q, &leases[k], now);
        out->rows[out->count++] = (struct lease_row){leases[k++], true};
        i += known;
    }
    return status;
}

int lease_table_write(const struct lease_table *t, struct sql *q, const struct fab_lease *leases,
                      size_t count, int64_t now, struct lease_table *ret)
{
    struct taken taken = {0};
    struct lease_table out = {.rows = calloc(t->count + count + 1, sizeof(*out.rows))};
    int status = FAB_E_NOMEM;
    if (out.rows != NULL)
        status = taken_init(&taken, leases, count);
    if (status == FAB_OK)
        status = merge(t, q, leases, count, &taken, now, &out);
    free(taken.bits);
    if (status == FAB_OK)
        *ret = out;
    else
        lease_table_fini(&out);
    return status;
}
