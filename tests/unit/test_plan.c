/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of writes: what they write, and in which order. Nothing may be written twice. A model
 * applies plans as devices do. As in ibsim, a port state advances by one step, and devices do not
 * keep some fields.
 */
#include "libfabmgr/plan/lft_early.h"
#include "libfabmgr/plan/lft_order_internal.h"
#include "libfabmgr/plan/observed_move.h"
#include "tests/unit/routing.h"

#define SM_LID 5

struct world {
    /* the fabric; its attributes are those that the simulated devices hold */
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_target *target;
    struct fab_observed observed;
    /* true: the simulated devices do not keep SubnetTimeOut, HOQLife and thresholds */
    bool forgetful;
};

static struct fab_plan_input input_of(const struct world *w)
{
    return (struct fab_plan_input){.fabric = w->f,
                                   .policy = &w->policy,
                                   .target = w->target,
                                   .observed = &w->observed,
                                   .sm_lid = SM_LID};
}

/* Makes the world of a test: the fabric, and devices that hold nothing. Takes over f. */
static struct world world_of(struct fab_fabric *f, uint8_t lmc)
{
    struct world w = {0};
    ck_assert_int_eq(fab_fabric_clone(f, &w.f), FAB_OK);
    fab_fabric_unref(f);
    fab_policy_defaults(&w.policy);
    w.policy.lmc = lmc;
    w.policy.m_keys.number = 0x1234;
    w.target = routed(w.f, &w.policy);
    ck_assert_int_eq(fab_plan_observed_init(&w.observed, w.f->switch_count, w.target->lids.top), 0);
    return w;
}

static void world_fini(struct world *w)
{
    fab_target_unref(w->target);
    fab_plan_observed_fini(&w->observed);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->f);
}

/* ---- the devices ----------------------------------------------------------------------------- */

static void set_state(struct world *w, uint32_t port, uint8_t asked)
{
    struct fab_port_info *now = &fab_fabric_edit_port(w->f, port)->info;
    if (asked == FAB_STATE_NOP)
        return;
    ck_assert_uint_ne(fab_fabric_port(w->f, port)->peer, FAB_NONE);
    uint8_t peer = fab_fabric_port(w->f, fab_fabric_port(w->f, port)->peer)->info.port_state;
    ck_assert_uint_eq(asked, now->port_state + 1u);
    ck_assert_int_le(abs(peer - asked), 1);
    now->port_state = asked;
}

static void set_port(struct world *w, uint32_t port, const uint8_t *data)
{
    struct fab_port_info *now = &fab_fabric_edit_port(w->f, port)->info, set;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &set),
                     FAB_OK);
    ck_assert_uint_eq(set.phys_state, FAB_PHYS_NOP);
    ck_assert_uint_eq(set.width_enabled | set.speed_enabled | set.speed_ext_enabled, 0);
    ck_assert_uint_eq(set.vl_cap, now->vl_cap);
    ck_assert_uint_le(set.op_vls, now->vl_cap);
    ck_assert_uint_le(set.neighbor_mtu, now->mtu_cap);
    now->lid = set.lid;
    now->lmc = set.lmc;
    now->sm_lid = set.sm_lid;
    now->m_key = set.m_key;
    now->m_key_protect = set.m_key_protect;
    now->m_key_lease = set.m_key_lease;
    now->gid_prefix = set.gid_prefix;
    now->neighbor_mtu = set.neighbor_mtu;
    now->op_vls = set.op_vls;
    if (!w->forgetful) {
        now->subnet_timeout = set.subnet_timeout;
        now->hoq_life = set.hoq_life;
        now->vl_stall_count = set.vl_stall_count;
        now->local_phy_errors = set.local_phy_errors;
        now->overrun_errors = set.overrun_errors;
    }
    set_state(w, port, set.port_state);
}

static void set_switch(struct world *w, uint32_t sw, const uint8_t *data)
{
    struct fab_switch_info set;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &set),
                     FAB_OK);
    w->f->switches[sw].linear_fdb_top = set.linear_fdb_top;
    w->f->switches[sw].life_time = set.life_time;
    if (set.port_state_change != 0)
        w->f->switches[sw].port_state_change = 0;
}

static void apply(struct world *w, const struct fab_plan_input *in, const struct fab_plan_op *op)
{
    uint8_t data[FAB_SMP_DATA];
    uint32_t attr_mod = 0;
    ck_assert_int_eq(fab_plan_encode(in, op, data, &attr_mod), FAB_OK);
    if (op->attr_id == FAB_ATTR_LFT) {
        ck_assert_uint_eq(attr_mod, op->block);
        fab_plan_observed_set_block(&w->observed, op->node, op->block, data);
    } else if (op->attr_id == FAB_ATTR_PORT_INFO) {
        ck_assert_uint_eq(fab_fabric_port(w->f, op->port)->node, op->node);
        ck_assert_uint_eq(attr_mod, fab_fabric_port(w->f, op->port)->num);
        set_port(w, op->port, data);
    } else {
        set_switch(w, op->node, data);
    }
}

