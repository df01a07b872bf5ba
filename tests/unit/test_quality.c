/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quality figures, compared with figures that are known, and with counts that follow every pair: on
 * regular fabrics, on damaged tables, and for jobs.
 */
#include "libfabmgr/study/measurement.h"
#include "libfabmgr/study/quality.h"

#include "tests/unit/routing.h"

struct bed {
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_target *t;
};

static struct bed bed_of(struct fab_fabric *f)
{
    struct bed b = {.f = f};
    fab_policy_defaults(&b.p);
    b.t = routed(f, &b.p);
    return b;
}

static void bed_free(struct bed *b)
{
    fab_target_unref(b->t);
    fab_policy_fini(&b->p);
    fab_fabric_unref(b->f);
}

static struct fab_quality measured(const struct bed *b, const uint32_t *ends, uint32_t count,
                                   uint32_t samples)
{
    struct fab_quality q;
    struct fab_quality_input in = {.fabric = b->f,
                                   .lids = &b->t->lids,
                                   .lft = &b->t->lft,
                                   .ends = ends,
                                   .end_count = count,
                                   .samples = samples,
                                   .seed = 7};
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    return q;
}

/* ---- figures by following each pair ------------------------------------------------------------
 */

static bool naive_walk(const struct bed *b, uint32_t src, uint32_t dst, uint32_t *path,
                       uint32_t *ret_len)
{
    const struct fab_fabric *f = b->f;
    uint32_t at = fab_fabric_peer_node(f, src), lid = b->t->lids.base[dst], len = 0;
    for (uint32_t hop = 0; hop <= f->switch_count; hop++) {
        uint8_t num = fab_target_lft_at(&b->t->lft, at, lid);
        if (num > f->nodes[at].num_ports)
            return false;
        uint32_t port = fab_fabric_port_id(f, at, num);
        if (fab_fabric_port(f, port)->peer == dst) {
            *ret_len = len;
            return true;
        }
        uint32_t next = fab_fabric_peer_node(f, port);
        if (next >= f->switch_count || !fab_fabric_port_is_up(f, port))
            return false;
        path[len++] = port;
        at = next;
    }
    return false;
}

static uint32_t ends_of(const struct fab_fabric *f, uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t node = fab_fabric_port(f, port)->node, peer = fab_fabric_peer_node(f, port);
        if (node >= f->switch_count && peer < f->switch_count && !f->nodes[node].aggregation &&
            fab_fabric_port_is_up(f, port))
            ret[count++] = port;
    }
    return count;
}

static void compare(const struct bed *b, const struct fab_quality *q, const uint32_t *ends,
                    uint32_t count)
{
    const struct fab_fabric *f = b->f;
    uint64_t *load = calloc(f->port_count, sizeof *load), pairs = 0, lost = 0, max = 0;
    uint64_t hops[FAB_QUALITY_HOPS] = {0};
    uint8_t *sends = calloc(f->port_count, count + 1), *gets = calloc(f->port_count, count + 1);
    uint32_t *path = calloc(f->switch_count + 2, sizeof *path), channels = 0, unused = 0, least = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            uint32_t len;
            if (i == j)
                continue;
            if (!naive_walk(b, ends[i], ends[j], path, &len)) {
                lost++;
                continue;
            }
            pairs++;
            hops[len + 1 < FAB_QUALITY_HOPS ? len + 1 : FAB_QUALITY_HOPS - 1]++;
            for (uint32_t k = 0; k < len; k++) {
                load[path[k]]++;
                sends[(size_t)path[k] * (count + 1) + i] = 1;
                gets[(size_t)path[k] * (count + 1) + j] = 1;
            }
        }
    }
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_peer_node(f, port), s = 0, g = 0;
        if (fab_fabric_port(f, port)->node >= f->switch_count || peer >= f->switch_count)
            continue;
        channels++;
        unused += load[port] == 0;
        max = load[port] > max ? load[port] : max;
        for (uint32_t i = 0; i < count; i++) {
            s += sends[(size_t)port * (count + 1) + i];
            g += gets[(size_t)port * (count + 1) + i];
        }
        least = (s < g ? s : g) > least ? (s < g ? s : g) : least;
    }
    ck_assert_uint_eq(q->ends, count);
    ck_assert_uint_eq(q->pairs, pairs);
    ck_assert_uint_eq(q->lost, lost);
    ck_assert_uint_eq(q->channels, channels);
    ck_assert_uint_eq(q->all.max, max);
    ck_assert_uint_eq(q->all.unused, unused);
    ck_assert_uint_eq(q->all.min_ends, least);
    for (uint32_t i = 0; i < q->all.worst_count; i++)
        ck_assert_uint_eq(q->all.worst_load[i], load[q->all.worst[i]]);
    ck_assert_mem_eq(q->hops, hops, sizeof hops);
    free(load);
    free(sends);
    free(gets);
    free(path);
}

