/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue consists of a timing wheel for the next two microseconds, which holds nearly all
 * events, and a heap for later events. This is a calendar queue (Brown, CACM 1988), with a heap in
 * place of the later years of the calendar.
 *
 * A slot of the wheel covers 64 ps and holds a list of events. New events are inserted at the head
 * of the list. When the simulated time reaches a slot, the slot is opened: its list is sorted by
 * time. Events of the same time keep the order of insertion, so that runs repeat exactly. A new
 * event for the open slot is inserted into the sorted list. A bitmap finds the next slot that is
 * not empty.
 */
#include "libfabmgr/traffic/events.h"

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define SLOTS (1u << 15)
#define SLOT_SHIFT 6 /* a slot covers 2^6 = 64 ps */
#define NONE UINT32_MAX
/* value of `kind` in a free element of pool[], whose event has been taken */
#define TAKEN UINT32_MAX

int fab_traffic_events_init(struct traffic_events *q)
{
    *q = (struct traffic_events){.free = NONE, .open = NONE};
    q->slot = fab_base_alloc_array(SLOTS, sizeof *q->slot);
    q->bits = fab_base_bits_new(SLOTS);
    if (q->slot == NULL || q->bits == NULL) {
        fab_traffic_events_fini(q);
        return FAB_E_NOMEM;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        q->slot[i] = NONE;
    return FAB_OK;
}

void fab_traffic_events_fini(struct traffic_events *q)
{
    free(q->pool);
    free(q->slot);
    free(q->bits);
    free(q->far);
    *q = (struct traffic_events){.free = NONE, .open = NONE};
}

static uint64_t slot_of(uint64_t time)
{
    return time >> SLOT_SHIFT;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool is_before(const struct traffic_far *a, const struct traffic_far *b)
{
    return a->time != b->time ? a->time < b->time : a->made < b->made;
}

static int far_put(struct traffic_events *q, uint32_t event)
{
    if (q->far_count == q->far_room) {
        void *grown = fab_base_grow(q->far, sizeof *q->far, q->far_count + 1, &q->far_room);
        if (grown == NULL)
            return FAB_E_NOMEM;
        q->far = grown;
    }
    struct traffic_far x = {q->pool[event].time, q->made++, event};
    size_t i = q->far_count++;
    for (; i > 0 && is_before(&x, &q->far[(i - 1) / 2]); i = (i - 1) / 2)
        q->far[i] = q->far[(i - 1) / 2];
    q->far[i] = x;
    return FAB_OK;
}

static uint32_t far_take(struct traffic_events *q)
{
    uint32_t first = q->far[0].event;
    struct traffic_far x = q->far[--q->far_count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < q->far_count) {
        if (child + 1 < q->far_count && is_before(&q->far[child + 1], &q->far[child]))
            child++;
        if (!is_before(&q->far[child], &x))
            break;
        q->far[i] = q->far[child];
        i = child;
    }
    q->far[i] = x;
    return first;
}

/* ---- the wheel ------------------------------------------------------------------------------- */

static void near_put(struct traffic_events *q, uint32_t event)
{
    uint32_t at = (uint32_t)(slot_of(q->pool[event].time) % SLOTS);
    q->pool[event].next = q->slot[at];
    q->slot[at] = event;
    fab_base_bits_set(q->bits, at);
}

/* Inserts an event into the sorted list of the open slot. If events of the same time exist, `after`
 * decides: true inserts the event after them, false before them. */
static void open_put(struct traffic_events *q, uint32_t event, bool after)
{
    uint64_t time = q->pool[event].time;
    uint32_t *at = &q->open;
    while (*at != NONE && (q->pool[*at].time < time || (after && q->pool[*at].time == time)))
        at = &q->pool[*at].next;
    q->pool[event].next = *at;
    *at = event;
}

/* Returns the number of the next slot of the wheel that is not empty; UINT64_MAX: all slots are
 * empty. Slots are counted from time 0. */
static uint64_t next_slot(const struct traffic_events *q)
{
    size_t here = q->now % SLOTS;
    size_t at = fab_base_bits_next(q->bits, SLOTS, here + 1);
    if (at < SLOTS)
        return q->now + (at - here);
    at = fab_base_bits_next(q->bits, here + 1, 0);
    return at <= here ? q->now + (SLOTS - here + at) : UINT64_MAX;
}

/* Opens the next slot of the wheel that is not empty: sorts its events, which are then taken one by
 * one. Returns false if all slots up to the time `until` are empty. */
static bool advance(struct traffic_events *q, uint64_t until)
{
    uint64_t now = next_slot(q);
    if (q->far_count > 0 && slot_of(q->far[0].time) < now)
        now = slot_of(q->far[0].time);
    if (now == UINT64_MAX || now > slot_of(until))
        return false;
    q->now = now;
    while (q->far_count > 0 && slot_of(q->far[0].time) < now + SLOTS)
        near_put(q, far_take(q));
    uint32_t e = q->slot[now % SLOTS], next;
    q->slot[now % SLOTS] = NONE;
    fab_base_bits_clear(q->bits, now % SLOTS);
    for (; e != NONE; e = next) {
        next = q->pool[e].next;
        open_put(q, e, false);
    }
    return true;
}

/* ---- wheel and heap -------------------------------------------------------------------------- */

static uint32_t new_event(struct traffic_events *q)
{
    uint32_t e = q->free;
    if (e != NONE) {
        q->free = q->pool[e].next;
        return e;
    }
    if (q->used == q->room) {
        void *grown =
            q->used < NONE ? fab_base_grow(q->pool, sizeof *q->pool, q->used + 1, &q->room) : NULL;
        if (grown == NULL)
            return NONE;
        q->pool = grown;
    }
    return (uint32_t)q->used++;
}

int fab_traffic_events_put(struct traffic_events *q, const struct traffic_event *what)
{
    uint32_t e = new_event(q);
    if (e == NONE)
        return FAB_E_NOMEM;
    q->pool[e] = *what;
    uint64_t slot = slot_of(what->time);
    int status = FAB_OK;
    if (slot <= q->now)
        open_put(q, e, true);
    else if (slot < q->now + SLOTS)
        near_put(q, e);
    else
        status = far_put(q, e);
    q->count += status == FAB_OK;
    return status;
}

bool fab_traffic_events_take(struct traffic_events *q, uint64_t until, struct traffic_event *ret)
{
    if (q->open == NONE && !advance(q, until))
        return false;
    uint32_t e = q->open;
    if (q->pool[e].time > until)
        return false;
    *ret = q->pool[e];
    q->open = ret->next;
    q->pool[e].next = q->free;
    q->pool[e].kind = (uint16_t)TAKEN;
    q->free = e;
    q->count--;
    return true;
}

bool fab_traffic_events_next(const struct traffic_events *q, size_t *cursor,
                             struct traffic_event *ret)
{
    while (*cursor < q->used && q->pool[*cursor].kind == (uint16_t)TAKEN)
        ++*cursor;
    if (*cursor >= q->used)
        return false;
    *ret = q->pool[(*cursor)++];
    return true;
}
