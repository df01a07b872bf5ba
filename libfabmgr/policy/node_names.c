/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads node-name-maps. node_names.h describes the format. */
#include "libfabmgr/policy/node_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct entry {
    uint64_t guid;
    unsigned line;
    char name[FAB_NODE_NAME_LEN];
};
struct fab_node_names {
    struct entry *entry; /* [count] the names, in the order of the text */
    size_t count, room;
    struct fab_map by_guid; /* GUID -> index in entry[] */
    /* hash of a name -> index in entry[]; if another name has the same hash, the key is the next
     * higher number that is free */
    struct fab_map by_hash;
    int refs; /* reference count, atomic */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* Reads 0x and 1 to 16 hexadecimal digits, or 16 hexadecimal digits. Returns false for any other
 * word, and for 0. */
static bool read_guid(const char *at, size_t len, uint64_t *ret)
{
    bool prefixed = len > 2 && at[0] == '0' && (at[1] | 32) == 'x';
    if (!prefixed && len != 16)
        return false;
    at += prefixed ? 2 : 0;
    len -= prefixed ? 2 : 0;
    return len <= 16 && fab_base_digits_parse(at, len, 16, UINT64_MAX, ret) && *ret != 0;
}

static int refuse(struct fab_node_names_error *e, unsigned line, const char *what)
{
    e->line = line;
    snprintf(e->message, sizeof e->message, "%s", what);
    return FAB_E_FORMAT;
}

static int read_name(const char *at, const char *end, struct entry *x,
                     struct fab_node_names_error *e)
{
    const char *stop = at;
    if (at < end && *at == '"') {
        at++;
        stop = memchr(at, '"', (size_t)(end - at));
        if (stop == NULL)
            return refuse(e, x->line, "expected a second '\"' after the name");
    } else {
        while (stop < end && !is_blank(*stop) && *stop != '#')
            stop++;
    }
    while (at < stop && *at == ' ')
        at++;
    while (stop > at && stop[-1] == ' ')
        stop--;
    size_t len = (size_t)(stop - at);
    if (len == 0)
        return refuse(e, x->line, "expected a name after the GUID, such as \"leaf-01\"");
    if (len >= sizeof x->name)
        return refuse(e, x->line, "the name is longer than 64 bytes, like no NodeDescription");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)at[i] < 0x20 || at[i] == 0x7f)
            return refuse(e, x->line, "the name has a control character");
    memcpy(x->name, at, len);
    x->name[len] = '\0';
    return FAB_OK;
}

static uint64_t hash_of(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h;
}

/* Adds the name to by_hash. If another entry has the same name, returns EXISTS and writes the index
 * of this entry to *ret_other. */
static int note_name(struct fab_node_names *n, const char *name, uint32_t index,
                     uint32_t *ret_other)
{
    uint64_t key = hash_of(name);
    uint32_t other;
    for (; fab_base_map_get(&n->by_hash, key, &other); key++)
        if (strcmp(n->entry[other].name, name) == 0) {
            *ret_other = other;
            return FAB_E_EXISTS;
        }
    return fab_base_map_put(&n->by_hash, key, index);
}

static int add(struct fab_node_names *n, const struct entry *x, struct fab_node_names_error *e)
{
    uint32_t other, index = (uint32_t)n->count;
    char text[120];
    if (n->count == FAB_NODE_NAMES_MAX)
        return refuse(e, x->line, "the file has more than 131072 names");
    if (fab_base_map_get(&n->by_guid, x->guid, &other)) {
        snprintf(text, sizeof text, "GUID 0x%016" PRIx64 " has a name already, in line %u", x->guid,
                 n->entry[other].line);
        return refuse(e, x->line, text);
    }
    int r = note_name(n, x->name, index, &other);
    if (r == FAB_E_EXISTS) {
        snprintf(text, sizeof text, "the name is that of GUID 0x%016" PRIx64 " already, in line %u",
                 n->entry[other].guid, n->entry[other].line);
        return refuse(e, x->line, text);
    }
    if (r == FAB_OK)
        r = fab_base_map_put(&n->by_guid, x->guid, index);
    struct entry *grown = n->entry;
    if (r == FAB_OK && n->count == n->room)
        grown = fab_base_grow(n->entry, sizeof *n->entry, n->count + 1, &n->room);
    if (r != FAB_OK || grown == NULL)
        return FAB_E_NOMEM;
    n->entry = grown;
    n->entry[n->count++] = *x;
    return FAB_OK;
}

static int read_line(struct fab_node_names *n, const char *at, const char *end, unsigned line,
                     struct fab_node_names_error *e)
{
    struct entry x = {.line = line};
    at = skip_blanks(at, end);
    if (at == end || *at == '#')
        return FAB_OK;
    const char *word = at;
    while (at < end && !is_blank(*at))
        at++;
    if (!read_guid(word, (size_t)(at - word), &x.guid))
        return refuse(e, line, "expected the GUID of a node, such as 0x0002c902400111aa");
    int r = read_name(skip_blanks(at, end), end, &x, e);
    return r == FAB_OK ? add(n, &x, e) : r;
}

int fab_policy_node_names_read(const char *text, size_t len, struct fab_node_names **ret,
                               struct fab_node_names_error *ret_error)
{
    const char *at = text, *end = text + len;
    if (len > FAB_NODE_NAMES_TEXT_MAX)
        return FAB_E_LIMIT;
    struct fab_node_names *n = calloc(1, sizeof *n);
    int r = n == NULL ? FAB_E_NOMEM : FAB_OK;
    if (n != NULL)
        n->refs = 1;
    for (unsigned line = 1; r == FAB_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        r = read_line(n, at, stop != NULL ? stop : end, line, ret_error);
        at = stop != NULL ? stop + 1 : end;
    }
    if (r == FAB_OK)
        *ret = n;
    else
        fab_policy_node_names_unref(n);
    return r;
}

struct fab_node_names *fab_policy_node_names_ref(struct fab_node_names *n)
{
    if (n != NULL)
        __atomic_add_fetch(&n->refs, 1, __ATOMIC_RELAXED);
    return n;
}

void fab_policy_node_names_unref(struct fab_node_names *n)
{
    if (n == NULL || __atomic_sub_fetch(&n->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    fab_base_map_fini(&n->by_guid);
    fab_base_map_fini(&n->by_hash);
    free(n->entry);
    free(n);
}

const char *fab_policy_node_names_find(const struct fab_node_names *n, uint64_t guid)
{
    uint32_t index;
    return n != NULL && fab_base_map_get(&n->by_guid, guid, &index) ? n->entry[index].name : NULL;
}

size_t fab_policy_node_names_count(const struct fab_node_names *n)
{
    return n != NULL ? n->count : 0;
}

const char *fab_policy_node_names_at(const struct fab_node_names *n, size_t index,
                                     uint64_t *ret_guid)
{
    *ret_guid = n->entry[index].guid;
    return n->entry[index].name;
}

bool fab_policy_node_names_same(const struct fab_node_names *a, const struct fab_node_names *b)
{
    bool same = fab_policy_node_names_count(a) == fab_policy_node_names_count(b);
    for (size_t i = 0; same && i < fab_policy_node_names_count(a); i++) {
        const char *name = fab_policy_node_names_find(b, a->entry[i].guid);
        same = name != NULL && strcmp(name, a->entry[i].name) == 0;
    }
    return same;
}
