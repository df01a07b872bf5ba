/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The performance manager. It reads the counters of every port once in each interval
 * (counters.interval), passes the samples to the history, and reports links whose errors rise too
 * fast. Depending on counters.on_errors, the performance manager also asks the subnet manager to
 * isolate these links. The performance manager sends requests only while the subnet manager is
 * idle. All functions must be called on the loop thread.
 */
#ifndef FABRICD_PM_PM_H
#define FABRICD_PM_PM_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/counters.h"
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
    /* store of the exemptions from isolation; NULL: a restart loses the exemptions */
    struct store *store;
    /* the history of counters; NULL: the manager keeps none */
    struct counters *history;
    const struct config *config; /* must outlive the pm */
};
/* Creates the performance manager. Returns NOMEM, LIMIT if there are too many agents, or an error
 * of sql_status (fabricd/store/sql.h) if the store could not be read. */
int pm_new(const struct pm_input *in, struct pm **ret);
void pm_free(struct pm *pm);
/* Forgets the exemptions and reads them from the store. Call this function when another manager has
 * changed the store. Returns OK, NOMEM, or an error of sql_status (fabricd/store/sql.h). */
int pm_load(struct pm *pm);
/* Starts or stops the reading of counters, if counters.interval has changed. Call this function
 * after the configuration has changed. */
void pm_reload(struct pm *pm);

struct pm_status {
    /* Numbers since the start. reads: reads of the counters of a port. failed: requests that
     * failed. */
    uint64_t reads, failed;
    /* number of complete passes over all ports of the fabric since the start */
    uint64_t passes;
    /*
     * watched: number of links with recent errors. unhealthy: number of unhealthy links among them.
     */
    uint32_t watched, unhealthy;
    /* ports: number of ports that have a sample. The other members: the bytes and packets per
     * second that these ports sent, summed over all ports, from their last samples. */
    uint32_t ports;
    uint64_t bytes_per_s, packets_per_s;
    /* greatest number of requests that were in flight to one node at a time, since the start */
    uint32_t most_in_flight;
};
void pm_get_status(const struct pm *pm, struct pm_status *ret);

/* The counters of a port, as last read. pm_counters returns false if the port was not read yet. */
struct pm_counters {
    struct fab_counters counters;
    int64_t time_us; /* Unix time of the read, in microseconds */
};
bool pm_counters(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_counters *ret);

/* All counters of a port, as last read, for metrics. The members has_... say which counters the
 * device has. */
struct pm_reading {
    uint64_t errors[FAB_COUNTERS];
    /* PortXmitData and PortRcvData in bytes, packets, and ticks of PortXmitWait */
    uint64_t xmit_bytes, rcv_bytes, xmit_pkts, rcv_pkts, xmit_wait;
    uint64_t unicast_xmit_pkts, unicast_rcv_pkts, multicast_xmit_pkts, multicast_rcv_pkts;
    /* fecn, becn: packets with these marks that an endport received. congestion_events: how often a
     * VL of a switch port became congested. */
    uint64_t fecn, becn, congestion_events;
    bool has_traffic, has_wait, has_casts, has_marks;
};
/* Returns false if the port was not read yet. */
bool pm_port_reading(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_reading *ret);

/* A port of a watched link: an error counter at one of the ends of the link rose recently. */
struct pm_watched {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    bool unhealthy;
};
/* Writes the two ports of each watched link to ret[], at most `max` ports. Returns how many ports
 * there are in all, at most PM_WATCHED_MAX. */
#define PM_WATCHED_MAX 2048
uint32_t pm_watched_ports(const struct pm *pm, struct pm_watched *ret, uint32_t max);

/* The last sample of a port: the rates between its last two reads. */
struct pm_rates {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    uint16_t code[FAB_COLUMNS]; /* codes of rates and errors (libfabmgr/counters/column.h) */
};
/* Writes the `most` ports with the greatest values of `by` to ret[], in descending order.
 * *ret_count: number of elements of ret[] that were written. *ret_ports: number of ports that were
 * compared. All ports with a sample are compared; for waits and errors, only those whose value is
 * not 0. Returns NOMEM. */
