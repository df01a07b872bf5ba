/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of subnet administration over views: paths against a trace of the tables, records against
 * the snapshot, what selects and what is refused.
 */
#include "libfabmgr/sa/sa.h"

#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/sa/kinds.h"
#include "tests/unit/proving.h"

#define PREFIX UINT64_C(0xfe80000000000000)

struct place {
    struct fab_view *v;
    const struct fab_fabric *f;
    struct fab_sa *sa;
    uint8_t data[FAB_SA_DATA_LEN];
    struct fab_sa_request req;
};

/* Consumes f; lmc: of adapters. */
static struct place place_with(struct fab_fabric *f, const char *engine, uint8_t lmc, bool proven,
                               struct fab_classes *classes)
{
    struct place x = {.f = f};
    struct fab_policy p;
    struct fab_verdict verdict = {0};
    struct fab_target *t = fab_target_new();
    char why[200];
    fab_policy_defaults(&p);
    p.lmc = lmc;
    p.classes = classes;
    assigned(f, &p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
    ck_assert_int_eq(fab_route_engine_by_name(engine)->run(&in, &t->lft, &t->vls, why, sizeof why),
                     FAB_OK);
    struct fab_qos_report report;
    ck_assert_int_eq(fab_qos_compose(classes, 8, &t->vls, &report), FAB_OK);
    struct fab_verify_input judge = {.fabric = f,
                                     .lids = &t->lids,
                                     .lft = &t->lft,
                                     .max_hops = 255,
                                     .vls = &t->vls,
                                     .policy = &p};
    if (proven)
        ck_assert_int_eq(fab_verify(&judge, &verdict), FAB_OK);
    x.v = fab_view_new(7, f, t, &p, &verdict);
    ck_assert_int_eq(fab_sa_new(x.v, &x.sa), FAB_OK);
    x.req.method = FAB_METHOD_GET_TABLE;
    x.req.from = FAB_NONE;
    return x;
}

static struct place place_of(struct fab_fabric *f, const char *engine, uint8_t lmc, bool proven)
{
    return place_with(f, engine, lmc, proven, NULL);
}

static void leave(struct place *x)
{
    fab_sa_free(x->sa);
    fab_view_unref(x->v);
}

static uint32_t lid(const struct place *x, uint32_t port)
{
    return x->v->target->lids.base[port];
}

static uint32_t host(const struct place *x, uint32_t n)
{
    return fab_port_id(x->f, x->f->switch_count + n, 1);
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static void want(struct place *x, const struct fab_rec *r, const void *from, const char *names[])
{
    x->req.attr_id = r->id;
    x->req.comp_mask = 0;
    x->req.data = x->data;
    ck_assert_int_eq(fab_rec_pack(r, from, x->data, sizeof x->data), FAB_OK);
    for (size_t i = 0; names && names[i]; i++) {
        uint64_t c = fab_rec_component(r, names[i]);
        ck_assert_msg(c != 0, "%s has no %s", r->name, names[i]);
        x->req.comp_mask |= c;
    }
}
#define NAMES(...) ((const char *[]){__VA_ARGS__, NULL})

/* All records of the answer, the first ones in structs of `size` bytes; returns how many. */
static uint32_t table(struct place *x, void *ret, size_t size, uint32_t room)
{
    struct fab_sa_query q;
    uint8_t bytes[FAB_REC_MAX];
    uint32_t budget = 1u << 30, count = 0;
    ck_assert_uint_eq(fab_sa_begin(x->sa, &x->req, &q), 0);
    while (fab_sa_next(&q, &budget, bytes) == FAB_OK) {
        if (count < room) {
            ck_assert_uint_eq(q.rec->struct_size, size);
            ck_assert_int_eq(
                fab_rec_unpack(q.rec, bytes, sizeof bytes, (uint8_t *)ret + count * size), FAB_OK);
        }
        count++;
    }
    return count;
}

static uint16_t refusal(struct place *x)
{
    struct fab_sa_query q;
    return fab_sa_begin(x->sa, &x->req, &q);
}

static uint16_t get(struct place *x, uint8_t answer[FAB_MAD_SIZE])
{
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_SA, .method = x->req.method, .tid = 99, .attr_id = x->req.attr_id};
    struct fab_sa_header head = {.sm_key = 5, .comp_mask = x->req.comp_mask};
    struct fab_sa_request req;
    uint8_t bytes[FAB_MAD_SIZE];
    uint64_t key;
    ck_assert_int_eq(fab_gmp_pack(&mad, NULL, 0, bytes), FAB_OK);
    ck_assert_int_eq(fab_attr_pack(&fab_attr_sa_header, &head, bytes + FAB_SA_HEADER, 20), FAB_OK);
    memcpy(bytes + FAB_SA_DATA, x->data, sizeof x->data);
    ck_assert_int_eq(fab_sa_request_read(bytes, sizeof bytes, &req, &key), FAB_OK);
    ck_assert_uint_eq(key, 5);
    uint16_t status = fab_sa_get(x->sa, bytes, &req, 1000, answer);
    ck_assert_uint_eq(fab_be16(answer + 4), status);
    ck_assert_uint_eq(fab_be64(answer + 8), 99);
    ck_assert_uint_eq(fab_be64(answer + FAB_SA_HEADER), 0); /* no SM_Key goes out */
    return status;
}

/* ---- paths ------------------------------------------------------------------------------------
 */

struct least {
    uint32_t mbps;
    uint8_t mtu, hops;
};

/* A switch as an end: its port 0 may bear less than its cables. */
static void least_of_port0(const struct place *x, uint32_t end, struct least *l)
{
    const struct fab_port_info *info = &x->f->ports[end].info;
    if (x->f->ports[end].num != 0)
        return;
    l->mtu = info->mtu_cap && info->mtu_cap < l->mtu ? info->mtu_cap : l->mtu;
    l->mbps = fab_link_rate(info) && fab_link_rate(info) < l->mbps ? fab_link_rate(info) : l->mbps;
}

/* The least on the way, by a trace; false: there is none. */
static bool least_of_trace(const struct place *x, uint32_t src, uint32_t to, struct least *ret)
{
    const struct fab_verify_input in = {
        .fabric = x->f, .lids = &x->v->target->lids, .lft = &x->v->target->lft, .max_hops = 64};
    struct fab_trace t = {0};
    struct least l = {.mbps = UINT32_MAX, .mtu = 9};
    bool good = fab_trace(&in, src, to, &t) == FAB_OK;
    for (uint32_t i = 0; good && i < t.count; i++) {
        const struct fab_port *p = &x->f->ports[t.ports[i]];
        if (p->num == 0)
            continue; /* a switch sends by itself */
        const struct fab_port_info *a = &p->info, *b = &x->f->ports[p->peer].info;
        uint8_t mtu = a->mtu_cap < b->mtu_cap ? a->mtu_cap : b->mtu_cap;
        uint32_t mbps = fab_link_rate(a) < fab_link_rate(b) ? fab_link_rate(a) : fab_link_rate(b);
        l.mtu = mtu < l.mtu ? mtu : l.mtu;
        l.mbps = mbps < l.mbps ? mbps : l.mbps;
        l.hops = (uint8_t)(l.hops + fab_node_is_switch(x->f, p->node));
    }
    fab_trace_fini(&t);
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
                (fab_sa_least(x->sa, s, lid(x, d), &mtu, &rank) == FAB_OK) != reaches)
                ck_abort_msg("%u to %u: the trace %s", s, d, reaches ? "reaches" : "does not");
            if (!reaches)
                continue;
            if (p.mtu != l.mtu || fab_sa_rate_mbps(p.rate) != l.mbps || p.mtu != mtu ||
                fab_sa_rate_of_rank(rank) != p.rate)
                ck_abort_msg("%u to %u: mtu %u, rate %u; the trace: %u, %u Mb/s", s, d, p.mtu,
                             p.rate, l.mtu, l.mbps);
            if (!fab_node_is_switch(x->f, x->f->ports[s].node) &&
                p.hops != l.hops + fab_node_is_switch(x->f, x->f->ports[d].node))
                ck_abort_msg("%u to %u: %u hops, the trace: %u", s, d, p.hops, l.hops);
            pairs++;
        }
    }
    ck_assert_uint_gt(pairs, 100);
}

