/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the history of counters. For the files counters*.c only. */
#ifndef FABRICD_STORE_COUNTERS_STATE_H
#define FABRICD_STORE_COUNTERS_STATE_H

#include <limits.h>
#include <pthread.h>

#include "fabricd/store/counters_write.h"
#include "fabricd/store/file_identity.h"

/* Maximum number of rounds in the queue. A round of 70,000 ports takes some MiB. */
#define QUEUE_MOST 2
#define FOUND_MOST 256 /* greatest number of findings that wait for the loop thread */

/* What the thread knows about the space on the disk. low: the disk is almost full. bytes: size of
 * the database when the disk became almost full; until there is space again, the database must not
 * become larger. */
struct counters_space {
    bool low;
    uint64_t bytes;
};

struct counters {
    char dir[PATH_MAX], path[PATH_MAX];
    pthread_t thread;
    /* Only the thread uses these members. */
    struct counters_writer writer; /* writer.db == NULL: the database is not open */
    struct file_identity file;
    struct counters_space space;
    char failure[200];
    /* protects all members below */
    pthread_mutex_t mutex;
    pthread_cond_t wake, idle;
    struct counters_round *queue[QUEUE_MOST]; /* the thread writes queue[0] first */
    size_t queued;
    uint64_t limit;
    bool stop;
    struct counters_health health;
    struct counters_finding found[FOUND_MOST];
    size_t found_count;
};

/* Returns the limit of the size of the database: `limit` or, if the disk is almost full, the size
 * that the database had when this began, if that is less. For the thread only. */
uint64_t counters_limit_now(struct counters *c, uint64_t limit);
/* Makes the decision of counters_limit_now, and returns the limit. disk: size of the disk. unused:
 * free space on the disk. bytes: size of the database. All sizes are in bytes. */
uint64_t counters_space_limit(struct counters_space *s, uint64_t limit, uint64_t disk,
                              uint64_t unused, uint64_t bytes);

/* A connection for reading. All reads see the state of the database at one moment, although the
 * writer continues. */
struct counters_reader {
    sqlite3 *db;
    sqlite3_stmt *blocks, *start;
};
int counters_reader_init(struct counters_reader *r, const struct counters *c);
void counters_reader_fini(struct counters_reader *r);
/* Calls fn for each block of the group that has samples with an end in (since, until]. The block
 * may also have other samples. columns: bitset of the columns to read. */
int counters_reader_blocks(struct counters_reader *r, unsigned level, uint32_t group, int64_t since,
                           int64_t until, uint64_t columns, counters_block_fn *fn, void *ctx);

#endif
