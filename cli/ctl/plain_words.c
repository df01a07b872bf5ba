/* SPDX-License-Identifier: BSD-3-Clause */
/* Distinguishes names from the words of fabricd's sources, which are public. */
#include "cli/ctl/plain_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/pseudonyms.h"
#include "libfabmgr/base/version.h"

static bool joins(char c)
{
    return c != '\0' && strchr("-_.@", c) != NULL;
}

size_t plain_words_token(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        if (pseudonyms_in_word(text[i]))
            n = i + 1;
        else if (!joins(text[i]))
            break;
    return n;
}

struct piece {
    const char *text;
    size_t len;
};

static int compare(const void *key, const void *entry)
{
    const struct piece *p = key;
    const char *word = *(const char *const *)entry;
    int order = strncasecmp(p->text, word, p->len);
    return order != 0 ? order : -(word[p->len] != '\0');
}

static bool is_word(const struct piece *p)
{
    if (p->len == 1 && isalpha((unsigned char)p->text[0]))
        return true;
    return bsearch(p, vocabulary, vocabulary_count, sizeof *vocabulary, compare) != NULL;
}

static size_t digits_of(const char *text, size_t len, int (*is)(int))
{
    size_t n = 0;
    while (n < len && is((unsigned char)text[n]))
        n++;
    return n;
}

static bool is_unit(const char *text, size_t len)
{
    /* "z" is in a time such as 2026-11-28T11:03:04Z, and "e" in a number such as 1e-05 */
    static const char *const units[] = {"ns", "us", "ms", "s",    "min", "h",   "d",   "x",
                                        "b",  "kb", "mb", "gb",   "kib", "mib", "gib", "tib",
                                        "k",  "m",  "g",  "gbps", "z",   "e",   "th"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i]) == len && strncasecmp(text, units[i], len) == 0)
            return true;
    return false;
}

static bool is_number(const struct piece *p)
{
    size_t n = digits_of(p->text, p->len, isdigit);
    if (n == 1 && p->len > 2 && p->len <= 10 && strncasecmp(p->text, "0x", 2) == 0)
        return digits_of(p->text + 2, p->len - 2, isxdigit) == p->len - 2;
    if (n > 0 && n + 1 < p->len && p->text[n] == 'T')
        return digits_of(p->text + n + 1, p->len - n - 1, isdigit) == p->len - n - 1;
    return n > 0 && (n == p->len || is_unit(p->text + n, p->len - n));
}

bool plain_words_is_device(const char *token, size_t len)
{
    static const char *const stems[] = {"HCA-", "mlx4_", "mlx5_", "hfi1_", "qib"};
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
        size_t n = strlen(stems[i]);
        if (len > n && memcmp(token, stems[i], n) == 0 &&
            digits_of(token + n, len - n, isdigit) == len - n)
            return true;
    }
    return false;
}

bool plain_words_has(const char *token, size_t len)
{
    bool words = true, numbers = true;
    const char *version = fab_base_version();
    if ((len == strlen(version) && memcmp(token, version, len) == 0) ||
        plain_words_is_device(token, len))
        return true;
    for (size_t at = 0; at < len;) {
        struct piece p = {.text = token + at};
        while (at + p.len < len && !joins(p.text[p.len]))
            p.len++;
        at += p.len + 1;
        if (p.len == 0)
            continue;
        words &= is_word(&p);
        numbers &= is_number(&p);
    }
    return words || numbers;
}

bool plain_words_only(const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        size_t n = pseudonyms_in_word(text[at]) ? plain_words_token(text + at, len - at) : 0;
        if (n > 0 && !plain_words_has(text + at, n))
            return false;
        at += n;
    }
    return true;
}
