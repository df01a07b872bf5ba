/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fixed tables of silent switches (links/silent.c). Silent switches cannot be written. In new
 * tables, a silent switch therefore keeps the entries that it holds, and the plan has no writes to
 * it.
 *
 * If routes cannot avoid a silent switch, the proof of new tables includes the entries that this
 * switch holds. Tables with a loop or a cycle of channel dependencies are not accepted. But the
 * tables may leave pairs of endports without a path, because a fixed entry leads to a failed link.
 * Such pairs are only counted, and stay without a path until the switch answers. The VLs of such a
 * switch cannot change either, so new tables must use the VLs of the active tables.
 *
 * If the manager knows no entry of a silent switch, it assumes the entries that the engine
 * computed. If it knows some of its entries, it takes the others as NO_ROUTE.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/sm/apply/state.h"

/* Returns true if the snapshot has links of this silent switch. If routes can avoid the switch, the
 * snapshot has none: links/silent.c has removed them. */
static bool is_linked(const struct fab_fabric *f, uint32_t sw)
{
    bool linked = false;
    for (uint32_t num = 1; num <= f->nodes[sw].num_ports && !linked; num++)
        linked = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer != FAB_NONE;
    return linked;
}

/* Copies the LFT of switch `sw` from the observed tables to row i of ret->entry. Unknown entries
 * become NO_ROUTE. */
static void copy_row(const struct fab_observed *o, uint32_t sw, struct sm_fixed *ret, uint32_t i)
{
    uint8_t *row = ret->entry + (size_t)i * (ret->top + 1), *known = ret->known + i;
    for (uint32_t lid = 0; lid <= ret->top; lid++) {
        bool is_known = fab_plan_observed_is_known(o, sw, lid / FAB_LFT_BLOCK);
        row[lid] = is_known ? fab_target_lft_at(&o->lft, sw, lid) : FAB_LFT_NO_ROUTE;
        *known |= is_known;
    }
}

int sm_fixed_take(const struct sm *s, struct sm_fixed *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_fixed x = {.top = s->model.observed.lft.top};
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        x.count += f->nodes[sw].silent;
    if (x.count == 0) {
        *ret = x;
        return FAB_OK;
    }
    x.sw = calloc(x.count, sizeof(*x.sw));
    x.known = calloc(x.count, sizeof(*x.known));
    x.entry = calloc(x.count, (size_t)x.top + 1);
    if (!x.sw || !x.known || !x.entry) {
        sm_fixed_fini(&x);
        return FAB_E_NOMEM;
    }
    uint32_t n = 0;
    for (uint32_t sw = 0; sw < f->switch_count && n < x.count; sw++) {
        if (!f->nodes[sw].silent)
            continue;
        x.needed += is_linked(f, sw);
        x.sw[n] = sw;
        copy_row(&s->model.observed, sw, &x, n++);
    }
    *ret = x;
    return FAB_OK;
}

void sm_fixed_fini(struct sm_fixed *x)
{
    free(x->sw);
    free(x->known);
    free(x->entry);
    *x = (struct sm_fixed){0};
}

static int apply_row(const struct sm_fixed *x, uint32_t i, struct fab_target *t, bool *ret_changed)
{
    const uint8_t *held = x->entry + (size_t)i * (x->top + 1);
    for (uint32_t lid = 1; x->known[i] && lid <= t->lids.top && lid <= x->top; lid++) {
        if (fab_target_lft_at(&t->lft, x->sw[i], lid) == held[lid])
            continue;
        int r = fab_target_lft_own(&t->lft, x->sw[i], lid);
        if (r != FAB_OK)
            return r;
        fab_target_lft_set(&t->lft, x->sw[i], lid, held[lid]);
        /* no packets are sent to a LID without an owner */
        *ret_changed |= t->lids.owner[lid] != FAB_NONE;
    }
    return FAB_OK;
}

int sm_fixed_apply(const struct sm_fixed *x, const struct fab_fabric *f, struct fab_target *t,
                   bool *ret_changed)
{
    *ret_changed = false;
    int r = x->count > 0 ? fab_target_lft_unshare(&t->lft) : FAB_OK;
    for (uint32_t i = 0; i < x->count && r == FAB_OK; i++) {
        bool changed = false;
        r = apply_row(x, i, t, &changed);
        *ret_changed |= changed && is_linked(f, x->sw[i]);
    }
    return r;
}

bool sm_fixed_accepts_vls(const struct sm_fixed *x, const struct fab_vls *was,
                          const struct fab_vls *now)
{
    if (x->needed == 0 || (!fab_target_vls_multiple(was) && !fab_target_vls_multiple(now)))
        return true;
    return fab_target_vls_count(was) == fab_target_vls_count(now) && was->classes <= 1 &&
           now->classes <= 1 && memcmp(was->vl[0][0], now->vl[0][0], sizeof(was->vl[0][0])) == 0;
}
