/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions of operators need a majority of the etcd servers (fabricd/replica), because a manager
 * that takes over would otherwise not know them. A call that decides something is refused if no
 * majority answers. Otherwise its result waits until a majority has confirmed the change, at most
 * MAJORITY_MS. A new master makes no decision before it has loaded those of the former masters:
 * meanwhile, calls wait. Clients that accept a decision without a majority set the metadata key
 * "fabric-local" to "yes".
 */
#ifndef FABRICD_RPC_MAJORITY_H
#define FABRICD_RPC_MAJORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct replica;
struct sm;
struct majority;
/* Creates the list of the decisions that wait for a majority. `replica` is NULL if the state is not
 * replicated; no decision waits then. Returns NOMEM. */
int majority_new(struct loop *loop, struct replica *replica, struct sm *sm, struct majority **ret);
void majority_free(struct majority *m); /* `m` may be NULL */
/* Returns true if a majority of the etcd servers answers. Otherwise writes to why[] why the
 * decision is refused. */
bool majority_answers(const struct majority *m, char *why, size_t why_len);
/* Returns how many changes of this manager were dropped because another manager led meanwhile. Call
 * this function before a call changes anything, and pass the number to majority_wait. */
uint64_t majority_dropped(const struct majority *m);
enum majority_result {
    MAJORITY_CONFIRMED,
    MAJORITY_LATE,   /* no majority has confirmed the changes within MAJORITY_MS milliseconds */
    MAJORITY_DROPPED /* changes of this manager were dropped, perhaps those of the call */
};
#define MAJORITY_MS 2000
struct majority_held;
typedef void majority_done(void *ctx, enum majority_result result);
/* Calls `done` later with the result for all changes that were stored before this call.
 * `dropped`: the number that majority_dropped returned before these changes. Returns NULL, and sets
 * *ret_result, if the result is known at once or memory ran out (LATE); `done` is then not
 * called. */
struct majority_held *majority_wait(struct majority *m, uint64_t dropped, majority_done *done,
                                    void *ctx, enum majority_result *ret_result);
/* Returns false while this manager is a new master that has not yet loaded the decisions of the
 * former masters (sm_lacks_decisions). */
bool majority_can_decide(const struct majority *m);
/* Calls `done` later with CONFIRMED when majority_can_decide returns true, or with LATE after
 * MAJORITY_MS. Returns NULL, and does not call `done`, if memory ran out. */
struct majority_held *majority_await_others(struct majority *m, majority_done *done, void *ctx);
/* Forgets the callback that majority_wait or majority_await_others got, because the RPC call has
 * ended. */
void majority_forget(struct majority_held *held);

#endif
