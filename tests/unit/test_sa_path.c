/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the path records of subnet administration with paths that are followed through the
 * tables. */
#include "tests/unit/sa_place.h"

struct least {
    uint32_t mbps;
    uint8_t mtu, hops;
};

/* If endport `end` is port 0 of a switch, lowers the MTU and rate in *l to those of port 0. They
 * can be lower than those of the links. */
static void least_of_port0(const struct place *x, uint32_t end, struct least *l)
{
    const struct fab_port_info *info = &fab_fabric_port(x->f, end)->info;
    if (fab_fabric_port(x->f, end)->num != 0)
        return;
    l->mtu = info->mtu_cap && info->mtu_cap < l->mtu ? info->mtu_cap : l->mtu;
    l->mbps = fab_wire_link_rate(info) && fab_wire_link_rate(info) < l->mbps
                  ? fab_wire_link_rate(info)
                  : l->mbps;
}

/* Follows the path through the tables. *ret gets the lowest MTU and rate on it. Returns false if
 * there is no path. */
static bool least_of_trace(const struct place *x, uint32_t src, uint32_t to, struct least *ret)
{
    const struct fab_verify_input in = {
        .fabric = x->f, .lids = &x->v->target->lids, .lft = &x->v->target->lft, .max_hops = 64};
    struct fab_verify_trace t = {0};
    struct least l = {.mbps = UINT32_MAX, .mtu = 9};
    bool good = fab_verify_trace(&in, src, to, &t) == FAB_OK;
    for (uint32_t i = 0; good && i < t.count; i++) {
        const struct fab_port *p = fab_fabric_port(x->f, t.ports[i]);
        if (p->num == 0)
            continue; /* the path starts at port 0 of a switch, which has no link */
        const struct fab_port_info *a = &p->info, *b = &fab_fabric_port(x->f, p->peer)->info;
        uint8_t mtu = a->mtu_cap < b->mtu_cap ? a->mtu_cap : b->mtu_cap;
        uint32_t mbps = fab_wire_link_rate(a) < fab_wire_link_rate(b) ? fab_wire_link_rate(a)
                                                                      : fab_wire_link_rate(b);
        l.mtu = mtu < l.mtu ? mtu : l.mtu;
        l.mbps = mbps < l.mbps ? mbps : l.mbps;
        l.hops = (uint8_t)(l.hops + fab_fabric_node_is_switch(x->f, p->node));
    }
    fab_verify_trace_fini(&t);
    least_of_port0(x, src, &l);
    least_of_port0(x, x->v->target->lids.owner[to], &l);
    *ret = l;
    return good;
}

static void assert_paths_are_traces(struct place *x)
{
    uint32_t pairs = 0;
    for (uint32_t s = 0; s < x->f->port_count; s++) {
        for (uint32_t d = 0; d < x->f->port_count; d++) {
            struct least l;
            struct fab_sa_path p;
            uint8_t mtu = 0, rank = 0;
            if (s == d || !lid(x, s) || !lid(x, d))
                continue;
            bool reaches = least_of_trace(x, s, lid(x, d), &l);
            if ((fab_sa_path(x->sa, s, lid(x, d), &p) == FAB_OK) != reaches ||
                (fab_sa_path_limits(x->sa, s, lid(x, d), &mtu, &rank) == FAB_OK) != reaches)
                ck_abort_msg("%u to %u: the trace %s", s, d, reaches ? "reaches" : "does not");
            if (!reaches)
                continue;
            if (p.mtu != l.mtu || fab_sa_rate_mbps(p.rate) != l.mbps || p.mtu != mtu ||
                fab_sa_rate_of_rank(rank) != p.rate)
                ck_abort_msg("%u to %u: mtu %u, rate %u; the trace: %u, %u Mb/s", s, d, p.mtu,
                             p.rate, l.mtu, l.mbps);
            if (!fab_fabric_node_is_switch(x->f, fab_fabric_port(x->f, s)->node) &&
                p.hops != l.hops + fab_fabric_node_is_switch(x->f, fab_fabric_port(x->f, d)->node))
                ck_abort_msg("%u to %u: %u hops, the trace: %u", s, d, p.hops, l.hops);
            pairs++;
        }
    }
    ck_assert_uint_gt(pairs, 100);
}

