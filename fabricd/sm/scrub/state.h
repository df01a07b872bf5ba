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
    /* The attribute will be read when no other request of the scrub to its device is in flight. */
    SM_SCRUB_WAITS,
    SM_SCRUB_ASKED, /* the attribute is being read */
    /* The attribute differs from what the manager wrote. Next, the scrub reads the M_Key violation
     * counter of the port. */
    SM_SCRUB_DIFFERS,
    SM_SCRUB_TRACED /* the M_Key violation counter is being read */
};
struct sm_scrub_slot {
    enum sm_scrub_state state;
    /* The attribute to read. Its ids `node` and `port` are looked up again before each use, because
     * a new snapshot may have other ids. */
    struct fab_scrub_item item;
    uint64_t guid; /* GUID of the node that is read */
    uint8_t num;   /* number of the port that is read */
    uint8_t tries;
    enum fab_scrub_turn turn;
    /* Values when the read was sent: start time of the last round, and sm_mfts_epoch. If one of
     * these values is different when the answer comes, a write may have changed the attribute. */
    uint64_t round_us, mft_epoch;
    struct fab_path path;
    /* The value that the read returned. */
    uint8_t data[FAB_SMP_DATA];
};
struct sm_scrub_turn {
    struct fab_scrub_at at;
    /* Index of the next known MFT block to read (sm_mfts_held_next). */
    uint32_t mft;
    /* Only in the turn over SL2VL and VLArbitration tables (FAB_SCRUB_LANES): position of the turn
     * in the MFT blocks that the manager never wrote. */
    struct sm_mfts_scan scan;
    /* The requests of the next turn are being counted. */
    bool counts;
    /* Number of requests of the next turn to the nodes with ids below counted_nodes; the other
     * nodes are not counted yet. */
    uint64_t count;
    uint32_t counted_nodes;
    /* Number of ports of the fabric when the count began. If it changes, the count begins again. */
    uint32_t counted_ports;
    /* The turn is in progress. False: the next turn begins at due_us. */
    bool runs;
    /* Manager's clock at which the next turn begins. */
    uint64_t due_us;
    /* rate: requests per second of this turn. credit: number of requests that may be sent now. */
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
    /* Nodes with settings that differ from what the manager wrote. When timer `restore` fires, a
     * targeted sweep of these nodes begins, which restores the settings. */
    struct sm_guids found;
    struct sm_guids differing; /* nodes whose settings are not restored yet */
    /* [violation_ports] M_Key violation counters by port id. [0]: at the start of the previous
     * turn; NULL: not known. [1]: at the start of this turn. */
    uint16_t *violations[2];
    /* The M_Key violation counters that are copied from the snapshot while the requests of the next
     * turn are counted. */
    uint16_t *violations_now;
    uint32_t violation_ports;
    bool mft_differs; /* an MFT is not restored yet */
    /* The scrub has read each MFT block that the manager never wrote. Before this first complete
     * reading, entries in these blocks may be older than the start of this manager. */
    bool mfts_scanned;
    uint64_t turns, last_reads, differences;
};

/* Emits the event about a setting that differs (report.c). violations: the number of M_Key
 * violations that the port counted since the previous turn began. */
void sm_scrub_report(struct sm *s, const struct sm_scrub_slot *x,
                     const struct fab_scrub_difference *d, uint32_t violations);
/* A turn emits at most SM_EVENTS_A_ROUND events. At its end, this function emits an event with
 * the number of further settings that differed, if there are any. */
void sm_scrub_summarize(struct sm *s, const struct sm_scrub_turn *t);

#endif
