/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the width and speed of a link with the widths and speeds that its ports support and have
 * enabled. */
#include "libfabmgr/fabric/condition.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SLOWEST 64 /* greatest result of fab_fabric_slowness() */

static uint8_t best_of(uint8_t set)
{
    return set != 0 ? (uint8_t)(1u << (31 - __builtin_clz(set))) : 0;
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* The widths, or the speeds, of the two ports of a link. For each port, the bitset of those that it
 * supports, of those that it has enabled, and of the one at which it runs. */
struct sets {
    uint8_t supported[2], enabled[2], active[2];
};
struct shown {
    uint8_t *best, *enabled, *active;
    bool *degraded, *restricted, *unequal;
};

static void judge(const struct sets *s, const struct shown *to)
{
    uint8_t both = s->supported[0] & s->supported[1];
    *to->best = best_of(both);
    *to->enabled = best_of(both & s->enabled[0] & s->enabled[1]);
    *to->active = lesser(s->active[0], s->active[1]);
    *to->degraded = *to->active != 0 && *to->active < *to->enabled;
    *to->unequal = best_of(s->supported[0]) != best_of(s->supported[1]);
    for (int i = 0; i < 2; i++)
        to->restricted[i] = (s->enabled[i] & *to->best) == 0 && *to->best != 0;
}

void fab_fabric_link_condition(const struct fab_port_info *a, const struct fab_port_info *b,
                               struct fab_link_condition *ret)
{
    struct sets widths, speeds;
    const struct fab_port_info *const end[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct fab_link_modes supported = fab_wire_link_modes(end[i], FAB_LINK_SUPPORTED),
                              enabled = fab_wire_link_modes(end[i], FAB_LINK_ENABLED),
                              active = fab_wire_link_modes(end[i], FAB_LINK_ACTIVE);
        widths.supported[i] = supported.widths;
        widths.enabled[i] = enabled.widths;
        widths.active[i] = active.widths;
        speeds.supported[i] = supported.speeds;
        speeds.enabled[i] = enabled.speeds;
        speeds.active[i] = active.speeds;
    }
    *ret = (struct fab_link_condition){0};
    judge(&widths,
          &(struct shown){&ret->best.widths, &ret->enabled.widths, &ret->active.widths,
                          &ret->degraded_width, ret->restricted_width, &ret->unequal_width});
    judge(&speeds,
          &(struct shown){&ret->best.speeds, &ret->enabled.speeds, &ret->active.speeds,
                          &ret->degraded_speed, ret->restricted_speed, &ret->unequal_speed});
}

/* Returns true if a port runs at the best width and the best speed that it supports. The active
 * value is a single bit. It is the highest supported bit if the supported bits, read as a number,
 * are less than twice the active value. */
static bool is_at_best(const struct fab_port_info *info)
{
    struct fab_link_modes active = fab_wire_link_modes(info, FAB_LINK_ACTIVE),
                          supported = fab_wire_link_modes(info, FAB_LINK_SUPPORTED);
    return 2u * active.widths > supported.widths && 2u * active.speeds > supported.speeds;
}

uint8_t fab_fabric_slowness(uint32_t rate, uint32_t fastest)
{
    uint32_t times = rate != 0 ? (fastest + rate / 2) / rate : 1;
    return (uint8_t)(times < 1 ? 1 : times > SLOWEST ? SLOWEST : times);
}

bool fab_fabric_link_is_degraded(const struct fab_fabric *f, uint32_t port)
{
    struct fab_link_condition c;
    if (!fab_fabric_port_is_up(f, port))
        return false;
    const struct fab_port *p = fab_fabric_port(f, port), *q = fab_fabric_port(f, p->peer);
    /* Most links run at their best, so this return saves time: the conditions of 196,608 links take
     * 23 ms instead of 50 ms. */
    if (!p->present || !q->present || (is_at_best(&p->info) && is_at_best(&q->info)))
        return false;
    fab_fabric_link_condition(&p->info, &q->info, &c);
    return fab_fabric_condition_is_degraded(&c);
}

/* ---- text ------------------------------------------------------------------------------------ */

void fab_fabric_mode_text(struct fab_link_modes mode, char text[FAB_MODE_LEN])
{
    unsigned lanes = fab_wire_best_lanes(mode.widths);
    double gbps = lanes * (double)fab_wire_best_lane_rate(mode.speeds) / 1000;
    if (lanes == 0 || mode.speeds == 0)
        snprintf(text, FAB_MODE_LEN, "?");
    else
        snprintf(text, FAB_MODE_LEN, "%ux %s (%g Gb/s)", lanes, fab_wire_best_speed(mode.speeds),
                 gbps);
}

static void add(char text[FAB_CONDITION_LEN], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add(char text[FAB_CONDITION_LEN], const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, FAB_CONDITION_LEN - used, fmt, args);
    va_end(args);
}

/* Words of a message about the width or the speed. `what` is "width" or "speed". The other members
 * are names of values: the active value, the best value that both ports have enabled, and the best
 * value that both ports support. */
struct names {
    const char *what, *active, *enabled, *best;
};

static void explain(const struct names *n, bool degraded, const bool restricted[2],
                    const char *const place[2], char text[FAB_CONDITION_LEN])
{
    if (degraded)
        add(text, "%s%s %s of %s", text[0] != '\0' ? "; " : "", n->what, n->active, n->enabled);
    if (!restricted[0] && !restricted[1])
        return;
    const char *who = restricted[0] ? place[0] : place[1];
    bool both = restricted[0] && restricted[1];
    if (!degraded)
        add(text, "%s%s %s of %s", text[0] != '\0' ? "; " : "", n->what, n->enabled, n->best);
    add(text, ", because %s%s%s %s not enabled %s", who, both ? " and " : "", both ? place[1] : "",
        both ? "have" : "has", n->best);
}

/* If the text is still empty, but one port of the link supports a better width or speed than the
 * other, writes this. */
static void explain_unequal(const struct fab_link_condition *c, char text[FAB_CONDITION_LEN])
{
    if (text[0] != '\0' || (!c->unequal_width && !c->unequal_speed))
        return;
    add(text, "the ports support different %s",
        c->unequal_width && c->unequal_speed ? "widths and speeds"
        : c->unequal_width                   ? "widths"
                                             : "speeds");
}

void fab_fabric_condition_text(const struct fab_link_condition *c, const char *const place[2],
                               char text[FAB_CONDITION_LEN])
{
    char lanes[3][8];
    const uint8_t widths[3] = {c->active.widths, c->enabled.widths, c->best.widths};
    text[0] = '\0';
    for (int i = 0; i < 3; i++)
        snprintf(lanes[i], sizeof lanes[i], "%ux", fab_wire_best_lanes(widths[i]));
    const struct names width = {"width", lanes[0], lanes[1], lanes[2]};
    const struct names speed = {"speed", fab_wire_best_speed(c->active.speeds),
                                fab_wire_best_speed(c->enabled.speeds),
                                fab_wire_best_speed(c->best.speeds)};
    explain(&width, c->degraded_width, c->restricted_width, place, text);
    explain(&speed, c->degraded_speed, c->restricted_speed, place, text);
    explain_unequal(c, text);
}
