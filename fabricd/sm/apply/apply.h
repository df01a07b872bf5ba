/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/apply for the other folders of fabricd/sm. Its phases bring a discovered
 * fabric into service: they assign LIDs, compute routes and partitions, order and send the writes,
 * and read back. If writes failed, a phase verifies the mixture of old and new tables. The last
 * phase publishes the view.
 *
 * All rounds that change tables use these phases. A local repair makes its own plan and passes it
 * to sm_program_take.
 */
#ifndef FABRICD_SM_APPLY_APPLY_H
#define FABRICD_SM_APPLY_APPLY_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/repair/session/session.h"

int sm_apply_init(struct sm *s); /* returns OK, NOMEM, IO or FORMAT */
void sm_apply_fini(struct sm *s);
/* Replaces the pinned names and the baseline of devices by those in the store. Returns OK, NOMEM,
 * IO or FORMAT. */
int sm_apply_load(struct sm *s);
/* Lets the next plan set ClientReregister at the ports of all hosts, so that all hosts register
 * again. */
void sm_apply_ask(struct sm *s);
/* Call this function after a take-over. The former master shared its registrations of hosts with
 * this manager, so a host need not register again if its MasterSMLID is still former_sm_lid. A host
 * with another MasterSMLID must; if former_sm_lid is 0, all hosts must. */
void sm_apply_inherit(struct sm *s, uint32_t former_sm_lid);
/* Call this function when settings were reloaded, before s->policy is replaced by their policy. If
 * timers or error thresholds of ports differ, the next plan writes them. The manager no longer
 * adopts tables that switches hold (standing.c). */
void sm_apply_reload(struct sm *s);

/* ---- the repair session, from which local repairs start (repair_state.c) --------------------- */

/* Returns whether the manager is ready to handle a link failure by a local repair. */
bool sm_repair_ready(const struct sm *s);
struct fab_repair_session *sm_repair_session(struct sm *s);
const struct fab_repair_session *sm_repair_session_of(const struct sm *s);
/* Starts a worker task that makes the repair session (libfabmgr/repair) of the active tables. Local
 * repairs need this session. */
void sm_repair_prepare(struct sm *s);
/* Allocates memory that the next local repair will need. This can take some milliseconds, so call
 * the function after the writes of a repair have ended. */
void sm_repair_prepare_memory(struct sm *s);
/* Frees the repair session. The next tables then cannot be a repair of the active ones, so an
 * engine must compute them. */
void sm_repair_forget(struct sm *s);

/* ---- writes (program.c) ---- */

/* Takes ownership of the plan of a local repair. Phase sm_phase_program_repair sends its writes.
 * Returns OK or NOMEM. */
int sm_program_take(struct sm *s, struct fab_plan *plan);
/* Makes a plan that brings up ISLs. port[count]: ids of the ports at both ends of these ISLs. In
 * the snapshot, sets the PortInfo of these ports at once to the values that the plan will write.
 * Returns OK or NOMEM. */
int sm_program_links(struct sm *s, const uint32_t *port, size_t count, struct fab_plan *ret);
/* Call this function after sm_program_take, before a local repair sends its first write. If entries
 * of drained LIDs will drop packets for some time, so that pairs have no path, it emits
 * paths-paused. lost_pairs: number of these pairs; drained: number of drained LIDs; rounds: number
 * of rounds of the transition. */
void sm_transition_repair(struct sm *s, uint64_t lost_pairs, uint32_t drained, uint32_t rounds);
/* Returns the plan that phase "planning" of this round has made; NULL: it has made none. */
const struct fab_plan *sm_program_plan(const struct sm *s);
/* Returns the proof of the active tables. */
const struct fab_verdict *sm_verdict_of_tables(const struct sm *s);
/* Returns how many writes failed or could not be sent in the last round that had a plan. Writes
 * that were left out because the manager is frozen do not count. */
uint32_t sm_program_failed(const struct sm *s);
/* An LFT block whose write failed or was not sent (failed_blocks.c). */
struct sm_failed_block {
    uint64_t guid; /* node GUID of the switch */
    uint32_t block;
    /* true: the write was sent and failed, so the switch may hold `entries`; false: it was not
     * sent, so the switch still holds its former entries */
    bool sent;
    /* a local repair planned this write */
    bool by_repair;
    uint8_t entries[FAB_LFT_BLOCK];
};
/* Returns the list of failed or unsent LFT blocks. */
const struct sm_failed_block *sm_failed_blocks(const struct sm *s, uint32_t *ret_count);
/* Frees the plan of the round that has ended. A plan can have half a million writes; the next local
 * repair must not lose milliseconds by freeing them. */
