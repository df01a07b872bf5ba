/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs of single faults and of a few faults at once, with all checks. Also special cases: a
 * counter overflows, or entries drop packets. */
#include "tests/unit/repair_world.h"

/* Lets each link of a tree fail alone. Every repair must find paths for all entries, so that no
 * engine must run. */
START_TEST(lone_faults_in_trees_are_repaired)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("lone faults in trees", 3));
    struct {
        const char *name, *engine;
        struct fab_fabric *f;
    } all[] = {{"fat tree of 2 levels", "fattree", fat_tree(8, 2, 1)},
               {"fat tree of 3 levels", "fattree", fat_tree(8, 3, 1)},
               {"small one", "fattree", fat_tree(4, 3, 1)},
               {"tapered", "fattree", fat_tree(8, 3, 3)},
               {"leaves and spines, updn", "updn", leaf_spine(6, 3, 4)},
               {"cables side by side", "updn", modern_tree(3, 3, 1, 0, 2)}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = world_new(all[i].name, all[i].f, all[i].engine);
        w->looked_at = w->count < 100;
        for (uint32_t k = 0; k < w->count; k++) {
            w->dead[k] = true;
            w->lone = true;
            ck_assert_msg(change_to(w, w->dead, &prng), "%s: cable %u", w->name, k);
            ck_assert_msg(w->lost == 0, "%s: cable %u: ways left out", w->name, k);
            w->dead[k] = w->lone = false;
            ck_assert(change_to(w, w->dead, &prng));
        }
        run_sequence(w, &prng, 0);
    }
}
END_TEST

static struct fab_fabric *hypercube(void)
{
    struct fab_hypercube_spec spec = {.dimensions = 4, .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_hypercube(&spec, &b), FAB_OK);
    return sealed(b);
}

/* No order of the switches fits these tables, so the labels are derived from chains of channel
 * dependencies. Checks which part of the single faults can be repaired. The limits are slightly
 * below the measured values. With only one set of labels, it would be 0 to 40 %. */
START_TEST(lone_faults_by_chains)
{
    static const uint32_t torus[3] = {4, 3, 1}, mesh[3] = {4, 4, 1};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("lone faults by chains", 5));
    struct {
        const char *name, *engine;
        struct fab_fabric *f;
        unsigned at_least; /* at least this percentage of single faults must be repaired */
    } all[] = {{"HyperX, dor", "dor", hyperx(), 100},
               {"hypercube, dor", "dor", hypercube(), 95},
               {"mesh, dor", "dor", grid(mesh, false, 1), 70},
               {"torus, nue", "nue", grid(torus, true, 2), 60},
               {"dragonfly, nue", "nue", dragonfly(), 95},
               {"dragonfly, dfsssp", "dfsssp", dragonfly(), 95}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = world_new(all[i].name, all[i].f, all[i].engine);
        w->looked_at = w->sets_compared = true;
        for (uint32_t k = 0; k < w->count; k++) {
            w->dead[k] = true;
            change_to(w, w->dead, &prng);
            w->dead[k] = false;
            ck_assert(change_to(w, w->dead, &prng));
        }
        unsigned in_place = w->count - w->refused - w->lost;
        printf("# %s: %u of %u cables, %u by later labels\n", w->name, in_place, w->count,
               w->later_sets);
        ck_assert_uint_ge(100 * in_place, all[i].at_least * w->count);
        run_sequence(w, &prng, 0);
    }
}
END_TEST

/* Each pair of links fails at once, and then a random third link. One case, in the random fabric:
 * the repair moves a switch above another one in the order, although the link between them is also
 * dead. */
