/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer thread. Callers add records to the batch `pending` under a mutex, which is held for
 * only a few instructions. The thread waits up to GATHER_US for more records (is_hurried says when
 * it waits less), moves all of them to the batch `work`, and writes `work` in one transaction. Only
 * store_flush and store_close wait for the thread.
 *
 * If a transaction fails because the disk is full or another program locks the database, the thread
 * keeps `work` and tries to write it again, at growing intervals. The queue grows during this time.
 * When it has QUEUE_MAX records, further events, reroutes and records of published tables
 * (table_set) are dropped and counted.
 *
 * If a transaction violates the schema, the batch is divided (division.h).
 *
 * If the file of the database is deleted or moved, SQLite continues to write to this file, and the
 * manager would not find the records after a restart. Before each transaction, and every LOOK_US,
 * the thread therefore compares the file at the path with the file that it opened. If they differ,
 * the transaction fails as it does on a full disk.
 *
 * Records of all other kinds enter the queue even if it has more than QUEUE_MAX records. The queue
 * has at most one set of leases and one view, because a new one replaces the earlier one. Before a
 * registration of a host, the caller checks store_is_behind. The remaining kinds, for example
 * decisions of operators and rows of the audit log, have few records.
 *
 * The thread commits urgent records (writer_put_urgent), for example registrations and rows of the
 * audit log, at once, because a host or an operator waits for the answer. Records that arrive
 * during a transaction are part of the next transaction.
 */
#include "fabricd/store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/base/thread.h"
#include "fabricd/store/division.h"
#include "fabricd/store/file_identity.h"
#include "fabricd/store/forgotten.h"
#include "fabricd/store/rows.h"
#include "fabricd/store/sql.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/status.h"

/* if the queue has this many records, further events, reroutes and records of published tables are
 * dropped */
#define QUEUE_MAX 8192
/* if the queue has this many records, the thread stops waiting for more and writes them */
#define QUEUE_HURRY 1024
#define GATHER_US 50000
#define RETRY_MIN_US 500000
#define RETRY_MAX_US 5000000
/* an idle thread checks after each such interval, in us, whether the file is still at its path */
#define LOOK_US 2000000
#define SEEN_EVERY_S 300 /* seconds between two renewals of last_seen */
/* When the database has TRIM_EVERY events more than it must keep, the writer deletes the oldest
 * events. */
#define TRIM_EVERY 256
/* number of newest events that stay in the database until writer_keep sets another number */
#define KEEP_DEFAULT 100000

struct writer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake, idle;

    /* The mutex protects the members from here to `sql`. */
    struct batch pending;
    size_t queued; /* number of records in `pending`, `work` and `division` */
    uint64_t dropped, dropped_told;
    uint64_t failures; /* how often a transaction failed, or the file was not at its path */
    /* number of the newest events that stay in the database */
    uint32_t keep;
    unsigned flushing;
    bool stop;
    /* true: `work` and `division` have records that are not written yet */
    bool unwritten;
    bool failing;     /* true: the last transaction failed, or the file is not at its path */
    char reason[200]; /* copy of `failure` that other threads may read */
    /* true: a record in `pending` must be committed at once (writer_put_urgent) */
    bool urgent;
    /* put: number of records that have entered the queue. written: how many of them are committed
     * or were dropped (give_up). The number of a record is the value of `put` just after the record
     * entered the queue. */
    uint64_t put, written;
    /* The last batch that lost records had the records whose numbers are greater than lost_from and
     * at most `lost`. They all count as lost, because a change can consist of several records. */
    uint64_t lost_from, lost;
    struct audit_limits limits;
    /* the function to call after a transaction that marked rows, and its argument
     * (writer_on_marked) */
    void (*marked)(void *ctx);
    void *marked_ctx;
    /* copies of members of `replicated` that other threads may read */
    struct writer_received received;
    /* copy of chain.head that other threads may read */
    struct audit_head head;

    /* Only the writer thread uses the members from here on. */
    struct sql sql;
    char *path;
    struct file_identity file; /* identity of the database file that was opened */
    struct batch work;
    /* The parts of a batch that violated the schema. The thread writes them before `pending`. */
    struct division division;
    struct lease_table leases;
    struct registry registry;
    struct writer_audit audit;
    /* chain: the committed end of the audit log. next: its end with the rows of the open
     * transaction. */
    struct audit_chain chain, next;
    struct replicated replicated;
    /* true: a row of the audit log was wrong when it should have been pruned. The thread prunes
     * nothing until the next start, because the rows are evidence. */
    bool damaged;
    uint64_t retry_us;
    bool counted;      /* true: `events` has the number of events in the database */
    uint64_t events;   /* number of events in the database */
    char failure[200]; /* why the last transaction failed */
};

