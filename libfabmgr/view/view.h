/* SPDX-License-Identifier: BSD-3-Clause */
/* A view is the state of the fabric for readers. A view is reference-counted, and does not change
 * after it is published. */
#ifndef LIBFABMGR_VIEW_VIEW_H
#define LIBFABMGR_VIEW_VIEW_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"
#include "libfabmgr/verify/verify.h"

struct fab_view {
    /* generation of this view; the first published view has number 1 */
    uint64_t generation;
    /* the view owns one reference to the fabric, and one to `target` */
    struct fab_fabric *fabric;
    struct fab_target *target; /* NULL until tables are computed */
    struct fab_policy policy;
    struct fab_verdict verdict;
    uint64_t published_us; /* Unix time, microseconds */
    /* number of references; changed only by atomic operations; only view.c uses this member */
    int refs;
};
/* Creates a view. The view takes over the references to fabric and target and the contents of
 * policy and verdict, which are empty afterwards. Returns NULL if memory ran out; the caller then
 * still owns all of them. */
struct fab_view *fab_view_new(uint64_t generation, struct fab_fabric *fabric,
                              struct fab_target *target, struct fab_policy *policy,
                              struct fab_verdict *verdict);
struct fab_view *fab_view_ref(const struct fab_view *v);
void fab_view_unref(struct fab_view *v); /* v may be NULL */

/* Returns the input with which fab_verify verifies the tables of the view. The view must have
 * tables. The result is valid as long as the caller has a reference to the view. */
struct fab_verify_input fab_view_verify_input(const struct fab_view *v);

/* Finds the port that a user's text names. The port must have a LID. The text is a LID ("12",
 * "0x1a"), the GUID of a port or node (see fab_view_read_number), or a node name. A node name is
 * compared, in this order, with the whole name of each node, the first word of the name, the
 * beginning of the name, the whole NodeDescription, and the name of the node's host in the
 * operator's file of locations. If no name matches, upper and lower case count as equal. A text
 * that matches several nodes is ambiguous. "/PORT" may follow the text. Without "/PORT", a node
 * with several ports that have LIDs is ambiguous. The exception is a GUID that is the GUID of the
 * node and of one of these ports. Returns OK, or NOT_FOUND or EXISTS (the text is ambiguous) with
 * the reason in why[]. fab_view_find_node finds a node in the same way, but its text cannot have
 * "/PORT" at the end. */
int fab_view_find_port(const struct fab_view *v, const char *what, uint32_t *ret_port, char *why,
                       size_t why_len);
int fab_view_find_node(const struct fab_view *v, const char *what, uint32_t *ret_node, char *why,
                       size_t why_len);

/* Returns true if `name` is the name of a node, the first word of such a name, or a
 * NodeDescription. */
bool fab_view_has_name(const struct fab_view *v, const char *name, size_t len);

/* A number by which a user may name a node or port. */
struct fab_view_number {
    uint64_t value;
    bool guid; /* true: the number is a GUID; false: it is a LID */
};
/* Reads a LID (decimal, or 0x and up to 4 digits) or a GUID. A GUID is 0x and more digits; 16
 * digits; groups of 4 or 2 digits with colons between them; 16 digits after "S-", "H-" or "R-"; or
 * the GUID at the end of a GID. Returns false if the text is neither. */
bool fab_view_read_number(const char *text, size_t len, struct fab_view_number *ret);

#endif
