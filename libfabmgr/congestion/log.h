/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion logs of devices (A10.4.3.5), reading after reading: which ports of a switch marked
 * packets and whose; which senders of an adapter were slowed down as far as its table goes, and on
 * the way to whom.
 */
#ifndef LIBFABMGR_CONGESTION_LOG_H
#define LIBFABMGR_CONGESTION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_CONGESTION_LOG_ENTRIES 15

struct fab_congestion_event {
    uint16_t slid, dlid; /* of the packet that was marked; of an adapter: its own, and whose packets
                            were marked on the way to */
    uint8_t sl;
    uint8_t service;              /* of adapters: transport service of the queue pair, 0 is RC */
    uint32_t local_qp, remote_qp; /* of adapters */
    uint32_t stamp;               /* as the device has it */
    uint64_t at_us;               /* by the clock of the readings */
};
struct fab_congestion_log {
    uint64_t read_us; /* the last reading; 0: none yet */
    uint64_t events;  /* counted since the first */
    uint32_t stamp;   /* the device's time, of 1.024 us */
    uint16_t counter; /* as the device told it */
    uint8_t flags;
    uint8_t count;        /* entries */
    uint16_t sl_map;      /* of adapters: SLs whose senders reached the threshold */
    uint8_t port_map[32]; /* of switches: those that marked; port n is bit n % 8 of [31 - n / 8] */
    struct fab_congestion_event entry[FAB_CONGESTION_LOG_ENTRIES]; /* the newest first */
};
/* Takes a reading, of a switch or of an adapter, at `now_us`. A device counts on from reading to
 * reading, or from zero after each: its entries tell which. *ret_events: those since the last
 * reading; of the first one 0, as it is not known since when. FORMAT: too short, or a log of
 * something else; then nothing changed. */
int fab_congestion_log_update(struct fab_congestion_log *log, bool of_switch, const uint8_t *attr,
                              size_t len, uint64_t now_us, uint32_t *ret_events);
static inline bool fab_congestion_log_marked(const struct fab_congestion_log *log, uint8_t port)
{
    return log->port_map[31 - port / 8] >> port % 8 & 1;
}

/* For each LID the adapters that were slowed down on the way to it at `since_us` or later: adds one
 * in senders[] for each LID below `lids` in this log, the port's own left out. */
void fab_congestion_log_incasts(const struct fab_congestion_log *log, uint64_t since_us,
                                uint16_t *senders, uint32_t lids);

#endif
