/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capacity floor of isolation, on many fabrics with random bad links and failed links. The test
 * computes levels, pods and limits itself. It compares the chosen links with two searches. A search
 * link by link, in the order of the candidates, must choose the same links. A search of all sets of
 * candidates finds the largest set, for comparison.
 */
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/health/isolation.h"
#include "libfabmgr/health/known.h"
#include "libfabmgr/health/persistence.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/testing.h"

#define SMALL 10 /* all sets of candidates are searched only if there are at most 10 candidates */

/* ---- the rules, computed independently ------------------------------------------------------- */

struct rules {
    const struct fab_fabric *f;
    uint32_t max_percent, min_percent, top;
    uint32_t *level, *pod;
};

static bool is_isl(const struct fab_fabric *f, uint32_t p)
{
    uint32_t peer = fab_fabric_port(f, p)->peer;
    return peer != FAB_NONE && fab_fabric_port(f, p)->node < f->switch_count &&
           fab_fabric_port(f, peer)->node < f->switch_count && fab_fabric_port_is_up(f, p);
}

static uint32_t near_of(const struct fab_fabric *f, uint32_t p)
{
    return fab_fabric_port(f, p)->node;
}

static uint32_t far_of(const struct fab_fabric *f, uint32_t p)
{
    return fab_fabric_port(f, fab_fabric_port(f, p)->peer)->node;
}

static bool lower(uint32_t *value, uint32_t to)
{
    bool change = to < *value;
    if (change)
        *value = to;
    return change;
}

/* Finds levels and pods in a simple way: passes over all links until nothing changes. */
static void find_rules(struct rules *r, const struct fab_fabric *f)
{
    bool more = true;
    r->f = f;
    r->top = 0;
    r->level = calloc(f->switch_count + 1u, sizeof(*r->level));
    r->pod = calloc(f->switch_count + 1u, sizeof(*r->pod));
    for (uint32_t s = 0; s < f->switch_count; s++)
        r->level[s] = FAB_NONE;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (near_of(f, p) < f->switch_count && fab_fabric_port(f, p)->peer != FAB_NONE &&
            far_of(f, p) >= f->switch_count)
            r->level[near_of(f, p)] = 0;
    while (more) {
        more = false;
        for (uint32_t p = 0; p < f->port_count; p++)
            if (is_isl(f, p) && r->level[near_of(f, p)] != FAB_NONE)
                more |= lower(&r->level[far_of(f, p)], r->level[near_of(f, p)] + 1);
    }
    for (uint32_t s = 0; s < f->switch_count; s++)
        if (r->level[s] != FAB_NONE && r->level[s] > r->top)
            r->top = r->level[s];
    for (uint32_t s = 0; s < f->switch_count; s++)
        r->pod[s] = r->top >= 2 && r->level[s] < r->top ? s : FAB_NONE;
    for (more = true; more;) {
        more = false;
        for (uint32_t p = 0; p < f->port_count; p++)
            if (is_isl(f, p) && r->pod[near_of(f, p)] != FAB_NONE &&
                r->pod[far_of(f, p)] != FAB_NONE)
                more |= lower(&r->pod[far_of(f, p)], r->pod[near_of(f, p)]);
    }
}

