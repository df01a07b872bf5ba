/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the table entries that lead into dead links. A switch has such entries only if one of its
 *
 * own links is dead. So the search reads only the LFTs of the switches at dead links.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

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

/* A growing list of the affected entries. Each element is a key LID << 32 | switch. */
struct affected {
    uint64_t *key;
    size_t count, room;
};

static bool add_affected(struct affected *p, uint32_t lid, uint32_t sw)
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

/* Adds the entries of switch `sw` that lead to its port `num`, whose link is dead. row: the LFT of
 * the switch, up to the LID `top`. */
static bool scan_one(struct affected *p, const uint8_t *row, uint32_t top, uint32_t sw, uint8_t num)
{
    const uint8_t *end = row + top + 1;
    for (const uint8_t *at = row; (at = memchr(at, num, (size_t)(end - at))) != NULL; at++) {
        if (!add_affected(p, (uint32_t)(at - row), sw))
            return false;
    }
    return true;
}

static bool scan_many(struct affected *p, const uint8_t *row, uint32_t top, uint32_t sw,
                      const bool is_dead[256])
{
    for (uint32_t lid = 0; lid <= top; lid++) {
        if (is_dead[row[lid]] && !add_affected(p, lid, sw))
            return false;
    }
    return true;
}

/* Lists the entries of the active tables that lead into dead links. Entries of the overlay (struct
 * fab_repair_entry) need no search, because every plan decides all of them anew. */
static bool scan_dead(const struct fab_repair *r, const struct fab_lft *lft,
                      const struct fab_repair_delta *d, struct affected *p)
{
    const struct fab_repair_network *b = r->network;
    for (size_t i = 0, next; i < d->deads; i = next) {
        uint32_t sw = fab_repair_switch_of(b, d->dead[i]);
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

int fab_repair_find_affected(const struct fab_repair *r, const struct fab_lft *lft,
                             const struct fab_repair_delta *d, uint64_t **ret_key,
                             size_t *ret_count)
{
    struct affected p = {0};
    unsigned bits = 32 - (unsigned)__builtin_clz(r->network->top | 1);
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
