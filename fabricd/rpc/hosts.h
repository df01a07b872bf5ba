/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts and racks of the published view. The hosts are found when a method first needs them
 * after the view has changed. */
#ifndef FABRICD_RPC_HOSTS_H
#define FABRICD_RPC_HOSTS_H

#include "fabric/v1/node.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "libfabmgr/hosts/hosts.h"
#include "libfabmgr/view/view.h"

struct host_cache {
    struct fab_hosts hosts;
    struct fab_locations *locations; /* has the texts of `hosts` */
    uint64_t generation;             /* of the view that has these hosts; 0: the cache is empty */
};
/* Returns the hosts of the view, with the node ids of its fabric. The result is valid until the
 * method returns. NULL: no memory; the call is then finished with an error. */
const struct fab_hosts *need_hosts(struct call *c, const struct fab_view *v);
void hosts_end(struct host_cache *c);

/* Returns where a node is. An adapter is where its host is. */
const struct fab_location *location_of_node(const struct fab_hosts *h, const struct fab_view *v,
                                            uint32_t node);
/* Returns true if the node is in this rack, without regard to case, or if the rack is "". */
bool is_in_rack(const struct fab_hosts *h, const struct fab_view *v, uint32_t node,
                const char *rack);
/* Returns true if a node is in this rack, or if the rack is "". Otherwise finishes the call with an
 * error. */
bool need_rack(struct call *c, const struct fab_hosts *h, const struct fab_view *v,
               const char *rack);
/* Returns NULL if nothing is known about the location, or if memory ran out. */
Fabric__V1__Location *convert_location(struct answer *a, const struct fab_location *location);

#endif
