/* SPDX-License-Identifier: BSD-3-Clause */
/* The traffic model. Its results must be those that textbooks give for such networks, and it must
 * lose no packet. */
#include "libfabmgr/traffic/traffic.h"
#include "tests/unit/routing.h"

#define US FAB_TRAFFIC_US
#define EVER FAB_TRAFFIC_FOREVER
/* time in ps that 4122 bytes, a packet with the largest MTU and its headers, take at 100 Gb/s */
#define MTU_PS (4122 * 80)

/* ---- scenes ---------------------------------------------------------------------------------- */

struct scene {
    struct fab_fabric *fabric;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_congestion congestion;
    struct fab_traffic_input in;
    struct fab_traffic *traffic;
    struct fab_traffic_flow flows[20000];
    uint32_t count;
};

/* Makes a fabric with tables and flows. Takes ownership of f. engine: makes the tables; NULL: the
 * caller fills in the routes. */
static struct scene *scene_new(struct fab_fabric *f, const char *engine)
{
    struct scene *s = calloc(1, sizeof *s);
    char why[200] = "";
    ck_assert_ptr_nonnull(s);
    s->fabric = f;
    fab_policy_defaults(&s->policy);
    assigned(f, &s->policy, &s->lids);
    struct fab_route_input in = {.fabric = f, .policy = &s->policy, .lids = &s->lids};
    if (engine == NULL)
        ck_assert_int_eq(fab_target_lft_init(&s->lft, f->switch_count, s->lids.top), FAB_OK);
    else
        ck_assert_msg(
            fab_route_engine_by_name(engine)->run(&in, &s->lft, &s->vls, why, sizeof why) == FAB_OK,
            "%s", why);
    s->in = (struct fab_traffic_input){
        .fabric = f, .lids = &s->lids, .lft = &s->lft, .vls = &s->vls, .seed = 1};
    return s;
}

static void scene_free(struct scene *s)
{
    fab_traffic_free(s->traffic);
    fab_congestion_fini(&s->congestion);
    fab_target_vls_fini(&s->vls);
    fab_target_lft_fini(&s->lft);
    fab_target_lids_fini(&s->lids);
    fab_policy_fini(&s->policy);
    fab_fabric_unref(s->fabric);
    free(s);
}

/* Returns the port of endport n. Endports are numbered in the order in which the fabric was
 * generated. */
static uint32_t end_port(const struct scene *s, uint32_t n)
{
    return fab_fabric_port_id(s->fabric, s->fabric->switch_count + n, 1);
}
static uint32_t ends(const struct scene *s)
{
    return s->fabric->node_count - s->fabric->switch_count;
}

static struct fab_traffic_flow *flow(struct scene *s, uint32_t from, uint32_t to, uint64_t bytes)
{
    ck_assert_uint_lt(s->count, 20000);
    struct fab_traffic_flow *x = &s->flows[s->count++];
    *x = (struct fab_traffic_flow){.from = end_port(s, from),
                                   .to = end_port(s, to),
                                   .sl = FAB_TRAFFIC_PATH_SL,
                                   .end = EVER,
                                   .bytes = bytes};
    return x;
}

static void start(struct scene *s)
{
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, s->count, &s->traffic), FAB_OK);
}
static void run(struct scene *s, uint64_t until)
{
    ck_assert_int_eq(fab_traffic_run(s->traffic, until), FAB_OK);
}
static struct fab_traffic_flow_stats stats(const struct scene *s, uint32_t n)
{
    struct fab_traffic_flow_stats x;
    fab_traffic_flow_stats(s->traffic, n, &x);
    return x;
}

/* Measures the rate of each flow in Gb/s, between the times `from` and `until` in ps. */
static void measure(struct scene *s, uint64_t from, uint64_t until, double *ret)
{
    run(s, from);
    for (uint32_t i = 0; i < s->count; i++)
        ret[i] = -(double)stats(s, i).delivered;
    run(s, until);
    for (uint32_t i = 0; i < s->count; i++)
        ret[i] = (ret[i] + (double)stats(s, i).delivered) * 8e3 / (double)(until - from);
}

static double jain(const double *x, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return sum * sum / (count * squares);
}

