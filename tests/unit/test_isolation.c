/* SPDX-License-Identifier: BSD-3-Clause */
/* Isolation of links: limits and connectivity, on many fabrics with random candidates for
 * isolation. */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/health/isolation.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/testing.h"

#define MOST 64

static bool is_isl(const struct fab_fabric *f, uint32_t p)
{
    uint32_t peer = fab_fabric_port(f, p)->peer;
    return peer != FAB_NONE && fab_fabric_port(f, p)->node < f->switch_count &&
           fab_fabric_port(f, peer)->node < f->switch_count && fab_fabric_port_is_up(f, p);
}

/* Finds which switches are connected by ISLs that are not in `out`. Two connected switches get the
 * same number in sets[]. */
static void parts(const struct fab_fabric *f, const uint64_t *out, uint32_t *sets)
{
    fab_base_sets_init(sets, f->switch_count);
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_isl(f, p) && !fab_base_bits_get(out, p))
            fab_base_sets_join(sets, fab_fabric_port(f, p)->node,
                               fab_fabric_port(f, fab_fabric_port(f, p)->peer)->node);
}

/* Computes for each switch the distance to the nearest switch with hosts, in a simple way: passes
 * over all links until nothing changes. */
static void naive_levels(const struct fab_fabric *f, uint32_t *level)
{
    bool more = true;
    for (uint32_t s = 0; s < f->switch_count; s++)
        level[s] = FAB_NONE;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->node < f->switch_count &&
            fab_fabric_port(f, p)->peer != FAB_NONE &&
            fab_fabric_port(f, fab_fabric_port(f, p)->peer)->node >= f->switch_count)
            level[fab_fabric_port(f, p)->node] = 0;
    while (more) {
        more = false;
        for (uint32_t p = 0; p < f->port_count; p++) {
            uint32_t a = fab_fabric_port(f, p)->node;
            if (!is_isl(f, p) || level[a] == FAB_NONE)
                continue;
            uint32_t b = fab_fabric_port(f, fab_fabric_port(f, p)->peer)->node;
            if (level[b] > level[a] + 1) {
                level[b] = level[a] + 1;
                more = true;
            }
        }
    }
}

