/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees, judged by a walk over the tables as switches do it: from each member every other
 * is reached exactly once, nobody else is, and nothing comes back; while members join and leave and
 * cables and switches fail and return. And while the tables are written, in whatever order, a
 * packet never goes in a circle.
 */
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/trees.h"
#include "libfabmgr/plan/mfts.h"
#include "tests/unit/fabrics.h"

#define GROUPS 4

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    const struct fab_fabric *f;
    const struct fab_blocks *tables;
    uint16_t mlid;
    bool *named;    /* [port_count] by the entry of its switch */
    uint16_t *came; /* [port_count] how often a packet came in by this port, or out to an end */
    uint32_t steps;
};

static struct walk walk_of(const struct fab_fabric *f, const struct fab_blocks *tables)
{
    struct walk w = {.f = f, .tables = tables};
    w.named = calloc(f->port_count + 1, sizeof(*w.named));
    w.came = calloc(f->port_count + 1, sizeof(*w.came));
    return w;
}

static void walk_fini(struct walk *w)
{
    free(w->named);
    free(w->came);
}

static void walk_take(struct walk *w, uint16_t mlid)
{
    w->mlid = mlid;
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        const struct fab_port *p = &w->f->ports[port];
        if (p->node >= w->f->switch_count)
            return;
        const uint16_t *entry = fab_blocks_get(w->tables, p->node, fab_mft_number(mlid, p->num));
        w->named[port] =
            entry != NULL && (entry[(mlid - FAB_MLID_FIRST) % 32] >> p->num % 16 & 1) != 0;
    }
}

/* A packet that came into a switch by `in` goes out of all ports of the entry but that one. */
static void forward(struct walk *w, uint32_t sw, uint32_t in)
{
    const struct fab_node *n = &w->f->nodes[sw];
    if (++w->steps > w->f->switch_count)
        ck_abort_msg("MLID 0x%x goes in a circle", w->mlid);
    for (uint32_t port = n->first_port; port <= n->first_port + n->num_ports; port++) {
        uint32_t peer = w->f->ports[port].peer;
        if (port == in || !w->named[port])
            continue;
        if (w->f->ports[port].num == 0) {
            w->came[port]++;
            continue;
        }
        if (peer == FAB_NONE || !fab_port_is_up(w->f, port))
            continue;
        w->came[peer]++;
        if (fab_node_is_switch(w->f, w->f->ports[peer].node))
            forward(w, w->f->ports[peer].node, peer);
    }
}

static void send_from(struct walk *w, uint32_t port)
{
    uint32_t node = w->f->ports[port].node;
    memset(w->came, 0, w->f->port_count * sizeof(*w->came));
    w->steps = 0;
    if (fab_node_is_switch(w->f, node))
        forward(w, node, port);
    else if (fab_peer_node(w->f, port) < w->f->switch_count && fab_port_is_up(w->f, port))
        forward(w, fab_peer_node(w->f, port), w->f->ports[port].peer);
}

/* ---- the world ------------------------------------------------------------------------------- */

/* Members are ends, by number: adapters' ports, then switches' port 0. */
struct world {
    struct fab_fabric *whole, *now; /* without faults, and with them */
    struct fab_trees *trees;
    struct fab_prng r;
    uint32_t ends;
    uint32_t *end;             /* port ids of the whole one */
    uint8_t (*member)[GROUPS]; /* [ends] 1 receives, 2 sends only */
    uint64_t *dead;            /* bitset of ports of the whole one */
};

static void world_fini(struct world *w)
{
    fab_trees_free(w->trees);
    fab_fabric_unref(w->now);
    fab_fabric_unref(w->whole);
    free(w->end);
    free(w->member);
    free(w->dead);
}

static uint16_t mlid_of(uint32_t group)
{
    return (uint16_t)(FAB_MLID_FIRST + 30 + group * 7); /* in several blocks */
}

static uint64_t guid_of(const struct world *w, uint32_t end)
{
    return w->whole->ports[w->end[end]].guid;
}

