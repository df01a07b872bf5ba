/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of sim share. Not for other rooms. */
#ifndef LIBFABMGR_SIM_DEVICE_H
#define LIBFABMGR_SIM_DEVICE_H

#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/queue.h"
#include "libfabmgr/sim/sim.h"
#include "libfabmgr/wire/gs.h"

/* Offsets in an SMP, IBA 14.2.1; see libfabmgr/wire/mad.c. */
enum {
    MAD_METHOD = 3,
    MAD_STATUS = 4,
    MAD_HOP_POINTER = 6,
    MAD_HOP_COUNT = 7,
    MAD_TID = 8,
    MAD_ATTR_ID = 16,
    MAD_ATTR_MOD = 20,
    MAD_M_KEY = 24,
    MAD_DR_SLID = 32,
    SMP_DATA = 64,
    SMP_INITIAL_PATH = 128,
    SMP_RETURN_PATH = 192,
};
#define CAP_IS_SM 0x00000002u /* PortInfo.CapabilityMask */
#define CAP_LED_INFO 0x00000200u
#define LID_MULTICAST 0xc000
#define LFT_BLOCK 64
#define DROPPED_PORT 0xff

struct sim_port {
    struct fab_port_info info;
    bool unlinked;                  /* the cable is out */
    bool attached;                  /* a manager sits here */
    uint8_t phy_errors;             /* spoiled packets, less those that were not */
    uint8_t most_width, most_speed; /* what its cable can do: lanes, speed + 1; 0: as ever */
    float spoils;                   /* share of packets that its cable spoils on the way to it */
    uint64_t up_at;                 /* in training until then; 0: it is not */
    uint64_t free_at;               /* M_Key lease: when it ends; 0: it is not running */
};
struct sim_switch {
    struct fab_switch_info info;
    uint8_t *lft; /* [lft_room], in blocks; NULL: never written */
    uint32_t lft_room;
};
struct sim_node {
    bool silent, dead;
    bool odd;    /* any of what follows holds: looked at before each answer */
    uint8_t lie; /* enum fab_sim_corrupt */
    double lie_rate;
    uint32_t late_us, spread_us;
    uint64_t busy_until;         /* its agent works on earlier MADs */
    uint32_t lives;              /* how often it lost its power */
    uint64_t boot_at, boot_step; /* power is on, but it is not up; 0: it is not booting */
};
/* A trap that was sent and not repressed. */
struct sim_notice {
    uint32_t port; /* that sends it */
    bool active;
    bool ticking; /* an event of the queue will send it again */
    struct fab_notice notice;
};
struct sim_notices {
    struct fab_map index; /* port and trap number -> notice */
    struct sim_notice *items;
    size_t count, capacity;
};
/* Other tables, 64 bytes a block, there only once written. */
struct sim_block {
    uint32_t life; /* of the node when it was written: lost when that is over */
    uint8_t bytes[FAB_SMP_DATA];
};
struct sim_blocks {
    struct fab_map index; /* key (see tables.c) -> block */
    struct sim_block *items;
    size_t count, capacity;
};
struct sim_outbox {
    struct fab_sim_delivery *mails;
    size_t head, tail, capacity;
};
struct sim_counters {
    uint64_t value[FAB_SIM_COUNTERS];
};
struct sim_counter_table {
    struct fab_map index; /* port -> counters; there once something was counted */
    struct sim_counters *items;
    size_t count, capacity;
};
/* One of the counters of details: few ports have any. */
struct sim_detail {
    uint32_t life; /* of the node when it counted: lost when that is over */
    uint64_t value;
};
struct sim_details {
    struct fab_map index; /* port and counter -> detail */
    struct sim_detail *items;
    size_t count, capacity;
};
/* Sampling of counters: one mechanism a switch, one a port of an adapter. */
struct sim_sampler {
    uint32_t port, life;
    struct fab_samples_control control;
    uint64_t starts, ends; /* when; it is over: ends is past */
    uint8_t read;          /* how often the counters were: at the start, at the end */
    uint64_t counted[FAB_SAMPLES];
};
struct sim_samplers {
    struct fab_map index; /* port that has the LID -> sampler */
    struct sim_sampler *items;
    size_t count, capacity;
};
/* A counter that rises with time. */
struct sim_rate {
    uint32_t port;
    uint16_t counter;
    double per_second;
    uint64_t since, given; /* counted since then */
};
struct sim_cc_log {
    uint16_t count;
    uint8_t port_map[32];
    struct fab_sim_congestion entry[15];
    uint32_t stamp[15];
};
struct sim_cc_logs {
    struct fab_map index; /* node -> log */
    struct sim_cc_log *items;
    size_t count, capacity;
};
/* What an event of the queue does. */
enum sim_event_kind {
    EVENT_MAIL,   /* arrives: item a of the parcels */
    EVENT_SEND,   /* a delayed request goes on its way: item a of the parcels */
    EVENT_TRAIN,  /* port a is trained */
    EVENT_FLAP,   /* the cable of port a: in, out; b times more, one each arg us */
    EVENT_BOOT,   /* node a is up again */
    EVENT_NOTICE, /* notice a is sent again */
    EVENT_TRAP,   /* what happened at port a is told: trap b */
    EVENT_SAMPLE, /* sampler a starts or ends */
    EVENT_STORM,  /* node a: the trap in the upper half of b, its lower half times more, each arg */
};

