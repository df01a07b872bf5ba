/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs the clients that meet a limit (limits.h). */
#ifndef FABRICD_RPC_LIMITED_H
#define FABRICD_RPC_LIMITED_H

#include "fabricd/base/call_counts.h"

/* For each limit: the time in us of the last line in the log about this limit, and how often
 * clients have met the limit since then. */
struct limited {
    struct call_counts *counts; /* counters of the metrics; NULL: nobody reads them */
    struct {
        uint64_t told_us, since;
    } of[CALL_LIMITS];
};
/* Notes that a client met a limit. For each limit, the log gets at most one line in RPC_TELL_US, so
 * that a flood cannot fill it. `who` is the client, such as "alice (uid 1000)". */
void limited_note(struct limited *l, enum call_limit limit, const char *who);

#endif