static bool any_is_odd(const struct place *x)
{
    uint64_t any = 0;
    for (uint32_t i = 0; x->sa->odd && i <= x->v->target->lids.top / 64; i++)
        any |= x->sa->odd[i];
    return any != 0;
}

/* Cables of many rates and MTUs. */
static struct fab_fabric *motley(struct fab_fabric *f, struct fab_prng *prng)
{
    static const char *const rates[] = {"4x EDR",  "4x HDR", "1x SDR",
                                        "12x QDR", "2x HDR", "4x NDR"};
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = f->ports[p].peer;
        if (peer == FAB_NONE || peer < p)
            continue;
        const char *rate = rates[fab_prng_next(prng) % 6];
        ck_assert_int_eq(fab_text_parse_rate(rate, strlen(rate), &f->ports[p].info), FAB_OK);
        ck_assert_int_eq(fab_text_parse_rate(rate, strlen(rate), &f->ports[peer].info), FAB_OK);
        f->ports[p].info.mtu_cap = (uint8_t)(1 + fab_prng_next(prng) % 5);
        f->ports[peer].info.mtu_cap = (uint8_t)(1 + fab_prng_next(prng) % 5);
    }
    return f;
}

/* Of one cable between switches, or of all those of ends. */
static struct fab_fabric *slower(struct fab_fabric *f, bool ends)
{
    bool done = false;
    for (uint32_t p = 0; p < f->port_count && !done; p++) {
        bool between =
            fab_node_is_switch(f, f->ports[p].node) && fab_peer_node(f, p) < f->switch_count;
        if (f->ports[p].peer == FAB_NONE || between == ends)
            continue;
        f->ports[p].info.width_active = f->ports[f->ports[p].peer].info.width_active = 1;
        done = !ends;
    }
    return f;
}

START_TEST(paths_are_those_of_the_tables)
{
    enum { MOTLEY = 4, ALIKE = 6, ONE_SLOWER = 8, ENDS_SLOWER = 10 };
    struct fab_prng prng;
    fab_prng_init(&prng, test_seed("paths", 3));
    for (int round = 0; round < ENDS_SLOWER; round++) {
        struct fab_fabric *f =
            round % 2 ? leaf_spine(4, 2, 3) : random_fabric(8, 4, 2, fab_prng_next(&prng));
        if (round < MOTLEY)
            f = motley(f, &prng);
        else if (round >= ALIKE)
            f = slower(f, round >= ONE_SLOWER);
        struct place x = place_of(f, "updn", 0, round != 1);
        ck_assert_int_eq(x.sa->odd != NULL, round >= MOTLEY);
        ck_assert_int_eq(any_is_odd(&x), round >= ALIKE && round < ONE_SLOWER);
        assert_paths_are_traces(&x);
        assert_paths_are_traces(&x); /* again from memory */
        leave(&x);
    }
}
END_TEST