/* Checks that none of the entries in this LFT write leads into an ISL that is not Active. */
static void assert_leads_into_active_isls(const struct world *w, const struct fab_plan_op *op)
{
    const uint8_t *block =
        fab_target_lft_row(&w->target->lft, op->node) + op->block * FAB_LFT_BLOCK;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++) {
        uint32_t port =
            fab_fabric_port_id(w->f, op->node, block[i] == FAB_LFT_NO_ROUTE ? 0 : block[i]);
        uint32_t peer = fab_fabric_peer_node(w->f, port);
        if (peer != FAB_NONE && fab_fabric_node_is_switch(w->f, peer))
            ck_assert_uint_eq(fab_fabric_port(w->f, port)->info.port_state, FAB_STATE_ACTIVE);
    }
}

/* Makes the plan and applies it, stage by stage. Returns the number of writes. */
static uint32_t carry_out(struct world *w)
{
    static const uint16_t allowed[FAB_STAGE_COUNT][2] = {
        [FAB_STAGE_SWITCH] = {FAB_ATTR_SWITCH_INFO, FAB_ATTR_PORT_INFO},
        [FAB_STAGE_EARLY] = {FAB_ATTR_LFT, FAB_ATTR_LFT},
        [FAB_STAGE_ISLS] = {FAB_ATTR_PORT_INFO, FAB_ATTR_PORT_INFO},
        [FAB_STAGE_ISLS_UP] = {FAB_ATTR_PORT_INFO, FAB_ATTR_PORT_INFO},
        [FAB_STAGE_ROUTES] = {FAB_ATTR_LFT, FAB_ATTR_LFT},
        [FAB_STAGE_ENDPORTS] = {FAB_ATTR_PORT_INFO, FAB_ATTR_PORT_INFO},
        [FAB_STAGE_ENDPORTS_UP] = {FAB_ATTR_PORT_INFO, FAB_ATTR_PORT_INFO},
    };
    struct fab_plan_input in = input_of(w);
    struct fab_plan plan;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    uint32_t count = plan.stage_start[FAB_STAGE_COUNT];
    ck_assert_uint_eq(plan.stage_start[0], 0);
    for (unsigned stage = 0; stage < FAB_STAGE_COUNT; stage++) {
        ck_assert_uint_le(plan.stage_start[stage], plan.stage_start[stage + 1]);
        for (uint32_t i = plan.stage_start[stage]; i < plan.stage_start[stage + 1]; i++) {
            const struct fab_plan_op *op = &plan.ops[i];
            ck_assert(op->attr_id == allowed[stage][0] || op->attr_id == allowed[stage][1]);
            bool up = stage == FAB_STAGE_ISLS_UP || stage == FAB_STAGE_ENDPORTS_UP;
            ck_assert_int_eq(up, op->state == FAB_STATE_ACTIVE);
            if (stage == FAB_STAGE_ROUTES)
                assert_leads_into_active_isls(w, op);
            apply(w, &in, op);
        }
    }
    fab_plan_fini(&plan);
    return count;
}

static void assert_in_force(const struct world *w)
{
    const struct fab_fabric *f = w->f;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        ck_assert_mem_eq(fab_target_lft_row(&w->observed.lft, sw),
                         fab_target_lft_row(&w->target->lft, sw), w->target->lft.stride);
        ck_assert_uint_eq(f->switches[sw].linear_fdb_top, w->target->lids.top);
    }
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        bool owns = p->present && fab_fabric_port_has_lid(f, port);
        if (!p->present || (p->num != 0 && !fab_fabric_port_is_up(f, port)))
            continue;
        ck_assert_uint_eq(p->info.port_state, FAB_STATE_ACTIVE);
        if (owns) {
            ck_assert_uint_eq(p->info.lid, w->target->lids.base[port]);
            ck_assert_uint_eq(p->info.sm_lid, SM_LID);
            ck_assert_uint_eq(p->info.m_key, 0x1234);
            ck_assert_uint_eq(p->info.m_key_protect, 1);
            ck_assert_uint_eq(p->info.m_key_lease, 60);
        }
        if (p->num != 0)
            ck_assert_uint_eq(p->info.neighbor_mtu, fab_fabric_port(f, p->peer)->info.neighbor_mtu);
    }
}

START_TEST(a_plan_brings_the_fabric_up_and_the_next_one_is_empty)
{
    uint64_t seed = test_seed("plans", 31);
    for (unsigned i = 0; i < 60; i++) {
        struct world w = world_of(random_fabric(1 + i % 20, 3, 2, seed + i), (uint8_t)(i % 3));
        w.forgetful = i % 2 == 0;
        ck_assert_uint_gt(carry_out(&w), 0);
        assert_in_force(&w);
        ck_assert_uint_eq(carry_out(&w), 0);
        world_fini(&w);
    }
}
END_TEST

START_TEST(each_port_is_written_twice_and_each_block_once)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint32_t ports = 2 * w.f->link_count, blocks = fab_target_lft_blocks(&w.target->lft);
    uint32_t writes = 2 * ports + w.f->switch_count * (2 + blocks);
    ck_assert_uint_eq(carry_out(&w), writes);
    world_fini(&w);
}
END_TEST

