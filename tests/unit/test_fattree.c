/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine for fat trees. Shifts must be free of conflicts, damaged trees of many shapes must
 * pass the proof, and a fault must change few entries.
 */
#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/study/quality.h"
#include "tests/unit/naive.h"

#define DAMAGED 3000

static struct fab_policy defaults(uint8_t lmc)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = lmc;
    return p;
}

/* Returns the engine's tables for f. NULL: the engine refuses f; why[] has the reason. */
static struct fab_target *tree_routed(const struct fab_fabric *f, uint8_t lmc, char why[200])
{
    struct fab_policy p = defaults(lmc);
    struct fab_target *t = fab_target_new();
    assigned(f, &p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
    why[0] = '\0';
    int status = fab_route_engine_by_name("fattree")->run(&in, &t->lft, &t->vls, why, 200);
    fab_policy_fini(&p);
    if (status == FAB_OK)
        return t;
    ck_assert_int_eq(status, FAB_E_UNSUPPORTED);
    ck_assert_str_ne(why, "");
    fab_target_unref(t);
    return NULL;
}

static struct fab_target *tree_taken(const struct fab_fabric *f, uint8_t lmc)
{
    char why[200];
    struct fab_target *t = tree_routed(f, lmc, why);
    ck_assert_msg(t != NULL, "%s", why);
    return t;
}

/* ---- shifts ---------------------------------------------------------------------------------- */

struct hosts {
    /* [count] ports of the hosts, sorted by LID or in the order in which they were added */
    uint32_t *port, count;
};

static bool is_host(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port), node = fab_fabric_port(f, port)->node;
    return node >= f->switch_count && !f->nodes[node].aggregation && peer != FAB_NONE &&
           peer < f->switch_count && fab_fabric_port_is_up(f, port);
}

static struct hosts hosts_by_lid(const struct fab_fabric *f, const struct fab_target *t)
{
    struct hosts h = {.port = calloc(f->port_count + 1, sizeof(uint32_t))};
    for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
        uint32_t port = t->lids.owner[lid];
        if (port != FAB_NONE && t->lids.base[port] == lid && is_host(f, port))
            h.port[h.count++] = port;
    }
    return h;
}

/* Computes the shift by k, in which host i sends to host i + k. Returns the number of flows over
 * the most loaded link. */
static uint32_t shift(const struct fab_fabric *f, const struct fab_target *t, const struct hosts *h,
                      uint32_t k, uint32_t *load)
{
    uint32_t most = 0;
    memset(load, 0, f->port_count * sizeof(*load));
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t dst = h->port[(i + k) % h->count], home = fab_fabric_peer_node(f, dst);
        for (uint32_t at = fab_fabric_peer_node(f, h->port[i]); at != home;) {
            uint32_t port =
                fab_fabric_port_id(f, at, fab_target_lft_at(&t->lft, at, t->lids.base[dst]));
            load[port]++;
            most = load[port] > most ? load[port] : most;
            at = fab_fabric_peer_node(f, port);
        }
    }
    return most;
}

/* Checks the shifts by 1, 1 + step, 1 + 2 * step and so on: no link may carry two flows. hosts:
 * expected number of hosts. Takes over f. */
static void assert_shifts(struct fab_fabric *f, uint32_t hosts, uint32_t step)
{
    struct fab_target *t = tree_taken(f, 0);
    struct hosts h = hosts_by_lid(f, t);
    uint32_t *load = calloc(f->port_count + 1, sizeof(*load));
    ck_assert_uint_eq(h.count, hosts);
    for (uint32_t k = 1; k < h.count; k += step)
        ck_assert_msg(shift(f, t, &h, k, load) == 1, "%u hosts, shift by %u", hosts, k);
    free(load);
    free(h.port);
    fab_target_unref(t);
    fab_fabric_unref(f);
}

START_TEST(shifts_are_free_of_conflict)
{
    assert_shifts(fat_tree(8, 3, 1), 128, 1);
    assert_shifts(fat_tree(36, 2, 1), 648, 1);
    assert_shifts(fat_tree(16, 3, 1), 1024, 1);
    assert_shifts(fat_tree(4, 4, 1), 32, 1);
}
END_TEST

