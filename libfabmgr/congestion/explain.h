/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains to operators why the settings of a port have their values. */
#ifndef LIBFABMGR_CONGESTION_EXPLAIN_H
#define LIBFABMGR_CONGESTION_EXPLAIN_H

#include "libfabmgr/congestion/congestion.h"

struct fab_congestion_reason {
    /* name of the setting in the settings file, such as "marking_rate" */
    const char *name;
    uint32_t value;
    char why[240]; /* the reason, as a sentence without a full stop */
};
#define FAB_CONGESTION_REASONS 8
/* Writes to ret[] a reason for each value of the port's setting, in a fixed order. For an adapter
 * port, the reasons are about service level `sl`. Returns the number of reasons; 0: the port has no
 * setting, the profile is "off", or `sl` is above 15. */
unsigned fab_congestion_explain(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, uint32_t port, uint8_t sl,
                                struct fab_congestion_reason ret[FAB_CONGESTION_REASONS]);

#endif
