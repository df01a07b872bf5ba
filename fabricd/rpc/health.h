/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of grpc.health.v1.Health.Watch that are in progress. */
#ifndef FABRICD_RPC_HEALTH_H
#define FABRICD_RPC_HEALTH_H

#include "fabricd/rpc/server.h"

/* Tells the watching clients if the status has changed. Called after each event. */
void health_turn(struct rpc *r);

#endif
