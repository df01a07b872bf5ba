/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows that all managers of a fabric must know: LID leases, decisions of operators, and what
 * hosts registered. fabricd/replica sends changed rows to the other managers, and stores the rows
 * that another manager changed.
 *
 * A row consists of the name of its table, a key (a JSON array with the values of the primary key)
 * and a value (a JSON object with the other columns). If a replicated row changes, a trigger marks
 * its key in the table replica_pending, in the same transaction. The mark stays until the new value
 * is confirmed, so a crash loses no change.
 */
#ifndef FABRICD_STORE_REPLICATED_H
#define FABRICD_STORE_REPLICATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

struct store_row {
    const char *table; /* name of the table, in static memory */
    char *key;
    char *value;      /* the value as JSON; NULL: the row was deleted */
    uint64_t version; /* version of the mark; each change of the row gives it a higher version */
};
/* Returns true if the row is a registration of a host: a service, a subscription, a multicast
 * group, a member of a multicast group, or an alias GUID. */
bool store_is_registration(const struct store_row *row);
/* A list that owns its keys and values. */
struct store_rows {
    struct store_row *row;
    size_t count, room;
};
/* Appends a copy of a row to the list. Returns NOMEM, or NOT_FOUND if no replicated table has this
 * name. */
int store_rows_add(struct store_rows *rows, const char *table, const char *key, const char *value,
                   uint64_t version);
void store_rows_fini(struct store_rows *rows);

/* Begins to mark changes. From now on, the writer thread calls marked(ctx) after each transaction
 * that has marked rows. The caller must call this function once, before the manager begins to work.
 * Returns OK, NOMEM, or IO if the database cannot be written. */
int store_replicate(struct store *s, void (*marked)(void *ctx), void *ctx);

void store_stop_marked(struct store *s); /* After this call, `marked` is not called any more. */

/* A connection to the database for the thread that sends rows. */
struct store_pending;
int store_pending_open(const struct store *s, struct store_pending **ret, char *why,
                       size_t why_len);
void store_pending_close(struct store_pending *p); /* `p` may be NULL */
/* Reads at most `limit` marked rows with their present values. Leaves out rows of tables that this
 * version of fabricd does not know. *ret_all: the number of all marks. Returns OK, NOMEM, or an
 * error of sql_status (sql.h). */
int store_pending_read(struct store_pending *p, size_t limit, struct store_rows *ret,
                       uint64_t *ret_all);

/* store_put_confirmed, store_mark_all and store_put_received put a request into the queue of the
 * writer thread, which carries it out in one transaction. They take over the rows in their
 * arguments. If memory runs out, they free these rows and return NOMEM. */
/* Deletes the marks of rows that a majority has confirmed. A row that has changed since it was read
 * keeps its mark. */
int store_put_confirmed(struct store *s, struct store_rows *rows);
/* Marks all replicated rows. */
int store_mark_all(struct store *s);
/* Rows that another manager has changed. store_put_received stores them without marking them. */
struct store_received {
    struct store_rows rows;
    /* true: the rows are the complete state. All other replicated rows are deleted, except those
     * that this manager changed last (see keeps_after). */
    bool whole;
    /* If a row has a mark with a higher version than this, this manager changed the row last: the
     * row keeps its value and its mark. Other marks of received rows are deleted and, if `whole` is
     * true, also those of all other rows. UINT64_MAX: no row is kept. */
    uint64_t keeps_after;
};
int store_put_received(struct store *s, struct store_received *received);
/* Returns the number of rows that store_put_received has changed since the start. */
uint64_t store_received_changes(struct store *s);
/* Returns the version of the last mark that is committed. */
uint64_t store_marked_version(struct store *s);
/* Returns an upper bound of the number of changes of this manager that store_put_received has
 * undone since the start. A change is undone if the mark of the row is deleted, and the row itself
 * is replaced or deleted. */
uint64_t store_received_drops(struct store *s);

/* Returns a random number that identifies this database to the other managers. Makes and stores the
 * number if there is none yet. Returns 0 if the number cannot be read or stored. */
uint64_t store_instance(struct store *s);

#endif
