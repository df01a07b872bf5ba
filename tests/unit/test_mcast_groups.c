/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: joins and leaves with their component masks and selectors, and how groups are
 * created and deleted. Each group has its own MLID, unless there are too few. No MLID may get lost.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "tests/unit/fabrics.h"

#define JOIN 0x10003u /* ComponentMask of MGID, PortGID and JoinState */
/* ComponentMask with which a join can create a group: JOIN, Q_Key, TClass, P_Key, SL and
 * FlowLabel */
#define CREATE (JOIN | 0x30c4u)
#define IPV4 UINT64_C(0xff12401bffff0000)
#define IPV6 UINT64_C(0xff12601bffff0000)
#define PREFIX UINT64_C(0xfe80000000000000)

struct world {
    struct fab_fabric *f;
    struct fab_mcast_groups *g;
};

static struct world world_of(uint16_t cap)
{
    struct world w;
    struct fab_fabric *f = leaf_spine(4, 2, 4);
    ck_assert_int_eq(fab_fabric_clone(f, &w.f), FAB_OK);
    fab_fabric_unref(f);
    for (uint32_t sw = 0; sw < w.f->switch_count; sw++)
        w.f->switches[sw].multicast_fdb_cap = cap;
    ck_assert_int_eq(fab_mcast_groups_new(w.f, &w.g), FAB_OK);
    return w;
}

static void world_fini(struct world *w)
{
    fab_mcast_groups_free(w->g);
    fab_fabric_unref(w->f);
}

static uint64_t host(const struct world *w, uint32_t i)
{
    return fab_fabric_port(w->f, w->f->nodes[w->f->switch_count + i].first_port + 1)->guid;
}

static struct fab_wire_mc_member_record record(const struct world *w, uint32_t i, uint64_t high,
                                               uint64_t low)
{
    return (struct fab_wire_mc_member_record){.mgid = {high, low},
                                              .port_gid = {PREFIX, host(w, i)},
                                              .qkey = 0xb1b,
                                              .pkey = 0xffff,
                                              .join_state = FAB_JOIN_FULL};
}

static struct fab_mcast_request asking(const struct fab_wire_mc_member_record *r, uint64_t mask)
{
    return (struct fab_mcast_request){
        .record = r, .comp_mask = mask, .mtu = 4, .rate = 7, .life = 0x12};
}

static uint16_t join(struct world *w, const struct fab_wire_mc_member_record *r, uint64_t mask,
                     struct fab_wire_mc_member_record *ret)
{
    struct fab_mcast_request ask = asking(r, mask);
    return fab_mcast_groups_join(w->g, &ask, ret);
}

static uint16_t leave(struct world *w, const struct fab_wire_mc_member_record *r, uint64_t mask)
{
    struct fab_mcast_request ask = asking(r, mask);
    struct fab_wire_mc_member_record answer;
    return fab_mcast_groups_leave(w->g, &ask, &answer);
}

START_TEST(a_full_member_makes_a_group)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record r = record(&w, 1, IPV4, 0xffffffff), answer;
    ck_assert_uint_eq(join(&w, &r, JOIN, &answer), FAB_SA_INSUFFICIENT_COMPONENTS);
    ck_assert_uint_eq(join(&w, &r, CREATE & ~1u, &answer), FAB_SA_INSUFFICIENT_COMPONENTS);
    r.join_state = FAB_JOIN_SENDER;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), FAB_SA_REQ_INVALID);
    r.join_state = FAB_JOIN_FULL;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    ck_assert_uint_eq(answer.mlid, 0xc000);
    ck_assert_uint_eq(answer.mtu, 4); /* code of 2048 bytes, the largest MTU of the port */
    ck_assert_uint_eq(answer.rate, 7);
    ck_assert_uint_eq(answer.life, 0x12);
    ck_assert_uint_eq(answer.scope, 2);
    ck_assert_uint_eq(answer.join_state, FAB_JOIN_FULL);
    ck_assert_uint_eq(answer.port_gid[1], host(&w, 1));
    r = record(&w, 2, IPV4, 0xffffffff);
    ck_assert_uint_eq(join(&w, &r, JOIN, &answer), 0);
    ck_assert_uint_eq(fab_mcast_groups_find(w.g, r.mgid)->members, 2);
    ck_assert(fab_mcast_trees_reaches(w.g->trees, 0xc000, host(&w, 1)));
    ck_assert(fab_mcast_trees_reaches(w.g->trees, 0xc000, host(&w, 2)));
    world_fini(&w);
}
END_TEST