START_TEST(a_port_that_went_down_and_came_back_is_brought_up_alone)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    carry_out(&w);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1), peer = fab_fabric_port(w.f, port)->peer;
    fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_INIT;
    fab_fabric_edit_port(w.f, peer)->info.port_state = FAB_STATE_INIT;
    w.f->switches[0].port_state_change = 1;
    ck_assert_uint_eq(carry_out(&w), 5);
    assert_in_force(&w);
    fab_fabric_edit_port(w.f, port)->info.port_state =
        /* the manager crashed when the port was Armed, so only the step to Active is missing */
        FAB_STATE_ARMED;
    ck_assert_uint_eq(carry_out(&w), 1);
    assert_in_force(&w);
    world_fini(&w);
}
END_TEST

START_TEST(dead_cables_are_left_alone)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1);
    fab_fabric_edit_port(w.f, port)->info.phys_state = FAB_PHYS_POLLING;
    fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_DOWN;
    struct fab_plan_input in = input_of(&w);
    struct fab_plan plan;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i++)
        ck_assert(plan.ops[i].port != port && plan.ops[i].port != fab_fabric_port(w.f, port)->peer);
    fab_plan_fini(&plan);
    world_fini(&w);
}
END_TEST

START_TEST(only_blocks_that_differ_are_written)
{
    struct world w = world_of(fat_tree(12, 2, 1), 0);
    uint8_t block[FAB_LFT_BLOCK];
    carry_out(&w);
    memcpy(block, fab_target_lft_row(&w.observed.lft, 3) + FAB_LFT_BLOCK, sizeof(block));
    block[5] ^= 1;
    fab_plan_observed_set_block(&w.observed, 3, 1, block);
    ck_assert_uint_eq(carry_out(&w), 1);
    ck_assert_uint_eq(carry_out(&w), 0);
    fab_plan_observed_forget(&w.observed, 3);
    ck_assert(!fab_plan_observed_is_known(&w.observed, 3, 0));
    ck_assert(fab_plan_observed_is_known(&w.observed, 4, 0));
    ck_assert_uint_eq(carry_out(&w), fab_target_lft_blocks(&w.target->lft));
    world_fini(&w);
}
END_TEST

/* Returns an uplink of leaf 0, but not the one that the leaf's entry for this LID uses. */
static uint8_t another_port_up(const struct world *w, uint32_t lid)
{
    uint8_t way = fab_target_lft_at(&w->target->lft, 0, lid);
    for (uint8_t num = 1; num <= w->f->nodes[0].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(w->f, fab_fabric_port_id(w->f, 0, num));
        if (num != way && peer != FAB_NONE && fab_fabric_node_is_switch(w->f, peer))
            return num;
    }
    ck_abort_msg("a leaf with one cable up");
}

/* An entry of a switch leads into a link, but not that of the target. Before this link comes up, a
 * write must make the entry drop packets, and leave the other entries of the block unchanged. */
START_TEST(stale_entries_drop_before_links_come_up)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint8_t block[FAB_LFT_BLOCK];
    struct fab_plan plan;
    const uint32_t lid = 30;
    carry_out(&w);
    uint8_t num = another_port_up(&w, lid);
    uint32_t port = fab_fabric_port_id(w.f, 0, num), peer = fab_fabric_port(w.f, port)->peer;
    memcpy(block, fab_target_lft_row(&w.observed.lft, 0), sizeof(block));
    block[lid] = num;
    fab_plan_observed_set_block(&w.observed, 0, 0, block);
    struct fab_plan_input in = input_of(&w);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    /* as long as the link is Active, nothing must be written before it comes up */
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_EARLY + 1], 0);
    fab_plan_fini(&plan);
    fab_fabric_edit_port(w.f, port)->info.port_state =
        fab_fabric_edit_port(w.f, peer)->info.port_state = FAB_STATE_INIT;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_EARLY + 1], 1);
    apply(&w, &in, &plan.ops[0]);
    block[lid] = FAB_LFT_NO_ROUTE;
    ck_assert_mem_eq(fab_target_lft_row(&w.observed.lft, 0), block, sizeof(block));
    fab_plan_fini(&plan);
    carry_out(&w);
    assert_in_force(&w);
    world_fini(&w);
}
END_TEST

/* Puts all links of a switch into state Init. Returns the number of its ISLs. */
static uint32_t init_links(struct world *w, uint32_t sw)
{
    uint32_t count = 0;
    for (unsigned num = 1; num <= w->f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(w->f, sw, (uint8_t)num);
        if (!fab_fabric_isl_is_up(w->f, port))
            continue;
        fab_fabric_edit_port(w->f, port)->info.port_state = FAB_STATE_INIT;
        fab_fabric_edit_port(w->f, fab_fabric_port(w->f, port)->peer)->info.port_state =
            FAB_STATE_INIT;
        count++;
    }
    return count;
}

static uint32_t ops_of_link(const struct fab_plan *plan, enum fab_plan_stage stage, uint32_t port,
                            uint32_t peer)
{
    uint32_t count = 0;
    for (uint32_t i = plan->stage_start[stage]; i < plan->stage_start[stage + 1]; i++)
        count += plan->ops[i].port == port || plan->ops[i].port == peer;
    return count;
}

/* Several ISLs come up. A plan for one of them must have exactly those writes of the whole plan
 * that concern this ISL. */
