/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits for one client and for all clients together. A well-behaved client reaches none of them.
 */
#ifndef FABRICD_RPC_LIMITS_H
#define FABRICD_RPC_LIMITS_H

#define RPC_MAX_CONNECTIONS 128
/* maximum number of calls in progress of one client (a user, or a certificate name), on all its
 * connections */
#define RPC_MAX_CLIENT_CALLS 400u
/* Limits of new TLS connections from one address: RPC_PEER_BURST at once, then RPC_PEER_RATE per
 * second. A TLS handshake takes CPU time of the handshake thread. If the client sends only a
 * ClientHello, the handshake takes about 0.4 ms with an RSA 2048 key of the manager, and 0.2 ms
 * with a P-256 key. If the client completes the handshake with a certificate, the handshake takes
 * 0.6 ms (RSA) or 0.45 ms (P-256). So the clients of one address take about 1 % of a core. Each
 * listener has RPC_PEERS token buckets; addresses share a bucket if their hashes have the same
 * remainder. The server also remembers RPC_PEERS addresses from which a handshake was completed. */
#define RPC_PEER_BURST 200u
#define RPC_PEER_RATE 20u
#define RPC_PEERS 4096
/* Maximum number of connections that a listener accepts in RPC_ACCEPT_US. The limit leaves time for
 * the other work of the event loop. */
#define RPC_ACCEPTS 32
#define RPC_ACCEPT_US 5000ull
/* Number of descriptors that the process needs besides those of connections. If the process may
 * open fewer descriptors than this number and all connections need together, the manager lowers the
 * limits of connections. */
#define RPC_OTHER_DESCRIPTORS 64u
#define RPC_LEAST_CONNECTIONS 4u
/* maximum number of network clients whose TLS and HTTP/2 handshakes are not complete */
#define RPC_MAX_HANDSHAKES 64
/* maximum number of concurrent calls of a connection */
#define RPC_MAX_STREAMS 100
/* Maximum bytes of a request message. Most requests have fewer than 1,000 bytes. */
#define RPC_MAX_REQUEST (64u << 10)
/* maximum bytes of a request with the files of a policy; only a caller with the role that the
 * method needs may send one */
#define RPC_MAX_LARGE_REQUEST (1088u << 10)
/* Maximum size of a reply message in bytes. It is the size that gRPC clients accept by default. */
#define RPC_MAX_REPLY (4u << 20)
/* maximum bytes of the HTTP/2 headers of a request */
#define RPC_MAX_HEADERS (16u << 10)
/* maximum bytes of the request header fabric-reason, in percent encoding */
#define RPC_MAX_REASON 768u
/* maximum bytes of answers of one connection that are queued because the client has not read them
 * yet */
#define RPC_MAX_QUEUED (8u << 20)
/* Maximum bytes of answers in the buffer of a socket; further bytes wait in the queues of calls. */
#define RPC_MAX_SOCKET_QUEUE (256u << 10)
/* Maximum time in us for which the server handles received bytes of one connection before it
 * continues with other connections. */
#define RPC_TURN_US 500ull
/* number of received bytes after which the server checks whether RPC_TURN_US is used up */
#define RPC_SLICE 128u
/* Maximum time in us from the acceptance of a connection to the end of the TLS and HTTP/2
 * handshakes. */
#define RPC_HANDSHAKE_US 10000000ull
/* minimum time in us between two messages about the same limit */
#define RPC_TELL_US 60000000ull
/* Limit of messages about failed TLS handshakes: RPC_TURNED_AWAY_BURST at once, then one per
 * RPC_TURNED_AWAY_US. */
#define RPC_TURNED_AWAY_BURST 20u
#define RPC_TURNED_AWAY_US 5000000ull
/* Maximum time in us from the headers of a call to the end of its request. */
#define RPC_REQUEST_US 30000000ull
/* Time in us after which a client that reads none of its pending bytes is disconnected. */
#define RPC_STALL_US 60000000ull
/* Time in us after which a client is disconnected if it has no calls and sends nothing. */
#define RPC_IDLE_US 900000000ull
/* Each connection has a budget of HTTP/2 frames. Each frame of the client costs 1. The budget grows
 * by RPC_FRAMES_RATE per second. It also grows by RPC_FRAMES_ANSWER for each HEADERS frame that the
 * server sends, and for each DATA frame of at least RPC_FRAMES_DATA bytes. Its maximum is
 * RPC_FRAMES_BURST. A call costs 2 or 3 frames, and its answer brings 8 or 12, so a client can make
 * calls at any rate. Other frames (RST_STREAM, SETTINGS, PING, CONTINUATION, WINDOW_UPDATE,
 * PRIORITY, empty DATA) bring nothing. A client that sends more than RPC_FRAMES_RATE of them per
 * second for some time uses up its budget, and is disconnected. */
#define RPC_FRAMES_BEGIN 1000u
#define RPC_FRAMES_BURST 4000u
#define RPC_FRAMES_RATE 500u
#define RPC_FRAMES_ANSWER 4u
#define RPC_FRAMES_DATA 64u
#define RPC_PAGE_DEFAULT 1000u
#define RPC_PAGE_MAX 2000u
/* Number of events in the journal. If a call of WatchEvents that has once reached the newest event
 * has more unsent events than this, the manager ends the call. */
#define RPC_EVENTS_KEPT 4096u
/* maximum number of places (16 bytes each) of the events in memory, beside those of the newest
 * event */
#define RPC_PLACES_KEPT 1000000u
/* Number of events of severity debug in the journal. If a slow client has more unsent ones, it
 * misses the oldest of them. */
#define RPC_DEBUG_KEPT 256u
#define RPC_UNRESPONSIVE_SHOWN 100u
/* Maximum number of studies (long computations for an RPC, study.h) that are running or queued: for
 * all clients together, and for one client. */
#define RPC_STUDIES_MAX 64u
#define RPC_STUDIES_CLIENT 4u
/* Maximum CPU time in us that the worker thread spends on one part of a study: on a whole
 * GetQuality or WhatIf, and on one engine of CompareEngines. */
#define RPC_STUDY_CPU_US 600000000ull
/* Maximum number of endports that a client may name in a request for the quality of the tables. The
 * quality is then that of the paths between these endports. */
#define RPC_JOB_ENDS 200000u
/* maximum number of names in a WhatIf request */
#define RPC_FAILURES_MAX 4096u
#define RPC_LOST_SHOWN 100u
/* maximum number of jobs in a GetAffectedJobs request */
#define RPC_JOBS_MAX 10000u
#define RPC_UNKNOWN_SHOWN 10u

#endif
