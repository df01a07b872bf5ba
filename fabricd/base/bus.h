/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events: what the lower rooms tell the upper ones. Published and received on the loop thread;
 * the same value goes to the journal (store), to followers (rpc) and to the log.
 */
#ifndef FABRICD_BASE_BUS_H
#define FABRICD_BASE_BUS_H

#include <stdint.h>

enum event_severity { EVENT_DEBUG, EVENT_INFO, EVENT_WARNING, EVENT_ERROR };

/* Types are kebab-case words that scripts may match: "link-down", "link-up", "node-added",
 * "node-removed", "node-silent", "duplicate-guid", "duplicate-lid", "sweep-done", "sweep-failed",
 * "tables-published", "proof-failed", "reroute-done", "reroute-followed", "sm-master",
 * "sm-standby", "island", "port-disabled", "port-enabled", "trap", "link-flapping",
 * "link-released", "recording-stopped". Where many nodes or cables change at once, there is one
 * event of their type, about "fabric". */
struct event {
    uint64_t seq;    /* given by bus_publish, rising; continues over restarts (bus_new) */
    int64_t time_us; /* Unix, given by bus_publish */
    enum event_severity severity;
    const char *type;
    const char *subject; /* what it is about: "leaf-3/12" */
    const char *message; /* a sentence */
    uint64_t guid;       /* node concerned, or 0 */
    uint32_t port;
};

struct bus;
struct bus *bus_new(uint64_t last_seq);
void bus_free(struct bus *b);
uint64_t bus_last_seq(const struct bus *b); /* of the newest event, or as given to bus_new */
typedef void bus_handler(void *ctx, const struct event *e);
int bus_subscribe(struct bus *b, bus_handler *handler, void *ctx); /* until bus_free */
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx);
/* Fills seq and time, hands the event to every subscriber in order of subscription. */
void bus_publish(struct bus *b, const struct event *e);
/* Publishes with a formatted message. */
void bus_say(struct bus *b, enum event_severity severity, const char *type, const char *subject,
             uint64_t guid, uint32_t port, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

#endif