START_TEST(states_add_up_and_are_taken_away)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record r = record(&w, 1, IPV4, 1), s = record(&w, 2, IPV4, 1), answer;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    s.join_state = FAB_JOIN_SENDER;
    ck_assert_uint_eq(join(&w, &s, JOIN, &answer), 0);
    s.join_state = FAB_JOIN_NON_MEMBER;
    ck_assert_uint_eq(join(&w, &s, JOIN, &answer), 0);
    ck_assert_uint_eq(answer.join_state, FAB_JOIN_SENDER | FAB_JOIN_NON_MEMBER);
    s.join_state = FAB_JOIN_FULL;
    /* the port never joined as a full member, so it cannot leave as one */
    ck_assert_uint_eq(leave(&w, &s, JOIN), FAB_SA_REQ_INVALID);
    s.join_state = FAB_JOIN_NON_MEMBER;
    struct fab_mcast_request less = asking(&s, JOIN);
    ck_assert_uint_eq(fab_mcast_groups_leave(w.g, &less, &answer), 0);
    /* the answer shows the join state that the port has left */
    ck_assert_uint_eq(answer.join_state, FAB_JOIN_NON_MEMBER);
    ck_assert_uint_eq(answer.port_gid[1], host(&w, 2));
    ck_assert_uint_eq(answer.mgid[1], r.mgid[1]);
    /* the port remains a member, as a sender */
    ck_assert_uint_eq(fab_mcast_groups_find(w.g, r.mgid)->members, 2);
    ck_assert_uint_eq(leave(&w, &s, JOIN), FAB_SA_REQ_INVALID);
    s.join_state = 0;
    ck_assert_uint_eq(join(&w, &s, JOIN, &answer), FAB_SA_REQ_INVALID);
    /* The last full member leaves. A group with only senders left is deleted. */
    ck_assert_uint_eq(fab_mcast_groups_find(w.g, r.mgid)->members, 2);
    ck_assert_uint_eq(leave(&w, &r, JOIN), 0);
    ck_assert_ptr_null(fab_mcast_groups_find(w.g, r.mgid));
    ck_assert_uint_eq(fab_mcast_trees_count(w.g->trees), 0);
    ck_assert_uint_eq(leave(&w, &r, JOIN), FAB_SA_REQ_INVALID);
    world_fini(&w);
}
END_TEST

static const struct {
    uint64_t component;
    uint8_t mtu_selector, mtu, rate_selector, rate, life_selector, life;
    bool fits;
} selectors[] = {
    /* The join must fit the group's MTU 4 (2048 bytes), rate 7 (40 Gb/s) and lifetime 0x12. */
    {0x30, FAB_SELECT_EXACTLY, 4, 0, 0, 0, 0, true},
    {0x30, FAB_SELECT_EXACTLY, 5, 0, 0, 0, 0, false},
    {0x30, FAB_SELECT_MORE, 3, 0, 0, 0, 0, true},
    {0x30, FAB_SELECT_MORE, 4, 0, 0, 0, 0, false},
    {0x30, FAB_SELECT_LESS, 5, 0, 0, 0, 0, true},
    {0x30, FAB_SELECT_LESS, 4, 0, 0, 0, 0, false},
    {0x30, FAB_SELECT_BEST, 0, 0, 0, 0, 0, true},
    /* the mask selects the MTU without its selector, so the MTU is ignored */
    {0x20, 0, 5, 0, 0, 0, 0, true},
    {0x300, 0, 0, FAB_SELECT_MORE, 4, 0, 0, true},   /* rate code 4: 30 Gb/s */
    {0x300, 0, 0, FAB_SELECT_MORE, 12, 0, 0, false}, /* rate code 12: 56 Gb/s */
    {0x300, 0, 0, FAB_SELECT_LESS, 12, 0, 0, true},
    {0x300, 0, 0, FAB_SELECT_EXACTLY, 7, 0, 0, true},
    {0xc00, 0, 0, 0, 0, FAB_SELECT_LESS, 0x13, true},
    {0xc00, 0, 0, 0, 0, FAB_SELECT_LESS, 0x12, false},
};

START_TEST(ranges_are_looked_at)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record r = record(&w, 1, IPV4, 1), answer;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    for (size_t i = 0; i < sizeof(selectors) / sizeof(*selectors); i++) {
        r = record(&w, 2, IPV4, 1);
        r.mtu_selector = selectors[i].mtu_selector;
        r.mtu = selectors[i].mtu;
        r.rate_selector = selectors[i].rate_selector;
        r.rate = selectors[i].rate;
        r.life_selector = selectors[i].life_selector;
        r.life = selectors[i].life;
        ck_assert_msg((join(&w, &r, JOIN | selectors[i].component, &answer) == 0) ==
                          selectors[i].fits,
                      "line %zu", i);
    }
    r = record(&w, 2, IPV4, 1);
    r.qkey = 1;
    ck_assert_uint_eq(join(&w, &r, JOIN | 4, &answer), FAB_SA_REQ_INVALID);
    struct fab_mcast_request weak = asking(&r, JOIN);
    weak.mtu = 3; /* the port's MTU is smaller than that of the group */
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &weak, &answer), FAB_SA_REQ_INVALID);
    world_fini(&w);
}
END_TEST

/* Rates in Mbit/s. The index is the encoding in PathRecord and MCMemberRecord (IBA 15.2.5.16 and
 * later annexes). */