START_TEST(single_links_are_brought_up)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    carry_out(&w);
    ck_assert_uint_gt(init_links(&w, 0), 1);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1);
    while (!fab_fabric_isl_is_up(w.f, port))
        port++;
    uint32_t ends[2] = {port, fab_fabric_port(w.f, port)->peer}, writes = 0;
    struct fab_plan_input in = input_of(&w);
    struct fab_plan whole, one, none;
    ck_assert_int_eq(fab_plan_make(&in, &whole), FAB_OK);
    ck_assert_int_eq(fab_plan_make_links(&in, ends, 2, &one), FAB_OK);
    for (unsigned stage = 0; stage < FAB_STAGE_COUNT; stage++) {
        uint32_t here = one.stage_start[stage + 1] - one.stage_start[stage];
        ck_assert_uint_eq(ops_of_link(&one, stage, ends[0], ends[1]), here);
        if (stage == FAB_STAGE_ISLS || stage == FAB_STAGE_ISLS_UP)
            ck_assert_uint_eq(here, ops_of_link(&whole, stage, ends[0], ends[1]));
        else
            /* all other stages are empty: with one VL, no VL table changes */
            ck_assert_uint_eq(here, 0);
        writes += here;
    }
    ck_assert_uint_ge(writes, 2);
    ck_assert_uint_gt(whole.stage_start[FAB_STAGE_COUNT], writes);
    for (uint32_t i = 0; i < one.stage_start[FAB_STAGE_COUNT]; i++)
        apply(&w, &in, &one.ops[i]);
    for (unsigned end = 0; end < 2; end++)
        ck_assert_uint_eq(fab_fabric_port(w.f, ends[end])->info.port_state, FAB_STATE_ACTIVE);
    ck_assert_int_eq(fab_plan_make_links(&in, ends, 0, &none), FAB_OK);
    ck_assert_uint_eq(none.stage_start[FAB_STAGE_COUNT], 0);
    fab_plan_fini(&whole);
    fab_plan_fini(&one);
    fab_plan_fini(&none);
    world_fini(&w);
}
END_TEST

static uint32_t writes_of(const struct fab_plan *plan, enum fab_plan_stage stage, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t i = plan->stage_start[stage]; i < plan->stage_start[stage + 1]; i++)
        count += plan->ops[i].node == sw && plan->ops[i].attr_id == FAB_ATTR_LFT;
    return count;
}

/* A switch has not acknowledged an LFT write, so its blocks are doubtful. If the manager cannot
 * read them, the plan writes all of them. If in.restore is set, the plan first restores the entries
 * from before that write. */
START_TEST(doubtful_blocks_are_restored_first)
{
    struct world w = world_of(fat_tree(12, 2, 1), 0);
    struct fab_plan_input in = input_of(&w);
    uint8_t block[FAB_LFT_BLOCK];
    struct fab_plan plan;
    carry_out(&w);
    memcpy(block, fab_target_lft_row(&w.observed.lft, 3), sizeof(block));
    block[5] ^= 1;
    fab_plan_observed_set_block(&w.observed, 3, 0, block);
    fab_plan_observed_doubt(&w.observed, 3);
    ck_assert(!fab_plan_observed_is_known(&w.observed, 3, 0));
    ck_assert_uint_eq(fab_plan_observed_next_unknown(&w.observed, 3, 0, 2), 0);
    fab_plan_observed_presume(&w.observed);
    ck_assert(fab_plan_observed_is_known(&w.observed, 3, 0));
    ck_assert(!fab_plan_observed_is_doubtful(&w.observed, 4, 0));
    ck_assert_uint_eq(fab_plan_observed_next_unknown(&w.observed, 3, 0, 2), 0);
    ck_assert_uint_eq(fab_plan_observed_next_unknown(&w.observed, 4, 0, 2), 2);
    uint32_t blocks = w.observed.blocks;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert(!plan.restores);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_ROUTES, 3), blocks);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_COUNT], blocks);
    fab_plan_fini(&plan);
    in.restore = true;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    uint32_t early = plan.stage_start[FAB_STAGE_EARLY];
    ck_assert(plan.restores);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_EARLY + 1] - early, blocks);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_COUNT], blocks + 1);
    for (uint32_t i = 0; i < blocks; i++) {
        uint8_t data[FAB_SMP_DATA];
        uint32_t mod;
        const struct fab_plan_op *op = &plan.ops[early + i];
        ck_assert(op->restores && op->awaited && op->node == 3);
        ck_assert_int_eq(fab_plan_encode(&in, op, data, &mod), FAB_OK);
        ck_assert_uint_eq(mod, i);
        ck_assert_mem_eq(data, fab_target_lft_block(&w.observed.lft, 3, i), FAB_LFT_BLOCK);
    }
    fab_plan_fini(&plan);
    ck_assert_uint_eq(carry_out(&w), blocks);
    ck_assert(!fab_plan_observed_is_doubtful(&w.observed, 3, 0));
    ck_assert_uint_eq(carry_out(&w), 0);
    world_fini(&w);
}
END_TEST

/* A switch that has no Active link gets all its tables before its links come up. A switch with an
 * Active link carries packets, so its writes are ordered together with those of all other
 * switches. */