static struct fab_fabric *pgft(const struct fab_pgft_spec *spec)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_pgft(spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(parallel_links_are_free_of_conflict)
{
    assert_shifts(
        pgft(&(struct fab_pgft_spec){.levels = 2, .m = {12, 6}, .w = {1, 4}, .p = {1, 3}}), 72, 1);
    assert_shifts(
        pgft(&(struct fab_pgft_spec){.levels = 3, .m = {8, 4, 4}, .w = {1, 4, 4}, .p = {1, 2, 2}}),
        128, 1);
}
END_TEST

/* The engine uses the positions of switches in the tree, and not their GUIDs. With other GUIDs, the
 * shifts must still be free of conflicts. */
START_TEST(guids_do_not_matter)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("GUIDs", 21));
    for (unsigned i = 0; i < 5; i++) {
        struct fab_fabric *plain = fat_tree(8, 3, 1), *f = retold(plain, &prng, i + 1);
        struct fab_target *t = tree_taken(f, 0);
        struct hosts h = {.port = calloc(f->port_count, sizeof(uint32_t))};
        uint32_t *load = calloc(f->port_count, sizeof(*load));
        for (uint32_t old = 0; old < plain->port_count; old++) {
            if (is_host(plain, old))
                h.port[h.count++] =
                    fab_fabric_port_by_guid(f, new_guid(fab_fabric_port(plain, old)->guid, i + 1));
        }
        ck_assert_uint_eq(h.count, 128);
        for (uint32_t k = 1; k < h.count; k++)
            ck_assert_uint_eq(shift(f, t, &h, k, load), 1);
        free(load);
        free(h.port);
        fab_target_unref(t);
        fab_fabric_unref(f);
        fab_fabric_unref(plain);
    }
}
END_TEST

/* The shift within each rail is free of conflicts. In it, adapter r of server i sends to adapter r
 * of server i + k. */
