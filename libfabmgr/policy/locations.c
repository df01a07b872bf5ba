/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the file of locations, and finds nodes in it. locations.h describes the format. */
#include "libfabmgr/policy/locations.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/match.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* A name in the file. A name with a list in brackets stands for several names; each of them has an
 * entry. */
struct entry {
    const char *name;
    uint64_t guid; /* GUID, if the name is one; 0: the name is not a GUID */
    unsigned line;
    const struct fab_location *location;
};
struct entries {
    struct entry *entry;
    size_t count, room;
};
struct fab_locations {
    struct entries guids; /* sorted by GUID */
    struct entries names; /* names without wildcards, sorted by name */
    struct entries patterns;
    struct fab_arena arena; /* memory of the names and locations */
    int refs;               /* reference count, atomic */
};

enum column { NAME, HOST, RACK, ROW, SLOT, COLUMNS };
static const char *const column_names[COLUMNS] = {"name", "host", "rack", "row", "slot"};

#define FIELDS_MAX 64u
#define FIELD_LEN 256u /* maximum length of a field in bytes, with the NUL */

struct reader {
    struct fab_locations *locations;
    struct fab_locations_error *error;
    unsigned line; /* number of the line of the current row, from 1 */
    /* [column] index in fields[] of the field for this column; FIELDS_MAX: the file lacks the
     * column */
    unsigned field_of[COLUMNS];
    char fields[FIELDS_MAX][FIELD_LEN]; /* [count] fields of the current row */
    unsigned count;
    bool named; /* true: the header row, with the names of the columns, was read */
    const struct fab_location *location;
    /* one entry for each line that gives a rack and its row in the machine room */
    struct entries racks;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int fail(struct reader *r, const char *what)
{
    r->error->line = r->line;
    snprintf(r->error->message, sizeof r->error->message, "%s", what);
    return FAB_E_FORMAT;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Copies a field without the blanks around it. Replaces control characters by '?', because they
 * would disturb the output of commands. Returns false if the field is too long. */
static bool copy_field(char to[FIELD_LEN], const char *from, const char *end)
{
    while (from < end && is_blank(*from))
        from++;
    while (from < end && is_blank(end[-1]))
        end--;
    size_t len = (size_t)(end - from);
    if (len >= FIELD_LEN)
        return false;
    for (size_t i = 0; i < len; i++)
        to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
    to[len] = '\0';
    return true;
}

/* Reads the field at *at. Moves *at past the comma that ends the field; after the last field of a
 * row, sets *at to NULL. */
static int next_field(struct reader *r, const char **at, const char *end)
{
    const char *from = *at, *stop;
    while (from < end && is_blank(*from))
        from++;
    bool quoted = from < end && *from == '"';
    from += quoted;
    stop = memchr(from, quoted ? '"' : ',', (size_t)(end - from));
    if (quoted && stop == NULL)
        return fail(r, "expected a closing quote");
    stop = stop != NULL ? stop : end;
    if (!copy_field(r->fields[r->count++], from, stop))
        return fail(r, "a field is longer than 255 characters");
    stop += quoted;
    while (stop < end && is_blank(*stop))
        stop++;
    if (stop < end && *stop != ',')
        return fail(r, "expected a comma after the closing quote");
    *at = stop < end ? stop + 1 : NULL;
    return FAB_OK;
}

static int split_row(struct reader *r, const char *at, const char *end)
{
    int rc = FAB_OK;
    for (r->count = 0; rc == FAB_OK && at != NULL;) {
        if (r->count == FIELDS_MAX)
            return fail(r, "more than 64 columns");
        rc = next_field(r, &at, end);
    }
    return rc;
}

static const char *field(const struct reader *r, enum column column)
{
    return r->field_of[column] < r->count ? r->fields[r->field_of[column]] : "";
}

/* Reads the header row, which has the names of the columns. */
static int read_header(struct reader *r)
{
    bool any = false;
    for (unsigned c = 0; c < COLUMNS; c++) {
        r->field_of[c] = FIELDS_MAX;
        for (unsigned i = 0; i < r->count; i++)
            if (strcasecmp(r->fields[i], column_names[c]) == 0)
                r->field_of[c] = i;
        any = any || (c != NAME && r->field_of[c] < FIELDS_MAX);
    }
    r->named = true;
    if (r->field_of[NAME] == FIELDS_MAX || !any)
        return fail(r, "expected a row with the names of the columns: name, and at least one of "
                       "host, rack, row and slot");
    return FAB_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int add(struct entries *to, const struct entry *e)
{
    struct entry *grown = to->entry;
    if (to->count == to->room)
        grown = fab_base_grow(to->entry, sizeof *e, to->count + 1, &to->room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    to->entry = grown;
    to->entry[to->count++] = *e;
    return FAB_OK;
}

static bool is_guid(const char *name, uint64_t *ret)
{
    size_t len = strlen(name);
    return len > 2 && len <= 18 && name[0] == '0' && (name[1] | 32) == 'x' &&
           fab_base_digits_parse(name + 2, len - 2, 16, UINT64_MAX, ret) && *ret != 0;
}

/* Adds an entry for a name without lists in brackets: these are already expanded. */
static int add_name(void *ctx, const char *name)
{
    struct reader *r = ctx;
    struct fab_locations *p = r->locations;
    struct entry e = {.line = r->line, .location = r->location};
    if (p->guids.count + p->names.count + p->patterns.count == FAB_LOCATIONS_MAX)
        return fail(r, "the file has more than 400,000 names");
    e.name = fab_base_arena_text(&p->arena, name, strlen(name));
    if (e.name == NULL)
        return FAB_E_NOMEM;
    bool guid = is_guid(name, &e.guid);
    return add(guid ? &p->guids : strpbrk(name, "*?") != NULL ? &p->patterns : &p->names, &e);
}

static const char *keep(struct fab_locations *p, const char *text)
{
    return text[0] == '\0' ? "" : fab_base_arena_text(&p->arena, text, strlen(text));
}

static int read_row(struct reader *r)
{
    struct fab_location *location = fab_base_arena_alloc(&r->locations->arena, 1, sizeof *location);
    if (location == NULL)
        return FAB_E_NOMEM;
    location->host = keep(r->locations, field(r, HOST));
    location->rack = keep(r->locations, field(r, RACK));
    location->row = keep(r->locations, field(r, ROW));
    location->slot = keep(r->locations, field(r, SLOT));
    if (r->locations->arena.failed)
        return FAB_E_NOMEM;
    if (field(r, NAME)[0] == '\0')
        return fail(r, "expected the name of a node");
    r->location = location;
    const struct entry rack = {.name = location->rack, .line = r->line, .location = location};
    if (location->rack[0] != '\0' && location->row[0] != '\0' && add(&r->racks, &rack) != FAB_OK)
        return FAB_E_NOMEM;
    int rc = fab_base_host_list_each(field(r, NAME), add_name, r);
    return rc == FAB_E_LIMIT ? fail(r, "a name is longer than 255 characters") : rc;
}

static int read_line(struct reader *r, const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    if (at == end || *at == '#')
        return FAB_OK;
    int rc = split_row(r, at, end);
    if (rc != FAB_OK)
        return rc;
    return r->named ? read_row(r) : read_header(r);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int by_guid(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Sorts the entries. Returns FORMAT if two of them are equal. */
static int sort(struct entries *all, int (*order)(const void *, const void *),
                struct fab_locations_error *error)
{
    if (all->count > 1)
        qsort(all->entry, all->count, sizeof *all->entry, order);
    for (size_t i = 1; i < all->count; i++) {
        const struct entry *a = &all->entry[i - 1], *b = &all->entry[i];
        if (order(a, b) != 0)
            continue;
        error->line = a->line > b->line ? a->line : b->line;
        snprintf(error->message, sizeof error->message, "\"%.80s\" is also in line %u", b->name,
                 a->line < b->line ? a->line : b->line);
        return FAB_E_FORMAT;
    }
    return FAB_OK;
}

static int by_rack(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Returns FORMAT if the file places one rack in two different rows of the machine room. */
static int check_racks(struct reader *r)
{
    struct entries *racks = &r->racks;
    if (racks->count > 1)
        qsort(racks->entry, racks->count, sizeof *racks->entry, by_rack);
    for (size_t i = 1; i < racks->count; i++) {
        const struct entry *a = &racks->entry[i - 1], *b = &racks->entry[i];
        if (strcmp(a->name, b->name) != 0 || strcmp(a->location->row, b->location->row) == 0)
            continue;
        r->error->line = b->line;
        snprintf(r->error->message, sizeof r->error->message,
                 "rack \"%.40s\" is in row \"%.40s\", but in line %u in row \"%.40s\"; each rack "
                 "needs a name of its own",
                 b->name, b->location->row, a->line, a->location->row);
        return FAB_E_FORMAT;
    }
    return FAB_OK;
}

static int read_text(struct reader *r, const char *text, size_t len)
{
    /* byte order mark, which spreadsheets write first */
    static const char utf8_mark[] = "\xef\xbb\xbf";
    const char *at = text, *end = text + len;
    int rc = FAB_OK;
    if (len >= 3 && memcmp(text, utf8_mark, 3) == 0)
        at += 3;
    for (r->line = 1; rc == FAB_OK && at < end; r->line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        rc = read_line(r, at, stop);
        at = stop < end ? stop + 1 : end;
    }
    if (rc == FAB_OK)
        rc = sort(&r->locations->guids, by_guid, r->error);
    if (rc == FAB_OK)
        rc = sort(&r->locations->names, by_name, r->error);
    if (rc == FAB_OK)
        rc = check_racks(r);
    return rc;
}

int fab_policy_locations_read(const char *text, size_t len, struct fab_locations **ret,
                              struct fab_locations_error *ret_error)
{
    if (len > FAB_LOCATIONS_TEXT_MAX)
        return FAB_E_LIMIT;
    struct reader *r = calloc(1, sizeof *r);
    struct fab_locations *p = calloc(1, sizeof *p);
    int rc = FAB_E_NOMEM;
    if (r != NULL && p != NULL) {
        p->refs = 1;
        r->locations = p;
        r->error = ret_error;
        rc = read_text(r, text, len);
        free(r->racks.entry);
    }
    free(r);
    if (rc == FAB_OK)
        *ret = p;
    else
        fab_policy_locations_unref(p);
    return rc;
}

struct fab_locations *fab_policy_locations_ref(struct fab_locations *p)
{
    if (p != NULL)
        __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void fab_policy_locations_unref(struct fab_locations *p)
{
    if (p == NULL || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(p->guids.entry);
    free(p->names.entry);
    free(p->patterns.entry);
    fab_base_arena_fini(&p->arena);
    free(p);
}

/* ---- locations of nodes ---------------------------------------------------------------------- */

static const struct entry *find(const struct entries *all, const struct entry *key,
                                int (*order)(const void *, const void *))
{
    return all->count > 0 ? bsearch(key, all->entry, all->count, sizeof *key, order) : NULL;
}

static const struct entry *find_name(const struct fab_locations *p, const char *desc, size_t len)
{
    char name[FIELD_LEN];
    const struct entry key = {.name = name};
    if (len == 0 || len >= sizeof name)
        return NULL;
    memcpy(name, desc, len);
    name[len] = '\0';
    return find(&p->names, &key, by_name);
}

static const struct entry *find_pattern(const struct fab_locations *p, const char *desc,
                                        const char *name, size_t name_len)
{
    for (size_t i = 0; i < p->patterns.count; i++) {
        const char *pattern = p->patterns.entry[i].name;
        if (fab_base_pattern_matches(pattern, desc, strlen(desc)) ||
            fab_base_pattern_matches(pattern, name, name_len))
            return &p->patterns.entry[i];
    }
    return NULL;
}

/* Returns the part of a NodeDescription that names the host or switch: usually the first word. A
 * managed switch has a NodeDescription such as "MF0;leaf-03:MQM8700/U1"; this part is then
 * "leaf-03". */
static const char *system_name(const char *desc, size_t *ret_len)
{
    static const char managed[] = "MF0;";
    size_t prefix = sizeof managed - 1;
    if (strncmp(desc, managed, prefix) == 0 && strchr(desc, ':') != NULL) {
        *ret_len = strcspn(desc + prefix, ":");
        return desc + prefix;
    }
    *ret_len = strcspn(desc, " \t/");
    return desc;
}

const struct fab_location *fab_policy_locations_find(const struct fab_locations *p, uint64_t guid,
                                                     const char *desc)
{
    static const struct fab_location unknown = {"", "", "", ""};
    const struct entry key = {.guid = guid}, *found;
    size_t len;
    const char *name = system_name(desc, &len);
    if (p == NULL)
        return &unknown;
    found = find(&p->guids, &key, by_guid);
    if (found == NULL)
        found = find_name(p, desc, strlen(desc));
    if (found == NULL)
        found = find_name(p, name, len);
    if (found == NULL)
        found = find_pattern(p, desc, name, len);
    return found != NULL ? found->location : &unknown;
}
