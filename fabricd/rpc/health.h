/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of grpc.health.v1.Health.Watch that are in progress. */
#ifndef FABRICD_RPC_HEALTH_H
#define FABRICD_RPC_HEALTH_H

#include "fabricd/rpc/server.h"

/* Sends the status to the watching clients if it has changed. Called after each event. */
void health_turn(struct rpc *r);

#endif
