/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl reroute`, `reroute list`, `reroute show` and `route rebalance`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "fabric/v1/reroute.pb-c.h"
#include "fabric/v1/route.pb-c.h"
#include "libfabmgr/base/plural.h"

#define COUNT_DEFAULT 50

/* ---- the request ----------------------------------------------------------------------------- */

static int reroute(struct session *s)
{
    Fabric__V1__RerouteRequest q = FABRIC__V1__REROUTE_REQUEST__INIT;
    Fabric__V1__RerouteResponse *r = NULL;
    q.dry_run = s->dry_run;
    int rc = ask(s, "Reroute", &q.base, &fabric__v1__reroute_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int rebalance(struct session *s)
{
    Fabric__V1__RebalanceRequest q = FABRIC__V1__REBALANCE_REQUEST__INIT;
    Fabric__V1__RebalanceResponse *r = NULL;
    q.dry_run = s->dry_run;
    int rc = ask(s, "Rebalance", &q.base, &fabric__v1__rebalance_response__descriptor, &r);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_text(s->out, "message", "Rebalance", OUT_PLAIN, r->message);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

/* ---- the history of reroutes ----------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"generation", "ID", true},       {"time", "TIME", false},
    {"last_write_ms", "TOOK", true},  {"blocks", "BLOCKS", true},
    {"switches", "SWITCHES", true},   {"links_lost", "LOST", true},
    {"links_gained", "GAINED", true}, {"cause", "CAUSE", false},
};

static void say_millis(struct out *o, const char *key, const Google__Protobuf__Duration *d)
{
    if (d != NULL)
        out_millis(o, key, NULL, OUT_PLAIN, microseconds_of(d));
    else
        out_none(o, key, NULL);
}

/* Writes those values of a reroute that appear only in JSON output. */
static void say_keys(struct out *o, const Fabric__V1__Reroute *r)
{
    out_time_utc(o, "time", r->time);
    say_millis(o, "discovered_ms", r->discovered);
    say_millis(o, "computed_ms", r->computed);
    say_millis(o, "verified_ms", r->verified);
    say_millis(o, "first_write_ms", r->first_write);
    say_millis(o, "last_write_ms", r->last_write);
    say_millis(o, "paused_ms", r->paused);
    out_keys(o, &r->base, "engine entries failed nodes_lost nodes_gained paused_pairs");
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Reroute *r = item;
    char took[SHOW_LEN] = "-";
    if (r->last_write != NULL)
        show_duration(microseconds_of(r->last_write), took);
    out_row(o);
    out_number(o, "generation", "ID", OUT_PLAIN, r->generation);
    out_time(o, "TIME", r->time);
    out_text(o, NULL, "TOOK", OUT_PLAIN, took);
    out_fields(o, &r->base, "blocks", "BLOCKS", "switches", "SWITCHES", "links_lost", "LOST",
               "links_gained", "GAINED", "cause", "CAUSE", NULL);
    say_keys(o, r);
    out_row_end(o);
}

static int list(struct session *s)
{
    struct list reroutes = {
        .method = "ListReroutes",
        .reply = &fabric__v1__list_reroutes_response__descriptor,
        .items = "reroutes",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "No reroute is recorded yet.",
        .count = s->since != NULL && s->count == 0 ? 0 : COUNT_DEFAULT,
    };
    Fabric__V1__ListReroutesRequest q = FABRIC__V1__LIST_REROUTES_REQUEST__INIT;
    Google__Protobuf__Timestamp room, *since = NULL;
    int rc = when_option("--since", s->since, &room, &since);
    reroutes.since = since;
    return rc == EXIT_OK ? say_list(s, &reroutes, &q.base) : rc;
}

static void say_step(struct out *o, const char *label, const Google__Protobuf__Duration *d)
{
    char text[SHOW_LEN] = "-";
    if (d != NULL)
        show_duration(microseconds_of(d), text);
    out_text(o, NULL, label, OUT_PLAIN, text);
}

static void say_paused(struct out *o, const Fabric__V1__Reroute *r)
{
    char took[SHOW_LEN] = "less than 1 us";
    if (r->paused != NULL)
        show_duration(microseconds_of(r->paused), took);
    out_textf(o, "Paused", OUT_WARN, "%" PRIu64 " pair%s of endports may have had no path for %s",
              r->paused_pairs, fab_base_plural_s(r->paused_pairs), took);
}

static void say(struct out *o, const Fabric__V1__Reroute *r)
{
    char when[SHOW_LEN];
    show_time(r->time, when);
    out_record(o, NULL);
    out_fields(o, &r->base, "generation", "Generation", "cause", "Cause", NULL);
    out_textf(o, "Began", OUT_PLAIN, "%s; the times below are counted from here", when);
    say_step(o, "Discovered", r->discovered);
    say_step(o, "Computed", r->computed);
    say_step(o, "Verified", r->verified);
    say_step(o, "First write", r->first_write);
    say_step(o, "Last write", r->last_write);
    out_textf(o, "Written", r->failed > 0 ? OUT_WARN : OUT_PLAIN,
              "%u entr%s in %u block%s on %u switch%s; %u write%s failed", r->entries,
              fab_base_plural(r->entries, "y", "ies"), r->blocks, fab_base_plural_s(r->blocks),
              r->switches, fab_base_plural_es(r->switches), r->failed,
              fab_base_plural_s(r->failed));
    if (r->paused_pairs > 0)
        say_paused(o, r);
    out_textf(o, "Links", OUT_PLAIN, "%u lost, %u gained", r->links_lost, r->links_gained);
    out_textf(o, "Nodes", OUT_PLAIN, "%u lost, %u gained", r->nodes_lost, r->nodes_gained);
    out_text(o, NULL, "Engine", OUT_PLAIN, r->engine);
    say_keys(o, r);
    out_keys(o, &r->base, "blocks switches links_lost links_gained");
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetRerouteRequest q = FABRIC__V1__GET_REROUTE_REQUEST__INIT;
    Fabric__V1__GetRerouteResponse *r = NULL;
    char *end;
    q.generation = strtoull(s->argv[0], &end, 10);
    if (s->argv[0][0] < '0' || s->argv[0][0] > '9' || *end != '\0')
        return complain(EXIT_USAGE, "\"%s\" is not the ID of a reroute; a number is expected",
                        s->argv[0]);
    int rc = ask(s, "GetReroute", &q.base, &fabric__v1__get_reroute_response__descriptor, &r);
    if (rc == EXIT_OK && r->reroute != NULL)
        say(s->out, r->reroute);
    free_reply(r);
    return rc;
}

const struct cmd cmd_reroute = {
    .noun = "reroute",
    .args = "[--dry-run] [--reason TEXT]",
    .summary = "compute, verify and program new tables for the known fabric",
    .slow = true,
    .method = "fabric.v1.FabricService/Reroute",
    .options = "rD",
    .json = "message:text",
    .run = reroute,
};
const struct cmd cmd_route_rebalance = {
    .noun = "route",
    .verb = "rebalance",
    .args = "[--dry-run] [--reason TEXT]",
    .summary = "compute new tables, and program them if they spread traffic better",
    .slow = true,
    .method = "fabric.v1.FabricService/Rebalance",
    .options = "rD",
    .json = "message:text",
    .run = rebalance,
};
const struct cmd cmd_reroute_list = {
    .noun = "reroute",
    .verb = "list",
    .args = "[--since TIME] [-n COUNT]",
    .summary = "the newest reroutes (50), newest first",
    .options = "ni",
    .method = "fabric.v1.FabricService/ListReroutes",
    .is_list = true,
    .json = "reroutes:[ =reroute ]",
    .run = list,
};
const struct cmd cmd_reroute_show = {
    .noun = "reroute",
    .verb = "show",
    .args = "ID",
    .summary = "one reroute, step by step",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetReroute",
    .json = "=reroute",
    .run = show,
};
