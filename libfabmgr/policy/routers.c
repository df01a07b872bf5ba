/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads OpenSM's prefix-routes.conf. routers.h describes the format. */
#include "libfabmgr/policy/routers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct word {
    const char *at;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

/* Reads the next word of a line. A comment ends the line. Returns a word of length 0 if there are
 * no more words. */
static struct word next_word(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        (*at)++;
    struct word w = {.at = *at};
    if (*at < end && **at == '#')
        *at = end;
    while (*at < end && !is_blank(**at) && **at != '#')
        (*at)++;
    w.len = w.at < end && *w.at != '#' ? (size_t)(*at - w.at) : 0;
    return w;
}

/* Reads 1 to 16 hexadecimal digits, with or without 0x, or an asterisk, for which *ret is 0.
 * Returns false for any other word. */
static bool read_number(struct word w, uint64_t *ret)
{
    *ret = 0;
    if (w.len == 1 && w.at[0] == '*')
        return true;
    if (w.len > 2 && w.at[0] == '0' && (w.at[1] | 32) == 'x')
        w = (struct word){w.at + 2, w.len - 2};
    return w.len <= 16 && fab_base_digits_parse(w.at, w.len, 16, UINT64_MAX, ret);
}

/* Reads a line. Sets *any to true if the line has a route. Returns NULL if the line is correct,
 * otherwise the text of an error. */
static const char *read_line(const char *at, const char *end, struct fab_prefix_route *route,
                             bool *any)
{
    struct word prefix = next_word(&at, end), guid = next_word(&at, end);
    *any = prefix.len > 0;
    if (!*any)
        return NULL;
    if (!read_number(prefix, &route->prefix))
        return "expected a subnet prefix in hexadecimal digits, or *";
    if (guid.len == 0 || !read_number(guid, &route->port_guid))
        return "expected the GUID of a router port in hexadecimal digits, or *";
    return next_word(&at, end).len > 0 ? "expected nothing after prefix and GUID" : NULL;
}

static int add(struct fab_routers *r, size_t *room, const struct fab_prefix_route *route)
{
    struct fab_prefix_route *grown = r->route;
    if (r->count == *room)
        grown = fab_base_grow(r->route, sizeof *r->route, r->count + 1, room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    r->route = grown;
    r->route[r->count++] = *route;
    return FAB_OK;
}

int fab_policy_routers_read(const char *text, size_t len, struct fab_routers **ret,
                            struct fab_routers_error *ret_error)
{
    const char *at = text, *end = text + len;
    struct fab_routers *r = calloc(1, sizeof *r);
    size_t room = 0;
    int status = len > FAB_ROUTERS_TEXT_MAX ? FAB_E_LIMIT : r == NULL ? FAB_E_NOMEM : FAB_OK;
    for (unsigned line = 1; status == FAB_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct fab_prefix_route route;
        bool any;
        const char *wrong = read_line(at, stop != NULL ? stop : end, &route, &any);
        if (wrong != NULL) {
            ret_error->line = line;
            snprintf(ret_error->message, sizeof ret_error->message, "%s", wrong);
            status = FAB_E_FORMAT;
        } else if (any) {
            status = add(r, &room, &route);
        }
        at = stop != NULL ? stop + 1 : end;
    }
    if (status == FAB_OK) {
        r->refs = 1;
        *ret = r;
    } else if (r != NULL) {
        free(r->route);
        free(r);
    }
    return status;
}

struct fab_routers *fab_policy_routers_ref(struct fab_routers *r)
{
    if (r != NULL)
        __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

void fab_policy_routers_unref(struct fab_routers *r)
{
    if (r == NULL || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(r->route);
    free(r);
}

const struct fab_prefix_route *fab_policy_routers_find(const struct fab_routers *r, uint64_t prefix)
{
    for (size_t i = 0; r != NULL && i < r->count; i++)
        if (r->route[i].prefix == 0 || r->route[i].prefix == prefix)
            return &r->route[i];
    return NULL;
}
