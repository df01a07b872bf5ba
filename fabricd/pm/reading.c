/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the counters of ports, as last read, and the list of watched ports to the metrics. */
#include <string.h>

#include "fabricd/pm/private.h"

#define WORD_BYTES 4 /* PortXmitData and PortRcvData count words of 4 bytes (IBA 16.1.3.5) */

bool pm_port_reading(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_reading *ret)
{
    const struct pm_node *n = pm_node_of(pm, node_guid);
    if (!n || port > n->ports || n->port[port].at_us == 0)
        return false;
    const struct pm_port *p = &n->port[port];
    const uint64_t *marks = p->congestion.last;
    *ret = (struct pm_reading){
        .xmit_bytes = p->traffic.xmit_data * WORD_BYTES,
        .rcv_bytes = p->traffic.rcv_data * WORD_BYTES,
        .xmit_pkts = p->traffic.xmit_pkts,
        .rcv_pkts = p->traffic.rcv_pkts,
        .xmit_wait = p->traffic.xmit_wait,
        .unicast_xmit_pkts = p->casts.unicast_xmit,
        .unicast_rcv_pkts = p->casts.unicast_rcv,
        .multicast_xmit_pkts = p->casts.multicast_xmit,
        .multicast_rcv_pkts = p->casts.multicast_rcv,
        .fecn = marks[PM_FECN],
        .becn = marks[PM_BECN],
        .congestion_events = marks[PM_EVENTS],
        .has_traffic = p->traffic.at_us != 0,
        .has_wait = p->traffic.at_us != 0 && p->traffic.has_wait,
        .has_casts = p->has_casts,
        .has_marks = p->congestion.marks_us != 0,
    };
    memcpy(ret->errors, p->last.value, sizeof(ret->errors));
    return true;
}

uint32_t pm_watched_ports(const struct pm *pm, struct pm_watched *ret, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pm->watch_count; i++)
        for (int end = 0; end < 2; end++, count++)
            if (count < max)
                ret[count] = (struct pm_watched){pm->watch[i].guid[end], pm->watch[i].port[end],
                                                 pm->watch[i].unhealthy};
    return count;
}
