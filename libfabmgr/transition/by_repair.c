/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the LFT writes of a plan the order that a repair has computed for them, in time
 * proportional to the change.
 *
 * When nodes or links leave or return, the new tables are often the former tables with a repair
 * (libfabmgr/repair/session). fab_repair_order has ordered the writes of the repair, so that labels
 * ascend along all paths in every mixture of old and new entries. So no mixture has a loop or a
 * cycle of channel dependencies, and no working path is lost. The plan may use this order if its
 * LFT writes are the writes of the repair. The LFT writes of a plan are in two stages (plan.h):
 * stage EARLY has the writes that precede links that come up, and stage ROUTES has all others. The
 * checks in this file are:
 *
 *   - each block of stage ROUTES is known and not doubtful, and holds the entries from which the
 *     repair starts;
 *   - stage ROUTES has all blocks of the repair, and no others. Blocks without a write then hold
 *     the entries of the target;
 *   - switches that get their tables in stage EARLY, because they are cut off, have no write in the
 *     repair that must wait for another one. Their writes come before all others, which is one of
 *     the orders that the repair allows;
 *   - the repair makes only stale entries drop packets, before links come up, and no endport sends
 *     to another endport through them. These writes are added to stage EARLY. If one of them fails,
 *     no link may come up, and no later LFT write may be sent;
 *   - no SL and no VL changes, no SL or VL depends on the path or on ports, and no switch is
 *     silent.
 *
 * If a check fails, the caller must order the writes in another way (plan_order.c).
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/plan_steps.h"

struct match {
    const struct fab_plan_input *in;
    const struct fab_repair_delta *d;
    const struct fab_plan *plan;
    uint32_t blocks;
    /* bitset of the switches that get their tables in stage EARLY, before links come up */
    uint64_t *early;
    /* bitset [switch][blocks] of the blocks that stage ROUTES writes */
    uint64_t *routed;
    /* bitset [switch][blocks] of the blocks that stage ROUTES writes and the repair changes */
    uint64_t *found;
    /* [steps of the repair + 1] Some steps of the repair have writes in stage ROUTES; these steps
     * get new numbers, from 0. number[i] is the new number of step i. steps: how many steps got a
     * new number. writes: how many writes these steps have. */
    uint32_t *number;
    uint32_t steps, writes;
    uint32_t drains; /* number of writes by which the repair makes stale entries drop packets */
};

/* ---- may the plan use the order? ------------------------------------------------------------- */

static bool same_vls(const struct fab_vls *a, const struct fab_vls *b)
{
    if (!fab_target_vls_multiple(a) && !fab_target_vls_multiple(b))
        return true;
    return a->count == b->count && a->classes == b->classes && a->levels == b->levels &&
           a->lanes == b->lanes && !a->of_lid && !b->of_lid && !a->of_pair && !b->of_pair &&
           !a->port_class && !b->port_class && memcmp(a->vl, b->vl, sizeof(a->vl)) == 0 &&
           memcmp(a->sl, b->sl, sizeof(a->sl)) == 0 &&
           memcmp(a->lane_set, b->lane_set, sizeof(a->lane_set)) == 0;
}

static bool any_silent(const struct fab_fabric *f)
{
    uint32_t sw = 0;
    while (sw < f->switch_count && !f->nodes[sw].silent)
        sw++;
    return sw < f->switch_count;
}

static size_t bit_of(const struct match *m, uint32_t sw, uint32_t block)
{
    return (size_t)sw * m->blocks + block;
}

static void find_early(struct match *m)
{
    const struct fab_plan *plan = m->plan;
    for (uint32_t i = plan->stage_start[FAB_STAGE_EARLY];
         i < plan->stage_start[FAB_STAGE_EARLY + 1]; i++) {
        if (plan->ops[i].drain == 0)
            fab_base_bits_set(m->early, plan->ops[i].node);
    }
}

/* Fills `routed` with the blocks that stage ROUTES writes. Returns false if the switch of such a
 * block also gets its tables in stage EARLY, or if its entries in the block are unknown or
 * doubtful. */
static bool find_routed(struct match *m)
{
    const struct fab_plan *plan = m->plan;
    for (uint32_t i = plan->stage_start[FAB_STAGE_ROUTES];
         i < plan->stage_start[FAB_STAGE_ROUTES + 1]; i++) {
        const struct fab_plan_op *op = &plan->ops[i];
        if (op->block >= m->blocks || fab_base_bits_get(m->early, op->node) ||
            !fab_plan_observed_is_known(m->in->observed, op->node, op->block) ||
            fab_plan_observed_is_doubtful(m->in->observed, op->node, op->block))
            return false;
        fab_base_bits_set(m->routed, bit_of(m, op->node, op->block));
    }
    return true;
}

