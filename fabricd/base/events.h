/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events that the manager emits: a struct and a function for each row of events.def.
 *
 *     event_emit(bus, link_up, .subject = "leaf-1/12", .guid = guid, .port = 12, .peer = name);
 *
 * The table also has the text of fabricd-events(7) about each event.
 */
#ifndef FABRICD_BASE_EVENTS_H
#define FABRICD_BASE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/bus.h"

/* One enumerator for each row of events.def, for example EVENT_link_up. */
#define EVENT(id, ...) EVENT_##id,
#define FORM(id, ...) EVENT_##id,
enum event_id {
#include "fabricd/base/events.def"
    EVENT_IDS
};
#undef EVENT
#undef FORM

/* The macros make a struct for each event, with one member for each field. In a text field such as
 * subject, NULL means "". The member guid is 0 if the event is about no node, and port is 0 if it
 * is about no port. Only summary events have places: a list of the nodes or ports that they are
 * about (bus.h). */
#define TEXT(name) const char *name;
#define GUID(name) uint64_t name;
#define COUNT(name) uint64_t name;
#define MICROSECONDS(name) uint64_t name;
#define PERMILLE(name) uint64_t name;
#define HEX(name) uint64_t name;
#define NONE
#define EVENT(id, type, severity, about, fields, ...)                                              \
    struct event_##id {                                                                            \
        const char *subject;                                                                       \
        uint64_t guid;                                                                             \
        uint32_t port;                                                                             \
        const struct event_place *places;                                                          \
        uint32_t place_count;                                                                      \
        fields                                                                                     \
    };                                                                                             \
    void event_##id(struct bus *bus, const struct event_##id *e);
#define FORM(id, of, severity, about, fields, message)                                             \
    EVENT(id, of, severity, about, fields, message)
#include "fabricd/base/events.def"
#undef TEXT
#undef GUID
#undef COUNT
#undef MICROSECONDS
#undef PERMILLE
#undef HEX
#undef NONE
#undef EVENT
#undef FORM

/* Emits the event `id` (a row of events.def). The arguments after `id` are the values of its
 * fields, as .name = value, ... */
#define event_emit(bus, id, ...) event_##id(bus, &(struct event_##id){__VA_ARGS__})

/* Initializes the fields that all events about links have. `x` points to a struct with the names of
 * the two ports of a link in place[2], their GUIDs in guid[2] and their numbers in port[2]. Port
 * `i` becomes the subject of the event, and the other port its peer. */
#define EVENT_LINK_FROM(x, i)                                                                      \
    .subject = (x)->place[i], .guid = (x)->guid[i], .port = (x)->port[i],                          \
    .peer = (x)->place[!(i)], .peer_guid = (x)->guid[!(i)], .peer_port = (x)->port[!(i)]
#define EVENT_LINK(x) EVENT_LINK_FROM(x, 0)

/* A row of the table of events. An event can have several messages: its EVENT row has the first,
 * and each FORM row has a further one. In FORM rows, the members type, meaning, cause and remedy
 * are NULL. */
struct event_row {
    const char *type;
    /* in an EVENT row: this row itself; in a FORM row: the EVENT row of the same event */
    enum event_id of;
    enum event_severity severity;
    const char *about;
    /* fields of the event, without values; the last entry has the name NULL */
    const struct event_field *fields;
    const char *message; /* format of the message, for event_format */
    const char *meaning, *cause, *remedy;
};
extern const struct event_row event_rows[EVENT_IDS];

/* bus_count adds 1 to the number of times that the event was emitted. bus_counted returns this
 * number. */
void bus_count(struct bus *b, enum event_id id);
uint64_t bus_counted(const struct bus *b, enum event_id id);

/* Writes the message of an event to ret[], at most len - 1 bytes. `format` is the format in a row
 * of the table of events. A placeholder with an unknown name becomes "{?}". */
void event_format(const char *format, const struct event *e, char *ret, size_t len);

#endif
