/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of LFT writes. Trees, rings and random fabrics lose links and switches and get them
 * back. Each time, the writes are applied one by one, in an order that the plan permits. After
 * every write, the mixture of old and new entries must have no loop and no cycle of channel
 * dependencies, and pairs that had a path must still have one.
 *
 * The test "proved" uses the order that libfabmgr/transition computes. In this order, no mixture
 * may have a cycle, even if some tables are unknown.
 */
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/transition/plan_order.h"
#include "tests/unit/naive.h"
#include "tests/unit/routing.h"

struct change {
    const struct fab_fabric *f; /* the fabric as it is during the change */
    struct fab_target *target;
    struct fab_observed at; /* the tables that the switches hold at present */
    struct fab_plan plan;
    /* the LFT writes are plan.ops[from] to plan.ops[to - 1] */
    uint32_t from, to;
};
struct tally {
    /* true: the writes are applied in the reverse order of the plan, which must fail */
    bool backwards;
    bool proved; /* true: libfabmgr/transition computes the order of the writes */
    uint32_t drained, replaced, unproved;
    uint32_t changes, writes, waits, parts, unordered, loops, losses, cycles, checked;
};

/* ---- paths through the mixture -------------------------------------------------------------- */

enum { ARRIVES = 0, DROPPED = 1, LOOPS = 2 };

static int walk(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t sw, uint32_t lid,
                uint32_t owner)
{
    for (uint32_t hops = 0; hops <= f->switch_count; hops++) {
        uint8_t entry = fab_target_lft_at(lft, sw, lid);
        uint32_t port = fab_fabric_port_id(f, sw, entry > f->nodes[sw].num_ports ? 0 : entry);
        if (entry == 0 || entry > f->nodes[sw].num_ports)
            return entry == 0 && port == owner ? ARRIVES : DROPPED;
        if (!fab_fabric_port_is_up(f, port))
            return DROPPED;
        if (fab_fabric_port(f, port)->peer == owner)
            return ARRIVES;
        sw = fab_fabric_peer_node(f, port);
        if (!fab_fabric_node_is_switch(f, sw))
            return DROPPED;
    }
    return LOOPS;
}

/* Follows packets from each switch to the LIDs `first` to `last` by the present tables. Stores
 * whether they arrive, are dropped or loop. */
static void look(const struct change *c, uint32_t first, uint32_t last, uint8_t *ret_fate)
{
    const struct fab_lids *lids = &c->target->lids;
    for (uint32_t lid = first; lid <= last && lid <= lids->top; lid++)
        for (uint32_t sw = 0; sw < c->f->switch_count; sw++)
            ret_fate[(size_t)sw * c->at.lft.stride + lid] =
                lids->owner[lid] == FAB_NONE
                    ? DROPPED
                    : (uint8_t)walk(c->f, &c->at.lft, sw, lid, lids->owner[lid]);
}

/* ---- applying a plan ------------------------------------------------------------------------ */

/* Returns true if write i may take effect next, by the rules of the plan. done[]: the writes that
 * have taken effect. */
static bool may_go(const struct change *c, const bool *done, uint32_t i)
{
    /* true: there is a barrier between write k and write i */
    bool behind = false;
    for (uint32_t k = i + 1; k-- > c->from;) {
        if (behind && c->plan.ops[k].awaited && !done[k])
            return false;
        behind = behind || c->plan.ops[k].barrier;
    }
    return true;
}

static uint32_t draw_next(const struct change *c, const bool *done, struct fab_prng *prng,
                          bool in_order)
{
    uint32_t drawn = FAB_NONE, seen = 0;
    for (uint32_t i = c->from; i < c->to; i++) {
        if (done[i] || !may_go(c, done, i))
            continue;
        if (in_order)
            return i;
        if (fab_base_prng_below(prng, ++seen) == 0)
            drawn = i;
    }
    return drawn;
}

