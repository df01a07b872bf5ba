/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a fabric that is known to tables in the switches, for the other folders of fabricd/sm:
 * addresses, routes, partitions, the plan of writes, the writes, the readback, the published view
 * and the report. Every cause of a change goes this way; a local repair joins it with a plan of its
 * own (sm_program_repair).
 */
#ifndef FABRICD_SM_APPLY_APPLY_H
#define FABRICD_SM_APPLY_APPLY_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/repair/session/session.h"

int sm_apply_init(struct sm *s); /* NOMEM, IO */
void sm_apply_fini(struct sm *s);
void sm_apply_reload(struct sm *s); /* the policy is about to become that of the config */

/* ---- what local repairs start from (repair_state.c) ---- */

bool sm_repair_ready(const struct sm *s); /* a link that fails now can be repaired locally */
struct fab_repair_session *sm_repair_session(struct sm *s);
const struct fab_repair_session *sm_repair_session_of(const struct sm *s);
void sm_repair_prepare(struct sm *s); /* for the active tables, on the worker */
void sm_repair_forget(struct sm *s);  /* the next tables are an engine's */

/* ---- writes (program.c) ---- */

/* The writes of a local repair, for the phase "programming repair". Takes the plan. NOMEM. */
int sm_program_repair(struct sm *s, struct fab_plan *plan);
uint32_t sm_program_failed(const struct sm *s); /* writes of the last round */
/* After a round: half a million writes are not freed while the next repair is under way. */
void sm_program_tidy(struct sm *s);

/* ---- the view and the report (publish.c, changes.c, reroutes.c) ---- */

int sm_publish(struct sm *s);                     /* readers get what the model has. NOMEM */
uint32_t sm_table_write_rate(const struct sm *s); /* blocks a second, measured; 0: not known */
/* Emits events about links that a port probe found down. */
void sm_report_lost_links(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_report_reroute(struct sm *s); /* emits the event of a round that wrote tables */
void sm_reroute_record(struct sm *s); /* after its view was published */
/* A repair was published. lost: it has no routes between some switches, so that an engine has to
 * follow. */
void sm_reroute_repaired(struct sm *s, bool lost);
void sm_reroute_begun(struct sm *s); /* the round */
void sm_apply_get_status(const struct sm *s, struct sm_status *ret);

/* ---- rebalance (rebalance.c) ---- */

void sm_rebalance_begun(struct sm *s);
void sm_rebalance_ended(struct sm *s, int status); /* any round */
void sm_rebalance_postponed(struct sm *s, bool awaited);
void sm_rebalance_yield(struct sm *s); /* a trap came: a rebalance makes room */
const char *sm_rebalance_outcome(const struct sm *s);

extern const struct sm_phase sm_phase_read_tables, sm_phase_address, sm_phase_route, sm_phase_pkeys,
    sm_phase_partition, sm_phase_plan, sm_phase_program, sm_phase_program_repair, sm_phase_readback,
    sm_phase_publish;

#endif
