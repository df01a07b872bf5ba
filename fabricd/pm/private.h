/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the performance manager, shared by the files of this room only. */
#ifndef FABRICD_PM_PRIVATE_H
#define FABRICD_PM_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/base/events.h"
#include "fabricd/pm/pm.h"
#include "libfabmgr/base/map.h"

#define PM_PLACE_LEN 128

enum pm_congestion_counter {               /* of congestion */
                             PM_XMIT_DATA, /* words of 4 bytes */
                             PM_XMIT_WAIT, /* ticks with data to send and no credits */
                             PM_FECN,      /* adapters: packets that came marked */
                             PM_BECN,      /* adapters: notifications that came */
                             PM_EVENTS,    /* switches: a lane of the port became congested */
                             PM_CONGESTION_COUNTERS
};
struct pm_congestion_counters {
    uint64_t last[PM_CONGESTION_COUNTERS];
    uint32_t rise[PM_CONGESTION_COUNTERS]; /* between the two last readings */
    uint32_t span_ms;                      /* of the first two; 0: not yet */
    uint32_t marked;                       /* readings on end between which marks rose */
    uint64_t at_us, marks_us;              /* when read: the first two, the others; 0: never */
};
struct pm_port {
    struct fab_counters last;
    uint64_t at_us; /* when that was read; 0: never */
    struct pm_congestion_counters signs;
};
struct pm_node {
    uint64_t guid;
    struct pm_port *port; /* [ports + 1]; NULL: this place is free */
    uint64_t pass;        /* that saw it last */
    uint16_t life;        /* of this place */
    uint16_t lid;         /* at its last reading */
    uint8_t ports;
    bool asked; /* what it can do */
    bool known, wide;
    bool no_marks; /* does not count marks of congestion */
    bool is_switch;
    uint64_t wanted[4]; /* set of ports to read once that is known */
};
struct pm_watch { /* a cable */
    uint64_t guid[2];
    uint8_t port[2];
    char place[2][PM_PLACE_LEN];
    struct fab_health_history end[2];
    bool unhealthy, of_cable;
    bool isolated; /* by us */
    bool wanted;   /* to be isolated, as soon as may be */
    uint8_t at;
    enum fab_counter counter;
    uint64_t rise, span_us, crossed_us; /* of the last crossing */
    int64_t since_us;
    char skipped[256];
};
struct pm_exempt { /* a cable, by one of its ends */
    uint64_t guid;
    uint64_t until_us; /* at least */
    uint8_t port;
};
struct pm {
    struct pm_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct loop_timer *timer;
    struct fab_map index; /* GUID -> node */
    struct pm_node *nodes;
    size_t node_count, node_capacity;
    uint64_t pass, began_us; /* of the running pass */
    uint32_t cursor;         /* port id of the view */
    struct pm_watch *watch;
    uint32_t watch_count, watch_room;
    struct pm_exempt *exempt; /* cables that are left alone */
    uint32_t exempt_count, isolation_count;
    struct sm_isolation *isolation; /* as of the last look */
    uint64_t reads, failed;
    uint32_t waiting; /* requests that were not answered yet */
};

/* ---- poll.c ---- */
void pm_tick(void *ctx);
void pm_nodes_fini(struct pm *pm);

/* ---- hot.c ---- */
/* What is counted of congestion beside the errors: data and wait. */
void pm_note_data(struct pm_port *p, uint64_t now, uint64_t xmit_data, uint64_t xmit_wait);
/* values: PortRcvConCtrl of an adapter, SwPortVLCongestion of a switch. */
void pm_note_marks(struct pm_port *p, uint64_t now, bool is_switch,
                   const struct fab_perf_details *values);
/* Marks are worth being asked for. */
bool pm_wants_marks(const struct pm *pm);

/* ---- unhealthy.c ---- */
struct fab_counter_rule pm_rule(const struct pm *pm);
uint64_t pm_recovery_us(const struct pm *pm); /* how long without a crossing makes a cable well */
struct pm_watch *pm_watch_of(struct pm *pm, uint64_t guid, uint8_t port); /* NULL: not watched */
/* A port was read, and before: at these times. */
void pm_read(struct pm *pm, uint64_t guid, uint8_t port, const struct pm_port *was,
             const struct pm_port *now);
/* Some of those that are to be isolated are; and who is well again is told of. */
void pm_act(struct pm *pm);

/* ---- exempt.c ---- */
int pm_exempt_load(struct pm *pm);
bool pm_is_exempt(const struct pm *pm, const struct pm_watch *w);
void pm_exempt_extend(struct pm *pm,
                      const struct pm_watch *w); /* it is unhealthy still, if it is one */
void pm_isolations_update(
    struct pm *pm); /* what is isolated, and who was released since the last look */
void pm_exempt_expire(struct pm *pm); /* those that were well */

#endif