static bool has_cycle(const struct change *c)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = c->f, .lids = &c->target->lids, .lft = &c->at.lft, .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    bool cycle = !v.deadlock_free && v.witness.kind != FAB_E_LOOP;
    fab_verify_verdict_fini(&v);
    return cycle;
}

static void judge(struct change *c, const struct fab_plan_op *op, const uint8_t *before,
                  uint8_t *fate, struct tally *t)
{
    uint32_t first = op->block * FAB_LFT_BLOCK, loops = 0, losses = 0;
    look(c, first, first + FAB_LFT_BLOCK - 1, fate);
    for (uint32_t lid = first; lid < first + FAB_LFT_BLOCK && lid <= c->target->lids.top; lid++) {
        for (uint32_t sw = 0; sw < c->f->switch_count; sw++) {
            size_t i = (size_t)sw * c->at.lft.stride + lid;
            int now = fate[i];
            loops += now == LOOPS;
            losses += now != ARRIVES && before[i] == ARRIVES &&
                      walk(c->f, &c->target->lft, sw, lid, c->target->lids.owner[lid]) == ARRIVES;
        }
    }
    t->loops += loops > 0;
    t->losses += losses > 0;
}

static void apply(struct change *c, const struct fab_plan_op *op)
{
    struct fab_plan_input in = {.fabric = c->f, .target = c->target, .observed = &c->at};
    uint8_t data[FAB_SMP_DATA];
    uint32_t attr_mod;
    ck_assert_int_eq(fab_plan_encode(&in, op, data, &attr_mod), FAB_OK);
    ck_assert_uint_eq(attr_mod, op->block);
    fab_plan_observed_set_block(&c->at, op->node, op->block, data);
}

/* Applies all writes. in_order: in the order of the plan; otherwise in a random order that the plan
 * permits, as if devices answered at different times. */
static void carry_out(struct change *c, struct fab_prng *prng, bool in_order, struct tally *t)
{
    size_t size = c->at.lft.stride * c->f->switch_count;
    uint8_t *before = calloc(size, 1), *fate = calloc(size, 1);
    bool *done = calloc(c->to + 1u, sizeof(*done));
    look(c, 0, c->target->lids.top, before);
    memcpy(fate, before, size);
    for (uint32_t n = c->from; n < c->to; n++) {
        uint32_t i = t->backwards ? c->to - 1 - (n - c->from) : draw_next(c, done, prng, in_order);
        ck_assert_uint_ne(i, FAB_NONE);
        const struct fab_plan_op *op = &c->plan.ops[i];
        done[i] = true;
        apply(c, op);
        judge(c, op, before, fate, t);
        if (n % 4 == 0 || t->proved) {
            t->cycles += has_cycle(c);
            t->checked++;
        }
        t->writes++;
        t->waits += op->barrier;
    }
    if (!t->backwards)
        ck_assert_mem_eq(c->at.lft.entries, c->target->lft.entries, size);
    free(before);
    free(fate);
    free(done);
}