/* ---- one transaction ---- */

static int put_record(struct writer *w, const struct record *r)
{
    if (r->kind == RECORD_AUDIT)
        return audit_append(&w->next, &w->audit.key, &w->sql, &r->audit);
    if (r->kind == RECORD_REPLICA)
        return replicated_write(&w->replicated, w->sql.db, &r->replica);
    if (r->kind == RECORD_FORGET && w->replicated.marks) {
        int status = forgotten_note(w->sql.db, &r->forget);
        if (status != FAB_OK)
            return status;
    }
    return rows_write(&w->sql, r);
}

/* Deletes the oldest events. Decides by the number of events in the database and not by their
 * sequence numbers, because dropped events leave gaps in the sequence numbers. */
static int trim_events(struct writer *w, uint32_t keep)
{
    int status = FAB_OK;
    if (!w->counted)
        status = sql_number(&w->sql, SQL_EVENT_COUNT, &w->events);
    w->counted = status == FAB_OK;
    if (!w->counted || w->events < (uint64_t)keep + TRIM_EVERY)
        return status;
    status = sql_run(&w->sql, SQL_EVENT_TRIM, "i", (int64_t)(w->events - keep));
    w->events = keep;
    return status;
}

/* Prunes the audit log, if this transaction has rows of the log. If a row was ever found wrong,
 * prunes nothing until the manager restarts, because the rows are evidence of tampering. */
static int prune_audit(struct writer *w)
{
    struct audit_limits limits;
    pthread_mutex_lock(&w->mutex);
    limits = w->limits;
    pthread_mutex_unlock(&w->mutex);
    if (!w->work.has_audit || w->damaged)
        return FAB_OK;
    int status = audit_prune(&w->next, &w->audit.key, &w->sql, &limits, clock_unix_us());
    if (status != FAB_E_FORMAT)
        return status;
    w->damaged = true;
    log_error("audit",
              "the audit log in %s is damaged, so its old rows are not pruned; "
              "see 'fabricctl audit verify'",
              w->path);
    return FAB_OK;
}

static int put_records(struct writer *w, uint32_t keep)
{
    const struct record *r;
    int status = FAB_OK;
    STAILQ_FOREACH(r, &w->work.records, next)
    if (status == FAB_OK) {
        status = put_record(w, r);
        w->events += r->kind == RECORD_EVENT;
    }
    if (status == FAB_OK)
        status = prune_audit(w);
    return status == FAB_OK ? trim_events(w, keep) : status;
}

/* The copies of database rows (tables.h) as they are after the commit. If the commit succeeds, they
 * replace the copies in struct writer. */
struct outcome {
    struct lease_table leases;
    struct registry registry;
    bool has_leases, has_registry;
};

static int put_tables(struct writer *w, int64_t now, struct outcome *o)
{
    int status = FAB_OK;
    if (w->work.has_leases) {
        status = lease_table_write(&w->leases, &w->sql, w->work.leases, w->work.lease_count, now,
                                   &o->leases);
        o->has_leases = status == FAB_OK;
    }
    if (status == FAB_OK && w->work.view != NULL) {
        status = registry_write(&w->registry, &w->sql, w->work.view, now, &o->registry);
        o->has_registry = status == FAB_OK;
        if (status == FAB_OK && w->replicated.marks)
            status = forgotten_apply(w->sql.db);
    }
    if (status == FAB_OK && o->has_registry && now >= w->registry.seen + SEEN_EVERY_S) {
        if (w->registry.fabric != NULL || w->registry.hash == o->registry.hash)
            status = registry_touch(&w->sql, now);
        o->registry.seen = now;
    }
    return status;
}

/* Called after rows of the audit log were committed. Writes the new head to the file audit_head; if
 * this fails, the file has an older head, which a verification accepts. Logs the head if rows were
 * pruned. */
