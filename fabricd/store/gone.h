/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes and links that were part of the fabric and are not any more. The registry keeps their rows
 * until they are forgotten. The functions that read run a query; changes of the last 50 ms may be
 * missing.
 */
#ifndef FABRICD_STORE_GONE_H
#define FABRICD_STORE_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/store/store.h"
#include "libfabmgr/fabric/fabric.h"

/* Unix seconds. last: when the manager last saw it; at most five minutes too early if the manager
 * was killed. gone_since: when the manager found that it was gone. */
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
/* A handler of rows. The texts of a row are valid until it returns. It must not call the store. */
typedef void store_gone_node_fn(void *ctx, const struct store_gone_node *node);

struct store_gone_nodes {
    int type;       /* enum fab_node_type; 0: all */
    int64_t before; /* only nodes that are gone since a time before this one */
    /* The list continues after the node with this gone_since and GUID; INT64_MAX: it begins. */
    int64_t after_since;
    uint64_t after_guid;
};
/* Calls fn for at most `limit` nodes, those that left last first. Returns NOMEM, IO or FORMAT. */
int store_gone_nodes(struct store *s, const struct store_gone_nodes *query, uint32_t limit,
                     store_gone_node_fn *fn, void *ctx);

/* How a node matches what a user typed; the first value is the best. */
enum store_match {
    STORE_MATCH_NUMBER, /* the GUID of the node or of one of its ports, or its last LID */
    STORE_MATCH_NAME,   /* the whole name */
    STORE_MATCH_WORD,   /* the first word of the name */
    STORE_MATCH_BEGINNING
};
struct store_gone_found {
    /* number of nodes that match equally well, and better than all others; 0: none matches */
    uint32_t count;
    enum store_match match;
    uint64_t guid; /* of the one that left last */
};
/* Finds the nodes that a text names. `number` is the value of the text as a GUID or LID; 0: it is
 * no number. Returns NOMEM, IO or FORMAT. */
int store_gone_find(struct store *s, const char *text, size_t len, uint64_t number, bool is_guid,
                    struct store_gone_found *ret);
/* Calls fn for the gone node with this GUID, if there is one. Returns NOMEM, IO or FORMAT. */
int store_gone_node(struct store *s, uint64_t guid, store_gone_node_fn *fn, void *ctx);

struct store_gone_link {
    /* The ends, in the order of the registry. */
    struct {
        uint64_t guid;
        const char *name;
        uint8_t port;
        bool is_switch;
    } end[2];
    uint8_t width; /* number of lanes */
    const char *speed;
    struct store_seen seen;
};
typedef void store_gone_link_fn(void *ctx, const struct store_gone_link *link);
struct store_gone_links {
    uint64_t node; /* only links of this node; 0: of all nodes */
    uint8_t port;  /* only links of this port of the node; 0: of all its ports */
    /* The list continues after the link with this gone_since and first end; INT64_MAX: it begins.
     */
    int64_t after_since;
    uint64_t after_guid;
    uint8_t after_port;
};
/* Calls fn for at most `limit` links, those that left last first. Returns NOMEM, IO or FORMAT. */
int store_gone_links(struct store *s, const struct store_gone_links *query, uint32_t limit,
                     store_gone_link_fn *fn, void *ctx);

struct store_gone_count {
    uint32_t hosts, switches, others, links; /* hosts: adapters that are no aggregation nodes */
};
/* Counts what is gone since a time in [from, before). Returns NOMEM, IO or FORMAT. */
int store_gone_count(struct store *s, int64_t from, int64_t before, struct store_gone_count *ret);

/* Forgets a node that is gone, with its ports and links. Does nothing if the node is in the fabric
 * when the writer thread does it. */
void store_forget_node(struct store *s, uint64_t guid);
/* Forgets all nodes and links that are gone since a time before `before`. Of the others, at most
 * `nodes` nodes and 8 links for each of them stay, those that left last. */
void store_forget_gone(struct store *s, int64_t before, uint32_t nodes);

#endif
