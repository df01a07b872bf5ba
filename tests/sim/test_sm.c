/* SPDX-License-Identifier: BSD-3-Clause */
/* The manager on a simulated fabric, from power-on through the faults that fabrics have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"
#include "tests/sim/lab.h"

static void bring_up(struct lab *lab, struct fab_builder *builder, const char *state)
{
    lab_open(lab, builder, state);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_idle, "bring-up");
}

/* ---- bring-up ---- */

START_TEST(brings_up_small)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_assert_good(&lab);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 9);
    ck_assert_uint_eq(v->fabric->node_count, 33);
    ck_assert(fab_verdict_good(&v->verdict));
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

START_TEST(brings_up_648)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    lab_assert_good(&lab);
    ck_assert_uint_lt(lab.sets_lft, 700);
    lab_close(&lab);
}
END_TEST

START_TEST(brings_up_any_fabric)
{
    struct fab_random_spec spec = {.switches = 12, .degree = 4, .hosts_per_switch = 3};
    for (uint64_t i = 0; i < 8; i++) {
        struct lab lab;
        struct fab_builder *b;
        spec.seed = test_seed("random fabric", 100) + i;
        ck_assert_int_eq(fab_generate_random(&spec, &b), FAB_OK);
        bring_up(&lab, b, NULL);
        lab_assert_good(&lab);
        lab_close(&lab);
    }
}
END_TEST