static void assert_near(double is, double should, double share, const char *what)
{
    ck_assert_msg(is > should * (1 - share) && is < should * (1 + share), "%s: %g is not near %g",
                  what, is, should);
}

/* Turns congestion control on, with the settings that the library computes for the profile
 * "balanced". */
static void control(struct scene *s)
{
    struct fab_congestion_input in = {.fabric = s->fabric, .policy = &s->policy};
    ck_assert_int_eq(fab_congestion_compute(&in, &s->congestion), FAB_OK);
    s->in.congestion = &s->congestion;
}

/* ---- one switch ------------------------------------------------------------------------------ */

START_TEST(test_alone)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 2), "updn");
    flow(s, 0, 1, 100 * 4096);
    start(s);
    run(s, EVER);
    struct fab_traffic_flow_stats x = stats(s, 0);
    /* expected latency in ps: 25,000 for each of two links, 200,000 for the switch, and the time of
     * one packet at line rate, which counts once because the switch is cut-through */
    uint64_t once = 2 * 25000 + 200000 + MTU_PS;
    ck_assert_uint_eq(x.latency_max, once);
    ck_assert_uint_eq(x.latency, 100 * once);
    ck_assert_uint_eq(x.done, once + 99 * MTU_PS);
    ck_assert_uint_eq(x.delivered, 100 * 4096);
    ck_assert(fab_traffic_idle(s->traffic) && fab_traffic_is_consistent(s->traffic));
    scene_free(s);
}
END_TEST

START_TEST(test_slow_and_fast)
{
    struct drawing *d = draw_new();
    draw_switch(d, 4);
    draw_hosts(d, 0, 1);
    ck_assert_int_eq(fab_fabric_text_parse_rate("4x HDR", 6, &d->m.rate), FAB_OK);
    draw_hosts(d, 0, 1);
    struct scene *s = scene_new(draw_done(d), "updn");
    /* From a 100 Gb/s link to a 200 Gb/s link, a cut-through switch must delay the packet, so that
     * it does not run out of data in the middle. */
    flow(s, 0, 1, 4096)->start = 0;
    /* from a 200 Gb/s link to a 100 Gb/s link, the second link decides */
    flow(s, 1, 0, 4096)->start = 10 * US;
    flow(s, 1, 0, 1 << 20)->start = 20 * US;
    s->flows[2].rate = 20000;
    start(s);
    run(s, EVER);
    ck_assert_uint_eq(stats(s, 0).latency, 2 * 25000 + 200000 + MTU_PS);
    ck_assert_uint_eq(stats(s, 1).latency, 2 * 25000 + 200000 + MTU_PS);
    assert_near((double)(stats(s, 2).done - 20 * US), 256.0 * 4122 * 8 * 1e3 / 20, 0.01, "paced");
    scene_free(s);
}
END_TEST

START_TEST(test_shared)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 5), "updn");
    double got[4];
    for (uint32_t i = 0; i < 4; i++)
        flow(s, i, 4, EVER);
    start(s);
    measure(s, 50 * US, 250 * US, got);
    for (uint32_t i = 0; i < 4; i++)
        assert_near(got[i], 25 * 4096.0 / 4122, 0.02, "a quarter of the link");
    scene_free(s);
}
END_TEST

/* One of two flows of an adapter ends. The other flow must then get the whole link. */
START_TEST(test_turns_of_flows)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 3), "updn");
    double before[2], after[2];
    flow(s, 0, 1, EVER)->end = 100 * US;
    flow(s, 0, 2, EVER);
    start(s);
    measure(s, 10 * US, 90 * US, before);
    measure(s, 110 * US, 190 * US, after);
    assert_near(before[0], before[1], 0.02, "turns");
    ck_assert(after[0] < 1e-9);
    assert_near(after[1], 100 * 4096.0 / 4122, 0.02, "alone");
    scene_free(s);
}
END_TEST

static void two_lanes(struct scene *s, struct fab_traffic_arbitration *a, double ret[2])
{
    double got[4];
    fab_target_vls_init(&s->vls, 2);
    s->in.arbitration = a;
    for (uint32_t i = 0; i < 4; i++)
        flow(s, i, 4, EVER)->sl = (uint8_t)(i % 2);
    start(s);
    measure(s, 50 * US, 550 * US, got);
    ret[0] = got[0] + got[2];
    ret[1] = got[1] + got[3];
}

