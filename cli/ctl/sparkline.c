/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/sparkline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEIGHTS 8u

static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (locale != NULL && locale[0] != '\0')
            return strstr(locale, "UTF-8") != NULL || strstr(locale, "utf8") != NULL;
    }
    return false;
}

/* Returns the greatest of the values that bar number `bar` stands for. */
static uint64_t value_of(const uint64_t *values, size_t count, size_t bars, size_t bar)
{
    size_t from = bar * count / bars, to = (bar + 1) * count / bars;
    uint64_t most = SPARKLINE_NONE;
    for (size_t i = from; i < to; i++)
        if (values[i] != SPARKLINE_NONE && (most == SPARKLINE_NONE || values[i] > most))
            most = values[i];
    return most;
}

void sparkline(const uint64_t *values, size_t count, uint64_t most, char ret[SPARKLINE_LEN])
{
    static const char *const blocks[HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[HEIGHTS] = {"_", ".", "-", "=", "+", "*", "#", "@"};
    const char *const *bars = has_utf8() ? blocks : ascii;
    size_t width = count < SPARKLINE_WIDTH ? count : SPARKLINE_WIDTH;
    char *to = ret;
    for (size_t i = 0; i < width; i++) {
        uint64_t value = value_of(values, count, width, i);
        double share = most > 0 ? (double)value / (double)most : 0;
        unsigned height = share >= 1 ? HEIGHTS - 1 : (unsigned)(share * HEIGHTS);
        const char *bar = value == SPARKLINE_NONE ? " " : bars[value == 0 ? 0 : height];
        to = stpcpy(to, bar);
    }
    *to = '\0';
}
