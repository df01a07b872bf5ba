/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/apply for the other folders of fabricd/sm. Its phases bring a discovered
 * fabric into service: they assign LIDs, compute routes and partitions, order and send the writes,
 * and read back. If writes failed, a phase verifies the mixture of tables. The last phase publishes
 * the view.
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
/* Replaces pinned names and the baseline by those in the store. Returns OK, NOMEM, IO or FORMAT. */
int sm_apply_load(struct sm *s);
/* Asks all hosts to register again (ClientReregister) when their ports are next written. */
void sm_apply_ask(struct sm *s);
/* Notes that the store has the registrations of hosts with the former master. A host whose
 * MasterSMLID is still former_sm_lid then need not register again. 0: all hosts that have another
 * master must register again. */
void sm_apply_inherit(struct sm *s, uint32_t former_sm_lid);
/* Compares s->policy with the policy of new settings. If the timers or error thresholds of ports
 * differ, the next plan writes them, too. From now on, the manager adopts no tables (standing.c).
 * Call this function before s->policy is replaced. */
void sm_apply_reload(struct sm *s);

/* ---- the repair session, from which local repairs start (repair_state.c) --------------------- */

/* Returns whether a local repair would handle a link failure now. */
bool sm_repair_ready(const struct sm *s);
struct fab_repair_session *sm_repair_session(struct sm *s);
const struct fab_repair_session *sm_repair_session_of(const struct sm *s);
/* Starts a worker task that makes the repair session (libfabmgr/repair) of the active tables. Local
 * repairs need this session. */
void sm_repair_prepare(struct sm *s);
/* Allocates memory that the next local repair will need. This can take some milliseconds, so call
 * the function after the writes of a repair have ended. */
void sm_repair_prepare_memory(struct sm *s);
/* Frees the repair session, so that an engine must compute the next tables. */
void sm_repair_forget(struct sm *s);

/* ---- writes (program.c) ---- */

/* Takes ownership of the plan of a local repair. Phase sm_phase_program_repair sends its writes.
 * Returns OK or NOMEM. */
int sm_program_take(struct sm *s, struct fab_plan *plan);
/* Plans the writes that bring up ISLs. port[count] has the ids of the ports at both ends of
 * these ISLs. The function also sets the PortInfo of these ports in the snapshot to the values
 * that the writes will establish. Returns OK or NOMEM. */
int sm_program_links(struct sm *s, const uint32_t *port, size_t count, struct fab_plan *ret);
/* Call this function after sm_program_take, before the first write of a local repair is sent. It
 * emits paths-paused if pairs have no path while entries of drained LIDs drop packets. lost_pairs:
 * number of these pairs; drained: number of drained LIDs; rounds: number of rounds of the
 * transition. */
void sm_transition_repair(struct sm *s, uint64_t lost_pairs, uint32_t drained, uint32_t rounds);
/* Returns the plan that phase "planning" of this round has made; NULL: it has made none. */
const struct fab_plan *sm_program_plan(const struct sm *s);
/* Returns the proof of the active tables. */
const struct fab_verdict *sm_verdict_of_tables(const struct sm *s);
/* Returns the number of failed writes of the last round. */
uint32_t sm_program_failed(const struct sm *s);
/* An LFT block whose write failed or was not sent (failed_blocks.c). */
struct sm_failed_block {
    uint64_t guid; /* node GUID of the switch */
    uint32_t block;
    /* true: the write was sent, so the switch may hold `entries`; false: the switch holds its
     * former entries */
    bool sent;
    /* a local repair planned this write */
    bool by_repair;
    uint8_t entries[FAB_LFT_BLOCK];
};
/* Returns the list of failed or unsent LFT blocks. */
const struct sm_failed_block *sm_failed_blocks(const struct sm *s, uint32_t *ret_count);
/* Frees the plan after a round. A plan can have half a million writes. If the next local repair
 * freed them, it would lose milliseconds. */
void sm_program_tidy(struct sm *s);

/* ---- the view and the report (publish.c, changes.c, reroutes.c) ---- */

/* Publishes the tables and fabric of the model as a view. Returns OK or NOMEM. */
int sm_publish(struct sm *s);
/* Publishes the tables and fabric of the model after a local repair. active: the change of the
 * number of Active links. degraded: the change of the number of degraded links. Both can be
 * negative. Returns OK or NOMEM. */
