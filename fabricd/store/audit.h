/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The audit log records who changed or requested what, from where, when, why, and with which
 * result. It is a table of the database to which rows are only appended. Each row has a MAC
 * (message authentication code, HMAC-SHA256) over its own columns and the MAC of the row before.
 * The key of the MACs is in the file audit_key of the state directory. Somebody who can write to
 * the database, but does not have the key, cannot change, remove, insert or reorder rows without
 * being noticed.
 *
 * The head is the number and the MAC of the last row. The file audit_head has a copy of the head,
 * with a MAC of its own. With this copy, a verification notices missing rows at the end of the
 * table.
 *
 * Old rows are pruned (deleted) from the beginning of the table. A checkpoint row is then appended,
 * with the number and the MAC of the last pruned row. Rows whose MACs are wrong are not pruned.
 */
#ifndef FABRICD_STORE_AUDIT_H
#define FABRICD_STORE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"

#define AUDIT_MAC 32

enum audit_kind {
    /* A change is about to be made. This row is stored before the change, so even a change that a
     * killed manager made has a row. An END row with the same `call` follows, unless the manager is
     * killed before the call has ended. */
    AUDIT_BEGIN = 1,
    /* A call has ended; the row has its result. */
    AUDIT_END = 2,
    /* The row is about the manager itself: it started, it stopped, or it read its settings
     * again. */
    AUDIT_NOTE = 3,
    /* Rows were pruned. `call` is the number of the last pruned row, and the text AUDIT_AFTER is
     * the MAC of the last pruned row. */
    AUDIT_CHECKPOINT = 4
};

/* The texts of a row. The values are indices of audit_row.text. */
enum audit_text {
    AUDIT_ACCOUNT, /* name of the caller, such as "uid 0" */
    AUDIT_SOURCE,  /* where the call came from, such as "unix, pid 812" */
    AUDIT_METHOD,  /* called method, such as "DisablePort" */
    AUDIT_OBJECT,  /* object of the call, such as "leaf-1/12" */
    AUDIT_BEFORE,
    AUDIT_AFTER,
    AUDIT_REASON,
    AUDIT_MESSAGE, /* message of the result */
    AUDIT_TEXTS
};

struct audit_row {
    /* number of the row, from 1; the store sets it */
    uint64_t seq;
    int64_t time_us;
    enum audit_kind kind;
    /* The number of a call. The BEGIN row and the END row of one call have the same number. 0: the
     * row is about no call. */
    uint64_t call;
    uint32_t result; /* only in END rows: the gRPC code of the result */
    /* true: the row is a BEGIN row whose END row exists; only store_audit_list fills this member */
    bool ended;
    const char *text[AUDIT_TEXTS]; /* [enum audit_text] the texts; NULL means "" */
    uint8_t mac[AUDIT_MAC];
};

/* Returns a new number, which identifies the BEGIN and the END row of one call. */
uint64_t store_audit_call(struct store *s);
/* Puts a copy of the row into the queue of the writer thread, which commits it at once and syncs
 * the disk. Also writes the row to the daemon's log, at any log level, unless it is a BEGIN row. If
 * `s` is NULL, the function only writes to the log. Returns OK, or NOMEM if the row will not be
 * stored. */
int store_put_audit(struct store *s, const struct audit_row *row);
/* Sets the limits of the audit log. Rows older than max_age_s seconds are pruned, once the first of
 * them is 2% older than that. If all rows together take more than about max_bytes, the oldest rows
 * are pruned, too. The last row is never pruned. */
void store_audit_keep(struct store *s, uint64_t max_age_s, uint64_t max_bytes);

struct audit_head {
    uint64_t seq; /* number of the last row; 0: there are no rows */
    uint8_t mac[AUDIT_MAC];
};
/* Returns the number and the MAC of the last committed row. */
struct audit_head store_audit_head(struct store *s);

/* Calls fn for rows with numbers below `before` (0: for all rows), newest first. Stops when fn
 * returns false, or after `limit` rows. fn must not call the store. Returns OK or an error of
 * sql_status (sql.h). */
typedef bool audit_handler(void *ctx, const struct audit_row *row);
int store_audit_list(struct store *s, uint64_t before, uint32_t limit, audit_handler *fn,
                     void *ctx);

/* The result of a verification. */
struct audit_verdict {
    /* rows: number of rows that were verified. first, last: the numbers of the first and the last
     * of these rows. */
    uint64_t rows, first, last;
    /* number of the first row that is wrong or missing; only valid if problem[] is not "" */
    uint64_t bad;
    /* what is wrong with this row; "": all verified rows are correct */
    char problem[200];
    struct audit_head head; /* the head before the verification; the table must contain it */
};
/* Verifies the MACs of all rows, and checks that the table contains the head. Any thread may call
 * this function, which opens its own connection to the database. It stops when stopped(ctx) returns
 * true; *ret then has the rows verified so far. Returns OK even if a row is wrong (see *ret).
 * Returns NOMEM or an error of sql_status (sql.h) if the rows cannot be read. */
int store_audit_verify(struct store *s, bool (*stopped)(void *ctx), void *ctx,
                       struct audit_verdict *ret);

#endif
