/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording as a transport: it answers what the fabric answered then. */
#ifndef FABRICD_TRANSPORT_REPLAY_H
#define FABRICD_TRANSPORT_REPLAY_H

#include "fabricd/transport/transport.h"
#include "libfabmgr/recording/player.h"

/* To be used on a loop in virtual time (loop_new_virtual). done: on the loop thread, once, when the
 * recording is used up. bytes stay the caller's. why[]: what is wrong with them. */
int transport_replay_open(struct loop *l, const uint8_t *bytes, size_t len, loop_fn *done,
                          void *ctx, struct transport **ret, char *why, size_t why_len);
void transport_replay_stats(struct transport *t, struct fab_recording_player_stats *ret);
/* Logs a first few of what was sent then and not now; what was sent now and not then was logged as
 * it happened. */
void transport_replay_log_missing(struct transport *t);

#endif