/* Checks one write of the repair. Returns true if its switch holds the entries that the repair
 * expects before the write, and if the target has the entries that the repair writes. */
static bool starts_from(const struct match *m, const struct fab_repair_write *w)
{
    uint8_t old[FAB_LFT_BLOCK];
    const uint8_t *want = fab_target_lft_block(&m->in->target->lft, w->sw, w->block);
    const uint8_t *held = fab_target_lft_block(&m->in->observed->lft, w->sw, w->block);
    memcpy(old, want, FAB_LFT_BLOCK);
    for (uint32_t i = 0; i < w->changes; i++) {
        const struct fab_repair_change *c = &m->d->change[m->d->by_write[w->first + i]];
        unsigned at = c->lid % FAB_LFT_BLOCK;
        if (c->lid > m->in->target->lft.top || want[at] != c->now)
            return false;
        /* a stale entry drops packets before this write, whatever the switch holds now */
        old[at] = c->stale ? held[at] : c->was;
    }
    return memcmp(held, old, FAB_LFT_BLOCK) == 0;
}

static bool is_in_routes(const struct match *m, const struct fab_repair_write *w)
{
    return w->sw != FAB_NONE && !fab_base_bits_get(m->early, w->sw);
}

static bool accept(struct match *m, const struct fab_repair_write *w)
{
    if (w->sw == FAB_NONE)
        return true;
    if (w->sw >= m->in->fabric->switch_count || w->block >= m->blocks ||
        (w->drain != 0 && !w->early))
        return false;
    if (!is_in_routes(m, w))
        /* the first step after the drains */
        return w->early || w->step == m->d->write[0].early;
    if (w->early) {
        m->drains++;
        return fab_base_bits_get(m->routed, bit_of(m, w->sw, w->block));
    }
    if (!fab_base_bits_get(m->routed, bit_of(m, w->sw, w->block)) || !starts_from(m, w))
        return false;
    m->writes++;
    m->number[w->step] = 1;
    fab_base_bits_set(m->found, bit_of(m, w->sw, w->block));
    return true;
}

static bool fits(struct match *m)
{
    size_t words = ((size_t)m->in->fabric->switch_count * m->blocks + 63) / 64;
    find_early(m);
    bool good = find_routed(m);
    for (size_t i = 0; good && i < m->d->writes; i++)
        good = m->d->write[i].step < m->d->steps && accept(m, &m->d->write[i]);
    if (!good || memcmp(m->found, m->routed, words * sizeof(*m->found)) != 0)
        return false;
    for (uint32_t step = 0; step < m->d->steps; step++)
        m->number[step] = m->number[step] != 0 ? m->steps++ : 0;
    return true;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static uint64_t set_by(const struct match *m, const struct fab_repair_write *w)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < w->changes; i++)
        set |= UINT64_C(1) << (m->d->change[m->d->by_write[w->first + i]].lid % FAB_LFT_BLOCK);
    return set & ~w->keep;
}

/* Makes the steps of the transition. The writes of the repair are already sorted by step. */
static int make_steps(const struct match *m, struct fab_transition *ret)
{
    struct fab_transition t = {.verdict = FAB_TRANSITION_STEPS, .rounds = 1};
    t.steps = calloc((size_t)m->steps + 1, sizeof(*t.steps));
    t.writes = fab_base_alloc_array((size_t)m->writes + 1, sizeof(*t.writes));
    if (t.steps == NULL || t.writes == NULL) {
        fab_transition_fini(&t);
        return FAB_E_NOMEM;
    }
    t.step_count = m->steps;
    for (size_t i = 0; i < m->d->writes; i++) {
        const struct fab_repair_write *w = &m->d->write[i];
        if (!is_in_routes(m, w) || w->early)
            continue;
        struct fab_transition_step *step = &t.steps[m->number[w->step]];
        if (step->count++ == 0)
            step->first = t.write_count;
        t.writes[t.write_count++] = (struct fab_transition_write){
            .sw = w->sw, .block = w->block, .step = m->number[w->step], .set = set_by(m, w)};
    }
    *ret = t;
    return FAB_OK;
}

/* ---- stale entries --------------------------------------------------------------------------- */

/* Returns the write of the block of `w` in stage EARLY: one of ops[], from the first write of the
 * stage to ops[*end - 1]. If there is none, appends a write that changes no entry, and raises *end.
 */
