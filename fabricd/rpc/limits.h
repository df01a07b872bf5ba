/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits for one client and for all clients together. A well-behaved client reaches none of them.
 */
#ifndef FABRICD_RPC_LIMITS_H
#define FABRICD_RPC_LIMITS_H

#define RPC_MAX_CONNECTIONS 128
/* maximum number of concurrent calls of a connection */
#define RPC_MAX_STREAMS 100
/* Maximum bytes of a request. Most requests have fewer than 1,000 bytes. */
#define RPC_MAX_REQUEST (64u << 10)
/* Maximum bytes of a reply; the default limit of gRPC clients. */
#define RPC_MAX_REPLY (4u << 20)
/* maximum bytes of a request's header list */
#define RPC_MAX_HEADERS (16u << 10)
/* maximum bytes of answers that the client has not read */
#define RPC_MAX_QUEUED (8u << 20)
/* Maximum bytes of RPC_MAX_QUEUED that may be in the socket's buffer. */
#define RPC_MAX_SOCKET_QUEUE (256u << 10)
/* Maximum time for handling received bytes of one connection before other connections are
 * handled. */
#define RPC_TURN_US 2000ull
/* number of received bytes handled between two checks of RPC_TURN_US */
#define RPC_SLICE 128u
/* Maximum time from the acceptance of a connection to the end of the TLS and HTTP/2 handshakes. */
#define RPC_HANDSHAKE_US 10000000ull
/* Maximum time from the headers of a call to the end of its request. */
#define RPC_REQUEST_US 30000000ull
/* A client that reads no pending bytes for this time is disconnected. */
#define RPC_STALL_US 60000000ull
/* A client without calls that sends nothing for this time is disconnected. */
#define RPC_IDLE_US 900000000ull
#define RPC_PAGE_DEFAULT 1000u
#define RPC_PAGE_MAX 2000u
/* Number of events in memory. A client of WatchEvents must not be more than this many behind. */
#define RPC_EVENTS_KEPT 4096u
/* Number of events of severity debug in memory; slow clients miss older ones. */
#define RPC_DEBUG_KEPT 256u
#define RPC_UNRESPONSIVE_SHOWN 100u
/* maximum number of studies of routes, running and queued */
#define RPC_STUDIES_MAX 8u
/* Maximum number of endports in a request for the quality of a job. */
#define RPC_JOB_ENDS 200000u
/* maximum number of names in a WhatIf request */
#define RPC_FAILURES_MAX 4096u
#define RPC_LOST_SHOWN 100u

#endif