START_TEST(a_switch_that_is_cut_off_gets_its_tables_first)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    uint32_t own = fab_fabric_port_id(w.f, w.f->switch_count, 1);
    uint32_t far = fab_fabric_peer_node(w.f, own) == 0 ? 1 : 0;
    uint32_t blocks = fab_target_lft_blocks(&w.target->lft);
    struct fab_plan plan;
    w.f->self_port = own;
    carry_out(&w);
    struct fab_plan_input in = input_of(&w);
    uint32_t links = init_links(&w, far);
    ck_assert_uint_gt(links, 1);
    fab_plan_observed_forget(&w.observed, far);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_EARLY, far), blocks);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_ROUTES, far), 0);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_ISLS_UP + 1] - plan.stage_start[FAB_STAGE_ISLS_UP],
                      2 * links);
    ck_assert(!plan.early_mixes);
    fab_plan_fini(&plan);
    for (uint8_t num = 1; num <= w.f->nodes[far].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(w.f, far, num);
        if (!fab_fabric_isl_is_up(w.f, port))
            continue;
        fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_ACTIVE;
        fab_fabric_edit_port(w.f, fab_fabric_port(w.f, port)->peer)->info.port_state =
            FAB_STATE_ACTIVE;
        break;
    }
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_EARLY, far), 0);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_ROUTES, far), blocks);
    fab_plan_fini(&plan);
    carry_out(&w);
    assert_in_force(&w);
    world_fini(&w);
}
END_TEST

/* A link comes up. If in.hold is set, all entries into this link must drop packets until the link
 * is Active, even entries that the plan does not change. */
START_TEST(held_entries_drop_although_they_stay)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_plan plan;
    carry_out(&w);
    init_links(&w, 0);
    struct fab_plan_input in = input_of(&w);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(writes_of(&plan, FAB_STAGE_EARLY, 0), 0);
    fab_plan_fini(&plan);
    in.hold = true;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_gt(writes_of(&plan, FAB_STAGE_EARLY, 0), 0);
    for (uint32_t i = plan.stage_start[FAB_STAGE_EARLY]; i < plan.stage_start[FAB_STAGE_EARLY + 1];
         i++)
        apply(&w, &in, &plan.ops[i]);
    for (uint32_t lid = 0; lid <= w.target->lids.top; lid++) {
        uint8_t num = fab_target_lft_at(&w.observed.lft, 0, lid);
        ck_assert(num == 0 || num > w.f->nodes[0].num_ports ||
                  !fab_fabric_isl_is_up(w.f, fab_fabric_port_id(w.f, 0, num)));
    }
    fab_plan_fini(&plan);
    carry_out(&w);
    assert_in_force(&w);
    world_fini(&w);
}
END_TEST

START_TEST(a_changed_policy_tunes_ports_that_are_up)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_plan plan;
    carry_out(&w);
    w.policy.hoq_life = 0x0f;
    struct fab_plan_input in = input_of(&w);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_COUNT], 0);
    fab_plan_fini(&plan);
    in.tune = true;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    /* HOQLife concerns only ISLs: 8 leaves * 4 uplinks * 2 ports */
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_COUNT], 8 * 4 * 2);
    fab_plan_fini(&plan);
    world_fini(&w);
}
END_TEST

static struct fab_port_info written(const struct fab_plan_input *in, const struct fab_plan_op *op)
{
    struct fab_port_info info;
    uint8_t data[FAB_SMP_DATA];
    uint32_t mod;
    ck_assert_int_eq(fab_plan_encode(in, op, data, &mod), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &info),
                     FAB_OK);
    return info;
}

/* Each host whose link comes up is asked to register again, when its port becomes Armed. Hosts
 * whose links are up are asked only if in.ask is set. */
START_TEST(hosts_are_told_to_register_again)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_plan plan;
    uint32_t hosts = w.f->node_count - w.f->switch_count, armed = 0;
    for (uint32_t n = w.f->switch_count; n < w.f->node_count; n++)
        fab_fabric_edit_port(w.f, fab_fabric_port_id(w.f, n, 1))->info.cap_mask |= 1u << 25;
    fab_fabric_edit_port(w.f, fab_fabric_port_id(w.f, w.f->switch_count, 1))->info.cap_mask &=
        ~(1u << 25);
    struct fab_plan_input in = input_of(&w);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i++) {
        const struct fab_plan_op *op = &plan.ops[i];
        if (op->attr_id != FAB_ATTR_PORT_INFO || op->node < w.f->switch_count)
            continue;
        ck_assert_uint_eq(written(&in, op).client_reregister,
                          op->state == FAB_STATE_ARMED && op->node != w.f->switch_count);
        armed += op->state == FAB_STATE_ARMED;
    }
    ck_assert_uint_eq(armed, hosts);
    fab_plan_fini(&plan);
    carry_out(&w);
    in = input_of(&w);
    in.ask = true;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    /* one host does not have the capability IsClientReregistrationSupported */
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_COUNT], hosts - 1);
    for (uint32_t i = 0; i < hosts - 1; i++) {
        ck_assert_uint_eq(plan.ops[i].state, FAB_STATE_NOP);
        ck_assert_uint_eq(written(&in, &plan.ops[i]).client_reregister, 1);
    }
    fab_plan_fini(&plan);
    world_fini(&w);
}
END_TEST

/* A new master writes its LID as SM LID into all endports, and asks all hosts to register again. If
 * it already has the registrations with the former master, it asks only the hosts whose links were
 * down. */
