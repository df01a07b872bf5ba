/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts "4x EDR" to and from bits of PortInfo (IBA 14.2.5.6: LinkWidth*, LinkSpeed*,
 * LinkSpeedExt*). A port with a certain rate gets PortInfo as if it supported and enabled this rate
 * and lower ones. If the speed is an extended speed, LinkSpeedActive is QDR, as in real devices.
 * FDR10, a vendor's speed that PortInfo cannot represent, becomes QDR. */
#include "libfabmgr/fabric/rate.h"

#include <stdbool.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

static const struct width {
    const char *name;
    /* `bit` is the bit of this width. `upto` has the bits of the widths that a port with this width
     * supports: this width and the lower ones that are usual with it. */
    uint8_t bit, upto;
} widths[] = {/* widest first */
              {"12x", 8, 1 | 2 | 8},
              {"8x", 4, 1 | 2 | 4},
              {"4x", 2, 1 | 2},
              {"2x", 16, 1 | 16},
              {"1x", 1, 1}};

static const struct speed {
    const char *name;
    /* bits of LinkSpeedActive, LinkSpeedExtActive and LinkSpeedExtActive2 */
    uint8_t plain, ext, ext2;
} speeds[] = {{"XDR", 4, 0, 1}, {"NDR", 4, 8, 0}, {"HDR", 4, 4, 0},
              {"EDR", 4, 2, 0}, {"FDR", 4, 1, 0}, {"QDR", 4, 0, 0},
              {"DDR", 2, 0, 0}, {"SDR", 1, 0, 0}, {"FDR10", 4, 0, 0}};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static uint8_t upto(uint8_t bit)
{
    return (uint8_t)(bit * 2 - (bit != 0));
}

static void set_width(struct fab_port_info *info, const struct width *w)
{
    info->width_enabled = info->width_supported = w->upto;
    info->width_active = w->bit;
}

static void set_speed(struct fab_port_info *info, const struct speed *s)
{
    info->speed_enabled = info->speed_supported = upto(s->plain);
    info->speed_active = s->plain;
    info->speed_ext_enabled = info->speed_ext_supported = s->ext2 != 0 ? 15 : upto(s->ext);
    info->speed_ext_active = s->ext;
    info->speed_ext2_enabled = info->speed_ext2_supported = upto(s->ext2);
    info->speed_ext2_active = s->ext2;
}

static bool is(const char *s, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(s, name, len) == 0;
}

/* Finds the width at the beginning of the text of a rate; NULL: the text does not begin with a
 * known width. *ret_used is the length of the name of the width, for example 2 in "4x EDR". */
static const struct width *find_width(const char *s, size_t len, size_t *ret_used)
{
    const char *x = memchr(s, 'x', len);
    if (x == NULL)
        return NULL;
    *ret_used = (size_t)(x - s) + 1;
    for (size_t i = 0; i < COUNT(widths); i++)
        if (is(s, *ret_used, widths[i].name))
            return &widths[i];
    return NULL;
}

static const struct speed *find_speed(const char *s, size_t len)
{
    for (size_t i = 0; i < COUNT(speeds); i++)
        if (is(s, len, speeds[i].name))
            return &speeds[i];
    return NULL;
}

int fab_fabric_text_parse_rate(const char *s, size_t len, struct fab_port_info *info)
{
    size_t used = 0;
    const struct width *w = find_width(s, len, &used);
    while (used < len && s[used] == ' ')
        used++;
    const struct speed *speed = find_speed(s + used, len - used);
    if (w == NULL || speed == NULL)
        return FAB_E_FORMAT;
    set_width(info, w);
    set_speed(info, speed);
    return FAB_OK;
}

int fab_fabric_rate_width_mask(struct fab_port_info *info, uint64_t mask)
{
    if (mask == 0 || mask > 31)
        return FAB_E_RANGE;
    size_t best = 0;
    while ((widths[best].bit & mask) == 0)
        best++;
    info->width_enabled = (uint8_t)mask;
    info->width_supported |= (uint8_t)mask;
    info->width_active = widths[best].bit;
    return FAB_OK;
}

/* Returns the highest bit set in a mask other than 0. */
static uint8_t highest(uint64_t mask)
{
    return (uint8_t)(1u << (63 - __builtin_clzll(mask)));
}

int fab_fabric_rate_speed_mask(struct fab_port_info *info, uint64_t mask)
{
    if (mask == 0 || mask > 7)
        return FAB_E_RANGE;
    info->speed_enabled = (uint8_t)mask;
    info->speed_supported |= (uint8_t)mask;
    info->speed_active = highest(mask);
    return FAB_OK;
}

int fab_fabric_rate_extended_mask(struct fab_port_info *info, uint64_t mask)
{
    if (mask > 15)
        return FAB_E_RANGE;
    info->speed_ext_enabled = (uint8_t)mask;
    info->speed_ext_supported |= (uint8_t)mask;
    info->speed_ext_active = mask != 0 ? highest(mask) : 0;
    return FAB_OK;
}

const char *fab_fabric_rate_width_name(const struct fab_port_info *info)
{
    for (size_t i = 0; i < COUNT(widths); i++)
        if (widths[i].bit == info->width_active)
            return widths[i].name;
    return "";
}

const char *fab_fabric_rate_speed_name(const struct fab_port_info *info)
{
    for (size_t i = 0; i < COUNT(speeds); i++)
        if (speeds[i].ext2 != 0
                ? speeds[i].ext2 == info->speed_ext2_active
                : info->speed_ext2_active == 0 && speeds[i].ext == info->speed_ext_active &&
                      (speeds[i].ext != 0 || speeds[i].plain == info->speed_active))
            return speeds[i].name;
    return "";
}
