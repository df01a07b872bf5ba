/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes on fabrics: what is composed is proven, by verify and by a slow judge that walks
 * every packet of every class; what is spoiled is refused; shares are what the tables say.
 */
#include <string.h>

#include "libfabmgr/qos/qos.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/traffic/traffic.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/lanes.h"
#include "tests/unit/routing.h"
#include "tests/unit/testing.h"

struct world {
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_target *t;
    struct fab_qos_report report;
    int status;
};

static void add_class(struct fab_classes *c, const char *name, uint8_t share, bool high, uint8_t sl)
{
    struct fab_classes_error e;
    struct fab_class k = {.name = name, .share = share, .high = high, .sl = sl};
    uint8_t n;
    ck_assert_msg(fab_classes_add(c, &k, &n, &e) == FAB_OK, "%s", e.message);
}

/* Consumes f; classes: those beside the default one. */
static struct world world_of(struct fab_fabric *f, unsigned classes)
{
    struct world w = {.f = f, .t = fab_target_new()};
    static const char *const names[] = {
        "storage", "checkpoint", "training", "inference", "management", "f", "g", "h",
        "i",       "j",          "k",        "l",         "m",          "n", "o"};
    fab_policy_defaults(&w.p);
    ck_assert_int_eq(fab_classes_new(&w.p.classes), FAB_OK);
    for (unsigned i = 0; i < classes; i++)
        add_class(w.p.classes, names[i], 0, false, FAB_CLASS_NO_SL);
    assigned(f, &w.p, &w.t->lids);
    return w;
}

static int route(struct world *w, const char *engine)
{
    struct fab_route_input in = {.fabric = w->f, .policy = &w->p, .lids = &w->t->lids};
    char why[300];
    uint32_t weakest;
    w->p.lane_sets = w->p.classes->count;
    int status =
        fab_route_engine_by_name(engine)->run(&in, &w->t->lft, &w->t->vls, why, sizeof(why));
    w->p.lane_sets = 0;
    if (status != FAB_OK)
        status =
            fab_route_engine_by_name(engine)->run(&in, &w->t->lft, &w->t->vls, why, sizeof(why));
    if (status != FAB_OK)
        return status;
    uint8_t vls = fab_route_vls_available(w->f, &w->p, &weakest);
    return fab_qos_compose(w->p.classes, vls, &w->t->vls, &w->report);
}

static void world_fini(struct world *w)
{
    fab_policy_fini(&w->p);
    fab_target_unref(w->t);
    fab_fabric_unref(w->f);
}

static struct fab_verdict judged(const struct world *w, const struct fab_vls *v)
{
    struct fab_verdict verdict;
    struct fab_verify_input in = {.fabric = w->f,
                                  .lids = &w->t->lids,
                                  .lft = &w->t->lft,
                                  .vls = v,
                                  .policy = &w->p,
                                  .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, &verdict), FAB_OK);
    return verdict;
}

/* A VL modulo the engine's lanes is the engine's. */
static void assert_layout(const struct world *w)
{
    const struct fab_vls *v = &w->t->vls;
    for (uint8_t level = 0; level < v->levels; level++)
        for (unsigned e = 0; e < v->sls; e++) {
            uint8_t sl = v->sl[level][e];
            ck_assert_uint_eq(sl % v->sls, e);
            ck_assert_uint_eq(v->sl[0][e], e);
            for (unsigned in = 0; in < v->classes; in++)
                for (unsigned out = 0; out < v->classes; out++) {
                    ck_assert_uint_eq(v->vl[in][out][sl] % v->lanes, v->vl[in][out][e]);
                    ck_assert_uint_eq(v->vl[in][out][sl] / v->lanes, v->lane_set[level]);
                }
        }
}

/* Both judges are for it. Consumes f. */
static void prove(struct fab_fabric *f, const char *engine, unsigned classes, unsigned sets)
{
    struct world w = world_of(f, classes);
    ck_assert_int_eq(route(&w, engine), FAB_OK);
    ck_assert_uint_eq(w.t->vls.levels, classes + 1);
    if (sets > 0)
        ck_assert_uint_eq(w.report.sets, sets);
    assert_layout(&w);
    struct fab_verdict v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, engine);
    struct naive_lanes n = naive_lanes(w.f, w.t, &w.p);
    ck_assert(!n.cyclic);
    ck_assert_uint_eq(n.beyond, 0);
    if (!fab_vls_keep_lane(&w.t->vls))
        ck_assert_uint_eq(n.dependencies, v.dependencies);
    naive_lanes_fini(&n);
    fab_verdict_fini(&v);
    world_fini(&w);
}