START_TEST(hosts_of_the_former_master_need_not_register_again)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_plan plan;
    for (uint32_t n = w.f->switch_count; n < w.f->node_count; n++)
        fab_fabric_edit_port(w.f, fab_fabric_port_id(w.f, n, 1))->info.cap_mask |= 1u << 25;
    carry_out(&w);
    uint32_t hosts = w.f->node_count - w.f->switch_count;
    uint32_t down = fab_fabric_port_id(w.f, w.f->switch_count, 1);
    fab_fabric_edit_port(w.f, down)->info.port_state = FAB_STATE_INIT;
    for (uint32_t former = 0; former <= SM_LID; former += SM_LID) {
        struct fab_plan_input in = input_of(&w);
        in.sm_lid = SM_LID + 1;
        in.former_sm_lid = former;
        ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
        uint32_t asked = 0, told = 0;
        for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i++) {
            const struct fab_plan_op *op = &plan.ops[i];
            if (op->attr_id != FAB_ATTR_PORT_INFO || op->node < w.f->switch_count)
                continue;
            struct fab_port_info info = written(&in, op);
            ck_assert_uint_eq(info.sm_lid, SM_LID + 1);
            told += op->state != FAB_STATE_ACTIVE;
            asked += info.client_reregister;
        }
        ck_assert_uint_eq(told, hosts);
        ck_assert_uint_eq(asked, former == 0 ? hosts : 1);
        fab_plan_fini(&plan);
    }
    world_fini(&w);
}
END_TEST

START_TEST(knowledge_moves_by_guid)
{
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_builder *b = fab_fabric_builder_from(w.f);
    struct fab_observed moved;
    uint32_t ref;
    carry_out(&w);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, w.f->nodes[2].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    struct fab_fabric *now = sealed(b);
    uint32_t top = w.target->lids.top + 100;
    ck_assert_int_eq(fab_plan_observed_remap(&w.observed, w.f, now, top, &moved), FAB_OK);
    for (uint32_t sw = 0; sw < now->switch_count; sw++) {
        uint32_t old = sw < 2 ? sw : sw + 1;
        ck_assert(fab_plan_observed_is_known(&moved, sw, 0));
        ck_assert(!fab_plan_observed_is_known(&moved, sw, moved.blocks - 1));
        ck_assert_mem_eq(fab_target_lft_row(&moved.lft, sw),
                         fab_target_lft_row(&w.observed.lft, old), FAB_LFT_BLOCK);
    }
    fab_plan_observed_fini(&moved);
    fab_fabric_unref(now);
    world_fini(&w);
}
END_TEST

/* Returns a copy of f in which about a third of the nodes are missing, but never the first node. */
static struct fab_fabric *without_some(const struct fab_fabric *f, struct fab_prng *prng)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    for (uint32_t node = f->node_count; node-- > 1;)
        if (fab_base_prng_chance(prng, 0.3))
            ck_assert_int_eq(fab_fabric_builder_remove_node(b, node), FAB_OK);
    return sealed(b);
}

static void assert_same_knowledge(const struct fab_observed *a, const struct fab_observed *b,
                                  const struct fab_fabric *f)
{
    ck_assert_uint_eq(a->blocks, b->blocks);
    ck_assert_uint_eq(a->pkeys.count, b->pkeys.count);
    ck_assert_uint_eq(a->vls.ports, b->vls.ports);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (uint32_t block = 0; block < a->blocks; block++) {
            bool known = fab_plan_observed_is_known(a, sw, block);
            bool doubtful = fab_plan_observed_is_doubtful(a, sw, block);
            ck_assert(known == fab_plan_observed_is_known(b, sw, block));
            ck_assert(doubtful == fab_plan_observed_is_doubtful(b, sw, block));
            if (known || doubtful)
                ck_assert_mem_eq(fab_target_lft_block(&a->lft, sw, block),
                                 fab_target_lft_block(&b->lft, sw, block), FAB_LFT_BLOCK);
        }
    }
    for (uint32_t sw = f->switch_count; sw < a->lft.switch_count; sw++)
        ck_assert(!fab_plan_observed_is_known(a, sw, 0));
}

/* ---- knowledge of ports ---------------------------------------------------------------------- */

/* What the manager should know about each port, by node id in the whole fabric and port number: the
 * first P_Key, and the number of VLs. 0: unknown. */
struct port_marks {
    uint16_t pkey[64][64];
    uint8_t vls[64][64];
};

static void start_marks(struct fab_observed *o, const struct fab_fabric *at)
{
    struct fab_observed_vls *vls = &o->vls;
    vls->ports = at->port_count;
    vls->port = calloc(vls->ports + 1u, sizeof(*vls->port));
    vls->arb = calloc(2, sizeof(*vls->arb));
    vls->arbs = vls->arb_room = 2;
    vls->arb[1].limit = 9;
    vls->vl[0][0][3] = 5;
}

/* Gives a random port of the snapshot `at` a new first P_Key and a new number of VLs, and notes
 * both in *m. */
static void mark_port(struct port_marks *m, struct fab_observed *o, const struct fab_fabric *whole,
                      const struct fab_fabric *at, struct fab_prng *prng)
{
    uint32_t port = (uint32_t)fab_base_prng_below(prng, at->port_count);
    const struct fab_port *p = fab_fabric_port(at, port);
    uint32_t node = fab_fabric_node_by_guid(whole, at->nodes[p->node].guid);
    ck_assert(node < 64 && p->num < 64);
    uint16_t block[FAB_PKEY_BLOCK] = {(uint16_t)(1 + fab_base_prng_below(prng, 0x7fff))};
    m->pkey[node][p->num] = block[0];
    m->vls[node][p->num] = o->vls.port[port].vls = (uint8_t)(1 + fab_base_prng_below(prng, 8));
    ck_assert_int_eq(fab_target_blocks_put(&o->pkeys, port, 0, block), FAB_OK);
}

