/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the fields of PortInfo that describe a link (IBA 14.2.5.6): width, speed, states, MTU and
 * VLs.
 *
 * Three fields give the speed of a lane: LinkSpeedActive (SDR, DDR, QDR), LinkSpeedExtActive (FDR
 * to NDR) and LinkSpeedExtActive2 (XDR). If several of them are not 0, the last one of this list is
 * valid. The valid field has exactly one bit set. The fields of supported and enabled speeds are
 * bitsets.
 */
#include <string.h>

#include "libfabmgr/wire/wire.h"

/* The widths, and the lane speeds: element i belongs to bit i of `widths` and of `speeds` in struct
 * fab_link_modes. */
static const uint8_t lanes[FAB_LINK_WIDTHS] = {1, 2, 4, 8, 12};
static const struct lane {
    const char *name;
    uint32_t rate; /* nominal data rate of one lane in Mb/s */
} speeds[FAB_LINK_SPEEDS] = {{"SDR", 2500},  {"DDR", 5000},  {"QDR", 10000},  {"FDR", 14000},
                             {"EDR", 25000}, {"HDR", 50000}, {"NDR", 100000}, {"XDR", 200000}};

/* LinkSpeedExtEnabled has this value if the operator disabled all extended speeds. */
#define EXT_DISABLED 30

/* ---- bits of PortInfo as sets of modes ------------------------------------------------------- */

/* Converts a field LinkWidth* to a bitset of widths. In the field, bit 0 is 1x, bits 1 to 3 are 4x,
 * 8x and 12x, and bit 4 is 2x. */
static uint8_t width_set(uint8_t mask)
{
    return (uint8_t)((mask & 0x01) | (mask & 0x0e) << 1 | (mask & 0x10) >> 3);
}

/* Converts the three fields of one kind (supported, enabled or active speeds) to a bitset of
 * speeds. In LinkSpeed*, bits 0 to 2 are SDR to QDR. In LinkSpeedExt*, bits 0 to 3 are FDR to NDR.
 * In LinkSpeedExt*2, bit 0 is XDR. */
static uint8_t speed_set(uint8_t basic, uint8_t ext, uint8_t ext2)
{
    return (uint8_t)((basic & 0x07) | (ext & 0x0f) << 3 | (ext2 & 0x01) << 7);
}

static struct fab_link_modes supported(const struct fab_port_info *p)
{
    return (struct fab_link_modes){
        width_set(p->width_supported),
        speed_set(p->speed_supported, p->speed_ext_supported, p->speed_ext2_supported)};
}

static struct fab_link_modes enabled(const struct fab_port_info *p)
{
    struct fab_link_modes all = supported(p), set;
    uint8_t ext = p->speed_ext_enabled != EXT_DISABLED ? p->speed_ext_enabled : 0;
    set.widths = width_set(p->width_enabled) & all.widths;
    set.speeds = speed_set(p->speed_enabled, ext, p->speed_ext2_enabled) & all.speeds;
    if (set.widths == 0)
        set.widths = all.widths;
    if (set.speeds == 0)
        set.speeds = all.speeds;
    return set;
}

static bool is_one_bit(uint8_t mask)
{
    return mask != 0 && (mask & (mask - 1)) == 0;
}

/* Reads the active width and speed. If the field that gives the width or the speed does not have
 * exactly one known bit, the set of widths or speeds is empty. */
static struct fab_link_modes active(const struct fab_port_info *p)
{
    uint8_t speed = p->speed_ext2_active != 0  ? p->speed_ext2_active
                    : p->speed_ext_active != 0 ? p->speed_ext_active
                                               : p->speed_active;
    struct fab_link_modes set = {0};
    if (is_one_bit(p->width_active))
        set.widths = width_set(p->width_active);
    if (!is_one_bit(speed))
        return set;
    if (p->speed_ext2_active != 0)
        set.speeds = speed_set(0, 0, speed);
    else if (p->speed_ext_active != 0)
        set.speeds = speed_set(0, speed, 0);
    else
        set.speeds = speed_set(speed, 0, 0);
    return set;
}

struct fab_link_modes fab_wire_link_modes(const struct fab_port_info *info,
                                          enum fab_link_setting setting)
{
    switch (setting) {
    case FAB_LINK_SUPPORTED:
        return supported(info);
    case FAB_LINK_ENABLED:
        return enabled(info);
    default:
        return active(info);
    }
}

/* Returns the position of the highest bit in a set, which must not be empty. */
static unsigned highest(uint8_t set)
{
    return 31u - (unsigned)__builtin_clz(set);
}

unsigned fab_wire_best_lanes(uint8_t set)
{
    return set != 0 && set < 1u << FAB_LINK_WIDTHS ? lanes[highest(set)] : 0;
}

const char *fab_wire_best_speed(uint8_t set)
{
    return set != 0 ? speeds[highest(set)].name : "?";
}

uint32_t fab_wire_best_lane_rate(uint8_t set)
{
    return set != 0 ? speeds[highest(set)].rate : 0;
}

uint32_t fab_wire_speed_rate(const char *speed)
{
    for (size_t i = 0; i < FAB_LINK_SPEEDS; i++)
        if (strcmp(speeds[i].name, speed) == 0)
            return speeds[i].rate;
    return 0;
}

/* ---- the active mode ------------------------------------------------------------------------- */

unsigned fab_wire_link_width(const struct fab_port_info *info)
{
    return fab_wire_best_lanes(active(info).widths);
}

const char *fab_wire_link_speed(const struct fab_port_info *info)
{
    return fab_wire_best_speed(active(info).speeds);
}

uint32_t fab_wire_link_rate(const struct fab_port_info *info)
{
    struct fab_link_modes mode = active(info);
    return fab_wire_best_lanes(mode.widths) * fab_wire_best_lane_rate(mode.speeds);
}

/* ---- states, MTU and VLs --------------------------------------------------------------------- */

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