START_TEST(rails_are_free_of_conflict)
{
    static const struct fab_rail_spec specs[] = {
        {.servers = 60, .adapters = 4, .group_size = 10, .spines = 12, .parallel = 1},
        {.servers = 64, .adapters = 8, .group_size = 16, .spines = 8, .parallel = 2},
        {.servers = 60,
         .adapters = 4,
         .group_size = 10,
         .spines = 12,
         .parallel = 1,
         .cores = 2,
         .core_parallel = 1}};
    for (unsigned i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct fab_builder *b = NULL;
        ck_assert_int_eq(fab_fabric_generate_rail(&specs[i], &b), FAB_OK);
        struct fab_fabric *f = sealed(b);
        char why[200], suffix[24];
        struct fab_target *t = tree_routed(f, 0, why);
        ck_assert_msg(t != NULL && strstr(why, "rails") != NULL, "%s", why);
        uint32_t *load = calloc(f->port_count, sizeof(*load));
        for (uint32_t rail = 0; rail < specs[i].adapters; rail++) {
            struct hosts h = {.port = calloc(f->port_count, sizeof(uint32_t))};
            snprintf(suffix, sizeof(suffix), "/mlx5_%u", rail);
            for (uint32_t node = f->switch_count; node < f->node_count; node++) {
                const char *at = strchr(f->nodes[node].desc, '/');
                if (at != NULL && strcmp(at, suffix) == 0)
                    h.port[h.count++] = fab_fabric_port_id(f, node, 1);
            }
            ck_assert_uint_eq(h.count, specs[i].servers);
            for (uint32_t k = 1; k < h.count; k++)
                ck_assert_msg(shift(f, t, &h, k, load) == 1, "spec %u, rail %u, shift by %u", i,
                              rail, k);
            free(h.port);
        }
        free(load);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
}
END_TEST

/* Calls check() with the tree that the engine recognizes in f. Takes over f. */
static void with_tree(struct fab_fabric *f, void check(const struct fab_tree *t, uint32_t wanted),
                      uint32_t wanted)
{
    struct fab_policy p = defaults(0);
    struct fab_graph g;
    struct fab_order o;
    struct fab_updown u;
    struct fab_tree t;
    ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
    ck_assert_int_eq(fab_route_order_ranked(&g, f, &p, &o), FAB_OK);
    ck_assert_int_eq(fab_route_updown_make(&g, &o, &u), FAB_OK);
    ck_assert_int_eq(fab_route_tree_make(f, &g, &o, &u, &t), FAB_OK);
    check(&t, wanted);
    fab_route_tree_fini(&t);
    fab_route_updown_fini(&u);
    fab_route_order_fini(&o);
    fab_route_graph_fini(&g);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

static void check_numbers(const struct fab_tree *t, uint32_t rails)
{
    ck_assert_uint_eq(t->rails, rails);
    for (uint32_t a = 0; a < t->g->n; a++) {
        for (uint32_t b = 0; b < a && t->o->rank[a] == 0; b++)
            ck_assert_msg(t->o->rank[b] != 0 || t->number[a] != t->number[b],
                          "leaves %u and %u: number %u", a, b, t->number[a]);
    }
}

START_TEST(leaves_have_numbers_of_their_own)
{
    struct fab_rail_spec rails = {
        .servers = 60, .adapters = 4, .group_size = 10, .spines = 12, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_rail(&rails, &b), FAB_OK);
    with_tree(sealed(b), check_numbers, 4);
    rails.cores = 2;
    rails.core_parallel = 1;
    ck_assert_int_eq(fab_fabric_generate_rail(&rails, &b), FAB_OK);
    with_tree(sealed(b), check_numbers, 4);
    with_tree(fat_tree(8, 3, 1), check_numbers, 1);
}
END_TEST

/* The names of the adapters contain mlx5_0 to mlx5_3. These words, and not the order of the leaves,
 * must decide the order of the rails. */
START_TEST(rails_are_sorted_by_their_words)
{
    static const char *const words[][4] = {
        {"0", "1", "2", "3"}, {"3", "2", "1", "0"}, {"1", "3", "0", "2"}, {"2", "0", "3", "1"}};
    const struct fab_rail_spec spec = {
        .servers = 8, .adapters = 4, .group_size = 4, .spines = 2, .parallel = 1};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct fab_policy p = defaults(0);
        struct fab_builder *b = NULL;
        struct fab_graph g;
        struct fab_order o;
        ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), FAB_OK);
        struct fab_fabric *f = sealed(b);
        for (uint32_t node = f->switch_count; node < f->node_count; node++) {
            char *at = strstr(f->nodes[node].desc, "/mlx5_");
            if (at != NULL)
                at[6] = *words[i][at[6] - '0'];
        }
        uint32_t *rail = calloc(f->switch_count, sizeof(*rail)), leaves = 0;
        ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
        ck_assert_int_eq(fab_route_order_ranked(&g, f, &p, &o), FAB_OK);
        ck_assert_uint_eq(fab_route_tree_rails(f, &o, rail), 4);
        for (uint32_t port = 0; port < f->port_count; port++) {
            uint32_t node = fab_fabric_port(f, port)->node, sw = fab_fabric_peer_node(f, port);
            const char *at = strstr(f->nodes[node].desc, "/mlx5_");
            if (node < f->switch_count || at == NULL || sw >= f->switch_count)
                continue;
            ck_assert_uint_eq(rail[sw], (uint32_t)(at[6] - '0'));
            leaves++;
        }
        ck_assert_uint_eq(leaves, 8 * 4);
        free(rail);
        fab_route_order_fini(&o);
        fab_route_graph_fini(&g);
        fab_policy_fini(&p);
        fab_fabric_unref(f);
    }
}
END_TEST

/* Checks that the switches form at most `wanted` equivalence classes. The uplinks of all switches
 * of a class lead to the same switches, so the engine computes the entries of a class only once. */
static void check_classes(const struct fab_tree *t, uint32_t wanted)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < t->g->n; s++) {
        bool first = true;
        for (uint32_t other = 0; other < s; other++)
            first = first && t->port_class[2 * (size_t)other] != t->port_class[2 * (size_t)s];
        count += first;
    }
    printf("# %u switches, %u classes by upper ports\n", t->g->n, count);
    ck_assert_uint_le(count, wanted);
}

