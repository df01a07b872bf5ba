/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl port top`, `port history` and `link history`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/plot.h"
#include "cli/ctl/port_samples.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/counters/trend.h"

#define ERRORS_LEN 400
#define COLUMNS(c) (c), sizeof(c) / sizeof *(c)

static void say_value(struct out *o, const char *label, enum out_tone tone,
                      const Fabric__V1__PortSample *m, enum sample_value which)
{
    char text[SAMPLE_LEN];
    uint64_t value = m != NULL ? sample_value(m, which) : SPARKLINE_NONE;
    show_sample_value(which, value, text);
    out_text(o, NULL, label, value > 0 ? tone : OUT_DIM, text);
}

/* Writes the error counters that rose in a sample, each with its increase; "0" if no counter
 * rose. */
static void say_errors(struct out *o, const char *label, const Fabric__V1__PortSample *m)
{
    char text[ERRORS_LEN];
    show_sample_errors(m, text, sizeof text);
    out_text(o, NULL, label, m->n_errors > 0 ? OUT_WARN : OUT_DIM, m->n_errors > 0 ? text : "0");
}

/* ---- port top -------------------------------------------------------------------------------- */

static const struct out_column top_columns[] = {
    {"port", "PORT", false},        {"peer", "PEER", false},       {"sent", "SENT", true},
    {"received", "RECEIVED", true}, {"out", "PACKETS SENT", true}, {"in", "PACKETS RECEIVED", true},
    {"wait", "WAIT", true},         {"errors", "ERRORS", false},
};

static void say_top_row(struct out *o, const Fabric__V1__TopPort *p)
{
    static const Fabric__V1__PortSample none = FABRIC__V1__PORT_SAMPLE__INIT;
    const Fabric__V1__PortSample *sample = p->sample != NULL ? p->sample : &none;
    out_row(o);
    out_port_keys(o, "", p->port);
    out_port_keys(o, "peer_", p->peer);
    out_sample_keys(o, "", sample);
    out_port(o, "PORT", p->port);
    out_port(o, "PEER", p->peer);
    say_value(o, "SENT", OUT_PLAIN, sample, SAMPLE_SENT);
    say_value(o, "RECEIVED", OUT_PLAIN, sample, SAMPLE_RECEIVED);
    say_value(o, "PACKETS SENT", OUT_PLAIN, sample, SAMPLE_SENT_PACKETS);
    say_value(o, "PACKETS RECEIVED", OUT_PLAIN, sample, SAMPLE_RECEIVED_PACKETS);
    say_value(o, "WAIT", OUT_PLAIN, sample, SAMPLE_WAIT);
    say_errors(o, "ERRORS", sample);
    out_row_end(o);
}

static int top(struct session *s)
{
    Fabric__V1__ListTopPortsRequest q = FABRIC__V1__LIST_TOP_PORTS_REQUEST__INIT;
    Fabric__V1__ListTopPortsResponse *r = NULL;
    Google__Protobuf__Timestamp since;
    int rc = parse_rank(s->by, &q.by);
    if (rc == EXIT_OK)
        rc = when_option("--since", s->since, &since, &q.since);
    q.count = s->count;
    if (rc == EXIT_OK)
        rc = ask(s, "ListTopPorts", &q.base, &fabric__v1__list_top_ports_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    out_number(s->out, "total", NULL, OUT_PLAIN, r->total);
    out_table(s->out, "ports", COLUMNS(top_columns), false);
    for (size_t i = 0; i < r->n_ports; i++)
        say_top_row(s->out, r->ports[i]);
    out_table_end(s->out);
    if (r->total == 0)
        out_note(s->out, OUT_DIM,
                 "No port has %s, or the counters were not read twice yet (counters.interval).",
                 s->by != NULL ? s->by : "data");
    else if (r->n_ports < r->total)
        out_note(s->out, OUT_DIM, "and %zu more", r->total - r->n_ports);
    out_record_end(s->out);
    free_reply(r);
    return EXIT_OK;
}

/* ---- what port history and link history have in common --------------------------------------- */

/* Writes the time and the duration of a sample. */
static void say_sample_time(struct out *o, const Fabric__V1__PortSample *m)
{
    char span[SAMPLE_LEN];
    show_sample_time(m->seconds, span);
    out_time_utc(o, "time", m->time);
    out_number(o, "seconds", NULL, OUT_PLAIN, m->seconds);
    out_time(o, "UNTIL", m->time);
    out_text(o, NULL, "FOR", OUT_DIM, span);
}

static uint64_t sum_of(const struct port_samples *p, enum sample_value which)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < p->count; i++)
        sum += sample_value(p->sample[i], which);
    return sum;
}

static bool has_any(const struct port_samples *p, enum sample_value which)
{
    for (size_t i = 0; i < p->count; i++) {
        uint64_t value = sample_value(p->sample[i], which);
        if (value != SPARKLINE_NONE && value > 0)
            return true;
    }
    return false;
}

static void say_none(struct session *s)
{
    out_note(s->out, OUT_DIM, "There are no samples of %s in this time.", s->argv[0]);
}

/* ---- port history ---------------------------------------------------------------------------- */

static const struct out_column history_columns[] = {
    {"time", "UNTIL", false},       {"seconds", "FOR", true},      {"sent", "SENT", true},
    {"received", "RECEIVED", true}, {"out", "PACKETS SENT", true}, {"in", "PACKETS RECEIVED", true},
    {"wait", "WAIT", true},         {"down", "DOWN", true},        {"errors", "ERRORS", false},
};

static void say_history_row(struct out *o, const Fabric__V1__PortSample *m)
{
    out_row(o);
    say_sample_time(o, m);
    out_sample_keys(o, "", m);
    say_value(o, "SENT", OUT_PLAIN, m, SAMPLE_SENT);
    say_value(o, "RECEIVED", OUT_PLAIN, m, SAMPLE_RECEIVED);
    say_value(o, "PACKETS SENT", OUT_PLAIN, m, SAMPLE_SENT_PACKETS);
    say_value(o, "PACKETS RECEIVED", OUT_PLAIN, m, SAMPLE_RECEIVED_PACKETS);
    say_value(o, "WAIT", OUT_PLAIN, m, SAMPLE_WAIT);
    say_value(o, "DOWN", OUT_BAD, m, SAMPLE_DOWN);
    say_errors(o, "ERRORS", m);
    out_row_end(o);
}

/* The words that the option --counter accepts for values that each sample has. It also accepts the
 * names in error_counters. */
static const struct {
    const char *name, *label;
    enum sample_value value;
} counters[] = {
    {"sent", "SENT", SAMPLE_SENT},
    {"received", "RECEIVED", SAMPLE_RECEIVED},
    {"packets-sent", "PACKETS SENT", SAMPLE_SENT_PACKETS},
    {"packets-received", "PACKETS RECEIVED", SAMPLE_RECEIVED_PACKETS},
    {"wait", "WAIT", SAMPLE_WAIT},
    {"errors", "ERRORS", SAMPLE_ERRORS},
    {"down", "DOWN", SAMPLE_DOWN},
    {"PortXmitData", "SENT", SAMPLE_SENT},
    {"PortRcvData", "RECEIVED", SAMPLE_RECEIVED},
    {"PortXmitPkts", "PACKETS SENT", SAMPLE_SENT_PACKETS},
    {"PortRcvPkts", "PACKETS RECEIVED", SAMPLE_RECEIVED_PACKETS},
    {"PortXmitWait", "WAIT", SAMPLE_WAIT},
};
#define COUNTER_COUNT (sizeof counters / sizeof *counters)

static const char *const error_counters[] = {"SymbolErrorCounter",
                                             "LinkErrorRecoveryCounter",
                                             "LinkDownedCounter",
                                             "PortRcvErrors",
                                             "PortRcvRemotePhysicalErrors",
                                             "PortRcvSwitchRelayErrors",
                                             "PortXmitDiscards",
                                             "PortXmitConstraintErrors",
                                             "PortRcvConstraintErrors",
                                             "LocalLinkIntegrityErrors",
                                             "ExcessiveBufferOverrunErrors",
                                             "VL15Dropped"};
#define ERROR_COUNTERS (sizeof error_counters / sizeof *error_counters)

/* Finds what --counter names: a value that each sample has, or an error counter. *ret_value is the
 * index of the value in counters[]; COUNTER_COUNT: `name` names no such value. *ret_error is the
 * name of the error counter; NULL: `name` names none. `name` may be NULL. Prints an error for an
 * unknown name. Returns the exit code. */
static int parse_counter(const char *name, size_t *ret_value, const char **ret_error)
{
    *ret_value = COUNTER_COUNT;
    *ret_error = NULL;
    for (size_t i = 0; name != NULL && i < COUNTER_COUNT; i++)
        if (strcasecmp(name, counters[i].name) == 0)
            *ret_value = i;
    for (size_t i = 0; name != NULL && i < ERROR_COUNTERS; i++)
        if (strcasecmp(name, error_counters[i]) == 0)
            *ret_error = error_counters[i];
    if (name == NULL || *ret_value < COUNTER_COUNT || *ret_error != NULL)
        return EXIT_OK;
    return complain(EXIT_USAGE,
                    "--counter \"%s\": sent, received, packets-sent, packets-received, wait, "
                    "errors, down, or the name of a counter such as SymbolErrorCounter is expected",
                    name);
}

/* Prints a table with one value of each sample: the error counter `error` or, if `error` is NULL,
 * the value counters[value]. */
static void say_counter(struct out *o, const struct port_samples *p, size_t value,
                        const char *error)
{
    const char *label = error != NULL ? error : counters[value].label;
    const struct out_column columns[] = {
        {"time", "UNTIL", false}, {"seconds", "FOR", true}, {"value", label, true}};
    out_table(o, "samples", COLUMNS(columns), false);
    for (size_t i = 0; i < p->count; i++) {
        uint64_t count = error != NULL ? sample_counter(p->sample[i], error) : 0;
        out_row(o);
        say_sample_time(o, p->sample[i]);
        out_sample_keys(o, "", p->sample[i]);
        if (error != NULL)
            out_number(o, NULL, label, count > 0 ? OUT_WARN : OUT_DIM, count);
        else
            say_value(o, label, OUT_PLAIN, p->sample[i], counters[value].value);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_charts(struct out *o, const struct port_samples *p)
{
    static const struct {
        const char *label;
        enum sample_value value;
        bool always;
    } charts[] = {{"Sent", SAMPLE_SENT, true},
                  {"Received", SAMPLE_RECEIVED, true},
                  {"Wait", SAMPLE_WAIT, false},
                  {"Errors", SAMPLE_ERRORS, false},
                  {"Down", SAMPLE_DOWN, false}};
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++)
        if (charts[i].always || has_any(p, charts[i].value))
            say_chart(o, charts[i].label, p, charts[i].value);
}

static void say_history(struct session *s, const struct port_samples *p, size_t value,
                        const char *error)
{
    struct out *o = s->out;
    const Fabric__V1__GetPortHistoryResponse *first = p->page[0];
    bool one = error != NULL || value < COUNTER_COUNT;
    out_record(o, NULL);
    out_port_keys(o, "", first->port);
    out_port_keys(o, "peer_", first->peer);
    out_port(o, "Port", first->port);
    out_port(o, "Peer", first->peer);
    if (p->count > 0 && value < COUNTER_COUNT)
        say_chart(o, counters[value].name, p, counters[value].value);
    else if (p->count > 0 && !one)
        say_charts(o, p);
    if (one) {
        say_counter(o, p, value, error);
    } else {
        out_table(o, "samples", COLUMNS(history_columns), false);
        for (size_t i = 0; i < p->count; i++)
            say_history_row(o, p->sample[i]);
        out_table_end(o);
    }
    if (p->count == 0)
        say_none(s);
    out_record_end(o);
}

static int draw_history(const struct port_samples *p, size_t value, const char *error)
{
    char name[SHOW_LEN];
    show_port(p->page[0]->port, name);
    return plot_samples(
        &(struct plot_port){.samples = {p},
                            .name = {name},
                            .value = value < COUNTER_COUNT ? counters[value].value : SAMPLE_VALUES,
                            .counter = error});
}

static int port_history(struct session *s)
{
    struct port_samples p = {0};
    const char *error;
    char *node;
    size_t value;
    uint32_t port;
    int rc = parse_counter(s->counter, &value, &error);
    if (rc == EXIT_OK)
        rc = parse_port(s, &node, &port);
    if (rc == EXIT_OK)
        rc = fetch_samples(s, node, port, &p);
    if (rc == EXIT_OK && s->out_format == OUT_SVG)
        rc = draw_history(&p, value, error);
    else if (rc == EXIT_OK)
        say_history(s, &p, value, error);
    free_samples(&p);
    return rc;
}

/* ---- link history ---------------------------------------------------------------------------- */

static const struct out_column link_columns[] = {
    {"time", "UNTIL", false}, {"seconds", "FOR", true}, {NULL, "A SENT", true},
    {NULL, "B GOT", true},    {NULL, "B SENT", true},   {NULL, "A GOT", true},
    {NULL, "A WAIT", true},   {NULL, "B WAIT", true},   {NULL, "A ERRORS", true},
    {NULL, "B ERRORS", true}, {NULL, "A FLAPS", true},  {NULL, "B FLAPS", true},
    {NULL, "DOWN", true},
};

/* Returns true if port `b` received much more or much less data than port `a` sent. The criterion
 * is that of the event link-asymmetric. */
static bool differs(const Fabric__V1__PortSample *a, const Fabric__V1__PortSample *b)
{
    return a != NULL && b != NULL && a->sent_known && b->received_known &&
           fab_counters_differ(a->sent_bytes_per_second, b->received_bytes_per_second);
}

static void say_link_row(struct out *o, const Fabric__V1__PortSample *a,
                         const Fabric__V1__PortSample *b)
{
    const Fabric__V1__PortSample *any = a != NULL ? a : b;
    enum out_tone there = differs(a, b) ? OUT_WARN : OUT_PLAIN;
    enum out_tone back = differs(b, a) ? OUT_WARN : OUT_PLAIN;
    uint64_t down = a != NULL ? a->down_seconds : 0;
    if (b != NULL && b->down_seconds > down)
        down = b->down_seconds;
    out_row(o);
    say_sample_time(o, any);
    out_sample_keys(o, "a_", a);
    out_sample_keys(o, "b_", b);
    out_bool(o, "asymmetric", NULL, OUT_PLAIN, there == OUT_WARN || back == OUT_WARN);
    say_value(o, "A SENT", there, a, SAMPLE_SENT);
    say_value(o, "B GOT", there, b, SAMPLE_RECEIVED);
    say_value(o, "B SENT", back, b, SAMPLE_SENT);
    say_value(o, "A GOT", back, a, SAMPLE_RECEIVED);
    say_value(o, "A WAIT", OUT_PLAIN, a, SAMPLE_WAIT);
    say_value(o, "B WAIT", OUT_PLAIN, b, SAMPLE_WAIT);
    say_value(o, "A ERRORS", OUT_WARN, a, SAMPLE_ERRORS);
    say_value(o, "B ERRORS", OUT_WARN, b, SAMPLE_ERRORS);
    say_value(o, "A FLAPS", OUT_WARN, a, SAMPLE_FLAPS);
    say_value(o, "B FLAPS", OUT_WARN, b, SAMPLE_FLAPS);
    out_textf(o, "DOWN", down > 0 ? OUT_BAD : OUT_DIM, "%" PRIu64 " s", down);
    out_row_end(o);
}

static int64_t time_of(const struct port_samples *p, size_t i)
{
    return i < p->count && p->sample[i]->time != NULL ? p->sample[i]->time->seconds : INT64_MAX;
}

/* Prints the samples of both ends of the link in chronological order. Samples of the two ends that
 * have the same time share a row. */
static void say_both(struct out *o, const struct port_samples *a, const struct port_samples *b)
{
    size_t i = 0, k = 0;
    out_table(o, "samples", COLUMNS(link_columns), false);
    while (i < a->count || k < b->count) {
        int64_t x = time_of(a, i), y = time_of(b, k);
        if (x == INT64_MAX && y == INT64_MAX)
            break;
        say_link_row(o, x <= y ? a->sample[i] : NULL, y <= x ? b->sample[k] : NULL);
        i += x <= y;
        k += y <= x;
    }
    out_table_end(o);
}

static void say_end_sums(struct out *o, const char *label, const struct port_samples *p)
{
    uint64_t errors = sum_of(p, SAMPLE_ERRORS), flaps = sum_of(p, SAMPLE_FLAPS);
    uint64_t down = sum_of(p, SAMPLE_DOWN);
    char name[SHOW_LEN];
    show_port(p->page_count > 0 ? p->page[0]->port : NULL, name);
    out_textf(o, label, OUT_PLAIN,
              "%s: %" PRIu64 " error%s, %" PRIu64 " flap%s, down for %" PRIu64 " s", name, errors,
              fab_base_plural_s(errors), flaps, fab_base_plural_s(flaps), down);
}

static void say_link(struct session *s, const struct port_samples *a, const struct port_samples *b)
{
    struct out *o = s->out;
    out_record(o, NULL);
    out_port_keys(o, "a_", a->page[0]->port);
    out_port_keys(o, "b_", a->page[0]->peer);
    say_end_sums(o, "A", a);
    if (b->page_count > 0)
        say_end_sums(o, "B", b);
    if (a->count > 0) {
        say_chart(o, "A sent", a, SAMPLE_SENT);
        say_chart(o, "A got", a, SAMPLE_RECEIVED);
        if (has_any(a, SAMPLE_WAIT))
            say_chart(o, "A wait", a, SAMPLE_WAIT);
    }
    if (b->count > 0 && has_any(b, SAMPLE_WAIT))
        say_chart(o, "B wait", b, SAMPLE_WAIT);
    say_both(o, a, b);
    if (a->count == 0 && b->count == 0)
        say_none(s);
    else if (b->page_count == 0)
        out_note(o, OUT_DIM, "The port has no link now, so only this end is shown.");
    out_record_end(o);
}

/* Draws both ports of the link or, if there is no link now, only the first port. */
static int draw_link(const struct port_samples *a, const struct port_samples *b)
{
    char name[2][SHOW_LEN];
    bool both = b->page_count > 0;
    show_port(a->page[0]->port, name[0]);
    show_port(a->page[0]->peer, name[1]);
    return plot_samples(&(struct plot_port){.samples = {a, both ? b : NULL},
                                            .name = {name[0], both ? name[1] : NULL},
                                            .value = SAMPLE_VALUES});
}

static int link_history(struct session *s)
{
    struct port_samples a = {0}, b = {0};
    char *node;
    uint32_t port;
    int rc = parse_port(s, &node, &port);
    if (rc == EXIT_OK)
        rc = fetch_samples(s, node, port, &a);
    const Fabric__V1__PortRef *peer = rc == EXIT_OK ? a.page[0]->peer : NULL;
    if (peer != NULL)
        rc = fetch_samples(s, peer->node_guid, peer->port_number, &b);
    if (rc == EXIT_OK && s->out_format == OUT_SVG)
        rc = draw_link(&a, &b);
    else if (rc == EXIT_OK)
        say_link(s, &a, &b);
    free_samples(&a);
    free_samples(&b);
    return rc;
}

const struct cmd cmd_port_top = {
    .noun = "port",
    .verb = "top",
    .args = "[--by WHAT] [--since TIME] [-n COUNT]",
    .summary = "the ports with the most data, packets, waits or errors",
    .options = "bin",
    .method = "fabric.v1.FabricService/ListTopPorts",
    .is_list = true,
    .json = "total:u32 ports:[ =port =port(peer_) =sample ]",
    .run = top,
};
const struct cmd cmd_port_history = {
    .noun = "port",
    .verb = "history",
    .args = "NODE/PORT [--counter COUNTER] [--since TIME] [--until TIME] [-n COUNT]",
    .summary = "traffic, waits and errors of a port over time",
    .min_args = 1,
    .max_args = 1,
    .options = "ciun",
    .method = "fabric.v1.FabricService/GetPortHistory",
    .picture = true,
    .json = "=port =port(peer_) samples:[ time:time seconds:u32 =sample ]",
    .run = port_history,
};
const struct cmd cmd_link_history = {
    .noun = "link",
    .verb = "history",
    .args = "NODE/PORT [--since TIME] [--until TIME] [-n COUNT]",
    .summary = "both ends of a link over time, side by side",
    .min_args = 1,
    .max_args = 1,
    .options = "iun",
    .method = "fabric.v1.FabricService/GetPortHistory",
    .picture = true,
    .json = "=link samples:[ time:time seconds:u32 =sample(a_) =sample(b_) asymmetric:bool ]",
    .run = link_history,
};
