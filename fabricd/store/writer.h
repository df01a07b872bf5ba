/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer thread and its queue. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_WRITER_H
#define FABRICD_STORE_WRITER_H

#include <sqlite3.h>

#include "fabricd/store/audit_chain.h"
#include "fabricd/store/record.h"

struct writer;
/* Key and files of the audit log, for the writer thread. */
struct writer_audit {
    struct audit_key key;
    int head_fd;            /* descriptor of the file audit_head, which the caller closes */
    struct audit_head head; /* the head that was read from the file audit_head */
};
/* Starts the writer thread. Takes over the connection, even if the function returns an error.
 * Returns NOMEM or the errors of sql_status. */
int writer_start(sqlite3 *db, const char *path, const struct writer_audit *audit,
                 struct writer **ret);
/* writes all queued records, and then stops the thread; `w` may be NULL */
void writer_stop(struct writer *w);

/* The next functions put their argument into the queue of the writer thread, which then owns it. */
void writer_put_leases(struct writer *w, struct fab_lease *leases, size_t count);
void writer_put_view(struct writer *w, struct fab_view *view, struct record *set);
void writer_put_event(struct writer *w, struct record *r);
/* Puts a record into the queue, even if the queue is full. */
void writer_put_lasting(struct writer *w, struct record *r);
/* Puts a record into the queue, even if the queue is full, and makes the writer commit it at once.
 */
void writer_put_urgent(struct writer *w, struct record *r);
uint64_t writer_mark(struct writer *w);
/* See store_written, store_has_lost and store_get_health. */
enum store_written writer_written(struct writer *w, uint64_t mark);
bool writer_has_lost(struct writer *w);
/* Sets the function that is called after a transaction that marked rows; NULL: none. A new function
 * replaces the earlier one. */
void writer_on_marked(struct writer *w, void (*fn)(void *ctx), void *ctx);
/* The numbers that store_received_changes (`changes`), store_received_drops (`drops`) and
 * store_marked_version (`version`) return. */
struct writer_received {
    uint64_t changes, drops, version;
};
struct writer_received writer_received(struct writer *w);
void writer_get_health(struct writer *w, struct store_health *ret);
bool writer_is_behind(struct writer *w);
struct audit_head writer_audit_head(struct writer *w);
void writer_audit_keep(struct writer *w, const struct audit_limits *limits);
void writer_keep(struct writer *w, uint32_t events);
void writer_flush(struct writer *w);
uint64_t writer_dropped(struct writer *w);

#endif
