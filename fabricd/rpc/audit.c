/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records calls in the audit log, and delays the result of a call until its row is stored. The
 * writer thread of the store has no callback, so a timer checks every LOOK_US which rows are
 * stored.
 *
 * A client without permissions could fill the audit log with refused calls, until older rows are
 * pruned. This file therefore records refusals only at a limited rate: REFUSALS_BURST at once, then
 * REFUSALS_A_SECOND per second. The next END row says how many refusals were not recorded. There is
 * one limit for refused calls and another for refused certificates. So a peer without a valid
 * certificate cannot hide the refused calls of others.
 */
#include "fabricd/rpc/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

#define LOOK_US 1000
/* Interval in us at which the head (the number and the MAC of the last row) is logged, if it has
 * changed. */
#define HEAD_US 600000000
#define REFUSALS_BURST 200
#define REFUSALS_A_SECOND 5

struct audit_held {
    TAILQ_ENTRY(audit_held) entry;
    struct audit *audit;
    uint64_t mark;
    audit_stored *done;
    void *ctx;
};

struct audit {
    struct store *store;
    struct loop_timer *look, *head;
    TAILQ_HEAD(, audit_held) held;
    /* number of the last row in the log when the head was last logged */
    uint64_t logged;
    /* Token buckets (libfabmgr/base/bucket.h) that limit how many refused calls and refused
     * certificates are recorded. */
    uint64_t calls, certificates;
    /* number of refusals that were not recorded since the last END row */
    uint64_t unrecorded;
};

/* ---- the head -------------------------------------------------------------------------------- */

static void log_head(struct audit *a)
{
    const struct audit_head head =
        a->store != NULL ? store_audit_head(a->store) : (struct audit_head){0};
    char mac[2 * AUDIT_MAC + 1] = "";
    if (head.seq == a->logged)
        return;
    a->logged = head.seq;
    for (int i = 0; i < AUDIT_MAC; i++)
        sprintf(mac + 2 * (size_t)i, "%02x", head.mac[i]);
    log_always("audit", "head: row %" PRIu64 ", MAC %s", head.seq, mac);
}

static void on_head(void *ctx)
{
    struct audit *a = ctx;
    log_head(a);
    loop_timer_set(a->head, HEAD_US);
}

/* ---- results that wait for their rows -------------------------------------------------------- */

static void on_look(void *ctx)
{
    struct audit *a = ctx;
    struct audit_held *h;
    while ((h = TAILQ_FIRST(&a->held)) != NULL) {
        enum store_written state = store_written(a->store, h->mark);
        if (state == STORE_PENDING)
            break;
        TAILQ_REMOVE(&a->held, h, entry);
        if (h->done != NULL)
            h->done(h->ctx, state == STORE_WRITTEN);
        free(h);
    }
    if (h != NULL)
        loop_timer_set(a->look, LOOK_US);
}

void audit_forget(struct audit_held *held)
{
    held->done = NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_refusal(const struct audit_row *row)
{
    return row->result == FAB_GRPC_PERMISSION_DENIED || row->result == FAB_GRPC_UNAUTHENTICATED;
}

/* Takes a token for a refusal. Returns false if the bucket is empty; the refusal is then not
 * recorded. */
static bool may_record(uint64_t *bucket)
{
    static const struct fab_bucket_rate rate = {1000000 / REFUSALS_A_SECOND, REFUSALS_BURST};
    return fab_base_bucket_take(bucket, clock_now_us(), &rate);
}

bool audit_is_ready(const struct audit *a)
{
    return a->store == NULL || !store_is_failing(a->store);
}

uint64_t audit_call_number(struct audit *a)
{
    return a->store != NULL ? store_audit_call(a->store) : 0;
}

void audit_begin(struct audit *a, struct audit_row *row)
{
    row->kind = AUDIT_BEGIN;
    row->time_us = clock_unix_us();
    store_put_audit(a->store, row);
}

/* Puts an END row into the queue of the store. Returns false if there is no store, or if the store
 * does not accept the row. */
static bool put_end(struct audit *a, struct audit_row *row)
{
    char message[1200];
    row->kind = AUDIT_END;
    row->time_us = clock_unix_us();
    if (a->unrecorded > 0) {
        snprintf(message, sizeof message, "%s [%" PRIu64 " refusals before it are not recorded]",
                 row->text[AUDIT_MESSAGE] != NULL ? row->text[AUDIT_MESSAGE] : "", a->unrecorded);
        row->text[AUDIT_MESSAGE] = message;
        a->unrecorded = 0;
    }
    return store_put_audit(a->store, row) == FAB_OK && a->store != NULL;
}

void audit_refused(struct audit *a, struct audit_row *row)
{
    if (may_record(&a->certificates))
        put_end(a, row);
    else
        a->unrecorded++;
}

struct audit_held *audit_end(struct audit *a, struct audit_row *row, audit_stored *done, void *ctx)
{
    if (row->call == 0 && is_refusal(row) && !may_record(&a->calls)) {
        a->unrecorded++;
        return NULL;
    }
    struct audit_held *h = put_end(a, row) && done != NULL ? calloc(1, sizeof *h) : NULL;
    if (h == NULL)
        return NULL;
    *h = (struct audit_held){.audit = a, .mark = store_mark(a->store), .done = done, .ctx = ctx};
    TAILQ_INSERT_TAIL(&a->held, h, entry);
    if (!loop_timer_pending(a->look))
        loop_timer_set(a->look, LOOK_US);
    return h;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

int audit_new(struct loop *loop, struct store *store, struct audit **ret)
{
    struct audit *a = calloc(1, sizeof *a);
    if (a == NULL)
        return FAB_E_NOMEM;
    TAILQ_INIT(&a->held);
    a->store = store;
    a->look = loop_timer_new(loop, on_look, a);
    a->head = loop_timer_new(loop, on_head, a);
    if (a->look == NULL || a->head == NULL) {
        audit_free(a);
        return FAB_E_NOMEM;
    }
    on_head(a);
    *ret = a;
    return FAB_OK;
}

void audit_free(struct audit *a)
{
    struct audit_held *h;
    if (a == NULL)
        return;
    while ((h = TAILQ_FIRST(&a->held)) != NULL) {
        TAILQ_REMOVE(&a->held, h, entry);
        free(h);
    }
    log_head(a);
    loop_timer_free(a->look);
    loop_timer_free(a->head);
    free(a);
}
