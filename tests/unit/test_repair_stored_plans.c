/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a stored plan may be used. It must be refused if an entry that it replaces has changed.
 * It needs no new proof if no change has touched it.
 */
#include "libfabmgr/repair/contingency/maker.h"
#include "tests/unit/contingency_world.h"

/* ---- plans of other tables ------------------------------------------------------------------- */

/* Looks for the plan of the contingency c, and makes the collection believe that the tables have
 * changed since the plan was made. */
static int find_after_changes(struct world *w, struct fab_repair_contingency *c,
                              const struct fab_lft *lft, struct fab_repair_delta *ret)
{
    uint64_t commits = c->commits;
    uint32_t dead[256];
    size_t count = list_dead(w, c, FAB_NONE, dead);
    c->commits = UINT64_MAX;
    int found = fab_repair_contingencies_find(&w->all, w->repair, lft, dead, count, ret);
    c->commits = commits;
    return found;
}

static void assert_refused(struct world *w, struct fab_repair_contingency *c,
                           const struct fab_lft *lft)
{
    struct fab_repair_delta d = {0};
    ck_assert_int_eq(find_after_changes(w, c, lft, &d), FAB_E_NOT_FOUND);
}

/* Changes each entry that the plan replaces, one at a time. Also exchanges pairs of entries that
 * are in one switch. Each time, the plan must be refused. Returns the number of exchanged pairs. */
static unsigned check_other_entries(struct world *w, struct fab_repair_contingency *c)
{
    struct fab_lft lft = copy_of(&w->lft);
    struct fab_repair_delta d = {0};
    unsigned exchanges = 0;
    ck_assert_int_eq(find_after_changes(w, c, &w->lft, &d), FAB_OK);
    for (size_t i = 0; i < d.changes; i++) {
        const struct fab_repair_change *x = &d.change[i];
        uint8_t *row = fab_target_lft_row(&lft, x->sw), was = row[x->lid];
        ck_assert_uint_eq(x->was, was);
        row[x->lid] = was > 1 ? 1 : 2;
        assert_refused(w, c, &lft);
        row[x->lid] = was;
        for (size_t k = i + 1; k < d.changes; k++) {
            const struct fab_repair_change *y = &d.change[k];
            if (y->sw != x->sw || y->was == x->was)
                continue;
            row[x->lid] = y->was;
            row[y->lid] = was;
            assert_refused(w, c, &lft);
            row[x->lid] = was;
            row[y->lid] = y->was;
            exchanges++;
        }
    }
    fab_repair_delta_fini(&d);
    fab_target_lft_fini(&lft);
    return exchanges;
}

/* A plan replaces certain entries. If one of them has changed since the plan was made, the plan is
 * refused, even if it might still be correct. */
START_TEST(plans_of_other_entries_are_refused)
{
    struct fab_prng prng;
    unsigned exchanges = 0, plans = 0;
    fab_base_prng_init(&prng, test_seed("plans of other entries", 9));
    struct world all[] = {
        world_of("fat tree of 3 levels", fat_tree(4, 3, 1), "fattree"),
        world_of("torus", grid((uint32_t[3]){3, 3, 1}, true, 2), "updn"),
        world_of("random", random_fabric(8, 4, 2, fab_base_prng_next(&prng)), "updn"),
        world_of("random", random_fabric(8, 3, 2, fab_base_prng_next(&prng)), "updn"),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        fill(&all[i], SIZE_MAX);
        for (size_t row = 0; row < all[i].all.rows; row++) {
            struct fab_repair_delta d = {0};
            struct fab_repair_contingency *c = &all[i].all.row[row];
            if (c->plan == NULL || find_after_changes(&all[i], c, &all[i].lft, &d) != FAB_OK)
                /* this contingency has no plan, or its plan is for another set of labels */
                continue;
            fab_repair_delta_fini(&d);
            exchanges += check_other_entries(&all[i], c);
            plans++;
        }
        world_fini(&all[i]);
    }
    printf("# %u plans, %u exchanges\n", plans, exchanges);
    ck_assert_uint_gt(plans, 50);
    ck_assert_uint_gt(exchanges, 50);
}
END_TEST

/* ---- what a change touches ------------------------------------------------------------------- */

/* a repair after some changes, and the tables at that time */
struct state {
    struct fab_repair *repair;
    struct fab_lft lft;
};

static struct state state_of(const struct world *w)
{
    struct state s = {.lft = copy_of(&w->lft)};
    ck_assert_int_eq(fab_repair_clone(w->repair, &s.repair), FAB_OK);
    return s;
}

static void state_fini(struct state *s)
{
    fab_repair_free(s->repair);
    fab_target_lft_fini(&s->lft);
}

static bool is_lost(const struct state *a, const struct state *b, uint32_t sw, uint8_t num)
{
    const struct fab_repair_network *n = a->repair->network;
    uint32_t port = n->first[sw] + num;
    return num > 0 && port < n->first[sw + 1] &&
           (fab_repair_was_dead(a->repair, port) || fab_repair_was_dead(b->repair, port));
}

