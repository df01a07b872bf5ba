/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric with its tables, its repair and the contingencies of all failures, for the tests of
 * contingencies. */
#ifndef TESTS_UNIT_CONTINGENCY_WORLD_H
#define TESTS_UNIT_CONTINGENCY_WORLD_H

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

static inline struct fab_lft copy_of(const struct fab_lft *t)
{
    struct fab_lft copy;
    ck_assert_int_eq(fab_target_lft_copy(t, &copy), FAB_OK);
    return copy;
}

/* Routes f by the engine, and makes a repair of the tables. Takes over f. lmc: each endport has 1
 * << lmc LIDs. */
static inline struct world world_with(const char *name, struct fab_fabric *f, const char *engine,
                                      uint8_t lmc)
{
    struct world w = {.name = name, .f = f, .base = fab_target_new()};
    char why[480] = "";
    fab_policy_defaults(&w.policy);
    w.policy.lmc = lmc;
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

static inline struct world world_of(const char *name, struct fab_fabric *f, const char *engine)
{
    return world_with(name, f, engine, 0);
}

static inline void world_fini(struct world *w)
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
static inline void fill(struct world *w, size_t budget)
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

static inline size_t list_dead(const struct world *w, const struct fab_repair_contingency *c,
                               uint32_t before, uint32_t ret[256])
{
    size_t count = 0;
    if (before != FAB_NONE)
        ret[count++] = before;
    if (!c->is_switch)
        /* The repair must accept each of the two ports of a link. So the test names the link by one
         * or the other port, depending on the id. */
        ret[count++] = c->id % 2 == 0 ? c->id : c->peer;
    for (unsigned num = 1; c->is_switch && num <= w->f->nodes[c->id].num_ports; num++)
        ret[count++] = fab_fabric_port_id(w->f, c->id, (uint8_t)num);
    return count;
}

/* Repairs the tables for the dead links dead[count], and commits the repair. */
static inline void change(struct world *w, const uint32_t *dead, size_t count)
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

#endif
