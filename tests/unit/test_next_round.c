/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of the next round (fabricd/sm/core/next_round.h). The test checks each combination of
 * facts (struct sm_facts) that scenarios reach, and rules that must hold for all combinations. */
#include <check.h>

#include "next_round_table.h"
#include "testing.h"

static struct sm_facts facts_of(unsigned bits)
{
    return (struct sm_facts){.known = bits & KNOWN,
                             .settling = bits & SETTLING,
                             .repair_ready = bits & READY,
                             .sweep_overdue = bits & OVERDUE,
                             .probes = bits & PROBES,
                             .too_many_probes = bits & MANY,
                             .targets = bits & TARGETS,
                             .heavy = bits & HEAVY,
                             .background_ready = bits & BACKGROUND,
                             .background_behind = bits & BEHIND,
                             .reroute = bits & REROUTE,
                             .rebalance = bits & REBALANCE,
                             .light = bits & LIGHT,
                             .port = bits & PORT,
                             .keys = bits & KEYS,
                             .step = bits & STEP,
                             .frozen = bits & FROZEN,
                             .first_light = bits & FIRST_LIGHT,
                             .master_lid = bits & MASTER_LID,
                             .catch_up = bits & CATCH_UP};
}

static struct sm_next choose(unsigned bits)
{
    const struct sm_facts facts = facts_of(bits);
    ck_assert_uint_eq(facts_bits(&facts), bits);
    return sm_next_round(&facts);
}

static void expect(unsigned bits, enum sm_next_action action, enum sm_round_kind kind)
{
    struct sm_next next = choose(bits);
    ck_assert_msg(next.action == action && next.kind == kind, "facts 0x%x: action %d kind %d", bits,
                  (int)next.action, (int)next.kind);
}

START_TEST(what_scenarios_reach)
{
    for (size_t i = 0; i < NEXT_ROUND_ROWS; i++)
        expect(next_round_table[i].facts, next_round_table[i].next.action,
               next_round_table[i].next.kind);
}
END_TEST

/* Requested port probes come first. They are part of a local repair (SM_ROUND_REPAIR). If no local
 * repair is possible, too many switches need probes, or a sweep is overdue, a targeted sweep
 * replaces the probes. */
START_TEST(probes_come_first)
{
    for (unsigned bits = 0; bits <= ALL_FACTS; bits++) {
        bool overdue = (bits & (OVERDUE | SETTLING)) == OVERDUE;
        if (!(bits & PROBES))
            continue;
        if (!(bits & READY) || (bits & MANY) || overdue)
            expect(bits, SM_NEXT_PROBES_TO_TARGETS, SM_ROUND_NONE);
        else
            expect(bits, SM_NEXT_ROUND, SM_ROUND_REPAIR);
    }
}
END_TEST

START_TEST(nothing_begins_while_traps_settle)
{
    for (unsigned bits = 0; bits <= ALL_FACTS; bits++)
        if ((bits & (PROBES | SETTLING)) == SETTLING)
            expect(bits, SM_NEXT_NOTHING, SM_ROUND_NONE);
}
END_TEST

/* While the manager knows no fabric, only a heavy sweep may begin, or a round that catches up after
 * a take-over. */
START_TEST(an_unknown_fabric_is_swept)
{
    for (unsigned bits = 0; bits <= ALL_FACTS; bits++) {
        if (bits & (KNOWN | PROBES | SETTLING))
            continue;
        if (bits & CATCH_UP)
            expect(bits, SM_NEXT_ROUND, SM_ROUND_CATCH_UP);
        else if (bits & (HEAVY | TARGETS | BACKGROUND | REROUTE))
            expect(bits, SM_NEXT_ROUND, SM_ROUND_HEAVY);
        else
            expect(bits, SM_NEXT_NOTHING, SM_ROUND_NONE);
    }
}
END_TEST

/* What the manager must begin, in the order of urgency. The first row applies whose `facts` are all
 * true, and whose fact `without` is false (0: there is no such fact). */
static const struct {
    unsigned facts, without;
    enum sm_round_kind kind;
} urgency[] = {
    {CATCH_UP, 0, SM_ROUND_CATCH_UP},
    {FIRST_LIGHT, 0, SM_ROUND_FIRST_LIGHT},
    {MASTER_LID, FROZEN, SM_ROUND_MASTER_LID},
    {PORT, FROZEN, SM_ROUND_PORT},
    {BACKGROUND | BEHIND, HEAVY, SM_ROUND_HEAVY},
    {TARGETS, 0, SM_ROUND_TARGETED},
    {HEAVY, 0, SM_ROUND_HEAVY},
    {BACKGROUND, 0, SM_ROUND_HEAVY},
    {REROUTE, 0, SM_ROUND_REROUTE},
    {KEYS, 0, SM_ROUND_KEYS},
    {LIGHT, 0, SM_ROUND_LIGHT},
    {REBALANCE, 0, SM_ROUND_REBALANCE},
    {STEP, FROZEN, SM_ROUND_STEP},
    {0, 0, SM_ROUND_NONE},
};

START_TEST(the_most_urgent_round_is_next)
{
    for (unsigned bits = 0; bits <= ALL_FACTS; bits++) {
        size_t i = 0;
        if ((bits & (KNOWN | PROBES | SETTLING)) != KNOWN)
            continue;
        while ((bits & urgency[i].facts) != urgency[i].facts || (bits & urgency[i].without))
            i++;
        expect(bits, urgency[i].kind == SM_ROUND_NONE ? SM_NEXT_NOTHING : SM_NEXT_ROUND,
               urgency[i].kind);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("next_round");
    TCase *tc = tcase_create("next_round");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_scenarios_reach);
    tcase_add_test(tc, probes_come_first);
    tcase_add_test(tc, nothing_begins_while_traps_settle);
    tcase_add_test(tc, an_unknown_fabric_is_swept);
    tcase_add_test(tc, the_most_urgent_round_is_next);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