static int sign(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* Checks the limit of each switch: of its links in one direction, at most `share` percent may be
 * isolated. The three directions are up, down, and to the same level. */
static void check_floor(const struct fab_fabric *f, const uint64_t *out, uint32_t share,
                        const uint32_t *level, const char *what)
{
    for (uint32_t s = 0; s < f->switch_count; s++)
        for (int way = -1; way <= 1; way++) {
            uint32_t cables = 0, gone = 0;
            for (uint32_t i = 1; i <= f->nodes[s].num_ports; i++) {
                uint32_t p = fab_fabric_port_id(f, s, (uint8_t)i);
                if (!is_isl(f, p) ||
                    sign(level[s], level[fab_fabric_port(f, fab_fabric_port(f, p)->peer)->node]) !=
                        way)
                    continue;
                cables++;
                gone += fab_base_bits_get(out, p);
            }
            ck_assert_msg(gone * 100 <= share * cables, "%s: %u of %u cables of switch %u", what,
                          gone, cables, s);
        }
}

struct tally {
    struct fab_prng prng;
    uint32_t out, share, needed, host;
};

static size_t wishes(const struct fab_fabric *f, struct fab_prng *prng,
                     struct fab_isolation_link *cable)
{
    size_t count = 0;
    uint64_t *chosen = fab_base_bits_new(f->port_count);
    for (int i = 0; i < 400 && count < MOST; i++) {
        uint32_t p = (uint32_t)fab_base_prng_below(prng, f->port_count);
        if (fab_fabric_port(f, p)->peer == FAB_NONE || !fab_fabric_port_is_up(f, p) ||
            fab_base_bits_get(chosen, p) || fab_base_prng_below(prng, 400) < 100)
            continue;
        fab_base_bits_set(chosen, p);
        fab_base_bits_set(chosen, fab_fabric_port(f, p)->peer);
        cable[count++] = (struct fab_isolation_link){.port = p};
    }
    free(chosen);
    return count;
}

static void check_reach(const struct fab_fabric *f, const uint64_t *none, const uint64_t *out,
                        const char *what)
{
    uint32_t *before = calloc(f->switch_count + 1u, sizeof(*before));
    uint32_t *after = calloc(f->switch_count + 1u, sizeof(*after));
    parts(f, none, before);
    parts(f, out, after);
    for (uint32_t s = 0; s < f->switch_count; s++)
        ck_assert_msg(fab_base_sets_find(before, s) == fab_base_sets_find(after, s),
                      "%s: switch %u is cut off", what, s);
    free(before);
    free(after);
}

static void check(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    struct tally *t = ctx;
    struct fab_isolation_link cable[MOST];
    struct fab_isolation got[MOST];
    uint32_t share = (uint32_t)fab_base_prng_below(&t->prng, 101);
    size_t count = f->port_count ? wishes(f, &t->prng, cable) : 0;
    uint64_t *out = fab_base_bits_new(f->port_count), *none = fab_base_bits_new(f->port_count);
    uint32_t *level = calloc(f->switch_count + 1u, sizeof(*level));
    (void)lmc;
    ck_assert_int_eq(fab_health_isolation_choose(
                         f, &(struct fab_isolation_rule){.max_percent = share}, cable, count, got),
                     FAB_OK);
    for (size_t i = 0; i < count; i++) {
        uint32_t port = cable[i].port;
        t->host += got[i].verdict == FAB_ISOLATION_HOST;
        t->share += got[i].verdict == FAB_ISOLATION_LIMIT;
        t->needed += got[i].verdict == FAB_ISOLATION_NEEDED;
        ck_assert(is_isl(f, port) == (got[i].verdict != FAB_ISOLATION_HOST));
        if (got[i].verdict != FAB_ISOLATION_ALLOWED)
            continue;
        t->out++;
        fab_base_bits_set(out, port);
        fab_base_bits_set(out, fab_fabric_port(f, port)->peer);
    }
    naive_levels(f, level);
    check_floor(f, out, share, level, what);
    check_reach(f, none, out, what);
    /* The verdict NEEDED means that the two switches of a link have no other path to each other. */
    for (size_t i = 0; i < count; i++)
        if (got[i].verdict == FAB_ISOLATION_NEEDED) {
            uint32_t *sets = calloc(f->switch_count + 1u, sizeof(*sets));
            fab_base_bits_set(out, cable[i].port);
            fab_base_bits_set(out, fab_fabric_port(f, cable[i].port)->peer);
            parts(f, out, sets);
            ck_assert_msg(fab_base_sets_find(sets, fab_fabric_port(f, cable[i].port)->node) !=
                              fab_base_sets_find(sets, fab_fabric_peer_node(f, cable[i].port)),
                          "%s: not needed at all", what);
            fab_base_bits_clear(out, cable[i].port);
            fab_base_bits_clear(out, fab_fabric_port(f, cable[i].port)->peer);
            free(sets);
        }
    free(out);
    free(none);
    free(level);
    fab_fabric_unref(f);
}

START_TEST(never_parts_a_fabric_nor_breaks_the_floor)
{
    struct tally t = {0};
    fab_base_prng_init(&t.prng, test_seed("isolation", 3));
    fabric_set_random(400, 5, check, &t);
    fabric_set_trees(60, 6, check, &t);
    fabric_set_modern(60, 7, check, &t);
    fabric_set_families(8, check, &t);
    printf("# %u out; kept: %u for their share, %u needed, %u of hosts\n", t.out, t.share, t.needed,
           t.host);
    ck_assert(t.out > 500 && t.share > 500 && t.needed > 50 && t.host > 500);
}
END_TEST

/* The limit counts uplinks and downlinks separately. With four uplinks and a limit of 50 %, two
 * uplinks may be isolated. */
START_TEST(a_switch_keeps_its_uplinks)
{
    struct fab_fabric *f = fat_tree(8, 3, 1);
    uint32_t level[512];
    struct fab_isolation_link cable[8];
    struct fab_isolation got[8];
    uint32_t sw = 0, count = 0, out = 0;
    ck_assert_uint_le(f->switch_count, 512);
    naive_levels(f, level);
    while (level[sw] != 1)
        sw++;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t p = fab_fabric_port_id(f, sw, (uint8_t)i);
        if (is_isl(f, p) && level[fab_fabric_peer_node(f, p)] == 2 && count < 8)
            cable[count++] = (struct fab_isolation_link){.port = p};
    }
    ck_assert_uint_eq(count, 4);
    ck_assert_int_eq(fab_health_isolation_choose(f, &(struct fab_isolation_rule){.max_percent = 50},
                                                 cable, count, got),
                     FAB_OK);
    for (uint32_t i = 0; i < count; i++) {
        out += got[i].verdict == FAB_ISOLATION_ALLOWED;
        ck_assert_int_eq(got[i].verdict, i < 2 ? FAB_ISOLATION_ALLOWED : FAB_ISOLATION_LIMIT);
    }
    ck_assert_uint_eq(out, 2);
    ck_assert_uint_eq(got[2].node, sw);
    ck_assert_uint_eq(got[2].links, 4);
    ck_assert_uint_eq(got[2].out, 2);
    fab_fabric_unref(f);
}
END_TEST

