/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery: what to ask next, given what answered. Breadth first over directed routes; one
 * NodeInfo a cable where the far end is already known from the other side. Whole (base == NULL), or
 * scoped: starting from a snapshot, look again only at the suspects and at what hangs new on them.
 *
 * It is a source of requests for a mads session: fab_discover_next fills SubnGet requests, the
 * answers go to fab_discover_answer with the tag of the request.
 */
#ifndef LIBFABMGR_DISCOVER_DISCOVER_H
#define LIBFABMGR_DISCOVER_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_discover;

struct fab_discover_config {
    const struct fab_fabric *base; /* NULL: whole fabric from our own port */
    const uint64_t *suspects;      /* scoped: node GUIDs to look at again */
    uint32_t suspect_count;
    uint64_t m_key;
    uint32_t node_limit, port_limit; /* bounds against a hostile fabric; 0: the defaults */
};
#define FAB_DISCOVER_NODE_LIMIT (1u << 18)
#define FAB_DISCOVER_PORT_LIMIT (1u << 22)
/* A question: SubnGet(attr_id, attr_mod) along path. path lives until the question is answered. */
struct fab_discover_ask {
    const struct fab_path *path;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t tag;
};
/* A place that did not answer, or answered nonsense. */
struct fab_unresponsive {
    uint64_t near_guid; /* node whose port leads there; 0: our own node */
    uint8_t near_port;
    uint64_t guid;    /* the node that did not answer this, where it said who it is; else 0 */
    uint16_t attr_id; /* what was asked */
    int status;       /* TIMEOUT, REFUSED, FORMAT, EXISTS (duplicate GUID, cable conflict),
                         LIMIT (too many hops, nodes or ports) */
};

/* INVAL: base without self_port. NOMEM. */
int fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret);
void fab_discover_free(struct fab_discover *d);
bool fab_discover_next(struct fab_discover *d, struct fab_discover_ask *ret_ask);
/* status as in fab_mads_answer; data: 64 bytes when status is OK. Hostile data is counted as a
 * silent place, never fatal. NOMEM only. */
int fab_discover_answer(struct fab_discover *d, uint64_t tag, int status, const uint8_t *data);
bool fab_discover_done(const struct fab_discover *d); /* nothing asked is unanswered, none to ask */
/* The result: what is reached over cables from our port. Call once done. The caller owns the
 * snapshot. NOT_FOUND: our own node did not answer. */
int fab_discover_result(struct fab_discover *d, struct fab_fabric **ret_fabric);
/* Silent places so far, in a stable order; valid until free. */
const struct fab_unresponsive *fab_discover_unresponsive(const struct fab_discover *d,
                                                         uint32_t *ret_count);
/* Directed routes to all nodes of a sealed snapshot, by breadth first search over live cables from
 * self_port: malloc'd, [node_count]. INVAL: no self_port. */
int fab_discover_paths(const struct fab_fabric *f, struct fab_path **ret_paths /* [node_count] */);
#define FAB_PATH_UNKNOWN 0xff /* hops value of a node that is not reached */

#endif
