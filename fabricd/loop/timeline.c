/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time, which jumps from timer to timer. Timers that are due at the same time fire in the
 * order in which they were set. So a run in virtual time depends only on its input. */
#include "fabricd/loop/timeline.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static bool before(const struct timeline_entry *x, const struct timeline_entry *y)
{
    return x->at != y->at ? x->at < y->at : x->seq < y->seq;
}

static void put(struct timeline *t, size_t slot, struct timeline_entry *e)
{
    t->heap[slot - 1] = e;
    e->slot = slot;
}

static void rise(struct timeline *t, size_t slot, struct timeline_entry *e)
{
    for (; slot > 1 && before(e, t->heap[slot / 2 - 1]); slot /= 2)
        put(t, slot, t->heap[slot / 2 - 1]);
    put(t, slot, e);
}

static void sink(struct timeline *t, size_t slot, struct timeline_entry *e)
{
    for (size_t child; (child = 2 * slot) <= t->count; slot = child) {
        if (child < t->count && before(t->heap[child], t->heap[child - 1]))
            child++;
        if (!before(t->heap[child - 1], e))
            break;
        put(t, slot, t->heap[child - 1]);
    }
    put(t, slot, e);
}

int timeline_reserve(struct timeline *t)
{
    if (t->entries == t->capacity) {
        void *grown = fab_base_grow(t->heap, sizeof(*t->heap), t->entries + 1, &t->capacity);
        if (!grown)
            return FAB_E_NOMEM;
        t->heap = grown;
    }
    t->entries++;
    return FAB_OK;
}

void timeline_release(struct timeline *t, struct timeline_entry *e)
{
    timeline_cancel(t, e);
    t->entries--;
}

void timeline_cancel(struct timeline *t, struct timeline_entry *e)
{
    size_t slot = e->slot;
    if (!slot)
        return;
    struct timeline_entry *last = t->heap[--t->count];
    e->slot = 0;
    if (last == e)
        return;
    if (before(last, e))
        rise(t, slot, last);
    else
        sink(t, slot, last);
}

void timeline_set(struct timeline *t, struct timeline_entry *e, uint64_t delay_us)
{
    timeline_cancel(t, e);
    e->at = t->now + delay_us;
    e->seq = t->seq++;
    rise(t, ++t->count, e);
}

struct timeline_entry *timeline_next(struct timeline *t)
{
    if (!t->count)
        return NULL;
    struct timeline_entry *e = t->heap[0];
    timeline_cancel(t, e);
    if (e->at > t->now)
        t->now = e->at;
    return e;
}

void timeline_fini(struct timeline *t)
{
    free(t->heap);
}