struct fab_sim {
    struct fab_fabric *fabric;
    struct sim_port *ports;      /* [port_count] */
    struct sim_switch *switches; /* [switch_count] */
    struct sim_node *nodes;      /* [node_count] */
    struct sim_blocks blocks;
    uint64_t sl2vl_writes; /* so far */
    struct sim_outbox outbox;
    struct sim_notices notices;
    struct sim_counter_table counters;
    struct sim_details details;
    struct sim_samplers samplers;
    struct sim_rate *rates;
    size_t rate_count, rate_capacity;
    struct sim_cc_logs cc_logs;
    struct sim_queue queue;
    uint64_t now;
    struct fab_sim_timing pace;
    struct fab_sim_impairments weather;
    bool calm;      /* no weather */
    bool under_way; /* something that the last MAD set off takes time */
    bool noisy;     /* some cable spoils packets, or did */
    struct fab_prng prng;
    uint64_t trap_tid;
};

/* Where a MAD is: at a node, having come in by a port (a switch's own: port 0), over some cables.
 */
struct spot {
    uint32_t node;
    uint8_t port;
    uint16_t hops;
};
/* A request at the device that answers it. */
struct request {
    struct fab_sim *sim;
    struct spot at;
    uint16_t slid; /* of who asks */
    bool set;
    uint32_t mod;
    uint8_t data[FAB_SMP_DATA]; /* in and out */
};
typedef uint16_t sim_handler(struct request *r); /* SMP status */

/* A request of a general service. */
struct gs_request {
    struct fab_sim *sim;
    struct spot at;
    bool set;
    uint32_t mod;
    uint8_t *mad;              /* the whole of it, to become the answer */
    uint8_t data[FAB_GS_DATA]; /* in and out */
};

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
static inline bool chance(struct fab_sim *s, double rate)
{
    return rate > 0 && fab_prng_chance(&s->prng, rate);
}
static inline bool lose(struct fab_sim *s)
{
    return !s->calm && chance(s, s->weather.loss);
}
static inline bool has_port(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    return node < s->fabric->node_count && port <= s->fabric->nodes[node].num_ports &&
           (port > 0 || is_switch(s, node));
}

/* forward.c: how MADs get from port to port. False: lost on the way. */
bool cross(struct fab_sim *s, struct spot *at, uint8_t out, uint8_t least_state);
bool fab_sim_forward_lid(struct fab_sim *s, uint32_t lid, uint8_t least_state, struct spot *at);
/* A directed route, from DrSLID to DrDLID, where they are LIDs. dlid: where the part before the
 * directed one goes. *ret_slid: whom the device that answers sees as the sender, and sends its
 * answer to, when the route ends by LID; else it is left. */
bool fab_sim_forward_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid,
                              uint8_t *bytes, struct spot *at, uint16_t *ret_slid);
/* ... and back. lid: the switch where the directed part ended. */
bool fab_sim_return_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t lid,
                             uint8_t *bytes, struct spot *at);

/* link.c */
void fab_sim_links_start(struct fab_sim *s); /* all ports as after power-on */
void fab_sim_link_train(struct fab_sim *s, uint32_t port);
void fab_sim_link_trained(struct fab_sim *s, uint32_t port); /* its time is up */
void fab_sim_link_down(struct fab_sim *s, uint32_t port, uint8_t phys);
bool fab_sim_link_negotiate(struct fab_sim *s, uint32_t near,
                            uint32_t far); /* rate.c; false: on none */
uint8_t fab_sim_link_down_state(const struct fab_sim *s,
                                uint32_t port); /* its physical state when it is down */
void fab_sim_link_power_on(struct fab_sim *s, uint32_t port); /* a port of a node that boots */
void fab_sim_link_flap(struct fab_sim *s, const struct sim_event *e);
int fab_sim_link_find(const struct fab_sim *s, uint32_t node, uint8_t port, uint32_t *ret_port);

