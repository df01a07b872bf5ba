/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of long lists. A page token identifies the last element of a page by a key (such as a GUID)
 * and not by its index, so that a client can continue after the fabric changed. Only the tokens of
 * the baseline list have an index.
 */
#ifndef FABRICD_RPC_PAGE_H
#define FABRICD_RPC_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/rpc/answer.h"
#include "libfabmgr/fabric/fabric.h"

/* The key of the last element of the previous page. `list` distinguishes the tokens of different
 * lists. */
struct page_key {
    /* the list: 'n' nodes, 'p' ports, 'l' links, 'f' forwarding table, 'e' events, 'r' reroutes,
     * 'c' contingencies, 'x' counters, 'k' partitions, 'm' members of a partition, 'v' services,
     * 'i' subscriptions, 'P' pinned names, 'b' baseline, 'g' multicast groups, 'h' members of a
     * multicast group, 'C' rules of a class, 'a' audit log, 'G' nodes that are gone, 'L' links that
     * are gone, 'H' samples of a port, 'S' hosts, 'I' and 'J' inventory of nodes and of gone nodes,
     * 'M' of cables */
    char list;
    /* Only in lists of nodes, ports and links, in which all switches come first. true: the element
     * belongs to an adapter or router; false: to a switch. */
    bool behind;
    /* The number by which the list is sorted, for example a node GUID, a LID, the sequence number
     * of an event, the generation of a reroute, or the severity of a contingency. */
    uint64_t number;
    uint32_t port;
    /* List of multicast groups: the upper 64 bits of the MGID, whose lower 64 bits are `number`.
     * Lists of nodes and links that are gone: the node GUID. Other lists: 0. */
    uint64_t high;
};
/* Parses a page token. *ret_given is false if the token is empty, which means the first page.
 * Returns FORMAT if the token is not valid, or is from another list. */
int page_parse(char list, const char *token, struct page_key *ret, bool *ret_given);
char *page_token(struct answer *a, const struct page_key *key);
/* Returns the number of elements on a page: `asked`, but at most RPC_PAGE_MAX. For 0, returns
 * RPC_PAGE_DEFAULT. */
uint32_t page_size(uint32_t asked);

/* Returns the id of the node that the key names. If this node has left the fabric, returns the id
 * of the next node in the list, or f->node_count if there is none. *ret_same is true if the node of
 * the key is still in the fabric. */
uint32_t page_node(const struct fab_fabric *f, const struct page_key *key, bool *ret_same);
/* Returns the id of the first port that comes after the key in the list; f->port_count if there
 * is none. */
uint32_t page_port(const struct fab_fabric *f, const struct page_key *key);
struct page_key page_key_of_node(const struct fab_fabric *f, uint32_t node);
struct page_key page_key_of_port(const struct fab_fabric *f, uint32_t port, char list);

#endif