START_TEST(switches_with_the_same_ports_share_a_class)
{
    with_tree(fat_tree(8, 2, 1), check_classes, 3);
    with_tree(fat_tree(8, 3, 1), check_classes, 5);
    with_tree(leaf_spine(6, 3, 4), check_classes, 3);
}
END_TEST

/* ---- proof ----------------------------------------------------------------------------------- */

static void draw_pgft(struct fab_prng *prng, struct fab_pgft_spec *s)
{
    *s = (struct fab_pgft_spec){.levels = 2 + (uint32_t)fab_base_prng_below(prng, 3)};
    for (uint32_t l = 0; l < s->levels; l++) {
        s->m[l] = 1 + (uint32_t)fab_base_prng_below(prng, s->levels > 3 ? 3 : 6);
        s->w[l] = l == 0 ? 1 : 1 + (uint32_t)fab_base_prng_below(prng, s->levels > 3 ? 3 : 5);
        s->p[l] = l == 0 || fab_base_prng_below(prng, 3) != 0
                      ? 1
                      : 2 + (uint32_t)fab_base_prng_below(prng, 2);
    }
    s->w[0] = fab_base_prng_below(prng, 8) == 0 ? 2 : 1;
    s->radix = 0;
}

static struct fab_fabric *draw_tree(struct fab_prng *prng, char *what, size_t len)
{
    struct fab_pgft_spec s;
    uint32_t kind = (uint32_t)fab_base_prng_below(prng, 4);
    if (kind == 0) {
        uint32_t leaves = 1 + (uint32_t)fab_base_prng_below(prng, 10);
        uint32_t spines = 1 + (uint32_t)fab_base_prng_below(prng, 6);
        uint32_t spine_hosts = (uint32_t)fab_base_prng_below(prng, 3);
        uint32_t parallel = 1 + (uint32_t)fab_base_prng_below(prng, 3);
        snprintf(what, len, "modern %u %u %u %u", leaves, spines, spine_hosts, parallel);
        return modern_tree(leaves, spines, 5, spine_hosts, parallel);
    }
    if (kind == 1) {
        static const uint32_t trees[][3] = {{8, 2, 1},  {6, 3, 1}, {8, 3, 1},
                                            {12, 2, 2}, {4, 4, 1}, {8, 3, 3}};
        const uint32_t *k = trees[fab_base_prng_below(prng, 6)];
        snprintf(what, len, "fat tree %u %u %u", k[0], k[1], k[2]);
        return fat_tree(k[0], k[1], k[2]);
    }
    draw_pgft(prng, &s);
    snprintf(what, len, "pgft %u; %u %u %u %u; %u %u %u %u; %u %u %u %u", s.levels, s.m[0], s.m[1],
             s.m[2], s.m[3], s.w[0], s.w[1], s.w[2], s.w[3], s.p[0], s.p[1], s.p[2], s.p[3]);
    return pgft(&s);
}

START_TEST(damaged_trees_are_proven)
{
    struct fab_prng prng;
    char what[120], why[200];
    unsigned taken = 0, light = 0, light_taken = 0;
    fab_base_prng_init(&prng, test_seed("damaged trees", 22));
    for (unsigned i = 0; i < DAMAGED; i++) {
        struct fab_fabric *f = draw_tree(&prng, what, sizeof(what));
        double cables = i % 5 == 0 ? 0 : (double)fab_base_prng_below(&prng, 6) / 100;
        double switches = i % 4 == 0 ? (double)fab_base_prng_below(&prng, 10) / 100 : 0;
        bool whole = cables == 0 && switches == 0;
        f = damaged(f, &prng, cables, switches);
        if (i % 3 == 0) {
            struct fab_fabric *other = retold(f, &prng, i + 1);
            fab_fabric_unref(f);
            f = other;
        }
        struct fab_target *t = tree_routed(f, i % 7 == 0 ? (uint8_t)(1 + i % 3) : 0, why);
        light += whole;
        light_taken += whole && t != NULL;
        taken += t != NULL;
        if (t != NULL) {
            struct fab_verdict v = proven(f, t, 255);
            assert_good(f, &v, what);
            fab_verify_verdict_fini(&v);
            fab_target_unref(t);
        } else if (whole) {
            printf("# not taken: %s: %s\n", what, why);
        }
        fab_fabric_unref(f);
    }
    printf("# %u of %u taken; of whole ones %u of %u\n", taken, DAMAGED, light_taken, light);
    ck_assert_uint_gt(taken * 10, DAMAGED * 7);
}
END_TEST