/* Finds the LIDs and channels that the change from state a to state b touches, entry by entry. They
 * must be those in *t. */
static void assert_touched(const struct fab_repair_touched *t, const struct state *a,
                           const struct state *b)
{
    const struct fab_repair_network *n = a->repair->network;
    uint64_t *lids = fab_base_bits_new(n->top + 1u), *channels = fab_base_bits_new(n->ports);
    for (uint32_t sw = 0; sw < n->n; sw++) {
        for (uint32_t lid = 1; lid <= n->top; lid++) {
            uint8_t was = fab_target_lft_at(&a->lft, sw, lid),
                    now = fab_target_lft_at(&b->lft, sw, lid);
            uint32_t channel = fab_repair_channel(n, sw, now);
            if (was != now || is_lost(a, b, sw, was) || is_lost(a, b, sw, now))
                fab_base_bits_set(lids, lid);
            if (was != now && channel != FAB_NONE)
                fab_base_bits_set(channels, channel);
        }
    }
    for (uint32_t lid = 0; lid <= n->top; lid++)
        ck_assert_msg(fab_base_bits_get(t->lid, lid) == fab_base_bits_get(lids, lid), "LID %u",
                      lid);
    for (uint32_t port = 0; port < n->ports; port++)
        ck_assert_int_eq(fab_base_bits_get(t->channel, port), fab_base_bits_get(channels, port));
    free(lids);
    free(channels);
}

/* Checks each rule by which a plan needs no new proof after the changes in *t. For this, makes
 * plans with a single dead link and a single changed entry. */
static void check_spared(const struct fab_repair_touched *t, const struct world *w)
{
    const struct fab_repair_network *n = w->repair->network;
    uint64_t since = t->since;
    for (uint32_t lid = 1; lid <= n->top; lid++) {
        for (uint32_t port = 0; port < n->ports; port += 3) {
            if (n->peer_sw[port] == FAB_NONE)
                continue;
            uint32_t dead[2] = {port, fab_repair_peer_port(n, port)};
            struct fab_repair_change c = {
                .lid = lid, .sw = n->peer_sw[port], .now = n->peer_num[port]};
            struct fab_repair_delta d = {.change = &c,
                                         .changes = 1,
                                         .dead = dead,
                                         .deads = 2,
                                         .label_set = w->repair->label_set};
            bool was_dead = fab_repair_was_dead(w->repair, port);
            bool spared = !fab_base_bits_get(t->lid, lid) &&
                          (was_dead || (!fab_base_bits_get(t->channel, dead[0]) &&
                                        !fab_base_bits_get(t->channel, dead[1])));
            ck_assert_int_eq(fab_repair_touched_spares(t, w->repair, &d, since), spared);
            ck_assert(since == 0 || !fab_repair_touched_spares(t, w->repair, &d, since - 1));
            /* the new entry of the plan leads into a dead link, so a new proof is needed */
            fab_base_bits_set(w->repair->is_dead, dead[1]);
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
            fab_base_bits_clear(w->repair->is_dead, dead[1]);
            d.cut = 1;
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
            d.cut = 0;
            d.lost = 1;
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
            d.lost = 0;
            d.relabels = 1;
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
            d.relabels = 0;
            d.label_set++;
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
            d.label_set--;
            c.now = FAB_LFT_NO_ROUTE;
            ck_assert(!fab_repair_touched_spares(t, w->repair, &d, since));
        }
    }
}

START_TEST(changes_touch_what_they_change)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("what changes touch", 12));
    struct world all[] = {
        world_of("fat tree of 2 levels", fat_tree(6, 2, 1), "fattree"),
        world_with("leaves and spines, 8 LIDs a port", leaf_spine(4, 3, 4), "updn", 3),
        world_of("random", random_fabric(10, 4, 2, fab_base_prng_next(&prng)), "updn"),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = &all[i];
        struct fab_repair_touched t = {.since = 0};
        const struct fab_repair_delta none = {0};
        /* before any change is recorded, each plan needs a new proof */
        ck_assert(!fab_repair_touched_spares(&t, w->repair, &none, 0));
        for (unsigned round = 0; round < 6; round++) {
            struct state before = state_of(w);
            uint32_t dead;
            do
                dead = (uint32_t)fab_base_prng_below(&prng, w->f->port_count);
            while (!fab_fabric_isl_is_up(w->f, dead));
            /* a link fails and the one before comes back; in every third round, all links are
             * back */
            change(w, &dead, round % 3 < 2);
            struct state after = state_of(w);
            fab_repair_touched_reset(&t, w->repair->commits);
            fab_repair_touched_add_tables(&t, before.repair, &before.lft, after.repair, &after.lft);
            assert_touched(&t, &before, &after);
            check_spared(&t, w);
            state_fini(&before);
            state_fini(&after);
        }
        fab_repair_touched_reset(&t, 0);
        world_fini(w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stored plans");
    TCase *tcase = tcase_create("stored plans");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, plans_of_other_entries_are_refused);
    tcase_add_test(tcase, changes_touch_what_they_change);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
