/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to libfabmgr/health. */
#ifndef LIBFABMGR_HEALTH_HOSTS_H
#define LIBFABMGR_HEALTH_HOSTS_H

#include "libfabmgr/fabric/fabric.h"

/* Returns the number of ports of the switch that have a link to a node that is no switch. */
static inline uint32_t fab_health_count_hosts(const struct fab_fabric *f, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)i));
        count += peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer);
    }
    return count;
}

#endif
