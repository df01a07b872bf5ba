/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads opensm.conf, whose lines have the form "NAME VALUE". A line that begins with '#' is a
 * comment. The value is the rest of the line, without blanks at its ends and without quotes around
 * it. If several lines set the same option, the last one counts. */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/convert.h"

#define LINE_MAX_BYTES 65536

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static void trim(const char **at, const char **end)
{
    while (*at < *end && is_blank(**at))
        (*at)++;
    while (*end > *at && is_blank((*end)[-1]))
        (*end)--;
}

static void unquote(const char **at, const char **end)
{
    if (*end - *at >= 2 && (**at == '"' || **at == '\'') && (*end)[-1] == **at) {
        (*at)++;
        (*end)--;
    }
}

static int add(struct fab_opensm_conf *c, size_t *room, const char *at, const char *end,
               unsigned number)
{
    const char *name = at;
    if (c->count == FAB_OPENSM_LINES_MAX || end - at > LINE_MAX_BYTES)
        return FAB_E_LIMIT;
    while (at < end && !is_blank(*at))
        at++;
    const char *name_end = at;
    trim(&at, &end);
    unquote(&at, &end);
    if (c->count == *room) {
        struct fab_opensm_line *grown = fab_base_grow(c->line, sizeof *c->line, c->count + 1, room);
        if (grown == NULL)
            return FAB_E_NOMEM;
        c->line = grown;
    }
    c->line[c->count++] = (struct fab_opensm_line){
        .name = fab_base_arena_text(&c->arena, name, (size_t)(name_end - name)),
        .value = fab_base_arena_text(&c->arena, at, (size_t)(end - at)),
        .line = number,
    };
    return c->arena.failed ? FAB_E_NOMEM : FAB_OK;
}

int fab_opensm_conf_read(const char *text, size_t len, struct fab_opensm_conf *ret)
{
    struct fab_opensm_conf c = {0};
    size_t room = 0;
    const char *at = text, *last = text + len;
    int r = len > FAB_OPENSM_CONF_MAX ? FAB_E_LIMIT : FAB_OK;
    for (unsigned number = 1; r == FAB_OK && at < last; number++) {
        const char *stop = memchr(at, '\n', (size_t)(last - at));
        const char *end = stop != NULL ? stop : last, *next = stop != NULL ? stop + 1 : last;
        trim(&at, &end);
        if (at < end && *at != '#')
            r = add(&c, &room, at, end, number);
        at = next;
    }
    if (r == FAB_OK)
        *ret = c;
    else
        fab_opensm_conf_fini(&c);
    return r;
}

void fab_opensm_conf_fini(struct fab_opensm_conf *c)
{
    fab_base_arena_fini(&c->arena);
    free(c->line);
    *c = (struct fab_opensm_conf){0};
}

const char *fab_opensm_conf_get(const struct fab_opensm_conf *c, const char *name,
                                unsigned *ret_line)
{
    const struct fab_opensm_option *o = fab_opensm_option_find(name);
    const char *value = o != NULL ? o->preset : NULL;
    unsigned line = 0;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->line[i].name, name) == 0) {
            value = c->line[i].value;
            line = c->line[i].line;
        }
    if (ret_line != NULL)
        *ret_line = line;
    return value != NULL && strcmp(value, "(null)") == 0 ? NULL : value;
}
