/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands `fabricctl inventory nodes` and `inventory cables`. */
#include <string.h>

#include "cli/ctl/gone.h"
#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/inventory.pb-c.h"

/* ---- values ---------------------------------------------------------------------------------- */

static const char *state_word(Fabric__V1__InventoryState state)
{
    switch (state) {
    case FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_READ:
        return "read";
    case FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_UNSUPPORTED:
        return "unsupported";
    case FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_NO_ANSWER:
        return "no-answer";
    default:
        return "unread";
    }
}

static void say_celsius(struct out *o, const char *key, const char *label, enum out_tone tone,
                        double celsius)
{
    if (celsius != 0)
        out_real(o, key, label, tone, celsius, 1);
    else
        out_none(o, key, label);
}

static void say_temperature(struct out *o, const Fabric__V1__Temperature *t, bool of_module)
{
    if (t != NULL)
        out_real(o, "celsius", "CELSIUS", t->high ? OUT_BAD : OUT_PLAIN, t->celsius, 1);
    else
        out_none(o, "celsius", "CELSIUS");
    say_celsius(o, "limit_celsius", NULL, OUT_PLAIN, t != NULL ? t->limit_celsius : 0);
    if (of_module)
        say_celsius(o, "warning_celsius", NULL, OUT_PLAIN, t != NULL ? t->warning_celsius : 0);
    out_bool(o, "hot", NULL, OUT_PLAIN, t != NULL && t->high);
}

static void say_reading(struct out *o, bool reading)
{
    if (!reading)
        out_note(o, OUT_WARN,
                 "The manager does not read devices: the setting inventory.read is no "
                 "(fabricd.yaml(5)).");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct out_column node_columns[] = {
    {"name", "NAME", false},         {"state", "STATE", false},
    {"product", "PRODUCT", false},   {"part", "PART", false},
    {"serial", "SERIAL", false},     {"psid", "PSID", false},
    {"firmware", "FIRMWARE", false}, {"usual_firmware", "USUAL", false},
    {"celsius", "CELSIUS", true},
};

static void say_fans(struct out *o, const Fabric__V1__NodeInventory *n)
{
    uint64_t least = 0;
    for (size_t i = 0; i < n->n_fan_rpm; i++)
        if (i == 0 || n->fan_rpm[i] < least)
            least = n->fan_rpm[i];
    out_number(o, "fans", NULL, OUT_PLAIN, n->n_fan_rpm);
    out_number(o, "slowest_fan_rpm", NULL, OUT_PLAIN, least);
}

static void say_node_keys(struct out *o, const Fabric__V1__NodeInventory *n)
{
    static const Fabric__V1__Location unknown = FABRIC__V1__LOCATION__INIT;
    Fabric__V1__Node node = FABRIC__V1__NODE__INIT;
    node.type = n->type;
    out_text(o, "type", NULL, OUT_PLAIN, show_node_type(&node));
    out_keys(o, &n->base, "guid vendor_id device_id hardware_revision");
    out_text(o, "revision", NULL, OUT_PLAIN, n->revision);
    out_text(o, "firmware_date", NULL, OUT_PLAIN, n->firmware_date);
    out_bool(o, "odd_firmware", NULL, OUT_PLAIN, n->odd_firmware);
    say_fans(o, n);
    out_number(o, "uptime_seconds", NULL, OUT_PLAIN,
               n->uptime != NULL ? (uint64_t)n->uptime->seconds : 0);
    out_number(o, "cables", NULL, OUT_PLAIN, n->module_count);
    out_time_utc(o, "read_time", n->read_time);
    out_bool(o, "gone", NULL, OUT_PLAIN, n->gone);
    out_keys(o, n->location != NULL ? &n->location->base : &unknown.base, "rack row slot");
}

static void say_node(struct out *o, const void *item)
{
    const Fabric__V1__NodeInventory *n = item;
    bool read = n->state == FABRIC__V1__INVENTORY_STATE__INVENTORY_STATE_READ;
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, n->name);
    out_text(o, "state", "STATE", read ? OUT_PLAIN : OUT_WARN, state_word(n->state));
    out_text(o, "product", "PRODUCT", OUT_PLAIN, n->product_name);
    out_text(o, "part", "PART", OUT_PLAIN, n->part_number);
    out_text(o, "serial", "SERIAL", OUT_PLAIN, n->serial_number);
    out_text(o, "psid", "PSID", OUT_PLAIN, n->psid);
    out_text(o, "firmware", "FIRMWARE", n->odd_firmware ? OUT_WARN : OUT_PLAIN, n->firmware);
    out_text(o, "usual_firmware", "USUAL", OUT_PLAIN, n->odd_firmware ? n->usual_firmware : "");
    say_temperature(o, n->temperature, false);
    say_node_keys(o, n);
    out_row_end(o);
}

static void say_nodes_end(struct out *o, const void *last_page)
{
    say_reading(o, ((const Fabric__V1__ListNodeInventoryResponse *)last_page)->reading);
}

