/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes deltas, so that contingency plans take little memory.
 *
 * A number is written with 7 bits per byte, the lowest bits first; signed numbers are zigzag coded.
 * An encoded delta begins with the counts of its changes, blocks, steps, cut entries and lost
 * entries, the index of its set of labels, and the count of its writes. The writes follow in
 * sending order.
 *
 * A write begins with a byte of flags, and with its switch, step and block as differences from the
 * previous write. The masks `keep` and `drain` of struct fab_repair_write follow if they are not 0.
 * The rest depends on whether the write is the first one of its block:
 *
 * - The first write contains all changes of the block: the number of changes, and for each change
 *   its position in the block and the new port, one byte each, as differences from the previous
 *   change. An early write only sets entries to NO_ROUTE; the number of these entries precedes the
 *   changes. Any other first write changes all entries that `keep` does not exclude.
 * - A further write contains the index of the block's first change, the number of the block's
 *   changes, and the number of entries that the further write itself changes. A further write sends
 *   the new values of all changes of the block, except as `keep` and `drain` say. The last of these
 *   three numbers does not count entries that already have their new values from an earlier write.
 *
 * The result is compressed (compress.c). For a leaf switch's link in a tree of 11,664 endports,
 * 1,764 entries in 895 writes take 1 kB.
 *
 * The old entries are not stored. Decoding reads them from the tables, which also brings the blocks
 * into the cache before the writes need them.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/internal.h"

/* flags in the first byte of an encoded write */
/* flag: an earlier write of the same LFT block contains the changes of this write */
#define SHARES 1
/* flag: the mask `keep` of struct fab_repair_write is not 0, and follows in the bytes */
#define KEEPS 2
/* flag: the mask `drain` of struct fab_repair_write is not 0, and follows in the bytes */
#define DRAINS 4
/* flag: the write sets stale entries to NO_ROUTE (struct fab_repair_write) */
#define EARLY 8
/* maximum size in bytes of an encoded write without its changes: flags, six 32-bit and two 64-bit
 * numbers */
#define WRITE_BYTES 64

/* ---- numbers --------------------------------------------------------------------------------- */

static uint8_t *put_step(uint8_t *at, uint32_t from, uint32_t to)
{
    int64_t far = (int64_t)to - from;
    return fab_repair_put_number(at, far < 0 ? ((uint64_t)-far << 1) - 1 : (uint64_t)far << 1);
}