/* What was recognised, and who was passed over, is said. */
START_TEST(says_why_it_took_an_engine)
{
    struct lab lab;
    struct fab_builder *b;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_str_eq(v->target->engine, "fattree");
    ck_assert_str_eq(v->target->reason, "fat tree of 2 levels, 6 leaves");
    fab_view_unref(v);
    lab_close(&lab);
    struct fab_hypercube_spec cube = {.dimensions = 3, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_generate_hypercube(&cube, &b), FAB_OK);
    bring_up(&lab, b, NULL);
    v = sm_view(lab.sm);
    ck_assert_str_eq(v->target->engine, "dor");
    ck_assert_ptr_nonnull(
        strstr(v->target->reason, "; passed over fattree: not ranked: 12 of 12 cables join"));
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* An engine that does not take the fabric: no tables, and it is said; what was found can be seen.
 */
START_TEST(refuses_in_words)
{
    struct lab lab;
    struct fab_builder *b;
    struct fab_hypercube_spec cube = {.dimensions = 3, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_generate_hypercube(&cube, &b), FAB_OK);
    lab_open(&lab, b, NULL);
    lab_stop(&lab);
    strcpy(lab.config.policy.engine, "fattree");
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_await(&lab, 10, "routing-refused");
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_ptr_nonnull(strstr(status.alarm, "fattree: not ranked"));
    lab_run(&lab, 10, lab_is_idle, "the end of the sweep");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_ptr_nonnull(v);
    ck_assert_uint_eq(v->fabric->switch_count, 8);
    ck_assert_ptr_null(v->target);
    fab_view_unref(v);
    strcpy(lab.config.policy.engine, "dor");
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run(&lab, 10, lab_is_idle, "tables by another engine");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* A proof that fails is told with the engines before it. */
START_TEST(tells_the_whole_chain)
{
    struct lab lab;
    struct fab_builder *b;
    struct fab_torus_spec torus = {.dimensions = 2, .size = {5, 5}, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_generate_torus(&torus, &b), FAB_OK);
    lab_open(&lab, b, NULL);
    lab_stop(&lab);
    strcpy(lab.config.policy.engine, "fattree, minhop");
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_await(&lab, 10, "proof-failed");
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_ptr_nonnull(strstr(status.alarm, "could deadlock (engine minhop); passed over "
                                               "fattree: not ranked"));
    lab_close(&lab);
}
END_TEST

START_TEST(bears_loss)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.smp.timeout_ms = 5;
    fab_sim_loss(lab.sim, 0.01);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with 1 % loss");
    fab_sim_loss(lab.sim, 0);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- cables ---- */

static void assert_same_tables(struct lab *lab, const uint8_t *before, size_t len, bool same)
{
    size_t now_len;
    uint8_t *now = lab_tables(lab, &now_len);
    ck_assert_uint_eq(len, now_len);
    ck_assert((memcmp(before, now, len) == 0) == same);
    free(now);
}

START_TEST(goes_round_a_pulled_cable_and_back)
{
    struct lab lab;
    size_t len;
    bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-001", 20);
    ck_assert_str_eq(lab_await(&lab, 3, "link-down")->subject, "leaf-001/20");
    lab_await(&lab, 3, "reroute-done");
    lab_run(&lab, 3, lab_is_idle, "the reroute");
    lab_run_for(&lab, 0.05);
    lab_assert_good(&lab);
    assert_same_tables(&lab, before, len, false);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_gt(status.last_reroute_us, 0);

    lab_forget_events(&lab);
    lab_relink(&lab, "leaf-001", 20);
    lab_await(&lab, 3, "link-up");
    lab_run_for(&lab, 0.05);
    lab_run(&lab, 3, lab_is_idle, "the reroute back");
    lab_assert_good(&lab);
    assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* The second cable goes before the look that checks the first repair. */
START_TEST(mends_tables_in_place)
{
    struct lab lab;
    size_t len;
    struct sm_status before_it, after_it;
    struct reroute last;
    bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    for (uint8_t port = 22; port < 24; port++) {
        lab_forget_events(&lab);
        sm_get_status(lab.sm, &before_it);
        lab_unlink(&lab, "leaf-003", port);
        lab_await(&lab, 0.1, "reroute-done");
        sm_get_status(lab.sm, &after_it);
        lab_assert_good(&lab);
        ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
        ck_assert_uint_gt(last.blocks, 0);
        ck_assert_uint_eq(last.links_lost, 1);
        /* a glance at one or both ends of the cable, and the writes: no sweep */
        ck_assert_uint_le(after_it.smps_sent - before_it.smps_sent, 2 * 36 + last.blocks);
    }
    lab_run(&lab, 3, lab_is_idle, "the look that checks");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    lab_assert_good(&lab);
    for (uint8_t port = 22; port < 24; port++)
        lab_relink(&lab, "leaf-003", port);
    lab_run_for(&lab, 0.05);
    lab_run(&lab, 3, lab_is_idle, "all back");
    assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* The root of the way up: a repair may leave ways between switches out, which an engine finds
 * afterwards. The repair stays what status tells of, and what comes after it says what it is for.
 */
START_TEST(a_follow_up_has_its_own_record)
{
    struct lab lab;
    struct sm_status status;
    struct reroute all[4];
    bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-001", 36);
    lab_await(&lab, 1, "reroute-done");
    lab_run(&lab, 3, lab_is_idle, "whatever follows");
    lab_run_for(&lab, 0.5);
    uint32_t count = sm_reroutes(lab.sm, 0, all, 4);
    ck_assert_uint_ge(count, 1);
    const struct reroute *repair = &all[count - 1];
    ck_assert_uint_eq(repair->links_lost, 1);
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.last_reroute_us, repair->last_write_us);
    ck_assert_uint_eq(status.reroutes.count, 1);
    char of[64];
    snprintf(of, sizeof(of), "follow-up of reroute %" PRIu64 ",", repair->generation);
    for (uint32_t i = 0; i + 1 < count; i++)
        ck_assert_msg(strncmp(all[i].cause, of, strlen(of)) == 0, "%s", all[i].cause);
    ck_assert_int_eq(count > 1, lab_event(&lab, "reroute-followed") != NULL);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

static bool has_all_plans(struct lab *lab)
{
    struct sm_contingencies c;
    sm_get_contingencies(lab->sm, &c);
    return c.all && !c.under_way && c.all->count == c.cases;
}

/* A cable, one more, and the tables then; megabytes 0: without plans. */
static uint8_t *tables_after_faults(uint32_t megabytes, size_t *ret_len)
{
    struct lab lab;
    struct sm_contingencies c;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.contingency_mb = megabytes;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    for (uint8_t port = 5; port < 7; port++) {
        if (megabytes > 0)
            lab_run(&lab, 5, has_all_plans, "plans for all");
        lab_forget_events(&lab);
        lab_unlink(&lab, "leaf-003", port);
        const struct lab_event *e = lab_await(&lab, 1, "reroute-done");
        ck_assert_int_eq(strstr(e->message, "a plan at hand") != NULL, megabytes > 0);
        sm_get_contingencies(lab.sm, &c); /* dropped with the state that they were made for */
        ck_assert_ptr_null(c.all);
        lab_assert_good(&lab);
        lab_run(&lab, 3, lab_is_idle, "the look that checks");
    }
    uint8_t *tables = lab_tables(&lab, ret_len);
    lab_close(&lab);
    return tables;
}

START_TEST(mends_by_a_plan_at_hand)
{
    size_t len, same;
    uint8_t *with = tables_after_faults(64, &len), *without = tables_after_faults(0, &same);
    ck_assert_uint_eq(len, same);
    ck_assert_mem_eq(with, without, len);
    free(with);
    free(without);
}
END_TEST

START_TEST(has_a_plan_for_every_case)
{
    struct lab lab;
    struct sm_contingencies c;
    struct fab_contingency row;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_run(&lab, 5, has_all_plans, "plans for all");
    sm_get_contingencies(lab.sm, &c);
    ck_assert_uint_eq(c.cases, 6 * 3 + 6 + 3);
    ck_assert_uint_eq(c.all->plans, c.cases);
    ck_assert(!c.rate_measured);
    struct fab_view *v = sm_view(lab.sm);
    uint32_t leaf = fab_fabric_node_by_guid(
        v->fabric, fab_sim_fabric(lab.sim)->nodes[lab_node(&lab, "leaf-003")].guid);
    const struct fab_contingency *found = sm_contingency_of(lab.sm, true, leaf);
    ck_assert_ptr_nonnull(found);
    sm_contingency_row(lab.sm, found, &row);
    ck_assert_uint_eq(row.id, leaf);
    ck_assert_uint_eq(row.lost_ends, 4);
    ck_assert_uint_eq(row.lost_switches, 1);
    uint32_t port = fab_port_id(v->fabric, leaf, 6), peer = v->fabric->ports[port].peer;
    found = sm_contingency_of(lab.sm, false, peer);
    ck_assert_ptr_nonnull(found);
    sm_contingency_row(lab.sm, found, &row);
    ck_assert(row.id == port || row.peer == port);
    ck_assert_uint_eq(row.lost_ends, 0);
    ck_assert_uint_gt(row.blocks, 0);
    ck_assert_ptr_null(sm_contingency_of(lab.sm, false, fab_port_id(v->fabric, leaf, 1)));
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

START_TEST(loses_and_regains_a_host)
{
    struct lab lab;
    struct reroute any;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-003", 2);
    ck_assert_str_eq(lab_await(&lab, 3, "node-removed")->subject, "host-0010");
    lab_run_for(&lab, 0.05);
    lab_relink(&lab, "leaf-003", 2);
    ck_assert_str_eq(lab_await(&lab, 3, "node-added")->subject, "host-0010");
    lab_run_for(&lab, 0.05);
    lab_assert_good(&lab);
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &any, 1), 0); /* no table was written for that */
    lab_close(&lab);
}
END_TEST

START_TEST(manages_its_own_island)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(6, 2, 4), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-004", 5);
    lab_unlink(&lab, "leaf-004", 6);
    lab_await(&lab, 3, "island");
    lab_run_for(&lab, 0.05);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 7);
    ck_assert_uint_eq(v->fabric->node_count, 27);
    ck_assert(fab_verdict_good(&v->verdict));
    fab_view_unref(v);
    lab_relink(&lab, "leaf-004", 6);
    lab_await(&lab, 3, "node-added");
    lab_relink(&lab, "leaf-004", 5);
    lab_repeat_traps(&lab);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(bears_a_storm_of_cables)
{
    struct lab lab;
    size_t len;
    bring_up(&lab, lab_leaf_spine(8, 6, 4), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    for (uint8_t port = 5; port < 10; port++) {
        lab_unlink(&lab, "leaf-002", port);
        lab_unlink(&lab, "leaf-005", port);
        lab_run_for(&lab, 0.002);
    }
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "quiet after the storm");
    lab_assert_good(&lab);
    for (uint8_t port = 5; port < 10; port++) {
        lab_relink(&lab, "leaf-002", port);
        lab_relink(&lab, "leaf-005", port);
    }
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "quiet after all is back");
    lab_assert_good(&lab);
    assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* ---- nodes that do not answer ---- */

START_TEST(skips_a_silent_node_and_names_it)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_silence(&lab, "host-0010");
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with a silent host");
    ck_assert_str_eq(lab_await(&lab, 1, "node-silent")->subject, "leaf-003/2");
    lab_assert_good(&lab);
    struct sm_silent place;
    ck_assert_uint_eq(sm_silent_places(lab.sm, &place, 1), 1);
    ck_assert_str_eq(place.place, "leaf-003/2");
    lab_close(&lab);
}
END_TEST

/* Only one of its neighbours has told of it, before a trap of another comes. */
START_TEST(finds_out_that_a_switch_is_off)
{
    struct lab lab;
    size_t len;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    lab_silence(&lab, "spine-001");
    for (uint8_t port = 1; port <= 6; port++)
        ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, "spine-001"), port), FAB_OK);
    struct fab_sim_mail mail;
    while (fab_sim_outbox(lab.sim, &mail)) /* traps that were lost */
        ;
    ck_assert_uint_eq(fab_sim_repeat(lab.sim) > 0, true);
    transport_sim_kick(lab.sim_transport);
    lab_await(&lab, 3, "node-removed");
    lab_run_for(&lab, 0.05);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 8);
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_silence(&lab, NULL);
    for (uint8_t port = 1; port <= 6; port++)
        lab_relink(&lab, "spine-001", port);
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "the spine is back");
    lab_assert_good(&lab);
    assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* Its cables are up, but it answers nothing: found by a trap of a neighbour. */
