/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingencies (libfabmgr/repair/contingency/contingency.h) on several topology families. The
 * maker computes a plan for every failure, and the collection stores the plans. The writes of a
 * stored plan must be byte by byte those of a repair that is computed after the failure. The
 * quality figures of a plan must be those that result from following every path.
 */
#include "tests/unit/contingency_world.h"

static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
           fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node);
}

/* ---- expected results, computed slowly ------------------------------------------------------- */

static bool is_dead(const struct fab_repair_delta *d, uint32_t port)
{
    for (size_t i = 0; i < d->deads; i++)
        if (d->dead[i] == port)
            return true;
    return false;
}

static uint32_t hosts_at(const struct fab_fabric *f, uint32_t sw)
{
    uint32_t hosts = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
        hosts += peer != FAB_NONE && !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node);
    }
    return hosts;
}

/* Applies the delta to a copy of the tables. Returns the number of paths over the channel with the
 * most paths, without the channels of dead links. */
static uint64_t worst_load(const struct world *w, const struct fab_repair_delta *d)
{
    const struct fab_fabric *f = w->f;
    struct fab_lft lft = copy_of(&w->lft);
    uint64_t *load = calloc(f->port_count, sizeof(*load)), worst = 0;
    for (size_t i = 0; i < d->changes; i++)
        fab_target_lft_row(&lft, d->change[i].sw)[d->change[i].lid] = d->change[i].now;
    for (uint32_t from = 0; from < f->switch_count; from++) {
        for (uint32_t lid = 1; lid <= w->base->lids.top; lid++) {
            uint32_t owner = w->base->lids.owner[lid], sw = from;
            if (owner == FAB_NONE || fab_fabric_node_is_switch(f, fab_fabric_port(f, owner)->node))
                continue;
            for (unsigned hops = 0; hops < 64; hops++) {
                uint8_t num = fab_target_lft_at(&lft, sw, lid);
                uint32_t port =
                    num <= f->nodes[sw].num_ports ? fab_fabric_port_id(f, sw, num) : FAB_NONE;
                if (port == FAB_NONE || !is_trunk(f, port))
                    break;
                load[port] += hosts_at(f, from);
                sw = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node;
            }
        }
    }
    for (uint32_t port = 0; port < f->port_count; port++)
        if (!is_dead(d, port) && load[port] > worst)
            worst = load[port];
    free(load);
    fab_target_lft_fini(&lft);
    return worst;
}

static uint32_t ends_together(const struct fab_fabric *f, const struct fab_repair_delta *d,
                              uint32_t from, bool *seen)
{
    uint32_t ends = hosts_at(f, from);
    seen[from] = true;
    for (unsigned num = 1; num <= f->nodes[from].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, from, (uint8_t)num);
        if (is_trunk(f, port) && !is_dead(d, port) &&
            !seen[fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node])
            ends +=
                ends_together(f, d, fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node, seen);
    }
    return ends;
}

static uint32_t lost_ends(const struct fab_fabric *f, const struct fab_repair_delta *d)
{
    bool *seen = calloc(f->switch_count + 1, sizeof(*seen));
    uint32_t most = 0, all = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t ends = seen[sw] ? 0 : ends_together(f, d, sw, seen);
        most = ends > most ? ends : most;
        all += ends;
    }
    free(seen);
    return all - most;
}

/* ---- one case -------------------------------------------------------------------------------- */