static void check_random(struct fab_fabric *f, struct fab_prng *prng, bool broken)
{
    struct bed b = bed_of(f);
    uint32_t *ends = calloc(f->port_count, sizeof *ends), count = ends_of(f, ends);
    for (unsigned i = 0; broken && i < 40; i++) {
        uint32_t sw = (uint32_t)fab_base_prng_below(prng, f->switch_count);
        uint32_t lid = 1 + (uint32_t)fab_base_prng_below(prng, b.t->lft.top);
        fab_target_lft_row(&b.t->lft, sw)[lid] = (uint8_t)fab_base_prng_below(prng, 256);
    }
    struct fab_quality q = measured(&b, NULL, 0, 20);
    compare(&b, &q, ends, count);
    fab_base_prng_shuffle(prng, ends, count);
    uint32_t job = count < 9 ? count : 9;
    q = measured(&b, ends, job, 20);
    compare(&b, &q, ends, job);
    free(ends);
    bed_free(&b);
}

START_TEST(equals_the_count_by_pairs)
{
    uint64_t seed = test_seed("quality", 4);
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    for (unsigned i = 0; i < 30; i++) {
        struct fab_fabric *f = random_fabric(5 + i, 4, 30 + 2 * i, seed + i);
        check_random(f, &prng, i % 2 == 1);
    }
    check_random(fat_tree(6, 3, 1), &prng, false);
    check_random(modern_tree(6, 3, 5, 2, 2), &prng, false);
    check_random(grid((uint32_t[3]){4, 3, 1}, true, 2), &prng, true);
}
END_TEST

/* ---- known figures --------------------------------------------------------------------------- */

/* Two leaves with h hosts each, and one link between the leaves. For this fabric, all quality
 * figures can be computed by hand. */
START_TEST(a_dumbbell)
{
    struct drawing *d = draw_new();
    uint32_t a = draw_switch(d, 8), z = draw_switch(d, 8);
    draw_cable(d, a, z);
    draw_hosts(d, a, 3);
    draw_hosts(d, z, 3);
    struct bed b = bed_of(draw_done(d));
    struct fab_quality q = measured(&b, NULL, 0, 500);
    ck_assert_uint_eq(q.ends, 6);
    ck_assert_uint_eq(q.leaves, 2);
    ck_assert_uint_eq(q.pairs, 30);
    ck_assert_uint_eq(q.channels, 2);
    ck_assert_uint_eq(q.all.max, 9);
    ck_assert_uint_eq(q.all.bound, 9);
    ck_assert_double_eq_tol(q.all.mean, 9, 1e-9);
    ck_assert_double_eq_tol(q.all.sigma, 0, 1e-6);
    ck_assert_double_eq_tol(fab_study_quality_imbalance(&q), 1, 1e-9);
    ck_assert_uint_eq(q.all.min_ends, 3);
    ck_assert_uint_eq(q.hops[1], 12);
    ck_assert_uint_eq(q.hops[2], 18);
    ck_assert_uint_eq(q.permutation_bound, 3);
    ck_assert_uint_eq(q.shift.max, 3);
    ck_assert_uint_eq(q.shift.worst, 3);
    ck_assert_uint_eq(q.shift.tried, 5);
    ck_assert(q.shift.every);
    ck_assert_uint_ge(q.random.median, 1);
    ck_assert_uint_le(q.random.max, 3);
    ck_assert(q.bisection.mean > 1.0 / 3 && q.bisection.mean < 1);
    ck_assert_double_eq_tol(q.bisection.least, 1.0 / 3, 1e-9);
    bed_free(&b);
}
END_TEST

