/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the settings in force fit what is seen. */
#ifndef LIBFABMGR_CONGESTION_ADVISE_H
#define LIBFABMGR_CONGESTION_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

struct fab_congestion_observed {  /* between two readings of counters */
    uint32_t congested_endports;  /* ends to which marked packets came */
    uint32_t persistent_endports; /* those of them to which they came in several readings on end */
    uint32_t slowed;              /* senders that were told of it */
    uint32_t congested_ports;     /* of switches */
    uint32_t waiting;             /* ports that waited for credits */
    uint32_t max_wait_permille;   /* of its time, the one that waited most */
    uint32_t logged_fan_in;       /* by logs: most adapters that were slowed down for one end */
};
struct fab_congestion_configured {
    bool apply;      /* devices are set */
    bool off;        /* the profile */
    uint32_t fan_in; /* senders to one end that are counted on */
    uint32_t unsupported, devices;
    uint32_t changed; /* devices that had other settings of late than they were given */
};
#define FAB_CONGESTION_ADVICES 6
#define FAB_CONGESTION_ADVICE_LEN 240
/* Sentences for an operator; returns how many. ret_kinds (or NULL): a bit for each kind of advice
 * that was given, so that a new one can be told from one that was given before. */
unsigned fab_congestion_advise(const struct fab_congestion_observed *seen,
                               const struct fab_congestion_configured *assumed,
                               char ret[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN],
                               uint32_t *ret_kinds);

#endif