START_TEST(the_product_is_proven)
{
    prove(fat_tree(4, 3, 1), "fattree", 1, 2);
    prove(fat_tree(4, 3, 1), "updn", 4, 5);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 2), "torus", 1, 2);
    prove(grid((uint32_t[3]){3, 3, 3}, true, 1), "torus", 1, 2);
    prove(grid((uint32_t[3]){6, 5, 1}, true, 1), "torus", 3, 4);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 1), "nue", 2, 0);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 1), "dfsssp", 2, 0);
}
END_TEST

static struct fab_fabric *dragonfly(void)
{
    struct fab_builder *b;
    const struct fab_dragonfly_spec o = {
        .groups = 5, .group_size = 4, .global = 1, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_generate_dragonfly(&o, &b), FAB_OK);
    return sealed(b);
}

START_TEST(so_on_a_dragonfly)
{
    prove(dragonfly(), "dragonfly", 1, 2);
    prove(dragonfly(), "dragonfly", 3, 0);
}
END_TEST

START_TEST(so_with_too_few_lanes_and_sls)
{
    struct world w = world_of(grid((uint32_t[3]){6, 6, 1}, true, 1), 3);
    w.p.max_op_vls = 3; /* 4 VLs: two sets of two lanes, for four classes */
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    ck_assert_uint_eq(w.report.sets, 2);
    ck_assert_uint_eq(w.report.notes, 2);
    ck_assert_int_eq(w.report.note[0].kind, FAB_QOS_SHARED_LANES);
    ck_assert_uint_eq(w.report.note[0].other, 1); /* never with the default class */
    assert_layout(&w);
    struct fab_verdict v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "torus, 4 VLs");
    fab_verdict_fini(&v);
    char text[400];
    fab_qos_note_text(w.p.classes, &w.report, 0, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "subnet.max_vls"));
    world_fini(&w);
    w = world_of(grid((uint32_t[3]){5, 5, 5}, true, 1), 4); /* 8 SLs each */
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    ck_assert_uint_gt(w.report.notes, 0);
    ck_assert_int_eq(w.report.note[0].kind, FAB_QOS_SHARED_SLS);
    v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "torus in three dimensions");
    fab_verdict_fini(&v);
    world_fini(&w);
}
END_TEST

/* Lanes of one class that close the ring are found, in whichever class they are. */
START_TEST(spoiled_classes_are_refused)
{
    for (uint8_t level = 0; level < 3; level++) {
        struct world w = world_of(grid((uint32_t[3]){6, 1, 1}, true, 1), 2);
        ck_assert_int_eq(route(&w, "torus"), FAB_OK);
        struct fab_vls bad;
        ck_assert_int_eq(fab_vls_copy(&w.t->vls, &bad), FAB_OK);
        for (unsigned e = 0; e < bad.sls; e++)
            for (unsigned in = 0; in < bad.classes; in++)
                for (unsigned out = 0; out < bad.classes; out++)
                    bad.vl[in][out][bad.sl[level][e]] = (uint8_t)(bad.lane_set[level] * bad.lanes);
        struct fab_verdict v = judged(&w, &bad);
        ck_assert(!v.deadlock_free);
        ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
        ck_assert_uint_eq(v.witness.vls[0], bad.lane_set[level] * bad.lanes);
        fab_verdict_fini(&v);
        fab_vls_fini(&bad);
        world_fini(&w);
    }
}
END_TEST