/* Three switches in a row with one host each. The first link runs at 4x, the second one at 1x, so
 * that each flow over the second link counts as four. */
START_TEST(a_slow_link)
{
    struct drawing *d = draw_new();
    for (uint32_t i = 0; i < 3; i++)
        draw_switch(d, 8);
    draw_cable(d, 0, 1);
    draw_cable(d, 1, 2);
    for (uint32_t i = 0; i < 3; i++)
        draw_hosts(d, i, 1);
    struct bed b = bed_of(draw_done(d));
    for (uint32_t port = 0; port < b.f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(b.f, port);
        uint32_t peer = fab_fabric_peer_node(b.f, port);
        if (p->node < 3 && peer < 3 && (p->node == 2 || peer == 2))
            fab_fabric_edit_port(b.f, port)->info.width_active = 1;
    }
    struct fab_quality q = measured(&b, NULL, 0, 10);
    ck_assert_uint_eq(q.all.max, 8);
    ck_assert_uint_eq(q.all.bound, 8);
    ck_assert_double_eq_tol(q.all.mean, (2 + 2 + 8 + 8) / 4.0, 1e-9);
    ck_assert_uint_eq(q.shift.max, 4);
    ck_assert_uint_eq(q.permutation_bound, 4);
    ck_assert_double_eq_tol(q.shift.bandwidth, (1 + .25 + .25) / 3, 1e-9);
    bed_free(&b);
}
END_TEST

/* The tables of this leaf-spine fabric are made by hand: packets for host j of a leaf go over spine
 * j. So no link carries two flows in a shift. */
START_TEST(a_tree_without_conflict)
{
    struct bed b = bed_of(leaf_spine(6, 4, 4));
    const struct fab_fabric *f = b.f;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t home = fab_fabric_peer_node(f, port);
        if (fab_fabric_port(f, port)->node < f->switch_count || home >= f->switch_count)
            continue;
        uint32_t which = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->num - 1u;
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            uint32_t seen = 0;
            for (unsigned num = 1; num <= f->nodes[sw].num_ports && sw != home; num++) {
                uint32_t out = fab_fabric_port_id(f, sw, (uint8_t)num),
                         to = fab_fabric_peer_node(f, out);
                bool up = to < f->switch_count && seen++ == which;
                if (to == home ||
                    (up && fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, 1)) >= 6))
                    fab_target_lft_row(&b.t->lft, sw)[b.t->lids.base[port]] = (uint8_t)num;
            }
        }
    }
    struct fab_quality q = measured(&b, NULL, 0, 0);
    ck_assert_uint_eq(q.lost, 0);
    ck_assert_uint_eq(q.all.max, q.all.bound);
    ck_assert_uint_eq(q.shift.max, 1);
    ck_assert_uint_eq(q.permutation_bound, 1);
    ck_assert_uint_eq(q.random.tried, 0);
    ck_assert_uint_eq(q.bisection.tried, 0);
    bed_free(&b);
}
END_TEST

/* ---- unusual lists of endports, and equal results for equal input ---------------------------- */

