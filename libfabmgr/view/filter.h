/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the nodes and ports that a user's text names, for lists and for commands that change
 * several objects. The text can be "" (everything), a node (as in fab_view_find_node), or a pattern
 * for the names of nodes (libfabmgr/base/glob.h). It can also be the name of a host, which stands
 * for all adapters of the host, or the name of a rack, which stands for all switches and adapters
 * in it. A node or a pattern may have "/PORT" after it, where PORT is a number or a pattern for
 * numbers: "leaf-0[1-8]", "leaf-01/3", "leaf-01/[1-4]".
 *
 * "rack:NAME" always names a rack, and NAME may be a pattern. Without "rack:", the text is compared
 * with the names of racks only if it names no node and no host.
 *
 * A pattern matches a node if it matches one of these texts: the whole name of the node, the first
 * word of this name, the NodeDescription, or the name of the node's host in the operator's file of
 * locations.
 */
#ifndef LIBFABMGR_VIEW_FILTER_H
#define LIBFABMGR_VIEW_FILTER_H

#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/view/view.h"

#define FAB_FILTER_TEXT_MAX 1024u /* longest text of a pattern */
#define FAB_FILTER_RACK "rack:"   /* what comes before the name of a rack */

struct fab_view_filter {
    const struct fab_view *view;
    const char *what;
    /* true: NODE (what the text has before "/PORT") is a pattern, or the name of a host, which
     * stands for all its adapters */
    bool pattern;
    /* id of the node, if the text names a single one; FAB_NONE: all nodes, or the nodes that match
     * the pattern */
    uint32_t node;
    /* Name or pattern of the rack, if the text names a rack; otherwise NULL. hosts: the hosts of
     * the view, borrowed. */
    const char *rack;
    const struct fab_hosts *hosts;
    /* length of NODE in `what`, and whether "/PORT" follows it */
    size_t node_len;
    bool has_port;
    /* the node that was compared last, and whether it matched */
    uint32_t last;
    bool last_matched;
};
/* Reads the text `what`. `hosts`: the hosts of the view; NULL: the text cannot name a rack. The
 * text, the view and `hosts` must stay valid as long as the filter. Returns OK, or with the reason
 * in why[]: NOT_FOUND (nothing matches), EXISTS (a name is ambiguous) or INVAL (the text is too
 * long). */
int fab_view_filter_read(struct fab_view_filter *f, const struct fab_view *v,
                         const struct fab_hosts *hosts, const char *what, char *why,
                         size_t why_len);
/* Returns true if the text names the node, or one of its ports. */
bool fab_view_filter_node(struct fab_view_filter *f, uint32_t node);
bool fab_view_filter_port(struct fab_view_filter *f, uint32_t port); /* port: port id */

#endif
