/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which path records subnet administration returns for a request, depending on how the request
 * names the endports and on its other components.
 */
#include "tests/unit/sa_place.h"

START_TEST(ends_are_named_by_gid_and_lid)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_wire_path_record r[8],
        q = {.sgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid},
             .dgid = {PREFIX, fab_fabric_port(x.f, host(&x, 5))->guid},
             .slid = (uint16_t)lid(&x, host(&x, 0)),
             .dlid = (uint16_t)lid(&x, host(&x, 5))};
    static const char *const ways[][3] = {
        {"SGID", "DGID", NULL}, {"SLID", "DLID", NULL}, {"SGID", "DLID", NULL}};
    for (size_t i = 0; i < 3; i++) {
        want(&x, &fab_wire_path_record, &q, (const char **)(uintptr_t)ways[i]);
        ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
        ck_assert_uint_eq(r[0].slid, q.slid);
        ck_assert_uint_eq(r[0].dlid, q.dlid);
        ck_assert_uint_eq(r[0].dgid[1], q.dgid[1]);
    }
    /* without a destination: paths to all endports and switches */
    want(&x, &fab_wire_path_record, &q, NAMES("SGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 11);
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
    /* the LID is not of the port with the SGID, so there is no path */
    q.slid = (uint16_t)lid(&x, host(&x, 1));
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 0);
    q.slid = 0xbfff;
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 0);
    q.dgid[1] ^= 1;
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    q.dgid[1] ^= 1;
    /* the prefix of another subnet, to which no router leads */
    q.dgid[0] = UINT64_C(0xfec0000000000001);
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    leave(&x);
}
END_TEST

/* A request may name a port by an alias GUID. The path must lead to the port with this alias, and
 * the answer must contain the alias. */
START_TEST(aliases_name_ports)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_sa_aliases a = {0};
    struct fab_wire_guid_info_record g,
        wanted = {.lid = (uint16_t)lid(&x, host(&x, 3)), .block = 1};
    uint64_t own = fab_fabric_port(x.f, host(&x, 3))->guid, name = own ^ UINT64_C(0x1234) << 32;
    struct fab_wire_path_record r,
        q = {.sgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid}, .dgid = {PREFIX, name}};
    fab_fabric_edit_port(((struct fab_fabric *)(uintptr_t)x.f), host(&x, 3))->info.guid_cap = 16;
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    ck_assert_int_eq(fab_sa_aliases_set(&a, own, 9, name), FAB_OK);
    fab_sa_set_aliases(x.sa, &a);
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.dlid, lid(&x, host(&x, 3)));
    ck_assert_uint_eq(r.dgid[1], name);
    ck_assert_uint_eq(r.sgid[1], q.sgid[1]);
    struct fab_wire_multi_path_record m = {
        .sgids = 1, .dgids = 2, .gid = {PREFIX, q.sgid[1], PREFIX, own, PREFIX, name}};
    x.req.method = FAB_METHOD_GET_MULTI;
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    struct fab_wire_path_record two[2];
    ck_assert_uint_eq(table(&x, two, sizeof two[0], 2), 2);
    ck_assert_uint_eq(two[0].dgid[1], own);
    ck_assert_uint_eq(two[1].dgid[1], name);
    ck_assert_uint_eq(two[0].dlid, two[1].dlid);
    x.req.method = FAB_METHOD_GET_TABLE;
    want(&x, &fab_wire_guid_info_record, &wanted, NAMES("LID", "BlockNum"));
    ck_assert_uint_eq(table(&x, &g, sizeof g, 1), 1);
    ck_assert_uint_eq(g.table.guid[1], name);
    ck_assert_uint_eq(g.table.guid[0], 0);
    ck_assert_int_eq(fab_sa_aliases_set(&a, own, 9, 0), FAB_OK);
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    fab_sa_aliases_fini(&a);
    leave(&x);
}
END_TEST