START_TEST(does_without_a_switch_that_hangs)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_silence(&lab, "spine-001");
    lab_unlink(&lab, "leaf-001", 5);
    lab_await(&lab, 5, "node-removed");
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "without the spine");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 8);
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(asks_a_silent_node_again)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(&lab);
    lab.config.sweep.light_interval_s = 1;
    lab_silence(&lab, "leaf-004");
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with a silent leaf");
    ck_assert_ptr_nonnull(lab_event(&lab, "node-silent"));
    lab_forget_events(&lab);
    lab_silence(&lab, NULL);
    lab_await(&lab, 5, "node-added");
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "the leaf is taken in");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- hostile devices ---- */

START_TEST(bears_hostile_mads)
{
    struct lab lab;
    uint8_t mad[FAB_MAD_SIZE];
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.prng = test_seed("hostile MADs", 11);
    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < sizeof(mad); k++)
            mad[k] = (uint8_t)lab_random(&lab);
        mad[0] = 1;
        mad[1] = i & 1 ? FAB_CLASS_SMP_LID : FAB_CLASS_SMP_DIRECTED;
        mad[2] = 1;
        if (i & 2)
            mad[3] = i & 4 ? FAB_METHOD_TRAP : FAB_METHOD_SET;
        if (i & 8) {
            mad[16] = 0;
            mad[17] = i & 16 ? FAB_ATTR_NOTICE : FAB_ATTR_SM_INFO;
        }
        if (i & 32) { /* trap 128 or 144 of some LID */
            mad[64] |= 0x80;
            mad[68] = 0;
            mad[69] = i & 64 ? 128 : 144;
            mad[70] = mad[74] = 0;
            mad[71] = mad[75] = (uint8_t)(lab_random(&lab) % 64);
        }
        lab_receive(&lab, mad);
        if (i % 500 == 0)
            lab_run_for(&lab, 0.001);
    }
    lab_run_for(&lab, 0.3);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    if (status.role == FAB_SM_MASTER) /* else some of it was a control packet that it had to obey */
        lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(bears_answers_that_are_nonsense)
{
    uint64_t seed = test_seed("nonsense", 21);
    for (uint64_t i = 0; i < 12; i++) {
        struct lab lab;
        lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
        lab.config.smp.timeout_ms = 2;
        lab.prng = seed + i;
        lab.spoil = 10u << i % 6;
        lab_stop(&lab);
        lab_begin(&lab, NULL);
        sm_start(lab.sm);
        lab_run_for(&lab, 0.15);
        lab_close(&lab);
    }
}
END_TEST

