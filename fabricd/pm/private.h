/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the performance manager. For this folder only. */
#ifndef FABRICD_PM_PRIVATE_H
#define FABRICD_PM_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/base/events.h"
#include "fabricd/pm/pm.h"
#include "fabricd/store/counters.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/counters/reading.h"
#include "libfabmgr/health/persistence.h"

#define PM_PLACE_LEN 128

enum pm_congestion_counter {
    PM_XMIT_DATA, /* words of 4 bytes sent */
    /* PortXmitWait: number of ticks in which the port had data to send and no credits */
    PM_XMIT_WAIT,
    PM_FECN, /* endports: packets received with FECN */
    PM_BECN, /* endports: packets received with BECN */
    /* only for switches: how often a VL of the port became congested */
    PM_EVENTS,
    PM_CONGESTION_COUNTERS
};
struct pm_congestion_counters {
    uint64_t last[PM_CONGESTION_COUNTERS];
    uint32_t rise[PM_CONGESTION_COUNTERS]; /* increase between the last two reads */
    /* time in ms between the last two reads of the data and wait counters; 0: there are no two
     * reads yet */
    uint32_t span_ms;
    /* number of consecutive reads in which the counts of FECN or congestion events rose */
    uint32_t marked;
    /* time in us at which the data and wait counters were last read; 0: never */
    uint64_t at_us;
    /* time in us at which FECN, BECN and congestion events were last read; 0: never */
    uint64_t marks_us;
};
/* Numbers of unicast and multicast packets. Only PortCountersExtended counts them separately. */
struct pm_casts {
    uint64_t unicast_xmit, unicast_rcv, multicast_xmit, multicast_rcv;
};
struct pm_port {
    struct fab_counters last;
    uint64_t at_us; /* time in us at which `last` was read; 0: never */
    struct pm_congestion_counters congestion;
    struct fab_traffic traffic; /* as last read */
    struct pm_casts casts;      /* as last read */
    struct fab_vl_wait vl_wait; /* as last read; only valid if has_vls is true */
    struct fab_sample sample;   /* the last sample: rates and errors */
    /* Time in us (manager's clock) at which the link went down; 0: the link is up, or was never
     * up. */
    uint64_t down_us;
    uint32_t pass; /* 1 + number of the last pass that read the port, modulo 2^32; 0: none */
    uint32_t mbps; /* nominal rate of the link in Mb/s; 0: not known */
    bool linked;   /* the link was up at some time */
    bool has_vls;
    bool has_casts; /* `casts` was read */
    /* Kept from the answer to PM_ASK_COUNTERS until the answer to PM_ASK_DATA. reset: an error
     * counter was lower than before. wait: PortXmitWait. */
    bool reset;
    uint32_t wait;
};
/* Kinds of requests about a port, in the order in which a node's requests are sent. */
enum pm_ask {
    PM_ASK_CLEAR, /* clears counters that have reached their maximum */
    /* data and packets in 64 bits, if the answer to PM_ASK_COUNTERS does not have them */
    PM_ASK_DATA,
    PM_ASK_MARKS,    /* FECN, BECN and congestion events */
    PM_ASK_VLS,      /* PortXmitWait per VL */
    PM_ASK_COUNTERS, /* errors; also data and packets, unless PM_ASK_DATA asks for them */
    PM_ASK_PORT_KINDS,
    PM_ASK_ABILITY = PM_ASK_PORT_KINDS /* ClassPortInfo of the node */
};
struct pm_node {
    uint64_t guid;
    /* [ports + 1] counters by port number; NULL: no node uses this entry */
    struct pm_port *port;
    uint64_t pass; /* number of the last pass that read the node */
    /* A number that changes when another node gets this entry. Each request carries it in its tag,
     * so that late answers of the node that had the entry before can be dropped. */
    uint16_t life;
    /* LID to which the next request of this node is sent */
    uint16_t lid;
    uint8_t ports;
    uint8_t in_flight; /* number of requests to this node in flight */
    /* known: ClassPortInfo was received. wide_data: the node has PortCountersExtended, with data
     * and packets. wide: its PortCountersExtended also has error counters. has_wait: the node
     * counts PortXmitWait. */
    bool known, wide, wide_data, has_wait;
    /* no_marks: the node does not count FECN, BECN and congestion events. no_vls: the node does not
     * count PortXmitWait per VL.
     */
    bool no_marks, no_vls;
    bool is_switch;
    /* [enum pm_ask] bitset of the ports about which a request of this kind must be sent */
    uint64_t wanted[PM_ASK_PORT_KINDS][4];
    uint64_t congested[4]; /* bitset of the ports that were congested at their last read */
    /* history_pass: 1 + number of the last pass whose round of the history has columns for the
     * ports of this node; 0: none. history_first: index of the node's port 0 in these columns.
     * Valid only if that pass is the present one. */
    uint32_t history_first;
    uint64_t history_pass;
};
struct pm_watch { /* a link with recent errors */
    uint64_t guid[2];
    uint8_t port[2];
    char place[2][PM_PLACE_LEN];
    struct fab_health_history end[2];
    struct fab_persistence persistence[2];
    bool unhealthy, of_cable;
    /* true: the link is isolated, by this manager or an operator */
    bool isolated;
    /* true: the link waits for isolation; the next pm_act requests the isolation of the worst
     * waiting links */
    bool wanted;
    uint8_t at;
    enum fab_counter counter;
    /* The last crossing of a threshold by a counter. rise: by how much the counter had risen.
     * span_us: the time in us in which it rose by this amount. crossed_us: time in us (manager's
     * clock) of the crossing. */
    uint64_t rise, span_us, crossed_us;
    int64_t since_us;
    char skipped[256];
};
/* a link that is exempt from isolation, identified by one of its ports */
struct pm_exempt {
    uint64_t guid;
    /* the exemption lasts at least until this time (manager's clock in us) */
    uint64_t until_us;
    uint8_t port;
};
struct pm {
    struct pm_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct loop_timer *timer;
    struct fab_map index; /* node GUID -> index in `nodes` */
    struct pm_node *nodes;
    size_t node_count, node_capacity;
    /* number of the present pass over all ports, and the time in us at which it began */
    uint64_t pass, began_us;
    /* id of the port that the present pass reads next */
    uint32_t cursor;
    struct pm_watch *watch;
    uint32_t watch_count, watch_room;
    struct pm_exempt *exempt; /* links that are exempt from isolation */
    uint32_t exempt_count, isolation_count;
    /* copy of the list of isolated links at the last pm_isolations_update; a link that is missing
     * in the next list was released */
    struct sm_isolation *isolation;
    struct pm_drain *drain; /* [drain_count] the drains whose ports are read (drain.c) */
    uint32_t drain_count;
    struct loop_timer *drain_timer;
    uint64_t reads, failed;
    uint32_t waiting; /* requests in flight */
    /* greatest number of requests that were in flight to one node at a time, since the start */
    uint32_t most_in_flight;
    /* samples of the present pass; NULL: no sample yet, or no history is kept */
    struct counters_round *round;
    int64_t round_began_s; /* Unix time in s at which the present round began */
    /* number of failed writes of the history (struct counters_health) at the last call of
     * pm_history_look */
    uint64_t history_failures;
    uint32_t history_replaced;
    /* true: counters-failing was emitted, and counters-recovered has not been emitted since then */
    bool history_failing;
    uint64_t history_dropped; /* number of dropped rounds when counters-failing was last emitted */
    uint64_t history_looked_us;
};