static bool is_seven(const void *ctx, uint64_t guid)
{
    return guid == *(const uint64_t *)ctx;
}

START_TEST(aliases_are_unique)
{
    struct fab_sa_aliases a = {0};
    const uint64_t nothing = 0;
    uint64_t first = fab_sa_aliases_generate(&a, 77, 3, is_seven, &nothing);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(fab_sa_aliases_generate(&a, 77, 3, is_seven, &nothing), first);
    ck_assert_uint_ne(fab_sa_aliases_generate(&a, 77, 4, is_seven, &nothing), first);
    ck_assert_uint_ne(fab_sa_aliases_generate(&a, 77, 3, is_seven, &first), first);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, 0, 5), FAB_E_RANGE);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, FAB_SA_ALIAS_INDEXES, 5), FAB_E_RANGE);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, 3, 5), FAB_OK);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, 3, 5), FAB_OK);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, 4, 5), FAB_E_EXISTS);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 78, 3, 5), FAB_E_EXISTS);
    ck_assert_uint_eq(fab_sa_aliases_port(&a, 5), 77);
    ck_assert_int_eq(fab_sa_aliases_set(&a, 77, 3, 6), FAB_OK);
    ck_assert_uint_eq(fab_sa_aliases_port(&a, 5), 0);
    ck_assert_uint_eq(fab_sa_aliases_port(&a, 6), 77);
    for (uint32_t port = 100; port < 400; port++)
        for (uint32_t place = 1; place < 40; place += 7)
            ck_assert_int_eq(fab_sa_aliases_set(&a, port, place, port << 8 | place), FAB_OK);
    for (uint32_t port = 100; port < 400; port++)
        ck_assert_uint_eq(fab_sa_aliases_block(&a, port, 4)->guid[4], port << 8 | 36);
    ck_assert_ptr_null(fab_sa_aliases_block(&a, 100, 6));
    fab_sa_aliases_fini(&a);
}
END_TEST

/* A path to another subnet leads to the configured router, and keeps the destination GID. */
START_TEST(other_subnets_are_behind_routers)
{
    static const char text[] = "# ours\nfec0000000000007 0x99 # nobody\n* *\n";
    const uint64_t far = UINT64_C(0xfec0000000000001);
    struct fab_routers_error error;
    struct fab_fabric *f = leaf_spine(3, 2, 2);
    f->nodes[f->switch_count + 4].type = FAB_NODE_ROUTER;
    struct place x = place_of(f, "updn", 0, true);
    struct fab_wire_path_record r,
        q = {.sgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid}, .dgid = {far, 4711}};
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    ck_assert_int_eq(fab_policy_routers_read(text, sizeof text - 1, &x.v->policy.routers, &error),
                     FAB_OK);
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.dlid, lid(&x, host(&x, 4)));
    ck_assert_uint_eq(r.dgid[0], far);
    ck_assert_uint_eq(r.dgid[1], 4711);
    ck_assert_uint_gt(r.hop_limit, 1);
    /* A request for a path behind a router must leave nothing over for the next request, which is
     * of another kind and stays within the subnet. */
    struct fab_wire_multi_path_record m = {.sgids = 1,
                                           .dgids = 1,
                                           .gid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid,
                                                   PREFIX,
                                                   fab_fabric_port(x.f, host(&x, 1))->guid}};
    struct place here = x;
    here.req.method = FAB_METHOD_GET_MULTI;
    want(&here, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(table(&here, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.hop_limit, 0);
    /* the policy names a router for this subnet, but the router is not in the fabric */
    q.dgid[0] = UINT64_C(0xfec0000000000007);
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    q.dgid[0] = PREFIX;
    q.dgid[1] = fab_fabric_port(x.f, host(&x, 4))->guid; /* the destination is the router itself */
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.hop_limit, 0);
    leave(&x);
}
END_TEST

