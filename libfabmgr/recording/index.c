/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a recording once and builds the index.
 *
 * An answer belongs to the latest request before it that has the same class and TID. Retries have
 * the TID of the first try. Only the low 32 bits of the TID are compared, because the kernel writes
 * the high bits.
 *
 * Requests whose contents have the same hash form a list, in the order of the recording. A map
 * finds the list by the hash. As different contents can have the same hash,
 * fab_recording_index_take compares the contents, too.
 */
#include "libfabmgr/recording/index.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define NONE FAB_RECORDING_NONE
#define MOST_ITEMS (UINT32_C(1) << 31)
/* Maximum time of an entry in us, about 35 years; a later time in a recording counts as this
 * one. */
#define LONGEST_US (UINT64_C(1) << 50)
#define QUIET_US 1000000u
/* Time in us from the last received MAD to the end of a replay. Exception: if the recording says
 * that the manager was stopped, and this was at least QUIET_US after the last received MAD, the
 * replay ends when the manager was stopped. */
#define AFTER_CUT_US 100000u
#define CONTENT_MAX (8 + 2 + FAB_MAX_HOPS + FAB_MAD_SIZE)

enum { AT_CLASS = 1, AT_METHOD = 3, AT_HOPS = 7, AT_TID = 8, AT_ATTR = 16, AT_MODIFIER = 20 };
enum { AT_GMP_DATA = 24, AT_SMP_DATA = 64, AT_PATH = 128 };

/* ---- content ---- */

static size_t append(uint8_t *to, size_t used, const uint8_t *bytes, size_t len)
{
    memcpy(to + used, bytes, len);
    return used + len;
}

static size_t content_of(const struct fab_recording_entry *e, uint8_t ret[CONTENT_MAX])
{
    const uint8_t *mad = e->bytes;
    bool directed = mad[AT_CLASS] == FAB_CLASS_SMP_DIRECTED;
    bool smp = directed || mad[AT_CLASS] == FAB_CLASS_SMP_LID;
    uint8_t lid[2] = {(uint8_t)(e->addr.dlid >> 8), (uint8_t)e->addr.dlid};
    size_t hops = mad[AT_HOPS] <= FAB_MAX_HOPS ? mad[AT_HOPS] : FAB_MAX_HOPS;
    size_t n = append(ret, 0, mad + AT_CLASS, 1);
    n = append(ret, n, mad + AT_METHOD, 1);
    n = append(ret, n, mad + AT_ATTR, 2);
    n = append(ret, n, mad + AT_MODIFIER, 4);
    n = directed ? append(ret, n, mad + AT_PATH + 1, hops) : append(ret, n, lid, sizeof(lid));
    if (!smp)
        n = append(ret, n, mad + AT_GMP_DATA, FAB_MAD_SIZE - AT_GMP_DATA);
    else if (mad[AT_METHOD] != FAB_METHOD_GET)
        n = append(ret, n, mad + AT_SMP_DATA, FAB_SMP_DATA);
    return n;
}

