/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets: copies, large tables, and the attributes that the manager writes to switches along with
 * tables. */
#include <string.h>

#include "libfabmgr/target/arb.h"
#include "libfabmgr/target/choice.h"
#include "tests/unit/routing.h"

static struct fab_target *full_target(const struct fab_fabric *f, const struct fab_policy *p)
{
    struct fab_target *t = routed(f, p);
    fab_target_vls_init(&t->vls, 4);
    t->vls.top = t->lids.top;
    t->vls.of_lid = calloc(t->lids.top + 1, 1);
    t->vls.of_lid[t->lids.top] = 3;
    t->pkeys.ports = f->port_count;
    t->pkeys.first = calloc(f->port_count + 1, sizeof *t->pkeys.first);
    t->pkeys.key = calloc(f->port_count, sizeof *t->pkeys.key);
    t->pkeys.enforce = calloc(f->port_count, 1);
    for (uint32_t port = 0; port <= f->port_count; port++)
        t->pkeys.first[port] = port;
    for (uint32_t port = 0; port < f->port_count; port++)
        t->pkeys.key[port] = (uint16_t)(0x8000 + port);
    t->pkeys.enforce[f->port_count - 1] = 1;
    strcpy(t->engine, "updn");
    strcpy(t->reason, "as asked");
    t->choice = fab_target_choice_new();
    return t;
}

static void assert_equal(const struct fab_fabric *f, const struct fab_target *a,
                         const struct fab_target *b)
{
    ck_assert_str_eq(a->engine, b->engine);
    ck_assert_str_eq(a->reason, b->reason);
    ck_assert_ptr_eq(a->choice, b->choice);
    ck_assert_uint_eq(a->lids.top, b->lids.top);
    ck_assert_uint_eq(a->lft.top, b->lft.top);
    ck_assert_uint_eq(a->lft.switch_count, b->lft.switch_count);
    ck_assert_uint_eq(a->vls.count, b->vls.count);
    ck_assert_mem_eq(a->lids.base, b->lids.base, f->port_count * sizeof *a->lids.base);
    ck_assert_mem_eq(a->lids.lmc, b->lids.lmc, f->port_count * sizeof *a->lids.lmc);
    for (uint32_t lid = 0; lid <= a->lids.top; lid++) {
        ck_assert_uint_eq(a->lids.owner[lid], b->lids.owner[lid]);
        ck_assert_uint_eq(fab_target_vls_sl(&a->vls, 0, 1, lid),
                          fab_target_vls_sl(&b->vls, 0, 1, lid));
        for (uint32_t sw = 0; sw < f->switch_count; sw++)
            ck_assert_uint_eq(fab_target_lft_at(&a->lft, sw, lid),
                              fab_target_lft_at(&b->lft, sw, lid));
    }
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t of_a, of_b;
        const uint16_t *x = fab_target_pkeys_table(&a->pkeys, port, &of_a);
        const uint16_t *y = fab_target_pkeys_table(&b->pkeys, port, &of_b);
        ck_assert_uint_eq(of_a, of_b);
        ck_assert_mem_eq(x, y, of_a * sizeof *x);
        ck_assert_uint_eq(a->pkeys.enforce[port], b->pkeys.enforce[port]);
    }
}

