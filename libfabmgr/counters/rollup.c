/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/rollup.h"

#include <stdlib.h>

#include "libfabmgr/base/status.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Returns the column that has the peaks of the rates in `column`; FAB_COLUMNS: there is none. */
static unsigned peak_of(unsigned column)
{
    return column == FAB_COLUMN_XMIT_DATA   ? FAB_COLUMN_PEAK_XMIT_DATA
           : column == FAB_COLUMN_RCV_DATA  ? FAB_COLUMN_PEAK_RCV_DATA
           : column == FAB_COLUMN_XMIT_WAIT ? FAB_COLUMN_PEAK_XMIT_WAIT
                                            : FAB_COLUMNS;
}

static bool is_peak(unsigned column)
{
    return column >= FAB_COLUMN_PEAK_XMIT_DATA && column <= FAB_COLUMN_PEAK_XMIT_WAIT;
}

static void raise(struct fab_rollup_port *r, unsigned peak, uint64_t value)
{
    r->sum[peak] = value > r->sum[peak] ? value : r->sum[peak];
    r->seconds[peak] = 1;
}

static void add_value(struct fab_rollup_port *r, unsigned column, uint16_t code, uint32_t span_s)
{
    uint64_t value = fab_counters_decode_value(column, code), product;
    if (fab_column_is_count(column)) {
        r->sum[column] = plus(r->sum[column], value);
        return;
    }
    if (code == FAB_CODE_NONE)
        return;
    if (is_peak(column)) {
        raise(r, column, value);
        return;
    }
    if (__builtin_mul_overflow(value, span_s, &product))
        product = UINT64_MAX;
    r->sum[column] = plus(r->sum[column], product);
    r->seconds[column] += span_s;
    if (peak_of(column) < FAB_COLUMNS)
        raise(r, peak_of(column), value);
}

void fab_counters_rollup_add(struct fab_rollup_port *r, const struct fab_counters_block *b,
                             uint64_t columns, int64_t after, int64_t until)
{
    uint32_t first = 0, end = b->samples;
    while (first < end && b->time[first].end <= after)
        first++;
    while (end > first && b->time[end - 1].end > until)
        end--;
    for (unsigned c = 0; c < FAB_COLUMNS; c++) {
        if (b->code[c] == NULL || (columns >> c & 1) == 0)
            continue;
        for (uint32_t p = 0; p < b->ports; p++)
            for (uint32_t s = first; s < end; s++)
                if (b->code[c][p * b->samples + s] != 0)
                    add_value(&r[p], c, b->code[c][p * b->samples + s], b->time[s].span_s);
    }
}

uint16_t fab_counters_rollup_code(const struct fab_rollup_port *r, unsigned column)
{
    if (fab_column_is_count(column))
        return fab_counters_encode_value(column, r->sum[column]);
    if (r->seconds[column] == 0)
        return FAB_CODE_NONE;
    uint64_t seconds = r->seconds[column];
    /* the mean is rounded up, because users would take 0 for no traffic at all */
    uint64_t mean = r->sum[column] / seconds + (r->sum[column] % seconds != 0);
    return fab_counters_encode_value(column, is_peak(column) ? r->sum[column] : mean);
}

int fab_counters_rollup(const struct fab_counters_block *from, struct fab_counters_time time,
                        struct fab_counters_block *ret)
{
    struct fab_counters_block b;
    int status = fab_counters_block_init(&b, from->ports, 1);
    if (status != FAB_OK)
        return status;
    struct fab_rollup_port *port = calloc(from->ports + 1u, sizeof *port);
    if (port == NULL)
        status = FAB_E_NOMEM;
    else
        fab_counters_rollup_add(port, from, FAB_BLOCK_ALL, INT64_MIN, INT64_MAX);
    b.time[0] = time;
    for (uint32_t p = 0; p < from->ports && status == FAB_OK; p++)
        for (unsigned c = 0; c < FAB_COLUMNS && status == FAB_OK; c++)
            status = fab_counters_block_set(&b, c, p, 0, fab_counters_rollup_code(&port[p], c));
    free(port);
    if (status == FAB_OK)
        *ret = b;
    else
        fab_counters_block_fini(&b);
    return status;
}
