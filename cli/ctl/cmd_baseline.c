/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl topo approve`, `topo disapprove` and `topo baseline`.
 */
#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/baseline.pb-c.h"

static const struct out_column columns[] = {
    {"state", "STATE", false},
    {"name", "NODE", false},
    {"port", "PORT", true},
    {"guid", "GUID", false},
    {"at", "APPROVED AT", false},
    {"now", "NOW AT", false},
    {"holder", "APPROVED THERE", false},
    {"effect", "EFFECT", false},
    {"since", "SINCE", false},
    {"by", "APPROVED BY", false},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static const char *state_of(const Fabric__V1__BaselineEntry *e)
{
    switch (e->state) {
    case FABRIC__V1__BASELINE_STATE__BASELINE_STATE_PRESENT:
        return "present";
    case FABRIC__V1__BASELINE_STATE__BASELINE_STATE_ABSENT:
        return "absent";
    case FABRIC__V1__BASELINE_STATE__BASELINE_STATE_MOVED:
        return "moved";
    default:
        return "new";
    }
}

static const char *effect_of(const Fabric__V1__BaselineEntry *e)
{
    switch (e->effect) {
    case FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_ADMITTED:
        return "admitted";
    case FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_QUARANTINED:
        return "quarantined";
    case FABRIC__V1__BASELINE_EFFECT__BASELINE_EFFECT_EXCLUDED:
        return "excluded";
    default:
        return "";
    }
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__BaselineEntry *e = item;
    bool waits = e->state == FABRIC__V1__BASELINE_STATE__BASELINE_STATE_MOVED ||
                 e->state == FABRIC__V1__BASELINE_STATE__BASELINE_STATE_NEW;
    out_row(o);
    out_text(o, "state", "STATE", waits ? OUT_WARN : OUT_PLAIN, state_of(e));
    out_text(o, "name", "NODE", OUT_PLAIN, e->name);
    out_number(o, "port", "PORT", OUT_PLAIN, e->port);
    out_text(o, "guid", "GUID", OUT_PLAIN, e->guid);
    out_port(o, "APPROVED AT", e->place);
    out_port_keys(o, "approved_at_", e->place);
    out_port(o, "NOW AT", e->now);
    out_port_keys(o, "now_at_", e->now);
    out_text(o, "holder", "APPROVED THERE", OUT_PLAIN, e->holder);
    out_text(o, "effect", "EFFECT", OUT_PLAIN, effect_of(e));
    out_time(o, "SINCE", waits ? e->found_time : e->approve_time);
    out_time_utc(o, "approve_time", e->approve_time);
    out_time_utc(o, "found_time", e->found_time);
    out_text(o, "approved_by", "APPROVED BY", OUT_PLAIN, e->approved_by);
    out_keys(o, &e->base, "port_guid");
    out_text(o, "type", NULL, OUT_PLAIN, e->is_switch ? "switch" : "endport");
    out_row_end(o);
}

static void say_end(struct out *o, const void *last_page)
{
    const Fabric__V1__ListBaselineResponse *m = last_page;
    if (!m->exists)
        out_note(
            o, OUT_PLAIN,
            "There is no baseline, and every device is accepted; 'fabricctl topo approve' takes "
            "the fabric as it is now.");
}

static int baseline(struct session *s)
{
    const struct list list = {
        .method = "ListBaseline",
        .reply = &fabric__v1__list_baseline_response__descriptor,
        .items = "entries",
        .columns = columns,
        .column_count = COLUMNS,
        .say_row = say_row,
        .none = s->waiting ? "No device waits for an approval." : "No device is approved.",
        .say_end = say_end,
    };
    Fabric__V1__ListBaselineRequest q = FABRIC__V1__LIST_BASELINE_REQUEST__INIT;
    q.waiting_only = s->waiting;
    return say_list(s, &list, &q.base);
}

static void say_approved(struct out *o, const Fabric__V1__ApproveBaselineResponse *m)
{
    out_record(o, NULL);
    out_text(o, "message", NULL, OUT_PLAIN, m->message);
    if (m->n_entries > 0)
        out_table(o, "entries", columns, COLUMNS, false);
    for (size_t i = 0; i < m->n_entries; i++)
        say_row(o, m->entries[i]);
    if (m->n_entries > 0)
        out_table_end(o);
    out_note(o, OUT_PLAIN, "%s", m->message);
    out_record_end(o);
}

static int approve(struct session *s)
{
    Fabric__V1__ApproveBaselineRequest q = FABRIC__V1__APPROVE_BASELINE_REQUEST__INIT;
    Fabric__V1__ApproveBaselineResponse *r = NULL;
    if (s->all && s->argc > 0)
        return complain(EXIT_USAGE, "--all takes no nodes");
    q.all = s->all;
    q.dry_run = s->dry_run;
    q.n_nodes = (size_t)s->argc;
    q.nodes = s->argv;
    int rc =
        ask(s, "ApproveBaseline", &q.base, &fabric__v1__approve_baseline_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_approved(s->out, r);
    free_reply(r);
    return rc;
}

static int disapprove(struct session *s)
{
    Fabric__V1__DisapproveBaselineRequest q = FABRIC__V1__DISAPPROVE_BASELINE_REQUEST__INIT;
    Fabric__V1__DisapproveBaselineResponse *r = NULL;
    if (s->all == (s->argc > 0))
        return complain(EXIT_USAGE, "either nodes or --all is expected");
    q.all = s->all;
    q.n_nodes = (size_t)s->argc;
    q.nodes = s->argv;
    q.dry_run = s->dry_run;
    int rc = ask(s, "DisapproveBaseline", &q.base,
                 &fabric__v1__disapprove_baseline_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

#define NODES_MOST 1000

const struct cmd cmd_topo_approve = {
    .noun = "topo",
    .verb = "approve",
    .args = "[NODE...|--all] [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "take the fabric as the baseline, or approve what is new or moved",
    .max_args = NODES_MOST,
    .options = "rADlU",
    .slow = true,
    .method = "fabric.v1.FabricService/ApproveBaseline",
    .json = "message:text entries?:[ =baseline ]",
    .run = approve,
};
const struct cmd cmd_topo_disapprove = {
    .noun = "topo",
    .verb = "disapprove",
    .args = "NODE... | --all [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "drop nodes from the baseline, or the whole baseline",
    .max_args = NODES_MOST,
    .options = "rAlUD",
    .slow = true,
    .method = "fabric.v1.FabricService/DisapproveBaseline",
    .json = "message:text",
    .run = disapprove,
};
const struct cmd cmd_topo_baseline = {
    .noun = "topo",
    .verb = "baseline",
    .args = "[--waiting]",
    .summary = "approved devices and their places, and what is not approved",
    .options = "w",
    .method = "fabric.v1.FabricService/ListBaseline",
    .is_list = true,
    .json = "entries:[ =baseline ]",
    .run = baseline,
};
