/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides when operators are warned that a certificate or a revocation list expires. */
#ifndef LIBFABMGR_BASE_EXPIRY_H
#define LIBFABMGR_BASE_EXPIRY_H

#include <stdint.h>

#define FAB_BASE_DAY_S 86400

/* Returns the Unix time in seconds from which on operators are warned. begin_s and end_s: the
 * period in which the certificate or list is valid. The warning begins 30 days before end_s. If the
 * period is shorter than 90 days, the warning begins when a third of the period is left. */
static inline int64_t fab_base_expiry_warn_s(int64_t begin_s, int64_t end_s)
{
    int64_t third = (end_s - begin_s) / 3, most = 30 * FAB_BASE_DAY_S;
    return end_s - (third < most ? third : most);
}

/* Returns the number of whole days from now_s to end_s, or 0 if end_s is in the past. */
static inline uint64_t fab_base_days_left(int64_t now_s, int64_t end_s)
{
    return end_s > now_s ? (uint64_t)(end_s - now_s) / FAB_BASE_DAY_S : 0;
}

#endif