START_TEST(a_clone_is_equal_and_its_own)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = 1;
    struct fab_fabric *f = leaf_spine(3, 2, 2);
    struct fab_target *t = full_target(f, &p), *clone = NULL, *second = NULL;
    ck_assert_int_eq(fab_target_clone(t, &clone), FAB_OK);
    ck_assert_int_eq(fab_target_clone(t, &second), FAB_OK);
    assert_equal(f, t, clone);
    ck_assert(!fab_target_is_shared(clone));
    ck_assert_int_eq(fab_target_lft_unshare(&clone->lft), FAB_OK);
    ck_assert_int_eq(fab_target_lft_own(&clone->lft, 1, 2), FAB_OK);
    fab_target_lft_set(&clone->lft, 1, 2, 77);
    ck_assert_uint_eq(fab_target_lft_at(&clone->lft, 1, 2), 77);
    clone->pkeys.key[3] ^= 1;
    clone->vls.of_lid[1] ^= 1;
    assert_equal(f, t, second);
    fab_target_unref(t);
    ck_assert_uint_eq(second->vls.of_lid[second->lids.top], 3);
    ck_assert_str_eq(second->reason, "as asked");
    fab_target_unref(second);
    fab_target_unref(clone);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(references_are_counted)
{
    struct fab_target *t = fab_target_new();
    ck_assert(!fab_target_is_shared(t));
    ck_assert_ptr_eq(fab_target_ref(t), t);
    ck_assert(fab_target_is_shared(t));
    fab_target_unref(t);
    ck_assert(!fab_target_is_shared(t));
    fab_target_unref(t);
    fab_target_unref(NULL);
}
END_TEST

/* LFTs of 4 MiB and more use huge pages. Their entries, too, must drop packets at first. */
START_TEST(large_tables_start_without_routes)
{
    struct fab_lft t;
    const uint32_t switches = 90, top = 0xbfff;
    ck_assert_int_eq(fab_target_lft_init(&t, switches, top), FAB_OK);
    ck_assert_uint_eq(t.stride % FAB_LFT_BLOCK, 0);
    ck_assert_uint_gt(t.stride, top);
    for (uint32_t sw = 0; sw < switches; sw++) {
        for (uint32_t lid = 0; lid <= top; lid++)
            if (fab_target_lft_at(&t, sw, lid) != FAB_LFT_NO_ROUTE)
                ck_abort_msg("switch %u has a route to LID %u", sw, lid);
        memset(fab_target_lft_row(&t, sw), 1, t.stride);
    }
    fab_target_lft_fini(&t);
}
END_TEST

/* ---- SwitchInfo ------------------------------------------------------------------------------ */

START_TEST(the_multicast_table_is_used_whole)
{
    static const struct {
        bool has;
        uint16_t cap, was, want;
    } cases[] = {
        {true, 1024, 0xc00f, 0xc3ff},  {true, 1, 0xffff, 0xc000}, {true, 16383, 0xc00f, 0xfffe},
        {true, 16384, 0xc00f, 0xfffe}, {true, 0, 0xc00f, 0xc00f}, {false, 1024, 0xc00f, 0xc00f},
    };
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(1, 1, 1);
    struct fab_lids lids = {.top = 77};
    p.packet_life_time = 9;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fab_switch_info want;
        struct fab_port *port = fab_fabric_edit_port(f, fab_fabric_port_id(f, 1, 0));
        port->info.cap_mask &= ~0x40000000u;
        port->info.cap_mask |= cases[i].has ? 0x40000000u : 0;
        f->switches[1].multicast_fdb_cap = cases[i].cap;
        f->switches[1].multicast_fdb_top = cases[i].was;
        f->switches[1].port_state_change = i % 2;
        fab_target_switch_info(f, &p, &lids, 1, &want);
        ck_assert_uint_eq(want.multicast_fdb_top, cases[i].want);
        ck_assert_uint_eq(want.linear_fdb_top, 77);
        ck_assert_uint_eq(want.life_time, 9);
        ck_assert_uint_eq(want.port_state_change, i % 2);
    }
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

/* If a default port of a switch leads to a link, the manager wants another one that drops packets.
 * It leaves port 0 and ports that the switch does not have. */
