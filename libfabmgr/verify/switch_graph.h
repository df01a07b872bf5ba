/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of switches and links. Only this folder, libfabmgr/transition and libfabmgr/spanning
 * use this header. */
#ifndef LIBFABMGR_VERIFY_SWITCH_GRAPH_H
#define LIBFABMGR_VERIFY_SWITCH_GRAPH_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/verify/verify.h"

/* values of hop[] that are not switch ids */
/* the port leads to an adapter or router */
#define FAB_HOP_ENDPORT (FAB_NONE - 1)
/* the port is port 0 of the switch */
#define FAB_HOP_SELF (FAB_NONE - 2)
/* the port has no link, or the link is down */
#define FAB_HOP_DEAD FAB_NONE

struct fab_verify_graph {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_verify_input *in;
    uint32_t n; /* number of switches */
    /* all port ids of switches are below this number */
    uint32_t ports;
    /* [switches] id of port 0 of each switch */
    uint32_t *first;
    /* [switches] number of ports of the switch, port 0 included */
    uint16_t *port_room;
    /* [ports] the switch that the port leads to, or FAB_HOP_ENDPORT, FAB_HOP_SELF or
     * FAB_HOP_DEAD */
    uint32_t *hop;
    /* [switches] the connected component of each switch: the lowest id of the switches in this
     * component */
    uint32_t *component;
    /* [switches] number of ports with LIDs at the switch: its endports and its own port 0 */
    uint32_t *owners;
    /* [switches] number of ports with LIDs in a component; the index is the lowest switch id of the
     * component, all other elements are 0 */
    uint64_t *component_owners;
};
/* Makes the graph. Returns NOMEM. */
int fab_verify_graph_make(const struct fab_verify_input *in, struct fab_verify_graph *ret);
void fab_verify_graph_fini(struct fab_verify_graph *graph);

/* Finds the switch to which `port` is connected, and the number of the switch port at which it is
 * connected. If `port` is port 0 of a switch, these are the switch itself and 0. Returns false if
 * `port` is not connected to a switch. */
bool fab_verify_attachment(const struct fab_fabric *f, uint32_t port, uint32_t *ret_sw,
                           uint8_t *ret_num);

#endif
