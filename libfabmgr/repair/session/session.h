/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session: the tables that an engine computed once, ready to be repaired for whatever is left of
 * their fabric. As long as a fabric is contained in the one that the tables were made for (nothing
 * new, nothing moved), its tables are repair(those tables, dead links). No engine runs; a host
 * that leaves and returns causes no writes; and what comes back gets exactly the entries that it
 * had.
 *
 * Used by one thread at a time.
 */
#ifndef LIBFABMGR_REPAIR_SESSION_SESSION_H
#define LIBFABMGR_REPAIR_SESSION_SESSION_H

#include "libfabmgr/repair/repair.h"
#include "libfabmgr/repair/session/idmap.h"

struct fab_repair_session { /* empty if state is NULL */
    struct fab_repair *state;
    struct fab_repair_baseline *baseline; /* the fabric that the tables were made for; `state`
                                             uses its ids */
    struct fab_repair_idmap idmap;        /* ids of the present fabric */
    struct fab_lft lft; /* the active tables by the ids of the baseline; empty while both fabrics
                           have the same ids: then the target's tables are used */
};
/* Returns what fab_repair_new returns, or NOMEM. */
int fab_repair_session_new(const struct fab_repair_input *in, struct fab_repair_session *ret,
                           char *why, size_t why_len);
void fab_repair_session_fini(struct fab_repair_session *t);
/* Fills tables, VLs and engine of *target, whose LIDs are set, with those of `former`, repaired
 * for what is left. Returns NOT_FOUND if the fabric has something new, or a repair would leave
 * switches without paths among each other; also what fab_repair_plan and fab_repair_prove return.
 * After a failure, *t may only be freed. */
int fab_repair_session_update(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, struct fab_target *target);

/* ---- for repairs in place -------------------------------------------------------------------- */
struct fab_lft *fab_repair_session_tables(struct fab_repair_session *t, struct fab_target *target);
uint32_t fab_repair_session_port(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port);
/* Commits a delta that was made for fab_repair_session_tables: patches those tables, and the
 * target's where they are separate. */
void fab_repair_session_commit(struct fab_repair_session *t, struct fab_target *target,
                               struct fab_repair_delta *d);

#endif
