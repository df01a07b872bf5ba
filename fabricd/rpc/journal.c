/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the newest events in a ring buffer. The bus numbers events consecutively, so an event is in
 * the slot whose index is its number modulo the size of the ring. A summary event has a list of
 * places: the nodes or ports that it is about, possibly all nodes of the fabric. The oldest events
 * leave the ring if its events have too many places together.
 */
#include "fabricd/rpc/journal.h"

#include <stdlib.h>

#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/status.h"

struct kept {
    struct event event;
    /* Only for events of severity debug, which have no sequence number: the sequence number of the
     * last other event before this one. */
    uint64_t after;
    /* the fields of `event`, followed by the texts of the fields */
    struct event_field room[];
};

struct journal {
    struct bus *bus;
    void (*told)(void *ctx);
    void *ctx;
    uint64_t newest, oldest;
    struct kept *ring[RPC_EVENTS_KEPT];
    uint64_t places; /* number of places of all events in the ring */
    /* number of events of severity debug so far */
    uint64_t debug_count;
    struct kept *debug[RPC_DEBUG_KEPT];
};

static struct kept *copy_event(const struct event *e)
{
    struct kept *k = malloc(sizeof *k + event_room(e));
    if (k != NULL)
        event_copy(&k->event, e, k->room);
    return k;
}

/* Stores an event of severity debug. These events have a ring buffer of their own, so that a flood
 * of them cannot displace other events. */
static void keep_debug(struct journal *j, const struct event *e)
{
    struct kept **place = &j->debug[++j->debug_count % RPC_DEBUG_KEPT];
    free(*place);
    *place = copy_event(e);
    if (*place != NULL)
        (*place)->after = j->newest;
    j->told(j->ctx);
}

static void drop(struct journal *j, uint64_t seq)
{
    struct kept **place = &j->ring[seq % RPC_EVENTS_KEPT];
    j->places -= *place != NULL ? (*place)->event.place_count : 0;
    free(*place);
    *place = NULL;
}

/* Adds an event to one of the two rings. If memory runs out, its slot in the ring stays empty, and
 * readers skip this slot. */
static void on_event(void *ctx, const struct event *e)
{
    struct journal *j = ctx;
    if (e->severity == EVENT_DEBUG) {
        keep_debug(j, e);
        return;
    }
    drop(j, e->seq);
    struct kept *k = j->ring[e->seq % RPC_EVENTS_KEPT] = copy_event(e);
    j->places += k != NULL ? e->place_count : 0;
    j->newest = e->seq;
    if (j->newest - j->oldest >= RPC_EVENTS_KEPT)
        j->oldest = j->newest - RPC_EVENTS_KEPT + 1;
    while (j->places > RPC_PLACES_KEPT && j->oldest < j->newest)
        drop(j, j->oldest++);
    j->told(j->ctx);
}

int journal_new(struct bus *bus, void (*told)(void *ctx), void *ctx, struct journal **ret)
{
    struct journal *j = calloc(1, sizeof *j);
    if (j == NULL)
        return FAB_E_NOMEM;
    j->bus = bus;
    j->told = told;
    j->ctx = ctx;
    j->newest = bus_last_seq(bus);
    j->oldest = j->newest + 1;
    int rc = bus_subscribe(bus, on_event, j);
    if (rc < 0) {
        free(j);
        return rc;
    }
    *ret = j;
    return FAB_OK;
}

void journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    bus_unsubscribe(j->bus, on_event, j);
    for (size_t i = 0; i < RPC_EVENTS_KEPT; i++)
        free(j->ring[i]);
    for (size_t i = 0; i < RPC_DEBUG_KEPT; i++)
        free(j->debug[i]);
    free(j);
}

uint64_t journal_newest(const struct journal *j)
{
    return j->newest;
}

uint64_t journal_oldest(const struct journal *j)
{
    return j->oldest;
}

const struct event *journal_at(const struct journal *j, uint64_t seq)
{
    const struct kept *k = j->ring[seq % RPC_EVENTS_KEPT];
    return k != NULL && k->event.seq == seq ? &k->event : NULL;
}

uint64_t journal_debug_count(const struct journal *j)
{
    return j->debug_count;
}

const struct event *journal_debug_at(const struct journal *j, uint64_t number, uint64_t *ret_after)
{
    const struct kept *k = j->debug[number % RPC_DEBUG_KEPT];
    if (k == NULL || number > j->debug_count || number + RPC_DEBUG_KEPT <= j->debug_count)
        return NULL;
    *ret_after = k->after;
    return &k->event;
}
