/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the lengths of legal paths a second time, by their definition, for one destination and
 * one switch after the other. legal_paths.c must give the same lengths on all fabrics of
 * fabric_sets.h. Also checks fab_route_legal_descends, and that switches reported to have equal
 * path lengths have equal lengths.
 */
#include "libfabmgr/route/updown/legal_paths.h"
#include "tests/unit/fabric_sets.h"

struct plain {
    /* [n] number of hops to the destination: by paths that only go down, and by legal paths */
    uint8_t *down, *way;
};

static void find_plainly(const struct fab_updown *s, uint32_t destination, struct plain *ret)
{
    memset(ret->down, FAB_LEGAL_HOPS, s->n);
    ret->down[destination] = 0;
    for (uint32_t p = 0; p < s->n; p++) {
        uint32_t sw = s->by_height[p];
        for (uint32_t i = s->at[sw]; i < s->mid[sw]; i++) {
            if (ret->down[s->nbr[i]] + 1 < ret->down[sw])
                ret->down[sw] = (uint8_t)(ret->down[s->nbr[i]] + 1);
        }
    }
    for (uint32_t p = s->n; p-- > 0;) {
        uint32_t sw = s->by_height[p];
        uint8_t up = FAB_LEGAL_HOPS;
        bool needed = false;
        for (uint32_t i = s->mid[sw]; i < s->at[sw + 1]; i++) {
            uint8_t above = ret->way[s->nbr[i]];
            if ((above & FAB_LEGAL_HOPS) + 1 < up)
                up = (uint8_t)((above & FAB_LEGAL_HOPS) + 1);
            needed = needed || above == ret->down[sw] + 1;
        }
        bool climbs = up <= ret->down[sw] && !needed;
        ret->way[sw] = climbs ? up | FAB_LEGAL_CLIMBS : ret->down[sw];
    }
}

static void check_column(const struct fab_updown *s, const uint8_t *rows, uint32_t column,
                         const struct plain *plain, bool *descends, const char *what)
{
    const uint32_t *alike = fab_route_legal_row_of(rows, s->n);
    for (uint32_t sw = 0; sw < s->n; sw++) {
        uint8_t way = rows[(size_t)alike[sw] * FAB_LEGAL_BATCH + column];
        ck_assert_msg(way == plain->way[sw], "%s: from %u, column %u: %x, not %x", what, sw, column,
                      way, plain->way[sw]);
        descends[sw] = descends[sw] || plain->down[sw] != FAB_LEGAL_HOPS;
    }
}

static void check_batch(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                        const char *what)
{
    uint8_t *rows = fab_route_legal_alloc(s->n), *ways = fab_route_legal_alloc(s->n);
    struct plain plain = {malloc(s->n), malloc(s->n)};
    bool *descends = calloc(s->n, sizeof(*descends));
    fab_route_legal_rows(s, destinations, count, rows);
    fab_route_legal_paths(s, destinations, count, ways);
    for (uint32_t i = 0; i < count; i++) {
        find_plainly(s, destinations[i], &plain);
        check_column(s, rows, i, &plain, descends, what);
    }
    for (uint32_t sw = 0; sw < s->n; sw++) {
        size_t own = (size_t)fab_route_legal_row_of(rows, s->n)[sw] * FAB_LEGAL_BATCH;
        ck_assert_mem_eq(ways + (size_t)sw * FAB_LEGAL_BATCH, rows + own, FAB_LEGAL_BATCH);
        ck_assert_int_eq(fab_route_legal_descends(rows, s->n)[sw], descends[sw]);
    }
    free(rows);
    free(ways);
    free(plain.down);
    free(plain.way);
    free(descends);
}

/* Checks the path lengths for batches of destinations, of different sizes and in any order. */
static void check_fabric(struct fab_fabric *f, uint8_t lmc, const char *what, void *prng)
{
    (void)lmc;
    struct fab_policy p;
    struct fab_graph g;
    struct fab_order o;
    struct fab_updown s;
    fab_policy_defaults(&p);
    ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
    ck_assert_int_eq(fab_route_order_ranked(&g, f, &p, &o), FAB_OK);
    ck_assert_int_eq(fab_route_updown_make(&g, &o, &s), FAB_OK);
    uint32_t *destinations = calloc(g.n + 1, sizeof(*destinations));
    for (uint32_t i = 0; i < g.n; i++)
        destinations[i] = i;
    fab_base_prng_shuffle(prng, destinations, g.n);
    for (uint32_t first = 0, count; first < g.n; first += count) {
        uint32_t most = g.n - first < FAB_LEGAL_BATCH ? g.n - first : FAB_LEGAL_BATCH;
        count = 1 + (uint32_t)fab_base_prng_below(prng, most);
        check_batch(&s, destinations + first, count, what);
    }
    free(destinations);
    fab_route_updown_fini(&s);
    fab_route_order_fini(&o);
    fab_route_graph_fini(&g);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

START_TEST(path_lengths_match_the_definition)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("batches", 1));
    fabric_set_random(300, 2, check_fabric, &prng);
    fabric_set_trees(200, 3, check_fabric, &prng);
    fabric_set_modern(100, 4, check_fabric, &prng);
    fabric_set_grids(check_fabric, &prng);
    fabric_set_families(5, check_fabric, &prng);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("legal");
    TCase *tcase = tcase_create("ways");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, path_lengths_match_the_definition);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
