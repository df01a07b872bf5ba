/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates the congestion logs of devices (IBA A10.4.3.5), which the manager reads regularly. The
 * log of a switch names the ports that marked packets, and the flows of these packets. The log of
 * an adapter names the queue pairs that reached the threshold of their table, and the destinations
 * of these queue pairs. */
#ifndef LIBFABMGR_CONGESTION_LOG_H
#define LIBFABMGR_CONGESTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_CONGESTION_LOG_ENTRIES 15

struct fab_congestion_event {
    /* In the log of a switch: source and destination LID of the marked packet. In the log of an
     * adapter: slid is the LID of the adapter's port, and dlid the destination of its packets that
     * were marked. */
    uint16_t slid, dlid;
    uint8_t sl;
    /* only in the log of an adapter: transport service of the queue pair, as the log encodes it; 0:
     * RC */
    uint8_t service;
    uint32_t local_qp, remote_qp; /* numbers of the two queue pairs; only in an adapter's log */
    /* time stamp of the event, by the device's clock in units of 1.024 us */
    uint32_t stamp;
    /* time of the event in us, by the clock of the caller */
    uint64_t at_us;
};
struct fab_congestion_log {
    /* time of the last reading in us; 0: there was no reading */
    uint64_t read_us;
    /* number of congestion events since the manager's first reading */
    uint64_t events;
    /* clock of the device at the last reading, in units of 1.024 us */
    uint32_t stamp;
    /* the event counter as the device reports it */
    uint16_t counter;
    uint8_t flags;
    uint8_t count; /* number of elements of entry[] */
    /* only in the log of an adapter: bitset of the SLs on which a sender reached the threshold */
    uint16_t sl_map;
    /* only in the log of a switch: bitset of the ports that marked packets; port n is bit n % 8 of
     * port_map[31 - n / 8] */
    uint8_t port_map[32];
    /* the events, the latest first */
    struct fab_congestion_event entry[FAB_CONGESTION_LOG_ENTRIES];
};
/* Adds to *log a reading of the congestion log of a switch or adapter, made at `now_us`. Sets
 * *ret_events to the number of congestion events since the previous reading. At the first reading
 * it is 0, because the time at which the device began to count is unknown. Returns FORMAT, with
 * *log unchanged, if the attribute is too short, or if its LogType does not match of_switch. */
int fab_congestion_log_update(struct fab_congestion_log *log, bool of_switch, const uint8_t *attr,
                              size_t len, uint64_t now_us, uint32_t *ret_events);
static inline bool fab_congestion_log_marked(const struct fab_congestion_log *log, uint8_t port)
{
    return log->port_map[31 - port / 8] >> port % 8 & 1;
}

/* Helps to count, for each LID, the adapters that were throttled at `since_us` or later because
 * they sent to this LID. The caller sets all `lids` elements of senders[] to 0, and then calls the
 * function once for the log of each adapter. The function adds 1 to senders[lid] for each `lid`
 * that is the destination of at least one entry from `since_us` or later. It leaves out the
 * adapter's own LID, and LIDs from `lids` on. An element of senders[] does not exceed 65,535. */
void fab_congestion_log_incasts(const struct fab_congestion_log *log, uint64_t since_us,
                                uint16_t *senders, uint32_t lids);

#endif