/* For any topology that is not a tree, the engine must make tables that pass the proof, or refuse
 * the topology with a reason. */
START_TEST(anything_else_is_refused_or_proven)
{
    struct fab_prng prng;
    char why[200];
    unsigned taken = 0;
    fab_base_prng_init(&prng, test_seed("anything else", 23));
    for (unsigned i = 0; i < 600; i++) {
        uint32_t switches = 1 + (uint32_t)fab_base_prng_below(&prng, 20);
        uint32_t degree = 1 + (uint32_t)fab_base_prng_below(&prng, 6);
        struct fab_fabric *f = random_fabric(
            switches, degree, (uint32_t)fab_base_prng_below(&prng, 3), fab_base_prng_next(&prng));
        if (i % 3 == 0)
            f = damaged(f, &prng, 0.1, 0.05);
        struct fab_target *t = tree_routed(f, 0, why);
        if (t != NULL) {
            struct fab_verdict v = proven(f, t, 255);
            assert_good(f, &v, "random");
            fab_verify_verdict_fini(&v);
            fab_target_unref(t);
            taken++;
        }
        fab_fabric_unref(f);
    }
    printf("# %u taken\n", taken);
}
END_TEST

START_TEST(reasons_name_a_link)
{
    char why[200];
    struct fab_fabric *f = grid((uint32_t[3]){4, 4, 1}, true, 1);
    ck_assert_ptr_null(tree_routed(f, 0, why));
    ck_assert_msg(strstr(why, "no tree: 32 of 32 links") != NULL, "%s", why);
    ck_assert_msg(strstr(why, "sw-0001 port 1 with sw-0002 port") != NULL ||
                      strstr(why, " port ") != NULL,
                  "%s", why);
    fab_fabric_unref(f);
    f = grid((uint32_t[3]){4, 1, 1}, false, 0);
    ck_assert_ptr_null(tree_routed(f, 0, why));
    ck_assert_str_eq(why, "no tree: no switch has a host");
    fab_fabric_unref(f);
}
END_TEST

/* ---- what a fault moves ---------------------------------------------------------------------- */

struct moved {
    uint64_t entries, blocks, switches, hit, innocent;
};

/* Returns whether the path from switch sw to the LID uses the link of `port`, in either direction.
 */
static bool passes(const struct fab_fabric *f, const struct fab_target *t, uint32_t sw,
                   uint32_t lid, uint32_t cable)
{
    for (uint32_t hops = 0; hops < 64; hops++) {
        uint8_t num = fab_target_lft_at(&t->lft, sw, lid);
        uint32_t port = num != 255 ? fab_fabric_port_id(f, sw, num) : FAB_NONE;
        if (port == FAB_NONE || num == 0)
            return false;
        if (port == cable || fab_fabric_port(f, port)->peer == cable)
            return true;
        sw = fab_fabric_peer_node(f, port);
        if (sw >= f->switch_count)
            return false;
    }
    return false;
}

static struct moved compare(const struct fab_fabric *f, const struct fab_target *before,
                            const struct fab_target *after, uint32_t cable)
{
    struct moved m = {0};
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        const uint8_t *x = fab_target_lft_row(&before->lft, sw),
                      *y = fab_target_lft_row(&after->lft, sw);
        uint64_t here = 0, last = UINT64_MAX;
        for (uint32_t lid = 1; lid <= before->lids.top; lid++) {
            bool hit = passes(f, before, sw, lid, cable);
            m.hit += hit;
            if (x[lid] == y[lid])
                continue;
            here++;
            m.blocks += lid / 64 != last;
            last = lid / 64;
            m.innocent += !hit;
        }
        m.entries += here;
        m.switches += here > 0;
    }
    return m;
}

static struct fab_fabric *without(const struct fab_fabric *f, uint32_t port)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t ref;
    ck_assert_int_eq(
        fab_fabric_builder_find_node(b, f->nodes[fab_fabric_port(f, port)->node].guid, &ref),
        FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, port)->num), FAB_OK);
    return sealed(b);
}

