/* SPDX-License-Identifier: BSD-3-Clause */
/* A history of counters with known values, for tests of the RPC server. */
#ifndef TESTS_RPC_FAKE_HISTORY_H
#define TESTS_RPC_FAKE_HISTORY_H

#include "fabricd/store/counters.h"

/* Unix time in s of the first sample: 2026-11-20 00:00:00 UTC. */
#define FAKE_HISTORY_BEGIN INT64_C(1795132800)
#define FAKE_HISTORY_ROUNDS 60 /* number of samples, one a minute */
/*
 * Starts a history in the directory `dir`. It has samples of the two ports of one link, from
 * leaf-001/3 to spine-001/1. In minute n, the leaf sends n MB/s and counts n % 5 symbol errors.
 * From minute 30 on, the spine receives only 4/5 of the data. In minute 20, the link is down for 7
 * s.
 */
int fake_history_new(const char *dir, struct counters **ret);

#endif