/* ---- restarts ---- */

START_TEST(writes_nothing_after_a_restart)
{
    char state[] = "/tmp/fabricd-test-XXXXXX", command[80];
    struct lab lab;
    size_t len;
    ck_assert_ptr_nonnull(mkdtemp(state));
    bring_up(&lab, lab_leaf_spine(6, 3, 4), state);
    uint8_t *before = lab_tables(&lab, &len);
    for (int i = 0; i < 2; i++) {
        lab_stop(&lab);
        lab_forget_writes(&lab);
        lab_begin(&lab, state);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_idle, "the restart");
        ck_assert_uint_eq(lab.sets_lft, 0);
        ck_assert_uint_eq(lab.sets_port_info, 0);
        ck_assert_uint_gt(lab.gets_lft, 0);
        assert_same_tables(&lab, before, len, true);
    }
    lab_assert_good(&lab);
    free(before);
    lab_close(&lab);
    snprintf(command, sizeof(command), "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(keeps_a_port_disabled_over_a_restart)
{
    char state[] = "/tmp/fabricd-test-XXXXXX", command[80];
    struct lab lab;
    ck_assert_ptr_nonnull(mkdtemp(state));
    bring_up(&lab, lab_leaf_spine(6, 3, 4), state);
    uint32_t leaf = lab_node(&lab, "leaf-003");
    uint64_t guid = fab_sim_fabric(lab.sim)->nodes[leaf].guid;
    ck_assert_int_eq(sm_port_set(lab.sm, guid, 2, false, NULL, NULL), FAB_OK);
    lab_await(&lab, 3, "node-removed");
    lab_stop(&lab);
    lab_power_cycle(&lab);
    lab_begin(&lab, state);
    lab_forget_events(&lab);
    sm_start(lab.sm);
    lab_await(&lab, 3, "port-disabled");
    lab_run_for(&lab, 0.1);
    ck_assert_uint_eq(fab_sim_port(lab.sim, leaf, 2)->phys_state, FAB_PHYS_DISABLED);
    ck_assert_int_eq(sm_port_set(lab.sm, guid, 2, true, NULL, NULL), FAB_OK);
    lab_await(&lab, 3, "node-added");
    lab_run_for(&lab, 0.1);
    lab_assert_good(&lab);
    lab_close(&lab);
    snprintf(command, sizeof(command), "rm -r '%s'", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Our own cable goes: nothing can tell us, and nothing answers. */
START_TEST(survives_isolation)
{
    struct lab lab;
    size_t len;
    lab_open(&lab, lab_leaf_spine(4, 2, 2), NULL);
    lab_stop(&lab);
    lab.config.sweep.light_interval_s = 1;
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    uint8_t *before = lab_tables(&lab, &len);
    lab_unlink(&lab, "host-0001", 1);
    lab_await(&lab, 6, "node-removed");
    lab_run(&lab, 5, lab_is_idle, "alone and calm");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->node_count, 1);
    fab_view_unref(v);
    lab_forget_events(&lab);
    lab_relink(&lab, "host-0001", 1);
    lab_await(&lab, 6, "node-added");
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "back in the fabric");
    lab_assert_good(&lab);
    assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

START_TEST(takes_a_new_policy)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_writes(&lab);
    lab.config.policy.max_mtu = 4;
    ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "the new policy");
    ck_assert_uint_gt(lab.sets_port_info, 80);
    ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, "leaf-001"), 5)->neighbor_mtu, 4);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- other managers ---- */

