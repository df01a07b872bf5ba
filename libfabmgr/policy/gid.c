/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads GIDs. A GID has eight groups of up to four hexadecimal digits, separated by colons. "::"
 * stands for one or more groups of zeros, and may occur once. */
#include "libfabmgr/policy/gid.h"

#include <stddef.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

#define GROUPS 8

/* Reads a group of hexadecimal digits at s. Returns its length in characters; 0: no group begins at
 * s. */
static size_t read_group(const char *s, uint16_t *ret)
{
    uint64_t value = 0;
    const char *stop = fab_base_digits_read(s, s + strnlen(s, 4), 16, UINT16_MAX, &value);
    *ret = (uint16_t)value;
    return (size_t)(stop - s);
}

int fab_policy_gid_parse(const char *text, uint8_t ret_gid[16])
{
    uint16_t group[GROUPS] = {0};
    unsigned count = 0, gap = GROUPS + 1;
    const char *s = text;
    if (s[0] == ':' && s[1] != ':')
        return FAB_E_FORMAT;
    while (*s != '\0') {
        if (s[0] == ':' && s[1] == ':') {
            if (gap <= GROUPS)
                return FAB_E_FORMAT;
            gap = count;
            s += 2;
            continue;
        }
        s += count > 0 && gap != count && *s == ':';
        size_t n = count < GROUPS ? read_group(s, &group[count]) : 0;
        if (n == 0 || (s[n] != ':' && s[n] != '\0'))
            return FAB_E_FORMAT;
        s += n;
        count++;
    }
    if (gap > GROUPS ? count != GROUPS : count == GROUPS)
        return FAB_E_FORMAT;
    for (unsigned i = 0; i < GROUPS; i++) {
        /* index in the GID of the first group after the "::"; the groups have the indexes 0 to 7 */
        unsigned tail = GROUPS - (count - gap);
        unsigned value = gap > GROUPS || i < gap ? group[i] : i >= tail ? group[i - tail + gap] : 0;
        ret_gid[2 * i] = (uint8_t)(value >> 8);
        ret_gid[2 * i + 1] = (uint8_t)value;
    }
    return FAB_OK;
}
