/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The condition of a link. A mode is a width and a speed. A link has three modes: the best mode
 * that both ports support, the best mode that both ports have enabled, and the mode at which the
 * link runs. All values come from PortInfo of the two ports (IBA 14.2.5.6).
 *
 * A link is degraded if it runs below the best width or the best speed that both ports have
 * enabled, because link training should have reached these values. A link is restricted if one of
 * its ports has not enabled the best common width or speed. The operator or a driver wanted this,
 * so such a link is not degraded. If one port supports less than the other port, the best common
 * mode is the best mode of that port, and the link is not degraded either.
 *
 * Known gap: FDR10, a speed that PortInfo cannot represent, counts as QDR. So a link at FDR10
 * between ports that support FDR counts as degraded.
 */
#ifndef LIBFABMGR_FABRIC_CONDITION_H
#define LIBFABMGR_FABRIC_CONDITION_H

#include "libfabmgr/fabric/fabric.h"

struct fab_link_condition {
    /* The three modes of the link. Each has one width (or none) and one speed (or none), as a bit
     * of libfabmgr/wire/wire.h. If one port was read before the link trained again, the ports show
     * different active modes; `active` then has the lower values. */
    struct fab_link_modes best, enabled, active;
    bool degraded_width, degraded_speed;
    /* [0] is true if the first port has not enabled the best common width (or speed); [1] is true
     * if the second port has not. */
    bool restricted_width[2], restricted_speed[2];
    /* true: one port supports a better width (or speed) than the port at the other end */
    bool unequal_width, unequal_speed;
};
/* Computes the condition of the link between two ports. The link must be up. If a port shows no
 * valid width or speed, the link does not count as degraded. */
void fab_fabric_link_condition(const struct fab_port_info *a, const struct fab_port_info *b,
                               struct fab_link_condition *ret);
static inline bool fab_fabric_condition_is_degraded(const struct fab_link_condition *c)
{
    return c->degraded_width || c->degraded_speed;
}
/* Returns true if fab_fabric_condition_text would write "", as for most links. */
static inline bool fab_fabric_condition_is_best(const struct fab_link_condition *c)
{
    return !fab_fabric_condition_is_degraded(c) && !c->restricted_width[0] &&
           !c->restricted_width[1] && !c->restricted_speed[0] && !c->restricted_speed[1] &&
           !c->unequal_width && !c->unequal_speed;
}
/* Returns true if the port has a link that is up and degraded. */
bool fab_fabric_link_is_degraded(const struct fab_fabric *f, uint32_t port);

/* Returns the slowness of a link with the rate `rate`: `fastest`, the rate of the fastest link,
 * divided by `rate`, rounded and limited to 1..64. Returns 1 if `rate` is 0, which means that it is
 * not known. */
uint8_t fab_fabric_slowness(uint32_t rate, uint32_t fastest);

#define FAB_CONDITION_LEN 192
#define FAB_MODE_LEN 48
/* Writes a mode such as "4x EDR (100 Gb/s)", or "?" if the mode is not known. */
void fab_fabric_mode_text(struct fab_link_modes mode, char text[FAB_MODE_LEN]);
/* Writes why the link is slower than it could be, such as "width 1x of 4x" or "speed EDR of HDR,
 * because leaf-1/5 has not enabled HDR". `place` has the names of the two ports. Writes "" if the
 * link runs at the best mode, and both ports support the same best mode. */
void fab_fabric_condition_text(const struct fab_link_condition *c, const char *const place[2],
                               char text[FAB_CONDITION_LEN]);

#endif
