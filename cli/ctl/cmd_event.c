/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl event list` and `event watch`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/events.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/event.pb-c.h"

#define COUNT_DEFAULT 50

static const struct out_column columns[] = {
    {"sequence", "SEQ", true}, {"time", "TIME", false},       {"severity", "SEVERITY", false},
    {"type", "TYPE", false},   {"subject", "SUBJECT", false}, {"message", "MESSAGE", false},
};
/* The columns of `event watch`. Each row is printed at once, before the widest value of its column
 * is known. So the width of a column is that of its label, which is padded with spaces. */
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

/* Prints an event. journal: the journal in which the event has its sequence number. NULL or "": the
 * journal of this manager, whose name is not printed. */
static void say_row(struct out *o, const Fabric__V1__Event *e, const char *journal)
{
    out_row(o);
    out_number(o, "sequence", "SEQ", OUT_DIM, e->sequence);
    if (journal != NULL && journal[0] != '\0')
        out_text(o, "journal", NULL, OUT_PLAIN, journal);
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
        say_row(s->out, e.event[i], NULL);
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
    if (m->other_journal) {
        out_bool(o, "other_journal", NULL, OUT_PLAIN, true);
        out_time_utc(o, "since", m->since);
    }
    out_row_end(o);
    if (m->other_journal)
        out_note(
            o, OUT_WARN,
            "Another manager answers. Its events of the last seconds and all later ones follow; "
            "those that the former manager did not send any more are in its journal.");
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

/* ---- watching -------------------------------------------------------------------------------- */

#define JOURNALS 16
#define RETRY_MS 1000

/* The sequence number of the last event that was received from a journal. Each manager has a
 * journal of its own. */
struct place_in_journal {
    char journal[64];
    uint64_t sequence;
};
struct watching {
    struct session *s;
    struct place_in_journal seen[JOURNALS]; /* [0]: the journal of the manager that answers now */
    Google__Protobuf__Timestamp time;       /* time of the last event */
    /* sequence number after which the next call must begin, if the manager ended the call because
     * this client is too slow; 0: the call ended for another reason */
    uint64_t resume_after;
    /* true: the last call was ended because its events come from another journal, which was already
     * in seen[]. The next call begins after the last event that was received from this journal. */
    bool again;
    bool over; /* true: the user wants no more events */
};

/* Makes seen[0] the element of this journal; the elements before it move back by one place. Returns
 * true if the journal was already in seen[], but not in seen[0]. */
static bool go_to_journal(struct watching *w, const char *journal)
{
    struct place_in_journal here = {.sequence = 0};
    size_t at = 0;
    while (at < JOURNALS - 1 && strcmp(w->seen[at].journal, journal) != 0 &&
           w->seen[at].journal[0] != '\0')
        at++;
    bool known = strcmp(w->seen[at].journal, journal) == 0;
    /* The very first journal takes over the sequence number in the unused element seen[0], which is
     * the argument of --after. All other unused elements have the number 0. */
    if (known || w->seen[at].journal[0] == '\0')
        here = w->seen[at];
    snprintf(here.journal, sizeof here.journal, "%s", journal);
    memmove(w->seen + 1, w->seen, at * sizeof here);
    w->seen[0] = here;
    return known && at > 0;
}

/* Prints an event, unless it was received before. */
static void take_event(struct watching *w, const Fabric__V1__Event *e)
{
    if (e->sequence != 0 && e->sequence <= w->seen[0].sequence)
        return;
    if (e->sequence != 0)
        w->seen[0].sequence = e->sequence;
    if (e->time != NULL)
        w->time = *e->time;
    say_row(w->s->out, e, w->seen[0].journal);
    w->over = out_broken(w->s->out) || (w->s->count > 0 && --w->s->count == 0);
}

static bool each(void *ctx, const ProtobufCMessage *message)
{
    struct watching *w = ctx;
    const Fabric__V1__WatchEventsResponse *r = (const Fabric__V1__WatchEventsResponse *)message;
    w->resume_after = r->resume_after;
    if (strcmp(r->journal, w->seen[0].journal) != 0 && go_to_journal(w, r->journal)) {
        w->again = true;
        return false;
    }
    if (r->missed != NULL)
        say_missed(w->s->out, r->missed);
    if (r->event != NULL)
        take_event(w, r->event);
    w->over = w->over || out_broken(w->s->out);
    return !w->over;
}

/* Tries to connect to a manager once a second, until one answers. */
static void connect_again(struct session *s)
{
    struct fab_client_error error;
    fab_client_close(s->client);
    s->client = NULL;
    while (fab_client_open(s->connection, &s->client, &error) != FAB_GRPC_OK)
        nanosleep(&(struct timespec){.tv_sec = RETRY_MS / 1000}, NULL);
}

/* Returns true if WatchEvents must be called again. In this case, also prepares the next call: sets
 * the sequence number after which it begins, or connects again. */
static bool goes_on(struct watching *w, const struct fab_client_error *error)
{
    bool slow = error->code == FAB_GRPC_RESOURCE_EXHAUSTED && w->resume_after != 0;
    bool lost = error->code == FAB_GRPC_OK || error->code == FAB_GRPC_UNAVAILABLE ||
                error->code == FAB_GRPC_DEADLINE_EXCEEDED;
    if (w->over)
        return false;
    if (slow)
        w->seen[0].sequence = w->resume_after;
    if (slow || w->again)
        return true;
    if (!w->s->reconnect || !lost)
        return false;
    out_note(w->s->out, OUT_WARN, "The connection is lost; connecting again.");
    nanosleep(&(struct timespec){.tv_nsec = RETRY_MS / 10 * 1000000L}, NULL);
    connect_again(w->s);
    return true;
}

static int watch(struct session *s)
{
    Fabric__V1__WatchEventsRequest q = FABRIC__V1__WATCH_EVENTS_REQUEST__INIT;
    struct watching w = {
        .s = s, .seen = {{.sequence = s->after}}, .time = GOOGLE__PROTOBUF__TIMESTAMP__INIT};
    struct fab_client_error error;
    Google__Protobuf__Timestamp *since = NULL;
    int rc = when_option("--since", s->since, &w.time, &since);
    if (rc != EXIT_OK)
        return rc;
    q.min_severity = (Fabric__V1__EventSeverity)s->severity;
    q.after_sequence = s->after;
    q.after_time = since;
    /* If the connection breaks before the first event is received, the next call asks for the
     * events since the start of the command. */
    if (since == NULL)
        w.time.seconds = time(NULL);
    out_table(s->out, "events", live_columns, COLUMNS, true);
    do {
        q.journal = w.seen[0].journal;
        w.resume_after = 0;
        w.again = false;
        fab_client_stream(s->client, "fabric.v1.FabricService/WatchEvents", &q.base,
                          &fabric__v1__watch_events_response__descriptor, each, &w, &error);
        q.after_sequence = w.seen[0].sequence;
        q.after_time = &w.time;
    } while (goes_on(&w, &error));
    out_table_end(s->out);
    return w.over || error.code == FAB_GRPC_OK ? EXIT_OK : say_error(&error);
}

const struct cmd cmd_event_list = {
    .noun = "event",
    .verb = "list",
    .args = "[-n COUNT] [--severity WORD] [--since TIME] [--until TIME] [--subject WHAT] [--type "
            "TYPES]",
    .summary = "the newest events (50; with --since, all), oldest first",
    .options = "nsiuJK",
    .method = "fabric.v1.FabricService/ListEvents",
    .is_list = true,
    .json = "events:[ sequence:u64 time:time severity:severity @Event(type subject message "
            "node_guid) port:u8 fields:{ *:u64|text } ]",
    .run = list,
};
const struct cmd cmd_event_watch = {
    .noun = "event",
    .verb = "watch",
    .one_manager = true,
    .args = "[-n COUNT] [--after SEQ | --since TIME] [--severity WORD] [--reconnect]",
    .summary = "events as they happen; with --after or --since, first those in the journal",
    .options = "nasi7",
    .method = "fabric.v1.FabricService/WatchEvents",
    .json = "sequence:u64 journal?:text time:time severity:severity @Event(type subject "
            "message node_guid) port:u8 fields:{ *:u64|text } / missed_debug_events?:u64 "
            "missed_first_sequence&:u64 missed_last_sequence&:u64 other_journal?:bool "
            "since?:time",
    .run = watch,
};