/* Of the switch that an end hangs on, by the snapshot of now; FAB_NONE: on none. */
static uint32_t switch_of(const struct world *w, uint32_t port)
{
    if (port == FAB_NONE || fab_node_is_switch(w->now, w->now->ports[port].node))
        return port == FAB_NONE ? FAB_NONE : w->now->ports[port].node;
    uint32_t peer = fab_peer_node(w->now, port);
    return peer < w->now->switch_count && fab_port_is_up(w->now, port) ? peer : FAB_NONE;
}

/* Which switches hold together. */
static void find_islands(const struct world *w, uint32_t *island)
{
    const struct fab_fabric *f = w->now;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        island[sw] = sw;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t port = 0; port < f->port_count; port++) {
            uint32_t peer = fab_peer_node(f, port), sw = f->ports[port].node;
            if (sw >= f->switch_count || peer >= f->switch_count || !fab_port_is_up(f, port))
                continue;
            if (island[peer] < island[sw]) {
                island[sw] = island[peer];
                again = true;
            }
        }
    }
}

/* A packet from one member comes to all receivers that the tree reaches, once, and to nobody else.
 */
static void judge_from(struct world *w, struct walk *walk, uint32_t group, uint32_t from)
{
    uint32_t port = fab_fabric_port_by_guid(w->now, guid_of(w, from));
    if (!fab_trees_reaches(w->trees, walk->mlid, guid_of(w, from)))
        return;
    send_from(walk, port);
    for (uint32_t to = 0; to < w->ends; to++) {
        uint32_t out = fab_fabric_port_by_guid(w->now, guid_of(w, to));
        if (to == from || switch_of(w, out) == FAB_NONE)
            continue;
        unsigned shall =
            w->member[to][group] == 1 && fab_trees_reaches(w->trees, walk->mlid, guid_of(w, to));
        if (walk->came[out] != shall) /* (Check writes a file for each assertion) */
            ck_abort_msg("group %u: from %s to %s %u times, not %u", group,
                         w->now->nodes[w->now->ports[port].node].desc,
                         w->now->nodes[w->now->ports[out].node].desc, walk->came[out], shall);
    }
}

/* It reaches all members of one island (adapters with two ports may look at several). */
static void judge_reach(const struct world *w, uint32_t group, const uint32_t *island)
{
    uint32_t reached = FAB_NONE, missing = 0, members = 0, lost[400];
    for (uint32_t end = 0; end < w->ends; end++) {
        uint32_t sw = switch_of(w, fab_fabric_port_by_guid(w->now, guid_of(w, end)));
        if (w->member[end][group] == 0 || sw == FAB_NONE)
            continue;
        members++;
        if (!fab_trees_reaches(w->trees, mlid_of(group), guid_of(w, end))) {
            lost[missing++] = island[sw];
            continue;
        }
        if (reached != FAB_NONE && reached != island[sw])
            ck_abort_msg("group %u reaches two islands", group);
        reached = island[sw];
    }
    ck_assert(members == 0 || reached != FAB_NONE);
    for (uint32_t i = 0; i < missing; i++)
        ck_assert_uint_ne(lost[i], reached);
}

static void judge_group(struct world *w, struct walk *walk, const uint32_t *island, uint32_t group)
{
    walk_take(walk, mlid_of(group));
    judge_reach(w, group, island);
    for (uint32_t from = 0; from < w->ends; from++)
        if (w->member[from][group] != 0)
            judge_from(w, walk, group, from);
}

