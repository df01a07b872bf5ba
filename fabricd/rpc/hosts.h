/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the hosts and racks of the published view. A cache keeps the hosts until the nodes of the
 * view or the file of locations change. */
#ifndef FABRICD_RPC_HOSTS_H
#define FABRICD_RPC_HOSTS_H

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/view/view.h"

struct host_cache {
    struct fab_hosts hosts;
    struct fab_locations *locations; /* owns the texts of `hosts` */
    /* generation of the last view for which the hosts were needed; 0: the cache is empty */
    uint64_t generation;
};
struct rpc;
/* Returns the hosts of the view. The result is valid until the RPC method returns. Returns NULL if
 * memory ran out; need_hosts then also finishes the call with an error. */
const struct fab_hosts *hosts_of_view(struct rpc *r, const struct fab_view *v);
const struct fab_hosts *need_hosts(struct call *c, const struct fab_view *v);
void hosts_end(struct host_cache *c);

/* Returns the location of a node. If the node is an adapter, this is the location of its host. */
const struct fab_location *location_of_node(const struct fab_hosts *h, const struct fab_view *v,
                                            uint32_t node);
/* Returns true if `wanted` is the name of the rack (case does not matter), is a pattern that
 * matches this name (libfabmgr/base/glob.h), or is "". */
bool is_rack(const char *rack, const char *wanted);
/* Returns true if the node is in the rack `rack`. The text `rack` is a name or a pattern, as
 * is_rack takes it. */
bool is_in_rack(const struct fab_hosts *h, const struct fab_view *v, uint32_t node,
                const char *rack);
/* Like is_in_rack, but only for switches; the function does not need the hosts of the view. */
bool is_switch_in_rack(const struct fab_view *v, uint32_t sw, const char *rack);
/* Returns true if at least one node is in a rack that matches `rack` (see is_in_rack). Otherwise
 * finishes the call with an error. */
bool need_rack(struct call *c, const struct fab_hosts *h, const struct fab_view *v,
               const char *rack);
/* Converts a location. Returns NULL if all its texts are "", or if memory ran out. */
Fabric__V1__Location *convert_location(struct answer *a, const struct fab_location *location);

#endif
