/* SPDX-License-Identifier: BSD-3-Clause */
/* Followers are the calls of WatchEvents that are in progress. */
#ifndef FABRICD_RPC_FOLLOWER_H
#define FABRICD_RPC_FOLLOWER_H

#include "fabricd/rpc/server.h"

/* Sends new events to every follower. `ctx` is the struct rpc. */
void followers_turn(void *ctx);

#endif