/* Frees f, a complete tree. Lets each link fail alone. The entries whose paths used the link must
 * change. Of the other entries, for example those for LIDs of upper switches, at most 5 % may
 * change. */
static void assert_still(struct fab_fabric *f, const char *what)
{
    struct fab_target *before = tree_taken(f, 0);
    uint64_t sum = 0, hit = 0, innocent = 0, cables = 0;
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!naive_is_channel(f, port) || fab_fabric_port(f, port)->peer < port)
            continue;
        struct fab_fabric *broken = without(f, port);
        struct fab_target *during = tree_taken(broken, 0), *after = tree_taken(f, 0);
        struct moved m = compare(f, before, during, port);
        sum += m.entries;
        hit += m.hit;
        innocent += m.innocent;
        cables++;
        ck_assert_mem_eq(before->lft.entries, after->lft.entries,
                         before->lft.stride * before->lft.switch_count);
        fab_target_unref(during);
        fab_target_unref(after);
        fab_fabric_unref(broken);
    }
    printf("# %s: a cable carries %.1f ways, %.1f entries move, %.2f that did not go over it\n",
           what, (double)hit / (double)cables, (double)sum / (double)cables,
           (double)innocent / (double)cables);
    ck_assert_uint_le(innocent * 20, sum);
    ck_assert_uint_le(sum, hit + hit / 20);
    fab_target_unref(before);
    fab_fabric_unref(f);
}

START_TEST(a_fault_moves_what_it_hits)
{
    assert_still(fat_tree(8, 2, 1), "radix 8, 2 levels");
    assert_still(fat_tree(8, 3, 1), "radix 8, 3 levels");
    assert_still(fat_tree(8, 3, 3), "radix 8, 3 levels, taper 3");
    assert_still(pgft(&(struct fab_pgft_spec){.levels = 2, .m = {12, 6}, .w = {1, 4}, .p = {1, 3}}),
                 "parallel cables");
}
END_TEST

static void assert_same_tables(const struct fab_target *a, const struct fab_target *b)
{
    ck_assert_uint_eq(a->lft.stride, b->lft.stride);
    ck_assert_mem_eq(a->lft.entries, b->lft.entries, a->lft.switch_count * a->lft.stride);
}

START_TEST(the_order_of_discovery_changes_nothing)
{
    struct fab_prng prng;
    char what[120], why[200];
    fab_base_prng_init(&prng, test_seed("order of discovery", 24));
    for (unsigned i = 0; i < 200; i++) {
        struct fab_fabric *f = damaged(draw_tree(&prng, what, sizeof(what)), &prng, 0.02, 0);
        struct fab_fabric *again = retold(f, &prng, 0);
        struct fab_target *a = tree_routed(f, 0, why), *b = tree_routed(again, 0, why);
        ck_assert_int_eq(a == NULL, b == NULL);
        if (a != NULL)
            assert_same_tables(a, b);
        fab_target_unref(a);
        fab_target_unref(b);
        fab_fabric_unref(f);
        fab_fabric_unref(again);
    }
}
END_TEST

/* Gives ports the LIDs of other ports. all: exchanges the LIDs of all ports; otherwise those of one
 * port in ten. */
static void shuffle_lids(struct fab_lids *lids, struct fab_prng *prng, bool all)
{
    for (uint32_t i = lids->port_count; i-- > 1;) {
        uint32_t j = (uint32_t)fab_base_prng_below(prng, i + 1), base = lids->base[i];
        if (base == 0 || lids->base[j] == 0 || (!all && !fab_base_prng_chance(prng, 0.1)))
            continue;
        lids->base[i] = lids->base[j];
        lids->base[j] = base;
    }
    free(lids->owner);
    lids->owner = NULL;
    ck_assert_int_eq(fab_target_lids_index(lids), FAB_OK);
}

/* The engine copies the entries for consecutive LIDs at once, which it cannot do if LIDs are
 * scattered. Even so, each endport must be reached over the same links as with ordered LIDs. */
