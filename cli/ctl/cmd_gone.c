/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows nodes and links that are gone: the option --gone of `fabricctl node list` and `link list`,
 * a part of the output of `node show`, and the command `node forget`.
 */
#include "cli/ctl/gone.h"

#include <string.h>

#include "cli/ctl/list.h"
#include "cli/ctl/when.h"
#include "fabric/v1/gone.pb-c.h"

static void say_link_keys(struct out *o, const Fabric__V1__GoneLink *l)
{
    out_port_keys(o, "a_", l->a);
    out_port_keys(o, "b_", l->b);
    out_rate_keys(o, l->rate);
    out_time_utc(o, "first_seen", l->first_seen);
    out_time_utc(o, "last_seen", l->last_seen);
    out_time_utc(o, "gone_since", l->gone_since);
    out_keys(o, &l->base, "reason");
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const struct out_column node_columns[] = {
    {"name", "NAME", false},           {"type", "TYPE", false},
    {"guid", "GUID", false},           {"gone_since", "GONE SINCE", false},
    {"last_seen", "LAST SEEN", false}, {NULL, "AT", false},
    {"reason", "REASON", false},
};

static const char *type_word(const Fabric__V1__GoneNode *n)
{
    Fabric__V1__Node node = FABRIC__V1__NODE__INIT;
    node.type = n->type;
    node.aggregation_node = n->aggregation_node;
    return show_node_type(&node);
}

/* Writes those values of a node that appear only in JSON output. */
static void say_node_keys(struct out *o, const Fabric__V1__GoneNode *n)
{
    static const Fabric__V1__GoneLink none = FABRIC__V1__GONE_LINK__INIT;
    const Fabric__V1__GoneLink *l = n->last_link != NULL ? n->last_link : &none;
    out_text(o, "name", NULL, OUT_PLAIN, n->name);
    out_text(o, "type", NULL, OUT_PLAIN, type_word(n));
    out_text(o, "guid", NULL, OUT_PLAIN, n->guid);
    out_number(o, "ports", NULL, OUT_PLAIN, n->port_count);
    out_time_utc(o, "first_seen", n->first_seen);
    out_time_utc(o, "last_seen", n->last_seen);
    out_time_utc(o, "gone_since", n->gone_since);
    out_port_keys(o, "own_", l->a);
    out_port_keys(o, "at_", l->b);
    out_rate_keys(o, l->rate);
    out_keys(o, &l->base, "reason");
}

static void say_node_row(struct out *o, const void *item)
{
    const Fabric__V1__GoneNode *n = item;
    const Fabric__V1__GoneLink *l = n->last_link;
    out_row(o);
    say_node_keys(o, n);
    out_text(o, NULL, "NAME", OUT_PLAIN, n->name);
    out_text(o, NULL, "TYPE", OUT_PLAIN, type_word(n));
    out_text(o, NULL, "GUID", OUT_PLAIN, n->guid);
    out_time(o, "GONE SINCE", n->gone_since);
    out_time(o, "LAST SEEN", n->last_seen);
    out_port(o, "AT", l != NULL ? l->b : NULL);
    out_text(o, NULL, "REASON", OUT_WARN, l != NULL ? l->reason : "");
    out_row_end(o);
}

int list_gone_nodes(struct session *s, Fabric__V1__NodeType type)
{
    static const struct list nodes = {
        .method = "ListGoneNodes",
        .reply = &fabric__v1__list_gone_nodes_response__descriptor,
        .items = "nodes",
        .columns = node_columns,
        .column_count = sizeof node_columns / sizeof node_columns[0],
        .say_row = say_node_row,
        .none = "No node is gone.",
    };
    Fabric__V1__ListGoneNodesRequest q = FABRIC__V1__LIST_GONE_NODES_REQUEST__INIT;
    q.type = type;
    return say_list(s, &nodes, &q.base);
}

static const struct out_column link_columns[] = {
    {NULL, "FROM", false},
    {NULL, "TO", false},
    {"rate", "RATE", false},
    {"gone_since", "GONE SINCE", false},
    {"last_seen", "LAST SEEN", false},
    {"reason", "REASON", false},
};

static void say_link_row(struct out *o, const void *item)
{
    const Fabric__V1__GoneLink *l = item;
    out_row(o);
    say_link_keys(o, l);
    out_port(o, "FROM", l->a);
    out_port(o, "TO", l->b);
    out_rate(o, "RATE", l->rate);
    out_time(o, "GONE SINCE", l->gone_since);
    out_time(o, "LAST SEEN", l->last_seen);
    out_text(o, NULL, "REASON", OUT_WARN, l->reason);
    out_row_end(o);
}

int list_gone_links(struct session *s, const char *node)
{
    static const struct list links = {
        .method = "ListGoneLinks",
        .reply = &fabric__v1__list_gone_links_response__descriptor,
        .items = "links",
        .columns = link_columns,
        .column_count = sizeof link_columns / sizeof link_columns[0],
        .say_row = say_link_row,
        .none = "No link is gone.",
    };
    Fabric__V1__ListGoneLinksRequest q = FABRIC__V1__LIST_GONE_LINKS_REQUEST__INIT;
    if (node != NULL)
        q.node = (char *)(uintptr_t)node;
    return say_list(s, &links, &q.base);
}

/* ---- one node -------------------------------------------------------------------------------- */

void say_gone_node(struct out *o, const Fabric__V1__GoneNode *n)
{
    const Fabric__V1__GoneLink *l = n->last_link;
    char place[SHOW_LEN], own[SHOW_LEN], rate[SHOW_LEN], since[SHOW_LEN];
    show_time(n->gone_since, since);
    out_record(o, NULL);
    out_bool(o, "gone", NULL, OUT_PLAIN, true);
    say_node_keys(o, n);
    out_text(o, NULL, "Name", OUT_PLAIN, n->name);
    out_text(o, NULL, "Type", OUT_PLAIN, type_word(n));
    out_text(o, NULL, "GUID", OUT_PLAIN, n->guid);
    out_textf(o, "State", OUT_BAD, "gone since %s", since);
    out_time(o, "Last seen", n->last_seen);
    if (l != NULL) {
        show_port(l->a, own);
        show_port(l->b, place);
        show_rate(l->rate, rate);
        out_textf(o, "Last place", OUT_PLAIN, "%s, from %s, %s", place, own, rate);
        out_text(o, NULL, "Reason", OUT_WARN, l->reason);
    }
    out_time(o, "First seen", n->first_seen);
    out_record_end(o);
}

static void say_past_link(struct out *o, const Fabric__V1__GoneLink *l)
{
    out_row(o);
    say_link_keys(o, l);
    out_row_end(o);
}

void say_past(struct out *o, const Fabric__V1__GetNodeResponse *r)
{
    char a[SHOW_LEN], b[SHOW_LEN], seen[SHOW_LEN];
    for (size_t i = 0; i < r->n_earlier_links; i++) {
        const Fabric__V1__GoneLink *l = r->earlier_links[i];
        show_port(l->a, a);
        show_port(l->b, b);
        show_time(l->last_seen, seen);
        out_textf(o, "Earlier link", OUT_PLAIN, "%s - %s, last seen %s; %s", a, b, seen, l->reason);
    }
    for (size_t i = 0; i < r->n_replaced; i++) {
        const Fabric__V1__GoneLink *l = r->replaced[i];
        show_port(l->b, b);
        show_time(l->last_seen, seen);
        out_textf(o, "Replaces", OUT_PLAIN, "%s (%s) at %s, last seen %s",
                  l->a != NULL ? l->a->node_name : "", l->a != NULL ? l->a->node_guid : "", b,
                  seen);
    }
    out_table(o, "earlier_links", NULL, 0, false);
    for (size_t i = 0; i < r->n_earlier_links; i++)
        say_past_link(o, r->earlier_links[i]);
    out_table_end(o);
    out_table(o, "replaced", NULL, 0, false);
    for (size_t i = 0; i < r->n_replaced; i++)
        say_past_link(o, r->replaced[i]);
    out_table_end(o);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static void say_forgotten(struct out *o, const Fabric__V1__ForgetNodesResponse *r, bool dry_run)
{
    out_record(o, NULL);
    out_table(o, "nodes", node_columns, dry_run ? sizeof node_columns / sizeof *node_columns : 0,
              false);
    for (size_t i = 0; i < r->n_nodes && dry_run; i++)
        say_node_row(o, r->nodes[i]);
    out_table_end(o);
    out_number(o, "node_count", NULL, OUT_PLAIN, r->node_count);
    out_number(o, "link_count", NULL, OUT_PLAIN, r->link_count);
    out_text(o, "message", NULL, OUT_PLAIN, r->message);
    out_note(o, OUT_PLAIN, "%s", r->message);
    out_record_end(o);
}

static int forget(struct session *s)
{
    Fabric__V1__ForgetNodesRequest q = FABRIC__V1__FORGET_NODES_REQUEST__INIT;
    Fabric__V1__ForgetNodesResponse *r = NULL;
    Google__Protobuf__Duration age = GOOGLE__PROTOBUF__DURATION__INIT;
    uint64_t seconds = 0;
    if ((s->argc > 0) == (s->older_than != NULL))
        return complain(EXIT_USAGE, "either a node or --older-than is expected");
    if (s->older_than != NULL && !when_age(s->older_than, &seconds))
        return complain(EXIT_USAGE, "--older-than \"%s\": an age such as 12h or 30d is expected",
                        s->older_than);
    age.seconds = (int64_t)seconds;
    if (s->older_than != NULL)
        q.older_than = &age;
    else
        q.node = s->argv[0];
    q.dry_run = s->dry_run;
    int rc = ask(s, "ForgetNodes", &q.base, &fabric__v1__forget_nodes_response__descriptor, &r);
    if (rc == EXIT_OK)
        say_forgotten(s->out, r, s->dry_run);
    free_reply(r);
    return rc;
}

const struct cmd cmd_node_forget = {
    .noun = "node",
    .verb = "forget",
    .args = "NODE | --older-than AGE [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "forget a node that is gone, or all nodes that have been gone for long",
    .max_args = 1,
    .options = "rDOlU",
    .method = "fabric.v1.FabricService/ForgetNodes",
    .json = "nodes:[ =gone_node ] node_count:u32 link_count:u32 message:text",
    .run = forget,
};
