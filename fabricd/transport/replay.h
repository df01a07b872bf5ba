/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport that plays a recording. It returns the answers that the recorded fabric gave. */
#ifndef FABRICD_TRANSPORT_REPLAY_H
#define FABRICD_TRANSPORT_REPLAY_H

#include "fabricd/transport/transport.h"
#include "libfabmgr/recording/player.h"

/* Opens a transport that plays a recording, on a loop in virtual time (loop_new_virtual). `done` is
 * called once on the loop thread, when the recording ends. The caller must keep `bytes` until the
 * transport is closed. Returns OK, or FORMAT, TRUNCATED, UNSUPPORTED, LIMIT or NOMEM with the
 * reason in why[]. */
int transport_replay_open(struct loop *l, const uint8_t *bytes, size_t len, loop_fn *done,
                          void *ctx, struct transport **ret, char *why, size_t why_len);
void transport_replay_stats(struct transport *t, struct fab_recording_player_stats *ret);
/* At the end of a replay, logs the first few MADs that are in the recording and that the
 * replaying manager has not sent. (A MAD that only the replaying manager sent was logged when it
 * was sent.) */
void transport_replay_log_missing(struct transport *t);

#endif