static const uint32_t speed_of_rate[25] = {
    [2] = 2500,    [3] = 10000,   [4] = 30000,   [5] = 5000,    [6] = 20000,   [7] = 40000,
    [8] = 60000,   [9] = 80000,   [10] = 120000, [11] = 14000,  [12] = 56000,  [13] = 112000,
    [14] = 168000, [15] = 25000,  [16] = 100000, [17] = 200000, [18] = 300000, [19] = 28000,
    [20] = 50000,  [21] = 400000, [22] = 600000, [23] = 800000, [24] = 1200000};

static uint16_t join_fast(struct world *w, const struct fab_wire_mc_member_record *r, uint64_t mask)
{
    struct fab_wire_mc_member_record answer;
    struct fab_mcast_request ask = asking(r, mask);
    ask.rate = 24;
    return fab_mcast_groups_join(w->g, &ask, &answer);
}

START_TEST(all_rates_are_compared_by_speed)
{
    struct world w = world_of(1024);
    for (uint8_t is = 2; is <= 24; is++) {
        struct fab_wire_mc_member_record r = record(&w, 1, IPV4, is);
        r.rate_selector = FAB_SELECT_EXACTLY;
        r.rate = is;
        ck_assert_uint_eq(join_fast(&w, &r, CREATE | 0x300), 0);
        r = record(&w, 2, IPV4, is);
        for (r.rate = 2; r.rate <= 24; r.rate++) {
            const struct {
                uint8_t selector;
                bool fits;
            } rows[] = {{FAB_SELECT_MORE, speed_of_rate[is] > speed_of_rate[r.rate]},
                        {FAB_SELECT_LESS, speed_of_rate[is] < speed_of_rate[r.rate]},
                        {FAB_SELECT_EXACTLY, is == r.rate}};
            for (int i = 0; i < 3; i++) {
                r.rate_selector = rows[i].selector;
                bool fits = join_fast(&w, &r, JOIN | 0x300) == 0;
                if (fits != rows[i].fits)
                    ck_abort_msg("a group of rate %u, selector %u, rate %u", is, r.rate_selector,
                                 r.rate);
            }
        }
    }
    world_fini(&w);
}
END_TEST

/* Creates a group. most[]: MTU, rate and lifetime that the port supports at most. Returns the
 * status of the answer. */
static uint16_t create_up_to(const struct fab_wire_mc_member_record *r, uint64_t mask,
                             const uint8_t most[3], struct fab_wire_mc_member_record *ret)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record asked = *r;
    asked.port_gid[0] = PREFIX;
    asked.port_gid[1] = host(&w, 1);
    const struct fab_mcast_request ask = {
        .record = &asked, .comp_mask = mask, .mtu = most[0], .rate = most[1], .life = most[2]};
    uint16_t status = fab_mcast_groups_join(w.g, &ask, ret);
    world_fini(&w);
    return status;
}

enum { OF_MTU, OF_RATE, OF_LIFE };

static const struct {
    uint8_t which, selector, asked, most, chosen;
    uint16_t status;
} choices[] = {
    {OF_MTU, FAB_SELECT_EXACTLY, 4, 4, 4, 0},
    {OF_MTU, FAB_SELECT_EXACTLY, 1, 4, 1, 0},
    {OF_MTU, FAB_SELECT_EXACTLY, 5, 4, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_EXACTLY, 0, 4, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_EXACTLY, 6, 5, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_MORE, 3, 4, 4, 0},
    {OF_MTU, FAB_SELECT_MORE, 1, 4, 4, 0},
    {OF_MTU, FAB_SELECT_MORE, 4, 4, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_LESS, 4, 4, 3, 0},
    {OF_MTU, FAB_SELECT_LESS, 5, 4, 4, 0},
    {OF_MTU, FAB_SELECT_LESS, 2, 4, 1, 0},
    {OF_MTU, FAB_SELECT_LESS, 1, 4, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_BEST, 0, 4, 4, 0},
    /* if the MTU of the port is unknown, the request must give an exact MTU */
    {OF_MTU, FAB_SELECT_EXACTLY, 4, 0, 4, 0},
    {OF_MTU, FAB_SELECT_LESS, 4, 0, 0, FAB_SA_REQ_INVALID},
    {OF_MTU, FAB_SELECT_BEST, 4, 0, 0, FAB_SA_REQ_INVALID},
    {OF_RATE, FAB_SELECT_EXACTLY, 2, 7, 2, 0},
    {OF_RATE, FAB_SELECT_EXACTLY, 12, 7, 0,
     FAB_SA_REQ_INVALID}, /* 56 Gb/s, but the port has 40 Gb/s */
    {OF_RATE, FAB_SELECT_MORE, 4, 7, 7, 0},
    {OF_RATE, FAB_SELECT_MORE, 7, 7, 0, FAB_SA_REQ_INVALID},
    {OF_RATE, FAB_SELECT_LESS, 7, 7, 4, 0},
    /* below 30 Gb/s (code 4), the next rate is 28 Gb/s (code 19), which is higher than 25 and 20
     * Gb/s */
    {OF_RATE, FAB_SELECT_LESS, 4, 7, 19, 0},
    {OF_RATE, FAB_SELECT_LESS, 2, 7, 0, FAB_SA_REQ_INVALID},
    {OF_RATE, FAB_SELECT_BEST, 2, 7, 7, 0},
    {OF_RATE, FAB_SELECT_EXACTLY, 24, 0, 24, 0},
    {OF_RATE, FAB_SELECT_LESS, 24, 0, 0, FAB_SA_REQ_INVALID},
    /* an exact lifetime may have any value; otherwise it must fit the manager's 0x12 */
    {OF_LIFE, FAB_SELECT_EXACTLY, 0, 0x12, 0, 0},
    {OF_LIFE, FAB_SELECT_EXACTLY, 0x10, 0x12, 0x10, 0},
    {OF_LIFE, FAB_SELECT_EXACTLY, 0x3f, 0x12, 0x3f, 0},
    {OF_LIFE, FAB_SELECT_MORE, 0x11, 0x12, 0x12, 0},
    {OF_LIFE, FAB_SELECT_MORE, 0x12, 0x12, 0, FAB_SA_REQ_INVALID},
    {OF_LIFE, FAB_SELECT_LESS, 0x13, 0x12, 0x12, 0},
    {OF_LIFE, FAB_SELECT_LESS, 0x12, 0x12, 0, FAB_SA_REQ_INVALID},
    {OF_LIFE, FAB_SELECT_BEST, 0, 0x12, 0x12, 0},
};