static void accept_audit(struct writer *w)
{
    bool pruned = w->next.bytes < w->chain.bytes;
    char mac[2 * AUDIT_MAC + 1];
    w->chain = w->next;
    if (audit_head_write(w->audit.head_fd, &w->audit.key, &w->chain.head) != FAB_OK)
        log_error("audit", "the file audit_head cannot be written: %s", strerror(errno));
    pthread_mutex_lock(&w->mutex);
    w->head = w->chain.head;
    pthread_mutex_unlock(&w->mutex);
    audit_mac_text(w->chain.head.mac, mac);
    if (pruned)
        log_always("audit", "old rows were pruned; head: row %llu, MAC %s",
                   (unsigned long long)w->chain.head.seq, mac);
}

/* Loads the copy of the LID leases from the database again. Called when rows of another manager may
 * have changed leases. If the load fails, the copy is empty; the next set of leases is then written
 * as a whole. */
static void renew_leases(struct writer *w)
{
    struct lease_table fresh = {0};
    (void)lease_table_load(w->sql.db, &fresh);
    lease_table_fini(&w->leases);
    w->leases = fresh;
    w->replicated.leases = false;
}

/* Copies the state of `replicated` for other threads. Calls the listener if rows were marked. */
static void tell_replicated(struct writer *w)
{
    struct replicated *r = &w->replicated;
    pthread_mutex_lock(&w->mutex);
    w->received = (struct writer_received){r->changes, r->drops, r->version};
    void (*fn)(void *ctx) = w->marked;
    void *ctx = w->marked_ctx;
    pthread_mutex_unlock(&w->mutex);
    if (fn != NULL && r->version != r->told)
        fn(ctx);
    r->told = r->version;
}

static void accept(struct writer *w, struct outcome *o)
{
    if (w->work.has_audit)
        accept_audit(w);
    if (o->has_leases) {
        lease_table_fini(&w->leases);
        w->leases = o->leases;
    }
    if (o->has_registry) {
        registry_fini(&w->registry);
        w->registry = o->registry;
    }
    if (w->replicated.leases)
        renew_leases(w);
    tell_replicated(w);
}

static void reject(struct writer *w, struct outcome *o, int status)
{
    bool by_sqlite = sqlite3_errcode(w->sql.db) != SQLITE_OK;
    snprintf(w->failure, sizeof(w->failure), "%s",
             by_sqlite ? sqlite3_errmsg(w->sql.db) : fab_base_status_text(status));
    if (!sqlite3_get_autocommit(w->sql.db))
        sql_run(&w->sql, SQL_ROLLBACK, "");
    lease_table_fini(&o->leases);
    registry_fini(&o->registry);
    w->counted = false;
}

/* Returns false, with the reason in w->failure, if the file of the database is not at its path any
 * more. */
static bool is_in_place(struct writer *w)
{
    if (file_identity_holds(&w->file, w->path))
        return true;
    snprintf(w->failure, sizeof(w->failure), "the file was deleted, moved or replaced");
    return false;
}

