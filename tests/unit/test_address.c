/* SPDX-License-Identifier: BSD-3-Clause */
/* LID assignment: ports keep LIDs, get leased or new ones, and never share a LID. */
#include "tests/unit/routing.h"

struct result {
    struct fab_lids lids;
    struct fab_address_note *notes;
    size_t note_count;
};

static int try_assign(const struct fab_fabric *f, uint8_t lmc, const struct fab_lease *leases,
                      size_t count, struct result *r)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = lmc;
    struct fab_address_input in = {
        .fabric = f, .policy = &p, .leases = leases, .lease_count = count};
    return fab_address_assign(&in, &r->lids, &r->notes, &r->note_count);
}

static struct result assign(const struct fab_fabric *f, uint8_t lmc, const struct fab_lease *leases,
                            size_t count)
{
    struct result r;
    ck_assert_int_eq(try_assign(f, lmc, leases, count, &r), FAB_OK);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t base = r.lids.base[port], size = 1u << r.lids.lmc[port];
        if (base == 0)
            continue;
        ck_assert(fab_fabric_port_has_lid(f, port));
        ck_assert_uint_eq(base % size, 0);
        ck_assert_uint_eq(r.lids.lmc[port],
                          fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) ? 0 : lmc);
        for (uint32_t i = 0; i < size; i++)
            ck_assert_uint_eq(r.lids.owner[base + i], port);
    }
    return r;
}

static void result_fini(struct result *r)
{
    fab_target_lids_fini(&r->lids);
    free(r->notes);
}

START_TEST(ends_of_a_leaf_stand_side_by_side)
{
    struct fab_fabric *f = fat_tree(8, 2, 1);
    struct result r = assign(f, 0, NULL, 0);
    uint32_t next = 1;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
            if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
                ck_assert_uint_eq(r.lids.base[peer], next++);
        }
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        ck_assert_uint_eq(r.lids.base[fab_fabric_port_id(f, sw, 0)], next++);
    ck_assert_uint_eq(r.lids.top, next - 1);
    result_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(ranges_are_aligned)
{
    for (uint8_t lmc = 0; lmc <= 7; lmc++) {
        struct fab_fabric *f = random_fabric(12, 3, 3, lmc);
        struct result r = assign(f, lmc, NULL, 0);
        result_fini(&r);
        fab_fabric_unref(f);
    }
}
END_TEST

/* Makes a copy of f in which the devices report these LIDs. Frees f. */
static struct fab_fabric *carrying(struct fab_fabric *f, const struct fab_lids *lids)
{
    struct fab_fabric *c = NULL;
    ck_assert_int_eq(fab_fabric_clone(f, &c), FAB_OK);
    for (uint32_t port = 0; port < c->port_count; port++)
        fab_fabric_edit_port(c, port)->info.lid = (uint16_t)lids->base[port];
    fab_fabric_unref(f);
    return c;
}

START_TEST(lids_of_devices_are_kept)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("kept", 21));
    for (unsigned i = 0; i < 50; i++) {
        struct fab_fabric *f = random_fabric(10, 3, 2, i);
        struct result first = assign(f, 0, NULL, 0);
        for (uint32_t port = 0; port < f->port_count; port++) {
            if (first.lids.base[port] != 0)
                first.lids.base[port] += 1000;
            if (fab_base_prng_below(&prng, 5) == 0)
                first.lids.base[port] = 0;
        }
        f = carrying(f, &first.lids);
        struct result second = assign(f, 0, NULL, 0);
        ck_assert_uint_eq(second.note_count, 0);
        for (uint32_t port = 0; port < f->port_count; port++) {
            if (first.lids.base[port] != 0)
                ck_assert_uint_eq(second.lids.base[port], first.lids.base[port]);
        }
        result_fini(&first);
        result_fini(&second);
        fab_fabric_unref(f);
    }
}
END_TEST

/* Makes a fabric of one switch with four endports. The endports report the LIDs carry[]. ends[]
 * gets the port ids of the endports, in the order of their GUIDs. */
static struct fab_fabric *four_ends(uint32_t ends[4], const uint16_t carry[4])
{
    struct drawing *d = draw_new();
    draw_hosts(d, draw_switch(d, 8), 4);
    struct fab_fabric *f = draw_done(d), *c = NULL;
    uint32_t count = 0;
    ck_assert_int_eq(fab_fabric_clone(f, &c), FAB_OK);
    for (uint32_t port = 0; port < c->port_count; port++) {
        if (fab_fabric_port(c, port)->node >= c->switch_count &&
            fab_fabric_port(c, port)->num == 1) {
            fab_fabric_edit_port(c, port)->info.lid = carry[count];
            ends[count++] = port;
        }
    }
    fab_fabric_unref(f);
    return c;
}

