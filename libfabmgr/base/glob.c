/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a pattern from left to right. A set contains all positions in the text up to which the
 * elements of the pattern so far can match. Each element of the pattern moves these positions. The
 * pattern matches if, after its last element, the end of the text is in the set. */
#include "libfabmgr/base/glob.h"

#include <string.h>

#include "libfabmgr/base/host_list.h"

/* A set of positions in the text: position i is in the set if at[i] is true. No position outside of
 * `first` to `last` is in the set. */
struct places {
    bool at[FAB_GLOB_TEXT_MAX + 1];
    size_t first, last;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_letter(char pattern, char c)
{
    return pattern == '?' || lower(pattern) == lower(c) || (pattern == '/' && c == ' ');
}

/* Moves each position by one if the character of the text at this position matches `pattern`, a
 * character of the pattern; removes all other positions. Returns false if no position is left. */
static bool pass_letter(struct places *p, char pattern, const char *text, size_t len)
{
    size_t first = len + 1, last = 0;
    for (size_t i = p->last + 1; i-- > p->first;) {
        bool on = p->at[i] && i < len && same_letter(pattern, text[i]);
        p->at[i] = false;
        if (!on)
            continue;
        p->at[i + 1] = true;
        first = i + 1;
        last = last > i + 1 ? last : i + 1;
    }
    p->first = first;
    p->last = last;
    return first <= len;
}

static void pass_any_text(struct places *p, size_t len)
{
    for (size_t i = p->first; i <= len; i++)
        p->at[i] = true;
    p->last = len;
}

/* Returns true if digits[count] are a number that is in one of the ranges of the list. `list`
 * points to the character after the '['. */
static bool is_listed(const char *list, const char *digits, size_t count)
{
    struct fab_number_range r;
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (uint32_t)(digits[i] - '0');
    do {
        list = fab_base_read_range(list, &r);
        bool plain = count == r.width || (count > r.width && digits[0] != '0');
        if (plain && number >= r.first && number <= r.last)
            return true;
    } while (list[-1] == ',');
    return false;
}

/* Moves each position to the end of each number of the list that begins at this position in the
 * text; removes all other positions. Returns false if no position is left. */
static bool pass_number(struct places *p, const char *list, const char *text, size_t len)
{
    size_t first = len + 1, last = 0;
    for (size_t i = p->last + 1; i-- > p->first;) {
        bool on = p->at[i];
        p->at[i] = false;
        for (size_t n = 1; on && n <= FAB_RANGE_DIGITS_MAX && i + n <= len; n++) {
            if (text[i + n - 1] < '0' || text[i + n - 1] > '9')
                break;
            if (!is_listed(list, text + i, n))
                continue;
            p->at[i + n] = true;
            first = first < i + n ? first : i + n;
            last = last > i + n ? last : i + n;
        }
    }
    p->first = first;
    p->last = last;
    return first <= len;
}

/* Returns the position in the pattern after the list of numbers at `s`. Returns NULL if there is no
 * list at `s`, or if the list does not end before `end`. */
static const char *end_of_list(const char *s, const char *end)
{
    const char *after = *s == '[' ? fab_base_end_of_ranges(s + 1) : NULL;
    return after != NULL && after <= end ? after : NULL;
}

bool fab_base_is_glob(const char *text)
{
    const char *end = text + strlen(text);
    for (const char *s = text; *s != '\0'; s++)
        if (*s == '*' || *s == '?' || end_of_list(s, end) != NULL)
            return true;
    return false;
}

bool fab_base_glob_matches(const char *glob, size_t glob_len, const char *text, size_t len)
{
    struct places p;
    const char *end = glob + glob_len;
    if (len > FAB_GLOB_TEXT_MAX)
        return false;
    memset(p.at, 0, len + 1);
    p.at[0] = true;
    p.first = p.last = 0;
    for (const char *s = glob, *after; s < end; s = after) {
        bool any = true;
        after = end_of_list(s, end);
        if (after != NULL) {
            any = pass_number(&p, s + 1, text, len);
        } else if (*s == '*') {
            pass_any_text(&p, len);
        } else {
            any = pass_letter(&p, *s, text, len);
        }
        if (!any)
            return false;
        after = after != NULL ? after : s + 1;
    }
    return p.last == len;
}