static int write_work(struct writer *w, uint32_t keep)
{
    struct outcome o = {0};
    if (!is_in_place(w))
        return FAB_E_IO;
    int64_t now = clock_unix_us() / 1000000;
    w->next = w->chain;
    /* A client gets the result of its call when the row in the audit log is committed. The row must
     * survive a power failure, so this commit must sync the disk. */
    if (w->work.has_audit)
        sqlite3_exec(w->sql.db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    int status = sql_run(&w->sql, SQL_BEGIN, "");
    if (status == FAB_OK)
        status = put_tables(w, now, &o);
    if (status == FAB_OK)
        status = put_records(w, keep);
    if (status == FAB_OK)
        status = sql_run(&w->sql, SQL_COMMIT, "");
    if (status == FAB_OK)
        accept(w, &o);
    else
        reject(w, &o, status);
    if (w->work.has_audit)
        sqlite3_exec(w->sql.db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    return status;
}

/* ---- after a transaction ---- */

/* Counts a failure, and doubles the time until the next try, up to RETRY_MAX_US. The caller holds
 * the writer's mutex. */
static void note_failure(struct writer *w)
{
    memcpy(w->reason, w->failure, sizeof(w->reason));
    w->failing = true;
    w->failures++;
    w->retry_us = w->retry_us == 0 ? RETRY_MIN_US : w->retry_us * 2;
    if (w->retry_us > RETRY_MAX_US)
        w->retry_us = RETRY_MAX_US;
}

/* Notes that the last transaction succeeded, or that the file of the database is at its path again,
 * and logs how many records were dropped before it. The caller holds the writer's mutex. */
static void note_success(struct writer *w)
{
    if (w->dropped != w->dropped_told)
        log_warning("store", "%llu records were dropped while the database was behind",
                    (unsigned long long)(w->dropped - w->dropped_told));
    w->dropped_told = w->dropped;
    w->failing = false;
    w->retry_us = 0;
}

/* Gives up the contents of `work`, which the database would refuse at each try: one record, or the
 * leases and the view. The caller then clears `work`. */
static void give_up(struct writer *w)
{
    log_error("store",
              "dropped %s that violates the schema; please report this fault of fabricd: %s",
              w->work.record_count > 0 ? "a record" : "a set of leases or a view", w->failure);
    /* Drop the copy of the registry, so that all rows of the next view are written. */
    registry_fini(&w->registry);
    division_give_up(&w->division, &w->work, w->written);
}

/* Counts the records of a transaction that has ended: they are committed if `status` is OK, and
 * dropped otherwise. The caller holds the writer's mutex. */
static void note_done(struct writer *w, size_t records, int status)
{
    if (status != FAB_OK && records > 0) {
        w->lost_from = w->division.from;
        w->lost = w->division.to;
    }
    w->queued -= records;
    w->written += records;
}

static void write_and_settle(struct writer *w, uint32_t keep)
{
    size_t records = w->work.record_count;
    batch_tidy_leases(&w->work);
    int status = write_work(w, keep);
    bool divided = status == FAB_E_INVAL && division_is_possible(&w->work);
    bool done = !divided && (status == FAB_OK || status == FAB_E_INVAL);
    if (divided)
        division_begin(&w->division, &w->work, w->written);
    else if (status == FAB_E_INVAL)
        give_up(w);
    if (done)
        batch_clear(&w->work);
    pthread_mutex_lock(&w->mutex);
    w->unwritten = !batch_is_empty(&w->work) || !division_is_done(&w->division);
    if (done)
        note_done(w, records, status);
    if (status == FAB_OK)
        note_success(w);
    else if (!divided)
        note_failure(w);
    pthread_mutex_unlock(&w->mutex);
}

/* ---- the thread ---- */

static struct timespec in(uint64_t us)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t nanoseconds = (uint64_t)t.tv_nsec + us % 1000000 * 1000;
    t.tv_sec += (time_t)(us / 1000000 + nanoseconds / 1000000000);
    t.tv_nsec = (long)(nanoseconds % 1000000000);
    return t;
}

/* Returns true if the thread must write at once instead of waiting for more records. */
static bool is_hurried(const struct writer *w)
{
    bool has_next = batch_is_empty(&w->work) && !division_is_done(&w->division);
    return has_next || w->stop || w->flushing > 0 ||
           (!w->failing && (w->urgent || w->queued >= QUEUE_HURRY));
}

/* Called while there is nothing to write. Finds out whether the file of the database is still at
 * its path. The caller holds the writer's mutex, which the function releases for a moment. */
static void look_at_file(struct writer *w)
{
    pthread_mutex_unlock(&w->mutex);
    bool in_place = is_in_place(w);
    pthread_mutex_lock(&w->mutex);
    if (!in_place)
        note_failure(w);
    else if (w->failing)
        note_success(w);
}

/* Waits until there are records to write. Returns false if there are none, and the thread must end.
 * The caller holds the writer's mutex. */
static bool wait_for_work(struct writer *w)
{
    while (batch_is_empty(&w->pending) && !w->unwritten) {
        pthread_cond_broadcast(&w->idle);
        if (w->stop)
            return false;
        struct timespec until = in(LOOK_US);
        if (pthread_cond_timedwait(&w->wake, &w->mutex, &until) == ETIMEDOUT)
            look_at_file(w);
    }
    struct timespec until = in(w->failing ? w->retry_us : GATHER_US);
    while (!is_hurried(w))
        if (pthread_cond_timedwait(&w->wake, &w->mutex, &until) == ETIMEDOUT)
            break;
    return true;
}

/* Renews last_seen (registry_touch). Called when the manager stops. */
static void write_last_seen(struct writer *w)
{
    if (w->registry.fabric == NULL || sql_run(&w->sql, SQL_BEGIN, "") != FAB_OK)
        return;
    if (registry_touch(&w->sql, clock_unix_us() / 1000000) == FAB_OK)
        sql_run(&w->sql, SQL_COMMIT, "");
    if (!sqlite3_get_autocommit(w->sql.db))
        sql_run(&w->sql, SQL_ROLLBACK, "");
}

/* Moves to `work` what the next transaction writes: the next part of a divided batch, or the queue.
 * The caller holds the writer's mutex. */
static void take_work(struct writer *w)
{
    w->unwritten = true;
    if (!division_is_done(&w->division)) {
        if (batch_is_empty(&w->work))
            division_next(&w->division, &w->work);
        return;
    }
    batch_move(&w->work, &w->pending);
    w->urgent = false;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    bool last = false;
    thread_set_name("fabricd-writer");
    pthread_mutex_lock(&w->mutex);
    while (!last && wait_for_work(w)) {
        uint32_t keep = w->keep;
        /* The manager is stopping, and the last try failed: try once more. If this fails, too, the
         * records are lost. */
        last = w->stop && w->failing && !batch_is_empty(&w->work);
        take_work(w);
        pthread_mutex_unlock(&w->mutex);
        write_and_settle(w, keep);
        pthread_mutex_lock(&w->mutex);
        pthread_cond_broadcast(&w->idle);
    }
    bool lost = w->unwritten;
    pthread_mutex_unlock(&w->mutex);
    if (lost)
        log_error("store", "%s cannot be written; %zu records are lost", w->path,
                  w->work.record_count + w->division.rest.record_count);
    else
        write_last_seen(w);
    return NULL;
}

/* ---- starting and stopping ---- */

static void init_threading(struct writer *w)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, &monotonic);
    pthread_cond_init(&w->idle, NULL);
    pthread_condattr_destroy(&monotonic);
}

