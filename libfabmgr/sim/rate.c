/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Width and speed of a link (IBA 14.2.5.6). After training, both ends run at the greatest width and
 * speed that the cable supports and that both ports have enabled (LinkWidthEnabled,
 * LinkSpeedEnabled and their extensions). If the cable and the two ports have no width or no speed
 * in common, the link stays down. The cable supports the width and speed that the snapshot shows,
 * or less after fab_sim_degrade.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

static const struct width {
    uint8_t lanes, code;
    /* {number of lanes, IBA encoding of the width}, the greatest width first */
} widths[] = {{12, 8}, {8, 4}, {4, 2}, {2, 16}, {1, 1}};

static const struct speed {
    const char *name;
    uint8_t basic, ext, ext2;
} speeds[] = {
    {"XDR", 4, 0, 1}, {"NDR", 4, 8, 0}, {"HDR", 4, 4, 0}, {"EDR", 4, 2, 0},
    {"FDR", 4, 1, 0}, {"QDR", 4, 0, 0}, {"DDR", 2, 0, 0}, {"SDR", 1, 0, 0},
};
#define WIDTHS (sizeof widths / sizeof widths[0])
#define SPEEDS (sizeof speeds / sizeof speeds[0])

static uint8_t lanes_of(uint8_t code)
{
    for (size_t i = 0; i < WIDTHS; i++)
        if (widths[i].code == code)
            return widths[i].lanes;
    return 0;
}

/* Returns the index in speeds[] of the port's active speed; SPEEDS (the length of the array): the
 * speed is not in speeds[]. */
static size_t speed_of(const struct fab_port_info *info)
{
    size_t i = 0;
    while (i < SPEEDS &&
           (speeds[i].basic != info->speed_active || speeds[i].ext != info->speed_ext_active ||
            speeds[i].ext2 != info->speed_ext2_active))
        i++;
    return i;
}

/* Returns true if a port enables the width or speed whose bit is `code`. `enabled` has the bits
 * that are enabled now; 0: all are. In the snapshot, `usual_enabled` are the enabled bits, and
 * `usual` is the active bit. If the active bit of the snapshot is not among its enabled bits, it
 * counts as enabled until a Set changes the enabled bits. */
static bool enables(uint8_t enabled, uint8_t code, uint8_t usual_enabled, uint8_t usual)
{
    return enabled == 0 || (enabled & code) != 0 || (enabled == usual_enabled && code == usual);
}

static bool enables_width(const struct fab_sim *s, uint32_t port, const struct width *w)
{
    const struct fab_port_info *info = &s->ports[port].info,
                               *usual = &fab_fabric_port(s->fabric, port)->info;
    return enables(info->width_enabled, w->code, usual->width_enabled, usual->width_active);
}

static bool enables_speed(const struct fab_sim *s, uint32_t port, const struct speed *v)
{
    const struct fab_port_info *info = &s->ports[port].info,
                               *usual = &fab_fabric_port(s->fabric, port)->info;
    if (v->ext2 != 0)
        return enables(info->speed_ext2_enabled, v->ext2, usual->speed_ext2_enabled,
                       usual->speed_ext2_active);
    if (v->ext != 0)
        return enables(info->speed_ext_enabled, v->ext, usual->speed_ext_enabled,
                       usual->speed_ext_active);
    return enables(info->speed_enabled, v->basic, usual->speed_enabled, usual->speed_active);
}

static const struct width *best_width(const struct fab_sim *s, uint32_t near, uint32_t far)
{
    uint8_t most = s->ports[near].max_lanes;
    if (most == 0)
        most = lanes_of(fab_fabric_port(s->fabric, near)->info.width_active);
    for (size_t i = 0; i < WIDTHS; i++)
        if (widths[i].lanes <= most && enables_width(s, near, &widths[i]) &&
            enables_width(s, far, &widths[i]))
            return &widths[i];
    return NULL;
}

static const struct speed *best_speed(const struct fab_sim *s, uint32_t near, uint32_t far)
{
    size_t i = s->ports[near].max_speed > 0 ? s->ports[near].max_speed - 1u
                                            : speed_of(&fab_fabric_port(s->fabric, near)->info);
    for (; i < SPEEDS; i++)
        if (enables_speed(s, near, &speeds[i]) && enables_speed(s, far, &speeds[i]))
            return &speeds[i];
    return NULL;
}

/* Returns true if the active width and the active speed that the snapshot has for this port are in
 * widths[] and speeds[]. */
static bool is_known(const struct fab_sim *s, uint32_t port)
{
    const struct fab_port_info *usual = &fab_fabric_port(s->fabric, port)->info;
    return lanes_of(usual->width_active) != 0 && speed_of(usual) < SPEEDS;
}

static void run_at(struct fab_port_info *info, const struct width *w, const struct speed *v)
{
    info->width_active = w->code;
    info->speed_active = v->basic;
    info->speed_ext_active = v->ext;
    info->speed_ext2_active = v->ext2;
}

bool fab_sim_link_negotiate(struct fab_sim *s, uint32_t near, uint32_t far)
{
    if (!is_known(s, near) || !is_known(s, far))
        return true;
    const struct width *w = best_width(s, near, far);
    const struct speed *v = best_speed(s, near, far);
    if (w == NULL || v == NULL)
        return false;
    run_at(&s->ports[near].info, w, v);
    run_at(&s->ports[far].info, w, v);
    return true;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool find_speed(const char *name, uint8_t *ret)
{
    for (size_t i = 0; i < SPEEDS; i++) {
        if (strcmp(speeds[i].name, name) == 0) {
            *ret = (uint8_t)(i + 1);
            return true;
        }
    }
    return false;
}

static bool is_width(unsigned lanes)
{
    for (size_t i = 0; i < WIDTHS; i++)
        if (widths[i].lanes == lanes)
            return true;
    return false;
}

int fab_sim_degrade(struct fab_sim *s, uint32_t node, uint8_t port, unsigned lanes,
                    const char *speed)
{
    uint32_t id;
    uint8_t max_speed = 0;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK)
        return status;
    if ((lanes != 0 && !is_width(lanes)) || (speed != NULL && !find_speed(speed, &max_speed)))
        return FAB_E_INVAL;
    uint32_t far = fab_fabric_port(s->fabric, id)->peer;
    s->ports[id].max_lanes = s->ports[far].max_lanes = (uint8_t)lanes;
    s->ports[id].max_speed = s->ports[far].max_speed = max_speed;
    if (s->ports[id].info.phys_state == FAB_PHYS_LINKUP) {
        fab_sim_link_down(s, id, FAB_PHYS_POLLING);
        fab_sim_link_train(s, id);
    }
    return FAB_OK;
}