/* Every pair has its record, with the SL of the engine; the way back is as good. */
START_TEST(all_pairs_have_records)
{
    struct place x = place_of(grid((const uint32_t[3]){4, 4, 1}, true, 2), "dfsssp", 0, true);
    struct fab_path_record none = {0};
    uint32_t ends = 0;
    for (uint32_t p = 0; p < x.f->port_count; p++)
        ends += lid(&x, p) != 0;
    want(&x, &fab_path_record, &none, NULL);
    uint32_t count = ends * ends;
    struct fab_path_record *r = calloc(count, sizeof *r);
    ck_assert_uint_eq(table(&x, r, sizeof *r, count), count);
    uint32_t sls = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_lids *lids = &x.v->target->lids;
        uint32_t src = lids->owner[r[i].slid], dst = lids->owner[r[i].dlid];
        uint8_t sl = fab_target_sl(x.f, lids, &x.v->target->vls, src, r[i].dlid);
        bool loop = src == dst;
        sls |= 1u << sl;
        bool back = sl == fab_target_sl(x.f, lids, &x.v->target->vls, dst, r[i].slid);
        if (r[i].sl != sl || r[i].sgid[1] != x.f->ports[src].guid || r[i].sgid[0] != PREFIX ||
            r[i].dgid[1] != x.f->ports[dst].guid || r[i].pkey != 0xffff || r[i].hop_limit != 0 ||
            r[i].mtu_selector != 2 || r[i].life != (loop ? 0 : x.v->policy.subnet_timeout) ||
            r[i].reversible != back)
            ck_abort_msg("LID %u to %u", r[i].slid, r[i].dlid);
    }
    ck_assert_uint_gt(sls, 1); /* not SL 0 alone, or this shows little */
    free(r);
    leave(&x);
}
END_TEST

