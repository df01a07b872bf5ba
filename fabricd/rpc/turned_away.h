/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs the clients whose TLS handshake failed, and records refused certificates in the audit log.
 */
#ifndef FABRICD_RPC_TURNED_AWAY_H
#define FABRICD_RPC_TURNED_AWAY_H

#include <stdint.h>

#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/handshake.h"

/* The state of the log of failed handshakes. All bytes are zero at first. */
struct turned_away {
    /* token bucket (libfabmgr/base/bucket.h) of the messages that may be logged */
    uint64_t log_bucket;
    /* number of failed handshakes that were not logged since the last message */
    uint64_t unlogged;
};
/* Call this function for each failed handshake. If the certificate of the client was refused, this
 * is recorded in the audit log, at a limited rate (audit_refused). Otherwise the failure is logged,
 * unless the client only closed the connection. If many handshakes fail, the log names only some of
 * the clients. */
void turned_away_note(struct turned_away *t, struct audit *audit, const struct handshake_result *r);

#endif
