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
    PM_XMIT_WAIT, /* ticks with data to send and no credits */
    PM_FECN,      /* endports: packets received with FECN */
    PM_BECN,      /* endports: packets received with BECN */
    PM_EVENTS,    /* switches: times that a VL of the port became congested */
    PM_CONGESTION_COUNTERS
};
struct pm_congestion_counters {
    uint64_t last[PM_CONGESTION_COUNTERS];
    uint32_t rise[PM_CONGESTION_COUNTERS]; /* increase between the last two reads */
    uint32_t span_ms;  /* time between the last two reads of the data and wait counters; 0: only one
                          read */
    uint32_t marked;   /* consecutive reads in which FECN or congestion events rose */
    uint64_t at_us;    /* time of the last read of the data and wait counters; 0: never */
    uint64_t marks_us; /* time of the last read of FECN, BECN and congestion events; 0: never */
};
struct pm_port {
    struct fab_counters last;
    uint64_t at_us; /* time of the read of `last`; 0: never */
    struct pm_congestion_counters congestion;
};
struct pm_node {
    uint64_t guid;
    struct pm_port *port; /* [ports + 1]; NULL: this entry is free */
    uint64_t pass;        /* the last pass that included the node */
    uint16_t life; /* changes when another node takes this entry, so that the manager recognises
                      late answers */
    uint16_t lid;  /* LID to which the next request is sent */
    uint8_t ports;
    bool asked;       /* ClassPortInfo was requested */
    bool known, wide; /* ClassPortInfo was received; PortCountersExtended has error counters */
    bool no_marks; /* the node does not support the counters of FECN, BECN and congestion events */
    bool is_switch;
    uint64_t wanted[4]; /* bitset of the ports to read once ClassPortInfo is known */
};
struct pm_watch { /* a link with recent errors */
    uint64_t guid[2];
    uint8_t port[2];
    char place[2][PM_PLACE_LEN];
    struct fab_health_history end[2];
    bool unhealthy, of_cable;
    bool isolated; /* excluded from routes, by this manager or an operator */
    bool wanted;   /* pm_act is to isolate the link */
    uint8_t at;
    enum fab_counter counter;
    /* increase, duration and time of the last crossing of a threshold */
    uint64_t rise, span_us, crossed_us;
    int64_t since_us;
    char skipped[256];
};
struct pm_exempt { /* a link that is exempt from isolation, named by one of its ports */
    uint64_t guid;
    uint64_t until_us; /* earliest time at which the exemption ends */
    uint8_t port;
};
struct pm {
    struct pm_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct loop_timer *timer;
    struct fab_map index; /* maps a node GUID to an index in nodes */
    struct pm_node *nodes;
    size_t node_count, node_capacity;
    uint64_t pass, began_us; /* number and start time of the running pass */
    uint32_t cursor;         /* port id that the running pass reads next */
    struct pm_watch *watch;
    uint32_t watch_count, watch_room;
    struct pm_exempt *exempt; /* links that are exempt from isolation */
    uint32_t exempt_count, isolation_count;
    struct sm_isolation *isolation; /* the isolated links at the last update */
    uint64_t reads, failed;
    uint32_t waiting; /* requests in flight */
};

/* ---- poll.c ---- */
void pm_tick(void *ctx);
void pm_nodes_fini(struct pm *pm);

/* ---- congested.c ---- */
/* Records PortXmitData and PortXmitWait, which are read along with the error counters. */
void pm_note_data(struct pm_port *p, uint64_t now, uint64_t xmit_data, uint64_t xmit_wait);
/* Records FECN and BECN of an adapter (values: PortRcvConCtrl), or the congestion events of a
 * switch port (values: SwPortVLCongestion). */
void pm_note_marks(struct pm_port *p, uint64_t now, bool is_switch,
                   const struct fab_perf_details *values);
/* Returns true if the manager programs congestion control. If not, it does not read FECN, BECN and
 * congestion events. */
bool pm_wants_marks(const struct pm *pm);

/* ---- unhealthy.c ---- */
struct fab_counter_rule pm_rule(const struct pm *pm);
/* Returns the time in microseconds without a crossing of a threshold after which a link has
 * recovered. */
uint64_t pm_recovery_us(const struct pm *pm);
/* Returns the entry of the port's link. NULL: the link is not watched. */
struct pm_watch *pm_watch_of(struct pm *pm, uint64_t guid, uint8_t port);
/* Checks the counters of a port against the thresholds after a read. `was` and `now` are its last
 * two reads. */
void pm_read(struct pm *pm, uint64_t guid, uint8_t port, const struct pm_port *was,
             const struct pm_port *now);
/* Isolates the worst of the links that wait for isolation. */
void pm_act(struct pm *pm);

/* ---- exempt.c ---- */
int pm_exempt_load(struct pm *pm); /* loads the exemptions from the store. NOMEM, IO, FORMAT */
bool pm_is_exempt(const struct pm *pm, const struct pm_watch *w);
/* Extends the exemption of an unhealthy link, if the link has one. */
void pm_exempt_extend(struct pm *pm, const struct pm_watch *w);
/* Updates the list of isolated links. Links that were released since the last update while they
 * were unhealthy become exempt. */
void pm_isolations_update(struct pm *pm);
/* Ends the exemption of links that have recovered. */
void pm_exempt_expire(struct pm *pm);

#endif