START_TEST(duplicates_go_to_the_lease_then_to_the_lower_guid)
{
    uint32_t ends[4];
    struct fab_fabric *f = four_ends(ends, (uint16_t[4]){7, 7, 9, 9});
    struct fab_lease lease = {.port_guid = fab_fabric_port(f, ends[3])->guid, .lid = 9};
    struct result r = assign(f, 0, &lease, 1);
    ck_assert_uint_eq(r.lids.base[ends[0]], 7);
    ck_assert_uint_ne(r.lids.base[ends[1]], 7);
    ck_assert_uint_ne(r.lids.base[ends[2]], 9);
    ck_assert_uint_eq(r.lids.base[ends[3]], 9);
    ck_assert_uint_eq(r.note_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(r.notes[i].kind, FAB_NOTE_DUPLICATE_LID);
        ck_assert_uint_eq(r.notes[i].port_guid, fab_fabric_port(f, ends[i == 0 ? 1 : 2])->guid);
    }
    result_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(invalid_lids_are_replaced)
{
    uint32_t ends[4];
    struct fab_fabric *f = four_ends(ends, (uint16_t[4]){0xc000, 0xffff, 5, 6});
    struct result r = assign(f, 1, NULL, 0);
    /* LID 0xffff causes no note, because some devices report 0xffff if they have no LID. LID 5
     * causes a note, because with this LMC base LIDs are even. */
    ck_assert_uint_eq(r.note_count, 2);
    ck_assert_int_eq(r.notes[0].kind, FAB_NOTE_INVALID_LID);
    ck_assert_uint_eq(r.notes[0].lid, 0xc000);
    ck_assert_uint_eq(r.notes[1].lid, 5);
    ck_assert_uint_eq(r.lids.base[ends[3]], 6);
    result_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(leases_hold_while_ports_are_away)
{
    uint32_t ends[4];
    struct fab_fabric *f = four_ends(ends, (uint16_t[4]){0, 0, 3, 0});
    struct fab_lease leases[] = {
        {.port_guid = 0xdead, .lid = 1},
        {.port_guid = 0xbeef, .lid = 3},
        {.port_guid = fab_fabric_port(f, ends[0])->guid, .lid = 40},
        {.port_guid = 0xf00d, .lid = 0xffffffff}, /* invalid leases have no effect */
        {.port_guid = 0xf00e, .lid = 0xbfff, .lmc = 255},
        {.port_guid = fab_fabric_port(f, ends[1])->guid, .lid = 0xc000},
    };
    struct result r = assign(f, 0, leases, sizeof(leases) / sizeof(leases[0]));
    ck_assert_uint_eq(r.lids.base[ends[0]], 40);
    for (uint32_t port = 0; port < f->port_count; port++) {
        ck_assert_uint_ne(r.lids.base[port], 1);
        ck_assert_uint_ne(r.lids.base[port], 3);
    }
    result_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(absent_leases_give_way_when_it_gets_tight)
{
    uint32_t ends[4];
    struct fab_lease leases[] = {{.port_guid = 0xdead, .lid = 1}, {.port_guid = 0xbeef, .lid = 2}};
    struct fab_fabric *f = four_ends(ends, (uint16_t[4]){0, 0, 0, 0});
    struct result r;
    /* An LFT with 6 entries permits the LIDs 1 to 5, just enough for four endports and a switch. */
    f->switches[0].linear_fdb_cap = 6;
    ck_assert_int_eq(try_assign(f, 0, leases, 2, &r), FAB_OK);
    ck_assert_uint_eq(r.lids.top, 5);
    result_fini(&r);
    f->switches[0].linear_fdb_cap = 5;
    ck_assert_int_eq(try_assign(f, 0, leases, 2, &r), FAB_E_LIMIT);
    f->switches[0].linear_fdb_cap = 49152;
    ck_assert_int_eq(try_assign(f, 8, NULL, 0, &r), FAB_E_INVAL);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(the_order_of_leases_changes_nothing)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("lease order", 22));
    for (unsigned i = 0; i < 30; i++) {
        struct fab_fabric *f = random_fabric(8, 3, 3, i);
        struct fab_lease leases[64], other[64];
        uint32_t order[64];
        for (uint32_t k = 0; k < 64; k++) {
            uint32_t port = (uint32_t)fab_base_prng_below(&prng, f->port_count);
            uint64_t guid = k % 3 == 0 ? k + 1 : fab_fabric_port(f, port)->guid;
            /* several leases can have the same port GUID or the same LID */
            leases[k] = (struct fab_lease){.port_guid = guid,
                                           .lid = (uint32_t)fab_base_prng_below(&prng, 80)};
            order[k] = k;
        }
        fab_base_prng_shuffle(&prng, order, 64);
        for (uint32_t k = 0; k < 64; k++)
            other[k] = leases[order[k]];
        struct result a = assign(f, 0, leases, 64), b = assign(f, 0, other, 64);
        ck_assert_mem_eq(a.lids.base, b.lids.base, f->port_count * sizeof(*a.lids.base));
        ck_assert_uint_eq(a.note_count, b.note_count);
        result_fini(&a);
        result_fini(&b);
        fab_fabric_unref(f);
    }
}
END_TEST

START_TEST(double_claims_are_seen)
{
    struct fab_lids l;
    ck_assert_int_eq(fab_target_lids_init(&l, 3), FAB_OK);
    l.base[0] = 4;
    l.lmc[0] = 2;
    l.base[2] = 7;
    ck_assert_int_eq(fab_target_lids_index(&l), FAB_E_EXISTS);
    l.base[2] = 8;
    ck_assert_int_eq(fab_target_lids_index(&l), FAB_OK);
    ck_assert_uint_eq(l.top, 8);
    ck_assert_uint_eq(l.owner[7], 0);
    ck_assert_uint_eq(l.owner[3], FAB_NONE);
    fab_target_lids_fini(&l);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        ends_of_a_leaf_stand_side_by_side,
        ranges_are_aligned,
        lids_of_devices_are_kept,
        duplicates_go_to_the_lease_then_to_the_lower_guid,
        invalid_lids_are_replaced,
        leases_hold_while_ports_are_away,
        absent_leases_give_way_when_it_gets_tight,
        the_order_of_leases_changes_nothing,
        double_claims_are_seen,
    };
    Suite *suite = suite_create("address");
    TCase *tcase = tcase_create("LIDs");
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
