/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Appends, prunes and verifies rows of the audit log. The MACs make the rows a chain: the MAC of a
 * row is computed from the MAC of the row before and the columns of the row. In the bytes from
 * which a MAC is computed, numbers have 64 bits in big-endian order, and each text follows its
 * length, so that two different rows never give the same bytes. For row 1, the MAC of the row
 * before is zeros.
 *
 * After rows were pruned, the row before the first row is missing. The newest checkpoint row has
 * the MAC of this missing row. The checkpoint row is part of the chain, so nobody without the key
 * can make one.
 */
#include "fabricd/store/audit_chain.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* maximum number of rows that one transaction prunes */
#define PRUNE_MAX 2000
/* Pruning removes more rows than necessary, because otherwise each new row would cause pruning.
 * SLACK_BYTES: by how many bytes the log is smaller than its maximum after pruning. SLACK_S: by how
 * many seconds the oldest row may exceed the maximum age before pruning begins. */
#define SLACK_BYTES(max) ((max) / 10)
#define SLACK_S(max) ((max) / 50)
/* number of bytes of a row without its texts: its numbers, its MAC, and the overhead of SQLite */
#define ROW_BYTES 100

/* ---- MACs ---- */

static uint8_t *put_number(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(number >> (56 - 8 * i));
    return to + 8;
}

static const char *text_of(const struct audit_row *row, int i)
{
    return row->text[i] != NULL ? row->text[i] : "";
}

uint64_t audit_size(const struct audit_row *row)
{
    uint64_t size = ROW_BYTES;
    for (int i = 0; i < AUDIT_TEXTS; i++)
        size += strlen(text_of(row, i));
    return size;
}

int audit_mac(const struct audit_key *key, const uint8_t previous[AUDIT_MAC],
              const struct audit_row *row, uint8_t ret[AUDIT_MAC])
{
    const uint64_t numbers[] = {row->seq, (uint64_t)row->kind, (uint64_t)row->time_us, row->call,
                                row->result};
    size_t room = AUDIT_MAC + sizeof(numbers) + 8 * AUDIT_TEXTS;
    for (int i = 0; i < AUDIT_TEXTS; i++)
        room += strlen(text_of(row, i));
    uint8_t *bytes = malloc(room), *to = bytes;
    if (bytes == NULL)
        return FAB_E_NOMEM;
    memcpy(to, previous, AUDIT_MAC);
    to += AUDIT_MAC;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        to = put_number(to, numbers[i]);
    for (int i = 0; i < AUDIT_TEXTS; i++) {
        size_t len = strlen(text_of(row, i));
        to = put_number(to, len);
        memcpy(to, text_of(row, i), len);
        to += len;
    }
    const uint8_t *mac = HMAC(EVP_sha256(), key->bytes, (int)sizeof(key->bytes), bytes,
                              (size_t)(to - bytes), ret, NULL);
    free(bytes);
    return mac != NULL ? FAB_OK : FAB_E_NOMEM;
}

void audit_mac_text(const uint8_t mac[AUDIT_MAC], char text[2 * AUDIT_MAC + 1])
{
    for (int i = 0; i < AUDIT_MAC; i++)
        sprintf(text + 2 * (size_t)i, "%02x", mac[i]);
}

static int digit(char c)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(hex, c) : NULL;
    return at != NULL ? (int)(at - hex) : -1;
}