START_TEST(odd_lists)
{
    struct bed b = bed_of(leaf_spine(3, 2, 3));
    uint32_t *ends = calloc(b.f->port_count, sizeof *ends), count = ends_of(b.f, ends);
    struct fab_quality q, keep = {.ends = 99};
    struct fab_quality_input in = {
        .fabric = b.f, .lids = &b.t->lids, .lft = &b.t->lft, .ends = ends};
    in.end_count = 0;
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    ck_assert_uint_eq(q.pairs + q.ends + q.shift.tried, 0);
    in.end_count = 1;
    in.samples = 5;
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    ck_assert_uint_eq(q.pairs + q.random.tried + q.bisection.tried, 0);
    q = keep;
    const uint32_t twice[] = {ends[0], ends[1], ends[0]}, sw[] = {ends[0], 0}, far[] = {FAB_NONE};
    const struct {
        const uint32_t *ends;
        uint32_t count;
    } bad[] = {{twice, 3}, {sw, 2}, {far, 1}};
    for (unsigned i = 0; i < 3; i++) {
        in.ends = bad[i].ends;
        in.end_count = bad[i].count;
        ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_E_INVAL);
        ck_assert_uint_eq(q.ends, 99);
    }
    ck_assert_uint_eq(count, 9);
    free(ends);
    bed_free(&b);
}
END_TEST

static bool stop_at_once(void *ctx)
{
    ++*(unsigned *)ctx;
    return true;
}

START_TEST(stops_on_request)
{
    struct bed b = bed_of(leaf_spine(3, 2, 3));
    unsigned asked = 0;
    struct fab_quality q;
    struct fab_quality_input in = {.fabric = b.f,
                                   .lids = &b.t->lids,
                                   .lft = &b.t->lft,
                                   .stopped = stop_at_once,
                                   .stopped_ctx = &asked};
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_E_BUSY);
    ck_assert_uint_eq(asked, 1);
    bed_free(&b);
}
END_TEST

/* The order of the shifts follows from LIDs and links only. So the figures must be the same in
 * another order of discovery. */
START_TEST(independent_of_discovery)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("quality", 4));
    struct bed b = bed_of(fat_tree(6, 3, 1));
    struct bed c = bed_of(retold(b.f, &prng, 0));
    struct fab_quality x = measured(&b, NULL, 0, 50), y = measured(&c, NULL, 0, 50);
    ck_assert_mem_eq(x.hops, y.hops, sizeof x.hops);
    ck_assert_uint_eq(x.all.max, y.all.max);
    ck_assert_uint_eq(x.shift.max, y.shift.max);
    ck_assert_uint_eq(x.random.median, y.random.median);
    ck_assert(x.bisection.mean == y.bisection.mean);
    bed_free(&b);
    bed_free(&c);
}
END_TEST

/* Leaves with 240 hosts each and one link to a spine. A shift by fewer than 240 puts only so many
 * flows on a link. There are too many shifts to try all of them. Those that are tried, in random
 * order, must give the greatest number of flows, and the lowest shift that has it. */
START_TEST(a_sample_of_shifts)
{
    const uint32_t leaves = 13, hosts = 240, ends = leaves * hosts;
    struct drawing *d = draw_new();
    uint32_t spine = draw_switch(d, 16);
    for (uint32_t i = 0; i < leaves; i++) {
        uint32_t leaf = draw_switch(d, 250);
        draw_cable(d, spine, leaf);
        draw_hosts(d, leaf, hosts);
    }
    struct bed b = bed_of(draw_done(d));
    struct fab_quality_input in = {.fabric = b.f, .lids = &b.t->lids, .lft = &b.t->lft};
    struct fab_measurement m;
    struct fab_quality_shift shift;
    ck_assert_int_eq(fab_study_measurement_make(&in, &m), FAB_OK);
    ck_assert_int_eq(fab_study_measurement_order(&m), FAB_OK);
    ck_assert_int_eq(fab_study_measure_shifts(&m, &shift), FAB_OK);
    fab_study_measurement_fini(&m);
    ck_assert(!shift.every);
    ck_assert_uint_eq(shift.tried, 9000000 / ends);
    ck_assert_uint_eq(shift.max, hosts);
    ck_assert_uint_ge(shift.worst, hosts);
    ck_assert_uint_lt(shift.worst, hosts + 10);
    bed_free(&b);
}
END_TEST

