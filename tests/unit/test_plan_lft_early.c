/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LFT writes that must precede the return of links (libfabmgr/plan/lft_early.h). The states of
 * links and the tables in switches are random. The test computes each expected write entry by
 * entry.
 */
#include "libfabmgr/plan/lft_early.h"

#include "libfabmgr/base/bitset.h"
#include "tests/unit/routing.h"

struct world {
    struct fab_fabric *f;
    struct fab_target *target;
    struct fab_observed observed;
    struct fab_plan_input in;
    /* [switches] true: the switch did not acknowledge a write, so its blocks are doubtful */
    uint8_t *doubtful;
};

static uint32_t draw(struct fab_prng *prng, uint32_t bound)
{
    return (uint32_t)fab_base_prng_below(prng, bound);
}

/* Makes random states of links, and random tables in the switches. Some LFT blocks are unknown, and
 * all blocks of some switches are doubtful. */
static void world_init(struct world *w, const struct fab_fabric *f, struct fab_prng *prng)
{
    static const uint8_t states[] = {FAB_STATE_INIT, FAB_STATE_ARMED, FAB_STATE_ACTIVE,
                                     FAB_STATE_ACTIVE};
    struct fab_policy p;
    *w = (struct world){0};
    ck_assert_int_eq(fab_fabric_clone(f, &w->f), FAB_OK);
    fab_policy_defaults(&p);
    p.lmc = 2;
    w->target = routed(w->f, &p);
    fab_policy_fini(&p);
    for (uint32_t port = 0; port < f->port_count; port++) {
        struct fab_port_info *info = &fab_fabric_edit_port(w->f, port)->info;
        info->port_state = states[draw(prng, 4)];
        if (draw(prng, 12) == 0)
            info->phys_state = FAB_PHYS_POLLING;
    }
    w->doubtful = calloc(f->switch_count, 1);
    ck_assert_int_eq(fab_plan_observed_init(&w->observed, f->switch_count, w->target->lids.top),
                     FAB_OK);
    ck_assert_uint_gt(w->observed.blocks, 1);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (uint32_t block = 0; block < w->observed.blocks; block++) {
            uint8_t entries[FAB_LFT_BLOCK];
            memcpy(entries, fab_target_lft_block(&w->target->lft, sw, block), sizeof(entries));
            for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
                if (draw(prng, 4) == 0)
                    entries[i] = (uint8_t)draw(prng, f->nodes[sw].num_ports + 3u);
            if (draw(prng, 4) > 0)
                fab_plan_observed_set_block(&w->observed, sw, block, entries);
        }
        w->doubtful[sw] = draw(prng, 4) == 0;
        if (w->doubtful[sw])
            fab_plan_observed_doubt(&w->observed, sw);
    }
    fab_plan_observed_presume(&w->observed);
    w->in = (struct fab_plan_input){.fabric = w->f, .target = w->target, .observed = &w->observed};
    w->in.hold = draw(prng, 2) == 0;
    w->in.restore = draw(prng, 2) == 0;
}

static void world_fini(struct world *w)
{
    free(w->doubtful);
    fab_plan_observed_fini(&w->observed);
    fab_target_unref(w->target);
    fab_fabric_unref(w->f);
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint8_t state_of(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.port_state;
}

static bool is_isl(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return fab_fabric_port_is_up(f, port) && peer != FAB_NONE && fab_fabric_node_is_switch(f, peer);
}

/* Returns true if the port is of an ISL that carries data packets. This requires that one end is
 * Active and the other end Active or Armed. */
static bool carries(const struct fab_fabric *f, uint32_t port)
{
    if (!is_isl(f, port))
        return false;
    uint8_t a = state_of(f, port), b = state_of(f, fab_fabric_port(f, port)->peer);
    return (a == FAB_STATE_ACTIVE || b == FAB_STATE_ACTIVE) && a != FAB_STATE_INIT &&
           b != FAB_STATE_INIT;
}

static bool comes_up(const struct fab_fabric *f, uint32_t port)
{
    return is_isl(f, port) && (state_of(f, port) != FAB_STATE_ACTIVE ||
                               state_of(f, fab_fabric_port(f, port)->peer) != FAB_STATE_ACTIVE);
}

static void check_links(const struct fab_fabric *f)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint64_t coming_up[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        bool any = fab_plan_lft_coming_up(f, sw, coming_up), joined = false, some = false;
        for (unsigned num = 0; num < 256; num++) {
            bool there = num > 0 && num <= f->nodes[sw].num_ports;
            uint32_t port = there ? fab_fabric_port_id(f, sw, (uint8_t)num) : FAB_NONE;
            bool up = there && comes_up(f, port);
            ck_assert_int_eq(fab_base_bits_get(coming_up, num), up);
            joined = joined || (there && carries(f, port));
            some = some || up;
        }
        ck_assert_int_eq(any, some);
        ck_assert_int_eq(fab_plan_lft_is_joined(f, sw), joined);
    }
}

