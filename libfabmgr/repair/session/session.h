/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session keeps the tables of an engine as a baseline, and repairs them for one snapshot of the
 * fabric after the other.
 *
 * A session works as long as the present fabric is a part of the baseline's fabric (nothing new,
 * nothing moved). Then no engine needs to run: the tables of the session are the baseline, repaired
 * for the links that are dead now. A host that leaves and returns causes no writes, and links that
 * come back get their former entries.
 *
 * Only one thread at a time may use a session. Only the thread that owns the session may change the
 * tables; references of other threads keep the old entries (base/pages.h).
 */
#ifndef LIBFABMGR_REPAIR_SESSION_SESSION_H
#define LIBFABMGR_REPAIR_SESSION_SESSION_H

#include "libfabmgr/repair/repair.h"
#include "libfabmgr/repair/session/idmap.h"

/* If `state` is NULL, the session is empty. */
struct fab_repair_session {
    struct fab_repair *state;
    /* the baseline's fabric, whose ids `state` uses */
    struct fab_repair_baseline *baseline;
    /* map between ids of the present fabric and of the baseline */
    struct fab_repair_idmap idmap;
    /* The active tables, by the ids of the baseline. Empty while idmap.same is true, because the
     * tables of the target then have the same ids. */
    struct fab_lft lft;
    /* The changes that the last fab_repair_session_update made. Their writes are in an order
     * (fab_repair_order) in which the tables never have a loop or a cycle of channel dependencies.
     * Switch ids are ids of the present fabric; FAB_NONE: the switch is not in the present fabric.
     * If by_write is NULL, there are no changes. */
    struct fab_repair_delta last;
    /* true: the tables of the last fab_repair_session_update leave switches without a path
     * (fab_repair_delta.lost) */
    bool leaves_out;
};
/* Makes a session for the baseline *in. Returns OK, NOMEM, or an error of fab_repair_new. */
int fab_repair_session_new(const struct fab_repair_input *in, struct fab_repair_session *ret,
                           char *why, size_t why_len);
void fab_repair_session_fini(struct fab_repair_session *t);
/* Copies tables, VLs and engine from `former` to *target, and repairs the tables for the present
 * fabric. The caller has set the LIDs of *target. Sets t->leaves_out. Returns OK; NOT_FOUND if the
 * fabric has a new node, link or LID, or if nodes are missing and the SLs or VLs are stored by LID,
 * switch or port id; or an error of fab_repair_plan or fab_repair_prove. After a failure, *t can
 * only be freed. */
int fab_repair_session_update(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, struct fab_target *target);

/* Like fab_repair_session_update, but *target gets the tables `held` that another manager has
 * written into the switches, by the ids of the present fabric. The function proves the entries that
 * differ from `former` (fab_repair_follow); for all others, the proof of `former` holds. So its
 * time depends on the changes. The session then has no list of changes (`last`). Returns OK;
 * NOT_FOUND as fab_repair_session_update; LIMIT if more than FAB_REPAIR_FOLLOW_MOST entries differ;
 * or an error of fab_repair_follow. After a failure, *t can only be freed. */
#define FAB_REPAIR_FOLLOW_MOST 1000000
int fab_repair_session_follow(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, const struct fab_lft *held,
                              struct fab_target *target);

/* Moves the changes of the last fab_repair_session_update to *ret, which is empty if there were
 * none. */
void fab_repair_session_take_last(struct fab_repair_session *t, struct fab_repair_delta *ret);

/* ---- for repairs in place -------------------------------------------------------------------- */
/* Returns the active tables, indexed by the ids of the baseline: the tables of the target if the
 * present fabric has the same ids, otherwise a copy that the session owns. */
struct fab_lft *fab_repair_session_tables(struct fab_repair_session *t, struct fab_target *target);
/* Returns the id that a port of the present fabric f has in the baseline's fabric. */
uint32_t fab_repair_session_port(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port);
/* Returns the port of the present fabric f to which the baseline's link of `port` leads. FAB_NONE:
 * the port has no link in the baseline, or the node at the other end is absent. */
uint32_t fab_repair_session_peer(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port);
/* Applies a delta to the tables for which it was computed: those that fab_repair_session_tables
 * returns. If these are a copy that the session owns, also applies the delta to the tables of the
 * target. Other owners of references to the tables do not see the change. If the function returns
 * NOMEM, it has changed no entry. */
int fab_repair_session_commit(struct fab_repair_session *t, struct fab_target *target,
                              struct fab_repair_delta *d);
/* Finds the LFT blocks whose entries the proof of a delta reads (fab_repair_prove). The delta must
 * bring back no link, and d->lost must be 0. Its labels must be those of the active tables, unless
 * no entry differs from the baseline. f: the present fabric, which may still have links that the
 * delta counts as dead. lft: the tables of the target before the commit. *ret: a bitset, which the
 * caller frees; bit sw * blocks + b stands for block b of switch sw. Returns OK or NOMEM. */
int fab_repair_session_proof_blocks(const struct fab_repair_session *t, const struct fab_fabric *f,
                                    const struct fab_lft *lft, const struct fab_repair_delta *d,
                                    uint64_t **ret);
/* Finds the order from which the labels of the active tables follow (fab_repair_positions).
 * *ret_guid: node GUIDs of the switches of the present fabric f, in ascending positions; the caller
 * frees the array. Returns OK, NOMEM, or UNSUPPORTED if the labels do not follow from an order. */
int fab_repair_session_order(const struct fab_repair_session *t, const struct fab_fabric *f,
                             uint64_t **ret_guid, uint32_t *ret_count);
/* Compares the order of the session with another one. guid[count]: node GUIDs of switches, in
 * ascending positions of the other order. *ret is true if both orders permit the same paths: each
 * ISL of the baseline whose switches are in f leads up in both orders, or down in both. It is false
 * if the other order lacks a switch of f, or has a switch twice. Returns OK, NOMEM, or UNSUPPORTED
 * if the labels of the session do not follow from an order. */
int fab_repair_session_agrees(const struct fab_repair_session *t, const struct fab_fabric *f,
                              const uint64_t *guid, uint32_t count, bool *ret);
/* Allocates memory in advance, so that the next fab_repair_session_commit takes less time: at
 * 128,000 hosts, a third of the time that it takes otherwise. If there is no memory, does
 * nothing. */
void fab_repair_session_prepare(struct fab_repair_session *t, struct fab_target *target);

#endif