START_TEST(pairs_of_faults)
{
    struct fab_prng prng;
    unsigned unclaimed = 0;
    fab_base_prng_init(&prng, test_seed("pairs of faults", 6));
    struct {
        const char *name, *engine;
        struct fab_fabric *f;
    } all[] = {{"random, pairs", "updn", random_fabric(10, 3, 1, 879)},
               {"cables side by side, pairs", "updn", modern_tree(3, 3, 1, 0, 2)},
               {"tree, pairs", "fattree", fat_tree(4, 3, 1)}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = world_new(all[i].name, all[i].f, all[i].engine);
        w->looked_at = true;
        for (uint32_t k = 0; k < w->count * w->count; k++) {
            uint32_t one = k / w->count, other = k % w->count;
            if (other <= one)
                continue;
            w->dead[one] = w->dead[other] = true;
            change_to(w, w->dead, &prng);
            w->dead[fab_base_prng_below(&prng, w->count)] = true;
            change_to(w, w->dead, &prng);
            memset(w->dead, 0, w->count * sizeof(*w->dead));
        }
        unclaimed += w->unclaimed;
        run_sequence(w, &prng, 0);
    }
    printf("# pairs of faults: %u deltas lose more than one entry\n", unclaimed);
    ck_assert_uint_gt(unclaimed, 0);
}
END_TEST

/* For each switch, the repair notes for which LID it last computed a path length: not the LID, but
 * a number of 32 bits that is incremented for each LID. When this number overflows, old path
 * lengths must not seem valid again. */
START_TEST(the_counter_of_columns_overflows)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("counter of columns", 7));
    for (uint32_t before = 0; before < 12; before++) {
        struct world *w = world_new("counter", fat_tree(4, 3, 1), "fattree");
        for (uint32_t k = 0; k < 6; k++) {
            w->dead[k] = true;
            ck_assert(change_to(w, w->dead, &prng));
            w->dead[k] = false;
            ck_assert(change_to(w, w->dead, &prng));
            if (k == 2)
                w->repair->column.epoch = UINT32_MAX - before;
        }
        ck_assert_uint_lt(w->repair->column.epoch, UINT32_MAX / 2);
        run_sequence(w, &prng, 0);
    }
}
END_TEST

/* If a repair finds no path for an entry, the entry drops packets. When the links are back, a delta
 * that leaves such an entry as it is must fail the proof. */
START_TEST(what_drops_packets_must_not_stay)
{
    struct world *w = world_new("drops", fat_tree(4, 3, 1), "fattree");
    uint32_t *ports = calloc(w->count + 1, sizeof *ports), lost = 0;
    struct fab_repair_delta d, back;
    struct fab_repair_change at;
    struct fab_prng prng;
    char why[160] = "";
    fab_base_prng_init(&prng, test_seed("drops", 9));
    for (uint32_t i = 0; i < 200; i++) {
        memset(w->dead, 0, w->count * sizeof *w->dead);
        for (uint32_t k = 0; k < 6; k++)
            w->dead[fab_base_prng_below(&prng, w->count)] = true;
        uint32_t count = list_dead(w, w->dead, ports);
        int status = fab_repair_plan(w->repair, &w->lft, ports, count, &d, why, sizeof why);
        if (status == FAB_E_UNSUPPORTED)
            continue;
        ck_assert_int_eq(status, FAB_OK);
        fab_repair_commit(w->repair, &w->lft, &d);
        ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, ports, 0, &back, why, sizeof why),
                         FAB_OK);
        ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &back, &at), FAB_OK);
        struct fab_repair_delta nothing = back;
        nothing.changes = 0;
        check_spoiled(w, w->whole, &nothing);
        lost += d.lost > 0;
        fab_repair_delta_fini(&d);
        fab_repair_commit(w->repair, &w->lft, &back);
        fab_repair_delta_fini(&back);
    }
    printf("# drops: %u repairs with losses; of changes left out %u caught, %u harmless\n", lost,
           w->caught, w->harmless);
    ck_assert_uint_gt(lost, 5);
    ck_assert_uint_gt(w->caught, 20);
    free(ports);
    world_free(w);
}
END_TEST

/* Sets reached[] to whether a path with ascending labels leads from the switch `from` to each
 * switch. */
static void follow_labels(const struct fab_repair *r, uint32_t from, bool *reached)
{
    const struct fab_repair_network *b = r->network;
    bool *used = calloc(b->ports, 1), more = true;
    memset(reached, 0, b->n);
    reached[from] = true;
    for (uint32_t port = b->first[from]; port < b->first[from + 1]; port++)
        used[port] = b->peer_sw[port] != FAB_NONE && !fab_base_bits_get(r->is_dead, port);
    while (more) {
        more = false;
        for (uint32_t in = 0; in < b->ports; in++) {
            uint32_t at = used[in] ? b->peer_sw[in] : FAB_NONE;
            if (at == FAB_NONE)
                continue;
            reached[at] = true;
            for (uint32_t out = b->first[at]; out < b->first[at + 1]; out++) {
                if (b->peer_sw[out] == FAB_NONE || fab_base_bits_get(r->is_dead, out) ||
                    used[out] || r->label[in] >= r->label[out])
                    continue;
                used[out] = more = true;
            }
        }
    }
    free(used);
}