bool audit_mac_parse(const char *text, uint8_t ret[AUDIT_MAC])
{
    for (int i = 0; i < AUDIT_MAC; i++) {
        int high = digit(text[2 * i]), low = high >= 0 ? digit(text[2 * i + 1]) : -1;
        if (low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * AUDIT_MAC] == '\0';
}

static bool same_mac(const uint8_t a[AUDIT_MAC], const uint8_t b[AUDIT_MAC])
{
    return CRYPTO_memcmp(a, b, AUDIT_MAC) == 0;
}

/* ---- rows ---- */

/* Returns the text in a column. Returns NULL if the value is no text, or contains a NUL byte. */
static const char *column_text(sqlite3_stmt *stmt, int column)
{
    if (sqlite3_column_type(stmt, column) != SQLITE_TEXT)
        return NULL;
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text != NULL && strlen(text) == (size_t)sqlite3_column_bytes(stmt, column) ? text : NULL;
}

bool audit_read(sqlite3_stmt *stmt, struct audit_row *ret)
{
    struct audit_row row = {
        .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
        .kind = (enum audit_kind)sqlite3_column_int(stmt, 1),
        .time_us = sqlite3_column_int64(stmt, 2),
        .call = (uint64_t)sqlite3_column_int64(stmt, 3),
        .result = (uint32_t)sqlite3_column_int64(stmt, 4),
    };
    bool good = true;
    for (int i = 0; i < 5; i++)
        good = good && sqlite3_column_type(stmt, i) == SQLITE_INTEGER;
    for (int i = 0; i < AUDIT_TEXTS; i++) {
        row.text[i] = column_text(stmt, 5 + i);
        good = good && row.text[i] != NULL;
    }
    const void *mac = sqlite3_column_blob(stmt, 5 + AUDIT_TEXTS);
    if (mac != NULL && sqlite3_column_bytes(stmt, 5 + AUDIT_TEXTS) == AUDIT_MAC)
        memcpy(row.mac, mac, AUDIT_MAC);
    else
        good = false;
    *ret = row;
    return good;
}

/* Reads the numbers and the MAC of the row for which the SQL condition `where` is true, but not its
 * texts. `number` is the parameter of `where`, if it has one. Returns OK, NOT_FOUND or an error of
 * sql_status. */
static int read_one(sqlite3 *db, const char *where, uint64_t number, struct audit_row *ret)
{
    sqlite3_stmt *stmt = NULL;
    char sql[300];
    snprintf(sql, sizeof(sql), "SELECT " AUDIT_COLUMNS " FROM audit %s", where);
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(stmt) == 1)
        code = sqlite3_bind_int64(stmt, 1, (int64_t)number);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    int status = code == SQLITE_DONE ? FAB_E_NOT_FOUND : sql_status(code);
    if (status == FAB_OK)
        audit_read(stmt, ret);
    memset(ret->text, 0, sizeof(ret->text));
    sqlite3_finalize(stmt);
    return status;
}

int audit_append(struct audit_chain *c, const struct audit_key *key, struct sql *q,
                 const struct audit_row *row)
{
    struct audit_row r = *row;
    r.seq = c->head.seq + 1;
    int status = audit_mac(key, c->head.mac, &r, r.mac);
    if (status == FAB_OK)
        status =
            sql_run(q, SQL_AUDIT_PUT, "iiiiittttttttb", (int64_t)r.seq, (int64_t)r.kind, r.time_us,
                    (int64_t)r.call, (int64_t)r.result, text_of(&r, AUDIT_ACCOUNT),
                    text_of(&r, AUDIT_SOURCE), text_of(&r, AUDIT_METHOD), text_of(&r, AUDIT_OBJECT),
                    text_of(&r, AUDIT_BEFORE), text_of(&r, AUDIT_AFTER), text_of(&r, AUDIT_REASON),
                    text_of(&r, AUDIT_MESSAGE), r.mac, AUDIT_MAC);
    if (status != FAB_OK)
        return status;
    c->head.seq = r.seq;
    memcpy(c->head.mac, r.mac, AUDIT_MAC);
    c->bytes += audit_size(&r);
    if (c->oldest_us > r.time_us)
        c->oldest_us = r.time_us;
    return FAB_OK;
}

