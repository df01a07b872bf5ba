/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs the clients whose TLS handshake failed, and records refused certificates in the audit log.
 */
#ifndef FABRICD_RPC_TURNED_AWAY_H
#define FABRICD_RPC_TURNED_AWAY_H

#include <stdint.h>

#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/handshake.h"

/* The number of failed handshakes, and the limit of messages about them. At first all bytes are
 * zero. */
struct turned_away {
    /* token bucket (libfabmgr/base/bucket.h) of the messages that may be logged */
    uint64_t log_bucket;
    /* number of failed handshakes that were not logged since the last message */
    uint64_t unlogged;
};
/* Notes the client of a failed handshake. In a flood of such clients, the log names only some of
 * them. */
void turned_away_note(struct turned_away *t, struct audit *audit, const struct handshake_result *r);

#endif