static void assert_same_delta(const struct world *w, const struct fab_repair_delta *a,
                              const struct fab_repair_delta *b)
{
    uint8_t x[FAB_LFT_BLOCK], y[FAB_LFT_BLOCK];
    ck_assert_uint_eq(a->writes, b->writes);
    ck_assert_uint_eq(a->changes, b->changes);
    ck_assert_uint_eq(a->blocks, b->blocks);
    ck_assert_uint_eq(a->steps, b->steps);
    ck_assert_uint_eq(a->cut, b->cut);
    ck_assert_uint_eq(a->lost, b->lost);
    ck_assert_uint_eq(a->drained, b->drained);
    ck_assert_uint_eq(a->deads, b->deads);
    ck_assert_mem_eq(a->dead, b->dead, a->deads * sizeof(*a->dead));
    ck_assert_uint_eq(a->entries, b->entries);
    for (size_t i = 0; i < a->writes; i++) {
        const struct fab_repair_write *v = &a->write[i], *u = &b->write[i];
        ck_assert_msg(v->sw == u->sw && v->block == u->block && v->step == u->step &&
                          v->entries == u->entries && v->weight == u->weight &&
                          v->keep == u->keep && v->drain == u->drain && v->early == u->early,
                      "%s: write %zu is another one", w->name, i);
        fab_repair_write_bytes(&w->lft, a, v, x);
        fab_repair_write_bytes(&w->lft, b, u, y);
        ck_assert_mem_eq(x, y, sizeof(x));
        ck_assert_uint_eq(v->changes, u->changes);
        for (uint32_t k = 0; k < v->changes; k++) {
            const struct fab_repair_change *c = &a->change[a->by_write[v->first + k]];
            const struct fab_repair_change *e = &b->change[b->by_write[u->first + k]];
            ck_assert_msg(c->sw == e->sw && c->lid == e->lid && c->was == e->was &&
                              c->now == e->now && c->stale == e->stale,
                          "%s: LID %u at switch %u changes otherwise", w->name, c->lid, c->sw);
        }
    }
}

static void check_case(struct world *w, const struct fab_repair_contingency *c, uint32_t before)
{
    struct fab_repair_delta fresh = {0}, kept = {0};
    uint32_t dead[256];
    char why[200] = "";
    size_t count = list_dead(w, c, before, dead);
    int status = fab_repair_plan(w->repair, &w->lft, dead, count, &fresh, why, sizeof(why));
    int found = fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, count, &kept);
    if (status == FAB_E_UNSUPPORTED) {
        ck_assert_uint_eq(c->outcome, FAB_CONTINGENCY_ENGINE);
        ck_assert_int_eq(found, FAB_E_NOT_FOUND);
        return;
    }
    ck_assert_int_eq(status, FAB_OK);
    ck_assert_int_eq(fab_repair_order(w->repair, &w->lft, &fresh), FAB_OK);
    ck_assert_msg(found == (c->plan != NULL ? FAB_OK : FAB_E_NOT_FOUND), "%s: %s %u: %d", w->name,
                  c->is_switch ? "switch" : "cable", c->id, found);
    if (found == FAB_OK)
        assert_same_delta(w, &fresh, &kept);
    ck_assert_uint_eq(c->blocks, fresh.blocks);
    ck_assert_uint_eq(c->entries, fresh.changes);
    ck_assert_uint_eq(c->lost_ends, lost_ends(w->f, &fresh));
    uint64_t load = worst_load(w, &fresh);
    ck_assert_msg(c->load == load, "%s: %s %u: load %lu, not %lu", w->name,
                  c->is_switch ? "switch" : "cable", c->id, (unsigned long)c->load,
                  (unsigned long)load);
    fab_repair_delta_fini(&fresh);
    fab_repair_delta_fini(&kept);
}

static void check_all(struct world *w, uint32_t before)
{
    size_t engines = 0;
    for (size_t i = 0; i < w->all.rows; i++) {
        const struct fab_repair_contingency *c = &w->all.row[i];
        if (!c->known)
            continue;
        check_case(w, c, before);
        engines += c->outcome == FAB_CONTINGENCY_ENGINE;
        if (c->is_switch)
            ck_assert_ptr_eq(fab_repair_contingencies_switch(&w->all, c->id), c);
        else
            ck_assert_ptr_eq(fab_repair_contingencies_link(&w->all, c->peer), c);
    }
    printf("# %s: %zu cases, %zu plans, %zu for an engine, %zu bytes\n", w->name, w->all.count,
           w->all.plans, engines, w->all.memory);
}

/* Commits a stored plan, and then a repair after which all links are back. The tables must then be
 * the same as before. */
static void carry_out(struct world *w, size_t row)
{
    struct fab_repair_delta d;
    uint32_t dead[256];
    char why[200];
    size_t count = list_dead(w, &w->all.row[row], FAB_NONE, dead);
    ck_assert_int_eq(fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, count, &d),
                     FAB_OK);
    fab_repair_commit(w->repair, &w->lft, &d);
    fab_repair_delta_fini(&d);
    /* after the commit, the plan is out of date, so it must not be found */
    ck_assert_int_eq(fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, count, &d),
                     FAB_E_NOT_FOUND);
    fill(w, SIZE_MAX);
    check_all(w, dead[0]);
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, NULL, 0, &d, why, sizeof(why)), FAB_OK);
    fab_repair_commit(w->repair, &w->lft, &d);
    fab_repair_delta_fini(&d);
    ck_assert_uint_eq(fab_repair_overlay_size(w->repair), 0);
    ck_assert_mem_eq(w->lft.entries, w->base->lft.entries,
                     (size_t)w->lft.switch_count * w->lft.stride);
}