static struct fab_target *tables_of(const struct fab_fabric *f, const char *engine)
{
    struct fab_policy p;
    struct fab_target *t = fab_target_new();
    char why[160] = "";
    fab_policy_defaults(&p);
    assigned(f, &p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
    int status = fab_route_engine_by_name(engine)->run(&in, &t->lft, &t->vls, why, sizeof(why));
    fab_policy_fini(&p);
    if (status == FAB_OK)
        return t;
    ck_assert_int_eq(status, FAB_E_UNSUPPORTED);
    fab_target_unref(t);
    return NULL;
}

/* Marks the tables of a switch as unknown. */
static void forget_one(struct change *c, struct fab_prng *prng)
{
    uint8_t none[FAB_LFT_BLOCK];
    uint32_t sw = (uint32_t)fab_base_prng_below(prng, c->f->switch_count);
    memset(none, FAB_LFT_NO_ROUTE, sizeof(none));
    for (uint32_t block = 0; block < c->at.blocks; block++)
        fab_plan_observed_set_block(&c->at, sw, block, none);
    fab_plan_observed_forget(&c->at, sw);
}

static bool order_by_transition(struct change *c, struct tally *t)
{
    const struct fab_transition_effort effort = {0};
    struct fab_transition_outcome o;
    struct fab_plan_input in = {
        .fabric = c->f, .target = c->target, .observed = &c->at, .sm_lid = 1};
    uint32_t before = c->to;
    ck_assert_int_eq(fab_transition_order_plan(&in, NULL, &effort, &c->plan, &o), FAB_OK);
    c->to = c->plan.stage_start[FAB_STAGE_ROUTES + 1];
    t->replaced += c->to != before;
    t->drained += o.drained;
    t->unproved += !fab_transition_outcome_proved(&o);
    ck_assert((o.lost_pairs > 0) == (c->plan.lossy_end > 0));
    return fab_transition_outcome_proved(&o) && o.lost_pairs == 0;
}

static void plan(struct change *c)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_plan_input in = {
        .fabric = c->f, .policy = &p, .target = c->target, .observed = &c->at, .sm_lid = 1};
    ck_assert_int_eq(fab_plan_make(&in, &c->plan), FAB_OK);
    c->from = c->plan.stage_start[FAB_STAGE_ROUTES];
    c->to = c->plan.stage_start[FAB_STAGE_ROUTES + 1];
    fab_policy_fini(&p);
}

static uint32_t extra(const struct change *c)
{
    uint32_t parts = 0;
    for (uint32_t i = c->from; i < c->to; i++)
        parts += c->plan.ops[i].keep != 0;
    return parts;
}

/* Computes tables for `old` and for `now`, two fabrics with the same nodes. Makes and applies a
 * plan that changes the old tables into the new ones. */
static void go(const struct fab_fabric *old, const struct fab_fabric *now, const char *engine,
               struct fab_prng *prng, struct tally *t)
{
    struct fab_target *was = tables_of(old, engine), *is = tables_of(now, engine);
    if (was != NULL && is != NULL) {
        struct change c = {.f = now, .target = is};
        ck_assert_uint_eq(was->lids.top, is->lids.top);
        ck_assert_int_eq(fab_plan_observed_init(&c.at, now->switch_count, is->lids.top), FAB_OK);
        for (uint32_t sw = 0; sw < now->switch_count; sw++)
            for (uint32_t block = 0; block < c.at.blocks; block++)
                fab_plan_observed_set_block(
                    &c.at, sw, block, fab_target_lft_row(&was->lft, sw) + block * FAB_LFT_BLOCK);
        if (t->proved && fab_base_prng_chance(prng, 0.2))
            forget_one(&c, prng);
        plan(&c);
        ck_assert(!c.plan.unchecked);
        uint32_t losses = t->losses;
        bool keeps = !t->proved || order_by_transition(&c, t);
        t->changes++;
        t->parts += extra(&c);
        t->unordered += c.plan.unordered;
        carry_out(&c, prng, fab_base_prng_chance(prng, 0.3), t);
        if (!keeps)
            t->losses = losses;
        fab_plan_fini(&c.plan);
        fab_plan_observed_fini(&c.at);
    }
    fab_target_unref(was);
    fab_target_unref(is);
}

/* Returns a copy of f in which some links have failed, but with the same nodes and LIDs. lone:
 * exactly one link; otherwise several links, or all links of a switch. */
static struct fab_fabric *with_faults(const struct fab_fabric *f, struct fab_prng *prng, bool lone)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    double rate = (double)(1 + fab_base_prng_below(prng, 4)) / (f->link_count + 1.0);
    uint32_t dead = FAB_NONE, lost = FAB_NONE, seen = 0;
    if (fab_base_prng_chance(prng, 0.3))
        dead = (uint32_t)fab_base_prng_below(prng, f->switch_count);
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        if (!naive_is_channel(f, port))
            continue;
        if (fab_base_prng_below(prng, ++seen) == 0)
            lost = port;
        if (!lone && (p->node == dead || fab_base_prng_chance(prng, rate)))
            ck_assert_int_eq(fab_fabric_builder_unlink(b, p->node, p->num), FAB_OK);
    }
    if (lone && lost != FAB_NONE)
        ck_assert_int_eq(fab_fabric_builder_unlink(b, fab_fabric_port(f, lost)->node,
                                                   fab_fabric_port(f, lost)->num),
                         FAB_OK);
    return sealed(b);
}

