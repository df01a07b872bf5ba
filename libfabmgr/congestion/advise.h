/* SPDX-License-Identifier: BSD-3-Clause */
/* Advises the operator whether the congestion control settings fit what counters and logs show. */
#ifndef LIBFABMGR_CONGESTION_ADVISE_H
#define LIBFABMGR_CONGESTION_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

/* What the manager observed between two readings of the counters. */
struct fab_congestion_observed {
    uint32_t congested_endports; /* number of endports that received marked packets */
    /* number of endports that received marked packets in several consecutive readings */
    uint32_t persistent_endports;
    uint32_t slowed;          /* number of senders that received BECNs */
    uint32_t congested_ports; /* number of switch ports that marked packets */
    uint32_t waiting;         /* number of ports that waited for credits */
    /* longest time that a port waited for credits, in permille of the time between the two
     * readings */
    uint32_t max_wait_permille;
    /* greatest number of adapters that, according to their congestion logs, were throttled because
     * they sent to the same endport */
    uint32_t logged_fan_in;
};
struct fab_congestion_configured {
    bool apply; /* true: the manager programs the settings into devices */
    bool off;   /* true: the profile is "off" */
    /* number of senders to one endport that the settings assume */
    uint32_t fan_in;
    uint32_t unsupported, devices;
    /* number of devices whose settings recently differed from what the manager had written */
    uint32_t changed;
};
#define FAB_CONGESTION_ADVICES 6
#define FAB_CONGESTION_ADVICE_LEN 240
/* Writes advice for the operator to ret[], one sentence for each kind of advice, and returns the
 * number of sentences. *ret_kinds is a bitset of these kinds, so that the caller can tell new
 * advice from old; ret_kinds may be NULL. */
unsigned fab_congestion_advise(const struct fab_congestion_observed *observed,
                               const struct fab_congestion_configured *configured,
                               char ret[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN],
                               uint32_t *ret_kinds);

#endif
