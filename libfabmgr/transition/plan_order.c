/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns the steps of a transition into the LFT writes of a plan.
 *
 * Links that come up become Active before stage ROUTES, while the switches still hold their old
 * tables. If these tables have a cycle with the new links, the plan is made again. Entries that
 * lead into these links then drop packets at first.
 *
 * If a write got no answer, the switch may hold the entries of this write or its former entries. If
 * the proof of the transition does not include both possibilities, a new plan is made, which first
 * restores the former entries.
 *
 * A write of a plan has all 64 entries of a block. Entries that the transition does not change in
 * this write keep the value that the switch holds. If this value is not known, the write sets the
 * entry to NO_ROUTE, because the transition assumes that unknown entries drop packets. The last
 * write of each block has all entries of the new table.
 *
 * Within a step, writes that end a packet loss come first.
 */
#include "libfabmgr/transition/plan_order.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/plan_steps.h"

struct ordering {
    const struct fab_plan_input *in;
    const struct fab_plan *plan;
    enum fab_plan_stage stage;
    const struct fab_transition *t;
    uint32_t blocks;
    /* bitset [switch][blocks] of the blocks for which ops[] already has a write */
    uint64_t *covered;
    struct fab_plan_op *ops;
    uint32_t count;
};

/* ---- the input of the transition ------------------------------------------------------------- */

/* Lists the writes that the plan makes in stage EARLY, before links come up. Returns OK or
 * NOMEM. */
static int list_early(const struct fab_plan *plan, struct fab_transition_write **ret)
{
    uint32_t first = plan->stage_start[FAB_STAGE_EARLY];
    uint32_t count = plan->stage_start[FAB_STAGE_EARLY + 1] - first;
    struct fab_transition_write *list = calloc((size_t)count + 1, sizeof(*list));
    if (list == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_plan_op *op = &plan->ops[first + i];
        list[i] = (struct fab_transition_write){
            .sw = op->node, .block = op->block, .set = ~(op->keep | op->drain), .drain = op->drain};
    }
    *ret = list;
    return FAB_OK;
}

static int make_steps(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                      const struct fab_transition_effort *effort, const struct fab_plan *plan,
                      struct fab_transition *ret)
{
    struct fab_transition_write *early = NULL;
    int status = list_early(plan, &early);
    if (status != FAB_OK)
        return status;
    const struct fab_transition_input t = {
        .fabric = in->fabric,
        .lids = &in->target->lids,
        .old_lft = &in->observed->lft,
        .known = in->observed->known,
        .new_lft = &in->target->lft,
        .before = early,
        .before_count = plan->stage_start[FAB_STAGE_EARLY + 1] - plan->stage_start[FAB_STAGE_EARLY],
        .old_vls = old_vls,
        .new_vls = &in->target->vls,
        .pool = effort->pool,
        .visits = effort->visits,
        .stopped = effort->stopped,
        .stopped_ctx = effort->stopped_ctx,
    };
    status = fab_transition_make(&t, ret);
    free(early);
    return status;
}

/* ---- the writes ------------------------------------------------------------------------------ */

static bool drops(const struct fab_plan_input *in, uint32_t sw, uint8_t entry)
{
    const struct fab_fabric *f = in->fabric;
    return entry > f->nodes[sw].num_ports ||
           (entry > 0 && !fab_fabric_port_is_up(f, fab_fabric_port_id(f, sw, entry)));
}

/* Returns true if the write changes an entry that drops packets at present. Unknown entries count
 * as entries that drop packets. */
static bool ends_loss(const struct ordering *o, const struct fab_transition_write *w)
{
    const struct fab_observed *held = o->in->observed;
    if (!fab_plan_observed_is_known(held, w->sw, w->block))
        return w->set != 0;
    const uint8_t *was = fab_target_lft_block(&held->lft, w->sw, w->block);
    for (uint64_t left = w->set; left != 0; left &= left - 1) {
        if (drops(o->in, w->sw, was[__builtin_ctzll(left)]))
            return true;
    }
    return false;
}

