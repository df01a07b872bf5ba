/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of this folder share. For this folder only. */
#ifndef LIBFABMGR_SIM_DEVICE_H
#define LIBFABMGR_SIM_DEVICE_H

#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/queue.h"
#include "libfabmgr/sim/sim.h"
#include "libfabmgr/wire/gs.h"

/* byte offsets of fields of an SMP (IBA 14.2.1) */
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
#define CAP_IS_SM 0x00000002u /* bits of PortInfo.CapabilityMask */
#define CAP_LED_INFO 0x00000200u
#define LID_MULTICAST 0xc000
#define SIM_VENDOR_MELLANOX 0x0002c9u
#define LFT_BLOCK 64
#define DROPPED_PORT 0xff

/* A growing array of items of one type. Each item has a key, by which items.c finds it. */
struct sim_items {
    struct fab_map index; /* key of an item -> index in items */
    void *items;
    size_t count, capacity;
};

struct sim_port {
    struct fab_port_info info;
    bool unplugged; /* true: the cable is pulled */
    bool attached;  /* true: a program (a manager) is attached to this port and receives its MADs */
    /* Level of the leaky bucket that counts physical errors (IBA 7.12.2): each corrupted packet
     * raises the level, and each good packet lowers it. */
    uint8_t phy_errors;
    /* Maximum width and speed of the cable; 0: as in the snapshot. max_lanes is a number of lanes.
     * max_speed is 1 plus an index in the speed table of rate.c. */
    uint8_t max_lanes, max_speed;
    /* share (0..1) of the packets arriving at this port that are corrupted on the cable */
    float noise_share;
    /* time in us at which link training ends; 0: the port is not training */
    uint64_t trained_at;
    /* time in us at which the lease of the M_Key expires; 0: no lease is running */
    uint64_t lease_ends;
    /* time in us at which the lease of the CC_Key expires; 0: no lease is running */
    uint64_t cc_lease_ends;
    /* temperature of the module above its usual temperature, in degrees Celsius (fab_sim_heat) */
    int8_t heat;
    /* how often the module was replaced. If both ends of a cable have the same serial number, only
     * the port that port_of_serial (inventory.c) returns counts the replacements */
    uint8_t replaced;
};
struct sim_switch {
    struct fab_switch_info info;
    /* [lft_room] LFT: the output port of each LID; lft_room is a multiple of LFT_BLOCK. NULL: the
     * manager has written no block */
    uint8_t *lft;
    uint32_t lft_room;
};
struct sim_node {
    bool silent, powered_off;
    uint16_t firmware[3]; /* version of the firmware (fab_sim_firmware); all 0: the usual one */
    /* 1 plus the speed of each fan in rotations per minute (fab_sim_fan); 0: the usual speed */
    uint16_t fan[FAB_SIM_FANS];
    /* temperature of the node's ASIC above its usual temperature, in degrees Celsius */
    int8_t heat;
    /* true: the node answers NodeInfo with the values in the member `as` instead of its own */
    bool impersonates;
    struct fab_node_info as;
    /* true: the node corrupts or delays its answers (`corruption`, late_us or spread_us is not
     * 0) */
    bool abnormal;
    uint8_t corruption; /* enum fab_sim_corruption */
    double corrupt_rate;
    uint32_t late_us, spread_us;
    /* time in us at which the node's agent will have handled all earlier MADs */
    uint64_t busy_until;
    /* number of times that the node has lost power */
    uint32_t power_cycles;
    /* boot_at: time in us at which the booting node is ready; 0: the node is not booting.
     * boot_step: time in us between the training of one port and that of the next port, after the
     * node is ready. */
    uint64_t boot_at, boot_step;
};
/* A trap that a device has raised. While `active` is true, the device repeats the trap. The manager
 * ends this by a TrapRepress. */
struct sim_notice {
    /* id of the port that sends the trap; the LID of this port is the source of the trap */
    uint32_t port;
    bool active;
    /* true: the event queue has an EVENT_NOTICE that will repeat the trap */
    bool repeat_queued;
    struct fab_notice notice;
};
/*
 * A block of 64 bytes of a table other than the LFT. A block that was never written is not stored.
 */
