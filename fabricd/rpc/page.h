/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of long lists. A page token identifies the last row of a page by a key (such as a GUID),
 * not by its position, so that a client can continue after the fabric changed.
 */
#ifndef FABRICD_RPC_PAGE_H
#define FABRICD_RPC_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/rpc/answer.h"
#include "libfabmgr/fabric/fabric.h"

/* The last row of the previous page. `list` distinguishes the tokens of different lists. */
struct page_key {
    char list;       /* 'n' nodes, 'p' ports, 'l' links, 'f' forwarding table, 'e' events,
                        'r' reroutes, 'c' contingencies, 'x' counters, 'k' partitions,
                        'm' their members, 'v' services, 'i' subscriptions,
                        'P' pinned names, 'g' multicast groups, 'h' their members, 'C' rules of a class */
    bool behind;     /* nodes, ports, links: the node is no switch, and so follows all switches */
    uint64_t number; /* what the list is sorted by: node GUID, LID, sequence number of an event,
                        generation of a reroute, badness of a contingency, ... */
    uint32_t port;
    uint64_t high; /* upper half of an MGID, whose lower half is in `number`; otherwise 0 */
};
/* Parses a token. *ret_given is false if the token is empty. FORMAT: not a token of this list. */
int page_parse(char list, const char *token, struct page_key *ret, bool *ret_given);
char *page_token(struct answer *a, const struct page_key *key);
/* Returns the requested page size, but at most RPC_PAGE_MAX; for 0, RPC_PAGE_DEFAULT. */
uint32_t page_size(uint32_t asked);

/* Returns the first node at or after the key, or f->node_count. *ret_same: the node is that of the
 * key. */
uint32_t page_node(const struct fab_fabric *f, const struct page_key *key, bool *ret_same);
/* Returns the first port id after the key, or f->port_count. */
uint32_t page_port(const struct fab_fabric *f, const struct page_key *key);
struct page_key page_key_of_node(const struct fab_fabric *f, uint32_t node);
struct page_key page_key_of_port(const struct fab_fabric *f, uint32_t port, char list);

#endif
