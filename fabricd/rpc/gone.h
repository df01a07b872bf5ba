/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers about nodes and links that were part of the fabric and have left it (store/gone.h). For
 * this folder only.
 */
#ifndef FABRICD_RPC_GONE_H
#define FABRICD_RPC_GONE_H

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/excluded.h"
#include "fabricd/rpc/server.h"
#include "fabricd/store/gone.h"

/* The data that the functions below need for all messages of one answer. */
struct gone {
    struct rpc *rpc;
    const struct fab_view *view;
    struct answer *a;
    struct excluded excluded;
};
/* Fills in *g for the messages of a new answer. Returns false if there is no memory. */
bool gone_begin(struct gone *g, struct rpc *rpc, const struct fab_view *v, struct answer *a);
Fabric__V1__GoneNode *gone_convert_node(const struct gone *g, const struct store_gone_node *node);
/* Converts a link that is gone. `near`: the node GUID of the end that becomes `a` in the message.
 * near == 0: if only one end is at a switch, this end becomes `a`. */
Fabric__V1__GoneLink *gone_convert_link(const struct gone *g, const struct store_gone_link *link,
                                        uint64_t near);

/* Looks for the name, GUID or LID `what` among the nodes that are gone. Call this function only if
 * no node of the fabric matches `what`. Returns NOT_FOUND, or EXISTS if several nodes match equally
 * well. */
int gone_find(struct rpc *r, const char *what, uint64_t *ret_guid);
/* Returns true if the caller must look for `what` among the nodes that are gone: either no node of
 * the fabric matches `what`, or a node that is gone matches it better. For example, if "host-1" is
 * gone and "host-10" is not, the text "host-1" does not mean "host-10". `found`: the result of
 * fab_view_find_node or fab_view_find_port. */
bool gone_is_better(struct rpc *r, const struct fab_view *v, const char *what, int found);
/* If `what` matches a node that is gone, writes to why[] when the node left and where it was last
 * seen, and returns true. If `what` matches several such nodes, writes instead how to list them. If
 * `what` matches none, or memory ran out, returns false. */
bool gone_explain(struct rpc *r, const struct fab_view *v, const char *what, char *why,
                  size_t why_len);

#endif
