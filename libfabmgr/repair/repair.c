/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs. The tables in force are the baseline but for the entries of the overlay, which are kept
 * with what the baseline says: there is one copy of the tables, the caller's, and what a plan costs
 * depends on how much is broken, not on the size of the fabric. It reads the rows of the switches
 * at dead cables, to see which LIDs are concerned, and decides column by column (column.c) about
 * those and those of the overlay.
 */
#include "libfabmgr/repair/repair.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* ---- life ------------------------------------------------------------------------------------ */

static int alloc_column(struct fab_repair_column *c, size_t n)
{
    c->mark = calloc(n + 1, sizeof(*c->mark));
    c->entry = calloc(n + 1, sizeof(*c->entry));
    c->old = calloc(n + 1, sizeof(*c->old));
    c->len = calloc(n + 1, sizeof(*c->len));
    c->seen = calloc(n + 1, sizeof(*c->seen));
    c->stale = calloc(n + 1, sizeof(*c->stale));
    c->onward = fab_base_alloc_array(n + 1, sizeof(*c->onward));
    c->touched = calloc(n + 1, sizeof(*c->touched));
    c->heap = calloc(n + 1, sizeof(*c->heap));
    if (c->onward != NULL)
        memset(c->onward, 0xff, (n + 1) * sizeof(*c->onward));
    return c->mark && c->entry && c->old && c->len && c->seen && c->stale && c->onward &&
                   c->touched && c->heap
               ? FAB_OK
               : FAB_E_NOMEM;
}

/* Takes the reference to the base. */
static int make(struct fab_repair_network *b, struct fab_repair **ret)
{
    struct fab_repair *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        fab_repair_network_unref(b);
        return FAB_E_NOMEM;
    }
    r->base = b;
    r->label = b->label;
    r->dark = fab_base_bits_new(b->ports);
    r->alive = fab_base_alloc_array((size_t)b->n + 1, sizeof(*r->alive));
    r->island = fab_base_alloc_array((size_t)b->n + 1, sizeof(*r->island));
    r->candidates = calloc(FAB_REPAIR_CANDIDATES, sizeof(*r->candidates));
    if (!r->candidates || !r->dark || !r->alive || !r->island ||
        alloc_column(&r->column, b->n) != FAB_OK) {
        fab_repair_free(r);
        return FAB_E_NOMEM;
    }
    memcpy(r->alive, b->degree, b->n * sizeof(*r->alive));
    *ret = r;
    return FAB_OK;
}

int fab_repair_new(const struct fab_repair_input *in, struct fab_repair **ret, char *why,
                   size_t why_len)
{
    struct fab_repair_network *b = NULL;
    int status = fab_repair_network_new(in, &b);
    if (status == FAB_OK)
        status = fab_repair_labels_find(b, in, why, why_len);
    if (status == FAB_OK)
        return make(b, ret);
    fab_repair_network_unref(b);
    return status;
}

static void *copied(const void *from, size_t count, size_t item)
{
    void *to = fab_base_alloc_array(count, item);
    if (to != NULL && count > 0)
        memcpy(to, from, count * item);
    return to;
}

int fab_repair_clone(const struct fab_repair *r, struct fab_repair **ret)
{
    struct fab_repair *twin = NULL;
    int status = make(fab_repair_network_ref(r->base), &twin);
    if (status != FAB_OK)
        return status;
    twin->entry = copied(r->entry, r->entries, sizeof(*r->entry));
    twin->dead = copied(r->dead, r->deads, sizeof(*r->dead));
    twin->lift = copied(r->lift, r->lifts, sizeof(*r->lift));
    if (twin->entry == NULL || twin->dead == NULL || twin->lift == NULL) {
        fab_repair_free(twin);
        return FAB_E_NOMEM;
    }
    twin->entries = r->entries;
    twin->deads = r->deads;
    twin->lifts = r->lifts;
    twin->set = r->set;
    twin->commits = r->commits;
    *ret = twin;
    return FAB_OK;
}

