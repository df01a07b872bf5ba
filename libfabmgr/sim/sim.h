/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulated fabric. The simulated devices answer MADs, forward them by the tables that a manager
 * has written, and discard MADs that real devices would discard. The simulator has no clock and
 * does no I/O: the caller advances the time, sends MADs and receives them. Faults are in
 * libfabmgr/sim/fault.h. */
#ifndef LIBFABMGR_SIM_SIM_H
#define LIBFABMGR_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_sim;

/* Creates a fabric in the state after power-on: links in Init, LIDs 0, LFTs empty. The simulation
 * keeps a reference to the snapshot. Returns NOMEM. */
int fab_sim_new(const struct fab_fabric *fabric, uint64_t seed, struct fab_sim **ret);
void fab_sim_free(struct fab_sim *s);

/* Sends a MAD into the fabric from port number `port` of node `node` (id in the snapshot). A
 * directed-route SMP contains its path; any other MAD goes to the LID `dlid`. Returns 1 if reply[]
 * has the answer. Returns 0 if there is no answer now: fab_sim_receive returns it later, or the MAD
 * was lost, needs no answer, or went to an attached manager. Returns TRUNCATED or FORMAT if the
 * bytes are no MAD, and INVAL if there is no such port. */
int fab_sim_send(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t dlid,
                 const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE]);
/* Call this function directly after fab_sim_send returned 0. Returns true if an answer may come
 * later, because the MAD, a duplicate of it or its answer is still in flight. */
bool fab_sim_in_flight(const struct fab_sim *s);

/* A MAD that has arrived at a port: a trap, a MAD for an attached manager, or a late answer. */
struct fab_sim_delivery {
    /* id of the node at which the MAD arrives, and number of its port */
    uint32_t node;
    uint8_t port;
    uint16_t slid, dlid;
    uint8_t mad[FAB_MAD_SIZE];
};
bool fab_sim_receive(struct fab_sim *s, struct fab_sim_delivery *ret);
/* Makes all devices that can send traps now repeat those that no manager has repressed. Returns the
 * number of repeated traps. When the time advances, devices also repeat traps by themselves
 * (trap_us in struct fab_sim_timing). */
uint32_t fab_sim_repeat_traps(struct fab_sim *s);
/* Attaches a manager to a port. The manager receives the SMInfo requests, SA requests and answers
 * that are addressed to the port. is_sm: the manager is a subnet manager, and PortInfo of the port
 * shows IsSM. */
int fab_sim_attach(struct fab_sim *s, uint32_t node, uint8_t port, bool is_sm); /* returns INVAL */
void fab_sim_detach(struct fab_sim *s, uint32_t node, uint8_t port);

/* The simulated time is in microseconds, starts at 0, and is set by the caller. Initially all
 * delays except trap_us are 0. While they are 0, answers come at once, and a caller need not set
 * the time. The same fabric, seed, times and calls give the same run, byte for byte. */
/* Sets the time and runs all events that are due by then, in the order of their times. */
void fab_sim_advance(struct fab_sim *s, uint64_t now_us);
uint64_t fab_sim_now(const struct fab_sim *s);
/* Returns the time of the next event; UINT64_MAX: no event is queued. */
uint64_t fab_sim_deadline(const struct fab_sim *s);

struct fab_sim_timing {
    /* time in us that a MAD needs to cross a link; initially 0 */
    uint32_t hop_us;
    /* time in us in which an agent handles a MAD, one MAD after the other; initially 0 */
    uint32_t answer_us;
    uint32_t train_us; /* duration in us of link training; initially 0 */
    /* time in us after which a device sends a trap again; initially 1 s; 0: devices do not
     * repeat traps */
    uint32_t trap_us;
};
struct fab_sim_timing fab_sim_timing(const struct fab_sim *s);
void fab_sim_set_timing(struct fab_sim *s, const struct fab_sim_timing *timing);

/* The next four functions cause the most common faults; fault.h has all others. Those with an int
 * result return NOT_FOUND if the snapshot has no such node, or no link at this port. */
int fab_sim_unlink(struct fab_sim *s, uint32_t node, uint8_t port);
int fab_sim_relink(struct fab_sim *s, uint32_t node, uint8_t port);
/* silent: true: the node answers no MAD, but still forwards packets. */
int fab_sim_silence(struct fab_sim *s, uint32_t node, bool silent);
/* rate: share (0..1) of MADs that are lost at random */
void fab_sim_loss(struct fab_sim *s, double rate);

/* Finds the node with this node GUID, port GUID (both in hexadecimal) or description. Returns
 * NOT_FOUND. */
int fab_sim_find(const struct fab_sim *s, const char *what, uint32_t *ret_node);
/* Returns the snapshot that was given to fab_sim_new. */
const struct fab_fabric *fab_sim_fabric(const struct fab_sim *s);
/* Returns the LFT of a switch, and writes the highest LID in it to *ret_top (LinearFDBTop). Returns
 * NULL if no entry was written since the switch was powered on, or if there is no such switch. */
const uint8_t *fab_sim_lft(const struct fab_sim *s, uint32_t sw, uint32_t *ret_top);
/* Returns the part of an MFT entry for the ports 16 * position to 16 * position + 15, one bit for
 * each port; 0: this part was never written. */
uint16_t fab_sim_mft(const struct fab_sim *s, uint32_t sw, uint16_t mlid, unsigned position);
/* Returns an SLtoVLMappingTable (IBA 14.2.5.8), with SL 0 in the highest four bits. For a switch,
 * it is the table from port `in` to port `out`; for any other node, the table of port `out`. */
uint64_t fab_sim_sl2vl(const struct fab_sim *s, uint32_t node, uint8_t in, uint8_t out);
const struct fab_port_info *fab_sim_port(const struct fab_sim *s, uint32_t node, uint8_t port);

#endif
