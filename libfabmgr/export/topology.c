/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the formats that show only the topology: ibnetdiscover, Graphviz and JSON.
 *
 * Graphviz and JSON list all nodes first, then all links. Each link appears once, from the port
 * with the lower id.
 */
#include <inttypes.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/export/writer.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/wire/wire.h"

/* ---- ibnetdiscover --------------------------------------------------------------------------- */

/* Prepares an export in the format of ibnetdiscover. libfabmgr/fabric/text_write.c writes this
 * format, and takes the LIDs from PortInfo. Therefore this function copies the fabric, and writes
 * in->lids into the PortInfo of the copy. If in->lids is NULL, the LIDs are those that the ports
 * report. */

static int open_ibnetdiscover(struct fab_export *e)
{
    int rc = fab_fabric_clone(e->in.fabric, &e->copy);
    if (rc < 0)
        return rc;
    /* text_write.c writes NodeDescriptions, so these are replaced by the names of the nodes */
    for (uint32_t n = 0; n < e->copy->node_count; n++)
        memcpy(e->copy->nodes[n].desc, e->copy->nodes[n].name, sizeof e->copy->nodes[n].desc);
    for (uint32_t port = 0; e->in.lids != NULL && port < e->copy->port_count; port++) {
        uint32_t lid = e->in.lids->base[port];
        if (lid != 0 && lid <= UINT16_MAX) {
            fab_fabric_edit_port(e->copy, port)->info.lid = (uint16_t)lid;
            fab_fabric_edit_port(e->copy, port)->info.lmc = e->in.lids->lmc[port];
        }
    }
    return FAB_OK;
}

static bool write_ibnetdiscover(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    if (row >= fab_fabric_text_parts(e->copy))
        return false;
    fab_fabric_text_write_part(e->copy, (uint32_t)row, t);
    return true;
}

const struct fab_export_writer fab_export_write_ibnetdiscover = {.open = open_ibnetdiscover,
                                                                 .write = write_ibnetdiscover};

/* ---- Graphviz -------------------------------------------------------------------------------- */

static bool is_first_end(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->peer != FAB_NONE && port < fab_fabric_port(f, port)->peer;
}

static void dot_node(const struct fab_export *e, uint32_t id, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_node *n = &f->nodes[id];
    fab_base_text_addf(t, "  \"%016" PRIx64 "\" [label=", n->guid);
    fab_export_add_quoted(t, n->name);
    if (fab_fabric_node_is_switch(f, id))
        fab_base_text_add(t, ", shape=box, style=filled, fillcolor=lightgrey");
    else if (n->aggregation)
        fab_base_text_add(t, ", shape=diamond");
    uint32_t lid = fab_export_lid(e, n->first_port + !fab_fabric_node_is_switch(f, id));
    if (lid != 0)
        fab_base_text_addf(t, ", tooltip=\"LID %u\"", lid);
    fab_base_text_add(t, "];\n");
}

static void dot_cable(const struct fab_export *e, uint32_t port, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_port *a = fab_fabric_port(f, port), *b = fab_fabric_port(f, a->peer);
    fab_base_text_addf(t, "  \"%016" PRIx64 "\" -- \"%016" PRIx64 "\" [taillabel=\"%u\", ",
                       f->nodes[a->node].guid, f->nodes[b->node].guid, a->num);
    fab_base_text_addf(t, "headlabel=\"%u\", tooltip=\"%ux %s\"", b->num,
                       fab_wire_link_width(&a->info), fab_wire_link_speed(&a->info));
    fab_base_text_addf(t, "%s];\n", fab_fabric_port_is_up(f, port) ? "" : ", style=dashed");
}

static bool write_dot(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    uint64_t ports_end = 1 + (uint64_t)f->node_count + f->port_count;
    if (row == 0)
        fab_base_text_add(t, "graph fabric {\n  graph [overlap=false, splines=true];\n"
                             "  node [fontsize=10]; edge [fontsize=8];\n");
    else if (row <= f->node_count)
        dot_node(e, (uint32_t)row - 1, t);
    else if (row < ports_end && is_first_end(f, (uint32_t)(row - 1 - f->node_count)))
        dot_cable(e, (uint32_t)(row - 1 - f->node_count), t);
    else if (row == ports_end)
        fab_base_text_add(t, "}\n");
    return row <= ports_end;
}

