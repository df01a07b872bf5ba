/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rounds: the phases and the properties of each kind of round. */
#include "fabricd/sm/apply/apply.h"
#include "fabricd/sm/fault/fault.h"
#include "fabricd/sm/ha/ha.h"
#include "fabricd/sm/keys/keys.h"
#include "fabricd/sm/links/links.h"
#include "fabricd/sm/sweep/sweep.h"
#include "fabricd/sm/wiring/wiring.h"

/* clang-format off */
#define APPLY                                                                                      \
    &sm_phase_baseline, &sm_phase_pins, &sm_phase_address, &sm_phase_route, &sm_phase_pkeys,       \
        &sm_phase_partition, &sm_phase_plan, &sm_phase_program, &sm_phase_readback,                \
        &sm_phase_judge, &sm_phase_publish, NULL
/* clang-format on */

static const struct sm_phase *const sweep_phases[] = {&sm_phase_load,
                                                      &sm_phase_judge_repairs,
                                                      &sm_phase_prepare,
                                                      &sm_phase_discover,
                                                      &sm_phase_seal,
                                                      &sm_phase_adopt,
                                                      &sm_phase_identify_keys,
                                                      &sm_phase_sminfo,
                                                      &sm_phase_take_over,
                                                      &sm_phase_read_tables,
                                                      APPLY};
static const struct sm_phase *const standby_phases[] = {
    &sm_phase_prepare,       &sm_phase_discover,
    &sm_phase_seal,          &sm_phase_adopt,
    &sm_phase_identify_keys, &sm_phase_read_tables,
    &sm_phase_address,       &sm_phase_route,
    &sm_phase_stand_by,      NULL};
/* for both kinds of rounds that catch up: the one in standby may become the other one */
static const struct sm_phase *const catch_up_phases[] = {&sm_phase_load_links,
                                                         &sm_phase_prepare,
                                                         &sm_phase_discover,
                                                         &sm_phase_seal,
                                                         &sm_phase_adopt,
                                                         &sm_phase_identify_keys,
                                                         &sm_phase_read_tables,
                                                         &sm_phase_address,
                                                         &sm_phase_route,
                                                         &sm_phase_stand_by,
                                                         NULL};
static const struct sm_phase *const apply_phases[] = {APPLY};
static const struct sm_phase *const keys_phases[] = {&sm_phase_change_keys, NULL};
static const struct sm_phase *const light_phases[] = {&sm_phase_light, NULL};
static const struct sm_phase *const master_lid_phases[] = {&sm_phase_take_over,
                                                           &sm_phase_master_lid, NULL};
static const struct sm_phase *const port_phases[] = {&sm_phase_port, NULL};
static const struct sm_phase *const repair_phases[] = {
    &sm_phase_probe, &sm_phase_repair, &sm_phase_program_repair, &sm_phase_report_repair, NULL};
static const struct sm_phase *const step_phases[] = {&sm_phase_step, &sm_phase_program_repair,
                                                     &sm_phase_report_step, NULL};

#define SERVES(kind) (1u << SM_ROUND_##kind)

const struct sm_round sm_rounds[SM_ROUND_KINDS] = {
    [SM_ROUND_NONE] = {.name = "none"},
    [SM_ROUND_HEAVY] = {.name = "heavy sweep",
                        .phases = sweep_phases,
                        .serves = SERVES(HEAVY) | SERVES(REROUTE),
                        .on_failure = SM_FAILURE_RETRY,
                        .whole = true,
                        .targets = true,
                        .causes = true,
                        .informs = true,
                        .begun = sm_heavy_begun,
                        .ended = sm_heavy_ended,
                        .postponed = sm_heavy_postponed},
    [SM_ROUND_TARGETED] = {.name = "targeted sweep",
                           .phases = sweep_phases,
                           .serves = SERVES(TARGETED),
                           .on_failure = SM_FAILURE_HEAVY_SWEEP,
                           .targets = true,
                           .scoped = true,
                           .causes = true,
                           .informs = true},
    [SM_ROUND_REROUTE] = {.name = "reroute",
                          .phases = apply_phases,
                          .meets = SM_REQUEST_REROUTE,
                          .serves = SERVES(REROUTE),
                          .engine = SM_ENGINE_ANEW,
                          .on_failure = SM_FAILURE_RETRY,
                          .informs = true,
                          .begun = sm_reroute_begun},
    [SM_ROUND_REBALANCE] = {.name = "rebalance",
                            .phases = apply_phases,
                            .meets = SM_REQUEST_REBALANCE,
                            .serves = SERVES(REBALANCE),
                            .engine = SM_ENGINE_IF_BETTER,
                            .on_failure = SM_FAILURE_RETRY,
                            .informs = true,
                            .begun = sm_rebalance_begun,
                            .postponed = sm_rebalance_postponed,
                            .outcome = sm_rebalance_outcome},
    [SM_ROUND_LIGHT] = {.name = "light sweep",
                        .phases = light_phases,
                        .meets = SM_REQUEST_LIGHT,
                        .serves = SERVES(LIGHT),
                        .on_failure = SM_FAILURE_HEAVY_SWEEP,
                        .light = true,
                        .informs = true},
    [SM_ROUND_PORT] = {.name = "port request", .phases = port_phases, .serves = SERVES(PORT)},
    [SM_ROUND_REPAIR] = {.name = "local repair",
                         .phases = repair_phases,
                         .serves = SERVES(REPAIR),
                         .probes = true,
                         .causes = true,
                         .informs = true,
                         .ended = sm_probe_ended},
    [SM_ROUND_STEP] = {.name = "incremental rebalance", .phases = step_phases},
    [SM_ROUND_KEYS] = {.name = "change of M_Keys",
                       .phases = keys_phases,
                       .meets = SM_REQUEST_KEYS,
                       .serves = SERVES(KEYS),
                       .alone = true},
    [SM_ROUND_STANDBY] = {.name = "standby sweep",
                          .phases = standby_phases,
                          .meets = SM_REQUEST_STANDBY,
                          .on_failure = SM_FAILURE_IGNORED,
                          .standby = true,
                          .reads_only = true,
                          .begun = sm_standby_begun,
                          .ended = sm_standby_ended},
    [SM_ROUND_STANDBY_CHANGES] = {.name = "catching up in standby",
                                  .phases = catch_up_phases,
                                  .meets = SM_REQUEST_STANDBY_CHANGES,
                                  .on_failure = SM_FAILURE_IGNORED,
                                  .scoped = true,
                                  .standby = true,
                                  .reads_only = true,
                                  .catches = true,
                                  .begun = sm_behind_begun,
                                  .ended = sm_behind_ended},
    [SM_ROUND_CATCH_UP] = {.name = "catching up at take-over",
                           .phases = catch_up_phases,
                           .meets = SM_REQUEST_CATCH_UP,
                           .on_failure = SM_FAILURE_IGNORED,
                           .scoped = true,
                           .reads_only = true,
                           .catches = true,
                           .begun = sm_behind_begun,
                           .ended = sm_behind_ended,
                           .postponed = sm_behind_postponed},
    [SM_ROUND_FIRST_LIGHT] = {.name = "light sweep at take-over",
                              .phases = light_phases,
                              .meets = SM_REQUEST_FIRST_LIGHT,
                              .on_failure = SM_FAILURE_IGNORED},
    [SM_ROUND_MASTER_LID] = {.name = "MasterSMLID at take-over",
                             .phases = master_lid_phases,
                             .meets = SM_REQUEST_MASTER_LID,
                             .on_failure = SM_FAILURE_IGNORED},
};
