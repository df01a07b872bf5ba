/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/reading.h"

#define WORD_BYTES 4
#define MILLION UINT64_C(1000000)

/* The increase of a counter. known: `by` is the increase. reset: the counter is lower than before.
 * If `known` and `reset` are false, the counter has stopped at its maximum. A 64-bit counter that
 * wraps looks like one that was reset. But wrapping takes decades, and a missing sample does less
 * harm than a wrong rate. */
struct increase {
    bool known, reset;
    uint64_t by;
};

static struct increase increase_of(uint64_t was, uint64_t now, bool wide)
{
    if (now < was)
        return (struct increase){.reset = true};
    if (!wide && now >= UINT32_MAX)
        return (struct increase){.known = false};
    return (struct increase){.known = true, .by = now - was};
}

static void set_rate(struct fab_sample *s, unsigned column, uint64_t value)
{
    s->code[column] = fab_counters_encode_value(column, value);
}

void fab_counters_sample_errors(const struct fab_counters *was, const struct fab_counters *now,
                                struct fab_sample *ret)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        ret->code[FAB_COLUMN_ERRORS + i] = fab_counters_encode_value(
            FAB_COLUMN_ERRORS, fab_health_counters_increase(was, now, (enum fab_counter)i));
}

bool fab_counters_was_reset(const struct fab_counters *was, const struct fab_counters *now)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (now->value[i] < was->value[i])
            return true;
    return false;
}

/* ---- traffic --------------------------------------------------------------------------------- */

/* Returns the rate per second if `by` * `factor` was counted in span_us. Rounds up, because users
 * would take 0 for no traffic at all. */
static uint64_t per_second(uint64_t by, unsigned factor, uint64_t span_us)
{
    unsigned __int128 all = (unsigned __int128)by * factor * MILLION + span_us - 1;
    all /= span_us;
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

/* Stores the share of the time in which the port waited: wait / (data + wait). A tick of
 * PortXmitWait is the time in which the port transmits one word, so the result is right for a port
 * that always has data to send. */
static void set_wait(struct fab_sample *s, uint64_t data, uint64_t wait)
{
    unsigned __int128 all = (unsigned __int128)data + wait;
    set_rate(s, FAB_COLUMN_XMIT_WAIT,
             all > 0 ? (uint64_t)((unsigned __int128)wait * MILLION / all) : 0);
}

void fab_counters_sample_traffic(const struct fab_traffic *was, const struct fab_traffic *now,
                                 uint64_t most_bytes_per_s, struct fab_sample *ret)
{
    if (was->at_us == 0 || now->at_us <= was->at_us || was->wide != now->wide)
        return;
    uint64_t span = now->at_us - was->at_us;
    const struct increase data[2] = {increase_of(was->xmit_data, now->xmit_data, now->wide),
                                     increase_of(was->rcv_data, now->rcv_data, now->wide)};
    const struct increase pkts[2] = {increase_of(was->xmit_pkts, now->xmit_pkts, now->wide),
                                     increase_of(was->rcv_pkts, now->rcv_pkts, now->wide)};
    struct increase wait = increase_of(was->xmit_wait, now->xmit_wait, now->wide_wait);
    bool waits = was->has_wait && now->has_wait && was->wide_wait == now->wide_wait;
    if (data[0].reset || data[1].reset || pkts[0].reset || pkts[1].reset || (waits && wait.reset))
        return;
    for (unsigned way = 0; way < 2; way++) {
        uint64_t rate = per_second(data[way].by, WORD_BYTES, span);
        if (!data[way].known || (most_bytes_per_s > 0 && rate > most_bytes_per_s))
            continue;
        set_rate(ret, FAB_COLUMN_XMIT_DATA + way, rate);
        if (pkts[way].known)
            set_rate(ret, FAB_COLUMN_XMIT_PKTS + way, per_second(pkts[way].by, 1, span));
        if (way == 0 && waits && wait.known)
            set_wait(ret, data[0].by, wait.by);
    }
}

void fab_counters_sample_vls(const struct fab_vl_wait *was, const struct fab_vl_wait *now,
                             struct fab_sample *ret)
{
    uint64_t sum = 0,
             ppm = fab_counters_decode_value(FAB_COLUMN_XMIT_WAIT, ret->code[FAB_COLUMN_XMIT_WAIT]);
    for (int vl = 0; vl < FAB_COLUMN_VLS; vl++) {
        if (now->value[vl] < was->value[vl] || now->value[vl] == UINT16_MAX)
            return;
        sum += (uint64_t)(now->value[vl] - was->value[vl]);
    }
    for (unsigned vl = 0; vl < FAB_COLUMN_VLS; vl++) {
        uint64_t by = (uint64_t)(now->value[vl] - was->value[vl]);
        if (by > 0)
            set_rate(ret, FAB_COLUMN_VL_WAIT + vl, ppm * by / sum);
    }
}