START_TEST(test_weights)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 5), "updn");
    struct fab_traffic_arbitration a = {.low = {{0, 192}, {1, 64}}, .low_count = 2};
    double got[2];
    two_lanes(s, &a, got);
    assert_near(got[0], 75 * 4096.0 / 4122, 0.03, "three of four");
    assert_near(got[1], 25 * 4096.0 / 4122, 0.03, "one of four");
    scene_free(s);
}
END_TEST

START_TEST(test_priority)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 5), "updn");
    struct fab_traffic_arbitration a = {
        .high = {{1, 64}}, .high_count = 1, .low = {{0, 64}}, .low_count = 1, .high_limit = 255};
    double got[2];
    two_lanes(s, &a, got);
    ck_assert_msg(got[1] > 98 && got[0] < 1, "%g %g", got[0], got[1]);
    scene_free(s);

    s = scene_new(leaf_spine(1, 0, 5), "updn");
    /* VLHighLimit 3: the high-priority table sends 12 KiB, then the low-priority table one
     * packet */
    a.high_limit = 3;
    two_lanes(s, &a, got);
    assert_near(got[1] / got[0], 3, 0.05, "high and low");
    scene_free(s);
}
END_TEST

/* ---- what textbooks say ---------------------------------------------------------------------- */

/* An incast: four hosts of each of the leaves 1, 2 and 3 send to host 0. The victim is a flow from
 * leaf 1 to leaf 2, which shares only the uplink of leaf 1 with the incast. Leaf l has the hosts 5l
 * to 5l + 4. */
static void victims(bool controlled, double *ret_victim, double *ret_hot)
{
    struct scene *s = scene_new(leaf_spine(4, 1, 5), "updn");
    double got[13];
    for (uint32_t l = 1; l < 4; l++)
        for (uint32_t i = 0; i < 4; i++)
            flow(s, l * 5 + i, 0, EVER);
    flow(s, 9, 14, EVER);
    if (controlled)
        control(s);
    start(s);
    measure(s, 1000 * US, 2000 * US, got);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    *ret_victim = got[12];
    *ret_hot = 0;
    for (uint32_t i = 0; i < 12; i++)
        *ret_hot += got[i];
    scene_free(s);
}

START_TEST(test_victim)
{
    double victim, hot;
    victims(false, &victim, &hot);
    printf("# victim %.1f, hot spot %.1f Gb/s without congestion control\n", victim, hot);
    assert_near(hot, 100 * 4096.0 / 4122, 0.02, "the hot spot's link");
    assert_near(victim, 100.0 / 12, 0.05, "as much as one of those behind the hot spot");
    victims(true, &victim, &hot);
    printf("# victim %.1f, hot spot %.1f Gb/s with it\n", victim, hot);
    /* with congestion control, the four incast flows of leaf 1 use 33 of 100 Gb/s, so the victim
     * can get 67 */
    ck_assert_msg(victim > 55, "victim %g", victim);
    ck_assert_msg(hot > 80, "hot %g", hot);
}
END_TEST

/* Three flows beside the incast at host 0, which uses SL 0. They are from host 5 (a sender of the
 * incast) to host 14 on SL 0, from host 6 (also a sender) to host 13 on SL 1, and from host 0 to
 * host 12 on SL 1. */
static void beside_incast(bool by_sl, double ret[3])
{
    struct scene *s = scene_new(leaf_spine(4, 1, 5), "updn");
    double got[15];
    fab_target_vls_init(&s->vls, 2);
    s->in.by_sl = by_sl;
    for (uint32_t l = 1; l < 4; l++)
        for (uint32_t i = 0; i < 4; i++)
            flow(s, l * 5 + i, 0, EVER)->sl = 0;
    flow(s, 5, 14, EVER)->sl = 0;
    flow(s, 6, 13, EVER)->sl = 1;
    flow(s, 0, 12, EVER)->sl = 1;
    control(s);
    start(s);
    measure(s, 1000 * US, 2000 * US, got);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    memcpy(ret, got + 12, 3 * sizeof(*ret));
    scene_free(s);
}

