/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For this folder only: copies of the rows in the database, which let the writer write only
 * differences. Once the writer thread runs, only that thread uses them.
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

/* Loads the rows, without those that are not valid. NOMEM, and errors of sql_status. */
int lease_table_load(sqlite3 *db, struct lease_table *ret);
/* Writes the differences between t and `leases` into the open transaction; *ret is the table after
 * the commit. leases: sorted by GUID. A row whose port is not among them stays, unless another port
 * has its LIDs now. NOMEM, and errors of sql_run. */
int lease_table_write(const struct lease_table *t, struct sql *q, const struct fab_lease *leases,
                      size_t count, int64_t now, struct lease_table *ret);
void lease_table_fini(struct lease_table *t);

struct registry {
    uint64_t hash;             /* hash of the rows in the database; 0: unknown */
    struct fab_fabric *fabric; /* the fabric in the database; NULL: unknown (after a start) */
    uint32_t *lids;            /* [fabric->port_count] base LIDs in the snapshot */
    int64_t seen;              /* when last_seen was last renewed */
};

/* Loads the hash; the rest of *r stays empty. Errors as sql_status. */
int registry_load(struct registry *r, sqlite3 *db);
/* Writes the differences between r and the view into the open transaction. *ret is the registry
 * after the commit, and shares no memory with r. NOMEM, and errors of sql_run. */
int registry_write(const struct registry *r, struct sql *q, const struct fab_view *view,
                   int64_t now, struct registry *ret);
/* Renews last_seen of all rows that are part of the fabric. Errors as sql_run. */
int registry_touch(struct sql *q, int64_t now);
void registry_fini(struct registry *r);

#endif