/* With the links of d->dead dead, follows all paths between switches link by link. The sets of
 * maxima (doc/glossary.md) must say of the same pairs that they have a path. Returns the number of
 * pairs without a path. */
static unsigned compare_maxima(struct world *w, const struct fab_repair_delta *d)
{
    struct fab_repair *r = w->repair;
    bool *reached = calloc(r->network->n, 1);
    unsigned without = 0;
    fab_repair_apply_dead(r, d);
    r->maxima_known = false;
    ck_assert_int_eq(fab_repair_maxima_find(r), FAB_OK);
    for (uint32_t from = 0; from < r->network->n; from++) {
        follow_labels(r, from, reached);
        for (uint32_t to = 0; to < r->network->n; to++) {
            ck_assert_msg(reached[to] == fab_repair_may_reach(r, from, to),
                          "%s: from switch %u to switch %u", w->name, from, to);
            without += !reached[to];
        }
    }
    fab_repair_undo_dead(r, d);
    free(reached);
    return without;
}

/* A spine next to the root of the order fails. In the order of the baseline, only this spine
 * connects its plane of the tree with the root. The repair must find a path for every entry, by
 * means of a new order, and without a search over all channels. */
START_TEST(spines_beside_the_root_fail)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("spines beside the root", 11));
    struct {
        const char *name;
        struct fab_fabric *f;
    } all[] = {{"fat tree of 3 levels", fat_tree(6, 3, 1)}, {"tapered", fat_tree(8, 3, 3)}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = world_new(all[i].name, all[i].f, "fattree");
        const struct fab_repair_network *b = w->repair->network;
        w->looked_at = true;
        uint32_t root = 0, *ports = calloc(w->count + 1, sizeof(*ports));
        for (uint32_t sw = 0; sw < b->n; sw++)
            root = b->order[sw] > b->order[root] ? sw : root;
        for (uint32_t port = b->first[root]; port < b->first[root + 1]; port++) {
            uint32_t spine = b->peer_sw[port];
            struct fab_repair_delta d;
            char why[160] = "";
            for (uint32_t k = 0; k < w->count; k++)
                w->dead[k] = fab_fabric_port(w->whole, w->cables[k])->node == spine ||
                             fab_fabric_peer_node(w->whole, w->cables[k]) == spine;
            uint32_t count = list_dead(w, w->dead, ports);
            if (spine == FAB_NONE)
                continue;
            ck_assert_int_eq(
                fab_repair_plan(w->repair, &w->lft, ports, count, &d, why, sizeof(why)), FAB_OK);
            ck_assert_uint_eq(d.lost, 0);
            ck_assert_uint_eq(w->repair->relax_work, 0);
            /* only the spine itself has no path */
            ck_assert_uint_eq(compare_maxima(w, &d), 2 * (b->n - 1));
            fab_repair_delta_fini(&d);
            ck_assert(change_to(w, w->dead, &prng));
        }
        ck_assert_uint_eq(w->lost, 0);
        free(ports);
        run_sequence(w, &prng, 0);
    }
}
END_TEST

/* Random links fail. In some repairs, relabelled switches change the order. The sets of maxima must
 * still say which pairs of switches have a path. */
