/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the table entries that lead into dead links. A switch has such entries only if one of its
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

/* A growing array of table entries that lead into dead links. Each element is LID << 32 | switch
 * id. */
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

/* Adds the entries of switch `sw` that forward to its port `num`, whose link is dead. run[count]
 * has the entries of `sw` for `count` LIDs, beginning with `lid`. Returns false if memory runs
 * out. */
static bool scan_one(struct affected *p, const uint8_t *run, uint32_t count, uint32_t lid,
                     uint32_t sw, uint8_t num)
{
    const uint8_t *end = run + count;
    for (const uint8_t *at = run; (at = memchr(at, num, (size_t)(end - at))) != NULL; at++) {
        if (!add_affected(p, lid + (uint32_t)(at - run), sw))
            return false;
    }
    return true;
}

static bool scan_many(struct affected *p, const uint8_t *run, uint32_t count, uint32_t lid,
                      uint32_t sw, const bool is_dead[256])
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_dead[run[i]] && !add_affected(p, lid + i, sw))
            return false;
    }
    return true;
}

/* Lists the entries of the active tables that lead into dead links, except those of switches
 * without a living link. Returns false if memory runs out. */
static bool scan_dead(const struct fab_repair *r, const struct fab_lft *lft,
                      const struct fab_repair_delta *d, struct affected *p)
{
    const struct fab_repair_network *b = r->network;
    for (size_t i = 0, next; i < d->deads; i = next) {
        uint32_t sw = fab_repair_switch_of(b, d->dead[i]);
        bool is_dead[256] = {false};
        for (next = i; next < d->deads && d->dead[next] < b->first[sw + 1]; next++)
            is_dead[d->dead[next] - b->first[sw]] = true;
        uint8_t num = (uint8_t)(d->dead[i] - b->first[sw]);
        for (uint32_t lid = 0, count; lid <= b->top && r->alive[sw] > 0; lid += count) {
            const uint8_t *run = fab_target_lft_run(lft, sw, lid, &count);
            if (next - i == 1 ? !scan_one(p, run, count, lid, sw, num)
                              : !scan_many(p, run, count, lid, sw, is_dead))
                return false;
        }
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
