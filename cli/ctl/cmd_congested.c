/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl cc congested` and `cc log`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/cmd_cc.h"
#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"
#include "fabric/v1/congestion.pb-c.h"

void say_advice(struct out *o, char **advice, size_t count)
{
    static const struct out_column columns[] = {{"advice", "ADVICE", false}};
    out_table(o, "advice", columns, 1, false);
    for (size_t i = 0; i < count; i++) {
        out_row(o);
        out_text(o, "advice", "ADVICE", OUT_WARN, advice[i]);
        out_row_end(o);
    }
    out_table_end(o);
}

/* ---- congested ports ------------------------------------------------------------------------- */

static const struct out_column congested_columns[] = {
    {"port", "PORT", false},    {"kind", "KIND", false},      {"waits", "CREDIT WAIT %", true},
    {"mbps", "MBPS", true},     {"fecn", "FECN", true},       {"becn", "BECN", true},
    {"events", "EVENTS", true}, {"senders", "SENDERS", true},
};

static void say_congested(struct out *o, const Fabric__V1__CongestedPort *h)
{
    out_row(o);
    out_port_keys(o, "", h->port);
    out_port(o, "PORT", h->port);
    out_text(o, "kind", "KIND", OUT_PLAIN, h->kind);
    out_real(o, "credit_wait_percent", "CREDIT WAIT %", OUT_PLAIN, h->credit_wait_permille / 10.0,
             1);
    out_fields(o, &h->base, "mbps", "MBPS", "fecn", "FECN", "becn", "BECN", "events", "EVENTS",
               "senders", "SENDERS", NULL);
    out_millis(o, "interval_ms", NULL, OUT_PLAIN, microseconds_of(h->interval));
    out_row_end(o);
}

static void say_congested_ports(struct session *s, const Fabric__V1__ListCongestedPortsResponse *r)
{
    out_record(s->out, NULL);
    out_number(s->out, "total", NULL, OUT_PLAIN, r->total);
    out_table(s->out, "ports", congested_columns,
              sizeof congested_columns / sizeof *congested_columns, false);
    for (size_t i = 0; i < r->n_ports; i++)
        say_congested(s->out, r->ports[i]);
    out_table_end(s->out);
    if (r->total == 0)
        out_note(s->out, OUT_DIM, "No port is congested.");
    if (r->n_ports < r->total)
        out_note(s->out, OUT_DIM, "and %zu more", r->total - r->n_ports);
    say_advice(s->out, r->advice, r->n_advice);
    out_record_end(s->out);
}

static int congested(struct session *s)
{
    Fabric__V1__ListCongestedPortsRequest q = FABRIC__V1__LIST_CONGESTED_PORTS_REQUEST__INIT;
    Fabric__V1__ListCongestedPortsResponse *r = NULL;
    q.count = s->count;
    int rc = ask(s, "ListCongestedPorts", &q.base,
                 &fabric__v1__list_congested_ports_response__descriptor, &r);
    if (rc == EXIT_OK && s->out_format == OUT_SVG)
        rc = plot_congested(r);
    else if (rc == EXIT_OK)
        say_congested_ports(s, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_cc_congested = {
    .noun = "cc",
    .verb = "congested",
    .args = "[-n COUNT]",
    .summary = "ports with congestion, and throttled senders",
    .options = "n",
    .method = "fabric.v1.FabricService/ListCongestedPorts",
    .is_list = true,
    .picture = true,
    .json = "total:u32 ports:[ =port kind:text credit_wait_percent:percent "
            "@CongestedPort(mbps fecn becn events senders) interval_ms:amount ] advice:[ "
            "advice:text ]",
    .run = congested,
};

/* ---- logs ------------------------------------------------------------------------------------ */

/* Writes numbers separated by spaces, such as "1 3 12". Numbers that do not fit are left out. */
static void show_numbers(const uint32_t *numbers, size_t count, char *text, size_t len)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && at + 12 < len; i++)
        at += (size_t)snprintf(text + at, len - at, "%s%u", i > 0 ? " " : "", numbers[i]);
}

static void say_log(struct out *o, const Fabric__V1__CongestionLog *l)
{
    char read[SHOW_LEN], marked[1024], sls[64];
    show_time(l->read_time, read);
    show_numbers(l->marked_ports, l->n_marked_ports, marked, sizeof marked);
    show_numbers(l->service_levels, l->n_service_levels, sls, sizeof sls);
    out_row(o);
    out_port_keys(o, "", l->port);
    out_port(o, "DEVICE", l->port);
    out_number(o, "events", "EVENTS", OUT_PLAIN, l->events);
    out_text(o, "marked_ports", "MARKED PORTS", OUT_PLAIN, marked);
    out_text(o, "service_levels", "SLS", OUT_PLAIN, sls);
    out_time_utc(o, "read_time", l->read_time);
    out_text(o, NULL, "READ", l->no_log ? OUT_DIM : OUT_PLAIN, l->no_log ? "no log" : read);
    out_bool(o, "no_log", NULL, OUT_PLAIN, l->no_log);
    out_row_end(o);
}

static void say_end(struct out *o, const char *key, const char *label, uint32_t lid,
                    const Fabric__V1__PortRef *port)
{
    char name[SHOW_LEN];
    show_port(port, name);
    if (port == NULL)
        snprintf(name, sizeof name, "LID %u", lid);
    out_text(o, key, label, OUT_PLAIN, name);
}

static void say_entry(struct out *o, const Fabric__V1__CongestionLog *l,
                      const Fabric__V1__CongestionLogEntry *e)
{
    char port[SHOW_LEN], qp[SHOW_LEN] = "";
    show_port(l->port, port);
    if (e->local_qp > 0)
        snprintf(qp, sizeof qp, "0x%x", e->local_qp);
    out_row(o);
    out_time_utc(o, "time", e->time);
    out_time(o, "TIME", e->time);
    out_text(o, "device", "DEVICE", OUT_PLAIN, port);
    out_number(o, "sl", "SL", OUT_PLAIN, e->service_level);
    say_end(o, "from", "FROM", e->slid, e->from);
    say_end(o, "to", "TO", e->dlid, e->to);
    out_keys(o, &e->base, "slid dlid");
    out_text(o, NULL, "QP", OUT_PLAIN, qp);
    out_keys(o, &e->base, "local_qp remote_qp service");
    out_row_end(o);
}

static void say_logs(struct out *o, const Fabric__V1__ListCongestionLogsResponse *r)
{
    static const struct out_column devices[] = {{"device", "DEVICE", false},
                                                {"events", "EVENTS", true},
                                                {"marked_ports", "MARKED PORTS", false},
                                                {"service_levels", "SLS", false},
                                                {"read", "READ", false}};
    static const struct out_column entries[] = {
        {"time", "TIME", false}, {"device", "DEVICE", false}, {"sl", "SL", true},
        {"from", "FROM", false}, {"to", "TO", false},         {"qp", "QP", true}};
    out_record(o, NULL);
    out_number(o, "total", NULL, OUT_PLAIN, r->total);
    out_table(o, "logs", devices, sizeof devices / sizeof *devices, false);
    for (size_t i = 0; i < r->n_logs; i++)
        say_log(o, r->logs[i]);
    out_table_end(o);
    if (r->total == 0)
        out_note(o, OUT_DIM, "No device has logged congestion.");
    if (r->n_logs < r->total)
        out_note(o, OUT_DIM, "and %zu more", r->total - r->n_logs);
    out_table(o, "entries", entries, sizeof entries / sizeof *entries, false);
    for (size_t i = 0; i < r->n_logs; i++)
        for (size_t k = 0; k < r->logs[i]->n_entries; k++)
            say_entry(o, r->logs[i], r->logs[i]->entries[k]);
    out_table_end(o);
    out_record_end(o);
}

static int logs(struct session *s)
{
    Fabric__V1__ListCongestionLogsRequest q = FABRIC__V1__LIST_CONGESTION_LOGS_REQUEST__INIT;
    Fabric__V1__ListCongestionLogsResponse *r = NULL;
    if (s->argc > 0)
        q.node = s->argv[0];
    int rc = ask(s, "ListCongestionLogs", &q.base,
                 &fabric__v1__list_congestion_logs_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_logs(s->out, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_cc_log = {
    .noun = "cc",
    .verb = "log",
    .args = "[NODE]",
    .summary = "congestion logs: ports that marked packets, senders that were throttled",
    .max_args = 1,
    .takes_hosts = true,
    .method = "fabric.v1.FabricService/ListCongestionLogs",
    .json = "total:u32 logs:[ =port events:u32 marked_ports:text service_levels:text "
            "read_time:time no_log:bool ] entries:[ time:time device:text sl:lane from:text "
            "to:text @CongestionLogEntry(slid dlid local_qp remote_qp service) ]",
    .run = logs,
};
