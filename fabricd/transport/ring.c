/* See ring.h. One producer, one consumer; acquire/release on head and tail order the slots. */
#include "fabricd/transport/ring.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"

int ring_init(struct ring *r)
{
    *r = (struct ring){.fd = -1};
    r->slots = calloc(RING_SLOTS, sizeof(*r->slots));
    if (!r->slots)
        return FAB_E_NOMEM;
    r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (r->fd < 0) {
        ring_fini(r);
        return FAB_E_IO;
    }
    return FAB_OK;
}

void ring_fini(struct ring *r)
{
    free(r->slots);
    r->slots = NULL;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

struct transport_mad *ring_slot(struct ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    return head - tail < RING_SLOTS ? &r->slots[head % RING_SLOTS] : NULL;
}

void ring_push(struct ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

void ring_wake(struct ring *r)
{
    if (atomic_exchange(&r->woken, true))
        return;
    const uint64_t one = 1;
    if (write(r->fd, &one, sizeof(one)) < 0)
        atomic_store(&r->woken, false);
}

void ring_drain(struct ring *r, struct transport *t)
{
    uint64_t count;
    if (read(r->fd, &count, sizeof(count)) < 0)
        return; /* nothing new since the last look */
    atomic_store(&r->woken, false);
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    for (;;) {
        uint32_t waiting = atomic_load(&r->head) - tail;
        if (!waiting)
            return;
        uint32_t first = tail % RING_SLOTS;
        uint32_t batch = waiting < RING_SLOTS - first ? waiting : RING_SLOTS - first;
        if (t->receive)
            t->receive(t->receive_ctx, r->slots + first, batch);
        tail += batch;
        atomic_store_explicit(&r->tail, tail, memory_order_release);
    }
}
