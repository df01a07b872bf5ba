/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * P_Key tables: which port has which key at which index. A change must concern only the ports that
 * it affects, and write each block once or twice. After each single write, two ports may
 * communicate only if they may before or after the whole change. Tables in this file take the place
 * of devices.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/partition.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/target/selector.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

#define ROOM 64 /* an adapter has room for 64 P_Keys */

struct world {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_target *target;
    /* The P_Key tables that the devices hold; the manager knows all blocks. */
    struct fab_observed held;
};

static struct world world_of(struct fab_fabric *f)
{
    struct world w = {0};
    uint16_t key[FAB_PKEY_BLOCK] = {0xffff}, none[FAB_PKEY_BLOCK] = {0};
    ck_assert_int_eq(fab_fabric_clone(f, &w.f), FAB_OK);
    fab_fabric_unref(f);
    w.f->self_port = w.f->nodes[w.f->switch_count].first_port + 1u;
    fab_policy_defaults(&w.policy);
    w.target = routed(w.f, &w.policy);
    ck_assert_int_eq(fab_plan_observed_init(&w.held, w.f->switch_count, w.target->lids.top),
                     FAB_OK);
    for (uint32_t port = 0; port < w.f->port_count; port++)
        for (uint32_t b = 0; b < fab_target_pkeys_blocks(fab_target_pkeys_capacity(w.f, port)); b++)
            ck_assert_int_eq(fab_target_blocks_put(&w.held.pkeys, port, b, b == 0 ? key : none), 0);
    return w;
}

static void world_fini(struct world *w)
{
    fab_target_unref(w->target);
    fab_plan_observed_fini(&w->held);
    fab_fabric_unref(w->f);
}

static struct fab_partition_report want(struct world *w, const char *text, bool both)
{
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {0};
    struct fab_partition_report report;
    int status = fab_policy_partitions_read(text, strlen(text), &p, &e);
    ck_assert_msg(status == FAB_OK, "%u:%u: %s", e.line, e.column, e.message);
    struct fab_partition_input in = {.fabric = w->f,
                                     .partitions = p,
                                     .held = &w->held.pkeys,
                                     .enforce = FAB_ENFORCE_IN | FAB_ENFORCE_OUT,
                                     .both = both};
    fab_target_pkeys_fini(&w->target->pkeys);
    ck_assert_int_eq(fab_partition_tables(&in, &w->target->pkeys, &report), FAB_OK);
    fab_policy_partitions_unref(p);
    return report;
}

static struct fab_plan plan_of(const struct world *w)
{
    struct fab_plan_input in = {.fabric = w->f,
                                .policy = &w->policy,
                                .target = w->target,
                                .observed = &w->held,
                                .sm_lid = 1};
    struct fab_plan plan;
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    return plan;
}

static void write_op(struct world *w, const struct fab_plan_op *op)
{
    struct fab_plan_input in = {
        .fabric = w->f, .policy = &w->policy, .target = w->target, .observed = &w->held};
    uint8_t data[FAB_SMP_DATA];
    struct fab_pkey_block block;
    uint32_t mod;
    ck_assert_int_eq(fab_plan_encode(&in, op, data, &mod), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_pkey_block, data, sizeof(data), &block),
                     FAB_OK);
    bool is_switch = fab_fabric_node_is_switch(w->f, op->node);
    ck_assert_uint_eq(
        mod, op->block | (is_switch ? (uint32_t)fab_fabric_port(w->f, op->port)->num << 16 : 0u));
    ck_assert_int_eq(fab_target_blocks_put(&w->held.pkeys, op->port, op->block, block.pkey),
                     FAB_OK);
}

/* Makes a plan and its writes: first those that remove keys, then those that add keys. Returns the
 * number of writes. */
static uint32_t apply(struct world *w)
{
    struct fab_plan plan = plan_of(w);
    uint32_t from = plan.stage_start[FAB_STAGE_PKEYS_REMOVE];
    uint32_t to = plan.stage_start[FAB_STAGE_PKEYS_ADD + 1];
    for (uint32_t i = from; i < to; i++)
        write_op(w, &plan.ops[i]);
    fab_plan_fini(&plan);
    plan = plan_of(w);
    ck_assert_uint_eq(plan.stage_start[FAB_STAGE_PKEYS_REMOVE],
                      plan.stage_start[FAB_STAGE_PKEYS_ADD + 1]);
    fab_plan_fini(&plan);
    return to - from;
}

