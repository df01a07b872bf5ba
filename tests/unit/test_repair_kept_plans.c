/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stored plans after the tables have changed, by repairs or by an engine. A plan that was computed
 * for earlier tables may be used only if it is still valid.
 */
#include "libfabmgr/repair/contingency/maker.h"
#include "tests/unit/contingency_world.h"

/* Returns true if c is the contingency of a link that has failed already. */
static bool is_listed(const uint32_t *dead, size_t count, const struct fab_repair_contingency *c)
{
    for (size_t i = 0; i < count; i++)
        if (!c->is_switch && dead[i] == c->id)
            return true;
    return false;
}

/* ---- plans after a change -------------------------------------------------------------------- */

struct keeping { /* counts, which the test prints */
    size_t kept, untouched, recomputed, found, same;
};

/* Lists one port of each dead link in ret, in the repair's order. Returns their number. */
static size_t dead_now(const struct world *w, uint32_t ret[512])
{
    for (size_t i = 0; i < w->repair->deads; i++)
        ret[i] = w->repair->dead[i];
    return w->repair->deads;
}

/* Returns true if the switch has no living link, or only one. The failure of the switch then looks
 * like no failure, or like the failure of that link, so the plan for the switch is not found. */
static bool is_isolated(const struct world *w, const struct fab_repair_contingency *c)
{
    const struct fab_repair_network *b = w->repair->network;
    unsigned living = 0;
    for (uint32_t port = b->first[c->id] + 1; c->is_switch && port < b->first[c->id + 1]; port++)
        living += fab_repair_is_living(w->repair, port) ? 1 : 0;
    return c->is_switch && living <= 1;
}

/* The maker has kept this plan without a new proof. Checks that the plan would pass the complete
 * check of stored_plan.c. */
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
    ck_assert_msg(found == FAB_OK || is_isolated(w, c), "%s: %s %u was kept, but its check fails",
                  w->name, c->is_switch ? "switch" : "link", c->id);
    if (found == FAB_OK)
        fab_repair_delta_fini(&d);
}

/* Does what the manager does after a commit: updates the maker and the collection for the new
 * tables, and computes plans again that are not valid any more. */
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

/* Applies the writes of a plan, in a random order within each step. After each write, the library's
 * proof must find no cycle (or loop). Unless the plan drains entries, no more pairs than before may
 * be without a path. */
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

/* Lets the failure `c` happen, and looks for its plan as the manager does. If the plan is not valid
 * for the present tables, it must not be found. If it is found, all mixtures during its writes must
 * be correct. */
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
    /* the plan of a switch may be missing, if all links of the switch are dead already */
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

/* After changes of the tables, the maker only updates its counts of paths. Compares its maximum
 * over all channels with that of a new maker, which counts all paths. */
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

/* Three links fail one after the other, and come back in a random order. After each change, checks
 * all plans. */
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
            /* No link has failed that could come back, because only an engine could repair each of
             * the three failures. */
            continue;
        }
        change(w, dead, deads);
        /* as if no plan had been checked yet for these tables */
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
        /* with 8 LIDs for each host, the tables have several LFT blocks and several tiles */
        world_with("leaves and spines, 8 LIDs a port", leaf_spine(4, 3, 4), "updn", 3),
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

/* Computes the contingencies of all failures from the beginning, and stores them. Returns the
 * maker. */
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

/* Lets the engine compute tables without the links in dead[]. If all labels stay the same, the
 * maker and the collection keep their contingencies. If not, for example because the order of the
 * switches changes, all contingencies are computed again. */
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

/* A link fails and an engine computes new tables; the link comes back and the engine does so
 * again. */
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

/* ---- which LIDs changed ---------------------------------------------------------------------- */

/* With the same tables, the LID belongs to the port `owner` now. The record of changes must contain
 * this LID, and no other. */
static void assert_recorded(const struct world *w, uint32_t lid, uint32_t owner)
{
    struct fab_lids lids = w->base->lids;
    struct fab_repair_touched t = {0};
    struct fab_repair *later = NULL;
    char why[200];
    lids.owner = calloc(lids.top + 1, sizeof(*lids.owner));
    memcpy(lids.owner, w->base->lids.owner, (lids.top + 1) * sizeof(*lids.owner));
    lids.owner[lid] = owner;
    const struct fab_repair_input in = {
        .fabric = w->f, .policy = &w->policy, .lids = &lids, .lft = &w->lft, .vls = &w->base->vls};
    ck_assert_int_eq(fab_repair_new(&in, &later, why, sizeof(why)), FAB_OK);
    fab_repair_touched_add_tables(&t, w->repair, &w->lft, later, &w->lft);
    for (uint32_t any = 0; any <= lids.top; any++)
        ck_assert_int_eq(fab_base_bits_get(t.lid, any), any == lid);
    fab_repair_touched_reset(&t, 0);
    fab_repair_free(later);
    free(lids.owner);
}

/* A host leaves, or its LID becomes one of its switch, and the tables stay as they are. */
START_TEST(lids_with_another_owner_are_recorded)
{
    struct world w = world_of("leaves and spines", leaf_spine(4, 3, 2), "updn");
    unsigned hosts = 0;
    for (uint32_t lid = 1; lid <= w.base->lids.top; lid++) {
        uint32_t owner = w.base->lids.owner[lid];
        if (owner == FAB_NONE || fab_fabric_node_is_switch(w.f, fab_fabric_port(w.f, owner)->node))
            continue;
        assert_recorded(&w, lid, FAB_NONE);
        assert_recorded(&w, lid, fab_fabric_port_id(w.f, fab_fabric_peer_node(w.f, owner), 0));
        hosts++;
    }
    ck_assert_uint_eq(hosts, 8);
    world_fini(&w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kept contingencies");
    TCase *c = tcase_create("kept contingencies");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, plans_outlive_changes_that_do_not_affect_them);
    tcase_add_test(c, plans_outlive_new_tables_of_an_engine);
    tcase_add_test(c, lids_with_another_owner_are_recorded);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
