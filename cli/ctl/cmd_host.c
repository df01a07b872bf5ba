/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl host list`, `host show` and `rack list`.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/list.h"
#include "cli/ctl/matched.h"
#include "cli/ctl/show.h"
#include "fabric/v1/host.pb-c.h"

/* ---- host list ------------------------------------------------------------------------------- */

static const struct out_column columns[] = {
    {"name", "HOST", false},
    {"rack", "RACK", false},
    {"slot", "SLOT", false},
    {"adapters", "ADAPTERS", true},
    {"active_ports", "ACTIVE", true},
    {"ports", "PORTS", true},
    {"degraded_links", "DEGRADED", true},
};

/* numbers of ports: all ports of a host, those that are active, and those with a degraded link */
struct counts {
    uint32_t ports, active, degraded;
};

static struct counts count_ports(const Fabric__V1__Host *h)
{
    struct counts c = {0};
    for (size_t i = 0; i < h->n_adapters; i++)
        for (size_t k = 0; k < h->adapters[i]->n_ports; k++) {
            const Fabric__V1__HostPort *p = h->adapters[i]->ports[k];
            c.ports++;
            c.active += p->state == FABRIC__V1__PORT_STATE__PORT_STATE_ACTIVE;
            c.degraded += p->degraded ? 1 : 0;
        }
    return c;
}

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* Writes rack, row and slot; the row only in JSON output. */
static void say_location(struct out *o, const Fabric__V1__Location *l)
{
    out_text(o, "rack", "RACK", OUT_PLAIN, l != NULL ? text_of(l->rack) : "");
    out_text(o, "row", NULL, OUT_PLAIN, l != NULL ? text_of(l->row) : "");
    out_text(o, "slot", "SLOT", OUT_PLAIN, l != NULL ? text_of(l->slot) : "");
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Host *h = item;
    struct counts c = count_ports(h);
    out_row(o);
    out_text(o, "name", "HOST", OUT_PLAIN, h->name);
    say_location(o, h->location);
    out_number(o, "adapters", "ADAPTERS", OUT_PLAIN, h->n_adapters);
    out_number(o, "active_ports", "ACTIVE", c.active == c.ports ? OUT_PLAIN : OUT_WARN, c.active);
    out_number(o, "ports", "PORTS", OUT_PLAIN, c.ports);
    out_number(o, "degraded_links", "DEGRADED", c.degraded > 0 ? OUT_WARN : OUT_PLAIN, c.degraded);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list hosts = {
        .method = "ListHosts",
        .reply = &fabric__v1__list_hosts_response__descriptor,
        .items = "hosts",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no hosts.",
    };
    Fabric__V1__ListHostsRequest q = FABRIC__V1__LIST_HOSTS_REQUEST__INIT;
    if (s->rack != NULL)
        q.rack = (char *)(uintptr_t)s->rack;
    if (s->argc > 0)
        q.name = s->argv[0];
    return say_list(s, &hosts, &q.base);
}

/* ---- host show ------------------------------------------------------------------------------- */

static const struct out_column port_columns[] = {
    {"adapter", "ADAPTER", false},   {"rail", "RAIL", true},
    {"port", "PORT", true},          {"lid", "LID", true},
    {"state", "STATE", false},       {"rate", "RATE", false},
    {"peer", "CONNECTED TO", false},
};

static void say_port(struct out *o, const Fabric__V1__HostAdapter *a, const Fabric__V1__HostPort *p)
{
    char rate[SHOW_LEN];
    out_row(o);
    out_text(o, "adapter", "ADAPTER", OUT_PLAIN, a->name[0] != '\0' ? a->name : a->node_name);
    out_text(o, "guid", NULL, OUT_PLAIN, a->guid);
    out_text(o, "node", NULL, OUT_PLAIN, a->node_name);
    if (a->rail != 0)
        out_number(o, "rail", "RAIL", OUT_PLAIN, a->rail);
    else
        out_text(o, NULL, "RAIL", OUT_PLAIN, "");
    out_number(o, "port", "PORT", OUT_PLAIN, p->port_number);
    out_number(o, "lid", "LID", p->lid != 0 ? OUT_PLAIN : OUT_WARN, p->lid);
    out_text(o, "state", "STATE", tone_port_state(p->state), show_port_state(p->state));
    out_rate_keys(o, p->rate);
    show_rate(p->rate, rate);
    if (p->degraded)
        snprintf(rate + strlen(rate), sizeof rate - strlen(rate), ", degraded");
    out_text(o, NULL, "RATE", p->degraded ? OUT_WARN : OUT_PLAIN, rate);
    out_keys(o, &p->base, "degraded");
    out_port_keys(o, "peer_", p->peer);
    out_port(o, "CONNECTED TO", p->peer);
    out_row_end(o);
}

static void say(struct out *o, const Fabric__V1__Host *h)
{
    static const Fabric__V1__Location unknown = FABRIC__V1__LOCATION__INIT;
    const Fabric__V1__Location *l = h->location != NULL ? h->location : &unknown;
    out_record(o, NULL);
    out_text(o, "name", "Host", OUT_PLAIN, h->name);
    out_fields(o, &l->base, "rack", "Rack", "row", "Row", "slot", "Slot", NULL);
    out_table(o, "ports", port_columns, sizeof port_columns / sizeof port_columns[0], false);
    for (size_t i = 0; i < h->n_adapters; i++)
        for (size_t k = 0; k < h->adapters[i]->n_ports; k++)
            say_port(o, h->adapters[i], h->adapters[i]->ports[k]);
    out_table_end(o);
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetHostRequest q = FABRIC__V1__GET_HOST_REQUEST__INIT;
    Fabric__V1__GetHostResponse *r = NULL;
    q.host = s->argv[0];
    int rc = ask(s, "GetHost", &q.base, &fabric__v1__get_host_response__descriptor, &r);
    if (rc == EXIT_OK && r->host != NULL)
        say(s->out, r->host);
    free_reply(r);
    return rc;
}

/* ---- rack list ------------------------------------------------------------------------------- */

static const struct out_column rack_columns[] = {
    {"name", "RACK", false},  {"row", "ROW", false},          {"switches", "SWITCHES", true},
    {"hosts", "HOSTS", true}, {"adapters", "ADAPTERS", true},
};

static void say_rack(struct out *o, const Fabric__V1__Rack *r)
{
    out_row(o);
    out_text(o, "name", "RACK", OUT_PLAIN, r->name);
    out_text(o, "row", "ROW", OUT_PLAIN, r->row);
    out_number(o, "switches", "SWITCHES", OUT_PLAIN, r->switch_count);
    out_number(o, "hosts", "HOSTS", OUT_PLAIN, r->host_count);
    out_number(o, "adapters", "ADAPTERS", OUT_PLAIN, r->adapter_count);
    out_row_end(o);
}

static bool any_rack(const Fabric__V1__ListRacksResponse *r, const char *name)
{
    for (size_t i = 0; i < r->n_racks; i++)
        if (name_matches(name, r->racks[i]->name))
            return true;
    return false;
}

static int list_racks(struct session *s)
{
    Fabric__V1__ListRacksRequest q = FABRIC__V1__LIST_RACKS_REQUEST__INIT;
    Fabric__V1__ListRacksResponse *r = NULL;
    int rc = ask(s, "ListRacks", &q.base, &fabric__v1__list_racks_response__descriptor, &r);
    if (rc == EXIT_OK && s->argc > 0 && !any_rack(r, s->argv[0]))
        rc = complain(EXIT_NOT_FOUND, "no rack matches \"%.100s\"", s->argv[0]);
    if (rc != EXIT_OK) {
        free_reply(r);
        return rc;
    }
    out_record(s->out, NULL);
    out_table(s->out, "racks", rack_columns, sizeof rack_columns / sizeof rack_columns[0], false);
    for (size_t i = 0; i < r->n_racks; i++)
        if (s->argc == 0 || name_matches(s->argv[0], r->racks[i]->name))
            say_rack(s->out, r->racks[i]);
    out_table_end(s->out);
    out_number(s->out, "without_rack", NULL, OUT_PLAIN, r->without_rack_count);
    if (r->n_racks == 0)
        out_note(s->out, OUT_DIM,
                 "No rack is known; name a file with racks in the setting "
                 "locations.file.");
    else if (r->without_rack_count > 0)
        out_note(s->out, OUT_DIM, "The rack of %u switches and hosts is not known.",
                 r->without_rack_count);
    out_record_end(s->out);
    free_reply(r);
    return rc;
}

const struct cmd cmd_host_list = {
    .noun = "host",
    .verb = "list",
    .args = "[HOST] [--rack RACK]",
    .summary = "hosts with their adapters, all, or those with a name or in a rack",
    .max_args = 1,
    .takes_patterns = true,
    .options = "X",
    .method = "fabric.v1.FabricService/ListHosts",
    .is_list = true,
    .json = "hosts:[ name:text =place adapters:u32 active_ports:u32 ports:u32 "
            "degraded_links:u32 ]",
    .run = list,
};
const struct cmd cmd_host_show = {
    .noun = "host",
    .verb = "show",
    .args = "HOST",
    .summary = "one host: its adapters, rails, ports and the switches they are connected to",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetHost",
    .json = "name:text =place ports:[ adapter:text guid:guid node:text rail?:u32 port:u8 "
            "lid:u16 state:port_state =rate degraded:bool =port(peer_) ]",
    .run = show,
};
const struct cmd cmd_rack_list = {
    .noun = "rack",
    .verb = "list",
    .args = "[RACK]",
    .summary = "racks, with the number of switches and hosts in each",
    .max_args = 1,
    .takes_patterns = true,
    .method = "fabric.v1.FabricService/ListRacks",
    .is_list = true,
    .json = "racks:[ name:text row:text switches:u32 hosts:u32 adapters:u32 ] "
            "without_rack:u32",
    .run = list_racks,
};