static int sign(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* Returns whether switch s keeps its limit: of its links in this direction, at most max_percent
 * percent may be isolated. direction: 1: down; 0: to the same level; -1: up. */
static bool keeps_limit(const struct rules *r, const uint64_t *out, uint32_t s, int direction)
{
    uint32_t all = 0, gone = 0;
    for (uint32_t i = 1; i <= r->f->nodes[s].num_ports; i++) {
        uint32_t p = fab_fabric_port_id(r->f, s, (uint8_t)i);
        if (!is_isl(r->f, p) || sign(r->level[s], r->level[far_of(r->f, p)]) != direction)
            continue;
        all++;
        gone += fab_base_bits_get(out, p);
    }
    return gone * 100 <= r->max_percent * all;
}

/* Returns whether uplinks of a leaf or pod keep the floor: enough of them are left, or none is
 * isolated. If none is isolated, failed links may break the floor. up: uplinks that have not
 * failed. out: isolated ones among them. failed: failed uplinks. */
static bool keeps_floor(const struct rules *r, uint32_t up, uint32_t out, uint32_t failed)
{
    return out == 0 || up - out >= (up + failed) * r->min_percent / 100;
}

static bool leaf_keeps_floor(const struct rules *r, const uint64_t *out, uint32_t leaf,
                             uint32_t failed)
{
    uint32_t up = 0, gone = 0;
    for (uint32_t i = 1; i <= r->f->nodes[leaf].num_ports; i++) {
        uint32_t p = fab_fabric_port_id(r->f, leaf, (uint8_t)i);
        up += is_isl(r->f, p);
        gone += is_isl(r->f, p) && fab_base_bits_get(out, p);
    }
    return r->level[leaf] != 0 || keeps_floor(r, up, gone, failed);
}

static bool pod_keeps_floor(const struct rules *r, const uint64_t *out, uint32_t pod,
                            uint32_t failed)
{
    uint32_t up = 0, gone = 0;
    for (uint32_t p = 0; p < r->f->port_count; p++)
        if (is_isl(r->f, p) && r->pod[near_of(r->f, p)] == pod &&
            r->level[far_of(r->f, p)] == r->top) {
            up++;
            gone += fab_base_bits_get(out, p);
        }
    return keeps_floor(r, up, gone, failed);
}

static uint32_t failed_of(const struct rules *r, const struct fab_lost_link *lost, size_t count,
                          uint32_t s, bool pod)
{
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (int e = 0; e < 2; e++) {
            uint32_t near = lost[i].node[e], far = lost[i].node[!e];
            uint32_t far_level = far == FAB_NONE ? lost[i].level[!e] : r->level[far];
            if (near == FAB_NONE)
                continue;
            n +=
                pod ? r->pod[near] == s && far_level >= r->top && far_level != FAB_NONE : near == s;
        }
    return n;
}

static bool is_connected(const struct rules *r, const uint64_t *out)
{
    static const uint64_t none[4096];
    const struct fab_fabric *f = r->f;
    uint32_t *sets[2];
    bool same = true;
    ck_assert_uint_le(fab_base_bits_words(f->port_count), 4096);
    for (int k = 0; k < 2; k++) {
        sets[k] = calloc(f->switch_count + 1u, sizeof(*sets[k]));
        fab_base_sets_init(sets[k], f->switch_count);
        for (uint32_t p = 0; p < f->port_count; p++)
            if (is_isl(f, p) && !fab_base_bits_get(k ? out : none, p))
                fab_base_sets_join(sets[k], near_of(f, p), far_of(f, p));
    }
    for (uint32_t s = 0; s < f->switch_count; s++)
        same &= fab_base_sets_find(sets[0], s) == fab_base_sets_find(sets[1], s);
    free(sets[0]);
    free(sets[1]);
    return same;
}

static bool keeps_all(const struct rules *r, const uint64_t *out, const struct fab_lost_link *lost,
                      size_t lost_count)
{
    for (uint32_t s = 0; s < r->f->switch_count; s++) {
        for (int d = -1; d <= 1; d++)
            if (!keeps_limit(r, out, s, d))
                return false;
        if (!leaf_keeps_floor(r, out, s, failed_of(r, lost, lost_count, s, false)))
            return false;
        if (r->pod[s] == s && !pod_keeps_floor(r, out, s, failed_of(r, lost, lost_count, s, true)))
            return false;
    }
    return is_connected(r, out);
}

/* ---- random fabrics and links ---------------------------------------------------------------- */

static void flip(const struct fab_fabric *f, uint64_t *out, uint32_t port, bool on)
{
    const uint32_t end[2] = {port, fab_fabric_port(f, port)->peer};
    for (int e = 0; e < 2; e++)
        on ? fab_base_bits_set(out, end[e]) : fab_base_bits_clear(out, end[e]);
}

static size_t bad_links(const struct fab_fabric *f, struct fab_prng *prng, size_t most,
                        struct fab_isolation_link *link)
{
    uint64_t *chosen = fab_base_bits_new(f->port_count);
    size_t n = 0;
    /* three of four bad links are at one to three switches, so that limits and floors take
     * effect */
    uint32_t of = 1 + (uint32_t)fab_base_prng_below(prng, 3);
    for (int i = 0; f->switch_count && i < 300 && n < most; i++) {
        uint32_t s = (uint32_t)fab_base_prng_below(
            prng, i % 4 ? (of < f->switch_count ? of : f->switch_count) : f->switch_count);
        if (f->nodes[s].num_ports == 0)
            continue;
        uint32_t p = fab_fabric_port_id(
            f, s, (uint8_t)(1 + fab_base_prng_below(prng, f->nodes[s].num_ports)));
        if (!is_isl(f, p) || fab_base_bits_get(chosen, p) ||
            fab_fabric_port(f, fab_fabric_port(f, p)->peer)->peer != p)
            continue;
        flip(f, chosen, p, true);
        link[n++] = (struct fab_isolation_link){.port = p};
    }
    free(chosen);
    return n;
}

struct tally {
    struct fab_prng prng;
    bool small;
    uint32_t runs, out, leaf, pod, failed;
    uint32_t most, chosen, equal; /* sums over all runs in which all sets were searched */
};

/* Lets some links of f fail, and lists them in *ret. Takes the links out of f. Returns their
 * number. */
static size_t fail_some(struct fab_fabric *f, struct fab_prng *prng, struct fab_lost_link **ret)
{
    struct fab_known *known, *next;
    size_t count = 0;
    ck_assert_int_eq(fab_health_known_next(NULL, f, &known), FAB_OK);
    uint32_t share = (uint32_t)fab_base_prng_below(prng, 3) * 8, failed = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_isl(f, p) && fab_base_prng_below(prng, 100) < share) {
            ck_assert_int_eq(fab_fabric_remove_link(f, p), FAB_OK);
            failed++;
        }
    ck_assert_int_eq(fab_health_known_next(known, f, &next), FAB_OK);
    struct fab_lost_link *list = NULL;
    ck_assert_int_eq(fab_health_known_lost(next, f, NULL, NULL, &list, &count), FAB_OK);
    ck_assert_uint_eq(count, failed);
    fab_health_known_unref(known);
    fab_health_known_unref(next);
    *ret = list;
    return count;
}

