/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds named devices and links, for all generators. For this folder only. */
#ifndef LIBFABMGR_FABRIC_MAKE_H
#define LIBFABMGR_FABRIC_MAKE_H

#include "libfabmgr/fabric/device.h"
#include "libfabmgr/fabric/generate.h"

#define MAKE_NODE_LIMIT (1u << 20) /* greatest number of nodes of a fabric */
/* greatest number of ports of an adapter; it must be less than MAKE_END_STEP, because the GUID of
 * port n is the node GUID + n */
#define MAKE_END_PORTS 3
#define MAKE_END_STEP 4 /* difference between the GUIDs of successive adapters */

struct maker {
    struct fab_builder *b;
    /* Numbers of switches and of other nodes added so far. */
    uint32_t switches, ends;
    /* Width and speed of all links; initially 4x EDR. */
    struct fab_port_info rate;
    /* status of the first failed call; after a failure, all calls do nothing */
    int status;
};
void fab_fabric_make_init(struct maker *m);

/* A name like "leaf-007". `width` is the number of digits: with leading zeros, names sort like
 * their numbers. */
struct make_name {
    const char *stem;
    uint32_t number, width;
};
/* Returns the number of decimal digits of `count`, but at least `least`. */
uint32_t fab_fabric_make_width(uint64_t count, uint32_t least);

/* The next four functions add a node, and return its reference in the builder; FAB_NONE: this or an
 * earlier call failed. */
uint32_t fab_fabric_make_switch(struct maker *m, uint32_t ports, struct make_name name);
uint32_t fab_fabric_make_host(struct maker *m, uint32_t ports, struct make_name name);
uint32_t fab_fabric_make_router(struct maker *m, uint32_t ports, struct make_name name);
uint32_t fab_fabric_make_aggregation(struct maker *m);
/* fab_fabric_make_aggregation_with_guid adds an aggregation node with a given GUID;
 * fab_fabric_make_device adds any device. Both return the reference of the node, or FAB_NONE.
 * m->switches and m->ends do not count these nodes. */
uint32_t fab_fabric_make_aggregation_with_guid(struct maker *m, uint64_t guid);
uint32_t fab_fabric_make_device(struct maker *m, const struct fab_device *d);
void fab_fabric_make_link(struct maker *m, uint32_t ref_a, uint32_t port_a, uint32_t ref_b,
                          uint32_t port_b);

/* The next two functions add a switch or a host with any name, such as "torus-0-3". They return its
 * reference in the builder; FAB_NONE: this or an earlier call failed. */
uint32_t fab_fabric_make_switch_named(struct maker *m, uint32_t ports, const char *desc);
uint32_t fab_fabric_make_host_named(struct maker *m, uint32_t ports, const char *desc);
/* Adds `count` hosts, and connects them to ports 1 to `count` of the switch. The names of all hosts
 * of the fabric are numbered consecutively. `total` is the number of hosts of the whole fabric; it
 * determines the number of digits in their names. */
void fab_fabric_make_hosts(struct maker *m, uint32_t sw, uint32_t count, uint64_t total);
/* Adds `count` parallel links between two nodes, at consecutive ports that begin with port_a and
 * port_b. */
void fab_fabric_make_links(struct maker *m, uint32_t ref_a, uint32_t port_a, uint32_t ref_b,
                           uint32_t port_b, uint32_t count);

/* Gives the builder to the caller. If any call has failed, frees the builder and returns the first
 * error (NOMEM or RANGE). */
int fab_fabric_make_finish(struct maker *m, struct fab_builder **ret);

#endif
