/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the events and audit records about a node or port that a client named, which may be gone.
 * For this folder only.
 */
#ifndef FABRICD_RPC_CONCERN_H
#define FABRICD_RPC_CONCERN_H

#include "fabricd/rpc/server.h"

#define CONCERN_NAME (FAB_NODE_DESC_LEN * 4 + 1)
#define CONCERN_ENDS 8

struct concern {
    const char *what; /* as the client wrote it; "": everything */
    bool pattern;     /* it has the wildcards * or ? */
    size_t node_len;  /* length of NODE, if `what` is NODE/PORT */
    int port;         /* FAB_ALL_PORTS: the node and all its ports */
    /* The node, if one of the fabric, or one that is gone, has this name; 0 and "": none. */
    uint64_t guid;
    char name[CONCERN_NAME];
    /* The other ends of the links of the port, or of an adapter: where they are now, or where they
     * were last. What happens to a switch port concerns the host at it. */
    struct concern_end {
        uint64_t guid;
        int port;
        char name[CONCERN_NAME];
    } end[CONCERN_ENDS];
    uint32_t end_count;
};
/* what: a name, GUID or LID, or NODE/PORT, or a pattern. It must stay valid. */
void concern_read(struct concern *c, struct rpc *r, const char *what);
/* Events name nodes as they were called at that time, and have their GUIDs. */
bool concern_event(const struct concern *c, const struct event *e);
bool concern_text(const struct concern *c, const char *text);

#endif