static uint64_t hash(const uint8_t *bytes, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ len; /* the hash is FNV-1a */
    for (size_t i = 0; i < len; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* ---- reading ---- */

static bool expects_answer(const uint8_t *mad)
{
    return (mad[AT_METHOD] & FAB_METHOD_RESPONSE) == 0 && mad[AT_METHOD] != FAB_METHOD_TRAP_REPRESS;
}

static uint64_t transaction(const struct fab_recording_entry *e)
{
    return (uint64_t)e->bytes[AT_CLASS] << 32 | fab_base_get_be32(e->bytes + AT_TID + 4);
}

static int add_item(struct fab_recording_index *s, size_t *capacity,
                    const struct fab_recording_item *item)
{
    if (s->count == MOST_ITEMS)
        return FAB_E_LIMIT;
    if (s->count == *capacity) {
        void *grown = fab_base_grow(s->items, sizeof(*s->items), s->count + 1, capacity);
        if (!grown)
            return FAB_E_NOMEM;
        s->items = grown;
    }
    s->items[s->count++] = *item;
    return FAB_OK;
}

/* Finds the request that a received MAD answers, and stores the index of the request in the item of
 * the MAD. If the recording has no such request, marks the MAD as done, so that the player skips
 * it. */
static void link_answer(struct fab_recording_index *s, const struct fab_map *requests,
                        const struct fab_recording_entry *e, uint32_t in)
{
    struct fab_recording_item *item = &s->items[in];
    if (!e->failed && expects_answer(e->bytes))
        return;
    if (!e->failed && e->bytes[AT_METHOD] == FAB_METHOD_TRAP_REPRESS)
        return;
    if (!fab_base_map_get(requests, transaction(e), &item->pair))
        item->done = true;
    else if (s->items[item->pair].pair == NONE)
        s->items[item->pair].pair = in;
}

static int add_mad(struct fab_recording_index *s, size_t *capacity, struct fab_map *requests,
                   const struct fab_recording_entry *e, size_t at)
{
    uint32_t index = s->count;
    struct fab_recording_item item = {.at = at,
                                      .time = e->time_us,
                                      .pair = NONE,
                                      .next = NONE,
                                      .out = e->kind == FAB_RECORDING_OUT,
                                      .perf = e->bytes[AT_CLASS] == FAB_CLASS_PERF};
    int status = add_item(s, capacity, &item);
    if (status != FAB_OK)
        return status;
    if (!item.out) {
        s->ins++;
        s->last_in = s->count;
        link_answer(s, requests, e, index);
        return FAB_OK;
    }
    s->outs++;
    return expects_answer(e->bytes) ? fab_base_map_put(requests, transaction(e), index) : FAB_OK;
}

static uint64_t clamp_time(uint64_t time, uint64_t before)
{
    return time < before ? before : time > LONGEST_US ? LONGEST_US : time;
}

static int read_entries(struct fab_recording_index *s, struct fab_base_reader *r,
                        struct fab_map *requests)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_recording_entry e;
    size_t capacity = 0;
    uint64_t last_in_us = 0;
    bool quiet = false;
    int status = FAB_OK;
    s->tail = FAB_E_TRUNCATED;
    while (status == FAB_OK && s->tail != FAB_OK && fab_base_read_left(r) > 0) {
        size_t at = (size_t)(r->at - s->bytes);
        int got = fab_recording_unpack(r, mad, &e);
        if (got != FAB_OK) {
            s->tail = got;
            break;
        }
        s->end_us = e.time_us = clamp_time(e.time_us, s->end_us);
        if (e.kind == FAB_RECORDING_OUT || e.kind == FAB_RECORDING_IN)
            status = add_mad(s, &capacity, requests, &e, at);
        if (e.kind == FAB_RECORDING_IN)
            last_in_us = e.time_us;
        if (e.kind == FAB_RECORDING_END) {
            s->tail = FAB_OK;
            quiet = e.small == FAB_RECORDING_STOPPED && e.time_us - last_in_us >= QUIET_US;
        }
    }
    s->judged_us = s->end_us > QUIET_US ? s->end_us - QUIET_US : 0;
    if (!quiet)
        s->end_us = last_in_us + AFTER_CUT_US;
    return status;
}

/* Builds the lists of requests with equal hashes. The function goes backwards through the
 * recording, because it inserts each request at the beginning of its list. */
static int build_lists(struct fab_recording_index *s)
{
    uint8_t mad[FAB_MAD_SIZE], bytes[CONTENT_MAX];
    struct fab_recording_entry e;
    int status = FAB_OK;
    for (uint32_t i = s->count; i-- > 0 && status == FAB_OK;) {
        if (!s->items[i].out)
            continue;
        fab_recording_index_entry(s, i, mad, &e);
        uint64_t key = hash(bytes, content_of(&e, bytes));
        (void)fab_base_map_get(&s->heads, key, &s->items[i].next);
        status = fab_base_map_put(&s->heads, key, i);
    }
    return status;
}

int fab_recording_index_build(struct fab_recording_index *s, const uint8_t *bytes, size_t len)
{
    struct fab_base_reader r = fab_base_reader(bytes, len);
    struct fab_map requests = {0};
    *s = (struct fab_recording_index){.bytes = bytes, .len = len};
    int status = fab_recording_unpack_header(&r, &s->header);
    if (status == FAB_OK)
        status = read_entries(s, &r, &requests);
    if (status == FAB_OK)
        status = build_lists(s);
    fab_base_map_fini(&requests);
    if (status != FAB_OK)
        fab_recording_index_fini(s);
    return status;
}

void fab_recording_index_fini(struct fab_recording_index *s)
{
    free(s->items);
    s->items = NULL;
    fab_base_map_fini(&s->heads);
}

void fab_recording_index_entry(const struct fab_recording_index *s, uint32_t item,
                               uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret)
{
    size_t at = s->items[item].at;
    struct fab_base_reader r = fab_base_reader(s->bytes + at, s->len - at);
    /* this call cannot fail, because the same entry was read when the index was built */
    (void)fab_recording_unpack(&r, mad, ret);
}

/* ---- taking an entry for a MAD ---- */

static bool has_content(const struct fab_recording_index *s, uint32_t item, const uint8_t *bytes,
                        size_t len)
{
    uint8_t mad[FAB_MAD_SIZE], its[CONTENT_MAX];
    struct fab_recording_entry e;
    fab_recording_index_entry(s, item, mad, &e);
    return content_of(&e, its) == len && memcmp(its, bytes, len) == 0;
}

uint32_t fab_recording_index_take(struct fab_recording_index *s,
                                  const struct fab_recording_entry *mad)
{
    uint8_t bytes[CONTENT_MAX];
    size_t len = content_of(mad, bytes);
    uint64_t key = hash(bytes, len);
    uint32_t item = NONE, before = NONE;
    (void)fab_base_map_get(&s->heads, key, &item);
    while (item != NONE && !has_content(s, item, bytes, len)) {
        before = item;
        item = s->items[item].next;
    }
    if (item == NONE)
        return NONE;
    uint32_t next = s->items[item].next;
    if (before != NONE)
        s->items[before].next = next;
    else if (next != NONE)
        /* this call needs no memory, so it cannot fail: the map has the key already */
        (void)fab_base_map_put(&s->heads, key, next);
    else
        (void)fab_base_map_remove(&s->heads, key);
    return item;
}
