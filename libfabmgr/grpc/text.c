/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the grpc-timeout header, encodes and decodes grpc-message, and cleans UTF-8
 * text. A node description can hold any bytes, but protobuf strings must be UTF-8, and control
 * characters could disturb an operator's terminal. */
#include "libfabmgr/grpc/grpc.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define YEAR_US (365ull * 24 * 3600 * 1000000)

struct unit {
    char letter;
    uint64_t ns;
};
/* The units of grpc-timeout in ns, in ascending order. */
static const struct unit units[] = {
    {'n', 1},          {'u', 1000},        {'m', 1000000},
    {'S', 1000000000}, {'M', 60000000000}, {'H', 3600000000000},
};
#define UNIT_COUNT (sizeof units / sizeof units[0])

int fab_grpc_timeout_parse(const char *text, uint64_t *ret_us)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 9; digits++)
        value = value * 10 + (uint64_t)(text[digits] - '0');
    if (digits == 0 || digits > 8 || text[digits] == '\0' || text[digits + 1] != '\0')
        return FAB_E_FORMAT;
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (units[i].letter != text[digits])
            continue;
        uint64_t us = units[i].ns >= 1000 ? value * (units[i].ns / 1000) : (value + 999) / 1000;
        *ret_us = us < YEAR_US ? us : YEAR_US;
        return FAB_OK;
    }
    return FAB_E_FORMAT;
}

void fab_grpc_timeout_format(uint64_t us, char text[16])
{
    if (us > YEAR_US)
        us = YEAR_US;
    for (size_t i = 1; i < UNIT_COUNT; i++) {
        uint64_t unit = units[i].ns / 1000;
        uint64_t value = (us + unit - 1) / unit;
        if (value <= 99999999) {
            snprintf(text, 16, "%u%c", (unsigned)value, units[i].letter);
            return;
        }
    }
}

/* Returns the length in bytes of the valid UTF-8 character at t (Unicode Standard, table 3-7); 0:
 * no valid character begins at t. */
static size_t utf8_char(const unsigned char *t, size_t len)
{
    if (t[0] < 0x80)
        return 1;
    size_t n = t[0] >= 0xc2 && t[0] <= 0xdf   ? 2
               : t[0] >= 0xe0 && t[0] <= 0xef ? 3
               : t[0] >= 0xf0 && t[0] <= 0xf4 ? 4
                                              : 0;
    if (n == 0 || n > len)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((t[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (t[0] == 0xe0 && t[1] < 0xa0) || (t[0] == 0xf0 && t[1] < 0x90);
    bool surrogate = t[0] == 0xed && t[1] > 0x9f;
    bool beyond = t[0] == 0xf4 && t[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : n;
}

/* Returns true if the character is a control character of the sets C0 and C1, or DEL. */
static bool is_control(const unsigned char *t, size_t n)
{
    return (n == 1 && (t[0] < 0x20 || t[0] == 0x7f)) || (n == 2 && t[0] == 0xc2 && t[1] < 0xa0);
}

size_t fab_grpc_utf8_clean(const char *text, size_t len, char *ret, size_t ret_len)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *t = (const unsigned char *)text;
    size_t out = 0;
    for (size_t i = 0; i < len && ret_len > 0;) {
        size_t n = utf8_char(t + i, len - i);
        bool keep = n > 0 && !is_control(t + i, n);
        const char *from = keep ? text + i : replacement;
        size_t from_len = keep ? n : 3;
        if (out + from_len >= ret_len)
            break;
        memcpy(ret + out, from, from_len);
        out += from_len;
        i += n > 0 ? n : 1;
    }
    if (ret_len > 0)
        ret[out] = '\0';
    return out;
}

size_t fab_grpc_percent_encode(const char *text, char *ret, size_t ret_len)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t out = 0;
    for (const unsigned char *t = (const unsigned char *)text; *t != '\0'; t++) {
        bool plain = *t >= 0x20 && *t < 0x7f && *t != '%';
        if (out + (plain ? 1 : 3) >= ret_len)
            break;
        if (plain) {
            ret[out++] = (char)*t;
            continue;
        }
        ret[out++] = '%';
        ret[out++] = hex[*t >> 4];
        ret[out++] = hex[*t & 15];
    }
    if (ret_len > 0)
        ret[out] = '\0';
    return out;
}

size_t fab_grpc_percent_decode(const char *text, size_t len, char *ret, size_t ret_len)
{
    size_t out = 0;
    for (size_t i = 0; i < len && out + 1 < ret_len; i++) {
        bool coded = text[i] == '%' && i + 2 < len && fab_base_digit_value(text[i + 1]) < 16 &&
                     fab_base_digit_value(text[i + 2]) < 16;
        ret[out++] =
            coded
                ? (char)(fab_base_digit_value(text[i + 1]) * 16 + fab_base_digit_value(text[i + 2]))
                : text[i];
        i += coded ? 2 : 0;
    }
    if (ret_len > 0)
        ret[out] = '\0';
    return out;
}
