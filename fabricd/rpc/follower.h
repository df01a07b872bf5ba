/* SPDX-License-Identifier: BSD-3-Clause */
/* Who follows events. */
#ifndef FABRICD_RPC_FOLLOWER_H
#define FABRICD_RPC_FOLLOWER_H

#include "fabricd/rpc/server.h"

/* Gives every follower what is new; ctx is the struct rpc. */
void followers_turn(void *ctx);

#endif