static bool is_standby(struct lab *lab)
{
    struct sm_status status;
    sm_get_status(lab->sm, &status);
    return status.role == FAB_SM_STANDBY && strcmp(status.state, "standby") == 0;
}

static void play_other(struct lab *lab, uint8_t priority, uint8_t state)
{
    lab->other_node = lab_node(lab, "host-0020");
    lab->other = (struct fab_sm_info){.guid = 0x42, .priority = priority, .state = state};
    lab->other_answers = true;
    ck_assert_int_eq(fab_sim_attach(lab->sim, lab->other_node, 1, true), FAB_OK);
}

START_TEST(yields_to_a_better_manager_and_takes_over)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    play_other(&lab, 9, FAB_SM_MASTER);
    sm_start(lab.sm);
    lab_run(&lab, 5, is_standby, "standby");
    ck_assert_uint_eq(lab.sets_lft + lab.sets_port_info, 0);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.master_guid, 0x42);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_E_DENIED);
    lab_run_for(&lab, 1.5);
    ck_assert(is_standby(&lab));
    lab.other_answers = false;
    fab_sim_detach(lab.sim, lab.other_node, 1);
    lab_run(&lab, 15, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* It writes tables of its own meanwhile. */
START_TEST(takes_over_again_from_a_better_manager)
{
    struct lab lab;
    uint32_t top;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    play_other(&lab, 9, FAB_SM_MASTER);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_run(&lab, 5, is_standby, "yielding");
    for (uint32_t sw = 0; sw < 3; sw++) {
        uint8_t *row = (uint8_t *)(uintptr_t)fab_sim_lft(lab.sim, sw, &top);
        memset(row + 1, 255, top);
    }
    lab.other_answers = false;
    fab_sim_detach(lab.sim, lab.other_node, 1);
    lab_run(&lab, 15, lab_is_idle, "taking over");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(stays_before_a_lesser_manager)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.policy.sm_priority = 5;
    lab_stop(&lab);
    play_other(&lab, 3, FAB_SM_STANDBY);
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 5, lab_is_idle, "bring-up beside a lesser manager");
    ck_assert_ptr_nonnull(lab_event(&lab, "sm-master"));
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- requests ---- */

struct outcome {
    int count, status;
    char message[256];
};
static void note(void *ctx, int status, const char *message)
{
    struct outcome *o = ctx;
    o->count++;
    o->status = status;
    snprintf(o->message, sizeof(o->message), "%s", message);
}

START_TEST(sweeps_and_reroutes_on_request)
{
    struct lab lab;
    struct outcome sweep = {0}, reroute = {0}, forgotten = {0};
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_writes(&lab);
    ck_assert_int_eq(sm_sweep(lab.sm, note, &sweep), FAB_OK);
    ck_assert_int_eq(sm_reroute(lab.sm, note, &reroute), FAB_OK);
    ck_assert_int_eq(sm_sweep(lab.sm, note, &forgotten), FAB_OK);
    sm_forget(lab.sm, &forgotten);
    lab_run_for(&lab, 0.3);
    ck_assert_int_eq(sweep.count, 1);
    ck_assert_int_eq(sweep.status, FAB_OK);
    ck_assert_int_eq(reroute.count, 1);
    ck_assert_int_eq(forgotten.count, 0);
    ck_assert_uint_eq(lab.sets_lft + lab.sets_port_info, 0);
    lab_close(&lab);
}
END_TEST

START_TEST(tells_of_a_reroute_that_changes_nothing)
{
    struct lab lab;
    struct outcome o = {0};
    struct sm_status status;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_events(&lab);
    ck_assert_int_eq(sm_reroute(lab.sm, note, &o), FAB_OK);
    lab_await(&lab, 1, "reroute-done");
    ck_assert_int_eq(o.status, FAB_OK);
    sm_get_status(lab.sm, &status);
    ck_assert_uint_gt(status.last_reroute_us, 0);
    lab_close(&lab);
}
END_TEST

static uint64_t guid_of(struct lab *lab, const char *name)
{
    return fab_sim_fabric(lab->sim)->nodes[lab_node(lab, name)].guid;
}

START_TEST(disables_and_enables_a_port)
{
    struct lab lab;
    struct outcome o = {0};
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    uint64_t leaf = guid_of(&lab, "leaf-003");
    ck_assert_int_eq(sm_port_set(lab.sm, leaf, 2, false, note, &o), FAB_OK);
    lab_await(&lab, 3, "node-removed");
    ck_assert_int_eq(o.status, FAB_OK);
    ck_assert_uint_eq(fab_sim_port(lab.sim, lab_node(&lab, "leaf-003"), 2)->phys_state,
                      FAB_PHYS_DISABLED);
    lab_run_for(&lab, 0.05);
    ck_assert_int_eq(sm_port_set(lab.sm, leaf, 2, true, note, &o), FAB_OK);
    lab_await(&lab, 3, "node-added");
    lab_run_for(&lab, 0.1);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(refuses_to_cut_itself_off)
{
    struct lab lab;
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    const struct {
        const char *node;
        uint8_t port;
        int status;
    } cases[] = {
        {"leaf-001", 1, FAB_E_DENIED}, /* our own cable */
        {"host-0001", 1, FAB_E_DENIED},
        {"host-0010", 1, FAB_E_DENIED}, /* it could not be reached to be enabled */
        {"leaf-001", 99, FAB_E_NOT_FOUND},
        {"leaf-001", 0, FAB_E_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome o = {0};
        ck_assert_int_eq(
            sm_port_set(lab.sm, guid_of(&lab, cases[i].node), cases[i].port, false, note, &o),
            FAB_OK);
        lab_run_for(&lab, 0.05);
        ck_assert_int_eq(o.count, 1);
        ck_assert_int_eq(o.status, cases[i].status);
    }
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Requests on each other's heels: each knows of those before it, though nothing looked since. */
START_TEST(refuses_to_cut_off_a_part_in_a_hurry)
{
    struct lab lab;
    struct outcome o[3] = {{0}, {0}, {0}};
    bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    for (uint8_t i = 0; i < 3; i++)
        ck_assert_int_eq(
            sm_port_set(lab.sm, guid_of(&lab, "leaf-001"), (uint8_t)(5 + i), false, note, &o[i]),
            FAB_OK);
    lab_run_for(&lab, 0.2);
    ck_assert_int_eq(o[0].status, FAB_OK);
    ck_assert_int_eq(o[1].status, FAB_OK);
    ck_assert_int_eq(o[2].count, 1);
    ck_assert_int_eq(o[2].status, FAB_E_DENIED);
    lab_assert_good(&lab);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->node_count, 33);
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sm");
    TCase *t = tcase_create("scenarios");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, brings_up_small);
    tcase_add_test(t, brings_up_648);
    tcase_add_test(t, brings_up_any_fabric);
    tcase_add_test(t, says_why_it_took_an_engine);
    tcase_add_test(t, refuses_in_words);
    tcase_add_test(t, tells_the_whole_chain);

    tcase_add_test(t, bears_loss);
    tcase_add_test(t, goes_round_a_pulled_cable_and_back);
    tcase_add_test(t, mends_tables_in_place);
    tcase_add_test(t, a_follow_up_has_its_own_record);
    tcase_add_test(t, mends_by_a_plan_at_hand);
    tcase_add_test(t, has_a_plan_for_every_case);
    tcase_add_test(t, loses_and_regains_a_host);
    tcase_add_test(t, manages_its_own_island);
    tcase_add_test(t, bears_a_storm_of_cables);
    tcase_add_test(t, skips_a_silent_node_and_names_it);
    tcase_add_test(t, finds_out_that_a_switch_is_off);
    tcase_add_test(t, does_without_a_switch_that_hangs);
    tcase_add_test(t, asks_a_silent_node_again);
    tcase_add_test(t, bears_hostile_mads);
    tcase_add_test(t, bears_answers_that_are_nonsense);
    tcase_add_test(t, writes_nothing_after_a_restart);
    tcase_add_test(t, keeps_a_port_disabled_over_a_restart);
    tcase_add_test(t, survives_isolation);
    tcase_add_test(t, takes_a_new_policy);
    tcase_add_test(t, yields_to_a_better_manager_and_takes_over);
    tcase_add_test(t, takes_over_again_from_a_better_manager);
    tcase_add_test(t, stays_before_a_lesser_manager);
    tcase_add_test(t, sweeps_and_reroutes_on_request);
    tcase_add_test(t, tells_of_a_reroute_that_changes_nothing);
    tcase_add_test(t, disables_and_enables_a_port);
    tcase_add_test(t, refuses_to_cut_itself_off);
    tcase_add_test(t, refuses_to_cut_off_a_part_in_a_hurry);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