static uint16_t held(const struct world *w, uint32_t port, uint32_t index)
{
    const uint16_t *block = fab_target_blocks_get(&w->held.pkeys, port, index / FAB_PKEY_BLOCK);
    return block != NULL ? block[index % FAB_PKEY_BLOCK] : 0;
}

static uint32_t host(const struct world *w, uint32_t i)
{
    return w->f->nodes[w->f->switch_count + i].first_port + 1u;
}

static void assert_holds(const struct world *w, uint32_t port, const uint16_t *key, uint32_t count)
{
    for (uint32_t i = 0; i < FAB_PKEY_BLOCK; i++)
        ck_assert_msg(held(w, port, i) == (i < count ? key[i] : 0), "port %u index %u: 0x%04x",
                      port, i, held(w, port, i));
}
#define ASSERT_HOLDS(w, port, ...)                                                                 \
    assert_holds(w, port, (const uint16_t[]){__VA_ARGS__},                                         \
                 sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/* Returns the text of the GUID of a host's port. */
static const char *guid_of(const struct world *w, uint32_t i)
{
    static char text[4][24];
    snprintf(text[i % 4], sizeof(text[0]), "0x%016" PRIx64,
             fab_fabric_port(w->f, host(w, i))->guid);
    return text[i % 4];
}

/* ---- tables ---------------------------------------------------------------------------------- */

START_TEST(nothing_but_the_default_is_limited)
{
    struct world w = world_of(leaf_spine(2, 2, 2));
    want(&w, "", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 0), 0xffff); /* the manager's port */
    for (uint32_t i = 1; i < 4; i++)
        ASSERT_HOLDS(&w, host(&w, i), 0x7fff);
    ASSERT_HOLDS(&w, w.f->nodes[0].first_port, 0x7fff); /* port 0 of the switch */
    uint32_t guard = fab_fabric_port(w.f, host(&w, 1))->peer;
    ASSERT_HOLDS(&w, guard, 0x7fff);
    ck_assert_uint_eq(w.target->pkeys.enforce[guard], 3);
    world_fini(&w);
}
END_TEST

/* Two rules may give a port the same partition, one as a full and one as a limited member. Full
 * membership then applies. But if the policy permits both memberships at once, the last rule
 * applies. */
START_TEST(memberships_add_up)
{
    struct world w = world_of(leaf_spine(2, 2, 2));
    char text[400];
    snprintf(text, sizeof(text), "Default=0x7fff: ALL=full; a=1: %s=full, ALL_CAS, %s=both;",
             guid_of(&w, 1), guid_of(&w, 2));
    want(&w, text, false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0xffff, 0x8001);
    ASSERT_HOLDS(&w, host(&w, 2), 0xffff, 0x8001);
    ASSERT_HOLDS(&w, host(&w, 3), 0xffff, 0x0001);
    want(&w, text, true);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0xffff, 0x0001);
    ASSERT_HOLDS(&w, host(&w, 2), 0xffff, 0x8001, 0x0001);
    ASSERT_HOLDS(&w, fab_fabric_port(w.f, host(&w, 2))->peer, 0xffff, 0x8001);
    world_fini(&w);
}
END_TEST

