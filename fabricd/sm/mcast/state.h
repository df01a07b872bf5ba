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
    uint64_t guid;      /* of the member */
    uint64_t port_guid; /* the same, or the GUID that it is an alias of */
    uint64_t since_us;
};
struct sm_multicast {
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    bool stale;                      /* the trees are not of the published fabric */
    bool configured;                 /* groups of the configuration are as it says */
    bool full;                       /* it was reported that no multicast LID is left */
    uint16_t *top;                   /* LinearFDBTop of the switches of the trees, as last seen */
    struct sm_absent *absent;
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    sm_mgroup_fn *on_mgroup; /* sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;

    /* mft_writes.c: all by the switch ids of the trees' net */
    struct fab_blocks held;             /* what switches are known to hold */
    uint64_t open[FAB_MFT_GROUPS / 64]; /* groups of multicast LIDs that may differ from it */
    uint64_t *unresponsive;             /* bitset of switches */
    uint32_t unresponsives;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    struct fab_plan_mft plan; /* that is carried out; while `busy`: */
    bool busy, failed;
    unsigned stage;
    size_t next, outstanding; /* ops of the stage */
    struct fab_path *path;    /* of each */
    uint64_t *asked;          /* bitset of ops without an answer */
};

/* multicast.c */
void sm_multicast_kick(struct sm *s); /* something may have to be done, soon */

/* multicast_store.c: what was there before the restart; from now on changes are stored. NOMEM. */
int sm_multicast_load(struct sm *s);

/* mft_writes.c */
int sm_mfts_init(struct sm *s); /* NOMEM */
void sm_mfts_fini(struct sm *s);
int sm_mfts_go_on(struct sm *s); /* plans, or goes on to the next stage. NOMEM */
void sm_mfts_drop(struct sm *s); /* what is under way */
void sm_mfts_open_all(struct sm *s);
int sm_mfts_move(struct sm *s, const struct fab_fabric *now); /* before the trees follow. NOMEM */
void sm_mfts_reset(struct sm *s); /* nothing is known of what switches hold; sm_mfts_move is next */

#endif
