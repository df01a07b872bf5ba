/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits for one client or for all clients together. A well-behaved client reaches none of them.
 */
#ifndef FABRICD_RPC_LIMITS_H
#define FABRICD_RPC_LIMITS_H

#define RPC_MAX_CONNECTIONS 128
#define RPC_MAX_STREAMS 100         /* concurrent calls of a connection */
#define RPC_MAX_REQUEST (64u << 10) /* bytes; the largest request of the API has a few hundred */
#define RPC_MAX_REPLY (4u << 20)    /* bytes; the default limit of gRPC clients */
#define RPC_MAX_HEADERS (16u << 10) /* bytes of a request's header list */
#define RPC_MAX_QUEUED (8u << 20)   /* bytes of answers that the client has not read */
/* The part of RPC_MAX_QUEUED that may be in the socket's buffer. */
#define RPC_MAX_SOCKET_QUEUE (256u << 10)
/* Longest time to handle received bytes of one connection before other connections get a turn. */
#define RPC_TURN_US 2000ull
#define RPC_SLICE 128u /* received bytes that are handled between two checks of RPC_TURN_US */
#define RPC_HANDSHAKE_US 10000000ull /* most time from accept to the end of both handshakes */
#define RPC_REQUEST_US 30000000ull   /* most time from a call's headers to the end of its request */
#define RPC_STALL_US 60000000ull     /* a client that reads no pending bytes is disconnected */
#define RPC_IDLE_US 900000000ull     /* a client without calls that sends nothing is disconnected */
#define RPC_PAGE_DEFAULT 1000u
#define RPC_PAGE_MAX 2000u
#define RPC_EVENTS_KEPT 4096u /* events in memory; a client of WatchEvents may lag this many */
#define RPC_DEBUG_KEPT 256u   /* events of severity debug; slower clients miss the oldest */
#define RPC_UNRESPONSIVE_SHOWN 100u
#define RPC_STUDIES_MAX 8u     /* running and queued studies of routes */
#define RPC_JOB_ENDS 200000u   /* endports in a request for a job's quality */
#define RPC_FAILURES_MAX 4096u /* names in one WhatIf request */
#define RPC_LOST_SHOWN 100u

#endif
