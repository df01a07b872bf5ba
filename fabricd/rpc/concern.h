/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the events and audit records about the object that a client named: a node, a port, a host
 * with all its adapters, or a rack with all its nodes. Nodes of the object may be gone. For this
 * folder only. */
#ifndef FABRICD_RPC_CONCERN_H
#define FABRICD_RPC_CONCERN_H

#include "fabricd/rpc/server.h"
#include "libfabmgr/view/concern.h"

struct concern {
    const char *what; /* the text that the client gave; "": every event and every record matches */
    bool pattern;     /* true: `what` is a pattern (libfabmgr/base/glob.h) */
    size_t node_len;  /* length of `what`; of the part NODE if it is NODE/PORT */
    int port;         /* port number; FAB_ALL_PORTS: the node and all its ports */
    /* the nodes or ports of the object, in the fabric or gone; empty if `what` names none, or is a
     * pattern */
    struct fab_concern_set objects;
    /* The ports at the other ends of the links of the ports and adapters in `objects`. If a port
     * has no link now, the other end of its last link counts. An event about a switch port thus
     * also concerns the host at this port. */
    struct fab_concern_set ends;
};
/* Reads the text `what` of a request: a name, GUID or LID, or NODE/PORT, or the name of a host or
 * rack, or a pattern. `what` must stay valid as long as *c. Returns NOMEM, and then there is
 * nothing to free. */
int concern_read(struct concern *c, struct rpc *r, const char *what);
void concern_fini(struct concern *c);
/* These functions return true if an event, or a text of an audit record, is about the object. The
 * names of nodes in an event are those at the time of the event, so the functions also compare
 * GUIDs. */
bool concern_event(const struct concern *c, const struct event *e);
bool concern_text(const struct concern *c, const char *text);

#endif
