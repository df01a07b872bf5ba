/*
 * A ring of MADs from one reading thread to the loop thread, without locks: the reader fills slots
 * and wakes the loop once for however many MADs wait; the loop drains them in batches.
 */
#ifndef FABRICD_TRANSPORT_RING_H
#define FABRICD_TRANSPORT_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"

#define RING_SLOTS 4096 /* a power of two, more than any window */

struct ring {
    struct transport_mad *slots;
    _Atomic uint32_t head; /* written by the reader: slots filled so far */
    _Atomic uint32_t tail; /* written by the loop: slots drained so far */
    atomic_bool woken;     /* the loop was told and has not looked yet */
    int fd;                /* eventfd the loop watches */
};

int ring_init(struct ring *r); /* NOMEM, IO */
void ring_fini(struct ring *r);
/* Reader: the next free slot, or NULL while the loop is a whole ring behind. */
struct transport_mad *ring_slot(struct ring *r);
void ring_push(struct ring *r); /* the slot is filled */
void ring_wake(struct ring *r); /* after one or more pushes */
/* Loop: hands what waits to the transport's receiver, until nothing is left. */
void ring_drain(struct ring *r, struct transport *t);

#endif