int audit_chain_load(sqlite3 *db, const struct audit_head *remembered, struct audit_chain *ret)
{
    struct audit_row row = {0};
    struct audit_chain c = {.head = *remembered, .oldest_us = INT64_MAX};
    sqlite3_stmt *stmt = NULL;
    int status = read_one(db, "ORDER BY seq DESC LIMIT 1", 0, &row);
    if (status == FAB_OK && row.seq >= remembered->seq) {
        c.head.seq = row.seq;
        memcpy(c.head.mac, row.mac, AUDIT_MAC);
    }
    if (status == FAB_OK)
        status = read_one(db, "ORDER BY seq LIMIT 1", 0, &row);
    if (status == FAB_OK)
        c.oldest_us = row.time_us;
    if (status != FAB_OK && status != FAB_E_NOT_FOUND)
        return status;
    int code = sqlite3_prepare_v2(
        db,
        "SELECT total(length(account) + length(source) + length(method) + length(object) + "
        "length(value_before) + length(value_after) + length(reason) + length(message)), count(*) "
        "FROM audit",
        -1, &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        c.bytes = (uint64_t)sqlite3_column_int64(stmt, 0) +
                  ROW_BYTES * (uint64_t)sqlite3_column_int64(stmt, 1);
    sqlite3_finalize(stmt);
    if (sql_status(code) == FAB_OK)
        *ret = c;
    return sql_status(code);
}

/* ---- following the chain ---- */

/* Where a reader is in the chain. next: number of the next row; mac: MAC of the row before it. */
struct follow {
    uint64_t next;
    uint8_t mac[AUDIT_MAC];
};

/* Moves *ret to the beginning of the chain. If rows were pruned, the newest checkpoint row has the
 * number and the MAC of the last pruned row. Otherwise the chain begins at row 1. */
static int follow_begin(sqlite3 *db, struct follow *ret)
{
    sqlite3_stmt *stmt = NULL;
    struct follow f = {.next = 1};
    int code = sqlite3_prepare_v2(
        db, "SELECT call, value_after FROM audit WHERE kind = 4 ORDER BY seq DESC LIMIT 1", -1,
        &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *mac = (const char *)sqlite3_column_text(stmt, 1);
        f.next = (uint64_t)sqlite3_column_int64(stmt, 0) + 1;
        /* If the MAC in the checkpoint row was changed, the first row does not match it, and
         * follow_row reports this. The MAC therefore needs no check here. */
        if (mac == NULL || !audit_mac_parse(mac, f.mac))
            memset(f.mac, 0, sizeof(f.mac));
    }
    sqlite3_finalize(stmt);
    *ret = f;
    return sql_status(code);
}

/* Checks that the row is the next one of the chain, with the right number and the right MAC. If it
 * is, moves *f past it; if not, writes the problem to *v. readable: false if audit_read could not
 * read the row. Returns OK or NOMEM. */
static int follow_row(struct follow *f, const struct audit_key *key, const struct audit_row *row,
                      bool readable, struct audit_verdict *v)
{
    uint8_t mac[AUDIT_MAC];
    if (row->seq != f->next) {
        bool gap = row->seq > f->next;
        v->bad = gap ? f->next : row->seq;
        if (gap && row->seq > f->next + 1)
            snprintf(v->problem, sizeof(v->problem), "rows %" PRIu64 " to %" PRIu64 " are missing",
                     f->next, row->seq - 1);
        else
            snprintf(v->problem, sizeof(v->problem),
                     gap ? "row %" PRIu64 " is missing" : "row %" PRIu64 " was inserted", v->bad);
        return FAB_OK;
    }
    int status = audit_mac(key, f->mac, row, mac);
    if (status != FAB_OK)
        return status;
    if (!readable || !same_mac(mac, row->mac)) {
        v->bad = row->seq;
        snprintf(v->problem, sizeof(v->problem),
                 "row %" PRIu64 " does not fit the chain: it was changed, inserted or moved, or "
                 "rows before it were removed",
                 row->seq);
        return FAB_OK;
    }
    f->next = row->seq + 1;
    memcpy(f->mac, mac, AUDIT_MAC);
    return FAB_OK;
}

/* ---- pruning ---- */

static bool is_over(const struct audit_limits *l, uint64_t bytes, int64_t oldest_us, int64_t now_us,
                    bool slack)
{
    uint64_t most = l->max_bytes - (slack ? SLACK_BYTES(l->max_bytes) : 0);
    uint64_t age_s = l->max_age_s + (slack ? 0 : SLACK_S(l->max_age_s));
    return bytes > most || oldest_us < now_us - (int64_t)(age_s * 1000000);
}

/* What to prune: the rows with numbers below follow.next. rows, bytes: the number and the total
 * size of these rows. */
struct pruning {
    struct follow follow;
    uint64_t rows, bytes;
    int64_t oldest_us; /* time in us of the first row that stays */
};

/* Finds the rows to prune, at most PRUNE_MAX, and verifies them. The last row of the log is never
 * pruned. Returns FORMAT if one of these rows is wrong. Also returns NOMEM, or an error of
 * sql_status. */
static int find_prunable(const struct audit_chain *c, const struct audit_key *key, sqlite3 *db,
                         const struct audit_limits *l, int64_t now_us, struct pruning *p)
{
    sqlite3_stmt *stmt = NULL;
    struct audit_verdict v = {0};
    struct audit_row row;
    int status = follow_begin(db, &p->follow);
    int code =
        sqlite3_prepare_v2(db, "SELECT " AUDIT_COLUMNS " FROM audit ORDER BY seq", -1, &stmt, NULL);
    while (status == FAB_OK && code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        bool readable = audit_read(stmt, &row);
        p->oldest_us = row.time_us;
        if (p->rows == PRUNE_MAX || row.seq == c->head.seq ||
            !is_over(l, c->bytes - p->bytes, row.time_us, now_us, true))
            break;
        status = follow_row(&p->follow, key, &row, readable, &v);
        if (status == FAB_OK && v.problem[0] != '\0')
            status = FAB_E_FORMAT;
        p->rows++;
        p->bytes += audit_size(&row);
    }
    sqlite3_finalize(stmt);
    return status != FAB_OK ? status : sql_status(code);
}

int audit_prune(struct audit_chain *c, const struct audit_key *key, struct sql *q,
                const struct audit_limits *limits, int64_t now_us)
{
    struct pruning p = {.oldest_us = c->oldest_us};
    char mac[2 * AUDIT_MAC + 1], message[100];
    if (!is_over(limits, c->bytes, c->oldest_us, now_us, false))
        return FAB_OK;
    int status = find_prunable(c, key, q->db, limits, now_us, &p);
    if (status != FAB_OK || p.rows == 0)
        return status;
    uint64_t last = p.follow.next - 1;
    status = sql_run(q, SQL_AUDIT_TRIM, "i", (int64_t)last);
    c->bytes -= p.bytes < c->bytes ? p.bytes : c->bytes;
    c->oldest_us = p.oldest_us;
    audit_mac_text(p.follow.mac, mac);
    snprintf(message, sizeof(message), "%" PRIu64 " rows up to row %" PRIu64 " were pruned", p.rows,
             last);
    const struct audit_row checkpoint = {
        .time_us = now_us,
        .kind = AUDIT_CHECKPOINT,
        .call = last,
        .text = {[AUDIT_ACCOUNT] = "fabricd",
                 [AUDIT_METHOD] = "prune",
                 [AUDIT_OBJECT] = "audit log",
                 [AUDIT_AFTER] = mac,
                 [AUDIT_MESSAGE] = message},
    };
    return status == FAB_OK ? audit_append(c, key, q, &checkpoint) : status;
}

/* ---- verification ---- */

/* Checks that the table has the row with the number and the MAC in v->head. */
static void check_end(sqlite3 *db, const struct follow *f, struct audit_verdict *v)
{
    struct audit_row row = {0};
    if (v->problem[0] != '\0' || v->head.seq == 0)
        return;
    if (f->next <= v->head.seq) {
        v->bad = f->next;
        snprintf(v->problem, sizeof(v->problem),
                 "rows %" PRIu64 " to %" PRIu64 " at the end are missing", f->next, v->head.seq);
    } else if (read_one(db, "WHERE seq = ?1", v->head.seq, &row) == FAB_OK &&
               !same_mac(row.mac, v->head.mac)) {
        v->bad = v->head.seq;
        snprintf(v->problem, sizeof(v->problem), "row %" PRIu64 " is not the one that was written",
                 v->head.seq);
    }
}

int audit_verify(sqlite3 *db, const struct audit_key *key, bool (*stopped)(void *ctx), void *ctx,
                 struct audit_verdict *v)
{
    sqlite3_stmt *stmt = NULL;
    struct follow f;
    struct audit_row row;
    int status = follow_begin(db, &f);
    int code =
        sqlite3_prepare_v2(db, "SELECT " AUDIT_COLUMNS " FROM audit ORDER BY seq", -1, &stmt, NULL);
    while (status == FAB_OK && sql_status(code) == FAB_OK && v->problem[0] == '\0' &&
           !stopped(ctx) && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        bool readable = audit_read(stmt, &row);
        status = follow_row(&f, key, &row, readable, v);
        v->first = v->rows++ == 0 ? row.seq : v->first;
        v->last = row.seq;
    }
    sqlite3_finalize(stmt);
    if (status == FAB_OK)
        status = sql_status(code);
    if (status == FAB_OK && !stopped(ctx))
        check_end(db, &f, v);
    return status;
}
