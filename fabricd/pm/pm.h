/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The performance manager. It reads the error counters of every port once in each interval
 * (counters.interval), reports links whose errors rise too fast, and asks the subnet manager to
 * isolate them if counters.on_errors says so. It sends requests only while the subnet manager is
 * idle. All functions are for the loop thread.
 */
#ifndef FABRICD_PM_PM_H
#define FABRICD_PM_PM_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/store.h"
#include "libfabmgr/congestion/advise.h"
#include "libfabmgr/health/counters.h"

struct transport;
struct pm;
struct pm_input {
    struct loop *loop;
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    struct store *store;         /* NULL: exemptions from isolation are lost on restart */
    const struct config *config; /* must outlive the pm */
};
/* Creates the performance manager. NOMEM, LIMIT (too many agents), IO and FORMAT (the store could
 * not be read). */
int pm_new(const struct pm_input *in, struct pm **ret);
void pm_free(struct pm *pm);
void pm_reload(struct pm *pm); /* call after the configuration changed */

struct pm_status {
    uint64_t reads, failed;      /* ports read, and requests that failed */
    uint64_t passes;             /* complete passes over the fabric */
    uint32_t watched, unhealthy; /* links with recent errors, and unhealthy ones */
};
void pm_get_status(const struct pm *pm, struct pm_status *ret);

/* pm_counters returns the latest counters of a port; false: the port has not been read yet. */
struct pm_counters {
    struct fab_counters counters;
    int64_t time_us; /* Unix time */
};
bool pm_counters(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_counters *ret);

/* Ports that are congested according to their last two reads. */
enum pm_congestion_kind {
    PM_CONGESTED, /* a switch port with congestion events, or an endport that receives packets
                     marked with FECN */
    PM_THROTTLED, /* an endport that receives BECN and therefore reduces its rate */
    PM_WAITING,   /* a port that has data but no credits for at least 1 % of the time */
};
struct pm_congested {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    enum pm_congestion_kind kind;
    /* share of the time with data but no credits, per mille; data sent, Mbit/s */
    uint32_t waits_permille, mbps;
    uint32_t fecn, becn; /* packets received with these marks */
    uint32_t events;     /* how often a VL of the switch port became congested */
    uint32_t span_ms;    /* time between the two reads */
    bool persistent;     /* FECN or congestion events rose in several consecutive reads */
    uint32_t senders;    /* set to 0; callers may fill it in from congestion logs and call
                            pm_congested_sort */
};
/* Fills in at most `max` congested ports, sorted by kind and then by how congested they are.
 * Returns the number of all congested ports. */
uint32_t pm_congested_ports(const struct pm *pm, struct pm_congested *ret, uint32_t max);
void pm_congested_sort(struct pm_congested *all, uint32_t count);
/* Counts the congested ports of each kind, as input of the advice of fabricd/cc and for metrics. */
void pm_congestion_seen(const struct pm *pm, struct fab_congestion_observed *ret);

/* Links with a counter that rose recently. Times are Unix time in microseconds. */
struct pm_link_end {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    char place[128];
    uint64_t total[FAB_COUNTERS];    /* increases since the manager began to watch the link */
    uint64_t recent[FAB_COUNTERS];   /* increases within counters.within */
    uint64_t per_hour[FAB_COUNTERS]; /* `recent`, converted to increases per hour */
    struct pm_rise {                 /* increases in each of the last reads, newest first */
        int64_t time_us;
        uint64_t rise[FAB_COUNTERS];
    } history[FAB_COUNTERS_KEPT];
    uint32_t history_count;
};
struct pm_link {
    struct pm_link_end end[2];
    bool unhealthy;           /* a counter crossed its threshold recently */
    bool of_cable;            /* the counter shows a fault of the link itself */
    uint8_t at;               /* index in end[] of the port whose counter crossed its threshold */
    enum fab_counter counter; /* the counter that crossed last; FAB_COUNTERS: none */
    uint64_t rise, span_us;   /* the increase of that counter, and the time in which it rose */
    int64_t since_us;         /* when the link became unhealthy */
    char skipped[256]; /* why the last attempt to isolate the link was refused; "": no attempt
                          was refused */
};
/* Fills in at most `max` watched links; returns the number of all watched links. */
uint32_t pm_links(const struct pm *pm, struct pm_link *ret, uint32_t max);

#endif
