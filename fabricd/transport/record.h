/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorder is a transport on top of another transport. It passes MADs on in both directions, and
 * records them. */
#ifndef FABRICD_TRANSPORT_RECORD_H
#define FABRICD_TRANSPORT_RECORD_H

#include "fabricd/base/bus.h"
#include "fabricd/transport/transport.h"

/*
 * Opens a recorder on top of the transport `to`, and makes the recorder the receiver of `to`. The
 * caller must close the recorder before `to`. `limit` is the maximum size of the file in bytes; 0:
 * no limit.
 *
 * When the file is full, or if the disk fails or is too slow, recording stops with the event
 * recording-stopped; the recorder still passes MADs on. Returns OK, or NOMEM, IO, DENIED or
 * NOT_FOUND with the reason in why[].
 */
int transport_record_open(struct loop *l, struct transport *to, struct bus *bus, const char *path,
                          uint64_t limit, struct transport **ret, char *why, size_t why_len);
/* Apart from MADs, the decisions of the manager depend on some other data, which these functions
 * record: LID leases, disabled ports, pinned names, and the text of the settings file (left out if
 * it is longer than 64 KiB). Call these functions before the first MAD is sent. */
void transport_record_lease(struct transport *t, uint64_t guid, uint16_t lid, uint8_t lmc);
void transport_record_disabled(struct transport *t, uint64_t node_guid, uint8_t port);
void transport_record_pin(struct transport *t, uint64_t node_guid, const char *name);
void transport_record_settings(struct transport *t, const char *text, size_t len);

#endif