/* Checks that the manager still knows the values in *m after ports got new ids, and that it has
 * forgotten those of absent nodes. */
static void assert_marks(struct port_marks *m, const struct fab_observed *o,
                         const struct fab_fabric *whole, const struct fab_fabric *now)
{
    uint32_t known = 0;
    ck_assert_uint_eq(o->vls.ports, now->port_count);
    ck_assert_uint_eq(o->vls.arbs, 2);
    ck_assert_uint_eq(o->vls.arb[1].limit, 9);
    ck_assert_uint_eq(o->vls.vl[0][0][3], 5);
    for (uint32_t node = 0; node < whole->node_count; node++) {
        uint32_t id = fab_fabric_node_by_guid(now, whole->nodes[node].guid);
        for (uint32_t num = 0; num <= whole->nodes[node].num_ports; num++) {
            if (id == FAB_NONE) {
                m->pkey[node][num] = m->vls[node][num] = 0;
                continue;
            }
            uint32_t port = now->nodes[id].first_port + num;
            const uint16_t *block = fab_target_blocks_get(&o->pkeys, port, 0);
            ck_assert_uint_eq(block != NULL ? block[0] : 0, m->pkey[node][num]);
            ck_assert_uint_eq(o->vls.port[port].vls, m->vls[node][num]);
            known += block != NULL;
        }
    }
    ck_assert_uint_gt(known, 0);
}

START_TEST(knowledge_moves_in_place)
{
    struct fab_prng prng;
    struct port_marks marks = {0};
    struct world w = world_of(fat_tree(8, 2, 1), 0);
    struct fab_observed o;
    carry_out(&w);
    fab_base_prng_init(&prng, test_seed("moves in place", 41));
    /* the first snapshot lacks some switches, so the tables must grow later */
    struct fab_fabric *at = without_some(w.f, &prng);
    ck_assert_int_eq(fab_plan_observed_remap(&w.observed, w.f, at, w.observed.lft.top, &o), FAB_OK);
    start_marks(&o, at);
    for (unsigned i = 0; i < 50; i++) {
        struct fab_fabric *now =
            i % 3 == 2 ? sealed(fab_fabric_builder_from(w.f)) : without_some(w.f, &prng);
        struct fab_observed expected;
        uint32_t sw = (uint32_t)fab_base_prng_below(&prng, at->switch_count);
        uint8_t block[FAB_LFT_BLOCK];
        memset(block, (int)i, sizeof(block));
        fab_plan_observed_set_block(&o, sw, 0, block);
        for (unsigned k = 0; k < 20; k++)
            mark_port(&marks, &o, w.f, at, &prng);
        if (fab_base_prng_chance(&prng, 0.3))
            fab_plan_observed_presume(&o);
        if (fab_base_prng_chance(&prng, 0.5))
            fab_plan_observed_doubt(&o, (uint32_t)fab_base_prng_below(&prng, at->switch_count));
        ck_assert_int_eq(fab_plan_observed_remap(&o, at, now, o.lft.top, &expected), FAB_OK);
        ck_assert_int_eq(fab_plan_observed_move(&o, at, now), FAB_OK);
        ck_assert_uint_ge(o.lft.switch_count, now->switch_count);
        assert_same_knowledge(&o, &expected, now);
        assert_marks(&marks, &o, w.f, now);
        fab_plan_observed_fini(&expected);
        fab_fabric_unref(at);
        at = now;
    }
    fab_plan_observed_fini(&o);
    fab_fabric_unref(at);
    world_fini(&w);
}
END_TEST

/* Only one port of switch 0 has an ISL. The switch counts as connected while both ends of the ISL
 * are Armed or Active, whatever the number of this port. */
START_TEST(a_switch_is_joined_by_an_isl_on_any_port)
{
    for (uint32_t hosts = 0; hosts < 4; hosts++) {
        struct drawing *d = draw_new();
        draw_switch(d, hosts + 1);
        draw_switch(d, 4);
        draw_hosts(d, 0, hosts);
        draw_cable(d, 0, 1);
        struct fab_fabric *f = draw_done(d);
        uint32_t isl = FAB_NONE;
        for (uint32_t port = 0; port < f->port_count; port++) {
            struct fab_port_info *info = &fab_fabric_edit_port(f, port)->info;
            if (fab_fabric_port_is_up(f, port))
                info->port_state = FAB_STATE_ACTIVE;
            uint32_t peer = fab_fabric_peer_node(f, port);
            if (fab_fabric_port(f, port)->node == 0 && peer == 1)
                isl = port;
        }
        ck_assert_uint_ne(isl, FAB_NONE);
        ck_assert_uint_eq(fab_fabric_port(f, isl)->num, f->nodes[0].num_ports);
        ck_assert(fab_plan_lft_is_joined(f, 0));
        fab_fabric_edit_port(f, isl)->info.port_state = FAB_STATE_INIT;
        ck_assert(!fab_plan_lft_is_joined(f, 0));
        fab_fabric_unref(f);
    }
}
END_TEST

