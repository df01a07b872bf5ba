/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingencies (libfabmgr/repair/contingency/contingency.h) on several topology families: the
 * maker computes the plans for all failures, and the collection stores them. Each stored plan must
 * equal the repair that is computed now, write by write and byte by byte. Its figures must equal
 * those that a walk of every path gives. A plan of an earlier state may be returned only if it is
 * still valid.
 */
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/internal.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/routing.h"

struct world {
    const char *name;
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_target *base;
    struct fab_lft lft;
    struct fab_repair *repair;
    struct fab_repair_contingencies all;
};

static struct fab_lft copy_of(const struct fab_lft *t)
{
    struct fab_lft copy;
    ck_assert_int_eq(fab_target_lft_copy(t, &copy), FAB_OK);
    return copy;
}

/* Takes over f. */
static struct world world_of(const char *name, struct fab_fabric *f, const char *engine)
{
    struct world w = {.name = name, .f = f, .base = fab_target_new()};
    char why[480] = "";
    fab_policy_defaults(&w.policy);
    assigned(f, &w.policy, &w.base->lids);
    struct fab_route_input in = {.fabric = f, .policy = &w.policy, .lids = &w.base->lids};
    int status =
        fab_route_engine_by_name(engine)->run(&in, &w.base->lft, &w.base->vls, why, sizeof(why));
    ck_assert_msg(status == FAB_OK, "%s: %s", name, why);
    w.lft = copy_of(&w.base->lft);
    struct fab_repair_input repair = {.fabric = f,
                                      .policy = &w.policy,
                                      .lids = &w.base->lids,
                                      .lft = &w.base->lft,
                                      .vls = &w.base->vls};
    status = fab_repair_new(&repair, &w.repair, why, sizeof(why));
    ck_assert_msg(status == FAB_OK, "%s: %s", name, why);
    return w;
}

static void world_fini(struct world *w)
{
    fab_repair_contingencies_fini(&w->all);
    fab_repair_free(w->repair);
    fab_target_lft_fini(&w->lft);
    fab_target_unref(w->base);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->f);
}

/* Computes the contingencies of all failures, and stores their plans as long as these need no more
 * than `budget` bytes. */
static void fill(struct world *w, size_t budget)
{
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    int status;
    fab_repair_contingencies_fini(&w->all);
    ck_assert_int_eq(fab_repair_contingencies_init(&w->all, w->repair), FAB_OK);
    ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &m), FAB_OK);
    fab_repair_contingency_set_tables(m, &w->lft);
    while (fab_repair_contingency_prepare(m))
        ;
    while ((status = fab_repair_contingency_next(m, w->all.memory < budget, &c)) == FAB_OK)
        fab_repair_contingencies_add(&w->all, &c);
    ck_assert_int_eq(status, FAB_E_NOT_FOUND);
    ck_assert_uint_eq(w->all.current, w->all.cases);
    ck_assert_uint_eq(w->all.count, fab_repair_contingency_cases(m));
    fab_repair_contingency_end(m);
}

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

/* Returns the greatest number of paths over any channel whose link is not dead, after the delta. */
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
    }
}