void fab_repair_free(struct fab_repair *r)
{
    if (r == NULL)
        return;
    struct fab_repair_column *c = &r->column;
    void *all[] = {
        r->entry,      r->dead,           r->own_label, r->lift, r->dark, r->alive, r->island,
        c->mark,       c->entry,          c->old,       c->len,  c->seen, c->stale, c->onward,
        r->candidates, r->gathered.table, c->touched,   c->heap};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
    fab_repair_network_unref(r->base);
    free(r);
}

size_t fab_repair_memory(const struct fab_repair *r)
{
    const struct fab_repair_column *c = &r->column;
    size_t a_switch = sizeof(*c->mark) + sizeof(*c->entry) + sizeof(*c->old) + sizeof(*c->len) +
                      sizeof(*c->seen) + sizeof(*c->stale) + sizeof(*c->onward) +
                      sizeof(*c->touched) + sizeof(*c->heap) + sizeof(*r->alive) +
                      sizeof(*r->island);
    return sizeof(*r) + FAB_REPAIR_CANDIDATES * sizeof(*r->candidates) + r->gathered.room +
           a_switch * r->base->n + r->base->ports / 8 + r->entries * sizeof(*r->entry) +
           r->deads * sizeof(*r->dead) +
           (r->own_label != NULL ? sizeof(*r->own_label) * r->base->lanes * r->base->ports : 0) +
           fab_repair_network_memory(r->base);
}

size_t fab_repair_overlay_size(const struct fab_repair *r)
{
    return r->entries;
}

const char *fab_repair_label_source(const struct fab_repair *r)
{
    return r->base->labels;
}

/* ---- dead cables ----------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Both ends of cables between switches, each once. */
static int list_dead(const struct fab_repair_network *b, const uint32_t *dead, size_t count,
                     struct fab_repair_delta *d)
{
    size_t kept = 0;
    d->dead = fab_base_alloc_array(count, 2 * sizeof(*d->dead));
    if (d->dead == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (dead[i] >= b->ports || b->hop[dead[i]] == FAB_NONE)
            continue;
        d->dead[kept++] = dead[i];
        d->dead[kept++] = fab_repair_peer_port(b, dead[i]);
    }
    qsort(d->dead, kept, sizeof(*d->dead), ascending);
    for (size_t i = 0; i < kept; i++) {
        if (d->deads == 0 || d->dead[d->deads - 1] != d->dead[i])
            d->dead[d->deads++] = d->dead[i];
    }
    return FAB_OK;
}

static uint32_t switch_of(const struct fab_repair_network *b, uint32_t port)
{
    return b->hop[fab_repair_peer_port(b, port)];
}

void fab_repair_apply_dead(struct fab_repair *r, const struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->deads; i++) {
        fab_base_bits_set(r->dark, d->dead[i]);
        r->alive[switch_of(r->base, d->dead[i])]--;
    }
    fab_repair_relabel_apply(r, d);
}

void fab_repair_undo_dead(struct fab_repair *r, const struct fab_repair_delta *d)
{
    fab_repair_relabel_undo(r, d);
    for (size_t i = 0; i < d->deads; i++) {
        fab_base_bits_clear(r->dark, d->dead[i]);
        r->alive[switch_of(r->base, d->dead[i])]++;
    }
}

/* stack: [n] */
static void flood(struct fab_repair *r, uint32_t from, uint64_t *stack)
{
    const struct fab_repair_network *b = r->base;
    uint32_t count = 0;
    r->island[from] = from;
    stack[count++] = from;
    while (count > 0) {
        uint32_t sw = (uint32_t)stack[--count];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            uint32_t next = b->hop[port];
            if (next == FAB_NONE || fab_base_bits_get(r->dark, port) || r->island[next] != FAB_NONE)
                continue;
            r->island[next] = from;
            stack[count++] = next;
        }
    }
}

