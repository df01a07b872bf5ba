/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks all ports by their samples in a period. Roll-ups replace the samples of each quarter of an
 * hour, three hours or day that is completely in this period, so that few samples must be read. For
 * all ports, only the columns that decide the ranks are read. For the ports with the greatest
 * values, all columns that the list shows (listed_columns) are read.
 */
#include <stdlib.h>

#include "fabricd/store/counters_state.h"
#include "fabricd/store/sql.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- columns --------------------------------------------------------------------------------- */

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

static uint64_t bits(unsigned first, unsigned end)
{
    return (UINT64_C(1) << end) - (UINT64_C(1) << first);
}

/* Returns the bitset of the columns that determine the value of a port, and whether the port is
 * listed. */
static uint64_t ranking_columns(enum counters_by by)
{
    switch (by) {
    case COUNTERS_BY_DATA:
        return bits(FAB_COLUMN_XMIT_DATA, FAB_COLUMN_RCV_DATA + 1);
    case COUNTERS_BY_PACKETS:
        return bits(FAB_COLUMN_XMIT_DATA, FAB_COLUMN_RCV_PKTS + 1);
    case COUNTERS_BY_WAIT:
        return bits(FAB_COLUMN_XMIT_WAIT, FAB_COLUMN_XMIT_WAIT + 1);
    case COUNTERS_BY_ERRORS:
        break;
    }
    return bits(FAB_COLUMN_ERRORS, FAB_COLUMN_DOWN);
}

/* Returns the bitset of the columns that a list of ports shows: rates, errors and down time. */
static uint64_t listed_columns(void)
{
    return bits(0, FAB_COLUMN_RATES) | bits(FAB_COLUMN_ERRORS, FAB_COLUMN_DOWN + 1);
}

/* ---- the samples of a group ------------------------------------------------------------------ */

/* A sample belongs to a period if its end is in (since, until]. */
struct period {
    int64_t since, until;
};

struct sums {
    struct fab_rollup rollup;
    uint64_t columns;
    int64_t unit;         /* duration of a roll-up of the level that is being read */
    struct period wanted; /* the samples to add */
    struct period added;  /* the units to which the added samples belong */
};

static int add_sums(void *ctx, struct fab_counters_block *b)
{
    struct sums *g = ctx;
    fab_counters_rollup_add(&g->rollup, b, g->columns, g->wanted.since, g->wanted.until);
    for (uint32_t s = 0; s < b->samples; s++) {
        int64_t end = b->time[s].end, unit = (end - 1) / g->unit * g->unit;
        if (end <= g->wanted.since || end > g->wanted.until)
            continue;
        g->added.since = unit < g->added.since ? unit : g->added.since;
        g->added.until = unit + g->unit > g->added.until ? unit + g->unit : g->added.until;
    }
    return FAB_OK;
}

static int add_level(struct counters_reader *r, unsigned level, uint32_t group,
                     const struct period *p, struct sums *g)
{
    g->unit = level > 0 ? counters_unit(level - 1) : 1;
    g->wanted = *p;
    g->added = (struct period){INT64_MAX, INT64_MIN};
    return counters_reader_blocks(r, level, group, p->since, p->until, g->columns, add_sums, g);
}

/* Adds the samples of the period: roll-ups of this level for the units that are completely in the
 * period, and samples of finer levels before and after them. */