static bool has_unusual_links(const struct place *x)
{
    uint64_t any = 0;
    for (uint32_t i = 0; x->sa->unusual && i <= x->v->target->lids.top / 64; i++)
        any |= x->sa->unusual[i];
    return any != 0;
}

/* Gives the links random rates and MTUs. */
static struct fab_fabric *motley(struct fab_fabric *f, struct fab_prng *prng)
{
    static const char *const rates[] = {"4x EDR",  "4x HDR", "1x SDR",
                                        "12x QDR", "2x HDR", "4x NDR"};
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_port(f, p)->peer;
        if (peer == FAB_NONE || peer < p)
            continue;
        const char *rate = rates[fab_base_prng_next(prng) % 6];
        ck_assert_int_eq(
            fab_fabric_text_parse_rate(rate, strlen(rate), &fab_fabric_edit_port(f, p)->info),
            FAB_OK);
        ck_assert_int_eq(
            fab_fabric_text_parse_rate(rate, strlen(rate), &fab_fabric_edit_port(f, peer)->info),
            FAB_OK);
        fab_fabric_edit_port(f, p)->info.mtu_cap = (uint8_t)(1 + fab_base_prng_next(prng) % 5);
        fab_fabric_edit_port(f, peer)->info.mtu_cap = (uint8_t)(1 + fab_base_prng_next(prng) % 5);
    }
    return f;
}

/* Slows down one link between switches, or all links of endports. */
static struct fab_fabric *slower(struct fab_fabric *f, bool ends)
{
    bool done = false;
    for (uint32_t p = 0; p < f->port_count && !done; p++) {
        bool between = fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) &&
                       fab_fabric_peer_node(f, p) < f->switch_count;
        if (fab_fabric_port(f, p)->peer == FAB_NONE || between == ends)
            continue;
        fab_fabric_edit_port(f, p)->info.width_active =
            fab_fabric_edit_port(f, fab_fabric_port(f, p)->peer)->info.width_active = 1;
        done = !ends;
    }
    return f;
}

START_TEST(paths_are_those_of_the_tables)
{
    enum { MOTLEY = 4, ALIKE = 6, ONE_SLOWER = 8, ENDS_SLOWER = 10 };
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("paths", 3));
    for (int round = 0; round < ENDS_SLOWER; round++) {
        /* with 60 hosts, the bitset of LIDs has several words */
        uint32_t hosts = round == ALIKE + 1 ? 60 : 3;
        struct fab_fabric *f =
            round % 2 ? leaf_spine(4, 2, hosts) : random_fabric(8, 4, 2, fab_base_prng_next(&prng));
        if (round < MOTLEY)
            f = motley(f, &prng);
        else if (round >= ALIKE)
            f = slower(f, round >= ONE_SLOWER);
        struct place x = place_of(f, "updn", 0, round != 1);
        ck_assert_int_eq(x.sa->unusual != NULL, round >= MOTLEY);
        ck_assert_int_eq(has_unusual_links(&x), round >= ALIKE && round < ONE_SLOWER);
        assert_paths_are_traces(&x);
        /* now the answers come from the cache */
        assert_paths_are_traces(&x);
        leave(&x);
    }
}
END_TEST

/* There must be a path record for each pair, with the SL that the engine chose. A path is
 * reversible only if the path back has the same SL. */
START_TEST(all_pairs_have_records)
{
    struct place x = place_of(grid((const uint32_t[3]){4, 4, 1}, true, 2), "dfsssp", 0, true);
    struct fab_wire_path_record none = {0};
    uint32_t ends = 0;
    for (uint32_t p = 0; p < x.f->port_count; p++)
        ends += lid(&x, p) != 0;
    want(&x, &fab_wire_path_record, &none, NULL);
    uint32_t count = ends * ends;
    struct fab_wire_path_record *r = calloc(count, sizeof *r);
    ck_assert_uint_eq(table(&x, r, sizeof *r, count), count);
    uint32_t sls = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_lids *lids = &x.v->target->lids;
        uint32_t src = lids->owner[r[i].slid], dst = lids->owner[r[i].dlid];
        uint8_t sl = fab_target_sl(x.f, lids, &x.v->target->vls, src, r[i].dlid);
        bool loop = src == dst;
        sls |= 1u << sl;
        bool back = sl == fab_target_sl(x.f, lids, &x.v->target->vls, dst, r[i].slid);
        if (r[i].sl != sl || r[i].sgid[1] != fab_fabric_port(x.f, src)->guid ||
            r[i].sgid[0] != PREFIX || r[i].dgid[1] != fab_fabric_port(x.f, dst)->guid ||
            r[i].pkey != 0xffff || r[i].hop_limit != 0 || r[i].mtu_selector != 2 ||
            r[i].life != (loop ? 0 : x.v->policy.subnet_timeout) || r[i].reversible != back)
            ck_abort_msg("LID %u to %u", r[i].slid, r[i].dlid);
    }
    /* the engine must use several SLs, because otherwise this test shows little */
    ck_assert_uint_gt(sls, 1);
    free(r);
    leave(&x);
}
END_TEST

