/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one client, or all of them, may ask of us. A limit is always there; none is so low that a
 * well-behaved client meets it.
 */
#ifndef FABRICD_RPC_LIMITS_H
#define FABRICD_RPC_LIMITS_H

#define RPC_MAX_CONNECTIONS 128
#define RPC_MAX_STREAMS 100               /* concurrent calls of a connection */
#define RPC_MAX_REQUEST (64u << 10)       /* bytes; our largest request has a few hundred */
#define RPC_MAX_REPLY (4u << 20)          /* bytes; what stock clients accept */
#define RPC_MAX_HEADERS (16u << 10)       /* bytes of a request's header list */
#define RPC_MAX_QUEUED (8u << 20)         /* bytes of answers that a connection has not read */
#define RPC_MAX_SOCKET_QUEUE (256u << 10) /* of these, bytes handed to the socket's buffer */
#define RPC_TURN_US 2000ull               /* of calls handled, then others get their turn */
#define RPC_SLICE 128u                    /* bytes of requests taken at once: two calls or so */
#define RPC_HANDSHAKE_US 10000000ull      /* from accept to TLS and HTTP/2 being up */
#define RPC_REQUEST_US 30000000ull        /* from a call's headers to the end of its request */
#define RPC_STALL_US 60000000ull          /* with bytes to send, and none taken */
#define RPC_IDLE_US 900000000ull          /* no call under way and no byte received */
#define RPC_PAGE_DEFAULT 1000u
#define RPC_PAGE_MAX 2000u
#define RPC_EVENTS_KEPT 4096u /* how far a follower of events may fall behind */
#define RPC_SILENT_SHOWN 100u
#define RPC_STUDIES_MAX 8u     /* of routes, under way or waiting */
#define RPC_JOB_ENDS 200000u   /* ends of a job */
#define RPC_FAILURES_MAX 4096u /* of one what-if, in names */
#define RPC_LOST_SHOWN 100u

#endif
