/* SPDX-License-Identifier: BSD-3-Clause */
/* Advises the operator whether the congestion control settings fit what counters and logs show. */
#ifndef LIBFABMGR_CONGESTION_ADVISE_H
#define LIBFABMGR_CONGESTION_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

struct fab_congestion_observed {  /* what was observed between two readings of the counters */
    uint32_t congested_endports;  /* endports that received marked packets */
    uint32_t persistent_endports; /* number of endports that received marked packets in several
                                     consecutive readings */
    uint32_t slowed;              /* number of senders that received BECNs */
    uint32_t congested_ports;     /* number of switch ports that marked packets */
    uint32_t waiting;             /* number of ports that waited for credits */
    uint32_t max_wait_permille;   /* longest time that a port waited for credits, in permille of the
                                     interval */
    uint32_t logged_fan_in; /* largest number of adapters that were throttled for the same endport,
                               by their logs */
};
struct fab_congestion_configured {
    bool apply;      /* the manager programs the settings into devices */
    bool off;        /* the profile is "off" */
    uint32_t fan_in; /* senders to one endport that the settings assume */
    uint32_t unsupported, devices;
    /* number of devices that recently had other settings than the manager wrote */
    uint32_t changed;
};
#define FAB_CONGESTION_ADVICES 6
#define FAB_CONGESTION_ADVICE_LEN 240
/* Writes sentences for an operator and returns their number. Unless ret_kinds is NULL, sets a bit
 * in *ret_kinds for each kind of advice, so that the caller can tell new advice from earlier
 * advice. */
unsigned fab_congestion_advise(const struct fab_congestion_observed *observed,
                               const struct fab_congestion_configured *configured,
                               char ret[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN],
                               uint32_t *ret_kinds);

#endif
