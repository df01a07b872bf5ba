/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches and where their ports lead. For this folder only. */
#ifndef LIBFABMGR_VERIFY_SWITCH_GRAPH_H
#define LIBFABMGR_VERIFY_SWITCH_GRAPH_H

#include "libfabmgr/verify/verify.h"

/* The values of hop[] that are not switch ids. */
#define FAB_HOP_ENDPORT (FAB_NONE - 1) /* to an adapter or router */
#define FAB_HOP_SELF (FAB_NONE - 2)    /* port 0 */
#define FAB_HOP_DEAD FAB_NONE          /* no link, or it is down */

struct fab_verify_graph {
    const struct fab_verify_input *in;
    uint32_t n;                 /* switches */
    uint32_t ports;             /* all port ids of switches are below this number */
    uint32_t *first;            /* [n] port id of port 0 */
    uint16_t *port_room;        /* [n] num_ports + 1 */
    uint32_t *hop;              /* the switch that the port leads to, or one of the values above */
    uint32_t *component;        /* the lowest switch id that links connect with the switch */
    uint32_t *owners;           /* LID owners at the switch: its endports and its own port 0 */
    uint64_t *component_owners; /* LID owners in the component, stored at its lowest switch id */
};
/* Returns NOMEM. */
int fab_verify_graph_make(const struct fab_verify_input *in, struct fab_verify_graph *ret);
void fab_verify_graph_fini(struct fab_verify_graph *graph);

/* Gives the switch and the port by which packets to `port` (a LID owner) leave the switches.
 * Returns false if no switch leads there. */
bool fab_verify_attachment(const struct fab_fabric *f, uint32_t port, uint32_t *ret_sw,
                           uint8_t *ret_num);

#endif