/* A link that is isolated and also down is not in the fabric. It must still count for the limit of
 * its switch. */
START_TEST(what_is_down_counts)
{
    struct fab_fabric *f = fat_tree(8, 2, 1); /* each leaf has 4 uplinks */
    struct fab_isolation_link cable[3] = {{.port = FAB_NONE}};
    struct fab_isolation got[3];
    uint32_t level[64], leaf = 0, n = 0;
    naive_levels(f, level);
    while (level[leaf] != 0)
        leaf++;
    for (uint32_t i = 1; i <= f->nodes[leaf].num_ports && n < 3; i++) {
        uint32_t p = fab_fabric_port_id(f, leaf, (uint8_t)i);
        if (is_isl(f, p))
            cable[n++].port = p;
    }
    uint32_t down = cable[0].port;
    cable[0] = (struct fab_isolation_link){.port = FAB_NONE,
                                           .node = {leaf, fab_fabric_peer_node(f, down)}};
    fab_fabric_remove_link(f, down);
    ck_assert_int_eq(fab_health_isolation_choose(f, &(struct fab_isolation_rule){.max_percent = 50},
                                                 cable, 3, got),
                     FAB_OK);
    ck_assert_int_eq(got[1].verdict, FAB_ISOLATION_ALLOWED);
    ck_assert_int_eq(got[2].verdict, FAB_ISOLATION_LIMIT);
    ck_assert_uint_eq(got[2].links, 4);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(tells_who_would_be_cut_off)
{
    struct fab_fabric *f = fat_tree(8, 2, 1);
    uint32_t ports[8], count = 0, level[64], leaf = f->switch_count, switches, others, first;
    naive_levels(f, level);
    f->self_port = f->nodes[f->switch_count].first_port + 1u;
    uint32_t self = fab_fabric_peer_node(f, f->self_port);
    while (leaf-- > 0 && (level[leaf] != 0 || leaf == self))
        ;
    for (uint32_t i = 1; i <= f->nodes[leaf].num_ports; i++) {
        uint32_t p = fab_fabric_port_id(f, leaf, (uint8_t)i);
        if (is_isl(f, p))
            ports[count++] = p;
    }
    ck_assert_int_eq(fab_health_isolation_cut_off(f, ports, count - 1, &switches, &others, &first),
                     FAB_OK);
    ck_assert_uint_eq(switches + others, 0);
    ck_assert_uint_eq(first, FAB_NONE);
    ck_assert_int_eq(fab_health_isolation_cut_off(f, ports, count, &switches, &others, &first),
                     FAB_OK);
    ck_assert_uint_eq(switches, 1);
    ck_assert_uint_eq(others, 4);
    ck_assert_uint_eq(first, leaf);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("isolation");
    TCase *tcase = tcase_create("isolation");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, never_parts_a_fabric_nor_breaks_the_floor);
    tcase_add_test(tcase, a_switch_keeps_its_uplinks);
    tcase_add_test(tcase, what_is_down_counts);
    tcase_add_test(tcase, tells_who_would_be_cut_off);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
