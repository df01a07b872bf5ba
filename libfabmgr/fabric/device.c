/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds devices with the attributes that they have after power-on. Where the standard leaves a
 * choice (IBA 14.2.5.3, 14.2.5.4, 14.2.5.6), the values are those of common hardware: 8 data VLs,
 * tables for all unicast LIDs, MTU 4096. NeighborMTU is 4096 from the start. OpenSM would otherwise
 * take the link down to change it, and both ports would count that in LinkDownedCounter. */
#include "libfabmgr/fabric/device.h"

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/builder.h"

/* bits of PortInfo:CapabilityMask, IBA 14.2.5.6 */
#define CAP_TRAP (1u << 3)
#define CAP_AUTOMATIC_MIGRATION (1u << 5)
#define CAP_SL_MAPPING (1u << 6)
#define CAP_SYSTEM_IMAGE_GUID (1u << 11)
#define CAP_EXTENDED_SPEEDS (1u << 14)
#define CAP_COMMUNICATION_MANAGEMENT (1u << 16)
#define CAP_CLIENT_REREGISTRATION (1u << 25)

static const struct fab_port_info any_port = {
    .width_enabled = 3, /* 1x, 4x */
    .width_supported = 3,
    .width_active = 1,
    .speed_supported = 7, /* SDR, DDR, QDR */
    .speed_enabled = 7,
    .speed_active = 1,
    .port_state = FAB_STATE_DOWN,
    .phys_state = FAB_PHYS_POLLING,
    .down_default_state = 2, /* Polling */
    .neighbor_mtu = 5,
    .mtu_cap = 5,
    .vl_cap = 4, /* VL0-7 */
    .op_vls = 4,
    .vlarb_high_cap = 8,
    .vlarb_low_cap = 8,
    .vl_stall_count = 7,
    .hoq_life = 31,
    .local_phy_errors = 8,
    .overrun_errors = 8,
};

/* Sets the attributes that only ports with a LID have: port 0 of switches, and ports of adapters
 * and routers. */
static void make_endport(struct fab_port_info *info, uint8_t type)
{
    info->gid_prefix = UINT64_C(0xfe80000000000000);
    info->subnet_timeout = 18;
    info->resp_time = 16;
    info->guid_cap = 8;
    info->cap_mask = CAP_TRAP | CAP_SL_MAPPING | CAP_SYSTEM_IMAGE_GUID | CAP_EXTENDED_SPEEDS;
    if (type != FAB_NODE_SWITCH)
        info->cap_mask |=
            CAP_AUTOMATIC_MIGRATION | CAP_COMMUNICATION_MANAGEMENT | CAP_CLIENT_REREGISTRATION;
}

static void port_after_power_on(const struct fab_device *d, uint8_t num,
                                struct fab_port_info *ret_info)
{
    struct fab_port_info info = any_port;
    info.local_port = num;
    if (num == 0 || d->type != FAB_NODE_SWITCH)
        make_endport(&info, d->type);
    if (num == 0) {
        info.port_state = FAB_STATE_ACTIVE;
        info.phys_state = FAB_PHYS_LINKUP;
        info.op_vls = info.vl_cap = 1;
        info.vlarb_high_cap = info.vlarb_low_cap = 0;
    }
    *ret_info = info;
}

static struct fab_node_info node_info(const struct fab_device *d)
{
    bool sw = d->type == FAB_NODE_SWITCH;
    uint64_t port_guid = d->port_guid != 0 ? d->port_guid : d->guid + !sw;
    return (struct fab_node_info){.base_version = 1,
                                  .class_version = 1,
                                  .node_type = d->type,
                                  .num_ports = d->num_ports,
                                  .system_guid = d->system_guid != 0 ? d->system_guid : d->guid,
                                  .node_guid = d->guid,
                                  .port_guid = port_guid,
                                  .partition_cap = sw ? 8 : 64,
                                  .device_id = d->device_id,
                                  .revision = 0xa1,
                                  .local_port = !sw,
                                  .vendor_id = d->vendor_id};
}

static int add_ports(struct fab_builder *b, const struct fab_device *d, uint32_t ref)
{
    bool sw = d->type == FAB_NODE_SWITCH;
    for (unsigned num = !sw; num <= d->num_ports; num++) {
        struct fab_port_info info;
        port_after_power_on(d, (uint8_t)num, &info);
        int status =
            fab_fabric_builder_set_port(b, ref, (uint8_t)num, sw ? 0 : d->guid + num, &info);
        if (status != FAB_OK)
            return status;
    }
    return FAB_OK;
}

int fab_fabric_device_add(struct fab_builder *b, const struct fab_device *d, uint32_t *ret_ref)
{
    struct fab_node_info info = node_info(d);
    struct fab_switch_info switch_info = {.linear_fdb_cap = 0xc000,
                                          .multicast_fdb_cap = 0x400,
                                          .partition_enforcement_cap = 32,
                                          .optimized_sl2vl = 1,
                                          .enhanced_port0 = d->enhanced_port0};
    uint32_t ref;
    if (fab_fabric_builder_find_node(b, d->guid, &ref) == FAB_OK)
        return FAB_E_EXISTS;
    int status = fab_fabric_builder_add_node(b, &info, &ref);
    if (status != FAB_OK)
        return status;
    fab_fabric_builder_set_desc(b, ref, d->desc, d->desc_len);
    if (d->type == FAB_NODE_SWITCH)
        fab_fabric_builder_set_switch_info(b, ref, &switch_info);
    *ret_ref = ref;
    return add_ports(b, d, ref);
}

static void copy_rate(const struct fab_port_info *from, struct fab_port_info *to)
{
    to->width_enabled = from->width_enabled;
    to->width_supported = from->width_supported;
    to->width_active = from->width_active;
    to->speed_enabled = from->speed_enabled;
    to->speed_supported = from->speed_supported;
    to->speed_active = from->speed_active;
    to->speed_ext_enabled = from->speed_ext_enabled;
    to->speed_ext_supported = from->speed_ext_supported;
    to->speed_ext_active = from->speed_ext_active;
    to->speed_ext2_enabled = from->speed_ext2_enabled;
    to->speed_ext2_supported = from->speed_ext2_supported;
    to->speed_ext2_active = from->speed_ext2_active;
}

int fab_fabric_device_plug(struct fab_builder *b, uint32_t ref, uint8_t port, uint64_t port_guid,
                           const struct fab_port_info *rate)
{
    const struct fab_port_info *was = fab_fabric_builder_get_port_info(b, ref, port);
    if (was == NULL || port == 0)
        return FAB_E_RANGE;
    struct fab_port_info info = *was;
    copy_rate(rate, &info);
    info.port_state = FAB_STATE_INIT;
    info.phys_state = FAB_PHYS_LINKUP;
    return fab_fabric_builder_set_port(b, ref, port, port_guid, &info);
}
