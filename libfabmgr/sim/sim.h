/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual fabric: answers MADs as devices do, forwards by the tables it was given, loses what the
 * tables lose. No clock and no I/O: the caller says what time it is and moves the bytes. Faults:
 * libfabmgr/sim/fault.h.
 */
#ifndef LIBFABMGR_SIM_SIM_H
#define LIBFABMGR_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_sim;

/* Devices as after power-on: ports LinkUp and Init, LID 0, LFTs empty. The sim keeps a reference to
 * the snapshot. NOMEM. */
int fab_sim_new(const struct fab_fabric *fabric, uint64_t seed, struct fab_sim **ret);
void fab_sim_free(struct fab_sim *s);

/* Sends a MAD into the fabric from the given port (node id and port number of the snapshot).
 * directed: the path is in the MAD; else dlid. 1: *reply holds the answer; 0: lost, or no answer
 * is due, or it was delivered to an attached manager (see outbox), or the answer takes its time: it
 * will be in the outbox then; negative: not a MAD at all (TRUNCATED, FORMAT), or no such port
 * (INVAL). */
int fab_sim_send(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t dlid,
                 const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE]);
/* Whether anything that the last fab_sim_send set off is still under way, so that a 0 of its may
 * mean late; else it means that nothing will come. */
bool fab_sim_in_flight(const struct fab_sim *s);

/* What devices send of themselves (traps), MADs for a manager attached at a port, and answers that
 * took their time, to whoever asked. */
struct fab_sim_delivery {
    uint32_t node; /* where it arrives */
    uint8_t port;
    uint16_t slid, dlid;
    uint8_t mad[FAB_MAD_SIZE];
};
bool fab_sim_receive(struct fab_sim *s, struct fab_sim_delivery *ret);
/* Sends traps again that no manager has repressed, now. Returns how many. Where time goes on
 * (below), devices do so by themselves. */
uint32_t fab_sim_repeat_traps(struct fab_sim *s);
/* A manager sits at that port: SMInfo, SA and answers addressed to it go to the outbox. */
int fab_sim_attach(struct fab_sim *s, uint32_t node, uint8_t port, bool is_sm); /* INVAL */
void fab_sim_detach(struct fab_sim *s, uint32_t node, uint8_t port);

/* Time, in microseconds: the caller's, real or virtual; it never goes back, and starts at 0. At
 * first everything happens at once, and only traps wait (to be repeated): who does not care about
 * time need not call any of this. Same fabric, seed, times and calls: same run, byte for byte. */
void fab_sim_advance(struct fab_sim *s,
                     uint64_t now_us); /* does what is due until then, in order */
uint64_t fab_sim_now(const struct fab_sim *s);
uint64_t fab_sim_deadline(const struct fab_sim *s); /* of the next thing due; UINT64_MAX: none */

struct fab_sim_timing {
    uint32_t hop_us;    /* a MAD over a cable, 0 */
    uint32_t answer_us; /* an agent with one MAD, after it is done with those before, 0 */
    uint32_t train_us;  /* from both ends willing to LinkUp, 0 */
    uint32_t trap_us;   /* from one sending of a trap to the next, 1 s; 0: never of itself */
};
struct fab_sim_timing fab_sim_timing(const struct fab_sim *s);
void fab_sim_set_timing(struct fab_sim *s, const struct fab_sim_timing *pace);

/* The faults of old; the rest is in fault.h. NOT_FOUND: no cable there (never was). */
int fab_sim_unlink(struct fab_sim *s, uint32_t node, uint8_t port);
int fab_sim_relink(struct fab_sim *s, uint32_t node, uint8_t port);
int fab_sim_silence(struct fab_sim *s, uint32_t node, bool silent); /* answers nothing */
void fab_sim_loss(struct fab_sim *s, double rate); /* share of MADs lost, 0..1, by the seed */

/* Finds a node of the simulated fabric: GUID ("0x...") or description. NOT_FOUND. */
int fab_sim_find(const struct fab_sim *s, const char *what, uint32_t *ret_node);
const struct fab_fabric *fab_sim_fabric(const struct fab_sim *s); /* the cabling it was given */
/* Entries 0..*ret_top (LinearFDBTop) as they stand; NULL: nothing was ever written. */
const uint8_t *fab_sim_lft(const struct fab_sim *s, uint32_t sw, uint32_t *ret_top);
/* An entry of a multicast forwarding table as it stands: 16 ports from 16 * position on; 0 where
 * nothing was written. */
uint16_t fab_sim_mft(const struct fab_sim *s, uint32_t sw, uint16_t mlid, unsigned position);
/* The SLtoVLMappingTable as it stands, SL 0 in the highest four bits: from port `in` of a switch to
 * port `out`; of port `out` of others. */
uint64_t fab_sim_sl2vl(const struct fab_sim *s, uint32_t node, uint8_t in, uint8_t out);
const struct fab_port_info *fab_sim_port(const struct fab_sim *s, uint32_t node, uint8_t port);

#endif