START_TEST(several_lids_make_several_paths)
{
    struct place x = place_of(leaf_spine(2, 2, 2), "updn", 1, true);
    struct fab_wire_path_record r[8],
        q = {.sgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid},
             .dgid = {PREFIX, fab_fabric_port(x.f, host(&x, 3))->guid},
             .paths = 3};
    uint8_t answer[FAB_MAD_SIZE];
    unsigned s = lid(&x, host(&x, 0)), d = lid(&x, host(&x, 3));
    const unsigned expect[4][3] = {{s, d, 0}, {s + 1, d + 1, 0}, {s, d + 1, 2}, {s + 1, d, 2}};
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(r[i].slid, expect[i][0]);
        ck_assert_uint_eq(r[i].dlid, expect[i][1]);
        ck_assert_uint_eq(r[i].preference, expect[i][2]);
    }
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID", "NumbPath"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 3);
    q.slid = (uint16_t)(s + 1);
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 2);
    ck_assert_uint_eq(r[0].slid, s + 1);
    x.req.method = FAB_METHOD_GET; /* SubnAdmGet returns only one path */
    want(&x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(get(&x, answer), 0);
    leave(&x);
}
END_TEST

START_TEST(many_paths_at_once)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_wire_multi_path_record m = {.sgids = 2, .dgids = 3};
    struct fab_wire_path_record r[8];
    for (uint32_t i = 0; i < 5; i++) {
        m.gid[2 * i] = PREFIX;
        m.gid[2 * i + 1] = fab_fabric_port(x.f, host(&x, i))->guid;
    }
    x.req.method = FAB_METHOD_GET_MULTI;
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 6);
    ck_assert_uint_eq(r[5].slid, lid(&x, host(&x, 1)));
    ck_assert_uint_eq(r[5].dlid, lid(&x, host(&x, 4)));
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INSUFFICIENT_COMPONENTS);
    m.dgids = 255;
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_REQ_INVALID);
    x.req.method = FAB_METHOD_GET_TABLE; /* MultiPathRecord can only be requested by GetMulti */
    ck_assert_uint_eq(refusal(&x), FAB_SMP_BAD_ATTR);
    leave(&x);
}
END_TEST

START_TEST(traces_go_the_way)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_wire_path_record q = {.slid = (uint16_t)lid(&x, host(&x, 0)),
                                     .dlid = (uint16_t)lid(&x, host(&x, 5))};
    struct fab_wire_trace_record r[8];
    x.req.method = FAB_METHOD_GET_TRACE_TABLE;
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 5); /* host, leaf, spine, leaf, host */
    ck_assert_uint_eq(r[0].node, x.f->nodes[fab_fabric_port(x.f, host(&x, 0))->node].guid);
    ck_assert_uint_eq(r[0].exit_port, 1);
    ck_assert_uint_eq(r[0].entry_port, 0);
    ck_assert_uint_eq(r[4].node, x.f->nodes[fab_fabric_port(x.f, host(&x, 5))->node].guid);
    ck_assert_uint_eq(r[4].entry_port, 1);
    ck_assert_uint_eq(r[4].exit_port, 0);
    for (unsigned i = 0; i + 1 < 5; i++) {
        uint32_t node = fab_fabric_node_by_guid(x.f, r[i].node);
        uint32_t peer = fab_fabric_port(x.f, fab_fabric_port_id(x.f, node, r[i].exit_port))->peer;
        ck_assert_uint_eq(x.f->nodes[fab_fabric_port(x.f, peer)->node].guid, r[i + 1].node);
        ck_assert_uint_eq(fab_fabric_port(x.f, peer)->num, r[i + 1].entry_port);
    }
    want(&x, &fab_wire_path_record, &q, NAMES("SLID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INSUFFICIENT_COMPONENTS);
    leave(&x);
}
END_TEST

static uint8_t port_to(const struct fab_fabric *f, uint32_t from, uint32_t to)
{
    for (unsigned p = 1; p <= f->nodes[from].num_ports; p++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, from, (uint8_t)p))->peer;
        if (peer != FAB_NONE && fab_fabric_port(f, peer)->node == to)
            return (uint8_t)p;
    }
    return 0;
}

