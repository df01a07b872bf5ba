/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After local repairs, the manager proves all tables in the background. One proof covers several
 * repairs in quick succession. Repairs without end must not delay the proof for ever.
 *
 * The tests also damage a table in memory, as a defect of the incremental proof could. The proof
 * must find the damage, the manager must report it, and an engine must compute new tables.
 */
#include <string.h>

#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/lab.h"

static struct sm_proof proof_of(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.proof;
}

static uint64_t generation(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.generation;
}

static void begin(struct lab *lab)
{
    lab_open_virtual(lab, lab_leaf_spine(6, 4, 4), NULL);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_ready, "bring-up");
    lab_run_for(lab, 3);
    struct sm_proof p = proof_of(lab);
    ck_assert_uint_eq(p.last.generation, 1);
    ck_assert(!p.last.background && !p.due);
    ck_assert_uint_eq(p.proofs, 0);
    lab_forget_events(lab);
}

/* Takes the link of a leaf's port down, and waits until the tables of the repair are written. */
static void repair(struct lab *lab, const char *leaf, uint8_t port)
{
    lab_unlink(lab, leaf, port);
    lab_run_for(lab, 0.2);
    ck_assert(proof_of(lab).due);
}

static bool is_proved(struct lab *lab)
{
    return !proof_of(lab).due;
}

START_TEST(repaired_tables_are_proved_whole)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    uint64_t repaired = generation(&lab);
    lab_run(&lab, 3, is_proved, "the background proof");
    struct sm_proof p = proof_of(&lab);
    ck_assert_uint_ge(p.last.generation, repaired);
    ck_assert(p.last.background);
    ck_assert_uint_eq(p.proofs, 1);
    ck_assert_uint_eq(p.failures, 0);
    ck_assert_ptr_null(lab_event(&lab, "reproof-failed"));
    /* During these 30 s nothing changes, so there must be no further proof. */
    lab_run_for(&lab, 30);
    ck_assert_uint_eq(proof_of(&lab).proofs, 1);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(repairs_close_together_are_proved_once)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    repair(&lab, "leaf-002", 6);
    repair(&lab, "leaf-003", 7);
    lab_run(&lab, 3, is_proved, "the background proof");
    ck_assert_uint_eq(proof_of(&lab).proofs, 1);
    lab_close(&lab);
}
END_TEST

/* A link goes down and up every 0.8 s for 48 s, so local repairs never cease. */
START_TEST(endless_repairs_do_not_prevent_the_proof)
{
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 4, 4), NULL);
    lab.config.flapping.hold_down_s = 0; /* do not hold the link down for flapping */
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    for (unsigned i = 0; i < 60; i++) {
        lab_unlink(&lab, "leaf-001", 5);
        lab_run_for(&lab, 0.4);
        lab_relink(&lab, "leaf-001", 5);
        lab_run_for(&lab, 0.4);
    }
    struct sm_proof p = proof_of(&lab);
    ck_assert_uint_ge(p.proofs, 2);
    ck_assert_uint_le(p.proofs, 6);
    ck_assert_uint_eq(p.failures, 0);
    lab_run(&lab, 5, is_proved, "the last background proof");
    ck_assert_uint_le(proof_of(&lab).proofs, p.proofs + 1);
    lab_close(&lab);
}
END_TEST

START_TEST(an_engine_makes_the_proof_unnecessary)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    ck_assert_int_eq(sm_reroute(lab.sm, NULL, NULL), FAB_OK);
    lab_run(&lab, 2, is_proved, "the reroute");
    struct sm_proof p = proof_of(&lab);
    ck_assert(!p.last.background);
    lab_run_for(&lab, 5);
    ck_assert_uint_eq(proof_of(&lab).proofs, 0);
    lab_close(&lab);
}
END_TEST

/* The manager loses its mastership before the proof, so another manager is responsible for the
 * tables. */
START_TEST(a_proof_that_is_dropped_is_not_due)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    sm_reproof_drop(lab.sm);
    ck_assert(!proof_of(&lab).due);
    lab_run_for(&lab, 30);
    ck_assert_uint_eq(proof_of(&lab).proofs, 0);
    lab_close(&lab);
}
END_TEST

/* ---- seeded faults --------------------------------------------------------------------------- */