static size_t list_dead(const struct world *w, const struct fab_repair_contingency *c,
                        uint32_t before, uint32_t ret[256])
{
    size_t count = 0;
    if (before != FAB_NONE)
        ret[count++] = before;
    if (!c->is_switch)
        /* The list has either port of the link, because the repair must accept both. */
        ret[count++] = c->id % 2 == 0 ? c->id : c->peer;
    for (unsigned num = 1; c->is_switch && num <= w->f->nodes[c->id].num_ports; num++)
        ret[count++] = fab_fabric_port_id(w->f, c->id, (uint8_t)num);
    return count;
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

/* Applies a stored plan, then brings the links back. Afterwards the tables must be the same as
 * before the plan. */
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
    /* The plan is not found again, because it was made for the state before the commit. */
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

/* Lets two more links fail one after the other, each with its own plan. Then all links come back at
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

/* Returns whether the contingency is for a link that is already in dead[]. */
static bool is_listed(const uint32_t *dead, size_t count, const struct fab_repair_contingency *c)
{
    for (size_t i = 0; i < count; i++)
        if (!c->is_switch && dead[i] == c->id)
            return true;
    return false;
}

/* ---- plans after a change -------------------------------------------------------------------- */

struct keeping { /* figures for the output of the test */
    size_t kept, untouched, recomputed, found, same;
};

/* Stores the ports of the links that are dead now in ret, as the repair lists them. Returns their
 * number. */
static size_t dead_now(const struct world *w, uint32_t ret[512])
{
    for (size_t i = 0; i < w->repair->deads; i++)
        ret[i] = w->repair->dead[i];
    return w->repair->deads;
}

/* Checks that a plan which the maker has kept without a proof passes the whole check of
 * stored_plan.c. */
static void assert_passes_check(struct world *w, uint32_t row)
{
    struct fab_repair_contingency *c = &w->all.row[row];
    uint64_t commits = c->commits;
    struct fab_repair_delta d = {0};
    uint32_t dead[768];
    size_t count = dead_now(w, dead);
    count += list_dead(w, c, FAB_NONE, dead + count);
    c->commits = UINT64_MAX;
    int found = fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, count, &d);
    c->commits = commits;
    /* if all links of a switch but one are dead, the failure of the switch looks like that of its
     * last link */
    ck_assert_msg(found == FAB_OK || c->is_switch, "%s: %s %u was kept, but its check fails",
                  w->name, c->is_switch ? "switch" : "link", c->id);
    if (found == FAB_OK)
        fab_repair_delta_fini(&d);
}

/* Brings the maker and the collection to the present state of the repair, as the manager does after
 * a commit. */
static void follow(struct world *w, struct fab_repair_contingency_maker *m, struct keeping *k)
{
    struct fab_repair *later = NULL;
    fab_repair_contingencies_follow(&w->all, w->repair);
    ck_assert_uint_eq(w->all.current, 0);
    ck_assert_int_eq(fab_repair_clone(w->repair, &later), FAB_OK);
    struct fab_lft tables = fab_target_lft_share(&w->lft);
    ck_assert_int_eq(fab_repair_contingency_follow(m, later, &tables), FAB_OK);
    while (fab_repair_contingency_prepare(m))
        ;
    for (uint32_t row; (row = fab_repair_contingency_peek(m, 0)) != FAB_NONE;) {
        struct fab_repair_contingency c;
        const struct fab_repair_stored_plan *plan = w->all.row[row].plan;
        if (plan != NULL &&
            fab_repair_contingency_recheck(m, plan, w->all.row[row].commits) == FAB_OK) {
            fab_repair_contingencies_confirm(&w->all, row);
            assert_passes_check(w, row);
            k->kept++;
            continue;
        }
        k->recomputed++;
        ck_assert_int_eq(fab_repair_contingency_next(m, true, &c), FAB_OK);
        ck_assert_uint_eq(c.row, row);
        fab_repair_contingencies_add(&w->all, &c);
    }
    k->untouched += fab_repair_contingency_untouched(m);
    ck_assert_uint_eq(w->all.current, w->all.cases);
    ck_assert_uint_eq(w->all.count, w->all.cases);
}

static struct fab_fabric *with_dead_links(const struct world *w, const struct fab_repair_delta *d)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_clone(w->f, &f), FAB_OK);
    for (size_t i = 0; i < d->deads; i++)
        fab_fabric_edit_port(f, d->dead[i])->info.phys_state = FAB_PHYS_POLLING;
    return f;
}

static struct fab_verdict judged(const struct world *w, const struct fab_fabric *f,
                                 const struct fab_lft *lft)
{
    struct fab_verdict v;
    const struct fab_verify_input in = {.fabric = f,
                                        .lids = &w->base->lids,
                                        .lft = lft,
                                        .max_hops = w->policy.max_hops,
                                        .vls = &w->base->vls};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    return v;
}

/* Applies the writes of a plan in a random order within each step. After each write, the proof of
 * the library must find no cycle (a loop is a cycle), and no more pairs without a path than before
 * the writes. */