/* Lets two links fail one after the other, and uses a plan each time. Then both links come back at
 * once. */
static void carry_out_in_a_row(struct world *w, struct fab_prng *prng)
{
    struct fab_repair_delta d;
    uint32_t dead[2];
    char why[200];
    for (size_t i = 0; i < 2; i++) {
        fill(w, SIZE_MAX);
        const struct fab_repair_contingency *c;
        do
            c = &w->all.row[fab_base_prng_below(prng, w->all.links)];
        while (!c->known);
        dead[i] = c->id;
        if (c->plan == NULL)
            break;
        ck_assert_int_eq(
            fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, i + 1, &d), FAB_OK);
        fab_repair_commit(w->repair, &w->lft, &d);
        fab_repair_delta_fini(&d);
    }
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, NULL, 0, &d, why, sizeof(why)), FAB_OK);
    fab_repair_commit(w->repair, &w->lft, &d);
    fab_repair_delta_fini(&d);
    ck_assert_mem_eq(w->lft.entries, w->base->lft.entries,
                     (size_t)w->lft.switch_count * w->lft.stride);
}

START_TEST(plans_at_hand_are_repairs)
{
    static const uint32_t torus[3] = {4, 4, 1};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("plans at hand", 22));
    struct world all[] = {
        world_of("fat tree of 2 levels", fat_tree(8, 2, 1), "fattree"),
        world_of("fat tree of 3 levels", fat_tree(4, 3, 1), "fattree"),
        world_of("leaves and spines", leaf_spine(6, 3, 4), "fattree"),
        /* with 8 LIDs for each host, the tables have several LFT blocks and several tiles */
        world_with("leaves and spines, 8 LIDs a port", leaf_spine(4, 3, 4), "updn", 3),
        world_of("modern tree", modern_tree(6, 3, 3, 1, 2), "updn"),
        world_of("torus", grid(torus, true, 2), "updn"),
        world_of("random", random_fabric(12, 4, 2, fab_base_prng_next(&prng)), "updn"),
        world_of("random", random_fabric(20, 3, 1, fab_base_prng_next(&prng)), "updn"),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        fill(&all[i], SIZE_MAX);
        ck_assert_uint_gt(all[i].all.plans, 0);
        check_all(&all[i], FAB_NONE);
        for (size_t row = 0; row < all[i].all.rows; row++) {
            if (all[i].all.row[row].plan != NULL && !all[i].all.row[row].is_switch) {
                carry_out(&all[i], row);
                break;
            }
        }
        for (unsigned k = 0; k < 10; k++)
            carry_out_in_a_row(&all[i], &prng);
        world_fini(&all[i]);
    }
}
END_TEST

/* Checks that the counts in the collection are those of its rows. */
static void assert_counts(const struct fab_repair_contingencies *c)
{
    size_t plans = 0, known = 0, current = 0;
    for (size_t i = 0; i < c->rows; i++) {
        plans += c->row[i].plan != NULL;
        known += c->row[i].known;
        current += c->row[i].known && c->row[i].commits == c->commits;
    }
    ck_assert_uint_eq(c->plans, plans);
    ck_assert_uint_eq(c->count, known);
    ck_assert_uint_eq(c->current, current);
}

START_TEST(evicted_plans_do_not_count)
{
    struct world w = world_of("leaves and spines", leaf_spine(4, 2, 2), "fattree");
    fill(&w, SIZE_MAX);
    size_t plans = w.all.plans;
    assert_counts(&w.all);
    ck_assert_uint_gt(plans, 2);
    for (uint32_t row = 0; row < w.all.rows; row++) {
        bool had = w.all.row[row].plan != NULL;
        /* to evict the plan of a row a second time changes nothing */
        for (unsigned i = 0; i < 2; i++) {
            fab_repair_contingencies_evict(&w.all, row);
            ck_assert_uint_eq(w.all.plans, plans - had);
        }
        plans -= had;
        assert_counts(&w.all);
    }
    ck_assert_uint_eq(w.all.plans, 0);
    ck_assert_uint_eq(w.all.memory, sizeof(w.all) + w.all.rows * sizeof(*w.all.row));
    world_fini(&w);
}
END_TEST