static struct fab_plan_op *add(struct ordering *o, uint32_t sw, uint32_t block)
{
    struct fab_plan_op *op = &o->ops[o->count++];
    *op = (struct fab_plan_op){.node = sw,
                               .port = fab_fabric_port_id(o->in->fabric, sw, 0),
                               .attr_id = FAB_ATTR_LFT,
                               .block = (uint16_t)block};
    return op;
}

/* Adds a write to ops[]. Does nothing if the switch of the write is silent, because a silent switch
 * cannot receive writes. */
static void add_write(struct ordering *o, const struct fab_transition_write *w)
{
    if (o->in->fabric->nodes[w->sw].silent)
        return;
    struct fab_plan_op *op = add(o, w->sw, w->block);
    bool first = fab_base_bits_add(o->covered, (size_t)w->sw * o->blocks + w->block);
    op->keep = ~(w->set | w->drain);
    op->drain = w->drain;
    op->awaited = w->step + 1 < o->t->step_count;
    op->waits = w->step > 0;
    if (first && !fab_plan_observed_is_known(o->in->observed, w->sw, w->block)) {
        op->drain |= op->keep;
        op->keep = 0;
    }
}

static void add_step(struct ordering *o, const struct fab_transition_step *step, bool barrier)
{
    const struct fab_transition_write *w = o->t->writes + step->first;
    uint32_t start = o->count;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < step->count; i++) {
            if (ends_loss(o, &w[i]) == (pass == 0))
                add_write(o, &w[i]);
        }
    }
    if (barrier && o->count > start) {
        o->ops[start].barrier = true;
        o->ops[start].settle = step->settle;
    }
}

/* Changes the last write of each block so that it sends the whole new block: all entries of the new
 * table, and also the entries above the highest LID. */
static void complete_blocks(struct ordering *o, uint32_t start)
{
    size_t bits = (size_t)o->in->target->lft.switch_count * o->blocks;
    fab_base_bits_zero(o->covered, bits);
    for (uint32_t i = o->count; i-- > start;) {
        struct fab_plan_op *op = &o->ops[i];
        if (fab_base_bits_add(o->covered, (size_t)op->node * o->blocks + op->block))
            op->keep = op->drain = 0;
    }
}

/* Adds those LFT writes of the plan that the transition does not have. Only the writes of stage
 * EARLY that set entries to NO_ROUTE, or set a doubtful block to its former entries, change entries
 * that are in use. */
static void add_others(struct ordering *o)
{
    uint32_t first = o->plan->stage_start[o->stage];
    for (uint32_t i = first; i < o->plan->stage_start[o->stage + 1]; i++) {
        const struct fab_plan_op *op = &o->plan->ops[i];
        if (o->stage == FAB_STAGE_EARLY && (op->keep | op->drain) != 0)
            /* This write of the former plan makes entries drop packets on a switch that is not cut
             * off, or sets a doubtful block to its former entries. The steps of the transition have
             * no such writes, so it is copied unchanged. */
            o->ops[o->count++] = *op;
        else if (fab_base_bits_add(o->covered, (size_t)op->node * o->blocks + op->block))
            add(o, op->node, op->block);
    }
}

static void add_all(struct ordering *o, struct fab_plan *plan)
{
    uint32_t start = plan->stage_start[o->stage];
    uint32_t end = plan->stage_start[o->stage + 1];
    memcpy(o->ops, plan->ops, start * sizeof(*o->ops));
    o->count = start;
    for (uint32_t i = 0; i < o->t->step_count; i++) {
        uint32_t first = o->count;
        add_step(o, &o->t->steps[i], i > 0);
        if (o->t->steps[i].lost_pairs == 0)
            continue;
        if (plan->lossy_end == 0)
            plan->lossy_first = first;
        plan->lossy_end = o->count;
    }
    complete_blocks(o, start);
    add_others(o);
    uint32_t rest = plan->stage_start[FAB_STAGE_COUNT] - end, shift = o->count - end;
    memcpy(o->ops + o->count, plan->ops + end, rest * sizeof(*o->ops));
    for (int stage = (int)o->stage + 1; stage <= FAB_STAGE_COUNT; stage++)
        plan->stage_start[stage] += shift;
}

