/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds devices to a builder. GUIDs ascend in the order of insertion: switches from
 * 0x0002c90100000001 in steps of 1, adapters and routers from 0x0002c90200000000 in steps of 4. The
 * GUID of an adapter's port is the node GUID plus the port number (at most MAKE_END_PORTS), as in
 * ibsim. */
#include "libfabmgr/fabric/make.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

#define FIRST_SWITCH UINT64_C(0x0002c90100000001)
#define FIRST_END UINT64_C(0x0002c90200000000)

#define VENDOR 0x2c9
#define DEVICE_SWITCH 0xcf08
#define DEVICE_ADAPTER 0x1017
#define DEVICE_AGGREGATION 0xcf09

void fab_fabric_make_init(struct maker *m)
{
    *m = (struct maker){.b = fab_fabric_builder_new()};
    m->status = m->b != NULL ? FAB_OK : FAB_E_NOMEM;
    fab_fabric_text_parse_rate("4xEDR", 5, &m->rate);
}

uint32_t fab_fabric_make_width(uint64_t count, uint32_t least)
{
    uint32_t width = 1;
    for (; count >= 10; count /= 10)
        width++;
    return width > least ? width : least;
}

uint32_t fab_fabric_make_device(struct maker *m, const struct fab_device *d)
{
    uint32_t ref = FAB_NONE;
    if (m->status == FAB_OK)
        m->status = fab_fabric_device_add(m->b, d, &ref);
    return m->status == FAB_OK ? ref : FAB_NONE;
}

static uint32_t make_called(struct maker *m, struct fab_device *d, const char *desc)
{
    d->desc = desc;
    d->desc_len = strlen(desc);
    return fab_fabric_make_device(m, d);
}

struct text {
    char s[FAB_NODE_DESC_LEN + 1];
};

static struct text name_text(struct make_name name)
{
    struct text t;
    snprintf(t.s, sizeof t.s, "%s-%0*u", name.stem, (int)name.width, name.number);
    return t;
}

uint32_t fab_fabric_make_switch_named(struct maker *m, uint32_t ports, const char *desc)
{
    struct fab_device d = {.type = FAB_NODE_SWITCH,
                           .num_ports = (uint8_t)ports,
                           .guid = FIRST_SWITCH + m->switches++,
                           .vendor_id = VENDOR,
                           .device_id = DEVICE_SWITCH,
                           .enhanced_port0 = true};
    if (ports == 0 || ports > 254)
        m->status = m->status != FAB_OK ? m->status : FAB_E_RANGE;
    return make_called(m, &d, desc);
}

uint32_t fab_fabric_make_switch(struct maker *m, uint32_t ports, struct make_name name)
{
    return fab_fabric_make_switch_named(m, ports, name_text(name).s);
}

static struct fab_device end_device(struct maker *m, uint8_t type, uint32_t ports)
{
    return (struct fab_device){.type = type,
                               .num_ports = (uint8_t)ports,
                               .guid = FIRST_END + (uint64_t)MAKE_END_STEP * m->ends++,
                               .vendor_id = VENDOR,
                               .device_id = DEVICE_ADAPTER};
}

uint32_t fab_fabric_make_host_named(struct maker *m, uint32_t ports, const char *desc)
{
    struct fab_device d = end_device(m, FAB_NODE_CA, ports);
    return make_called(m, &d, desc);
}

uint32_t fab_fabric_make_host(struct maker *m, uint32_t ports, struct make_name name)
{
    return fab_fabric_make_host_named(m, ports, name_text(name).s);
}

void fab_fabric_make_hosts(struct maker *m, uint32_t sw, uint32_t count, uint64_t total)
{
    uint32_t width = fab_fabric_make_width(total, 4);
    for (uint32_t i = 0; i < count && m->status == FAB_OK; i++) {
        struct make_name name = {"host", m->ends + 1, width};
        fab_fabric_make_link(m, sw, i + 1, fab_fabric_make_host(m, 1, name), 1);
    }
}

uint32_t fab_fabric_make_router(struct maker *m, uint32_t ports, struct make_name name)
{
    struct fab_device d = end_device(m, FAB_NODE_ROUTER, ports);
    return make_called(m, &d, name_text(name).s);
}

uint32_t fab_fabric_make_aggregation_with_guid(struct maker *m, uint64_t guid)
{
    struct fab_device d = {.type = FAB_NODE_CA,
                           .num_ports = 1,
                           .guid = guid,
                           .vendor_id = VENDOR,
                           .device_id = DEVICE_AGGREGATION};
    return make_called(m, &d, "Mellanox Technologies Aggregation Node");
}

uint32_t fab_fabric_make_aggregation(struct maker *m)
{
    return fab_fabric_make_aggregation_with_guid(m, end_device(m, FAB_NODE_CA, 1).guid);
}

void fab_fabric_make_link(struct maker *m, uint32_t ref_a, uint32_t port_a, uint32_t ref_b,
                          uint32_t port_b)
{
    if (m->status == FAB_OK)
        m->status = fab_fabric_device_plug(m->b, ref_a, (uint8_t)port_a, 0, &m->rate);
    if (m->status == FAB_OK)
        m->status = fab_fabric_device_plug(m->b, ref_b, (uint8_t)port_b, 0, &m->rate);
    if (m->status == FAB_OK)
        m->status = fab_fabric_builder_link(m->b, ref_a, (uint8_t)port_a, ref_b, (uint8_t)port_b);
}

void fab_fabric_make_links(struct maker *m, uint32_t ref_a, uint32_t port_a, uint32_t ref_b,
                           uint32_t port_b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fab_fabric_make_link(m, ref_a, port_a + i, ref_b, port_b + i);
}

int fab_fabric_make_finish(struct maker *m, struct fab_builder **ret)
{
    if (m->status == FAB_OK)
        *ret = m->b;
    else
        fab_fabric_builder_free(m->b);
    return m->status;
}
