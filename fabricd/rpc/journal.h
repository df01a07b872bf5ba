/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the newest events in memory for the followers (calls of WatchEvents). All followers share
 * one ring buffer, so a slow follower needs no memory of its own. Older events are in the store.
 */
#ifndef FABRICD_RPC_JOURNAL_H
#define FABRICD_RPC_JOURNAL_H

#include <stdint.h>

#include "fabricd/base/bus.h"

struct journal;
/* Creates a journal of the events on the bus. It calls `told` after each event. Returns NOMEM. */
int journal_new(struct bus *bus, void (*told)(void *ctx), void *ctx, struct journal **ret);
void journal_free(struct journal *j); /* `j` may be NULL */
/* Returns the sequence number of the newest event; 0: no event yet. */
uint64_t journal_newest(const struct journal *j);
/* Returns the sequence number of the oldest event in the ring; if the ring is empty, that of the
 * newest event plus 1. */
uint64_t journal_oldest(const struct journal *j);
/* Returns the event with this sequence number; NULL: it is not in the ring. */
const struct event *journal_at(const struct journal *j, uint64_t seq);

/* Returns the number of events of severity debug so far. These events have no sequence number; the
 * journal numbers them from 1. */
uint64_t journal_debug_count(const struct journal *j);
/* Returns the event of severity debug that has this number; NULL: the journal has dropped the
 * event. *ret_after is the sequence number of the last event before it that has one. */
const struct event *journal_debug_at(const struct journal *j, uint64_t number, uint64_t *ret_after);

#endif
