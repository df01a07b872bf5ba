/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches leave random fabrics and come back. A repair session makes the tables, and the labels of
 * the repair decide the order of the LFT writes. The writes are applied one by one, in a random
 * order between two barriers. After each write, libfabmgr/verify checks the mixture: no loop, no
 * cycle, and a path for each pair that had one. If the switches hold other tables than the repair
 * assumes, fab_transition_order_by_repair must refuse.
 */
#include <string.h>

#include "libfabmgr/repair/session/session.h"
#include "libfabmgr/transition/plan_order.h"
#include "tests/unit/routing.h"

struct tally {
    uint32_t returns, ordered, in_steps, writes;
};

struct world {
    /* whole: the fabric without faults. part: the fabric while some switches are missing. back: the
     * fabric when they are back, and their links are in state Init. */
    struct fab_fabric *whole, *part, *back;
    struct fab_policy policy;
    struct fab_target *first, *without, *again;
    struct fab_repair_session session;
    struct fab_repair_delta d;
    struct fab_observed observed;
    struct fab_plan plan;
};

static uint32_t draw(struct fab_prng *prng, uint32_t bound)
{
    return (uint32_t)fab_base_prng_below(prng, bound);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

static void activate(struct fab_fabric *f)
{
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_port(f, port)->peer != FAB_NONE)
            fab_fabric_edit_port(f, port)->info.port_state = FAB_STATE_ACTIVE;
    f->self_port = f->nodes[f->switch_count].first_port + 1;
}

static struct fab_fabric *draw_fabric(struct fab_prng *prng)
{
    struct fab_fabric *f;
    switch (draw(prng, 3)) {
    case 0:
        f = fat_tree(4 + 2 * draw(prng, 2), 3, 1);
        break;
    case 1:
        f = grid((uint32_t[3]){3 + draw(prng, 2), 3, 1}, false, 1);
        break;
    default:
        f = random_fabric(6 + draw(prng, 8), 4, 12, fab_base_prng_next(prng));
    }
    activate(f);
    return f;
}

/* Returns the fabric without these switches and their hosts. The switch of the manager stays. */
static struct fab_fabric *remove_switches(const struct fab_fabric *f, const uint32_t gone[2])
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t own = fab_fabric_peer_node(f, f->self_port);
    for (uint32_t node = f->node_count; node-- > 0;) {
        bool goes = false;
        for (unsigned i = 0; i < 2; i++)
            goes |= gone[i] != own &&
                    (node == gone[i] ||
                     (node >= f->switch_count &&
                      fab_fabric_peer_node(f, f->nodes[node].first_port + 1) == gone[i]));
        if (goes)
            ck_assert_int_eq(fab_fabric_builder_remove_node(b, node), FAB_OK);
    }
    struct fab_fabric *part = sealed(b);
    activate(part);
    return part;
}

/* Returns a copy of the whole fabric. The links that `part` lacks are in state Init. */
static struct fab_fabric *returned(const struct fab_fabric *whole, const struct fab_fabric *part)
{
    struct fab_fabric *f = sealed(fab_fabric_builder_from(whole));
    activate(f);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE ||
            (fab_fabric_node_by_guid(part, f->nodes[fab_fabric_port(f, port)->node].guid) !=
                 FAB_NONE &&
             fab_fabric_node_by_guid(part, f->nodes[fab_fabric_port(f, peer)->node].guid) !=
                 FAB_NONE))
            continue;
        fab_fabric_edit_port(f, port)->info.port_state = FAB_STATE_INIT;
    }
    return f;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct fab_target *target_with_lids(const struct fab_fabric *f, const struct fab_fabric *as,
                                           const struct fab_lids *of)
{
    struct fab_target *t = fab_target_new();
    ck_assert_int_eq(fab_target_lids_init(&t->lids, f->port_count), FAB_OK);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t node = fab_fabric_node_by_guid(as, f->nodes[fab_fabric_port(f, port)->node].guid);
        t->lids.base[port] = of->base[fab_fabric_port_id(as, node, fab_fabric_port(f, port)->num)];
    }
    ck_assert_int_eq(fab_target_lids_index(&t->lids), FAB_OK);
    return t;
}

