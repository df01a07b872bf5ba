/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills in struct sm_wiring: the functions that the folder `core` calls, although they are in
 * folders of higher rank (README.md). */
#include "fabricd/sm/wiring/wiring.h"

#include "fabricd/base/log.h"
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/fault/fault.h"
#include "fabricd/sm/keys/keys.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/scrub/scrub.h"
#include "fabricd/sm/sweep/sweep.h"
#include "libfabmgr/base/status.h"

static bool first_requests(struct sm *s, struct fab_mads_request *ret)
{
    return sm_mfts_next(s, true, ret);
}

static bool last_requests(struct sm *s, struct fab_mads_request *ret)
{
    return sm_mfts_next(s, false, ret) || sm_background_next(s, ret) || sm_scrub_next(s, ret);
}

static void add_facts(const struct sm *s, struct sm_facts *facts)
{
    facts->port = sm_port_waits(s);
    facts->background_ready = sm_background_ready(s);
    facts->background_behind = sm_background_behind(s);
    facts->step = sm_step_waits(s);
}

static void round_ended(struct sm *s, int status)
{
    if (status == FAB_OK && s->run.round->whole)
        sm_flap_set_blind(s, false);
    sm_scrub_round_ended(s, status);
    sm_keys_round_ended(s, status);
    sm_reproof_round_ended(s);
    sm_program_tidy(s);
    sm_repair_prepare(s);
    sm_announce_prepare(s);
    sm_rebalance_ended(s, status);
    sm_drain_round_ended(s, status);
}

static void trap_came(struct sm *s)
{
    sm_contingency_yield(s);
    sm_reproof_yield(s);
    sm_polish_yield(s);
    sm_rebalance_yield(s);
}

static void round_over(struct sm *s)
{
    sm_contingency_prepare(s);
    sm_step_prepare(s);
    sm_reproof_prepare(s);
    sm_polish_prepare(s);
}

static void mastership_lost(struct sm *s)
{
    sm_repair_forget(s);
    sm_announce_drop(s);
    sm_changed_drop(s);
    sm_standby_drop(s);
    sm_standing_await(s);
    sm_reproof_drop(s);
    sm_polish_drop(s);
    sm_background_drop(s);
    sm_confirm_drop(s);
    sm_scrub_drop(s);
    sm_silent_forget(s);
    sm_take_over_end(s);
}

/* Loads the freeze first, because a repair right after the take-over must obey a freeze that an
 * operator set at the former master. */
static void mastership_gained(struct sm *s)
{
    if (s->in.replica) {
        store_flush(s->in.store);
        sm_freeze_load(s);
    }
    sm_announce_drop(s);
    sm_changed_drop(s);
    sm_take_over_claim(s);
    sm_standby_take_over(s);
}

static void repair_state_made(struct sm *s)
{
    sm_standby_report(s);
    sm_announce_prepare(s);
    sm_contingency_prepare(s);
    sm_polish_prepare(s);
}

static void use_settings(struct sm *s)
{
    if (sm_reload(s) != FAB_OK)
        log_error("sm", "out of memory: the former settings stay active");
}

const struct sm_wiring sm_wiring = {.rounds = sm_rounds,
                                    .first_requests = first_requests,
                                    .last_requests = last_requests,
                                    .repair_ready = sm_repair_ready,
                                    .check_waits = sm_probe_check_waits,
                                    .sweep_awaits = sm_sweep_awaits,
                                    .switch_answered = sm_sweep_answered_elsewhere,
                                    .trap_came = trap_came,
                                    .before_choice = sm_background_schedule,
                                    .add_facts = add_facts,
                                    .round_ended = round_ended,
                                    .round_over = round_over,
                                    .repair_state_made = repair_state_made,
                                    .node_touched = sm_background_touch,
                                    .mastership_lost = mastership_lost,
                                    .mastership_gained = mastership_gained,
                                    .standby_began = sm_standby_began,
                                    .use_settings = use_settings,
                                    .offender_found = sm_offender_found};
