/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates the congestion logs of devices (IBA A10.4.3.5), which the manager reads again and
 * again. The log of a switch has the ports that marked packets and the flows of these packets. The
 * log of an adapter has the senders that reached the threshold of their table, and their
 * destinations.
 */
#ifndef LIBFABMGR_CONGESTION_LOG_H
#define LIBFABMGR_CONGESTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_CONGESTION_LOG_ENTRIES 15

struct fab_congestion_event {
    uint16_t slid, dlid; /* in a switch's log: LIDs of the marked packet; in an adapter's: its own
                            LID, and the destination of the marked packets */
    uint8_t sl;
    uint8_t service; /* only in an adapter's log: transport service of the queue pair; 0: RC */
    uint32_t local_qp, remote_qp; /* only in an adapter's log */
    uint32_t stamp;               /* time stamp of the device */
    uint64_t at_us;               /* time of the congestion event in us, by the caller's clock */
};
struct fab_congestion_log {
    uint64_t read_us; /* time of the last reading; 0: none yet */
    uint64_t events;  /* number of congestion events since the first reading */
    uint32_t stamp;   /* the device's time, in units of 1.024 us */
    uint16_t counter; /* the event counter as the device reports it */
    uint8_t flags;
    uint8_t count;        /* number of entries */
    uint16_t sl_map;      /* of an adapter: SLs on which a sender reached the threshold */
    uint8_t port_map[32]; /* of a switch: ports that marked packets; port n is bit n % 8 of [31 - n
                             / 8] */
    struct fab_congestion_event entry[FAB_CONGESTION_LOG_ENTRIES]; /* the latest event first */
};
/* Adds a reading of a switch's or adapter's log at `now_us`. *ret_events: number of congestion
 * events since the previous reading; 0 at the first reading, because the time at which the device
 * began to count is unknown. FORMAT: the attribute is too short, or the LogType does not match
 * of_switch; *log is then unchanged. */
int fab_congestion_log_update(struct fab_congestion_log *log, bool of_switch, const uint8_t *attr,
                              size_t len, uint64_t now_us, uint32_t *ret_events);
static inline bool fab_congestion_log_marked(const struct fab_congestion_log *log, uint8_t port)
{
    return log->port_map[31 - port / 8] >> port % 8 & 1;
}

/* Counts the adapters that were throttled for each LID at `since_us` or later. The caller calls
 * this function once for each adapter's log. It adds 1 to senders[lid] for each destination LID
 * below `lids` in the log, except the adapter's own LID. */
void fab_congestion_log_incasts(const struct fab_congestion_log *log, uint64_t since_us,
                                uint16_t *senders, uint32_t lids);

#endif