static bool make_tables(struct world *w)
{
    char why[200];
    struct fab_route_input in = {.fabric = w->whole, .policy = &w->policy, .lids = &w->first->lids};
    int r = fab_route_engine_by_name("updn")->run(&in, &w->first->lft, &w->first->vls, why,
                                                  sizeof(why));
    const struct fab_repair_input repair = {.fabric = w->whole,
                                            .policy = &w->policy,
                                            .lids = &w->first->lids,
                                            .lft = &w->first->lft,
                                            .vls = &w->first->vls};
    return r == FAB_OK && fab_repair_session_new(&repair, &w->session, why, sizeof(why)) == FAB_OK;
}

/* Fills in what the manager knows about tables. Switches that never left hold the repaired tables.
 * Nothing is known about the tables of switches that come back. */
static void observe(struct world *w)
{
    ck_assert_int_eq(fab_plan_observed_init(&w->observed, w->back->switch_count, w->again->lft.top),
                     FAB_OK);
    for (uint32_t sw = 0; sw < w->part->switch_count; sw++) {
        uint32_t to = fab_fabric_node_by_guid(w->back, w->part->nodes[sw].guid);
        for (uint32_t block = 0; block < fab_target_lft_blocks(&w->without->lft); block++)
            fab_plan_observed_set_block(&w->observed, to, block,
                                        fab_target_lft_block(&w->without->lft, sw, block));
    }
}

/* Makes a world in which two switches of the fabric f leave and return. Takes ownership of f. */
static bool world_make(struct world *w, struct fab_fabric *f, const uint32_t gone[2])
{
    memset(w, 0, sizeof(*w));
    fab_policy_defaults(&w->policy);
    w->policy.max_op_vls = 1;
    w->whole = f;
    w->part = remove_switches(w->whole, gone);
    w->back = returned(w->whole, w->part);
    w->first = fab_target_new();
    assigned(w->whole, &w->policy, &w->first->lids);
    w->without = target_with_lids(w->part, w->whole, &w->first->lids);
    w->again = target_with_lids(w->back, w->whole, &w->first->lids);
    if (!make_tables(w) ||
        fab_repair_session_update(&w->session, w->first, w->part, w->without) != FAB_OK ||
        fab_repair_session_update(&w->session, w->without, w->back, w->again) != FAB_OK)
        return false;
    ck_assert(fab_target_lft_same(&w->first->lft, &w->again->lft));
    fab_repair_session_take_last(&w->session, &w->d);
    observe(w);
    return true;
}

static bool world_init(struct world *w, struct fab_prng *prng)
{
    struct fab_fabric *f = draw_fabric(prng);
    return world_make(w, f,
                      (uint32_t[2]){draw(prng, f->switch_count), draw(prng, f->switch_count)});
}

static void world_fini(struct world *w)
{
    fab_plan_fini(&w->plan);
    fab_plan_observed_fini(&w->observed);
    fab_repair_delta_fini(&w->d);
    fab_repair_session_fini(&w->session);
    fab_target_unref(w->first);
    fab_target_unref(w->without);
    fab_target_unref(w->again);
    fab_fabric_unref(w->whole);
    fab_fabric_unref(w->part);
    fab_fabric_unref(w->back);
    fab_policy_fini(&w->policy);
}

static struct fab_plan_input input(struct world *w)
{
    return (struct fab_plan_input){.fabric = w->back,
                                   .policy = &w->policy,
                                   .target = w->again,
                                   .observed = &w->observed,
                                   .sm_lid = w->again->lids.base[w->back->self_port]};
}