/* Searches link by link, in the order of the candidates. This must choose the same links as the
 * library. */
static void check_order(const struct rules *r, const struct fab_isolation_rule *rule,
                        const struct fab_isolation_link *link, size_t count,
                        const struct fab_isolation *got, const char *what)
{
    uint64_t *out = fab_base_bits_new(r->f->port_count);
    for (size_t i = 0; i < count; i++) {
        flip(r->f, out, link[i].port, true);
        bool may = keeps_all(r, out, rule->lost, rule->lost_count);
        ck_assert_msg(may == (got[i].verdict == FAB_ISOLATION_ALLOWED), "%s: link %zu of %zu", what,
                      i, count);
        if (!may)
            flip(r->f, out, link[i].port, false);
    }
    free(out);
}

static uint32_t largest(const struct rules *r, const struct fab_isolation_rule *rule,
                        const struct fab_isolation_link *link, size_t count)
{
    uint64_t *out = fab_base_bits_new(r->f->port_count);
    uint32_t most = 0;
    for (uint32_t set = 0; set < 1u << count; set++) {
        if ((uint32_t)__builtin_popcount(set) <= most)
            continue;
        for (size_t i = 0; i < count; i++)
            flip(r->f, out, link[i].port, set >> i & 1);
        if (keeps_all(r, out, rule->lost, rule->lost_count))
            most = (uint32_t)__builtin_popcount(set);
    }
    free(out);
    return most;
}

static void tally_verdicts(struct tally *t, const struct fab_isolation *got, size_t count,
                           uint32_t *ret_chosen)
{
    *ret_chosen = 0;
    for (size_t i = 0; i < count; i++) {
        *ret_chosen += got[i].verdict == FAB_ISOLATION_ALLOWED;
        t->leaf += got[i].verdict == FAB_ISOLATION_LEAF_FLOOR;
        t->pod += got[i].verdict == FAB_ISOLATION_POD_FLOOR;
    }
    t->out += *ret_chosen;
    t->runs++;
}

static void check(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    struct tally *t = ctx;
    struct fab_isolation_link link[40];
    struct fab_isolation got[40];
    struct fab_lost_link *lost = NULL;
    struct rules r = {0};
    uint32_t chosen;
    (void)lmc;
    size_t failed = fail_some(f, &t->prng, &lost);
    size_t count = bad_links(f, &t->prng, t->small ? SMALL : 40, link);
    r.max_percent = fab_base_prng_below(&t->prng, 2) ? 100 : 50;
    r.min_percent = (uint32_t)fab_base_prng_below(&t->prng, 101);
    const struct fab_isolation_rule rule = {r.max_percent, r.min_percent, lost, failed};
    find_rules(&r, f);
    ck_assert_int_eq(fab_health_isolation_choose(f, &rule, link, count, got), FAB_OK);
    tally_verdicts(t, got, count, &chosen);
    t->failed += (uint32_t)failed;
    check_order(&r, &rule, link, count, got, what);
    if (t->small && count > 0) {
        uint32_t most = largest(&r, &rule, link, count);
        /* Only a few rules concern one link: the limits of its two switches, and the floor of a
         * leaf or pod at each end. So the chosen set has at least a third of the links of the
         * largest set. */
        ck_assert_msg(chosen * 3 >= most, "%s: %u of %u", what, chosen, most);
        t->most += most;
        t->chosen += chosen;
        t->equal += most == chosen;
    }
    free(r.level);
    free(r.pod);
    free(lost);
    fab_fabric_unref(f);
}

