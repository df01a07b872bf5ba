/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the congestion control attributes that a device must have (IBA A10.4.3.6 - A10.4.3.9).
 *
 * The manager reads an attribute from the device and changes only the fields that it manages. All
 * other fields keep their values: the settings for credit starvation, the settings of ports without
 * a link, and the entries after the end of the computed control table. Fields such as Control_Map
 * only say which fields a Set changes, so a comparison with the device leaves them out.
 */
#include <string.h>

#include "fabricd/cc/private.h"

#define PORTS_A_BLOCK 32
/* Value of Control_Map with which a Set changes the victim mask (0x01), the threshold with the
 * packet size (0x04), and the marking rate (0x10) */
#define MAP_SWITCH 0x15u
#define MAP_ALL_SLS 0xffffu

static const struct fab_congestion_port *setting_of(const struct cc *cc, const struct cc_device *d,
                                                    uint32_t num)
{
    uint16_t i = cc->settings.of_port[d->port + num];
    return i != FAB_CONGESTION_NONE ? &cc->settings.port[i] : NULL;
}

static const struct fab_congestion_adapter *adapter_of(const struct cc *cc,
                                                       const struct cc_device *d)
{
    return &cc->settings.adapter[cc->settings.of_port[d->port]];
}

/* A switch has one setting for all ports that have no setting of their own. Returns this setting:
 * the one computed for a port that leads to a host or, without such a port, for any port. NULL: no
 * port of the switch has a setting. */
static const struct fab_congestion_port *switch_wide(const struct cc *cc, const struct cc_device *d)
{
    const struct fab_congestion_port *any = NULL;
    for (uint32_t num = 1; num <= d->ports; num++) {
        const struct fab_congestion_port *s = setting_of(cc, d, num);
        if (s == NULL)
            continue;
        if (cc->settings.port_basis[cc->settings.of_port[d->port + num]].edge)
            return s;
        any = s;
    }
    return any;
}

static bool merge_switch(const struct cc *cc, const struct cc_device *d, uint8_t *data)
{
    const struct fab_congestion_port *wide = switch_wide(cc, d);
    struct fab_cc_switch_setting was, now;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_switch_setting, data, FAB_GS_DATA, &was);
    now = was;
    for (uint32_t num = 1; num <= d->ports; num++) {
        const struct fab_congestion_port *s = setting_of(cc, d, num);
        uint8_t bit = (uint8_t)(1u << num % 8), *byte = &now.victim_mask[31 - num / 8];
        if (s != NULL)
            *byte = (uint8_t)(s->victim ? *byte | bit : *byte & ~bit);
    }
    if (wide != NULL) {
        now.threshold = wide->threshold;
        now.packet_size = wide->packet_size;
        now.marking_rate = wide->marking_rate;
    }
    bool differs = fab_wire_attr_diff(&fab_wire_attr_cc_switch_setting, &was, &now) != NULL;
    now.control_map = MAP_SWITCH;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_switch_setting, &now, data, FAB_GS_DATA);
    return differs;
}

static bool merge_ports(const struct cc *cc, const struct cc_device *d, uint8_t block,
                        uint8_t *data)
{
    struct fab_cc_switch_port_setting was, now;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_switch_port_setting, data, FAB_GS_DATA, &was);
    now = was;
    for (uint32_t i = 0; i < PORTS_A_BLOCK; i++) {
        uint32_t num = block * PORTS_A_BLOCK + i;
        const struct fab_congestion_port *s =
            num > 0 && num <= d->ports ? setting_of(cc, d, num) : NULL;
        if (s == NULL)
            continue;
        now.port[i].valid = 1;
        /* 0: the threshold is for congestion; 1 would be for credit starvation */
        now.port[i].control_type = 0;
        now.port[i].threshold = s->threshold;
        now.port[i].packet_size = s->packet_size;
        now.port[i].marking_rate = s->marking_rate;
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_switch_port_setting, &now, data, FAB_GS_DATA);
    return fab_wire_attr_diff(&fab_wire_attr_cc_switch_port_setting, &was, &now) != NULL;
}

static bool merge_table(const struct cc *cc, const struct cc_device *d, uint8_t block,
                        uint8_t *data)
{
    const struct fab_congestion_table *t = &adapter_of(cc, d)->table;
    struct fab_cc_table was, now;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_table, data, FAB_GS_DATA, &was);
    now = was;
    now.limit = t->limit;
    for (uint32_t i = 0; i < FAB_CONGESTION_BLOCK; i++) {
        uint32_t at = block * FAB_CONGESTION_BLOCK + i;
        if (at > t->limit)
            break;
        now.entry[i].shift = (uint8_t)(t->entry[at] >> 14);
        now.entry[i].multiplier = t->entry[at] & 0x3fff;
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_table, &now, data, FAB_GS_DATA);
    return fab_wire_attr_diff(&fab_wire_attr_cc_table, &was, &now) != NULL;
}

/* Sets the computed values in the CACongestionSetting of an adapter. Returns true if the values
 * were different before. An SL without congestion control gets a CCTI_Increase of 0. With an
 * increase of 0, packets of this SL are never slowed down. */
static bool merge_ca(const struct cc *cc, const struct cc_device *d, uint8_t *data)
{
    const struct fab_congestion_adapter *a = adapter_of(cc, d);
    struct fab_cc_ca_setting was, now;
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_ca_setting, data, FAB_GS_DATA, &was);
    now = was;
    /* 0: a BECN slows down its queue pair only, and not the whole SL */
    now.port_control = 0;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        bool on = a->sls >> sl & 1;
        now.sl[sl].timer = on ? a->sl[sl].timer : 0;
        now.sl[sl].increase = on ? a->sl[sl].increase : 0;
        now.sl[sl].trigger_threshold = on ? a->sl[sl].trigger : 0;
        now.sl[sl].min = on ? a->sl[sl].min : 0;
    }
    bool differs = fab_wire_attr_diff(&fab_wire_attr_cc_ca_setting, &was, &now) != NULL;
    now.control_map = MAP_ALL_SLS;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_ca_setting, &now, data, FAB_GS_DATA);
    return differs;
}

bool cc_merge(const struct cc *cc, const struct cc_device *d, enum cc_step step, uint8_t block,
              uint8_t *data)
{
    switch (step) {
    case CC_STEP_SWITCH:
        return merge_switch(cc, d, data);
    case CC_STEP_PORTS:
        return merge_ports(cc, d, block, data);
    case CC_STEP_TABLE:
        return merge_table(cc, d, block, data);
    case CC_STEP_CA:
        return merge_ca(cc, d, data);
    default:
        return false;
    }
}

uint8_t cc_blocks(const struct cc *cc, const struct cc_device *d, enum cc_step step)
{
    switch (step) {
    case CC_STEP_PORTS:
        return (uint8_t)(d->ports / PORTS_A_BLOCK + 1);
    case CC_STEP_TABLE:
        return (uint8_t)(adapter_of(cc, d)->table.limit / FAB_CONGESTION_BLOCK + 1);
    default:
        return 1;
    }
}
