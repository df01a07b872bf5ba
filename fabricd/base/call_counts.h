/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of RPC calls, clients and studies. The RPC server writes them, and the metrics show
 * them. */
#ifndef FABRICD_BASE_CALL_COUNTS_H
#define FABRICD_BASE_CALL_COUNTS_H

#include <stdint.h>

#define CALL_COUNTS_ROLES 5
#define CALL_COUNTS_CODES 17
/* A study is an RPC call with a long computation (fabricd/rpc/study.h). A study that exceeds one of
 * these limits is refused or ended. */
enum study_limit {
    STUDY_CLIENT, /* number of studies of one client that are running or queued */
    STUDY_ALL,    /* number of studies of all clients that are running or queued */
    STUDY_CPU,    /* CPU time of one study */
    STUDY_LIMITS
};

/* The limits of the RPC server. It closes a connection or refuses a call that exceeds one of them.
 */
enum call_limit {
    CALL_LIMIT_HANDSHAKE_TIME, /* TLS or HTTP/2 handshake not complete in time */
    CALL_LIMIT_REQUEST_TIME,   /* request headers not complete in time */
    CALL_LIMIT_FRAMES,         /* too many HTTP/2 frames */
    CALL_LIMIT_HANDSHAKES,     /* too many pending handshakes */
    CALL_LIMIT_CONNECTIONS,    /* too many connections */
    CALL_LIMIT_CALLS,          /* too many calls of one client in progress */
    CALL_LIMIT_DESCRIPTORS,    /* too many open files */
    CALL_LIMIT_RATE,           /* too many new connections a second from one address */
    CALL_LIMITS
};

struct call_counts {
    /* [role of the caller][gRPC status code] number of ended calls. The role is an enum
     * config_role; 0 stands for an unknown role. */
    uint64_t ended[CALL_COUNTS_ROLES][CALL_COUNTS_CODES];
    unsigned studies_running, studies_queued;
    /* [enum study_limit] number of studies that this limit refused or ended */
    uint64_t studies_refused[STUDY_LIMITS];
    /* [enum call_limit] number of connections that this limit closed or refused, plus the number of
     * calls that it refused */
    uint64_t limited[CALL_LIMITS];
};

#endif
