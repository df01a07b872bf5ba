/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints drains and their cost. */
#include "cli/ctl/show_drain.h"

#include <inttypes.h>
#include <string.h>

#include "cli/ctl/show.h"
#include "cli/ctl/show_quality.h"
#include "libfabmgr/base/plural.h"

/* text output names at most this many hosts or links */
#define NAMED 6

const char *show_drain_kind(Fabric__V1__DrainKind kind)
{
    static const char *const words[] = {"?", "link", "switch", "rack", "pod", "host"};
    return (unsigned)kind < sizeof words / sizeof words[0] ? words[kind] : "?";
}

const char *show_drain_state(Fabric__V1__DrainState state)
{
    static const char *const words[] = {"?", "moving", "draining", "drained", "ending"};
    return (unsigned)state < sizeof words / sizeof words[0] ? words[state] : "?";
}

enum out_tone tone_drain_state(Fabric__V1__DrainState state)
{
    return state == FABRIC__V1__DRAIN_STATE__DRAIN_STATE_DRAINED ? OUT_GOOD : OUT_WARN;
}

void out_drain_keys(struct out *o, const Fabric__V1__Drain *d)
{
    out_number(o, "id", NULL, OUT_PLAIN, d->id);
    out_text(o, "kind", NULL, OUT_PLAIN, show_drain_kind(d->kind));
    out_text(o, "name", NULL, OUT_PLAIN, d->name);
    out_text(o, "state", NULL, OUT_PLAIN, show_drain_state(d->state));
    out_time_utc(o, "since", d->since);
    out_time_utc(o, "until", d->until);
    out_keys(o, &d->base,
             "by reason force link_count used_link_count endport_count busy_port "
             "busy_bytes_per_second");
}

void say_drain(struct out *o, const Fabric__V1__Drain *d)
{
    const char *kind = show_drain_kind(d->kind);
    out_record(o, "drain");
    out_drain_keys(o, d);
    out_record_end(o);
    if (d->state == FABRIC__V1__DRAIN_STATE__DRAIN_STATE_DRAINED)
        out_note(o, OUT_GOOD, "%s %s is drained. Run 'fabricctl undrain %s %s' afterwards.", kind,
                 d->name, kind, d->name);
    else
        out_note(o, OUT_PLAIN,
                 "%s %s is being drained. 'fabricctl drain list' shows the progress; wait for the "
                 "state drained.",
                 kind, d->name);
}

/* ---- the cost -------------------------------------------------------------------------------- */

static void out_link_list(struct out *o, const char *key, Fabric__V1__DrainLink **links,
                          size_t count)
{
    out_table(o, key, NULL, 0, false);
    for (size_t i = 0; i < count; i++) {
        out_row(o);
        out_port_keys(o, "a_", links[i]->a);
        out_port_keys(o, "b_", links[i]->b);
        out_row_end(o);
    }
    out_table_end(o);
}

static void out_name_list(struct out *o, const char *key, char **names, size_t count)
{
    out_table(o, key, NULL, 0, false);
    for (size_t i = 0; i < count; i++) {
        out_row(o);
        out_text(o, "name", NULL, OUT_PLAIN, names[i]);
        out_row_end(o);
    }
    out_table_end(o);
}

/* Joins the first names of a list: "a, b, c, ...". */
static void join(char **names, size_t count, char text[NAMED * SHOW_LEN])
{
    text[0] = '\0';
    for (size_t i = 0; i < count && i < NAMED; i++) {
        size_t len = strlen(text);
        snprintf(text + len, NAMED * SHOW_LEN - len, "%s%.80s", i > 0 ? ", " : "", names[i]);
    }
    if (count > NAMED)
        strcat(text, ", ...");
}

static void say_hosts(struct out *o, const Fabric__V1__GetDrainPreviewResponse *p)
{
    char text[NAMED * SHOW_LEN];
    join(p->hosts, p->n_hosts, text);
    if (p->n_hosts == 0)
        out_text(o, NULL, "Hosts", OUT_GOOD, "none is connected to the drained switches");
    else
        out_textf(o, "Hosts", OUT_WARN,
                  "%zu adapter%s keep%s using the drained switches, and will lose their paths when "
                  "the maintenance begins: %s",
                  p->n_hosts, fab_base_plural_s(p->n_hosts), p->n_hosts == 1 ? "s" : "", text);
    if (p->needed_switch_count > 0)
        out_textf(o, "Needed", OUT_WARN,
                  "%u drained switch%s without hosts stay%s in use for these hosts",
                  p->needed_switch_count, fab_base_plural_es(p->needed_switch_count),
                  p->needed_switch_count == 1 ? "s" : "");
}