/* Sets all links to Active. Otherwise the plan would take links to Active, and would first make the
 * entries that lead into these links drop packets. */
static void activate(struct fab_fabric *f)
{
    for (uint32_t port = 0; port < f->port_count; port++)
        fab_fabric_edit_port(f, port)->info.port_state = FAB_STATE_ACTIVE;
}

/* Plans and applies three changes: some links fail, more links fail, all links return. lone: in the
 * last change, only the links of the second change return. */
static void there_and_back(struct fab_fabric *f, const char *engine, struct fab_prng *prng,
                           bool lone, struct tally *t)
{
    struct fab_fabric *broken = with_faults(f, prng, lone);
    struct fab_fabric *worse = with_faults(broken, prng, lone);
    if (t->proved) {
        activate(f);
        activate(broken);
        activate(worse);
    }
    go(f, broken, engine, prng, t);
    go(broken, worse, engine, prng, t);
    go(worse, lone ? broken : f, engine, prng, t);
    fab_fabric_unref(broken);
    fab_fabric_unref(worse);
    fab_fabric_unref(f);
}

static void report(const char *what, const struct tally *t)
{
    printf("# %s: %u changes, %u writes, %u waits, %u of them parts of a block, %u without an "
           "order; after %u writes a "
           "circle, "
           "after %u a loss; %u of %u mixtures had a cycle of channels\n",
           what, t->changes, t->writes, t->waits, t->parts, t->unordered, t->loops, t->losses,
           t->cycles, t->checked);
    fflush(stdout);
}

static struct fab_fabric *draw_a_tree(struct fab_prng *prng)
{
    static const uint32_t shapes[][2] = {{4, 3}, {6, 3}, {8, 2}, {4, 4}, {12, 2}};
    const uint32_t *shape = shapes[fab_base_prng_below(prng, 5)];
    return fat_tree(shape[0], shape[1], 1);
}

static void assert_safe(const char *what, const struct tally *t)
{
    report(what, t);
    ck_assert_uint_gt(t->changes, 0);
    ck_assert_uint_eq(t->loops, 0);
    ck_assert_uint_eq(t->losses, 0);
    ck_assert_uint_eq(t->unordered, 0);
}

START_TEST(trees)
{
    static const char *const engines[] = {"fattree", "updn"};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("order of writes on trees", 51));
    for (unsigned e = 0; e < 4; e++) {
        struct tally t = {0};
        char what[80];
        for (unsigned i = 0; i < 40; i++)
            there_and_back(draw_a_tree(&prng), engines[e % 2], &prng, e < 2, &t);
        snprintf(what, sizeof(what), "%s, %s", engines[e % 2], e < 2 ? "lone cables" : "many");
        assert_safe(what, &t);
    }
}
END_TEST

/* Trees whose switches have random ids. Mixed paths over old and new entries can go down and then
 * up again, which makes cycles possible. Nothing else prevents cycles here, so the plan must avoid
 * such paths where it can. It can know the direction only by the ranks of the switches, not by
 * their ids. Then few mixtures have a cycle. */
