/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/scrub. For this folder only. */
#ifndef FABRICD_SM_SCRUB_STATE_H
#define FABRICD_SM_SCRUB_STATE_H

#include "fabricd/sm/scrub/scrub.h"
#include "libfabmgr/plan/scrub.h"

#define SM_SCRUB_SLOTS 8 /* most requests in flight; few, so that they do not delay a repair */

enum sm_scrub_state {
    SM_SCRUB_FREE,
    SM_SCRUB_WAITS,   /* to be read, when its device has no other request in flight */
    SM_SCRUB_ASKED,   /* its read is in flight */
    SM_SCRUB_DIFFERS, /* it differs; the violations of keys at its port are to be read */
    SM_SCRUB_TRACED   /* the read of the violations is in flight */
};
struct sm_scrub_slot {
    enum sm_scrub_state state;
    struct fab_scrub_item item; /* the ids of `node` and `port` are looked up again before use */
    uint64_t guid;              /* node GUID */
    uint8_t num;                /* port number */
    uint8_t tries;
    enum fab_scrub_turn turn;
    uint64_t round_us, mft_epoch; /* when the read was sent: the last round, the last MFT write */
    struct fab_path path;
    uint8_t data[FAB_SMP_DATA]; /* the attribute that differs */
};
struct sm_scrub_turn {
    struct fab_scrub_at at;
    uint32_t mft;         /* the next known MFT block */
    bool runs;            /* false: the next turn begins at due_us */
    uint64_t due_us;      /* when the next turn begins */
    double rate, credit;  /* requests a second; requests that may be sent now */
    uint64_t reads;       /* of this turn */
    uint32_t differences; /* of this turn */
};
struct sm_scrub {
    struct sm *s;
    struct loop_timer *timer, *restore;
    uint64_t ticked_us;
    struct sm_scrub_turn turn[FAB_SCRUB_TURNS];
    struct sm_scrub_slot slot[SM_SCRUB_SLOTS];
    struct sm_guids found;     /* nodes to be swept and written, once `restore` fires */
    struct sm_guids differing; /* nodes whose settings still differ */
    /* [violation_ports] M_Key violations by port id when this turn and the previous one began */
    uint16_t *violations[2];
    uint32_t violation_ports;
    bool mft_differs; /* an MFT still differs */
    uint64_t turns, last_reads, differences;
};

/* report.c: emits the event. violations: how many M_Key violations the port counted since the turn
 * before this one began. */
void sm_scrub_report(struct sm *s, const struct sm_scrub_slot *x,
                     const struct fab_scrub_difference *d, uint32_t violations);
/* Emits the summary of a turn, if it found more differences than events name. */
void sm_scrub_summarize(struct sm *s, const struct sm_scrub_turn *t);

#endif
