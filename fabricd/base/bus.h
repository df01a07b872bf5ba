/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus carries events from the lower parts of fabricd to the higher parts. Events are published
 * and received on the loop thread. Among the subscribers are the RPC server (for clients of
 * WatchEvents), the alerts, the log, and the store. The store keeps all events in the event
 * journal, except those of severity debug. To emit an event, use the functions in events.h.
 */
#ifndef FABRICD_BASE_BUS_H
#define FABRICD_BASE_BUS_H

#include <stddef.h>
#include <stdint.h>

enum event_severity { EVENT_DEBUG, EVENT_INFO, EVENT_WARNING, EVENT_ERROR };

/* kinds of values that a field can have */
enum event_field_kind {
    EVENT_TEXT,
    EVENT_GUID,
    EVENT_COUNT,
    EVENT_MICROSECONDS,
    EVENT_PERMILLE,
    EVENT_HEX
};
/* A field of an event. Programs read fields and need not parse the message. events.def lists the
 * fields of each event. */
struct event_field {
    const char *name;
    enum event_field_kind kind;
    const char *text; /* value of a field of kind EVENT_TEXT */
    /* value of a field of any kind other than EVENT_TEXT */
    uint64_t number;
};

/* A node, or one of its ports. */
struct event_place {
    uint64_t guid; /* node GUID */
    uint8_t port;  /* 0: the node, or port 0 of a switch */
};

struct event {
    /* Number of the event. bus_publish assigns numbers in ascending order without gaps, even across
     * restarts (see bus_new). 0: the event has severity debug, and is not stored. */
    uint64_t seq;
    int64_t time_us; /* Unix time in microseconds, assigned by bus_publish */
    enum event_severity severity;
    /* name of the event type, as in events.def; the name is not in events.def if another version of
     * fabricd stored the event */
    const char *type;
    /* what the event is about, for example "leaf-3/12" */
    const char *subject;
    const char *message; /* one sentence for operators */
    /* GUID of the node that the event is about, or the port GUID in events about a subnet manager
     * and in quota-exceeded (fabricd-events(7), GUID and port); 0: none */
    uint64_t guid;
    uint32_t port;
    uint32_t field_count;
    const struct event_field *fields;
    /* [place_count] In a summary event: all nodes, or both ends of all links, that the event is
     * about. The field `names` has only the first ones. */
    const struct event_place *places;
    uint32_t place_count;
};

/* event_room returns the size in bytes of the fields, places and texts of an event. The caller
 * provides `room` with this size, aligned like a pointer. event_copy copies the fields, places and
 * texts to `room`, and the event itself to *to. */
size_t event_room(const struct event *e);
void event_copy(struct event *to, const struct event *e, void *room);

struct bus;
/* Creates a bus. last_seq: number of the newest event in the store; the next event gets the number
 * last_seq + 1. Returns NULL if memory ran out. */
struct bus *bus_new(uint64_t last_seq);
void bus_free(struct bus *b);
/* Returns the number of the newest event. Before the first event, returns the last_seq that was
 * passed to bus_new. */
uint64_t bus_last_seq(const struct bus *b);
typedef void bus_handler(void *ctx, const struct event *e);
/* Subscribes a handler, until bus_unsubscribe or bus_free is called. Returns OK or NOMEM. */
int bus_subscribe(struct bus *b, bus_handler *handler, void *ctx);
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx);
/* Publishes a copy of *e, in which the bus sets seq and time_us. Passes it to all subscribers, in
 * the order in which they subscribed. If a handler calls this function, the new event waits until
 * all subscribers have received the event that the handler got; if there is no memory, it is passed
 * on at once. */
void bus_publish(struct bus *b, const struct event *e);
#endif
