/* SPDX-License-Identifier: BSD-3-Clause */
/* The chain of the audit log (audit_chain.c), and the files with its key and its head. For the
 * folder fabricd/store only. */
#ifndef FABRICD_STORE_AUDIT_CHAIN_H
#define FABRICD_STORE_AUDIT_CHAIN_H

#include <sqlite3.h>

#include "fabricd/store/audit.h"
#include "fabricd/store/sql.h"

struct audit_key {
    uint8_t bytes[32];
};
/* Reads the key from the file DIR/audit_key. If there is no such file, makes a random key and
 * writes the file. Returns the errors of store_key. */
int audit_key_get(const char *dir, struct audit_key *ret, char *why, size_t why_len);

/* Computes the MAC of a row. previous: the MAC of the row before it. Returns NOMEM. */
int audit_mac(const struct audit_key *key, const uint8_t previous[AUDIT_MAC],
              const struct audit_row *row, uint8_t ret[AUDIT_MAC]);
/* Returns the approximate number of bytes that a row takes in the database. */
uint64_t audit_size(const struct audit_row *row);

void audit_mac_text(const uint8_t mac[AUDIT_MAC], char text[2 * AUDIT_MAC + 1]);
bool audit_mac_parse(const char *text, uint8_t ret[AUDIT_MAC]);

/* The columns of table audit, in the order in which audit_read reads them. */
#define AUDIT_COLUMNS                                                                              \
    "seq, kind, time_us, call, result, account, source, method, object, value_before, "            \
    "value_after, reason, message, mac"
/* Reads the current row of a statement that selects AUDIT_COLUMNS. The texts are valid until the
 * next step. Returns false if a value has a wrong type or size. */
bool audit_read(sqlite3_stmt *stmt, struct audit_row *ret);

/* Functions for the file DIR/audit_head, which has a copy of the head. audit_head_open opens or
 * creates the file, and reads the head in it into *ret. If the file is new, ret->seq is 0. If the
 * MAC of the file is wrong, ret->seq is 0, too, and the error is logged. Returns OK, or IO with the
 * reason in why[]. audit_head_write replaces the head in the file. Returns OK, IO or NOMEM. */
int audit_head_open(const char *dir, const struct audit_key *key, int *ret_fd,
                    struct audit_head *ret, char *why, size_t why_len);
int audit_head_write(int fd, const struct audit_key *key, const struct audit_head *head);

/* The end of the chain, to which the writer thread appends. */
struct audit_chain {
    struct audit_head head;
    /* Unix time in us of the first row; INT64_MAX: there are no rows */
    int64_t oldest_us;
    uint64_t bytes; /* approximate size of all rows */
};
struct audit_limits {
    uint64_t max_age_s, max_bytes;
};
/* Finds the end of the chain in the database. remembered: the head in the file audit_head. If its
 * number is higher than that of the last row, somebody has removed rows at the end of the table.
 * The next new row then follows `remembered`, so that a verification finds the gap. */
int audit_chain_load(sqlite3 *db, const struct audit_head *remembered, struct audit_chain *ret);
/* Appends a row in the open transaction. Returns NOMEM or the errors of sql_run. */
int audit_append(struct audit_chain *c, const struct audit_key *key, struct sql *q,
                 const struct audit_row *row);
/* If the log exceeds its limits, prunes up to PRUNE_MAX of the first rows, in the open transaction.
 * If one of the rows to prune is wrong, prunes nothing and returns FORMAT. Also returns NOMEM, or
 * an error of sql_run or sql_status. */
int audit_prune(struct audit_chain *c, const struct audit_key *key, struct sql *q,
                const struct audit_limits *limits, int64_t now_us);

/* Verifies the rows of the database (store_audit_verify). */
int audit_verify(sqlite3 *db, const struct audit_key *key, bool (*stopped)(void *ctx), void *ctx,
                 struct audit_verdict *v);

#endif