/* One group, or all: GROUPS. */
static void judge(struct world *w, uint32_t changed)
{
    uint32_t *island = calloc(w->now->switch_count + 1, sizeof(*island));
    struct walk walk = walk_of(w->now, fab_trees_tables(w->trees));
    ck_assert_uint_lt(w->ends, 400);
    find_islands(w, island);
    for (uint32_t group = 0; group < GROUPS; group++)
        if (changed == GROUPS || changed == group)
            judge_group(w, &walk, island, group);
    walk_fini(&walk);
    free(island);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void join(struct world *w, uint32_t end, uint32_t group, uint8_t how)
{
    ck_assert_int_eq(fab_trees_join(w->trees, mlid_of(group), guid_of(w, end), how == 1), FAB_OK);
    w->member[end][group] = how;
}

static void leave(struct world *w, uint32_t end, uint32_t group)
{
    uint8_t how = w->member[end][group];
    ck_assert_int_eq(fab_trees_leave(w->trees, mlid_of(group), guid_of(w, end), how == 1), FAB_OK);
    w->member[end][group] = 0;
}

/* Returns the group. */
static uint32_t change_member(struct world *w)
{
    uint32_t end = (uint32_t)fab_prng_below(&w->r, w->ends);
    uint32_t group = (uint32_t)fab_prng_below(&w->r, GROUPS);
    if (w->member[end][group] != 0)
        leave(w, end, group);
    else
        join(w, end, group, fab_prng_chance(&w->r, 0.8) ? 1 : 2);
    return group;
}

/* The fabric with the cables that are dead now, seen from the first adapter. */
static void look(struct world *w)
{
    struct fab_builder *b = fab_builder_from(w->whole);
    struct fab_fabric *damaged, *island;
    uint32_t dropped;
    for (uint32_t port = 0; port < w->whole->port_count; port++)
        if (fab_bits_get(w->dead, port))
            ck_assert_int_eq(
                fab_builder_unlink(b, w->whole->ports[port].node, w->whole->ports[port].num), 0);
    fab_builder_self(b, w->whole->ports[w->end[w->ends - 1]].node, 1);
    damaged = sealed(b);
    ck_assert_int_eq(fab_fabric_island(damaged, &island, &dropped), FAB_OK);
    fab_fabric_unref(damaged);
    fab_fabric_unref(w->now);
    w->now = island;
    ck_assert_int_eq(fab_trees_follow(w->trees, w->now), FAB_OK);
}

static void world_init(struct world *w, struct fab_fabric *f, uint64_t seed)
{
    *w = (struct world){.whole = f, .now = fab_fabric_ref(f)};
    fab_prng_init(&w->r, seed);
    w->end = calloc(f->port_count, sizeof(*w->end));
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_port_has_lid(f, port))
            w->end[w->ends++] = port;
    w->member = calloc(w->ends, sizeof(*w->member));
    w->dead = fab_bits_new(f->port_count);
    ck_assert_int_eq(fab_trees_new(f, &w->trees), FAB_OK);
    look(w); /* random fabrics may have several islands */
}

static void set_dead(struct world *w, uint32_t port, bool dead)
{
    if (w->whole->ports[port].peer == FAB_NONE)
        return;
    fab_bits_put(w->dead, port, dead);
    fab_bits_put(w->dead, w->whole->ports[port].peer, dead);
}

/* A cable dies or returns, or all of a switch; more return than die. */
static uint32_t change_fabric(struct world *w)
{
    bool dies = fab_bits_count(w->dead, w->whole->port_count) < 8 && fab_prng_chance(&w->r, 0.6);
    uint32_t sw = (uint32_t)fab_prng_below(&w->r, w->whole->switch_count);
    const struct fab_node *n = &w->whole->nodes[sw];
    if (fab_prng_chance(&w->r, 0.2)) {
        for (uint32_t num = 1; num <= n->num_ports; num++)
            set_dead(w, n->first_port + num, dies);
    } else if (dies) {
        set_dead(w, n->first_port + 1 + (uint32_t)fab_prng_below(&w->r, n->num_ports), true);
    } else {
        size_t from = fab_prng_below(&w->r, w->whole->port_count);
        size_t port = fab_bits_next(w->dead, w->whole->port_count, from);
        if (port < w->whole->port_count)
            set_dead(w, (uint32_t)port, false);
    }
    look(w);
    return GROUPS;
}

