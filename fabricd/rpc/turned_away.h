/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs the clients whose TLS handshake failed, and records refused certificates in the audit log.
 */
#ifndef FABRICD_RPC_TURNED_AWAY_H
#define FABRICD_RPC_TURNED_AWAY_H

#include <stdint.h>

#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/handshake.h"

/* All bytes zero: nobody was turned away yet. */
struct turned_away {
    uint64_t log_bucket; /* messages that may be logged (libfabmgr/base/bucket.h) */
    uint64_t unlogged;   /* clients since the last message */
};
/* Notes the client of a failed handshake. A flood of such clients logs only some messages. */
void turned_away_note(struct turned_away *t, struct audit *audit, const struct handshake_result *r);

#endif
