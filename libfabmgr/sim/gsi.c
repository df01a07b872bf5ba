/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The general services that a device itself provides (IBA 13.4): performance management, congestion
 * control, the inventory of the device (vendor class 0x0a), and ClassPortInfo. A device also
 * answers ClassPortInfo of the class of baseboard management (0x05), because real firmware
 * implements this class.
 *
 * Other MADs for QP1 go to the program that is attached to the port. If no program is attached, the
 * simulator refuses a Get or Set of any other class (device management, communication management,
 * subnet administration ...), as hosts do.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/gs.h"

#define CLASS_BASEBOARD 0x05
/* value of RespTimeValue in ClassPortInfo: 4.096 us * 2^18, about 1 s */
#define RESPONSE_TIME 18

static const struct service {
    uint8_t mgmt_class, version;
    uint16_t cap_mask;
    uint32_t cap_mask2;
    uint16_t (*handle)(struct gs_request *r, uint16_t attr_id);
    bool (*key_fits)(struct gs_request *r);
} services[] = {
    {FAB_CLASS_PERF, 1,
     FAB_PERF_ALL_PORT_SELECT | FAB_PERF_EXT_WIDTH | FAB_PERF_XMIT_WAIT | FAB_PERF_QP1_DROPPED,
     FAB_PERF2_ERRORS_EXT, fab_sim_perf_handle, NULL},
    {FAB_CLASS_CC, 2, 0, 0, fab_sim_congestion_handle, fab_sim_congestion_key_fits},
    {CLASS_BASEBOARD, 1, 0, 0, NULL, NULL},
    {FAB_CLASS_VENDOR, 1, 0, 0, fab_sim_vendor_handle, NULL},
};

static const struct service *find(uint8_t mgmt_class)
{
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
        if (services[i].mgmt_class == mgmt_class)
            return &services[i];
    return NULL;
}

bool fab_sim_gsi_serves(const struct fab_sim *s, struct position at, const struct fab_mad *mad)
{
    return (mad->method == FAB_METHOD_GET || mad->method == FAB_METHOD_SET) &&
           (find(mad->mgmt_class) != NULL || !s->ports[lid_port(s, at)].attached);
}

/* Handles the trap destination in ClassPortInfo (IBA 13.4.8.1): a Set stores it, and a Get returns
 * it. All other members of ClassPortInfo are constants of the device. */
static void keep_trap_address(struct gs_request *r, uint8_t mgmt_class,
                              struct fab_class_port_info *info)
{
    uint32_t port = lid_port(r->sim, r->at);
    struct fab_class_port_info want;
    uint8_t data[FAB_GS_DATA];
    if (r->set)
        (void)fab_sim_table_write(r->sim, port, FAB_ATTR_CLASS_PORT_INFO, mgmt_class, r->data);
    if (!fab_sim_table_read(r->sim, port, FAB_ATTR_CLASS_PORT_INFO, mgmt_class, data) ||
        fab_wire_attr_unpack(&fab_wire_attr_class_port_info, data, sizeof data, &want) != FAB_OK)
        return;
    memcpy(info->trap_gid, want.trap_gid, sizeof info->trap_gid);
    info->trap_tc = want.trap_tc;
    info->trap_sl = want.trap_sl;
    info->trap_fl = want.trap_fl;
    info->trap_lid = want.trap_lid;
    info->trap_pkey = want.trap_pkey;
    info->trap_hl = want.trap_hl;
    info->trap_qp = want.trap_qp;
    info->trap_qkey = want.trap_qkey;
}

static uint16_t handle_class_port_info(struct gs_request *r, const struct service *service)
{
    struct fab_class_port_info info = {
        .base_version = 1,
        .class_version = service->version,
        .cap_mask = service->cap_mask,
        .cap_mask2 = service->cap_mask2,
        .resp_time = RESPONSE_TIME,
    };
    keep_trap_address(r, service->mgmt_class, &info);
    (void)fab_wire_attr_pack(&fab_wire_attr_class_port_info, &info, r->data, sizeof r->data);
    return 0;
}

bool fab_sim_gsi_answer(struct fab_sim *s, struct position at, const struct fab_mad *mad,
                        uint8_t bytes[FAB_MAD_SIZE])
{
    const struct service *service = find(mad->mgmt_class);
    struct gs_request r = {.sim = s,
                           .at = at,
                           .set = mad->method == FAB_METHOD_SET,
                           .mod = mad->attr_mod,
                           .mad = bytes};
    uint16_t status = FAB_SMP_BAD_ATTR;
    memcpy(r.data, bytes + FAB_MAD_SIZE - FAB_GS_DATA, FAB_GS_DATA);
    if (service != NULL && service->key_fits != NULL && !service->key_fits(&r))
        return false;
    if (service == NULL)
        status = FAB_SMP_BAD_ATTR;
    else if (mad->class_version != service->version)
        status = FAB_SMP_BAD_VERSION;
    else if (mad->attr_id == FAB_ATTR_CLASS_PORT_INFO)
        status = handle_class_port_info(&r, service);
    else if (service->handle != NULL)
        status = service->handle(&r, mad->attr_id);
    bytes[MAD_METHOD] = FAB_METHOD_GET_RESP;
    fab_base_put_be16(bytes + MAD_STATUS, status);
    memcpy(bytes + FAB_MAD_SIZE - FAB_GS_DATA, r.data, FAB_GS_DATA);
    return true;
}
