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

/* The samples of one port in one column. */
struct series {
    const uint16_t *code;                 /* [count] */
    const struct fab_counters_time *time; /* [count] */
    uint32_t count;
};

static void add_counts(uint64_t *sum, unsigned column, const struct series *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        *sum = plus(*sum, fab_counters_decode_value(column, s->code[i]));
}

/* *peak becomes the greatest of its value and the rates in the series. Returns false if the series
 * has no rate. */
static bool add_peak(uint64_t *peak, const struct series *s)
{
    uint16_t greatest = FAB_CODE_NONE;
    for (uint32_t i = 0; i < s->count; i++)
        greatest = s->code[i] > greatest ? s->code[i] : greatest;
    uint64_t value = fab_counters_decode_value(0, greatest);
    *peak = value > *peak ? value : *peak;
    return greatest != FAB_CODE_NONE;
}

static void add_rates(uint64_t *sum, uint64_t *seconds, const struct series *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t product;
        if (s->code[i] == FAB_CODE_NONE)
            continue;
        if (__builtin_mul_overflow(fab_counters_decode_value(0, s->code[i]), s->time[i].span_s,
                                   &product))
            product = UINT64_MAX;
        *sum = plus(*sum, product);
        *seconds += s->time[i].span_s;
    }
}

static void add_series(struct fab_rollup_port *r, unsigned column, const struct series *s)
{
    unsigned peak = is_peak(column) ? column : peak_of(column);
    if (fab_column_is_count(column)) {
        add_counts(&r->sum[column], column, s);
        return;
    }
    if (!is_peak(column))
        add_rates(&r->sum[column], &r->seconds[column], s);
    if (peak < FAB_COLUMNS && add_peak(&r->sum[peak], s))
        r->seconds[peak] = 1;
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
            add_series(&r[p], c,
                       &(struct series){b->code[c] + (size_t)p * b->samples + first,
                                        b->time + first, end - first});
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
