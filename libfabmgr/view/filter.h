/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the nodes and ports that a user's text names, for lists and for commands that change
 * several objects. The text can be "" (everything), a node (as in fab_view_find_node), or a pattern
 * for the names of nodes (libfabmgr/base/glob.h). It can also be the name of a host, which stands
 * for all adapters of the host. A node or a pattern may have "/PORT" after it, where PORT is a
 * number or a pattern for numbers: "leaf-0[1-8]", "leaf-01/3", "leaf-01/[1-4]".
 *
 * A pattern matches a node if it matches one of these texts: the whole name of the node, the first
 * word of this name, the NodeDescription, or the name of the node's host in the operator's file of
 * locations.
 */
#ifndef LIBFABMGR_VIEW_FILTER_H
#define LIBFABMGR_VIEW_FILTER_H

#include "libfabmgr/view/view.h"

#define FAB_FILTER_TEXT_MAX 1024u /* longest text of a pattern */

struct fab_view_filter {
    const struct fab_view *view;
    const char *what;
    /* true: NODE is a pattern, or the name of a host, which stands for all adapters of the host */
    bool pattern;
    /* id of the node, if the text names a single one; FAB_NONE: all nodes, or the nodes that match
     * the pattern */
    uint32_t node;
    /* length of NODE in `what`, and whether "/PORT" follows it */
    size_t node_len;
    bool has_port;
    /* the node that was compared last, and whether it matched */
    uint32_t last;
    bool last_matched;
};
/* Reads the text `what`. The text and the view must stay valid as long as the filter. Returns
 * NOT_FOUND if nothing matches, EXISTS if a name is ambiguous, or INVAL if the text is too long;
 * why[] then has a message. */
int fab_view_filter_read(struct fab_view_filter *f, const struct fab_view *v, const char *what,
                         char *why, size_t why_len);
/* Returns true if the text names the node, or one of its ports. */
bool fab_view_filter_node(struct fab_view_filter *f, uint32_t node);
bool fab_view_filter_port(struct fab_view_filter *f, uint32_t port); /* port: port id */

#endif
