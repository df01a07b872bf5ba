/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Codes of values: a floating-point number with a mantissa of 7 bits, of which the highest is
 * always 1 and is not stored. Codes ascend with the values. The difference between two codes shows
 * the ratio of their values: a difference of 64 stands for a factor of two. So similar values have
 * codes with small differences, which encode.c stores in one byte.
 */
#include "libfabmgr/counters/column.h"

static uint16_t code_of(uint64_t value)
{
    if (value < FAB_CODE_EXACT)
        return (uint16_t)value;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    uint64_t half = UINT64_C(1) << (exponent - FAB_CODE_MANTISSA - 1);
    value = value > UINT64_MAX - half ? UINT64_MAX : value + half;
    exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned mantissa =
        (unsigned)(value >> (exponent - FAB_CODE_MANTISSA)) & ((1u << FAB_CODE_MANTISSA) - 1);
    return (uint16_t)(FAB_CODE_EXACT + ((exponent - FAB_CODE_MANTISSA - 1) << FAB_CODE_MANTISSA) +
                      mantissa);
}

uint16_t fab_counters_encode_value(unsigned column, uint64_t value)
{
    return (uint16_t)(code_of(value) + !fab_column_is_count(column));
}
