/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the history of counters, on any thread, with a connection of its own. counters_top.c ranks
 * all ports; the rest is here. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/store/counters_state.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- the level ------------------------------------------------------------------------------- */

static int64_t step_of(unsigned level, uint32_t interval_s)
{
    return level > 0 ? counters_unit(level - 1) : (interval_s > 0 ? interval_s : 1);
}

unsigned counters_level(const struct counters_health *h, int64_t since, int64_t until,
                        uint32_t interval_s, uint32_t most)
{
    int64_t oldest = INT64_MAX;
    for (unsigned level = 0; level < FAB_ROLLUP_LEVELS; level++)
        if (h->oldest[level] > 0 && h->oldest[level] < oldest)
            oldest = h->oldest[level];
    if (since < oldest)
        since = oldest;
    for (unsigned level = 0; level + 1 < FAB_ROLLUP_LEVELS; level++) {
        int64_t step = step_of(level, interval_s), unit = step_of(level + 1, interval_s);
        bool has_all = h->oldest[level] > 0 && h->oldest[level] <= since + unit;
        if (has_all && (until - since) / step <= most)
            return level;
    }
    return FAB_ROLLUP_LEVELS - 1;
}

/* ---- the connection -------------------------------------------------------------------------- */

void counters_reader_fini(struct counters_reader *r)
{
    sqlite3_finalize(r->blocks);
    sqlite3_finalize(r->start);
    sqlite3_close(r->db);
}

int counters_reader_init(struct counters_reader *r, const struct counters *c)
{
    *r = (struct counters_reader){0};
    int status = counters_db_open_reader(c->path, &r->db);
    if (status == FAB_OK)
        status = sql_status(sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL));
    if (status == FAB_OK)
        status = sql_status(sqlite3_prepare_v2(r->db, COUNTERS_SELECT, -1, &r->blocks, NULL));
    if (status == FAB_OK)
        status = sql_status(sqlite3_prepare_v2(
            r->db, "SELECT max(id) FROM block WHERE id BETWEEN ?1 AND ?2", -1, &r->start, NULL));
    if (status != FAB_OK)
        counters_reader_fini(r);
    return status;
}

/* Finds the first block of the group that may have samples with an end after `since`. This is the
 * last block whose first sample ends at `since` or earlier; if there is none, it is the block after
 * `since`. The search goes back by counters_unit(level), because a block covers at most this
 * time. */
static int find_start(struct counters_reader *r, unsigned level, uint32_t group, int64_t since,
                      int64_t *ret_id)
{
    int64_t none = counters_key(level, group, since + 1);
    sqlite3_bind_int64(r->start, 1, counters_key(level, group, since - counters_unit(level)));
    sqlite3_bind_int64(r->start, 2, counters_key(level, group, since));
    int code = sqlite3_step(r->start);
    bool found = code == SQLITE_ROW && sqlite3_column_type(r->start, 0) == SQLITE_INTEGER;
    *ret_id = found ? sqlite3_column_int64(r->start, 0) : none;
    sqlite3_reset(r->start);
    return sql_status(code);
}

int counters_reader_blocks(struct counters_reader *r, unsigned level, uint32_t group, int64_t since,
                           int64_t until, uint64_t columns, counters_block_fn *fn, void *ctx)
{
    int64_t from;
    int status = find_start(r, level, group, since, &from);
    return status == FAB_OK ? counters_db_blocks(r->blocks, from, counters_key(level, group, until),
                                                 columns, fn, ctx)
                            : status;
}

/* ---- one port -------------------------------------------------------------------------------- */

/* sift() passes to `fn` each block with samples in (since, until]. last: end of the latest sample
 * that was passed to `fn`; the samples of the finer levels are read from this time on. */
struct sieve {
    int64_t since, until, last;
    int (*fn)(void *ctx, const struct fab_counters_block *b, int64_t since, int64_t until);
    void *ctx;
};

static int sift(void *ctx, struct fab_counters_block *b)
{
    struct sieve *s = ctx;
    int64_t end = b->samples > 0 ? b->time[b->samples - 1].end : 0;
    if (b->samples == 0 || end <= s->since)
        return FAB_OK;
    if (end > s->last)
        s->last = end;
    return s->fn(s->ctx, b, s->since, s->until);
}

/* Reads the samples of a level, up to the last roll-up of this level. For the time after this
 * roll-up, reads the samples of the finer levels. */
static int read_group(struct counters_reader *r, unsigned level, uint32_t group, struct sieve *s)
{
    for (int l = (int)level; l >= 0; l--) {
        s->last = s->since;
        int status = counters_reader_blocks(r, (unsigned)l, group, s->since, s->until,
                                            FAB_BLOCK_ALL, sift, s);
        if (status != FAB_OK)
            return status;
        s->since = s->last;
    }
    return FAB_OK;
}

struct port_samples {
    struct counters_sample *sample;
    size_t count, room, most;
    uint32_t port; /* number of the port in its group, from 0 */
};

static int add_samples(void *ctx, const struct fab_counters_block *b, int64_t since, int64_t until)
{
    struct port_samples *p = ctx;
    for (uint32_t s = 0; s < b->samples && p->port < b->ports && p->count < p->most; s++) {
        if (b->time[s].end <= since || b->time[s].end > until)
            continue;
        if (p->count == p->room) {
            void *grown = fab_base_grow(p->sample, sizeof(*p->sample), p->count + 1, &p->room);
            if (grown == NULL)
                return FAB_E_NOMEM;
            p->sample = grown;
        }
        struct counters_sample *to = &p->sample[p->count++];
        to->time = b->time[s];
        for (unsigned c = 0; c < FAB_COLUMNS; c++)
            to->code[c] = fab_counters_block_get(b, c, p->port, s);
    }
    return FAB_OK;
}

static int find_port(struct counters_reader *r, uint64_t guid, uint8_t port, uint32_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(
        r->db, "SELECT first FROM node WHERE guid = ?1 AND ports >= ?2", -1, &stmt, NULL));
    sqlite3_bind_int64(stmt, 1, (int64_t)guid);
    sqlite3_bind_int64(stmt, 2, port);
    int code = status == FAB_OK ? sqlite3_step(stmt) : SQLITE_DONE;
    int64_t first = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    if (status == FAB_OK && code != SQLITE_ROW)
        status = code == SQLITE_DONE ? FAB_E_NOT_FOUND : sql_status(code);
    if (status == FAB_OK &&
        (first < 0 || first >= (int64_t)COUNTERS_GROUPS * FAB_BLOCK_PORTS - 255))
        status = FAB_E_FORMAT;
    if (status == FAB_OK)
        *ret = (uint32_t)first + port;
    return status;
}

int counters_read_port(const struct counters *c, unsigned level, uint64_t guid, uint8_t port,
                       int64_t since, int64_t until, size_t most, struct counters_sample **ret,
                       size_t *ret_count)
{
    struct counters_reader r;
    struct port_samples p = {.most = most};
    struct sieve s = {.since = since, .until = until, .fn = add_samples, .ctx = &p};
    uint32_t number;
    int status = counters_reader_init(&r, c);
    if (status != FAB_OK)
        return status;
    status = find_port(&r, guid, port, &number);
    if (status == FAB_OK) {
        p.port = number % FAB_BLOCK_PORTS;
        status = read_group(&r, level, number / FAB_BLOCK_PORTS, &s);
    }
    counters_reader_fini(&r);
    if (status != FAB_OK) {
        free(p.sample);
        return status;
    }
    *ret = p.sample;
    *ret_count = p.count;
    return FAB_OK;
}