int fab_transition_replace_writes(const struct fab_plan_input *in, enum fab_plan_stage stage,
                                  const struct fab_transition *t, struct fab_plan *plan)
{
    struct ordering o = {.in = in,
                         .plan = plan,
                         .stage = stage,
                         .t = t,
                         .blocks = fab_target_lft_blocks(&in->target->lft)};
    o.covered = fab_base_bits_new((size_t)in->target->lft.switch_count * o.blocks);
    o.ops = fab_base_alloc_array((size_t)plan->stage_start[FAB_STAGE_COUNT] + t->write_count + 1,
                                 sizeof(*o.ops));
    if (o.covered == NULL || o.ops == NULL) {
        free(o.covered);
        free(o.ops);
        return FAB_E_NOMEM;
    }
    add_all(&o, plan);
    free(o.covered);
    free(plan->ops);
    plan->ops = o.ops;
    plan->stepwise |= t->step_count > 1;
    return FAB_OK;
}

/* ---- the stages ------------------------------------------------------------------------------ */

static bool any_known(const struct fab_plan_input *in, const struct fab_plan *plan)
{
    for (uint32_t i = plan->stage_start[FAB_STAGE_ROUTES];
         in->observed != NULL && i < plan->stage_start[FAB_STAGE_ROUTES + 1]; i++) {
        if (fab_plan_observed_is_known(in->observed, plan->ops[i].node, plan->ops[i].block))
            return true;
    }
    return false;
}

static void note(const struct fab_transition *t, struct fab_transition_outcome *o)
{
    o->verdict = t->verdict > o->verdict ? t->verdict : o->verdict;
    o->steps += t->step_count;
    o->rounds += t->rounds;
    o->drained += t->drained;
    o->lost_pairs += t->lost_pairs;
    o->unknown += t->unknown;
    o->sl_pairs += t->sl_pairs;
    o->stale_sls |= t->stale_sls;
    o->unproven_lanes |= t->unproven_lanes;
}

static int order_routes(const struct fab_plan_input *in, struct fab_transition *t,
                        struct fab_plan *plan)
{
    bool ordered = plan->unordered == 0 && !plan->unchecked && !in->hold;
    if (t->verdict == FAB_TRANSITION_NOTHING || t->verdict >= FAB_TRANSITION_OLD_CYCLE)
        return FAB_OK;
    if (t->verdict == FAB_TRANSITION_ANY_ORDER && ordered) {
        /* the plan keeps its own order, and this order loses no working path */
        t->lost_pairs = 0;
        return FAB_OK;
    }
    int status = fab_transition_replace_writes(in, FAB_STAGE_ROUTES, t, plan);
    if (status != FAB_OK)
        return status;
    plan->unordered = 0;
    plan->unchecked = false;
    return FAB_OK;
}

/* If the plan restores doubtful blocks, makes all writes of stage ROUTES wait for the writes that
 * restore them. Until all doubtful blocks are restored, the switches may hold a mixture of entries
 * that the proof does not include. */
static void await_restored(struct fab_plan *plan)
{
    const uint32_t *start = plan->stage_start;
    plan->stepwise |= plan->restores;
    for (uint32_t i = start[FAB_STAGE_ROUTES]; plan->restores && i < start[FAB_STAGE_ROUTES + 1];
         i++)
        plan->ops[i].waits = true;
}

static bool links_come_up(const struct fab_plan *plan)
{
    return plan->stage_start[FAB_STAGE_ISLS_UP + 1] > plan->stage_start[FAB_STAGE_ISLS_UP];
}

