/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The performance manager: reads the error counters of every port once an interval, tells of
 * cables whose errors rise too fast, and asks the subnet manager to isolate them where policy says
 * so. It works only while the subnet manager is quiet. Loop thread only.
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
    struct store *store;         /* may be NULL: nothing is kept */
    const struct config *config; /* lives as long as the pm */
};
int pm_new(const struct pm_input *in, struct pm **ret);
void pm_free(struct pm *pm);
void pm_reload(struct pm *pm); /* the config changed */

struct pm_status {
    uint64_t reads, failed;      /* readings of ports, and those that got no good answer */
    uint64_t passes;             /* over the whole fabric */
    uint32_t watched, unhealthy; /* cables */
};
void pm_get_status(const struct pm *pm, struct pm_status *ret);

/* What was read of a port last. False: nothing yet. */
struct pm_counters {
    struct fab_counters counters;
    int64_t time_us; /* Unix time */
};
bool pm_counters(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_counters *ret);

/* Ports where traffic is crowded, by their two last readings. */
enum pm_congestion_kind {
    PM_CONGESTED, /* a switch port that became congested, or an end that marked packets come to */
    PM_THROTTLED, /* an end that is told to send more slowly */
    PM_WAITING,   /* has data and no credits, more than a hundredth of its time */
};
struct pm_congested {
    uint64_t guid; /* of the node */
    uint8_t port;
    enum pm_congestion_kind kind;
    uint32_t waits_permille, mbps;
    uint32_t fecn, becn, events; /* in span_ms; of a switch's lanes: became congested */
    uint32_t span_ms;
    bool persistent;  /* marks came in several readings on end */
    uint32_t senders; /* 0; whoever knows of logs may set it, and sort again */
};
/* The first `max` that there are, sorted: by kind, then the hottest first. Returns how many there
 * are. */
uint32_t pm_congested_ports(const struct pm *pm, struct pm_congested *ret, uint32_t max);
void pm_congested_sort(struct pm_congested *all, uint32_t count);
void pm_congestion_seen(const struct pm *pm, struct fab_congestion_observed *ret);

/* Cables whose counters rose of late. The times are Unix time. */
struct pm_link_end {
    uint64_t guid; /* of the node */
    uint8_t port;
    char place[128];
    uint64_t total[FAB_COUNTERS];    /* rises since it is watched */
    uint64_t recent[FAB_COUNTERS];   /* within the window of the settings */
    uint64_t per_hour[FAB_COUNTERS]; /* at that rate */
    struct pm_rise {                 /* each reading, the newest first */
        int64_t time_us;
        uint64_t rise[FAB_COUNTERS];
    } history[FAB_COUNTERS_KEPT];
    uint32_t history_count;
};
struct pm_link {
    struct pm_link_end end[2];
    bool unhealthy;           /* a counter crossed its threshold, not long ago */
    bool of_cable;            /* one that tells against the cable */
    uint8_t at;               /* the end whose counter it is */
    enum fab_counter counter; /* the last that crossed; FAB_COUNTERS: none did */
    uint64_t rise, span_us;   /* of it, and in which time */
    int64_t since_us;         /* unhealthy since then */
    char skipped[256];        /* why it is not isolated; "": nobody asked, or it is */
};
/* Returns how many there are, at most `max` of which are in ret. */
uint32_t pm_links(const struct pm *pm, struct pm_link *ret, uint32_t max);

#endif