START_TEST(values_of_a_new_group_are_chosen_by_selector)
{
    static const uint64_t component[] = {0x30, 0x300, 0xc00};
    for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
        uint8_t which = choices[i].which, most[3] = {4, 7, 0x12};
        struct fab_wire_mc_member_record answer,
            r = {.mgid = {IPV4, 1}, .pkey = 0xffff, .join_state = FAB_JOIN_FULL};
        most[which] = choices[i].most;
        r.mtu_selector = r.rate_selector = r.life_selector = choices[i].selector;
        r.mtu = r.rate = r.life = choices[i].asked;
        uint16_t status = create_up_to(&r, CREATE | component[which], most, &answer);
        ck_assert_msg(status == choices[i].status, "row %zu: status 0x%x", i, status);
        if (status != 0)
            continue;
        const uint8_t chosen[3] = {answer.mtu, answer.rate, answer.life};
        for (unsigned k = 0; k < 3; k++)
            ck_assert_msg(chosen[k] == (k == which ? choices[i].chosen : most[k]),
                          "row %zu: value %u is %u", i, k, chosen[k]);
        ck_assert_uint_eq(answer.mtu_selector, FAB_SELECT_EXACTLY);
        ck_assert_uint_eq(answer.rate_selector, FAB_SELECT_EXACTLY);
        ck_assert_uint_eq(answer.life_selector, FAB_SELECT_EXACTLY);
    }
}
END_TEST

/* a request that has a value in every field, whether its component is selected or not */
static const struct fab_wire_mc_member_record full = {
    .mgid = {IPV4, 1},
    .qkey = 0xb1b,
    .mlid = 0xc123,
    .mtu_selector = FAB_SELECT_LESS,
    .mtu = 2,
    .tclass = 9,
    .pkey = 0xffff,
    .rate_selector = FAB_SELECT_LESS,
    .rate = 7,
    .life_selector = FAB_SELECT_EXACTLY,
    .life = 1,
    .sl = 3,
    .flow_label = 0x12345,
    .hop_limit = 77,
    .scope = 5,
    .join_state = FAB_JOIN_FULL,
    .proxy_join = 1,
};