struct sim_block {
    /* power_cycles of the node when the block was written. If power_cycles is higher now, the node
     * has lost power since then, and the block is invalid. */
    uint32_t power_cycle;
    uint8_t bytes[FAB_SMP_DATA];
};
struct sim_outbox {
    struct fab_sim_delivery *mails;
    size_t head, tail, capacity;
};
struct sim_counters {
    uint64_t value[FAB_SIM_COUNTERS];
};
/* A counter of one of the attributes with detailed counters (fab_wire_attr_perf_details). Each such
 * counter is stored separately, because most ports use none of them. */
struct sim_detail {
    /* power_cycles of the node when the counter last rose. If power_cycles is higher now, the node
     * has lost power since then, and the counter is 0. */
    uint32_t power_cycle;
    uint64_t value;
};
/* A sampling mechanism (IBA 16.1.3.2-4). A switch has one mechanism for all its ports; an adapter
 * has one for each port. */
struct sim_sampler {
    uint32_t port, power_cycle;
    struct fab_samples_control control;
    /* times in us at which the sampling starts and ends */
    uint64_t starts, ends;
    /* number of times that the selected counters were read: 0 before the sampling starts, 1 while
     * it runs, 2 after its end */
    uint8_t read;
    uint64_t counted[FAB_SAMPLES];
};
/* A counter that rises with time, because of fab_sim_increment. */
struct sim_rate {
    uint32_t port;
    uint16_t counter;
    double per_second;
    /* since: time in us at which the counter began to rise. given: the amount by which it has
     * already been raised. */
    uint64_t since, given;
};
struct sim_cc_log {
    uint16_t count;
    uint8_t port_map[32];
    struct fab_sim_congestion entry[15];
    uint32_t stamp[15];
};
/* Kinds of events in the event queue. The meaning of the members `a`, `b` and `arg` of struct
 * sim_event depends on the kind. */
enum sim_event_kind {
    /* the MAD with index `a` in pending_mads[] arrives at its port */
    EVENT_ARRIVE,
    /* the delayed request with index `a` in pending_mads[] enters the fabric */
    EVENT_SEND,
    EVENT_TRAIN, /* link training of port `a` ends */
    /* the cable of port `a` is pulled or plugged in; `b` more such events follow, each after `arg`
     * us */
    EVENT_FLAP,
    EVENT_BOOT,   /* node `a` has finished booting */
    EVENT_NOTICE, /* the trap of notice number `a` is sent again */
    EVENT_TRAP,   /* port `a` sends trap number `b` for the first time */
    EVENT_SAMPLE, /* the sampling of mechanism `a` starts or ends */
    /* node `a` sends the trap with number `b` >> 16; then it sends (`b` & 0xffff) more traps, each
     * after `arg` us */
    EVENT_STORM,
};

struct fab_sim {
    struct fab_fabric *fabric;
    struct sim_port *ports;      /* [port_count] state of each port */
    struct sim_switch *switches; /* [switch_count] state of each switch */
    struct sim_node *nodes;      /* [node_count] state of each node */
    /* table blocks (struct sim_block); key: block_key() of tables.c */
    struct sim_items blocks;
    /* Number of writes of SLtoVLMappingTable so far. Each write is stored with its number. If two
     * writes apply to the same pair of ports, the write with the higher number is valid. */
    uint64_t sl2vl_writes;
    struct sim_outbox outbox;
    /* notices (struct sim_notice); key: port and trap number */
    struct sim_items notices;
    struct sim_items counters; /* counters (struct sim_counters); key: port */
    /* detailed counters (struct sim_detail); key: port and counter */
    struct sim_items details;
    /* sampling mechanisms (struct sim_sampler); key: port id (for a switch, the id of its port
     * 0) */
    struct sim_items samplers;
    struct sim_rate *rates;
    size_t rate_count, rate_capacity;
    struct sim_traffic *traffic; /* background traffic (traffic.c); NULL: none */
    struct sim_items cc_logs;    /* congestion logs (struct sim_cc_log); key: node */
    struct sim_queue queue;
    uint64_t now;
    struct fab_sim_timing timing;
    struct fab_sim_impairments impairments;
    /* true: no loss, no duplicates and no delays of MADs are configured */
    bool unimpaired;
    /* true: since the last call of fab_sim_send began, a MAD was put into the event queue */
    bool in_flight;
    /* true: at least one cable corrupts packets, or did so earlier */
    bool noisy;
    struct fab_prng prng;
    uint64_t trap_tid;
};

