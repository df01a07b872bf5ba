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
#include "libfabmgr/spanning/spanning.h"
#include "libfabmgr/verify/multicast.h"

/* A member whose port is not in the fabric. */
struct sm_absent {
    /* GUID in the PortGID of the member; it may be an alias GUID. */
    uint64_t guid;
    uint64_t port_guid; /* GUID of the port itself */
    uint64_t since_us;
};
/* The multicast groups and members that were loaded from the database. All bytes 0: none. */
struct sm_stored_groups {
    struct fab_wire_mc_member_record *group;
    size_t groups;
    struct store_member *member;
    size_t members;
    /* The alias GUIDs of ports, by which members with an alias GUID are found. */
    struct fab_sa_aliases aliases;
};
/* The proof of all trees together with the unicast tables (joint_proof.c). */
struct sm_joint {
    /* view: the published view whose unicast tables the proof uses; NULL: none. channels: the
     * channel dependencies of unicast packets under these tables, and of the trees that were proved
     * with these tables; NULL: not known, or lent to a worker task. */
    struct fab_view *view;
    struct fab_verify_channels *channels;
    /* bitset of the MLID groups that are not yet proved together with the unicast tables of
     * `view` */
    uint64_t open[FAB_MFT_GROUPS / 64];
    /* The manager has made, or tried to make, a spanning tree for the unicast tables of `view`. */
    bool guide_tried;
    /* A proof with the unicast tables of `view` found a cycle. */
    bool cycle;
    /* The last complete proof found a cycle, and an event has reported it. */
    bool deadlock;
    char witness[1024];
};
struct sm_multicast {
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    /* The trees were computed for an older fabric than the published one. */
    bool stale;
    bool configured; /* the groups of the configuration exist */
    /* An event has reported that no free MLID is left. */
    bool full;
    /* [number of switches in struct fab_mcast_net] LinearFDBTop that each switch had when the trees
     * were last updated for a fabric */
    uint16_t *top;
    struct loop_tasks tasks;
    /* The stored groups, until a worker task has made groups from them. */
    struct sm_stored_groups stored;
    /* The worker task that copies the links of the published fabric; NULL: none runs. */
    struct loop_task *reading;
    /* The fabric whose links the last worker task has copied, and these links. The next update of
     * the trees uses them. NULL: no links are copied, or the trees use them already. */
    struct fab_fabric *read_of;
    struct fab_mcast_net *read;
    /* The groups that a worker task has made from `stored`, until they replace `groups`; NULL:
     * none. */
    struct fab_mcast_groups *made;
    /* The fabric for which the trees were computed; NULL: none. */
    struct fab_fabric *fabric;
    struct sm_absent *absent;
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    sm_mgroup_fn *on_mgroup; /* the listener of sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;

    /* Members of mft_proof.c, which proves that multicast trees reach all members without a loop.
     * proved: MFT blocks of the last proof. proved_groups: bitset of the MLID groups whose trees
     * passed the proof and have not changed since. refuted: bitset of the MLID groups with a tree
     * that failed the proof. proving: the worker task; NULL: none runs. */
    struct fab_blocks proved;
    uint64_t proved_groups[FAB_MFT_GROUPS / 64], refuted[FAB_MFT_GROUPS / 64];
    struct loop_task *proving;
    struct sm_joint joint;

    /* Members of mft_writes.c. Switch ids are those of struct fab_mcast_net. */
    /* MFT blocks that switches are known to hold. */
    struct fab_blocks held;
    /* Bitset of the MLID groups in which the trees may differ from `held`. */
    uint64_t open[FAB_MFT_GROUPS / 64];
    /* Bitset of switches that are silent or that did not answer two requests. */
    uint64_t *unresponsive;
    uint32_t unresponsives;
    /* Switches that did not answer a request of the running plan (failed_now), or the last request
     * of an earlier plan (failed_before). */
    struct sm_guids failed_now, failed_before;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    /* The plan whose writes are being sent. This and the members below are valid only while `busy`
     * is true. */
    struct fab_plan_mft plan;
    bool busy, failed;
    unsigned stage;
    /* `next` is the index, in the running stage of the plan, of the next request to send.
     * `outstanding` is the number of unanswered requests. */
    size_t next, outstanding;
    /* Directed route of each request of the running stage. */
    struct fab_path *path;
    /* Bitset of unanswered requests of the running stage. */
    uint64_t *asked;
};

/* Functions of multicast.c. */
/* Sets the timer that soon updates the trees and writes the MFTs, if necessary. */
void sm_multicast_kick(struct sm *s);
/* Call this function after each try to plan MFT writes. status: OK, or the error that prevented a
 * plan. After an error, the function sets a timer for another try. */
void sm_multicast_planned(struct sm *s, int status);

/* Functions of multicast_store.c. */
/* Reads the stored groups. Returns OK or NOMEM. If the database is damaged, it logs an error and
 * returns OK with no groups. */
