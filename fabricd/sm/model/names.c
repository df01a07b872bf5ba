/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the names of nodes and ports for messages. A NodeDescription comes from the device, so
 * control characters in it are replaced by '?'. The operator's names (names.node_name_map) replace
 * NodeDescriptions when the model adopts a snapshot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/model/model.h"

static void clean(char *text)
{
    size_t end = 0;
    for (size_t i = 0; text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f)
            text[i] = '?';
        if (c != ' ')
            end = i + 1;
    }
    text[end] = 0;
}

void sm_node_name(const struct fab_fabric *f, uint32_t node, char name[SM_PLACE_LEN])
{
    snprintf(name, SM_PLACE_LEN, "%s", f->nodes[node].name);
    clean(name);
    if (!name[0])
        snprintf(name, SM_PLACE_LEN, "0x%016" PRIx64, f->nodes[node].guid);
}

void sm_port_name(const struct fab_fabric *f, uint32_t port, char name[SM_PLACE_LEN])
{
    sm_node_name(f, fab_fabric_port(f, port)->node, name);
    size_t len = strlen(name);
    snprintf(name + len, SM_PLACE_LEN - len, "/%u", fab_fabric_port(f, port)->num);
}

void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port, char name[SM_PLACE_LEN])
{
    uint32_t node = f ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    if (node != FAB_NONE && port <= f->nodes[node].num_ports)
        sm_port_name(f, fab_fabric_port_id(f, node, port), name);
    else if (guid)
        snprintf(name, SM_PLACE_LEN, "0x%016" PRIx64 "/%u", guid, port);
    else
        snprintf(name, SM_PLACE_LEN, "our own port");
}

const char *sm_attr_name(uint16_t attr_id)
{
    const struct fab_attr *attr = fab_wire_attr_by_id(attr_id);
    if (attr)
        return attr->name;
    switch (attr_id) {
        /* names of attributes whose fields libfabmgr/wire does not describe */
    case FAB_ATTR_NODE_DESC:
        return "NodeDescription";
    case FAB_ATTR_SL2VL:
        return "SLtoVLMappingTable";
    case FAB_ATTR_VLARB:
        return "VLArbitrationTable";
    case FAB_ATTR_LFT:
        return "LinearForwardingTable";
    case FAB_ATTR_MFT:
        return "MulticastForwardingTable";
    default:
        return "another attribute";
    }
}

void sm_names_give(struct fab_fabric *f, const struct fab_node_names *names)
{
    for (uint32_t n = 0; n < f->node_count; n++)
        fab_fabric_set_name(f, n, fab_policy_node_names_find(names, f->nodes[n].guid));
}
