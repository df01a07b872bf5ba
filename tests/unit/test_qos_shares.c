/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth of traffic classes. One test simulates VL arbitration packet by packet. Another
 * uses the traffic model: a class that sends as much as it can must not reduce the share of another
 * class.
 */
#include "libfabmgr/traffic/traffic.h"
#include "tests/unit/qos_world.h"

/* one of the two VL arbitration tables, and the entry that is being served */
struct turn {
    const struct fab_arb_entry *entry;
    unsigned count, at;
    int left; /* what is left of the weight of this entry, in units of 64 bytes */
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

/* Simulates VL arbitration (IBA 7.6.9), and counts the bytes that each VL sends. packet: length of
 * each packet in bytes. busy: bitset of the VLs that always have packets to send. */
static void serve(const struct fab_arb *a, uint16_t busy, uint32_t packet, uint32_t packets,
                  uint64_t bytes[16])
{
    struct turn high = {.entry = a->high, .count = a->highs, .at = a->highs - 1u};
    struct turn low = {.entry = a->low, .count = a->lows, .at = a->lows - 1u};
    const bool urgent = waits(&high, busy), others = waits(&low, busy);
    /* bytes that the high-priority table has sent since the last low-priority packet */
    int64_t spent = 0;
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

/* Checks each class. While all classes send as much as they can, the class must get its guaranteed
 * share. While it sends nothing, the other classes must get the whole link. */
static void assert_shares(struct world *w, uint32_t port, unsigned tolerance)
{
    const struct fab_vls *v = &w->t->vls;
    struct fab_arb arb;
    uint64_t bytes[16], alone[16];
    uint16_t all = 0;
    ck_assert(fab_target_arb(w->f, &w->p, v, port, NULL, &arb));
    for (uint8_t i = 0; i < v->levels; i++)
        all |= fab_target_class_vls(w->f, &w->p, v, port, i);
    serve(&arb, all, 4096, 100000, bytes);
    for (uint8_t i = 0; i < v->levels; i++) {
        uint16_t mine = fab_target_class_vls(w->f, &w->p, v, port, i);
        uint64_t has = 0;
        for (unsigned vl = 0; vl < 16; vl++)
            has += mine >> vl & 1 ? bytes[vl] : 0;
        uint32_t promised = fab_qos_guarantee(w->f, &w->p, v, port, i);
        uint32_t due = fab_target_class_share(w->p.classes, i) / 100;
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
    while (fab_fabric_port(f, port)->num == 0 || fab_fabric_port(f, port)->peer == FAB_NONE ||
           !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, port)))
        port++;
    return port;
}

static void set_caps(struct fab_fabric *f, uint8_t high, uint8_t low)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        fab_fabric_edit_port(f, port)->info.vlarb_high_cap = high;
        fab_fabric_edit_port(f, port)->info.vlarb_low_cap = low;
    }
}