static void writer_free(struct writer *w, sqlite3 *db)
{
    sql_fini(&w->sql);
    sqlite3_close(db);
    lease_table_fini(&w->leases);
    registry_fini(&w->registry);
    batch_clear(&w->pending);
    batch_clear(&w->work);
    batch_clear(&w->division.rest);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->idle);
    free(w->path);
    free(w);
}

int writer_start(sqlite3 *db, const char *path, const struct writer_audit *audit,
                 struct writer **ret)
{
    struct writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        sqlite3_close(db);
        return FAB_E_NOMEM;
    }
    batch_init(&w->pending);
    batch_init(&w->work);
    division_init(&w->division);
    w->keep = KEEP_DEFAULT;
    w->limits = (struct audit_limits){UINT32_MAX, UINT64_MAX / 2};
    w->audit = *audit;
    w->path = strdup(path);
    init_threading(w);
    int status = w->path != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = file_identity_take(&w->file, path);
    if (status == FAB_OK)
        status = sql_init(&w->sql, db);
    if (status == FAB_OK)
        status = lease_table_load(db, &w->leases);
    if (status == FAB_OK)
        status = registry_load(&w->registry, db);
    if (status == FAB_OK)
        status = audit_chain_load(db, &audit->head, &w->chain);
    w->head = w->chain.head;
    if (status == FAB_OK)
        status = thread_start(&w->thread, writer_main, w) == 0 ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        *ret = w;
    else
        writer_free(w, db);
    return status;
}

void writer_stop(struct writer *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->mutex);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    writer_free(w, w->sql.db);
}

void writer_flush(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    uint64_t failures = w->failures;
    w->flushing++;
    pthread_cond_signal(&w->wake);
    while ((!batch_is_empty(&w->pending) || w->unwritten) && w->failures == failures)
        pthread_cond_wait(&w->idle, &w->mutex);
    w->flushing--;
    pthread_mutex_unlock(&w->mutex);
}

/* ---- the queue ---- */

/* A caller puts a record into the queue between begin_put, which locks the mutex, and end_put,
 * which unlocks it. end_put wakes the writer thread if was_empty is true, or if the queue now has
 * QUEUE_HURRY records. */
static void begin_put(struct writer *w, bool *ret_was_empty)
{
    pthread_mutex_lock(&w->mutex);
    *ret_was_empty = batch_is_empty(&w->pending);
}