START_TEST(maxima_tell_which_paths_exist)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("maxima", 12));
    unsigned without = 0;
    for (uint32_t i = 0; i < 60; i++) {
        struct world *w =
            i % 2 == 0 ? world_new("tree, maxima", fat_tree(4, 3, 1), "fattree")
                       : world_new("random, maxima",
                                   random_fabric(12, 4, 1, fab_base_prng_below(&prng, UINT32_MAX)),
                                   "updn");
        uint32_t *ports = calloc(w->count + 1, sizeof(*ports));
        struct fab_repair_delta d;
        char why[160] = "";
        for (uint32_t k = 0; k < 1 + i / 8; k++)
            w->dead[fab_base_prng_below(&prng, w->count)] = true;
        uint32_t count = list_dead(w, w->dead, ports);
        if (fab_repair_plan(w->repair, &w->lft, ports, count, &d, why, sizeof(why)) == FAB_OK) {
            without += compare_maxima(w, &d);
            fab_repair_delta_fini(&d);
        }
        free(ports);
        world_free(w);
    }
    printf("# maxima: %u pairs of switches without a path\n", without);
    ck_assert_uint_gt(without, 100);
}
END_TEST

/* Follows the path from a switch to a LID, and adds `paths` to the load of each channel. The path
 * may end before it reaches the LID. Returns its length. */
static uint32_t add_path(const struct world *w, const struct fab_lft *lft, uint32_t sw,
                         uint32_t lid, int64_t paths, int64_t *load)
{
    const struct fab_fabric *f = w->whole;
    uint32_t home = fab_fabric_peer_node(f, w->base->lids.owner[lid]), hops = 0;
    for (; sw != home; hops++) {
        uint8_t num = fab_target_lft_at(lft, sw, lid);
        if (num > f->nodes[sw].num_ports)
            break;
        uint32_t channel = fab_fabric_port_id(f, sw, num);
        load[channel] += paths;
        sw = fab_fabric_peer_node(f, channel);
        ck_assert_uint_lt(hops, 20);
    }
    return hops;
}

static bool is_of_endport(const struct world *w, uint32_t lid)
{
    uint32_t owner = w->base->lids.owner[lid];
    return owner != FAB_NONE &&
           !fab_fabric_node_is_switch(w->whole, fab_fabric_port(w->whole, owner)->node);
}

/* Counts the paths between all LIDs of endports, one path after the other. load[] gets the number
 * of paths over each channel. Returns the number of these LIDs. */
static uint32_t count_paths(const struct world *w, const struct fab_lft *lft, int64_t *load)
{
    uint32_t lids = 0, top = w->base->lids.top;
    memset(load, 0, w->repair->network->ports * sizeof(*load));
    for (uint32_t lid = 1; lid <= top; lid++) {
        if (!is_of_endport(w, lid))
            continue;
        lids++;
        for (uint32_t from = 1; from <= top; from++)
            if (is_of_endport(w, from))
                add_path(w, lft, fab_fabric_peer_node(w->whole, w->base->lids.owner[from]), lid, 1,
                         load);
    }
    return lids;
}

static void assert_loads(const struct world *w, const int64_t *want, const int64_t *is)
{
    for (uint32_t port = 0; port < w->repair->network->ports; port++)
        ck_assert_msg(is[port] == want[port], "%s: channel %u has the load %lld, not %lld", w->name,
                      port, (long long)is[port], (long long)want[port]);
}

/* Computes the load of each channel into want[], path by path. The loads that the repair keeps must
 * be the same. */
static void assert_counted(const struct world *w, int64_t *want)
{
    ck_assert_uint_gt(count_paths(w, &w->lft, want), 0);
    ck_assert_int_eq(fab_repair_balance_count(w->repair, &w->lft), FAB_OK);
    assert_loads(w, want, w->repair->balance.load);
}

/* Commits a repair for the dead links cables[count]. Checks the loads before and after it. */
static void repair_and_count(struct world *w, const uint32_t *cables, uint32_t count, int64_t *want)
{
    struct fab_repair_delta d;
    char why[160] = "";
    assert_counted(w, want);
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, cables, count, &d, why, sizeof(why)),
                     FAB_OK);
    /* planning alone must change no load */
    assert_loads(w, want, w->repair->balance.load);
    fab_repair_commit(w->repair, &w->lft, &d);
    assert_counted(w, want);
    assert_counted(w, want); /* a second count must give the same loads */
    fab_repair_delta_fini(&d);
}

/* A rebalance chooses paths by link loads. After each repair, these loads must be those of the
 * present tables. */