static uint32_t get_step(const uint8_t **at, uint32_t from)
{
    uint64_t far = fab_repair_get_number(at);
    return far & 1 ? from - (uint32_t)((far + 1) >> 1) : from + (uint32_t)(far >> 1);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static uint8_t *put_changes(uint8_t *at, const struct fab_repair_delta *d,
                            const struct fab_repair_write *w)
{
    uint8_t place = 0, now = 0;
    at = fab_repair_put_number(at, w->changes);
    for (uint32_t i = 0; i < w->changes; i++) {
        const struct fab_repair_change *c = &d->change[d->by_write[w->first + i]];
        *at++ = (uint8_t)(c->lid % FAB_LFT_BLOCK - place);
        *at++ = (uint8_t)(c->now - now);
        place = (uint8_t)(c->lid % FAB_LFT_BLOCK);
        now = c->now;
    }
    return at;
}

/* Appends a write to the encoded delta. All writes of the same LFT block of a switch have the same
 * w->first, and their changes are encoded only once. moved[w->first] is FAB_NONE until then.
 * Afterwards it is the position of the first of these changes among all encoded changes, and later
 * writes have this position instead of the changes. *placed: number of changes encoded so far. */
static uint8_t *put_write(uint8_t *at, const struct fab_repair_delta *d,
                          const struct fab_repair_write *w, uint32_t *moved, uint32_t *placed)
{
    static const struct fab_repair_write none;
    const struct fab_repair_write *last = w > d->write ? w - 1 : &none;
    bool again = moved[w->first] != FAB_NONE;
    *at++ = (uint8_t)((again ? SHARES : 0) | (w->keep != 0 ? KEEPS : 0) |
                      (w->drain != 0 ? DRAINS : 0) | (w->early ? EARLY : 0));
    at = put_step(at, last->sw, w->sw);
    at = put_step(at, last->step, w->step);
    at = put_step(at, last->block, w->block);
    if (w->keep != 0)
        at = fab_repair_put_number(at, w->keep);
    if (w->drain != 0)
        at = fab_repair_put_number(at, w->drain);
    if (again) {
        at = fab_repair_put_number(at, moved[w->first]);
        at = fab_repair_put_number(at, w->changes);
        return fab_repair_put_number(at, w->entries);
    }
    moved[w->first] = *placed;
    *placed += w->changes;
    if (w->early)
        at = fab_repair_put_number(at, w->entries);
    return put_changes(at, d, w);
}

int fab_repair_encode(const struct fab_repair_delta *d, uint8_t **ret, uint32_t *ret_len)
{
    uint32_t *moved = fab_base_alloc_array(d->changes, sizeof(*moved)), placed = 0;
    uint8_t *raw = malloc((d->writes + 1) * WRITE_BYTES + d->changes * 2), *at = raw;
    if (moved == NULL || raw == NULL) {
        free(moved);
        free(raw);
        return FAB_E_NOMEM;
    }
    memset(moved, 0xff, d->changes * sizeof(*moved));
    at = fab_repair_put_number(at, d->changes);
    at = fab_repair_put_number(at, d->blocks);
    at = fab_repair_put_number(at, d->steps);
    at = fab_repair_put_number(at, d->cut);
    at = fab_repair_put_number(at, d->lost);
    at = fab_repair_put_number(at, d->label_set);
    at = fab_repair_put_number(at, d->writes);
    for (size_t i = 0; i < d->writes; i++)
        at = put_write(at, d, &d->write[i], moved, &placed);
    free(moved);
    int status = fab_repair_compress(raw, (uint32_t)(at - raw), ret, ret_len);
    free(raw);
    return status;
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct decoding {
    const struct fab_repair *r;
    const struct fab_lft *lft;
    struct fab_repair_delta *d;
    uint32_t placed;
};

static const uint8_t *get_changes(struct decoding *u, const uint8_t *at, struct fab_repair_write *w)
{
    uint32_t first = u->placed;
    w->first = first;
    w->changes = (uint32_t)fab_repair_get_number(&at);
    u->placed += w->changes;
    if (u->lft != NULL)
        __builtin_prefetch(fab_target_lft_block(u->lft, w->sw, w->block));
    uint8_t place = 0, now = 0;
    for (uint32_t i = 0; i < w->changes; i++, at += 2) {
        place = (uint8_t)(place + at[0]);
        now = (uint8_t)(now + at[1]);
        u->d->change[first + i] = (struct fab_repair_change){
            .lid = w->block * FAB_LFT_BLOCK + place, .sw = w->sw, .now = now};
        u->d->by_write[first + i] = first + i;
    }
    return at;
}

static const uint8_t *get_write(struct decoding *u, const uint8_t *at,
                                const struct fab_repair_write *last, struct fab_repair_write *w)
{
    uint8_t flags = *at++;
    *w = (struct fab_repair_write){.sw = get_step(&at, last->sw)};
    w->step = get_step(&at, last->step);
    w->block = get_step(&at, last->block);
    w->keep = flags & KEEPS ? fab_repair_get_number(&at) : 0;
    w->drain = flags & DRAINS ? fab_repair_get_number(&at) : 0;
    w->early = (flags & EARLY) != 0;
    if (flags & SHARES) {
        w->first = (uint32_t)fab_repair_get_number(&at);
        w->changes = (uint32_t)fab_repair_get_number(&at);
        w->entries = (uint32_t)fab_repair_get_number(&at);
    } else {
        uint32_t drops = w->early ? (uint32_t)fab_repair_get_number(&at) : 0;
        at = get_changes(u, at, w);
        w->entries = w->early ? drops : w->changes - (uint32_t)__builtin_popcountll(w->keep);
    }
    w->weight = w->early ? 0 : (uint64_t)u->r->network->attached[w->sw] * w->entries;
    if (w->drain != 0)
        u->d->drained += w->entries;
    return at;
}

static void read_was(const struct fab_lft *lft, struct fab_repair_delta *d)
{
    for (size_t i = 0; i < d->changes; i++)
        d->change[i].was = fab_target_lft_at(lft, d->change[i].sw, d->change[i].lid);
}

/* Marks the changes that early writes drain as stale. As in a delta that was just computed, `was`
 * of such a change is NO_ROUTE (struct fab_repair_change), so that no write restores its old entry.
 */
static void mark_stale(struct fab_repair_delta *d)
{
    for (const struct fab_repair_write *w = d->write; w < d->write + d->writes; w++) {
        for (uint32_t i = 0; w->early && i < w->changes; i++) {
            struct fab_repair_change *c = &d->change[d->by_write[w->first + i]];
            if ((w->drain >> (c->lid % FAB_LFT_BLOCK) & 1) == 0)
                continue;
            c->stale = true;
            if (c->now != FAB_LFT_NO_ROUTE)
                c->was = FAB_LFT_NO_ROUTE;
        }
    }
}

/* ---- the overlay after the delta ------------------------------------------------------------- */

static struct fab_repair_entry entry_of(const struct fab_repair_change *c)
{
    return (struct fab_repair_entry){.lid = c->lid, .sw = c->sw, .baseline = c->was, .now = c->now};
}

/* Merges the overlay's entries of one LID, known[knowns], with the changes of that LID. Writes the
 * merged entries to `to`, without those that become equal to the baseline, and returns their
 * number. key[changes]: as in merge(), for this LID. index[n] is scratch memory, which need not be
 * initialised. */
static size_t merge_column(const struct fab_repair_entry *known, size_t knowns,
                           const struct fab_repair_change *change, const uint64_t *key,
                           size_t changes, uint32_t *index, struct fab_repair_entry *to)
{
    size_t count = knowns, kept = 0;
    for (size_t i = 0; i < knowns; i++) {
        to[i] = known[i];
        index[known[i].sw] = (uint32_t)i;
    }
    for (size_t i = 0; i < changes; i++) {
        const struct fab_repair_change *c = &change[(uint32_t)key[i]];
        uint32_t at = index[c->sw];
        if (at < knowns && to[at].sw == c->sw)
            to[at].now = c->now;
        else
            to[count++] = entry_of(c);
    }
    for (size_t i = 0; i < count; i++) {
        if (to[i].baseline != to[i].now)
            to[kept++] = to[i];
    }
    return kept;
}

/* Fills d->entry with all entries that will differ from the baseline after the delta: the present
 * overlay, merged with the changes. key[]: LID << 32 | index in change[] for each change, sorted by
 * LID. */
static void merge(struct fab_repair *r, struct fab_repair_delta *d, const uint64_t *key)
{
    /* Usually there was no overlay before the delta. Then only the changes will differ from the
     * baseline. */
    for (; r->entries == 0 && d->entries < d->changes; d->entries++)
        d->entry[d->entries] = entry_of(&d->change[(uint32_t)key[d->entries]]);
    if (r->entries == 0)
        return;
    for (size_t c = 0, e = 0; c < d->changes || e < r->entries;) {
        uint32_t of_change = c < d->changes ? (uint32_t)(key[c] >> 32) : FAB_NONE;
        uint32_t of_entry = e < r->entries ? r->entry[e].lid : FAB_NONE;
        uint32_t lid = of_change < of_entry ? of_change : of_entry;
        size_t c_end = c, e_end = e;
        while (c_end < d->changes && (uint32_t)(key[c_end] >> 32) == lid)
            c_end++;
        while (e_end < r->entries && r->entry[e_end].lid == lid)
            e_end++;
        d->entries += merge_column(r->entry + e, e_end - e, d->change, key + c, c_end - c,
                                   r->component, d->entry + d->entries);
        c = c_end;
        e = e_end;
    }
}

static int make_entries(struct fab_repair *r, struct fab_repair_delta *d)
{
    unsigned bits = 32 - (unsigned)__builtin_clz(r->network->top | 1);
    uint64_t *key = fab_base_alloc_array(d->changes, sizeof(*key));
    uint64_t *room = fab_base_alloc_array(d->changes, sizeof(*room));
    d->entry = fab_base_alloc_array(d->changes + r->entries, sizeof(*d->entry));
    int status = key && room && d->entry ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        for (size_t i = 0; i < d->changes; i++)
            key[i] = (uint64_t)d->change[i].lid << 32 | i;
        merge(r, d, fab_repair_radix_sort(key, room, d->changes, 32, bits));
    }
    free(key);
    free(room);
    return status;
}

int fab_repair_decode_changes(const struct fab_repair *r, const struct fab_lft *lft,
                              const uint8_t *packed, struct fab_repair_delta *ret)
{
    static const struct fab_repair_write none;
    uint8_t *raw = fab_repair_decompress(packed);
    const uint8_t *at = raw;
    if (raw == NULL)
        return FAB_E_NOMEM;
    struct fab_repair_delta d = {.changes = fab_repair_get_number(&at),
                                 .blocks = fab_repair_get_number(&at)};
    struct decoding u = {.r = r, .lft = lft, .d = &d};
    d.steps = (uint32_t)fab_repair_get_number(&at);
    d.cut = fab_repair_get_number(&at);
    d.lost = fab_repair_get_number(&at);
    d.label_set = (uint32_t)fab_repair_get_number(&at);
    d.writes = fab_repair_get_number(&at);
    d.change = fab_base_alloc_array(d.changes, sizeof(*d.change));
    d.by_write = fab_base_alloc_array(d.changes, sizeof(*d.by_write));
    d.write = fab_base_alloc_array(d.writes, sizeof(*d.write));
    int status = d.change && d.by_write && d.write ? FAB_OK : FAB_E_NOMEM;
    for (size_t i = 0; status == FAB_OK && i < d.writes; i++)
        at = get_write(&u, at, i > 0 ? &d.write[i - 1] : &none, &d.write[i]);
    free(raw);
    if (status == FAB_OK && lft != NULL)
        read_was(lft, &d);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}

int fab_repair_decode(struct fab_repair *r, const struct fab_lft *lft, const uint8_t *packed,
                      struct fab_repair_delta *ret)
{
    struct fab_repair_delta d;
    int status = fab_repair_decode_changes(r, lft, packed, &d);
    if (status != FAB_OK)
        return status;
    /* the entries of the overlay need the old entries, also those of stale changes */
    status = make_entries(r, &d);
    mark_stale(&d);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_repair_delta_fini(&d);
    return status;
}
