/* SPDX-License-Identifier: BSD-3-Clause */
/* Expands lists of hosts into names, and folds names into lists. host_list.h describes the
 * notation. */
#include "libfabmgr/base/host_list.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define NAME_MAX_LEN 256
#define LISTS_MAX 4

const char *fab_base_read_range(const char *s, struct fab_number_range *ret)
{
    size_t digits = strspn(s, "0123456789");
    if (digits == 0 || digits > FAB_RANGE_DIGITS_MAX)
        return NULL;
    ret->first = ret->last = (uint32_t)strtoul(s, NULL, 10);
    ret->width = (uint32_t)digits;
    s += digits;
    if (*s == '-') {
        digits = strspn(++s, "0123456789");
        if (digits == 0 || digits > FAB_RANGE_DIGITS_MAX)
            return NULL;
        ret->last = (uint32_t)strtoul(s, NULL, 10);
        s += digits;
    }
    return (*s == ',' || *s == ']') && ret->first <= ret->last ? s + 1 : NULL;
}

const char *fab_base_end_of_ranges(const char *s)
{
    struct fab_number_range r;
    do
        s = fab_base_read_range(s, &r);
    while (s != NULL && s[-1] == ',');
    return s;
}

/* ---- expanding ------------------------------------------------------------------------------- */

struct expansion {
    fab_host_name_fn *each;
    void *ctx;
    uint32_t count; /* number of names so far */
};

static int add_name(struct expansion *x, const char *head, const char *tail)
{
    char name[NAME_MAX_LEN];
    if (snprintf(name, sizeof name, "%s%s", head, tail) >= NAME_MAX_LEN ||
        x->count == FAB_HOST_LIST_MAX)
        return FAB_E_LIMIT;
    x->count++;
    return x->each(x->ctx, name);
}

static int expand(struct expansion *x, const char *head, const char *text, unsigned lists)
{
    char name[NAME_MAX_LEN];
    const char *open = strchr(text, '['), *end = NULL;
    while (open != NULL && (end = fab_base_end_of_ranges(open + 1)) == NULL)
        open = strchr(open + 1, '[');
    if (open == NULL || lists == 0)
        return add_name(x, head, text);
    struct fab_number_range r;
    for (const char *s = open + 1; s < end;) {
        s = fab_base_read_range(s, &r);
        for (uint32_t i = r.first; i <= r.last; i++) {
            if (snprintf(name, sizeof name, "%s%.*s%0*u", head, (int)(open - text), text,
                         (int)r.width, i) >= NAME_MAX_LEN)
                return FAB_E_LIMIT;
            int rc = expand(x, name, end, lists - 1);
            if (rc < 0)
                return rc;
        }
    }
    return FAB_OK;
}

int fab_base_host_list_each(const char *text, fab_host_name_fn *each, void *ctx)
{
    struct expansion x = {each, ctx, 0};
    return expand(&x, "", text, LISTS_MAX);
}

size_t fab_base_host_list_item(const char *list)
{
    size_t len = 0;
    for (bool inside = false; list[len] != '\0' && (inside || list[len] != ','); len++)
        if (list[len] == '[' || list[len] == ']')
            inside = list[len] == '[';
    return len;
}

/* ---- folding --------------------------------------------------------------------------------- */

/* A name as its first `prefix` characters, followed by a number of `width` digits; width 0: the
 * name does not end with a number. */
struct numbered {
    size_t prefix, width;
    uint32_t number;
};

static struct numbered take_apart(const char *name)
{
    struct numbered n = {.prefix = strlen(name)};
    while (n.prefix > 0 && n.width < FAB_RANGE_DIGITS_MAX && name[n.prefix - 1] >= '0' &&
           name[n.prefix - 1] <= '9') {
        n.prefix--;
        n.width++;
    }
    n.number = (uint32_t)strtoul(name + n.prefix, NULL, 10);
    return n;
}

/* Returns true if the names differ only in the number at their end, and one range can contain both
 * numbers. The numbers of a range are padded with zeros to the same number of digits, so if one of
 * the two numbers has leading zeros, both must be equally long. */
static bool is_like(const char *a, const char *b)
{
    const struct numbered x = take_apart(a), y = take_apart(b);
    bool padded = (x.width > 1 && a[x.prefix] == '0') || (y.width > 1 && b[y.prefix] == '0');
    return x.width > 0 && y.width > 0 && (x.width == y.width || !padded) && x.prefix == y.prefix &&
           memcmp(a, b, x.prefix) == 0;
}

/* Returns the length of the first family in names[]. A family is a run of names that differ only in
 * the number at their end, and whose numbers fit into one pair of brackets (is_like). */
static size_t count_family(const char *const *names, size_t count)
{
    size_t n = 1;
    while (n < count && is_like(names[0], names[n]) && is_like(names[n - 1], names[n]))
        n++;
    return n;
}

/* Appends the family names[count] to the text, as "prefix[1-3,7]". */
static void fold_family(const char *const *names, size_t count, struct fab_text *t)
{
    const size_t prefix = take_apart(names[0]).prefix;
    fab_base_text_bytes(t, names[0], prefix);
    fab_base_text_add(t, "[");
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && take_apart(names[end]).number == take_apart(names[end - 1]).number + 1;)
            end++;
        fab_base_text_addf(t, "%s%s", i > 0 ? "," : "", names[i] + prefix);
        if (end - i > 1)
            fab_base_text_addf(t, "-%s", names[end - 1] + prefix);
    }
    fab_base_text_add(t, "]");
}

void fab_base_host_list_fold(const char *const *names, size_t count, struct fab_text *t)
{
    for (size_t i = 0, n; i < count; i += n) {
        n = count_family(names + i, count - i);
        fab_base_text_add(t, i > 0 ? "," : "");
        if (n > 1)
            fold_family(names + i, n, t);
        else
            fab_base_text_add(t, names[i]);
    }
}