/* ---- poll.c ---- */
void pm_tick(void *ctx);
/* Returns the node with this GUID; NULL: its counters were not read yet. */
struct pm_node *pm_node_of(const struct pm *pm, uint64_t guid);
void pm_nodes_fini(struct pm *pm);

/* ---- history.c ---- */
/* Adds the sample of a port to the present round. If the round already has a sample of the port,
 * adds the counts to it and replaces its rates. */
void pm_history_put(struct pm *pm, struct pm_node *n, uint8_t port, const struct fab_sample *s);
/* Records that two ports are the ends of one link in the present round. */
void pm_history_link(struct pm *pm, struct pm_node *a, uint8_t a_port, struct pm_node *b,
                     uint8_t b_port);
/* Records whether the link of a port is up or down now. */
void pm_history_state(struct pm *pm, struct pm_node *n, uint8_t port, bool up);
/* Ends the present round, and passes its samples to the thread of the history. */
void pm_history_end(struct pm *pm);
/* Emits events about findings in the history (rising errors, asymmetric links), and about failures
 * to write it. Does nothing if the last look was less than a second ago. */
void pm_history_look(struct pm *pm);
int pm_history_start(struct pm *pm); /* returns NOMEM */
/* Sets `ports`, `bytes_per_s` and `packets_per_s` of the status. */
void pm_history_sum(const struct pm *pm, struct pm_status *ret);
void pm_history_fini(struct pm *pm);