static void watch_writes(const struct world *w, const struct fab_repair_delta *d,
                         struct fab_prng *prng)
{
    struct fab_fabric *f = with_dead_links(w, d);
    struct fab_lft lft = copy_of(&w->lft);
    uint32_t order[1024];
    struct fab_verdict v = judged(w, f, &lft);
    uint64_t lost = v.unreachable_pairs;
    fab_verify_verdict_fini(&v);
    bool drains = d->drained > 0;
    for (size_t i = 0; i < d->writes; i++)
        drains = drains || d->write[i].drain != 0;
    for (size_t first = 0, end; first < d->writes; first = end) {
        for (end = first; end < d->writes && d->write[end].step == d->write[first].step; end++)
            order[end - first] = (uint32_t)end;
        fab_base_prng_shuffle(prng, order, end - first);
        for (size_t i = 0; i < end - first; i++) {
            const struct fab_repair_write *write = &d->write[order[i]];
            fab_repair_write_bytes(&w->lft, d, write,
                                   fab_target_lft_row(&lft, write->sw) +
                                       (size_t)write->block * FAB_LFT_BLOCK);
            v = judged(w, f, &lft);
            ck_assert_msg(v.deadlock_free && (drains || v.unreachable_pairs <= lost),
                          "%s: write %zu of step %u: %s, %" PRIu64
                          " pairs without a path, before %" PRIu64,
                          w->name, i, write->step, v.deadlock_free ? "no cycle" : "a cycle",
                          v.unreachable_pairs, lost);
            fab_verify_verdict_fini(&v);
        }
    }
    fab_target_lft_fini(&lft);
    fab_fabric_unref(f);
}

/* Finds the plan for the failure that `c` describes, as the manager does after this failure. If the
 * plan is not valid for the present state, its check must fail; otherwise all mixtures of its
 * writes must be correct, too. */
static void take(struct world *w, const struct fab_repair_contingency *c, const uint32_t *dead,
                 size_t deads, struct fab_prng *prng, struct keeping *k)
{
    uint32_t all[512];
    struct fab_repair_delta fresh = {0}, kept = {0};
    char why[200];
    for (size_t i = 0; i < deads; i++)
        all[i] = dead[i];
    size_t count = deads + list_dead(w, c, FAB_NONE, all + deads);
    int found = fab_repair_contingencies_find(&w->all, w->repair, &w->lft, all, count, &kept);
    /* There may be no plan for a switch, because all its links may already be dead. */
    if (!c->is_switch)
        ck_assert(found == FAB_OK || w->all.current == 0 || c->plan == NULL);
    if (found != FAB_OK)
        return;
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, all, count, &fresh, why, sizeof(why)),
                     FAB_OK);
    k->found++;
    k->same += fresh.changes == kept.changes;
    ck_assert_uint_eq(fresh.deads, kept.deads);
    if (fab_base_prng_below(prng, 10) == 0)
        watch_writes(w, &kept, prng);
    fab_repair_delta_fini(&fresh);
    fab_repair_delta_fini(&kept);
}

/* Checks a maker that has followed changes of the tables, and updated its counts of paths: a new
 * maker, which counts all paths, must find the same maximum number of paths over a channel. */
static void assert_load(struct world *w, const struct fab_repair_contingency_maker *m)
{
    struct fab_repair_contingency_maker *new = NULL;
    ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &new), FAB_OK);
    fab_repair_contingency_set_tables(new, &w->lft);
    while (fab_repair_contingency_prepare(new))
        ;
    ck_assert_uint_eq(fab_repair_contingency_load(m), fab_repair_contingency_load(new));
    ck_assert_uint_eq(fab_repair_contingency_cases(m), fab_repair_contingency_cases(new));
    fab_repair_contingency_end(new);
}

static void change(struct world *w, const uint32_t *dead, size_t count)
{
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[200];
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, dead, count, &d, why, sizeof(why)),
                     FAB_OK);
    ck_assert_int_eq(fab_repair_prove(w->repair, &w->lft, &d, &at), FAB_OK);
    ck_assert_int_eq(fab_repair_prepare_commit(&d, NULL, &w->lft), FAB_OK);
    fab_repair_commit(w->repair, &w->lft, &d);
    fab_repair_delta_fini(&d);
}

