/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records from which states (struct sm_facts) the manager chose its next round, and checks that the
 * table in tests/unit/next_round_table.h has a row for each of them. run_scenarios is linked with
 * --wrap=sm_next_round, so that each choice comes here.
 */
#include "tests/sim/next_round_seen.h"

#include <stdio.h>

#include "tests/unit/next_round_table.h"

struct sm_next __real_sm_next_round(const struct sm_facts *f);
struct sm_next __wrap_sm_next_round(const struct sm_facts *f);

static bool missing[ALL_FACTS + 1];

static bool is_in_table(unsigned bits)
{
    for (size_t i = 0; i < NEXT_ROUND_ROWS; i++)
        if (next_round_table[i].facts == bits)
            return true;
    return false;
}

struct sm_next __wrap_sm_next_round(const struct sm_facts *f)
{
    unsigned bits = facts_bits(f);
    if (!is_in_table(bits))
        missing[bits] = true;
    return __real_sm_next_round(f);
}

bool next_rounds_in_table(void)
{
    bool all = true;
    for (unsigned bits = 0; bits <= ALL_FACTS; bits++)
        if (missing[bits]) {
            printf("# tests/unit/next_round_table.h has no row for the facts 0x%x\n", bits);
            all = false;
        }
    return all;
}
