/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a text in a journal is about a node or port that a user named. */
#ifndef LIBFABMGR_VIEW_CONCERN_H
#define LIBFABMGR_VIEW_CONCERN_H

#include <stdbool.h>
#include <stddef.h>

#define FAB_ALL_PORTS (-1)

struct fab_concern {
    const char *node; /* name of a node, or its first word; not NUL-terminated */
    size_t len;
    int port; /* FAB_ALL_PORTS: the node and all its ports */
};
/* Returns true if the text is the node or one of its ports ("leaf-1/12"), or a list with one of
 * these ("leaf-1/12 - spine-1/3", "leaf-1, leaf-2"). The time is linear in the lengths. */
bool fab_view_concerns(const struct fab_concern *c, const char *text);

#endif
