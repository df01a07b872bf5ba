/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the file counters.db, and reads blocks from it. Also defines the keys of its rows. For the
 * folder fabricd/store only.
 *
 * table node   guid (as signed 64-bit integer), first (number of its port 0 in the history), ports
 *              (highest port number), seen (Unix time in s of its last sample)
 * table block  id, data: the samples of 256 ports (libfabmgr/counters/encode.c). The ports of a
 * node have consecutive numbers; number / 256 is the group of a port.
 *
 * The id has the level in bits 61 and 62, and the group in bits 40 to 60. The bits below are the
 * end of the first sample of the block, in Unix seconds. The rows of a group are therefore
 * adjacent, in the order of time.
 */
#ifndef FABRICD_STORE_COUNTERS_DB_H
#define FABRICD_STORE_COUNTERS_DB_H

#include <sqlite3.h>
#include <stdint.h>

#include "fabricd/store/counters.h"

#define COUNTERS_GROUPS (1u << 21)
#define COUNTERS_TIME_MOST ((INT64_C(1) << 40) - 1)

/* Returns the time in s that a block of this level covers at most. Except for the last level, this
 * is also the duration of a roll-up of the next level. */
static inline int64_t counters_unit(unsigned level)
{
    static const int64_t unit[FAB_ROLLUP_LEVELS] = {FAB_ROLLUP_QUARTER, FAB_ROLLUP_3_HOURS,
                                                    FAB_ROLLUP_DAY, 8 * FAB_ROLLUP_DAY};
    return unit[level];
}
static inline int64_t counters_key(unsigned level, uint32_t group, int64_t time)
{
    time = time < 0 ? 0 : time > COUNTERS_TIME_MOST ? COUNTERS_TIME_MOST : time;
    return (int64_t)level << 61 | (int64_t)group << 40 | time;
}

/* Opens the database for the writer, or creates it. Returns FORMAT if the file is damaged, or if it
 * is the database of another program. Also returns IO, DENIED or NOMEM. why[] says what failed. */
int counters_db_open(const char *path, sqlite3 **ret, char *why, size_t why_len);
/* Opens the database for reading. Returns the errors of sql_status. */
int counters_db_open_reader(const char *path, sqlite3 **ret);
/* counters_aside.c: renames the database DIR/counters.db and its WAL to counters.db.damaged-TIME,
 * so that a new database can be created. Deletes all but the two newest damaged databases. Returns
 * IO. */
int counters_db_put_aside(const char *dir, char *ret_name, size_t len);
/* Runs a statement that returns one number. *ret: the number; 0 if the statement returns no row. */
int counters_db_number(sqlite3 *db, const char *sql, int64_t *ret);

/* Calls fn for each block with an id from from_id to to_id (included), in ascending order. columns:
 * bitset of the columns to read. fn may take over the content of the block, and must then clear the
 * block. Stops at the first error. `select` must be COUNTERS_SELECT after sqlite3_prepare. */
#define COUNTERS_SELECT "SELECT data FROM block WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
typedef int counters_block_fn(void *ctx, struct fab_counters_block *block);
int counters_db_blocks(sqlite3_stmt *select, int64_t from_id, int64_t to_id, uint64_t columns,
                       counters_block_fn *fn, void *ctx);

#endif
