/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl port list`, `show`, `disable` and `enable`.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/port.pb-c.h"
#include "libfabmgr/base/plural.h"

static const struct out_column columns[] = {
    {"port", "PORT", false}, {"state", "STATE", false}, {"physical", "PHYSICAL", false},
    {"rate", "RATE", false}, {"lid", "LID", true},      {"peer", "PEER", false},
};

/* Writes the values of a port in JSON output, for the list of ports and for a single port. */
static void say_keys(struct out *o, const Fabric__V1__Port *p)
{
    out_port_keys(o, "", p->port);
    out_text(o, "guid", NULL, OUT_PLAIN, p->guid);
    out_number(o, "lid", NULL, OUT_PLAIN, p->lid);
    out_number(o, "lmc", NULL, OUT_PLAIN, p->lmc);
    out_text(o, "state", NULL, OUT_PLAIN, show_port_state(p->state));
    out_text(o, "physical_state", NULL, OUT_PLAIN, show_physical_state(p->physical_state));
    out_rate_keys(o, p->rate);
    out_rates_keys(o, "", p->rates);
    out_bool(o, "degraded", NULL, OUT_PLAIN, p->degraded);
    out_text(o, "rate_reason", NULL, OUT_PLAIN, p->rate_reason);
    out_text(o, "excluded", NULL, OUT_PLAIN, p->excluded);
    out_number(o, "mtu", NULL, OUT_PLAIN, p->mtu);
    out_number(o, "virtual_lanes", NULL, OUT_PLAIN, p->virtual_lanes);
    out_port_keys(o, "peer_", p->peer);
    out_port_keys(o, "last_peer_", p->last_peer);
    out_time_utc(o, "last_peer_seen", p->last_peer_seen);
}

/* Writes the peer of a port in text output. If the port has no peer, writes its last peer in
 * parentheses. */
static void say_peer(struct out *o, const Fabric__V1__Port *p)
{
    char last[SHOW_LEN];
    show_port(p->last_peer, last);
    if (p->peer == NULL && p->last_peer != NULL)
        out_textf(o, "PEER", OUT_DIM, "(%s)", last);
    else
        out_port(o, "PEER", p->peer);
}

/* Writes the values of a port in a row of text output. */
static void say_labels(struct out *o, const Fabric__V1__Port *p)
{
    char rate[SHOW_LEN];
    out_port(o, "PORT", p->port);
    if (p->excluded[0] != '\0')
        out_text(o, NULL, "STATE", OUT_WARN, p->excluded);
    else
        out_text(o, NULL, "STATE", tone_port_state(p->state), show_port_state(p->state));
    out_text(o, NULL, "PHYSICAL", OUT_PLAIN, show_physical_state(p->physical_state));
    show_rate(p->rate, rate);
    if (p->degraded)
        snprintf(rate + strlen(rate), sizeof rate - strlen(rate), ", degraded");
    out_text(o, NULL, "RATE", p->degraded ? OUT_WARN : OUT_PLAIN, rate);
    if (p->lid != 0)
        out_number(o, NULL, "LID", OUT_PLAIN, p->lid);
    else
        out_none(o, NULL, "LID");
    say_peer(o, p);
}

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Port *p = item;
    out_row(o);
    say_keys(o, p);
    if (out_wants_labels(o))
        say_labels(o, p);
    out_row_end(o);
}

/* Returns the port state that `word`, the argument of --state, names; 0: it names no port state.
 * The list request contains this state, so the manager sends only ports in it. */
static Fabric__V1__PortState state_of(const char *word)
{
    for (int i = FABRIC__V1__PORT_STATE__PORT_STATE_DOWN;
         word != NULL && i <= FABRIC__V1__PORT_STATE__PORT_STATE_ACTIVE; i++)
        if (strcasecmp(word, show_port_state((Fabric__V1__PortState)i)) == 0)
            return (Fabric__V1__PortState)i;
    return FABRIC__V1__PORT_STATE__PORT_STATE_UNSPECIFIED;
}

static int list(struct session *s)
{
    const struct list ports = {
        .method = "ListPorts",
        .reply = &fabric__v1__list_ports_response__descriptor,
        .items = "ports",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = s->state != NULL || s->rack != NULL ? "No port matches." : "There are no ports.",
    };
    Fabric__V1__ListPortsRequest q = FABRIC__V1__LIST_PORTS_REQUEST__INIT;
    if (s->argc > 0)
        q.node = s->argv[0];
    q.rack = word_of(s->rack);
    q.state = state_of(s->state);
    return say_list(s, &ports, &q.base);
}

/* Writes the rates that the port supports and has enabled, and the reason why its link is slower
 * than possible. */
static void say_rates(struct out *o, const Fabric__V1__Port *p)
{
    char supported[SHOW_LEN], enabled[SHOW_LEN];
    if (p->rates == NULL)
        return;
    show_mode(p->rates->supported, supported);
    show_mode(p->rates->enabled, enabled);
    out_textf(o, "Up to", OUT_PLAIN, "%s supported, %s enabled", supported, enabled);
    if (p->rate_reason[0] != '\0')
        out_textf(o, p->degraded ? "Degraded" : "Limited", p->degraded ? OUT_WARN : OUT_PLAIN, "%s",
                  p->rate_reason);
}

static void say(struct out *o, const Fabric__V1__Port *p)
{
    char peer[SHOW_LEN], seen[SHOW_LEN];
    out_record(o, NULL);
    say_keys(o, p);
    out_port(o, "Port", p->port);
    if (p->port != NULL)
        out_text(o, NULL, "Node GUID", OUT_PLAIN, p->port->node_guid);
    if (p->guid[0] != '\0')
        out_text(o, NULL, "Port GUID", OUT_PLAIN, p->guid);
    out_textf(o, "State", tone_port_state(p->state), "%s, %s", show_port_state(p->state),
              show_physical_state(p->physical_state));
    if (p->excluded[0] != '\0')
        out_textf(o, "Excluded", OUT_WARN, "%s", p->excluded);
    if (p->lid != 0)
        out_textf(o, "LID", OUT_PLAIN, "%u (LMC %u)", p->lid, p->lmc);
    if (p->rate != NULL)
        out_rate(o, "Rate", p->rate);
    say_rates(o, p);
    if (p->rate != NULL)
        out_textf(o, "MTU", OUT_PLAIN, "%u bytes, %u virtual lane%s", p->mtu, p->virtual_lanes,
                  fab_base_plural_s(p->virtual_lanes));
    out_port(o, "Peer", p->peer);
    if (p->peer == NULL && p->last_peer != NULL) {
        show_port(p->last_peer, peer);
        show_time(p->last_peer_seen, seen);
        out_textf(o, "Last peer", OUT_PLAIN, "%s, last seen %s", peer, seen);
    }
    out_record_end(o);
}

static int show(struct session *s)
{
    Fabric__V1__GetPortRequest q = FABRIC__V1__GET_PORT_REQUEST__INIT;
    Fabric__V1__GetPortResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    if (rc != EXIT_OK)
        return rc;
    rc = ask(s, "GetPort", &q.base, &fabric__v1__get_port_response__descriptor, &r);
    if (rc == EXIT_OK && r->port != NULL)
        say(s->out, r->port);
    free_reply(r);
    return rc;
}

static int disable(struct session *s)
{
    Fabric__V1__DisablePortRequest q = FABRIC__V1__DISABLE_PORT_REQUEST__INIT;
    Fabric__V1__DisablePortResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    q.dry_run = s->dry_run;
    if (rc == EXIT_OK)
        rc = ask(s, "DisablePort", &q.base, &fabric__v1__disable_port_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

static int enable(struct session *s)
{
    Fabric__V1__EnablePortRequest q = FABRIC__V1__ENABLE_PORT_REQUEST__INIT;
    Fabric__V1__EnablePortResponse *r = NULL;
    int rc = parse_port(s, &q.node, &q.port_number);
    q.dry_run = s->dry_run;
    if (rc == EXIT_OK)
        rc = ask(s, "EnablePort", &q.base, &fabric__v1__enable_port_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_port_list = {
    .noun = "port",
    .verb = "list",
    .args = "[NODE[/PORT]] [--rack RACK]",
    .summary = "all ports, or those of some nodes or of a rack",
    .options = "X",
    .max_args = 1,
    .takes_patterns = true,
    .method = "fabric.v1.FabricService/ListPorts",
    .is_list = true,
    .json = "ports:[ =port_keys ]",
    .run = list,
};
const struct cmd cmd_port_show = {
    .noun = "port",
    .verb = "show",
    .args = "NODE/PORT",
    .summary = "one port",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/GetPort",
    .json = "=port_keys",
    .run = show,
};
const struct cmd cmd_port_disable = {
    .noun = "port",
    .verb = "disable",
    .args = "NODE/PORT [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "disable a port until it is enabled again",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/DisablePort",
    .options = "rlUD",
    .json = "message:text",
    .run = disable,
};
const struct cmd cmd_port_enable = {
    .noun = "port",
    .verb = "enable",
    .args = "NODE/PORT [--dry-run] [--yes] [--local] [--reason TEXT]",
    .summary = "enable a disabled port",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/EnablePort",
    .options = "rlUD",
    .json = "message:text",
    .run = enable,
};
