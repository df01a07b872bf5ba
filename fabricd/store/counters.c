/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that writes counters.db. The thread opens the database before the first round, and
 * again after each failure, or if another file has its path. Its copies of database rows in memory
 * therefore always agree with the file. If a failure shows that the file is damaged, the thread
 * renames the file.
 */
#include "fabricd/store/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/thread.h"
#include "fabricd/store/counters_state.h"
#include "libfabmgr/base/status.h"

void counters_round_free(struct counters_round *r)
{
    if (r == NULL)
        return;
    for (int c = 0; c < FAB_COLUMNS; c++)
        free(r->code[c]);
    free(r->peer);
    free(r->nodes);
    free(r);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void close_database(struct counters *c)
{
    if (c->writer.db != NULL)
        counters_writer_fini(&c->writer);
}

static int open_database(struct counters *c)
{
    sqlite3 *db = NULL;
    int status = counters_db_open(c->path, &db, c->failure, sizeof(c->failure));
    if (status != FAB_OK)
        return status;
    status = counters_writer_init(&c->writer, db);
    if (status == FAB_OK)
        status = file_identity_take(&c->file, c->path);
    if (status != FAB_OK) {
        snprintf(c->failure, sizeof(c->failure), "%s", sqlite3_errmsg(db));
        close_database(c);
    }
    return status;
}

/* Renames a damaged database, so that the next round is written to a new one. */
static void put_aside(struct counters *c)
{
    char name[sizeof(c->health.aside)];
    int status = counters_db_put_aside(c->dir, name, sizeof(name));
    pthread_mutex_lock(&c->mutex);
    if (status == FAB_OK) {
        memcpy(c->health.aside, name, sizeof(name));
        c->health.replaced++;
    }
    pthread_mutex_unlock(&c->mutex);
}

static int write_round(struct counters *c, const struct counters_round *r, uint64_t limit)
{
    int status = FAB_OK;
    if (c->writer.db != NULL && !file_identity_holds(&c->file, c->path))
        /* the file was deleted or replaced, so close it, and open the file that has its path now */
        close_database(c);
    if (c->writer.db == NULL)
        status = open_database(c);
    if (status != FAB_OK)
        return status;
    status = counters_writer_put(&c->writer, r, limit);
    if (status != FAB_OK)
        snprintf(c->failure, sizeof(c->failure), "%s",
                 sqlite3_errcode(c->writer.db) != SQLITE_OK ? sqlite3_errmsg(c->writer.db)
                                                            : fab_base_status_text(status));
    return status;
}

/* again: the round is written once more, so it is not dropped yet */
static void note_result(struct counters *c, int status, bool again)
{
    struct counters_health *h = &c->health;
    bool written = status == FAB_OK;
    uint64_t bytes = written ? counters_writer_bytes(&c->writer) : h->bytes;
    pthread_mutex_lock(&c->mutex);
    h->bytes = bytes;
    if (written)
        memcpy(h->oldest, c->writer.oldest, sizeof(h->oldest));
    h->failing = !written;
    h->failures += !written;
    h->written += written;
    h->dropped += !written && !again;
    if (!written)
        snprintf(h->reason, sizeof(h->reason), "%s", c->failure);
    for (size_t i = 0; written && i < c->writer.finding_count && c->found_count < FOUND_MOST; i++)
        c->found[c->found_count++] = c->writer.finding[i];
    pthread_mutex_unlock(&c->mutex);
}

/* Writes a round. If the database is damaged, renames it and writes the round to a new database. */
static void write_and_note(struct counters *c, const struct counters_round *r, uint64_t limit)
{
    int status = write_round(c, r, limit);
    if (status != FAB_OK)
        close_database(c);
    if (status == FAB_E_FORMAT) {
        note_result(c, status, true);
        put_aside(c);
        status = write_round(c, r, limit);
        if (status != FAB_OK)
            close_database(c);
    }
    note_result(c, status, false);
}

static void *counters_main(void *arg)
{
    struct counters *c = arg;
    thread_set_name("fabricd-history");
    /* If this fails, the thread tries again when it writes the next round. */
    int status = open_database(c);
    pthread_mutex_lock(&c->mutex);
    if (status == FAB_OK) {
        memcpy(c->health.oldest, c->writer.oldest, sizeof(c->health.oldest));
        c->health.bytes = counters_writer_bytes(&c->writer);
    }
    for (;;) {
        while (c->queued == 0 && !c->stop)
            pthread_cond_wait(&c->wake, &c->mutex);
        if (c->queued == 0)
            break;
        struct counters_round *r = c->queue[0];
        uint64_t limit = c->limit;
        pthread_mutex_unlock(&c->mutex);
        write_and_note(c, r, counters_limit_now(c, limit));
        counters_round_free(r);
        pthread_mutex_lock(&c->mutex);
        memmove(c->queue, c->queue + 1, --c->queued * sizeof(*c->queue));
        pthread_cond_broadcast(&c->idle);
    }
    pthread_mutex_unlock(&c->mutex);
    close_database(c);
    return NULL;
}

/* ---- for other threads ----------------------------------------------------------------------- */

int counters_start(const char *dir, uint64_t limit_bytes, struct counters **ret)
{
    struct counters *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return FAB_E_NOMEM;
    int len = snprintf(c->path, sizeof(c->path), "%s/counters.db", dir);
    snprintf(c->dir, sizeof(c->dir), "%s", dir);
    if (len < 0 || (size_t)len >= sizeof(c->path)) {
        free(c);
        return FAB_E_LIMIT;
    }
    c->limit = limit_bytes;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->idle, NULL);
    if (thread_start(&c->thread, counters_main, c) != 0) {
        free(c);
        return FAB_E_NOMEM;
    }
    *ret = c;
    return FAB_OK;
}

void counters_stop(struct counters *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->mutex);
    c->stop = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->mutex);
    pthread_join(c->thread, NULL);
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->idle);
    free(c);
}

void counters_limit(struct counters *c, uint64_t limit_bytes)
{
    pthread_mutex_lock(&c->mutex);
    c->limit = limit_bytes;
    pthread_mutex_unlock(&c->mutex);
}

void counters_put(struct counters *c, struct counters_round *r)
{
    pthread_mutex_lock(&c->mutex);
    bool full = c->queued == QUEUE_MOST;
    if (!full)
        c->queue[c->queued++] = r;
    c->health.dropped += full;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->mutex);
    if (full)
        counters_round_free(r);
}

void counters_flush(struct counters *c)
{
    pthread_mutex_lock(&c->mutex);
    while (c->queued > 0)
        pthread_cond_wait(&c->idle, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}

void counters_get_health(struct counters *c, struct counters_health *ret)
{
    pthread_mutex_lock(&c->mutex);
    *ret = c->health;
    pthread_mutex_unlock(&c->mutex);
}

size_t counters_take_findings(struct counters *c, struct counters_finding *ret, size_t max)
{
    pthread_mutex_lock(&c->mutex);
    size_t count = c->found_count < max ? c->found_count : max;
    memcpy(ret, c->found, count * sizeof(*ret));
    c->found_count -= count;
    memmove(c->found, c->found + count, c->found_count * sizeof(*ret));
    pthread_mutex_unlock(&c->mutex);
    return count;
}
