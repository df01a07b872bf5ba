/* SPDX-License-Identifier: BSD-3-Clause */
/* A routed fabric with traffic classes. */
#ifndef TESTS_UNIT_QOS_WORLD_H
#define TESTS_UNIT_QOS_WORLD_H

#include <string.h>

#include "libfabmgr/qos/qos.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/verify.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/routing.h"
#include "tests/unit/testing.h"
#include "tests/unit/verify_vls.h"

struct world {
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_target *t;
    struct fab_qos_report report;
    int status;
};

static inline void add_class(struct fab_classes *c, const char *name, uint8_t share, bool high,
                             uint8_t sl)
{
    struct fab_classes_error e;
    struct fab_class k = {.name = name, .share = share, .high = high, .sl = sl};
    uint8_t n;
    ck_assert_msg(fab_policy_classes_add(c, &k, &n, &e) == FAB_OK, "%s", e.message);
}

/* Makes tables and VLs for the fabric f, and takes ownership of f. classes: number of traffic
 * classes, without the default class. */
static inline struct world world_of(struct fab_fabric *f, unsigned classes)
{
    struct world w = {.f = f, .t = fab_target_new()};
    static const char *const names[] = {
        "storage", "checkpoint", "training", "inference", "management", "f", "g", "h",
        "i",       "j",          "k",        "l",         "m",          "n", "o"};
    fab_policy_defaults(&w.p);
    ck_assert_int_eq(fab_policy_classes_new(&w.p.classes), FAB_OK);
    for (unsigned i = 0; i < classes; i++)
        add_class(w.p.classes, names[i], 0, false, FAB_CLASS_NO_SL);
    assigned(f, &w.p, &w.t->lids);
    return w;
}

static inline int route(struct world *w, const char *engine)
{
    struct fab_route_input in = {.fabric = w->f, .policy = &w->p, .lids = &w->t->lids};
    char why[300];
    uint32_t weakest;
    int status = FAB_E_UNSUPPORTED;
    /* Like the manager, halves the number of sets of VLs until the engine can route. */
    for (uint8_t sets = w->p.classes->count; status != FAB_OK && sets > 0; sets /= 2) {
        w->p.lane_sets = sets;
        status =
            fab_route_engine_by_name(engine)->run(&in, &w->t->lft, &w->t->vls, why, sizeof(why));
    }
    w->p.lane_sets = 0;
    if (status != FAB_OK)
        return status;
    uint8_t vls = fab_route_vls_available(w->f, &w->p, &weakest);
    return fab_qos_compose(w->p.classes, vls, &w->t->vls, &w->report);
}

static inline void world_fini(struct world *w)
{
    fab_policy_fini(&w->p);
    fab_target_unref(w->t);
    fab_fabric_unref(w->f);
}

static inline struct fab_verdict judged(const struct world *w, const struct fab_vls *v)
{
    struct fab_verdict verdict;
    struct fab_verify_input in = {.fabric = w->f,
                                  .lids = &w->t->lids,
                                  .lft = &w->t->lft,
                                  .vls = v,
                                  .policy = &w->p,
                                  .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, &verdict), FAB_OK);
    return verdict;
}

#endif