/* Links fail one after the other, and come back in another order. */
static void fail_and_return(struct world *w, struct fab_prng *prng, struct keeping *k)
{
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    uint32_t dead[3];
    size_t deads = 0;
    fill(w, SIZE_MAX);
    ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &m), FAB_OK);
    fab_repair_contingency_set_tables(m, &w->lft);
    while (fab_repair_contingency_prepare(m))
        ;
    while (fab_repair_contingency_next(m, false, &c) == FAB_OK)
        ;
    for (unsigned i = 0; i < 6; i++) {
        if (i < 3) {
            const struct fab_repair_contingency *x;
            do
                x = &w->all.row[fab_base_prng_below(prng, w->all.links)];
            while (!x->known);
            if (x->outcome == FAB_CONTINGENCY_ENGINE)
                continue;
            dead[deads++] = x->id;
        } else if (deads > 0) {
            size_t which = fab_base_prng_below(prng, deads);
            dead[which] = dead[--deads];
        } else {
            /* All three chosen failures need new tables from an engine. So no link has failed that
             * could come back. */
            continue;
        }
        change(w, dead, deads);
        /* no plan has been checked for this state yet */
        w->all.current = 0;
        for (size_t row = 0; row < w->all.rows; row++)
            if (w->all.row[row].known && !is_listed(dead, deads, &w->all.row[row]))
                take(w, &w->all.row[row], dead, deads, prng, k);
        follow(w, m, k);
        for (size_t row = 0; row < w->all.rows; row++)
            if (w->all.row[row].known)
                take(w, &w->all.row[row], dead, deads, prng, k);
        assert_load(w, m);
    }
    fab_repair_contingency_end(m);
    change(w, NULL, 0);
    ck_assert(fab_target_lft_same(&w->lft, &w->base->lft));
}

START_TEST(plans_outlive_changes_that_do_not_affect_them)
{
    static const uint32_t torus[3] = {4, 4, 1};
    size_t untouched = 0;
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("plans outlive changes", 5));
    struct world all[] = {
        world_of("fat tree of 2 levels", fat_tree(8, 2, 1), "fattree"),
        world_of("fat tree of 3 levels", fat_tree(4, 3, 1), "fattree"),
        world_of("modern tree", modern_tree(6, 3, 3, 1, 2), "updn"),
        world_of("torus", grid(torus, true, 2), "updn"),
        world_of("random", random_fabric(12, 4, 2, fab_base_prng_next(&prng)), "updn"),
        world_of("random", random_fabric(16, 3, 1, fab_base_prng_next(&prng)), "updn"),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct keeping k = {0};
        for (unsigned round = 0; round < 3; round++)
            fail_and_return(&all[i], &prng, &k);
        printf("# %s: %zu plans kept (%zu not touched), %zu computed anew; %zu taken, %zu as if "
               "computed now\n",
               all[i].name, k.kept, k.untouched, k.recomputed, k.found, k.same);
        ck_assert_uint_gt(k.kept, 0);
        untouched += k.untouched;
        world_fini(&all[i]);
    }
    ck_assert_uint_gt(untouched, 0);
}
END_TEST

/* Computes the contingencies of all failures with a new maker, and returns the maker. */
static struct fab_repair_contingency_maker *filled(struct world *w)
{
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    ck_assert_int_eq(fab_repair_contingencies_init(&w->all, w->repair), FAB_OK);
    ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &m), FAB_OK);
    fab_repair_contingency_set_tables(m, &w->lft);
    while (fab_repair_contingency_prepare(m))
        ;
    while (fab_repair_contingency_next(m, true, &c) == FAB_OK)
        fab_repair_contingencies_add(&w->all, &c);
    return m;
}

/* Replaces the tables of `w` by those that the engine computes without the links in dead[]. If the
 * labels of the other links stay the same, the contingencies in the maker and in the collection
 * stay. Otherwise, for example because the missing links change the order of the switches, all
 * contingencies are computed anew. */