START_TEST(default_ports_are_closed)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(1, 1, 1);
    struct fab_lids lids = {.top = 77};
    const uint8_t ports = f->nodes[1].num_ports;
    const uint8_t cases[][3] = {/* port before; wanted for unicast, and for multicast */
                                {0, 0, 0},
                                {1, 0, 0xff},
                                {ports, 0, 0xff},
                                {(uint8_t)(ports + 1), (uint8_t)(ports + 1), (uint8_t)(ports + 1)},
                                {0xff, 0xff, 0xff}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned which = 0; which < 3; which++) {
            struct fab_switch_info want, *is = &f->switches[1];
            is->default_port = which == 0 ? cases[i][0] : 0;
            is->default_mcast_primary_port = which == 1 ? cases[i][0] : 0;
            is->default_mcast_not_primary_port = which == 2 ? cases[i][0] : 0;
            fab_target_switch_info(f, &p, &lids, 1, &want);
            ck_assert_uint_eq(want.default_port, which == 0 ? cases[i][1] : 0);
            ck_assert_uint_eq(want.default_mcast_primary_port, which == 1 ? cases[i][2] : 0);
            ck_assert_uint_eq(want.default_mcast_not_primary_port, which == 2 ? cases[i][2] : 0);
        }
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

/* ---- SLs and VLs ----------------------------------------------------------------------------- */

static struct fab_vls random_vls(const struct fab_fabric *f, uint32_t top, struct fab_prng *prng)
{
    struct fab_vls v;
    fab_target_vls_init(&v, 4);
    ck_assert_int_eq(fab_target_vls_by_lid(&v, top), FAB_OK);
    ck_assert_int_eq(fab_target_vls_by_pair(&v, f->switch_count), FAB_OK);
    ck_assert_int_eq(fab_target_vls_by_class(&v, f->port_count), FAB_OK);
    ck_assert_uint_eq(v.top, top);
    ck_assert_uint_eq(v.switches, f->switch_count);
    ck_assert_uint_eq(v.ports, f->port_count);
    for (uint32_t lid = 0; lid <= top; lid++)
        v.of_lid[lid] = (uint8_t)(1 + fab_base_prng_below(prng, 15));
    for (uint32_t i = 0; i < f->switch_count * f->switch_count; i++)
        v.of_pair[i] = (uint8_t)(1 + fab_base_prng_below(prng, 15));
    for (uint32_t port = 0; port < f->port_count; port++)
        v.port_class[port] = (uint8_t)(1 + fab_base_prng_below(prng, 15));
    ck_assert_int_eq(fab_target_vls_with_branches(&v, f->switch_count), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        v.branch[sw] = (uint8_t)(1 + fab_base_prng_below(prng, 15));
    return v;
}

static void assert_remapped(const struct fab_vls *v, const struct fab_fabric *old,
                            const struct fab_fabric *now, uint32_t top)
{
    struct fab_vls made;
    ck_assert_int_eq(fab_target_vls_remap(v, old, now, top, &made), FAB_OK);
    ck_assert_uint_eq(made.top, top);
    ck_assert_uint_eq(made.switches, now->switch_count);
    ck_assert_uint_eq(made.ports, now->port_count);
    ck_assert_uint_eq(made.count, 4);
    for (uint32_t lid = 0; lid <= top; lid++)
        ck_assert_uint_eq(made.of_lid[lid], lid <= v->top ? v->of_lid[lid] : 0);
    for (uint32_t to = 0; to < now->switch_count; to++)
        for (uint32_t from = 0; from < now->switch_count; from++) {
            uint32_t a = fab_fabric_node_by_guid(old, now->nodes[to].guid),
                     b = fab_fabric_node_by_guid(old, now->nodes[from].guid);
            uint8_t want = a == FAB_NONE || b == FAB_NONE ? 0 : v->of_pair[a * v->switches + b];
            ck_assert_uint_eq(made.of_pair[to * made.switches + from], want);
        }
    for (uint32_t port = 0; port < now->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(now, port);
        uint32_t was = fab_fabric_node_by_guid(old, now->nodes[p->node].guid);
        uint8_t want = was == FAB_NONE ? 0 : v->port_class[fab_fabric_port_id(old, was, p->num)];
        ck_assert_uint_eq(made.port_class[port], want);
    }
    ck_assert_uint_eq(made.branch_switches, now->switch_count);
    for (uint32_t sw = 0; sw < now->switch_count; sw++) {
        uint32_t was = fab_fabric_node_by_guid(old, now->nodes[sw].guid);
        ck_assert_uint_eq(made.branch[sw], was == FAB_NONE ? 0 : v->branch[was]);
    }
    fab_target_vls_fini(&made);
}

/* The VLs of a snapshot are moved to another snapshot. Switches are found by their GUIDs, and ports
 * by their numbers. New switches get SL 0, and new ports class 0. */
START_TEST(vls_move_to_another_snapshot)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("snapshots", 21));
    struct fab_fabric *whole = fat_tree(8, 2, 1);
    struct fab_fabric *part = damaged(fat_tree(8, 2, 1), &prng, 0.1, 0.3);
    struct fab_vls v = random_vls(whole, 90, &prng), u = random_vls(part, 90, &prng);
    assert_remapped(&v, whole, part, 60);
    assert_remapped(&v, whole, part, 90);
    assert_remapped(&u, part, whole, 130);
    fab_target_vls_fini(&v);
    fab_target_vls_fini(&u);
    fab_fabric_unref(whole);
    fab_fabric_unref(part);
}
END_TEST

