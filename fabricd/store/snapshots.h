/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots of the topology. A snapshot has the nodes, and the links with their ports and rates, at
 * a certain time. A snapshot is a text in the format of ibnetdiscover (libfabmgr/fabric/text.h). An
 * operator makes snapshots under a name; the manager makes one each day if the topology has
 * changed. */
#ifndef FABRICD_STORE_SNAPSHOTS_H
#define FABRICD_STORE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"
#include "libfabmgr/fabric/fabric.h"

#define STORE_SNAPSHOT_NAME 64   /* size of a name with its NUL */
#define STORE_SNAPSHOTS_NAMED 64 /* maximum number of snapshots that operators made */

/* Limits of the number and the size of snapshots. To keep them, the oldest automatic snapshots are
 * deleted. */
struct store_snapshot_limits {
    uint32_t keep;  /* maximum number of automatic snapshots */
    uint64_t bytes; /* maximum size of all snapshots in bytes */
};
struct store_snapshot {
    const char *name, *by; /* name: the name of the snapshot; by: the operator who made it */
    int64_t time;          /* Unix time in seconds at which the snapshot was made */
    bool automatic;
    uint32_t nodes, links;
    uint64_t size; /* size of the topology in bytes */
};

/* Puts a snapshot of the fabric into the queue of the writer thread. The writer makes the text. It
 * drops the new snapshot if another one has the same name, or if the new one is automatic and the
 * topology has not changed since the last automatic one. store_delete_snapshot deletes the snapshot
 * with this name. */
void store_put_snapshot(struct store *s, const struct store_snapshot *snapshot,
                        const struct fab_fabric *fabric,
                        const struct store_snapshot_limits *limits);
void store_delete_snapshot(struct store *s, const char *name);

/* Calls fn for each snapshot, oldest first. fn must not call the store. Returns OK or an error of
 * sql_status (sql.h).
 */
typedef void store_snapshot_fn(void *ctx, const struct store_snapshot *snapshot);
int store_snapshots(struct store *s, store_snapshot_fn *fn, void *ctx);
/* Reads the topology of a snapshot: the snapshot with this name or, if `name` is NULL, the last
 * snapshot that was made at `time` or earlier. The caller releases the reference *ret_fabric. Any
 * thread may call this function, which opens its own connection. Returns OK, NOT_FOUND, NOMEM,
 * FORMAT, or an error of sql_status (sql.h). */
int store_snapshot_load(const struct store *s, const char *name, int64_t time,
                        struct fab_fabric **ret_fabric);
/* Makes a copy of a fabric that has only what a snapshot stores, so that both can be compared.
 * Returns OK or NOMEM. */
int store_snapshot_of(const struct fab_fabric *fabric, struct fab_fabric **ret_fabric);

#endif
