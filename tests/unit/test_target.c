/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets: copies, large tables, and the attributes of tables that the manager writes to switches.
 */
#include <string.h>

#include "libfabmgr/target/arb.h"
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
    return t;
}

static void assert_equal(const struct fab_fabric *f, const struct fab_target *a,
                         const struct fab_target *b)
{
    ck_assert_str_eq(a->engine, b->engine);
    ck_assert_str_eq(a->reason, b->reason);
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

/* Tables of 4 MiB and more are allocated in huge pages. They, too, must begin without any route. */
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

/* ---- VL arbitration -------------------------------------------------------------------------- */

/* fab_target_arb_guarantee returns the share of the link, per mille, that the tables guarantee to
 * some VLs (IBA 7.6.9). The second argument is the bitset of these VLs, the third that of the other
 * VLs that have packets. Weights count units of 64 bytes, so a packet of 4096 bytes has a weight of
 * 64. */
START_TEST(guarantees_are_those_of_the_tables)
{
    const struct fab_arb even = {.low = {{0, 64}, {1, 64}}, .lows = 2};
    const struct fab_arb uneven = {.low = {{0, 192}, {1, 64}, {2, 65}}, .lows = 3};
    struct fab_arb urgent = {
        .low = {{0, 64}}, .lows = 1, .high = {{1, 64}, {2, 192}}, .highs = 2, .limit = 255};
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 1, 2, 4096), 500);
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 1, 0, 4096), 1000);
    ck_assert_uint_eq(fab_target_arb_guarantee(&even, 4, 3, 4096), 0); /* VL 2 has no entry */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 1, 2, 4096), 750);
    /* a packet that has begun is sent completely, so a weight of 65 permits two packets of 4096
     * bytes */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 2, 4, 4096), 333);
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 1, 6, 4096), 500);
    /* VLs 0 and 1 belong to one class. Only the VL with the lower guarantee may have packets: VL 1
     * with one packet of three, so 333 per mille. */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 3, 4, 4096), 333);
    /* with packets of 2048 bytes, a weight of 64 permits two packets, and 65 permits three */
    ck_assert_uint_eq(fab_target_arb_guarantee(&uneven, 2, 4, 2048), 400);
    /* VLHighLimit 255: the high-priority table takes the whole link while it has packets */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 0);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 0, 4096), 1000);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 5, 4096), 250);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 4, 2, 4096), 750);
    urgent.limit = 0; /* one packet of each priority in turn */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 500);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 500);
    /* VLHighLimit 3: after 3 * 4096 bytes of high priority, one packet of low priority follows */
    urgent.limit = 3;
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 2, 4096), 250);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 750);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 0, 4096), 1000);
    urgent.high[0].weight = urgent.high[1].weight = 0; /* entries without weight do not count */
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 1, 6, 4096), 1000);
    ck_assert_uint_eq(fab_target_arb_guarantee(&urgent, 2, 1, 4096), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_clone_is_equal_and_its_own,       references_are_counted,
        large_tables_start_without_routes,  the_multicast_table_is_used_whole,
        guarantees_are_those_of_the_tables,
    };
    Suite *suite = suite_create("target");
    TCase *tcase = tcase_create("target");
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
