/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates slots in chunks when they are needed, and frees them with the session. So a steady
 * stream of requests allocates no memory, and pointers to slots stay valid.
 *
 * The low 20 bits of a TID are the index of the slot, so finding the request of a response is an
 * array access. The next 12 bits are a serial number, which changes with each use of the slot, so
 * that a response to an earlier request does not match. The slot that was released first is reused
 * first, so that a TID repeats as late as possible.
 */
#include "libfabmgr/mads/slots.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define CHUNK 64 /* number of slots that are allocated at once */

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

void fab_mads_slots_init(struct fab_slots *t, uint32_t seed)
{
    *t = (struct fab_slots){.seed = seed};
}

void fab_mads_slots_fini(struct fab_slots *t)
{
    for (size_t i = 0; i < t->chunk_count; i++)
        free(t->chunks[i]);
    free(t->chunks);
    fab_mads_slots_init(t, t->seed);
}

static int add_chunk(struct fab_slots *t)
{
    uint32_t first = (uint32_t)t->chunk_count * CHUNK;
    if (first >= FAB_SLOT_LIMIT)
        return FAB_E_LIMIT;
    void *grown = fab_base_grow(t->chunks, sizeof *t->chunks, t->chunk_count + 1, &t->chunk_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    t->chunks = grown;
    struct fab_slot *chunk = calloc(CHUNK, sizeof *chunk);
    if (chunk == NULL)
        return FAB_E_NOMEM;
    t->chunks[t->chunk_count++] = chunk;
    for (uint32_t i = 0; i < CHUNK; i++) {
        uint64_t serial = fab_base_mix64(((uint64_t)t->seed << 32) | (first + i));
        chunk[i].tid = (uint32_t)(serial << FAB_SLOT_BITS) | (first + i);
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
    s->state = FAB_SLOT_READY;
    memset(&s->req, 0, sizeof s->req);
    *ret = s;
    return FAB_OK;
}

void fab_mads_slots_release(struct fab_slots *t, struct fab_slot *s)
{
    s->state = FAB_SLOT_UNUSED;
    s->late = false;
    s->tid += FAB_SLOT_LIMIT;
    fab_mads_slot_list_append(&t->free, s);
}

void fab_mads_slots_return_unused(struct fab_slots *t, struct fab_slot *s)
{
    s->state = FAB_SLOT_UNUSED;
    prepend(&t->free, s);
}

struct fab_slot *fab_mads_slots_find(const struct fab_slots *t, uint32_t tid)
{
    uint32_t index = tid & (FAB_SLOT_LIMIT - 1);
    if (index / CHUNK >= t->chunk_count)
        return NULL;
    struct fab_slot *s = &t->chunks[index / CHUNK][index % CHUNK];
    return s->tid == tid && s->state != FAB_SLOT_UNUSED ? s : NULL;
}