int sm_publish_repair(struct sm *s, int64_t active, int64_t degraded);
/* Returns the measured rate of LFT writes in blocks per second; 0: not known. */
uint32_t sm_table_write_rate(const struct sm *s);
/* Emit events about ISLs that a port probe found down (lost) or up again (gained). */
void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_gained_links(struct sm *s, const struct sm_link *link, uint32_t count);
/* Emits the events about links that came back with another width or speed (degraded.c). */
void sm_report_gained_rates(struct sm *s, const struct sm_link *gained, uint32_t count);
/* Emits the event about a round that wrote tables. */
void sm_report_reroute(struct sm *s);
/* Makes the record of a reroute. Call this function after the view was published. */
void sm_reroute_record(struct sm *s);
/* Requests a reroute if a local repair left out paths, and no engine has replaced its tables yet.
 * Call this function after the publication of a local repair, and when a sweep has derived tables
 * from a repair. lost: this repair left some switches without a route to each other, or would have
 * had to write fixed tables. */
void sm_reroute_repaired(struct sm *s, bool lost);
/* Call this function when a reroute begins: an operator requested it, the settings changed, or a
 * local repair was incomplete. It sets s->run.cause, the text that the record of the reroute
 * shows as its cause. */
void sm_reroute_begun(struct sm *s);
void sm_apply_get_status(const struct sm *s, struct sm_status *ret);

/* ---- rebalance (rebalance.c) ---- */

void sm_rebalance_begun(struct sm *s);
/* Call this function after every round of any kind. If the fabric changed, the quiet time
 * (rebalance.c) begins again. The function sets the timer of the next rebalance. */
void sm_rebalance_ended(struct sm *s, int status);
void sm_rebalance_postponed(struct sm *s, bool awaited);
/* Call this function after a trap. It postpones or stops a running rebalance. */
void sm_rebalance_yield(struct sm *s);
const char *sm_rebalance_outcome(const struct sm *s);

/* Lets the manager adopt the tables that the switches hold when it is master again (standing.c).
 * Call this function when the manager loses the role of master or its port. */
void sm_standing_await(struct sm *s);
/* Returns whether this manager may adopt tables, because it has none of its own. */
bool sm_standing_awaited(const struct sm *s);
/* Notes links that a sweep found lost. Does nothing if this manager has tables of its own. */
void sm_standing_note_lost(struct sm *s, const struct fab_silent_link *link, uint32_t count);

/* ---- the background proof of all tables after local repairs (reproof.c) ---- */

/* Sets a timer if the tables of a local repair are not yet proved as a whole. The timer starts the
 * background proof QUIET_US (1 s) after the last local repair. */
void sm_reproof_prepare(struct sm *s);
/* Call this function when a round has ended, before the next one is chosen. It takes the result of
 * a background proof that ended during the round. */
void sm_reproof_round_ended(struct sm *s);
/* Pauses the running background proof at once, because the processor may be needed to handle a
 * fault. */
void sm_reproof_yield(struct sm *s);
void sm_reproof_drop(struct sm *s);
bool sm_reproof_runs(const struct sm *s);

/* Gives s->policy the pinned names (pins.c), unless subnet.pin_names is off. Call this function
 * after s->policy changed. */
void sm_pins_attach(struct sm *s);

/* ---- the baseline of approved devices (baseline.c) ---- */

/* Returns the baseline of devices if sweeps must leave out the devices that it does not approve.
 * NULL: sweeps leave out no device. */
struct fab_baseline *sm_baseline_barrier(const struct sm *s);
/* Call this function after the settings were read again. If a change of subnet.unapproved changes
 * which devices sweeps leave out, the function requests a heavy sweep. */
void sm_baseline_reload(struct sm *s);
/* Drops the callbacks done() of changes of the baseline that were requested with this ctx. Call
 * this function before `ctx` is freed. */
void sm_baseline_edit_forget(struct sm *s, void *ctx);
void sm_dry_run_forget(struct sm *s, const void *ctx);

extern const struct sm_phase sm_phase_baseline, sm_phase_pins, sm_phase_read_tables,
    sm_phase_address, sm_phase_route, sm_phase_pkeys, sm_phase_partition, sm_phase_plan,
    sm_phase_program, sm_phase_program_repair, sm_phase_readback, sm_phase_judge,
    sm_phase_judge_repairs, sm_phase_publish;

#endif
