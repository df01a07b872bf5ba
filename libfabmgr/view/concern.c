/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether a text in a journal names a given node or port. */
#include "libfabmgr/view/concern.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* Returns the port number with which a text "NODE/PORT" ends; -1: the text has another form. */
static int port_at_end(const char *text, size_t len)
{
    uint64_t port;
    size_t digits = 0;
    while (digits < len && text[len - 1 - digits] >= '0' && text[len - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits == len || text[len - 1 - digits] != '/' ||
        !fab_base_digits_parse(text + len - digits, digits, 10, 255, &port))
        return -1;
    return (int)port;
}

/* Returns true if the text names the node or the port that `concern` describes: "NAME" or
 * "NAME/PORT". c->node is a whole name, or the first word of a name; after such a word, the text
 * may continue with the rest of the name. */
static bool is_place(const void *concern, const char *text, size_t len)
{
    const struct fab_concern *c = concern;
    if (c->len == 0 || len < c->len || memcmp(text, c->node, c->len) != 0)
        return false;
    if (len == c->len)
        return c->port == FAB_ALL_PORTS;
    int port = port_at_end(text, len);
    bool whole = text[c->len] == '/' && port >= 0 && memrchr(text, '/', len) == text + c->len;
    if (!whole && text[c->len] != ' ')
        return false;
    return c->port == FAB_ALL_PORTS || port == c->port;
}

/* Returns the length of the first entry of a list, and sets *ret_skip to the length of the
 * separator after it. */
static size_t first_entry(const char *text, size_t *ret_skip)
{
    static const char *const separators[] = {", ", " - "};
    size_t len = strlen(text);
    *ret_skip = 0;
    for (size_t i = 0; i < 2; i++) {
        const char *end = strstr(text, separators[i]);
        if (end != NULL && (size_t)(end - text) < len) {
            len = (size_t)(end - text);
            *ret_skip = strlen(separators[i]);
        }
    }
    return len;
}

/* Calls fn for the whole text, and then for each entry of the text as a list, until fn returns
 * true. Returns true if fn did. The whole text comes first, because a name may contain separators,
 * as in "SwitchX -  Mellanox Technologies". */
static bool any_entry(const char *text, bool (*fn)(const void *ctx, const char *text, size_t len),
                      const void *ctx)
{
    size_t len, skip = 1;
    if (fn(ctx, text, strlen(text)))
        return true;
    for (; *text != '\0' && skip > 0; text += len + skip) {
        len = first_entry(text, &skip);
        if (fn(ctx, text, len))
            return true;
    }
    return false;
}

bool fab_view_concerns(const struct fab_concern *c, const char *text)
{
    return any_entry(text, is_place, c);
}

/* ---- sets of places -------------------------------------------------------------------------- */

int fab_view_concern_set_add(struct fab_concern_set *p, uint64_t guid, int port, const char *name)
{
    struct fab_concern_place *grown =
        fab_base_grow(p->by_guid, sizeof *grown, p->count + 1, &p->room);
    char *copy = strdup(name);
    if (grown != NULL)
        p->by_guid = grown;
    if (grown == NULL || copy == NULL) {
        free(copy);
        return FAB_E_NOMEM;
    }
    grown[p->count++] = (struct fab_concern_place){guid, port, copy};
    return FAB_OK;
}

static int order_guids(const void *a, const void *b)
{
    const struct fab_concern_place *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (x->port > y->port) - (x->port < y->port);
}

static int order_names(const void *a, const void *b, void *places)
{
    const struct fab_concern_place *x =
        &((const struct fab_concern_place *)places)[*(const uint32_t *)a];
    const struct fab_concern_place *y =
        &((const struct fab_concern_place *)places)[*(const uint32_t *)b];
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->port > y->port) - (x->port < y->port);
}

int fab_view_concern_set_sort(struct fab_concern_set *p)
{
    uint32_t *by_name = fab_base_alloc_array(p->count + 1, sizeof *by_name);
    if (by_name == NULL)
        return FAB_E_NOMEM;
    free(p->by_name);
    p->by_name = by_name;
    for (uint32_t i = 0; i < p->count; i++)
        by_name[i] = i;
    if (p->count > 0) {
        qsort(p->by_guid, p->count, sizeof *p->by_guid, order_guids);
        qsort_r(by_name, p->count, sizeof *by_name, order_names, p->by_guid);
    }
    return FAB_OK;
}

static bool has_guid(const struct fab_concern_set *p, uint64_t guid, int port)
{
    const struct fab_concern_place key = {.guid = guid, .port = port};
    return p->count > 0 &&
           bsearch(&key, p->by_guid, p->count, sizeof *p->by_guid, order_guids) != NULL;
}

bool fab_view_concern_set_have(const struct fab_concern_set *p, uint64_t guid, uint64_t port)
{
    return has_guid(p, guid, FAB_ALL_PORTS) || (port <= 254 && has_guid(p, guid, (int)port));
}

/* Compares a text of length `len` with the name of a place and, if they are equal, `port` with the
 * port of the place. */
static int compare_name(const char *text, size_t len, int port,
                        const struct fab_concern_place *place)
{
    int order = strncmp(text, place->name, len);
    if (order == 0 && place->name[len] != '\0')
        order = -1;
    return order != 0 ? order : (port > place->port) - (port < place->port);
}

static bool has_name(const struct fab_concern_set *p, const char *text, size_t len, int port)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_name(text, len, port, &p->by_guid[p->by_name[mid]]);
        if (order == 0)
            return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

/* Returns true if the text is the name of a node of the set, or "NAME/PORT" of a port of the
 * set. */
static bool is_in_places(const void *places, const char *text, size_t len)
{
    const struct fab_concern_set *p = places;
    if (has_name(p, text, len, FAB_ALL_PORTS))
        return true;
    int port = port_at_end(text, len);
    const char *slash = port >= 0 ? memrchr(text, '/', len) : NULL;
    if (slash == NULL)
        return false;
    len = (size_t)(slash - text);
    return has_name(p, text, len, FAB_ALL_PORTS) || has_name(p, text, len, port);
}

bool fab_view_concern_set_named(const struct fab_concern_set *p, const char *text)
{
    return p->count > 0 && any_entry(text, is_in_places, p);
}

void fab_view_concern_set_fini(struct fab_concern_set *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->by_guid[i].name);
    free(p->by_guid);
    free(p->by_name);
    *p = (struct fab_concern_set){0};
}