static void assert_nothing_left(const struct world *w)
{
    const struct fab_blocks *tables = fab_trees_tables(w->trees);
    for (size_t i = 0; i < tables->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(tables->block[i].entry[k], 0);
    ck_assert_uint_eq(fab_trees_count(w->trees), 0);
}

static void all_leave(struct world *w)
{
    for (uint32_t end = 0; end < w->ends; end++)
        for (uint32_t group = 0; group < GROUPS; group++)
            if (w->member[end][group] != 0)
                leave(w, end, group);
}

static void live(struct fab_fabric *f, uint64_t seed, unsigned steps)
{
    struct world w;
    world_init(&w, f, seed);
    for (unsigned step = 0; step < steps; step++) {
        judge(&w, fab_prng_chance(&w.r, 0.25) ? change_fabric(&w) : change_member(&w));
    }
    all_leave(&w);
    assert_nothing_left(&w);
    world_fini(&w);
}

/* 10,000 steps in all. */
START_TEST(whoever_joins_leaves_or_fails_each_reaches_each_once)
{
    uint64_t seed = test_seed("whoever_joins_leaves_or_fails", 1);
    for (unsigned i = 0; i < 14; i++)
        live(random_fabric(10 + i, 4, 1 + i % 3, seed + i), seed + i, 500);
    live(leaf_spine(6, 4, 4), seed, 1500);
    live(leaf_spine(4, 1, 3), seed, 500);
    struct fab_torus_spec torus = {.dimensions = 2, .size = {4, 4}, .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_torus(&torus, &b), FAB_OK);
    live(sealed(b), seed, 1000);
}
END_TEST

/* ---- while it is written --------------------------------------------------------------------- */

static uint16_t at(const struct fab_blocks *b, uint32_t id, uint32_t number, unsigned k)
{
    const uint16_t *entry = fab_blocks_get(b, id, number);
    return entry != NULL ? entry[k] : 0;
}

/* Nobody gets a packet twice, and nothing goes in a circle, whoever sends. With `before`: who was a
 * member and still is gets each, too. */
static void judge_way(struct world *w, struct walk *walk, uint8_t (*before)[GROUPS])
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        walk_take(walk, mlid_of(group));
        for (uint32_t from = 0; from < w->ends; from++) {
            uint32_t port = fab_fabric_port_by_guid(w->now, guid_of(w, from));
            if (port == FAB_NONE || !fab_prng_chance(&w->r, 0.2))
                continue;
            send_from(walk, port);
            bool stays = before != NULL && before[from][group] != 0 &&
                         w->member[from][group] != 0 &&
                         fab_trees_reaches(w->trees, walk->mlid, guid_of(w, from));
            for (uint32_t to = 0; to < w->ends; to++) {
                uint32_t out = fab_fabric_port_by_guid(w->now, guid_of(w, to));
                unsigned came = out != FAB_NONE ? walk->came[out] : 0;
                bool must = stays && to != from && before[to][group] == 1 &&
                            w->member[to][group] == 1 &&
                            fab_trees_reaches(w->trees, walk->mlid, guid_of(w, to));
                if (came > 1 || (must && came == 0))
                    ck_abort_msg("on the way: group %u, from %u to %u: %u times", group, from, to,
                                 came);
            }
        }
    }
}

/* One step of a plan, in a random order, and a walk after each write. */
static void write_stage(struct world *w, struct fab_blocks *held, const struct fab_mft_ops *ops,
                        uint8_t (*before)[GROUPS])
{
    uint32_t *order = calloc(ops->count + 1, sizeof(*order));
    struct walk walk = walk_of(w->now, held);
    for (uint32_t i = 0; i < ops->count; i++)
        order[i] = i;
    fab_prng_shuffle(&w->r, order, ops->count);
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct fab_mft_op *op = &ops->op[order[i]];
        ck_assert_int_eq(fab_blocks_put(held, op->sw, op->number, op->entry), FAB_OK);
        judge_way(w, &walk, before);
    }
    walk_fini(&walk);
    free(order);
}

