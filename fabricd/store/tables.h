/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For this folder only: what the writer knows of the tables, so that it writes only differences.
 * Used by the writer thread alone, once it runs.
 */
#ifndef FABRICD_STORE_TABLES_H
#define FABRICD_STORE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/sql.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/view/view.h"

struct lease_row {
    struct fab_lease lease;
    bool current;
};

struct lease_table {
    struct lease_row *rows; /* the rows in the database, sorted by GUID */
    size_t count;
};

/* ret_rows: malloc'd, sorted by GUID, without invalid rows. */
int lease_table_load(sqlite3 *db, struct lease_table *ret);
/* Writes the differences into the open transaction; *ret is the table after the commit. leases:
 * sorted by GUID. A lease that is not among them stays unless its LIDs were given to another
 * port. */
int lease_table_write(const struct lease_table *t, struct sql *q, const struct fab_lease *leases,
                      size_t count, int64_t now, struct lease_table *ret);
void lease_table_fini(struct lease_table *t);

struct registry {
    uint64_t hash;             /* hash of what the database holds; 0: unknown */
    struct fab_fabric *fabric; /* the fabric that the database holds, or NULL (after a start) */
    uint32_t *lids;            /* [fabric->port_count] base LIDs of it */
    int64_t seen;              /* when last_seen was written */
};

int registry_load(struct registry *r, sqlite3 *db);
/* Writes the differences into the open transaction; *ret is the registry after the commit, and
 * may share nothing with r. */
int registry_write(const struct registry *r, struct sql *q, const struct fab_view *view,
                   int64_t now, struct registry *ret);
/* Renews last_seen of all rows that are part of the fabric. */
int registry_touch(struct sql *q, int64_t now);
void registry_fini(struct registry *r);

#endif
