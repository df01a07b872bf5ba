/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands: the tables that an engine computed once, ready to be repaired for whatever of their
 * fabric is left. As long as a fabric is covered by the one that they were made for (nothing new,
 * nothing moved), its tables are repair(those, dead cables): no engine runs, a host that goes and
 * comes writes nothing, and what comes back finds the very entries that it had.
 *
 * Used by one thread at a time.
 */
#ifndef LIBFABMGR_REPAIR_SESSION_SESSION_H
#define LIBFABMGR_REPAIR_SESSION_SESSION_H

#include "libfabmgr/repair/repair.h"
#include "libfabmgr/repair/session/idmap.h"

struct fab_repair_session { /* empty: state is NULL */
    struct fab_repair *state;
    struct fab_repair_baseline *baseline; /* what they were made for, whose ids the state has */
    struct fab_repair_idmap idmap;        /* the ids of the fabric as it is */
    struct fab_lft lft; /* in force, by the ids of the baseline; empty while those are the same:
                           then they are the target's */
};
/* As fab_repair_new. */
int fab_repair_session_new(const struct fab_repair_input *in, struct fab_repair_session *ret,
                           char *why, size_t why_len);
void fab_repair_session_fini(struct fab_repair_session *t);
/* Tables, lanes and engine of *target, whose LIDs are set: what stood in `former`, for what is
 * left. NOT_FOUND: the fabric has something new, or a repair would leave ways between switches out.
 * On failure *t is good for nothing more. */
int fab_repair_session_update(struct fab_repair_session *t, const struct fab_target *former,
                              const struct fab_fabric *fabric, struct fab_target *target);

/* ---- for those who repair in place ---- */
struct fab_lft *fab_repair_session_tables(struct fab_repair_session *t, struct fab_target *target);
uint32_t fab_repair_session_port(const struct fab_repair_session *t, const struct fab_fabric *f,
                                 uint32_t port);
/* Of a delta for fab_repair_session_tables: patches those, and the target's where they are others.
 */
void fab_repair_session_commit(struct fab_repair_session *t, struct fab_target *target,
                               struct fab_repair_delta *d);

#endif
