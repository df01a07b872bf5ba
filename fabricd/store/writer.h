/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For this folder only: the writer thread and its queue.
 */
#ifndef FABRICD_STORE_WRITER_H
#define FABRICD_STORE_WRITER_H

#include <sqlite3.h>

#include "fabricd/store/record.h"

struct writer;
/* Starts the thread. Takes ownership of the connection, also if it fails. NOMEM, and errors of
 * sql_status. */
int writer_start(sqlite3 *db, const char *path, struct writer **ret);
void writer_stop(struct writer *w); /* writes what is queued; NULL is fine */

/* These functions queue a value for the writer. They take ownership of leases, view and record. */
void writer_put_leases(struct writer *w, struct fab_lease *leases, size_t count);
void writer_put_view(struct writer *w, struct fab_view *view, struct record *set);
void writer_put_event(struct writer *w, struct record *r);
void writer_put_lasting(struct writer *w, struct record *r); /* never dropped */
void writer_put_urgent(struct writer *w, struct record *r);  /* committed at once, never dropped */
uint64_t writer_mark(struct writer *w);
bool writer_is_written(struct writer *w, uint64_t mark);
bool writer_is_behind(struct writer *w);
void writer_keep(struct writer *w, uint32_t events);
void writer_flush(struct writer *w);
uint64_t writer_dropped(struct writer *w);

#endif