static struct fab_plan_op *early_op(const struct match *m, const struct fab_repair_write *w,
                                    struct fab_plan_op *ops, uint32_t *end)
{
    for (uint32_t i = m->plan->stage_start[FAB_STAGE_EARLY]; i < *end; i++) {
        if (ops[i].node == w->sw && ops[i].block == w->block)
            return &ops[i];
    }
    ops[*end] = (struct fab_plan_op){.node = w->sw,
                                     .port = fab_fabric_port_id(m->in->fabric, w->sw, 0),
                                     .attr_id = FAB_ATTR_LFT,
                                     .block = (uint16_t)w->block,
                                     .keep = ~UINT64_C(0)};
    return &ops[(*end)++];
}

/* Adds the writes that drain stale entries to stage EARLY. All writes of stage ROUTES wait for
 * them. */
static int add_drains(const struct match *m, struct fab_plan *plan)
{
    uint32_t *start = plan->stage_start, old_end = start[FAB_STAGE_EARLY + 1], end = old_end;
    struct fab_plan_op *ops =
        fab_base_alloc_array((size_t)start[FAB_STAGE_COUNT] + m->drains, sizeof(*ops));
    if (ops == NULL)
        return FAB_E_NOMEM;
    memcpy(ops, plan->ops, end * sizeof(*ops));
    for (size_t i = 0; i < m->d->writes; i++) {
        const struct fab_repair_write *w = &m->d->write[i];
        if (!w->early || !is_in_routes(m, w))
            continue;
        struct fab_plan_op *op = early_op(m, w, ops, &end);
        op->drain |= w->drain;
        op->keep &= ~w->drain;
        op->awaited = op->restores = true;
    }
    memcpy(ops + end, plan->ops + old_end, (start[FAB_STAGE_COUNT] - old_end) * sizeof(*ops));
    for (int stage = FAB_STAGE_EARLY + 1; stage <= FAB_STAGE_COUNT; stage++)
        start[stage] += end - old_end;
    for (uint32_t i = start[FAB_STAGE_ROUTES]; i < start[FAB_STAGE_ROUTES + 1]; i++)
        ops[i].waits = true;
    free(plan->ops);
    plan->ops = ops;
    plan->restores = plan->stepwise = true;
    return FAB_OK;
}

static uint32_t count_drained_lids(const struct fab_repair_delta *d)
{
    uint32_t count = 0, last = FAB_NONE;
    for (size_t i = 0; i < d->changes; i++) {
        count += d->change[i].stale && d->change[i].lid != last;
        last = d->change[i].stale ? d->change[i].lid : last;
    }
    return count;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int give_order(const struct match *m, struct fab_plan *plan,
                      struct fab_transition_outcome *ret)
{
    struct fab_transition t = {0};
    bool ordered = plan->unordered == 0 && !plan->unchecked;
    *ret = (struct fab_transition_outcome){
        .verdict = m->drains > 0  ? FAB_TRANSITION_DRAINS
                   : m->steps > 1 ? FAB_TRANSITION_STEPS
                   : m->steps > 0 ? FAB_TRANSITION_ANY_ORDER
                                  : FAB_TRANSITION_NOTHING,
        .steps = m->steps,
        .rounds = m->steps > 0,
        .drained = m->drains > 0 ? count_drained_lids(m->d) : 0,
    };
    if (m->steps == 0 || (m->steps == 1 && ordered && m->drains == 0))
        return FAB_OK;
    int status = make_steps(m, &t);
    if (status == FAB_OK)
        status = fab_transition_replace_writes(m->in, FAB_STAGE_ROUTES, &t, plan);
    fab_transition_fini(&t);
    if (status == FAB_OK && m->drains > 0)
        status = add_drains(m, plan);
    if (status != FAB_OK)
        return status;
    plan->unordered = 0;
    plan->unchecked = false;
    return FAB_OK;
}

int fab_transition_order_by_repair(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                                   const struct fab_repair_delta *d, struct fab_plan *plan,
                                   struct fab_transition_outcome *ret)
{
    struct match m = {.in = in, .d = d, .plan = plan};
    if (d->by_write == NULL || d->paused > 0 || in->observed == NULL || in->hold ||
        plan->early_mixes || !same_vls(old_vls, &in->target->vls) || any_silent(in->fabric))
        return FAB_E_NOT_FOUND;
    m.blocks = fab_target_lft_blocks(&in->target->lft);
    size_t bits = (size_t)in->fabric->switch_count * m.blocks;
    m.early = fab_base_bits_new((size_t)in->fabric->switch_count + 1);
    m.routed = fab_base_bits_new(bits + 1);
    m.found = fab_base_bits_new(bits + 1);
    m.number = calloc((size_t)d->steps + 1, sizeof(*m.number));
    int status = m.early && m.routed && m.found && m.number ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK && !fits(&m))
        status = FAB_E_NOT_FOUND;
    if (status == FAB_OK)
        status = give_order(&m, plan, ret);
    free(m.early);
    free(m.routed);
    free(m.found);
    free(m.number);
    return status;
}
