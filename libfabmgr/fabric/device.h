/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices in the state after power-on, before a manager has configured them. The reader of topology
 * files and the generators add devices in this state to a builder.
 */
#ifndef LIBFABMGR_FABRIC_DEVICE_H
#define LIBFABMGR_FABRIC_DEVICE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_device {
    uint8_t type, num_ports; /* enum fab_node_type */
    /* GUID of the node and of its system; system_guid 0: the same as the node GUID. */
    uint64_t guid, system_guid;
    /* For switches: GUID of port 0; 0: the same as the node GUID. For other nodes it is not used:
     * the GUID of a port is guid + port number. */
    uint64_t port_guid;
    uint32_t vendor_id;
    uint16_t device_id;
    bool enhanced_port0;
    const char *desc; /* the NodeDescription, which need not be NUL-terminated */
    size_t desc_len;
};
/* Adds the node with all its ports. The ports are in the states Down and Polling, port 0 of a
 * switch in the state Active. Returns EXISTS if the builder has a node with this GUID; otherwise
 * returns the errors of fab_fabric_builder_add_node. */
int fab_fabric_device_add(struct fab_builder *b, const struct fab_device *d, uint32_t *ret_ref);

/* Sets a port to the states LinkUp and Init, and copies the width and speed fields of *rate to its
 * PortInfo. `port_guid` is the port's new GUID; 0: the port keeps its GUID. RANGE: no such port, or
 * port 0. */
int fab_fabric_device_plug(struct fab_builder *b, uint32_t ref, uint8_t port, uint64_t port_guid,
                           const struct fab_port_info *rate);

#endif
