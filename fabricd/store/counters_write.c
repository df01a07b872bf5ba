/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes rounds into counters.db. Each round is at first one row for each group of ports, so that a
 * crash loses no round that was written. When a quarter of an hour is over, the writer joins the
 * rows of each group to one smaller row, and makes their roll-up. It appends the roll-up to the row
 * with the other roll-ups of the same three hours, so that a query reads few rows. When three hours
 * or a day are over, it makes their roll-ups in the same way. Everything that belongs to a round is
 * one transaction.
 */
#include "fabricd/store/counters_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/store/sql.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

/* Interval in s at which the writer stores the time of a node's last sample in the table `node`. */
#define SEEN_EVERY 3600
/* maximum number of units that the writer deletes when it writes a round */
#define DELETIONS_MOST 8
/* The writer keeps 1 / FREE_PART of the limit free. */
#define FREE_PART 64
/* maximum number of free pages that the writer returns to the disk when it writes a round */
#define VACUUM_MOST 4096

static const char *const statements[COUNTERS_SQL_COUNT] = {
    [COUNTERS_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [COUNTERS_SQL_COMMIT] = "COMMIT",
    [COUNTERS_SQL_ROLLBACK] = "ROLLBACK",
    [COUNTERS_SQL_NODE_PUT] =
        ("INSERT INTO node (guid, first, ports, seen) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (guid) "
         "DO "
         "UPDATE SET first = excluded.first, ports = excluded.ports, seen = excluded.seen"),
    [COUNTERS_SQL_NODE_DELETE] = "DELETE FROM node WHERE guid = ?1",
    [COUNTERS_SQL_BLOCK_PUT] = "INSERT OR REPLACE INTO block (id, data) VALUES (?1, ?2)",
    [COUNTERS_SQL_BLOCK_DELETE] = "DELETE FROM block WHERE id BETWEEN ?1 AND ?2",
    [COUNTERS_SQL_BLOCKS] = COUNTERS_SELECT,
    [COUNTERS_SQL_FIRST] = "SELECT min(id) FROM block WHERE id BETWEEN ?1 AND ?2",
};

/* Runs a statement whose parameters are bound. */
static int step(struct counters_writer *w, enum counters_sql which)
{
    int code = sqlite3_step(w->sql[which]);
    sqlite3_reset(w->sql[which]);
    return sql_status(code);
}

static int delete_blocks(struct counters_writer *w, int64_t from_id, int64_t to_id)
{
    sqlite3_bind_int64(w->sql[COUNTERS_SQL_BLOCK_DELETE], 1, from_id);
    sqlite3_bind_int64(w->sql[COUNTERS_SQL_BLOCK_DELETE], 2, to_id);
    return step(w, COUNTERS_SQL_BLOCK_DELETE);
}

static int put_block(struct counters_writer *w, unsigned level, uint32_t group,
                     const struct fab_counters_block *b)
{
    sqlite3_stmt *put = w->sql[COUNTERS_SQL_BLOCK_PUT];
    uint8_t *bytes;
    size_t len;
    int status = fab_counters_block_encode(b, &bytes, &len);
    if (status != FAB_OK)
        return status;
    sqlite3_bind_int64(put, 1, counters_key(level, group, b->time[0].end));
    sqlite3_bind_blob(put, 2, bytes, (int)len, SQLITE_STATIC);
    status = step(w, COUNTERS_SQL_BLOCK_PUT);
    sqlite3_clear_bindings(put);
    free(bytes);
    return status;
}

/* Reads the time of the oldest block of a level; 0: the level has no block. It is enough to look at
 * group 0, because each round writes a block of each group. */
static int read_oldest(struct counters_writer *w, unsigned level, int64_t *ret)
{
    sqlite3_stmt *first = w->sql[COUNTERS_SQL_FIRST];
    sqlite3_bind_int64(first, 1, counters_key(level, 0, 0));
    sqlite3_bind_int64(first, 2, counters_key(level, 0, COUNTERS_TIME_MOST));
    int code = sqlite3_step(first);
    *ret = code == SQLITE_ROW ? sqlite3_column_int64(first, 0) & COUNTERS_TIME_MOST : 0;
    sqlite3_reset(first);
    return sql_status(code);
}

static uint32_t groups(const struct counters_writer *w)
{
    return (w->ports + FAB_BLOCK_PORTS - 1) / FAB_BLOCK_PORTS;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int add_known(struct counters_writer *w, const struct counters_known *node)
{
    if (w->node_count == w->node_room) {
        void *grown = fab_base_grow(w->node, sizeof(*w->node), w->node_count + 1, &w->node_room);
        if (grown == NULL)
            return FAB_E_NOMEM;
        w->node = grown;
    }
    int status = fab_base_map_put(&w->index, node->guid, (uint32_t)w->node_count);
    if (status == FAB_OK)
        w->node[w->node_count++] = *node;
    return status;
}

static int read_nodes(struct counters_writer *w)
{
    sqlite3_stmt *stmt = NULL;
    int code, status = sql_status(sqlite3_prepare_v2(
                  w->db, "SELECT guid, first, ports, seen FROM node", -1, &stmt, NULL));
    while (status == FAB_OK && (code = sqlite3_step(stmt)) != SQLITE_DONE) {
        int64_t first = sqlite3_column_int64(stmt, 1), ports = sqlite3_column_int64(stmt, 2);
        const struct counters_known node = {.guid = (uint64_t)sqlite3_column_int64(stmt, 0),
                                            .first = (uint32_t)first,
                                            .ports = (uint8_t)ports,
                                            .seen = sqlite3_column_int64(stmt, 3),
                                            .stored = sqlite3_column_int64(stmt, 3)};
        if (code != SQLITE_ROW)
            status = sql_status(code);
        else if (ports < 0 || ports > 254 || first < 0 ||
                 first + ports >= (int64_t)COUNTERS_GROUPS * FAB_BLOCK_PORTS)
            status = FAB_E_FORMAT;
        else
            status = add_known(w, &node);
        if (status == FAB_OK && node.first + node.ports >= w->ports)
            w->ports = node.first + node.ports + 1;
    }
    sqlite3_finalize(stmt);
    return status;
}

/* Finds a node with this number of ports whose last sample is older than all samples and roll-ups
 * that are left in the history. The history numbers of its ports can be reused. */
static struct counters_known *find_expired(struct counters_writer *w, uint8_t ports)
{
    int64_t oldest = INT64_MAX;
    for (int level = 0; level < FAB_ROLLUP_LEVELS; level++)
        if (w->oldest[level] > 0 && w->oldest[level] < oldest)
            oldest = w->oldest[level];
    for (size_t i = 0; oldest < INT64_MAX && i < w->node_count; i++)
        if (w->node[i].ports == ports && w->node[i].seen < oldest)
            return &w->node[i];
    return NULL;
}

/* Assigns port numbers of the history to the ports of a node: those of an expired node with as many
 * ports or, if there is none, new ones. Returns LIMIT if the history has no numbers left; NOMEM; or
 * an error of sql_status. */
static int place_node(struct counters_writer *w, const struct counters_node *from)
{
    struct counters_known *expired = find_expired(w, from->ports);
    if (expired != NULL) {
        fab_base_map_remove(&w->index, expired->guid);
        sqlite3_bind_int64(w->sql[COUNTERS_SQL_NODE_DELETE], 1, (int64_t)expired->guid);
        int status = step(w, COUNTERS_SQL_NODE_DELETE);
        expired->guid = from->guid;
        expired->stored = 0;
        return status == FAB_OK
                   ? fab_base_map_put(&w->index, from->guid, (uint32_t)(expired - w->node))
                   : status;
    }
    if (w->ports + from->ports + UINT64_C(1) > (uint64_t)COUNTERS_GROUPS * FAB_BLOCK_PORTS)
        return FAB_E_LIMIT;
    const struct counters_known node = {
        .guid = from->guid, .first = w->ports, .ports = from->ports};
    w->ports += from->ports + 1u;
    return add_known(w, &node);
}

static int store_node(struct counters_writer *w, struct counters_known *node)
{
    sqlite3_stmt *put = w->sql[COUNTERS_SQL_NODE_PUT];
    if (node->stored != 0 && node->seen - node->stored < SEEN_EVERY)
        return FAB_OK;
    sqlite3_bind_int64(put, 1, (int64_t)node->guid);
    sqlite3_bind_int64(put, 2, node->first);
    sqlite3_bind_int64(put, 3, node->ports);
    sqlite3_bind_int64(put, 4, node->seen);
    int status = step(w, COUNTERS_SQL_NODE_PUT);
    node->stored = node->seen;
    return status;
}

/* Finds the place in w->node of each node of the round. A new node, and a node that has more ports
 * than before, gets the place of an expired node or a new place (place_node). place[i] becomes the
 * index in w->node of the round's node i. */
static int place_nodes(struct counters_writer *w, const struct counters_round *r, uint32_t *place)
{
    int status = FAB_OK;
    for (size_t i = 0; i < r->node_count && status == FAB_OK; i++) {
        uint32_t at;
        bool known = fab_base_map_get(&w->index, r->nodes[i].guid, &at);
        if (!known || w->node[at].ports < r->nodes[i].ports) {
            if (known)
                w->node[at].guid = 0; /* the node gets a new place, and loses this one */
            status = place_node(w, &r->nodes[i]);
        }
        if (status != FAB_OK || !fab_base_map_get(&w->index, r->nodes[i].guid, &at))
            return status;
        w->node[at].seen = r->time.end;
        status = store_node(w, &w->node[at]);
        place[i] = at;
    }
    return status;
}

/* ---- a round --------------------------------------------------------------------------------- */

static int make_room(struct counters_writer *w)
{
    if (w->ports <= w->room)
        return FAB_OK;
    uint32_t room = (groups(w) + 8) * FAB_BLOCK_PORTS;
    uint32_t *peer = reallocarray(w->peer, room, sizeof(*peer));
    if (peer == NULL)
        return FAB_E_NOMEM;
    /* memset with 0xff sets each new element to FAB_NONE */
    memset(peer + w->room, 0xff, (room - w->room) * sizeof(*peer));
    w->peer = peer;
    for (int c = 0; c < FAB_COLUMNS; c++) {
        free(w->code[c]);
        w->code[c] = NULL;
    }
    w->room = room;
    return FAB_OK;
}

static int spread_column(struct counters_writer *w, const struct counters_round *r,
                         const uint32_t *place, unsigned column)
{
    if (r->code[column] == NULL) {
        free(w->code[column]);
        w->code[column] = NULL;
        return FAB_OK;
    }
    if (w->code[column] == NULL)
        w->code[column] = malloc(w->room * sizeof(*w->code[column]));
    if (w->code[column] == NULL)
        return FAB_E_NOMEM;
    memset(w->code[column], 0, w->room * sizeof(*w->code[column]));
    for (size_t i = 0; i < r->node_count; i++)
        memcpy(w->code[column] + w->node[place[i]].first, r->code[column] + r->nodes[i].first,
               (r->nodes[i].ports + 1u) * sizeof(*w->code[column]));
    return FAB_OK;
}

static void spread_peers(struct counters_writer *w, const struct counters_round *r,
                         const uint32_t *place, uint32_t *to)
{
    for (size_t i = 0; i < r->node_count; i++)
        for (uint32_t p = 0; p <= r->nodes[i].ports; p++)
            to[r->nodes[i].first + p] = w->node[place[i]].first + p;
    for (uint32_t i = 0; i < r->ports; i++)
        w->peer[to[i]] = r->peer[i] < r->ports ? to[r->peer[i]] : FAB_NONE;
}

/* Copies the codes and the peers of a round to w->code and w->peer, which are in the order of the
 * history's port numbers. */
static int spread(struct counters_writer *w, const struct counters_round *r)
{
    uint32_t *place = calloc(r->node_count, sizeof(*place));
    uint32_t *to = calloc(r->ports, sizeof(*to));
    int status = place != NULL && to != NULL ? place_nodes(w, r, place) : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = make_room(w);
    for (unsigned c = 0; c < FAB_COLUMNS && status == FAB_OK; c++)
        status = spread_column(w, r, place, c);
    if (status == FAB_OK)
        spread_peers(w, r, place, to);
    free(place);
    free(to);
    return status;
}

static int put_samples(struct counters_writer *w, const struct counters_round *r)
{
    struct fab_counters_time time = r->time;
    int status = FAB_OK;
    for (uint32_t g = 0; g < groups(w) && status == FAB_OK; g++) {
        uint32_t first = g * FAB_BLOCK_PORTS, left = w->ports - first;
        struct fab_counters_block b = {
            .ports = left < FAB_BLOCK_PORTS ? left : FAB_BLOCK_PORTS, .samples = 1, .time = &time};
        for (int c = 0; c < FAB_COLUMNS; c++)
            b.code[c] = w->code[c] != NULL ? w->code[c] + first : NULL;
        status = put_block(w, 0, g, &b);
    }
    return status;
}

/* ---- roll-ups -------------------------------------------------------------------------------- */

/* Returns the number of the unit in which a sample with this end belongs. A unit is the time that a
 * block of a level covers at most. */
static int64_t unit_of(unsigned level, int64_t end)
{
    return (end - 1) / counters_unit(level);
}

static int64_t unit_begin(unsigned level, int64_t end)
{
    return unit_of(level, end) * counters_unit(level);
}

/* The blocks of a group in one unit, without samples that end after `until`. */
struct gathered {
    struct fab_counters_block block[FAB_BLOCK_SAMPLES + 1];
    size_t count;
    int64_t until;
};

static int gather(void *ctx, struct fab_counters_block *b)
{
    struct gathered *g = ctx;
    if (g->count == FAB_BLOCK_SAMPLES || b->samples == 0)
        return b->samples == 0 ? FAB_E_FORMAT : FAB_E_LIMIT;
    fab_counters_block_cut(b, g->until);
    if (b->samples == 0)
        return FAB_OK;
    g->block[g->count++] = *b;
    *b = (struct fab_counters_block){0};
    return FAB_OK;
}

static int gather_unit(struct counters_writer *w, unsigned level, uint32_t group, int64_t begin,
                       int64_t until, struct gathered **ret)
{
    struct gathered *g = *ret = calloc(1, sizeof(*g));
    if (g == NULL)
        return FAB_E_NOMEM;
    g->until = until;
    return counters_db_blocks(w->sql[COUNTERS_SQL_BLOCKS], counters_key(level, group, begin + 1),
                              counters_key(level, group, begin + counters_unit(level)),
                              FAB_BLOCK_ALL, gather, g);
}

static void gathered_free(struct gathered *g)
{
    for (size_t i = 0; g != NULL && i < g->count; i++)
        fab_counters_block_fini(&g->block[i]);
    free(g);
}

/* Joins the blocks, and writes the joined block in place of all blocks of the unit. */
static int join_unit(struct counters_writer *w, unsigned level, uint32_t group, int64_t begin,
                     const struct gathered *g, struct fab_counters_block *ret)
{
    int status = fab_counters_block_join(g->block, g->count, ret);
    if (status == FAB_OK)
        status = delete_blocks(w, counters_key(level, group, begin + 1),
                               counters_key(level, group, begin + counters_unit(level)));
    return status == FAB_OK ? put_block(w, level, group, ret) : status;
}

/* Appends a roll-up, which covers the time from `from`, to the block of its unit. Drops samples of
 * this block that end after `from`; they exist only if the clock was set back. */
static int append(struct counters_writer *w, unsigned level, uint32_t group, int64_t from,
                  const struct fab_counters_block *rolled)
{
    struct fab_counters_block joined = {0};
    struct gathered *g;
    int64_t begin = unit_begin(level, rolled->time[0].end);
    int status = gather_unit(w, level, group, begin, from, &g);
    if (status == FAB_OK) {
        g->block[g->count++] = *rolled;
        status = join_unit(w, level, group, begin, g, &joined);
        g->count--; /* the caller owns *rolled */
    }
    fab_counters_block_fini(&joined);
    gathered_free(g);
    return status;
}

/* Writes the roll-up of a block that has all samples of the unit that begins at `begin`. */
static int roll_up_joined(struct counters_writer *w, unsigned level, uint32_t group, int64_t begin,
                          const struct fab_counters_block *joined, struct counters_quarter *q)
{
    struct fab_counters_time time = {.end = joined->time[joined->samples - 1].end};
    struct fab_counters_block rolled = {0};
    for (uint32_t s = 0; s < joined->samples; s++)
        time.span_s += joined->time[s].span_s;
    int status = fab_counters_rollup(joined, time, &rolled);
    if (status == FAB_OK)
        status = append(w, level + 1, group, begin, &rolled);
    if (status == FAB_OK && level == 0) {
        counters_quarter_add(q, group, joined);
        status = counters_find_rising(w, group, begin + counters_unit(0), &rolled);
    }
    fab_counters_block_fini(&rolled);
    return status;
}

static int roll_up_group(struct counters_writer *w, unsigned level, uint32_t group, int64_t begin,
                         struct counters_quarter *q)
{
    struct fab_counters_block joined = {0};
    struct gathered *g;
    int status = gather_unit(w, level, group, begin, INT64_MAX, &g);
    if (status == FAB_OK && g->count > 1)
        status = join_unit(w, level, group, begin, g, &joined);
    if (status == FAB_OK && g->count > 0)
        status = roll_up_joined(w, level, group, begin, g->count > 1 ? &joined : &g->block[0], q);
    fab_counters_block_fini(&joined);
    gathered_free(g);
    return status;
}

/* Called before a round that ends at `end` is written. If the last round ended in an earlier
 * quarter of an hour, makes the roll-up of that quarter; and the same for the units of the other
 * levels. */
static int roll_up(struct counters_writer *w, int64_t end)
{
    int status = FAB_OK;
    for (unsigned level = 0; level + 1 < FAB_ROLLUP_LEVELS && status == FAB_OK; level++) {
        int64_t begin = unit_begin(level, w->last_end);
        struct counters_quarter q = {0};
        if (w->last_end == 0 || unit_of(level, w->last_end) == unit_of(level, end))
            return FAB_OK;
        if (level == 0)
            status = counters_quarter_init(&q, w->ports, begin, begin + counters_unit(0));
        for (uint32_t g = 0; g < groups(w) && status == FAB_OK; g++)
            status = roll_up_group(w, level, g, begin, &q);
        if (status == FAB_OK && level == 0)
            counters_find_asymmetry(w, &q);
        counters_quarter_fini(&q);
    }
    return status;
}

/* ---- the size -------------------------------------------------------------------------------- */

static uint64_t pragma(struct counters_writer *w, const char *sql)
{
    int64_t value = 0;
    return counters_db_number(w->db, sql, &value) == FAB_OK && value > 0 ? (uint64_t)value : 0;
}

static uint64_t file_bytes(struct counters_writer *w)
{
    return pragma(w, "PRAGMA page_count") * pragma(w, "PRAGMA page_size");
}

uint64_t counters_writer_bytes(struct counters_writer *w)
{
    return file_bytes(w) - pragma(w, "PRAGMA freelist_count") * pragma(w, "PRAGMA page_size");
}

/* Deletes all blocks of a level whose time is in (begin, end]. */
static int delete_unit(struct counters_writer *w, unsigned level, int64_t begin, int64_t end)
{
    int status = FAB_OK;
    for (uint32_t g = 0; g < groups(w) && status == FAB_OK; g++)
        status = delete_blocks(w, counters_key(level, g, begin + 1), counters_key(level, g, end));
    return status == FAB_OK ? read_oldest(w, level, &w->oldest[level]) : status;
}

/* [level] While the database is too large, the writer deletes samples in such a way that the ages
 * of the oldest samples of the levels are in proportion to these numbers of days. Even a small
 * database therefore has samples of single rounds, and not only roll-ups. A fabric of 70,000 ports
 * whose traffic changes all the time needs 4 GiB for these days. */
static const int64_t proportion[FAB_ROLLUP_LEVELS] = {2, 30, 90, 1000};

/* Returns the level whose oldest samples are deleted next; FAB_ROLLUP_LEVELS: none. The present
 * unit of each level stays. */
static unsigned level_to_trim(const struct counters_writer *w, int64_t now)
{
    int64_t most = 0;
    unsigned found = FAB_ROLLUP_LEVELS;
    for (unsigned level = 0; level < FAB_ROLLUP_LEVELS; level++) {
        int64_t age = (now - w->oldest[level]) / proportion[level];
        if (w->oldest[level] == 0 || unit_of(level, w->oldest[level]) == unit_of(level, now) ||
            age <= most)
            continue;
        most = age;
        found = level;
    }
    return found;
}

/* Deletes the oldest samples, one unit after another, until the database is small enough,
 * DELETIONS_MOST units are deleted, or only the present units are left. A part of the limit stays
 * free for the next rounds, so that the file does not exceed the limit. */
static int trim(struct counters_writer *w, int64_t now, uint64_t limit)
{
    int status = FAB_OK;
    for (int n = 0; n < DELETIONS_MOST && status == FAB_OK &&
                    counters_writer_bytes(w) > limit - limit / FREE_PART;
         n++) {
        unsigned level = level_to_trim(w, now);
        if (level == FAB_ROLLUP_LEVELS)
            break;
        int64_t begin = unit_begin(level, w->oldest[level]);
        status = delete_unit(w, level, begin, begin + counters_unit(level));
    }
    return status;
}

/* Returns free pages to the disk, if the file is larger than `limit`. */
static void shrink(struct counters_writer *w, uint64_t limit)
{
    char sql[64];
    uint64_t bytes = file_bytes(w), page = pragma(w, "PRAGMA page_size");
    if (bytes <= limit || page == 0)
        return;
    uint64_t pages = (bytes - limit + page - 1) / page;
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)",
             (unsigned)(pages < VACUUM_MOST ? pages : VACUUM_MOST));
    sqlite3_exec(w->db, sql, NULL, NULL, NULL);
}

