/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl route quality` and `route compare`.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/job.h"
#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"
#include "cli/ctl/show_quality.h"
#include "fabric/v1/quality.pb-c.h"

/* ---- quality --------------------------------------------------------------------------------- */

static int say_quality(struct out *o, const Fabric__V1__GetQualityResponse *r)
{
    char took[SHOW_LEN];
    show_duration(microseconds_of(r->time), took);
    out_record(o, NULL);
    out_textf(o, "Routing", OUT_PLAIN, "%s, generation %" PRIu64 "; measured in %s", r->engine,
              r->generation, took);
    out_keys(o, &r->base, "engine generation");
    out_millis(o, "time_ms", NULL, OUT_PLAIN, microseconds_of(r->time));
    out_quality(o, r->quality);
    out_record_end(o);
    return r->quality->unreachable_pairs > 0 ? EXIT_UNSOUND : EXIT_OK;
}

static int quality(struct session *s)
{
    Fabric__V1__QualityOptions options;
    Fabric__V1__GetQualityRequest q = FABRIC__V1__GET_QUALITY_REQUEST__INIT;
    Fabric__V1__GetQualityResponse *r = NULL;
    struct job job;
    int rc = job_options(s, &job, &options);
    q.options = &options;
    if (rc == EXIT_OK)
        rc = ask(s, "GetQuality", &q.base, &fabric__v1__get_quality_response__descriptor, &r);
    if (rc == EXIT_OK && r->quality != NULL && s->out_format == OUT_SVG)
        rc = plot_quality(r);
    else if (rc == EXIT_OK && r->quality != NULL)
        rc = say_quality(s->out, r);
    free_reply(r);
    job_fini(&job);
    return rc;
}

/* ---- compare --------------------------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"engine", "ENGINE", false},
    {"verdict", "VERDICT", false},
    {"route_ms", "ROUTE MS", true},
    {"verify_ms", "PROOF MS", true},
    {"all_to_all", "ALL-TO-ALL", true},
    {"bound", "BOUND", true},
    {"max_over_mean", "MAX/MEAN", true},
    {"unused", "UNUSED", true},
    {"shift", "SHIFT", true},
    {"mean_shift", "MEAN", true},
    {"orders_shift", "ORDERS", true},
    {"shift_bandwidth", "SHIFT BW", true},
    {"random", "RANDOM", true},
    {"permutation_bandwidth", "PERM BW", true},
    {"bisection", "BISECTION", true},
    {"longest_path", "SWITCHES", true},
    {"virtual_lanes", "LANES", true},
};

struct comparing {
    struct out *out;
    bool any_passed;
    /* Notes to print below the table: why engines failed, and which traffic classes would share
     * VLs. */
    char lines[16384];
    /* [plot_count] the values of each engine in the picture */
    struct plot_engine plots[PLOT_ENGINES];
    size_t plot_count;
};

static void say_figures(struct out *o, const Fabric__V1__Quality *q)
{
    const Fabric__V1__AllToAll *all = q->all_to_all;
    if (all == NULL || q->shifts == NULL || q->random_permutations == NULL || q->bisections == NULL)
        return;
    out_number(o, NULL, "ALL-TO-ALL", OUT_PLAIN, all->max);
    out_number(o, NULL, "BOUND", OUT_DIM, all->bound);
    out_real(o, NULL, "MAX/MEAN", OUT_PLAIN, all->max_over_mean, 2);
    out_number(o, NULL, "UNUSED", OUT_PLAIN, all->unused_channels);
    out_number(o, NULL, "SHIFT", OUT_PLAIN, q->shifts->max);
    out_real(o, NULL, "MEAN", OUT_PLAIN, q->shifts->mean, 2);
    out_real(o, NULL, "ORDERS", OUT_PLAIN, q->shift_orders != NULL ? q->shift_orders->max : 0, 1);
    out_real(o, NULL, "SHIFT BW", OUT_PLAIN,
             q->shift_orders != NULL ? q->shift_orders->bandwidth : 0, 3);
    out_number(o, NULL, "RANDOM", OUT_PLAIN, q->random_permutations->median);
    out_real(o, NULL, "PERM BW", OUT_PLAIN, q->random_permutations->bandwidth, 3);
    out_real(o, NULL, "BISECTION", OUT_PLAIN, q->bisections->mean, 3);
}

static void say_none(struct out *o)
{
    for (size_t i = 3; i < sizeof columns / sizeof columns[0]; i++)
        out_none(o, NULL, columns[i].label);
}

static void say_report(struct out *o, const Fabric__V1__EngineReport *r)
{
    char name[SHOW_LEN];
    snprintf(name, sizeof name, "%.60s%s", r->engine, r->active ? " *" : "");
    out_row(o);
    out_text(o, NULL, "ENGINE", OUT_PLAIN, name);
    out_keys(o, &r->base, "engine summary active routed reason");
    out_text(o, "verdict", "VERDICT", r->routed ? tone_verdict(r->verdict) : OUT_DIM,
             r->routed ? show_verdict(r->verdict) : "refuses");
    out_millis(o, "route_ms", "ROUTE MS", OUT_PLAIN, microseconds_of(r->route_time));
    if (r->routed && r->verdict != NULL && r->quality != NULL) {
        out_millis(o, "verify_ms", "PROOF MS", OUT_PLAIN, microseconds_of(r->verify_time));
        say_figures(o, r->quality);
        out_number(o, "longest_path", "SWITCHES", OUT_PLAIN, r->verdict->longest_path);
        out_number(o, "virtual_lanes", "LANES", OUT_PLAIN, r->virtual_lanes);
        out_bool(o, "passed", NULL, OUT_PLAIN, r->verdict->passed);
        out_lines(o, "witness", r->verdict->witness);
        out_class_notes(o, NULL, r);
        out_quality_keys(o, "", r->quality);
    } else {
        say_none(o);
    }
    out_row_end(o);
}

/* Stores the values of an engine for the picture. */
static void note_plot(struct comparing *c, const Fabric__V1__EngineReport *r)
{
    const Fabric__V1__Quality *q = r->routed ? r->quality : NULL;
    if (c->plot_count == PLOT_ENGINES)
        return;
    struct plot_engine *e = &c->plots[c->plot_count++];
    *e = (struct plot_engine){.shifts = FAB_SVG_MISSING,
                              .random = FAB_SVG_MISSING,
                              .bisection = FAB_SVG_MISSING,
                              .all_to_all = FAB_SVG_MISSING,
                              .verdict = r->routed ? show_verdict(r->verdict) : "refuses"};
    snprintf(e->name, sizeof e->name, "%.60s%s", r->engine, r->active ? " *" : "");
    if (q != NULL && q->shifts != NULL)
        e->shifts = q->shifts->bandwidth;
    if (q != NULL && q->random_permutations != NULL)
        e->random = q->random_permutations->bandwidth;
    if (q != NULL && q->bisections != NULL)
        e->bisection = q->bisections->mean;
    if (q != NULL && q->all_to_all != NULL) {
        e->all_to_all = (double)q->all_to_all->max;
        e->bound = (double)q->all_to_all->bound;
    }
}

static void add_line(struct comparing *c, const char *engine, const char *text, bool newline)
{
    size_t len = strlen(c->lines);
    snprintf(c->lines + len, sizeof c->lines - len, "%.60s: %.2000s%s", engine, text,
             newline ? "\n" : "");
}

static bool each_report(void *ctx, const ProtobufCMessage *message)
{
    struct comparing *c = ctx;
    const Fabric__V1__EngineReport *r =
        ((const Fabric__V1__CompareEnginesResponse *)message)->report;
    if (r == NULL)
        return true;
    say_report(c->out, r);
    note_plot(c, r);
    c->any_passed = c->any_passed || (r->verdict != NULL && r->verdict->passed);
    const char *why = !r->routed ? r->reason : r->verdict != NULL ? r->verdict->witness : "";
    if (why[0] != '\0')
        add_line(c, r->engine, why, !r->routed);
    for (size_t i = 0; i < r->n_class_notes; i++)
        add_line(c, r->engine, r->class_notes[i], true);
    return !out_broken(c->out);
}

static int compare(struct session *s)
{
    Fabric__V1__QualityOptions options;
    Fabric__V1__CompareEnginesRequest q = FABRIC__V1__COMPARE_ENGINES_REQUEST__INIT;
    struct comparing c = {.out = s->out};
    struct fab_client_error error = {.code = FAB_GRPC_OK};
    struct job job;
    int rc = job_options(s, &job, &options);
    q.options = &options;
    q.engines = s->argv;
    q.n_engines = (size_t)s->argc;
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_table(s->out, "engines", columns, sizeof columns / sizeof columns[0], false);
        fab_client_stream(s->client, "fabric.v1.FabricService/CompareEngines", &q.base,
                          &fabric__v1__compare_engines_response__descriptor, each_report, &c,
                          &error);
        out_table_end(s->out);
        show_lines(s->out, c.lines);
        out_record_end(s->out);
    }
    if (error.code != FAB_GRPC_OK)
        rc = say_error(&error);
    else if (rc == EXIT_OK && s->out_format == OUT_SVG)
        rc = plot_engines(c.plots, c.plot_count);
    job_fini(&job);
    return rc == EXIT_OK && !c.any_passed ? EXIT_UNSOUND : rc;
}

const struct cmd cmd_route_quality = {
    .noun = "route",
    .verb = "quality",
    .args = "[--hosts LIST | --job FILE] [--samples N] [--seed N]",
    .summary = "how evenly the active tables spread traffic",
    .options = "hjmd",
    .slow = true,
    .method = "fabric.v1.FabricService/GetQuality",
    .picture = true,
    .json = "@GetQualityResponse(engine generation) time_ms:amount =quality hops:[ "
            "switches:u32 pairs:u64 ] worst:[ load:u64 =port(from_) =port(to_) ]",
    .run = quality,
};
const struct cmd cmd_route_compare = {
    .noun = "route",
    .verb = "compare",
    .args = "[ENGINE]... [--hosts LIST | --job FILE] [--samples N] [--seed N]",
    .summary = "the tables that each routing engine would compute",
    .max_args = 64,
    .options = "hjmd",
    .slow = true,
    .method = "fabric.v1.FabricService/CompareEngines",
    .picture = true,
    .json = "engines:[ @EngineReport(engine summary active routed reason) "
            "verdict:'-'|'DEADLOCK'|'UNREACHABLE'|'sound'|'NOT SOUND'|'refuses' "
            "route_ms:amount verify_ms&:amount longest_path&:u32 virtual_lanes&:u8 "
            "passed&:bool witness&:text class_notes&:text =quality? ]",
    .run = compare,
};
