/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the newest events in memory for the followers (calls of WatchEvents). All followers share
 * one ring buffer, so that a slow follower needs no memory of its own. Older events are in the
 * store.
 */
#ifndef FABRICD_RPC_JOURNAL_H
#define FABRICD_RPC_JOURNAL_H

#include <stdint.h>

#include "fabricd/base/bus.h"

struct journal;
/* The journal calls `told` after each event. NOMEM. */
int journal_new(struct bus *bus, void (*told)(void *ctx), void *ctx, struct journal **ret);
void journal_free(struct journal *j); /* accepts NULL */
/* Returns the sequence number of the newest event; 0: no event yet. */
uint64_t journal_newest(const struct journal *j);
/* Returns the sequence number of the oldest event in the ring; newest + 1: the ring is empty. */
uint64_t journal_oldest(const struct journal *j);
const struct event *journal_at(const struct journal *j, uint64_t seq); /* NULL: not in the ring */

/* Events of severity debug have no sequence number, so they are counted from 1. Returns how many
 * there were. */
uint64_t journal_debug_count(const struct journal *j);
/* ret_after: the sequence number of the last event before it. NULL: it is not kept any more. */
const struct event *journal_debug_at(const struct journal *j, uint64_t number, uint64_t *ret_after);

#endif
