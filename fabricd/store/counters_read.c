/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the history of counters, on any thread, with a connection of its own. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/store/counters_state.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- the level ------------------------------------------------------------------------------- */

static int64_t step_of(unsigned level, uint32_t interval_s)
{
    return level > 0 ? (level == 1 ? FAB_ROLLUP_QUARTER : FAB_ROLLUP_DAY)
                     : (interval_s > 0 ? interval_s : 1);
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

/* ---- blocks of a group, from a level down to the finest ---------------------------------------
 */

struct reader {
    sqlite3 *db;
    sqlite3_stmt *blocks;
};

static void reader_fini(struct reader *r)
{
    sqlite3_finalize(r->blocks);
    sqlite3_close(r->db);
}

static int reader_init(struct reader *r, const struct counters *c)
{
    *r = (struct reader){0};
    int status = counters_db_open_reader(c->path, &r->db);
    /* In one transaction, all reads see the same state of the database, although the writer
     * continues. */
    if (status == FAB_OK)
        status = sql_status(sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL));
    if (status == FAB_OK)
        status = sql_status(sqlite3_prepare_v2(r->db, COUNTERS_SELECT, -1, &r->blocks, NULL));
    if (status != FAB_OK)
        reader_fini(r);
    return status;
}

/* Calls fn for each block with samples in (since, until]. last: end of the latest sample that was
 * passed to fn. Samples of a finer level are read from this time on. */
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

/* Reads the samples of a level up to its last roll-up. For the time after it, reads the samples of
 * the finer levels. */
static int read_group(struct reader *r, unsigned level, uint32_t group, uint64_t columns,
                      struct sieve *s)
{
    for (int l = (int)level; l >= 0; l--) {
        s->last = s->since;
        int status = counters_db_blocks(
            r->blocks, counters_key((unsigned)l, group, s->since - counters_unit((unsigned)l)),
            counters_key((unsigned)l, group, s->until), columns, sift, s);
        if (status != FAB_OK)
            return status;
        s->since = s->last;
    }
    return FAB_OK;
}

/* ---- one port -------------------------------------------------------------------------------- */

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

static int find_port(struct reader *r, uint64_t guid, uint8_t port, uint32_t *ret)
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
    struct reader r;
    struct port_samples p = {.most = most};
    struct sieve s = {.since = since, .until = until, .fn = add_samples, .ctx = &p};
    uint32_t number;
    int status = reader_init(&r, c);
    if (status != FAB_OK)
        return status;
    status = find_port(&r, guid, port, &number);
    if (status == FAB_OK) {
        p.port = number % FAB_BLOCK_PORTS;
        status = read_group(&r, level, number / FAB_BLOCK_PORTS, FAB_BLOCK_ALL, &s);
    }
    reader_fini(&r);
    if (status != FAB_OK) {
        free(p.sample);
        return status;
    }
    *ret = p.sample;
    *ret_count = p.count;
    return FAB_OK;
}

/* ---- all ports ------------------------------------------------------------------------------- */

uint64_t counters_rank_value(enum counters_by by, const uint16_t code[FAB_COLUMNS])
{
    uint64_t sum = 0;
    switch (by) {
    case COUNTERS_BY_DATA:
        return fab_counters_decode_value(FAB_COLUMN_XMIT_DATA, code[FAB_COLUMN_XMIT_DATA]) +
               fab_counters_decode_value(FAB_COLUMN_RCV_DATA, code[FAB_COLUMN_RCV_DATA]);
    case COUNTERS_BY_PACKETS:
        return fab_counters_decode_value(FAB_COLUMN_XMIT_PKTS, code[FAB_COLUMN_XMIT_PKTS]) +
               fab_counters_decode_value(FAB_COLUMN_RCV_PKTS, code[FAB_COLUMN_RCV_PKTS]);
    case COUNTERS_BY_WAIT:
        return fab_counters_decode_value(FAB_COLUMN_XMIT_WAIT, code[FAB_COLUMN_XMIT_WAIT]);
    case COUNTERS_BY_ERRORS:
        break;
    }
    for (unsigned c = FAB_COLUMN_ERRORS; c < FAB_COLUMN_DOWN; c++)
        sum += fab_counters_decode_value(c, code[c]);
    return sum;
}

/* Returns the bitset of the columns that a list of ports needs: rates, errors and down time. */
static uint64_t listed_columns(void)
{
    uint64_t columns = (UINT64_C(1) << FAB_COLUMN_RATES) - 1;
    for (unsigned c = FAB_COLUMN_ERRORS; c <= FAB_COLUMN_DOWN; c++)
        columns |= UINT64_C(1) << c;
    return columns;
}

struct group_sums {
    struct fab_rollup_port port[FAB_BLOCK_PORTS];
    uint64_t columns;
};

static int add_sums(void *ctx, const struct fab_counters_block *b, int64_t since, int64_t until)
{
    struct group_sums *g = ctx;
    fab_counters_rollup_add(g->port, b, g->columns, since, until);
    return FAB_OK;
}

/* All nodes of the history. code: the roll-up of the samples of each port. */
struct everything {
    struct counters_node *node; /* [node_count] */
    size_t node_count, node_room;
    uint32_t ports;
    uint16_t (*code)[FAB_COLUMNS]; /* [ports] the codes of the columns of each port */
};

