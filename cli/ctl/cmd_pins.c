/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl node pins` and `node approve`.
 */
#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/node.pb-c.h"

static const struct out_column columns[] = {
    {"pinned", "PINNED NAME", false},  {"guid", "GUID", false},        {"since", "SINCE", false},
    {"by", "APPROVED BY", false},      {"shown", "SHOWN NAME", false}, {"place", "AT", false},
    {"waits", "WAITS BECAUSE", false},
};

static const char *reason_of(const Fabric__V1__NodePin *p)
{
    switch (p->reason) {
    case FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_CHANGED:
        return "its name changed";
    case FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_HELD:
        return "another GUID holds the name";
    case FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_NEW:
        return "every name needs an approval";
    case FABRIC__V1__NODE_PIN_REASON__NODE_PIN_REASON_FULL:
        return "there are too many pins";
    default:
        return "";
    }
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__NodePin *p = item;
    enum out_tone tone = p->reason != 0 ? OUT_WARN : OUT_PLAIN;
    out_row(o);
    out_text(o, "pinned_name", "PINNED NAME", OUT_PLAIN, p->pinned_name);
    out_text(o, "guid", "GUID", OUT_PLAIN, p->guid);
    out_time(o, "SINCE", p->pin_time);
    out_time_utc(o, "pin_time", p->pin_time);
    out_text(o, "approved_by", "APPROVED BY", OUT_PLAIN, p->approved_by);
    out_text(o, "shown_name", "SHOWN NAME", tone, p->shown_name);
    out_port(o, "AT", p->place);
    out_port_keys(o, "at_", p->place);
    out_text(o, "waits", NULL, OUT_PLAIN, p->reason != 0 ? "yes" : "no");
    out_text(o, "reason", "WAITS BECAUSE", tone, reason_of(p));
    out_time_utc(o, "waiting_time", p->waiting_time);
    out_keys(o, &p->base, "holder");
    out_row_end(o);
}

static int pins(struct session *s)
{
    static const struct list list = {
        .method = "ListNodePins",
        .reply = &fabric__v1__list_node_pins_response__descriptor,
        .items = "pins",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no such nodes.",
    };
    Fabric__V1__ListNodePinsRequest q = FABRIC__V1__LIST_NODE_PINS_REQUEST__INIT;
    q.waiting_only = s->waiting;
    return say_list(s, &list, &q.base);
}

static int forget(struct session *s)
{
    Fabric__V1__ForgetNodePinRequest q = FABRIC__V1__FORGET_NODE_PIN_REQUEST__INIT;
    Fabric__V1__ForgetNodePinResponse *r = NULL;
    q.node = s->argv[0];
    q.dry_run = s->dry_run;
    int rc =
        ask(s, "ForgetNodePin", &q.base, &fabric__v1__forget_node_pin_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int approve(struct session *s)
{
    Fabric__V1__ApproveNodeRequest q = FABRIC__V1__APPROVE_NODE_REQUEST__INIT;
    Fabric__V1__ApproveNodeResponse *r = NULL;
    if (s->all && (s->forget || s->argc > 0))
        return complain(EXIT_USAGE, "--all takes neither a node nor --forget");
    if (!s->all && s->argc == 0)
        return complain(EXIT_USAGE, "a node or --all is expected");
    if (s->forget)
        return forget(s);
    q.all = s->all;
    if (!s->all)
        q.node = s->argv[0];
    q.dry_run = s->dry_run;
    int rc = ask(s, "ApproveNode", &q.base, &fabric__v1__approve_node_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_node_pins = {
    .noun = "node",
    .verb = "pins",
    .args = "[--waiting]",
    .summary = "names that are pinned to nodes, and nodes that wait for an approval",
    .options = "w",
    .method = "fabric.v1.FabricService/ListNodePins",
    .is_list = true,
    .json = "pins:[ pinned_name:text guid:guid pin_time:time approved_by:text shown_name:text "
            "=port(at_) waits:yes_no reason:text waiting_time:time holder:text ]",
    .run = pins,
};
const struct cmd cmd_node_approve = {
    .noun = "node",
    .verb = "approve",
    .args = "NODE | --all | --forget NODE [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "pin a node to the name that it shows, or drop its pin",
    .max_args = 1,
    .options = "rAFlUD",
    .slow = true,
    .method = "fabric.v1.FabricService/ApproveNode",
    .json = "message:text",
    .run = approve,
};
