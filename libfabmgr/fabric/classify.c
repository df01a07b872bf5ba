/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises aggregation nodes (NVIDIA SHARP). A switch ASIC that can aggregate contains an
 * adapter. This adapter is connected to the port after the last external port: port 41 of a 40-port
 * switch, port 65 of a 64-port switch. A node is an aggregation node if one of two rules holds. The
 * rules come from ibnetdiscover output of Switch-IB 2 and Quantum fabrics.
 *
 *   - The node has VendorID 0x0002c9 and DeviceID 0xcf09. infiniband-diags and OpenSM list this ID
 *     among the devices with Mellanox' extended PortInfo.
 *   - Its description ends with "Aggregation Node", as in "Quantum Aggregation Node". This rule
 *     also recognises nodes with other device IDs, but misses nodes that were renamed.
 */
#include "libfabmgr/fabric/classify.h"

#include <string.h>

static const struct {
    uint32_t vendor_id;
    uint16_t device_id;
} aggregation_devices[] = {
    {0x0002c9, 0xcf09},
};

static bool ends_in(const char *s, const char *end)
{
    size_t len = strlen(s), end_len = strlen(end);
    return len >= end_len && memcmp(s + len - end_len, end, end_len) == 0;
}

bool fab_fabric_is_aggregation_node(const struct fab_node *n)
{
    if (n->type != FAB_NODE_CA)
        return false;
    for (size_t i = 0; i < sizeof aggregation_devices / sizeof *aggregation_devices; i++)
        if (n->info.vendor_id == aggregation_devices[i].vendor_id &&
            n->info.device_id == aggregation_devices[i].device_id)
            return true;
    return ends_in(n->desc, "Aggregation Node");
}