START_TEST(a_field_counts_only_with_its_component)
{
    static const struct {
        uint64_t mgid_high, components;
        uint8_t asked_scope, scope, hop_limit, mtu, rate, life;
    } rows[] = {
        {IPV4, 0, 5, 2, 0, 4, 7, 0x12},
        {IPV4, 0x4000, 5, 2, 77, 4, 7, 0x12},
        /* MTU, rate and lifetime are selected without their selectors, so they are ignored */
        {IPV4, 0x20 | 0x200 | 0x800, 5, 2, 0, 4, 7, 0x12},
        {IPV4, 0x30, 5, 2, 0, 1, 7, 0x12},
        {IPV4, 0x300, 5, 2, 0, 4, 4, 0x12},
        {IPV4, 0xc00, 5, 2, 0, 4, 7, 1},
        /* the scope of the MGID is used, and not that of the record */
        {IPV4 | UINT64_C(3) << 48, 0x8000, 5, 3, 0, 4, 7, 0x12},
        {0, 0, 5, 2, 0, 4, 7, 0x12},
        {0, 0x8000, 5, 5, 0, 4, 7, 0x12},
        {0, 0x8000, 0, 2, 0, 4, 7, 0x12},
    };
    const uint8_t most[3] = {4, 7, 0x12};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fab_wire_mc_member_record r = full, is;
        r.mgid[0] = rows[i].mgid_high;
        r.mgid[1] = rows[i].mgid_high != 0;
        r.scope = rows[i].asked_scope;
        ck_assert_uint_eq(create_up_to(&r, CREATE | rows[i].components, most, &is), 0);
        bool same = is.qkey == full.qkey && is.tclass == full.tclass && is.sl == full.sl &&
                    is.pkey == full.pkey && is.flow_label == full.flow_label &&
                    is.join_state == FAB_JOIN_FULL && is.proxy_join == 0 && is.mlid == 0xc000;
        ck_assert_msg(same, "row %zu", i);
        ck_assert_msg(is.scope == rows[i].scope && is.hop_limit == rows[i].hop_limit &&
                          is.mtu == rows[i].mtu && is.rate == rows[i].rate &&
                          is.life == rows[i].life,
                      "row %zu: scope %u, hop limit %u, MTU %u, rate %u, lifetime %u", i, is.scope,
                      is.hop_limit, is.mtu, is.rate, is.life);
        ck_assert_uint_eq(is.mgid[0], rows[i].mgid_high != 0 ? rows[i].mgid_high
                                                             : UINT64_C(0xff10a01bffff0000) |
                                                                   (uint64_t)rows[i].scope << 48);
    }
}
END_TEST

/* In a join to an existing group, each selected component must have the value of the group. */
START_TEST(each_component_of_a_join_is_compared)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record first = full, is, r;
    first.port_gid[0] = PREFIX;
    first.port_gid[1] = host(&w, 1);
    ck_assert_uint_eq(join(&w, &first, CREATE | 0x4000, &is), 0);
    for (unsigned i = 0; i < 8; i++) {
        static const uint64_t component[] = {1u << 2,  1u << 3,  1u << 6,  1u << 7,
                                             1u << 12, 1u << 13, 1u << 14, 1u << 15};
        r = is;
        r.port_gid[1] = host(&w, 2);
        r.join_state = FAB_JOIN_FULL;
        ck_assert_uint_eq(join(&w, &r, JOIN | component[i], &is), 0);
        /* the membership bit of the P_Key may differ */
        r.pkey &= 0x7fff;
        ck_assert_uint_eq(join(&w, &r, JOIN | component[i], &is), 0);
        r.qkey ^= i == 0;
        r.mlid ^= i == 1;
        r.tclass ^= i == 2;
        r.pkey ^= i == 3;
        r.sl ^= i == 4;
        r.flow_label ^= i == 5;
        r.hop_limit ^= i == 6;
        r.scope ^= i == 7;
        ck_assert_uint_eq(join(&w, &r, JOIN | component[i], &is), FAB_SA_REQ_INVALID);
        ck_assert_uint_eq(join(&w, &r, JOIN, &is), 0);
    }
    ck_assert_uint_eq(fab_mcast_groups_find(w.g, is.mgid)->members, 2);
    world_fini(&w);
}
END_TEST

START_TEST(a_new_group_has_the_most_that_fits)
{
    struct world w = world_of(1024);
    struct fab_wire_mc_member_record r = record(&w, 1, IPV4, 1), answer;
    r.mtu_selector = FAB_SELECT_LESS;
    r.mtu = 4;
    r.rate_selector = FAB_SELECT_LESS;
    r.rate = 7;
    ck_assert_uint_eq(join(&w, &r, CREATE | 0x330, &answer), 0);
    ck_assert_uint_eq(answer.mtu, 3);
    ck_assert_uint_eq(answer.rate, 4); /* rate code 4: 30 Gb/s */
    r = record(&w, 1, IPV4, 2);
    r.mtu_selector = FAB_SELECT_EXACTLY;
    r.mtu = 5; /* code of 4096 bytes, which the port does not support */
    ck_assert_uint_eq(join(&w, &r, CREATE | 0x30, &answer), FAB_SA_REQ_INVALID);
    r.mtu_selector = FAB_SELECT_MORE;
    r.mtu = 4;
    ck_assert_uint_eq(join(&w, &r, CREATE | 0x30, &answer), FAB_SA_REQ_INVALID);
    r.mgid[0] = PREFIX;
    /* a GID that is not multicast */
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), FAB_SA_REQ_INVALID);
    r = record(&w, 1, 0, 0);
    r.pkey = 0x8011;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    ck_assert_uint_eq(answer.mgid[0], UINT64_C(0xff12a01b80110000));
    uint64_t first = answer.mgid[1];
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    ck_assert_uint_ne(answer.mgid[1], first);
    world_fini(&w);
}
END_TEST