START_TEST(copies_of_vls_are_independent_and_shares_are_not)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("copies", 22));
    struct fab_fabric *f = leaf_spine(2, 2, 2);
    struct fab_vls v = random_vls(f, 20, &prng), copy, share;
    const size_t pairs = f->switch_count * f->switch_count;
    ck_assert_int_eq(fab_target_vls_copy(&v, &copy), FAB_OK);
    ck_assert_mem_eq(copy.of_lid, v.of_lid, 21);
    ck_assert_mem_eq(copy.of_pair, v.of_pair, pairs);
    ck_assert_mem_eq(copy.port_class, v.port_class, f->port_count);
    ck_assert_ptr_ne(copy.of_lid, v.of_lid);
    ck_assert_ptr_ne(copy.of_pair, v.of_pair);
    ck_assert_ptr_ne(copy.port_class, v.port_class);
    ck_assert_int_eq(fab_target_vls_share(&v, &share), FAB_OK);
    ck_assert_ptr_eq(share.of_pair, v.of_pair);
    fab_target_vls_fini(&v);
    ck_assert_ptr_null(v.of_pair);
    ck_assert_mem_eq(share.of_lid, copy.of_lid, 21);
    ck_assert_mem_eq(share.of_pair, copy.of_pair, pairs);
    ck_assert_mem_eq(share.port_class, copy.port_class, f->port_count);
    fab_target_vls_fini(&share);
    fab_target_vls_fini(&copy);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(tables_of_vls_are_packed)
{
    const uint8_t vl[FAB_SLS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 0, 0, 0, 0, 9};
    ck_assert_uint_eq(fab_target_sl2vl_pack(vl, 15), UINT64_C(0x012345678ef00009));
    ck_assert_uint_eq(fab_target_sl2vl_pack(vl, 4), UINT64_C(0x0123012302f00001));
    ck_assert_uint_eq(fab_target_sl2vl_pack(vl, 1), UINT64_C(0x0000000000f00000));
    struct fab_vls v;
    fab_target_vls_init(&v, 3);
    ck_assert_uint_eq(v.count, 3);
    ck_assert_uint_eq(v.sls, 3);
    ck_assert_uint_eq(v.classes, 1);
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        ck_assert_uint_eq(v.vl[0][0][sl], sl % 3);
        ck_assert_uint_eq(v.vl[FAB_VL_CLASSES - 1][FAB_VL_CLASSES - 1][sl], sl % 3);
    }
    fab_target_vls_init(&v, 0);
    ck_assert_uint_eq(v.vl[0][0][15], 0);
}
END_TEST

/* ---- blocks ---------------------------------------------------------------------------------- */

static void fill(uint16_t entry[FAB_BLOCK_ENTRIES], uint32_t id, uint32_t number)
{
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
        entry[i] = (uint16_t)(id * 1000 + number * 40 + i);
}