/* Handles a clock that was set back to `now`: deletes all blocks whose first sample ends at `now`
 * or later, and the joined block of samples that contains `now`. A block of roll-ups that contains
 * `now` stays: append() drops its later roll-ups. */
static int delete_future(struct counters_writer *w, int64_t now)
{
    int status = FAB_OK;
    for (unsigned level = 0; level < FAB_ROLLUP_LEVELS && status == FAB_OK; level++)
        status = delete_unit(
            w, level,
            level > 0 || unit_of(0, now) == unit_of(0, w->last_end) ? now - 1 : unit_begin(0, now),
            COUNTERS_TIME_MOST);
    return status;
}

/* ---- the transaction ------------------------------------------------------------------------- */

static int put_round(struct counters_writer *w, const struct counters_round *r, uint64_t limit)
{
    int64_t end = r->time.end;
    int status = end <= w->last_end ? delete_future(w, end) : roll_up(w, end);
    if (status == FAB_OK)
        status = spread(w, r);
    if (status == FAB_OK)
        status = put_samples(w, r);
    for (unsigned level = 0; level < FAB_ROLLUP_LEVELS && status == FAB_OK; level++)
        if (w->oldest[level] == 0)
            status = read_oldest(w, level, &w->oldest[level]);
    if (status == FAB_OK)
        status = trim(w, end, limit);
    return status;
}

