/* SPDX-License-Identifier: BSD-3-Clause */
/* The replicated tables, for the writer thread. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_REPLICATED_ROWS_H
#define FABRICD_STORE_REPLICATED_ROWS_H

#include <sqlite3.h>

#include "fabricd/store/replicated.h"

/* How changes of rows are marked, and what became of them. Only the writer thread uses this struct;
 * other threads read copies of `changes`, `drops` and `version` (struct writer_received). */
struct replicated {
    bool marks; /* true: the triggers that mark changes exist */
    /* true: the triggers do not mark now, because the rows come from another manager */
    bool silent;
    uint64_t version; /* version of the last mark */
    bool leases;      /* true: the open transaction has stored LID leases of another manager */
    uint64_t told;    /* value of `version` at the last call of the listener (writer_on_marked) */
    /* the results of store_received_changes and store_received_drops */
    uint64_t changes, drops;
};

enum replica_request_kind {
    REPLICA_BEGIN,
    REPLICA_INSTANCE,
    REPLICA_CONFIRMED,
    REPLICA_MARK_ALL,
    REPLICA_PUT, /* write rows that this manager has changed, and mark them */
    REPLICA_RECEIVED
};
struct record_replica {
    enum replica_request_kind kind;
    struct store_received received;
    uint64_t instance; /* for REPLICA_INSTANCE */
};

/* Carries out a request in the open transaction. Rows of another manager (REPLICA_RECEIVED) that
 * the schema does not accept are logged and left out. Returns NOMEM or the errors of sql_status. */
int replicated_write(struct replicated *r, sqlite3 *db, const struct record_replica *request);

#endif