START_TEST(blocks_are_put_edited_and_forgotten)
{
    struct fab_blocks b = {0}, copy;
    uint16_t entry[FAB_BLOCK_ENTRIES];
    const uint16_t none[FAB_BLOCK_ENTRIES] = {0};
    for (uint32_t id = 0; id < 20; id++)
        for (uint32_t number = 0; number < 5; number++) {
            ck_assert_ptr_null(fab_target_blocks_get(&b, id, number));
            fill(entry, id, number);
            ck_assert_int_eq(fab_target_blocks_put(&b, id, number, entry), FAB_OK);
        }
    ck_assert_uint_eq(b.count, 100);
    fill(entry, 7, 9);
    ck_assert_int_eq(fab_target_blocks_put(&b, 7, 2, entry), FAB_OK);
    ck_assert_mem_eq(fab_target_blocks_get(&b, 7, 2), entry, sizeof entry);
    /* changes entry 31, and no other entry of the block */
    fab_target_blocks_edit(&b, 8, 1)[31] = 5;
    ck_assert_uint_eq(fab_target_blocks_get(&b, 8, 1)[31], 5);
    ck_assert_uint_eq(fab_target_blocks_get(&b, 8, 1)[30], 8070);
    fab_target_blocks_forget(&b, 3, 4);
    fab_target_blocks_forget(&b, 3, 3);
    fab_target_blocks_forget(&b, 77, 0);
    ck_assert_ptr_null(fab_target_blocks_get(&b, 3, 4));
    ck_assert_mem_eq(fab_target_blocks_edit(&b, 3, 3), none, sizeof none);
    ck_assert_uint_eq(b.count, 100);
    ck_assert_int_eq(fab_target_blocks_copy(&b, &copy), FAB_OK);
    ck_assert_uint_eq(copy.count, 99);
    ck_assert_ptr_null(fab_target_blocks_get(&copy, 3, 4));
    for (uint32_t id = 9; id < 20; id++)
        for (uint32_t number = 0; number < 5; number++) {
            fill(entry, id, number);
            ck_assert_mem_eq(fab_target_blocks_get(&copy, id, number), entry, sizeof entry);
        }
    fab_target_blocks_fini(&copy);
    fab_target_blocks_fini(&b);
    ck_assert_uint_eq(b.count, 0);
}
END_TEST

/* A port that acknowledges P_Key enforcement, but always reports another setting, has refused the
 * enforcement. A port that has reported it, and later reports another setting, has lost it. */
START_TEST(lost_enforcement_is_noticed_once)
{
    struct fab_blocks h = {0};
    const uint16_t key[FAB_BLOCK_ENTRIES] = {0x8001};
    ck_assert(!fab_target_held_pkeys_refused_enforce(&h, 4, 3));
    ck_assert(!fab_target_held_pkeys_lost_enforce(&h, 4, 3));
    ck_assert_int_eq(fab_target_held_pkeys_set_enforce(&h, 4, 3), FAB_OK);
    ck_assert(fab_target_held_pkeys_refused_enforce(&h, 4, 3));
    ck_assert(!fab_target_held_pkeys_refused_enforce(&h, 4, 2));
    ck_assert(!fab_target_held_pkeys_refused_enforce(&h, 5, 3));
    /* the port has not reported the enforcement yet, so it cannot lose it */
    ck_assert(!fab_target_held_pkeys_lost_enforce(&h, 4, 0));
    /* the port reports the enforcement for the first time */
    ck_assert(!fab_target_held_pkeys_lost_enforce(&h, 4, 3));
    ck_assert(!fab_target_held_pkeys_lost_enforce(&h, 4, 3));
    ck_assert(fab_target_held_pkeys_lost_enforce(&h, 4, 0));
    ck_assert(!fab_target_held_pkeys_lost_enforce(&h, 4, 0));
    ck_assert(!fab_target_held_pkeys_refused_enforce(&h, 4, 3));
    ck_assert_int_eq(fab_target_held_pkeys_set_enforce(&h, 4, 1), FAB_OK);
    ck_assert_int_eq(fab_target_held_pkeys_set_enforce(&h, 5, 1), FAB_OK);
    ck_assert_int_eq(fab_target_blocks_put(&h, 4, 0, key), FAB_OK);
    ck_assert_int_eq(fab_target_blocks_put(&h, 4, FAB_PKEY_BLOCKS_MAX - 1, key), FAB_OK);
    fab_target_held_pkeys_forget(&h, 4);
    ck_assert_ptr_null(fab_target_blocks_get(&h, 4, 0));
    ck_assert_ptr_null(fab_target_blocks_get(&h, 4, FAB_PKEY_BLOCKS_MAX - 1));
    ck_assert(!fab_target_held_pkeys_refused_enforce(&h, 4, 1));
    ck_assert(fab_target_held_pkeys_refused_enforce(&h, 5, 1));
    fab_target_blocks_fini(&h);
}
END_TEST