void fab_repair_find_components(struct fab_repair *r)
{
    for (uint32_t sw = 0; sw < r->base->n; sw++)
        r->island[sw] = FAB_NONE;
    for (uint32_t sw = 0; sw < r->base->n; sw++) {
        if (r->island[sw] == FAB_NONE)
            flood(r, sw, r->column.heap); /* nothing is pending now */
    }
}

/* ---- which entries lead into the dark -------------------------------------------------------- */

uint64_t *fab_repair_radix_sort(uint64_t *keys, uint64_t *room, size_t count, unsigned shift,
                                unsigned bits)
{
    for (unsigned done = 0; done < bits; done += 11) {
        size_t start[2049] = {0};
        for (size_t i = 0; i < count; i++)
            start[(keys[i] >> (shift + done) & 2047) + 1]++;
        for (unsigned i = 0; i < 2048; i++)
            start[i + 1] += start[i];
        for (size_t i = 0; i < count; i++)
            room[start[keys[i] >> (shift + done) & 2047]++] = keys[i];
        uint64_t *sorted = room;
        room = keys;
        keys = sorted;
    }
    return keys;
}

/* Places to look at: LID << 32 | switch. */
struct places {
    uint64_t *key;
    size_t count, room;
};

static bool add_place(struct places *p, uint32_t lid, uint32_t sw)
{
    if (p->count == p->room) {
        uint64_t *more = fab_base_grow(p->key, sizeof(*p->key), p->count + 1, &p->room);
        if (more == NULL)
            return false;
        p->key = more;
    }
    p->key[p->count++] = (uint64_t)lid << 32 | sw;
    return true;
}

/* Entries of a switch that are `num`. */
static bool scan_one(struct places *p, const uint8_t *row, uint32_t top, uint32_t sw, uint8_t num)
{
    const uint8_t *end = row + top + 1;
    for (const uint8_t *at = row; (at = memchr(at, num, (size_t)(end - at))) != NULL; at++) {
        if (!add_place(p, (uint32_t)(at - row), sw))
            return false;
    }
    return true;
}

static bool scan_many(struct places *p, const uint8_t *row, uint32_t top, uint32_t sw,
                      const bool is_dead[256])
{
    for (uint32_t lid = 0; lid <= top; lid++) {
        if (is_dead[row[lid]] && !add_place(p, lid, sw))
            return false;
    }
    return true;
}

/* Those of the tables in force; entries of the overlay are looked at anyway. */
static bool scan_dead(const struct fab_repair *r, const struct fab_lft *lft,
                      const struct fab_repair_delta *d, struct places *p)
{
    const struct fab_repair_network *b = r->base;
    for (size_t i = 0, next; i < d->deads; i = next) {
        uint32_t sw = switch_of(b, d->dead[i]);
        bool is_dead[256] = {false};
        for (next = i; next < d->deads && d->dead[next] < b->first[sw + 1]; next++)
            is_dead[d->dead[next] - b->first[sw]] = true;
        const uint8_t *row = fab_target_lft_row(lft, sw);
        if (r->alive[sw] == 0)
            continue;
        if (next - i == 1 ? !scan_one(p, row, b->top, sw, (uint8_t)(d->dead[i] - b->first[sw]))
                          : !scan_many(p, row, b->top, sw, is_dead))
            return false;
    }
    return true;
}

static int find_places(const struct fab_repair *r, const struct fab_lft *lft,
                       const struct fab_repair_delta *d, uint64_t **ret_key, size_t *ret_count)
{
    struct places p = {0};
    unsigned bits = 32 - (unsigned)__builtin_clz(r->base->top | 1);
    uint64_t *room = NULL;
    if (scan_dead(r, lft, d, &p))
        room = fab_base_alloc_array(p.count, sizeof(*room));
    if (room == NULL) {
        free(p.key);
        return FAB_E_NOMEM;
    }
    uint64_t *sorted = fab_repair_radix_sort(p.key, room, p.count, 32, bits);
    free(sorted == room ? p.key : room);
    *ret_key = sorted;
    *ret_count = p.count;
    return FAB_OK;
}