/* Position of a MAD in the fabric: the node where the MAD is, the port by which it entered this
 * node (0: the node is the switch that sent the MAD), and the number of links that it has crossed.
 */
struct position {
    uint32_t node;
    uint8_t port;
    uint16_t hops;
};
/* A request for the subnet management agent of the device at position `at`. */
struct request {
    struct fab_sim *sim;
    struct position at;
    uint16_t slid; /* LID of the requester */
    bool set;
    uint32_t mod;
    /* before the agent handles the request, the attribute in the request; after that, the attribute
     * for the answer */
    uint8_t data[FAB_SMP_DATA];
};
typedef uint16_t sim_handler(struct request *r); /* returns the Status of the SMP */

/* A request of a general service class for the agent of the device at position `at`. */
struct gs_request {
    struct fab_sim *sim;
    struct position at;
    bool set;
    uint32_t mod;
    uint8_t *mad; /* the whole MAD; it becomes the answer */
    /* before the agent handles the request, the attribute in the request; after that, the attribute
     * for the answer */
    uint8_t data[FAB_GS_DATA];
};

static inline uint32_t port_id(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    return s->fabric->nodes[node].first_port + port;
}
static inline bool is_switch(const struct fab_sim *s, uint32_t node)
{
    return node < s->fabric->switch_count;
}
/* Returns the port whose LID and M_Key apply to a MAD at this position: at a switch port 0, at any
 * other node the port by which the MAD entered. */
static inline uint32_t lid_port(const struct fab_sim *s, struct position at)
{
    return port_id(s, at.node, is_switch(s, at.node) ? 0 : at.port);
}
static inline bool chance(struct fab_sim *s, double rate)
{
    return rate > 0 && fab_base_prng_chance(&s->prng, rate);
}
static inline bool is_lost(struct fab_sim *s)
{
    return !s->unimpaired && chance(s, s->impairments.loss);
}
static inline bool has_port(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    return node < s->fabric->node_count && port <= s->fabric->nodes[node].num_ports &&
           (port > 0 || is_switch(s, node));
}

/* Returns the item with this key (items.c); NULL: no item has this key. `size` is the size of an
 * item in bytes. */
void *fab_sim_items_find(const struct sim_items *t, size_t size, uint64_t key);
/* Adds an item whose bytes are all zero, and sets *ret_index to its index. Returns NOMEM. */
int fab_sim_items_add(struct sim_items *t, size_t size, uint64_t key, uint32_t *ret_index);
void fab_sim_items_fini(struct sim_items *t);

/* Functions of forward.c, which move a MAD from port to port. They return false if the MAD is lost.
 * least_state: the MAD can cross only links in this state or a higher one. */
bool fab_sim_cross_link(struct fab_sim *s, struct position *at, uint8_t out, uint8_t least_state);
bool fab_sim_forward_lid(struct fab_sim *s, uint32_t lid, uint8_t least_state, struct position *at);
/* Moves an SMP along its directed route (IBA 14.2.2). Returns false if the SMP is lost. `dlid`: if
 * the route begins with a part that is routed by LID, the LID of the switch at the end of this
 * part. If the route ends with such a part, the function sets *ret_slid to the LID of the switch at
 * the beginning of this part, because the answering device sees this switch as the sender. */
bool fab_sim_forward_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid,
                              uint8_t *bytes, struct position *at, uint16_t *ret_slid);
/* Moves the answer to a directed-route SMP back to the requester. Returns false if the answer is
 * lost. `lid`: if the route of the request ended with a part that is routed by LID, the LID of the
 * switch at the beginning of this part. */
