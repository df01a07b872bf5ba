/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flap damping of a link. A link that goes down too often within some time is held down: the
 * manager treats it as down until it has stayed up for the hold-down time, which doubles with each
 * further hold-down. Pure arithmetic; times are microseconds of any monotonic clock, and never 0.
 */
#ifndef LIBFABMGR_HEALTH_DAMPING_H
#define LIBFABMGR_HEALTH_DAMPING_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_DAMPING_FLAPS 16 /* how many flaps are remembered */

struct fab_damping_rule {
    uint32_t flaps;            /* number of flaps that lead to a hold-down, 1..FAB_DAMPING_FLAPS */
    uint64_t within_us;        /* all these flaps must be within this time */
    uint64_t hold_down_us;     /* the first hold-down */
    uint64_t max_hold_down_us; /* the longest hold-down, at least hold_down_us. If a released
                                  link stays up for this time, its next hold-down is as short as
                                  the first */
};

struct fab_damping {
    uint64_t flap_us[FAB_DAMPING_FLAPS]; /* ring, see fab_health_damping_flap_time */
    uint64_t flaps;                      /* number of flaps so far */
    uint64_t discounted;                 /* number of the earliest flaps, which no longer count */
    uint64_t hold_down_us; /* of the present hold-down, or of the last one; 0: none yet */
    uint64_t up_us;        /* since when the link is up; 0: it is down */
    uint64_t released_us;  /* when the last hold-down ended; 0: never, or it was reset */
    bool held;
};

/* The link went down, or came up. A repeated report of the same state changes nothing. True: the
 * link is held down from now on, and was not before. */
bool fab_health_damping_down(struct fab_damping *d, const struct fab_damping_rule *rule,
                             uint64_t now_us);
void fab_health_damping_up(struct fab_damping *d, uint64_t now_us);
/* When the hold-down ends if the link stays up; 0: the link is not held down, or it is down. */
uint64_t fab_health_damping_due(const struct fab_damping *d);
/* Ends the hold-down. */
void fab_health_damping_release(struct fab_damping *d, uint64_t now_us);
/* Ends the hold-down and judges later flaps as if there had been none before. The flap count and
 * the remembered times stay. */
void fab_health_damping_reset(struct fab_damping *d);
/* True when earlier flaps and hold-downs do not affect how the next flap is judged. */
bool fab_health_damping_is_clear(const struct fab_damping *d, const struct fab_damping_rule *rule,
                                 uint64_t now_us);
/* How many flaps are remembered, and the time of one of them; back == 0 is the newest. */
uint32_t fab_health_damping_flap_count(const struct fab_damping *d);
uint64_t fab_health_damping_flap_time(const struct fab_damping *d, uint32_t back);

#endif