START_TEST(the_configuration_fixes_groups)
{
    struct world w = world_of(1024);
    struct fab_partitions *p;
    struct fab_partitions_error e;
    static const char text[] = "Default=0x7fff, ipoib: ALL=full;\n"
                               "jobs=0x11, ipoib, mtu=5, rate=7, sl=2, scope=5: ALL=full;";
    size_t left_out;
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_OK);
    ck_assert_int_eq(fab_mcast_groups_configure(w.g, p, 0x12, &left_out), FAB_OK);
    ck_assert_uint_eq(w.g->groups, 2);
    const uint64_t jobs[2] = {UINT64_C(0xff15401b80110000), 0xffffffff};
    const struct fab_mcast_group *g = fab_mcast_groups_find(w.g, jobs);
    ck_assert_ptr_nonnull(g);
    ck_assert_uint_eq(g->is.mtu, 5);
    ck_assert_uint_eq(g->is.sl, 2);
    ck_assert_uint_eq(g->is.pkey, 0x8011);
    ck_assert_uint_eq(g->is.hop_limit, 255);
    /* A group of the configuration exists even without members. If the configuration no longer has
     * it, the group lasts as long as it has a member. */
    struct fab_wire_mc_member_record r = record(&w, 1, jobs[0], jobs[1]), answer;
    r.pkey = 0x8011;
    struct fab_mcast_request ask = asking(&r, JOIN);
    ask.mtu = 5;
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ck_assert_uint_eq(leave(&w, &r, JOIN), 0);
    ck_assert_ptr_nonnull(fab_mcast_groups_find(w.g, jobs));
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ck_assert_int_eq(fab_mcast_groups_configure(w.g, NULL, 0x12, &left_out), FAB_OK);
    ck_assert_uint_eq(w.g->groups, 1); /* the group of the old configuration still has a member */
    fab_mcast_groups_drop_member(w.g, host(&w, 1));
    ck_assert_uint_eq(w.g->groups, 0);
    fab_policy_partitions_unref(p);
    world_fini(&w);
}
END_TEST

/* The number of groups and of memberships of a port is limited. A group counts for the port that
 * created it, until it is deleted. A membership counts for the port that requested it, even for
 * another port. */
START_TEST(ports_are_charged)
{
    struct world w = world_of(64);
    uint64_t one = host(&w, 1), two = host(&w, 2);
    struct fab_wire_mc_member_record a = record(&w, 1, IPV4, 7), b = record(&w, 2, IPV4, 7), answer;
    struct fab_mcast_request ask = asking(&a, CREATE);
    ask.from_guid = one;
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ask.record = &b;
    ask.proxy = true;
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ck_assert_uint_eq(fab_mcast_groups_created_by(w.g, one), 1);
    ck_assert_uint_eq(fab_mcast_groups_joined_by(w.g, one), 2);
    ck_assert_uint_eq(fab_mcast_groups_joined_by(w.g, two), 0);
    ck_assert_uint_eq(w.g->memberships, 2);
    ck_assert_uint_eq(leave(&w, &a, JOIN), 0);
    ck_assert_uint_eq(fab_mcast_groups_created_by(w.g, one), 1);
    ck_assert_uint_eq(fab_mcast_groups_joined_by(w.g, one), 1);
    fab_mcast_groups_drop_member(w.g, two);
    ck_assert_uint_eq(fab_mcast_groups_created_by(w.g, one), 0);
    ck_assert_uint_eq(fab_mcast_groups_joined_by(w.g, one), 0);
    ck_assert_uint_eq(w.g->memberships, 0);
    ck_assert_uint_eq(w.g->created.count + w.g->joined.count, 0);
    world_fini(&w);
}
END_TEST

START_TEST(restored_groups_of_one_member_are_charged_to_it)
{
    struct world w = world_of(64);
    uint64_t one = host(&w, 1);
    for (uint64_t low = 1; low <= 3; low++) {
        struct fab_wire_mc_member_record is = record(&w, 1, IPV4, low);
        is.mlid = (uint16_t)(FAB_MLID_FIRST + low);
        ck_assert_int_eq(fab_mcast_groups_restore(w.g, &is), FAB_OK);
        for (unsigned i = 1; i <= low; i++) {
            const struct fab_mcast_member m = {.gid = {PREFIX, host(&w, i)},
                                               .join_state = FAB_JOIN_FULL,
                                               .proxy_join = low == 3 && i == 1};
            ck_assert_int_eq(fab_mcast_groups_restore_member(w.g, is.mgid, &m), FAB_OK);
        }
    }
    ck_assert_int_eq(fab_mcast_groups_restored(w.g), FAB_OK);
    /* Each group has a record for subnet administration, without a port and a JoinState. */
    for (size_t i = 0; i < w.g->groups; i++) {
        const struct fab_wire_mc_member_record *is = &w.g->group[i]->is;
        ck_assert_uint_eq(is->port_gid[0] | is->port_gid[1] | is->join_state | is->proxy_join, 0);
    }
    ck_assert_uint_eq(fab_mcast_groups_created_by(w.g, one), 1);
    /* a membership that another port requested does not count */
    ck_assert_uint_eq(fab_mcast_groups_joined_by(w.g, one), 2);
    ck_assert_uint_eq(w.g->memberships, 6);
    world_fini(&w);
}
END_TEST