/* ---- congested.c ---- */
/*
 * Stores PortXmitData and PortXmitWait of a port, which are read together with the error counters.
 */
void pm_note_data(struct pm_node *n, uint8_t port, uint64_t now, uint64_t xmit_data,
                  uint64_t xmit_wait);
/* Stores FECN and BECN of an adapter (from PortRcvConCtrl) or the congestion events of a switch
 * port (from SwPortVLCongestion). */
void pm_note_marks(struct pm_node *n, uint8_t port, uint64_t now,
                   const struct fab_perf_details *values);
/* Returns true if the manager programs congestion control. Otherwise it does not read FECN, BECN
 * and congestion events. */
bool pm_wants_marks(const struct pm *pm);

/* ---- unhealthy.c ---- */
/* Writes the name of a port, such as "leaf-1/12". */
void pm_name_place(const struct fab_fabric *f, uint32_t port, char place[PM_PLACE_LEN]);
struct fab_counter_rule pm_rule(const struct pm *pm);
/* Returns the recovery time in us: if no counter of an unhealthy link crosses its threshold for
 * this time, the link has recovered. */
uint64_t pm_recovery_us(const struct pm *pm);
/* Returns the entry of the watched link at this port; NULL: the link is not watched. */
struct pm_watch *pm_watch_of(struct pm *pm, uint64_t guid, uint8_t port);
/* Handles a new reading of a port; `was` is the reading before. At the first increase of an error
 * counter, the manager begins to watch the link. From then on, it compares the increases with the
 * thresholds. */
void pm_read(struct pm *pm, uint64_t guid, uint8_t port, const struct pm_port *was,
             const struct pm_port *now);
/* Updates isolations and exemptions. Also requests the isolation of links that wait for it: the
 * worst first, at most ACTS (unhealthy.c) in one call. */
void pm_act(struct pm *pm);

/* ---- drain.c ---- */
int pm_drains_init(struct pm *pm); /* returns NOMEM */
void pm_drains_fini(struct pm *pm);

/* ---- exempt.c ---- */
/* Loads the list of exempt links from the store. After an operator has released a link, it is
 * exempt from automatic isolation until it has recovered. Returns OK, NOMEM, or an error of
 * sql_status (fabricd/store/sql.h). */
int pm_exempt_load(struct pm *pm);
bool pm_is_exempt(const struct pm *pm, const struct pm_watch *w);
/* Extends the exemption of a link so that it lasts at least for the recovery time, counted from
 * now. Does nothing if the link is not exempt. Call this function when a counter of the link has
 * crossed its threshold. */
void pm_exempt_extend(struct pm *pm, const struct pm_watch *w);
/* Gets the list of isolated links from the subnet manager. If a link was released since the last
 * call while it was unhealthy or not watched, it becomes exempt from isolation. */
void pm_isolations_update(struct pm *pm);
/* Ends the exemptions of links that have recovered. */
void pm_exempt_expire(struct pm *pm);

#endif