START_TEST(references_are_counted)
{
    struct fab_target *t = fab_target_new();
    ck_assert_ptr_eq(fab_target_ref(t), t);
    fab_target_unref(t);
    fab_target_unref(t);
    fab_target_unref(NULL);
}
END_TEST

/* ---- constraints that contradict each other -------------------------------------------------- */

/* Makes two constraints on the order of writes. Switch 10 must get entry 5 before switch 11 does.
 * Switch 11 must get the entry `other_entry` before switch 10 does. soft: the constraints may be
 * dropped. */
static void order_two(struct fab_lft_ordering *o, bool soft, uint8_t other_entry)
{
    static const uint32_t items[2] = {0, 1};
    const struct fab_plan_op ops[2] = {{.node = 10}, {.node = 11}};
    memset(o, 0, sizeof(*o));
    o->items = calloc(2, sizeof(*o->items));
    o->edges = calloc(2, sizeof(*o->edges));
    o->queue = calloc(2, sizeof(*o->queue));
    o->blocked = calloc(2, sizeof(*o->blocked));
    o->ops = ops;
    o->count = o->edge_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        o->items[i] = (struct fab_lft_ordering_item){
            .sw = 10 + i, .waits = 1, .edge = i, .changed = UINT64_C(1) << 5 | UINT64_C(1) << 9};
        o->edges[i] = (struct fab_lft_ordering_edge){.before = i,
                                                     .after = 1 - i,
                                                     .next = FAB_NONE,
                                                     .entry = i == 0 ? 5 : other_entry,
                                                     .soft = soft};
    }
    ck_assert_int_eq(fab_plan_lft_write_parts(o, items, 2), FAB_OK);
    o->ops = NULL;
}

/* Checks that each block is written in two parts, of which the first has only entry 9. */
static void assert_parts(const struct fab_lft_ordering *o, const uint32_t waves[4])
{
    ck_assert_uint_eq(o->part_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(o->parts[i].wave, waves[i]);
        ck_assert_uint_eq(o->parts[i].op.keep, i < 2 ? ~(UINT64_C(1) << 9) : 0);
    }
    ck_assert_uint_ne(o->parts[0].op.node, o->parts[1].op.node);
    ck_assert_uint_ne(o->parts[2].op.node, o->parts[3].op.node);
}

static void ordering_fini(struct fab_lft_ordering *o)
{
    free(o->items);
    free(o->edges);
    free(o->queue);
    free(o->blocked);
    free(o->parts);
}

/* Constraints of two entries can contradict each other. Then one block is written in two parts. Two
 * constraints of one entry can contradict each other, too. Soft ones are then dropped. Strict ones
 * would be an internal error: a block is written too early, and counted as unordered. */
START_TEST(contradictions_are_resolved)
{
    struct fab_lft_ordering o;
    order_two(&o, false, 9);
    ck_assert_uint_eq(o.part_count, 3);
    ck_assert_uint_eq(o.unordered, 0);
    ck_assert_uint_eq(o.parts[0].op.node, o.parts[2].op.node);
    ck_assert_uint_ne(o.parts[0].op.node, o.parts[1].op.node);
    ck_assert_uint_eq(o.parts[0].wave, 0);
    ck_assert_uint_eq(o.parts[1].wave, 1);
    ck_assert_uint_eq(o.parts[2].wave, 2);
    /* the first part has only entry 5, for which switch 11 waits */
    ck_assert_uint_eq(o.parts[0].op.keep, ~(UINT64_C(1) << 5));
    ck_assert_uint_eq(o.parts[1].op.keep, 0);
    ck_assert_uint_eq(o.parts[2].op.keep, 0);
    ordering_fini(&o);
    /* in both blocks, the two constraints of entry 5 contradict each other, and entry 9 has no
     * constraint */
    order_two(&o, true, 5);
    assert_parts(&o, (const uint32_t[]){0, 0, 1, 1});
    ck_assert_uint_eq(o.unordered, 0);
    ordering_fini(&o);
    order_two(&o, false, 5);
    assert_parts(&o, (const uint32_t[]){0, 0, 1, 2});
    ck_assert_uint_eq(o.unordered, 1);
    ordering_fini(&o);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_plan_brings_the_fabric_up_and_the_next_one_is_empty,
        each_port_is_written_twice_and_each_block_once,
        a_port_that_went_down_and_came_back_is_brought_up_alone,
        dead_cables_are_left_alone,
        only_blocks_that_differ_are_written,
        doubtful_blocks_are_restored_first,
        single_links_are_brought_up,
        stale_entries_drop_before_links_come_up,
        a_switch_that_is_cut_off_gets_its_tables_first,
        held_entries_drop_although_they_stay,
        a_changed_policy_tunes_ports_that_are_up,
        hosts_are_told_to_register_again,
        hosts_of_the_former_master_need_not_register_again,
        knowledge_moves_by_guid,
        knowledge_moves_in_place,
        a_switch_is_joined_by_an_isl_on_any_port,
        references_are_counted,
        contradictions_are_resolved,
    };
    Suite *suite = suite_create("plan");
    TCase *tcase = tcase_create("writes");
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