static int order(struct world *w, struct fab_transition_outcome *ret)
{
    const struct fab_plan_input in = input(w);
    fab_plan_fini(&w->plan);
    ck_assert_int_eq(fab_plan_make(&in, &w->plan), FAB_OK);
    return fab_transition_order_by_repair(&in, &w->again->vls, &w->d, &w->plan, ret);
}

/* ---- the writes ------------------------------------------------------------------------------ */

static void apply(const struct world *w, const struct fab_plan_op *op, struct fab_lft *at)
{
    uint8_t *to = fab_target_lft_row(at, op->node) + (size_t)op->block * FAB_LFT_BLOCK;
    const uint8_t *want = fab_target_lft_block(&w->again->lft, op->node, op->block);
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++) {
        if ((op->drain >> i & 1) != 0)
            to[i] = FAB_LFT_NO_ROUTE;
        else if ((op->keep >> i & 1) == 0)
            to[i] = want[i];
    }
}

static struct fab_transition_judgement judge(const struct world *w, const struct fab_lft *at)
{
    struct fab_transition_judgement j;
    ck_assert_int_eq(fab_transition_judge(w->whole, &w->again->lids, at, NULL, NULL, &j), FAB_OK);
    ck_assert(!j.loop);
    ck_assert(!j.cycle);
    return j;
}

/* Applies the writes of one stage, in a random order between two barriers. judged: checks the
 * mixture after each write. */
static void carry_out(const struct world *w, enum fab_plan_stage stage, bool judged,
                      struct fab_prng *prng, struct fab_lft *at)
{
    uint32_t end = w->plan.stage_start[stage + 1];
    uint64_t lost = judged ? judge(w, at).unreachable : 0;
    for (uint32_t i = w->plan.stage_start[stage], next; i < end; i = next) {
        for (next = i + 1; next < end && !w->plan.ops[next].barrier;)
            next++;
        uint32_t *pick = calloc(next - i, sizeof(*pick));
        for (uint32_t k = 0; k < next - i; k++)
            pick[k] = i + k;
        fab_base_prng_shuffle(prng, pick, next - i);
        for (uint32_t k = 0; k < next - i; k++) {
            apply(w, &w->plan.ops[pick[k]], at);
            uint64_t now = judged ? judge(w, at).unreachable : 0;
            ck_assert_uint_le(now, lost);
            lost = now;
        }
        free(pick);
    }
}

static void check(struct world *w, struct fab_prng *prng)
{
    struct fab_lft at;
    ck_assert_int_eq(fab_target_lft_copy(&w->observed.lft, &at), FAB_OK);
    carry_out(w, FAB_STAGE_EARLY, false, prng, &at);
    carry_out(w, FAB_STAGE_ROUTES, true, prng, &at);
    ck_assert(fab_target_lft_same(&at, &w->again->lft));
    fab_target_lft_fini(&at);
}

/* The plan has the steps of the repair, with a barrier between each two of them. Its order replaces
 * the order that fab_plan_make found, or did not find. */
static void assert_steps(const struct world *w, const struct fab_transition_outcome *o)
{
    uint32_t first = w->plan.stage_start[FAB_STAGE_ROUTES], barriers = 0;
    for (uint32_t i = first; i < w->plan.stage_start[FAB_STAGE_ROUTES + 1]; i++)
        barriers += i > first && w->plan.ops[i].barrier;
    if (o->steps > 1) {
        ck_assert(w->plan.stepwise);
        ck_assert_uint_eq(barriers, o->steps - 1);
    }
    ck_assert_uint_eq(w->plan.unordered, 0);
    ck_assert(!w->plan.unchecked);
}

