/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver. It reads all rows from etcd, and then watches them for changes. It gives the rows
 * to the store, which does not mark them as changed. While this manager leads and is level, no
 * other manager sends rows, so the thread waits.
 *
 * This manager's claim changes a watched key, and the watch reports changes in their order. So when
 * the watch reports the claim, this manager has received all changes that others made before the
 * claim.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/base/thread.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define RETRY_US 200000
/* time in us after which the receiver of a new leader tries again after an error; short, because
 * the new leader waits for the rows */
#define LEADER_RETRY_US 10000
/* time in us after which the receiver reads the rows again, if this manager does not understand
 * their format */
#define UNSUITED_US 2000000
/* maximum total size of all rows in bytes, a protection against a server that sends rows without
 * end */
#define BYTES_MAX (512u << 20)

/* What was received from etcd, but has not been given to the store yet. */
struct receiving {
    struct replica *r;
    struct store_received in;
    size_t bytes;
    char leader[200]; /* received value of the key `leader`; "": none */
    bool heard;       /* true: a beat of the leader has arrived */
    char format[60];  /* received value of the key `format`; "": none */
    uint64_t heard_pending;
    int64_t heard_revision; /* revision of etcd at this beat */
    char *order;            /* received value of the key `order`; NULL: none */
    int64_t order_revision;
};

static int take_row(struct receiving *x, const char *name, const char *value)
{
    char table[40];
    const char *slash = strchr(name, '/');
    if (slash == NULL || (size_t)(slash - name) >= sizeof(table))
        return FAB_OK;
    snprintf(table, sizeof(table), "%.*s", (int)(slash - name), name);
    x->bytes += strlen(name) + (value != NULL ? strlen(value) : 0);
    if (x->bytes > BYTES_MAX)
        return FAB_E_LIMIT;
    int status = store_rows_add(&x->in.rows, table, slash + 1, value, 0);
    /* NOT_FOUND: the row is of a table that only a later version of fabricd knows */
    return status == FAB_E_NOT_FOUND ? FAB_OK : status;
}

/* Gives a record of changes to the loop thread, unless it is this manager's own. */
static void note_changes(struct receiving *x, const char *value)
{
    struct replica *r = x->r;
    pthread_mutex_lock(&r->mutex);
    if (r->role != REPLICA_LEADS)
        replica_record_heard(r, value);
    pthread_mutex_unlock(&r->mutex);
}

static int take(void *ctx, const char *key, const char *value, int64_t mod_revision)
{
    struct receiving *x = ctx;
    const struct replica *r = x->r;
    size_t rows = strlen(r->rows);
    if (strncmp(key, r->rows, rows) == 0)
        return take_row(x, key + rows, value);
    if (value != NULL && strcmp(key, r->leader) == 0)
        snprintf(x->leader, sizeof(x->leader), "%s", value);
    if (value != NULL && strcmp(key, r->format) == 0)
        snprintf(x->format, sizeof(x->format), "%s", value);
    if (value != NULL && strcmp(key, r->beat) == 0)
        x->heard = sscanf(value, "pending %" SCNu64, &x->heard_pending) == 1;
    if (value != NULL && strcmp(key, r->order) == 0) {
        free(x->order);
        /* if memory runs out, the manager behaves as if no order had arrived */
        x->order = strdup(value);
        x->order_revision = mod_revision;
    }
    if (value != NULL && strcmp(key, r->changes) == 0)
        note_changes(x, value);
    x->heard_revision = strcmp(key, r->beat) == 0 ? mod_revision : x->heard_revision;
    return FAB_OK;
}

/* Returns true if the received beat is regarded as that of another leader, in two cases: this
 * manager follows; or an earlier beat of the former leader has arrived, and this beat is older than
 * this manager's claim, or the claim is not made yet. (The last beats of the former leader may
 * arrive when this manager has already begun to claim the lead.) The caller holds the mutex. */
static bool is_former_beat(const struct receiving *x)
{
    const struct replica *r = x->r;
    return r->role == REPLICA_FOLLOWS ||
           (r->heard_us != 0 && (r->role == REPLICA_CLAIMS || x->heard_revision < r->fence));
}

/* Notes the received leader, beat and order, and that all changes up to this revision have been
 * received. The caller holds the mutex. */
static void note(struct receiving *x, int64_t revision)
{
    struct replica *r = x->r;
    if (x->leader[0] != '\0')
        replica_note_leader(r, x->leader);
    /* Another manager leads. Until its claim arrived here, the store kept the marked rows of this
     * manager, and dropped received values of the same rows. This may have happened to rows that
     * arrived together with the claim, so the receiver must read all rows again. */
    if (r->role == REPLICA_FOLLOWS && !replica_led_last(r) && r->keeps_after != UINT64_MAX)
        replica_drop_marks(r, UINT64_MAX);
    if (x->heard && is_former_beat(x)) {
        r->heard_us = clock_now_us();
        r->heard_pending = x->heard_pending;
        replica_announce_beat(r, x->heard_revision);
    }
    if (x->order_revision != 0)
        replica_announce_heard(r, x->order, x->order_revision);
    x->order = NULL;
    x->order_revision = 0;
    r->received_revision = revision;
    pthread_cond_broadcast(&r->wake);
    x->leader[0] = '\0';
    x->heard = false;
}