/* Sets ret[] to whether ISLs that carry packets connect each switch with the switch `from`. */
static void find_connected(const struct fab_fabric *f, uint32_t from, bool *ret)
{
    bool again = from != FAB_NONE;
    if (from != FAB_NONE)
        ret[from] = true;
    while (again) {
        again = false;
        for (uint32_t port = 0; port < f->port_count; port++) {
            uint32_t node = fab_fabric_port(f, port)->node, peer = fab_fabric_peer_node(f, port);
            if (!fab_fabric_node_is_switch(f, node) || !carries(f, port) || !ret[node] || ret[peer])
                continue;
            ret[peer] = again = true;
        }
    }
}

/* Compares the switches that count as cut off with a search. A switch is cut off if no ISLs that
 * carry packets connect it with the manager's switch. self: the manager's port. at: the manager's
 * switch; FAB_NONE: there is none. */
static void check_cut_off(struct fab_fabric *f, uint32_t self, uint32_t at)
{
    struct fab_plan_cut_off c;
    bool *connected = calloc(f->switch_count, sizeof(*connected));
    f->self_port = self;
    find_connected(f, at, connected);
    ck_assert_int_eq(fab_plan_cut_off_find(f, &c), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        /* if the manager is not at a switch, no switch counts as cut off */
        ck_assert_int_eq(fab_base_bits_get(c.sw, sw), at != FAB_NONE && !connected[sw]);
    fab_plan_cut_off_fini(&c);
    ck_assert_ptr_null(c.sw);
    free(connected);
}

START_TEST(links_that_carry_packets_and_links_that_come_up)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("links that come up", 71));
    for (unsigned i = 0; i < test_rounds(40); i++) {
        struct world w;
        struct fab_fabric *f =
            i % 2 ? fat_tree(8, 2, 1) : random_fabric(12, 4, 4, fab_base_prng_next(&prng));
        world_init(&w, f, &prng);
        check_links(w.f);
        check_cut_off(w.f, FAB_NONE, FAB_NONE);
        uint32_t sw = draw(&prng, f->switch_count), host = draw(&prng, f->port_count);
        check_cut_off(w.f, fab_fabric_port_id(w.f, sw, 0), sw);
        uint32_t peer = fab_fabric_peer_node(w.f, host);
        if (!fab_fabric_node_is_switch(w.f, fab_fabric_port(w.f, host)->node))
            check_cut_off(w.f, host, peer);
        world_fini(&w);
        fab_fabric_unref(f);
    }
}
END_TEST

/* ---- writes ---------------------------------------------------------------------------------- */

struct writes {
    const struct world *w;
    uint32_t sw, next; /* the writes of the blocks below `next` have been checked */
    uint32_t drains, restores;
};

/* Returns a bitset of the entries of a block that must drop packets: entries into a link that comes
 * up, if they change or if in.hold is set. */
