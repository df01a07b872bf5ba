/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/apply for the other folders of fabricd/sm. Its phases bring a discovered
 * fabric into service: they assign LIDs, compute routes and partitions, plan and send the writes,
 * read settings back, judge what switches hold after failed writes, publish the view and emit the
 * report.
 *
 * All rounds that change tables use these phases. A local repair makes its own plan and passes it
 * to sm_program_take.
 */
#ifndef FABRICD_SM_APPLY_APPLY_H
#define FABRICD_SM_APPLY_APPLY_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/repair/session/session.h"

int sm_apply_init(struct sm *s); /* returns OK, NOMEM or IO */
void sm_apply_fini(struct sm *s);
/* Notes which port settings change. Call this function before s->policy changes. */
void sm_apply_reload(struct sm *s);

/* ---- the repair session, from which local repairs start (repair_state.c) --------------------- */

/* Returns whether a local repair would handle a link failure now. */
bool sm_repair_ready(const struct sm *s);
struct fab_repair_session *sm_repair_session(struct sm *s);
const struct fab_repair_session *sm_repair_session_of(const struct sm *s);
/* Starts a worker task that makes the repair session for the active tables. */
void sm_repair_prepare(struct sm *s);
/* Prepares memory for the next repair. Takes up to some milliseconds, so it is called when the
 * writes of a repair are over. */
void sm_repair_prepare_memory(struct sm *s);
/* Frees the repair session. The next tables are then computed by an engine. */
void sm_repair_forget(struct sm *s);

/* ---- writes (program.c) ---- */

/* Takes over the plan of a local repair, which sm_phase_program_repair then sends. Returns
 * NOMEM. */
int sm_program_take(struct sm *s, struct fab_plan *plan);
/* Plans the writes that bring up ISLs. port[count] has the ports at both ends of these ISLs, and
 * the snapshot has their PortInfo as it was read. Then changes this PortInfo to what the writes
 * will establish. Returns NOMEM. */
int sm_program_links(struct sm *s, const uint32_t *port, size_t count, struct fab_plan *ret);
/* Call this function when the plan of a local repair begins: emits an event if pairs lose their
 * path while entries drop packets. */
void sm_transition_repair(struct sm *s, uint64_t lost_pairs, uint32_t drained, uint32_t rounds);
/* Returns the number of failed writes of the last round. */
uint32_t sm_program_failed(const struct sm *s);
/* Frees the plan after a round. A plan can have half a million writes, and freeing it later would
 * delay a local repair. */
void sm_program_tidy(struct sm *s);

/* ---- the view and the report (publish.c, changes.c, reroutes.c) ---- */

/* Publishes the tables and fabric of the model as a view. Returns NOMEM. */
int sm_publish(struct sm *s);
/* Publishes the tables and fabric of the model after a local repair. active: by how much the repair
 * changed the number of links between Active ports. Returns NOMEM. */
int sm_publish_repair(struct sm *s, int64_t active);
/* Returns the measured rate of LFT writes in blocks per second; 0: not known. */
uint32_t sm_table_write_rate(const struct sm *s);
/* These functions emit events about links that a port probe found down, or up again. */
void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_gained_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_reroute(struct sm *s); /* emits the event of a round that wrote tables */
/* Makes the record of a reroute. Call this function after the view was published. */
void sm_reroute_record(struct sm *s);
/* Call this function after a local repair was published. `lost` says that some switches have no
 * route to each other, so that an engine must compute new tables. */
void sm_reroute_repaired(struct sm *s, bool lost);
/* Call this function when a round begins that an operator requested, or that computes tables for
 * new settings or after an incomplete local repair. It sets s->run.cause, the text that the record
 * of the reroute shows. */
void sm_reroute_begun(struct sm *s);
void sm_apply_get_status(const struct sm *s, struct sm_status *ret);

/* ---- rebalance (rebalance.c) ---- */

void sm_rebalance_begun(struct sm *s);
/* Call this function after every round of any kind. */
void sm_rebalance_ended(struct sm *s, int status);
void sm_rebalance_postponed(struct sm *s, bool awaited);
/* Call this function after a trap. It postpones or stops a running rebalance. */
void sm_rebalance_yield(struct sm *s);
const char *sm_rebalance_outcome(const struct sm *s);

/* ---- the background proof of all tables after local repairs (reproof.c) ---- */

/* If the background proof is due, starts it QUIET_US after the last local repair (reproof.c). */
void sm_reproof_prepare(struct sm *s);
/* Call this function when a round has ended, before the next one is chosen. */
void sm_reproof_round_ended(struct sm *s);
/* Makes the background proof pause at once, because a fault may have to be handled. */
void sm_reproof_yield(struct sm *s);
void sm_reproof_drop(struct sm *s);
bool sm_reproof_runs(const struct sm *s);

/* Gives s->policy the pinned names (pins.c), unless subnet.pin_names is off. Call this function
 * after s->policy changed. */
void sm_pins_attach(struct sm *s);

/* ---- the baseline of approved devices (baseline.c) ---- */

/* Returns the baseline with which sweeps compare devices, to leave out those that are not approved.
 * NULL: sweeps leave none out. */
struct fab_baseline *sm_baseline_barrier(const struct sm *s);
/* Call this function after the settings were read again. */
void sm_baseline_reload(struct sm *s);
/* Call this function when the caller that passed `ctx` ends. The manager does not call its done()
 * any more. */
void sm_baseline_edit_forget(struct sm *s, void *ctx);

extern const struct sm_phase sm_phase_baseline, sm_phase_pins, sm_phase_read_tables,
    sm_phase_address, sm_phase_route, sm_phase_pkeys, sm_phase_partition, sm_phase_plan,
    sm_phase_program, sm_phase_program_repair, sm_phase_readback, sm_phase_judge,
    sm_phase_judge_repairs, sm_phase_publish;

#endif