START_TEST(index_0_is_kept_or_asked_for)
{
    struct world w = world_of(leaf_spine(2, 2, 2));
    want(&w, "Default=0x7fff: ALL=full; a=1,indx0: ALL_CAS=full; b=2: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0x8001, 0xffff, 0x0002);
    want(&w, "Default=0x7fff: ALL=full; a=1: ALL_CAS=full; b=2: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0xffff, 0, 0x0002, 0x8001);
    world_fini(&w);
}
END_TEST

START_TEST(an_index_stays_while_its_key_does)
{
    struct world w = world_of(leaf_spine(2, 2, 2));
    want(&w, "a=1: ALL_CAS; b=2: ALL_CAS; c=3: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0x7fff, 1, 2, 3);
    want(&w, "b=2: ALL_CAS=full; c=3: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0x7fff, 0, 0x8002, 3);
    want(&w, "b=2: ALL_CAS; c=3: ALL_CAS; d=4: ALL_CAS; e=5: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0x7fff, 4, 2, 3, 5);
    /* key 6 goes into a free entry, and not into the entry of key 3, which is removed */
    want(&w, "b=2: ALL_CAS; d=4: ALL_CAS; e=5: ALL_CAS; f=6: ALL_CAS;", false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 1), 0x7fff, 4, 2, 0, 5, 6);
    world_fini(&w);
}
END_TEST

START_TEST(patterns_and_groups_choose_hosts)
{
    struct world w = world_of(leaf_spine(2, 2, 4));
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(w.f->nodes[w.f->switch_count + i].desc, sizeof(w.f->nodes[0].desc), "node-%u%s", i,
                 i % 2 == 0 ? " mlx5_0" : "");
        fab_fabric_set_name(w.f, w.f->switch_count + i, NULL);
    }
    want(&w,
         "@g: \"node-[1]\", \"*-7\"; a=1: \"node-2\", \"node-3\"; b=2: @g=full, \"n*4*_0\";"
         "c=3: \"*?-5\"; d=4: \"node\", \"*-*-*\";",
         false);
    apply(&w);
    ASSERT_HOLDS(&w, host(&w, 2), 0x7fff, 1);
    ASSERT_HOLDS(&w, host(&w, 3), 0x7fff, 1);
    ASSERT_HOLDS(&w, host(&w, 7), 0x7fff, 0x8002);
    ASSERT_HOLDS(&w, host(&w, 4), 0x7fff, 2);
    ASSERT_HOLDS(&w, host(&w, 5), 0x7fff, 3);
    ASSERT_HOLDS(&w, host(&w, 1), 0x7fff);
    world_fini(&w);
}
END_TEST

START_TEST(a_full_table_is_reported)
{
    struct world w = world_of(leaf_spine(1, 1, 2));
    char text[4096];
    size_t len = 0;
    for (unsigned i = 1; i <= ROOM; i++)
        len += (size_t)sprintf(text + len, "%u: %s;", i, guid_of(&w, 1));
    struct fab_partition_report r = want(&w, text, false);
    apply(&w);
    ck_assert_uint_eq(r.overflows, 2);
    uint32_t guard = fab_fabric_port(w.f, host(&w, 1))->peer;
    for (size_t i = 0; i < 2; i++) {
        const struct fab_partition_overflow *t = &r.overflow[i];
        ck_assert(t->port == guard || t->port == host(&w, 1));
        ck_assert_uint_eq(t->wanted, ROOM + 1);
        ck_assert_uint_eq(t->room, t->port == guard ? 32 : ROOM);
    }
    ck_assert_uint_eq(held(&w, host(&w, 1), 0), 0x7fff);
    ck_assert_uint_eq(held(&w, host(&w, 1), ROOM - 1), ROOM - 1);
    ck_assert_uint_eq(w.target->pkeys.enforce[guard], 0);
    world_fini(&w);
}
END_TEST

/* ---- changes --------------------------------------------------------------------------------- */

START_TEST(other_ports_see_no_write)
{
    struct world w = world_of(leaf_spine(4, 2, 4));
    char before[200], after[200];
    snprintf(before, sizeof(before), "a=1: %s, %s;", guid_of(&w, 2), guid_of(&w, 3));
    snprintf(after, sizeof(after), "a=1: %s; b=2: %s;", guid_of(&w, 2), guid_of(&w, 3));
    want(&w, before, false);
    apply(&w);
    want(&w, after, false);
    struct fab_plan plan = plan_of(&w);
    uint32_t from = plan.stage_start[FAB_STAGE_PKEYS_REMOVE];
    uint32_t to = plan.stage_start[FAB_STAGE_PKEYS_ADD + 1];
    /* Host 3 moves to another partition. Its port and its switch port each get two writes: one
     * removes the old key, and one adds the new key. */
    ck_assert_uint_eq(to - from, 4);
    for (uint32_t i = from; i < to; i++)
        ck_assert(plan.ops[i].port == host(&w, 3) ||
                  plan.ops[i].port == fab_fabric_port(w.f, host(&w, 3))->peer);
    fab_plan_fini(&plan);
    want(&w, before, false);
    ck_assert_uint_eq(apply(&w), 0);
    world_fini(&w);
}
END_TEST

START_TEST(unknown_tables_are_written_once)
{
    struct world w = world_of(leaf_spine(2, 1, 1));
    fab_target_held_pkeys_forget(&w.held.pkeys, host(&w, 1));
    want(&w, "Default=0x7fff: ALL=full;", false);
    ck_assert_uint_eq(apply(&w), ROOM / FAB_PKEY_BLOCK);
    world_fini(&w);
}
END_TEST

/* Returns whether the P_Key tables of two ports have a matching P_Key. */
static bool talk(const struct world *w, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < ROOM; i++)
        for (uint32_t k = 0; held(w, a, i) != 0 && k < ROOM; k++)
            if (fab_target_pkeys_match(held(w, a, i), held(w, b, k)))
                return true;
    return false;
}

#define HOSTS 6
static void pairs(const struct world *w, bool ret[HOSTS][HOSTS])
{
    for (uint32_t a = 0; a < HOSTS; a++)
        for (uint32_t b = 0; b < HOSTS; b++)
            ret[a][b] = talk(w, host(w, a), host(w, b));
}

/* Writes a random partitions.conf with the partitions 1 to 5. what[host][partition] gets the
 * membership. In the default partition, all ports but the manager's are limited members. */
static void random_text(const struct world *w, struct fab_prng *r, char *text,
                        uint8_t what[HOSTS][6])
{
    static const char *const names[] = {"limited", "full"};
    size_t len = 0;
    memset(what, 0, HOSTS * 6);
    for (uint32_t p = 1; p <= 5; p++) {
        len += (size_t)sprintf(text + len, "%u: ", p);
        for (uint32_t h = 1; h < HOSTS; h++) {
            uint64_t m = fab_base_prng_below(r, 4);
            what[h][p] = (uint8_t)m;
            if (m == 1 || m == 2)
                len += (size_t)sprintf(text + len, "%s=%s, ", guid_of(w, h), names[m - 1]);
        }
        len += (size_t)sprintf(text + len, ";\n");
    }
}

static bool shall_talk(uint8_t what[HOSTS][6], uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return true;
    for (uint32_t p = 1; p <= 5; p++)
        if ((what[a][p] == 2 && (what[b][p] == 1 || what[b][p] == 2)) ||
            (what[b][p] == 2 && what[a][p] == 1))
            return true;
    return false;
}

/* Makes the writes of a stage in random order. After each write, two ports may be able to
 * communicate only if they can communicate before or after the whole change. */
static void write_stage(struct world *w, struct fab_prng *r, const struct fab_plan *plan, int stage,
                        bool before[HOSTS][HOSTS], uint8_t what[HOSTS][6])
{
    uint32_t order[200], from = plan->stage_start[stage];
    uint32_t count = plan->stage_start[stage + 1] - from;
    ck_assert_uint_le(count, 200);
    for (uint32_t i = 0; i < count; i++)
        order[i] = from + i;
    fab_base_prng_shuffle(r, order, count);
    for (uint32_t i = 0; i < count; i++) {
        write_op(w, &plan->ops[order[i]]);
        bool now[HOSTS][HOSTS];
        pairs(w, now);
        for (uint32_t a = 0; a < HOSTS; a++)
            for (uint32_t b = 0; b < HOSTS; b++)
                if (a != b && now[a][b] && !before[a][b] && !shall_talk(what, a, b))
                    ck_abort_msg("hosts %u and %u talk on the way", a, b);
    }
}

START_TEST(two_limited_members_never_talk)
{
    uint64_t seed = test_seed("two_limited_members_never_talk", 1);
    struct fab_prng r;
    fab_base_prng_init(&r, seed);
    struct world w = world_of(leaf_spine(2, 2, HOSTS / 2));
    uint8_t what[HOSTS][6];
    char text[4000];
    want(&w, "", false);
    apply(&w);
    for (unsigned round = 0; round < 300; round++) {
        bool before[HOSTS][HOSTS], after[HOSTS][HOSTS];
        pairs(&w, before);
        random_text(&w, &r, text, what);
        want(&w, text, false);
        struct fab_plan plan = plan_of(&w);
        write_stage(&w, &r, &plan, FAB_STAGE_PKEYS_REMOVE, before, what);
        write_stage(&w, &r, &plan, FAB_STAGE_PKEYS_ADD, before, what);
        fab_plan_fini(&plan);
        ck_assert_uint_eq(apply(&w), 0);
        pairs(&w, after);
        for (uint32_t a = 0; a < HOSTS; a++)
            for (uint32_t b = 0; b < HOSTS; b++)
                if (a != b)
                    ck_assert_int_eq(after[a][b], shall_talk(what, a, b));
    }
    world_fini(&w);
}
END_TEST

/* A switch port that enforces partitions has the P_Keys of the endport at its other end. */
START_TEST(enforcing_ports_hold_the_keys_of_endports)
{
    uint64_t seed = test_seed("guards_hold_what_ends_hold", 2);
    struct fab_prng r;
    fab_base_prng_init(&r, seed);
    struct world w = world_of(leaf_spine(2, 2, HOSTS / 2));
    uint8_t what[HOSTS][6];
    char text[4000];
    for (unsigned round = 0; round < 100; round++) {
        random_text(&w, &r, text, what);
        want(&w, text, false);
        apply(&w);
        for (uint32_t h = 0; h < HOSTS; h++)
            for (uint16_t pkey = 1; pkey <= 5; pkey++) {
                uint32_t guard = fab_fabric_port(w.f, host(&w, h))->peer;
                uint16_t of_end = 0, of_guard = 0;
                for (uint32_t i = 0; i < FAB_PKEY_BLOCK; i++) {
                    if (fab_target_pkey_base(held(&w, host(&w, h), i)) == pkey)
                        of_end = held(&w, host(&w, h), i);
                    if (fab_target_pkey_base(held(&w, guard, i)) == pkey)
                        of_guard = held(&w, guard, i);
                }
                ck_assert_uint_eq(of_end, of_guard);
            }
    }
    world_fini(&w);
}
END_TEST

/* In a new snapshot, ports can have other ids. What the manager knows about their P_Key tables must
 * move to the new ids. */
START_TEST(what_is_known_moves_along)
{
    struct world w = world_of(leaf_spine(3, 2, 2));
    want(&w, "a=1: ALL_CAS; b=2: ALL_CAS=full;", false);
    apply(&w);
    struct fab_builder *b = fab_fabric_builder_from(w.f);
    uint32_t ref;
    ck_assert_int_eq(fab_fabric_builder_find_node(b, w.f->nodes[0].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    struct fab_fabric *now = sealed(b);
    struct fab_blocks moved;
    ck_assert_int_eq(fab_target_held_pkeys_remap(&w.held.pkeys, w.f, now, &moved), FAB_OK);
    for (uint32_t node = now->switch_count; node < now->node_count; node++) {
        const uint16_t *key = fab_target_blocks_get(&moved, now->nodes[node].first_port + 1u, 0);
        ck_assert_ptr_nonnull(key);
        ck_assert_uint_eq(key[1], 1);
        ck_assert_uint_eq(key[2], 0x8002);
    }
    fab_target_blocks_fini(&moved);
    fab_fabric_unref(now);
    world_fini(&w);
}
END_TEST

START_TEST(checking_is_switched_on_before_adapters_only)
{
    struct world w = world_of(leaf_spine(2, 2, 2));
    for (uint32_t port = 0; port < w.f->port_count; port++)
        fab_fabric_edit_port(w.f, port)->info.port_state = FAB_STATE_ACTIVE;
    want(&w, "", false);
    uint32_t trunk = FAB_NONE, guard = fab_fabric_port(w.f, host(&w, 1))->peer;
    for (uint32_t port = 0; port < w.f->port_count && trunk == FAB_NONE; port++)
        if (fab_fabric_peer_node(w.f, port) < w.f->switch_count)
            trunk = port;
    /* An ISL port reports partition enforcement, which only ports to adapters should have. The plan
     * must change this. */
    fab_fabric_edit_port(w.f, trunk)->info.part_enforce_in = 1;
    struct fab_plan plan = plan_of(&w);
    bool trunk_told = false, guard_told = false;
    for (uint32_t i = 0; i < plan.stage_start[FAB_STAGE_COUNT]; i++) {
        struct fab_plan_input in = {
            .fabric = w.f, .policy = &w.policy, .target = w.target, .observed = &w.held};
        struct fab_port_info info;
        uint8_t data[FAB_SMP_DATA];
        uint32_t mod;
        if (plan.ops[i].attr_id != FAB_ATTR_PORT_INFO)
            continue;
        ck_assert_int_eq(fab_plan_encode(&in, &plan.ops[i], data, &mod), FAB_OK);
        ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof(data), &info),
                         FAB_OK);
        uint8_t is = (uint8_t)(info.part_enforce_in | info.part_enforce_out << 1);
        if (plan.ops[i].port == trunk)
            trunk_told = is == 0;
        if (plan.ops[i].port == guard) {
            ck_assert_uint_ge(i, plan.stage_start[FAB_STAGE_ENDPORTS]);
            guard_told = is == 3;
        }
    }
    ck_assert(trunk_told && guard_told);
    fab_plan_fini(&plan);
    world_fini(&w);
}
END_TEST

/* Applies each kind of selector to four ports: of a switch, of a host, of a router, and the
 * manager's own. Checks which of them it selects. */
START_TEST(selectors_match_ports)
{
    struct fab_fabric *f = leaf_spine(1, 0, 4);
    f->nodes[2].type = FAB_NODE_ROUTER;
    const uint32_t ports[] = {fab_fabric_port_id(f, 0, 0), fab_fabric_port_id(f, 1, 1),
                              fab_fabric_port_id(f, 2, 1), fab_fabric_port_id(f, 4, 1)};
    f->self_port = ports[3];
    const struct {
        struct fab_port_selector who;
        bool matches[4];
    } cases[] = {
        {{.kind = FAB_SELECT_ALL}, {true, true, true, true}},
        {{.kind = FAB_SELECT_ADAPTERS}, {false, true, false, true}},
        {{.kind = FAB_SELECT_SWITCHES}, {true, false, false, false}},
        {{.kind = FAB_SELECT_ROUTERS}, {false, false, true, false}},
        {{.kind = FAB_SELECT_SELF}, {false, false, false, true}},
        {{.kind = FAB_SELECT_GUID, .guid = fab_fabric_port(f, ports[1])->guid},
         {false, true, false, false}},
        {{.kind = FAB_SELECT_NAME, .name = (char *)(uintptr_t) "host-*1"},
         {false, true, false, false}},
        {{.kind = FAB_SELECT_NAME, .name = (char *)(uintptr_t) "leaf-*"},
         {true, false, false, false}},
        {{.kind = FAB_SELECT_GROUP}, {false, false, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 4; k++)
            ck_assert_msg(fab_target_selector_matches(f, NULL, &cases[i].who, ports[k]) ==
                              cases[i].matches[k],
                          "case %zu, port %zu", i, k);
    fab_fabric_unref(f);
}
END_TEST

/* the input of the tables that tables_of_input() makes and frees */
static struct fab_partition_input input;

static int tables_of_input(void)
{
    struct fab_pkeys made = {0};
    struct fab_partition_report report;
    int r = fab_partition_tables(&input, &made, &report);
    if (r == FAB_OK)
        fab_target_pkeys_fini(&made);
    return r;
}

/* If an allocation fails, fab_partition_tables() must return NOMEM, and must free everything (which
 * the sanitizer checks). */
START_TEST(each_allocation_may_fail)
{
    static const char text[] = "Default=0x7fff: ALL=full; a=1,indx0: ALL_CAS=full; b=2: ALL_CAS;";
    struct world w = world_of(leaf_spine(3, 2, 4));
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {0};
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_OK);
    input = (struct fab_partition_input){.fabric = w.f,
                                         .partitions = p,
                                         .held = &w.held.pkeys,
                                         .enforce = FAB_ENFORCE_IN | FAB_ENFORCE_OUT};
    ck_assert_uint_gt(fail_each_allocation(tables_of_input, FAB_E_NOMEM), 6);
    fab_policy_partitions_unref(p);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tables = tcase_create("tables"), *changes = tcase_create("changes");
    tcase_add_test(tables, nothing_but_the_default_is_limited);
    tcase_add_test(tables, memberships_add_up);
    tcase_add_test(tables, index_0_is_kept_or_asked_for);
    tcase_add_test(tables, an_index_stays_while_its_key_does);
    tcase_add_test(tables, patterns_and_groups_choose_hosts);
    tcase_add_test(tables, a_full_table_is_reported);
    tcase_add_test(tables, each_allocation_may_fail);
    suite_add_tcase(suite, tables);
    tcase_set_timeout(changes, 30);
    tcase_add_test(changes, other_ports_see_no_write);
    tcase_add_test(changes, unknown_tables_are_written_once);
    tcase_add_test(changes, two_limited_members_never_talk);
    tcase_add_test(changes, enforcing_ports_hold_the_keys_of_endports);
    tcase_add_test(changes, what_is_known_moves_along);
    tcase_add_test(changes, checking_is_switched_on_before_adapters_only);
    tcase_add_test(changes, selectors_match_ports);
    suite_add_tcase(suite, changes);
    return test_run(suite);
}