START_TEST(memory_is_bounded)
{
    struct world w = world_of("fat tree of 2 levels", fat_tree(8, 2, 1), "fattree");
    fill(&w, SIZE_MAX);
    size_t whole = w.all.memory, rows = w.all.rows * sizeof(*w.all.row), bytes = sizeof(w.all);
    for (size_t i = 0; i < w.all.rows; i++)
        bytes += w.all.row[i].plan != NULL ? w.all.row[i].plan_len : 0;
    ck_assert_uint_ge(whole, rows + bytes);
    fill(&w, whole / 2);
    ck_assert_uint_gt(w.all.plans, 0);
    ck_assert_uint_lt(w.all.plans, w.all.count);
    ck_assert_uint_lt(w.all.memory, whole);
    assert_counts(&w.all);
    check_all(&w, FAB_NONE);
    fill(&w, 0);
    ck_assert_uint_eq(w.all.plans, 0);
    check_all(&w, FAB_NONE);
    world_fini(&w);
}
END_TEST

START_TEST(others_are_not_found)
{
    struct world w = world_of("leaves and spines", leaf_spine(4, 2, 2), "fattree");
    struct world other = world_of("the same again", leaf_spine(4, 2, 2), "fattree");
    struct fab_repair_delta d;
    fill(&w, SIZE_MAX);
    const uint32_t two[] = {w.all.row[0].id, w.all.row[5].id}, strange[] = {UINT32_MAX, 0};
    ck_assert_int_eq(fab_repair_contingencies_find(&w.all, w.repair, &w.lft, two, 2, &d),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_repair_contingencies_find(&w.all, w.repair, &w.lft, two, 0, &d),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_repair_contingencies_find(&w.all, w.repair, &w.lft, strange, 2, &d),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_repair_contingencies_find(&w.all, other.repair, &w.lft, two, 1, &d),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_repair_contingencies_find(&w.all, w.repair, &w.lft, two, 1, &d), FAB_OK);
    fab_repair_delta_fini(&d);
    ck_assert_ptr_null(fab_repair_contingencies_link(&w.all, UINT32_MAX));
    ck_assert_ptr_null(fab_repair_contingencies_switch(&w.all, UINT32_MAX));
    world_fini(&w);
    world_fini(&other);
}
END_TEST

/* A repair of another fabric must not take over the contingencies. */
START_TEST(other_fabrics_are_not_adopted)
{
    struct world w = world_of("leaves and spines", leaf_spine(4, 2, 2), "fattree");
    struct world other = world_of("more leaves", leaf_spine(5, 2, 2), "fattree");
    fill(&w, SIZE_MAX);
    size_t plans = w.all.plans;
    ck_assert_int_eq(fab_repair_contingencies_adopt(&w.all, other.repair), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_repair_contingencies_adopt(&other.all, w.repair), FAB_E_NOT_FOUND);
    ck_assert_uint_eq(w.all.plans, plans);
    ck_assert(fab_repair_contingencies_follows(&w.all, w.repair));
    world_fini(&w);
    world_fini(&other);
}
END_TEST

/* When an engine has computed new tables, contingencies are kept only if all labels and the order
 * of the switches are unchanged. */