/* Returns the LID of the host at port 1 of a leaf. */
static uint32_t lid_of(struct lab *lab, const struct fab_view *v, const char *leaf)
{
    uint32_t node = fab_fabric_node_by_guid(v->fabric, lab_node_guid(lab, leaf));
    uint32_t port = fab_fabric_port_id(v->fabric, node, 1);
    return v->target->lids.base[fab_fabric_port(v->fabric, port)->peer];
}

static void assert_told(struct lab *lab, const char *what)
{
    struct sm_status status;
    const struct lab_event *e = lab_await(lab, 3, "reproof-failed");
    ck_assert_msg(strstr(e->message, what) != NULL, "%s", e->message);
    ck_assert_ptr_nonnull(strstr(e->message, "witness: "));
    lab_await(lab, 3, "tables-published");
    lab_run(lab, 3, lab_is_ready, "the reroute");
    sm_get_status(lab->sm, &status);
    ck_assert_str_eq(status.alarm, "");
    ck_assert_uint_eq(status.proof.failures, 1);
    ck_assert(!status.proof.due && !status.proof.last.background);
    struct fab_view *v = sm_view(lab->sm);
    ck_assert(fab_verify_verdict_good(&v->verdict));
    fab_view_unref(v);
    lab_run_for(lab, 5);
    ck_assert_uint_eq(lab_count_events(lab, "reproof-failed"), 1);
    lab_assert_good(lab);
}

/* At switch `sw`, changes the entry for the host at port 1 of leaf `to` in the active tables in
 * memory. The incremental proof does not learn of this change. */
static void spoil(struct lab *lab, const char *sw, const char *to, uint8_t port)
{
    struct fab_view *v = sm_view(lab->sm);
    uint32_t node = fab_fabric_node_by_guid(v->fabric, lab_node_guid(lab, sw));
    uint32_t lid = lid_of(lab, v, to);
    *(uint8_t *)(uintptr_t)fab_target_lft_entry(&v->target->lft, node, lid) = port;
    fab_view_unref(v);
}

START_TEST(a_lost_route_is_told_and_replaced)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    spoil(&lab, "leaf-004", "leaf-001", FAB_LFT_NO_ROUTE);
    assert_told(&lab, "cannot reach each other");
    lab_close(&lab);
}
END_TEST

START_TEST(a_loop_is_told_and_replaced)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    /* leaf-002 now sends the packets for its own host up to a spine, which sends them back to
     * leaf-002. */
    spoil(&lab, "leaf-002", "leaf-002", 6);
    assert_told(&lab, "loop");
    lab_close(&lab);
}
END_TEST

static void assert_alarm(struct lab *lab)
{
    struct fab_view *v = sm_view(lab->sm);
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    ck_assert(!fab_verify_verdict_good(&v->verdict));
    ck_assert_ptr_nonnull(strstr(status.alarm, "failed the background verification"));
    fab_view_unref(v);
}

static bool is_bad(struct lab *lab)
{
    struct fab_view *v = sm_view(lab->sm);
    bool bad = v->verdict.unreachable_pairs > 0;
    fab_view_unref(v);
    return bad;
}

/* When the background proof fails, the view shows its verdict, until new tables of an engine are
 * active. */
START_TEST(the_view_has_the_true_verdict)
{
    struct lab lab;
    begin(&lab);
    repair(&lab, "leaf-001", 5);
    spoil(&lab, "leaf-004", "leaf-001", FAB_LFT_NO_ROUTE);
    lab_run(&lab, 3, is_bad, "the verdict");
    assert_alarm(&lab);
    assert_told(&lab, "cannot reach each other");
    lab_close(&lab);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sm_reproof");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, repaired_tables_are_proved_whole);
    tcase_add_test(t, repairs_close_together_are_proved_once);
    tcase_add_test(t, endless_repairs_do_not_prevent_the_proof);
    tcase_add_test(t, an_engine_makes_the_proof_unnecessary);
    tcase_add_test(t, a_proof_that_is_dropped_is_not_due);
    tcase_add_test(t, a_lost_route_is_told_and_replaced);
    tcase_add_test(t, a_loop_is_told_and_replaced);
    tcase_add_test(t, the_view_has_the_true_verdict);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
