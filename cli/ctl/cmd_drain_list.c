/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands `fabricctl drain list` and `drain plan`. */
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "cli/ctl/show_drain.h"

/* ---- drain list ------------------------------------------------------------------------------ */

static const struct out_column columns[] = {
    {NULL, "KIND", false},      {NULL, "NAME", false}, {NULL, "STATE", false},
    {NULL, "LINKS", true},      {NULL, "USED", true},  {NULL, "SINCE", false},
    {NULL, "UNTIL", false},     {NULL, "BY", false},   {NULL, "REASON", false},
    {NULL, "WAITS FOR", false},
};

/* Writes the column WAITS FOR: what must happen before the state of the drain becomes drained. */
static void say_wait(struct out *o, const Fabric__V1__Drain *d)
{
    char text[2 * SHOW_LEN] = "";
    if (d->state == FABRIC__V1__DRAIN_STATE__DRAIN_STATE_MOVING)
        snprintf(text, sizeof text, "new tables");
    else if (d->busy_port[0] != '\0')
        snprintf(text, sizeof text, "%.96s (%.1f MB/s)", d->busy_port,
                 (double)d->busy_bytes_per_second / 1e6);
    else if (d->state == FABRIC__V1__DRAIN_STATE__DRAIN_STATE_DRAINING)
        snprintf(text, sizeof text, "readings of counters");
    out_text(o, NULL, "WAITS FOR", OUT_WARN, text);
}

static void say_row(struct out *o, const Fabric__V1__Drain *d)
{
    out_row(o);
    out_drain_keys(o, d);
    out_text(o, NULL, "KIND", OUT_PLAIN, show_drain_kind(d->kind));
    out_text(o, NULL, "NAME", OUT_PLAIN, d->name);
    out_text(o, NULL, "STATE", tone_drain_state(d->state), show_drain_state(d->state));
    out_number(o, NULL, "LINKS", OUT_PLAIN, d->link_count);
    out_number(o, NULL, "USED", d->used_link_count > 0 ? OUT_WARN : OUT_PLAIN, d->used_link_count);
    out_time(o, "SINCE", d->since);
    out_time(o, "UNTIL", d->until);
    out_text(o, NULL, "BY", OUT_PLAIN, d->by);
    out_text(o, NULL, "REASON", OUT_PLAIN, d->reason);
    say_wait(o, d);
    out_row_end(o);
}

static int list(struct session *s)
{
    Fabric__V1__ListDrainsRequest q = FABRIC__V1__LIST_DRAINS_REQUEST__INIT;
    Fabric__V1__ListDrainsResponse *r = NULL;
    int rc = ask(s, "ListDrains", &q.base, &fabric__v1__list_drains_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    out_record(s->out, NULL);
    out_table(s->out, "drains", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < r->n_drains; i++)
        say_row(s->out, r->drains[i]);
    out_table_end(s->out);
    if (r->n_drains == 0)
        out_note(s->out, OUT_DIM, "Nothing is drained.");
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

/* ---- drain plan ------------------------------------------------------------------------------ */

static const struct out_column plan_columns[] = {
    {"batch", "BATCH", true},
    {NULL, "SWITCHES", false},
    {"kept_percent", "KEPT", true},
    {"least_switch", "AT", false},
    {"endport_count", "ENDPORTS", true},
};

/* Joins names with spaces. Returns NULL if there is no memory. */
static char *join(char **names, size_t count)
{
    size_t room = 1;
    for (size_t i = 0; i < count; i++)
        room += strlen(names[i]) + 1;
    char *text = calloc(room, 1), *at = text;
    for (size_t i = 0; text != NULL && i < count; i++)
        at += sprintf(at, "%s%s", i > 0 ? " " : "", names[i]);
    return text;
}

static void say_batch(struct out *o, size_t number, const Fabric__V1__DrainBatch *b)
{
    char *names = join(b->switches, b->n_switches);
    out_row(o);
    out_number(o, "batch", "BATCH", OUT_PLAIN, number);
    out_text(o, "switches", "SWITCHES", OUT_PLAIN, names != NULL ? names : "");
    out_number(o, "kept_percent", "KEPT", OUT_PLAIN, b->kept_percent);
    out_text(o, "least_switch", "AT", OUT_PLAIN, b->least_switch);
    out_number(o, "endport_count", "ENDPORTS", b->endport_count > 0 ? OUT_WARN : OUT_PLAIN,
               b->endport_count);
    out_row_end(o);
    free(names);
}

/* Reads --keep: a percentage such as "75%" or "75". */
static int read_keep(const struct session *s, uint32_t *ret)
{
    char *end = NULL;
    *ret = 0;
    if (s->keep == NULL)
        return EXIT_OK;
    unsigned long n = s->keep[0] >= '0' && s->keep[0] <= '9' ? strtoul(s->keep, &end, 10) : 0;
    if (n < 1 || n > 100 || (*end != '\0' && strcmp(end, "%") != 0))
        return complain(EXIT_USAGE, "--keep \"%s\": 1%% to 100%% are accepted", s->keep);
    *ret = (uint32_t)n;
    return EXIT_OK;
}

static int plan(struct session *s)
{
    Fabric__V1__GetDrainPlanRequest q = FABRIC__V1__GET_DRAIN_PLAN_REQUEST__INIT;
    Fabric__V1__GetDrainPlanResponse *r = NULL;
    int rc = read_keep(s, &q.keep_percent);
    q.rack = (char *)(uintptr_t)(s->rack != NULL ? s->rack : "");
    if (rc == EXIT_OK)
        rc = ask(s, "GetDrainPlan", &q.base, &fabric__v1__get_drain_plan_response__descriptor, &r);
    if (rc != EXIT_OK)
        return rc;
    char *left = join(r->left_over, r->n_left_over);
    out_record(s->out, NULL);
    out_number(s->out, "generation", NULL, OUT_PLAIN, r->generation);
    out_table(s->out, "batches", plan_columns, sizeof plan_columns / sizeof plan_columns[0], false);
    for (size_t i = 0; i < r->n_batches; i++)
        say_batch(s->out, i + 1, r->batches[i]);
    out_table_end(s->out);
    out_text(s->out, "left_over", NULL, OUT_PLAIN, left != NULL ? left : "");
    if (r->n_left_over > 0)
        out_note(s->out, OUT_WARN,
                 "No batch has %s: others would keep too few links, or be cut off. Lower --keep to "
                 "include them.",
                 left != NULL ? left : "some switches");
    out_record_end(s->out);
    free(left);
    free_reply(r);
    return rc;
}

const struct cmd cmd_drain_list = {
    .noun = "drain",
    .verb = "list",
    .summary = "what is drained, since when, by whom, and what still carries traffic",
    .is_list = true,
    .method = "fabric.v1.FabricService/ListDrains",
    .json = "drains:[ =drain ]",
    .run = list,
};
const struct cmd cmd_drain_plan = {
    .noun = "drain",
    .verb = "plan",
    .args = "[--rack RACK] [--keep PERCENT]",
    .summary = "batches of switches to drain one after the other",
    .options = "XZ",
    .is_list = true,
    .method = "fabric.v1.FabricService/GetDrainPlan",
    .json = "generation:u64 batches:[ batch:u32 switches:text kept_percent:percent "
            "least_switch:text endport_count:u32 ] left_over:text",
    .run = plan,
};