/* If adapters delay whole SLs (by_sl), an incast also slows down other flows of its senders on the
 * same SL, but none on another SL. If adapters delay single flows, it slows down none of them. */
START_TEST(test_delay_of_whole_sls)
{
    double by_flow[3], by_sl[3];
    beside_incast(false, by_flow);
    beside_incast(true, by_sl);
    printf("# by flow %.1f %.1f %.1f, by SL %.1f %.1f %.1f Gb/s\n", by_flow[0], by_flow[1],
           by_flow[2], by_sl[0], by_sl[1], by_sl[2]);
    ck_assert(by_sl[0] < by_flow[0] / 2);
    ck_assert(by_sl[1] > by_flow[1] / 2);
    ck_assert(by_sl[2] > by_flow[2] / 2);
}
END_TEST

/* Host 0 gets an incast, and itself sends to host 5, which also gets an incast. So the BECNs that
 * host 0 returns must wait for credits, and queue up. None of them may get lost. */
START_TEST(test_becns_that_wait)
{
    struct scene *s = scene_new(leaf_spine(4, 1, 5), "updn");
    double got[25];
    for (uint32_t l = 1; l < 4; l++)
        for (uint32_t i = 1; i < 5; i++)
            flow(s, l * 5 + i, 0, EVER);
    flow(s, 0, 5, EVER);
    for (uint32_t l = 0; l < 4; l++)
        for (uint32_t i = 1; i < 5 && l != 1; i++)
            flow(s, l * 5 + i, 5, EVER);
    control(s);
    start(s);
    measure(s, 2000 * US, 6000 * US, got);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    printf("# fairness %.3f\n", jain(got, 12));
    /* Jain's fairness index of the flows to host 0: if waiting BECNs were lost, it would be
     * 0.945 */
    ck_assert(jain(got, 12) > 0.99);
    scene_free(s);
}
END_TEST

enum change { NO_CHANGE, ONLY_MIN, NO_SLS, NO_TIMER, LOW_LIMIT };

/* Changes one setting of congestion control at all adapters. */
static void change_adapters(struct scene *s, enum change change)
{
    for (uint32_t i = 0; i < s->congestion.adapter_count; i++) {
        struct fab_congestion_adapter *a = &s->congestion.adapter[i];
        if (change == NO_SLS)
            a->sls = 0;
        if (change == LOW_LIMIT)
            a->table.limit = 1;
        for (unsigned sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
            if (change == ONLY_MIN || change == NO_SLS)
                a->sl[sl].min = (uint8_t)a->table.limit;
            if (change == NO_TIMER)
                a->sl[sl].timer = 0;
            if (change == LOW_LIMIT)
                a->sl[sl].increase = 50;
        }
    }
}

/* Returns the rate in Gb/s at which a sender sends alone with this CCTI (its index into the
 * Congestion Control Table). */
static double rate_at(const struct scene *s, uint32_t index)
{
    uint16_t entry = s->congestion.adapter[0].table.entry[index];
    return 100 * 4096.0 / 4122 / (1 + fab_congestion_delay(entry) / 8.0);
}

/* Three hosts send to host 0, and two of them stop after 400 us. Returns the rate of the third host
 * after that. *ret_limit: CCTI_Limit. *ret_least: the rate at this limit. */
static double recovered(enum change change, uint32_t *ret_limit, double *ret_least)
{
    struct scene *s = scene_new(leaf_spine(1, 0, 5), "updn");
    double got[3];
    for (uint32_t i = 1; i < 4; i++)
        flow(s, i, 0, EVER)->end = i == 1 ? EVER : 400 * US;
    control(s);
    change_adapters(s, change);
    start(s);
    measure(s, 1000 * US, 2000 * US, got);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    *ret_limit = s->congestion.adapter[0].table.limit;
    *ret_least = rate_at(s, *ret_limit);
    scene_free(s);
    return got[0];
}

/* The third host has a high CCTI from the time of the incast. If a timer lowers the CCTI, the host
 * gets its full rate back. Without a timer, the CCTI stays, but never exceeds CCTI_Limit. */
