/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of long lists. A token names the last row that was given, by what it is and not by where it
 * stood: so a list can be read on although the fabric changed in between.
 */
#ifndef FABRICD_RPC_PAGE_H
#define FABRICD_RPC_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/rpc/answer.h"
#include "libfabmgr/fabric/fabric.h"

/* The row after which to go on. `list` keeps tokens of different lists apart. */
struct page_key {
    char list;       /* 'n' nodes, 'p' ports, 'l' links, 'f' forwarding table, 'e' events,
                        'r' reroutes, 'c' contingencies, 'x' counters, 'k' partitions,
                        'm' their members, 'v' services, 'i' subscriptions,
                        'g' multicast groups, 'h' their members, 'C' rules of a class */
    bool behind;     /* nodes, ports, links: behind the switches */
    uint64_t number; /* node GUID, LID, sequence number, generation, badness */
    uint32_t port;
    uint64_t high; /* of an MGID, whose lower half is in number; else 0 */
};
/* Empty token: *ret_given is false. FORMAT: not one of this list's. */
int page_parse(char list, const char *token, struct page_key *ret, bool *ret_given);
char *page_token(struct answer *a, const struct page_key *key);
/* As asked for, within what is allowed. */
uint32_t page_size(uint32_t asked);

/* First node that stands after the key's, or its own: *ret_same. node_count: none. */
uint32_t page_node(const struct fab_fabric *f, const struct page_key *key, bool *ret_same);
/* First port id after the key's. port_count: none. */
uint32_t page_port(const struct fab_fabric *f, const struct page_key *key);
struct page_key page_key_of_node(const struct fab_fabric *f, uint32_t node);
struct page_key page_key_of_port(const struct fab_fabric *f, uint32_t port, char list);

#endif