static void end_put(struct writer *w, bool was_empty)
{
    if (was_empty || w->queued == QUEUE_HURRY)
        pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

/* Puts a record into the queue of the writer thread. The caller holds the writer's mutex. */
static void put_in(struct writer *w, struct record *r)
{
    batch_put_record(&w->pending, r);
    w->queued++;
    w->put++;
}

/*
 * Puts the record `r` into the queue of the writer thread, or frees it if the queue is full. The
 * caller holds the writer's mutex.
 */
static void put_bounded(struct writer *w, struct record *r)
{
    if (w->queued < QUEUE_MAX) {
        put_in(w, r);
        return;
    }
    if (w->dropped++ == w->dropped_told)
        log_warning(
            "store",
            "the database is too slow or cannot be written: events are dropped from now on");
    free(r);
}

void writer_put_leases(struct writer *w, struct fab_lease *leases, size_t count)
{
    bool was_empty;
    begin_put(w, &was_empty);
    batch_put_leases(&w->pending, leases, count);
    end_put(w, was_empty);
}

void writer_put_view(struct writer *w, struct fab_view *view, struct record *set)
{
    bool was_empty;
    begin_put(w, &was_empty);
    struct fab_view *replaced = w->pending.view;
    w->pending.view = view;
    if (set != NULL)
        put_bounded(w, set);
    end_put(w, was_empty);
    /* Free the replaced view only after the mutex is released, because freeing a large view takes
     * milliseconds. */
    fab_view_unref(replaced);
}

void writer_put_event(struct writer *w, struct record *r)
{
    bool was_empty;
    begin_put(w, &was_empty);
    put_bounded(w, r);
    end_put(w, was_empty);
}

void writer_put_lasting(struct writer *w, struct record *r)
{
    bool was_empty;
    begin_put(w, &was_empty);
    put_in(w, r);
    end_put(w, was_empty);
}

void writer_put_urgent(struct writer *w, struct record *r)
{
    bool was_empty;
    begin_put(w, &was_empty);
    put_in(w, r);
    was_empty = was_empty || !w->urgent;
    w->urgent = true;
    end_put(w, was_empty);
}

uint64_t writer_mark(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    uint64_t put = w->put;
    pthread_mutex_unlock(&w->mutex);
    return put;
}

enum store_written writer_written(struct writer *w, uint64_t mark)
{
    pthread_mutex_lock(&w->mutex);
    enum store_written state = mark > w->lost_from && mark <= w->lost ? STORE_FAILED
                               : w->written >= mark                   ? STORE_WRITTEN
                               : w->failing                           ? STORE_FAILED
                                                                      : STORE_PENDING;
    pthread_mutex_unlock(&w->mutex);
    return state;
}

bool writer_has_lost(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    bool lost = w->lost > 0;
    pthread_mutex_unlock(&w->mutex);
    return lost;
}

void writer_on_marked(struct writer *w, void (*fn)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&w->mutex);
    w->marked = fn;
    w->marked_ctx = ctx;
    pthread_mutex_unlock(&w->mutex);
}

struct writer_received writer_received(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    struct writer_received received = w->received;
    pthread_mutex_unlock(&w->mutex);
    return received;
}

void writer_get_health(struct writer *w, struct store_health *ret)
{
    pthread_mutex_lock(&w->mutex);
    *ret = (struct store_health){.failing = w->failing, .failures = w->failures};
    memcpy(ret->reason, w->reason, sizeof(ret->reason));
    pthread_mutex_unlock(&w->mutex);
}

struct audit_head writer_audit_head(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    struct audit_head head = w->head;
    pthread_mutex_unlock(&w->mutex);
    return head;
}

void writer_audit_keep(struct writer *w, const struct audit_limits *limits)
{
    pthread_mutex_lock(&w->mutex);
    w->limits = *limits;
    pthread_mutex_unlock(&w->mutex);
}

bool writer_is_behind(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    bool behind = w->queued >= QUEUE_MAX;
    pthread_mutex_unlock(&w->mutex);
    return behind;
}

void writer_keep(struct writer *w, uint32_t events)
{
    pthread_mutex_lock(&w->mutex);
    w->keep = events > 0 ? events : 1;
    pthread_mutex_unlock(&w->mutex);
}

uint64_t writer_dropped(struct writer *w)
{
    pthread_mutex_lock(&w->mutex);
    uint64_t dropped = w->dropped;
    pthread_mutex_unlock(&w->mutex);
    return dropped;
}