START_TEST(test_index_of_senders)
{
    uint32_t limit;
    double least;
    assert_near(recovered(NO_CHANGE, &limit, &least), 100 * 4096.0 / 4122, 0.02, "with a timer");
    double slow = recovered(NO_TIMER, &limit, &least);
    ck_assert_msg(slow < 70 && slow > least * 0.99, "%g, at the limit %g", slow, least);
    assert_near(recovered(LOW_LIMIT, &limit, &least), 100 * 4096.0 / 4122, 0.02, "low limit");
    ck_assert_uint_eq(limit, 1);
}
END_TEST

/* CCTI_Min limits the rate of a sender even without congestion, but only on an SL under congestion
 * control. */
START_TEST(test_least_index)
{
    for (int controlled = 0; controlled < 2; controlled++) {
        struct scene *s = scene_new(leaf_spine(1, 0, 5), "updn");
        double got[1];
        flow(s, 1, 0, EVER);
        control(s);
        change_adapters(s, controlled ? ONLY_MIN : NO_SLS);
        start(s);
        measure(s, 500 * US, 1500 * US, got);
        double should =
            controlled ? rate_at(s, s->congestion.adapter[0].table.limit) : 100 * 4096.0 / 4122;
        assert_near(got[0], should, 0.02, controlled ? "at CCTI_Min" : "not under control");
        ck_assert(!controlled || should < 90);
        scene_free(s);
    }
}
END_TEST

/* Makes a row of switches with one sender at each switch. All send to a receiver at the last
 * switch. */
static struct scene *parking_lot(void)
{
    struct drawing *d = draw_new();
    for (uint32_t i = 0; i < 4; i++)
        draw_switch(d, 4);
    for (uint32_t i = 0; i < 3; i++)
        draw_cable(d, i, i + 1);
    for (uint32_t i = 0; i < 4; i++)
        draw_hosts(d, i, 1);
    draw_hosts(d, 3, 1);
    struct scene *s = scene_new(draw_done(d), "updn");
    for (uint32_t i = 0; i < 4; i++)
        flow(s, i, 4, EVER);
    return s;
}

START_TEST(test_parking_lot)
{
    struct scene *s = parking_lot();
    double got[4], line = 100 * 4096.0 / 4122;
    start(s);
    measure(s, 500 * US, 2000 * US, got);
    assert_near(got[3], line / 2, 0.02, "beside the receiver");
    assert_near(got[2], line / 4, 0.02, "one away");
    assert_near(got[1], line / 8, 0.02, "two away");
    assert_near(got[0], line / 8, 0.02, "three away");
    double before = jain(got, 4);
    scene_free(s);

    s = parking_lot();
    control(s);
    start(s);
    measure(s, 1000 * US, 4000 * US, got);
    printf("# parking lot: Jain %.3f, with congestion control %.3f (%.1f %.1f %.1f %.1f Gb/s)\n",
           before, jain(got, 4), got[0], got[1], got[2], got[3]);
    ck_assert(jain(got, 4) > 0.9 && before < 0.75);
    scene_free(s);
}
END_TEST

/* ---- deadlock -------------------------------------------------------------------------------- */

#define RING 5

static struct fab_fabric *ring(void)
{
    return grid((uint32_t[3]){RING, 1, 1}, true, 2);
}

/* Routes all packets round the ring in one direction. Looks for the port to the next switch,
 * because it does not have the same number at all switches. */
static void route_round(struct scene *s)
{
    const struct fab_fabric *f = s->fabric;
    for (uint32_t lid = 1; lid <= s->lids.top; lid++) {
        uint32_t owner = s->lids.owner[lid], home = fab_fabric_port(f, owner)->node;
        if (home >= f->switch_count)
            home = fab_fabric_peer_node(f, owner);
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            for (uint8_t num = 1; num <= f->nodes[sw].num_ports; num++) {
                uint32_t port = fab_fabric_port_id(f, sw, num),
                         peer = fab_fabric_port(f, port)->peer;
                if (peer == FAB_NONE)
                    continue;
                if (sw == home ? peer == owner : fab_fabric_port(f, peer)->node == (sw + 1) % RING)
                    fab_target_lft_row(&s->lft, sw)[lid] = num;
            }
        }
    }
}

static void all_to_all(struct scene *s, uint64_t bytes)
{
    for (uint32_t i = 0; i < ends(s); i++)
        for (uint32_t k = 1; k < ends(s); k++)
            flow(s, i, (i + k) % ends(s), bytes);
}