int sm_stored_groups_read(struct store *store, struct sm_stored_groups *ret);
void sm_stored_groups_fini(struct sm_stored_groups *x);
/* Stores a group and the membership of a port again, if the store has dropped a record since the
 * start. Otherwise a join that changes nothing would be confirmed, but never stored. */
void sm_stored_group_repeat(struct sm *s, const uint64_t mgid[2], uint64_t port_guid);
/* Adds the stored groups and members to `groups`. May run on a worker thread. Returns OK or
 * NOMEM. */
int sm_stored_groups_restore(const struct sm_stored_groups *x, struct fab_mcast_groups *groups);
/* Makes the store keep each change of the groups from now on. */
void sm_multicast_listen(struct sm *s);

/* Functions of mft_proof.c. */
/* Copies of MFT blocks, and of the members of multicast groups. */
struct sm_mft_sealed {
    struct fab_blocks tables;
    struct fab_verify_multicast_member *member;
    struct fab_verify_multicast_lid *lid; /* [lids] */
    uint32_t lids;
};
/* Copies the MFT blocks and members of the MLID groups in the bitset `groups`; NULL: of all MLID
 * groups. Returns OK or NOMEM. */
int sm_mft_seal(const struct sm_multicast *m, const uint64_t *groups, struct sm_mft_sealed *ret);
void sm_mft_sealed_fini(struct sm_mft_sealed *x);
/* Starts a worker task that proves some of the MLID groups in the bitset `open`. When it has ended,
 * it calls sm_mfts_plan_proved. Returns OK or NOMEM. */
int sm_mfts_prove(struct sm *s, const uint64_t *open);
/* Forgets the results of all proofs. Call this function before the switch ids of the trees
 * change. */
void sm_mfts_unprove(struct sm_multicast *m);

/* Functions of joint_proof.c. */
/* input and result of a joint proof; all bytes 0: trees are proved without the unicast tables */
struct sm_joint_proof {
    struct fab_view *view;
    struct fab_verify_channels *channels;
    uint16_t sls; /* bitset of the SLs of all groups */
    /* If the task finds a cycle, it may make a spanning tree. */
    bool may_guide;
    struct fab_mcast_guide guide;
};
/* Call this function before MFT writes are planned. If the unicast tables have changed, it notes
 * that all trees must be proved again. */
void sm_joint_renew(struct sm *s);
void sm_joint_drop(struct sm_multicast *m);
/* Adds to the bitset `groups` the MLID groups that are not yet proved together with the unicast
 * tables. */
void sm_joint_add_open(const struct sm_multicast *m, uint64_t groups[FAB_MFT_GROUPS / 64]);
/* Fills in the input of the worker task for a joint proof. The task owns m->joint.channels until
 * sm_joint_done is called. */
void sm_joint_lend(struct sm_multicast *m, struct sm_joint_proof *ret);
/* Functions for the worker task. sm_joint_compute is called before the proof, and computes the
 * channel dependencies of the unicast packets. sm_joint_guide is called after the proof, and makes
 * a spanning tree if there is a cycle. Both return OK or NOMEM. */
int sm_joint_compute(struct sm_joint_proof *p);
int sm_joint_guide(struct sm_joint_proof *p, const struct fab_multicast_verdict *v);
void sm_joint_proof_fini(struct sm_joint_proof *p);
/* Takes the result of a joint proof, and emits multicast-deadlock if a cycle remains. Call this
 * function when the proof of the MLID groups in the bitset `groups` has ended with verdict `v`.
 * witness: the cycle that it found. *ret_again: the trees now follow a new spanning tree, and must
 * be proved again. Returns OK or NOMEM. */
int sm_joint_done(struct sm *s, struct sm_joint_proof *p, const uint64_t *groups,
                  const struct fab_multicast_verdict *v, const char *witness, bool *ret_again);

/* Functions of mft_writes.c. */
/* Plans the MFT writes of the MLID groups whose trees passed the proof. Returns OK or NOMEM. */
int sm_mfts_plan_proved(struct sm *s);
int sm_mfts_init(struct sm *s); /* returns OK or NOMEM */
void sm_mfts_fini(struct sm *s);
/* Makes a plan of MFT writes, or enters the next stage of the running plan. Returns OK or NOMEM. */
int sm_mfts_go_on(struct sm *s);
void sm_mfts_drop(struct sm *s); /* cancels the unanswered requests */
void sm_mfts_open_all(struct sm *s);
/* Gives the known MFT blocks the switch ids of fabric `now`. Call this function before the trees
 * are updated to that fabric. Returns OK or NOMEM. */
int sm_mfts_move(struct sm *s, const struct fab_fabric *now);
/* Marks all MFT blocks as unknown. The caller must call sm_mfts_move next. */
void sm_mfts_reset(struct sm *s);

#endif
