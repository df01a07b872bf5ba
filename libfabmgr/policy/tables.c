/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads dumped forwarding tables, line by line:
 *
 *     Unicast lids [0x0-0x2e] of switch Lid 2 guid 0x0002c90300000001 ('leaf-001'):
 *     0x0001 005 : (Channel Adapter portguid 0x0002c90300000010: 'host-0001')
 *
 * Each switch has a paragraph, which begins with a line that names the switch. Each LID has a line
 * in the paragraph: the LID, the output port, and the destination, of which only the port GUID is
 * read. Column headings, the count at the end of a paragraph and lines that begin with # are
 * ignored; any other line is an error.
 *
 * Three more cases are errors: a switch that occurs twice, LIDs of a paragraph that are not in
 * ascending order (so each occurs once), and a LID that belongs to different ports in two
 * paragraphs. The memory used is proportional to the text.
 */
#include "libfabmgr/policy/tables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct reader {
    const char *at, *end; /* rest of the line that is being read, from `at` to `end` */
    const char *line_start;
    uint32_t line;
    struct fab_tables *t;
    size_t switch_room, entry_room, lid_room;
    struct fab_tables_error *error;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
    va_list args;
    r->error->line = r->line;
    r->error->column = (uint32_t)(r->at - r->line_start) + 1;
    va_start(args, fmt);
    vsnprintf(r->error->message, sizeof(r->error->message), fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool skip(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

/* Finds the next occurrence of `word` in the line, and moves the read position r->at past it.
 * Returns false, without moving r->at, if there is none. */
static bool seek(struct reader *r, const char *word)
{
    const char *found = memmem(r->at, (size_t)(r->end - r->at), word, strlen(word));
    if (found == NULL)
        return false;
    r->at = found + strlen(word);
    return true;
}

/* Reads the number at the read position r->at, and moves r->at past it. Returns false, without
 * moving r->at, if there is no number or if it exceeds `most`. */
static bool number(struct reader *r, unsigned base, uint64_t most, uint64_t *ret)
{
    const char *stop = fab_base_digits_read(r->at, r->end, base, most, ret);
    if (stop == NULL || stop == r->at)
        return false;
    r->at = stop;
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int read_switch(struct reader *r)
{
    uint64_t guid;
    struct fab_tables *t = r->t;
    if (!seek(r, " guid 0x") || !number(r, 16, UINT64_MAX, &guid) || guid == 0)
        return wrong(r, "expected the switch's GUID, as in: guid 0x0002c90300000001");
    struct fab_policy_tables_switch *more =
        fab_base_grow(t->sw, sizeof(*more), t->switches + 1, &r->switch_room);
    if (more == NULL)
        return FAB_E_NOMEM;
    t->sw = more;
    more[t->switches++] =
        (struct fab_policy_tables_switch){.guid = guid, .line = r->line, .first = t->entries};
    return FAB_OK;
}

/* Enlarges guid[], which is indexed by LID, so that it has an element for this LID. */
static int reach_lid(struct reader *r, uint32_t lid)
{
    struct fab_tables *t = r->t;
    if (t->guid != NULL && lid <= t->top)
        return FAB_OK;
    size_t had = t->guid != NULL ? (size_t)t->top + 1 : 0, need = (size_t)lid + 1;
    uint64_t *more = fab_base_grow(t->guid, sizeof(*more), need, &r->lid_room);
    if (more == NULL)
        return FAB_E_NOMEM;
    t->guid = more;
    memset(more + had, 0, (need - had) * sizeof(*more));
    t->top = lid;
    return FAB_OK;
}

static int read_owner(struct reader *r, uint32_t lid)
{
    uint64_t guid = 0;
    if (!seek(r, " portguid 0x"))
        return FAB_OK;
    if (!number(r, 16, UINT64_MAX, &guid))
        return wrong(r, "expected the GUID of a port in hexadecimal digits");
    if (guid != 0 && r->t->guid[lid] != 0 && r->t->guid[lid] != guid)
        return wrong(r,
                     "LID %u belongs to port 0x%016" PRIx64 " here, and to port 0x%016" PRIx64
                     " in an earlier line",
                     lid, guid, r->t->guid[lid]);
    if (guid != 0)
        r->t->guid[lid] = guid;
    return FAB_OK;
}

static int read_entry(struct reader *r)
{
    struct fab_tables *t = r->t;
    uint64_t lid, port;
    if (t->switches == 0)
        return wrong(r, "an entry before the first switch, expected: Unicast lids ... guid 0x...");
    if (!number(r, 16, FAB_TABLES_LID_MAX, &lid))
        return wrong(r, "expected a LID from 0x0000 to 0x%x", FAB_TABLES_LID_MAX);
    skip_blanks(r);
    if (!number(r, 10, 255, &port))
        return wrong(r, "expected a port from 0 to 255 after the LID");
    if (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r')
        return wrong(r, "expected a blank after the port");
    if (lid == 0)
        return FAB_OK;
    int status = reach_lid(r, (uint32_t)lid);
    if (status == FAB_OK)
        status = read_owner(r, (uint32_t)lid);
    if (status != FAB_OK)
        return status;
    struct fab_tables_entry *more =
        fab_base_grow(t->entry, sizeof(*more), t->entries + 1, &r->entry_room);
    if (more == NULL)
        return FAB_E_NOMEM;
    t->entry = more;
    struct fab_policy_tables_switch *sw = &t->sw[t->switches - 1];
    if (sw->count > 0 && more[t->entries - 1].lid >= lid)
        return wrong(r, "LID %u after LID %u, expected each LID once, in ascending order",
                     (unsigned)lid, more[t->entries - 1].lid);
    more[t->entries++] = (struct fab_tables_entry){.lid = (uint32_t)lid, .port = (uint8_t)port};
    sw->count++;
    return FAB_OK;
}

/* Returns true for lines that are ignored: empty lines, comments, headings, and totals like "22
 * valid lids dumped". */
static bool is_ignored(struct reader *r)
{
    uint64_t count;
    if (r->at == r->end || *r->at == '#' || skip(r, "Lid ") || skip(r, "Port "))
        return true;
    const char *start = r->at;
    if (number(r, 10, UINT64_MAX, &count)) {
        skip_blanks(r);
        skip(r, "valid ");
        if (skip(r, "lids dumped"))
            return true;
    }
    r->at = start;
    return false;
}

static int read_line(struct reader *r)
{
    skip_blanks(r);
    if (skip(r, "Unicast lids"))
        return read_switch(r);
    if (skip(r, "0x"))
        return read_entry(r);
    if (is_ignored(r))
        return FAB_OK;
    if (skip(r, "Multicast mlids"))
        return wrong(r, "multicast tables, expected unicast tables");
    return wrong(r, "expected a line as in opensm-lfts.dump: Unicast lids ... guid 0x..., or 0xLID "
                    "PORT ...");
}

static int read_lines(struct reader *r, const char *text, size_t len)
{
    const char *end = text + len;
    int status = FAB_OK;
    for (const char *next; status == FAB_OK && text < end; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        r->line++;
        r->line_start = r->at = text;
        r->end = newline != NULL ? newline : end;
        next = newline != NULL ? newline + 1 : end;
        status = read_line(r);
    }
    return status;
}

/* ---- all lines ------------------------------------------------------------------------------- */

static int by_guid(const void *a, const void *b)
{
    const struct fab_policy_tables_switch *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int sort_switches(struct reader *r)
{
    struct fab_tables *t = r->t;
    if (t->switches == 0) {
        r->at = r->line_start;
        r->line = r->line > 0 ? r->line : 1;
        return wrong(r, "no tables, expected at least one switch: Unicast lids ... guid 0x...");
    }
    qsort(t->sw, t->switches, sizeof(*t->sw), by_guid);
    for (size_t i = 1; i < t->switches; i++) {
        if (t->sw[i].guid != t->sw[i - 1].guid)
            continue;
        r->line = t->sw[i].line;
        r->at = r->line_start;
        return wrong(r, "switch 0x%016" PRIx64 " occurs twice, first in line %u", t->sw[i].guid,
                     t->sw[i - 1].line);
    }
    return FAB_OK;
}

struct owned {
    uint64_t guid;
    uint32_t lid;
};
static int by_owner(const void *a, const void *b)
{
    const struct owned *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return (x->lid > y->lid) - (x->lid < y->lid);
}

static int find_first_lids(struct fab_tables *t)
{
    size_t count = 0;
    struct owned *owned = fab_base_alloc_array((size_t)t->top + 1, sizeof(*owned));
    t->first = calloc((size_t)t->top + 1, sizeof(*t->first));
    if (owned == NULL || t->first == NULL) {
        free(owned);
        return FAB_E_NOMEM;
    }
    for (uint32_t lid = 1; lid <= t->top; lid++) {
        t->first[lid] = lid;
        if (t->guid[lid] != 0)
            owned[count++] = (struct owned){t->guid[lid], lid};
    }
    qsort(owned, count, sizeof(*owned), by_owner);
    for (size_t i = 1; i < count; i++) {
        if (owned[i].guid == owned[i - 1].guid)
            t->first[owned[i].lid] = t->first[owned[i - 1].lid];
    }
    free(owned);
    return FAB_OK;
}

int fab_policy_tables_read(const char *text, size_t len, struct fab_tables **ret,
                           struct fab_tables_error *ret_error)
{
    struct reader r = {.at = text, .line_start = text, .error = ret_error};
    if (len > FAB_TABLES_TEXT_MAX) {
        r.line = 1;
        wrong(&r, "longer than %u bytes", FAB_TABLES_TEXT_MAX);
        return FAB_E_LIMIT;
    }
    r.t = calloc(1, sizeof(*r.t));
    if (r.t == NULL)
        return FAB_E_NOMEM;
    r.t->refs = 1;
    int status = read_lines(&r, text, len);
    if (status == FAB_OK)
        status = sort_switches(&r);
    if (status == FAB_OK)
        status = reach_lid(&r, 0);
    if (status == FAB_OK)
        status = find_first_lids(r.t);
    if (status == FAB_OK)
        *ret = r.t;
    else
        fab_policy_tables_unref(r.t);
    return status;
}

struct fab_tables *fab_policy_tables_ref(struct fab_tables *t)
{
    if (t != NULL)
        __atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
    return t;
}

void fab_policy_tables_unref(struct fab_tables *t)
{
    if (t == NULL || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    free(t->sw);
    free(t->entry);
    free(t->guid);
    free(t->first);
    free(t);
}

const struct fab_policy_tables_switch *fab_policy_tables_switch(const struct fab_tables *t,
                                                                uint64_t guid)
{
    size_t low = 0, high = t->switches;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->sw[middle].guid == guid)
            return &t->sw[middle];
        if (t->sw[middle].guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
