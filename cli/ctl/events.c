/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests events from the manager. */
#include "cli/ctl/events.h"

#include <stdlib.h>

#include "cli/ctl/when.h"

#define LARGEST_PAGE 1000

static int add_page(struct events *e, Fabric__V1__ListEventsResponse *r)
{
    void *pages = reallocarray(e->page, e->page_count + 1, sizeof *e->page);
    if (pages == NULL)
        return complain(EXIT_FAILED, "out of memory");
    e->page = pages;
    e->page[e->page_count++] = r;
    void *events = reallocarray(e->event, e->count + r->n_events + 1, sizeof *e->event);
    if (events == NULL)
        return complain(EXIT_FAILED, "out of memory");
    e->event = events;
    for (size_t i = 0; i < r->n_events; i++)
        e->event[e->count++] = r->events[i];
    return EXIT_OK;
}

int fetch_events(struct session *s, Fabric__V1__ListEventsRequest *q, uint64_t most,
                 struct events *ret)
{
    int rc;
    do {
        Fabric__V1__ListEventsResponse *r = NULL;
        q->page_size = most > 0 && most - ret->count < LARGEST_PAGE ? (uint32_t)(most - ret->count)
                                                                    : LARGEST_PAGE;
        rc = ask(s, "ListEvents", &q->base, &fabric__v1__list_events_response__descriptor, &r);
        if (rc != EXIT_OK)
            return rc;
        rc = add_page(ret, r);
        q->page_token = r->next_page_token;
    } while (rc == EXIT_OK && q->page_token[0] != '\0' && (most == 0 || ret->count < most));
    return rc;
}

void free_events(struct events *e)
{
    for (size_t i = 0; i < e->page_count; i++)
        free_reply(e->page[i]);
    free(e->page);
    free(e->event);
    *e = (struct events){0};
}

int read_event_filter(const struct session *s, Google__Protobuf__Timestamp times[2],
                      Fabric__V1__ListEventsRequest *q)
{
    q->min_severity = (Fabric__V1__EventSeverity)s->severity;
    int rc = when_option("--since", s->since, &times[0], &q->since);
    return rc == EXIT_OK ? when_option("--until", s->until, &times[1], &q->until) : rc;
}
