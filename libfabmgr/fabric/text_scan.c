/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the tokens of topology files. Lines end with \n or \r\n; any number of spaces and tabs may
 * be between tokens.
 */
#include "libfabmgr/fabric/text_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

void fab_fabric_scan_init(struct text_scan *s, const char *text, size_t len,
                          struct fab_text_error *error)
{
    *s = (struct text_scan){.next = text, .end = text + len, .error = error};
}

bool fab_fabric_scan_line(struct text_scan *s)
{
    if (s->next == s->end)
        return false;
    const char *eol = memchr(s->next, '\n', (size_t)(s->end - s->next));
    s->line = s->at = s->next;
    s->ended = eol != NULL;
    s->eol = s->ended ? eol : s->end;
    s->next = s->ended ? eol + 1 : s->end;
    if (s->eol > s->line && s->eol[-1] == '\r')
        s->eol--;
    s->number++;
    return true;
}

static void skip_blanks(struct text_scan *s)
{
    while (s->at < s->eol && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

static size_t left(const struct text_scan *s)
{
    return (size_t)(s->eol - s->at);
}

bool fab_fabric_scan_is(struct text_scan *s, const char *word)
{
    skip_blanks(s);
    size_t len = strlen(word);
    return left(s) >= len && memcmp(s->at, word, len) == 0;
}

bool fab_fabric_scan_take(struct text_scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->eol || *s->at != c)
        return false;
    s->at++;
    return true;
}

bool fab_fabric_scan_at_end(struct text_scan *s)
{
    skip_blanks(s);
    return s->at == s->eol || *s->at == '#';
}

bool fab_fabric_scan_digit(struct text_scan *s)
{
    skip_blanks(s);
    return s->at < s->eol && *s->at >= '0' && *s->at <= '9';
}

/* ---- errors ---------------------------------------------------------------------------------- */

int fab_fabric_scan_fail(struct text_scan *s, const char *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    s->error->line = s->number;
    s->error->column = (uint32_t)(at - s->line) + 1;
    vsnprintf(s->error->message, sizeof s->error->message, fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

int fab_fabric_scan_unexpected(struct text_scan *s, const char *what)
{
    skip_blanks(s);
    if (s->at == s->eol)
        return fab_fabric_scan_fail(s, s->at, "expected %s, found the end of the line", what);
    char found[21];
    size_t len = left(s) < sizeof found - 1 ? left(s) : sizeof found - 1;
    for (size_t i = 0; i < len; i++)
        found[i] = s->at[i] >= ' ' && s->at[i] < 127 ? s->at[i] : '?';
    found[len] = '\0';
    return fab_fabric_scan_fail(s, s->at, "expected %s, found: %s", what, found);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

int fab_fabric_scan_expect(struct text_scan *s, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    return fab_fabric_scan_take(s, c) ? FAB_OK : fab_fabric_scan_unexpected(s, what);
}

int fab_fabric_scan_quoted(struct text_scan *s, const char *what, struct span *ret)
{
    if (!fab_fabric_scan_take(s, '"'))
        return fab_fabric_scan_unexpected(s, what);
    const char *close = memchr(s->at, '"', left(s));
    if (close == NULL)
        return fab_fabric_scan_fail(s, s->at - 1, "expected a closing quote after %s", what);
    *ret = (struct span){.s = s->at, .len = (size_t)(close - s->at)};
    s->at = close + 1;
    return FAB_OK;
}

/* Reads the digits of a number; at least one is required. `number` is the position where the number
 * begins, for the error message. */
static int digits(struct text_scan *s, const char *number, const char *what, unsigned base,
                  uint64_t max, uint64_t *ret)
{
    const char *stop = fab_base_digits_read(s->at, s->eol, base, max, ret);
    if (stop == NULL)
        return fab_fabric_scan_fail(s, number, "%s is too large, expected at most %llu", what,
                                    (unsigned long long)max);
    if (stop == s->at)
        return fab_fabric_scan_unexpected(s, what);
    s->at = stop;
    return FAB_OK;
}

/* Skips blanks, and then the prefix "0x" if there is one. Returns true if there is a prefix.
 * *ret_start receives the position at which the number begins, with its prefix. */
static bool hex_prefix(struct text_scan *s, const char **ret_start)
{
    bool there = fab_fabric_scan_is(s, "0x") || fab_fabric_scan_is(s, "0X");
    *ret_start = s->at;
    s->at += there ? 2 : 0;
    return there;
}

int fab_fabric_scan_number(struct text_scan *s, const char *what, uint64_t max, uint64_t *ret)
{
    const char *start;
    unsigned base = hex_prefix(s, &start) ? 16 : 10;
    return digits(s, start, what, base, max, ret);
}

int fab_fabric_scan_hex(struct text_scan *s, const char *what, uint64_t *ret)
{
    const char *start;
    hex_prefix(s, &start);
    return digits(s, start, what, 16, UINT64_MAX, ret);
}

int fab_fabric_scan_end(struct text_scan *s)
{
    return fab_fabric_scan_at_end(s)
               ? FAB_OK
               : fab_fabric_scan_unexpected(s, "a comment or the end of the line");
}
