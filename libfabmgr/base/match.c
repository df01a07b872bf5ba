/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches patterns greedily. After a '*', the function compares the rest of the pattern with the
 * text. If the rest does not match, the last '*' takes one more character of the text, and the
 * function compares again. */
#include "libfabmgr/base/match.h"

bool fab_base_pattern_matches(const char *pattern, const char *text, size_t len)
{
    const char *end = text + len, *star = NULL, *retry = NULL;
    while (text < end) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern != '\0' && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