/* Switches held nothing when they came. Returns how many writes it took. */
static size_t write_all(struct world *w, struct fab_blocks *held, uint8_t (*before)[GROUPS])
{
    uint64_t groups[FAB_MFT_GROUPS / 64] = {1};
    const struct fab_mft_input in = {.net = fab_trees_net(w->trees),
                                     .want = fab_trees_tables(w->trees),
                                     .held = held,
                                     .groups = groups};
    struct fab_mft_plan plan;
    size_t writes, reads;
    groups[0] = UINT64_MAX;
    do {
        ck_assert_int_eq(fab_mft_plan_make(&in, &plan), FAB_OK);
        reads = plan.stage[FAB_MFT_READ].count;
        for (size_t i = 0; i < reads; i++) {
            const struct fab_mft_op *op = &plan.stage[FAB_MFT_READ].op[i];
            ck_assert_int_eq(fab_blocks_put(held, op->sw, op->number, op->entry), FAB_OK);
        }
        write_stage(w, held, &plan.stage[FAB_MFT_FIRST], before);
        write_stage(w, held, &plan.stage[FAB_MFT_SECOND], before);
        writes = plan.stage[FAB_MFT_FIRST].count + plan.stage[FAB_MFT_SECOND].count;
        fab_mft_plan_fini(&plan);
    } while (reads > 0);
    return writes;
}

