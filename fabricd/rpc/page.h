/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of long lists. A token identifies the last row of a page by its key (such as a GUID), not
 * by its position, so that a client can read on after the fabric changed.
 */
#ifndef FABRICD_RPC_PAGE_H
#define FABRICD_RPC_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/rpc/answer.h"
#include "libfabmgr/fabric/fabric.h"

/* The row after which the page begins. `list` distinguishes the tokens of different lists. */
struct page_key {
    char list;       /* 'n' nodes, 'p' ports, 'l' links, 'f' forwarding table, 'e' events,
                        'r' reroutes, 'c' contingencies, 'x' counters, 'k' partitions,
                        'm' their members, 'v' services, 'i' subscriptions,
                        'g' multicast groups, 'h' their members, 'C' rules of a class */
    bool behind;     /* nodes, ports, links: the row is not of a switch */
    uint64_t number; /* node GUID, LID, sequence number, generation, badness */
    uint32_t port;
    uint64_t high; /* upper half of an MGID, whose lower half is in number; else 0 */
};
/* Empty token: *ret_given is false. FORMAT: not a token of this list. */
int page_parse(char list, const char *token, struct page_key *ret, bool *ret_given);
char *page_token(struct answer *a, const struct page_key *key);
/* The page size that was requested, or the default or the limit. */
uint32_t page_size(uint32_t asked);

/* The first node at or after the key; *ret_same: it is the node of the key. node_count: none. */
uint32_t page_node(const struct fab_fabric *f, const struct page_key *key, bool *ret_same);
/* The first port id after the key. port_count: none. */
uint32_t page_port(const struct fab_fabric *f, const struct page_key *key);
struct page_key page_key_of_node(const struct fab_fabric *f, uint32_t node);
struct page_key page_key_of_port(const struct fab_fabric *f, uint32_t port, char list);

#endif
