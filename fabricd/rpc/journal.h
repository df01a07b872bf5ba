/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest events in memory, for the followers (WatchEvents). All followers share one ring, so
 * that a slow follower costs no memory. Older events are in the store.
 */
#ifndef FABRICD_RPC_JOURNAL_H
#define FABRICD_RPC_JOURNAL_H

#include <stdint.h>

#include "fabricd/base/bus.h"

struct journal;
/* told is called after each event. NOMEM. */
int journal_new(struct bus *bus, void (*told)(void *ctx), void *ctx, struct journal **ret);
void journal_free(struct journal *j);             /* accepts NULL */
uint64_t journal_newest(const struct journal *j); /* its sequence number; 0: no event yet */
uint64_t journal_oldest(const struct journal *j); /* the oldest in the ring; newest + 1: none */
const struct event *journal_at(const struct journal *j, uint64_t seq); /* NULL: not in the ring */

#endif