/* The MGID of an IP group contains its P_Key (RFC 4391, section 4). The join must have the same
 * P_Key. */
START_TEST(ip_groups_have_the_key_of_their_mgid)
{
    static const struct {
        uint64_t high;
        uint16_t pkey, status;
    } rows[] = {
        {UINT64_C(0xff12401b80110000), 0x8011, 0},
        {UINT64_C(0xff12401b80120000), 0x0012, 0},
        {UINT64_C(0xff12601b00130000), 0x8013, 0},
        {UINT64_C(0xff12401b80140000), 0x8011, FAB_SA_REQ_INVALID},
        {UINT64_C(0xff1e601b80140000), 0xffff, FAB_SA_REQ_INVALID},
        {UINT64_C(0xff12401b00000000), 0xffff, FAB_SA_REQ_INVALID},
        /* the signature a01b is not of an IP group, so the MGID has no P_Key */
        {UINT64_C(0xff12a01b80110000), 0xffff, 0},
        {UINT64_C(0xff12a01b80120000), 0x8001, 0}, /* the lowest P_Key that is valid */
        {UINT64_C(0xff12a01b80130000), 0x8000, FAB_SA_REQ_INVALID},
        {UINT64_C(0xff12a01b80140000), 0x0000, FAB_SA_REQ_INVALID},
        /* MGIDs with the flags of a well-known group have no P_Key */
        {UINT64_C(0xff02401b80110000), 0xffff, 0},
    };
    struct world w = world_of(64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fab_wire_mc_member_record r = record(&w, 1, rows[i].high, 9), answer;
        r.pkey = rows[i].pkey;
        ck_assert_msg(join(&w, &r, CREATE, &answer) == rows[i].status, "row %zu", i);
    }
    world_fini(&w);
}
END_TEST

/* A port joins with its own GUID and with an alias GUID. These are two members, but one branch of
 * the tree. */
START_TEST(aliases_are_members_of_their_port)
{
    struct world w = world_of(64);
    const uint64_t alias = 0x1111;
    struct fab_wire_mc_member_record own = record(&w, 1, IPV4, 7), named = own, answer;
    named.port_gid[1] = alias;
    struct fab_mcast_request ask = asking(&named, CREATE);
    ask.port_guid = host(&w, 1);
    ck_assert_uint_eq(fab_mcast_groups_join(w.g, &ask, &answer), 0);
    ck_assert_uint_eq(answer.port_gid[1], alias);
    ck_assert(fab_mcast_trees_reaches(w.g->trees, answer.mlid, host(&w, 1)));
    ck_assert_uint_eq(fab_mcast_trees_missing(w.g->trees, answer.mlid), 0);
    ck_assert(fab_mcast_groups_has_member(w.g, alias) &&
              !fab_mcast_groups_has_member(w.g, host(&w, 1)));
    ck_assert_uint_eq(join(&w, &own, JOIN, &answer), 0);
    ck_assert_uint_eq(w.g->group[0]->members, 2);
    ck_assert_uint_eq(leave(&w, &own, JOIN), 0);
    ck_assert(fab_mcast_trees_reaches(w.g->trees, answer.mlid, host(&w, 1)));
    ck_assert_uint_eq(leave(&w, &named, JOIN), 0);
    ck_assert_uint_eq(w.g->groups, 0);
    ck_assert_uint_eq(fab_mcast_trees_count(w.g->trees), 0);
    const struct fab_mcast_member kept = {
        .gid = {0, alias}, .port_guid = host(&w, 2), .join_state = 1};
    ck_assert_int_eq(fab_mcast_groups_restore(w.g, &answer), FAB_OK);
    ck_assert_int_eq(fab_mcast_groups_restore_member(w.g, answer.mgid, &kept), FAB_OK);
    ck_assert(fab_mcast_trees_reaches(w.g->trees, w.g->group[0]->is.mlid, host(&w, 2)));
    fab_mcast_groups_drop_member(w.g, alias);
    ck_assert_uint_eq(w.g->groups, 0);
    ck_assert_uint_eq(fab_mcast_trees_count(w.g->trees), 0);
    world_fini(&w);
}
END_TEST

