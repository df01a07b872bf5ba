/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes when to begin to warn operators that a certificate or a revocation list will expire. */
#ifndef LIBFABMGR_BASE_EXPIRY_H
#define LIBFABMGR_BASE_EXPIRY_H

#include <stdint.h>

#define FAB_BASE_DAY_S 86400

/* Returns the Unix time in seconds at which the warnings begin, for a certificate or list that is
 * valid from `begin_s` to `end_s`: 30 days before `end_s`, or, if the time of validity is less than
 * 90 days, when a third of this time is left. */
static inline int64_t fab_base_expiry_warn_s(int64_t begin_s, int64_t end_s)
{
    int64_t third = (end_s - begin_s) / 3, most = 30 * FAB_BASE_DAY_S;
    return end_s - (third < most ? third : most);
}

/* Returns the number of whole days from `now_s` to `end_s`, or 0 if `end_s` is in the past. */
static inline uint64_t fab_base_days_left(int64_t now_s, int64_t end_s)
{
    return end_s > now_s ? (uint64_t)(end_s - now_s) / FAB_BASE_DAY_S : 0;
}

#endif
