/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the history of counters. For counters.c and counters_read.c only. */
#ifndef FABRICD_STORE_COUNTERS_STATE_H
#define FABRICD_STORE_COUNTERS_STATE_H

#include <limits.h>
#include <pthread.h>

#include "fabricd/store/counters_write.h"
#include "fabricd/store/file_identity.h"

/* Maximum number of rounds in the queue. A round of 70,000 ports takes some MiB. */
#define QUEUE_MOST 2
#define FOUND_MOST 256 /* greatest number of findings that wait for the loop thread */

struct counters {
    char path[PATH_MAX];
    pthread_t thread;
    /* Only the thread uses these members. */
    struct counters_writer writer; /* writer.db == NULL: the database is not open */
    struct file_identity file;
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

#endif