START_TEST(no_floor_is_broken_and_each_choice_is_due)
{
    struct tally t = {0};
    fab_base_prng_init(&t.prng, test_seed("floor", 3));
    fabric_set_random(150, 5, check, &t);
    fabric_set_trees(48, 6, check, &t);
    fabric_set_modern(40, 7, check, &t);
    printf(
        "# %u fabrics: %u links isolated; kept: %u by a leaf's floor, %u by a pod's; %u failed\n",
        t.runs, t.out, t.leaf, t.pod, t.failed);
    ck_assert(t.out > 300 && t.leaf > 300 && t.pod > 20 && t.failed > 300);
}
END_TEST

START_TEST(nearly_as_many_as_any_choice)
{
    struct tally t = {.small = true};
    fab_base_prng_init(&t.prng, test_seed("small floor", 4));
    fabric_set_random(60, 8, check, &t);
    fabric_set_modern(40, 9, check, &t);
    printf("# isolated %u links of at most %u; the most possible in %u of %u fabrics\n", t.chosen,
           t.most, t.equal, t.runs);
    ck_assert_uint_ge(t.chosen * 100, t.most * 90);
}
END_TEST

/* In a tree of three levels, the uplinks of a pod are the links of its spines to the switches of
 * the top level. */
START_TEST(a_pod_keeps_its_uplinks)
{
    struct fab_fabric *f = fat_tree(8, 3, 1);
    struct rules r = {0};
    struct fab_isolation_link link[64];
    struct fab_isolation got[64];
    uint32_t count = 0, out = 0;
    const struct fab_isolation_rule rule = {.max_percent = 100, .min_percent = 75};
    find_rules(&r, f);
    ck_assert_uint_eq(r.top, 2);
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_isl(f, p) && r.pod[near_of(f, p)] == r.pod[0] && r.level[far_of(f, p)] == 2)
            link[count++] = (struct fab_isolation_link){.port = p};
    ck_assert_uint_eq(count, 16);
    ck_assert_int_eq(fab_health_isolation_choose(f, &rule, link, count, got), FAB_OK);
    for (uint32_t i = 0; i < count; i++)
        out += got[i].verdict == FAB_ISOLATION_ALLOWED;
    ck_assert_uint_eq(out, 4);
    ck_assert_int_eq(got[15].verdict, FAB_ISOLATION_POD_FLOOR);
    ck_assert_uint_eq(got[15].links, 16);
    ck_assert_uint_eq(got[15].out, 4);
    ck_assert_uint_eq(got[15].least, 12);
    free(r.level);
    free(r.pod);
    fab_fabric_unref(f);
}
END_TEST

/* ---- known links ----------------------------------------------------------------------------- */

static bool skip_all(void *ctx, uint64_t guid, uint8_t port)
{
    (void)ctx, (void)guid, (void)port;
    return true;
}

