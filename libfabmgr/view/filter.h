/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the nodes and ports that a user's text names, for lists and for commands that change
 * several objects. The text is "" (everything), a node (as in fab_view_find_node), the name of a
 * host, which names all its adapters, or a pattern for the names of nodes (libfabmgr/base/glob.h).
 * A node or a pattern may have "/PORT" after it, where PORT is a number or a pattern for numbers:
 * "leaf-0[1-8]", "leaf-01/3", "leaf-01/[1-4]".
 *
 * A pattern matches a node if it matches its whole name, the first word of its name, its
 * NodeDescription, or the name of its host in the operator's file of locations.
 */
#ifndef LIBFABMGR_VIEW_FILTER_H
#define LIBFABMGR_VIEW_FILTER_H

#include "libfabmgr/view/view.h"

#define FAB_FILTER_TEXT_MAX 1024u /* longest text of a pattern */

struct fab_view_filter {
    const struct fab_view *view;
    const char *what;
    bool pattern;  /* NODE is a pattern */
    uint32_t node; /* the only node; FAB_NONE: all nodes, or those that match the pattern */
    /* length of NODE in `what`, and whether "/PORT" follows it */
    size_t node_len;
    bool has_port;
    /* the node that was compared last, and whether it matched */
    uint32_t last;
    bool last_matched;
};
/* Reads the text `what`. The text and the view must stay valid as long as the filter. Returns
 * NOT_FOUND (nothing matches), EXISTS (a name is ambiguous) or INVAL (the text is too long), with a
 * message in why[]. */
int fab_view_filter_read(struct fab_view_filter *f, const struct fab_view *v, const char *what,
                         char *why, size_t why_len);
/* Returns true if the text names the node, or one of its ports. */
bool fab_view_filter_node(struct fab_view_filter *f, uint32_t node);
bool fab_view_filter_port(struct fab_view_filter *f, uint32_t port); /* port: port id */

#endif
