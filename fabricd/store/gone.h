/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and links that were part of the fabric and have left it. The registry keeps their rows
 * until they are forgotten. Functions that read the registry run a query on the database, which may
 * not have the changes of the last 50 ms yet. */
#ifndef FABRICD_STORE_GONE_H
#define FABRICD_STORE_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"
#include "libfabmgr/fabric/fabric.h"

/* Unix times in s. first, last: when the manager first and last saw the node or link. If the
 * manager was killed, `last` may be up to five minutes too early. gone_since: when the manager
 * noticed that the node or link was gone. */
struct store_seen {
    int64_t first, last, gone_since;
};

struct store_gone_node {
    uint64_t guid;
    const char *name; /* NodeDescription */
    enum fab_node_type type;
    bool aggregation;
    uint32_t ports;
    struct store_seen seen;
};
/* A function that receives rows. The texts of a row are valid until the function returns. The
 * function must not call the store. */
typedef void store_gone_node_fn(void *ctx, const struct store_gone_node *node);

struct store_gone_nodes {
    int type;       /* list only nodes of this type (enum fab_node_type); 0: all types */
    int64_t before; /* list only nodes whose gone_since is before this time */
    /* For the next page of a list: gone_since and GUID of the last node that was listed.
     * after_since INT64_MAX: the first page. */
    int64_t after_since;
    uint64_t after_guid;
};
/* Calls fn for at most `limit` nodes; the nodes that left last come first. Returns OK or an error
 * of sql_status (sql.h). */
int store_gone_nodes(struct store *s, const struct store_gone_nodes *query, uint32_t limit,
                     store_gone_node_fn *fn, void *ctx);

/* How well the name or number that a user typed matches a node, from best to worst. */
enum store_match {
    /* the text is the GUID of the node or of one of its ports, or its last LID */
    STORE_MATCH_NUMBER,
    STORE_MATCH_NAME, /* the text is the whole name */
    STORE_MATCH_WORD, /* the text is the first word of the name */
    STORE_MATCH_BEGINNING
};
struct store_gone_found {
    /* number of nodes with the best match; 0: no node matches */
    uint32_t count;
    enum store_match match;
    uint64_t guid; /* GUID of the node that left last among the nodes that match best */
};
/* Finds the gone nodes that match `text`, which a user typed. number: the value of the text if it
 * is a GUID (is_guid: true) or a LID; otherwise 0. Returns OK or an error of sql_status (sql.h). */
int store_gone_find(struct store *s, const char *text, size_t len, uint64_t number, bool is_guid,
                    struct store_gone_found *ret);
/* Calls fn for the gone node with this GUID, if there is one. Returns OK or an error of sql_status
 * (sql.h). */
int store_gone_node(struct store *s, uint64_t guid, store_gone_node_fn *fn, void *ctx);

struct store_gone_link {
    /* the two ends, in the order of the registry: the lower pair of node GUID and port first */
    struct {
        uint64_t guid;
        const char *name;
        uint8_t port;
        bool is_switch;
    } end[2];
    uint8_t width; /* number of lanes: 1, 2, 4, 8 or 12 */
    const char *speed;
    struct store_seen seen;
};
typedef void store_gone_link_fn(void *ctx, const struct store_gone_link *link);
struct store_gone_links {
    uint64_t node; /* only links of this node; 0: of nodes[] or, if node_count is 0, of all nodes */
    const uint64_t *nodes; /* [node_count] */
    size_t node_count;
    uint8_t port; /* only links of ports with this number; 0: links of all ports */
    /* For the next page of a list: gone_since and first end of the last link that was listed.
     * after_since INT64_MAX: the first page. */
    int64_t after_since;
    uint64_t after_guid;
    uint8_t after_port;
};
/* Calls fn for at most `limit` links; the links that left last come first. Returns OK or an error
 * of sql_status (sql.h). */
int store_gone_links(struct store *s, const struct store_gone_links *query, uint32_t limit,
                     store_gone_link_fn *fn, void *ctx);

struct store_gone_count {
    /* Numbers of nodes and links that are gone. hosts: adapters, except the aggregation nodes of
     * switches. others: routers and aggregation nodes. */
    uint32_t hosts, switches, others, links;
};
/* Counts the nodes and links whose gone_since is in [from, before). Returns OK or an error of
 * sql_status (sql.h). */
int store_gone_count(struct store *s, int64_t from, int64_t before, struct store_gone_count *ret);

/* Carries out a request of an operator: forgets a node that is gone, with its ports and links. If
 * the state is replicated, the other managers forget this node, too. Has no effect if the node has
 * come back by the time the writer thread handles this request. */
void store_forget_node(struct store *s, uint64_t guid);
/* Carries out a request of an operator: forgets all nodes and links whose gone_since is before
 * `before`. If the state is replicated, the other managers forget these nodes, too
 * (forgotten.h). */
void store_forget_older(struct store *s, int64_t before);
/* Limits how much the registry keeps. Forgets all nodes and links whose gone_since is before
 * `before`. Of the others, keeps only the `nodes` nodes and the 8 * `nodes` links that left
 * last. */
void store_forget_gone(struct store *s, int64_t before, uint32_t nodes);

#endif
