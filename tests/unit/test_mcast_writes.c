/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writes of multicast tables, in any order. After each write, no packet may loop. No new branch
 * may lead into an unresponsive switch.
 */
#include "libfabmgr/plan/mft_writes.h"
#include "tests/unit/mcast_world.h"

/* Follows packets by the present mixture of tables. No port may get a packet twice, and no packet
 * may loop. Those who are members now and were members in before[] must receive each other's
 * packets. */
static void judge_transition(struct world *w, struct walk *walk, uint8_t (*before)[GROUPS])
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        walk_take(walk, mlid_of(group));
        for (uint32_t from = 0; from < w->ends; from++) {
            uint32_t port = fab_fabric_port_by_guid(w->now, guid_of(w, from));
            if (port == FAB_NONE || !fab_base_prng_chance(&w->r, 0.2))
                continue;
            send_from(walk, port);
            bool stays = before != NULL && before[from][group] != 0 &&
                         w->member[from][group] != 0 &&
                         fab_mcast_trees_reaches(w->trees, walk->mlid, guid_of(w, from));
            for (uint32_t to = 0; to < w->ends; to++) {
                uint32_t out = fab_fabric_port_by_guid(w->now, guid_of(w, to));
                unsigned came = out != FAB_NONE ? walk->came[out] : 0;
                bool must = stays && to != from && before[to][group] == 1 &&
                            w->member[to][group] == 1 &&
                            fab_mcast_trees_reaches(w->trees, walk->mlid, guid_of(w, to));
                if (came > 1 || (must && came == 0))
                    ck_abort_msg("on the way: group %u, from %u to %u: %u times", group, from, to,
                                 came);
            }
        }
    }
}

/* Applies the writes of one stage of a plan in random order. Checks the mixture of tables after
 * each write. */
static void write_stage(struct world *w, struct fab_blocks *held,
                        const struct fab_plan_mft_ops *ops, uint8_t (*before)[GROUPS])
{
    uint32_t *order = calloc(ops->count + 1, sizeof(*order));
    struct walk walk = walk_of(w->now, held);
    for (uint32_t i = 0; i < ops->count; i++)
        order[i] = i;
    fab_base_prng_shuffle(&w->r, order, ops->count);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct fab_plan_mft_op *op = &ops->op[order[i]];
        ck_assert_int_eq(fab_target_blocks_put(held, op->sw, op->number, op->entry), FAB_OK);
        judge_transition(w, &walk, before);
    }
    walk_fini(&walk);
    free(order);
}

/* Writes the tables of all MLIDs into switches that hold none. Returns the number of writes. */
static size_t write_all(struct world *w, struct fab_blocks *held, uint8_t (*before)[GROUPS])
{
    uint64_t groups[FAB_MFT_GROUPS / 64] = {1};
    const struct fab_plan_mft_input in = {.net = fab_mcast_trees_net(w->trees),
                                          .want = fab_mcast_trees_tables(w->trees),
                                          .held = held,
                                          .groups = groups};
    struct fab_plan_mft plan;
    size_t writes, reads;
    groups[0] = UINT64_MAX;
    do {
        ck_assert_int_eq(fab_plan_mft_make(&in, &plan), FAB_OK);
        reads = plan.stage[FAB_MFT_READ].count;
        for (size_t i = 0; i < reads; i++) {
            const struct fab_plan_mft_op *op = &plan.stage[FAB_MFT_READ].op[i];
            ck_assert_int_eq(fab_target_blocks_put(held, op->sw, op->number, op->entry), FAB_OK);
        }
        write_stage(w, held, &plan.stage[FAB_MFT_FIRST], before);
        write_stage(w, held, &plan.stage[FAB_MFT_SECOND], before);
        writes = plan.stage[FAB_MFT_FIRST].count + plan.stage[FAB_MFT_SECOND].count;
        fab_plan_mft_fini(&plan);
    } while (reads > 0);
    return writes;
}

