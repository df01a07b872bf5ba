/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of port counters, in the separate SQLite database DIR/counters.db. A separate thread
 * writes to it, so that no other thread waits for the disk. If the disk fails, only samples are
 * lost. If the database is damaged, the thread renames it and creates a new one.
 *
 * The history has four levels: the samples of each round, and roll-ups of 15 minutes, of three
 * hours and of a day. If the database exceeds its maximum size, the oldest samples of a level are
 * deleted; counters_write.c chooses the level. counters_db.h describes the format.
 */
#ifndef FABRICD_STORE_COUNTERS_H
#define FABRICD_STORE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/counters/rank.h"
#include "libfabmgr/counters/rollup.h"

/* The ports of one node in a round of counters. Their indices in the columns of the round are
 * consecutive. */
struct counters_node {
    uint64_t guid;
    uint32_t first; /* index of port 0 in the columns of the round */
    uint8_t ports;  /* highest port number of the node */
};
/* A round of counters: one sample of each port. */
struct counters_round {
    struct fab_counters_time time;
    struct counters_node *nodes; /* [node_count] */
    size_t node_count, node_room;
    /* ports: number of ports in the round. room: number of ports for which memory is allocated. */
    uint32_t ports, room;
    /* [room] encoded values (libfabmgr/counters/column.h); NULL: all codes are 0 */
    uint16_t *code[FAB_COLUMNS];
    /* [room] index of the port at the other end of the link of each port; FAB_NONE: no link */
    uint32_t *peer;
};
void counters_round_free(struct counters_round *r);

struct counters;
/* Starts the thread, which opens or creates the database in the directory `dir`. limit_bytes:
 * maximum size of the database. Returns NOMEM or LIMIT (the path is too long). */
int counters_start(const char *dir, uint64_t limit_bytes, struct counters **ret);
/* Writes the queued rounds, and stops the thread; `c` may be NULL. */
void counters_stop(struct counters *c);
void counters_limit(struct counters *c, uint64_t limit_bytes);
/* Puts a round into the queue, and takes it over. Frees the round if the queue is full. */
void counters_put(struct counters *c, struct counters_round *r);
/* Waits until all queued rounds are written or dropped. For tests and shutdown. */
void counters_flush(struct counters *c);

struct counters_health {
    bool failing;      /* true: the last round could not be written */
    uint64_t failures; /* number of failures since the start */
    /* numbers of rounds that were written, and that were dropped, since the start */
    uint64_t written, dropped;
    uint64_t bytes;                    /* size of the database without free pages */
    int64_t oldest[FAB_ROLLUP_LEVELS]; /* [level] Unix time in s of the oldest sample; 0: none */
    /* number of damaged databases that were renamed since the start */
    uint32_t replaced;
    char reason[200]; /* reason of the last failure */
    char aside[300];  /* path of the last damaged database after it was renamed */
};
void counters_get_health(struct counters *c, struct counters_health *ret);

/* A port with a problem that the roll-ups of 15 minutes show. The manager reports it by an event.
 */
struct counters_finding {
    enum { COUNTERS_RISING, COUNTERS_ASYMMETRY } kind;
    uint64_t guid;
    uint8_t port;
    /* Only for COUNTERS_RISING. counter: the counter with the most errors; now, before: the numbers
     * of errors in the last hour, and in the hour before it. */
    enum fab_counter counter;
    uint64_t before, now;
    /* Only for COUNTERS_ASYMMETRY: the peer of the port, the data that the port sent, and the data
     * that the peer received, in bytes per second. */
    uint64_t peer_guid;
    uint8_t peer_port;
    uint64_t sent, received;
};
/* Moves at most `max` new findings to ret[], and returns their number. */
size_t counters_take_findings(struct counters *c, struct counters_finding *ret, size_t max);

/* ---- reading, by any thread: each call opens the database for itself --------------------------
 */

/* Chooses the level from which to read samples for the time from `since` to `until`. Returns the
 * finest level that reaches back to `since` (or to the beginning of the history, if this is later),
 * and that has at most about `most` samples in this time. Returns the coarsest level if no level
 * has both properties. interval_s: time between two samples of level 0. */
unsigned counters_level(const struct counters_health *h, int64_t since, int64_t until,
                        uint32_t interval_s, uint32_t most);

/* One sample of a port. */
struct counters_sample {
    struct fab_counters_time time;
    uint16_t code[FAB_COLUMNS];
};
/* Reads at most `most` samples of a port, oldest first: those that end after `since`, and not after
 * `until`. They are samples of `level` and, for the time after the last roll-up of this level,
 * samples of finer levels. The caller frees *ret. Returns NOT_FOUND if the history has no such
 * port. Also returns NOMEM, FORMAT, or an error of sql_status (sql.h). */
int counters_read_port(const struct counters *c, unsigned level, uint64_t guid, uint8_t port,
                       int64_t since, int64_t until, size_t most, struct counters_sample **ret,
                       size_t *ret_count);

/* A port and the roll-up of its samples. */
struct counters_total {
    uint64_t guid;
    uint8_t port;
    uint16_t code[FAB_COLUMNS];
};
/* The value by which ports are ranked. */
enum counters_by { COUNTERS_BY_DATA, COUNTERS_BY_PACKETS, COUNTERS_BY_WAIT, COUNTERS_BY_ERRORS };
/* Returns the value by which ports are ranked. Data and packets are those of both directions
 * together, and errors those of all error counters together. */
uint64_t counters_rank_value(enum counters_by by, const uint16_t code[FAB_COLUMNS]);
/* Adds up, for each port, the samples that end after `since` and not after `until`. *ret gets the
 * `most` ports with the greatest values, the greatest value first. If the samples at `since` were
 * deleted, begins with the roll-up that contains this time. *ret_ports: number of all ports that
 * have a value: a known rate, if ports are ranked by data or packets; a number above 0, if they are
 * ranked by waits or errors. Calls stopped() from time to time, and returns BUSY if stopped()
 * returned true. Also returns NOMEM, FORMAT, or an error of sql_status (sql.h). */
int counters_read_top(struct counters *c, int64_t since, int64_t until, enum counters_by by,
                      uint32_t most, bool (*stopped)(void *ctx), void *ctx,
                      struct counters_total **ret, uint32_t *ret_count, uint32_t *ret_ports);

#endif
