/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of the history of counters. A sample of a port has one value in each column: rates of
 * traffic, increases of error counters, and seconds without a link. The history stores each value
 * as a code of 16 bits, which is exact for values below 128, and otherwise has a relative error of
 * at most 0.8 %.
 */
#ifndef LIBFABMGR_COUNTERS_COLUMN_H
#define LIBFABMGR_COUNTERS_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/health/counters.h"

#define FAB_COLUMN_VLS 16

enum fab_column {
    /* Rates: each value is the mean over the duration of the sample. A rate can be missing, for
     * example after a reset of the counter. */
    FAB_COLUMN_XMIT_DATA, /* bytes per second */
    FAB_COLUMN_RCV_DATA,
    FAB_COLUMN_XMIT_PKTS, /* packets per second */
    FAB_COLUMN_RCV_PKTS,
    /* share of the time in which the port had data to send but no credits, in parts per million */
    FAB_COLUMN_XMIT_WAIT,
    /* peaks: the highest rate that any sample has; only roll-ups have these columns */
    FAB_COLUMN_PEAK_XMIT_DATA,
    FAB_COLUMN_PEAK_RCV_DATA,
    FAB_COLUMN_PEAK_XMIT_WAIT,
    /* 16 columns, one for each VL: the part of FAB_COLUMN_XMIT_WAIT that this VL caused, in parts
     * per million */
    FAB_COLUMN_VL_WAIT,
    /* Increases of error counters, in the order of enum fab_counter. From here on, values are
     * counts, which can be added over several samples and are never missing. */
    FAB_COLUMN_ERRORS = FAB_COLUMN_VL_WAIT + FAB_COLUMN_VLS,
    /* number of seconds in which the link of the port was down */
    FAB_COLUMN_DOWN = FAB_COLUMN_ERRORS + FAB_COUNTERS,
    FAB_COLUMNS
};
/* number of columns with rates, before those with peaks */
#define FAB_COLUMN_RATES FAB_COLUMN_PEAK_XMIT_DATA

static inline bool fab_column_is_count(unsigned column)
{
    return column >= FAB_COLUMN_ERRORS;
}

/* code of a missing rate, and of a count of 0 */
#define FAB_CODE_NONE 0
#define FAB_CODE_END 3800 /* a number above all codes */

/* Returns the code of a value. Code 0 of a rate means that the rate is missing, so the code of a
 * rate is 1 higher than the code of a count with the same value. */
uint16_t fab_counters_encode_value(unsigned column, uint64_t value);

#define FAB_CODE_EXACT 128u /* counts below this number are equal to their codes */
#define FAB_CODE_MANTISSA 6 /* number of bits of the mantissa that a code contains */
static inline uint64_t fab_counters_value_of(unsigned code)
{
    if (code < FAB_CODE_EXACT)
        return code;
    unsigned exponent = ((code - FAB_CODE_EXACT) >> FAB_CODE_MANTISSA) + 1;
    uint64_t mantissa =
        (1u << FAB_CODE_MANTISSA) + ((code - FAB_CODE_EXACT) & ((1u << FAB_CODE_MANTISSA) - 1));
    return exponent > 63 - FAB_CODE_MANTISSA ? UINT64_MAX : mantissa << exponent;
}
/* Returns the value that a code stands for; 0 for a missing rate. */
static inline uint64_t fab_counters_decode_value(unsigned column, uint16_t code)
{
    if (fab_column_is_count(column))
        return fab_counters_value_of(code);
    return code == FAB_CODE_NONE ? 0 : fab_counters_value_of(code - 1u);
}

#endif