START_TEST(test_deadlock)
{
    struct scene *s = scene_new(ring(), NULL);
    route_round(s);
    all_to_all(s, 1 << 20);
    start(s);
    ck_assert_int_eq(fab_traffic_run(s->traffic, EVER), FAB_E_CYCLE);
    ck_assert_uint_lt(fab_traffic_now(s->traffic), 1000 * US);
    uint32_t count = 0;
    const uint32_t *cycle = fab_traffic_cycle(s->traffic, &count);
    ck_assert_uint_eq(count, RING);
    /* the ports of the reported deadlock must form a cycle: each leads to the switch of the next
     * one */
    for (uint32_t i = 0; i < count; i++)
        ck_assert_uint_eq(fab_fabric_peer_node(s->fabric, cycle[i]),
                          fab_fabric_port(s->fabric, cycle[(i + 1) % count])->node);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    ck_assert_int_eq(fab_traffic_run(s->traffic, EVER), FAB_E_CYCLE);
    scene_free(s);
}
END_TEST

START_TEST(test_no_deadlock)
{
    static const char *const engines[] = {"updn", "dfsssp", "nue", "torus"};
    struct scene *s = scene_new(ring(), engines[_i]);
    all_to_all(s, 1 << 20);
    start(s);
    run(s, EVER);
    for (uint32_t i = 0; i < s->count; i++)
        ck_assert_uint_eq(stats(s, i).delivered, 1 << 20);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    scene_free(s);
}
END_TEST

/* ---- shifts ---------------------------------------------------------------------------------- */

/* Sorts the endports by LID. With the LIDs of the engine, this is also the order of the leaves. */
static uint32_t by_lid(const struct scene *s, uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t lid = 1; lid <= s->lids.top; lid++) {
        uint32_t port = s->lids.owner[lid];
        if (port != FAB_NONE && fab_fabric_port(s->fabric, port)->node >= s->fabric->switch_count)
            ret[count++] = port;
    }
    return count;
}

START_TEST(test_shift)
{
    struct scene *s = scene_new(fat_tree(8, 3, 1), "fattree");
    uint32_t port[128], count = by_lid(s, port), shift = (uint32_t[]){1, 4, 17, 64, 99}[_i];
    double got[128];
    ck_assert_uint_eq(count, 128);
    for (uint32_t i = 0; i < count; i++) {
        struct fab_traffic_flow *x = flow(s, 0, 1, EVER);
        x->from = port[i];
        x->to = port[(i + shift) % count];
    }
    start(s);
    measure(s, 20 * US, 120 * US, got);
    for (uint32_t i = 0; i < count; i++)
        ck_assert_msg(got[i] > 95, "shift %u: flow %u at %g Gb/s", shift, i, got[i]);
    scene_free(s);
}
END_TEST

/* ---- nothing is lost ------------------------------------------------------------------------- */

static void random_flows(struct scene *s, struct fab_prng *prng)
{
    uint32_t port[4096], count = by_lid(s, port);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t from = (uint32_t)fab_base_prng_below(prng, count), to = from;
        while (to == from)
            to = (uint32_t)fab_base_prng_below(prng, fab_base_prng_chance(prng, 0.5) ? 3 : count);
        struct fab_traffic_flow *x = flow(s, 0, 1, 1 + fab_base_prng_below(prng, 200000));
        x->from = port[from];
        x->to = port[to];
        x->start = fab_base_prng_below(prng, 20 * US);
        x->end = fab_base_prng_chance(prng, 0.2) ? 40 * US : EVER;
        x->rate = fab_base_prng_chance(prng, 0.2) ? 30000 : 0;
    }
}