START_TEST(trees_numbered_at_random)
{
    struct fab_prng prng;
    struct tally t = {0};
    fab_base_prng_init(&prng, test_seed("order of writes on trees numbered at random", 54));
    for (unsigned i = 0; i < 60; i++) {
        static const uint32_t shapes[][2] = {{4, 3}, {6, 3}, {4, 4}};
        const uint32_t *shape = shapes[fab_base_prng_below(&prng, 3)];
        struct fab_fabric *plain = fat_tree(shape[0], shape[1], 1);
        struct fab_builder *b = NULL;
        const struct fab_variation v = {.shuffle_guids = true, .seed = i};
        ck_assert_int_eq(fab_fabric_generate_variation(plain, &v, &b), FAB_OK);
        fab_fabric_unref(plain);
        there_and_back(sealed(b), "updn", &prng, false, &t);
    }
    assert_safe("updn, numbered at random", &t);
    ck_assert_uint_lt(t.cycles * 6, t.checked);
}
END_TEST

static uint32_t port_to(const struct fab_fabric *f, uint32_t sw, uint32_t to)
{
    uint32_t port = f->nodes[sw].first_port + 1;
    while (fab_fabric_peer_node(f, port) != to)
        port++;
    return port;
}

/* A leaf sends the packets for a LID to a spine. The new entry of the spine drops them, and the new
 * entry of the leaf uses another spine. So the leaf must be written first. */
START_TEST(what_will_be_dropped_is_left_first)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("order before a drop", 55));
    for (unsigned i = 0; i < 20; i++) {
        struct fab_fabric *f = leaf_spine(2, 2, 1);
        struct fab_target *was = tables_of(f, "updn"), *is = tables_of(f, "updn");
        struct change c = {.f = f, .target = is};
        struct tally t = {0};
        uint32_t host = f->switch_count,
                 leaf = fab_fabric_peer_node(f, f->nodes[host].first_port + 1);
        uint32_t lid = is->lids.base[fab_fabric_port_id(f, host + 1, 1)];
        uint32_t spine = fab_fabric_peer_node(
            f, fab_fabric_port_id(f, leaf, fab_target_lft_at(&was->lft, leaf, lid)));
        uint32_t other = 0;
        while (other == spine || f->nodes[other].num_ports == f->nodes[leaf].num_ports)
            other++;
        ck_assert_uint_lt(other, f->switch_count);
        fab_target_lft_row(&is->lft, leaf)[lid] = fab_fabric_port(f, port_to(f, leaf, other))->num;
        fab_target_lft_row(&is->lft, spine)[lid] = FAB_LFT_NO_ROUTE;
        ck_assert_int_eq(fab_plan_observed_init(&c.at, f->switch_count, is->lids.top), FAB_OK);
        for (uint32_t sw = 0; sw < f->switch_count; sw++)
            for (uint32_t block = 0; block < c.at.blocks; block++)
                fab_plan_observed_set_block(
                    &c.at, sw, block, fab_target_lft_row(&was->lft, sw) + block * FAB_LFT_BLOCK);
        plan(&c);
        ck_assert_uint_eq(c.to - c.from, 2);
        ck_assert_uint_eq(c.plan.ops[c.from].node, leaf);
        ck_assert_uint_eq(c.plan.ops[c.from + 1].node, spine);
        ck_assert(c.plan.ops[c.from + 1].barrier);
        carry_out(&c, &prng, false, &t);
        ck_assert_uint_eq(t.losses, 0);
        fab_plan_fini(&c.plan);
        fab_plan_observed_fini(&c.at);
        fab_target_unref(was);
        fab_target_unref(is);
        fab_fabric_unref(f);
    }
}
END_TEST

/* Applies the writes in the reverse order of the plan. The checks of this test must then find loops
 * and lost paths. */
START_TEST(a_bad_order_is_seen)
{
    struct fab_prng prng;
    struct tally t = {.backwards = true};
    fab_base_prng_init(&prng, test_seed("a bad order", 53));
    for (unsigned i = 0; i < 40; i++)
        there_and_back(draw_a_tree(&prng), "updn", &prng, false, &t);
    report("backwards", &t);
    ck_assert_uint_gt(t.loops, 0);
    ck_assert_uint_gt(t.losses, 0);
}
END_TEST

