/* SPDX-License-Identifier: BSD-3-Clause */
/* Records RPC calls in the audit log: each call of a method that changes something, and, at a
 * limited rate, each call that is refused because the caller lacks a role or is not authenticated.
 * The client gets the result of a change only when the row about it is on the disk. Everything that
 * the store got before this row is then on the disk, too. */
#ifndef FABRICD_RPC_AUDIT_H
#define FABRICD_RPC_AUDIT_H

#include "fabricd/loop/loop.h"
#include "fabricd/store/audit.h"

struct audit;
/* Creates the recorder of calls. store == NULL: calls are written only to the log of the daemon.
 * Returns OK or NOMEM. */
int audit_new(struct loop *loop, struct store *store, struct audit **ret);
/* Logs the head of the audit log, and frees `a`. `a` may be NULL. */
void audit_free(struct audit *a);

/* Returns false if the database cannot be written now. The caller must then refuse all changes. */
bool audit_is_ready(const struct audit *a);
/* Returns a new number, which identifies the rows of one call. */
uint64_t audit_call_number(struct audit *a);
/* Stores a BEGIN row, which says that a change is about to be made. The function sets row->time_us
 * and row->kind. */
void audit_begin(struct audit *a, struct audit_row *row);

/* a call that waits until the row with its result is on the disk */
struct audit_held;
typedef void audit_stored(void *ctx, bool stored);
/* Stores an END row with the result of a call, unless the call was refused without a BEGIN row and
 * the limit of refusals is reached (audit.c). Returns NULL if the caller may send the result at
 * once, also if memory ran out. Otherwise the caller must wait: `done` is called when the row is
 * stored (`stored` is true) or cannot be stored. */
struct audit_held *audit_end(struct audit *a, struct audit_row *row, audit_stored *done, void *ctx);
/* Stores an END row about a client whose certificate was refused, unless the limit of such rows is
 * reached. This limit is separate from that of refused calls, because anybody can cause such rows.
 */
void audit_refused(struct audit *a, struct audit_row *row);
/* Forgets the callback that audit_end got, because the call has ended early. The row is still
 * stored. */
void audit_forget(struct audit_held *held);

#endif