static int list_nodes(struct session *s)
{
    static const struct list nodes = {
        .method = "ListNodeInventory",
        .reply = &fabric__v1__list_node_inventory_response__descriptor,
        .items = "nodes",
        .columns = node_columns,
        .column_count = sizeof node_columns / sizeof node_columns[0],
        .say_row = say_node,
        .none = "There are no such nodes.",
        .say_end = say_nodes_end,
    };
    Fabric__V1__ListNodeInventoryRequest q = FABRIC__V1__LIST_NODE_INVENTORY_REQUEST__INIT;
    if (s->gone && (s->rack != NULL || s->odd || s->hot))
        return complain(EXIT_USAGE, "--gone excludes --rack, --odd and --hot");
    q.rack = word_of(s->rack);
    q.odd = s->odd;
    q.hot = s->hot;
    q.gone = s->gone;
    int rc = read_type_and_node(s, &q.type, &q.name);
    if (rc == EXIT_OK && s->gone && q.name[0] != '\0')
        rc = complain(EXIT_USAGE, "--gone takes no node");
    return rc != EXIT_OK ? rc : say_list(s, &nodes, &q.base);
}

/* ---- cables ---------------------------------------------------------------------------------- */

static const struct out_column cable_columns[] = {
    {NULL, "PORT", false},        {NULL, "PEER", false},
    {"kind", "KIND", false},      {"medium", "MEDIUM", false},
    {"vendor", "VENDOR", false},  {"part", "PART", false},
    {"serial", "SERIAL", false},  {"length_metres", "METRES", true},
    {"celsius", "CELSIUS", true},
};

static void say_cable(struct out *o, const void *item)
{
    const Fabric__V1__CableInventory *m = item;
    enum out_tone tone = m->damaged ? OUT_WARN : OUT_PLAIN;
    out_row(o);
    out_port_keys(o, "", m->port);
    out_port_keys(o, "peer_", m->peer);
    out_port(o, "PORT", m->port);
    out_port(o, "PEER", m->peer);
    out_text(o, "kind", "KIND", OUT_PLAIN, m->kind);
    out_text(o, "medium", "MEDIUM", OUT_PLAIN, m->medium);
    out_text(o, "vendor", "VENDOR", tone, m->vendor);
    out_text(o, "part", "PART", tone, m->part_number);
    out_text(o, "serial", "SERIAL", tone, m->serial_number);
    if (m->length_metres != 0)
        out_real(o, "length_metres", "METRES", OUT_PLAIN, m->length_metres, 1);
    else
        out_none(o, "length_metres", "METRES");
    say_temperature(o, m->temperature, true);
    out_text(o, "revision", NULL, OUT_PLAIN, m->revision);
    out_text(o, "date", NULL, OUT_PLAIN, m->date);
    say_celsius(o, "power_watts", NULL, OUT_PLAIN, m->power_watts);
    out_bool(o, "damaged", NULL, OUT_PLAIN, m->damaged);
    out_time_utc(o, "read_time", m->read_time);
    out_row_end(o);
}

static void say_cables_end(struct out *o, const void *last_page)
{
    say_reading(o, ((const Fabric__V1__ListCableInventoryResponse *)last_page)->reading);
}

static int list_cables(struct session *s)
{
    static const struct list cables = {
        .method = "ListCableInventory",
        .reply = &fabric__v1__list_cable_inventory_response__descriptor,
        .items = "cables",
        .columns = cable_columns,
        .column_count = sizeof cable_columns / sizeof cable_columns[0],
        .say_row = say_cable,
        .none = "No such cables are known.",
        .say_end = say_cables_end,
    };
    Fabric__V1__ListCableInventoryRequest q = FABRIC__V1__LIST_CABLE_INVENTORY_REQUEST__INIT;
    q.node = word_of(s->argc > 0 ? s->argv[0] : NULL);
    q.hot = s->hot;
    q.rack = word_of(s->rack);
    return say_list(s, &cables, &q.base);
}

const struct cmd cmd_inventory_nodes = {
    .noun = "inventory",
    .verb = "nodes",
    .args = "[switch|adapter|router] [NODE] [--rack RACK] [--odd | --hot | --gone]",
    .summary = "part, serial number, firmware and temperature of devices; --odd: those with other "
               "firmware than their peers; --hot: those above a limit",
    .max_args = 2,
    .options = "BX=~",
    .method = "fabric.v1.FabricService/ListNodeInventory",
    .is_list = true,
    .takes_patterns = true,
    .json = "nodes:[ name:text state:'read'|'unsupported'|'no-answer'|'unread' product:text "
            "part:text serial:text psid:text firmware:text usual_firmware:text "
            "celsius:real|null limit_celsius:real|null hot:bool type:node_type "
            "@NodeInventory(guid vendor_id device_id hardware_revision) revision:text "
            "firmware_date:text odd_firmware:bool fans:u32 slowest_fan_rpm:u64 "
            "uptime_seconds:u64 cables:u32 read_time:time gone:bool =place ]",
    .run = list_nodes,
};
const struct cmd cmd_inventory_cables = {
    .noun = "inventory",
    .verb = "cables",
    .args = "[NODE[/PORT]] [--rack RACK] [--hot]",
    .summary = "cables and optics: part, serial number, length and temperature; --hot: those above "
               "a limit",
    .max_args = 1,
    .options = "X~",
    .method = "fabric.v1.FabricService/ListCableInventory",
    .is_list = true,
    .takes_patterns = true,
    .json = "cables:[ =port =port(peer_) kind:text medium:text vendor:text part:text "
            "serial:text length_metres:amount|null celsius:real|null limit_celsius:real|null "
            "warning_celsius:real|null hot:bool revision:text date:text "
            "power_watts:amount|null damaged:bool read_time:time ]",
    .run = list_cables,
};
