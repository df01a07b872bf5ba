/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl event list` and `event watch`.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/ctl/events.h"
#include "cli/ctl/show.h"
#include "fabric/v1/event.pb-c.h"

#define COUNT_DEFAULT 50

static const struct out_column columns[] = {
    {"sequence", "SEQ", true}, {"time", "TIME", false},       {"severity", "SEVERITY", false},
    {"type", "TYPE", false},   {"subject", "SUBJECT", false}, {"message", "MESSAGE", false},
};
/* The columns of `event watch`. Each row is printed at once, when the widest value of a column is
 * not known yet. So a column is as wide as its label, which is padded with spaces. */
static const struct out_column live_columns[] = {
    {"sequence", "  SEQ", true},        {"time", "TIME               ", false},
    {"severity", "SEVERITY", false},    {"type", "TYPE          ", false},
    {"subject", "SUBJECT     ", false}, {"message", "MESSAGE", false},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void say_field(struct out *o, const Fabric__V1__Event__FieldsEntry *f)
{
    if (f->value == NULL)
        return;
    if (f->value->kind_case == FABRIC__V1__EVENT_VALUE__KIND_NUMBER)
        out_number(o, f->key, NULL, OUT_PLAIN, f->value->number);
    else if (f->value->kind_case == FABRIC__V1__EVENT_VALUE__KIND_TEXT)
        out_text(o, f->key, NULL, OUT_PLAIN, f->value->text);
}

static void say_row(struct out *o, const Fabric__V1__Event *e)
{
    out_row(o);
    out_number(o, "sequence", "SEQ", OUT_DIM, e->sequence);
    out_time_utc(o, "time", e->time);
    out_time(o, "TIME", e->time);
    out_text(o, "severity", "SEVERITY", tone_severity(e->severity), show_severity(e->severity));
    out_fields(o, &e->base, "type", "TYPE", "subject", "SUBJECT", "message", "MESSAGE", "node_guid",
               NULL, NULL);
    out_number(o, "port", NULL, OUT_PLAIN, e->port_number);
    out_record(o, "fields");
    for (size_t i = 0; i < e->n_fields; i++)
        say_field(o, e->fields[i]);
    out_record_end(o);
    out_row_end(o);
}

/* The manager sends the newest events first, but fabricctl prints the oldest first. */
static int list(struct session *s)
{
    Fabric__V1__ListEventsRequest q = FABRIC__V1__LIST_EVENTS_REQUEST__INIT;
    Google__Protobuf__Timestamp times[2];
    struct events e = {0};
    uint64_t most = s->count > 0 ? s->count : s->since != NULL ? 0 : COUNT_DEFAULT;
    int rc = read_event_filter(s, times, &q);
    q.subject = word_of(s->subject);
    q.type = word_of(s->type);
    if (rc == EXIT_OK)
        rc = fetch_events(s, &q, most, &e);
    if (rc != EXIT_OK) {
        free_events(&e);
        return rc;
    }
    out_record(s->out, NULL);
    out_table(s->out, "events", columns, COLUMNS, false);
    for (size_t i = e.count; i-- > 0;)
        say_row(s->out, e.event[i]);
    out_table_end(s->out);
    if (e.count == 0)
        out_note(s->out, OUT_DIM, "No event matches.");
    out_record_end(s->out);
    free_events(&e);
    return rc;
}

static void say_missed(struct out *o, const Fabric__V1__MissedEvents *m)
{
    out_row(o);
    if (m->debug_events > 0)
        out_number(o, "missed_debug_events", NULL, OUT_PLAIN, m->debug_events);
    if (m->last_sequence > 0) {
        out_number(o, "missed_first_sequence", NULL, OUT_PLAIN, m->first_sequence);
        out_number(o, "missed_last_sequence", NULL, OUT_PLAIN, m->last_sequence);
    }
    out_row_end(o);
    if (m->debug_events == 1)
        out_note(o, OUT_WARN, "1 debug event was missed.");
    else if (m->debug_events > 1)
        out_note(o, OUT_WARN, "%" PRIu64 " debug events were missed.", m->debug_events);
    if (m->last_sequence > m->first_sequence)
        out_note(o, OUT_WARN, "Events %" PRIu64 " to %" PRIu64 " are no longer stored.",
                 m->first_sequence, m->last_sequence);
    else if (m->last_sequence > 0)
        out_note(o, OUT_WARN, "Event %" PRIu64 " is no longer stored.", m->last_sequence);
}

struct watching {
    struct session *s;
    /* sequence number after which the next call must begin; 0: the manager did not end the call
     * because this client is too slow */
    uint64_t resume_after;
};

static bool each(void *ctx, const ProtobufCMessage *message)
{
    struct watching *w = ctx;
    struct session *s = w->s;
    const Fabric__V1__WatchEventsResponse *r = (const Fabric__V1__WatchEventsResponse *)message;
    w->resume_after = r->resume_after;
    if (r->missed != NULL)
        say_missed(s->out, r->missed);
    if (r->event == NULL)
        return !out_broken(s->out);
    say_row(s->out, r->event);
    return !out_broken(s->out) && (s->count == 0 || --s->count > 0);
}

static int watch(struct session *s)
{
    Fabric__V1__WatchEventsRequest q = FABRIC__V1__WATCH_EVENTS_REQUEST__INIT;
    struct watching w = {s, 0};
    struct fab_client_error error;
    q.after_sequence = s->after;
    q.min_severity = (Fabric__V1__EventSeverity)s->severity;
    out_table(s->out, "events", live_columns, COLUMNS, true);
    /* If this client is too slow, the manager ends its call. The next call then gets the missed
     * events from the store. */
    do {
        w.resume_after = 0;
        fab_client_stream(s->client, "fabric.v1.FabricService/WatchEvents", &q.base,
                          &fabric__v1__watch_events_response__descriptor, each, &w, &error);
        q.after_sequence = w.resume_after;
    } while (error.code == FAB_GRPC_RESOURCE_EXHAUSTED && w.resume_after != 0);
    out_table_end(s->out);
    return error.code == FAB_GRPC_OK ? EXIT_OK : say_error(&error);
}

const struct cmd cmd_event_list = {
    .noun = "event",
    .verb = "list",
    .args = "[-n COUNT] [--severity WORD] [--since TIME] [--until TIME] [--subject WHAT] [--type "
            "TYPES]",
    .summary = "the newest events (50; with --since, all), oldest first",
    .options = "nsiuJK",
    .method = "fabric.v1.FabricService/ListEvents",
    .run = list,
};
const struct cmd cmd_event_watch = {
    .noun = "event",
    .verb = "watch",
    .args = "[-n COUNT] [--after SEQ] [--severity WORD]",
    .summary = "events as they happen; with --after, first those in the journal",
    .options = "nas",
    .method = "fabric.v1.FabricService/WatchEvents",
    .run = watch,
};
