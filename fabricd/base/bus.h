/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: how lower rooms report to upper ones. They are published and received on the loop thread.
 * The same value goes to the journal (store), to the clients of WatchEvents (rpc) and to the log.
 * Rooms emit events by the functions of events.h.
 */
#ifndef FABRICD_BASE_BUS_H
#define FABRICD_BASE_BUS_H

#include <stddef.h>
#include <stdint.h>

enum event_severity { EVENT_DEBUG, EVENT_INFO, EVENT_WARNING, EVENT_ERROR };

/* A value that an event has beside its message, so that no program must parse the message. Which
 * fields an event has is in events.def. */
enum event_field_kind {
    EVENT_TEXT,
    EVENT_GUID,
    EVENT_COUNT,
    EVENT_MICROSECONDS,
    EVENT_PERMILLE,
    EVENT_HEX
};
struct event_field {
    const char *name;
    enum event_field_kind kind;
    const char *text; /* of EVENT_TEXT */
    uint64_t number;  /* of the others */
};

struct event {
    uint64_t seq;    /* given by bus_publish, rising; continues over restarts (bus_new) */
    int64_t time_us; /* Unix, given by bus_publish */
    enum event_severity severity;
    const char *type;    /* from events.def, or from a journal of another version */
    const char *subject; /* what the event is about: "leaf-3/12" */
    const char *message; /* a sentence for people */
    uint64_t guid;       /* of the node, or 0 */
    uint32_t port;
    uint32_t field_count;
    const struct event_field *fields;
};

/* Copies an event with all that it points to. room: event_room() bytes, aligned as a pointer. */
size_t event_room(const struct event *e);
void event_copy(struct event *to, const struct event *e, void *room);

struct bus;
struct bus *bus_new(uint64_t last_seq);
void bus_free(struct bus *b);
uint64_t bus_last_seq(const struct bus *b); /* of the newest event, or as given to bus_new */
typedef void bus_handler(void *ctx, const struct event *e);
int bus_subscribe(struct bus *b, bus_handler *handler, void *ctx); /* until bus_free; NOMEM */
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx);
/* Fills seq and time, and hands the event to every subscriber in the order of their subscription.
 */
void bus_publish(struct bus *b, const struct event *e);
#endif
