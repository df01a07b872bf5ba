/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error counters of ports (IBA 16.1.3.5, 16.1.4.11): the functions compute by how much a
 * counter of any width rose between two readings, and whether a rise reaches a threshold. The
 * functions do no I/O. Times are microseconds of any monotonic clock.
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
    const char *name; /* name in the IBA specification */
    /* Maximum value of the counter in PortCounters. The counter stops at this value. */
    uint64_t most;
    /* default threshold: the rise of the counter in one minute (fab_counter_rule.threshold) */
    uint32_t threshold;
    /* true: the counter counts errors of the link itself; false: it counts effects of congestion,
     * or of faults elsewhere */
    bool of_cable;
    /* the bit of CounterSelect that selects this counter in PortCounters */
    uint32_t select;
};
extern const struct fab_counter_kind fab_health_counter_kinds[FAB_COUNTERS];

/* The values of a port's error counters at one reading. */
struct fab_counters {
    uint64_t value[FAB_COUNTERS];
    /* true: the counters were read from PortCountersExtended. They have 64 bits, so in practice
     * they never stop. */
    bool wide;
};
void fab_health_counters_from(const struct fab_port_counters *from, struct fab_counters *ret);
void fab_health_counters_from_ext(const struct fab_port_counters_ext *from,
                                  struct fab_counters *ret);
/* Returns true if the counter has reached its maximum value. Such a counter does not count until it
 * is cleared. */
bool fab_health_counters_full(const struct fab_counters *c, enum fab_counter which);
/* Returns a value of CounterSelect that selects all counters which have reached their maximum
 * value; 0 if there are none. */
uint16_t fab_health_counters_full_select(const struct fab_counters *c);
/* Returns by how much a counter rose between two readings. If the counter is lower than before, the
 * function assumes that a program or a restart of the device has cleared it, and returns its new
 * value. But if a 64-bit counter was near its maximum and is now near 0, the function assumes that
 * it has wrapped, and returns the difference modulo 2^64. */
uint64_t fab_health_counters_increase(const struct fab_counters *was,
                                      const struct fab_counters *now, enum fab_counter which);
bool fab_health_counters_increased(const struct fab_counters *was, const struct fab_counters *now);

/* ---- recent readings ------------------------------------------------------------------------- */

#define FAB_COUNTERS_KEPT 16 /* number of samples that a history keeps */

struct fab_counter_rule {
    /* A length of time in us, which ends at the last reading. A sample counts if the middle of its
     * time span is within this time. The newest sample always counts. */
    uint64_t within_us;
    /* [counter] the threshold of each counter: the counter crosses it by a rise of at least this
     * value within `within_us`; 0: this counter has no threshold */
    uint32_t threshold[FAB_COUNTERS];
};
/* The newest samples of a port; all bytes zero: none yet. */
struct fab_health_history {
    struct fab_health_sample {
        uint64_t from_us, to_us; /* times of the two readings between which the counters rose */
        uint64_t rise[FAB_COUNTERS];
    } sample[FAB_COUNTERS_KEPT]; /* a ring buffer; use fab_health_sample */
    uint64_t count;              /* number of samples that were ever added */
    /* [counter] sum of the rises in all samples that were ever added, including samples that are no
     * longer kept */
    uint64_t sum[FAB_COUNTERS];
    /* true: the counter had its maximum value at the last reading, so it may have missed errors */
    bool full[FAB_COUNTERS];
};
void fab_health_history_add(struct fab_health_history *h, uint64_t from_us, uint64_t to_us,
                            const struct fab_counters *was, const struct fab_counters *now);
/* Returns the sample after which `back` more samples were added: with 0 the newest sample, with 1
 * the sample before it. `back` must be less than fab_health_sample_count(). */
const struct fab_health_sample *fab_health_sample(const struct fab_health_history *h,
                                                  uint32_t back);
uint32_t fab_health_sample_count(const struct fab_health_history *h);
/* Returns by how much a counter rose within rule->within_us. *ret_us receives the sum in us of the
 * time spans of the samples that count; `ret_us` may be NULL. */
uint64_t fab_health_recent_increase(const struct fab_health_history *h,
                                    const struct fab_counter_rule *rule, enum fab_counter which,
                                    uint64_t *ret_us);
/* Returns the counter whose rise within rule->within_us is the largest multiple of its threshold.
 * Returns FAB_COUNTERS if no counter rose by its threshold or more. If `of_cable` is true,
 * considers only counters of errors of the link itself (fab_counter_kind.of_cable). */
enum fab_counter fab_health_worst_counter(const struct fab_health_history *h,
                                          const struct fab_counter_rule *rule, bool of_cable);

#endif