static int add_period(struct counters_reader *r, unsigned level, uint32_t group, struct period p,
                      struct sums *g)
{
    if (p.since >= p.until)
        return FAB_OK;
    if (level == 0)
        return add_level(r, level, group, &p, g);
    int64_t unit = counters_unit(level - 1);
    const struct period whole = {(p.since + unit - 1) / unit * unit, p.until / unit * unit};
    struct period added = {p.until, p.until};
    int status = FAB_OK;
    if (whole.since < whole.until) {
        status = add_level(r, level, group, &whole, g);
        if (g->added.since < g->added.until)
            added = g->added;
    }
    if (status == FAB_OK)
        status = add_period(r, level - 1, group, (struct period){p.since, added.since}, g);
    if (status == FAB_OK)
        status = add_period(r, level - 1, group, (struct period){added.until, p.until}, g);
    return status;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

struct top {
    struct counters_reader r;
    struct period period;
    enum counters_by by;
    bool (*stopped)(void *ctx);
    void *ctx;
    struct counters_node *node; /* [node_count] all nodes of the history */
    size_t node_count, node_room;
    uint32_t ports;
    /* [ports] value: the value by which the port is ranked. listed: the port has a value. */
    uint64_t *value;
    bool *listed;
    struct sums sums; /* those of one group */
};

static int read_nodes(struct top *t)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(t->r.db, "SELECT guid, first, ports FROM node", -1, &stmt, NULL);
    int status = sql_status(code);
    while (status == FAB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t first = sqlite3_column_int64(stmt, 1), ports = sqlite3_column_int64(stmt, 2);
        void *grown = t->node;
        if (t->node_count == t->node_room)
            grown = fab_base_grow(t->node, sizeof(*t->node), t->node_count + 1, &t->node_room);
        if (grown == NULL)
            status = FAB_E_NOMEM;
        else if (ports < 0 || ports > 254 || first < 0 ||
                 first + ports >= (int64_t)COUNTERS_GROUPS * FAB_BLOCK_PORTS)
            status = FAB_E_FORMAT;
        if (grown != NULL)
            t->node = grown;
        if (status != FAB_OK)
            break;
        t->node[t->node_count++] =
            (struct counters_node){.guid = (uint64_t)sqlite3_column_int64(stmt, 0),
                                   .first = (uint32_t)first,
                                   .ports = (uint8_t)ports};
        if (t->ports <= (uint32_t)(first + ports))
            t->ports = (uint32_t)(first + ports) + 1;
    }
    sqlite3_finalize(stmt);
    return status == FAB_OK && code != SQLITE_DONE ? sql_status(code) : status;
}

static int read_sums(struct top *t, uint32_t group, uint64_t columns)
{
    if (t->stopped(t->ctx))
        return FAB_E_BUSY;
    fab_counters_rollup_clear(&t->sums.rollup, columns);
    t->sums.columns = columns;
    return add_period(&t->r, FAB_ROLLUP_LEVELS - 1, group, t->period, &t->sums);
}

/* Reads the codes of a port of the group whose sums were read last. */
static void get_codes(const struct top *t, uint32_t port, uint16_t ret[FAB_COLUMNS])
{
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        ret[c] = t->sums.columns >> c & 1
                     ? fab_counters_rollup_code(&t->sums.rollup, c, port % FAB_BLOCK_PORTS)
                     : 0;
}

/* Returns true if the port belongs in the list. In lists by data or packets, this is a port with a
 * known rate; in the other lists, a port with a value above 0. */
static bool is_listed(enum counters_by by, uint64_t value, const uint16_t code[FAB_COLUMNS])
{
    bool by_rate = by == COUNTERS_BY_DATA || by == COUNTERS_BY_PACKETS;
    return value > 0 || (by_rate && (code[FAB_COLUMN_XMIT_DATA] != FAB_CODE_NONE ||
                                     code[FAB_COLUMN_RCV_DATA] != FAB_CODE_NONE));
}

static int read_values(struct top *t)
{
    uint16_t code[FAB_COLUMNS];
    t->value = calloc(t->ports + 1u, sizeof(*t->value));
    t->listed = calloc(t->ports + 1u, sizeof(*t->listed));
    int status = t->value != NULL && t->listed != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t first = 0; first < t->ports && status == FAB_OK; first += FAB_BLOCK_PORTS) {
        status = read_sums(t, first / FAB_BLOCK_PORTS, ranking_columns(t->by));
        for (uint32_t p = first; status == FAB_OK && p < t->ports && p < first + FAB_BLOCK_PORTS;
             p++) {
            get_codes(t, p, code);
            t->value[p] = counters_rank_value(t->by, code);
            t->listed[p] = is_listed(t->by, t->value[p], code);
        }
    }
    return status;
}

/* ---- the ranks ------------------------------------------------------------------------------- */

/* Ranks the ports. The id of an entry has the index of the node in its upper bits, and the port
 * number in the lowest 8 bits. Returns the number of listed ports. */