START_TEST(networks_agree_only_with_equal_labels)
{
    static const uint32_t torus[3] = {4, 3, 1};
    struct world all[] = {world_of("leaves and spines", leaf_spine(4, 2, 2), "updn"),
                          world_of("torus", grid(torus, true, 1), "dfsssp"),
                          world_of("torus", grid(torus, true, 1), "nue")};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct fab_repair_network *b = all[i].repair->network, a = *b;
        size_t rows = (size_t)b->sets * b->vl_count;
        a.label = malloc(rows * b->ports * sizeof(*a.label));
        memcpy(a.label, b->label, rows * b->ports * sizeof(*a.label));
        ck_assert(fab_repair_networks_agree(&a, b));
        for (size_t at = 0; at < rows * b->ports; at++) {
            bool channel = b->peer_sw[at % b->ports] != FAB_NONE;
            a.label[at]++;
            ck_assert_int_eq(fab_repair_networks_agree(&a, b), !channel);
            ck_assert_int_eq(fab_repair_networks_agree(b, &a), !channel);
            a.label[at]--;
        }
        free(a.label);
        a.label = b->label;
        uint32_t *const number[] = {&a.n, &a.ports, &a.top, &a.vl_count, &a.max_hops, &a.sets};
        for (size_t k = 0; k < sizeof(number) / sizeof(*number); k++) {
            ++*number[k];
            ck_assert(!fab_repair_networks_agree(&a, b));
            --*number[k];
        }
        a.order = b->order != NULL ? NULL : b->degree;
        ck_assert(!fab_repair_networks_agree(&a, b));
        a.order = b->order;
        uint8_t *vl = calloc(b->top + 1, 1);
        memcpy(vl, b->vl != NULL ? b->vl : vl, b->top + 1);
        for (uint32_t lid = 0; lid <= b->top; lid++) {
            a.vl = vl;
            vl[lid]++;
            ck_assert(!fab_repair_networks_agree(&a, b));
            vl[lid]--;
            ck_assert_int_eq(fab_repair_networks_agree(&a, b), b->vl != NULL);
        }
        free(vl);
        world_fini(&all[i]);
    }
}
END_TEST

static bool is_beside_root(const struct fab_repair_network *b, uint32_t sw)
{
    uint32_t root = 0;
    for (uint32_t i = 0; i < b->n; i++)
        root = b->order[i] > b->order[root] ? i : root;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (b->peer_sw[port] == root)
            return true;
    }
    return false;
}

/* Returns true if the link is the only living link that leads up from one of its ends. */
static bool is_only_way_up(const struct fab_repair_network *b,
                           const struct fab_repair_contingency *c)
{
    uint32_t from = fab_repair_switch_of(b, c->id), to = fab_repair_switch_of(b, c->peer);
    uint32_t low = b->order[from] < b->order[to] ? from : to;
    unsigned ways = 0;
    for (uint32_t port = b->first[low] + 1; port < b->first[low + 1]; port++)
        ways += b->peer_sw[port] != FAB_NONE && b->order[b->peer_sw[port]] > b->order[low];
    return ways == 1;
}

/* Returns the group of the failure, in the order in which failures are to be computed. */
static int group_of(const struct world *w, const struct fab_repair_contingency *c)
{
    if (c->peer == FAB_NONE)
        return is_beside_root(w->repair->network, c->id) ? 0 : 2;
    return is_only_way_up(w->repair->network, c) ? 1 : 3;
}

START_TEST(likely_links_come_first)
{
    struct world w = world_of("fat tree of 3 levels", fat_tree(6, 3, 1), "fattree");
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    fill(&w, 0);
    const uint32_t likely[] = {w.all.row[7].peer, UINT32_MAX, w.all.row[3].id, w.all.row[7].id};
    const int stop = 1;
    ck_assert_int_eq(fab_repair_contingency_begin(w.repair, &m), FAB_OK);
    ck_assert_int_eq(fab_repair_contingency_set_likely(m, likely, 4), FAB_OK);
    fab_repair_contingency_set_tables(m, &w.lft);
    while (fab_repair_contingency_prepare(m))
        ;
    ck_assert_uint_eq(fab_repair_contingency_left(m), w.all.cases);
    ck_assert_uint_eq(fab_repair_contingency_peek(m, 0), 7);
    ck_assert_uint_eq(fab_repair_contingency_peek(m, 1), 3);
    size_t of_group[4] = {0};
    for (size_t i = 2; i < w.all.cases; i++) {
        int group = group_of(&w, &w.all.row[fab_repair_contingency_peek(m, i)]);
        of_group[group]++;
        for (int later = group + 1; later < 4; later++)
            ck_assert_msg(of_group[later] == 0, "case %zu: of group %d, after group %d", i, group,
                          later);
    }
    /* the spines beside the root; their links to the root, and those to the cores of their planes
     */
    ck_assert_uint_eq(of_group[0], 3);
    ck_assert_uint_eq(of_group[1], 3 + 9);
    ck_assert_uint_eq(of_group[0] + of_group[2], w.all.rows - w.all.links);
    ck_assert_uint_eq(fab_repair_contingency_peek(m, w.all.cases), FAB_NONE);
    /* another thread sets `stop` to interrupt a computation: no contingency is computed until
     * `stop` is removed */
    fab_repair_contingency_stop_at(m, &stop);
    ck_assert_int_eq(fab_repair_contingency_next(m, true, &c), FAB_E_BUSY);
    fab_repair_contingency_stop_at(m, NULL);
    ck_assert_int_eq(fab_repair_contingency_next(m, false, &c), FAB_OK);
    ck_assert_uint_eq(c.row, 7);
    ck_assert_uint_eq(fab_repair_contingency_left(m), w.all.cases - 1);
    fab_repair_contingency_end(m);
    world_fini(&w);
}
END_TEST

