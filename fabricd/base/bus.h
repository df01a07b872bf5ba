/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus carries events from the lower parts of fabricd to the higher ones. Code publishes and
 * receives events on the loop thread. The same event goes to the journal (store), to the clients of
 * WatchEvents (rpc) and to the log. To emit an event, use the functions of events.h.
 */
#ifndef FABRICD_BASE_BUS_H
#define FABRICD_BASE_BUS_H

#include <stddef.h>
#include <stdint.h>

enum event_severity { EVENT_DEBUG, EVENT_INFO, EVENT_WARNING, EVENT_ERROR };

/* A value of an event. Programs read fields and need not parse the message. events.def lists the
 * fields of each event. */
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
    const char *text; /* for EVENT_TEXT */
    uint64_t number;  /* for the other kinds */
};

struct event {
    uint64_t seq;    /* assigned by bus_publish in ascending order, without gaps, also over restarts
                        (see bus_new); 0: the event is of severity debug, which no journal keeps */
    int64_t time_us; /* Unix time, assigned by bus_publish */
    enum event_severity severity;
    const char *type;    /* from events.def, or from a journal of another version */
    const char *subject; /* what the event is about, for example "leaf-3/12" */
    const char *message; /* one sentence for people */
    uint64_t guid;       /* GUID of the node, or 0 */
    uint32_t port;
    uint32_t field_count;
    const struct event_field *fields;
};

/* event_copy copies an event and everything it points to. room: event_room() bytes, aligned as a
 * pointer. */
size_t event_room(const struct event *e);
void event_copy(struct event *to, const struct event *e, void *room);

struct bus;
/* Creates a bus. last_seq: number of the newest event in the journal; new events get the numbers
 * after it. NULL: out of memory. */
struct bus *bus_new(uint64_t last_seq);
void bus_free(struct bus *b);
uint64_t bus_last_seq(const struct bus *b); /* number of the newest event, or last_seq of bus_new */
typedef void bus_handler(void *ctx, const struct event *e);
/* Subscribes until bus_unsubscribe or bus_free. NOMEM. */
int bus_subscribe(struct bus *b, bus_handler *handler, void *ctx);
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx);
/* Fills in seq and time_us, and hands the event to all subscribers, in the order in which they
 * subscribed. */
void bus_publish(struct bus *b, const struct event *e);
#endif