START_TEST(lids_do_not_matter)
{
    struct fab_prng prng;
    char what[120], why[200];
    fab_base_prng_init(&prng, test_seed("LIDs", 25));
    for (unsigned i = 0; i < 200; i++) {
        struct fab_policy p = defaults(0);
        struct fab_fabric *f = draw_tree(&prng, what, sizeof(what));
        f = i % 2 == 0 ? f : damaged(f, &prng, 0.03, 0);
        struct fab_target *a = tree_routed(f, 0, why), *b = fab_target_new();
        assigned(f, &p, &b->lids);
        shuffle_lids(&b->lids, &prng, i % 3 == 0);
        struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &b->lids};
        int status = fab_route_engine_by_name("fattree")->run(&in, &b->lft, &b->vls, why, 200);
        ck_assert_int_eq(a == NULL, status != FAB_OK);
        for (uint32_t port = 0; a != NULL && port < f->port_count; port++) {
            for (uint32_t sw = 0; a->lids.base[port] != 0 && sw < f->switch_count; sw++)
                ck_assert_msg(fab_target_lft_at(&a->lft, sw, a->lids.base[port]) ==
                                  fab_target_lft_at(&b->lft, sw, b->lids.base[port]),
                              "%s: from switch %u to port %u", what, sw, port);
        }
        fab_target_unref(a);
        fab_target_unref(b);
        fab_fabric_unref(f);
        fab_policy_fini(&p);
    }
}
END_TEST

START_TEST(a_switch_that_goes_leaves_the_others_in_place)
{
    struct fab_fabric *f = fat_tree(12, 3, 1);
    struct fab_target *before = tree_taken(f, 0);
    for (uint32_t sw = 3; sw < f->switch_count; sw += 17) {
        struct fab_builder *b = fab_fabric_builder_from(f);
        uint32_t ref;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
        struct fab_fabric *rest = sealed(b);
        struct fab_policy p = defaults(0);
        struct fab_target *t = fab_target_new();
        char why[200] = "";
        ck_assert_int_eq(fab_target_lids_init(&t->lids, rest->port_count), FAB_OK);
        for (uint32_t port = 0; port < rest->port_count; port++) {
            uint64_t guid = fab_fabric_port(rest, port)->guid;
            uint32_t old = guid != 0 ? fab_fabric_port_by_guid(f, guid) : FAB_NONE;
            t->lids.base[port] = old != FAB_NONE ? before->lids.base[old] : 0;
        }
        ck_assert_int_eq(fab_target_lids_index(&t->lids), FAB_OK);
        struct fab_route_input in = {.fabric = rest, .policy = &p, .lids = &t->lids};
        ck_assert_int_eq(fab_route_engine_by_name("fattree")->run(&in, &t->lft, &t->vls, why, 200),
                         FAB_OK);
        uint64_t moved = 0, all = 0;
        for (uint32_t s = 0; s < rest->switch_count; s++) {
            uint32_t old = s < sw ? s : s + 1;
            for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
                if (t->lids.owner[lid] == FAB_NONE)
                    continue;
                all++;
                moved +=
                    fab_target_lft_at(&t->lft, s, lid) != fab_target_lft_at(&before->lft, old, lid);
            }
        }
        ck_assert_msg(moved * 12 < all, "%s: %" PRIu64 " of %" PRIu64, f->nodes[sw].desc, moved,
                      all);
        fab_target_unref(t);
        fab_fabric_unref(rest);
    }
    fab_target_unref(before);
    fab_fabric_unref(f);
}
END_TEST

/* ---- slow links ------------------------------------------------------------------------------ */

static bool leads_to_spine(const struct fab_fabric *f, uint32_t port)
{
    return naive_is_channel(f, port) && fab_fabric_port(f, port)->peer > port;
}

/* Makes a link between switches slower, by setting LinkWidthActive of both ports to `width`. */
static void slow_down(struct fab_fabric *f, uint32_t port, uint8_t width)
{
    fab_fabric_edit_port(f, port)->info.width_active = width;
    fab_fabric_edit_port(f, fab_fabric_port(f, port)->peer)->info.width_active = width;
}

/* Makes `count` uplinks of the switch slower (links to switches with higher ids). Returns the port
 * of the first of them. */
