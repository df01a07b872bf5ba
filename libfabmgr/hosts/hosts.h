/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds hosts (servers with one or more adapters), their rails, and the contents of racks.
 *
 * Adapters belong to one host if the operator's file of locations (libfabmgr/policy/locations.h)
 * gives them the same host name. If the file gives no host name, the first word of the node's name
 * is the name of the host, and the rest is the name of the adapter ("node-0001 mlx5_0",
 * "node-0001/mlx5_0"). But if more than FAB_HOST_ADAPTERS_MAX adapters have the same first word, or
 * if the names of two adapters with this first word are equal, the word is probably a default text
 * of the vendor. Those of these adapters that have the same system image GUID then form one host,
 * and each other one is a host of its own. The name of such a host is the lowest node GUID of its
 * adapters.
 *
 * The adapters of a host are sorted by name, with "mlx5_9" before "mlx5_10"; those of a host that
 * is named by a GUID are sorted by node GUID. The rail of an adapter is its position in this order,
 * from 1. The position is taken from the host with the most adapters among the hosts that have an
 * adapter of this name. So "mlx5_3" is on rail 4 even in a host that has lost "mlx5_2".
 */
#ifndef LIBFABMGR_HOSTS_HOSTS_H
#define LIBFABMGR_HOSTS_HOSTS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/locations.h"

#define FAB_HOST_ADAPTERS_MAX 16u

/* Returns the entry for a node in the operator's file of locations. Searches for the node GUID and
 * the name that people read; if the file has neither, for the NodeDescription. Never returns NULL:
 * without an entry, all texts of the result are "". `locations` may be NULL. */
const struct fab_location *fab_hosts_location(const struct fab_locations *locations,
                                              const struct fab_node *n);

struct fab_host_adapter {
    uint32_t node;
    /* name of the adapter, such as "mlx5_0"; "": the name of the node has only one word */
    const char *name;
    /* rail of the adapter, from 1; 0: no host with several adapters has an adapter with this name,
     * or the adapter has no name and is alone in its host */
    uint32_t rail;
};
struct fab_host {
    const char *name;
    /* location of the host's first adapter for which the operator's file gives a rack; if it gives
     * a rack for none of them, location of the first adapter; never NULL */
    const struct fab_location *location;
    /* the adapters of the host are fab_hosts.adapters[first] to [first + count - 1] */
    uint32_t first, count;
};
struct fab_hosts {
    struct fab_host *hosts; /* [count] sorted by name, with "node-9" before "node-10" */
    uint32_t count;
    struct fab_host_adapter *adapters; /* [adapter_count] the adapters, host by host */
    uint32_t adapter_count;
    uint32_t rails; /* number of rails; 0: no host has more than one adapter */
    /* [node_count] index in hosts[] of the host to which an adapter belongs; FAB_NONE: the node is
     * no adapter of a host */
    uint32_t *host_of;
    /* private: copy of what fab_hosts_find has read of the nodes */
    struct fab_hosts_source *source;
    struct fab_arena arena; /* private */
};

/* Finds the hosts of a fabric. Aggregation nodes and routers belong to no host. `locations` may be
 * NULL. The result is valid as long as `locations` exists. Returns OK or NOMEM; after NOMEM, there
 * is nothing to free. */
int fab_hosts_find(const struct fab_fabric *f, const struct fab_locations *locations,
                   struct fab_hosts *ret);
void fab_hosts_fini(struct fab_hosts *h);
/* Returns true if fab_hosts_find, called with the same `locations` as before, would find the same
 * hosts in `f`, because the nodes that are no switches have the same ids, GUIDs and names. Takes a
 * tenth of the time of fab_hosts_find. */
bool fab_hosts_fit(const struct fab_hosts *h, const struct fab_fabric *f);
/* Returns the index of the host with this name; FAB_NONE: there is none. */
uint32_t fab_hosts_by_name(const struct fab_hosts *h, const char *name);

/* Returns the location of a node: that of its host for an adapter, otherwise its own. Never returns
 * NULL. `locations` and `h` must be those with which fab_hosts_find was called for `f`. */
const struct fab_location *fab_hosts_location_of(const struct fab_hosts *h,
                                                 const struct fab_fabric *f,
                                                 const struct fab_locations *locations,
                                                 uint32_t node);
/* Returns true if `wanted` is the name of the rack (case does not matter), or is a pattern that
 * matches this name (libfabmgr/base/glob.h). A rack without a name ("") matches nothing. */
bool fab_hosts_is_rack(const char *rack, const char *wanted);

/* A rack, and how many nodes and hosts are in it. */
struct fab_rack {
    /* row: the row of the machine room in which the rack stands, as given for one of the rack's
     * nodes; "": not known */
    const char *name, *row;
    uint32_t switches, hosts, adapters;
};
/* Counts the contents of all racks. A host with adapters in several racks counts in the rack of
 * fab_host.location. *ret_racks is sorted by name, with "rack-9" before "rack-10"; the caller frees
 * it. Nodes without a rack are not counted. Returns OK or NOMEM. */
int fab_hosts_racks(const struct fab_fabric *f, const struct fab_locations *locations,
                    const struct fab_hosts *h, struct fab_rack **ret_racks, uint32_t *ret_count);

#endif