START_TEST(lids_are_shared_when_they_run_short)
{
    struct world w = world_of(16);
    struct fab_wire_mc_member_record r, answer;
    /* leaves 2 of the 16 MLIDs, which are not for solicited-node groups */
    for (uint32_t i = 0; i < 14; i++) {
        r = record(&w, 1, IPV6, UINT64_C(0x1ff000000) + i);
        ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
        ck_assert_uint_eq(answer.mlid, 0xc000 + i);
    }
    r = record(&w, 2, IPV6, UINT64_C(0x1ff000101));
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
    /* this group shares the MLID of another solicited-node group */
    ck_assert_uint_lt(answer.mlid, 0xc00e);
    uint16_t shared = answer.mlid;
    r = record(&w, 2, UINT64_C(0xff12000000000000), 0);
    for (uint32_t i = 14; i < 16; i++) {
        r.mgid[1]++;
        ck_assert_uint_eq(join(&w, &r, CREATE, &answer), 0);
        ck_assert_uint_eq(answer.mlid, 0xc000 + i);
    }
    r.mgid[1]++;
    ck_assert_uint_eq(join(&w, &r, CREATE, &answer), FAB_SA_NO_RESOURCES);
    /* Packets to a shared MLID reach the members of all groups that share it. If one of these
     * groups is deleted, they must still reach the members of the others. */
    ck_assert(fab_mcast_trees_reaches(w.g->trees, shared, host(&w, 2)));
    ck_assert(fab_mcast_trees_reaches(w.g->trees, shared, host(&w, 1)));
    r = record(&w, 2, IPV6, UINT64_C(0x1ff000101));
    ck_assert_uint_eq(leave(&w, &r, JOIN), 0);
    ck_assert(!fab_mcast_trees_reaches(w.g->trees, shared, host(&w, 2)));
    ck_assert(fab_mcast_trees_reaches(w.g->trees, shared, host(&w, 1)));
    world_fini(&w);
}
END_TEST

/* Three places know which MLIDs are in use: the list of groups, the count of groups for each MLID,
 * and the trees. Checks that they agree. */
static void judge_lids(const struct world *w)
{
    uint32_t users[64] = {0};
    for (size_t i = 0; i < w->g->groups; i++) {
        const struct fab_mcast_group *group = w->g->group[i];
        users[group->is.mlid - FAB_MLID_FIRST]++;
        if (i > 0 && memcmp(group->is.mgid, w->g->group[i - 1]->is.mgid, 16) == 0)
            ck_abort_msg("a group is there twice");
        for (size_t m = 0; m < group->members; m++)
            if (!fab_mcast_trees_reaches(w->g->trees, group->is.mlid, group->member[m].gid[1]))
                ck_abort_msg("a member is not reached");
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < w->g->mlids; i++) {
        if (users[i] != w->g->users[i])
            ck_abort_msg("LID %u has %u groups, not %u", i, w->g->users[i], users[i]);
        used += users[i] > 0;
    }
    if (fab_mcast_trees_count(w->g->trees) != used)
        ck_abort_msg("%u trees of %u LIDs", fab_mcast_trees_count(w->g->trees), used);
}

START_TEST(no_lid_is_lost)
{
    struct world w = world_of(40);
    struct fab_prng prng;
    uint64_t seed = test_seed("no_lid_is_lost", 5);
    struct fab_wire_mc_member_record answer;
    fab_base_prng_init(&prng, seed);
    for (unsigned step = 0; step < 10000; step++) {
        static const uint64_t kinds[] = {IPV4, IPV6, UINT64_C(0xff12000000000000)};
        uint64_t kind = fab_base_prng_below(&prng, 3), low = fab_base_prng_below(&prng, 25);
        struct fab_wire_mc_member_record r =
            record(&w, (uint32_t)fab_base_prng_below(&prng, 16), kinds[kind],
                   kind == 1 ? UINT64_C(0x1ff000000) + low : low);
        r.join_state = (uint8_t)fab_base_prng_below(&prng, 16);
        if (fab_base_prng_chance(&prng, 0.01))
            fab_mcast_groups_drop_member(w.g, r.port_gid[1]);
        else if (fab_base_prng_chance(&prng, 0.6))
            (void)join(&w, &r, CREATE, &answer);
        else
            (void)leave(&w, &r, JOIN);
        judge_lids(&w);
    }
    for (uint32_t i = 0; i < 16; i++)
        fab_mcast_groups_drop_member(w.g, host(&w, i));
    ck_assert_uint_eq(w.g->groups, 0);
    judge_lids(&w);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *c = tcase_create("groups");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, a_full_member_makes_a_group);
    tcase_add_test(c, states_add_up_and_are_taken_away);
    tcase_add_test(c, ranges_are_looked_at);
    tcase_add_test(c, all_rates_are_compared_by_speed);
    tcase_add_test(c, values_of_a_new_group_are_chosen_by_selector);
    tcase_add_test(c, a_field_counts_only_with_its_component);
    tcase_add_test(c, each_component_of_a_join_is_compared);
    tcase_add_test(c, a_new_group_has_the_most_that_fits);
    tcase_add_test(c, the_configuration_fixes_groups);
    tcase_add_test(c, ports_are_charged);
    tcase_add_test(c, restored_groups_of_one_member_are_charged_to_it);
    tcase_add_test(c, ip_groups_have_the_key_of_their_mgid);
    tcase_add_test(c, aliases_are_members_of_their_port);
    tcase_add_test(c, lids_are_shared_when_they_run_short);
    tcase_add_test(c, no_lid_is_lost);
    suite_add_tcase(suite, c);
    return test_run(suite);
}
