/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a text in a journal is about a node or port that a user named. */
#ifndef LIBFABMGR_VIEW_CONCERN_H
#define LIBFABMGR_VIEW_CONCERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_ALL_PORTS (-1)

struct fab_concern {
    const char *node; /* name of a node, or its first word; not NUL-terminated */
    size_t len;
    int port; /* FAB_ALL_PORTS: the node and all its ports */
};
/* Returns true if the text names the node or the port of *c, or, with c->port == FAB_ALL_PORTS, any
 * port of the node. The text is either a single name ("leaf-1", "leaf-1/12"), or a list of names
 * ("leaf-1/12 - spine-1/3", "leaf-1, leaf-2"). The time is linear in the lengths of the names and
 * of the text. */
bool fab_view_concerns(const struct fab_concern *c, const char *text);

/* A node, or one of its ports. */
struct fab_concern_place {
    uint64_t guid; /* node GUID */
    int port;      /* FAB_ALL_PORTS: the node and all its ports */
    char *name;    /* name of the node */
};
/* A set of places, such as all adapters of a host, or all nodes in a rack. A look-up takes time
 * logarithmic in the number of places. All bytes zero: an empty set. */
struct fab_concern_set {
    struct fab_concern_place
        *by_guid;      /* [count] sorted by GUID and port, after fab_view_concern_set_sort */
    uint32_t *by_name; /* [count] indices in by_guid[], sorted by name and port */
    size_t count, room;
};
/* Adds a place, with a copy of the name. Returns OK or NOMEM. */
int fab_view_concern_set_add(struct fab_concern_set *p, uint64_t guid, int port, const char *name);
/* Sorts the set. The caller calls it after the last place was added, and before it calls
 * fab_view_concern_set_have or fab_view_concern_set_named. Returns OK or NOMEM. */
int fab_view_concern_set_sort(struct fab_concern_set *p);
/* Returns true if the set has this port of the node, or the node with all its ports. */
bool fab_view_concern_set_have(const struct fab_concern_set *p, uint64_t guid, uint64_t port);
/* Returns true if the text names a place of the set. The text has the form that fab_view_concerns
 * accepts, but must have the whole name of the node, not only its first word. */
bool fab_view_concern_set_named(const struct fab_concern_set *p, const char *text);
void fab_view_concern_set_fini(struct fab_concern_set *p);

#endif
