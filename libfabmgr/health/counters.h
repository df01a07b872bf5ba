/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error counters of ports (IBA 16.1.3.5, 16.1.4.11): how far one rose between two readings,
 * whatever its width, and when that is too much. Pure arithmetic; times are microseconds of any
 * clock.
 */
#ifndef LIBFABMGR_HEALTH_COUNTERS_H
#define LIBFABMGR_HEALTH_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/wire/gs.h"

enum fab_counter {
    FAB_SYMBOL_ERRORS,
    FAB_LINK_ERROR_RECOVERY,
    FAB_LINK_DOWNED,
    FAB_RCV_ERRORS,
    FAB_RCV_REMOTE_PHYSICAL_ERRORS,
    FAB_RCV_SWITCH_RELAY_ERRORS,
    FAB_XMIT_DISCARDS,
    FAB_XMIT_CONSTRAINT_ERRORS,
    FAB_RCV_CONSTRAINT_ERRORS,
    FAB_LOCAL_LINK_INTEGRITY_ERRORS,
    FAB_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
    FAB_VL15_DROPPED,
    FAB_COUNTERS
};
struct fab_counter_kind {
    const char *name;   /* the standard's */
    uint64_t most;      /* where it stops in PortCounters */
    uint32_t threshold; /* a usual one, a minute */
    bool of_cable;      /* what it counts goes wrong on the cable itself */
    uint32_t select;    /* bit of CounterSelect in PortCounters */
};
extern const struct fab_counter_kind fab_health_counter_kinds[FAB_COUNTERS];

/* What stood in a port at one time. */
struct fab_counters {
    uint64_t value[FAB_COUNTERS];
    bool wide; /* from PortCountersExtended: 64 bits, which never fill up */
};
void fab_health_counters_from(const struct fab_port_counters *from, struct fab_counters *ret);
void fab_health_counters_from_ext(const struct fab_port_counters_ext *from,
                                  struct fab_counters *ret);
/* It stands at its end, and counts no more until it is cleared. */
bool fab_health_counters_full(const struct fab_counters *c, enum fab_counter which);
/* CounterSelect of those that are full; 0: none. */
uint16_t fab_health_counters_full_select(const struct fab_counters *c);
/* By how much one rose between two readings. One that is less than before was cleared between
 * them (by somebody, or with its device), or has wrapped at 64 bits. */
uint64_t fab_health_counters_increase(const struct fab_counters *was,
                                      const struct fab_counters *now, enum fab_counter which);
bool fab_health_counters_increased(const struct fab_counters *was, const struct fab_counters *now);

/* ---- what of late ---------------------------------------------------------------------------- */

#define FAB_COUNTERS_KEPT 16 /* readings that are remembered */

struct fab_counter_rule {
    uint64_t within_us;               /* as long as that a rise counts; the last one always does */
    uint32_t threshold[FAB_COUNTERS]; /* a rise by as much within that is too much; 0: never */
};
struct fab_health_history { /* of a port; all zeros: nothing yet */
    struct fab_health_sample {
        uint64_t from_us, to_us; /* of both readings */
        uint64_t rise[FAB_COUNTERS];
    } sample[FAB_COUNTERS_KEPT]; /* ring, see fab_health_sample */
    uint64_t count;              /* ever */
    uint64_t sum[FAB_COUNTERS];  /* of all */
    bool full[FAB_COUNTERS];     /* at the last reading: what it really rose by is not known */
};
void fab_health_history_add(struct fab_health_history *h, uint64_t from_us, uint64_t to_us,
                            const struct fab_counters *was, const struct fab_counters *now);
/* 0 is the newest, of at most FAB_COUNTERS_KEPT. */
const struct fab_health_sample *fab_health_sample(const struct fab_health_history *h,
                                                  uint32_t back);
uint32_t fab_health_sample_count(const struct fab_health_history *h);
/* The rise of late; ret_us (may be NULL): the time that it took. */
uint64_t fab_health_recent_increase(const struct fab_health_history *h,
                                    const struct fab_counter_rule *rule, enum fab_counter which,
                                    uint64_t *ret_us);
/* The counter that is furthest beyond its threshold, of those of the cable only or of all;
 * FAB_COUNTERS: none is. */
enum fab_counter fab_health_worst_counter(const struct fab_health_history *h,
                                          const struct fab_counter_rule *rule, bool of_cable);

#endif
