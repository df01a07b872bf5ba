/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the fields of PortInfo that describe a link (IBA 14.2.5.6): width, speed, states, MTU and
 * VLs.
 *
 * Three fields give the speed of a lane: LinkSpeedActive (SDR, DDR, QDR), LinkSpeedExtActive (FDR
 * to NDR) and LinkSpeedExtActive2 (XDR). If several of them are not 0, the last one in this order
 * is valid. The valid field has exactly one bit set.
 */
#include "libfabmgr/wire/wire.h"

struct lane {
    const char *name;
    /* nominal data rate of one lane in Mb/s */
    uint32_t rate;
};
static const struct lane unknown_lane = {"?", 0};

unsigned fab_wire_link_width(const struct fab_port_info *info)
{
    switch (info->width_active) {
    case 0x01:
        return 1;
    case 0x02:
        return 4;
    case 0x04:
        return 8;
    case 0x08:
        return 12;
    case 0x10:
        return 2;
    default:
        return 0;
    }
}

/* Returns the element of lanes[] whose index is the number of the bit that is set in `value`, or
 * unknown_lane unless exactly one bit is set. */
static const struct lane *lane_of_bit(const struct lane *lanes, unsigned count, unsigned value)
{
    for (unsigned i = 0; i < count; i++)
        if (value == 1u << i)
            return &lanes[i];
    return &unknown_lane;
}

static const struct lane *active_lane(const struct fab_port_info *info)
{
    static const struct lane basic[] = {{"SDR", 2500}, {"DDR", 5000}, {"QDR", 10000}};
    static const struct lane ext[] = {
        {"FDR", 14000}, {"EDR", 25000}, {"HDR", 50000}, {"NDR", 100000}};
    static const struct lane ext2[] = {{"XDR", 200000}};
    if (info->speed_ext2_active != 0)
        return lane_of_bit(ext2, 1, info->speed_ext2_active);
    if (info->speed_ext_active != 0)
        return lane_of_bit(ext, 4, info->speed_ext_active);
    return lane_of_bit(basic, 3, info->speed_active);
}

const char *fab_wire_link_speed(const struct fab_port_info *info)
{
    return active_lane(info)->name;
}

uint32_t fab_wire_link_rate(const struct fab_port_info *info)
{
    return fab_wire_link_width(info) * active_lane(info)->rate;
}

const char *fab_wire_port_state_name(uint8_t state)
{
    static const char *const names[] = {"NoChange", "Down", "Init", "Armed", "Active"};
    return state < sizeof names / sizeof names[0] ? names[state] : "?";
}

const char *fab_wire_phys_state_name(uint8_t state)
{
    static const char *const names[] = {"NoChange", "Sleep",  "Polling",       "Disabled",
                                        "Training", "LinkUp", "ErrorRecovery", "PhyTest"};
    return state < sizeof names / sizeof names[0] ? names[state] : "?";
}

unsigned fab_wire_mtu_bytes(uint8_t mtu_enum)
{
    return mtu_enum >= 1 && mtu_enum <= 5 ? 128u << mtu_enum : 0;
}

unsigned fab_wire_op_vls_count(uint8_t op_vls)
{
    static const uint8_t counts[] = {0, 1, 2, 4, 8, 15};
    return op_vls < sizeof counts ? counts[op_vls] : 0;
}
