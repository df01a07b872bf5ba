/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds ports with rising error rates, and links whose ends counted different traffic, from the
 * roll-ups of 15 minutes. */
#include <stdlib.h>

#include "fabricd/store/counters_write.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/counters/trend.h"
#include "libfabmgr/fabric/fabric.h"

/* The same kind of finding about a port is reported at most once in this time. */
#define REPEAT_S FAB_ROLLUP_DAY

/* ---- reports --------------------------------------------------------------------------------- */

/* Returns true if the same kind of finding was reported for this port in the last day. Otherwise
 * stores that it is reported now; if the list is full, this replaces the oldest entry. */
static bool was_told(struct counters_writer *w, uint32_t port, int kind, int64_t now)
{
    const size_t room = sizeof(w->told) / sizeof(*w->told);
    size_t at = w->told_count < room ? w->told_count : 0;
    for (size_t i = 0; i < w->told_count; i++) {
        if (w->told[i].port == port && w->told[i].kind == kind) {
            if (now - w->told[i].time < REPEAT_S && now >= w->told[i].time)
                return true;
            at = i;
            break;
        }
        if (w->told_count == room && w->told[i].time < w->told[at].time)
            at = i;
    }
    if (at == w->told_count)
        w->told_count++;
    w->told[at] = (struct counters_told){now, port, kind};
    return false;
}

/* Returns the node that has the port with this number; NULL: no node has it. */
static const struct counters_known *owner_of(const struct counters_writer *w, uint32_t port)
{
    for (size_t i = 0; i < w->node_count; i++)
        if (port >= w->node[i].first && port - w->node[i].first <= w->node[i].ports)
            return &w->node[i];
    return NULL;
}

/* Sets the node and the port of the finding, and adds it to w->finding[]. Does nothing if no node
 * has the port, the list is full, or this kind of finding was reported for the port in the last
 * day. */
static void add(struct counters_writer *w, uint32_t port, int64_t now,
                struct counters_finding *finding)
{
    const struct counters_known *node = owner_of(w, port);
    if (node == NULL || w->finding_count == COUNTERS_FINDINGS ||
        was_told(w, port, (int)finding->kind, now))
        return;
    finding->guid = node->guid;
    finding->port = (uint8_t)(port - node->first);
    w->finding[w->finding_count++] = *finding;
}

/* ---- asymmetry ------------------------------------------------------------------------------- */

int counters_quarter_init(struct counters_quarter *q, uint32_t ports, int64_t begin, int64_t end)
{
    *q = (struct counters_quarter){.begin = begin, .end = end};
    for (int way = 0; way < 2; way++) {
        q->sum[way] = calloc(ports, sizeof(*q->sum[way]));
        q->seconds[way] = calloc(ports, sizeof(*q->seconds[way]));
        if (q->sum[way] == NULL || q->seconds[way] == NULL)
            return FAB_E_NOMEM;
    }
    return FAB_OK;
}

void counters_quarter_fini(struct counters_quarter *q)
{
    for (int way = 0; way < 2; way++) {
        free(q->sum[way]);
        free(q->seconds[way]);
    }
    *q = (struct counters_quarter){0};
}

void counters_quarter_add(struct counters_quarter *q, uint32_t group,
                          const struct fab_counters_block *b)
{
    const uint64_t columns = UINT64_C(1) << FAB_COLUMN_XMIT_DATA | UINT64_C(1)
                                                                       << FAB_COLUMN_RCV_DATA;
    struct fab_rollup r;
    fab_counters_rollup_clear(&r, columns);
    fab_counters_rollup_add(&r, b, columns, q->begin, q->end);
    for (uint32_t p = 0; p < b->ports; p++)
        for (int way = 0; way < 2; way++) {
            q->sum[way][group * FAB_BLOCK_PORTS + p] = r.sum[FAB_COLUMN_XMIT_DATA + way][p];
            q->seconds[way][group * FAB_BLOCK_PORTS + p] =
                (uint32_t)r.seconds[FAB_COLUMN_XMIT_DATA + way][p];
        }
}