void sm_program_tidy(struct sm *s);

/* ---- the view and the report (publish.c, changes.c, reroutes.c) ---- */

/* Publishes the tables and fabric of the model as a view. Returns OK or NOMEM. */
int sm_publish(struct sm *s);
/* Publishes the tables and fabric of the model after a local repair. active, degraded: by how much
 * the numbers of Active links and of degraded links change (negative: they fall). Returns OK or
 * NOMEM. */
int sm_publish_repair(struct sm *s, int64_t active, int64_t degraded);
/* Returns the measured rate of LFT writes in blocks per second; 0: not known. */
uint32_t sm_table_write_rate(const struct sm *s);
/* Emit events about ISLs that a port probe found down (sm_report_lost_links) or up again
 * (sm_report_gained_links). */
void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_gained_links(struct sm *s, const struct sm_link *link, uint32_t count);
/* Emits the events about links that came back with another width or speed (degraded.c). */
void sm_report_gained_rates(struct sm *s, const struct sm_link *gained, uint32_t count);
/* Emits the event about this round, if the round computed new tables and is not a heavy sweep.
 * There is none as long as no tables are published, nor about a local repair or a targeted sweep
 * that wrote no LFT block. A reroute and a rebalance have their event even if they wrote none. */
void sm_report_reroute(struct sm *s);
/* Makes the record of a reroute, if this round wrote LFT blocks or was a reroute without a sweep.
 * Call this function after the view was published. */
void sm_reroute_record(struct sm *s);
/* Requests a reroute if a local repair left out paths and no engine has computed tables since then.
 * Call this function when a local repair was published, and when a sweep has made tables as a
 * repair of the former ones. lost: the repair left pairs of switches without a route, or could not
 * write fixed tables that it had to change. */
void sm_reroute_repaired(struct sm *s, bool lost);
/* Call this function when a reroute begins. It sets s->run.cause to the cause that the record of
 * the reroute shows: a request of an operator, changed settings, or an incomplete local repair. */
void sm_reroute_begun(struct sm *s);
void sm_apply_get_status(const struct sm *s, struct sm_status *ret);

/* ---- rebalance (rebalance.c) ---- */

void sm_rebalance_begun(struct sm *s);
/* Call this function after every round of any kind. It sets the timer of the next rebalance. If the
 * round found a change of the fabric, or failed, the quiet time before the rebalance (rebalance.c)
 * begins again. */
void sm_rebalance_ended(struct sm *s, int status);
void sm_rebalance_postponed(struct sm *s, bool awaited);
/* Call this function after a trap. It postpones or stops a running rebalance. */
void sm_rebalance_yield(struct sm *s);
const char *sm_rebalance_outcome(const struct sm *s);

/* ---- polish (polish.c) ---- */

/* If the active tables are to be polished, sets the timer of the search. */
void sm_polish_prepare(struct sm *s);
/* Call this function after a trap. It ends a measurement that runs on the worker thread. */
void sm_polish_yield(struct sm *s);
/* Drops the search and its result. */
void sm_polish_drop(struct sm *s);

/* Call this function when the manager stops being master or loses its port. When it is master
 * again, it may adopt the tables that the switches then hold (standing.c). */
void sm_standing_await(struct sm *s);
/* Returns whether this manager has no tables of its own yet, and so may adopt those that the
 * switches hold. */
bool sm_standing_awaited(const struct sm *s);
/* Notes links that a sweep found lost, for the adoption of tables (standing.c). Does nothing if
 * this manager has tables of its own, or if there are too many lost links. */
void sm_standing_note_lost(struct sm *s, const struct fab_silent_link *link, uint32_t count);

/* ---- tables that a standby manager reads (standby.c) ---- */

/* Call these functions when this manager has become standby, when a round in standby has ended,
 * and when this manager has become master. After sm_standby_take_over, local repairs are
 * possible only if the last round in standby found the tables of the switches proved, and their
 * repair session is complete. */
void sm_standby_began(struct sm *s);
void sm_standby_begun(struct sm *s); /* a round in standby begins */
void sm_standby_ended(struct sm *s, int status);
void sm_standby_take_over(struct sm *s);
/* Forgets what was read in standby. Call this function when the manager loses the role of
 * master. */