START_TEST(selectors_select)
{
    static const struct {
        uint8_t selector, want, have;
        bool exact_only, good;
        uint8_t becomes;
    } cases[] = {
        {FAB_SELECT_MORE, 3, 4, false, true, 4},     {FAB_SELECT_MORE, 4, 4, false, false, 4},
        {FAB_SELECT_LESS, 4, 4, false, true, 3},     {FAB_SELECT_LESS, 5, 3, false, true, 3},
        {FAB_SELECT_LESS, 1, 3, false, false, 0},    {FAB_SELECT_EXACTLY, 4, 5, false, true, 4},
        {FAB_SELECT_EXACTLY, 5, 4, false, false, 4}, {FAB_SELECT_EXACTLY, 4, 5, true, false, 5},
        {FAB_SELECT_EXACTLY, 5, 5, true, true, 5},   {FAB_SELECT_BEST, 0, 4, false, true, 4},
        {FAB_SELECT_LESS, 0, 3, false, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned value = cases[i].have;
        bool good =
            fab_sa_apply_selector(cases[i].selector, cases[i].want, &value, cases[i].exact_only);
        ck_assert_int_eq(good, cases[i].good);
        if (good)
            ck_assert_uint_eq(value, cases[i].becomes);
    }
}
END_TEST

START_TEST(paths_are_selected)
{
    struct fab_fabric *f = leaf_spine(2, 1, 2);
    for (uint32_t p = 0; p < f->port_count; p++) {
        fab_fabric_edit_port(f, p)->info.mtu_cap = 4; /* code of an MTU of 2048 bytes */
        ck_assert_int_eq(fab_fabric_text_parse_rate("4x EDR", 6, &fab_fabric_edit_port(f, p)->info),
                         FAB_OK);
    }
    struct place x = place_of(f, "updn", 0, true);
    struct fab_wire_path_record r,
        q = {.slid = (uint16_t)lid(&x, host(&x, 0)), .dlid = (uint16_t)lid(&x, host(&x, 3))};
    static const char *const value[] = {"Mtu", "Rate", "PacketLifeTime"};
    static const char *const selector[] = {"MtuSelector", "RateSelector", "PacketLifeTimeSelector"};
    static const struct {
        unsigned what, selector, want, count, becomes;
    } cases[] = {
        {0, 0, 4, 0, 0},   {0, 0, 3, 1, 4},  {0, 1, 4, 1, 3},   {0, 2, 3, 1, 3},
        {0, 2, 5, 0, 0},   {0, 3, 1, 1, 4},  {1, 2, 16, 1, 16}, {1, 2, 7, 0, 0},
        {1, 0, 16, 0, 0},  {1, 0, 7, 1, 16}, {1, 1, 16, 1, 9},  {1, 1, 17, 1, 16},
        {2, 1, 18, 1, 17}, {2, 0, 18, 0, 0}, {2, 2, 18, 1, 18}, {2, 3, 0, 1, 18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_wire_path_record c = q;
        unsigned what = cases[i].what;
        *(what == 0   ? &c.mtu_selector
          : what == 1 ? &c.rate_selector
                      : &c.life_selector) = (uint8_t)cases[i].selector;
        *(what == 0 ? &c.mtu : what == 1 ? &c.rate : &c.life) = (uint8_t)cases[i].want;
        want(&x, &fab_wire_path_record, &c, NAMES("SLID", "DLID", value[what], selector[what]));
        ck_assert_msg(table(&x, &r, sizeof r, 1) == cases[i].count, "case %zu", i);
        unsigned got = what == 0 ? r.mtu : what == 1 ? r.rate : r.life;
        if (cases[i].count)
            ck_assert_msg(got == cases[i].becomes, "case %zu: %u", i, got);
    }
    q.mtu = 5; /* the mask selects the MTU without MtuSelector, so the MTU is ignored */
    q.sl = 1;
    q.pkey = 0x8001;
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID", "Mtu"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    /* the fabric needs no SL of its own, so the path gets the SL of the request */
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID", "SL"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.sl, 1);
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID", "P_Key"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 0);
    q.pkey = 0x7fff;
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID", "P_Key"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    leave(&x);
}
END_TEST

/* The hosts 0 to 2 have these P_Keys. Host 0: 0xffff and 0x8001 (full member of the default
 * partition and of partition 1). Host 1: 0x7fff and 0x0001 (limited member of both). Host 2:
 * 0x8002. Host 3 has no P_Key table. */
START_TEST(paths_keep_to_partitions)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    uint16_t keys[] = {0xffff, 0x8001, 0x7fff, 0x0001, 0x8002};
    struct fab_pkeys *k = &x.v->target->pkeys;
    struct fab_wire_path_record r;
    static const struct {
        unsigned src, dst;
        /* wanted: P_Key in the request; 0: none. becomes: P_Key that the path must have; 0: there
         * must be no path. */
        uint16_t wanted, becomes;
    } cases[] = {
        {0, 1, 0, 0x7fff}, {0, 1, 0x8001, 0x8001}, {0, 1, 0x8002, 0},
        {0, 2, 0, 0},      {0, 3, 0, 0xffff},      {1, 1, 0, 0x7fff},
        {1, 3, 0, 0x7fff}, {2, 2, 0, 0x8002},      {0, 1, 0x8000, 0},
    };
    k->ports = x.f->port_count;
    k->first = calloc(k->ports + 1u, sizeof *k->first);
    k->key = calloc(5, sizeof *k->key);
    memcpy(k->key, keys, sizeof keys);
    for (uint32_t p = 0; p <= k->ports; p++)
        k->first[p] = p > host(&x, 2) ? 5 : p > host(&x, 1) ? 4 : p > host(&x, 0) ? 2 : 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_wire_path_record q = {.slid = (uint16_t)lid(&x, host(&x, cases[i].src)),
                                         .dlid = (uint16_t)lid(&x, host(&x, cases[i].dst)),
                                         .pkey = cases[i].wanted};
        want(&x, &fab_wire_path_record, &q,
             cases[i].wanted ? NAMES("SLID", "DLID", "P_Key") : NAMES("SLID", "DLID"));
        ck_assert_msg(table(&x, &r, sizeof r, 1) == (cases[i].becomes != 0), "case %zu", i);
        if (cases[i].becomes)
            ck_assert_msg(r.pkey == cases[i].becomes, "case %zu: %#x", i, r.pkey);
    }
    /* number of nodes that each host may see: host 2 itself; host 1 itself and the full members of
     * the default partition (hosts 0 and 3, and three switches) */
    static const unsigned sees[4] = {6, 6, 1, 6};
    for (uint32_t h = 0; h < 4; h++) {
        uint8_t none[FAB_SA_DATA_LEN] = {0};
        x.req = (struct fab_sa_request){.method = FAB_METHOD_GET_TABLE,
                                        .attr_id = FAB_SA_NODE_RECORD,
                                        .data = none,
                                        .from = host(&x, h)};
        ck_assert_uint_eq(table(&x, NULL, 0, 0), sees[h]);
        x.req.trusted = true;
        ck_assert_uint_eq(table(&x, NULL, 0, 0), 7);
        x.req.trusted = false;
        x.req.attr_id = FAB_SA_PATH_RECORD;
        uint32_t paths = table(&x, NULL, 0, 0);
        ck_assert_uint_eq(paths, h == 2 ? 1 : 36);
    }
    leave(&x);
}
END_TEST

