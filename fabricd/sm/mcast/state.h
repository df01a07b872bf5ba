/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/mcast, for this folder only. */
#ifndef FABRICD_SM_MCAST_STATE_H
#define FABRICD_SM_MCAST_STATE_H

#include "fabricd/sm/mcast/mcast.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/plan/mft_writes.h"
#include "libfabmgr/sa/aliases.h"
#include "libfabmgr/verify/multicast.h"

/* A member whose port is not in the fabric. */
struct sm_absent {
    /* GUID in the member's port GID; may be an alias GUID. */
    uint64_t guid;
    uint64_t port_guid; /* GUID of the port itself */
    uint64_t since_us;
};
/* The multicast groups in the database. All bytes 0: there are none. */
struct sm_stored_groups {
    struct fab_wire_mc_member_record *group;
    size_t groups;
    struct store_member *member;
    size_t members;
    /* To find the ports of members with alias GUIDs. */
    struct fab_sa_aliases aliases;
};
struct sm_multicast {
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    /* The trees belong to a fabric that is no longer the published one. */
    bool stale;
    bool configured; /* the groups of the configuration exist */
    /* An event has reported that no MLID is left. */
    bool full;
    /* [switches of the trees' net] last known LinearFDBTop. */
    uint16_t *top;
    struct loop_tasks tasks;
    /* Until a worker task makes groups of them. */
    struct sm_stored_groups stored;
    /* The worker task that reads links; NULL: none runs. */
    struct loop_task *reading;
    /* The fabric that the last worker task has read, and its links for the next update of the
     * trees. NULL: none, or the task has made groups over them. */
    struct fab_fabric *read_of;
    struct fab_mcast_net *read;
    /* The groups that a worker task made of `stored`, until they become m->groups. NULL: none. */
    struct fab_mcast_groups *made;
    /* The trees are for the links of this fabric; NULL: none. */
    struct fab_fabric *fabric;
    struct sm_absent *absent;
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    sm_mgroup_fn *on_mgroup; /* the listener of sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;

    /* Members of mft_proof.c, which proves that multicast trees reach all members without a loop.
     * `proved` has the MFT blocks of the last proof. An MLID group is 32 consecutive MLIDs, whose
     * entries are in the same MFT blocks. Bitset proved_groups has the MLID groups in `proved`
     * whose trees passed the proof and have not changed since. Bitset `refuted` has the MLID groups
     * with a tree that failed. `proving` is the worker task; NULL: none runs. */
    struct fab_blocks proved;
    uint64_t proved_groups[FAB_MFT_GROUPS / 64], refuted[FAB_MFT_GROUPS / 64];
    struct loop_task *proving;

    /* mft_writes.c: switch ids are those of the trees' net (fab_mcast_trees_net) */
    /* MFT blocks that switches are known to hold. */
    struct fab_blocks held;
    /* Bitset of the MLID groups in which the trees may differ from `held`. */
    uint64_t open[FAB_MFT_GROUPS / 64];
    /* Bitset of the switches that are silent or did not answer twice. */
    uint64_t *unresponsive;
    uint32_t unresponsives;
    /* Switches that did not answer a request of the plan under way, or the last request of an
     * earlier plan. */
    struct sm_guids failed_now, failed_before;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    /* The plan of the writes under way. It and the members below are valid only while `busy` is
     * true. */
    struct fab_plan_mft plan;
    bool busy, failed;
    unsigned stage;
    /* Index, in the running stage, of the next op to send; number of ops that are sent and not
     * answered. */
    size_t next, outstanding;
    /* Directed route for each op of the running stage. */
    struct fab_path *path;
    uint64_t *asked; /* bitset of unanswered ops */
};

/* Functions of multicast.c. */
/* Updates trees and writes MFTs soon, if necessary. */
void sm_multicast_kick(struct sm *s);
/* Call this function after a plan of MFT writes was made, or with the error. */
void sm_multicast_planned(struct sm *s, int status);

/* Functions of multicast_store.c. */
/* Reads the stored groups. If the database is damaged, logs an error and returns OK without groups.
 * Returns NOMEM. */
int sm_stored_groups_read(struct store *store, struct sm_stored_groups *ret);
void sm_stored_groups_fini(struct sm_stored_groups *x);
/* Adds the stored groups and members to `groups`. May run on a worker thread. Returns NOMEM. */
int sm_stored_groups_restore(const struct sm_stored_groups *x, struct fab_mcast_groups *groups);
/* From now on, stores each change of the groups. */
void sm_multicast_listen(struct sm *s);

/* Functions of mft_proof.c. */
/* Copies of tables and members. */
struct sm_mft_sealed {
    struct fab_blocks tables;
    struct fab_verify_multicast_member *member;
    struct fab_verify_multicast_lid *lid; /* [lids] */
    uint32_t lids;
};
/* Copies the tables and members of the MLID groups in the bitset `groups`; NULL: of all. Returns
 * NOMEM. */
int sm_mft_seal(const struct sm_multicast *m, const uint64_t *groups, struct sm_mft_sealed *ret);
void sm_mft_sealed_fini(struct sm_mft_sealed *x);
/* Starts the proof of some of the MLID groups in the bitset. When the proof ends, it calls
 * sm_mfts_plan_proved. Returns NOMEM. */
int sm_mfts_prove(struct sm *s, const uint64_t *open);
/* Call this function before the trees get other switch ids. */
void sm_mfts_unprove(struct sm_multicast *m);

/* Functions of mft_writes.c. */
/* Plans the MFT writes of the MLID groups whose trees passed the proof. Returns NOMEM. */
int sm_mfts_plan_proved(struct sm *s);
int sm_mfts_init(struct sm *s); /* returns OK or NOMEM */
void sm_mfts_fini(struct sm *s);
/* Makes a plan of writes or enters its next stage. Returns NOMEM. */
int sm_mfts_go_on(struct sm *s);
void sm_mfts_drop(struct sm *s); /* cancels the unanswered requests */
void sm_mfts_open_all(struct sm *s);
/* Moves the known MFT blocks to the switch ids of fabric `now`. Call this function before the trees
 * are updated to that fabric. Returns NOMEM. */
int sm_mfts_move(struct sm *s, const struct fab_fabric *now);
/* Marks all MFT blocks as unknown; sm_mfts_move must follow. */
void sm_mfts_reset(struct sm *s);

#endif
