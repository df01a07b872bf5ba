/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl route contingency`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/contingency.pb-c.h"
#include "libfabmgr/base/plural.h"

#define COUNT_DEFAULT 20

static const struct out_column columns[] = {
    {"fails", "FAILS", false},        {"lost_endports", "LOST ENDPORTS", true},
    {"blocks", "BLOCKS", true},       {"switches", "SWITCHES", true},
    {"worst_load", "MAX LOAD", true}, {"estimated_ms", "TIME", true},
    {"plan_ready", "PLAN", false},
};

static void show_what(const Fabric__V1__Contingency *c, char text[2 * SHOW_LEN + 8])
{
    char from[SHOW_LEN], to[SHOW_LEN];
    show_port(c->from, from);
    show_port(c->to, to);
    if (c->from != NULL)
        snprintf(text, 2 * SHOW_LEN + 8, "%s - %s", from, to);
    else
        snprintf(text, 2 * SHOW_LEN + 8, "%s", c->node_name);
}

static const char *plan_word(const Fabric__V1__Contingency *c)
{
    return c->needs_engine ? "engine" : c->plan_ready ? "ready" : "when needed";
}

static void show_time_of(const Fabric__V1__Contingency *c, char text[SHOW_LEN])
{
    snprintf(text, SHOW_LEN, "-");
    if (c->estimated_time != NULL)
        show_duration(microseconds_of(c->estimated_time), text);
}

/* Writes those values of a contingency that appear only in JSON output. */
static void say_keys(struct out *o, const Fabric__V1__Contingency *c)
{
    out_text(o, "kind", NULL, OUT_PLAIN, c->from != NULL ? "link" : "switch");
    if (c->from != NULL) {
        out_port_keys(o, "from_", c->from);
        out_port_keys(o, "to_", c->to);
    } else {
        out_text(o, "node", NULL, OUT_PLAIN, c->node_name);
        out_text(o, "node_guid", NULL, OUT_PLAIN, c->node_guid);
    }
    out_keys(o, &c->base, "needs_engine lost_switches entries steps");
    out_port_keys(o, "busiest_", c->busiest);
    out_keys(o, &c->base, "plan_ready plan_bytes");
    if (c->estimated_time != NULL)
        out_millis(o, "estimated_ms", NULL, OUT_PLAIN, microseconds_of(c->estimated_time));
    else
        out_none(o, "estimated_ms", NULL);
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Contingency *c = item;
    char what[2 * SHOW_LEN + 8], took[SHOW_LEN];
    show_what(c, what);
    show_time_of(c, took);
    out_row(o);
    out_text(o, NULL, "FAILS", OUT_PLAIN, what);
    out_number(o, "lost_endports", "LOST ENDPORTS", c->lost_endports > 0 ? OUT_BAD : OUT_PLAIN,
               c->lost_endports);
    out_fields(o, &c->base, "blocks", "BLOCKS", "switches", "SWITCHES", "worst_load", "MAX LOAD",
               NULL);
    out_text(o, NULL, "TIME", OUT_PLAIN, took);
    out_text(o, NULL, "PLAN", c->needs_engine ? OUT_WARN : OUT_PLAIN, plan_word(c));
    say_keys(o, c);
    out_row_end(o);
}

/* ---- the summary of all contingencies -------------------------------------------------------- */

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void say_summary_keys(struct out *o, const Fabric__V1__ContingencySummary *m)
{
    out_keys(o, &m->base,
             "cases computed plans running memory memory_allowed working_memory blocks_per_second "
             "rate_measured current_load current kept cpu_percent cpu_us waits_for");
}

/* Writes the percentage of the cases that are up to date, and what the computation does or waits
 * for. Writes "" if no computation runs. */
static void progress_of(const Fabric__V1__ContingencySummary *m, char text[SHOW_LEN])
{
    text[0] = '\0';
    bool waits = m->waits_for[0] != '\0';
    if (m->running && m->cases > 0)
        snprintf(text, SHOW_LEN, " (%u %%; %s%s)",
                 (uint32_t)((uint64_t)m->current * 100 / m->cases), waits ? "waiting for " : "",
                 waits                    ? m->waits_for
                 : m->computed < m->cases ? "computing cases, likely ones and switches first"
                                          : "checking the plans of earlier tables");
}

static void say_summary(struct out *o, const Fabric__V1__ContingencySummary *m)
{
    char progress[SHOW_LEN];
    progress_of(m, progress);
    out_note(o, OUT_DIM,
             "%u of %u cases computed%s, %u plans ready; the plans use %.1f of %.0f MiB, the "
             "computation %.1f MiB",
             m->computed, m->cases, m->running ? " so far" : "", m->plans, mib(m->memory),
             mib(m->memory_allowed), mib(m->working_memory));
    out_note(o, OUT_DIM,
             "%u of %u cases are up to date%s, %u of them by plans that the last change did not "
             "affect; the computation takes at most %u %% of a core (%.1f s so far)",
             m->current, m->cases, progress, m->kept, m->cpu_percent, (double)m->cpu_us / 1e6);
    out_note(o, OUT_DIM,
             "Max load: paths over the most loaded channel, %" PRIu64
             " now. Time: at %u blocks a second, %s",
             m->current_load, m->blocks_per_second,
             m->rate_measured ? "measured in reroutes" : "assumed: nothing was rerouted yet");
    say_summary_keys(o, m);
}

static void say_end(struct out *o, const void *last_page)
{
    const Fabric__V1__ListContingenciesResponse *r = last_page;
    if (r->summary != NULL)
        say_summary(o, r->summary);
}

static int list(struct session *s)
{
    static const struct list contingencies = {
        .method = "ListContingencies",
        .reply = &fabric__v1__list_contingencies_response__descriptor,
        .items = "contingencies",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .count = COUNT_DEFAULT,
        .say_end = say_end,
    };
    Fabric__V1__ListContingenciesRequest q = FABRIC__V1__LIST_CONTINGENCIES_REQUEST__INIT;
    return say_list(s, &contingencies, &q.base);
}

/* ---- one contingency ------------------------------------------------------------------------- */

static void say_effect(struct out *o, const Fabric__V1__Contingency *c,
                       const Fabric__V1__ContingencySummary *m)
{
    char took[SHOW_LEN], where[SHOW_LEN];
    show_time_of(c, took);
    show_port(c->busiest, where);
    if (c->lost_endports + c->lost_switches == 0)
        out_text(o, NULL, "Lost", OUT_GOOD, "nothing; all endports still reach each other");
    else
        out_textf(o, "Lost", OUT_BAD, "%u endport%s, %u switch%s", c->lost_endports,
                  fab_base_plural_s(c->lost_endports), c->lost_switches,
                  fab_base_plural_es(c->lost_switches));
    out_textf(o, "Writes", OUT_PLAIN, "%u block%s on %u switch%s in %u step%s, for %u entr%s",
              c->blocks, fab_base_plural_s(c->blocks), c->switches, fab_base_plural_es(c->switches),
              c->steps, fab_base_plural_s(c->steps), c->entries,
              fab_base_plural(c->entries, "y", "ies"));
    out_textf(o, "Time", OUT_PLAIN, "%s, at %u blocks a second (%s)", took, m->blocks_per_second,
              m->rate_measured ? "measured in reroutes" : "assumed");
    out_textf(o, "Max load", c->worst_load > m->current_load ? OUT_WARN : OUT_PLAIN,
              "%" PRIu64 " paths on %s; %" PRIu64 " now", c->worst_load, where, m->current_load);
    out_textf(o, "Plan", OUT_PLAIN, "%s%s", plan_word(c), c->plan_ready ? ", verified" : "");
}

static int show(struct session *s)
{
    Fabric__V1__GetContingencyRequest q = FABRIC__V1__GET_CONTINGENCY_REQUEST__INIT;
    Fabric__V1__GetContingencyResponse *r = NULL;
    char what[2 * SHOW_LEN + 8];
    q.failure = s->argv[0];
    int rc =
        ask(s, "GetContingency", &q.base, &fabric__v1__get_contingency_response__descriptor, &r);
    if (rc == EXIT_OK && r->contingency != NULL && r->summary != NULL) {
        const Fabric__V1__Contingency *c = r->contingency;
        show_what(c, what);
        out_record(s->out, NULL);
        out_text(s->out, NULL, "Fails", OUT_PLAIN, what);
        if (c->needs_engine)
            out_text(s->out, NULL, "Plan", OUT_WARN,
                     "none: an engine has to route anew; see route whatif");
        else
            say_effect(s->out, c, r->summary);
        out_keys(s->out, &c->base, "lost_endports blocks switches worst_load");
        say_keys(s->out, c);
        say_summary_keys(s->out, r->summary);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

static int contingency(struct session *s)
{
    return s->argc > 0 ? show(s) : list(s);
}

const struct cmd cmd_route_contingency = {
    .noun = "route",
    .verb = "contingency",
    .args = "[SWITCH[/PORT]] [-n COUNT]",
    .summary = "what would happen if any single link or switch failed",
    .max_args = 1,
    .options = "n",
    .method = "fabric.v1.FabricService/ListContingencies",
    .is_list = true,
    .json = "contingencies:[ =contingency ] =contingencies? / =contingency =contingencies",
    .run = contingency,
};