bool fab_sim_return_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t lid,
                             uint8_t *bytes, struct position *at);

/* Functions of link.c. */
/* sets the links of all ports to the state after power-on */
void fab_sim_links_start(struct fab_sim *s);
void fab_sim_link_train(struct fab_sim *s, uint32_t port);
void fab_sim_link_trained(struct fab_sim *s, uint32_t port); /* handles the end of link training */
void fab_sim_link_down(struct fab_sim *s, uint32_t port, uint8_t phys);
/* rate.c: sets the width and speed at both ends of a link. Returns false if the ends have no common
 * width or no common speed. Changes nothing and returns true if rate.c does not know the width or
 * the speed that the snapshot has for one of the two ports. */
bool fab_sim_link_negotiate(struct fab_sim *s, uint32_t near, uint32_t far);
/* Returns the PortPhysicalState that a port has while its link is down. */
uint8_t fab_sim_link_down_state(const struct fab_sim *s, uint32_t port);
/* Sets a port of a booting node to its state after power-on, with the link down. */
void fab_sim_link_power_on(struct fab_sim *s, uint32_t port);
void fab_sim_link_flap(struct fab_sim *s, const struct sim_event *e);
int fab_sim_link_find(const struct fab_sim *s, uint32_t node, uint8_t port, uint32_t *ret_port);

/* Functions of node.c. */
void fab_sim_node_booted(struct fab_sim *s, uint32_t node);
void fab_sim_node_storm(struct fab_sim *s, const struct sim_event *e);
/* Corrupts the answer in bytes[] to an SMP, with the probability that fab_sim_corrupt has set for
 * this node. */
void fab_sim_node_corrupt(struct fab_sim *s, uint32_t node, uint16_t attr_id,
                          uint8_t bytes[FAB_MAD_SIZE]);

/* Functions of trap.c. */
void fab_sim_trap_port_state(struct fab_sim *s, uint32_t sw);
void fab_sim_trap_capability(struct fab_sim *s, uint32_t port);
void fab_sim_trap_bad_key(struct fab_sim *s, struct position at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes);
void fab_sim_trap_repressed(struct fab_sim *s, struct position at, const uint8_t *mad);
void fab_sim_trap_resend(struct fab_sim *s, uint32_t notice); /* sends the notice again */
/* Removes all notices of a node that has lost power. */
void fab_sim_trap_forget(struct fab_sim *s, uint32_t node);
/* Call this when a counter has risen. Queues trap 129 or 130 if this counter causes one of them
 * (IBA 14.2.5.1). `counter`: enum fab_sim_counter. */
void fab_sim_trap_errors(struct fab_sim *s, uint32_t port, uint32_t counter);
bool fab_sim_trap_pending(const struct fab_sim *s, uint32_t node, struct fab_notice *ret);

/* smp.c: passes the MAD in bytes[] to the subnet management agent at the position `at`. The agent
 * writes its answer to bytes[]. Returns false if the agent does not answer. */
bool fab_sim_sma_answer(struct fab_sim *s, struct position at, uint16_t slid,
                        const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE]);
bool fab_sim_sma_key_fits(struct fab_sim *s, struct position at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes);
void fab_sim_switch_start(struct fab_sim *s, uint32_t sw);

/* Functions of port_info.c and tables.c. */
sim_handler fab_sim_handle_port_info, fab_sim_handle_lft, fab_sim_handle_mft, fab_sim_handle_pkeys,
    fab_sim_handle_sl2vl, fab_sim_handle_vlarb, fab_sim_handle_guids, fab_sim_handle_led;

int fab_sim_lft_reserve(struct sim_switch *sw, uint32_t entries);
/* Removes all tables of a node that has lost power. */
void fab_sim_tables_forget(struct fab_sim *s, uint32_t node);

/* The next functions read or write one block (192 bytes) of an attribute of a general service
 * class. The simulator stores the blocks by port. fab_sim_table_read returns false if the block was
 * not written since the node last got power, fab_sim_table_write if there is no memory. */
