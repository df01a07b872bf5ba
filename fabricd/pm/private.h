/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the performance manager. For this folder only. */
#ifndef FABRICD_PM_PRIVATE_H
#define FABRICD_PM_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/base/events.h"
#include "fabricd/pm/pm.h"
#include "libfabmgr/base/map.h"

#define PM_PLACE_LEN 128

enum pm_congestion_counter {
    PM_XMIT_DATA, /* words of 4 bytes sent */
    /* ticks in which the port had data to send and no credits */
    PM_XMIT_WAIT,
    PM_FECN, /* endports: packets received with FECN */
    PM_BECN, /* endports: packets received with BECN */
    /* switches: how often a VL of the port became congested */
    PM_EVENTS,
    PM_CONGESTION_COUNTERS
};
struct pm_congestion_counters {
    uint64_t last[PM_CONGESTION_COUNTERS];
    uint32_t rise[PM_CONGESTION_COUNTERS]; /* increase between the last two reads */
    /* Time between the last two reads of the data and wait counters; 0: they were read at most
     * once. */
    uint32_t span_ms;
    /* number of consecutive reads in which FECN or congestion events rose */
    uint32_t marked;
    /* when the data and wait counters were last read; 0: never */
    uint64_t at_us;
    /* when FECN, BECN and congestion events were last read; 0: never */
    uint64_t marks_us;
};
struct pm_port {
    struct fab_counters last;
    uint64_t at_us; /* when `last` was read; 0: never */
    struct pm_congestion_counters congestion;
};
struct pm_node {
    uint64_t guid;
    /* [ports + 1], by port number; NULL: this entry is free */
    struct pm_port *port;
    uint64_t pass; /* the last pass that included the node */
    /* Changes when another node takes over this entry, so that late answers for the former node are
     * recognised. */
    uint16_t life;
    /* LID to which the next request is sent */
    uint16_t lid;
    uint8_t ports;
    bool asked; /* ClassPortInfo was requested and not received yet */
    /* known: ClassPortInfo was received. wide: PortCountersExtended has error counters. */
    bool known, wide;
    /* the node does not support counters of FECN, BECN and congestion events */
    bool no_marks;
    bool is_switch;
    /* bitset of the ports to be read when ClassPortInfo is known */
    uint64_t wanted[4];
};
struct pm_watch { /* a link with recent errors */
    uint64_t guid[2];
    uint8_t port[2];
    char place[2][PM_PLACE_LEN];
    struct fab_health_history end[2];
    bool unhealthy, of_cable;
    /* the link is excluded from routes, by this manager or an operator */
    bool isolated;
    bool wanted; /* the link waits until pm_act isolates it */
    uint8_t at;
    enum fab_counter counter;
    /* The last crossing of a threshold: the increase, the time in which it happened, and when. */
    uint64_t rise, span_us, crossed_us;
    int64_t since_us;
    char skipped[256];
};
/* a link that is exempt from isolation, identified by one of its ports */
struct pm_exempt {
    uint64_t guid;
    /* the exemption does not end before this time */
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
    /* number and start time of the running pass */
    uint64_t pass, began_us;
    /* id of the port that the running pass reads next */
    uint32_t cursor;
    struct pm_watch *watch;
    uint32_t watch_count, watch_room;
    struct pm_exempt *exempt; /* links that are exempt from isolation */
    uint32_t exempt_count, isolation_count;
    /* the isolated links, as of the last update */
    struct sm_isolation *isolation;
    uint64_t reads, failed;
    uint32_t waiting; /* requests in flight */
};

/* ---- poll.c ---- */
void pm_tick(void *ctx);
void pm_nodes_fini(struct pm *pm);

/* ---- congested.c ---- */
/* Records PortXmitData and PortXmitWait, which are read together with the error counters. */
void pm_note_data(struct pm_port *p, uint64_t now, uint64_t xmit_data, uint64_t xmit_wait);
/* Records FECN and BECN of an adapter (from PortRcvConCtrl) or the congestion events of a switch
 * port (from SwPortVLCongestion). */
void pm_note_marks(struct pm_port *p, uint64_t now, bool is_switch,
                   const struct fab_perf_details *values);
/* Returns whether the manager programs congestion control. If not, it does not read FECN, BECN and
 * congestion events. */
bool pm_wants_marks(const struct pm *pm);

/* ---- unhealthy.c ---- */
struct fab_counter_rule pm_rule(const struct pm *pm);
/* Returns the recovery time in microseconds. A link has recovered if no counter crossed its
 * threshold for this time. */
uint64_t pm_recovery_us(const struct pm *pm);
/* Returns the entry of the link to which the port belongs. NULL: the link is not watched. */
struct pm_watch *pm_watch_of(struct pm *pm, uint64_t guid, uint8_t port);
/* Compares the counters of a port with the thresholds after a read. `was` and `now` are the last
 * two reads of the port. */
void pm_read(struct pm *pm, uint64_t guid, uint8_t port, const struct pm_port *was,
             const struct pm_port *now);
/* Isolates the worst of the links that wait for isolation. */
void pm_act(struct pm *pm);

/* ---- exempt.c ---- */
/* Loads the exemptions from the store. Returns NOMEM, IO or FORMAT. */
int pm_exempt_load(struct pm *pm);
bool pm_is_exempt(const struct pm *pm, const struct pm_watch *w);
/* Extends the exemption of an unhealthy link, if the link has one. */
void pm_exempt_extend(struct pm *pm, const struct pm_watch *w);
/* Updates the list of isolated links. A link becomes exempt if it was released since the last
 * update while it was unhealthy. */
void pm_isolations_update(struct pm *pm);
/* Ends the exemption of each link that has recovered. */
void pm_exempt_expire(struct pm *pm);

#endif