static int make_again(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                      const struct fab_transition_effort *effort, struct fab_plan *plan,
                      struct fab_transition *t)
{
    struct fab_plan made;
    int status = fab_plan_make(in, &made);
    if (status != FAB_OK)
        return status;
    fab_plan_fini(plan);
    *plan = made;
    fab_transition_fini(t);
    return make_steps(in, old_vls, effort, plan, t);
}

/* If the old tables have a cycle as soon as links come up, makes the plan and the steps again. In
 * the new plan, the entries that lead into these links drop packets at first. */
static int hold(struct fab_plan_input *in, const struct fab_vls *old_vls,
                const struct fab_transition_effort *effort, struct fab_plan *plan,
                struct fab_transition *t)
{
    if (in->hold || t->verdict != FAB_TRANSITION_OLD_CYCLE || !links_come_up(plan))
        return FAB_OK;
    in->hold = true;
    return make_again(in, old_vls, effort, plan, t);
}

/* Returns true if each entry of a lost write has one of three values: the entry before the
 * transition, the new entry, or NO_ROUTE (drop). */
static bool is_mixture(const struct fab_plan_input *in, const struct fab_plan_lost *w)
{
    const uint8_t *was = fab_target_lft_block(&in->observed->lft, w->sw, w->block);
    const uint8_t *now = fab_target_lft_block(&in->target->lft, w->sw, w->block);
    unsigned i = 0;
    while (i < FAB_LFT_BLOCK && (w->entries[i] == was[i] || w->entries[i] == now[i] ||
                                 w->entries[i] == FAB_LFT_NO_ROUTE))
        i++;
    return i == FAB_LFT_BLOCK;
}

/* If writes without an answer may have left a mixture of entries that the proof does not include,
 * makes the plan and the steps again. The doubtful blocks are then restored first. Nothing needs to
 * be restored if writes in any order are safe and each lost write has only old entries, new entries
 * and NO_ROUTE, because the proof then includes every mixture. (With other verdicts, even a lost
 * write of such entries may break the order of the steps.) */
static int restore(struct fab_plan_input *in, const struct fab_vls *old_vls,
                   const struct fab_transition_effort *effort, struct fab_plan *plan,
                   struct fab_transition *t)
{
    bool proved = t->verdict <= FAB_TRANSITION_ANY_ORDER || in->lost_count == 0;
    for (uint32_t i = 0; i < in->lost_count && proved; i++)
        proved = is_mixture(in, &in->lost[i]);
    if (proved)
        return FAB_OK;
    in->restore = true;
    int status = make_again(in, old_vls, effort, plan, t);
    return status == FAB_OK ? hold(in, old_vls, effort, plan, t) : status;
}

int fab_transition_order_plan(const struct fab_plan_input *input, const struct fab_vls *old_vls,
                              const struct fab_transition_effort *effort, struct fab_plan *plan,
                              struct fab_transition_outcome *ret)
{
    struct fab_plan_input in = *input;
    struct fab_transition t = {0}, early = {0};
    int status = FAB_OK;
    *ret = (struct fab_transition_outcome){.verdict = FAB_TRANSITION_NOTHING};
    if (any_known(&in, plan)) {
        status = make_steps(&in, old_vls, effort, plan, &t);
        if (status == FAB_OK)
            status = hold(&in, old_vls, effort, plan, &t);
        if (status == FAB_OK)
            status = restore(&in, old_vls, effort, plan, &t);
    }
    if (status == FAB_OK && plan->early_mixes)
        status = fab_transition_make_early(&in, old_vls, effort, plan, &early);
    if (status == FAB_OK && early.step_count > 0)
        status = fab_transition_replace_writes(&in, FAB_STAGE_EARLY, &early, plan);
    if (status == FAB_OK)
        status = order_routes(&in, &t, plan);
    if (status == FAB_OK) {
        await_restored(plan);
        note(&early, ret);
        note(&t, ret);
    }
    fab_transition_fini(&early);
    fab_transition_fini(&t);
    return status;
}
