/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates slots in chunks when they are needed, and frees them with the session. So a steady
 * stream of requests allocates no memory, and pointers to slots stay valid.
 *
 * TIDs come from a keyed generator, so that a host cannot guess the TID of a request to another
 * port and answer in its place: all 32 bits are unpredictable. The low bits of a TID are the index
 * of its entry in a table; if this entry is taken, another TID is generated. The table is at most a
 * quarter full, so a TID needs at most 4/3 attempts on average. The slot of a TID is found by one
 * array access.
 */
#include "libfabmgr/mads/slots.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* number of slots that are allocated together */
#define CHUNK 64
#define ENTRIES_PER_SLOT 4

void fab_mads_slot_list_append(struct fab_slot_list *l, struct fab_slot *s)
{
    s->next = NULL;
    s->prev = l->tail;
    *(l->tail != NULL ? &l->tail->next : &l->head) = s;
    l->tail = s;
}

static void prepend(struct fab_slot_list *l, struct fab_slot *s)
{
    s->prev = NULL;
    s->next = l->head;
    *(l->head != NULL ? &l->head->prev : &l->tail) = s;
    l->head = s;
}

void fab_mads_slot_list_remove(struct fab_slot_list *l, struct fab_slot *s)
{
    *(s->prev != NULL ? &s->prev->next : &l->head) = s->next;
    *(s->next != NULL ? &s->next->prev : &l->tail) = s->prev;
}

struct fab_slot *fab_mads_slot_list_pop(struct fab_slot_list *l)
{
    struct fab_slot *s = l->head;
    if (s != NULL)
        fab_mads_slot_list_remove(l, s);
    return s;
}

void fab_mads_slots_init(struct fab_slots *t, const uint8_t tid_key[FAB_STREAM_KEY])
{
    *t = (struct fab_slots){0};
    fab_base_stream_init(&t->stream, tid_key);
}

void fab_mads_slots_fini(struct fab_slots *t)
{
    for (size_t i = 0; i < t->chunk_count; i++)
        free(t->chunks[i]);
    free(t->chunks);
    free(t->by_tid);
    *t = (struct fab_slots){0};
}

/* ---- TIDs ------------------------------------------------------------------------------------ */

static struct fab_slot *slot_at(const struct fab_slots *t, uint32_t index)
{
    return &t->chunks[index / CHUNK][index % CHUNK];
}

/* Enlarges the table of TIDs, so that there is room for `slots` slots. The index of a TID in the
 * table is its low bits. The new table uses more of these bits, so no two TIDs get the same
 * index. */
static int reserve_tids(struct fab_slots *t, uint32_t slots)
{
    uint32_t size = ENTRIES_PER_SLOT * CHUNK;
    while (size < ENTRIES_PER_SLOT * slots)
        size *= 2;
    if (t->by_tid != NULL && size <= t->tid_mask + 1)
        return FAB_OK;
    uint32_t *by_tid = calloc(size, sizeof *by_tid);
    if (by_tid == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; t->by_tid != NULL && i <= t->tid_mask; i++)
        if (t->by_tid[i] != 0)
            by_tid[slot_at(t, t->by_tid[i] - 1)->tid & (size - 1)] = t->by_tid[i];
    free(t->by_tid);
    t->by_tid = by_tid;
    t->tid_mask = size - 1;
    return FAB_OK;
}

void fab_mads_slots_draw_tid(struct fab_slots *t, struct fab_slot *s)
{
    uint32_t tid;
    do
        tid = fab_base_stream_next(&t->stream);
    while (t->by_tid[tid & t->tid_mask] != 0);
    t->by_tid[tid & t->tid_mask] = s->index + 1;
    s->tid = tid;
    s->has_tid = true;
}

struct fab_slot *fab_mads_slots_find(const struct fab_slots *t, uint32_t tid)
{
    uint32_t slot = t->by_tid != NULL ? t->by_tid[tid & t->tid_mask] : 0;
    struct fab_slot *s = slot != 0 ? slot_at(t, slot - 1) : NULL;
    return s != NULL && s->tid == tid ? s : NULL;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int add_chunk(struct fab_slots *t)
{
    uint32_t first = (uint32_t)t->chunk_count * CHUNK;
    if (first >= FAB_SLOT_LIMIT)
        return FAB_E_LIMIT;
    int status = reserve_tids(t, first + CHUNK);
    if (status != FAB_OK)
        return status;
    void *grown = fab_base_grow(t->chunks, sizeof *t->chunks, t->chunk_count + 1, &t->chunk_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    t->chunks = grown;
    struct fab_slot *chunk = calloc(CHUNK, sizeof *chunk);
    if (chunk == NULL)
        return FAB_E_NOMEM;
    t->chunks[t->chunk_count++] = chunk;
    for (uint32_t i = 0; i < CHUNK; i++) {
        chunk[i].index = first + i;
        fab_mads_slot_list_append(&t->free, &chunk[i]);
    }
    return FAB_OK;
}

int fab_mads_slots_reserve(struct fab_slots *t, uint32_t count)
{
    int status = FAB_OK;
    while (status == FAB_OK && t->chunk_count * CHUNK < count)
        status = add_chunk(t);
    return status;
}

int fab_mads_slots_take(struct fab_slots *t, struct fab_slot **ret)
{
    if (t->free.head == NULL) {
        int status = add_chunk(t);
        if (status != FAB_OK)
            return status;
    }
    struct fab_slot *s = fab_mads_slot_list_pop(&t->free);
    s->tries = 0;
    memset(&s->req, 0, sizeof s->req);
    *ret = s;
    return FAB_OK;
}

void fab_mads_slots_release(struct fab_slots *t, struct fab_slot *s)
{
    if (s->has_tid)
        t->by_tid[s->tid & t->tid_mask] = 0;
    s->has_tid = s->late = false;
    fab_mads_slot_list_append(&t->free, s);
}

void fab_mads_slots_return_unused(struct fab_slots *t, struct fab_slot *s)
{
    prepend(&t->free, s);
}