/* Returns true if a switch has links to both a and b. */
static bool are_in_one_pod(const struct fab_fabric *f, uint32_t a, uint32_t b)
{
    for (unsigned i = 1; i <= f->nodes[a].num_ports; i++)
        for (unsigned k = 1; k <= f->nodes[b].num_ports; k++)
            if (fab_fabric_peer_node(f, fab_fabric_port_id(f, a, (uint8_t)i)) ==
                fab_fabric_peer_node(f, fab_fabric_port_id(f, b, (uint8_t)k)))
                return true;
    return false;
}

static uint32_t lowest_lid(const struct fab_measurement *m, uint32_t leaf)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t i = 0; i < m->end_count; i++)
        if (m->ends[i].leaf == leaf && m->ends[i].lid < lowest)
            lowest = m->ends[i].lid;
    return lowest;
}

/* Checks the order of the leaves: those of one pod follow each other, sorted by their lowest LIDs.
 * The pods are sorted by their lowest LIDs, too. */
static void assert_order(const struct fab_measurement *m, const struct fab_fabric *f)
{
    const uint32_t pod = 3;
    ck_assert_uint_eq(m->leaf_count, 18);
    for (uint32_t i = 1; i < m->leaf_count; i++) {
        uint32_t first = i / pod * pod;
        if (i > first) {
            ck_assert(are_in_one_pod(f, m->leaves[first].sw, m->leaves[i].sw));
            ck_assert_uint_lt(lowest_lid(m, i - 1), lowest_lid(m, i));
        } else {
            ck_assert_uint_lt(lowest_lid(m, i - pod), lowest_lid(m, i));
        }
    }
    for (uint32_t i = 0; i < m->end_count; i++) {
        const struct fab_measured_endport *e = &m->ends[i];
        ck_assert_uint_eq(m->leaves[e->leaf].sw, fab_fabric_peer_node(f, e->port));
        ck_assert_uint_eq(m->leaf_at[m->leaves[e->leaf].sw], e->leaf);
        if (i > 0)
            ck_assert(e[-1].leaf < e->leaf || (e[-1].leaf == e->leaf && e[-1].num < e->num));
    }
}

START_TEST(shifts_go_through_pods_one_after_the_other)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("order", 5));
    struct fab_fabric *f = fat_tree(6, 3, 1);
    for (uint64_t salt = 0; salt < 8; salt++) {
        struct bed b = bed_of(retold(f, &prng, salt));
        struct fab_quality_input in = {.fabric = b.f, .lids = &b.t->lids, .lft = &b.t->lft};
        struct fab_measurement m;
        ck_assert_int_eq(fab_study_measurement_make(&in, &m), FAB_OK);
        ck_assert_int_eq(fab_study_measurement_order(&m), FAB_OK);
        assert_order(&m, b.f);
        fab_study_measurement_fini(&m);
        bed_free(&b);
    }
    fab_fabric_unref(f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("quality");
    TCase *t = tcase_create("quality");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, equals_the_count_by_pairs);
    tcase_add_test(t, a_dumbbell);
    tcase_add_test(t, a_slow_link);
    tcase_add_test(t, a_tree_without_conflict);
    tcase_add_test(t, odd_lists);
    tcase_add_test(t, stops_on_request);
    tcase_add_test(t, independent_of_discovery);
    tcase_add_test(t, a_sample_of_shifts);
    tcase_add_test(t, shifts_go_through_pods_one_after_the_other);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
