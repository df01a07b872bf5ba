/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a look that take time with the size of the fabric, computed apart from the loop:
 * phase "preparing", what a look starts from; "sealing", the snapshot of what was found;
 * "adopting", the ways to all nodes and the comparison with what was known, whereupon the model has
 * it.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/private.h"

struct look { /* all owned */
    struct fab_discover *discover;
    struct fab_fabric *base;
    struct sm_guids suspects;
    uint64_t m_key;
    struct fab_fabric *fabric;
    struct sm_model model; /* lent */
    bool lent, same;
    int status;
};

static void look_free(struct look *l)
{
    fab_discover_free(l->discover);
    fab_fabric_unref(l->base);
    fab_fabric_unref(l->fabric);
    if (l->lent)
        sm_model_fini(&l->model);
    free(l);
}

static void drop(struct sm *s, void *ctx)
{
    struct look *l = ctx;
    if (s && l->lent) {
        sm_model_take_back(&s->model, &l->model);
        l->lent = false;
        if (l->status == FAB_OK && !l->same)
            sm_model_take_target(&s->model, NULL);
    }
    look_free(l);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void prepare(void *ctx)
{
    struct look *l = ctx;
    const struct fab_discover_config config = {
        .base = l->base,
        .suspects = l->suspects.guid,
        .suspect_count = l->suspects.count,
        .m_key = l->m_key,
    };
    l->status = fab_discover_new(&config, &l->discover);
}

static int enter_prepare(struct sm *s)
{
    static const struct sm_part part = {prepare, drop};
    struct look *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->m_key = s->policy.m_key;
    if (s->run.kind == SM_ROUND_SCOPED) {
        l->base = fab_fabric_ref(s->model.fabric);
        l->suspects = s->suspects;
    }
    return sm_apart_begin(s, &part, l);
}

static int leave_prepare(struct sm *s)
{
    struct look *l = sm_apart_take(s);
    int r = l->status;
    fab_discover_free(s->discover);
    s->discover = l->discover;
    l->discover = NULL;
    look_free(l);
    return r;
}

/* ---- sealing --------------------------------------------------------------------------------- */

static void seal(void *ctx)
{
    struct look *l = ctx;
    l->status = fab_discover_result(l->discover, &l->fabric);
}

static int enter_seal(struct sm *s)
{
    static const struct sm_part part = {seal, drop};
    struct look *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->discover = s->discover;
    s->discover = NULL;
    l->base = s->model.fabric ? fab_fabric_ref(s->model.fabric) : NULL;
    return sm_apart_begin(s, &part, l);
}

static int leave_seal(struct sm *s)
{
    struct look *l = sm_apart_take(s);
    int r = l->status;
    s->discover = l->discover;
    l->discover = NULL;
    fab_fabric_unref(s->found);
    s->found = l->fabric;
    l->fabric = NULL;
    look_free(l);
    return r == FAB_OK ? sm_look_judge(s) : r;
}

/* ---- adopting -------------------------------------------------------------------------------- */

static void adopt(void *ctx)
{
    struct look *l = ctx;
    struct fab_fabric *fabric = l->fabric;
    l->fabric = NULL;
    l->status = sm_model_adopt(&l->model, fabric, &l->same);
}

static int note_silent(struct sm *s)
{
    uint32_t count;
    const struct fab_silent *silent = fab_discover_silent(s->discover, &count);
    return sm_silent_update(s, silent, count, s->run.kind == SM_ROUND_SCOPED);
}

static int enter_adopt(struct sm *s)
{
    static const struct sm_part part = {adopt, drop};
    struct look *l = calloc(1, sizeof(*l));
    if (!l)
        return FAB_E_NOMEM;
    l->fabric = s->found;
    s->found = NULL;
    l->lent = true;
    sm_model_lend(&s->model, &l->model);
    return sm_apart_begin(s, &part, l);
}

static int leave_adopt(struct sm *s)
{
    struct look *l = sm_apart_take(s);
    int r = l->status;
    sm_model_take_back(&s->model, &l->model);
    l->lent = false;
    s->run.same = l->same;
    if (r == FAB_OK && !l->same)
        sm_model_take_target(&s->model, NULL);
    look_free(l);
    if (r == FAB_OK)
        r = note_silent(s);
    s->run.known_us = clock_now_us();
    fab_discover_free(s->discover);
    s->discover = NULL;
    return r;
}

const struct sm_phase sm_phase_prepare = {"preparing", enter_prepare, NULL,
                                          NULL,        sm_apart_over, leave_prepare};
const struct sm_phase sm_phase_seal = {"sealing", enter_seal,    NULL,
                                       NULL,      sm_apart_over, leave_seal};
const struct sm_phase sm_phase_adopt = {"adopting", enter_adopt,   NULL,
                                        NULL,       sm_apart_over, leave_adopt};