bool fab_sim_table_read(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                        uint8_t data[FAB_GS_DATA]);
bool fab_sim_table_write(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                         const uint8_t data[FAB_GS_DATA]);

/* The next functions answer MADs of general services (gsi.c, perf.c, samples.c, congestion.c). */
bool fab_sim_gsi_serves(const struct fab_sim *s, struct position at, const struct fab_mad *mad);
bool fab_sim_gsi_answer(struct fab_sim *s, struct position at, const struct fab_mad *mad,
                        uint8_t bytes[FAB_MAD_SIZE]);
uint16_t fab_sim_perf_handle(struct gs_request *r, uint16_t attr_id);
uint16_t fab_sim_congestion_handle(struct gs_request *r, uint16_t attr_id);
bool fab_sim_congestion_key_fits(struct gs_request *r);
/* inventory.c: answers MADs of the vendor class */
uint16_t fab_sim_vendor_handle(struct gs_request *r, uint16_t attr_id);
/* Finds the ports that PortSelect names: one port or, with 0xff, all ports of the device except
 * port 0. Returns false if there is no such port. */
bool fab_sim_perf_ports(const struct gs_request *r, uint8_t select, uint32_t *ret_first,
                        uint32_t *ret_last);
uint16_t fab_sim_samples_control(struct gs_request *r);
uint16_t fab_sim_samples_result(struct gs_request *r, const struct fab_attr *attr);
void fab_sim_samples_due(struct fab_sim *s, uint32_t sampler);

/* Functions of counters.c. */
void fab_sim_count(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t add);
/* Raises the counters of a port by the background traffic since the last call for this port
 * (traffic.c). */
void fab_sim_traffic_update(struct fab_sim *s, uint32_t port);
/* Reports that an LFT entry has changed. The background traffic follows the new entries REROUTED_US
 * later or, in a large fabric, only when the present rates have lasted PORT_US for each port
 * (traffic.c). */
void fab_sim_traffic_rerouted(struct fab_sim *s);
void fab_sim_traffic_fini(struct fab_sim *s);
/* Computes the present values of counters that rise with time (fab_sim_increment, fab_sim_traffic).
 * Call this function before you read or set a counter of the port. */
void fab_sim_counters_update(struct fab_sim *s, uint32_t port);
uint64_t fab_sim_counter_read(struct fab_sim *s, uint32_t port, uint32_t counter);
void fab_sim_counter_write(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t value);
/* Removes all counters of a node that has lost power. */
void fab_sim_counters_forget(struct fab_sim *s, uint32_t node);

/* Functions of outbox.c. fab_sim_deliver_to_manager delivers a MAD to the manager that is attached
 * at the position; without a manager, the MAD is lost. fab_sim_outbox_put delivers an answer to the
 * position that sent the request, whether or not a manager is attached there. */
void fab_sim_deliver_to_manager(struct fab_sim *s, struct position at, uint16_t slid, uint16_t dlid,
                                const uint8_t *mad);
void fab_sim_outbox_put(struct fab_sim *s, struct position at, uint16_t slid, uint16_t dlid,
                        const uint8_t *mad);

/* Functions of time.c. */
/* Queues an event that is due after delay_us. If there is no memory, the event is lost. */
void fab_sim_schedule(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind, uint32_t a,
                      uint32_t b, uint64_t arg);
/* Stores a MAD, and queues an EVENT_ARRIVE or EVENT_SEND for it that is due after delay_us. */
void fab_sim_queue_mad(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind,
                       struct position position, uint16_t slid, uint16_t dlid, const uint8_t *mad);

/* multicast.c: delivers a copy of the MAD to each manager whose port the multicast forwarding
 * tables reach. */
void fab_sim_multicast(struct fab_sim *s, struct position at, uint16_t slid, uint16_t mlid,
                       const uint8_t *mad);

/* sim.c: sends a delayed request into the fabric. Call this when its delay has ended. */
void fab_sim_send_delayed(struct fab_sim *s, const struct fab_sim_delivery *pending_mad);

#endif