static void assert_written(const struct world *w, const struct fab_blocks *held)
{
    const struct fab_blocks *want = fab_trees_tables(w->trees);
    for (size_t i = 0; i < want->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(want->block[i].entry[k],
                              at(held, want->block[i].id, want->block[i].number, k));
    for (size_t i = 0; i < held->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            ck_assert_uint_eq(held->block[i].entry[k],
                              at(want, held->block[i].id, held->block[i].number, k));
}

/* What is written is a plan's; after it another one has nothing to do. */
START_TEST(nothing_goes_in_circles_on_the_way)
{
    uint64_t seed = test_seed("nothing_goes_in_circles_on_the_way", 3);
    struct world w;
    struct fab_blocks held = {0}, moved;
    world_init(&w, random_fabric(10, 4, 2, seed), seed);
    uint8_t(*before)[GROUPS] = calloc(w.ends, sizeof(*before));
    for (unsigned round = 0; round < 200; round++) {
        bool faults = round % 3 == 2;
        const struct fab_mnet *net = fab_trees_net(w.trees);
        uint32_t switches = net->switches;
        uint64_t *guid = malloc(switches * sizeof(*guid));
        memcpy(guid, net->guid, switches * sizeof(*guid));
        memcpy(before, w.member, w.ends * sizeof(*before));
        for (unsigned i = 0; i < (faults ? 6 : 1); i++)
            (void)(faults && i < 2 ? change_fabric(&w) : change_member(&w));
        ck_assert_int_eq(fab_mft_move(&held, guid, switches, w.now, &moved), FAB_OK);
        fab_blocks_fini(&held);
        held = moved;
        (void)write_all(&w, &held, faults ? NULL : before);
        ck_assert_uint_eq(write_all(&w, &held, NULL), 0);
        assert_written(&w, &held);
        free(guid);
    }
    free(before);
    fab_blocks_fini(&held);
    world_fini(&w);
}
END_TEST

/* Of one that takes no writes nobody expects that it knows what is new; the rest goes on. */
START_TEST(nothing_new_leads_into_a_silent_switch)
{
    uint64_t seed = test_seed("nothing_new_leads_into_a_silent_switch", 4);
    struct world w;
    struct fab_blocks held = {0};
    world_init(&w, leaf_spine(4, 2, 2), seed);
    uint64_t *silent = fab_bits_new(w.now->switch_count), groups[FAB_MFT_GROUPS / 64];
    memset(groups, 0xff, sizeof(groups));
    for (uint32_t end = 0; end < w.ends; end++)
        join(&w, end, 0, 1);
    (void)write_all(&w, &held, NULL);
    const struct fab_mft_input in = {.net = fab_trees_net(w.trees),
                                     .want = fab_trees_tables(w.trees),
                                     .held = &held,
                                     .silent = silent,
                                     .groups = groups};
    struct fab_mft_plan plan;
    fab_bits_set(silent, 0);
    ck_assert_int_eq(fab_mft_plan_make(&in, &plan), FAB_OK); /* it holds what it shall */
    ck_assert_uint_eq(plan.stage[FAB_MFT_FIRST].count + plan.stage[FAB_MFT_SECOND].count, 0);
    fab_mft_plan_fini(&plan);
    fab_mft_forget(&held, 0);
    ck_assert_int_eq(fab_mft_plan_make(&in, &plan), FAB_OK); /* it may hold anything */
    ck_assert_uint_eq(plan.stage[FAB_MFT_READ].count, 0);
    for (size_t i = 0; i < plan.stage[FAB_MFT_SECOND].count; i++) {
        const struct fab_mft_op *op = &plan.stage[FAB_MFT_SECOND].op[i];
        ck_assert_uint_ne(op->sw, 0);
        ck_assert_int_eq(fab_blocks_put(&held, op->sw, op->number, op->entry), FAB_OK);
    }
    ck_assert_uint_gt(plan.stage[FAB_MFT_SECOND].count, 0);
    fab_mft_plan_fini(&plan);
    for (uint32_t port = 0; port < w.now->port_count; port++) {
        uint32_t node = w.now->ports[port].node;
        if (node < w.now->switch_count && fab_peer_node(w.now, port) == 0)
            ck_assert_uint_eq(
                at(&held, node, fab_mft_number(mlid_of(0), w.now->ports[port].num), 30) >>
                        w.now->ports[port].num % 16 &
                    1,
                0);
    }
    free(silent);
    fab_blocks_fini(&held);
    world_fini(&w);
}
END_TEST

/* ---- single things --------------------------------------------------------------------------- */

static uint32_t differences(const struct fab_blocks *a, const struct fab_blocks *b)
{
    uint32_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            if (b->block[i].entry[k] != at(a, b->block[i].id, b->block[i].number, k)) {
                count++;
                break;
            }
    return count;
}

START_TEST(a_join_moves_its_branch_only)
{
    struct world w;
    struct fab_blocks before;
    world_init(&w, leaf_spine(6, 3, 4), 1);
    /* ends are: port 0 of 9 switches, then hosts leaf by leaf */
    uint32_t host = w.ends - 24;
    join(&w, host, 0, 1);
    join(&w, host + 4, 0, 1);
    ck_assert_int_eq(fab_blocks_copy(fab_trees_tables(w.trees), &before), FAB_OK);
    join(&w, host + 8, 0, 1); /* its leaf, and the spine */
    ck_assert_uint_eq(differences(&before, fab_trees_tables(w.trees)), 2);
    join(&w, host + 9, 0, 1); /* its leaf again */
    ck_assert_uint_eq(differences(&before, fab_trees_tables(w.trees)), 2);
    leave(&w, host + 9, 0);
    leave(&w, host + 8, 0);
    ck_assert_uint_eq(differences(&before, fab_trees_tables(w.trees)), 0);
    /* two at one leaf need no spine */
    leave(&w, host + 4, 0);
    join(&w, host + 1, 0, 1);
    uint32_t used = 0;
    const struct fab_blocks *t = fab_trees_tables(w.trees);
    for (size_t i = 0; i < t->count; i++)
        used += t->block[i].entry[(mlid_of(0) - FAB_MLID_FIRST) % 32] != 0;
    ck_assert_uint_eq(used, 1);
    fab_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

START_TEST(what_did_not_fail_stays)
{
    struct world w;
    struct fab_blocks before;
    world_init(&w, leaf_spine(6, 3, 4), 1);
    uint32_t host = w.ends - 24;
    for (uint32_t i = 0; i < 24; i += 2)
        join(&w, host + i, i / 2 % GROUPS, 1);
    ck_assert_int_eq(fab_blocks_copy(fab_trees_tables(w.trees), &before), FAB_OK);
    look(&w); /* nothing happened */
    ck_assert_uint_eq(differences(&before, fab_trees_tables(w.trees)), 0);
    ck_assert_uint_eq(differences(fab_trees_tables(w.trees), &before), 0);
    fab_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

START_TEST(roots_are_used_alike)
{
    struct world w;
    struct fab_blocks before = {0};
    uint32_t used[3] = {0};
    world_init(&w, leaf_spine(6, 3, 4), 1);
    uint32_t host = w.ends - 24;
    for (uint32_t mlid = 0; mlid < 30; mlid++)
        for (uint32_t i = 0; i < 24; i += 5)
            ck_assert_int_eq(fab_trees_join(w.trees, (uint16_t)(FAB_MLID_FIRST + mlid),
                                            guid_of(&w, host + i), true),
                             FAB_OK);
    /* spines have no hosts */
    for (uint32_t sw = 0, spine = 0; sw < w.now->switch_count; sw++) {
        bool leaf = false;
        for (uint32_t num = 1; num <= w.now->nodes[sw].num_ports; num++)
            leaf |=
                fab_peer_node(w.now, w.now->nodes[sw].first_port + num) >= w.now->switch_count &&
                w.now->ports[w.now->nodes[sw].first_port + num].peer != FAB_NONE;
        for (unsigned k = 0; !leaf && k < 30; k++)
            used[spine] += at(fab_trees_tables(w.trees), sw, 0, k) != 0;
        spine += !leaf;
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(used[i], 10);
    fab_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

START_TEST(the_smallest_table_counts)
{
    struct fab_fabric *f = leaf_spine(2, 2, 2), *small;
    struct fab_trees *t;
    uint32_t sw;
    ck_assert_int_eq(fab_fabric_clone(f, &small), FAB_OK);
    small->switches[2].multicast_fdb_cap = 5;
    ck_assert_int_eq(fab_trees_new(small, &t), FAB_OK);
    ck_assert_uint_eq(fab_trees_room(t, &sw), 5);
    ck_assert_uint_eq(sw, 2);
    uint64_t guid = small->ports[small->nodes[4].first_port + 1].guid;
    ck_assert_int_eq(fab_trees_join(t, FAB_MLID_FIRST + 4, guid, true), FAB_OK);
    ck_assert_int_eq(fab_trees_join(t, FAB_MLID_FIRST + 5, guid, true), FAB_E_RANGE);
    ck_assert_int_eq(fab_trees_join(t, FAB_MLID_FIRST - 1, guid, true), FAB_E_RANGE);
    ck_assert_int_eq(fab_trees_leave(t, FAB_MLID_FIRST, guid, true), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_trees_leave(t, FAB_MLID_FIRST + 4, guid, false), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_trees_join(t, FAB_MLID_FIRST + 4, 12345, true), FAB_OK); /* not there */
    ck_assert_uint_eq(fab_trees_missing(t, FAB_MLID_FIRST + 4), 1);
    fab_trees_free(t);
    fab_fabric_unref(small);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees");
    TCase *c = tcase_create("trees"), *life = tcase_create("life");
    tcase_add_test(c, a_join_moves_its_branch_only);
    tcase_add_test(c, what_did_not_fail_stays);
    tcase_add_test(c, roots_are_used_alike);
    tcase_add_test(c, the_smallest_table_counts);
    suite_add_tcase(suite, c);
    tcase_set_timeout(life, 60);
    tcase_add_test(life, whoever_joins_leaves_or_fails_each_reaches_each_once);
    tcase_add_test(life, nothing_goes_in_circles_on_the_way);
    tcase_add_test(life, nothing_new_leads_into_a_silent_switch);
    suite_add_tcase(suite, life);
    return test_run(suite);
}