START_TEST(loads_follow_the_tables)
{
    struct world *all[] = {world_new("fat tree, loads", fat_tree(8, 2, 1), "fattree"),
                           world_new("3 levels, loads", fat_tree(4, 3, 1), "fattree"),
                           world_new("tapered, loads", leaf_spine(6, 3, 4), "updn")};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = all[i];
        int64_t *want = calloc(w->repair->network->ports, sizeof(*want));
        for (uint32_t cable = 0; cable < w->count; cable += 3) {
            repair_and_count(w, &w->cables[cable], 1, want);
            repair_and_count(w, NULL, 0, want);
        }
        free(want);
        world_free(w);
    }
}
END_TEST

/* Another thread sets `stop` to interrupt a repair. Then neither the plan nor the proof goes on. */
START_TEST(a_stopped_repair_is_busy)
{
    struct world *w = world_new("tree", fat_tree(4, 3, 1), "fattree");
    struct fab_repair_delta d, none;
    struct fab_repair_change at;
    char why[160] = "";
    int stop = 0;
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, &w->cables[0], 1, &d, why, sizeof(why)),
                     FAB_OK);
    ck_assert_uint_gt(d.changes, 0);
    w->repair->stop = &stop;
    ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_OK);
    stop = 1;
    ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_E_BUSY);
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, &w->cables[0], 1, &none, why, sizeof(why)),
                     FAB_E_BUSY);
    w->repair->stop = NULL;
    ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_OK);
    fab_repair_delta_fini(&d);
    world_free(w);
}
END_TEST

/* Returns the greatest number of links on the new paths that begin at changed entries. */
static uint32_t longest_path(const struct world *w, const struct fab_repair_delta *d)
{
    const struct fab_repair_network *b = w->repair->network;
    struct fab_lft lft = copy_of(&w->lft);
    uint32_t longest = 0;
    for (size_t i = 0; i < d->changes; i++)
        fab_target_lft_row(&lft, d->change[i].sw)[d->change[i].lid] = d->change[i].now;
    for (size_t i = 0; i < d->changes; i++) {
        uint32_t links = 0, lid = d->change[i].lid;
        for (uint32_t sw = d->change[i].sw; sw != b->home[lid]; links++)
            sw = b->peer_sw[b->first[sw] + fab_target_lft_at(&lft, sw, lid)];
        longest = links > longest ? links : longest;
    }
    fab_target_lft_fini(&lft);
    return longest;
}

/* A path passes one switch more than links. */
START_TEST(long_paths_fail_the_proof)
{
    static const uint32_t mesh[3] = {5, 4, 1};
    struct world *all[] = {world_new("mesh", grid(mesh, false, 1), "updn"),
                           world_new("tree", fat_tree(4, 3, 1), "fattree")};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = all[i];
        struct fab_repair_network *b = w->repair->network;
        const uint32_t max_hops = b->max_hops;
        for (uint32_t cable = 0; cable < w->count; cable++) {
            struct fab_repair_delta d;
            struct fab_repair_change at;
            char why[160] = "";
            if (fab_repair_plan(w->repair, &w->lft, &w->cables[cable], 1, &d, why, sizeof(why)) !=
                FAB_OK)
                continue;
            uint32_t longest = d.lost + d.cut == 0 ? longest_path(w, &d) : 0;
            b->max_hops = longest + 1;
            if (longest > 0)
                ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_OK);
            b->max_hops = longest;
            if (longest > 0)
                ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_E_LIMIT);
            b->max_hops = max_hops;
            w->done += longest > 0;
            fab_repair_delta_fini(&d);
        }
        ck_assert_uint_gt(w->done, w->count / 3);
        world_free(w);
    }
}
END_TEST

int main(void)
{
    const struct repair_case all[] = {{"lone faults", lone_faults_in_trees_are_repaired},
                                      {"lone faults by chains", lone_faults_by_chains},
                                      {"pairs", pairs_of_faults},
                                      {"counter", the_counter_of_columns_overflows},
                                      {"drops", what_drops_packets_must_not_stay},
                                      {"spines beside the root", spines_beside_the_root_fail},
                                      {"maxima", maxima_tell_which_paths_exist},
                                      {"loads", loads_follow_the_tables},
                                      {"long paths", long_paths_fail_the_proof},
                                      {"stop", a_stopped_repair_is_busy}};
    return test_run(repair_suite("repair single", all, sizeof(all) / sizeof(*all)));
}
