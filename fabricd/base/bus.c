/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus passes every event to all subscribers, in the order in which they subscribed.
 *
 * A subscriber may publish an event itself. The bus gives this event a number at once, but passes
 * it on only after all subscribers have received the previous event. So every subscriber receives
 * events in ascending order, unless memory runs out: then the bus passes the event on at once.
 */
#include "fabricd/base/bus.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"

struct subscriber {
    bus_handler *handler;
    void *ctx;
};

/* An event that waits to be passed on, as one block of memory together with its fields and
 * texts. */
struct waiting {
    STAILQ_ENTRY(waiting) next;
    struct event event;
    struct event_field room[];
};

struct bus {
    uint64_t last_seq;
    /* [event id] how often the event was emitted */
    uint64_t counted[EVENT_IDS];
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

/* Marks the subscriber's entry as unused. The entry stays in the list, because hand_out may be
 * walking through the list now. */
void bus_unsubscribe(struct bus *b, bus_handler *handler, void *ctx)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->subscribers[i].handler == handler && b->subscribers[i].ctx == ctx)
            b->subscribers[i] = (struct subscriber){ignore, NULL};
}

/* Queues an event that a subscriber has published while the bus was passing on another event.
 * Returns false if memory ran out; the caller then passes the event on at once. */
static bool put_aside(struct bus *b, const struct event *e)
{
    struct waiting *w = malloc(sizeof(*w) + event_room(e));
    if (w == NULL)
        return false;
    event_copy(&w->event, e, w->room);
    STAILQ_INSERT_TAIL(&b->queue, w, next);
    return true;
}

static void hand_out(struct bus *b, const struct event *e)
{
    /* A handler may add a subscriber. The new subscriber does not get this event, only later
     * ones. */
    size_t count = b->count;
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
    numbered.seq = e->severity > EVENT_DEBUG ? ++b->last_seq : 0;
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

void bus_count(struct bus *b, enum event_id id)
{
    b->counted[id]++;
}

uint64_t bus_counted(const struct bus *b, enum event_id id)
{
    return b->counted[id];
}

/* ---- copies ---------------------------------------------------------------------------------- */

size_t event_room(const struct event *e)
{
    size_t room = strlen(e->type) + strlen(e->subject) + strlen(e->message) + 3 +
                  e->place_count * sizeof(struct event_place);
    for (uint32_t i = 0; i < e->field_count; i++) {
        const struct event_field *f = &e->fields[i];
        room += sizeof(*f) + strlen(f->name) + 1;
        room += f->kind == EVENT_TEXT ? strlen(f->text) + 1 : 0;
    }
    return room;
}

static const char *copy_text(char **at, const char *text)
{
    char *copy = *at;
    *at = stpcpy(copy, text) + 1;
    return copy;
}

void event_copy(struct event *to, const struct event *e, void *room)
{
    struct event_field *fields = room;
    struct event_place *places = (struct event_place *)&fields[e->field_count];
    char *at = (char *)&places[e->place_count];
    *to = *e;
    if (e->place_count > 0)
        memcpy(places, e->places, e->place_count * sizeof(*places));
    to->places = places;
    to->type = copy_text(&at, e->type);
    to->subject = copy_text(&at, e->subject);
    to->message = copy_text(&at, e->message);
    to->fields = fields;
    for (uint32_t i = 0; i < e->field_count; i++) {
        fields[i] = e->fields[i];
        fields[i].name = copy_text(&at, e->fields[i].name);
        if (fields[i].kind == EVENT_TEXT)
            fields[i].text = copy_text(&at, e->fields[i].text);
    }
}
