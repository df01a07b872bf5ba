/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contingencies on several families of fabrics. Each stored plan equals, write by write and byte
 * by byte, what a repair computes at that moment; the figures equal those of walking every path;
 * and no plan is returned for a state that has passed.
 */
#include "libfabmgr/repair/contingency/contingency.h"
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
    ck_assert_int_eq(fab_target_lft_init(&copy, t->switch_count, t->top), FAB_OK);
    memcpy(copy.entries, t->entries, (size_t)t->switch_count * t->stride);
    return copy;
}

/* Consumes f. */
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

/* Computes all cases, and stores plans as long as they fit. */
static void fill(struct world *w, size_t budget)
{
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    int status;
    fab_repair_contingencies_fini(&w->all);
    fab_repair_contingencies_init(&w->all, w->repair);
    ck_assert_int_eq(fab_repair_contingency_begin(w->repair, &m), FAB_OK);
    fab_repair_contingency_set_tables(m, &w->lft);
    while (fab_repair_contingency_prepare(m))
        ;
    while ((status = fab_repair_contingency_next(m, w->all.memory < budget, &c)) == FAB_OK)
        ck_assert_int_eq(fab_repair_contingencies_add(&w->all, &c), FAB_OK);
    ck_assert_int_eq(status, FAB_E_NOT_FOUND);
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

/* The most paths on a living channel after the delta. */
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
        ret[count++] = c->id % 2 == 0 ? c->id : c->peer; /* either port will do */
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
    for (size_t i = 0; i < w->all.count; i++) {
        const struct fab_repair_contingency *c = &w->all.row[i];
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

/* Carries out a stored plan, then brings the links back: the result is what was before. */
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
    ck_assert_int_eq(fab_repair_contingencies_find(&w->all, w->repair, &w->lft, dead, count, &d),
                     FAB_E_NOT_FOUND); /* its state has passed */
    fill(w, SIZE_MAX);
    check_all(w, dead[0]);
    ck_assert_int_eq(fab_repair_plan(w->repair, &w->lft, NULL, 0, &d, why, sizeof(why)), FAB_OK);
    fab_repair_commit(w->repair, &w->lft, &d);
    fab_repair_delta_fini(&d);
    ck_assert_uint_eq(fab_repair_overlay_size(w->repair), 0);
    ck_assert_mem_eq(w->lft.entries, w->base->lft.entries,
                     (size_t)w->lft.switch_count * w->lft.stride);
}

/* Two more links die, one after the other, each with its plan; then all come back at once. */
static void carry_out_in_a_row(struct world *w, struct fab_prng *prng)
{
    struct fab_repair_delta d;
    uint32_t dead[2];
    char why[200];
    for (size_t i = 0; i < 2; i++) {
        fill(w, SIZE_MAX);
        size_t cables = w->all.count - w->all.switches;
        const struct fab_repair_contingency *c = &w->all.row[fab_base_prng_below(prng, cables)];
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
    fab_base_prng_init(&prng, test_seed("plans at hand", 3));
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
        for (size_t row = 0; row < all[i].all.count; row++) {
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
    size_t whole = w.all.memory, rows = w.all.room * sizeof(*w.all.row), bytes = sizeof(w.all);
    for (size_t i = 0; i < w.all.count; i++)
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

static Suite *suite(void)
{
    Suite *s = suite_create("contingency");
    TCase *c = tcase_create("contingency");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, plans_at_hand_are_repairs);
    tcase_add_test(c, memory_is_bounded);
    tcase_add_test(c, others_are_not_found);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
