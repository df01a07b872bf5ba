/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for events, which several commands use. */
#ifndef CLI_CTL_EVENTS_H
#define CLI_CTL_EVENTS_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/event.pb-c.h"

/* Events of the manager, the newest first. The events are parts of the pages, and are freed with
 * them. */
struct events {
    Fabric__V1__ListEventsResponse **page;
    size_t page_count;
    Fabric__V1__Event **event;
    size_t count;
};
/* Requests at most `most` events (0: all), page by page. If an error occurs, prints it. Returns the
 * exit code. The caller must free the events even after an error. */
int fetch_events(struct session *s, Fabric__V1__ListEventsRequest *q, uint64_t most,
                 struct events *ret);
void free_events(struct events *e);

/* Fills the filter of a request from the options --since, --until and --severity. times[] is the
 * memory for the times in the request. If an option is not valid, prints the error. Returns the
 * exit code. */
int read_event_filter(const struct session *s, Google__Protobuf__Timestamp times[2],
                      Fabric__V1__ListEventsRequest *q);

#endif
