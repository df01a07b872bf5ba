/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The audit log: who changed or asked for what, from where, when, why, and with which result. It is
 * an append-only table of the database. Each row has a MAC (HMAC-SHA256) over the MAC of the row
 * before and its own columns. The key is in the file audit_key of the state directory, so that
 * nobody can change, remove, insert or reorder rows unnoticed with access to the database alone.
 *
 * The head is the number and the MAC of the last row. The file audit_head has a copy of it, with a
 * MAC of its own, so that missing rows at the end of the table are noticed.
 *
 * Old rows are pruned from the beginning of the table. A checkpoint row then has the number and the
 * MAC of the last pruned row. Rows whose MACs are wrong are not pruned.
 */
#ifndef FABRICD_STORE_AUDIT_H
#define FABRICD_STORE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"

#define AUDIT_MAC 32

enum audit_kind {
    /* A change is about to be made. It is stored before the change, so that no stored change
     * lacks a row, even if the manager is killed. An END row with the same `call` follows. */
    AUDIT_BEGIN = 1,
    /* A call has ended, with its result. */
    AUDIT_END = 2,
    /* An act of the manager itself: a start, a stop or a reload of the settings. */
    AUDIT_NOTE = 3,
    /* Rows were pruned: `call` is the number of the last pruned row, and `after` its MAC. */
    AUDIT_CHECKPOINT = 4
};

/* The columns of a row that are texts. */
enum audit_text {
    AUDIT_ACCOUNT, /* who, such as "uid 0" */
    AUDIT_SOURCE,  /* from where, such as "unix, pid 812" */
    AUDIT_METHOD,  /* what, such as "DisablePort" */
    AUDIT_OBJECT,  /* to what, such as "leaf-1/12" */
    AUDIT_BEFORE,
    AUDIT_AFTER,
    AUDIT_REASON,
    AUDIT_MESSAGE, /* message of the result */
    AUDIT_TEXTS
};

struct audit_row {
    uint64_t seq; /* number of the row, from 1; the store sets it */
    int64_t time_us;
    enum audit_kind kind;
    uint64_t call;   /* number of the call, for BEGIN and END rows; 0: none */
    uint32_t result; /* gRPC code, for END rows */
    bool ended;      /* only from store_audit_list: a BEGIN row whose END row exists */
    const char *text[AUDIT_TEXTS]; /* NULL: "" */
    uint8_t mac[AUDIT_MAC];
};

/* Makes a number for the BEGIN and END rows of a call. */
uint64_t store_audit_call(struct store *s);
/* Puts a copy of the row into the queue of the writer, which commits it at once and syncs the disk.
 * Also logs the row, whatever the log level is, except for a BEGIN row. Returns NOMEM; the row is
 * then not stored. s == NULL: only logs. */
int store_put_audit(struct store *s, const struct audit_row *row);
/* Sets how much of the audit log is kept: rows of the last max_age_s seconds, and about max_bytes.
 */
void store_audit_keep(struct store *s, uint64_t max_age_s, uint64_t max_bytes);

/* The state of the first `mark` records (store_mark). FAILED: the database cannot be written, or
 * refused the records; a later try may still write them. */
enum store_written { STORE_PENDING, STORE_WRITTEN, STORE_FAILED };
enum store_written store_written(struct store *s, uint64_t mark);
/* Returns true if the last transaction failed, so that a change would probably not be stored. */
bool store_is_failing(struct store *s);

struct audit_head {
    uint64_t seq; /* 0: there are no rows */
    uint8_t mac[AUDIT_MAC];
};
/* Returns the number and the MAC of the last committed row. */
struct audit_head store_audit_head(struct store *s);

/* Calls fn for rows with numbers below `before` (0: no bound), newest first, until fn returns false
 * or `limit` rows were read. fn must not call the store. Returns NOMEM, IO or FORMAT. */
typedef bool audit_handler(void *ctx, const struct audit_row *row);
int store_audit_list(struct store *s, uint64_t before, uint32_t limit, audit_handler *fn,
                     void *ctx);

/* The result of a verification. */
struct audit_verdict {
    uint64_t rows, first, last; /* number of rows that were verified, first and last number */
    uint64_t bad;               /* number of the first wrong or missing row; 0: none */
    char problem[200];          /* what is wrong with it; "": nothing */
    struct audit_head head;     /* the head that the table must contain */
};
/* Verifies all rows against the head. Any thread may call it; it has its own connection. It returns
 * early when stopped(ctx) returns true. Returns OK if all rows were read, even if one is wrong, or
 * NOMEM, IO, FORMAT. */
int store_audit_verify(struct store *s, bool (*stopped)(void *ctx), void *ctx,
                       struct audit_verdict *ret);

#endif