/* ---- P_Keys ---------------------------------------------------------------------------------- */

START_TEST(ports_share_partitions)
{
    uint32_t first[] = {0, 2, 4, 4, 5, 38};
    uint16_t key[38] = {0x8001, 0x7fff, 0x0002, 0x8001, 0x0001};
    uint16_t block[FAB_PKEY_BLOCK];
    uint32_t count;
    for (unsigned i = 5; i < 38; i++)
        key[i] = (uint16_t)(0x8000 + i);
    const struct fab_pkeys p = {.ports = 5, .first = first, .key = key};
    ck_assert_ptr_eq(fab_target_pkeys_table(&p, 1, &count), key + 2);
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_null(fab_target_pkeys_table(&p, 2, &count));
    ck_assert_ptr_null(fab_target_pkeys_table(&p, 5, &count));
    ck_assert_uint_eq(*fab_target_pkeys_table_or_default(&p, 2, &count), 0xffff);
    ck_assert_uint_eq(count, 1);
    ck_assert(fab_target_pkeys_has(&p, 0, 0x0001) && fab_target_pkeys_has(&p, 0, 0x8001));
    ck_assert(fab_target_pkeys_has(&p, 1, 0x8002) && !fab_target_pkeys_has(&p, 1, 0x7fff));
    ck_assert(fab_target_pkeys_has(&p, 2, 0x7fff) && !fab_target_pkeys_has(&p, 2, 0x8001));
    ck_assert(!fab_target_pkeys_has(&p, 0, 0x8000));
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 0, 1, 0), 0x8001);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 0, 1, 0x8002), 0);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 0, 3, 0), 0x0001);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 0, 2, 0), 0x7fff);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 0, 2, 0x8001), 0);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 3, 1, 1), 0x0001);
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 1, 2, 0), 0);
    /* two limited members cannot communicate, but a port can communicate with itself */
    ck_assert_uint_eq(fab_target_pkeys_common(&p, 3, 3, 0), 0x0001);
    fab_target_pkeys_block(&p, 4, 0, block);
    ck_assert_mem_eq(block, key + 5, sizeof block);
    fab_target_pkeys_block(&p, 4, 1, block);
    ck_assert_uint_eq(block[0], 0x8025);
    ck_assert_uint_eq(block[1], 0);
    fab_target_pkeys_block(&p, 4, 2, block);
    ck_assert_uint_eq(block[0], 0);
}
END_TEST

/* Makes P_Key tables of ascending length: `keys_before` keys for the first port, one more for each
 * further port. */
static struct fab_pkeys keys_of_ports(uint32_t ports, uint32_t keys_before)
{
    struct fab_pkeys p = {.ports = ports};
    if (ports == 0)
        return p;
    p.first = calloc(ports + 1u, sizeof *p.first);
    p.key = calloc(ports * (keys_before + ports) + 1u, sizeof *p.key);
    p.enforce = calloc(ports, 1);
    for (uint32_t port = 0; port < ports; port++) {
        p.first[port + 1] = p.first[port] + keys_before + port;
        p.enforce[port] = (uint8_t)(port + 1);
    }
    for (uint32_t i = 0; i < p.first[ports]; i++)
        p.key[i] = (uint16_t)(0x8001 + i);
    return p;
}

