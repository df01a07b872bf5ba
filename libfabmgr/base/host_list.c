/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expands lists of numbers and ranges in brackets, such as "[7,10-12]". The numbers of a range get
 * as many digits as the first number of the range. If brackets have other text in them, they are
 * part of the name.
 */
#include "libfabmgr/base/host_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define NAME_MAX_LEN 256
#define DIGITS_MAX 9
#define LISTS_MAX 4

struct range {
    uint32_t first, last;
    int width;
};

/* Reads a number or range, such as "7" or "01-16", and the ',' or ']' after it. Returns the
 * position after this ',' or ']', or NULL if the text has another form. */
static const char *read_range(const char *s, struct range *ret)
{
    size_t digits = strspn(s, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX)
        return NULL;
    ret->first = ret->last = (uint32_t)strtoul(s, NULL, 10);
    ret->width = (int)digits;
    s += digits;
    if (*s == '-') {
        digits = strspn(++s, "0123456789");
        if (digits == 0 || digits > DIGITS_MAX)
            return NULL;
        ret->last = (uint32_t)strtoul(s, NULL, 10);
        s += digits;
    }
    return (*s == ',' || *s == ']') && ret->first <= ret->last ? s + 1 : NULL;
}

/* Returns the position after the list in brackets that begins at `s`, or NULL if no list begins
 * there. */
static const char *end_of_list(const char *s)
{
    struct range r;
    do
        s = read_range(s, &r);
    while (s != NULL && s[-1] == ',');
    return s;
}

static int expand(const char *head, const char *text, unsigned lists, fab_host_name_fn *each,
                  void *ctx)
{
    char name[NAME_MAX_LEN];
    const char *open = strchr(text, '['), *end = NULL;
    while (open != NULL && (end = end_of_list(open + 1)) == NULL)
        open = strchr(open + 1, '[');
    if (open == NULL || lists == 0) {
        if (snprintf(name, sizeof name, "%s%s", head, text) >= NAME_MAX_LEN)
            return FAB_E_LIMIT;
        return each(ctx, name);
    }
    struct range r;
    for (const char *s = open + 1; s < end;) {
        s = read_range(s, &r);
        for (uint32_t i = r.first; i <= r.last; i++) {
            if (snprintf(name, sizeof name, "%s%.*s%0*u", head, (int)(open - text), text, r.width,
                         i) >= NAME_MAX_LEN)
                return FAB_E_LIMIT;
            int rc = expand(name, end, lists - 1, each, ctx);
            if (rc < 0)
                return rc;
        }
    }
    return FAB_OK;
}

int fab_base_host_list_each(const char *text, fab_host_name_fn *each, void *ctx)
{
    return expand("", text, LISTS_MAX, each, ctx);
}
