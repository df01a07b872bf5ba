/* SPDX-License-Identifier: BSD-3-Clause */
/* A history of counters with known values, for tests of the RPC server. */
#ifndef TESTS_RPC_FAKE_HISTORY_H
#define TESTS_RPC_FAKE_HISTORY_H

#include "fabricd/store/counters.h"

/* Unix time at which the samples begin: 2026-11-20 00:00:00 UTC. */
#define FAKE_HISTORY_BEGIN INT64_C(1795132800)
#define FAKE_HISTORY_ROUNDS 60 /* one a minute */
/*
 * Starts a history in the directory. The ports leaf-001/3 and spine-001/1 are a link: the leaf
 * sends n MB/s in minute n, of which the spine gets 4/5 from minute 30 on, and has n % 5 symbol
 * errors; both are down for 7 s in minute 20.
 */
int fake_history_new(const char *dir, struct counters **ret);

#endif
