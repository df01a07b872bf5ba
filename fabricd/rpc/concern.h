/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the events and audit records about a node or port that a client named. The node may be
 * gone. For this folder only. */
#ifndef FABRICD_RPC_CONCERN_H
#define FABRICD_RPC_CONCERN_H

#include "fabricd/rpc/server.h"

#define CONCERN_NAME (FAB_NODE_DESC_LEN * 4 + 1)
#define CONCERN_ENDS 8

struct concern {
    const char *what; /* the text that the client gave; "": every event and every record matches */
    bool pattern;     /* true: `what` is a pattern (libfabmgr/base/glob.h) */
    size_t node_len;  /* length of the part NODE, if `what` is NODE/PORT */
    int port;         /* port number; FAB_ALL_PORTS: the node and all its ports */
    /* The node with this name, in the fabric or among the nodes that are gone. If there is none,
     * guid is 0 and name is "". */
    uint64_t guid;
    char name[CONCERN_NAME];
    /* The ports at the other ends of the links of the port or adapter. If a port has no link now,
     * the other end of its last link counts. An event about a switch port thus also concerns the
     * host at this port. */
    struct concern_end {
        uint64_t guid;
        int port;
        char name[CONCERN_NAME];
    } end[CONCERN_ENDS];
    uint32_t end_count;
};
/* Reads the text `what` of a request: a name, GUID or LID, or NODE/PORT, or a pattern. `what` must
 * stay valid as long as *c. */
void concern_read(struct concern *c, struct rpc *r, const char *what);
/* These functions return true if an event, or a text of an audit record, is about the node or port.
 * The names of nodes in an event are those at the time of the event, so the functions also compare
 * GUIDs. */
bool concern_event(const struct concern *c, const struct event *e);
bool concern_text(const struct concern *c, const char *text);

#endif
