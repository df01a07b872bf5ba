/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/mcast. For this folder only. */
#ifndef FABRICD_SM_MCAST_STATE_H
#define FABRICD_SM_MCAST_STATE_H

#include "fabricd/sm/mcast/mcast.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/plan/mft_writes.h"

struct sm_absent {      /* a member whose port is not in the fabric */
    uint64_t guid;      /* GUID in the member's port GID */
    uint64_t port_guid; /* the port's GUID; differs if the member's GUID is an alias */
    uint64_t since_us;
};
struct sm_multicast {
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    bool stale;                      /* the trees were not computed for the published fabric */
    bool configured;                 /* the groups of the configuration exist */
    bool full;                       /* an event has reported that no MLID is left */
    uint16_t *top;                   /* last known LinearFDBTop of each switch of the trees' net */
    struct sm_absent *absent;
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    sm_mgroup_fn *on_mgroup; /* the listener of sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;

    /* mft_writes.c: switch ids are those of the trees' net (fab_mcast_trees_net) */
    struct fab_blocks held; /* MFT blocks that switches are known to hold */
    /* bitset of the MFT blocks (32 MLIDs each) in which a tree may differ from `held` */
    uint64_t open[FAB_MFT_GROUPS / 64];
    uint64_t *unresponsive; /* bitset of the switches that did not answer */
    uint32_t unresponsives;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    /* the plan under way; this and the fields below are valid while `busy` */
    struct fab_plan_mft plan;
    bool busy, failed;
    unsigned stage;
    size_t next, outstanding; /* next op of the stage to send, and unanswered ops */
    struct fab_path *path;    /* directed route for each op of the stage */
    uint64_t *asked;          /* bitset of unanswered ops */
};

/* multicast.c */
void sm_multicast_kick(struct sm *s); /* updates trees and writes MFTs soon, if necessary */

/* multicast_store.c: loads the stored groups, and from then on stores changes. NOMEM. */
int sm_multicast_load(struct sm *s);

/* mft_writes.c */
int sm_mfts_init(struct sm *s); /* NOMEM */
void sm_mfts_fini(struct sm *s);
int sm_mfts_go_on(struct sm *s); /* makes a plan or enters the next stage. NOMEM */
void sm_mfts_drop(struct sm *s); /* cancels the requests under way */
void sm_mfts_open_all(struct sm *s);
/* Moves the known MFT blocks to the switch ids of `now`; call it before the trees are updated to
 * that fabric. NOMEM */
int sm_mfts_move(struct sm *s, const struct fab_fabric *now);
void sm_mfts_reset(struct sm *s); /* marks all blocks as unknown; sm_mfts_move must follow */

#endif
