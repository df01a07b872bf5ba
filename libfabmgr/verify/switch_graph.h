/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric as the proof sees it: where each port leads. Private to the room. */
#ifndef LIBFABMGR_VERIFY_SWITCH_GRAPH_H
#define LIBFABMGR_VERIFY_SWITCH_GRAPH_H

#include "libfabmgr/verify/verify.h"

/* Where a port of a switch leads, when it is not a switch id. */
#define FAB_HOP_ENDPORT (FAB_NONE - 1) /* to an adapter or router */
#define FAB_HOP_SELF (FAB_NONE - 2)    /* port 0 */
#define FAB_HOP_DEAD FAB_NONE          /* nowhere: no cable, or it is down */

struct fab_verify_graph {
    const struct fab_verify_input *in;
    uint32_t n;          /* switches */
    uint32_t ports;      /* port ids of switches are below this */
    uint32_t *first;     /* [n] port id of port 0 */
    uint16_t *port_room; /* [n] num_ports + 1 */
    uint32_t *hop;       /* [ports] switch id, or one of the above */
    uint32_t *component; /* [n] lowest switch id that cables lead to */
    uint32_t *owners;    /* [n] LID owners at the switch: its ends and its own port 0 */
    uint64_t *crowd;     /* [n] owners in the component, at its lowest switch id */
};
int fab_verify_graph_make(const struct fab_verify_input *in, struct fab_verify_graph *ret);
void fab_verify_graph_fini(struct fab_verify_graph *net);

/* Where packets to `port` (a LID owner) leave the switches: false when no switch leads there. */
bool fab_verify_attachment(const struct fab_fabric *f, uint32_t port, uint32_t *ret_sw,
                           uint8_t *ret_num);

#endif