void counters_find_asymmetry(struct counters_writer *w, const struct counters_quarter *q)
{
    for (uint32_t a = 0; a < w->ports && a < w->room; a++) {
        uint32_t b = w->peer[a];
        /* Compare the two ends only if their samples cover the same time. If the durations differ,
         * the history lacks a sample of one end. */
        if (b >= w->ports || q->seconds[0][a] == 0 || q->seconds[0][a] != q->seconds[1][b])
            continue;
        struct counters_finding f = {.kind = COUNTERS_ASYMMETRY,
                                     .sent = q->sum[0][a] / q->seconds[0][a],
                                     .received = q->sum[1][b] / q->seconds[1][b]};
        if (fab_counters_differ(f.sent, f.received))
            add(w, a, q->end, &f);
    }
}

/* ---- rising errors --------------------------------------------------------------------------- */

/* The errors of the ports of a group in the last FAB_TREND_STEPS quarters of an hour, oldest
 * first. */
struct errors {
    int64_t begin;
    uint64_t count[FAB_BLOCK_PORTS][FAB_TREND_STEPS];
    bool has[FAB_TREND_STEPS]; /* true: the history has a roll-up of this quarter of an hour */
};

/* Returns how many errors of the link itself a sample of the port has. *ret_worst: the counter with
 * the most of these errors; not set if there are none. */
static uint64_t errors_of(const struct fab_counters_block *b, uint32_t port, uint32_t sample,
                          enum fab_counter *ret_worst)
{
    uint64_t sum = 0, most = 0;
    for (unsigned c = 0; c < FAB_COUNTERS; c++) {
        uint64_t n = fab_counters_decode_value(
            FAB_COLUMN_ERRORS, fab_counters_block_get(b, FAB_COLUMN_ERRORS + c, port, sample));
        if (!fab_health_counter_kinds[c].of_cable)
            continue;
        if (n > most) {
            most = n;
            *ret_worst = (enum fab_counter)c;
        }
        sum += n;
    }
    return sum;
}

static int add_errors(void *ctx, struct fab_counters_block *b)
{
    struct errors *e = ctx;
    enum fab_counter ignored;
    for (uint32_t s = 0; s < b->samples; s++) {
        int64_t step = (b->time[s].end - 1 - e->begin) / FAB_ROLLUP_QUARTER;
        if (b->time[s].end <= e->begin || step >= FAB_TREND_STEPS)
            continue;
        e->has[step] = true;
        for (uint32_t p = 0; p < b->ports; p++)
            e->count[p][step] += errors_of(b, p, s, &ignored);
    }
    return FAB_OK;
}

static bool is_complete(const struct errors *e)
{
    for (int i = 0; i < FAB_TREND_STEPS; i++)
        if (!e->has[i])
            return false;
    return true;
}

static void report_rising(struct counters_writer *w, uint32_t group, int64_t end,
                          const struct fab_counters_block *now, const struct errors *e)
{
    for (uint32_t p = 0; p < now->ports; p++) {
        struct counters_finding f = {.kind = COUNTERS_RISING};
        if (errors_of(now, p, 0, &f.counter) == 0 || !fab_counters_rises(e->count[p]))
            continue;
        for (int i = 0; i < FAB_TREND_STEPS; i++)
            *(i < FAB_TREND_STEPS / 2 ? &f.before : &f.now) += e->count[p][i];
        add(w, group * FAB_BLOCK_PORTS + p, end, &f);
    }
}

int counters_find_rising(struct counters_writer *w, uint32_t group, int64_t end,
                         const struct fab_counters_block *now)
{
    uint64_t columns = 0;
    bool any = false;
    for (unsigned c = 0; c < FAB_COUNTERS; c++) {
        columns |= UINT64_C(1) << (FAB_COLUMN_ERRORS + c);
        any |= fab_health_counter_kinds[c].of_cable && now->code[FAB_COLUMN_ERRORS + c] != NULL;
    }
    struct errors *e = any ? calloc(1, sizeof(*e)) : NULL;
    if (e == NULL)
        return any ? FAB_E_NOMEM : FAB_OK;
    e->begin = end - (int64_t)FAB_TREND_STEPS * FAB_ROLLUP_QUARTER;
    /* Begin earlier by the time that a block covers, because the key of a block has the time of the
     * block's first roll-up. */
    int status = counters_db_blocks(w->sql[COUNTERS_SQL_BLOCKS],
                                    counters_key(1, group, e->begin - counters_unit(1)),
                                    counters_key(1, group, end), columns, add_errors, e);
    if (status == FAB_OK && is_complete(e))
        report_rising(w, group, end, now, e);
    free(e);
    return status;
}
