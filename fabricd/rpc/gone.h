/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers about nodes and links that were part of the fabric and are not any more (store/gone.h).
 * For this folder only.
 */
#ifndef FABRICD_RPC_GONE_H
#define FABRICD_RPC_GONE_H

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/excluded.h"
#include "fabricd/rpc/server.h"
#include "fabricd/store/gone.h"

/* What the conversions of one answer need. */
struct gone {
    struct rpc *rpc;
    const struct fab_view *view;
    struct answer *a;
    struct excluded excluded;
};
/* Returns false if there is no memory. */
bool gone_begin(struct gone *g, struct rpc *rpc, const struct fab_view *v, struct answer *a);
Fabric__V1__GoneNode *gone_convert_node(const struct gone *g, const struct store_gone_node *node);
/* near: the node GUID of the end that becomes `a`; 0: the end that comes first in ListNodes. */
Fabric__V1__GoneLink *gone_convert_link(const struct gone *g, const struct store_gone_link *link,
                                        uint64_t near);

/* Finds the node that a user named with a text that names no node of the fabric. Returns NOT_FOUND:
 * no node that is gone matches. EXISTS: several match equally well. */
int gone_find(struct rpc *r, const char *what, uint64_t *ret_guid);
/* Returns true if a node that is gone matches the text better than all nodes of the fabric.
 * `found`: the result of fab_view_find_node or fab_view_find_port. The text then names no node of
 * the fabric, even if the name of one begins with it ("host-1" is gone, and "host-10" is not). */
bool gone_is_better(struct rpc *r, const struct fab_view *v, const char *what, int found);
/* Writes since when the node is gone that the user named, and where it was last seen. Returns false
 * if no node that is gone matches. */
bool gone_explain(struct rpc *r, const struct fab_view *v, const char *what, char *why,
                  size_t why_len);

#endif