static uint64_t expected_drains(const struct world *w, uint32_t sw, uint32_t block)
{
    uint64_t drains = 0;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++) {
        uint32_t lid = block * FAB_LFT_BLOCK + i;
        uint8_t was = fab_target_lft_at(&w->observed.lft, sw, lid),
                want = fab_target_lft_at(&w->target->lft, sw, lid);
        if (fab_plan_observed_is_known(&w->observed, sw, block) && was > 0 &&
            was <= w->f->nodes[sw].num_ports && (was != want || w->in.hold) &&
            comes_up(w->f, fab_fabric_port_id(w->f, sw, was)))
            drains |= UINT64_C(1) << i;
    }
    return drains;
}

static bool expected_restore(const struct world *w, uint32_t sw, uint32_t block)
{
    return w->in.restore && w->doubtful[sw] && fab_plan_observed_is_known(&w->observed, sw, block);
}

/* Checks that the blocks from x->next to end - 1 need no write. Sets x->next to `end`. */
static void assert_none(struct writes *x, uint32_t end)
{
    for (; x->next < end; x->next++) {
        ck_assert_uint_eq(expected_drains(x->w, x->sw, x->next), 0);
        ck_assert(!expected_restore(x->w, x->sw, x->next));
    }
}

static int add_write(void *ctx, struct fab_plan_op op)
{
    struct writes *x = ctx;
    assert_none(x, op.block);
    uint64_t drains = expected_drains(x->w, x->sw, op.block);
    bool restores = expected_restore(x->w, x->sw, op.block);
    ck_assert_uint_eq(op.node, x->sw);
    ck_assert_uint_eq(op.port, fab_fabric_port_id(x->w->f, x->sw, 0));
    ck_assert_uint_eq(op.attr_id, FAB_ATTR_LFT);
    ck_assert(drains != 0 || restores);
    ck_assert_uint_eq(op.drain, drains);
    ck_assert_uint_eq(op.keep, ~drains);
    ck_assert_int_eq(op.restores, restores);
    ck_assert_int_eq(op.awaited, restores);
    x->drains += drains != 0;
    x->restores += restores;
    x->next++;
    return FAB_OK;
}

static int refuse_write(void *ctx, struct fab_plan_op op)
{
    ++*(uint32_t *)ctx;
    ck_assert_uint_eq(op.attr_id, FAB_ATTR_LFT);
    return FAB_E_NOMEM;
}

START_TEST(entries_into_links_that_come_up_drop_packets)
{
    struct fab_prng prng;
    uint32_t drains = 0, restores = 0, refused = 0;
    fab_base_prng_init(&prng, test_seed("early writes", 72));
    for (unsigned i = 0; i < test_rounds(40); i++) {
        struct world w;
        struct fab_fabric *f =
            i % 2 ? fat_tree(8, 2, 1) : random_fabric(12, 4, 4, fab_base_prng_next(&prng));
        world_init(&w, f, &prng);
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            struct writes x = {.w = &w, .sw = sw};
            uint32_t calls = 0;
            ck_assert_int_eq(fab_plan_lft_early(&w.in, sw, add_write, &x), FAB_OK);
            assert_none(&x, fab_target_lft_blocks(&w.target->lft));
            /* after a write that cannot be added, no further write may be tried */
            int status = fab_plan_lft_early(&w.in, sw, refuse_write, &calls);
            ck_assert_int_eq(status, x.drains + x.restores > 0 ? FAB_E_NOMEM : FAB_OK);
            ck_assert_uint_eq(calls, x.drains + x.restores > 0);
            drains += x.drains;
            restores += x.restores;
            refused += calls;
        }
        /* the tables of the switches are unknown, so nothing can be written early */
        w.in.observed = NULL;
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            uint32_t calls = 0;
            ck_assert_int_eq(fab_plan_lft_early(&w.in, sw, refuse_write, &calls), FAB_OK);
            ck_assert_uint_eq(calls, 0);
        }
        world_fini(&w);
        fab_fabric_unref(f);
    }
    printf("# %u writes that drain, %u that restore\n", drains, restores);
    ck_assert_uint_gt(drains, 100);
    ck_assert_uint_gt(restores, 20);
    ck_assert_uint_gt(refused, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early writes");
    TCase *tcase = tcase_create("links");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, links_that_carry_packets_and_links_that_come_up);
    tcase_add_test(tcase, entries_into_links_that_come_up_drop_packets);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
