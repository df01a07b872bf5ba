/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads numbers. Unlike strtoul, these functions do not depend on the locale and cannot overflow.
 */
#include "libfabmgr/base/digits.h"

unsigned fab_base_digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

const char *fab_base_digits_read(const char *at, const char *end, unsigned base, uint64_t most,
                                 uint64_t *ret)
{
    const char *start = at;
    uint64_t value = 0;
    for (; at < end && fab_base_digit_value(*at) < base; at++) {
        unsigned digit = fab_base_digit_value(*at);
        if (digit > most || value > (most - digit) / base)
            return NULL;
        value = value * base + digit;
    }
    if (at > start)
        *ret = value;
    return at;
}

bool fab_base_digits_parse(const char *text, size_t len, unsigned base, uint64_t most,
                           uint64_t *ret)
{
    uint64_t value;
    if (len == 0 || fab_base_digits_read(text, text + len, base, most, &value) != text + len)
        return false;
    *ret = value;
    return true;
}
