/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of transactions. Each request that is queued or in flight has a slot. A slot does not
 * move in memory, and is always in exactly one list. A request gets its TID when it is first
 * sent. */
#ifndef LIBFABMGR_MADS_SLOTS_H
#define LIBFABMGR_MADS_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/stream.h"
#include "libfabmgr/mads/mads.h"

#define FAB_SLOT_LIMIT (UINT32_C(1) << 20) /* maximum number of slots */

/* State of a request that was sent. OUTSTANDING: it waits for a response. RETRY: it is sent again
 * as soon as the window permits. BACKOFF: after a response with status BUSY, it waits until its
 * deadline, and is then in state RETRY. */
enum fab_slot_state { FAB_SLOT_OUTSTANDING, FAB_SLOT_RETRY, FAB_SLOT_BACKOFF };
struct fab_slot {
    struct fab_slot *prev, *next;
    uint64_t sent_at, deadline;
    /* TID of the request; valid only after the request was sent. */
    uint32_t tid;
    uint32_t tries;
    uint32_t index; /* number of the slot */
    uint8_t state;  /* enum fab_slot_state; valid only after the request was sent */
    bool has_tid;   /* true: by_tid has an entry for tid */
    /* true: the response is late, so the request is most likely lost */
    bool late;
    struct fab_mads_request req;
};
struct fab_slot_list { /* a list of slots, first in, first out */
    struct fab_slot *head, *tail;
};
struct fab_slots {
    struct fab_slot **chunks;
    size_t chunk_count, chunk_room;
    struct fab_slot_list free;
    /* [tid_mask + 1], indexed by the low bits of a TID: 1 + number of the slot with this TID; 0: no
     * slot */
    uint32_t *by_tid;
    uint32_t tid_mask;
    struct fab_stream stream; /* generator of TIDs */
};

void fab_mads_slot_list_append(struct fab_slot_list *l, struct fab_slot *s);
void fab_mads_slot_list_remove(struct fab_slot_list *l, struct fab_slot *s);
/* Takes the first slot out of the list and returns it; NULL: the list is empty. */
struct fab_slot *fab_mads_slot_list_pop(struct fab_slot_list *l);

void fab_mads_slots_init(struct fab_slots *t, const uint8_t tid_key[FAB_STREAM_KEY]);
void fab_mads_slots_fini(struct fab_slots *t);
/* Allocates slots, so that there are at least `count`. Returns OK, NOMEM or LIMIT. */
int fab_mads_slots_reserve(struct fab_slots *t, uint32_t count);
/* Takes a slot from the free list, and sets its request to zero. Returns OK, NOMEM or LIMIT. */
int fab_mads_slots_take(struct fab_slots *t, struct fab_slot **ret);
/* Gives the slot a TID that no other slot has. */
void fab_mads_slots_draw_tid(struct fab_slots *t, struct fab_slot *s);
/* Both functions return a slot to the free list. fab_mads_slots_release also frees the TID of the
 * slot, if it has one; fab_mads_slots_return_unused is for a slot that was taken but not used. */
void fab_mads_slots_release(struct fab_slots *t, struct fab_slot *s);
void fab_mads_slots_return_unused(struct fab_slots *t, struct fab_slot *s);
/* Returns the slot of the request with this TID; NULL: no request has this TID. */
struct fab_slot *fab_mads_slots_find(const struct fab_slots *t, uint32_t tid);

#endif
