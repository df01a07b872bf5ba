/* SPDX-License-Identifier: BSD-3-Clause */
/* Followers are the calls of WatchEvents that are in progress. */
#ifndef FABRICD_RPC_FOLLOWER_H
#define FABRICD_RPC_FOLLOWER_H

#include "fabricd/rpc/server.h"

/* Makes each follower send its new events. If a follower is so late that the journal has dropped
 * its next event, ends its call instead. `ctx` is the struct rpc. */
void followers_turn(void *ctx);

#endif