void sm_standby_drop(struct sm *s);
/* Emits the event sm-standby-ready when this manager could repair routes at a take-over. Call this
 * function when a repair session was made. */
void sm_standby_report(struct sm *s);
/* Returns the view that readers get: the published one; in standby, the one that the last round
 * in standby read, without tables if these were not proved (before the first such round, the
 * published one). NULL: there is none. */
const struct fab_view *sm_shown_view(const struct sm *s);
/* Returns whether the active tables were read in standby, and some of their blocks have not been
 * read again since the take-over. */
bool sm_standby_unchecked(const struct sm *s);
/* Whether the proof of a local repair may rely on the tables that were read in standby. WAITS: etcd
 * has not yet said what the former master announced last (announce.c); sm_run_check is called when
 * it has. REFUSED: all tables must be read again before the first write. */
enum sm_standby_trust { SM_STANDBY_WAITS, SM_STANDBY_TRUSTED, SM_STANDBY_REFUSED };
enum sm_standby_trust sm_standby_trust(const struct sm *s);
/* Notes that a switch holds other entries than those that were read in standby, and requests a
 * heavy sweep, which reads all tables. Until then, no local repair begins. */
void sm_standby_differs(struct sm *s);

/* ---- what the master has changed (behind.c) ---- */

/* A round that reads what the master has changed begins, has ended, or must begin again later. */
void sm_behind_begun(struct sm *s);
void sm_behind_ended(struct sm *s, int status);
void sm_behind_postponed(struct sm *s, bool awaited);
/* Call this function in standby if decisions about links have come from another manager. Returns
 * true if a round will soon use them; false: the whole fabric must be discovered again. */
bool sm_behind_decided(struct sm *s);

/* ---- the order of the tables, announced to the standby managers (announce.c) ---- */

/* Call this function when a local repair was committed. lost[losses]: the links that the repair
 * removed from the snapshot. gained[gains]: the links that it brought back. */
void sm_announce_repair(struct sm *s, const struct sm_link *lost, uint32_t losses,
                        const struct sm_link *gained, uint32_t gains);
/* Announces the order of the active tables, if all switches hold them. Call this function between
 * two rounds, and when a repair session was made. */
void sm_announce_prepare(struct sm *s);
/* Call these functions when this manager becomes master or stops being master. */
void sm_announce_drop(struct sm *s);
void sm_changed_drop(struct sm *s);

/* ---- the background proof of all tables after local repairs (reproof.c) ---- */

/* Sets a timer if the tables of a local repair are not yet proved as a whole. The timer starts
 * the background proof QUIET_US (1 s) after the last local repair or, if local repairs keep
 * coming, LONGEST_US (10 s) after the first one that is not proved. */
void sm_reproof_prepare(struct sm *s);
/* Call this function between two rounds. If a background proof has ended during the last round, it
 * takes over the verdict. */
void sm_reproof_round_ended(struct sm *s);
/* Ends the running slice of the background proof early, because the processor may be needed to
 * handle a fault. The proof continues with the next slice. */
void sm_reproof_yield(struct sm *s);
void sm_reproof_drop(struct sm *s);
bool sm_reproof_runs(const struct sm *s);

/* Gives s->policy the pinned names (pins.c), unless subnet.pin_names is off. Call this function
 * after s->policy changed. */
void sm_pins_attach(struct sm *s);

/* ---- the baseline of approved devices (baseline.c) ---- */

/* Returns the baseline of devices if sweeps must leave out all devices that it does not list. NULL:
 * sweeps read all devices. */
struct fab_baseline *sm_baseline_barrier(const struct sm *s);
/* Call this function after the settings were read again. Sweeps may now have to leave out other
 * devices, because subnet.unapproved has changed; in this case it requests a heavy sweep. */
void sm_baseline_reload(struct sm *s);
/* Call this function before `ctx` is freed. Changes of the baseline that were requested with this
 * ctx are still made, but do not call done(). */
void sm_baseline_edit_forget(struct sm *s, void *ctx);
void sm_dry_run_forget(struct sm *s, const void *ctx);

extern const struct sm_phase sm_phase_baseline, sm_phase_pins, sm_phase_read_tables,
    sm_phase_address, sm_phase_route, sm_phase_pkeys, sm_phase_partition, sm_phase_plan,
    sm_phase_program, sm_phase_program_repair, sm_phase_readback, sm_phase_judge,
    sm_phase_judge_repairs, sm_phase_publish, sm_phase_stand_by, sm_phase_master_lid,
    sm_phase_load_links;

#endif