START_TEST(ends_are_named_by_gid_and_lid)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_path_record r[8], q = {.sgid = {PREFIX, x.f->ports[host(&x, 0)].guid},
                                      .dgid = {PREFIX, x.f->ports[host(&x, 5)].guid},
                                      .slid = (uint16_t)lid(&x, host(&x, 0)),
                                      .dlid = (uint16_t)lid(&x, host(&x, 5))};
    static const char *const ways[][3] = {
        {"SGID", "DGID", NULL}, {"SLID", "DLID", NULL}, {"SGID", "DLID", NULL}};
    for (size_t i = 0; i < 3; i++) {
        want(&x, &fab_path_record, &q, (const char **)(uintptr_t)ways[i]);
        ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
        ck_assert_uint_eq(r[0].slid, q.slid);
        ck_assert_uint_eq(r[0].dlid, q.dlid);
        ck_assert_uint_eq(r[0].dgid[1], q.dgid[1]);
    }
    want(&x, &fab_path_record, &q, NAMES("SGID")); /* to all */
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 11);
    want(&x, &fab_path_record, &q, NAMES("SGID", "SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 1);
    q.slid = (uint16_t)lid(&x, host(&x, 1)); /* of another port */
    want(&x, &fab_path_record, &q, NAMES("SGID", "SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 0);
    q.slid = 0xbfff;
    want(&x, &fab_path_record, &q, NAMES("SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 0);
    q.dgid[1] ^= 1;
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    q.dgid[1] ^= 1;
    q.dgid[0] = UINT64_C(0xfec0000000000001); /* another subnet */
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    leave(&x);
}
END_TEST

START_TEST(managers_are_told)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_sm_info_record r[3], q = {.lid = (uint16_t)lid(&x, host(&x, 2))};
    const struct fab_sm_info others[] = {{.guid = x.f->ports[host(&x, 2)].guid,
                                          .sm_key = 99,
                                          .activity = 5,
                                          .priority = 3,
                                          .state = FAB_SM_STANDBY},
                                         {.guid = 4711, .state = FAB_SM_STANDBY}};
    ((struct fab_fabric *)(uintptr_t)x.f)->self_port = host(&x, 0);
    want(&x, &fab_sm_info_record, &q, NULL);
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 1);
    ck_assert_int_eq(fab_sa_use_managers(x.sa, others, 2), FAB_OK);
    ck_assert_int_eq(fab_sa_use_managers(x.sa, others, FAB_SA_MANAGERS + 1), FAB_E_LIMIT);
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 2); /* one is not there any more */
    want(&x, &fab_sm_info_record, &q, NAMES("LID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 3), 1);
    ck_assert_uint_eq(r[0].info.state, FAB_SM_STANDBY);
    ck_assert_uint_eq(r[0].info.priority, 3);
    ck_assert_uint_eq(r[0].info.sm_key, 0);
    leave(&x);
}
END_TEST

/* The port answers to a name that is not in the snapshot, in its own words. */
START_TEST(aliases_name_ports)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_aliases a = {0};
    struct fab_guid_info_record g, wanted = {.lid = (uint16_t)lid(&x, host(&x, 3)), .block = 1};
    uint64_t own = x.f->ports[host(&x, 3)].guid, name = own ^ UINT64_C(0x1234) << 32;
    struct fab_path_record r,
        q = {.sgid = {PREFIX, x.f->ports[host(&x, 0)].guid}, .dgid = {PREFIX, name}};
    ((struct fab_fabric *)(uintptr_t)x.f)->ports[host(&x, 3)].info.guid_cap = 16;
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    ck_assert_int_eq(fab_aliases_put(&a, own, 9, name), FAB_OK);
    fab_sa_use_aliases(x.sa, &a);
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.dlid, lid(&x, host(&x, 3)));
    ck_assert_uint_eq(r.dgid[1], name);
    ck_assert_uint_eq(r.sgid[1], q.sgid[1]);
    struct fab_multi_path_record m = {
        .sgids = 1, .dgids = 2, .gid = {PREFIX, q.sgid[1], PREFIX, own, PREFIX, name}};
    x.req.method = FAB_METHOD_GET_MULTI;
    want(&x, &fab_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    struct fab_path_record two[2];
    ck_assert_uint_eq(table(&x, two, sizeof two[0], 2), 2);
    ck_assert_uint_eq(two[0].dgid[1], own);
    ck_assert_uint_eq(two[1].dgid[1], name);
    ck_assert_uint_eq(two[0].dlid, two[1].dlid);
    x.req.method = FAB_METHOD_GET_TABLE;
    want(&x, &fab_guid_info_record, &wanted, NAMES("LID", "BlockNum"));
    ck_assert_uint_eq(table(&x, &g, sizeof g, 1), 1);
    ck_assert_uint_eq(g.table.guid[1], name);
    ck_assert_uint_eq(g.table.guid[0], 0);
    ck_assert_int_eq(fab_aliases_put(&a, own, 9, 0), FAB_OK);
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    fab_aliases_fini(&a);
    leave(&x);
}
END_TEST

static bool is_seven(const void *ctx, uint64_t guid)
{
    return guid == *(const uint64_t *)ctx;
}

START_TEST(aliases_are_unique)
{
    struct fab_aliases a = {0};
    const uint64_t nothing = 0;
    uint64_t first = fab_aliases_make(&a, 77, 3, is_seven, &nothing);
    ck_assert_uint_ne(first, 0);
    ck_assert_uint_eq(fab_aliases_make(&a, 77, 3, is_seven, &nothing), first);
    ck_assert_uint_ne(fab_aliases_make(&a, 77, 4, is_seven, &nothing), first);
    ck_assert_uint_ne(fab_aliases_make(&a, 77, 3, is_seven, &first), first);
    ck_assert_int_eq(fab_aliases_put(&a, 77, 0, 5), FAB_E_RANGE);
    ck_assert_int_eq(fab_aliases_put(&a, 77, FAB_ALIAS_PLACES, 5), FAB_E_RANGE);
    ck_assert_int_eq(fab_aliases_put(&a, 77, 3, 5), FAB_OK);
    ck_assert_int_eq(fab_aliases_put(&a, 77, 3, 5), FAB_OK);
    ck_assert_int_eq(fab_aliases_put(&a, 77, 4, 5), FAB_E_EXISTS);
    ck_assert_int_eq(fab_aliases_put(&a, 78, 3, 5), FAB_E_EXISTS);
    ck_assert_uint_eq(fab_aliases_port(&a, 5), 77);
    ck_assert_int_eq(fab_aliases_put(&a, 77, 3, 6), FAB_OK);
    ck_assert_uint_eq(fab_aliases_port(&a, 5), 0);
    ck_assert_uint_eq(fab_aliases_port(&a, 6), 77);
    for (uint32_t port = 100; port < 400; port++)
        for (uint32_t place = 1; place < 40; place += 7)
            ck_assert_int_eq(fab_aliases_put(&a, port, place, port << 8 | place), FAB_OK);
    for (uint32_t port = 100; port < 400; port++)
        ck_assert_uint_eq(fab_aliases_block(&a, port, 4)->guid[4], port << 8 | 36);
    ck_assert_ptr_null(fab_aliases_block(&a, 100, 6));
    fab_aliases_fini(&a);
}
END_TEST

/* A path to another subnet leads to the router that the table names, and says whom it is for. */
START_TEST(other_subnets_are_behind_routers)
{
    static const char text[] = "# ours\nfec0000000000007 0x99 # nobody\n* *\n";
    const uint64_t far = UINT64_C(0xfec0000000000001);
    struct fab_routers_error error;
    struct fab_fabric *f = leaf_spine(3, 2, 2);
    f->nodes[f->switch_count + 4].type = FAB_NODE_ROUTER;
    struct place x = place_of(f, "updn", 0, true);
    struct fab_path_record r,
        q = {.sgid = {PREFIX, x.f->ports[host(&x, 0)].guid}, .dgid = {far, 4711}};
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    ck_assert_int_eq(fab_routers_read(text, sizeof text - 1, &x.v->policy.routers, &error), FAB_OK);
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.dlid, lid(&x, host(&x, 4)));
    ck_assert_uint_eq(r.dgid[0], far);
    ck_assert_uint_eq(r.dgid[1], 4711);
    ck_assert_uint_gt(r.hop_limit, 1);
    q.dgid[0] = UINT64_C(0xfec0000000000007); /* its router is not there */
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INVALID_GID);
    q.dgid[0] = PREFIX;
    q.dgid[1] = x.f->ports[host(&x, 4)].guid; /* the router itself */
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.hop_limit, 0);
    leave(&x);
}
END_TEST

