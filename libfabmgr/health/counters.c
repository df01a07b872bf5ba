/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges the error counters of ports by how much they rise.
 *
 * Error counters in PortCounters are 4 to 16 bits wide and stop at their maximum value. Error
 * counters in PortCountersExtended have 64 bits and wrap, unless the device stops them. The manager
 * clears counters only if the policy allows it. So the manager judges by how much a counter rises,
 * never by the value of the counter. If a counter has stopped, the manager does not conclude from
 * it that the link is unhealthy, nor that the link has recovered. Only the decision whether errors
 * persist (persistence.c) takes a stopped counter as a sign of further errors.
 *
 * The default thresholds come from the threshold file of ibqueryerrors. ibqueryerrors compares them
 * with the counts since the last clearing; the manager compares them with the rise in a minute. Ten
 * symbol errors per minute at 100 Gb/s are a bit error rate of 1.7e-12, slightly above what IBA
 * volume 2 allows (1e-12).
 */
#include "libfabmgr/health/counters.h"

const struct fab_counter_kind fab_health_counter_kinds[FAB_COUNTERS] = {
    [FAB_SYMBOL_ERRORS] = {"SymbolErrorCounter", 0xffff, 10, true, 1u << 0},
    [FAB_LINK_ERROR_RECOVERY] = {"LinkErrorRecoveryCounter", 0xff, 10, true, 1u << 1},
    [FAB_LINK_DOWNED] = {"LinkDownedCounter", 0xff, 10, true, 1u << 2},
    [FAB_RCV_ERRORS] = {"PortRcvErrors", 0xffff, 10, true, 1u << 3},
    [FAB_RCV_REMOTE_PHYSICAL_ERRORS] = {"PortRcvRemotePhysicalErrors", 0xffff, 100, false, 1u << 4},
    [FAB_RCV_SWITCH_RELAY_ERRORS] = {"PortRcvSwitchRelayErrors", 0xffff, 100, false, 1u << 5},
    [FAB_XMIT_DISCARDS] = {"PortXmitDiscards", 0xffff, 100, false, 1u << 6},
    [FAB_XMIT_CONSTRAINT_ERRORS] = {"PortXmitConstraintErrors", 0xff, 100, false, 1u << 7},
    [FAB_RCV_CONSTRAINT_ERRORS] = {"PortRcvConstraintErrors", 0xff, 100, false, 1u << 8},
    [FAB_LOCAL_LINK_INTEGRITY_ERRORS] = {"LocalLinkIntegrityErrors", 0xf, 10, true, 1u << 9},
    [FAB_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = {"ExcessiveBufferOverrunErrors", 0xf, 10, true,
                                             1u << 10},
    [FAB_VL15_DROPPED] = {"VL15Dropped", 0xffff, 100, false, 1u << 11},
};

/* Expands to an initialiser of an array with the values of all counters. from: points to a struct
 * fab_port_counters or fab_port_counters_ext, whose members have the same names but different
 * widths. */
#define VALUES(from)                                                                               \
    {                                                                                              \
        [FAB_SYMBOL_ERRORS] = (from)->symbol_errors,                                               \
        [FAB_LINK_ERROR_RECOVERY] = (from)->link_error_recovery,                                   \
        [FAB_LINK_DOWNED] = (from)->link_downed, [FAB_RCV_ERRORS] = (from)->rcv_errors,            \
        [FAB_RCV_REMOTE_PHYSICAL_ERRORS] = (from)->rcv_remote_physical_errors,                     \
        [FAB_RCV_SWITCH_RELAY_ERRORS] = (from)->rcv_switch_relay_errors,                           \
        [FAB_XMIT_DISCARDS] = (from)->xmit_discards,                                               \
        [FAB_XMIT_CONSTRAINT_ERRORS] = (from)->xmit_constraint_errors,                             \
        [FAB_RCV_CONSTRAINT_ERRORS] = (from)->rcv_constraint_errors,                               \
        [FAB_LOCAL_LINK_INTEGRITY_ERRORS] = (from)->local_link_integrity_errors,                   \
        [FAB_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = (from)->excessive_buffer_overrun_errors,           \
        [FAB_VL15_DROPPED] = (from)->vl15_dropped,                                                 \
    }

void fab_health_counters_from(const struct fab_port_counters *from, struct fab_counters *ret)
{
    *ret = (struct fab_counters){.value = VALUES(from)};
}

void fab_health_counters_from_ext(const struct fab_port_counters_ext *from,
                                  struct fab_counters *ret)
{
    *ret = (struct fab_counters){.value = VALUES(from), .wide = true};
}

bool fab_health_counters_full(const struct fab_counters *c, enum fab_counter which)
{
    return !c->wide && c->value[which] >= fab_health_counter_kinds[which].most;
}

uint16_t fab_health_counters_full_select(const struct fab_counters *c)
{
    uint32_t select = 0;
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (fab_health_counters_full(c, (enum fab_counter)i))
            select |= fab_health_counter_kinds[i].select;
    return (uint16_t)select;
}

uint64_t fab_health_counters_increase(const struct fab_counters *was,
                                      const struct fab_counters *now, enum fab_counter which)
{
    const uint64_t near_end = UINT64_C(3) << 62, near_zero = UINT64_C(1) << 62;
    uint64_t a = was->value[which], b = now->value[which];
    bool wrapped = was->wide && now->wide && a >= near_end && b < near_zero;
    return b >= a || wrapped ? b - a : b;
}

bool fab_health_counters_increased(const struct fab_counters *was, const struct fab_counters *now)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (fab_health_counters_increase(was, now, (enum fab_counter)i) > 0)
            return true;
    return false;
}

/* ---- recent readings ------------------------------------------------------------------------- */

static uint64_t sum_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void fab_health_history_add(struct fab_health_history *h, uint64_t from_us, uint64_t to_us,
                            const struct fab_counters *was, const struct fab_counters *now)
{
    struct fab_health_sample *s = &h->sample[h->count++ % FAB_COUNTERS_KEPT];
    s->from_us = from_us;
    s->to_us = to_us;
    for (int i = 0; i < FAB_COUNTERS; i++) {
        s->rise[i] = fab_health_counters_increase(was, now, (enum fab_counter)i);
        h->sum[i] = sum_up(h->sum[i], s->rise[i]);
        h->full[i] = fab_health_counters_full(now, (enum fab_counter)i);
    }
}

uint32_t fab_health_sample_count(const struct fab_health_history *h)
{
    return h->count < FAB_COUNTERS_KEPT ? (uint32_t)h->count : FAB_COUNTERS_KEPT;
}

const struct fab_health_sample *fab_health_sample(const struct fab_health_history *h, uint32_t back)
{
    return &h->sample[(h->count - 1 - back) % FAB_COUNTERS_KEPT];
}

/* Returns true if a sample is recent: the middle of its time span lies within the last within_us
 * microseconds. The newest sample is always recent. If the beginning or the end of the time span
 * decided, it would depend on chance whether samples near the limit count, because the times of
 * readings vary a little. */
static bool is_recent(const struct fab_health_history *h, uint32_t back, uint64_t within_us)
{
    const struct fab_health_sample *s = fab_health_sample(h, back);
    uint64_t now = fab_health_sample(h, 0)->to_us,
             middle = s->from_us + (s->to_us - s->from_us) / 2;
    return back == 0 || now - middle < within_us;
}

uint64_t fab_health_recent_increase(const struct fab_health_history *h,
                                    const struct fab_counter_rule *rule, enum fab_counter which,
                                    uint64_t *ret_us)
{
    uint32_t count = fab_health_sample_count(h), n = 0;
    uint64_t sum = 0, us = 0;
    for (; n < count && is_recent(h, n, rule->within_us); n++) {
        const struct fab_health_sample *s = fab_health_sample(h, n);
        sum = sum_up(sum, s->rise[which]);
        us += s->to_us - s->from_us;
    }
    if (ret_us)
        *ret_us = us;
    return sum;
}

enum fab_counter fab_health_worst_counter(const struct fab_health_history *h,
                                          const struct fab_counter_rule *rule, bool of_cable)
{
    enum fab_counter worst = FAB_COUNTERS;
    uint64_t most = 0;
    for (int i = 0; i < FAB_COUNTERS; i++) {
        uint32_t threshold = rule->threshold[i];
        if (threshold == 0 || (of_cable && !fab_health_counter_kinds[i].of_cable))
            continue;
        uint64_t rise = fab_health_recent_increase(h, rule, (enum fab_counter)i, NULL);
        if (rise >= threshold && rise / threshold > most) {
            most = rise / threshold;
            worst = (enum fab_counter)i;
        }
    }
    return worst;
}