START_TEST(shares_are_what_tables_say)
{
    static const struct {
        uint8_t share[4], cap;
        /* per mille by which a guaranteed share may fall short of the configured one, because
         * weights are whole packets */
        unsigned tolerance;
        bool high; /* true: the first class is in the high-priority table */
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
    fab_base_prng_init(&r, seed);
    for (unsigned i = 0; i < test_rounds(60); i++) {
        struct world w = world_of(leaf_spine(2, 2, 1), 0);
        unsigned count = 1 + (unsigned)fab_base_prng_below(&r, 7), left = 99;
        for (unsigned k = 0; k < count; k++) {
            uint8_t share = (uint8_t)fab_base_prng_below(&r, left / 2 + 1);
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

/* ---- traffic model --------------------------------------------------------------------------- */

/* Stores the port ids of the endports of a switch, and returns their number. */
static uint32_t ends_of(const struct fab_fabric *f, uint32_t sw, uint32_t *ends)
{
    uint32_t count = 0;
    for (uint32_t port = 0; port < f->port_count; port++)
        if (!fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
            fab_fabric_port_has_lid(f, port) && fab_fabric_peer_node(f, port) == sw)
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

/* All endports of switch `from` send to switch `to` as fast as they can: the first endport in the
 * class `quiet`, all others in the class `loud`. Returns which part of the arriving data is of the
 * class `quiet`, per mille. */
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
            .sl = fab_target_level_sl(w->f, &w->t->lids, &w->t->vls, level, src[i],
                                      w->t->lids.base[dst[i % others]]),
            .end = FAB_TRAFFIC_FOREVER,
            .bytes = FAB_TRAFFIC_FOREVER};
    }
    ck_assert_int_eq(fab_traffic_new(&in, flow, count, &t), FAB_OK);
    ck_assert_int_eq(fab_traffic_run(t, 2000 * FAB_TRAFFIC_US), FAB_OK);
    ck_assert(fab_traffic_is_consistent(t));
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
        bool high; /* true: the loud class is in the high-priority table */
    } cases[] = {{50, 30, false}, {70, 20, false}, {50, 50, true}, {30, 60, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct world w = world_of(leaf_spine(2, 1, 12), 0);
        struct fab_classes_error e;
        uint8_t n;
        add_class(w.p.classes, "loud", cases[i].loud, cases[i].high, FAB_CLASS_NO_SL);
        /* the two shares fill the link, so the default class takes the place of the quiet one */
        if (cases[i].loud + cases[i].quiet == 100)
            ck_assert_int_eq(fab_policy_classes_add(w.p.classes,
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

/* The same on a torus, where the engine needs several VLs for each class. */
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

/* With traffic classes, all VL arbitration blocks of a port must be written, even empty ones,
 * because the device could hold old entries there. Without classes, the first block is enough,
 * because the others are empty since a reset. */
START_TEST(all_blocks_of_a_table_are_written)
{
    static const uint8_t caps[] = {0, 8, 32, 33, 64};
    struct world w = world_of(leaf_spine(3, 2, 2), 0);
    struct fab_arb arb, even = {.lows = 2};
    add_class(w.p.classes, "a", 40, false, FAB_CLASS_NO_SL);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    uint32_t port = some_trunk(w.f);
    ck_assert(fab_target_arb(w.f, &w.p, &w.t->vls, port, NULL, &arb));
    for (size_t low = 0; low < sizeof(caps); low++)
        for (size_t high = 0; high < sizeof(caps); high++) {
            struct fab_port_info *info = &fab_fabric_edit_port(w.f, port)->info;
            info->vlarb_low_cap = caps[low];
            info->vlarb_high_cap = caps[high];
            const bool has[4] = {caps[low] > 0, caps[low] > 32, caps[high] > 0, caps[high] > 32};
            for (unsigned block = 1; block <= 4; block++) {
                ck_assert_int_eq(fab_target_arb_has_block(&arb, info, block), has[block - 1]);
                ck_assert_int_eq(fab_target_arb_has_block(&even, info, block),
                                 block == 1 && has[0]);
            }
        }
    world_fini(&w);
}
END_TEST

/* The VLs of a class are those to which its SLs are mapped, for the port classes that exist and the
 * SLs that paths use. */
START_TEST(only_vls_in_use_are_counted)
{
    struct fab_vls v = {.count = 8, .sls = 2, .classes = 2, .levels = 1};
    struct world w = world_of(leaf_spine(2, 2, 2), 1);
    uint32_t port = fab_fabric_port_id(w.f, 0, 1);
    w.p.max_op_vls = 8;
    memset(v.vl, 7, sizeof v.vl);
    for (unsigned in = 0; in < 2; in++)
        for (unsigned sl = 0; sl < 2; sl++)
            v.vl[in][0][sl] = (uint8_t)(2 * in + sl);
    ck_assert_uint_eq(fab_target_class_vls(w.f, &w.p, &v, port, 0), 0x0f);
    v.classes = v.sls = 0; /* the value 0 stands for one class of ports, and for one SL */
    ck_assert_uint_eq(fab_target_class_vls(w.f, &w.p, &v, port, 0), 0x01);
    world_fini(&w);
}
END_TEST

START_TEST(high_priority_takes_half)
{
    struct world w = world_of(leaf_spine(3, 2, 2), 0);
    add_class(w.p.classes, "management", 5, true, FAB_CLASS_NO_SL);
    add_class(w.p.classes, "training", 80, false, FAB_CLASS_NO_SL);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    uint32_t port = some_trunk(w.f);
    uint32_t training = fab_qos_guarantee(w.f, &w.p, &w.t->vls, port, 2);
    ck_assert_uint_lt(training, 500);
    /* the two classes share one half of the link: 80 / 95 of it is 421 per mille */
    ck_assert_uint_gt(training, 380);
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
    ck_assert_int_eq(fab_policy_classes_set_map(w.p.classes, "0,2,1,15,0,0,0,0,0,0,0,0,0,0,0,15"),
                     FAB_OK);
    ck_assert_int_eq(fab_policy_classes_set_arb(w.p.classes, false, "0:64,1:128,2:192,9:1"),
                     FAB_OK);
    ck_assert_int_eq(fab_policy_classes_set_arb(w.p.classes, true, "1:4"), FAB_OK);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    uint32_t port = some_trunk(w.f);
    ck_assert_uint_eq(fab_target_sl2vl(w.f, &w.p, &w.t->vls, port, port),
                      UINT64_C(0x021f00000000000f));
    ck_assert(fab_target_arb(w.f, &w.p, &w.t->vls, port, NULL, &arb));
    ck_assert_uint_eq(arb.lows, 3); /* the port has only the VLs 0 to 7, so VL 9 is left out */
    ck_assert_uint_eq(arb.highs, 1);
    v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "given");
    fab_verify_verdict_fini(&v);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qos shares");
    TCase *tcase = tcase_create("shares");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, shares_are_what_tables_say);
    tcase_add_test(tcase, random_shares);
    tcase_add_test(tcase, a_class_at_full_load_takes_nothing_from_another);
    tcase_add_test(tcase, so_on_a_torus);
    tcase_add_test(tcase, all_blocks_of_a_table_are_written);
    tcase_add_test(tcase, only_vls_in_use_are_counted);
    tcase_add_test(tcase, high_priority_takes_half);
    tcase_add_test(tcase, tables_of_the_operator);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
