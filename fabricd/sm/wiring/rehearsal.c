/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rehearsal is a single round: it reads the fabric, computes and proves tables, and plans the
 * writes, as the first heavy sweep of a master would. A manager in a rehearsal does not take part
 * in an election, and sends no writes. At the end of the round, it calls struct sm_input.rehearsed
 * with the result.
 */
#include "fabricd/sm/wiring/wiring.h"

#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/keys/keys.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/sweep.h"

static const struct sm_phase *const phases[] = {&sm_phase_prepare,       &sm_phase_discover,
                                                &sm_phase_seal,          &sm_phase_adopt,
                                                &sm_phase_identify_keys, &sm_phase_read_tables,
                                                &sm_phase_baseline,      &sm_phase_pins,
                                                &sm_phase_address,       &sm_phase_route,
                                                &sm_phase_pkeys,         &sm_phase_partition,
                                                &sm_phase_plan,          NULL};

static void ended(struct sm *s, int status)
{
    const struct sm_rehearsal r = {
        .status = status,
        .alarm = sm_alarm(s),
        .fabric = s->model.fabric,
        .observed = &s->model.observed,
        .target = sm_program_plan(s) ? s->model.target : NULL,
        .plan = sm_program_plan(s),
        .verdict = sm_verdict_of_tables(s),
    };
    s->in.rehearsed(s->in.rehearsed_ctx, &r);
}

static const struct sm_round rounds[SM_ROUND_KINDS] = {
    [SM_ROUND_NONE] = {.name = "none"},
    [SM_ROUND_HEAVY] = {.name = "rehearsal",
                        .phases = phases,
                        .serves = 1u << SM_ROUND_HEAVY,
                        .on_failure = SM_FAILURE_IGNORED,
                        .whole = true,
                        .ended = ended},
};

static bool no_requests(struct sm *s, struct fab_mads_request *ret)
{
    (void)s;
    (void)ret;
    return false;
}

static void nothing(struct sm *s)
{
    (void)s;
}

void sm_wiring_rehearse(struct sm_wiring *ret)
{
    *ret = sm_wiring;
    ret->rounds = rounds;
    ret->first_requests = no_requests;
    ret->last_requests = no_requests;
    ret->before_choice = nothing;
    ret->round_over = nothing;
}
