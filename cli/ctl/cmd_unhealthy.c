/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl link unhealthy`, `link isolate` and `port counters`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/list.h"
#include "cli/ctl/matched.h"
#include "cli/ctl/show.h"
#include "fabric/v1/link.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "libfabmgr/base/glob.h"

#define LOSS_LEN 160

static const struct out_column columns[] = {
    {"a", "FROM", false},
    {"b", "TO", false},
    {"state", "STATE", false},
    {"counter", "COUNTER", false},
    {"increase", "INCREASE", false},
    {"since", "SINCE", false},
    {"keeping", "KEEPING", false},
    {"isolating", "ISOLATING", false},
    {"note", "NOTE", false},
};

static const char *state_of(const Fabric__V1__UnhealthyLink *l)
{
    if (l->isolated)
        return l->in_routes ? "needed" : "isolated";
    return !l->unhealthy ? "watched" : l->link_error ? "unhealthy" : "errors";
}

static const char *note_of(const Fabric__V1__UnhealthyLink *l)
{
    return l->isolated ? l->isolated_cause : l->isolation_skipped;
}

static uint64_t seconds_of(const Google__Protobuf__Duration *d)
{
    return microseconds_of(d) / 1000000;
}

/* Writes the values of a link in JSON output, for the list of links and for a single link. */
static void say_keys(struct out *o, const Fabric__V1__UnhealthyLink *l)
{
    out_port_keys(o, "a_", l->a);
    out_port_keys(o, "b_", l->b);
    out_text(o, "state", NULL, OUT_PLAIN, state_of(l));
    out_keys(o, &l->base, "unhealthy isolated in_routes by_operator counter");
    out_port_keys(o, "at_", l->at);
    out_number(o, "increase", NULL, OUT_PLAIN, l->increase);
    out_number(o, "interval_s", NULL, OUT_PLAIN, seconds_of(l->interval));
    out_time_utc(o, "since", l->since);
    out_time_utc(o, "isolated_since", l->isolated_since);
    out_keys(o, &l->base,
             "isolated_cause isolation_skipped error_windows error_windows_required "
             "errors_per_hour routed_lids uplinks_of uplinks_of_pod uplinks "
             "uplinks_in_use uplinks_least");
}

/* Writes what the link costs while it stays in use: its errors per hour, and the number of LIDs
 * whose packets it carries. */
static void say_keeping(const Fabric__V1__UnhealthyLink *l, char text[LOSS_LEN])
{
    text[0] = '\0';
    if (l->in_routes && l->errors_per_hour > 0)
        snprintf(text, LOSS_LEN, "%llu errors/h, %llu LIDs", (unsigned long long)l->errors_per_hour,
                 (unsigned long long)l->routed_lids);
}

/* Writes how many uplinks the leaf or pod of the link keeps if the link is isolated. */
static void say_isolating(const Fabric__V1__UnhealthyLink *l, char text[LOSS_LEN])
{
    uint32_t left = l->uplinks_in_use - (l->in_routes && l->uplinks_in_use > 0);
    text[0] = '\0';
    if (l->uplinks > 0)
        snprintf(text, LOSS_LEN, "%s%.60s %s %u of %u uplinks, floor %u",
                 l->uplinks_of_pod ? "the pod of " : "", l->uplinks_of,
                 l->in_routes ? "would keep" : "keeps", left, l->uplinks, l->uplinks_least);
}

static void say_row(struct out *o, const Fabric__V1__UnhealthyLink *l)
{
    char keeping[LOSS_LEN], isolating[LOSS_LEN];
    out_row(o);
    say_keys(o, l);
    out_port(o, "FROM", l->a);
    out_port(o, "TO", l->b);
    out_text(o, NULL, "STATE", l->unhealthy ? OUT_WARN : OUT_PLAIN, state_of(l));
    out_text(o, NULL, "COUNTER", OUT_PLAIN, l->counter);
    if (l->increase > 0)
        out_textf(o, "INCREASE", OUT_PLAIN, "%llu in %llu s", (unsigned long long)l->increase,
                  (unsigned long long)seconds_of(l->interval));
    else
        out_none(o, NULL, "INCREASE");
    out_time(o, "SINCE", l->isolated ? l->isolated_since : l->since);
    say_keeping(l, keeping);
    say_isolating(l, isolating);
    out_text(o, NULL, "KEEPING", OUT_PLAIN, keeping);
    out_text(o, NULL, "ISOLATING", OUT_PLAIN, isolating);
    out_text(o, NULL, "NOTE", OUT_PLAIN, note_of(l));
    out_row_end(o);
}

/* ---- one link -------------------------------------------------------------------------------- */

static void say_counters(struct out *o, const char *end, const Fabric__V1__LinkPortErrors *e)
{
    for (size_t i = 0; e != NULL && i < e->n_counters; i++) {
        const Fabric__V1__CounterIncrease *c = e->counters[i];
        out_row(o);
        out_text(o, "end", "AT", OUT_PLAIN, end);
        out_text(o, "counter", "COUNTER", OUT_PLAIN, c->name);
        out_fields(o, &c->base, "total", "INCREASE", "recent", "RECENT", "per_hour", "PER HOUR",
                   NULL);
        out_row_end(o);
    }
}

static void say_history(struct out *o, const char *end, const Fabric__V1__LinkPortErrors *e)
{
    for (size_t i = 0; e != NULL && i < e->n_history; i++)
        for (size_t k = 0; k < e->history[i]->n_increases; k++) {
            const Fabric__V1__CounterValue *v = e->history[i]->increases[k];
            out_row(o);
            out_time_utc(o, "time", e->history[i]->time);
            out_time(o, "TIME", e->history[i]->time);
            out_text(o, "end", "AT", OUT_PLAIN, end);
            out_text(o, "counter", "COUNTER", OUT_PLAIN, v->name);
            out_number(o, "increase", "INCREASE", OUT_PLAIN, v->value);
            out_row_end(o);
        }
}

static void say_tables(struct out *o, const Fabric__V1__UnhealthyLink *l)
{
    static const struct out_column counters[] = {{"end", "AT", false},
                                                 {"counter", "COUNTER", false},
                                                 {"total", "INCREASE", true},
                                                 {"recent", "RECENT", true},
                                                 {"per_hour", "PER HOUR", true}};
    static const struct out_column history[] = {{"time", "TIME", false},
                                                {"end", "AT", false},
                                                {"counter", "COUNTER", false},
                                                {"increase", "INCREASE", true}};
    char a[SHOW_LEN], b[SHOW_LEN];
    show_port(l->a, a);
    show_port(l->b, b);
    out_table(o, "counters", counters, sizeof counters / sizeof *counters, false);
    say_counters(o, a, l->errors_a);
    say_counters(o, b, l->errors_b);
    out_table_end(o);
    out_table(o, "history", history, sizeof history / sizeof *history, false);
    say_history(o, a, l->errors_a);
    say_history(o, b, l->errors_b);
    out_table_end(o);
}

static void say(struct out *o, const Fabric__V1__UnhealthyLink *l)
{
    char a[SHOW_LEN], b[SHOW_LEN], keeping[LOSS_LEN], isolating[LOSS_LEN];
    show_port(l->a, a);
    show_port(l->b, b);
    say_keeping(l, keeping);
    say_isolating(l, isolating);
    out_record(o, NULL);
    say_keys(o, l);
    out_textf(o, "Link", OUT_PLAIN, "%s - %s", a, b);
    out_text(o, NULL, "State", l->unhealthy ? OUT_WARN : OUT_PLAIN, state_of(l));
    if (note_of(l)[0] != '\0')
        out_text(o, NULL, "Because", OUT_PLAIN, note_of(l));
    if (keeping[0] != '\0')
        out_text(o, NULL, "Keeping", OUT_PLAIN, keeping);
    if (isolating[0] != '\0')
        out_text(o, NULL, "Isolating", OUT_PLAIN, isolating);
    if (l->link_error && l->in_routes && l->error_windows_required > 1)
        out_textf(o, "Errors", OUT_PLAIN, "in %u windows; %u are required for an isolation",
                  l->error_windows, l->error_windows_required);
    say_tables(o, l);
    out_record_end(o);
}

/* Returns true if `p` is the port with this number of the node whose name or GUID is `node`. */
static bool is_end(const Fabric__V1__PortRef *p, const char *node, uint32_t number)
{
    return p != NULL && p->port_number == number &&
           (strcmp(p->node_name, node) == 0 || strcmp(p->node_guid, node) == 0);
}

static const Fabric__V1__UnhealthyLink *find(const Fabric__V1__ListUnhealthyLinksResponse *r,
                                             const char *node, uint32_t number)
{
    for (size_t i = 0; i < r->n_links; i++)
        if (is_end(r->links[i]->a, node, number) || is_end(r->links[i]->b, node, number))
            return r->links[i];
    return NULL;
}

/* Finds the link of a port in `links`. Asks the manager for the node, because the user may have
 * given a LID or only the beginning of the name. If this fails, prints the reason. Returns the exit
 * code. */
static int look_up(struct session *s, char *node, uint32_t number,
                   const Fabric__V1__ListUnhealthyLinksResponse *links,
                   const Fabric__V1__UnhealthyLink **ret)
{
    Fabric__V1__GetPortRequest q = FABRIC__V1__GET_PORT_REQUEST__INIT;
    Fabric__V1__GetPortResponse *r = NULL;
    q.node = node;
    q.port_number = number;
    int rc = ask(s, "GetPort", &q.base, &fabric__v1__get_port_response__descriptor, &r);
    if (rc == EXIT_OK && r->port != NULL && r->port->port != NULL)
        *ret = find(links, r->port->port->node_guid, number);
    free_reply(r);
    return rc;
}

static int show_one(struct session *s, const Fabric__V1__ListUnhealthyLinksResponse *r)
{
    char *node;
    uint32_t number;
    int rc = parse_port(s, &node, &number);
    if (rc != EXIT_OK)
        return rc;
    const Fabric__V1__UnhealthyLink *found = find(r, node, number);
    if (found == NULL)
        rc = look_up(s, node, number, r, &found);
    if (found != NULL)
        say(s->out, found);
    else if (rc == EXIT_OK)
        rc = complain(EXIT_NOT_FOUND, "no error counter of the link at %s increased recently",
                      s->argv[0]);
    return rc;
}

static int unhealthy(struct session *s)
{
    Fabric__V1__ListUnhealthyLinksRequest q = FABRIC__V1__LIST_UNHEALTHY_LINKS_REQUEST__INIT;
    Fabric__V1__ListUnhealthyLinksResponse *r = NULL;
    q.include_watched = s->argc > 0;
    int rc = ask(s, "ListUnhealthyLinks", &q.base,
                 &fabric__v1__list_unhealthy_links_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    const char *pattern = s->argc > 0 && fab_base_is_glob(s->argv[0]) ? s->argv[0] : NULL;
    if (s->argc > 0 && pattern == NULL) {
        rc = show_one(s, r);
    } else {
        out_record(s->out, NULL);
        out_table(s->out, "links", columns, sizeof columns / sizeof *columns, false);
        for (size_t i = 0; i < r->n_links; i++)
            if (pattern == NULL || port_matches(pattern, r->links[i]->a) ||
                port_matches(pattern, r->links[i]->b))
                say_row(s->out, r->links[i]);
        out_table_end(s->out);
        if (r->n_links == 0)
            out_note(s->out, OUT_DIM, "No link is unhealthy or isolated.");
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

static int isolate(struct session *s)
{
    Fabric__V1__IsolateLinkRequest q = FABRIC__V1__ISOLATE_LINK_REQUEST__INIT;
    Fabric__V1__IsolateLinkResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    q.dry_run = s->dry_run;
    if (rc == EXIT_OK)
        rc = ask(s, "IsolateLink", &q.base, &fabric__v1__isolate_link_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_link_unhealthy = {
    .noun = "link",
    .verb = "unhealthy",
    .args = "[NODE/PORT]",
    .summary = "unhealthy and isolated links, or the error history of one link",
    .max_args = 1,
    .takes_patterns = true,
    .method = "fabric.v1.FabricService/ListUnhealthyLinks",
    .is_list = true,
    .json = "links:[ =unhealthy ] / =unhealthy counters:[ end:text counter:text "
            "@CounterIncrease(total recent per_hour) ] history:[ time:time end:text "
            "counter:text increase:u64 ]",
    .run = unhealthy,
};
const struct cmd cmd_link_isolate = {
    .noun = "link",
    .verb = "isolate",
    .args = "NODE/PORT [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "remove a link from the routes until it is released",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/IsolateLink",
    .options = "rlUD",
    .json = "message:text",
    .run = isolate,
};

/* ---- port counters --------------------------------------------------------------------------- */

/* Prints the counters of a port: all of them in JSON output, only those above 0 in text output. */
static void say_port(struct out *o, const void *item)
{
    const Fabric__V1__PortCounters *p = item;
    char errors[600] = "";
    size_t used = 0;
    out_row(o);
    out_port_keys(o, "", p->port);
    out_time_utc(o, "read_time", p->read_time);
    for (size_t i = 0; i < p->n_counters; i++) {
        const Fabric__V1__CounterValue *c = p->counters[i];
        out_number(o, c->name, NULL, OUT_PLAIN, c->value);
        if (c->value > 0 && used < sizeof errors)
            used += (size_t)snprintf(errors + used, sizeof errors - used, "%s%s %llu",
                                     used > 0 ? ", " : "", c->name, (unsigned long long)c->value);
    }
    out_port(o, "PORT", p->port);
    out_time(o, "READ", p->read_time);
    out_text(o, NULL, "ERRORS", OUT_PLAIN, errors);
    out_row_end(o);
}

static int counters(struct session *s)
{
    static const struct out_column of_ports[] = {
        {"port", "PORT", false}, {"read_time", "READ", false}, {"errors", "ERRORS", false}};
    static const struct list ports = {
        .method = "ListPortCounters",
        .reply = &fabric__v1__list_port_counters_response__descriptor,
        .items = "ports",
        .columns = of_ports,
        .column_count = sizeof of_ports / sizeof of_ports[0],
        .say_row = say_port,
        .none = "All counters are 0, or none was read yet.",
    };
    Fabric__V1__ListPortCountersRequest q = FABRIC__V1__LIST_PORT_COUNTERS_REQUEST__INIT;
    q.errors_only = s->argc == 0;
    q.rack = word_of(s->rack);
    if (s->argc > 0)
        q.node = s->argv[0];
    return say_list(s, &ports, &q.base);
}

const struct cmd cmd_port_counters = {
    .noun = "port",
    .verb = "counters",
    .args = "[NODE[/PORT]] [--rack RACK]",
    .summary = "error counters at the last reading: ports with errors, or all of some nodes",
    .options = "X",
    .max_args = 1,
    .takes_patterns = true,
    .method = "fabric.v1.FabricService/ListPortCounters",
    .is_list = true,
    .json = "ports:[ =port read_time:time *:u64 ]",
    .run = counters,
};