static void tally_one(struct fab_prng *prng, struct tally *tally)
{
    struct fab_transition_outcome o;
    struct world w;
    if (world_init(&w, prng)) {
        tally->returns++;
        int r = order(&w, &o);
        ck_assert(r == FAB_OK || r == FAB_E_NOT_FOUND);
        if (r == FAB_OK) {
            tally->ordered++;
            tally->in_steps += o.steps > 1;
            tally->writes +=
                w.plan.stage_start[FAB_STAGE_ROUTES + 1] - w.plan.stage_start[FAB_STAGE_ROUTES];
            ck_assert(fab_transition_outcome_proved(&o));
            ck_assert_uint_eq(o.lost_pairs, 0);
            assert_steps(&w, &o);
            check(&w, prng);
        }
    }
    world_fini(&w);
}

START_TEST(switches_return)
{
    struct fab_prng prng;
    struct tally tally = {0};
    unsigned rounds = test_rounds(60);
    fab_base_prng_init(&prng, test_seed("switches return", 31));
    for (unsigned i = 0; i < rounds; i++)
        tally_one(&prng, &tally);
    printf("# %u returns, %u ordered by labels, %u in steps, %u writes\n", tally.returns,
           tally.ordered, tally.in_steps, tally.writes);
    ck_assert_uint_gt(tally.returns, rounds / 2);
    ck_assert_uint_gt(tally.ordered, tally.returns / 3);
}
END_TEST

/* Tries random fabrics until switches come back with LFT writes that the repair has ordered. */
static void find_one(struct world *w, struct fab_prng *prng)
{
    struct fab_transition_outcome o;
    while (!world_init(w, prng) || order(w, &o) != FAB_OK || o.steps == 0)
        world_fini(w);
}

START_TEST(other_tables_are_refused)
{
    struct fab_prng prng;
    struct fab_transition_outcome o;
    fab_base_prng_init(&prng, test_seed("other tables", 32));
    for (unsigned i = 0; i < 10; i++) {
        struct world w;
        find_one(&w, &prng);
        uint32_t first = w.plan.stage_start[FAB_STAGE_ROUTES];
        uint32_t count = w.plan.stage_start[FAB_STAGE_ROUTES + 1] - first;
        const struct fab_plan_op op = w.plan.ops[first + draw(&prng, count)];
        uint8_t block[FAB_LFT_BLOCK];
        memcpy(block, fab_target_lft_block(&w.observed.lft, op.node, op.block), sizeof(block));
        block[draw(&prng, FAB_LFT_BLOCK)] ^= 1;
        uint8_t good[FAB_LFT_BLOCK];
        memcpy(good, fab_target_lft_block(&w.observed.lft, op.node, op.block), sizeof(good));
        fab_plan_observed_set_block(&w.observed, op.node, op.block, block);
        ck_assert_int_eq(order(&w, &o), FAB_E_NOT_FOUND);
        fab_plan_observed_set_block(&w.observed, op.node, op.block, good);
        ck_assert_int_eq(order(&w, &o), FAB_OK);
        fab_plan_observed_forget(&w.observed, op.node);
        ck_assert_int_eq(order(&w, &o), FAB_E_NOT_FOUND);
        world_fini(&w);
    }
}
END_TEST

/* The labels of a repair apply to tables with the same VLs. */
START_TEST(other_vls_are_refused)
{
    struct fab_prng prng;
    struct fab_transition_outcome o;
    struct world w;
    fab_base_prng_init(&prng, test_seed("other VLs", 35));
    find_one(&w, &prng);
    const struct fab_plan_input in = input(&w);
    const struct fab_vls one = w.again->vls;
    struct fab_vls two = one;
    ck_assert_uint_le(one.count, 1);
    two.count = 2;
    fab_plan_fini(&w.plan);
    ck_assert_int_eq(fab_plan_make(&in, &w.plan), FAB_OK);
    ck_assert_int_eq(fab_transition_order_by_repair(&in, &two, &w.d, &w.plan, &o), FAB_E_NOT_FOUND);
    w.again->vls.count = 2;
    ck_assert_int_eq(fab_transition_order_by_repair(&in, &one, &w.d, &w.plan, &o), FAB_E_NOT_FOUND);
    w.again->vls.count = one.count;
    ck_assert_int_eq(fab_transition_order_by_repair(&in, &one, &w.d, &w.plan, &o), FAB_OK);
    world_fini(&w);
}
END_TEST

