/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the settings of two configuration files, for the audit log. Each configuration is a text
 * with a line "path: value" for each setting (place_flatten). The lines of both texts are sorted,
 * and then compared in one pass.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"

struct lines {
    /* copy of the settings as text, with a NUL at the end of each line */
    char *text;
    char **line; /* [count] the lines, sorted */
    size_t count;
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_fini(struct lines *l)
{
    free(l->text);
    free(l->line);
}

static int lines_init(const char *text, struct lines *ret)
{
    struct lines l = {.text = strdup(text != NULL ? text : "")};
    size_t most = 1;
    for (const char *at = l.text; at != NULL && *at != '\0'; at++)
        most += *at == '\n';
    l.line = calloc(most, sizeof(*l.line));
    if (l.text == NULL || l.line == NULL) {
        lines_fini(&l);
        return FAB_E_NOMEM;
    }
    char *rest = l.text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            l.line[l.count++] = line;
    qsort(l.line, l.count, sizeof(*l.line), compare);
    *ret = l;
    return FAB_OK;
}

/* Splits a line "path: value": returns the value, and sets *ret_path_len to the length of the
 * path. */
static const char *split(const char *line, size_t *ret_path_len)
{
    const char *colon = strstr(line, ": ");
    *ret_path_len = colon != NULL ? (size_t)(colon - line) : strlen(line);
    return colon != NULL ? colon + 2 : "";
}

/* Appends the text to ret[]. Appends "..." instead if the text does not fit. */
static void append(char *ret, size_t len, const char *text)
{
    size_t used = strlen(ret);
    if (used + strlen(text) + sizeof("...") <= len)
        strcpy(ret + used, text);
    else if (used + sizeof("...") <= len && (used < 3 || strcmp(ret + used - 3, "...") != 0))
        strcpy(ret + used, "...");
}

/* Appends a setting that differs. old, now: the line "path: value" in the old and in the new
 * configuration; NULL: this configuration does not have the setting. */
static void tell(char *ret, size_t len, const char *old, const char *now)
{
    char text[400];
    size_t path_len = 0;
    const char *line = old != NULL ? old : now;
    const char *before = old != NULL ? split(old, &path_len) : "not set";
    const char *after = now != NULL ? split(now, &path_len) : "not set";
    if (setting_is_secret(line, path_len))
        snprintf(text, sizeof(text), "%s%.*s: %s", ret[0] != '\0' ? "; " : "", (int)path_len, line,
                 old == NULL   ? "added"
                 : now == NULL ? "removed"
                               : "changed");
    else
        snprintf(text, sizeof(text), "%s%.*s: %.100s -> %.100s", ret[0] != '\0' ? "; " : "",
                 (int)path_len, line, before, after);
    append(ret, len, text);
}

/* Compares the paths of two lines. NULL stands for the end of the lines, which comes after every
 * line. */
static int compare_paths(const char *a, const char *b)
{
    size_t a_len, b_len;
    if (a == NULL || b == NULL)
        return (a == NULL) - (b == NULL);
    split(a, &a_len);
    split(b, &b_len);
    int order = strncmp(a, b, a_len < b_len ? a_len : b_len);
    /* The lines are sorted as whole lines, in which a ':' follows the path. If one path is the
     * beginning of the other, the order of the lines depends on this ':'. strcmp therefore compares
     * the ':', too. */
    return order != 0 || a_len == b_len ? order : strcmp(a, b);
}

int config_difference(const struct config *old, const struct config *now, char *ret, size_t len)
{
    struct lines a = {0}, b = {0};
    ret[0] = '\0';
    int rc = lines_init(old->text, &a);
    if (rc == FAB_OK)
        rc = lines_init(now->text, &b);
    for (size_t i = 0, j = 0; rc == FAB_OK && (i < a.count || j < b.count);) {
        const char *x = i < a.count ? a.line[i] : NULL, *y = j < b.count ? b.line[j] : NULL;
        int order = compare_paths(x, y);
        if (order != 0 || strcmp(x, y) != 0)
            tell(ret, len, order <= 0 ? x : NULL, order >= 0 ? y : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    lines_fini(&a);
    lines_fini(&b);
    return rc;
}