static uint64_t random_run(uint64_t seed)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    struct scene *s =
        scene_new(random_fabric(3 + (uint32_t)fab_base_prng_below(&prng, 10), 4, 3, seed),
                  fab_base_prng_chance(&prng, 0.5) ? "updn" : "nue");
    random_flows(s, &prng);
    if (fab_base_prng_chance(&prng, 0.7))
        control(s);
    s->in.by_sl = fab_base_prng_chance(&prng, 0.3);
    s->in.seed = seed;
    start(s);
    for (uint64_t at = 5 * US; at < 60 * US; at += 5 * US) {
        run(s, at);
        ck_assert(fab_traffic_is_consistent(s->traffic));
    }
    run(s, EVER);
    ck_assert(fab_traffic_idle(s->traffic) && fab_traffic_is_consistent(s->traffic));
    struct fab_traffic_totals totals = fab_traffic_totals(s->traffic);
    ck_assert_uint_eq(totals.injected, totals.delivered);
    for (uint32_t i = 0; i < s->count; i++) {
        ck_assert_uint_eq(stats(s, i).sent, stats(s, i).delivered);
        if (s->flows[i].end == EVER)
            ck_assert_uint_eq(stats(s, i).delivered, s->flows[i].bytes);
    }
    uint64_t hash = totals.events * 31 + fab_traffic_now(s->traffic);
    scene_free(s);
    return hash;
}

START_TEST(test_conservation)
{
    uint64_t seed = test_seed("conservation", 20);
    for (uint64_t i = 0; i < 25; i++)
        (void)random_run(seed + i);
}
END_TEST

START_TEST(test_repeats)
{
    uint64_t seed = test_seed("repeats", 70);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_uint_eq(random_run(seed + i), random_run(seed + i));
}
END_TEST

START_TEST(test_bad_input)
{
    struct scene *s = scene_new(leaf_spine(2, 1, 2), "updn");
    struct fab_traffic *t = NULL;
    flow(s, 0, 1, 1)->to = fab_fabric_port_id(s->fabric, 0, 1);
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_INVAL);
    s->flows[0].to = s->flows[0].from;
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_INVAL);
    s->flows[0].to = s->fabric->port_count;
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_INVAL);
    s->flows[0].to = end_port(s, 1);
    s->flows[0].offset = 1;
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_NOT_FOUND);
    s->flows[0].offset = 0;
    s->flows[0].sl = 16;
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_RANGE);
    s->in.mtu = 4097;
    ck_assert_int_eq(fab_traffic_new(&s->in, s->flows, 1, &t), FAB_E_RANGE);
    ck_assert_ptr_null(t);
    scene_free(s);
}
END_TEST

/* Packets without a route are dropped. The buffer space that they used must become free. */
START_TEST(test_no_way)
{
    struct scene *s = scene_new(leaf_spine(2, 1, 2), NULL);
    flow(s, 0, 3, 1 << 20);
    start(s);
    run(s, EVER);
    struct fab_traffic_totals totals = fab_traffic_totals(s->traffic);
    ck_assert_uint_eq(totals.dropped, 256);
    ck_assert_uint_eq(stats(s, 0).delivered, 0);
    ck_assert(fab_traffic_is_consistent(s->traffic));
    scene_free(s);
}
END_TEST

static Suite *traffic_suite(void)
{
    Suite *suite = suite_create("traffic");
    TCase *one = tcase_create("one switch"), *book = tcase_create("textbook"),
          *kept = tcase_create("conservation");
    tcase_add_test(one, test_alone);
    tcase_add_test(one, test_slow_and_fast);
    tcase_add_test(one, test_shared);
    tcase_add_test(one, test_turns_of_flows);
    tcase_add_test(one, test_weights);
    tcase_add_test(one, test_priority);
    suite_add_tcase(suite, one);
    tcase_set_timeout(book, 60);
    tcase_add_test(book, test_victim);
    tcase_add_test(book, test_delay_of_whole_sls);
    tcase_add_test(book, test_becns_that_wait);
    tcase_add_test(book, test_index_of_senders);
    tcase_add_test(book, test_least_index);
    tcase_add_test(book, test_parking_lot);
    tcase_add_test(book, test_deadlock);
    tcase_add_loop_test(book, test_no_deadlock, 0, 4);
    tcase_add_loop_test(book, test_shift, 0, 5);
    suite_add_tcase(suite, book);
    tcase_set_timeout(kept, 60);
    tcase_add_test(kept, test_conservation);
    tcase_add_test(kept, test_repeats);
    tcase_add_test(kept, test_bad_input);
    tcase_add_test(kept, test_no_way);
    suite_add_tcase(suite, kept);
    return suite;
}

int main(void)
{
    return test_run(traffic_suite());
}
