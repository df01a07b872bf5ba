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

/* a member of multicast groups whose port is not in the fabric now */
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
    /* alias GUIDs and their ports, because the GUID of a member may be an alias GUID */
    struct fab_sa_aliases aliases;
};
/* The joint proof of all multicast trees and the unicast tables (joint_proof.c). */
struct sm_joint {
    /* view: the published view with the unicast tables of the proof; NULL: none. channels: channel
     * dependencies of unicast packets with these tables, and of the multicast trees that were
     * proved with them; NULL: not computed, or a worker task has them. */
    struct fab_view *view;
    struct fab_verify_channels *channels;
    /* bitset of the MLID groups whose trees still need a joint proof with the unicast tables of
     * `view` */
    uint64_t open[FAB_MFT_GROUPS / 64];
    /* a spanning tree was made for the unicast tables of `view`, or could not be made */
    bool guide_tried;
    /* the joint proof with the unicast tables of `view` has found a cycle */
    bool cycle;
    /* the last complete joint proof has found a cycle, and multicast-deadlock was emitted */
    bool deadlock;
    char witness[1024];
};
struct sm_multicast {
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    /* the published fabric is newer than the one for which the trees were computed */
    bool stale;
    bool configured; /* the groups that the settings demand have been made */
    /* only_makes: groups are made, but MFTs are neither read nor written (sm_multicast_make).
     * unloaded: no groups are made before sm_multicast_load. */
    bool only_makes, unloaded;
    /* an event has reported that no MLID is free any more */
    bool full;
    /* [number of switches in struct fab_mcast_net] LinearFDBTop of each switch at the last update
     * of the trees */
    uint16_t *top;
    struct loop_tasks tasks;
    /* the groups as the store has them, until a worker task has made groups from them */
    struct sm_stored_groups stored;
    /* The worker task that copies the links of the published fabric; NULL: none runs. */
    struct loop_task *reading;
    /* The last worker task has copied the links and ports of the fabric read_of, for the next
     * update of the trees. NULL: there is no copy, or the trees use it already. */
    struct fab_fabric *read_of;
    struct fab_mcast_net *read;
    /* the groups that a worker task has made from `stored`; they become `groups` at the next
     * update; NULL: none */
    struct fab_mcast_groups *made;
    /* The fabric for which the trees were computed; NULL: none. */
    struct fab_fabric *fabric;
    struct sm_absent *absent;
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    sm_mgroup_fn *on_mgroup; /* the listener of sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;

    /* Members of mft_proof.c, which proves that multicast trees reach all members without a loop.
     * proved: the MFT blocks that the last proof was about. proved_groups: bitset of the MLID
     * groups that passed the proof and have not changed since. refuted: bitset of the MLID groups
     * that failed the proof. proving: the worker task; NULL: none runs. */
    struct fab_blocks proved;
    uint64_t proved_groups[FAB_MFT_GROUPS / 64], refuted[FAB_MFT_GROUPS / 64];
    struct loop_task *proving;
    struct sm_joint joint;

    /* Members of mft_writes.c. Switch ids are those of struct fab_mcast_net. */
    /* the contents of MFT blocks of the switches, as far as they are known */
    struct fab_blocks held;
    /* bitset of the MLID groups whose MFT blocks may need a write */
    uint64_t open[FAB_MFT_GROUPS / 64];
    /* bitset of switches that get no MFT requests until the next retry: they are silent, refused
     * a request, or did not answer two requests */
    uint64_t *unresponsive;
    uint32_t unresponsives;
    /* Switches that did not answer a request. failed_now: they did not answer one of the running
     * plan. failed_before: they did not answer one of an earlier plan, and have not answered
     * since. */
    struct sm_guids failed_now, failed_before;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    /* The plan whose writes are being sent. This and the members below are valid only while `busy`
     * is true. */
    struct fab_plan_mft plan;
    bool busy, failed;
    unsigned stage;
    /* next: index, in the running stage of the plan, of the next request to send. outstanding:
     * number of unanswered requests. */
    size_t next, outstanding;
    /* Directed route of each request of the running stage. */
    struct fab_path *path;
    /* Bitset of unanswered requests of the running stage. */
    uint64_t *asked;
};

/* Functions of multicast.c. */
/* Sets the timer that soon updates the trees and writes the MFTs, if necessary. */
void sm_multicast_kick(struct sm *s);
/* Call this function after each attempt to plan MFT writes. status: OK, or the error of the
 * attempt; after an error, a timer repeats it. */
void sm_multicast_planned(struct sm *s, int status);

/* Functions of multicast_store.c. */
/* Reads the groups from the store. Returns OK or NOMEM. If the database cannot be read or is
 * damaged, logs an error, and the result is empty. */