START_TEST(keys_of_any_number_of_ports_are_copied)
{
    for (uint32_t ports = 0; ports < 4; ports++) {
        for (uint32_t before = 0; before < 3; before++) {
            struct fab_pkeys p = keys_of_ports(ports, before), copy;
            ck_assert_int_eq(fab_target_pkeys_copy(&p, &copy), FAB_OK);
            ck_assert_uint_eq(copy.ports, ports);
            for (uint32_t port = 0; port < ports; port++) {
                uint32_t of_p, of_copy;
                const uint16_t *a = fab_target_pkeys_table(&p, port, &of_p),
                               *b = fab_target_pkeys_table(&copy, port, &of_copy);
                ck_assert_uint_eq(of_p, before + port);
                ck_assert_uint_eq(of_copy, of_p);
                for (uint32_t i = 0; i < of_p; i++)
                    ck_assert_uint_eq(a[i], b[i]);
                ck_assert(of_p == 0 || a != b);
                ck_assert_uint_eq(copy.enforce[port], port + 1);
                ck_assert_ptr_ne(copy.enforce, p.enforce);
            }
            fab_target_pkeys_fini(&p);
            fab_target_pkeys_fini(&copy);
            ck_assert_uint_eq(copy.ports, 0);
        }
    }
}
END_TEST

/* ---- forwarding tables ----------------------------------------------------------------------- */

/* A page of an LFT has several blocks, and the row of each switch begins with a new page. */
START_TEST(single_entries_make_tables_differ)
{
    struct fab_lft a, b, shorter;
    const uint32_t switches = 3, top = 3 * FAB_LFT_PAGE + 70;
    ck_assert_int_eq(fab_target_lft_init(&a, switches, top), FAB_OK);
    ck_assert_int_eq(fab_target_lft_init(&shorter, switches, FAB_LFT_PAGE + 100), FAB_OK);
    for (uint32_t sw = 0; sw < switches; sw++)
        for (uint32_t lid = 0; lid <= top; lid++)
            fab_target_lft_set(&a, sw, lid, (uint8_t)((sw + 1) * lid % 200));
    ck_assert_int_eq(fab_target_lft_copy(&a, &b), FAB_OK);
    ck_assert(fab_target_lft_same(&a, &b));
    ck_assert(!fab_target_lft_same(&a, &shorter));
    for (uint32_t sw = 0; sw < switches; sw++)
        for (uint32_t lid = 0; lid <= top; lid += lid == 0 ? top : 1 + lid / 3) {
            fab_target_lft_set(&b, sw, lid, 250);
            ck_assert(!fab_target_lft_same(&a, &b));
            fab_target_lft_set(&b, sw, lid, fab_target_lft_at(&a, sw, lid));
        }
    ck_assert(fab_target_lft_same(&a, &b));
    fab_target_lft_copy_row(&a, 2, &shorter, 1);
    for (uint32_t lid = 0; lid <= FAB_LFT_PAGE + 100; lid++) {
        ck_assert_uint_eq(fab_target_lft_at(&shorter, 0, lid), FAB_LFT_NO_ROUTE);
        ck_assert_uint_eq(fab_target_lft_at(&shorter, 1, lid), fab_target_lft_at(&a, 2, lid));
        ck_assert_uint_eq(fab_target_lft_at(&shorter, 2, lid), FAB_LFT_NO_ROUTE);
    }
    fab_target_lft_copy_row(&shorter, 0, &b, 1);
    ck_assert_uint_eq(fab_target_lft_at(&b, 1, FAB_LFT_PAGE + 100), FAB_LFT_NO_ROUTE);
    ck_assert_uint_eq(fab_target_lft_at(&b, 1, FAB_LFT_PAGE + 101),
                      fab_target_lft_at(&a, 1, FAB_LFT_PAGE + 101));
    fab_target_lft_fini(&a);
    fab_target_lft_fini(&b);
    fab_target_lft_fini(&shorter);
}
END_TEST

