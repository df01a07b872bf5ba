/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl node list` and `node show`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/gone.h"
#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/node.pb-c.h"
#include "libfabmgr/base/plural.h"

static const struct out_column columns[] = {
    {"name", "NAME", false}, {"type", "TYPE", false},    {"guid", "GUID", false},
    {"lid", "LID", true},    {"active", "ACTIVE", true}, {"ports", "PORTS", true},
};

/* Writes the host, the rail and the location of a node, in JSON output only. */
static void say_location_keys(struct out *o, const Fabric__V1__Node *n)
{
    static const Fabric__V1__Location unknown = FABRIC__V1__LOCATION__INIT;
    out_keys(o, &n->base, "host rail");
    out_keys(o, n->location != NULL ? &n->location->base : &unknown.base, "rack row slot");
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Node *n = item;
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, n->name);
    out_text(o, "type", "TYPE", OUT_PLAIN, show_node_type(n));
    out_text(o, "guid", "GUID", OUT_PLAIN, n->guid);
    out_number(o, "lid", "LID", n->lid != 0 ? OUT_PLAIN : OUT_WARN, n->lid);
    out_number(o, "active_ports", "ACTIVE", OUT_PLAIN, n->active_port_count);
    out_number(o, "ports", "PORTS", OUT_PLAIN, n->port_count);
    out_number(o, "degraded_links", NULL, OUT_PLAIN, n->degraded_link_count);
    say_location_keys(o, n);
    out_row_end(o);
}

/* If the manager finds no node with the name `word`, the user may have meant one of `types`. Sets
 * the hint that the error message then ends with. */
static void hint_at_types(const char *word, const char *const *types)
{
    static char hint[100] = "accepted are also the types switch, adapter and router";
    const char *near = near_word(word, types);
    if (near != NULL)
        snprintf(hint, sizeof hint, "did you mean the type \"%s\"?", near);
    complain_hint(hint);
}

int read_type_and_node(const struct session *s, Fabric__V1__NodeType *ret_type, char **ret_name)
{
    static const char *const types[] = {"switch", "adapter", "router", NULL};
    static const Fabric__V1__NodeType values[] = {FABRIC__V1__NODE_TYPE__NODE_TYPE_SWITCH,
                                                  FABRIC__V1__NODE_TYPE__NODE_TYPE_ADAPTER,
                                                  FABRIC__V1__NODE_TYPE__NODE_TYPE_ROUTER};
    size_t i = 0;
    if (s->argc == 2) {
        int rc = accept_word("the type of nodes", s->argv[0], types, &i);
        if (rc != EXIT_OK)
            return rc;
    }
    bool typed = s->argc > 0 && find_word(s->argv[0], types, &i);
    if (typed)
        *ret_type = values[i];
    else if (s->argc > 0)
        hint_at_types(s->argv[0], types);
    *ret_name = word_of(s->argc > typed ? s->argv[typed] : NULL);
    return EXIT_OK;
}

static int list(struct session *s)
{
    static const struct list nodes = {
        .method = "ListNodes",
        .reply = &fabric__v1__list_nodes_response__descriptor,
        .items = "nodes",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no nodes of this type.",
    };
    Fabric__V1__ListNodesRequest q = FABRIC__V1__LIST_NODES_REQUEST__INIT;
    if (s->gone && s->rack != NULL)
        return complain(EXIT_USAGE, "--gone and --rack exclude each other");
    if (s->rack != NULL)
        q.rack = (char *)(uintptr_t)s->rack;
    int rc = read_type_and_node(s, &q.type, &q.name);
    if (rc != EXIT_OK)
        return rc;
    if (s->gone && q.name[0] != '\0')
        return complain(EXIT_USAGE, "--gone takes no node; 'fabricctl node show %s' shows one",
                        q.name);
    return s->gone ? list_gone_nodes(s, q.type) : say_list(s, &nodes, &q.base);
}

/* Writes a location such as "rack A1, row 3, slot 12", in text output only. */
static void say_location(struct out *o, const Fabric__V1__Location *l)
{
    char text[SHOW_LEN] = "";
    const char *const what[] = {"rack", "row", "slot"};
    for (size_t i = 0; l != NULL && i < 3; i++) {
        const char *value = i == 0 ? l->rack : i == 1 ? l->row : l->slot;
        size_t len = strlen(text);
        if (value[0] != '\0')
            snprintf(text + len, sizeof text - len, "%s%s %s", len > 0 ? ", " : "", what[i], value);
    }
    if (text[0] != '\0')
        out_text(o, NULL, "Location", OUT_PLAIN, text);
}

static void say(struct out *o, const Fabric__V1__GetNodeResponse *r)
{
    const Fabric__V1__Node *n = r->node;
    out_record(o, NULL);
    out_text(o, "name", "Name", OUT_PLAIN, n->name);
    out_text(o, "type", "Type", OUT_PLAIN, show_node_type(n));
    out_fields(o, &n->base, "guid", "GUID", "system_guid", "System GUID", "port_guid", "Port GUID",
               NULL);
    out_number(o, "lid", "LID", n->lid != 0 ? OUT_PLAIN : OUT_WARN, n->lid);
    out_textf(o, "Ports", OUT_PLAIN, "%u, of which %u active", n->port_count, n->active_port_count);
    out_number(o, "ports", NULL, OUT_PLAIN, n->port_count);
    out_number(o, "active_ports", NULL, OUT_PLAIN, n->active_port_count);
    if (n->degraded_link_count > 0)
        out_textf(o, "Degraded", OUT_WARN, "%u link%s; see 'fabricctl link list --degraded %s'",
                  n->degraded_link_count, fab_base_plural_s(n->degraded_link_count), n->guid);
    out_number(o, "degraded_links", NULL, OUT_PLAIN, n->degraded_link_count);
    out_textf(o, "Device", OUT_PLAIN, "vendor 0x%06x, device 0x%04x (%u), revision 0x%x",
              n->vendor_id, n->device_id, n->device_id, n->revision);
    out_keys(o, &n->base, "vendor_id device_id revision");
    if (n->host[0] != '\0')
        out_textf(o, "Host", OUT_PLAIN, n->rail != 0 ? "%s, rail %u" : "%s", n->host, n->rail);
    say_location(o, n->location);
    say_location_keys(o, n);
    say_past(o, r);
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetNodeRequest q = FABRIC__V1__GET_NODE_REQUEST__INIT;
    Fabric__V1__GetNodeResponse *r = NULL;
    q.node = s->argv[0];
    int rc = ask(s, "GetNode", &q.base, &fabric__v1__get_node_response__descriptor, &r);
    if (rc == EXIT_OK && r->node != NULL)
        say(s->out, r);
    else if (rc == EXIT_OK && r->gone != NULL)
        say_gone_node(s->out, r->gone);
    free_reply(r);
    return rc;
}

const struct cmd cmd_node_list = {
    .noun = "node",
    .verb = "list",
    .args = "[switch|adapter|router] [NODE] [--rack RACK | --gone]",
    .summary = "all nodes, or those of one type, name or rack, or those that are gone",
    .max_args = 2,
    .takes_patterns = true,
    .options = "BX",
    .method = "fabric.v1.FabricService/ListNodes",
    .is_list = true,
    .json = "nodes:[ name:text type:node_type guid:guid lid:u16 active_ports:u32 ports:u32 "
            "degraded_links:u32 =node_place ] / nodes:[ =gone_node ]",
    .run = list,
};
const struct cmd cmd_node_show = {
    .noun = "node",
    .verb = "show",
    .args = "NODE",
    .summary = "one node, by name, GUID or LID, also if it is gone",
    .min_args = 1,
    .max_args = 1,
    .takes_hosts = true,
    .method = "fabric.v1.FabricService/GetNode",
    .json = "name:text type:node_type @Node(guid system_guid port_guid) lid:u16 ports:u32 "
            "active_ports:u32 degraded_links:u32 @Node(vendor_id device_id revision) "
            "=node_place earlier_links:[ =gone_link ] replaced:[ =gone_link ] / gone:bool "
            "=gone_node",
    .run = show,
};
