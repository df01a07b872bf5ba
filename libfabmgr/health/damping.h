/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flap damping of a link. A link that goes down too often within some time is held down: the
 * manager treats it as down until it has stayed up for the hold-down time. With each further
 * hold-down, the hold-down time doubles, up to a maximum. The functions do no I/O. Times are
 * microseconds of any monotonic clock, and never 0.
 */
#ifndef LIBFABMGR_HEALTH_DAMPING_H
#define LIBFABMGR_HEALTH_DAMPING_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_DAMPING_FLAPS 16 /* number of flaps whose times are stored */

struct fab_damping_rule {
    /* A hold-down begins after this number of flaps within `within_us`; 1 to FAB_DAMPING_FLAPS.
     * After a hold-down, a single flap begins the next one, until the link has been up for
     * max_hold_down_us. */
    uint32_t flaps;
    /* time over which flaps are counted, in us */
    uint64_t within_us;
    /* Duration of the first hold-down in us. */
    uint64_t hold_down_us;
    /* longest duration of a hold-down in us, at least `hold_down_us`. If a link stays up for this
     * time after the end of a hold-down, its next hold-down is as short as the first one. */
    uint64_t max_hold_down_us;
};

struct fab_damping {
    uint64_t flap_us[FAB_DAMPING_FLAPS]; /* a ring buffer; use fab_health_damping_flap_time */
    /* number of all flaps of the link so far */
    uint64_t flaps;
    /* number of flaps that happened before the end of the last hold-down, or before the last reset;
     * they do not count towards a new hold-down */
    uint64_t discounted;
    /* duration of the present or last hold-down in us; 0: there was none since the last reset */
    uint64_t hold_down_us;
    /* Time in us at which the link came up; 0: the link is down. */
    uint64_t up_us;
    /* time in us at which the last hold-down ended; 0: no hold-down has ended since the last
     * reset */
    uint64_t released_us;
    bool held;
};

/* Call fab_health_damping_down when the link goes down, and fab_health_damping_up when it comes up.
 * They do nothing if the link is in this state already. fab_health_damping_down returns true if
 * this flap begins a hold-down. */
bool fab_health_damping_down(struct fab_damping *d, const struct fab_damping_rule *rule,
                             uint64_t now_us);
void fab_health_damping_up(struct fab_damping *d, uint64_t now_us);
/* Returns the time at which the hold-down ends if the link stays up; 0: the link is down, or not
 * held down. */
uint64_t fab_health_damping_due(const struct fab_damping *d);
/* Ends the hold-down at the time `now_us`. */
void fab_health_damping_release(struct fab_damping *d, uint64_t now_us);
/* Ends the hold-down, and forgets all earlier hold-downs. The flaps so far will not count towards a
 * later hold-down, but `flaps` and the stored times of flaps stay. */
void fab_health_damping_reset(struct fab_damping *d);
/* Returns true if the link is judged like a new link: its earlier flaps and hold-downs have no
 * effect on the next flap. */
bool fab_health_damping_is_clear(const struct fab_damping *d, const struct fab_damping_rule *rule,
                                 uint64_t now_us);
/* fab_health_damping_flap_count returns the number of flaps whose times are stored.
 * fab_health_damping_flap_time returns the time of the flap that was followed by `back` more flaps:
 * with 0 the time of the last flap. */
uint32_t fab_health_damping_flap_count(const struct fab_damping *d);
uint64_t fab_health_damping_flap_time(const struct fab_damping *d, uint32_t back);

#endif