/* A new target shares all tables with the present one. A table is copied only when it is
 * changed. */
START_TEST(the_next_target_shares_all)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(3, 2, 2);
    struct fab_target *t = full_target(f, &p), *next = NULL;
    ck_assert_int_eq(fab_target_next(t, &next), FAB_OK);
    assert_equal(f, t, next);
    ck_assert_ptr_eq(t->lids.base, next->lids.base);
    ck_assert_ptr_eq(t->pkeys.key, next->pkeys.key);
    ck_assert_ptr_eq(t->vls.of_lid, next->vls.of_lid);
    fab_target_unref(t);
    ck_assert_uint_eq(next->vls.of_lid[next->lids.top], 3);
    ck_assert_uint_eq(next->pkeys.key[3], 0x8003);
    ck_assert_str_eq(next->engine, "updn");
    ck_assert_str_eq(next->reason, "as asked");
    fab_target_unref(next);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

/* ---- VL arbitration -------------------------------------------------------------------------- */

/* fab_target_arb_guarantee() returns the part of the link, per mille, that VL arbitration (IBA
 * 7.6.9) guarantees to some VLs. Arguments: the bitset of these VLs, the bitset of all other VLs
 * with packets to send, and the packet size. Weights count 64 bytes, so a packet of 4096 bytes has
 * a weight of 64. */
START_TEST(guarantees_are_those_of_the_tables)
{
    const struct fab_arb even = {.low = {{0, 64}, {1, 64}}, .lows = 2};
    const struct fab_arb uneven = {.low = {{0, 192}, {1, 64}, {2, 65}}, .lows = 3};
    struct fab_arb urgent = {
        .low = {{0, 64}}, .lows = 1, .high = {{1, 64}, {2, 192}}, .highs = 2, .limit = 255};
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 1, 2, 4096), 500);
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 1, 0, 4096), 1000);
    /* VL 2 is not in the tables, so nothing is guaranteed */
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 4, 3, 4096), 0);
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 1, 2, 4096), 750);
    /* weights 64 and 65: with the weight 65, a second packet of 4096 bytes begins, so VL 2 sends
     * two for one */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 2, 4, 4096), 333);
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 1, 6, 4096), 500);
    /* VLs 0 and 1 belong to the same class, and perhaps only VL 1, the one with the lower
     * guarantee, has packets. It sends one packet of three. */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 3, 4, 4096), 333);
    /* with packets of 2048 bytes, a weight of 64 is two packets, and one of 65 is three */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 2, 4, 2048), 400);
    /* VLHighLimit 255: while the high-priority table has packets, the low-priority table sends
     * nothing */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 0);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 0, 4096), 1000);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 5, 4096), 250);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 4, 2, 4096), 750);
    urgent.limit = 0; /* VLHighLimit 0: after each high-priority packet, one low-priority packet */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 500);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 500);
    /* VLHighLimit 3: after 3 * 4096 bytes of high priority, one low-priority packet */
    urgent.limit = 3;
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 2, 4096), 250);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 750);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 0, 4096), 1000);
    urgent.high[0].weight = urgent.high[1].weight = 0; /* entries with weight 0 are skipped */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 1000);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_clone_is_equal_and_its_own,
        references_are_counted,
        large_tables_start_without_routes,
        the_multicast_table_is_used_whole,
        guarantees_are_those_of_the_tables,
        default_ports_are_closed,
        vls_move_to_another_snapshot,
        copies_of_vls_are_independent_and_shares_are_not,
        tables_of_vls_are_packed,
        blocks_are_put_edited_and_forgotten,
        lost_enforcement_is_noticed_once,
        ports_share_partitions,
        keys_of_any_number_of_ports_are_copied,
        single_entries_make_tables_differ,
        the_next_target_shares_all,
    };
    Suite *suite = suite_create("target");
    TCase *tcase = tcase_create("target");
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
