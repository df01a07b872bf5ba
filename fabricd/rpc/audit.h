/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The audit of calls. The gRPC layer records each call of a method that changes something, and each
 * call that is refused because of who the caller is. The result of a change is sent only when its
 * row in the audit log, and so everything that was stored before, is on the disk.
 */
#ifndef FABRICD_RPC_AUDIT_H
#define FABRICD_RPC_AUDIT_H

#include "fabricd/loop/loop.h"
#include "fabricd/store/audit.h"

struct audit;
/* Creates the audit of all calls. store == NULL: calls are only logged. Returns NOMEM. */
int audit_new(struct loop *loop, struct store *store, struct audit **ret);
/* logs the head; a may be NULL */
void audit_free(struct audit *a);

/* Returns true if changes can be stored now. If not, the caller must refuse them. */
bool audit_is_ready(const struct audit *a);
/* Returns a number for the rows of a call. */
uint64_t audit_call_number(struct audit *a);
/* Records that a change is about to be made. The function sets time and kind of the row. */
void audit_begin(struct audit *a, struct audit_row *row);

/* A result that waits until it is stored. */
struct audit_held;
typedef void audit_stored(void *ctx, bool stored);
/* Records the result of a call. Returns NULL if the caller may send the result at once. Otherwise
 * calls `done` when the row is stored, or cannot be stored. */
struct audit_held *audit_end(struct audit *a, struct audit_row *row, audit_stored *done, void *ctx);
/* Forgets the callback, because the call ended. */
void audit_forget(struct audit_held *held);

#endif