/* Counts the paths over each port: follows the active tables from every endport to the LID of every
 * endport. */
static uint64_t *paths_over_ports(const struct world *w)
{
    const struct fab_repair_network *b = w->repair->network;
    uint64_t *paths = calloc(b->ports, sizeof(*paths));
    for (uint32_t lid = 1; lid <= b->top; lid++) {
        for (uint32_t from = 0; from < b->n; from++) {
            if (b->home[lid] == FAB_NONE || !fab_base_bits_get(b->is_endport, lid))
                break;
            for (uint32_t sw = from; sw != b->home[lid];) {
                uint32_t port = b->first[sw] + fab_target_lft_at(&w->lft, sw, lid);
                paths[port] += b->attached[from];
                sw = b->peer_sw[port];
            }
        }
    }
    return paths;
}

/* Returns the number of paths that the failure of an element harms: over all links of a switch, or
 * over a link in the direction that has more. */
static uint64_t paths_of(const struct world *w, const uint64_t *paths, uint32_t row)
{
    const struct fab_repair_network *b = w->repair->network;
    uint32_t id = w->all.row[row].id;
    uint64_t sum = 0;
    if (row < w->all.links) {
        uint64_t there = paths[id], back = paths[fab_repair_peer_port(b, id)];
        return there > back ? there : back;
    }
    for (uint32_t port = b->first[id] + 1; port < b->first[id + 1]; port++)
        if (b->peer_sw[port] != FAB_NONE)
            sum += paths[port] + paths[fab_repair_peer_port(b, port)];
    return sum;
}

START_TEST(failures_that_harm_most_come_first)
{
    static const uint32_t mesh[3] = {4, 3, 1};
    struct world all[] = {world_of("mesh", grid(mesh, false, 2), "updn"),
                          world_of("modern tree", modern_tree(6, 3, 3, 1, 2), "updn")};
    for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
        struct world *w = &all[k];
        struct fab_repair_contingency_maker *m = NULL;
        unsigned fewer = 0;
        fill(w, 0);
        ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &m), FAB_OK);
        fab_repair_contingency_set_tables(m, &w->lft);
        while (fab_repair_contingency_prepare(m))
            ;
        uint64_t *paths = paths_over_ports(w);
        for (size_t i = 1; i < w->all.cases; i++) {
            uint32_t before = fab_repair_contingency_peek(m, i - 1),
                     row = fab_repair_contingency_peek(m, i);
            int group = group_of(w, &w->all.row[row]);
            if (group == 0 || group != group_of(w, &w->all.row[before]))
                continue;
            uint64_t more = paths_of(w, paths, before), less = paths_of(w, paths, row);
            ck_assert_msg(more > less || (more == less && before < row),
                          "%s, case %zu: %" PRIu64 " paths after %" PRIu64, w->name, i, less, more);
            fewer += more > less;
        }
        ck_assert_uint_gt(fewer, 5);
        free(paths);
        fab_repair_contingency_end(m);
        world_fini(w);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("contingency");
    TCase *c = tcase_create("contingency");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, plans_at_hand_are_repairs);
    tcase_add_test(c, memory_is_bounded);
    tcase_add_test(c, evicted_plans_do_not_count);
    tcase_add_test(c, other_fabrics_are_not_adopted);
    tcase_add_test(c, networks_agree_only_with_equal_labels);
    tcase_add_test(c, likely_links_come_first);
    tcase_add_test(c, failures_that_harm_most_come_first);
    tcase_add_test(c, others_are_not_found);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