static struct fab_classes *two_classes(void)
{
    struct fab_classes *c;
    struct fab_classes_error e;
    uint8_t n;
    ck_assert_int_eq(fab_policy_classes_new(&c), FAB_OK);
    ck_assert_int_eq(
        fab_policy_classes_add(c, &(struct fab_class){.name = "a", .sl = FAB_CLASS_NO_SL, .mtu = 2},
                               &n, &e),
        FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(c, n, "qos_class=3", &e), FAB_OK);
    ck_assert_int_eq(
        fab_policy_classes_add(
            c, &(struct fab_class){.name = "b", .sl = FAB_CLASS_NO_SL, .rate_mbps = 10000}, &n, &e),
        FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(c, n, "service=0x0100000000000005", &e), FAB_OK);
    return c;
}

/* Finds the path record of a traffic class between two hosts. Returns false if there is none. */
static bool path_of(struct place *x, uint32_t a, uint32_t b,
                    const struct fab_wire_path_record *extra, const char *names[],
                    struct fab_wire_path_record *ret)
{
    struct fab_wire_path_record q = *extra;
    q.slid = (uint16_t)lid(x, a);
    q.dlid = (uint16_t)lid(x, b);
    want(x, &fab_wire_path_record, &q, names);
    return table(x, ret, sizeof *ret, 1) == 1;
}

