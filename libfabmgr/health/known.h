/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembers links between switches after they have gone down. The capacity floor (floor.h) needs
 * these links, because it also counts links that have failed, and links of switches that have left
 * the fabric. A link is forgotten when one of its ports gets another peer.
 */
#ifndef LIBFABMGR_HEALTH_KNOWN_H
#define LIBFABMGR_HEALTH_KNOWN_H

#include "libfabmgr/health/floor.h"

/* A set of known links. It is sealed: only its reference count changes, and any thread may change
 * that. */
struct fab_known;
/* Makes a new set: the links of the set `was` (NULL: none), and all links between switches that are
 * up in the fabric. Omits links of `was` if one of their ports now has another peer. Returns
 * NOMEM. */
int fab_health_known_next(const struct fab_known *was, const struct fab_fabric *f,
                          struct fab_known **ret);
struct fab_known *fab_health_known_ref(struct fab_known *k); /* k may be NULL */
void fab_health_known_unref(struct fab_known *k);            /* k may be NULL */
/* Lists the known links that are not up in the fabric. Omits a link if skip() returns true for it:
 * `guid` and `port` are the node GUID of one of its switches and the port number there. `skip` and
 * `k` may be NULL. The caller frees the list with free(). Returns NOMEM. */
int fab_health_known_lost(const struct fab_known *k, const struct fab_fabric *f,
                          bool (*skip)(void *ctx, uint64_t guid, uint8_t port), void *ctx,
                          struct fab_lost_link **ret, size_t *ret_count);

#endif