/* Two classes that are sound alone, together on the same lanes in other order, are not. */
START_TEST(parts_do_not_prove_the_whole)
{
    struct world w = world_of(grid((uint32_t[3]){6, 1, 1}, true, 1), 1);
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    struct fab_vls bad;
    ck_assert_int_eq(fab_vls_copy(&w.t->vls, &bad), FAB_OK);
    for (unsigned e = 0; e < bad.sls; e++) /* class 1: the engine's lanes, the other way round */
        for (unsigned in = 0; in < bad.classes; in++)
            for (unsigned out = 0; out < bad.classes; out++)
                bad.vl[in][out][bad.sl[1][e]] = 1 - bad.vl[in][out][e];
    struct fab_verdict v = judged(&w, &bad);
    ck_assert(!v.deadlock_free);
    fab_verdict_fini(&v);
    memcpy(bad.sl[0], bad.sl[1], sizeof(bad.sl[0])); /* class 1 alone */
    v = judged(&w, &bad);
    ck_assert(v.deadlock_free);
    fab_verdict_fini(&v);
    fab_vls_fini(&bad);
    world_fini(&w);
}
END_TEST

START_TEST(vls_out_of_range_are_refused)
{
    struct world w = world_of(leaf_spine(3, 2, 2), 2);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    struct fab_verdict v;
    struct fab_verify_input in = {.fabric = w.f,
                                  .lids = &w.t->lids,
                                  .lft = &w.t->lft,
                                  .vls = &w.t->vls,
                                  .policy = &w.p,
                                  .max_hops = 64};
    w.p.max_op_vls = 2; /* three are needed, and there are two */
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    ck_assert_uint_gt(v.beyond, 0);
    ck_assert(!fab_verdict_good(&v));
    fab_verdict_fini(&v);
    w.t->vls.vl[0][0][w.t->vls.sl[1][0]] = w.t->vls.count;
    ck_assert_int_eq(fab_verify(&in, &v), FAB_E_INVAL);
    world_fini(&w);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

static void random_classes(struct fab_classes *c, struct fab_prng *r)
{
    unsigned count = 1 + (unsigned)fab_prng_below(r, 15);
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%u", i);
        uint8_t sl =
            fab_prng_chance(r, 0.3) ? (uint8_t)(1 + fab_prng_below(r, 15)) : FAB_CLASS_NO_SL;
        add_class(c, name, (uint8_t)fab_prng_below(r, 6), fab_prng_chance(r, 0.2), sl);
    }
}

START_TEST(random_classes_on_random_fabrics)
{
    static const char *const engines[] = {"updn", "nue", "dfsssp", "sssp", "torus"};
    uint64_t seed = test_seed("qos", 20261120);
    struct fab_prng r;
    fab_prng_init(&r, seed);
    unsigned proven = 0, lanes = 0;
    for (unsigned i = 0; i < test_rounds(80); i++) {
        struct fab_fabric *f =
            fab_prng_chance(&r, 0.3)
                ? grid((uint32_t[3]){2 + (uint32_t)fab_prng_below(&r, 4),
                                     2 + (uint32_t)fab_prng_below(&r, 4), 1},
                       true, 1)
                : random_fabric(2 + (uint32_t)fab_prng_below(&r, 14),
                                2 + (uint32_t)fab_prng_below(&r, 4),
                                1 + (uint32_t)fab_prng_below(&r, 20), fab_prng_next(&r));
        struct world w = world_of(f, 0);
        random_classes(w.p.classes, &r);
        w.p.max_op_vls = (uint8_t)(1 + fab_prng_below(&r, 5));
        if (route(&w, engines[fab_prng_below(&r, 5)]) == FAB_OK) {
            struct fab_verdict v = judged(&w, &w.t->vls);
            struct naive_lanes n = naive_lanes(w.f, w.t, &w.p);
            ck_assert_msg(v.deadlock_free == !n.cyclic, "round %u", i);
            ck_assert_msg((v.beyond == 0) == (n.beyond == 0), "round %u", i);
            assert_layout(&w);
            if (v.deadlock_free)
                ck_assert_msg(v.beyond == 0, "round %u", i);
            proven += v.deadlock_free;
            lanes += w.t->vls.lanes > 1;
            naive_lanes_fini(&n);
            fab_verdict_fini(&v);
        }
        world_fini(&w);
    }
    printf("# %u proven, %u with lanes of the engine\n", proven, lanes);
    ck_assert_uint_gt(proven, 10);
    ck_assert_uint_gt(lanes, 0);
}
END_TEST

/* ---- shares ---------------------------------------------------------------------------------- */

/* One of both tables, and where it stands. */
struct turn {
    const struct fab_arb_entry *entry;
    unsigned count, at;
    int left; /* of the weight at hand */
};

