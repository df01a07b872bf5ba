/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The newest events, kept in memory for those who follow them: one ring for all followers, so that
 * a slow one costs nothing. What is older is in the store.
 */
#ifndef FABRICD_RPC_JOURNAL_H
#define FABRICD_RPC_JOURNAL_H

#include <stdint.h>

#include "fabricd/base/bus.h"

struct journal;
/* told: called after each event. */
int journal_new(struct bus *bus, void (*told)(void *ctx), void *ctx, struct journal **ret);
void journal_free(struct journal *j);             /* NULL is fine */
uint64_t journal_newest(const struct journal *j); /* its sequence number, 0: none ever */
uint64_t journal_oldest(const struct journal *j); /* of those kept; newest + 1: none kept */
const struct event *journal_at(const struct journal *j, uint64_t seq); /* NULL: not kept */

#endif
