/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/apply for the other folders of fabricd/sm. Its phases bring a discovered
 * fabric into service: they assign addresses, compute routes and partitions, plan the writes, send
 * them, read back, publish the view and emit the report. All rounds that change tables use these
 * phases; a local repair supplies a plan of its own (sm_program_take).
 */
#ifndef FABRICD_SM_APPLY_APPLY_H
#define FABRICD_SM_APPLY_APPLY_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/repair/session/session.h"

int sm_apply_init(struct sm *s); /* NOMEM, IO */
void sm_apply_fini(struct sm *s);
/* Notes changed port settings; call it before s->policy changes. */
void sm_apply_reload(struct sm *s);

/* ---- the repair session, from which local repairs start (repair_state.c) --------------------- */

/* Returns true if a local repair can answer the failure of a link now. */
bool sm_repair_ready(const struct sm *s);
struct fab_repair_session *sm_repair_session(struct sm *s);
const struct fab_repair_session *sm_repair_session_of(const struct sm *s);
/* Starts a worker task that makes the session for the active tables. */
void sm_repair_prepare(struct sm *s);
/* Frees the session, so that an engine computes the next tables. */
void sm_repair_forget(struct sm *s);

/* ---- writes (program.c) ---- */

/* Sets the writes of a local repair, which sm_phase_program_repair sends. Takes over the plan.
 * NOMEM. */
int sm_program_take(struct sm *s, struct fab_plan *plan);
uint32_t sm_program_failed(const struct sm *s); /* failed writes of the last round */
/* Frees the plan after a round. It may have half a million writes; freeing them must not delay a
 * later local repair. */
void sm_program_tidy(struct sm *s);

/* ---- the view and the report (publish.c, changes.c, reroutes.c) ---- */

int sm_publish(struct sm *s); /* makes the model's state the published view. NOMEM */
uint32_t sm_table_write_rate(const struct sm *s); /* blocks per second, measured; 0: not known */
/* Emits events about links that a port probe found down. */
void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_reroute(struct sm *s); /* emits the event of a round that wrote tables */
/* Records the reroute; call it after the view was published. */
void sm_reroute_record(struct sm *s);
/* Call it after a local repair was published. lost: some switches have no route to each other, so
 * that an engine must compute new tables. */
void sm_reroute_repaired(struct sm *s, bool lost);
void sm_reroute_begun(struct sm *s); /* sets the cause when the reroute round begins */
void sm_apply_get_status(const struct sm *s, struct sm_status *ret);

/* ---- rebalance (rebalance.c) ---- */

void sm_rebalance_begun(struct sm *s);
void sm_rebalance_ended(struct sm *s, int status); /* call it after every kind of round */
void sm_rebalance_postponed(struct sm *s, bool awaited);
/* Call it after a trap: postpones or stops a running rebalance. */
void sm_rebalance_yield(struct sm *s);
const char *sm_rebalance_outcome(const struct sm *s);

/* Lets s->policy, which changed, use the pins of names (pins.c), unless it does not want them. */
void sm_pins_attach(struct sm *s);

extern const struct sm_phase sm_phase_pins, sm_phase_read_tables, sm_phase_address, sm_phase_route,
    sm_phase_pkeys, sm_phase_partition, sm_phase_plan, sm_phase_program, sm_phase_program_repair,
    sm_phase_readback, sm_phase_publish;

#endif
