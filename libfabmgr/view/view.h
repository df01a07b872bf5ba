/* SPDX-License-Identifier: BSD-3-Clause */
/* A view: everything that a reader of the fabric's state needs; sealed and reference-counted, it
 * never changes once it is published. */
#ifndef LIBFABMGR_VIEW_VIEW_H
#define LIBFABMGR_VIEW_VIEW_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"
#include "libfabmgr/verify/verify.h"

struct fab_view {
    uint64_t generation;       /* counts the views that this daemon has published, from 1 */
    struct fab_fabric *fabric; /* owned references */
    struct fab_target *target; /* NULL until tables are computed */
    struct fab_policy policy;
    struct fab_verdict verdict;
    uint64_t published_us; /* Unix time, microseconds */
    int refs;              /* private, atomic */
};
/* Takes over the references to fabric and target and the contents of policy and verdict, which are
 * empty afterwards. Returns NULL without memory: then everything still belongs to the caller. */
struct fab_view *fab_view_new(uint64_t generation, struct fab_fabric *fabric,
                              struct fab_target *target, struct fab_policy *policy,
                              struct fab_verdict *verdict);
struct fab_view *fab_view_ref(const struct fab_view *v);
void fab_view_unref(struct fab_view *v); /* NULL is fine */

/* Finds a port that owns a LID by what a person types: "12", "0x1a", a port or node GUID
 * ("0x0002c9..." longer than a LID, or "0002:c903:..."), or a node description (exact, else the
 * only one with that prefix), optionally followed by "/PORT". A node with several ports that own
 * LIDs is ambiguous without "/PORT", unless its GUID is also that of one of the ports. Returns
 * NOT_FOUND or EXISTS (ambiguous; why[] names the first few); why[] then holds a sentence.
 * fab_view_find_node does the same for nodes. */
int fab_view_find_port(const struct fab_view *v, const char *what, uint32_t *ret_port, char *why,
                       size_t why_len);
int fab_view_find_node(const struct fab_view *v, const char *what, uint32_t *ret_node, char *why,
                       size_t why_len);

#endif