static uint32_t rank(const struct top *t, struct fab_rank *ret)
{
    uint32_t ports = 0;
    for (size_t i = 0; i < t->node_count; i++)
        for (uint32_t p = 0; p <= t->node[i].ports; p++)
            if (t->listed[t->node[i].first + p]) {
                ports++;
                fab_counters_rank_add(ret, (uint64_t)i << 8 | p, t->value[t->node[i].first + p]);
            }
    fab_counters_rank_sort(ret);
    return ports;
}

static uint32_t place_of(const struct top *t, const struct fab_rank_entry *e)
{
    return t->node[e->id >> 8].first + (uint32_t)(e->id & 0xff);
}

/* Reads the columns that the list shows for the ranked ports; each group is read once. */
static int read_ranked(struct top *t, const struct fab_rank *rank, struct counters_total *ret)
{
    for (uint32_t i = 0; i < rank->count; i++)
        ret[i] = (struct counters_total){.guid = t->node[rank->entry[i].id >> 8].guid,
                                         .port = (uint8_t)(rank->entry[i].id & 0xff)};
    bool *done = calloc(rank->count + 1u, sizeof(*done));
    int status = done != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < rank->count && status == FAB_OK; i++) {
        uint32_t group = place_of(t, &rank->entry[i]) / FAB_BLOCK_PORTS;
        if (done[i])
            continue;
        status = read_sums(t, group, listed_columns());
        for (uint32_t k = i; k < rank->count && status == FAB_OK; k++)
            if (place_of(t, &rank->entry[k]) / FAB_BLOCK_PORTS == group) {
                get_codes(t, place_of(t, &rank->entry[k]), ret[k].code);
                done[k] = true;
            }
    }
    free(done);
    return status;
}

static int make_list(struct top *t, uint32_t most, struct counters_total **ret, uint32_t *ret_count,
                     uint32_t *ret_ports)
{
    struct fab_rank_entry *entry = calloc(most + UINT64_C(1), sizeof(*entry));
    struct counters_total *total = calloc(most + UINT64_C(1), sizeof(*total));
    struct fab_rank ranks;
    int status = entry != NULL && total != NULL ? FAB_OK : FAB_E_NOMEM;
    fab_counters_rank_init(&ranks, entry, most);
    uint32_t ports = status == FAB_OK ? rank(t, &ranks) : 0;
    if (status == FAB_OK)
        status = read_ranked(t, &ranks, total);
    free(entry);
    if (status != FAB_OK) {
        free(total);
        return status;
    }
    *ret = total;
    *ret_count = ranks.count;
    *ret_ports = ports;
    return FAB_OK;
}

/* Returns `since`. If the finer levels do not reach back to `since`, returns instead the beginning
 * of the finest roll-up that contains `since`. */
static int64_t begin_of(struct counters *c, int64_t since)
{
    struct counters_health h;
    counters_get_health(c, &h);
    for (unsigned level = 0; level + 1 < FAB_ROLLUP_LEVELS; level++) {
        int64_t begin = h.oldest[level] - (level > 0 ? counters_unit(level - 1) : 0);
        if (h.oldest[level] != 0 && begin <= since)
            break;
        since = since / counters_unit(level) * counters_unit(level);
    }
    return since;
}

int counters_read_top(struct counters *c, int64_t since, int64_t until, enum counters_by by,
                      uint32_t most, bool (*stopped)(void *ctx), void *ctx,
                      struct counters_total **ret, uint32_t *ret_count, uint32_t *ret_ports)
{
    struct top *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return FAB_E_NOMEM;
    t->period = (struct period){begin_of(c, since > 0 ? since : 0), until};
    t->by = by;
    t->stopped = stopped;
    t->ctx = ctx;
    int status = counters_reader_init(&t->r, c);
    if (status == FAB_OK) {
        status = read_nodes(t);
        if (status == FAB_OK)
            status = read_values(t);
        if (status == FAB_OK)
            status = make_list(t, most, ret, ret_count, ret_ports);
        counters_reader_fini(&t->r);
    }
    free(t->node);
    free(t->value);
    free(t->listed);
    free(t);
    return status;
}