/* ---- traffic classes --------------------------------------------------------------------------
 */

static struct fab_classes *two_classes(void)
{
    struct fab_classes *c;
    struct fab_classes_error e;
    uint8_t n;
    ck_assert_int_eq(fab_classes_new(&c), FAB_OK);
    ck_assert_int_eq(
        fab_classes_add(c, &(struct fab_class){.name = "a", .sl = FAB_CLASS_NO_SL, .mtu = 2}, &n,
                        &e),
        FAB_OK);
    ck_assert_int_eq(fab_classes_add_rule(c, n, "qos_class=3", &e), FAB_OK);
    ck_assert_int_eq(
        fab_classes_add(
            c, &(struct fab_class){.name = "b", .sl = FAB_CLASS_NO_SL, .rate_mbps = 10000}, &n, &e),
        FAB_OK);
    ck_assert_int_eq(fab_classes_add_rule(c, n, "service=0x0100000000000005", &e), FAB_OK);
    return c;
}

/* The path of a class between two hosts; false: there is none. */
static bool path_of(struct place *x, uint32_t a, uint32_t b, const struct fab_path_record *extra,
                    const char *names[], struct fab_path_record *ret)
{
    struct fab_path_record q = *extra;
    q.slid = (uint16_t)lid(x, a);
    q.dlid = (uint16_t)lid(x, b);
    want(x, &fab_path_record, &q, names);
    return table(x, ret, sizeof *ret, 1) == 1;
}

