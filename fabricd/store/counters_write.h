/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes rounds into counters.db. For the thread of counters.c only. */
#ifndef FABRICD_STORE_COUNTERS_WRITE_H
#define FABRICD_STORE_COUNTERS_WRITE_H

#include "fabricd/store/counters_db.h"
#include "libfabmgr/base/map.h"

#define COUNTERS_FINDINGS 64 /* greatest number of findings of one roll-up */

struct counters_known { /* a node that the history knows */
    uint64_t guid;      /* 0: the node has got another place, because it has more ports now */
    uint32_t first;     /* number of the node's port 0; the numbers of its other ports follow */
    uint8_t ports;
    /* Unix times in s. seen: end of the node's last sample. stored: the value of `seen` that the
     * database has; 0: the database has no row for the node. */
    int64_t seen, stored;
};
enum counters_sql {
    COUNTERS_SQL_BEGIN,
    COUNTERS_SQL_COMMIT,
    COUNTERS_SQL_ROLLBACK,
    COUNTERS_SQL_NODE_PUT,
    COUNTERS_SQL_NODE_DELETE,
    COUNTERS_SQL_BLOCK_PUT,
    COUNTERS_SQL_BLOCK_DELETE,
    COUNTERS_SQL_BLOCKS,
    COUNTERS_SQL_FIRST,
    COUNTERS_SQL_COUNT
};
struct counters_writer {
    sqlite3 *db;
    sqlite3_stmt *sql[COUNTERS_SQL_COUNT];
    struct counters_known *node; /* [node_count] */
    size_t node_count, node_room;
    struct fab_map index; /* finds the index in `node` by the node GUID */
    uint32_t ports;       /* number of ports in the history; ports are numbered from 0 */
    int64_t last_end;     /* Unix time in s of the last round; 0: none */
    /* [level] Unix time in s of the oldest sample (level 0) or roll-up; 0: none */
    int64_t oldest[FAB_ROLLUP_LEVELS];
    /* [room] For each port number of the history: `code` has the codes of the round that is being
     * written, and `peer` has the port number at the other end of the link (FAB_NONE: no link). */
    uint16_t *code[FAB_COLUMNS];
    uint32_t *peer;
    uint32_t room; /* number of elements of each array code[i], and of peer */
    /* the findings of the last call of counters_writer_put, if it wrote a roll-up of 15 minutes */
    struct counters_finding finding[COUNTERS_FINDINGS];
    size_t finding_count;
    /* the last reports of findings, so that no finding is reported again within a day */
    struct counters_told {
        int64_t time;
        uint32_t port;
        int kind;
    } told[1024];
    size_t told_count;
};
/* Takes over the database connection, and reads the nodes. The caller must call
 * counters_writer_fini even if this function returns an error. Returns NOMEM or the errors of
 * sql_status. */
int counters_writer_init(struct counters_writer *w, sqlite3 *db);
void counters_writer_fini(struct counters_writer *w);
/* Writes a round, and the roll-ups that end before it, in one transaction. If the clock was set
 * back, deletes the samples from the end of the round on instead of writing roll-ups. If the
 * database is larger than `limit`, deletes the oldest samples. Ignores a round without nodes or
 * with an invalid time. After an error, the caller must call counters_writer_fini, which rolls the
 * transaction back. */
int counters_writer_put(struct counters_writer *w, const struct counters_round *r, uint64_t limit);
/* Returns the size of the database without free pages, in bytes. */
uint64_t counters_writer_bytes(struct counters_writer *w);

/* ---- counters_findings.c ---- */

/* For each port number of the history: sums over one quarter of an hour. */
struct counters_quarter {
    int64_t begin, end;
    uint64_t *sum[2]; /* sum[0]: bytes sent; sum[1]: bytes received */
    /* Total duration in s of the samples in a sum. seconds[0]: samples with a rate of sent data;
     * seconds[1]: samples with a rate of received data. */
    uint32_t *seconds[2];
};
int counters_quarter_init(struct counters_quarter *q, uint32_t ports, int64_t begin, int64_t end);
void counters_quarter_fini(struct counters_quarter *q);
/* Adds the sums of a group. b: all samples of the group in this quarter of an hour. */
void counters_quarter_add(struct counters_quarter *q, uint32_t group,
                          const struct fab_counters_block *b);
/* Finds links where one end sent clearly more or less data than the other end received. Before, the
 * caller must add all groups to `q` by counters_quarter_add. */
void counters_find_asymmetry(struct counters_writer *w, const struct counters_quarter *q);
/* Finds ports of a group whose error rate rises. now: roll-up of the quarter of an hour that ends
 * at `end`. */
int counters_find_rising(struct counters_writer *w, uint32_t group, int64_t end,
                         const struct fab_counters_block *now);

#endif