const struct fab_export_writer fab_export_write_dot = {.write = write_dot};

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *type_name(const struct fab_node *n)
{
    if (n->type == FAB_NODE_SWITCH)
        return "switch";
    if (n->type == FAB_NODE_ROUTER)
        return "router";
    return n->aggregation ? "aggregation" : "adapter";
}

static void json_ports(const struct fab_export *e, uint32_t id, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const char *comma = "";
    fab_base_text_add(t, ", \"lids\": [");
    for (uint32_t i = 0; i <= f->nodes[id].num_ports; i++) {
        uint32_t port = f->nodes[id].first_port + i;
        if (e->in.lids->base[port] == 0)
            continue;
        fab_base_text_addf(
            t, "%s{\"port\": %u, \"guid\": \"0x%016" PRIx64 "\", \"lid\": %u, \"lmc\": %u}", comma,
            i, fab_fabric_port(f, port)->guid, e->in.lids->base[port], e->in.lids->lmc[port]);
        comma = ", ";
    }
    fab_base_text_add(t, "]");
}

static void json_node(const struct fab_export *e, uint32_t id, struct fab_text *t)
{
    const struct fab_node *n = &e->in.fabric->nodes[id];
    fab_base_text_addf(t, "%s    {\"guid\": \"0x%016" PRIx64 "\", \"name\": ", id > 0 ? ",\n" : "",
                       n->guid);
    fab_export_add_quoted(t, n->name);
    fab_base_text_addf(t, ", \"type\": \"%s\", \"vendor\": \"0x%06x\", \"device\": \"0x%04x\", ",
                       type_name(n), n->info.vendor_id, n->info.device_id);
    fab_base_text_addf(t, "\"system_guid\": \"0x%016" PRIx64 "\", \"ports\": %u",
                       n->info.system_guid, n->num_ports);
    json_ports(e, id, t);
    fab_base_text_add(t, "}");
}

static void json_end(const struct fab_export *e, uint32_t port, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    fab_base_text_addf(t, "{\"guid\": \"0x%016" PRIx64 "\", \"port\": %u}",
                       f->nodes[fab_fabric_port(f, port)->node].guid,
                       fab_fabric_port(f, port)->num);
}

static void json_cable(const struct fab_export *e, uint32_t port, bool first, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    fab_base_text_add(t, first ? "    {\"a\": " : ",\n    {\"a\": ");
    json_end(e, port, t);
    fab_base_text_add(t, ", \"b\": ");
    json_end(e, fab_fabric_port(f, port)->peer, t);
    fab_base_text_addf(t, ", \"up\": %s, \"state\": \"%s\", \"width\": %u, \"speed\": \"%s\", ",
                       fab_fabric_port_is_up(f, port) ? "true" : "false",
                       fab_wire_port_state_name(info->port_state), fab_wire_link_width(info),
                       fab_wire_link_speed(info));
    fab_base_text_addf(t, "\"rate_mbps\": %u}", fab_wire_link_rate(info));
}

static uint32_t first_cable(const struct fab_fabric *f)
{
    for (uint32_t port = 0; port < f->port_count; port++)
        if (is_first_end(f, port))
            return port;
    return FAB_NONE;
}

static int open_json(struct fab_export *e)
{
    e->first = first_cable(e->in.fabric);
    return FAB_OK;
}

static void json_top(const struct fab_export *e, struct fab_text *t)
{
    fab_base_text_addf(t, "{\n  \"generation\": %" PRIu64 ",\n  \"engine\": ", e->in.generation);
    fab_export_add_quoted(t, e->in.engine != NULL ? e->in.engine : "");
    fab_base_text_add(t, ",\n  \"nodes\": [\n");
}

static bool write_json(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    uint64_t links = 1 + (uint64_t)f->node_count, end = links + 1 + f->port_count;
    uint32_t port = row > links && row < end ? (uint32_t)(row - links - 1) : 0;
    if (row == 0)
        json_top(e, t);
    else if (row < links)
        json_node(e, (uint32_t)row - 1, t);
    else if (row == links)
        fab_base_text_add(t, "\n  ],\n  \"links\": [\n");
    else if (row < end && is_first_end(f, port))
        json_cable(e, port, port == e->first, t);
    else if (row == end)
        fab_base_text_add(t, "\n  ]\n}\n");
    return row <= end;
}

const struct fab_export_writer fab_export_write_json = {.open = open_json, .write = write_json};