static void say_figure(struct out *o, const char *label, unsigned decimals, double now, double then,
                       bool more_is_worse)
{
    bool worse = more_is_worse ? then > now : then < now;
    out_textf(o, label, worse ? OUT_WARN : OUT_PLAIN, "%.*f now, %.*f while drained", (int)decimals,
              now, (int)decimals, then);
}

static void say_figures(struct out *o, const Fabric__V1__WhatIfResponse *cost)
{
    const Fabric__V1__Quality *now = cost->quality_before,
                              *then = cost->report != NULL ? cost->report->quality : NULL;
    out_number(o, "lost_endport_count", NULL, OUT_PLAIN, cost->lost_endport_count);
    out_textf(o, "Lost", cost->lost_endport_count > 0 ? OUT_BAD : OUT_GOOD,
              cost->lost_endport_count > 0 ? "%u endport%s lose all paths" : "no pair of endports",
              cost->lost_endport_count, fab_base_plural_s(cost->lost_endport_count));
    if (now == NULL || then == NULL)
        return;
    out_quality_keys(o, "before_", now);
    out_quality_keys(o, "after_", then);
    if (now->all_to_all != NULL && then->all_to_all != NULL)
        say_figure(o, "Max/mean", 2, now->all_to_all->max_over_mean,
                   then->all_to_all->max_over_mean, true);
    if (now->all_to_all != NULL && then->all_to_all != NULL)
        say_figure(o, "Max load", 0, (double)now->all_to_all->max, (double)then->all_to_all->max,
                   true);
    if (now->bisections != NULL && then->bisections != NULL)
        say_figure(o, "Bandwidth", 3, now->bisections->mean, then->bisections->mean, false);
}

void say_drain_cost(struct out *o, Fabric__V1__DrainKind kind,
                    const Fabric__V1__GetDrainPreviewResponse *p,
                    const Fabric__V1__WhatIfResponse *cost)
{
    char text[NAMED * SHOW_LEN];
    out_text(o, "name", "Name", OUT_PLAIN, p->name);
    join(p->nodes, p->n_nodes, text);
    if (p->n_nodes > 0)
        out_text(o, NULL, "Nodes", OUT_PLAIN, text);
    out_name_list(o, "nodes", p->nodes, p->n_nodes);
    if (kind == FABRIC__V1__DRAIN_KIND__DRAIN_KIND_HOST)
        out_text(o, NULL, "Links", OUT_PLAIN, "routes do not change; the counters are watched");
    else
        out_textf(o, "Links", OUT_PLAIN, "routes avoid %zu link%s", p->n_links,
                  fab_base_plural_s(p->n_links));
    if (p->n_kept_links > 0)
        out_textf(o, "Kept", OUT_PLAIN, "%zu link%s for management packets only", p->n_kept_links,
                  fab_base_plural_s(p->n_kept_links));
    if (kind != FABRIC__V1__DRAIN_KIND__DRAIN_KIND_HOST)
        say_hosts(o, p);
    if (cost != NULL)
        say_figures(o, cost);
    out_link_list(o, "links", p->links, p->n_links);
    out_link_list(o, "kept_links", p->kept_links, p->n_kept_links);
    out_name_list(o, "hosts", p->hosts, p->n_hosts);
    out_keys(o, &p->base, "needed_switch_count refusal generation");
}

void say_drain_job(struct out *o, uint32_t hosts)
{
    out_number(o, "job_hosts", NULL, OUT_PLAIN, hosts);
    out_textf(o, "Job", hosts > 0 ? OUT_BAD : OUT_GOOD,
              "%u host%s of the job need%s what is drained", hosts, fab_base_plural_s(hosts),
              hosts == 1 ? "s" : "");
}