/* Requests paths in a fabric with traffic classes. The SL must be that of the class and of the
 * pair, and the path must not exceed the MTU and the rate of its class. */
static void ask_for_classes(struct fab_fabric *f, const char *engine)
{
    struct place x = place_with(f, engine, 0, true, two_classes());
    const struct fab_vls *v = &x.v->target->vls;
    struct fab_wire_path_record r;
    ck_assert_uint_eq(v->levels, 3);
    for (uint32_t b = 1; b < 4; b++) {
        uint32_t src = host(&x, 0), dst = host(&x, b);
        uint8_t sl = fab_target_sl(f, &x.v->target->lids, v, src, lid(&x, dst));
        ck_assert(path_of(&x, src, dst, &(struct fab_wire_path_record){.raw = 0},
                          (const char *[]){"SLID", "DLID", NULL}, &r));
        ck_assert_uint_eq(r.sl, sl);
        ck_assert(path_of(&x, src, dst, &(struct fab_wire_path_record){.qos_class = 3},
                          (const char *[]){"SLID", "DLID", "QoSClass", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[1][sl]);
        ck_assert_uint_eq(r.mtu, 2);
        ck_assert(path_of(
            &x, src, dst, &(struct fab_wire_path_record){.service_msb = 1, .service_lsb = 5},
            (const char *[]){"SLID", "DLID", "ServiceID8MSB", "ServiceID56LSB", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[2][sl]);
        ck_assert_uint_eq(r.rate, 3);
        ck_assert(path_of(&x, src, dst, &(struct fab_wire_path_record){.sl = v->sl[2][sl]},
                          (const char *[]){"SLID", "DLID", "SL", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[2][sl]);
        ck_assert(!path_of(&x, src, dst,
                           &(struct fab_wire_path_record){.sl = v->sl[2][sl], .qos_class = 3},
                           (const char *[]){"SLID", "DLID", "SL", "QoSClass", NULL}, &r));
        ck_assert(!path_of(&x, src, dst, &(struct fab_wire_path_record){.sl = 15},
                           (const char *[]){"SLID", "DLID", "SL", NULL}, &r));
    }
    leave(&x);
}

START_TEST(classes_have_their_paths)
{
    ask_for_classes(leaf_spine(2, 2, 3), "updn");
    ask_for_classes(grid((uint32_t[3]){6, 1, 1}, true, 1), "torus");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa choice");
    TCase *tcase = tcase_create("choice");
    tcase_add_test(tcase, ends_are_named_by_gid_and_lid);
    tcase_add_test(tcase, aliases_name_ports);
    tcase_add_test(tcase, aliases_are_unique);
    tcase_add_test(tcase, other_subnets_are_behind_routers);
    tcase_add_test(tcase, selectors_select);
    tcase_add_test(tcase, paths_are_selected);
    tcase_add_test(tcase, paths_keep_to_partitions);
    tcase_add_test(tcase, classes_have_their_paths);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
