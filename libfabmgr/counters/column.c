/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Codes of values: a floating-point number with a mantissa of 7 bits, of which the highest is
 * always 1 and is not stored. Codes ascend with the values. The difference of two codes is the
 * ratio of their values: a difference of 64 is a factor of two. So similar values have codes with
 * small differences, which encode.c stores in one byte.
 */
#include "libfabmgr/counters/column.h"

#define EXACT 128u /* values below this number are equal to their codes */
#define MANTISSA 6 /* number of bits of the mantissa that a code contains */

static uint16_t code_of(uint64_t value)
{
    if (value < EXACT)
        return (uint16_t)value;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    uint64_t half = UINT64_C(1) << (exponent - MANTISSA - 1);
    value = value > UINT64_MAX - half ? UINT64_MAX : value + half;
    exponent = 63u - (unsigned)__builtin_clzll(value);
    unsigned mantissa = (unsigned)(value >> (exponent - MANTISSA)) & ((1u << MANTISSA) - 1);
    return (uint16_t)(EXACT + ((exponent - MANTISSA - 1) << MANTISSA) + mantissa);
}

static uint64_t value_of(uint16_t code)
{
    if (code < EXACT)
        return code;
    unsigned exponent = ((code - EXACT) >> MANTISSA) + 1;
    uint64_t mantissa = (1u << MANTISSA) + ((code - EXACT) & ((1u << MANTISSA) - 1));
    return exponent > 63 - MANTISSA ? UINT64_MAX : mantissa << exponent;
}

uint16_t fab_counters_encode_value(unsigned column, uint64_t value)
{
    return (uint16_t)(code_of(value) + !fab_column_is_count(column));
}

uint64_t fab_counters_decode_value(unsigned column, uint16_t code)
{
    if (fab_column_is_count(column))
        return value_of(code);
    return code == FAB_CODE_NONE ? 0 : value_of((uint16_t)(code - 1));
}