int counters_writer_put(struct counters_writer *w, const struct counters_round *r, uint64_t limit)
{
    if (r->node_count == 0 || r->time.end <= 0 || r->time.end > COUNTERS_TIME_MOST)
        return FAB_OK;
    w->finding_count = 0;
    int status = step(w, COUNTERS_SQL_BEGIN);
    if (status == FAB_OK)
        status = put_round(w, r, limit);
    if (status == FAB_OK)
        status = step(w, COUNTERS_SQL_COMMIT);
    if (status != FAB_OK)
        return status;
    w->last_end = r->time.end;
    shrink(w, limit);
    return FAB_OK;
}

int counters_writer_init(struct counters_writer *w, sqlite3 *db)
{
    *w = (struct counters_writer){.db = db};
    int status = FAB_OK;
    for (int i = 0; i < COUNTERS_SQL_COUNT && status == FAB_OK; i++)
        status = sql_status(
            sqlite3_prepare_v3(db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &w->sql[i], NULL));
    if (status == FAB_OK)
        status = read_nodes(w);
    for (unsigned level = 0; level < FAB_ROLLUP_LEVELS && status == FAB_OK; level++)
        status = read_oldest(w, level, &w->oldest[level]);
    if (status == FAB_OK)
        status = counters_db_number(
            db, "SELECT max(id) & 1099511627775 FROM block WHERE id < 1099511627776", &w->last_end);
    return status;
}

void counters_writer_fini(struct counters_writer *w)
{
    for (int i = 0; i < COUNTERS_SQL_COUNT; i++)
        sqlite3_finalize(w->sql[i]);
    sqlite3_close(w->db);
    for (int c = 0; c < FAB_COLUMNS; c++)
        free(w->code[c]);
    free(w->peer);
    free(w->node);
    fab_base_map_fini(&w->index);
    *w = (struct counters_writer){0};
}