static void route_anew(struct world *w, const struct fab_fabric *whole, const char *engine,
                       struct fab_repair_contingency_maker **m, const uint32_t *dead, size_t deads,
                       struct fab_prng *prng, struct keeping *k)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_clone(whole, &f), FAB_OK);
    for (size_t i = 0; i < deads; i++)
        fab_fabric_edit_port(f, dead[i])->info.phys_state = FAB_PHYS_POLLING;
    struct world next = world_of(w->name, f, engine);
    next.all = w->all;
    w->all = (struct fab_repair_contingencies){0};
    world_fini(w);
    *w = next;
    size_t plans = w->all.plans;
    int status = fab_repair_contingencies_adopt(&w->all, w->repair);
    if (status == FAB_E_NOT_FOUND) {
        fab_repair_contingencies_fini(&w->all);
        fab_repair_contingency_end(*m);
        *m = filled(w);
        return;
    }
    ck_assert_int_eq(status, FAB_OK);
    ck_assert(fab_repair_contingencies_valid(&w->all, w->repair));
    ck_assert_uint_le(w->all.plans, plans);
    ck_assert_uint_ge(w->all.plans + 1, plans);
    follow(w, *m, k);
    for (size_t row = 0; row < w->all.rows; row++)
        take(w, &w->all.row[row], NULL, 0, prng, k);
}

/* An engine computes new tables after a link failed, and again after it came back. */
START_TEST(plans_outlive_new_tables_of_an_engine)
{
    struct fab_prng prng;
    size_t kept = 0;
    fab_base_prng_init(&prng, test_seed("plans outlive new tables", 3));
    struct world all[] = {
        world_of("fat tree of 2 levels", fat_tree(8, 2, 1), "fattree"),
        world_of("fat tree of 3 levels", fat_tree(6, 3, 1), "fattree"),
        world_of("leaves and spines", leaf_spine(6, 3, 4), "fattree"),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = &all[i];
        struct fab_fabric *whole = fab_fabric_ref(w->f);
        struct fab_repair_contingency_maker *m = filled(w);
        struct keeping k = {0};
        for (unsigned round = 0; round < 3; round++) {
            const struct fab_repair_contingency *c =
                &w->all.row[fab_base_prng_below(&prng, w->all.links)];
            const uint32_t dead[] = {c->id, c->peer};
            route_anew(w, whole, "fattree", &m, dead, 2, &prng, &k);
            route_anew(w, whole, "fattree", &m, NULL, 0, &prng, &k);
        }
        printf("# %s: %zu plans kept (%zu not touched), %zu computed anew\n", w->name, k.kept,
               k.untouched, k.recomputed);
        kept += k.kept;
        fab_repair_contingency_end(m);
        fab_fabric_unref(whole);
        world_fini(w);
    }
    ck_assert_uint_gt(kept, 0);
}
END_TEST

/* The contingencies of one fabric are not kept for the repair of another fabric. */
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
    for (size_t i = 2; i < w.all.cases; i++)
        ck_assert_msg((fab_repair_contingency_peek(m, i) >= w.all.links) ==
                          (i < 2 + w.all.rows - w.all.links),
                      "case %zu: the switches follow the likely links, then the other links", i);
    ck_assert_uint_eq(fab_repair_contingency_peek(m, w.all.cases), FAB_NONE);
    for (size_t i = 2; i < 2 + w.all.rows - w.all.links; i++) {
        uint32_t sw = w.all.row[fab_repair_contingency_peek(m, i)].id;
        ck_assert_msg(is_beside_root(w.repair->network, sw) == (i < 2 + 3),
                      "case %zu: the three spines beside the root are the first switches", i);
    }
    /* *stop is not 0, as if another thread had interrupted the computation; a later call computes
     * this contingency */
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

static Suite *suite(void)
{
    Suite *s = suite_create("contingency");
    TCase *c = tcase_create("contingency");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, plans_at_hand_are_repairs);
    tcase_add_test(c, memory_is_bounded);
    tcase_add_test(c, plans_outlive_changes_that_do_not_affect_them);
    tcase_add_test(c, plans_outlive_new_tables_of_an_engine);
    tcase_add_test(c, other_fabrics_are_not_adopted);
    tcase_add_test(c, likely_links_come_first);
    tcase_add_test(c, others_are_not_found);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