static uint32_t switch_of(const struct place *x, uint32_t n)
{
    return fab_fabric_port(x->f, fab_fabric_port(x->f, host(x, n))->peer)->node;
}

/* The paths to the two LIDs of a port (LMC 1) differ in length. A trace must follow the path to the
 * requested LID. */
START_TEST(traces_follow_the_lid_that_was_asked_for)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 1, true);
    struct fab_lft *lft = &x.v->target->lft;
    uint32_t dlid = lid(&x, host(&x, 5)) + 1, spine[2], count = 0;
    for (uint32_t sw = 0; sw < x.f->switch_count; sw++)
        if (sw != switch_of(&x, 0) && sw != switch_of(&x, 2) && sw != switch_of(&x, 4))
            spine[count++] = sw;
    ck_assert_uint_eq(count, 2);
    /* packets for the second LID take this detour: leaf, spine, leaf, spine, leaf */
    const uint32_t way[5] = {switch_of(&x, 0), spine[0], switch_of(&x, 2), spine[1],
                             switch_of(&x, 4)};
    for (unsigned i = 0; i < 4; i++)
        fab_target_lft_set(lft, way[i], dlid, port_to(x.f, way[i], way[i + 1]));
    struct fab_wire_path_record q = {.slid = (uint16_t)lid(&x, host(&x, 0))};
    struct fab_wire_trace_record r[8];
    x.req.method = FAB_METHOD_GET_TRACE_TABLE;
    for (uint32_t more = 0; more < 2; more++) {
        q.dlid = (uint16_t)(dlid - 1 + more);
        want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID"));
        ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), more ? 7 : 5);
        ck_assert_uint_eq(r[more ? 6 : 4].node,
                          x.f->nodes[fab_fabric_port(x.f, host(&x, 5))->node].guid);
    }
    leave(&x);
}
END_TEST

static void ask_path(struct place *x, uint64_t sgid_prefix, uint64_t dgid_prefix)
{
    struct fab_wire_path_record q = {
        .sgid = {sgid_prefix, fab_fabric_port(x->f, host(x, 0))->guid},
        .dgid = {dgid_prefix, fab_fabric_port(x->f, host(x, 3))->guid}};
    want(x, &fab_wire_path_record, &q, NAMES("SGID", "DGID"));
}

/* A GID may have the prefix of the subnet or the link-local prefix; both name the same port. The
 * answer must use the prefix of the request. If the request names the port by LID, the answer must
 * use the subnet's prefix. */
