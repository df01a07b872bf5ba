/* SPDX-License-Identifier: BSD-3-Clause */
/* A first-in first-out queue in one array. When the queue becomes empty, it starts again at the
 * first element of the array. */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

static void slide_down(struct queue *q)
{
    memmove(q->items, q->items + q->head, (q->tail - q->head) * sizeof *q->items);
    q->tail -= q->head;
    q->head = 0;
}

int fab_discover_queue_push(struct queue *q, struct item item)
{
    if (q->tail == q->capacity && q->head > q->capacity / 2)
        slide_down(q);
    if (q->tail == q->capacity) {
        struct item *grown = fab_base_grow(q->items, sizeof *grown, q->tail + 1, &q->capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        q->items = grown;
    }
    q->items[q->tail++] = item;
    return FAB_OK;
}

bool fab_discover_queue_pop(struct queue *q, struct item *ret)
{
    if (fab_discover_queue_empty(q))
        return false;
    *ret = q->items[q->head++];
    if (fab_discover_queue_empty(q))
        q->head = q->tail = 0;
    return true;
}
