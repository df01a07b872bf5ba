/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of sim share. Not for other rooms. */
#ifndef LIBFABMGR_SIM_DEVICE_H
#define LIBFABMGR_SIM_DEVICE_H

#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/sim/sim.h"

/* Offsets in an SMP, IBA 14.2.1; see libfabmgr/wire/mad.c. */
enum {
    MAD_METHOD = 3,
    MAD_STATUS = 4,
    MAD_HOP_POINTER = 6,
    SMP_DATA = 64,
    SMP_INITIAL_PATH = 128,
    SMP_RETURN_PATH = 192,
};
#define CAP_IS_SM 0x00000002u /* PortInfo.CapabilityMask */
#define LFT_BLOCK 64
#define DROPPED_PORT 0xff

struct sim_port {
    struct fab_port_info info;
    bool unlinked; /* the cable is out */
    bool attached; /* a manager sits here */
};
struct sim_switch {
    struct fab_switch_info info;
    uint8_t *lft; /* [lft_room], in blocks; NULL: never written */
    uint32_t lft_room;
    bool trap_pending; /* 128 was sent and not repressed */
};
/* Other tables, 64 bytes a block, there only once written. */
struct sim_blocks {
    struct fab_map index; /* key (see tables.c) -> block */
    uint8_t (*bytes)[FAB_SMP_DATA];
    size_t count, capacity;
};
struct sim_outbox {
    struct fab_sim_mail *mails;
    size_t head, tail, capacity;
};

struct fab_sim {
    struct fab_fabric *fabric;
    struct sim_port *ports;      /* [port_count] */
    struct sim_switch *switches; /* [switch_count] */
    uint64_t *silent;            /* bit set of nodes */
    struct sim_blocks blocks;
    struct sim_outbox outbox;
    struct fab_prng prng;
    double loss;
    uint64_t trap_tid;
};

/* Where a MAD is: at a node, having come in by a port (a switch's own: port 0). */
struct spot {
    uint32_t node;
    uint8_t port;
};
/* A request at the device that answers it. */
struct request {
    struct fab_sim *sim;
    struct spot at;
    bool set;
    uint32_t mod;
    uint8_t data[FAB_SMP_DATA]; /* in and out */
};
typedef uint16_t sim_handler(struct request *r); /* SMP status */

static inline uint32_t port_id(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    return s->fabric->nodes[node].first_port + port;
}
static inline bool is_switch(const struct fab_sim *s, uint32_t node)
{
    return node < s->fabric->switch_count;
}
/* The port that holds LID and M_Key for MADs at a spot: port 0 of a switch. */
static inline uint32_t lid_port(const struct fab_sim *s, struct spot at)
{
    return port_id(s, at.node, is_switch(s, at.node) ? 0 : at.port);
}
static inline bool lose(struct fab_sim *s)
{
    return s->loss > 0 && fab_prng_chance(&s->prng, s->loss);
}

/* move.c: how MADs get from port to port. False: lost on the way. */
bool move_out(const struct fab_sim *s, uint8_t *mad, uint8_t hops, struct spot *at);
bool move_back(const struct fab_sim *s, uint8_t *mad, uint8_t hops, struct spot *at);
bool move_lid(const struct fab_sim *s, uint32_t lid, uint8_t least_state, struct spot *at);

/* link.c */
void link_start(struct fab_sim *s); /* all ports as after power-on */
void link_train(struct fab_sim *s, uint32_t port);
void link_down(struct fab_sim *s, uint32_t port, uint8_t phys);

/* trap.c */
void trap_port_state(struct fab_sim *s, uint32_t sw);
void trap_capability(struct fab_sim *s, uint32_t port);
void trap_repressed(struct fab_sim *s, struct spot at, const uint8_t *mad);

/* smp.c: the subnet management agent. False: no answer. */
bool agent_answer(struct fab_sim *s, struct spot at, const struct fab_mad *mad,
                  uint8_t bytes[FAB_MAD_SIZE]);

/* port_info.c, tables.c */
sim_handler handle_port_info, handle_lft, handle_mft, handle_pkeys, handle_sl2vl, handle_vlarb,
    handle_guids;
int lft_reserve(struct sim_switch *sw, uint32_t entries);

/* sim.c: into the outbox, if a manager is at that spot. */
void mail(struct fab_sim *s, struct spot at, uint16_t slid, uint16_t dlid, const uint8_t *mad);

#endif