/* Gives the received rows to the store. Returns true if the watch must continue. */
static bool give(void *ctx, int64_t revision)
{
    struct receiving *x = ctx;
    struct replica *r = x->r;
    int status = FAB_OK;
    pthread_mutex_lock(&r->mutex);
    x->in.keeps_after = r->keeps_after;
    if (x->format[0] != '\0')
        replica_note_format(r, x->format);
    if (r->unsuited[0] != '\0')
        status = FAB_E_UNSUPPORTED;
    pthread_mutex_unlock(&r->mutex);
    x->format[0] = '\0';
    if (status != FAB_OK) {
        store_rows_fini(&x->in.rows);
        x->in = (struct store_received){.whole = false};
        return false;
    }
    x->bytes = 0;
    if (x->in.rows.count > 0 || x->in.whole)
        status = store_put_received(r->in.store, &x->in);
    x->in = (struct store_received){.whole = false};
    pthread_mutex_lock(&r->mutex);
    if (status == FAB_OK)
        note(x, revision);
    bool goes_on = status == FAB_OK && !r->stop && !r->reread && !replica_level_locked(r);
    pthread_mutex_unlock(&r->mutex);
    return goes_on;
}

/* Decides which rows of this manager stay marked when the receiver reads all rows. none: no manager
 * has led yet, so etcd has no rows. The caller holds the mutex. */
static void choose_marks(struct replica *r, bool none)
{
    /* If no other manager has led since this manager led, its marked rows are newer than the rows
     * in etcd, and stay marked. During and after a claim of this manager, had_former tells whether
     * another manager led before. */
    bool newest = none || (replica_led_last(r) && (r->role == REPLICA_FOLLOWS || !r->had_former));
    if (r->reread)
        r->reread = false; /* replica_drop_marks has already set keeps_after */
    else if (newest) {
        r->keeps_after = 0;
        r->other_led = false;
    } else if (r->role == REPLICA_FOLLOWS)
        r->keeps_after = UINT64_MAX;
}

static bool unsuited(struct replica *r)
{
    pthread_mutex_lock(&r->mutex);
    bool is = r->unsuited[0] != '\0';
    pthread_mutex_unlock(&r->mutex);
    return is;
}

/* Reads all rows, and gives them to the store. Returns OK, UNSUPPORTED if this manager does not
 * understand the rows, or an error of etcd_list. */
static int read_all(struct replica *r, struct receiving *x, int64_t *ret_revision)
{
    x->in.whole = true;
    int status = etcd_list(&r->to_receive, r->all, take, x, ret_revision);
    if (status == FAB_OK) {
        pthread_mutex_lock(&r->mutex);
        bool none = x->leader[0] == '\0';
        if (!none)
            replica_note_leader(r, x->leader);
        choose_marks(r, none);
        replica_note_format(r, x->format[0] != '\0' ? x->format : NULL);
        x->in.whole = !none;
        pthread_mutex_unlock(&r->mutex);
        if (!give(x, *ret_revision) && unsuited(r))
            status = FAB_E_UNSUPPORTED;
    }
    store_rows_fini(&x->in.rows);
    x->in = (struct store_received){.whole = false};
    return status;
}

/* If this manager has just claimed the lead, makes the receiver read from the server that accepted
 * the claim. Another server may be cut off from the majority (CLAIM_US in replica.c). */
static void choose_server(struct replica *r)
{
    pthread_mutex_lock(&r->mutex);
    if (r->role == REPLICA_LEADS && r->to_receive.client == NULL)
        r->to_receive.at = r->answering;
    pthread_mutex_unlock(&r->mutex);
}

/* Reads all rows, and then watches the keys: until the connection is lost, until all rows must be
 * read again, or until this manager leads and is level. After an error, waits before it returns. */
static void follow(struct replica *r)
{
    struct receiving x = {.r = r};
    int64_t revision = 0;
    bool compacted = false;
    choose_server(r);
    int status = read_all(r, &x, &revision);
    if (status == FAB_OK) {
        /* the marks that the store drops must be gone before this manager claims the lead and sends
         * marked rows */
        store_flush(r->in.store);
        pthread_mutex_lock(&r->mutex);
        r->been_read = !r->reread;
        bool watches = !r->stop && !r->reread && !replica_level_locked(r);
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->mutex);
        if (watches)
            status = etcd_watch(&r->to_receive, r->all, revision + 1, take, give, &x, &compacted);
        store_rows_fini(&x.in.rows);
    }
    free(x.order);
    pthread_mutex_lock(&r->mutex);
    if (status != FAB_OK && !r->stop) {
        log_debug("replica", "%s: %s", etcd_endpoint(&r->to_receive), r->to_receive.why);
        replica_wait(r, status == FAB_E_UNSUPPORTED ? UNSUITED_US
                        : r->role == REPLICA_LEADS  ? LEADER_RETRY_US
                                                    : RETRY_US);
    }
    pthread_mutex_unlock(&r->mutex);
}

void *replica_receive(void *replica)
{
    struct replica *r = replica;
    thread_set_name("fabricd-follow");
    pthread_mutex_lock(&r->mutex);
    while (!r->stop) {
        if (replica_level_locked(r) && !r->reread) {
            replica_wait(r, 1000000);
            continue;
        }
        pthread_mutex_unlock(&r->mutex);
        follow(r);
        pthread_mutex_lock(&r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}