START_TEST(random_fabrics)
{
    uint64_t seed = test_seed("order of writes on random fabrics", 52);
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    for (unsigned e = 0; e < 2; e++) {
        struct tally t = {0};
        for (unsigned i = 0; i < 100; i++)
            there_and_back(random_fabric(3 + i % 25, 3 + i % 3, 2, seed + i), "updn", &prng, e == 0,
                           &t);
        assert_safe(e == 0 ? "random, lone cables" : "random, many", &t);
    }
}
END_TEST

START_TEST(proved)
{
    struct fab_prng prng;
    struct tally t = {.proved = true};
    fab_base_prng_init(&prng, test_seed("proved order of writes", 56));
    for (unsigned i = 0; i < 24; i++) {
        there_and_back(draw_a_tree(&prng), i % 2 ? "updn" : "fattree", &prng, i % 3 == 0, &t);
        there_and_back(random_fabric(3 + i % 25, 3 + i % 3, 2, fab_base_prng_next(&prng)), "updn",
                       &prng, i % 3 == 0, &t);
    }
    assert_safe("proved", &t);
    printf("# %u plans with other writes, %u LIDs drained\n", t.replaced, t.drained);
    ck_assert_uint_eq(t.cycles, 0);
    ck_assert_uint_eq(t.unproved, 0);
    ck_assert_uint_gt(t.replaced, 0);
}
END_TEST

/* Moves each entry of a leaf that leads to a spine to the leaf's next port that leads to a
 * spine. */
static void use_next_uplinks(const struct fab_fabric *f, struct fab_lft *lft)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint8_t next[256] = {0}, first = 0, last = 0, isls = 0;
        for (uint8_t num = 1; num <= f->nodes[sw].num_ports; num++) {
            if (!naive_is_channel(f, fab_fabric_port_id(f, sw, num)))
                continue;
            next[last] = num;
            first = first == 0 ? num : first;
            last = num;
            isls++;
        }
        next[last] = first;
        uint8_t *row = fab_target_lft_row(lft, sw);
        for (uint32_t lid = 1; lid <= lft->top; lid++)
            if (next[row[lid]] != 0 && row[lid] != 0 && isls < f->nodes[sw].num_ports)
                row[lid] = next[row[lid]];
    }
}

/* All leaves use other spines for 1048 LIDs. The search for an order takes only a few steps for
 * each entry, so it must end before its limit. */
START_TEST(large_changes_are_analysed)
{
    struct fab_fabric *f = fat_tree(16, 2, 1);
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = 3;
    struct fab_target *was = routed_by(f, &p, "updn"), *is = routed_by(f, &p, "updn");
    struct change c = {.f = f, .target = is};
    use_next_uplinks(f, &is->lft);
    ck_assert_uint_gt(is->lids.top, 1024);
    ck_assert_uint_eq(was->lids.top, is->lids.top);
    ck_assert_int_eq(fab_plan_observed_init(&c.at, f->switch_count, is->lids.top), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t block = 0; block < c.at.blocks; block++)
            fab_plan_observed_set_block(&c.at, sw, block,
                                        fab_target_lft_row(&was->lft, sw) + block * FAB_LFT_BLOCK);
    plan(&c);
    ck_assert_uint_gt(c.to - c.from, 8 * c.at.blocks);
    ck_assert(!c.plan.unchecked);
    ck_assert_uint_eq(c.plan.unordered, 0);
    fab_plan_fini(&c.plan);
    fab_plan_observed_fini(&c.at);
    fab_target_unref(was);
    fab_target_unref(is);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order of writes");
    TCase *tcase = tcase_create("mixtures");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, trees);
    tcase_add_test(tcase, trees_numbered_at_random);
    tcase_add_test(tcase, what_will_be_dropped_is_left_first);
    tcase_add_test(tcase, a_bad_order_is_seen);
    tcase_add_test(tcase, random_fabrics);
    tcase_add_test(tcase, proved);
    tcase_add_test(tcase, large_changes_are_analysed);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
