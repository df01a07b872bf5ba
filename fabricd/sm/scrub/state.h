/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/scrub, for this folder only. */
#ifndef FABRICD_SM_SCRUB_STATE_H
#define FABRICD_SM_SCRUB_STATE_H

#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/scrub/scrub.h"
#include "libfabmgr/plan/scrub.h"

/* Maximum number of requests in flight. The number is small, so that the scrub does not delay a
 * repair. */
#define SM_SCRUB_SLOTS 8

enum sm_scrub_state {
    SM_SCRUB_FREE,
    /* the request is not sent yet, because another request of the scrub to this device is in
     * flight */
    SM_SCRUB_WAITS,
    SM_SCRUB_ASKED, /* the attribute is being read */
    /* the attribute is not as the manager wrote it; the M_Key violation counter of the port is read
     * next */
    SM_SCRUB_DIFFERS,
    SM_SCRUB_TRACED /* the M_Key violation counter is being read */
};
struct sm_scrub_slot {
    enum sm_scrub_state state;
    /* What is read. A new snapshot may have other ids, so item.node and item.port are looked up
     * again before each use. */
    struct fab_scrub_item item;
    uint64_t guid; /* GUID of the node that is read */
    uint8_t num;   /* number of the port that is read */
    uint8_t tries;
    enum fab_scrub_turn turn;
    /* Values at the time when the read was sent. round_us: start of the last round. mft_epoch: what
     * sm_mfts_epoch returned. If one of the two values is different when the answer comes, the
     * attribute may have been written meanwhile. */
    uint64_t round_us, mft_epoch;
    struct fab_path path;
    /* what the device has answered */
    uint8_t data[FAB_SMP_DATA];
};
struct sm_scrub_turn {
    struct fab_scrub_at at;
    /* index of the MFT block that is read next (sm_mfts_held_next) */
    uint32_t mft;
    /* only for the turn over VL tables (FAB_SCRUB_LANES): progress of the turn through the MFT
     * blocks that the manager never wrote */
    struct sm_mfts_scan scan;
    /* true: the turn is about to begin, and its requests are being counted */
    bool counts;
    /* number of requests that the next turn will send to the nodes with ids below counted_nodes;
     * requests to other nodes are not counted yet */
    uint64_t count;
    uint32_t counted_nodes;
    /* Number of ports of the fabric when the counting began. If it has changed, the counting begins
     * again. */
    uint32_t counted_ports;
    /* true: the turn is running; false: it begins at due_us */
    bool runs;
    /* Time (manager's clock) at which the next turn begins. */
    uint64_t due_us;
    /* rate: requests a second. credit: number of requests that may be sent now; grows with the
     * rate. */
    double rate, credit;
    uint64_t reads;       /* number of reads in this turn */
    uint32_t differences; /* number of differences in this turn */
};
struct sm_scrub {
    struct sm *s;
    struct loop_timer *timer, *restore;
    uint64_t ticked_us;
    struct sm_scrub_turn turn[FAB_SCRUB_TURNS];
    struct sm_scrub_slot slot[SM_SCRUB_SLOTS];
    /* Nodes with settings that were found changed. Timer `restore` begins a targeted sweep of these
     * nodes, which writes the settings again. */
    struct sm_guids found;
    struct sm_guids differing; /* nodes whose settings are not restored yet */
    /* [violation_ports] M_Key violation counters, by port id. violations[1]: values at the start of
     * this turn. violations[0]: values at the start of the previous turn; NULL: not known. */
    uint16_t *violations[2];
    /* The M_Key violation counters that are copied from the snapshot while the requests of the next
     * turn are counted. */
    uint16_t *violations_now;
    uint32_t violation_ports;
    bool mft_differs; /* an MFT is not restored yet */
    /* true: all MFT blocks that the manager never wrote have been read once since the start. Until
     * then, somebody may have written entries in them before the manager started. */
    bool mfts_scanned;
    uint64_t turns, last_reads, differences;
};

/* Emits the event about a setting that was found changed (report.c). violations: by how much the
 * M_Key violation counter of the port has risen since the previous turn began. */
void sm_scrub_report(struct sm *s, const struct sm_scrub_slot *x,
                     const struct fab_scrub_difference *d, uint32_t violations);
/* Call this function at the end of a turn. If more than SM_EVENTS_A_ROUND settings were found
 * changed, emits an event with the number of those without an event of their own. */
void sm_scrub_summarize(struct sm *s, const struct sm_scrub_turn *t);

#endif