static int read_nodes(struct reader *r, struct everything *e)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(r->db, "SELECT guid, first, ports FROM node", -1, &stmt, NULL);
    int status = sql_status(code);
    while (status == FAB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t first = sqlite3_column_int64(stmt, 1), ports = sqlite3_column_int64(stmt, 2);
        void *grown = e->node;
        if (e->node_count == e->node_room)
            grown = fab_base_grow(e->node, sizeof(*e->node), e->node_count + 1, &e->node_room);
        if (grown == NULL)
            status = FAB_E_NOMEM;
        else if (ports < 0 || ports > 254 || first < 0 ||
                 first + ports >= (int64_t)COUNTERS_GROUPS * FAB_BLOCK_PORTS)
            status = FAB_E_FORMAT;
        if (grown != NULL)
            e->node = grown;
        if (status != FAB_OK)
            break;
        e->node[e->node_count++] =
            (struct counters_node){.guid = (uint64_t)sqlite3_column_int64(stmt, 0),
                                   .first = (uint32_t)first,
                                   .ports = (uint8_t)ports};
        if (e->ports <= (uint32_t)(first + ports))
            e->ports = (uint32_t)(first + ports) + 1;
    }
    sqlite3_finalize(stmt);
    return status == FAB_OK && code != SQLITE_DONE ? sql_status(code) : status;
}

struct span {
    unsigned level;
    int64_t since, until;
    bool (*stopped)(void *ctx);
    void *ctx;
};

static int read_all(struct reader *r, const struct span *span, struct everything *e)
{
    struct group_sums *g = malloc(sizeof(*g));
    int status = g != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t first = 0; first < e->ports && status == FAB_OK; first += FAB_BLOCK_PORTS) {
        struct sieve s = {.since = span->since, .until = span->until, .fn = add_sums, .ctx = g};
        memset(g, 0, sizeof(*g));
        g->columns = listed_columns();
        if (span->stopped(span->ctx))
            status = FAB_E_BUSY;
        else
            status = read_group(r, span->level, first / FAB_BLOCK_PORTS, g->columns, &s);
        for (uint32_t p = 0; p < FAB_BLOCK_PORTS && first + p < e->ports && status == FAB_OK; p++)
            for (unsigned c = 0; c < FAB_COLUMNS; c++)
                if (g->columns >> c & 1)
                    e->code[first + p][c] = fab_counters_rollup_code(&g->port[p], c);
    }
    free(g);
    return status;
}

static bool has_rate(const uint16_t code[FAB_COLUMNS])
{
    return code[FAB_COLUMN_XMIT_DATA] != FAB_CODE_NONE ||
           code[FAB_COLUMN_RCV_DATA] != FAB_CODE_NONE;
}

/* Writes the `most` ports with the greatest values to *ret. */
static int rank(const struct everything *e, enum counters_by by, uint32_t most,
                struct counters_total **ret, uint32_t *ret_count, uint32_t *ret_ports)
{
    struct fab_rank_entry *entry = calloc(most > 0 ? most : 1, sizeof(*entry));
    struct counters_total *total = calloc(most > 0 ? most : 1, sizeof(*total));
    struct fab_rank rank;
    *ret_ports = 0;
    fab_counters_rank_init(&rank, entry, most);
    for (size_t i = 0; entry != NULL && total != NULL && i < e->node_count; i++)
        for (uint32_t p = 0; p <= e->node[i].ports; p++) {
            const uint16_t *code = e->code[e->node[i].first + p];
            uint64_t value = counters_rank_value(by, code);
            bool by_rate = by == COUNTERS_BY_DATA || by == COUNTERS_BY_PACKETS;
            if (value == 0 && (!by_rate || !has_rate(code)))
                continue;
            ++*ret_ports;
            fab_counters_rank_add(&rank, (uint64_t)i << 8 | p, value);
        }
    fab_counters_rank_sort(&rank);
    for (uint32_t i = 0; i < rank.count; i++) {
        const struct counters_node *n = &e->node[entry[i].id >> 8];
        total[i].guid = n->guid;
        total[i].port = (uint8_t)(entry[i].id & 0xff);
        memcpy(total[i].code, e->code[n->first + total[i].port], sizeof(total[i].code));
    }
    bool good = entry != NULL && total != NULL;
    free(entry);
    if (!good) {
        free(total);
        return FAB_E_NOMEM;
    }
    *ret = total;
    *ret_count = rank.count;
    return FAB_OK;
}

int counters_read_top(const struct counters *c, unsigned level, int64_t since, int64_t until,
                      enum counters_by by, uint32_t most, bool (*stopped)(void *ctx), void *ctx,
                      struct counters_total **ret, uint32_t *ret_count, uint32_t *ret_ports)
{
    const struct span span = {level, since, until, stopped, ctx};
    struct everything e = {0};
    struct reader r;
    int status = reader_init(&r, c);
    if (status != FAB_OK)
        return status;
    status = read_nodes(&r, &e);
    if (status == FAB_OK) {
        e.code = calloc(e.ports > 0 ? e.ports : 1, sizeof(*e.code));
        status = e.code != NULL ? read_all(&r, &span, &e) : FAB_E_NOMEM;
    }
    reader_fini(&r);
    if (status == FAB_OK)
        status = rank(&e, by, most, ret, ret_count, ret_ports);
    free(e.code);
    free(e.node);
    return status;
}
