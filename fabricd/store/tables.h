/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of rows in the database. The writer thread compares new values with these copies, and
 * writes only the differences. After the writer thread has started, no other thread uses the
 * copies. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_TABLES_H
#define FABRICD_STORE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/view/view.h"

struct lease_row {
    struct fab_lease lease;
    bool current;
};

struct lease_table {
    /* copies of the rows in the table of leases, sorted by GUID */
    struct lease_row *rows;
    size_t count;
};

/* Loads the table of leases, without rows that are not valid. Returns NOMEM or the errors of
 * sql_status. */
int lease_table_load(sqlite3 *db, struct lease_table *ret);
/* Writes the differences between `t` and `leases` into the open transaction. *ret: the contents of
 * the table after the commit. `leases` must be sorted by GUID. The row of a port that is not in
 * `leases` stays, except if another port now has its LIDs. Returns NOMEM or the errors of
 * sql_run. */
int lease_table_write(const struct lease_table *t, struct sql *q, const struct fab_lease *leases,
                      size_t count, int64_t now, struct lease_table *ret);
void lease_table_fini(struct lease_table *t);

struct registry {
    /* hash of the rows of nodes, ports and links in the database; 0: not known */
    uint64_t hash;
    /* copy of the fabric in the database; NULL: not known, because no view was written since the
     * start */
    struct fab_fabric *fabric;
    /* [fabric->port_count] the LID and the LMC of each port as one number: base LID | LMC << 28; 0:
     * the port has no LID */
    uint32_t *lids;
    /* Unix time in seconds at which last_seen was last written to all rows */
    int64_t seen;
};

/* Loads the hash of the registry. The other members of *r stay empty. Returns the errors of
 * sql_status. */
int registry_load(struct registry *r, sqlite3 *db);
/* Writes what the view changes in the registry into the open transaction: nothing if the hash is
 * still r->hash; all rows if r->fabric is NULL; otherwise the differences between r->fabric and the
 * view. *ret: the registry after the commit, which shares no memory with `r`. Returns NOMEM or the
 * errors of sql_run. */
int registry_write(const struct registry *r, struct sql *q, const struct fab_view *view,
                   int64_t now, struct registry *ret);
/* Renews last_seen in the rows of all nodes, ports and links that are in the fabric, and in the
 * rows of their LID leases. Returns the errors of sql_run. */
int registry_touch(struct sql *q, int64_t now);
/* Carries out the request `forget`: deletes the rows of nodes that are gone, with their ports,
 * links and inventory, and the rows of links that are gone. Returns the errors of sql_run. */
int registry_forget(struct sql *q, const struct record_forget *forget);
/* Defined in snapshots.c: writes or deletes a snapshot. An automatic snapshot is not written if the
 * topology has not changed since the last automatic one. After a write, deletes the automatic
 * snapshots that exceed the limits. Returns NOMEM or the errors of sql_run. */
int snapshot_write(struct sql *q, const struct record_snapshot *r);
void registry_fini(struct registry *r);

#endif