static void assert_written(const struct world *w, const struct fab_blocks *held)
{
    const struct fab_blocks *want = fab_mcast_trees_tables(w->trees);
    for (size_t i = 0; i < want->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(want->block[i].entry[k],
                              at(held, want->block[i].id, want->block[i].number, k));
    for (size_t i = 0; i < held->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(held->block[i].entry[k],
                              at(want, held->block[i].id, held->block[i].number, k));
}

/* Plans write all tables while the trees change. When a plan is complete, the next plan has nothing
 * to write. */
START_TEST(no_loops_while_writes_are_under_way)
{
    uint64_t seed = test_seed("nothing_goes_in_circles_on_the_way", 3);
    struct world w;
    struct fab_blocks held = {0}, moved;
    world_init(&w, random_fabric(10, 4, 2, seed), seed);
    uint8_t(*before)[GROUPS] = calloc(w.ends, sizeof(*before));
    for (unsigned round = 0; round < 200; round++) {
        bool faults = round % 3 == 2;
        const struct fab_mcast_net *net = fab_mcast_trees_net(w.trees);
        uint32_t switches = net->switches;
        uint64_t *guid = malloc(switches * sizeof(*guid));
        memcpy(guid, net->guid, switches * sizeof(*guid));
        memcpy(before, w.member, w.ends * sizeof(*before));
        for (unsigned i = 0; i < (faults ? 6 : 1); i++)
            (void)(faults && i < 2 ? change_fabric(&w) : change_member(&w));
        ck_assert_int_eq(fab_plan_mft_remap(&held, guid, switches, w.now, &moved), FAB_OK);
        fab_target_blocks_fini(&held);
        held = moved;
        (void)write_all(&w, &held, faults ? NULL : before);
        ck_assert_uint_eq(write_all(&w, &held, NULL), 0);
        assert_written(&w, &held);
        free(guid);
    }
    free(before);
    fab_target_blocks_fini(&held);
    world_fini(&w);
}
END_TEST

/* Switch 0 does not answer. If its MFT is unknown, no switch may get an entry that newly leads into
 * it. The other switches are written. */
START_TEST(no_new_branch_leads_into_an_unresponsive_switch)
{
    uint64_t seed = test_seed("nothing_new_leads_into_a_unresponsive_switch", 4);
    struct world w;
    struct fab_blocks held = {0};
    world_init(&w, leaf_spine(4, 2, 2), seed);
    uint64_t *unresponsive = fab_base_bits_new(w.now->switch_count), groups[FAB_MFT_GROUPS / 64];
    memset(groups, 0xff, sizeof(groups));
    for (uint32_t end = 0; end < w.ends; end++)
        join(&w, end, 0, 1);
    (void)write_all(&w, &held, NULL);
    const struct fab_plan_mft_input in = {.net = fab_mcast_trees_net(w.trees),
                                          .want = fab_mcast_trees_tables(w.trees),
                                          .held = &held,
                                          .unresponsive = unresponsive,
                                          .groups = groups};
    struct fab_plan_mft plan;
    fab_base_bits_set(unresponsive, 0);
    /* the MFT of switch 0 is known and correct, so there is nothing to write */
    ck_assert_int_eq(fab_plan_mft_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(plan.stage[FAB_MFT_FIRST].count + plan.stage[FAB_MFT_SECOND].count, 0);
    fab_plan_mft_fini(&plan);
    fab_plan_mft_forget(&held, 0);
    /* now the MFT of switch 0 is unknown */
    ck_assert_int_eq(fab_plan_mft_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(plan.stage[FAB_MFT_READ].count, 0);
    for (size_t i = 0; i < plan.stage[FAB_MFT_SECOND].count; i++) {
        const struct fab_plan_mft_op *op = &plan.stage[FAB_MFT_SECOND].op[i];
        ck_assert_uint_ne(op->sw, 0);
        ck_assert_int_eq(fab_target_blocks_put(&held, op->sw, op->number, op->entry), FAB_OK);
    }
    ck_assert_uint_gt(plan.stage[FAB_MFT_SECOND].count, 0);
    fab_plan_mft_fini(&plan);
    for (uint32_t port = 0; port < w.now->port_count; port++) {
        uint32_t node = fab_fabric_port(w.now, port)->node;
        if (node < w.now->switch_count && fab_fabric_peer_node(w.now, port) == 0)
            ck_assert_uint_eq(at(&held, node,
                                 fab_mft_number(mlid_of(0), fab_fabric_port(w.now, port)->num),
                                 30) >>
                                      fab_fabric_port(w.now, port)->num % 16 &
                                  1,
                              0);
    }
    free(unresponsive);
    fab_target_blocks_fini(&held);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees writes");
    TCase *tcase = tcase_create("writes");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, no_loops_while_writes_are_under_way);
    tcase_add_test(tcase, no_new_branch_leads_into_an_unresponsive_switch);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