START_TEST(gids_have_the_prefix_of_the_subnet)
{
    const uint64_t ours = UINT64_C(0xfec0000000001234), other = UINT64_C(0xfec0000000001235);
    const uint64_t asked[4][2] = {{ours, ours}, {PREFIX, PREFIX}, {ours, PREFIX}, {PREFIX, ours}};
    struct place x = place_of(leaf_spine(2, 2, 2), "updn", 0, true);
    struct fab_wire_path_record r[8];
    x.v->policy.subnet_prefix = ours;
    for (size_t i = 0; i < 4; i++) {
        ask_path(&x, asked[i][0], asked[i][1]);
        ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
        ck_assert_uint_eq(r[0].sgid[0], asked[i][0]);
        ck_assert_uint_eq(r[0].dgid[0], asked[i][1]);
        ck_assert_uint_eq(r[0].sgid[1], fab_fabric_port(x.f, host(&x, 0))->guid);
        ck_assert_uint_eq(r[0].dgid[1], fab_fabric_port(x.f, host(&x, 3))->guid);
        ck_assert_uint_eq(r[0].slid, lid(&x, host(&x, 0)));
        ck_assert_uint_eq(r[0].dlid, lid(&x, host(&x, 3)));
        ck_assert_uint_eq(r[0].hop_limit, 0);
    }
    ask_path(&x, other, ours);
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    ask_path(&x, ours, other); /* the destination is in a subnet to which no router leads */
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    struct fab_wire_path_record q = {.sgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid},
                                     .dgid = {PREFIX, fab_fabric_port(x.f, host(&x, 0))->guid},
                                     .slid = (uint16_t)lid(&x, host(&x, 0)),
                                     .dlid = (uint16_t)lid(&x, host(&x, 3))};
    const char **const named[3] = {NAMES("SLID", "DLID"), NAMES("SGID", "DLID"),
                                   NAMES("SLID", "DGID")};
    for (size_t i = 0; i < 3; i++) {
        want(&x, &fab_wire_path_record, &q, named[i]);
        ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
        ck_assert_uint_eq(r[0].sgid[0], i == 1 ? PREFIX : ours);
        ck_assert_uint_eq(r[0].dgid[0], i == 2 ? PREFIX : ours);
    }
    leave(&x);
}
END_TEST

START_TEST(traces_and_many_paths_have_the_prefix_of_the_subnet)
{
    const uint64_t ours = UINT64_C(0xfec0000000001234);
    struct place x = place_of(leaf_spine(2, 2, 2), "updn", 0, true);
    struct fab_wire_multi_path_record m = {.sgids = 2, .dgids = 1};
    struct fab_wire_path_record r[8],
        q = {.slid = (uint16_t)lid(&x, host(&x, 0)), .dlid = (uint16_t)lid(&x, host(&x, 3))};
    struct fab_wire_trace_record t[8];
    x.v->policy.subnet_prefix = ours;
    for (uint32_t i = 0; i < 3; i++) {
        m.gid[2 * i] = i < 2 ? ours : PREFIX;
        m.gid[2 * i + 1] = fab_fabric_port(x.f, host(&x, i))->guid;
    }
    x.req.method = FAB_METHOD_GET_MULTI;
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 2);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(r[i].sgid[0], ours);
        ck_assert_uint_eq(r[i].sgid[1], fab_fabric_port(x.f, host(&x, i))->guid);
        ck_assert_uint_eq(r[i].dgid[0], PREFIX);
        ck_assert_uint_eq(r[i].dgid[1], fab_fabric_port(x.f, host(&x, 2))->guid);
    }
    m.gid[2] = ours + 1;
    want(&x, &fab_wire_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    x.req.method = FAB_METHOD_GET_TRACE_TABLE;
    want(&x, &fab_wire_path_record, &q, NAMES("SLID", "DLID"));
    ck_assert_uint_eq(table(&x, t, sizeof t[0], 8), 5);
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_uint_eq(t[i].gid_prefix, ours);
    leave(&x);
}
END_TEST

START_TEST(rates_have_numbers)
{
    static const unsigned rates[][2] = {{2500, 2},    {10000, 3},  {30000, 4},   {14000, 11},
                                        {100000, 16}, {50000, 20}, {800000, 23}, {1200000, 24}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        ck_assert_uint_eq(fab_sa_rate(rates[i][0]), rates[i][1]);
        ck_assert_uint_eq(fab_sa_rate_mbps((uint8_t)rates[i][1]), rates[i][0]);
    }
    ck_assert_uint_eq(fab_sa_rate(2400000), 24);
    ck_assert_uint_eq(fab_sa_rate(0), 0);
    ck_assert_uint_eq(fab_sa_rate_mbps(63), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa paths");
    TCase *tcase = tcase_create("paths");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, paths_are_those_of_the_tables);
    tcase_add_test(tcase, all_pairs_have_records);
    tcase_add_test(tcase, several_lids_make_several_paths);
    tcase_add_test(tcase, many_paths_at_once);
    tcase_add_test(tcase, traces_go_the_way);
    tcase_add_test(tcase, traces_follow_the_lid_that_was_asked_for);
    tcase_add_test(tcase, gids_have_the_prefix_of_the_subnet);
    tcase_add_test(tcase, traces_and_many_paths_have_the_prefix_of_the_subnet);
    tcase_add_test(tcase, rates_have_numbers);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