int pm_top(const struct pm *pm, enum counters_by by, uint32_t most, struct pm_rates *ret,
           uint32_t *ret_count, uint32_t *ret_ports);

/* Returns the last sample of a port. Returns false if there is none. */
bool pm_port_rates(const struct pm *pm, uint64_t node_guid, uint8_t port, struct pm_rates *ret);

/* Kinds of congested ports. A port gets its kind from the increases between its last two reads. */
enum pm_congestion_kind {
    /* a congested port: a switch port with congestion events, or an endport that receives
     * packets marked with FECN */
    PM_CONGESTED,
    /* a throttled port: an endport that receives BECN and therefore reduces its sending rate */
    PM_THROTTLED,
    /* a waiting port: it has data to send, but no credits for at least 1 % of the time */
    PM_WAITING,
};
struct pm_congested {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    enum pm_congestion_kind kind;
    /* waits_permille: share of the time, in per mille, in which the port had data but no
     * credits. mbps: data sent, in Mbit/s. */
    uint32_t waits_permille, mbps;
    /*
     * number of packets with FECN and with BECN that the port received between the last two reads
     */
    uint32_t fecn, becn;
    /* How often a VL of the switch port became congested between the last two reads. */
    uint32_t events;
    uint32_t span_ms; /* time between the two reads */
    /* true: FECN or congestion events rose in several consecutive reads */
    bool persistent;
    /* Number of adapters that recently sent to this endport, according to the congestion logs.
     * pm_congested_ports leaves it 0. A caller that sets it must then call pm_congested_sort. */
    uint32_t senders;
};
/* Writes at most `max` congested ports to ret[], sorted by kind and then by severity. If there are
 * more than `max`, ret[] gets those that come first in the list of nodes, not the worst ones.
 * Returns the number of all congested ports. */
uint32_t pm_congested_ports(const struct pm *pm, struct pm_congested *ret, uint32_t max);
void pm_congested_sort(struct pm_congested *all, uint32_t count);
/* Counts the congested ports of each kind, for the advice of congestion control (fabricd/cc) and
 * for metrics. */
void pm_congestion_seen(const struct pm *pm, struct fab_congestion_observed *ret);

/* The error counters of one end of a watched link. Times are Unix time in microseconds. */
struct pm_link_end {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
    char place[128];
    /* how much each counter rose since the manager began to watch the link */
    uint64_t total[FAB_COUNTERS];
    uint64_t recent[FAB_COUNTERS]; /* increases in the last "counters.within" seconds */
    /* the increases in `recent`, extrapolated to one hour */
    uint64_t per_hour[FAB_COUNTERS];
    /* how much each counter rose in each of the last reads, newest first */
    struct pm_rise {
        int64_t time_us;
        uint64_t rise[FAB_COUNTERS];
    } history[FAB_COUNTERS_KEPT];
    uint32_t history_count;
};
/* A watched link: an error counter at one of its ends rose recently. */
struct pm_link {
    struct pm_link_end end[2];
    bool unhealthy; /* a counter of the link crossed its threshold recently */
    /* true: the counter that crossed its threshold shows a fault of the link itself */
    bool of_cable;
    /* index in end[] of the port whose counter was the last to cross its threshold */
    uint8_t at;
    enum fab_counter counter; /* the counter that last crossed its threshold; FAB_COUNTERS: none */
    /* rise: by how much `counter` rose when it crossed its threshold. span_us: the time, in us, in
     * which it rose by this amount. */
    uint64_t rise, span_us;
    int64_t since_us; /* Unix time in us at which the link last became unhealthy */
    /* A window is a period of counters.within (libfabmgr/health/persistence.h). windows: number of
     * windows in which a counter that shows faults of the link itself crossed its threshold,
     * counted at the end of the link that has more of them. windows_required: how many of these
     * windows are needed before the manager isolates the link (counters.confirm). */
    uint32_t windows, windows_required;
    /* why the subnet manager refused the last attempt to isolate the link; "": it did not refuse */
    char skipped[256];
};
/* Writes at most `max` watched links (links with recent errors) to ret[]. Returns the number of
 * all watched links. */
uint32_t pm_links(const struct pm *pm, struct pm_link *ret, uint32_t max);

#endif