START_TEST(links_of_a_lost_switch_are_known)
{
    struct fab_fabric *f = fat_tree(8, 2, 1);
    struct fab_known *k;
    struct fab_lost_link *lost = NULL;
    struct rules r = {0};
    size_t count = 0;
    find_rules(&r, f);
    uint32_t spine = 0, links = 0;
    while (r.level[spine] != 1)
        spine++;
    for (uint32_t i = 1; i <= f->nodes[spine].num_ports; i++)
        links += is_isl(f, fab_fabric_port_id(f, spine, (uint8_t)i));
    ck_assert_int_eq(fab_health_known_next(NULL, f, &k), FAB_OK);
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    uint64_t guid = f->nodes[spine].guid;
    /* damaged() removes switches at random, so the test calls it until the spine is among them. */
    struct fab_fabric *less = NULL;
    do {
        fab_fabric_unref(less);
        less = damaged(fab_fabric_ref(f), &prng, 0, 0.2);
    } while (fab_fabric_node_by_guid(less, guid) != FAB_NONE);
    ck_assert_int_eq(fab_health_known_lost(k, less, NULL, NULL, &lost, &count), FAB_OK);
    uint32_t of_gone = 0;
    for (size_t i = 0; i < count; i++)
        for (int e = 0; e < 2; e++)
            of_gone += lost[i].node[e] == FAB_NONE && lost[i].level[e] == 1;
    ck_assert_uint_ge(of_gone, links);
    free(lost);
    ck_assert_int_eq(fab_health_known_lost(k, less, skip_all, NULL, &lost, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(lost);
    ck_assert_int_eq(fab_health_known_lost(k, f, NULL, NULL, &lost, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    free(lost);
    fab_health_known_unref(k);
    free(r.level);
    free(r.pod);
    fab_fabric_unref(less);
    fab_fabric_unref(f);
}
END_TEST

/* ---- persistence ----------------------------------------------------------------------------- */

/* Adds one reading of the counters for each number in errors[], `repeat` times over. Returns how
 * many readings it takes until errors count as persistent; 0: they never do. */
static uint32_t feed(const uint32_t *errors, uint32_t count, uint32_t crossings, uint32_t repeat,
                     uint32_t seconds)
{
    struct fab_counter_rule rule = {.within_us = 60000000, .threshold = {[FAB_SYMBOL_ERRORS] = 10}};
    struct fab_health_history h = {0};
    struct fab_persistence p = {0};
    struct fab_counters was = {.wide = true}, now = {.wide = true};
    for (uint32_t i = 0; i < count * repeat; i++) {
        now.value[FAB_SYMBOL_ERRORS] += errors[i % count];
        uint64_t us = i * UINT64_C(1000000) * seconds;
        fab_health_history_add(&h, us, us + UINT64_C(1000000) * seconds, &was, &now);
        was = now;
        fab_health_persistence_add(&p, &h, &rule);
        if (fab_health_persistence_reached(&p, crossings))
            return i + 1;
    }
    return 0;
}

START_TEST(only_errors_that_persist_count)
{
    static const struct {
        const char *what;
        uint32_t errors[12], count, repeat, seconds, expected;
    } cases[] = {
        {"steady", {20}, 1, 10, 60, 5},
        {"at the threshold", {10}, 1, 10, 60, 5},
        {"below the threshold", {9}, 1, 100, 60, 0},
        {"one burst", {1000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 12, 1, 60, 0},
        {"a burst in ten minutes", {1000, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 10, 50, 60, 0},
        {"every other minute", {30, 0}, 2, 10, 60, 9},
        {"noise that crosses at times", {4, 12, 3, 5, 2, 11, 4, 6}, 8, 50, 60, 0},
        {"readings of 20 s", {7}, 1, 60, 20, 15},
        {"readings of 5 minutes", {50}, 1, 10, 300, 5},
        {"a drift", {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}, 12, 1, 60, 10},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t got = feed(cases[i].errors, cases[i].count, 5, cases[i].repeat, cases[i].seconds);
        ck_assert_msg(got == cases[i].expected, "%s: %u, not %u", cases[i].what, got,
                      cases[i].expected);
    }
}
END_TEST

/* A 16-bit counter at its maximum cannot rise any more. The errors count as persistent even so. */
START_TEST(a_full_counter_persists)
{
    struct fab_counter_rule rule = {.within_us = 60000000, .threshold = {[FAB_SYMBOL_ERRORS] = 10}};
    struct fab_health_history h = {0};
    struct fab_persistence p = {0};
    struct fab_counters was = {0}, now = {0};
    now.value[FAB_SYMBOL_ERRORS] = 0xffff;
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert(!fab_health_persistence_reached(&p, 5));
        fab_health_history_add(&h, i * 60000000, (i + 1) * 60000000, &was, &now);
        was = now;
        fab_health_persistence_add(&p, &h, &rule);
    }
    ck_assert(fab_health_persistence_reached(&p, 5));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("floor");
    TCase *tcase = tcase_create("floor");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, no_floor_is_broken_and_each_choice_is_due);
    tcase_add_test(tcase, nearly_as_many_as_any_choice);
    tcase_add_test(tcase, a_pod_keeps_its_uplinks);
    tcase_add_test(tcase, links_of_a_lost_switch_are_known);
    tcase_add_test(tcase, only_errors_that_persist_count);
    tcase_add_test(tcase, a_full_counter_persists);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