#define MANY 6 /* places, for which it is worth while to look at all switches */

/* ---- columns --------------------------------------------------------------------------------- */

struct job {
    struct fab_repair *r;
    const struct fab_lft *lft;
    struct fab_repair_delta *d;
    size_t change_room, entry_room;
    uint32_t *revived; /* [revivals] channels that were dead */
    uint32_t *stale;   /* [stales] switches with such an entry in the column at hand */
    size_t revivals, stales;
    bool islands_known, relabelled;
    char *why;
    size_t why_len;
};

static int note_change(struct job *j, uint32_t lid, uint32_t sw, uint8_t now)
{
    struct fab_repair_delta *d = j->d;
    bool stale = j->r->column.stale[sw];
    uint8_t was = stale && now != FAB_LFT_NO_ROUTE ? FAB_LFT_NO_ROUTE
                                                   : fab_repair_table_entry(&j->r->column, sw);
    if (was == now)
        return FAB_OK;
    if (d->changes == j->change_room) {
        void *more = fab_base_grow(d->change, sizeof(*d->change), d->changes + 1, &j->change_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->change = more;
    }
    d->change[d->changes++] =
        (struct fab_repair_change){.lid = lid, .sw = sw, .was = was, .now = now, .stale = stale};
    return FAB_OK;
}

static int note_entry(struct job *j, uint32_t lid, uint32_t sw, uint8_t base, uint8_t now)
{
    struct fab_repair_delta *d = j->d;
    if (base == now)
        return FAB_OK;
    if (d->entries == j->entry_room) {
        void *more = fab_base_grow(d->entry, sizeof(*d->entry), d->entries + 1, &j->entry_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        d->entry = more;
    }
    d->entry[d->entries++] =
        (struct fab_repair_entry){.lid = lid, .sw = sw, .base = base, .now = now};
    return FAB_OK;
}

static bool joined(struct job *j, uint32_t sw)
{
    struct fab_repair *r = j->r;
    if (!j->islands_known)
        fab_repair_find_components(r);
    j->islands_known = true;
    return r->island[sw] == r->island[r->column.home];
}

/* Only who is cut off by the cables may go without a way, and for a while what matters to switches
 * alone. (All that would send to one without a way are without one, too.) */
static int note_cut(struct job *j, uint32_t lid, uint32_t sw)
{
    struct fab_repair *r = j->r;
    bool is_joined = joined(j, sw);
    if (is_joined && r->base->hosts[sw] > 0 && fab_base_bits_get(r->base->ends, lid)) {
        snprintf(j->why, j->why_len, "no way that the labels allow from switch %u to LID %u", sw,
                 lid);
        return FAB_E_UNSUPPORTED;
    }
    j->d->cut += !is_joined;
    j->d->lost += is_joined;
    return FAB_OK;
}

/* An entry without a way stays, unless it would send to where that is illegal now. */
static uint8_t entry_of_cut(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint32_t channel = fab_repair_channel(r->base, sw, c->entry[sw]);
    uint32_t next = channel != FAB_NONE ? r->base->hop[channel] : FAB_NONE;
    if (next == FAB_NONE || fab_base_bits_get(r->dark, channel) ||
        c->mark[next] != FAB_MARK_SETTLED)
        return c->entry[sw];
    uint32_t onward = fab_repair_channel(r->base, next, c->entry[next]);
    return c->label[channel] < c->label[onward] ? c->entry[sw] : FAB_LFT_NO_ROUTE;
}

/* ---- cables that are back -------------------------------------------------------------------- */

static int list_revived(struct job *j)
{
    const struct fab_repair *r = j->r;
    j->revived = fab_base_alloc_array(r->deads, sizeof(*j->revived));
    j->stale = fab_base_alloc_array(r->deads + (j->relabelled ? r->base->n : 0), sizeof(*j->stale));
    if (j->revived == NULL || j->stale == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < r->deads; i++) {
        if (!fab_base_bits_get(r->dark, r->dead[i]))
            j->revived[j->revivals++] = r->dead[i];
    }
    return FAB_OK;
}

/* By the tables in force; FAB_NONE: none, or a dark one. */
static uint32_t old_channel(const struct job *j, uint32_t sw, uint32_t lid)
{
    uint32_t channel = fab_repair_channel(j->r->base, sw, fab_target_lft_row(j->lft, sw)[lid]);
    return channel != FAB_NONE && !fab_base_bits_get(j->r->dark, channel) ? channel : FAB_NONE;
}

/* Entries that still lead into a cable that is back are those of switches that were cut off. Where
 * the switch at its other end, which is in the overlay, now sends on by a label that is not above,
 * that must not carry traffic. */
static void find_stale(struct job *j, uint32_t lid)
{
    const struct fab_repair_network *b = j->r->base;
    struct fab_repair_column *c = &j->r->column;
    for (size_t i = 0; i < j->revivals; i++) {
        uint32_t channel = j->revived[i], to = b->hop[channel], from = switch_of(b, channel);
        if (c->mark[to] == FAB_MARK_NONE || to == c->home || from == c->home ||
            fab_target_lft_row(j->lft, from)[lid] != channel - b->first[from])
            continue;
        uint32_t onward = fab_repair_channel(b, to, fab_target_lft_row(j->lft, to)[lid]);
        if (onward == FAB_NONE || c->label[channel] < c->label[onward])
            continue;
        c->stale[from] = true;
        j->stale[j->stales++] = from;
    }
}

/* A turn of the tables in force, at the switch where `channel` ends, that does not ascend by the
 * labels to come. */
static bool turns_down(const struct job *j, uint32_t channel, uint32_t lid)
{
    const struct fab_repair *r = j->r;
    uint32_t at = r->base->hop[channel];
    uint32_t next = at != r->column.home ? old_channel(j, at, lid) : FAB_NONE;
    return next != FAB_NONE && r->column.label[channel] >= r->column.label[next];
}

/* Entries of the overlay that are part of such turns. */
static void find_turned(struct job *j, uint32_t lid, uint32_t sw)
{
    const struct fab_repair_network *b = j->r->base;
    struct fab_repair_column *c = &j->r->column;
    uint32_t out = sw != c->home ? old_channel(j, sw, lid) : FAB_NONE;
    bool turned = out != FAB_NONE && turns_down(j, out, lid);
    for (uint32_t port = b->first[sw] + 1; out != FAB_NONE && port < b->first[sw + 1]; port++) {
        uint32_t from = b->hop[port];
        if (!turned && from != FAB_NONE && from != c->home &&
            !fab_base_bits_get(j->r->dark, port) &&
            fab_target_lft_row(j->lft, from)[lid] == b->back[port])
            turned = turns_down(j, fab_repair_peer_port(b, port), lid);
    }
    if (turned && !c->stale[sw]) {
        c->stale[sw] = true;
        j->stale[j->stales++] = sw;
    }
}

static int take_stale(struct job *j)
{
    struct fab_repair_column *c = &j->r->column;
    int status = FAB_OK;
    for (size_t i = 0; i < j->stales; i++) {
        uint32_t sw = j->stale[i];
        if (status == FAB_OK && c->mark[sw] == FAB_MARK_NONE)
            status = note_change(j, c->lid, sw, fab_target_lft_row(j->lft, sw)[c->lid]);
        c->stale[sw] = false;
    }
    j->stales = 0;
    return status;
}

/* known: the overlay's entries of this column. */
static int take_column(struct job *j, const struct fab_repair_entry *known, size_t knowns)
{
    const struct fab_repair_column *c = &j->r->column;
    int status = FAB_OK;
    for (uint32_t i = 0; status == FAB_OK && i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        /* What the baseline says: in the overlay, first in touched[], or in the tables. */
        uint8_t base = i < knowns ? known[i].base : fab_repair_table_entry(c, sw);
        uint8_t now = c->entry[sw];
        if (c->mark[sw] == FAB_MARK_CUT) {
            now = entry_of_cut(j->r, sw);
            status = note_cut(j, c->lid, sw);
        }
        if (status == FAB_OK)
            status = note_change(j, c->lid, sw, now);
        if (status == FAB_OK)
            status = note_entry(j, c->lid, sw, base, now);
    }
    return status;
}

static int raise_all(struct job *j)
{
    const struct fab_repair_column *c = &j->r->column;
    for (uint32_t i = 0; i < c->touches; i++) {
        if (c->mark[c->touched[i]] == FAB_MARK_CUT && joined(j, c->touched[i]))
            return fab_repair_column_relax(j->r);
    }
    return FAB_OK;
}

static int do_column(struct job *j, uint32_t lid, const uint64_t *place, size_t places,
                     const struct fab_repair_entry *known, size_t knowns)
{
    struct fab_repair *r = j->r;
    uint32_t home = r->base->home[lid];
    int status = FAB_OK;
    fab_repair_column_begin(r, j->lft, lid);
    for (size_t i = 0; i < knowns; i++)
        fab_repair_column_set(r, known[i].sw, known[i].base);
    find_stale(j, lid);
    for (size_t i = 0; j->relabelled && i < knowns; i++)
        find_turned(j, lid, known[i].sw);
    /* To a switch without a living cable nothing leads: nothing changes. */
    if (home != FAB_NONE && (r->alive[home] > 0 || r->base->degree[home] == 0)) {
        for (size_t i = 0; i < knowns; i++)
            fab_repair_column_mark_pending(r, known[i].sw);
        for (size_t i = 0; i < places; i++)
            fab_repair_column_mark_pending(r, (uint32_t)place[i]);
        fab_repair_column_solve(r);
        status = raise_all(j);
    }
    if (status == FAB_OK)
        status = take_column(j, known, knowns);
    int stale = take_stale(j);
    fab_repair_column_end(r);
    return status == FAB_OK ? stale : status;
}

/* The columns of LIDs of one home that has lost a cable, when many of them are to come. */
static void gather(struct fab_repair *r, const struct fab_lft *lft, const uint64_t *place,
                   size_t places)
{
    uint32_t first = places > 0 ? (uint32_t)(place[0] >> 32) : 0;
    uint32_t last = places >= MANY ? (uint32_t)(place[MANY - 1] >> 32) : FAB_NONE;
    if (last == FAB_NONE || last - first >= FAB_REPAIR_TILE_LIDS)
        return;
    uint32_t siblings = fab_repair_tile_width(r, first), home = r->base->home[first];
    if (home == FAB_NONE || r->alive[home] == r->base->degree[home])
        return;
    if (last - first < siblings)
        fab_repair_tile_load(r, lft, first, siblings);
}

static int do_columns(struct job *j, const uint64_t *place, size_t places)
{
    struct fab_repair *r = j->r;
    size_t warmed = 0;
    int status = FAB_OK;
    for (size_t p = 0, e = 0; status == FAB_OK && (p < places || e < r->entries);) {
        uint32_t of_place = p < places ? (uint32_t)(place[p] >> 32) : FAB_NONE;
        uint32_t of_entry = e < r->entries ? r->entry[e].lid : FAB_NONE;
        uint32_t lid = of_place < of_entry ? of_place : of_entry;
        size_t p_end = p, e_end = e;
        if (p >= warmed && p < places) {
            warmed = places - p < FAB_REPAIR_PREFETCH_MAX ? places : p + FAB_REPAIR_PREFETCH_MAX;
            fab_repair_prefetch(r, j->lft, place + p, warmed - p);
        }
        while (p_end < places && (uint32_t)(place[p_end] >> 32) == lid)
            p_end++;
        if (lid - r->gathered.first >= r->gathered.count)
            gather(r, j->lft, place + p, places - p);
        while (e_end < r->entries && r->entry[e_end].lid == lid)
            e_end++;
        status = do_column(j, lid, place + p, p_end - p, r->entry + e, e_end - e);
        p = p_end;
        e = e_end;
    }
    return status;
}

static int find_labels(struct job *j)
{
    int status = fab_repair_relabel_find(j->r, j->d);
    if (status != FAB_OK) /* as if there were none, for who lightens */
        j->d->lifts = 0;
    fab_repair_relabel_apply(j->r, j->d);
    j->relabelled = fab_repair_labels_differ(j->r, j->d);
    return status;
}

/* By one set of labels. */
static int plan_by(struct fab_repair *r, uint32_t set, const struct fab_lft *lft,
                   const uint32_t *dead, size_t count, struct fab_repair_delta *ret, char *why,
                   size_t why_len)
{
    struct fab_repair_delta d = {.set = set};
    struct job j = {.r = r, .lft = lft, .d = &d, .why = why, .why_len = why_len};
    uint64_t *place = NULL;
    size_t places = 0;
    int status = list_dead(r->base, dead, count, &d);
    fab_repair_apply_dead(r, &d);
    if (status == FAB_OK)
        status = find_labels(&j);
    if (status == FAB_OK)
        status = list_revived(&j);
    if (status == FAB_OK)
        status = find_places(r, lft, &d, &place, &places);
    if (status == FAB_OK)
        status = do_columns(&j, place, places);
    fab_repair_undo_dead(r, &d);
    free(place);
    free(j.revived);
    free(j.stale);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}

/* The first set that leaves nothing out, else the first that will do. */
int fab_repair_plan(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                    size_t count, struct fab_repair_delta *ret, char *why, size_t why_len)
{
    struct fab_repair_delta best = {0}, d;
    int status = FAB_E_UNSUPPORTED;
    if (lft->switch_count != r->base->n || lft->top < r->base->top)
        return FAB_E_INVAL;
    r->raised = 0;
    for (uint32_t set = 0; set < r->base->sets && (status != FAB_OK || best.lost > 0); set++) {
        int one = plan_by(r, set, lft, dead, count, &d, why, why_len);
        if (one == FAB_OK && (status != FAB_OK || d.lost == 0)) {
            fab_repair_delta_fini(&best);
            best = d;
            status = FAB_OK;
        } else if (one == FAB_OK) {
            fab_repair_delta_fini(&d);
        } else if (one != FAB_E_UNSUPPORTED) {
            fab_repair_delta_fini(&best);
            return one;
        }
    }
    if (status == FAB_OK)
        *ret = best;
    return status;
}

void fab_repair_delta_fini(struct fab_repair_delta *d)
{
    free(d->change);
    free(d->write);
    free(d->by_write);
    free(d->dead);
    free(d->entry);
    free(d->lift);
    memset(d, 0, sizeof(*d));
}

void fab_repair_commit(struct fab_repair *r, struct fab_lft *lft, struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->changes; i++)
        fab_target_lft_row(lft, d->change[i].sw)[d->change[i].lid] = d->change[i].now;
    free(r->entry);
    r->entry = d->entry;
    r->entries = d->entries;
    d->entry = NULL;
    d->entries = 0;
    free(r->dead);
    r->dead = d->dead;
    r->deads = d->deads;
    free(r->lift);
    r->lift = d->lift;
    r->lifts = d->lifts;
    r->set = d->set;
    r->gathered.count = 0;
    r->commits++;
    d->dead = NULL;
    d->deads = 0;
    d->lift = NULL;
    d->lifts = 0;
}
