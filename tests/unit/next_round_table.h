/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the next round as a table: every combination of facts that the scenarios of
 * tests/sim reach, also with other seeds. run_scenarios fails if it reaches a combination that this
 * table does not have.
 */
#ifndef TESTS_UNIT_NEXT_ROUND_TABLE_H
#define TESTS_UNIT_NEXT_ROUND_TABLE_H

#include "fabricd/sm/core/next_round.h"

enum { /* the members of struct sm_facts, in their order */
       KNOWN = 1 << 0,
       SETTLING = 1 << 1,
       READY = 1 << 2,
       OVERDUE = 1 << 3,
       PROBES = 1 << 4,
       MANY = 1 << 5,
       TARGETS = 1 << 6,
       HEAVY = 1 << 7,
       BACKGROUND = 1 << 8,
       BEHIND = 1 << 9,
       REROUTE = 1 << 10,
       REBALANCE = 1 << 11,
       LIGHT = 1 << 12,
       PORT = 1 << 13,
       KEYS = 1 << 14,
       ALL_FACTS = (1 << 15) - 1
};

static inline unsigned facts_bits(const struct sm_facts *f)
{
    return (f->known ? KNOWN : 0u) | (f->settling ? SETTLING : 0u) |
           (f->repair_ready ? READY : 0u) | (f->sweep_overdue ? OVERDUE : 0u) |
           (f->probes ? PROBES : 0u) | (f->too_many_probes ? MANY : 0u) |
           (f->targets ? TARGETS : 0u) | (f->heavy ? HEAVY : 0u) |
           (f->background_ready ? BACKGROUND : 0u) | (f->background_behind ? BEHIND : 0u) |
           (f->reroute ? REROUTE : 0u) | (f->rebalance ? REBALANCE : 0u) | (f->light ? LIGHT : 0u) |
           (f->port ? PORT : 0u) | (f->keys ? KEYS : 0u);
}

static const struct next_round_row {
    unsigned facts;
    struct sm_next next;
} next_round_table[] = {
    {KNOWN, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | BEHIND, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | READY, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | READY | BEHIND, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | SETTLING | TARGETS, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | SETTLING | TARGETS | LIGHT, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | SETTLING | READY | TARGETS, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | SETTLING | READY | TARGETS | PORT, {SM_NEXT_NOTHING, SM_ROUND_NONE}},
    {KNOWN | READY | OVERDUE | PROBES | TARGETS, {SM_NEXT_PROBES_TO_TARGETS, SM_ROUND_NONE}},
    {HEAVY, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | BACKGROUND, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | HEAVY, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | HEAVY | LIGHT, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | READY | BACKGROUND, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | READY | HEAVY, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | READY | HEAVY | BACKGROUND, {SM_NEXT_ROUND, SM_ROUND_HEAVY}},
    {KNOWN | TARGETS, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | TARGETS | LIGHT, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | READY | TARGETS, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | READY | TARGETS | LIGHT, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | READY | TARGETS | BEHIND, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | READY | OVERDUE | TARGETS, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | REROUTE, {SM_NEXT_ROUND, SM_ROUND_REROUTE}},
    {KNOWN | READY | REROUTE, {SM_NEXT_ROUND, SM_ROUND_REROUTE}},
    {KNOWN | READY | REBALANCE, {SM_NEXT_ROUND, SM_ROUND_REBALANCE}},
    {KNOWN | KEYS, {SM_NEXT_ROUND, SM_ROUND_KEYS}},
    {KNOWN | READY | KEYS, {SM_NEXT_ROUND, SM_ROUND_KEYS}},
    {KNOWN | READY | KEYS | LIGHT, {SM_NEXT_ROUND, SM_ROUND_KEYS}},
    {KNOWN | READY | KEYS | REBALANCE, {SM_NEXT_ROUND, SM_ROUND_KEYS}},
    {KNOWN | READY | KEYS | REROUTE, {SM_NEXT_ROUND, SM_ROUND_REROUTE}},
    {KNOWN | READY | KEYS | TARGETS, {SM_NEXT_ROUND, SM_ROUND_TARGETED}},
    {KNOWN | LIGHT, {SM_NEXT_ROUND, SM_ROUND_LIGHT}},
    {KNOWN | READY | LIGHT, {SM_NEXT_ROUND, SM_ROUND_LIGHT}},
    {KNOWN | READY | BEHIND | LIGHT, {SM_NEXT_ROUND, SM_ROUND_LIGHT}},
    {KNOWN | READY | PORT, {SM_NEXT_ROUND, SM_ROUND_PORT}},
    {KNOWN | READY | TARGETS | PORT, {SM_NEXT_ROUND, SM_ROUND_PORT}},
    {KNOWN | READY | PROBES, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | PORT, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | LIGHT, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | BEHIND, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | HEAVY, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | TARGETS, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | TARGETS | LIGHT, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | READY | PROBES | TARGETS | BEHIND, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | SETTLING | READY | PROBES | TARGETS, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
    {KNOWN | SETTLING | READY | PROBES | TARGETS | PORT, {SM_NEXT_ROUND, SM_ROUND_REPAIR}},
};
#define NEXT_ROUND_ROWS (sizeof(next_round_table) / sizeof(*next_round_table))

#endif
