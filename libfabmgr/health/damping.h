/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Damping of something that comes and goes: after so many falls within a while it is held until it
 * has stayed up for a time, which doubles each time that it is held again. Pure arithmetic; times
 * are microseconds of whatever clock the caller has, never 0.
 */
#ifndef LIBFABMGR_HEALTH_DAMPING_H
#define LIBFABMGR_HEALTH_DAMPING_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_DAMPING_FLAPS 16 /* remembered */

struct fab_damping_rule {
    uint32_t falls;     /* that lead to a hold, 1..FAB_DAMPING_FLAPS */
    uint64_t within_us; /* as long as that they count */
    uint64_t hold_us;   /* the first hold */
    uint64_t most_us;   /* the longest, at least hold_us; free for so long: forgiven */
};

struct fab_damping {
    uint64_t fall_us[FAB_DAMPING_FLAPS]; /* ring, see fab_health_damping_flap_time */
    uint64_t falls;                      /* ever */
    uint64_t forgiven;                   /* of them, that count no more */
    uint64_t hold_us;                    /* of the present hold, or the last; 0: none yet */
    uint64_t up_us;                      /* since when it is up; 0: it is down */
    uint64_t free_us;                    /* when the last hold ended; 0: none did, or forgiven */
    bool held;
};

/* It fell, or rose; nothing happens where that is known. True: it is held from now on, and was not
 * before. */
bool fab_health_damping_down(struct fab_damping *d, const struct fab_damping_rule *rule,
                             uint64_t now_us);
void fab_health_damping_up(struct fab_damping *d, uint64_t now_us);
/* When it may go free if nothing happens; 0: it is not held, or is down. */
uint64_t fab_health_damping_due(const struct fab_damping *d);
/* It goes free now. */
void fab_health_damping_release(struct fab_damping *d, uint64_t now_us);
/* All that was is forgiven (and not forgotten): it goes free as one that never fell. */
void fab_health_damping_reset(struct fab_damping *d);
/* There is nothing any more that a later fall would be judged by. */
bool fab_health_damping_is_clear(const struct fab_damping *d, const struct fab_damping_rule *rule,
                                 uint64_t now_us);
/* Falls that are remembered, and the time of one of them; 0 is the newest. */
uint32_t fab_health_damping_flap_count(const struct fab_damping *d);
uint64_t fab_health_damping_flap_time(const struct fab_damping *d, uint32_t back);

#endif
