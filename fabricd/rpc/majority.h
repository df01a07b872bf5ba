/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions of operators need a majority of the etcd servers (fabricd/replica), because a manager
 * that takes over would otherwise not know them. A call that decides something is refused if there
 * is no majority, and its result waits until a majority has confirmed the change. Clients that
 * accept a decision without a majority set the metadata key "fabric-local" to "yes".
 */
#ifndef FABRICD_RPC_MAJORITY_H
#define FABRICD_RPC_MAJORITY_H

#include <stdbool.h>
#include <stddef.h>

struct loop;
struct replica;
struct majority;
/* Creates the list of the decisions that wait. replica NULL: the state is not replicated, and no
 * decision waits. Returns NOMEM. */
int majority_new(struct loop *loop, struct replica *replica, struct majority **ret);
void majority_free(struct majority *m); /* `m` may be NULL */
/* Returns true if a majority of the etcd servers answers. Otherwise why[] has a sentence. */
bool majority_answers(const struct majority *m, char *why, size_t why_len);
/* majority_wait calls `done` when a majority has confirmed all changes that were stored before, or
 * after MAJORITY_MS milliseconds. It returns NULL, and does not call `done`, if nothing has to be
 * confirmed or memory ran out. */
#define MAJORITY_MS 2000
struct majority_held;
typedef void majority_done(void *ctx, bool confirmed);
struct majority_held *majority_wait(struct majority *m, majority_done *done, void *ctx);
/* Forgets the callback that majority_wait got, because the RPC call has ended. */
void majority_forget(struct majority_held *held);

#endif