/* The SL is that of the class and of the pair; classes limit what paths have. */
static void ask_for_classes(struct fab_fabric *f, const char *engine)
{
    struct place x = place_with(f, engine, 0, true, two_classes());
    const struct fab_vls *v = &x.v->target->vls;
    struct fab_path_record r;
    ck_assert_uint_eq(v->levels, 3);
    for (uint32_t b = 1; b < 4; b++) {
        uint32_t src = host(&x, 0), dst = host(&x, b);
        uint8_t sl = fab_target_sl(f, &x.v->target->lids, v, src, lid(&x, dst));
        ck_assert(path_of(&x, src, dst, &(struct fab_path_record){.raw = 0},
                          (const char *[]){"SLID", "DLID", NULL}, &r));
        ck_assert_uint_eq(r.sl, sl);
        ck_assert(path_of(&x, src, dst, &(struct fab_path_record){.qos_class = 3},
                          (const char *[]){"SLID", "DLID", "QoSClass", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[1][sl]);
        ck_assert_uint_eq(r.mtu, 2);
        ck_assert(
            path_of(&x, src, dst, &(struct fab_path_record){.service_msb = 1, .service_lsb = 5},
                    (const char *[]){"SLID", "DLID", "ServiceID8MSB", "ServiceID56LSB", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[2][sl]);
        ck_assert_uint_eq(r.rate, 3);
        ck_assert(path_of(&x, src, dst, &(struct fab_path_record){.sl = v->sl[2][sl]},
                          (const char *[]){"SLID", "DLID", "SL", NULL}, &r));
        ck_assert_uint_eq(r.sl, v->sl[2][sl]);
        ck_assert(!path_of(&x, src, dst,
                           &(struct fab_path_record){.sl = v->sl[2][sl], .qos_class = 3},
                           (const char *[]){"SLID", "DLID", "SL", "QoSClass", NULL}, &r));
        ck_assert(!path_of(&x, src, dst, &(struct fab_path_record){.sl = 15},
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
        bool good = fab_sa_select(cases[i].selector, cases[i].want, &value, cases[i].exact_only);
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
        f->ports[p].info.mtu_cap = 4; /* 2048 */
        ck_assert_int_eq(fab_text_parse_rate("4x EDR", 6, &f->ports[p].info), FAB_OK);
    }
    struct place x = place_of(f, "updn", 0, true);
    struct fab_path_record r,
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
        struct fab_path_record c = q;
        unsigned what = cases[i].what;
        *(what == 0   ? &c.mtu_selector
          : what == 1 ? &c.rate_selector
                      : &c.life_selector) = (uint8_t)cases[i].selector;
        *(what == 0 ? &c.mtu : what == 1 ? &c.rate : &c.life) = (uint8_t)cases[i].want;
        want(&x, &fab_path_record, &c, NAMES("SLID", "DLID", value[what], selector[what]));
        ck_assert_msg(table(&x, &r, sizeof r, 1) == cases[i].count, "case %zu", i);
        unsigned got = what == 0 ? r.mtu : what == 1 ? r.rate : r.life;
        if (cases[i].count)
            ck_assert_msg(got == cases[i].becomes, "case %zu: %u", i, got);
    }
    q.mtu = 5; /* a value without its selector says nothing */
    q.sl = 1;
    q.pkey = 0x8001;
    want(&x, &fab_path_record, &q, NAMES("SLID", "DLID", "Mtu"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    want(&x, &fab_path_record, &q, NAMES("SLID", "DLID", "SL")); /* any is as good as another */
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    ck_assert_uint_eq(r.sl, 1);
    want(&x, &fab_path_record, &q, NAMES("SLID", "DLID", "P_Key"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 0);
    q.pkey = 0x7fff;
    want(&x, &fab_path_record, &q, NAMES("SLID", "DLID", "P_Key"));
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 1);
    leave(&x);
}
END_TEST

/* Host 0: default and 0x8001; 1: default, limited, and 1 limited; 2: 0x8002 alone; 3: no table. */
START_TEST(paths_keep_to_partitions)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    uint16_t keys[] = {0xffff, 0x8001, 0x7fff, 0x0001, 0x8002};
    struct fab_pkeys *k = &x.v->target->pkeys;
    struct fab_path_record r;
    static const struct {
        unsigned src, dst;
        uint16_t wanted, becomes; /* 0: any; 0: no path */
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
        struct fab_path_record q = {.slid = (uint16_t)lid(&x, host(&x, cases[i].src)),
                                    .dlid = (uint16_t)lid(&x, host(&x, cases[i].dst)),
                                    .pkey = cases[i].wanted};
        want(&x, &fab_path_record, &q,
             cases[i].wanted ? NAMES("SLID", "DLID", "P_Key") : NAMES("SLID", "DLID"));
        ck_assert_msg(table(&x, &r, sizeof r, 1) == (cases[i].becomes != 0), "case %zu", i);
        if (cases[i].becomes)
            ck_assert_msg(r.pkey == cases[i].becomes, "case %zu: %#x", i, r.pkey);
    }
    /* Host 2 sees itself; host 1 those with the default partition in full: hosts 0 and 3, switches
     * (3), and itself. */
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
        ck_assert_uint_eq(paths, h == 2 ? 1 : h == 1 ? 36 - 0 : 36);
    }
    leave(&x);
}
END_TEST

START_TEST(several_lids_make_several_paths)
{
    struct place x = place_of(leaf_spine(2, 2, 2), "updn", 1, true);
    struct fab_path_record r[8], q = {.sgid = {PREFIX, x.f->ports[host(&x, 0)].guid},
                                      .dgid = {PREFIX, x.f->ports[host(&x, 3)].guid},
                                      .paths = 3};
    uint8_t answer[FAB_MAD_SIZE];
    unsigned s = lid(&x, host(&x, 0)), d = lid(&x, host(&x, 3));
    const unsigned expect[4][3] = {{s, d, 0}, {s + 1, d + 1, 0}, {s, d + 1, 2}, {s + 1, d, 2}};
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(r[i].slid, expect[i][0]);
        ck_assert_uint_eq(r[i].dlid, expect[i][1]);
        ck_assert_uint_eq(r[i].preference, expect[i][2]);
    }
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID", "NumbPath"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 3);
    q.slid = (uint16_t)(s + 1);
    want(&x, &fab_path_record, &q, NAMES("SLID", "DGID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 2);
    ck_assert_uint_eq(r[0].slid, s + 1);
    x.req.method = FAB_METHOD_GET; /* one path is what Get means */
    want(&x, &fab_path_record, &q, NAMES("SGID", "DGID"));
    ck_assert_uint_eq(get(&x, answer), 0);
    leave(&x);
}
END_TEST

/* ---- records ----------------------------------------------------------------------------------
 */

START_TEST(every_record_is_there_once)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    const struct fab_fabric *f = x.f;
    uint32_t hosts = 12, switches = 5, ports = 0, links = 0, pairs = 0, keys = 0, blocks;
    uint8_t none[FAB_SA_DATA_LEN] = {0};
    for (uint32_t sw = 0; sw < switches; sw++) {
        ports += f->nodes[sw].num_ports + 1u;
        pairs += (f->nodes[sw].num_ports + 1u) * (f->nodes[sw].num_ports + 1u);
    }
    for (uint32_t p = 0; p < f->port_count; p++)
        if (f->ports[p].present)
            keys += fab_pkeys_blocks(fab_pkeys_room(f, p));
    for (uint32_t p = 0; p < f->port_count; p++)
        links += f->ports[p].peer != FAB_NONE;
    blocks = switches * fab_lft_blocks(&x.v->target->lft);
    const struct {
        uint16_t id;
        uint32_t count;
    } expect[] = {{FAB_SA_NODE_RECORD, hosts + switches},
                  {FAB_SA_PORT_INFO_RECORD, hosts + ports},
                  {FAB_SA_SWITCH_INFO_RECORD, switches},
                  {FAB_SA_LINK_RECORD, links},
                  {FAB_SA_LFT_RECORD, blocks},
                  {FAB_SA_SL2VL_RECORD, hosts + pairs},
                  {FAB_SA_PKEY_TABLE_RECORD, keys},
                  {FAB_SA_PATH_RECORD, (hosts + switches) * (hosts + switches)}};
    x.req.data = none;
    x.req.trusted = true;
    for (size_t i = 0; i < sizeof expect / sizeof expect[0]; i++) {
        x.req.attr_id = expect[i].id;
        ck_assert_msg(table(&x, NULL, 0, 0) == expect[i].count, "%#x", expect[i].id);
    }
    leave(&x);
}
END_TEST

START_TEST(components_choose_records)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    struct fab_node_record n = {.info.node_type = FAB_NODE_SWITCH}, got;
    struct fab_link_record link, l;
    struct fab_lft_record lft = {.lid = (uint16_t)lid(&x, fab_port_id(x.f, 0, 0))}, row;
    want(&x, &fab_node_record, &n, NAMES("NodeType"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 5);
    n.lid = (uint16_t)lid(&x, host(&x, 2));
    want(&x, &fab_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 1);
    ck_assert_uint_eq(got.lid, n.lid);
    ck_assert_str_eq((const char *)got.desc.text, x.f->nodes[x.f->switch_count + 2].desc);
    ck_assert_uint_eq(got.info.port_guid, x.f->ports[host(&x, 2)].guid);
    ck_assert_uint_eq(got.info.local_port, 1);
    want(&x, &fab_node_record, &n, NAMES("LID", "NodeType")); /* a host is no switch */
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 0);
    n.lid = 0xbfff;
    want(&x, &fab_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 0);
    strcpy((char *)n.desc.text, x.f->nodes[3].desc);
    want(&x, &fab_node_record, &n, NAMES("NodeDescription"));
    ck_assert_uint_eq(table(&x, &got, sizeof got, 1), 1);
    ck_assert_uint_eq(got.info.node_guid, x.f->nodes[3].guid);
    link = (struct fab_link_record){.to_lid = (uint16_t)lid(&x, host(&x, 0))};
    want(&x, &fab_link_record, &link, NAMES("ToLID"));
    ck_assert_uint_eq(table(&x, &l, sizeof l, 1), 1);
    ck_assert_uint_eq(l.to_port, 1);
    ck_assert_uint_eq(l.from_lid, lid(&x, fab_port_id(x.f, fab_peer_node(x.f, host(&x, 0)), 0)));
    want(&x, &fab_lft_record, &lft, NAMES("LID", "BlockNum"));
    ck_assert_uint_eq(table(&x, &row, sizeof row, 1), 1);
    ck_assert_mem_eq(row.port, fab_lft_row(&x.v->target->lft, 0), 64);
    leave(&x);
}
END_TEST

START_TEST(capabilities_match_by_bits)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    struct fab_port_info_record q = {.info.cap_mask = 2};
    for (uint32_t i = 0; i < 4; i++)
        x.f->ports[host(&x, i)].info.cap_mask = i < 2 ? 2 | 8 : i;
    want(&x, &fab_port_info_record, &q, NAMES("CapabilityMask"));
    ck_assert_uint_eq(table(&x, NULL, 0, 0), 1); /* the one that has just this */
    x.req.attr_mod = 1u << 31;
    ck_assert_uint_eq(table(&x, NULL, 0, 0), 4); /* 10, 10, 2, 3 */
    leave(&x);
}
END_TEST

START_TEST(keys_are_for_the_trusted)
{
    struct fab_fabric *f = leaf_spine(2, 1, 2);
    for (uint32_t p = 0; p < f->port_count; p++)
        f->ports[p].info.m_key = 77;
    struct place x = place_of(f, "updn", 0, true);
    struct fab_port_info_record r, q = {.info.m_key = 77};
    want(&x, &fab_port_info_record, &q, NULL);
    table(&x, &r, sizeof r, 1);
    ck_assert_uint_eq(r.info.m_key, 0);
    want(&x, &fab_port_info_record, &q, NAMES("M_Key")); /* nor can it be guessed */
    ck_assert_uint_eq(table(&x, &r, sizeof r, 1), 0);
    x.req.attr_id = FAB_SA_PKEY_TABLE_RECORD;
    x.req.comp_mask = 0;
    ck_assert_uint_eq(refusal(&x), FAB_SA_REQ_INVALID);
    x.req.trusted = true;
    ck_assert_uint_eq(refusal(&x), 0);
    want(&x, &fab_port_info_record, &q, NULL);
    table(&x, &r, sizeof r, 1);
    ck_assert_uint_eq(r.info.m_key, 77);
    leave(&x);
}
END_TEST

START_TEST(get_is_for_one_record)
{
    struct place x = place_of(leaf_spine(2, 1, 2), "updn", 0, true);
    struct fab_node_record n = {.lid = (uint16_t)lid(&x, host(&x, 1))}, got;
    uint8_t answer[FAB_MAD_SIZE];
    x.req.method = FAB_METHOD_GET;
    want(&x, &fab_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(get(&x, answer), 0);
    ck_assert_uint_eq(answer[3], FAB_METHOD_GET_RESP);
    ck_assert_int_eq(fab_rec_unpack(&fab_node_record, answer + FAB_SA_DATA, 200, &got), FAB_OK);
    ck_assert_uint_eq(got.lid, n.lid);
    n.lid = 0xbfff;
    want(&x, &fab_node_record, &n, NAMES("LID"));
    ck_assert_uint_eq(get(&x, answer), FAB_SA_NO_RECORDS);
    want(&x, &fab_node_record, &n, NULL);
    ck_assert_uint_eq(get(&x, answer), FAB_SA_TOO_MANY_RECORDS);
    x.req.attr_id = 0x1234;
    ck_assert_uint_eq(get(&x, answer), FAB_SMP_BAD_ATTR);
    x.req.attr_id = FAB_SA_NODE_RECORD;
    x.req.method = FAB_METHOD_SET;
    ck_assert_uint_eq(get(&x, answer), FAB_SMP_BAD_ATTR);
    ck_assert_uint_eq(answer[3], FAB_METHOD_GET_RESP);
    x.req.method = FAB_METHOD_GET;
    x.req.attr_id = FAB_ATTR_CLASS_PORT_INFO;
    ck_assert_uint_eq(get(&x, answer), 0);
    ck_assert_uint_eq(answer[FAB_SA_DATA + 1], 2);
    leave(&x);
}
END_TEST

START_TEST(tables_can_be_interrupted)
{
    struct place x = place_of(leaf_spine(3, 2, 4), "updn", 0, true);
    struct fab_node_record n = {.info.node_type = FAB_NODE_SWITCH};
    struct fab_sa_query q;
    uint8_t record[FAB_REC_MAX];
    uint32_t found = 0, pauses = 0;
    int r;
    want(&x, &fab_node_record, &n, NAMES("NodeType"));
    ck_assert_uint_eq(fab_sa_begin(x.sa, &x.req, &q), 0);
    do {
        uint32_t budget = 1;
        r = fab_sa_next(&q, &budget, record);
        found += r == FAB_OK;
        pauses += r == FAB_E_BUSY;
    } while (r != FAB_E_NOT_FOUND);
    ck_assert_uint_eq(found, 5);
    ck_assert_uint_eq(pauses, 11); /* after each that was looked at in vain, but the last */
    leave(&x);
}
END_TEST

/* ---- several ends, traces ---------------------------------------------------------------------
 */

START_TEST(many_paths_at_once)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_multi_path_record m = {.sgids = 2, .dgids = 3};
    struct fab_path_record r[8];
    for (uint32_t i = 0; i < 5; i++) {
        m.gid[2 * i] = PREFIX;
        m.gid[2 * i + 1] = x.f->ports[host(&x, i)].guid;
    }
    x.req.method = FAB_METHOD_GET_MULTI;
    want(&x, &fab_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 6);
    ck_assert_uint_eq(r[5].slid, lid(&x, host(&x, 1)));
    ck_assert_uint_eq(r[5].dlid, lid(&x, host(&x, 4)));
    want(&x, &fab_multi_path_record, &m, NAMES("SGIDCount"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INSUFFICIENT_COMPONENTS);
    m.dgids = 255;
    want(&x, &fab_multi_path_record, &m, NAMES("SGIDCount", "DGIDCount"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_REQ_INVALID);
    x.req.method = FAB_METHOD_GET_TABLE; /* only GetMulti is for it */
    ck_assert_uint_eq(refusal(&x), FAB_SMP_BAD_ATTR);
    leave(&x);
}
END_TEST

START_TEST(traces_go_the_way)
{
    struct place x = place_of(leaf_spine(3, 2, 2), "updn", 0, true);
    struct fab_path_record q = {.slid = (uint16_t)lid(&x, host(&x, 0)),
                                .dlid = (uint16_t)lid(&x, host(&x, 5))};
    struct fab_trace_record r[8];
    x.req.method = FAB_METHOD_GET_TRACE_TABLE;
    want(&x, &fab_path_record, &q, NAMES("SLID", "DLID"));
    ck_assert_uint_eq(table(&x, r, sizeof r[0], 8), 5); /* host, leaf, spine, leaf, host */
    ck_assert_uint_eq(r[0].node, x.f->nodes[x.f->ports[host(&x, 0)].node].guid);
    ck_assert_uint_eq(r[0].exit_port, 1);
    ck_assert_uint_eq(r[0].entry_port, 0);
    ck_assert_uint_eq(r[4].node, x.f->nodes[x.f->ports[host(&x, 5)].node].guid);
    ck_assert_uint_eq(r[4].entry_port, 1);
    ck_assert_uint_eq(r[4].exit_port, 0);
    for (unsigned i = 0; i + 1 < 5; i++) {
        uint32_t node = fab_fabric_node_by_guid(x.f, r[i].node);
        uint32_t peer = x.f->ports[fab_port_id(x.f, node, r[i].exit_port)].peer;
        ck_assert_uint_eq(x.f->nodes[x.f->ports[peer].node].guid, r[i + 1].node);
        ck_assert_uint_eq(x.f->ports[peer].num, r[i + 1].entry_port);
    }
    want(&x, &fab_path_record, &q, NAMES("SLID"));
    ck_assert_uint_eq(refusal(&x), FAB_SA_INSUFFICIENT_COMPONENTS);
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
    Suite *suite = suite_create("sa");
    TCase *tcase = tcase_create("paths");
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, paths_are_those_of_the_tables);
    tcase_add_test(tcase, all_pairs_have_records);
    tcase_add_test(tcase, ends_are_named_by_gid_and_lid);
    tcase_add_test(tcase, managers_are_told);
    tcase_add_test(tcase, aliases_name_ports);
    tcase_add_test(tcase, aliases_are_unique);
    tcase_add_test(tcase, other_subnets_are_behind_routers);
    tcase_add_test(tcase, classes_have_their_paths);
    tcase_add_test(tcase, selectors_select);
    tcase_add_test(tcase, paths_are_selected);
    tcase_add_test(tcase, paths_keep_to_partitions);
    tcase_add_test(tcase, several_lids_make_several_paths);
    tcase_add_test(tcase, many_paths_at_once);
    tcase_add_test(tcase, traces_go_the_way);
    tcase_add_test(tcase, rates_have_numbers);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("records");
    tcase_add_test(tcase, every_record_is_there_once);
    tcase_add_test(tcase, components_choose_records);
    tcase_add_test(tcase, capabilities_match_by_bits);
    tcase_add_test(tcase, keys_are_for_the_trusted);
    tcase_add_test(tcase, get_is_for_one_record);
    tcase_add_test(tcase, tables_can_be_interrupted);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
