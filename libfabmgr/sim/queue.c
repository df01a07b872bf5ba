/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event queue of the simulation: a binary heap ordered by time. Events with equal times keep
 * the order of insertion, so that the same calls always give the same run. MADs in flight are
 * stored outside the heap, because the heap moves its items often and a MAD is large.
 */
#include "libfabmgr/sim/queue.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define EVENTS_MAX (1u << 22)

void fab_sim_queue_fini(struct sim_queue *q)
{
    free(q->heap);
    free(q->pending_mads);
    *q = (struct sim_queue){.first_free = FAB_NONE};
}

static bool before(const struct sim_event *x, const struct sim_event *y)
{
    return x->at != y->at ? x->at < y->at : x->seq < y->seq;
}

int fab_sim_queue_put(struct sim_queue *q, const struct sim_event *e)
{
    if (q->count >= EVENTS_MAX)
        return FAB_E_LIMIT;
    if (q->count == q->capacity) {
        void *grown = fab_base_grow(q->heap, sizeof *q->heap, q->count + 1, &q->capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        q->heap = grown;
    }
    struct sim_event item = *e;
    item.seq = q->seq++;
    size_t hole = q->count++;
    for (size_t up; hole > 0 && before(&item, &q->heap[up = (hole - 1) / 2]); hole = up)
        q->heap[hole] = q->heap[up];
    q->heap[hole] = item;
    return FAB_OK;
}

bool fab_sim_queue_take(struct sim_queue *q, uint64_t until, struct sim_event *ret)
{
    if (q->count == 0 || q->heap[0].at > until)
        return false;
    *ret = q->heap[0];
    struct sim_event last = q->heap[--q->count];
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < q->count; hole = child) {
        if (child + 1 < q->count && before(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (!before(&q->heap[child], &last))
            break;
        q->heap[hole] = q->heap[child];
    }
    if (q->count > 0)
        q->heap[hole] = last;
    return true;
}

uint64_t fab_sim_queue_next(const struct sim_queue *q)
{
    return q->count > 0 ? q->heap[0].at : UINT64_MAX;
}

int fab_sim_queue_put_mad(struct sim_queue *q, const struct fab_sim_delivery *mail,
                          uint32_t *ret_pending_mad)
{
    uint32_t pending_mad = q->first_free;
    if (pending_mad != FAB_NONE) {
        q->first_free = q->pending_mads[pending_mad].next_free;
    } else {
        if (q->pending_mad_count == q->pending_mad_capacity) {
            void *grown = fab_base_grow(q->pending_mads, sizeof *q->pending_mads,
                                        q->pending_mad_count + 1, &q->pending_mad_capacity);
            if (grown == NULL)
                return FAB_E_NOMEM;
            q->pending_mads = grown;
        }
        pending_mad = (uint32_t)q->pending_mad_count++;
    }
    q->pending_mads[pending_mad].mail = *mail;
    *ret_pending_mad = pending_mad;
    return FAB_OK;
}

struct fab_sim_delivery fab_sim_queue_take_mad(struct sim_queue *q, uint32_t pending_mad)
{
    struct fab_sim_delivery mail = q->pending_mads[pending_mad].mail;
    q->pending_mads[pending_mad].next_free = q->first_free;
    q->first_free = pending_mad;
    return mail;
}
