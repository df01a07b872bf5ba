/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/policy/guid_lines.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        (*at)++;
}

bool fab_policy_guid_lines_number(const char **at, const char *end, uint64_t most, uint64_t *ret)
{
    skip_blanks(at, end);
    const char *word = *at;
    while (*at < end && !is_blank(**at) && **at != '#')
        (*at)++;
    size_t len = (size_t)(*at - word);
    return len > 2 && len <= 18 && word[0] == '0' && (word[1] | 32) == 'x' &&
           fab_base_digits_parse(word + 2, len - 2, 16, most, ret);
}

bool fab_policy_guid_lines_is_over(const char **at, const char *end)
{
    skip_blanks(at, end);
    return *at == end || **at == '#';
}

int fab_policy_guid_lines_fail(struct fab_line_error *error, unsigned line, const char *why)
{
    error->line = line;
    snprintf(error->message, sizeof error->message, "%s", why);
    return FAB_E_FORMAT;
}

static int take_line(const char *at, const char *end, size_t line_max, unsigned line,
                     fab_policy_guid_lines_take *take, void *ctx, struct fab_line_error *error)
{
    const char *why = "";
    char long_line[64];
    if (line_max > 0 && (size_t)(end - at) > line_max) {
        snprintf(long_line, sizeof long_line, "the line is longer than %zu bytes", line_max);
        return fab_policy_guid_lines_fail(error, line, long_line);
    }
    if (fab_policy_guid_lines_is_over(&at, end))
        return FAB_OK;
    int status = take(ctx, at, end, line, &why);
    return status == FAB_E_FORMAT ? fab_policy_guid_lines_fail(error, line, why) : status;
}

int fab_policy_guid_lines_each(const char *text, size_t len, size_t line_max,
                               fab_policy_guid_lines_take *take, void *ctx,
                               struct fab_line_error *ret_error)
{
    const char *at = text, *end = text + len;
    int status = FAB_OK;
    for (unsigned line = 1; status == FAB_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = stop != NULL ? stop : end;
        status = take_line(at, line_end, line_max, line, take, ctx, ret_error);
        at = stop != NULL ? stop + 1 : end;
    }
    return status;
}
