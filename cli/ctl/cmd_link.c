/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl link list`, `link flapping` and `link release`.
 */

#include <stdio.h>
#include <string.h>

#include "cli/ctl/gone.h"
#include "cli/ctl/list.h"
#include "cli/ctl/matched.h"
#include "cli/ctl/show.h"
#include "fabric/v1/link.pb-c.h"

static const struct out_column columns[] = {
    {"a", "FROM", false},
    {"b", "TO", false},
    {"state", "STATE", false},
    {"rate", "RATE", false},
};

/* Writes those values of a link that appear only in JSON output. */
static void say_keys(struct out *o, const Fabric__V1__Link *l)
{
    out_port_keys(o, "a_", l->a);
    out_port_keys(o, "b_", l->b);
    out_text(o, "state", NULL, OUT_PLAIN, show_port_state(l->state));
    out_rate_keys(o, l->rate);
    out_rates_keys(o, "a_", l->a_rates);
    out_rates_keys(o, "b_", l->b_rates);
    out_keys(o, &l->base, "degraded rate_reason");
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Link *l = item;
    char rate[SHOW_LEN];
    out_row(o);
    say_keys(o, l);
    out_port(o, "FROM", l->a);
    out_port(o, "TO", l->b);
    out_text(o, NULL, "STATE", tone_port_state(l->state), show_port_state(l->state));
    show_rate(l->rate, rate);
    if (l->degraded)
        snprintf(rate + strlen(rate), sizeof rate - strlen(rate), ", degraded");
    out_text(o, NULL, "RATE", l->degraded ? OUT_WARN : OUT_PLAIN, rate);
    out_row_end(o);
}

/* ---- degraded links -------------------------------------------------------------------------- */

static const struct out_column degraded_columns[] = {
    {"a", "FROM", false},     {NULL, "SUPPORTED", false}, {NULL, "ENABLED", false},
    {NULL, "ACTIVE", false},  {"b", "TO", false},         {NULL, "SUPPORTED", false},
    {NULL, "ENABLED", false}, {NULL, "ACTIVE", false},    {"rate_reason", "DEGRADED", false},
};

static void say_end_rates(struct out *o, const Fabric__V1__PortRates *r)
{
    static const Fabric__V1__PortRates none = FABRIC__V1__PORT_RATES__INIT;
    char text[SHOW_LEN];
    r = r != NULL ? r : &none;
    show_mode(r->supported, text);
    out_text(o, NULL, "SUPPORTED", OUT_PLAIN, text);
    show_mode(r->enabled, text);
    out_text(o, NULL, "ENABLED", OUT_PLAIN, text);
    show_mode(r->active, text);
    out_text(o, NULL, "ACTIVE", OUT_WARN, text);
}

static void say_degraded(struct out *o, const void *item)
{
    const Fabric__V1__Link *l = item;
    out_row(o);
    say_keys(o, l);
    out_port(o, "FROM", l->a);
    say_end_rates(o, l->a_rates);
    out_port(o, "TO", l->b);
    say_end_rates(o, l->b_rates);
    out_text(o, NULL, "DEGRADED", OUT_PLAIN, l->rate_reason);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list links = {
        .method = "ListLinks",
        .reply = &fabric__v1__list_links_response__descriptor,
        .items = "links",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no links.",
    };
    static const struct list degraded = {
        .method = "ListLinks",
        .reply = &fabric__v1__list_links_response__descriptor,
        .items = "links",
        .columns = degraded_columns,
        .column_count = sizeof degraded_columns / sizeof degraded_columns[0],
        .say_row = say_degraded,
        .none = "All links that are up run at the width and speed that both ports have enabled.",
    };
    Fabric__V1__ListLinksRequest q = FABRIC__V1__LIST_LINKS_REQUEST__INIT;
    if (s->gone && s->degraded)
        return complain(EXIT_USAGE, "--gone and --degraded exclude each other");
    if (s->gone && s->rack != NULL)
        return complain(EXIT_USAGE, "--gone and --rack exclude each other");
    if (s->gone)
        return list_gone_links(s, s->argc > 0 ? s->argv[0] : NULL);
    if (s->argc > 0)
        q.node = s->argv[0];
    q.degraded = s->degraded;
    if (s->rack != NULL)
        q.rack = (char *)(uintptr_t)s->rack;
    return say_list(s, s->degraded ? &degraded : &links, &q.base);
}

const struct cmd cmd_link_list = {
    .noun = "link",
    .verb = "list",
    .args = "[NODE[/PORT]] [--rack RACK] [--degraded | --gone]",
    .summary =
        "links of the fabric, of nodes or a rack; only degraded ones, or those that are gone",
    .max_args = 1,
    .takes_patterns = true,
    .options = "gBX",
    .method = "fabric.v1.FabricService/ListLinks",
    .is_list = true,
    .json = "links:[ =link state:port_state =rate =rates(a_) =rates(b_) @Link(degraded "
            "rate_reason) ] / links:[ =gone_link ]",
    .run = list,
};

/* ---- links that flap ------------------------------------------------------------------------- */

static const struct out_column flapping_columns[] = {
    {"a", "FROM", false},     {"b", "TO", false},           {"state", "STATE", false},
    {"flaps", "FLAPS", true}, {"last", "LAST FLAP", false}, {"release", "STABLE AT", false},
};

static const char *state_of(const Fabric__V1__FlappingLink *l)
{
    return l->held_down ? "held down" : l->flapping ? "flapping" : "watched";
}

static void say_flapping(struct out *o, const Fabric__V1__FlappingLink *l)
{
    const Google__Protobuf__Timestamp *last = l->n_flap_times > 0 ? l->flap_times[0] : NULL;
    out_row(o);
    out_port_keys(o, "a_", l->a);
    out_port_keys(o, "b_", l->b);
    out_port(o, "FROM", l->a);
    out_port(o, "TO", l->b);
    out_text(o, "state", "STATE", l->flapping ? OUT_WARN : OUT_PLAIN, state_of(l));
    out_number(o, "flaps", "FLAPS", OUT_PLAIN, l->flaps);
    out_time(o, "LAST FLAP", last);
    out_time(o, "STABLE AT", l->release_time);
    out_text(o, "up", NULL, OUT_PLAIN, l->up ? "yes" : "no");
    out_number(o, "hold_down_s", NULL, OUT_PLAIN, microseconds_of(l->hold_down) / 1000000);
    out_time_utc(o, "release_time", l->release_time);
    out_time_utc(o, "last_flap", last);
    out_row_end(o);
}

static int flapping(struct session *s)
{
    const Fabric__V1__ListFlappingLinksRequest q = FABRIC__V1__LIST_FLAPPING_LINKS_REQUEST__INIT;
    Fabric__V1__ListFlappingLinksResponse *r = NULL;
    int rc = ask(s, "ListFlappingLinks", &q.base,
                 &fabric__v1__list_flapping_links_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    out_table(s->out, "links", flapping_columns, sizeof flapping_columns / sizeof *flapping_columns,
              false);
    for (size_t i = 0; i < r->n_links; i++)
        if (s->argc == 0 || port_matches(s->argv[0], r->links[i]->a) ||
            port_matches(s->argv[0], r->links[i]->b))
            say_flapping(s->out, r->links[i]);
    out_table_end(s->out);
    if (r->n_links == 0)
        out_note(s->out, OUT_DIM, "No link went down recently.");
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

static int release(struct session *s)
{
    Fabric__V1__ReleaseLinkRequest q = FABRIC__V1__RELEASE_LINK_REQUEST__INIT;
    Fabric__V1__ReleaseLinkResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    q.dry_run = s->dry_run;
    if (rc == EXIT_OK)
        rc = ask(s, "ReleaseLink", &q.base, &fabric__v1__release_link_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_link_flapping = {
    .noun = "link",
    .verb = "flapping",
    .args = "[NODE[/PORT]]",
    .max_args = 1,
    .takes_patterns = true,
    .summary = "links that recently went down, and which of them are held down",
    .method = "fabric.v1.FabricService/ListFlappingLinks",
    .is_list = true,
    .json = "links:[ =link state:'held down'|'flapping'|'watched' flaps:u64 up:yes_no "
            "hold_down_s:u64 release_time:time last_flap:time ]",
    .run = flapping,
};
const struct cmd cmd_link_release = {
    .noun = "link",
    .verb = "release",
    .args = "NODE/PORT [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "return a held-down or isolated link to the routes, and reset its flap count",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/ReleaseLink",
    .options = "rlUD",
    .json = "message:text",
    .run = release,
};