static uint32_t slow_uplinks(struct fab_fabric *f, uint32_t sw, uint32_t count, uint8_t width)
{
    uint32_t first = FAB_NONE, found = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports && found < count; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
        if (!leads_to_spine(f, port))
            continue;
        slow_down(f, port, width);
        first = found++ == 0 ? port : first;
    }
    ck_assert_uint_eq(found, count);
    return first;
}

/* Counts the LFT entries of both ends of a link that send packets for hosts over this link. */
static uint32_t host_entries(const struct fab_fabric *f, const struct fab_target *t, uint32_t port)
{
    uint32_t entries = 0, ends[2] = {port, fab_fabric_port(f, port)->peer};
    for (unsigned i = 0; i < 2; i++) {
        const struct fab_port *p = fab_fabric_port(f, ends[i]);
        for (uint32_t lid = 1; lid <= t->lids.top; lid++)
            entries += t->lids.owner[lid] != FAB_NONE && is_host(f, t->lids.owner[lid]) &&
                       fab_target_lft_at(&t->lft, p->node, lid) == p->num;
    }
    return entries;
}

static uint32_t worst_shift(const struct fab_fabric *f, const struct fab_target *t)
{
    struct fab_quality q;
    struct fab_quality_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft};
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    ck_assert_uint_eq(q.lost, 0);
    return q.shift.max;
}

/* Some of the eight uplinks of a leaf with eight hosts are slow. One link at a quarter of the rate
 * must not be used, so that no flow of a shift gets less than half of a link. If all links are
 * equally slow, all must be used. A link at half of the rate must be used. shift: the greatest load
 * that any shift may cause. */
START_TEST(slow_links_are_left_out)
{
    static const struct {
        uint32_t count, shift;
        uint8_t width; /* LinkWidthActive: 1 means 1x, 16 means 2x */
        bool used;
    } cases[] = {{1, 2, 1, false}, {2, 3, 1, false}, {8, 4, 1, true}, {1, 4, 16, true}};
    for (unsigned i = 0; i < 4; i++) {
        struct fab_fabric *f = leaf_spine(6, 8, 8);
        uint32_t port = slow_uplinks(f, 2, cases[i].count, cases[i].width);
        struct fab_target *t = tree_taken(f, 0);
        uint32_t entries = host_entries(f, t, port), shift = worst_shift(f, t);
        ck_assert_msg((entries > 0) == cases[i].used, "case %u: %u entries", i, entries);
        ck_assert_msg(shift <= cases[i].shift, "case %u: %u flows", i, shift);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
}
END_TEST

/* All links of one spine run at a quarter of the rate. No flow of a shift may use this spine,
 * because such a flow would count as a load of four. The switch itself must stay reachable. */
START_TEST(a_slow_spine_is_not_cut_off)
{
    struct fab_fabric *f = leaf_spine(6, 8, 8);
    uint32_t spine = FAB_NONE;
    for (uint32_t port = 0; spine == FAB_NONE; port++) {
        if (leads_to_spine(f, port))
            spine = fab_fabric_peer_node(f, port);
    }
    for (unsigned num = 1; num <= f->nodes[spine].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, spine, (uint8_t)num);
        if (naive_is_channel(f, port))
            slow_down(f, port, 1);
    }
    struct fab_target *t = tree_taken(f, 0);
    ck_assert_uint_le(worst_shift(f, t), 3);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        slow_links_are_left_out,
        a_slow_spine_is_not_cut_off,
        shifts_are_free_of_conflict,
        parallel_links_are_free_of_conflict,
        guids_do_not_matter,
        rails_are_free_of_conflict,
        rails_are_sorted_by_their_words,
        leaves_have_numbers_of_their_own,
        switches_with_the_same_ports_share_a_class,
        damaged_trees_are_proven,
        anything_else_is_refused_or_proven,
        reasons_name_a_link,
        a_fault_moves_what_it_hits,
        the_order_of_discovery_changes_nothing,
        lids_do_not_matter,
        a_switch_that_goes_leaves_the_others_in_place,
    };
    Suite *suite = suite_create("fattree");
    TCase *tcase = tcase_create("fattree");
    tcase_set_timeout(tcase, 240);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