START_TEST(a_repair_that_drains_is_refused)
{
    struct fab_prng prng;
    struct fab_transition_outcome o;
    struct world w;
    fab_base_prng_init(&prng, test_seed("drains", 33));
    find_one(&w, &prng);
    struct fab_repair_write *last = &w.d.write[w.d.writes - 1];
    last->drain = 1;
    ck_assert_int_eq(order(&w, &o), FAB_E_NOT_FOUND);
    last->drain = 0;
    w.d.paused = 1;
    ck_assert_int_eq(order(&w, &o), FAB_E_NOT_FOUND);
    w.d.paused = 0;
    ck_assert_int_eq(order(&w, &o), FAB_OK);
    fab_repair_delta_fini(&w.d);
    ck_assert_int_eq(order(&w, &o), FAB_E_NOT_FOUND);
    world_fini(&w);
}
END_TEST

/* Returns a switch next to the root of the up/down order. */
static uint32_t next_to_root(const struct fab_fabric *f)
{
    struct fab_policy policy;
    struct fab_ranks ranks;
    uint32_t root = 0, port;
    fab_policy_defaults(&policy);
    ck_assert_int_eq(fab_route_ranks_of_tree(f, &policy, &ranks), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        root = ranks.order[sw] > ranks.order[root] ? sw : root;
    for (port = f->nodes[root].first_port + 1;
         !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, port));)
        port++;
    fab_route_ranks_fini(&ranks);
    fab_policy_fini(&policy);
    return fab_fabric_peer_node(f, port);
}

/* While a spine next to the root of the order is missing, its plane is connected over a leaf switch
 * of another pod. When it returns, entries that lead over this leaf switch are stale: they must
 * drop packets before the links come up. No endport sends to an endport through them. */
START_TEST(a_spine_next_to_the_root_returns)
{
    struct fab_prng prng;
    struct fab_transition_outcome o;
    struct world w;
    fab_base_prng_init(&prng, test_seed("a spine next to the root", 34));
    struct fab_fabric *f = fat_tree(6, 3, 1);
    activate(f);
    uint32_t spine = next_to_root(f);
    ck_assert(world_make(&w, f, (uint32_t[2]){spine, spine}));
    ck_assert(!w.session.leaves_out);
    ck_assert_uint_gt(w.d.drained, 0);
    ck_assert_int_eq(order(&w, &o), FAB_OK);
    ck_assert_int_eq(o.verdict, FAB_TRANSITION_DRAINS);
    ck_assert_uint_gt(o.drained, 0);
    ck_assert(w.plan.restores);
    uint32_t drains = 0;
    for (uint32_t i = w.plan.stage_start[FAB_STAGE_EARLY];
         i < w.plan.stage_start[FAB_STAGE_EARLY + 1]; i++) {
        if (w.plan.ops[i].restores) {
            ck_assert(w.plan.ops[i].drain != 0 && w.plan.ops[i].awaited);
            drains++;
        }
    }
    ck_assert_uint_gt(drains, 0);
    for (uint32_t i = w.plan.stage_start[FAB_STAGE_ROUTES];
         i < w.plan.stage_start[FAB_STAGE_ROUTES + 1]; i++)
        ck_assert(w.plan.ops[i].waits);
    assert_steps(&w, &o);
    check(&w, &prng);
    world_fini(&w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("transition_by_repair");
    TCase *t = tcase_create("transition_by_repair");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, switches_return);
    tcase_add_test(t, other_tables_are_refused);
    tcase_add_test(t, other_vls_are_refused);
    tcase_add_test(t, a_repair_that_drains_is_refused);
    tcase_add_test(t, a_spine_next_to_the_root_returns);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
