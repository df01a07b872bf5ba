/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus: a list of handlers that every event is handed to, in the order of their subscription.
 *
 * A handler may publish in its turn. Such an event gets its number at once but waits until the
 * running one has reached every handler, so that all of them see events in rising order.
 */
#include "fabricd/base/bus.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/status.h"

struct subscriber {
    bus_handler *handler;
    void *ctx;
};

/* An event that waits, with its texts behind it in the same allocation. */
struct waiting {
    STAILQ_ENTRY(waiting) next;
    struct event event;
    char texts[];
};

struct bus {
    uint64_t last_seq;
    struct subscriber *subscribers;
    size_t count;
    bool handing_out;
    STAILQ_HEAD(, waiting) queue;
};

struct bus *bus_new(uint64_t last_seq)
{
    struct bus *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return NULL;
    b->last_seq = last_seq;
    STAILQ_INIT(&b->queue);
    return b;
}

void bus_free(struct bus *b)
{
    if (b == NULL)
        return;
    free(b->subscribers);
    free(b);
}

uint64_t bus_last_seq(const struct bus *b)
{
    return b->last_seq;
}

int bus_subscribe(struct bus *b, bus_handler *handler, void *ctx)
{
    struct subscriber *more = reallocarray(b->subscribers, b->count + 1, sizeof(*b->subscribers));
    if (more == NULL)
        return FAB_E_NOMEM;
    more[b->count++] = (struct subscriber){handler, ctx};
    b->subscribers = more;
    return FAB_OK;
}

static void ignore(void *ctx, const struct event *e)
{
    (void)ctx, (void)e;
}

/* The place stays, since an event may be on its way through the list. */
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->subscribers[i].handler == handler && b->subscribers[i].ctx == ctx)
            b->subscribers[i] = (struct subscriber){ignore, NULL};
}

static const char *keep_text(char **at, const char *text)
{
    char *kept = *at;
    *at = stpcpy(kept, text) + 1;
    return kept;
}

/* False: no memory; the caller hands it out at once instead. */
static bool put_aside(struct bus *b, const struct event *e)
{
    size_t texts = strlen(e->type) + strlen(e->subject) + strlen(e->message) + 3;
    struct waiting *w = malloc(sizeof(*w) + texts);
    if (w == NULL)
        return false;
    char *at = w->texts;
    w->event = *e;
    w->event.type = keep_text(&at, e->type);
    w->event.subject = keep_text(&at, e->subject);
    w->event.message = keep_text(&at, e->message);
    STAILQ_INSERT_TAIL(&b->queue, w, next);
    return true;
}

static void hand_out(struct bus *b, const struct event *e)
{
    size_t count = b->count; /* who subscribes meanwhile starts with the next */
    for (size_t i = 0; i < count; i++)
        b->subscribers[i].handler(b->subscribers[i].ctx, e);
}

static void hand_out_waiting(struct bus *b)
{
    struct waiting *w;
    while ((w = STAILQ_FIRST(&b->queue)) != NULL) {
        STAILQ_REMOVE_HEAD(&b->queue, next);
        hand_out(b, &w->event);
        free(w);
    }
}

void bus_publish(struct bus *b, const struct event *e)
{
    struct event numbered = *e;
    numbered.seq = ++b->last_seq;
    numbered.time_us = clock_unix_us();
    numbered.type = e->type != NULL ? e->type : "";
    numbered.subject = e->subject != NULL ? e->subject : "";
    numbered.message = e->message != NULL ? e->message : "";
    if (b->handing_out) {
        if (!put_aside(b, &numbered))
            hand_out(b, &numbered);
        return;
    }
    b->handing_out = true;
    hand_out(b, &numbered);
    hand_out_waiting(b);
    b->handing_out = false;
}

void bus_say(struct bus *b, enum event_severity severity, const char *type, const char *subject,
             uint64_t guid, uint32_t port, const char *fmt, ...)
{
    char message[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    bus_publish(b, &(struct event){.severity = severity,
                                   .type = type,
                                   .subject = subject,
                                   .message = message,
                                   .guid = guid,
                                   .port = port});
}
