/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds hosts (servers with one or more adapters), their rails, and the contents of racks.
 *
 * Adapters belong to one host if the operator's file of locations (libfabmgr/policy/locations.h)
 * gives them the same host name. If the file gives none, the first word of the node's name is the
 * name of the host, and the rest is the name of the adapter ("node-0001 mlx5_0",
 * "node-0001/mlx5_0"). But if more than FAB_HOST_ADAPTERS_MAX adapters have this word, or if two of
 * them have the same name, the word is a default text of the vendor. Each of these adapters then
 * counts as a host of its own, with the node GUID as its name; only those with the same system
 * image GUID are one host.
 *
 * The adapters of a host are sorted by name, and numbers in names count by value. Among the hosts
 * with an adapter of the same name, the host with the most adapters decides the rail: it is the
 * position, from 1, of the adapter with this name in that host. So "mlx5_3" is in rail 4 also in a
 * host that has lost "mlx5_2".
 */
#ifndef LIBFABMGR_HOSTS_HOSTS_H
#define LIBFABMGR_HOSTS_HOSTS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/locations.h"

#define FAB_HOST_ADAPTERS_MAX 16u

/* Returns the entry of the operator's file of locations for the node: by the name that people read,
 * or else by its NodeDescription. Never NULL; `locations` may be NULL. */
const struct fab_location *fab_hosts_location(const struct fab_locations *locations,
                                              const struct fab_node *n);

struct fab_host_adapter {
    uint32_t node;
    /* name of the adapter, such as "mlx5_0"; "": the name of the node has only one word */
    const char *name;
    /* rail of the adapter, from 1; 0: no host with several adapters has an adapter of this name */
    uint32_t rail;
};
struct fab_host {
    const char *name;
    /* entry of the operator's file for the first adapter of the host that has a rack; never NULL */
    const struct fab_location *location;
    uint32_t first, count; /* adapters[first] to adapters[first + count - 1] */
};
struct fab_hosts {
    struct fab_host *hosts; /* [count] sorted by name, numbers by value */
    uint32_t count;
    struct fab_host_adapter *adapters; /* [adapter_count] */
    uint32_t adapter_count;
    uint32_t rails;         /* number of rails; 0: no host has several adapters */
    uint32_t *host_of;      /* [node_count] index of the adapter's host; FAB_NONE: no adapter */
    struct fab_arena arena; /* private */
};

/* Finds the hosts of a fabric. Aggregation nodes and routers belong to no host. `locations` may be
 * NULL. The result is valid as long as `locations` exists. Returns OK or NOMEM; after NOMEM, the
 * caller must free nothing. */
int fab_hosts_find(const struct fab_fabric *f, const struct fab_locations *locations,
                   struct fab_hosts *ret);
void fab_hosts_fini(struct fab_hosts *h);
/* Returns the index of the host with this name; FAB_NONE: there is none. */
uint32_t fab_hosts_by_name(const struct fab_hosts *h, const char *name);

/* A rack, with the numbers of nodes and hosts in this rack. */
struct fab_rack {
    const char *name, *row; /* row: the row of a node in the rack; "": no node has a row */
    uint32_t switches, hosts, adapters;
};
/* Counts the contents of all racks. A host with adapters in several racks counts in the rack of
 * fab_host.location. *ret_racks is sorted by name, with numbers by value; the caller frees it.
 * Nodes without a rack are not counted. Returns OK or NOMEM. */
int fab_hosts_racks(const struct fab_fabric *f, const struct fab_locations *locations,
                    const struct fab_hosts *h, struct fab_rack **ret_racks, uint32_t *ret_count);

#endif
