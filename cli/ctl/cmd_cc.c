/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl cc status` and `cc show`, which print the state and the settings of
 * congestion control. cmd_congested.c has the commands `cc congested` and `cc log`, and
 * cmd_cc_export.c has `cc export`.
 */
#include <stdio.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/cmd_cc.h"
#include "cli/ctl/show.h"
#include "fabric/v1/congestion.pb-c.h"
#include "libfabmgr/congestion/congestion.h"

/* ---- status ---------------------------------------------------------------------------------- */

static void say_device(struct out *o, const Fabric__V1__CongestionDevice *d)
{
    out_row(o);
    out_port_keys(o, "", d->port);
    out_port(o, "DEVICE", d->port);
    out_text(o, "state", "STATE", OUT_WARN, d->state);
    out_bool(o, "unresponsive", NULL, OUT_PLAIN, d->unresponsive);
    out_text(o, NULL, "BECAUSE", OUT_PLAIN, d->unresponsive ? "no answer" : "refused");
    out_fields(o, &d->base, "tries", "TRIES", "given_up", "GIVEN UP", NULL);
    out_row_end(o);
}

static void say_counts(struct out *o, const Fabric__V1__GetCongestionResponse *r)
{
    bool bad = r->foreign_key > 0 || r->failed > 0;
    out_keys(o, &r->base,
             "programmed pending unsupported foreign_key failed reads writes log_reads log_events "
             "without_log");
    if (!r->apply)
        return;
    out_textf(o, "Devices", bad ? OUT_WARN : OUT_PLAIN,
              "%u programmed, %u pending, %u unsupported, %u with a foreign CC_Key, %u failed",
              r->programmed, r->pending, r->unsupported, r->foreign_key, r->failed);
    out_textf(o, "Requests", OUT_PLAIN, "%llu reads, %llu writes", (unsigned long long)r->reads,
              (unsigned long long)r->writes);
    out_textf(o, "Logs", OUT_PLAIN, "%llu reads, %llu events; %u devices have no log",
              (unsigned long long)r->log_reads, (unsigned long long)r->log_events, r->without_log);
}

static void say_status(struct out *o, const Fabric__V1__GetCongestionResponse *r)
{
    static const struct out_column columns[] = {{"device", "DEVICE", false},
                                                {"state", "STATE", false},
                                                {"because", "BECAUSE", false},
                                                {"tries", "TRIES", true},
                                                {"given_up", "GIVEN UP", false}};
    out_record(o, NULL);
    out_fields(o, &r->base, "profile", "Profile", "apply", NULL, NULL);
    out_text(o, NULL, "Applied", OUT_PLAIN,
             r->apply ? "yes" : "no: only computed (congestion.apply is off)");
    out_fields(o, &r->base, "generation", NULL, "fan_in", "Fan-in", "settings", NULL, NULL);
    out_millis(o, "compute_ms", NULL, OUT_PLAIN, microseconds_of(r->compute_time));
    out_textf(o, "Settings", OUT_PLAIN, "%u distinct, computed in %.1f ms", r->settings,
              (double)microseconds_of(r->compute_time) / 1000);
    say_counts(o, r);
    if (r->n_not_programmed > 0) {
        out_table(o, "not_programmed", columns, sizeof columns / sizeof *columns, false);
        for (size_t i = 0; i < r->n_not_programmed; i++)
            say_device(o, r->not_programmed[i]);
        out_table_end(o);
    }
    say_advice(o, r->advice, r->n_advice);
    out_record_end(o);
}

static int status(struct session *s)
{
    Fabric__V1__GetCongestionRequest q = FABRIC__V1__GET_CONGESTION_REQUEST__INIT;
    Fabric__V1__GetCongestionResponse *r = NULL;
    int rc = ask(s, "GetCongestion", &q.base, &fabric__v1__get_congestion_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_status(s->out, r);
    free_reply(r);
    return rc;
}

/* ---- a port ---------------------------------------------------------------------------------- */

static void say_values(struct out *o, const char *key, Fabric__V1__CongestionValue **values,
                       size_t count, bool why)
{
    static const struct out_column columns[] = {
        {"name", "VALUE", false}, {"value", "IS", true}, {"reason", "BECAUSE", false}};
    if (count == 0)
        return;
    out_table(o, key, columns, why ? 3 : 2, false);
    for (size_t i = 0; i < count; i++) {
        out_row(o);
        out_text(o, "name", "VALUE", OUT_PLAIN, values[i]->name);
        out_number(o, "value", "IS", OUT_PLAIN, values[i]->value);
        if (why)
            out_text(o, "reason", "BECAUSE", OUT_PLAIN, values[i]->reason);
        out_row_end(o);
    }
    out_table_end(o);
}

/* Prints the congestion control table of an adapter: for each index, the rate of a sender in
 * percent of the rate of its link. */
static void say_table(struct out *o, const Fabric__V1__GetPortCongestionResponse *r)
{
    static const struct out_column columns[] = {
        {"index", "INDEX", true}, {"entry", "ENTRY", false}, {"rate", "RATE %", true}};
    if (r->n_table == 0)
        return;
    out_table(o, "table", columns, sizeof columns / sizeof *columns, false);
    for (size_t i = 0; i < r->n_table; i++) {
        uint16_t entry = (uint16_t)r->table[i];
        char text[16];
        snprintf(text, sizeof text, "0x%04x", entry);
        out_row(o);
        out_number(o, "index", "INDEX", OUT_PLAIN, i);
        out_number(o, "entry", NULL, OUT_PLAIN, entry);
        out_text(o, NULL, "ENTRY", OUT_PLAIN, text);
        out_real(o, "rate_percent", "RATE %", OUT_PLAIN,
                 100 / (1 + fab_congestion_delay(entry) / 8.0), 3);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_port(struct session *s, const Fabric__V1__GetPortCongestionResponse *r)
{
    struct out *o = s->out;
    char port[SHOW_LEN];
    show_port(r->port, port);
    out_record(o, NULL);
    out_port_keys(o, "", r->port);
    out_text(o, NULL, "Port", OUT_PLAIN, port);
    out_text(o, "profile", "Profile", OUT_PLAIN, r->profile);
    out_text(o, "state", r->state[0] != '\0' ? "Device" : NULL, OUT_PLAIN, r->state);
    if (r->state[0] == '\0')
        out_textf(o, "Device", OUT_DIM, "not programmed: congestion.apply is off");
    if (r->n_values == 0)
        out_note(o, OUT_PLAIN,
                 "No settings: this is port 0 of a switch, or has no link, or the profile is off.");
    say_values(o, "values", r->values, r->n_values, s->explain);
    if (s->explain || s->out_format != OUT_TEXT) {
        say_values(o, "inputs", r->inputs, r->n_inputs, false);
        say_table(o, r);
    }
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetPortCongestionRequest q = FABRIC__V1__GET_PORT_CONGESTION_REQUEST__INIT;
    Fabric__V1__GetPortCongestionResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    if (rc != EXIT_OK)
        return rc;
    q.service_level = s->sl;
    rc = ask(s, "GetPortCongestion", &q.base, &fabric__v1__get_port_congestion_response__descriptor,
             &r);
    if (rc == EXIT_OK)
        say_port(s, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_cc_status = {
    .noun = "cc",
    .verb = "status",
    .summary = "state of congestion control, and devices that it could not program",
    .method = "fabric.v1.FabricService/GetCongestion",
    .json = "@GetCongestionResponse(profile apply generation fan_in settings) "
            "compute_ms:amount @GetCongestionResponse(programmed pending unsupported "
            "foreign_key failed reads writes log_reads log_events without_log) "
            "not_programmed?:[ =port state:text unresponsive:bool @CongestionDevice(tries "
            "given_up) ] advice:[ advice:text ]",
    .run = status,
};
const struct cmd cmd_cc_show = {
    .noun = "cc",
    .verb = "show",
    .args = "NODE/PORT [--explain] [--sl N]",
    .summary = "congestion settings of a port; with --explain also their reasons",
    .min_args = 1,
    .max_args = 1,
    .options = "ES",
    .method = "fabric.v1.FabricService/GetPortCongestion",
    .json = "=port profile:text state:text values?:[ name:text value:u64 reason?:text ] "
            "inputs?:[ name:text value:u64 ] table?:[ index:u32 entry:u16 "
            "rate_percent:percent ]",
    .run = show,
};