int sm_stored_groups_read(struct store *store, struct sm_stored_groups *ret);
void sm_stored_groups_fini(struct sm_stored_groups *x);
/* A join may change nothing, because the group and the member exist already. But if the store has
 * dropped a record since the start, perhaps it does not have them. This function then stores both
 * again. */
void sm_stored_group_repeat(struct sm *s, const uint64_t mgid[2], uint64_t port_guid);
/* Makes the groups and members that were read from the store, in `groups`. May run on a worker
 * thread. Returns OK or NOMEM. */
int sm_stored_groups_restore(const struct sm_stored_groups *x, struct fab_mcast_groups *groups);
/* From now on, each change of a group or a member is stored. */
void sm_multicast_listen(struct sm *s);

/* Functions of mft_proof.c. */
/* Copies of MFT blocks, and of the members of multicast groups. */
struct sm_mft_sealed {
    struct fab_blocks tables;
    struct fab_verify_multicast_member *member;
    struct fab_verify_multicast_lid *lid; /* [lids] */
    uint32_t lids;
};
/* Copies the MLID groups of the bitset `groups` (NULL: all): their MFT blocks, and their members.
 * Returns OK or NOMEM. */
int sm_mft_seal(const struct sm_multicast *m, const uint64_t *groups, struct sm_mft_sealed *ret);
void sm_mft_sealed_fini(struct sm_mft_sealed *x);
/* Starts a worker task that proves some of the MLID groups in the bitset `open`;
 * sm_mfts_plan_proved is called at its end. Returns OK or NOMEM. */
int sm_mfts_prove(struct sm *s, const uint64_t *open);
/* Forgets the results of all proofs. Call this function before the switch ids of the trees
 * change. */
void sm_mfts_unprove(struct sm_multicast *m);

/* Functions of joint_proof.c. */
/* the input and the result of a joint proof; all bytes 0: the trees are proved without the unicast
 * tables */
struct sm_joint_proof {
    struct fab_view *view;
    struct fab_verify_channels *channels;
    uint16_t sls; /* bitset of the SLs of all groups */
    /* true: if there is a cycle, the task may make a spanning tree */
    bool may_guide;
    struct fab_mcast_guide guide;
};
/* Call this function before MFT writes are planned. If the published unicast tables have changed,
 * all trees need a new joint proof. */
void sm_joint_renew(struct sm *s);
void sm_joint_drop(struct sm_multicast *m);
/* Adds to `groups` the MLID groups that still need a joint proof. */
void sm_joint_add_open(const struct sm_multicast *m, uint64_t groups[FAB_MFT_GROUPS / 64]);
/* Fills in the input of a joint proof for the worker task. The task owns the channel dependencies
 * (m->joint.channels) until sm_joint_done. */
void sm_joint_lend(struct sm_multicast *m, struct sm_joint_proof *ret);
/* The worker task calls these functions. sm_joint_compute, before the proof: computes the channel
 * dependencies of unicast packets. sm_joint_guide, after the proof: makes a spanning tree if there
 * is a cycle. Both return OK or NOMEM. */
int sm_joint_compute(struct sm_joint_proof *p);
int sm_joint_guide(struct sm_joint_proof *p, const struct fab_multicast_verdict *v);
void sm_joint_proof_fini(struct sm_joint_proof *p);
/* Takes the result of a joint proof of the MLID groups in `groups`. v: its verdict. witness: the
 * cycle that it found. If the cycle cannot be removed, emits multicast-deadlock. *ret_again: the
 * trees now follow a spanning tree, and must be proved again. Returns OK or NOMEM. */
int sm_joint_done(struct sm *s, struct sm_joint_proof *p, const uint64_t *groups,
                  const struct fab_multicast_verdict *v, const char *witness, bool *ret_again);

/* Functions of mft_writes.c. */
/* Plans the MFT writes of the MLID groups whose trees passed the proof. Returns OK or NOMEM. */
int sm_mfts_plan_proved(struct sm *s);
int sm_mfts_init(struct sm *s); /* returns OK or NOMEM */
void sm_mfts_fini(struct sm *s);
/* If no plan of MFT writes is running, makes one. If all requests of the running stage are
 * answered, enters the next stage of the plan or, after its last stage, makes the next plan.
 * Returns OK or NOMEM. */
int sm_mfts_go_on(struct sm *s);
void sm_mfts_drop(struct sm *s); /* cancels the running proof and all unanswered requests */
void sm_mfts_open_all(struct sm *s);
/* The trees will be updated to the fabric `now`, in which switches may have other ids. Moves the
 * known MFT blocks to these ids before. Returns OK or NOMEM. */
int sm_mfts_move(struct sm *s, const struct fab_fabric *now);
/* Marks all MFT blocks as unknown. The caller must call sm_mfts_move next. */
void sm_mfts_reset(struct sm *s);

#endif
