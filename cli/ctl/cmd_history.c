/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl history` lists the past of an object, which is a node, port, link, host or
 * rack.
 *
 * The list has the events about the object, the audit records about it, and the reactions of the
 * manager, such as reroutes. The manager emits the event about its reaction soon after the event
 * that caused it. So fabricctl regards as the reaction the first later event that meets three
 * conditions: its type is in `reactions`, its sequence number is higher by less than
 * REACTION_WITHIN, and it follows within REACTION_S seconds.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/events.h"
#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/access.pb-c.h"
#include "fabric/v1/audit.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "libfabmgr/base/glob.h"

#define COUNT_DEFAULT 50
#define LARGEST_PAGE 1000
#define REACTION_S 5
/* the sequence number of a reaction exceeds that of the event by less than this */
#define REACTION_WITHIN 40
/* Maximum number of events for which fabricctl looks for the manager's reaction, the latest events
 * first. The search needs one request for each event. */
#define REACTIONS_MOST 200

/* types of the events that report the manager's reaction to a change */
static char reactions[] = "reroute-done,tables-published,routing-refused,proof-failed,paths-paused";

/* ---- the list -------------------------------------------------------------------------------- */

/* One line of the history: either an event or an audit record. */
struct entry {
    int64_t time_us;
    const Fabric__V1__Event *event;        /* NULL: the line is an audit record */
    const Fabric__V1__AuditRecord *record; /* NULL: the line is an event */
    bool reaction;                         /* true: the event is a reaction of the manager */
};

struct history {
    struct entry *entry;
    size_t count;
    struct events events;
    struct events *answers; /* [answer_count] the manager's answers to the searches for reactions */
    size_t answer_count;
    Fabric__V1__ListAuditResponse **page;
    size_t page_count;
    bool audited; /* true: the user may read the audit log */
};

static void history_free(struct history *h)
{
    free_events(&h->events);
    for (size_t i = 0; i < h->answer_count; i++)
        free_events(&h->answers[i]);
    for (size_t i = 0; i < h->page_count; i++)
        free_reply(h->page[i]);
    free(h->answers);
    free(h->page);
    free(h->entry);
}

static int64_t unix_us(const Google__Protobuf__Timestamp *t)
{
    return t != NULL ? t->seconds * 1000000 + t->nanos / 1000 : 0;
}

static int add(struct history *h, struct entry e)
{
    void *more = reallocarray(h->entry, h->count + 1, sizeof *h->entry);
    if (more == NULL)
        return complain(EXIT_FAILED, "out of memory");
    h->entry = more;
    h->entry[h->count++] = e;
    return EXIT_OK;
}

/* Compares two entries by time. Events of the same time stay in the order of their sequence
 * numbers. An audit record has the time at which the change was complete, so it comes after the
 * events about the change. */
static int compare(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    uint64_t p = a->event != NULL ? a->event->sequence : UINT64_MAX;
    uint64_t q = b->event != NULL ? b->event->sequence : UINT64_MAX;
    if (a->time_us != b->time_us)
        return a->time_us < b->time_us ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* ---- what the manager did -------------------------------------------------------------------- */

static bool has_event(const struct history *h, uint64_t sequence)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->entry[i].event != NULL && h->entry[i].event->sequence == sequence)
            return true;
    return false;
}

/* Adds the manager's reaction to the event `e`, if there is one. */
static int add_reaction(struct session *s, struct history *h, const Fabric__V1__Event *e)
{
    Fabric__V1__ListEventsRequest q = FABRIC__V1__LIST_EVENTS_REQUEST__INIT;
    void *more = reallocarray(h->answers, h->answer_count + 1, sizeof *h->answers);
    if (more == NULL)
        return complain(EXIT_FAILED, "out of memory");
    h->answers = more;
    struct events *answer = &h->answers[h->answer_count++];
    *answer = (struct events){0};
    q.type = reactions;
    q.after_sequence = e->sequence;
    q.before_sequence = e->sequence + REACTION_WITHIN;
    int rc = fetch_events(s, &q, 0, answer);
    if (rc != EXIT_OK || answer->count == 0)
        return rc;
    const Fabric__V1__Event *first = answer->event[answer->count - 1];
    if (unix_us(first->time) > unix_us(e->time) + REACTION_S * INT64_C(1000000) ||
        has_event(h, first->sequence))
        return EXIT_OK;
    return add(h, (struct entry){unix_us(first->time), first, NULL, true});
}

/* ---- the sources ----------------------------------------------------------------------------- */

static int add_events(struct session *s, struct history *h, uint64_t most)
{
    Fabric__V1__ListEventsRequest q = FABRIC__V1__LIST_EVENTS_REQUEST__INIT;
    Google__Protobuf__Timestamp times[2];
    int rc = read_event_filter(s, times, &q);
    q.subject = s->argv[0];
    if (rc == EXIT_OK)
        rc = fetch_events(s, &q, most, &h->events);
    for (size_t i = 0; i < h->events.count && rc == EXIT_OK; i++)
        rc = add(
            h, (struct entry){unix_us(h->events.event[i]->time), h->events.event[i], NULL, false});
    for (size_t i = 0; i < h->events.count && i < REACTIONS_MOST && rc == EXIT_OK; i++)
        rc = add_reaction(s, h, h->events.event[i]);
    return rc;
}

/* Finds out whether the user may read the audit log. (fabricctl does not just try, because the
 * audit log also records refused calls.) *ret: true if the user may. Returns the exit code. */
static int ask_role(struct session *s, bool *ret)
{
    const Fabric__V1__WhoAmIRequest q = FABRIC__V1__WHO_AM_IREQUEST__INIT;
    Fabric__V1__WhoAmIResponse *r = NULL;
    int rc = ask(s, "WhoAmI", &q.base, &fabric__v1__who_am_iresponse__descriptor, &r);
    if (rc == EXIT_OK)
        *ret = (unsigned)r->role >= role_of(s->cmd->optional);
    free_reply(r);
    return rc;
}

static int add_page(struct history *h, Fabric__V1__ListAuditResponse *r)
{
    void *more = reallocarray(h->page, h->page_count + 1, sizeof *h->page);
    if (more == NULL) {
        free_reply(r);
        return complain(EXIT_FAILED, "out of memory");
    }
    h->page = more;
    h->page[h->page_count++] = r;
    int rc = EXIT_OK;
    for (size_t i = 0; i < r->n_records && rc == EXIT_OK; i++)
        rc = add(h, (struct entry){unix_us(r->records[i]->time), NULL, r->records[i], false});
    return rc;
}

static int add_records(struct session *s, struct history *h, uint64_t most)
{
    Fabric__V1__ListAuditRequest q = FABRIC__V1__LIST_AUDIT_REQUEST__INIT;
    Google__Protobuf__Timestamp times[2];
    uint64_t records = 0;
    int rc = when_option("--since", s->since, &times[0], &q.since);
    if (rc == EXIT_OK)
        rc = when_option("--until", s->until, &times[1], &q.until);
    q.subject = s->argv[0];
    while (rc == EXIT_OK && (most == 0 || records < most)) {
        Fabric__V1__ListAuditResponse *r = NULL;
        q.page_size =
            most > 0 && most - records < LARGEST_PAGE ? (uint32_t)(most - records) : LARGEST_PAGE;
        rc = ask(s, "ListAudit", &q.base, &fabric__v1__list_audit_response__descriptor, &r);
        if (rc != EXIT_OK)
            break;
        records += r->n_records;
        q.page_token = r->next_page_token;
        rc = add_page(h, r);
        if (rc == EXIT_OK && q.page_token[0] == '\0')
            break;
    }
    return rc;
}

static int collect(struct session *s, struct history *h, uint64_t most)
{
    int rc = add_events(s, h, most);
    if (rc == EXIT_OK)
        rc = ask_role(s, &h->audited);
    if (rc == EXIT_OK && h->audited)
        rc = add_records(s, h, most);
    return rc;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"time", "TIME", false},
    {"by", "BY", false},
    {"what", "WHAT", false},
    {"text", "TEXT", false},
};

/* Returns true if the event reports an action of the manager, and not a change of the fabric. */
static bool is_act(const struct entry *e)
{
    static const char *const acts[] = {"link-isolated",     "link-released",     "link-reinstated",
                                       "isolation-skipped", "port-disabled",     "port-enabled",
                                       "link-reset",        "offender-isolated", "write-refused"};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(e->event->type, acts[i]) == 0)
            return true;
    return e->reaction;
}

static void say_event(struct out *o, const struct entry *e)
{
    const Fabric__V1__Event *m = e->event;
    const char *by = is_act(e) ? "manager" : "fabric";
    enum out_tone tone = e->reaction ? OUT_DIM : tone_severity(m->severity);
    out_time_utc(o, "time", m->time);
    out_time(o, "TIME", m->time);
    out_text(o, "by", "BY", OUT_PLAIN, by);
    out_text(o, "what", "WHAT", tone, m->type);
    out_text(o, "text", "TEXT", OUT_PLAIN, m->message);
    out_text(o, "severity", NULL, OUT_PLAIN, show_severity(m->severity));
    out_text(o, "subject", NULL, OUT_PLAIN, m->subject);
    out_number(o, "event", NULL, OUT_PLAIN, m->sequence);
}

static void say_record(struct out *o, const Fabric__V1__AuditRecord *r)
{
    bool good = strcmp(r->result, "OK") == 0;
    bool changed = r->before[0] != '\0' || r->after[0] != '\0';
    out_time_utc(o, "time", r->time);
    out_time(o, "TIME", r->time);
    out_text(o, "by", "BY", OUT_PLAIN, r->account);
    out_text(o, "what", "WHAT", good ? OUT_PLAIN : OUT_WARN, r->method);
    out_textf(o, "TEXT", OUT_PLAIN, "%s%s%s%s%s%s%s%s%s%s", r->object, changed ? ": " : "",
              r->before, r->before[0] != '\0' && r->after[0] != '\0' ? ", now " : "", r->after,
              r->reason[0] != '\0' ? " (" : "", r->reason, r->reason[0] != '\0' ? ")" : "",
              good ? "" : "; ", good ? "" : r->result);
    out_keys(o, &r->base, "object before after reason result message source");
    out_number(o, "record", NULL, OUT_PLAIN, r->sequence);
}

static struct plot_entry plot_entry_of(const struct entry *e)
{
    if (e->event == NULL)
        return (struct plot_entry){e->record->time, e->record->method, e->record->object,
                                   PLOT_PERSON};
    Fabric__V1__EventSeverity severity = e->event->severity;
    enum plot_kind kind =
        is_act(e)                                                        ? PLOT_MANAGER
        : severity == FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_ERROR   ? PLOT_ERROR
        : severity == FABRIC__V1__EVENT_SEVERITY__EVENT_SEVERITY_WARNING ? PLOT_WARNING
                                                                         : PLOT_CHANGE;
    return (struct plot_entry){e->event->time, e->event->type, e->event->message, kind};
}

/* Draws the newest `most` entries; 0: all entries. */
static int draw(struct session *s, const struct history *h, uint64_t most)
{
    size_t first = most > 0 && h->count > most ? h->count - most : 0;
    struct plot_entry *entries = calloc(h->count - first + 1, sizeof *entries);
    if (entries == NULL)
        return complain(EXIT_FAILED, "out of memory");
    for (size_t i = first; i < h->count; i++)
        entries[i - first] = plot_entry_of(&h->entry[i]);
    int rc = plot_history(s->argv[0], entries, h->count - first);
    free(entries);
    return rc;
}

/* Prints the newest `most` entries; 0: all entries. */
static void say(struct session *s, struct history *h, uint64_t most)
{
    struct out *o = s->out;
    out_record(o, NULL);
    out_text(o, "object", NULL, OUT_PLAIN, s->argv[0]);
    out_bool(o, "with_audit_log", NULL, OUT_PLAIN, h->audited);
    out_table(o, "entries", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = most > 0 && h->count > most ? h->count - most : 0; i < h->count; i++) {
        out_row(o);
        if (h->entry[i].event != NULL)
            say_event(o, &h->entry[i]);
        else
            say_record(o, h->entry[i].record);
        out_row_end(o);
    }
    out_table_end(o);
    if (h->count == 0)
        out_note(o, OUT_DIM, "Nothing is recorded about %s in this time.", s->argv[0]);
    if (!h->audited)
        out_note(o, OUT_DIM,
                 "What persons did is in the audit log, which needs the role administrator.");
    out_record_end(o);
}

/* Prints an error if no node, port, host or rack has the name that the user gave for the object, or
 * if the name is ambiguous. This function is called if the history is empty. Returns the exit
 * code. */
static int check_name(struct session *s)
{
    Fabric__V1__GetNodeRequest node = FABRIC__V1__GET_NODE_REQUEST__INIT;
    Fabric__V1__ListPortsRequest ports = FABRIC__V1__LIST_PORTS_REQUEST__INIT;
    struct fab_client_error error;
    ProtobufCMessage *m = NULL;
    /* GetNode also finds nodes that are gone, and ListPorts everything else */
    node.node = s->argv[0];
    enum fab_grpc_code code =
        fab_client_call(s->client, "fabric.v1.FabricService/GetNode", &node.base,
                        &fabric__v1__get_node_response__descriptor, &m, &error);
    free_reply(m);
    if (code == FAB_GRPC_OK)
        return EXIT_OK;
    ports.node = s->argv[0];
    ports.page_size = 1;
    return ask(s, "ListPorts", &ports.base, &fabric__v1__list_ports_response__descriptor, NULL);
}

static int run(struct session *s)
{
    struct history h = {0};
    uint64_t most = s->count > 0 ? s->count : s->since != NULL ? 0 : COUNT_DEFAULT;
    int rc = collect(s, &h, most);
    if (rc == EXIT_OK && h.count == 0 && !fab_base_is_glob(s->argv[0]))
        rc = check_name(s);
    if (rc == EXIT_OK && h.count > 0)
        qsort(h.entry, h.count, sizeof *h.entry, compare);
    if (rc == EXIT_OK && s->out_format == OUT_SVG)
        rc = draw(s, &h, most);
    else if (rc == EXIT_OK)
        say(s, &h, most);
    history_free(&h);
    return rc;
}

const struct cmd cmd_history = {
    .noun = "history",
    .args = "NODE[/PORT] [--since TIME] [--until TIME] [-n COUNT]",
    .summary =
        "what happened to a node, link, host or rack, by whom, and what the manager did about it",
    .min_args = 1,
    .max_args = 1,
    .options = "niu",
    .method = "fabric.v1.FabricService/ListEvents",
    .optional = "fabric.v1.FabricService/ListAudit",
    .takes_patterns = true,
    .picture = true,
    .is_list = true,
    .json = "object:text with_audit_log:bool entries:[ time:time by:text what:text text:text "
            "severity:severity subject:text event:u64 / time:time by:text what:text "
            "@AuditRecord(object before after reason result message source) record:u64 ]",
    .run = run,
};