/* node.c */
void fab_sim_node_booted(struct fab_sim *s, uint32_t node);
void fab_sim_node_storm(struct fab_sim *s, const struct sim_event *e);
/* Makes a lie of an answer to an SMP, if the node lies. */
void fab_sim_node_corrupt(struct fab_sim *s, uint32_t node, uint16_t attr_id,
                          uint8_t bytes[FAB_MAD_SIZE]);

/* trap.c */
void fab_sim_trap_port_state(struct fab_sim *s, uint32_t sw);
void fab_sim_trap_capability(struct fab_sim *s, uint32_t port);
void fab_sim_trap_bad_key(struct fab_sim *s, struct spot at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes);
void fab_sim_trap_repressed(struct fab_sim *s, struct spot at, const uint8_t *mad);
void fab_sim_trap_resend(struct fab_sim *s, uint32_t notice); /* its time has come */
void fab_sim_trap_forget(struct fab_sim *s, uint32_t node);   /* it lost its power */
/* A counter of errors rose that the standard has a trap for (129, 130). */
void fab_sim_trap_errors(struct fab_sim *s, uint32_t port, uint32_t counter);
bool fab_sim_trap_pending(const struct fab_sim *s, uint32_t node, struct fab_notice *ret);

/* smp.c: the subnet management agent. False: no answer. */
bool fab_sim_sma_answer(struct fab_sim *s, struct spot at, uint16_t slid, const struct fab_mad *mad,
                        uint8_t bytes[FAB_MAD_SIZE]);
bool fab_sim_sma_key_fits(struct fab_sim *s, struct spot at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes);
void fab_sim_switch_start(struct fab_sim *s, uint32_t sw);

/* port_info.c, tables.c */
sim_handler fab_sim_handle_port_info, fab_sim_handle_lft, fab_sim_handle_mft, fab_sim_handle_pkeys,
    fab_sim_handle_sl2vl, fab_sim_handle_vlarb, fab_sim_handle_guids, fab_sim_handle_led;

int fab_sim_lft_reserve(struct sim_switch *sw, uint32_t entries);
void fab_sim_tables_forget(struct fab_sim *s, uint32_t node); /* it lost its power */

/* 192 bytes of any table, by port: for general services. */
bool fab_sim_table_read(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                        uint8_t data[FAB_GS_DATA]);
bool fab_sim_table_write(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                         const uint8_t data[FAB_GS_DATA]);

/* gsi.c, perf.c, samples.c, congestion.c */
bool fab_sim_gsi_serves(const struct fab_sim *s, struct spot at, const struct fab_mad *mad);
bool fab_sim_gsi_answer(struct fab_sim *s, struct spot at, const struct fab_mad *mad,
                        uint8_t bytes[FAB_MAD_SIZE]);
uint16_t fab_sim_perf_handle(struct gs_request *r, uint16_t attr_id);
uint16_t fab_sim_congestion_handle(struct gs_request *r, uint16_t attr_id);
bool fab_sim_congestion_key_fits(struct gs_request *r);
/* The ports that a PortSelect means: one, or (0xff) all of a switch but its own. False: none. */
bool fab_sim_perf_ports(const struct gs_request *r, uint8_t select, uint32_t *ret_first,
                        uint32_t *ret_last);
uint16_t samples_control(struct gs_request *r);
uint16_t samples_result(struct gs_request *r, const struct fab_attr *attr);
void samples_due(struct fab_sim *s, uint32_t sampler);

/* counters.c */
void count(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t add);
/* What rose with time at a port since it was last reckoned: before it is read or set. */
void fab_sim_counters_update(struct fab_sim *s, uint32_t port);
uint64_t fab_sim_counter_read(struct fab_sim *s, uint32_t port, uint32_t counter);
void fab_sim_counter_write(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t value);
void fab_sim_counters_forget(struct fab_sim *s, uint32_t node); /* it lost its power */

/* outbox.c: into the outbox of a manager at that spot, if there is one; or of whoever sits there
 * and asked. */
void mail(struct fab_sim *s, struct spot at, uint16_t slid, uint16_t dlid, const uint8_t *mad);
void mail_to(struct fab_sim *s, struct spot at, uint16_t slid, uint16_t dlid, const uint8_t *mad);

/* time.c */
void fab_sim_schedule(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind, uint32_t a,
                      uint32_t b, uint64_t arg); /* without memory it does not happen */
/* A MAD under way: EVENT_MAIL or EVENT_SEND after the delay. */
void post(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind, struct spot spot,
          uint16_t slid, uint16_t dlid, const uint8_t *mad);

/* multicast.c: to the managers of all ports that the tables lead to. */
void multicast(struct fab_sim *s, struct spot at, uint16_t slid, uint16_t mlid, const uint8_t *mad);

/* sim.c: a request that was delayed goes on its way. */
void fab_sim_send_delayed(struct fab_sim *s, const struct fab_sim_delivery *parcel);

#endif