static bool waits(const struct turn *t, uint16_t busy)
{
    bool some = false;
    for (unsigned i = 0; i < t->count; i++)
        some |= t->entry[i].weight > 0 && busy >> t->entry[i].vl & 1;
    return some;
}

static uint8_t send_one(struct turn *t, uint16_t busy, uint32_t packet)
{
    while (t->left <= 0 || !(busy >> t->entry[t->at].vl & 1)) {
        t->at = (t->at + 1) % t->count;
        t->left = t->entry[t->at].weight;
    }
    t->left -= (int)(packet / 64);
    return t->entry[t->at].vl;
}

/* A port that sends by the tables, packet by packet (7.6.9): who has something to send always has.
 * Bytes of each VL. */
static void serve(const struct fab_arb *a, uint16_t busy, uint32_t packet, uint32_t packets,
                  uint64_t bytes[16])
{
    struct turn high = {.entry = a->high, .count = a->highs, .at = a->highs - 1u};
    struct turn low = {.entry = a->low, .count = a->lows, .at = a->lows - 1u};
    const bool urgent = waits(&high, busy), others = waits(&low, busy);
    int64_t spent = 0; /* bytes of high priority since the last packet of low */
    memset(bytes, 0, 16 * sizeof(*bytes));
    for (uint32_t sent = 0; sent < packets && (urgent || others); sent++) {
        bool first = urgent && (!others || spent == 0 || spent + packet <= a->limit * 4096);
        bytes[send_one(first ? &high : &low, busy, packet)] += packet;
        spent = first ? spent + packet : 0;
    }
}

static uint64_t sum_of(const uint64_t bytes[16])
{
    uint64_t sum = 0;
    for (unsigned vl = 0; vl < 16; vl++)
        sum += bytes[vl];
    return sum;
}

/* Each class gets what it is guaranteed while all send as much as they can, and the others get all
 * of the cable when it has nothing to send. */
static void assert_shares(struct world *w, uint32_t port, unsigned tolerance)
{
    const struct fab_vls *v = &w->t->vls;
    struct fab_arb arb;
    uint64_t bytes[16], alone[16];
    uint16_t all = 0;
    ck_assert(fab_target_arb(w->f, &w->p, v, port, NULL, &arb));
    for (uint8_t i = 0; i < v->levels; i++)
        all |= fab_target_lanes(w->f, &w->p, v, port, i);
    serve(&arb, all, 4096, 100000, bytes);
    for (uint8_t i = 0; i < v->levels; i++) {
        uint16_t mine = fab_target_lanes(w->f, &w->p, v, port, i);
        uint64_t has = 0;
        for (unsigned vl = 0; vl < 16; vl++)
            has += mine >> vl & 1 ? bytes[vl] : 0;
        uint32_t promised = fab_qos_guarantee(w->f, &w->p, v, port, i);
        uint32_t due = fab_classes_share(w->p.classes, i) / 100;
        ck_assert_msg(has * 1000 / sum_of(bytes) + 2 >= promised, "class %u has %u, promised %u", i,
                      (unsigned)(has * 1000 / sum_of(bytes)), promised);
        ck_assert_msg(promised + tolerance >= due, "class %u: promised %u, due %u", i, promised,
                      due);
        serve(&arb, mine, 4096, 1000, alone);
        ck_assert_uint_eq(sum_of(alone), 1000u * 4096);
    }
}

static uint32_t some_trunk(const struct fab_fabric *f)
{
    uint32_t port = 0;
    while (f->ports[port].num == 0 || f->ports[port].peer == FAB_NONE ||
           !fab_node_is_switch(f, fab_peer_node(f, port)))
        port++;
    return port;
}

static void set_caps(struct fab_fabric *f, uint8_t high, uint8_t low)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        f->ports[port].info.vlarb_high_cap = high;
        f->ports[port].info.vlarb_low_cap = low;
    }
}

