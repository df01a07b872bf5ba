/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes for which the report asks. fabricd also reads all of them in normal operation. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/hardware/private.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/inventory/device.h"
#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/vendor.h"

#define HEADER 24 /* bytes of the common header of a MAD */
#define SMP .mgmt_class = FAB_CLASS_SMP_DIRECTED
#define PERF .mgmt_class = FAB_CLASS_PERF, .at = FAB_PERF_DATA - HEADER
#define CC .mgmt_class = FAB_CLASS_CC, .at = FAB_CC_DATA - HEADER

const struct hardware_probe hardware_probes[HARDWARE_PROBES] = {
    {SMP, .name = "NodeInfo", .attr_id = FAB_ATTR_NODE_INFO, .attr = &fab_wire_attr_node_info,
     .use = "discovery"},
    {SMP, .name = "NodeDescription", .attr_id = FAB_ATTR_NODE_DESC, .use = "names"},
    {SMP, .name = "SwitchInfo", .attr_id = FAB_ATTR_SWITCH_INFO, .devices = DEVICES_SWITCHES,
     .attr = &fab_wire_attr_switch_info, .use = "table sizes, light sweeps"},
    {SMP, .name = "PortInfo", .attr_id = FAB_ATTR_PORT_INFO, .modifier = MODIFIER_PORT,
     .attr = &fab_wire_attr_port_info, .use = "links, rates, port state"},
    {SMP, .name = "GUIDInfo", .attr_id = FAB_ATTR_GUID_INFO, .attr = &fab_wire_attr_guid_block,
     .use = "alias GUIDs"},
    {SMP, .name = "P_KeyTable", .attr_id = FAB_ATTR_PKEY_TABLE, .attr = &fab_wire_attr_pkey_block,
     .use = "partitions"},
    {SMP, .name = "SLtoVLMappingTable", .attr_id = FAB_ATTR_SL2VL, .modifier = MODIFIER_PORT,
     .attr = &fab_wire_attr_sl2vl, .use = "virtual lanes"},
    {SMP, .name = "VLArbitration", .attr_id = FAB_ATTR_VLARB, .modifier = MODIFIER_VLARB,
     .attr = &fab_wire_attr_vlarb, .use = "traffic classes"},
    {SMP, .name = "LinearForwardingTable", .attr_id = FAB_ATTR_LFT, .devices = DEVICES_SWITCHES,
     .use = "routes"},
    {SMP, .name = "MulticastForwardingTable", .attr_id = FAB_ATTR_MFT, .devices = DEVICES_SWITCHES,
     .use = "multicast"},
    {SMP, .name = "ExtendedPortInfo (vendor)", .attr_id = FAB_ATTR_MLNX_EXT_PORT_INFO,
     .devices = DEVICES_VENDOR, .modifier = MODIFIER_PORT, .use = "speed FDR10"},
    {.mgmt_class = FAB_CLASS_SMP_LID,
     .name = "NodeInfo, LID routed",
     .attr_id = FAB_ATTR_NODE_INFO,
     .attr = &fab_wire_attr_node_info,
     .use = "programming of tables"},
    {PERF, .name = "PerfMgt ClassPortInfo", .attr_id = FAB_ATTR_CLASS_PORT_INFO,
     .attr = &fab_wire_attr_class_port_info, .use = "which counters exist"},
    {PERF, .name = "PortCounters", .attr_id = FAB_PERF_PORT_COUNTERS, .port_select = true,
     .attr = &fab_wire_attr_port_counters, .use = "errors"},
    {PERF, .name = "PortCountersExtended", .attr_id = FAB_PERF_PORT_COUNTERS_EXT,
     .port_select = true, .attr = &fab_wire_attr_port_counters_ext, .use = "rates"},
    {CC, .name = "CongestionControl ClassPortInfo", .attr_id = FAB_ATTR_CLASS_PORT_INFO,
     .attr = &fab_wire_attr_class_port_info, .use = "congestion control"},
    {CC, .name = "CongestionInfo", .attr_id = FAB_CC_CONGESTION_INFO,
     .attr = &fab_wire_attr_cc_info, .use = "congestion control"},
    {.mgmt_class = FAB_CLASS_VENDOR,
     .name = "GeneralInfo (vendor)",
     .attr_id = FAB_VENDOR_GENERAL_INFO,
     .at = FAB_VENDOR_DATA - HEADER,
     .devices = DEVICES_VENDOR,
     .use = "inventory"},
};

bool hardware_applies(const struct hardware_probe *p, const struct fab_node_info *node)
{
    switch (p->devices) {
    case DEVICES_SWITCHES:
        return node->node_type == FAB_NODE_SWITCH;
    case DEVICES_VENDOR:
        return fab_inventory_is_known_vendor(node->vendor_id);
    case DEVICES_ALL:
        break;
    }
    return true;
}

/* The function unpacks the attribute and packs it again. This loses all bits that fabricd does not
 * know, so bytes with such bits differ from the original ones. */
uint32_t hardware_unknown_bytes(const struct hardware_probe *p, const uint8_t *bytes, size_t len,
                                uint32_t *ret_first)
{
    uint32_t count = 0;
    *ret_first = 0;
    if (p->attr == NULL || len < p->attr->wire_size)
        return 0;
    void *value = calloc(1, p->attr->struct_size);
    uint8_t *known = calloc(1, p->attr->wire_size);
    if (value && known && fab_wire_attr_unpack(p->attr, bytes, len, value) == FAB_OK &&
        fab_wire_attr_pack(p->attr, value, known, p->attr->wire_size) == FAB_OK) {
        for (uint32_t i = p->attr->wire_size; i-- > 0;)
            if (known[i] != bytes[i]) {
                count++;
                *ret_first = i;
            }
    }
    free(known);
    free(value);
    return count;
}
