/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs the clients that meet a limit (limits.h). */
#ifndef FABRICD_RPC_LIMITED_H
#define FABRICD_RPC_LIMITED_H

#include "fabricd/base/call_counts.h"

/* For each limit: when the log last had a line about it, and how many clients met it since. */
struct limited {
    struct call_counts *counts; /* NULL: nobody reads the counts */
    struct {
        uint64_t told_us, since;
    } of[CALL_LIMITS];
};
/* Notes that a client met a limit. The log gets a line about each limit at most once in
 * RPC_TELL_US, since a flood must not fill it. `who` is the client, such as "alice (uid 1000)". */
void limited_note(struct limited *l, enum call_limit limit, const char *who);

#endif
