/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl route whatif`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/job.h"
#include "cli/ctl/show.h"
#include "cli/ctl/show_quality.h"
#include "fabric/v1/quality.pb-c.h"
#include "libfabmgr/base/plural.h"

/* text output names at most this many of the endports that would have no path */
#define NAMED 6

static void say_lost(struct out *o, const Fabric__V1__WhatIfResponse *r)
{
    char names[NAMED * SHOW_LEN] = "", one[SHOW_LEN];
    for (size_t i = 0; i < r->n_lost_endports && i < NAMED; i++) {
        size_t len = strlen(names);
        show_port(r->lost_endports[i]->endport, one);
        snprintf(names + len, sizeof names - len, "%s%s", i > 0 ? ", " : ": ", one);
    }
    bool none = r->lost_switches + r->lost_endport_count == 0;
    if (none)
        out_textf(o, "Lost", OUT_GOOD, "nothing; all endports still reach each other");
    else
        out_textf(o, "Lost", OUT_BAD, "%u switch%s, %u endport%s%s%s", r->lost_switches,
                  fab_base_plural_es(r->lost_switches), r->lost_endport_count,
                  fab_base_plural_s(r->lost_endport_count), names,
                  r->lost_endport_count > NAMED ? ", ..." : "");
    out_keys(o, &r->base, "links lost_switches lost_endport_count");
    out_table(o, "lost_endports", NULL, 0, false);
    for (size_t i = 0; i < r->n_lost_endports; i++) {
        out_row(o);
        out_port_keys(o, "", r->lost_endports[i]->endport);
        out_number(o, "lid", NULL, OUT_PLAIN, r->lost_endports[i]->lid);
        out_row_end(o);
    }
    out_table_end(o);
}

static void say_change(struct out *o, const Fabric__V1__WhatIfResponse *r)
{
    out_textf(o, "Writes", OUT_PLAIN,
              "%" PRIu64 " of %" PRIu64 " blocks on %u switch%s, for %" PRIu64 " entr%s",
              r->blocks_changed, r->blocks, r->switches_changed,
              fab_base_plural_es(r->switches_changed), r->entries_changed,
              fab_base_plural(r->entries_changed, "y", "ies"));
    out_keys(o, &r->base, "blocks_changed blocks switches_changed entries_changed");
}

static void say_engine(struct out *o, const Fabric__V1__EngineReport *e)
{
    char route[SHOW_LEN], verify[SHOW_LEN];
    show_duration(microseconds_of(e->route_time), route);
    show_duration(microseconds_of(e->verify_time), verify);
    if (e->routed)
        out_textf(o, "Engine", OUT_PLAIN, "%s; computed in %s, verified in %s", e->engine, route,
                  verify);
    else
        out_textf(o, "Engine", OUT_BAD, "%s does not support the fabric: %s", e->engine, e->reason);
    if (e->virtual_lanes > 1)
        out_textf(o, "Lanes", OUT_PLAIN, "%u virtual lanes", e->virtual_lanes);
    out_class_notes(o, "Classes", e);
    if (e->routed)
        out_textf(o, "Verdict", tone_verdict(e->verdict), "%s", show_verdict(e->verdict));
    show_lines(o, e->verdict != NULL ? e->verdict->witness : "");
    out_text(o, "engine", NULL, OUT_PLAIN, e->engine);
    out_bool(o, "engine_active", NULL, OUT_PLAIN, e->active);
    out_bool(o, "routed", NULL, OUT_PLAIN, e->routed);
    out_text(o, "reason", e->routed ? "Reason" : NULL, OUT_PLAIN, e->reason);
    out_millis(o, "route_ms", NULL, OUT_PLAIN, microseconds_of(e->route_time));
    out_millis(o, "verify_ms", NULL, OUT_PLAIN, microseconds_of(e->verify_time));
    out_number(o, "virtual_lanes", NULL, OUT_PLAIN, e->virtual_lanes);
    out_bool(o, "passed", NULL, OUT_PLAIN, e->verdict != NULL && e->verdict->passed);
    out_lines(o, "witness", e->verdict != NULL ? e->verdict->witness : "");
}

static void say_pair(struct out *o, const char *name, unsigned decimals, double now, double then,
                     bool more_is_worse)
{
    bool worse = more_is_worse ? then > now : then < now;
    out_row(o);
    out_text(o, NULL, "FIGURE", OUT_PLAIN, name);
    out_real(o, NULL, "NOW", OUT_PLAIN, now, decimals);
    out_real(o, NULL, "THEN", worse ? OUT_WARN : OUT_PLAIN, then, decimals);
    out_row_end(o);
}

static void say_pairs(struct out *o, const Fabric__V1__Quality *now,
                      const Fabric__V1__Quality *then)
{
    static const struct out_column columns[] = {
        {NULL, "FIGURE", false}, {NULL, "NOW", true}, {NULL, "THEN", true}};
    if (!now->all_to_all || !then->all_to_all || !now->shifts || !then->shifts ||
        !now->bisections || !then->bisections || !now->random_permutations ||
        !then->random_permutations)
        return;
    out_table(o, NULL, columns, sizeof columns / sizeof columns[0], false);
    say_pair(o, "endports", 0, now->endports, then->endports, false);
    say_pair(o, "all-to-all, max", 0, (double)now->all_to_all->max, (double)then->all_to_all->max,
             true);
    say_pair(o, "all-to-all, bound", 0, (double)now->all_to_all->bound,
             (double)then->all_to_all->bound, true);
    say_pair(o, "max/mean", 2, now->all_to_all->max_over_mean, then->all_to_all->max_over_mean,
             true);
    say_pair(o, "worst shift", 0, now->shifts->max, then->shifts->max, true);
    say_pair(o, "random, median", 0, now->random_permutations->median,
             then->random_permutations->median, true);
    say_pair(o, "bisection", 3, now->bisections->mean, then->bisections->mean, false);
    out_table_end(o);
}

static int say(struct out *o, enum out_format format, const Fabric__V1__WhatIfResponse *r)
{
    const Fabric__V1__EngineReport *e = r->report;
    out_record(o, NULL);
    out_textf(o, "Fails", OUT_PLAIN, "%u link%s", r->links, fab_base_plural_s(r->links));
    out_number(o, "generation", NULL, OUT_PLAIN, r->generation);
    say_lost(o, r);
    say_engine(o, e);
    show_rejected_engines(o, r->rejected_engines);
    out_text(o, "rejected_engines", NULL, OUT_PLAIN, r->rejected_engines);
    if (e->routed)
        say_change(o, r);
    if (r->quality_before != NULL)
        out_quality_keys(o, "before_", r->quality_before);
    if (e->quality != NULL)
        out_quality_keys(o, "after_", e->quality);
    if (format == OUT_TEXT && r->quality_before != NULL && e->quality != NULL)
        say_pairs(o, r->quality_before, e->quality);
    out_record_end(o);
    return e->verdict != NULL && e->verdict->passed ? EXIT_OK : EXIT_UNSOUND;
}

/* Sets q->failures, the list of the links and nodes that fail: first the arguments of --fail, then
 * the arguments of the command. The caller frees q->failures. Returns the exit code. */
static int list_failures(const struct session *s, Fabric__V1__WhatIfRequest *q)
{
    q->n_failures = s->fail_count + (size_t)s->argc;
    if (q->n_failures == 0)
        return complain(EXIT_USAGE,
                        "name what fails: NODE/PORT for a link, NODE for all its links");
    q->failures = calloc(q->n_failures, sizeof *q->failures);
    if (q->failures == NULL)
        return complain(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < q->n_failures; i++)
        q->failures[i] = i < s->fail_count ? s->fails[i] : s->argv[i - s->fail_count];
    return EXIT_OK;
}

static int whatif(struct session *s)
{
    Fabric__V1__QualityOptions options;
    Fabric__V1__WhatIfRequest q = FABRIC__V1__WHAT_IF_REQUEST__INIT;
    Fabric__V1__WhatIfResponse *r = NULL;
    struct job job;
    int rc = job_options(s, &job, &options);
    if (rc == EXIT_OK)
        rc = list_failures(s, &q);
    q.engine = (char *)(uintptr_t)(s->engine != NULL ? s->engine : "");
    q.options = &options;
    if (rc == EXIT_OK)
        rc = ask(s, "WhatIf", &q.base, &fabric__v1__what_if_response__descriptor, &r);
    if (rc == EXIT_OK && r->report != NULL)
        rc = say(s->out, s->out_format, r);
    free_reply(r);
    free(q.failures);
    job_fini(&job);
    return rc;
}

const struct cmd cmd_route_whatif = {
    .noun = "route",
    .verb = "whatif",
    .args = "[--fail] NODE[/PORT]... [--engine NAME] [--hosts LIST | --job FILE] [--samples N] "
            "[--seed N]",
    .summary = "what would happen if links or nodes failed",
    .max_args = 4096,
    .options = "hjmdex",
    .slow = true,
    .method = "fabric.v1.FabricService/WhatIf",
    .json = "generation:u64 @WhatIfResponse(links lost_switches lost_endport_count) "
            "lost_endports:[ =port lid:u16 ] class_notes:text engine:text engine_active:bool "
            "routed:bool reason:text route_ms:amount verify_ms:amount virtual_lanes:u8 "
            "passed:bool witness:text rejected_engines:text blocks_changed&:u64 blocks&:u64 "
            "switches_changed&:u32 entries_changed&:u64 =quality?(before_) =quality?(after_)",
    .run = whatif,
};