START_TEST(shares_are_what_tables_say)
{
    static const struct {
        uint8_t share[4], cap;
        unsigned tolerance; /* per mille, as tables are of whole packets */
        bool high;          /* the first one is */
    } cases[] = {
        {{50, 30, 0, 0}, 8, 2, false},    {{40, 30, 20, 5}, 8, 30, false},
        {{40, 30, 20, 5}, 64, 2, false},  {{33, 33, 33, 0}, 64, 2, false},
        {{10, 10, 10, 10}, 32, 2, false}, {{50, 25, 15, 0}, 32, 2, true},
        {{75, 15, 0, 0}, 8, 2, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct world w = world_of(leaf_spine(3, 2, 2), 0);
        for (unsigned k = 0; k < 4; k++)
            if (cases[i].share[k] > 0)
                add_class(w.p.classes, (char[]){(char)('a' + k), 0}, cases[i].share[k],
                          cases[i].high && k == 0, FAB_CLASS_NO_SL);
        set_caps(w.f, cases[i].cap, cases[i].cap);
        ck_assert_int_eq(route(&w, "updn"), FAB_OK);
        assert_shares(&w, some_trunk(w.f), cases[i].tolerance);
        world_fini(&w);
    }
}
END_TEST

START_TEST(random_shares)
{
    uint64_t seed = test_seed("shares", 7);
    struct fab_prng r;
    fab_prng_init(&r, seed);
    for (unsigned i = 0; i < test_rounds(60); i++) {
        struct world w = world_of(leaf_spine(2, 2, 1), 0);
        unsigned count = 1 + (unsigned)fab_prng_below(&r, 7), left = 99;
        for (unsigned k = 0; k < count; k++) {
            uint8_t share = (uint8_t)fab_prng_below(&r, left / 2 + 1);
            left -= share;
            add_class(w.p.classes, (char[]){(char)('a' + k), 0}, share, false, FAB_CLASS_NO_SL);
        }
        set_caps(w.f, 64, 64);
        ck_assert_int_eq(route(&w, "updn"), FAB_OK);
        assert_shares(&w, some_trunk(w.f), 12);
        world_fini(&w);
    }
}
END_TEST

/* ---- on the model of traffic ----------------------------------------------------------------- */

/* Ends of a switch. */
static uint32_t ends_of(const struct fab_fabric *f, uint32_t sw, uint32_t *ends)
{
    uint32_t count = 0;
    for (uint32_t port = 0; port < f->port_count; port++)
        if (!fab_node_is_switch(f, f->ports[port].node) && fab_port_has_lid(f, port) &&
            fab_peer_node(f, port) == sw)
            ends[count++] = port;
    return count;
}

static struct fab_traffic_arbitration as_model(const struct fab_arb *a)
{
    struct fab_traffic_arbitration to = {
        .high_count = a->highs, .low_count = a->lows, .high_limit = a->limit};
    for (unsigned i = 0; i < a->highs; i++) {
        to.high[i].vl = a->high[i].vl;
        to.high[i].weight = a->high[i].weight;
    }
    for (unsigned i = 0; i < a->lows; i++) {
        to.low[i].vl = a->low[i].vl;
        to.low[i].weight = a->low[i].weight;
    }
    return to;
}

/* All ends of a switch send to ends of another, every one as fast as it can: one in the quiet
 * class, all others in the loud one. Returns what the quiet one has of all that arrives, per mille.
 */
static uint32_t quiet_part(struct world *w, uint32_t from, uint32_t to, uint8_t quiet, uint8_t loud)
{
    uint32_t src[32], dst[32], count = ends_of(w->f, from, src), others = ends_of(w->f, to, dst);
    struct fab_traffic_flow flow[32];
    struct fab_traffic_flow_stats stats;
    struct fab_traffic *t;
    struct fab_arb arb;
    uint64_t bytes[2] = {0, 0};
    ck_assert(fab_target_arb(w->f, &w->p, &w->t->vls, some_trunk(w->f), NULL, &arb));
    struct fab_traffic_arbitration arbitration = as_model(&arb);
    const struct fab_traffic_input in = {.fabric = w->f,
                                         .lids = &w->t->lids,
                                         .lft = &w->t->lft,
                                         .vls = &w->t->vls,
                                         .arbitration = &arbitration};
    for (uint32_t i = 0; i < count; i++) {
        uint8_t level = i == 0 ? quiet : loud;
        flow[i] = (struct fab_traffic_flow){
            .from = src[i],
            .to = dst[i % others],
            .sl = fab_target_sl_of(w->f, &w->t->lids, &w->t->vls, level, src[i],
                                   w->t->lids.base[dst[i % others]]),
            .end = FAB_TRAFFIC_EVER,
            .bytes = FAB_TRAFFIC_EVER};
    }
    ck_assert_int_eq(fab_traffic_new(&in, flow, count, &t), FAB_OK);
    ck_assert_int_eq(fab_traffic_run(t, 2000 * FAB_TRAFFIC_US), FAB_OK);
    ck_assert(fab_traffic_is_sound(t));
    for (uint32_t i = 0; i < count; i++) {
        fab_traffic_flow_stats(t, i, &stats);
        bytes[i > 0] += stats.delivered;
    }
    fab_traffic_free(t);
    printf("# quiet %" PRIu64 " bytes, loud %" PRIu64 " by %u senders\n", bytes[0], bytes[1],
           count - 1);
    return (uint32_t)(bytes[0] * 1000 / (bytes[0] + bytes[1]));
}

START_TEST(a_class_at_full_load_takes_nothing_from_another)
{
    static const struct {
        uint8_t loud, quiet;
        bool high; /* the loud one is of high priority */
    } cases[] = {{50, 30, false}, {70, 20, false}, {50, 50, true}, {30, 60, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct world w = world_of(leaf_spine(2, 1, 12), 0);
        struct fab_classes_error e;
        uint8_t n;
        add_class(w.p.classes, "loud", cases[i].loud, cases[i].high, FAB_CLASS_NO_SL);
        if (cases[i].loud + cases[i].quiet == 100) /* the default one is the quiet one */
            ck_assert_int_eq(fab_classes_add(w.p.classes,
                                             &(struct fab_class){.name = "default",
                                                                 .share = cases[i].quiet,
                                                                 .sl = FAB_CLASS_NO_SL},
                                             &n, &e),
                             FAB_OK);
        else
            add_class(w.p.classes, "quiet", cases[i].quiet, false, FAB_CLASS_NO_SL);
        set_caps(w.f, 64, 64);
        ck_assert_int_eq(route(&w, "updn"), FAB_OK);
        uint8_t quiet = w.p.classes->count > 2 ? 2 : 0;
        uint32_t has = quiet_part(&w, 0, 1, quiet, 1);
        uint32_t promised = fab_qos_guarantee(w.f, &w.p, &w.t->vls, some_trunk(w.f), quiet);
        ck_assert_msg(has + 5 >= promised, "case %zu: %u of %u per mille", i, has, promised);
        ck_assert_uint_ge(promised + 5, cases[i].quiet * 10u);
        world_fini(&w);
    }
}
END_TEST

/* Three switches on, with lanes of the engine beside those of the classes. */
START_TEST(so_on_a_torus)
{
    struct world w = world_of(grid((uint32_t[3]){6, 1, 1}, true, 12), 0);
    add_class(w.p.classes, "loud", 60, false, FAB_CLASS_NO_SL);
    add_class(w.p.classes, "quiet", 30, false, FAB_CLASS_NO_SL);
    set_caps(w.f, 64, 64);
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    ck_assert_uint_gt(w.t->vls.lanes, 1);
    uint32_t has = quiet_part(&w, 0, 2, 2, 1);
    ck_assert_uint_ge(has + 5, 300);
    world_fini(&w);
}
END_TEST

/* What the arithmetic does not allow is not promised. */
START_TEST(high_priority_takes_half)
{
    struct world w = world_of(leaf_spine(3, 2, 2), 0);
    add_class(w.p.classes, "management", 5, true, FAB_CLASS_NO_SL);
    add_class(w.p.classes, "training", 80, false, FAB_CLASS_NO_SL);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    uint32_t port = some_trunk(w.f);
    uint32_t training = fab_qos_guarantee(w.f, &w.p, &w.t->vls, port, 2);
    ck_assert_uint_lt(training, 500);
    ck_assert_uint_gt(training, 380); /* 80 of 95 of one half */
    world_fini(&w);
}
END_TEST

START_TEST(tables_of_the_operator)
{
    struct world w = world_of(leaf_spine(3, 2, 2), 0);
    struct fab_arb arb;
    struct fab_verdict v;
    add_class(w.p.classes, "a", 0, false, 1);
    add_class(w.p.classes, "b", 0, false, 2);
    ck_assert_int_eq(fab_classes_set_map(w.p.classes, "0,2,1,15,0,0,0,0,0,0,0,0,0,0,0,15"), FAB_OK);
    ck_assert_int_eq(fab_classes_set_arb(w.p.classes, false, "0:64,1:128,2:192,9:1"), FAB_OK);
    ck_assert_int_eq(fab_classes_set_arb(w.p.classes, true, "1:4"), FAB_OK);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    uint32_t port = some_trunk(w.f);
    ck_assert_uint_eq(fab_target_sl2vl(w.f, &w.p, &w.t->vls, port, port),
                      UINT64_C(0x021f00000000000f));
    ck_assert(fab_target_arb(w.f, &w.p, &w.t->vls, port, NULL, &arb));
    ck_assert_uint_eq(arb.lows, 3); /* the port has 8 VLs */
    ck_assert_uint_eq(arb.highs, 1);
    v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "given");
    fab_verdict_fini(&v);
    world_fini(&w);
}
END_TEST

/* ---- whose path ------------------------------------------------------------------------------ */

static int class_of(const struct fab_qos_matcher *m, uint32_t src, uint32_t dst, uint16_t pkey,
                    int service, int qos_class)
{
    return fab_qos_match(m, &(struct fab_qos_path){.src = src,
                                                   .dst = dst,
                                                   .pkey = pkey,
                                                   .has_service = service >= 0,
                                                   .service = (uint64_t)service,
                                                   .has_class = qos_class >= 0,
                                                   .qos_class = (uint16_t)qos_class});
}

START_TEST(rules_choose_the_class)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 4);
    struct fab_classes_error e;
    struct fab_qos_matcher m;
    uint32_t a = w.f->nodes[w.f->switch_count].first_port + 1;
    uint32_t b = w.f->nodes[w.f->switch_count + 1].first_port + 1;
    char rule[80];
    snprintf(rule, sizeof(rule), "from=0x%016" PRIx64 " qos_class=5", w.f->ports[a].guid);
    ck_assert_int_eq(fab_classes_add_rule(w.p.classes, 1, rule, &e), FAB_OK);
    ck_assert_int_eq(fab_classes_add_rule(w.p.classes, 2, "service=0x100-0x1ff", &e), FAB_OK);
    ck_assert_int_eq(fab_classes_add_rule(w.p.classes, 3, "pkey=0x12", &e), FAB_OK);
    snprintf(rule, sizeof(rule), "to=\"%s\"", w.f->nodes[w.f->ports[b].node].desc);
    ck_assert_int_eq(fab_classes_add_rule(w.p.classes, 4, rule, &e), FAB_OK);
    ck_assert_int_eq(fab_qos_matcher_init(&m, w.f, &w.p, &w.t->pkeys), FAB_OK);
    ck_assert_int_eq(class_of(&m, a, b, 0xffff, -1, 5), 1);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, -1, 5), -1);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, 0x100, -1), 2);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, 0x200, -1), -1);
    ck_assert_int_eq(class_of(&m, b, a, 0x8012, -1, -1), 3);
    ck_assert_int_eq(class_of(&m, b, a, 0x0012, -1, -1), 3);
    ck_assert_int_eq(class_of(&m, a, b, 0xffff, -1, -1), 4);
    fab_qos_matcher_fini(&m);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qos");
    TCase *cases = tcase_create("qos");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, the_product_is_proven);
    tcase_add_test(cases, so_on_a_dragonfly);
    tcase_add_test(cases, so_with_too_few_lanes_and_sls);
    tcase_add_test(cases, spoiled_classes_are_refused);
    tcase_add_test(cases, parts_do_not_prove_the_whole);
    tcase_add_test(cases, vls_out_of_range_are_refused);
    tcase_add_test(cases, random_classes_on_random_fabrics);
    tcase_add_test(cases, shares_are_what_tables_say);
    tcase_add_test(cases, random_shares);
    tcase_add_test(cases, a_class_at_full_load_takes_nothing_from_another);
    tcase_add_test(cases, so_on_a_torus);
    tcase_add_test(cases, high_priority_takes_half);
    tcase_add_test(cases, tables_of_the_operator);
    tcase_add_test(cases, rules_choose_the_class);
    suite_add_tcase(suite, cases);
    return test_run(suite);
}
