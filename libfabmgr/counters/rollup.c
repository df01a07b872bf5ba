/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/rollup.h"

#include <stdlib.h>
#include <string.h>

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

/* Raises *peak to the greatest rate in the series, if this rate is higher. Returns false if the
 * series has no rate. */
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

static void add_series(struct fab_rollup *r, unsigned column, uint32_t port, const struct series *s)
{
    if (fab_column_is_count(column))
        add_counts(&r->sum[column][port], column, s);
    else if (!is_peak(column))
        add_rates(&r->sum[column][port], &r->seconds[column][port], s);
    else if (add_peak(&r->sum[column][port], s))
        r->seconds[column][port] = 1;
}

/* Adds the samples `first` to `end` - 1 in the column `from` of a block to the sums of `column`. */
static void add_column(struct fab_rollup *r, unsigned column, const struct fab_counters_block *b,
                       unsigned from, uint32_t first, uint32_t end)
{
    for (uint32_t p = 0; p < b->ports; p++)
        add_series(r, column, p,
                   &(struct series){b->code[from] + (size_t)p * b->samples + first, b->time + first,
                                    end - first});
}

void fab_counters_rollup_clear(struct fab_rollup *r, uint64_t columns)
{
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        if (columns >> c & 1) {
            memset(r->sum[c], 0, sizeof r->sum[c]);
            memset(r->seconds[c], 0, sizeof r->seconds[c]);
        }
}

void fab_counters_rollup_add(struct fab_rollup *r, const struct fab_counters_block *b,
                             uint64_t columns, int64_t after, int64_t until)
{
    uint32_t first = 0, end = b->samples;
    while (first < end && b->time[first].end <= after)
        first++;
    while (end > first && b->time[end - 1].end > until)
        end--;
    for (unsigned c = 0; c < FAB_COLUMNS; c++) {
        unsigned peak = peak_of(c);
        if (b->code[c] == NULL)
            continue;
        if (columns >> c & 1)
            add_column(r, c, b, c, first, end);
        if (peak < FAB_COLUMNS && (columns >> peak & 1))
            add_column(r, peak, b, c, first, end);
    }
}

uint16_t fab_counters_rollup_code(const struct fab_rollup *r, unsigned column, uint32_t port)
{
    uint64_t sum = r->sum[column][port], seconds = r->seconds[column][port];
    if (fab_column_is_count(column))
        return fab_counters_encode_value(column, sum);
    if (seconds == 0)
        return FAB_CODE_NONE;
    /* the mean is rounded up, because users would take 0 for no traffic at all */
    uint64_t mean = sum / seconds + (sum % seconds != 0);
    return fab_counters_encode_value(column, is_peak(column) ? sum : mean);
}

int fab_counters_rollup(const struct fab_counters_block *from, struct fab_counters_time time,
                        struct fab_counters_block *ret)
{
    struct fab_counters_block b;
    int status = fab_counters_block_init(&b, from->ports, 1);
    if (status != FAB_OK)
        return status;
    struct fab_rollup *r = calloc(1, sizeof *r);
    if (r == NULL)
        status = FAB_E_NOMEM;
    else
        fab_counters_rollup_add(r, from, FAB_BLOCK_ALL, INT64_MIN, INT64_MAX);
    b.time[0] = time;
    for (uint32_t p = 0; p < from->ports && status == FAB_OK; p++)
        for (unsigned c = 0; c < FAB_COLUMNS && status == FAB_OK; c++)
            status = fab_counters_block_set(&b, c, p, 0, fab_counters_rollup_code(r, c, p));
    free(r);
    if (status == FAB_OK)
        *ret = b;
    else
        fab_counters_block_fini(&b);
    return status;
}
