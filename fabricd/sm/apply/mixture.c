/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "judging" runs after table writes failed. The switches then hold a mixture of old and new
 * tables, for which the verdict of the new tables is not valid. The phase verifies this mixture on
 * a worker thread, and publishes the verdict with the view.
 *
 * The view of a local repair is published before its writes are sent. If writes then fail, the next
 * sweep repeats them. This sweep begins with phase "judging repairs", which verifies the mixture
 * and replaces the verdict of the view. If a fault occurs, the phase stops after at most 256
 * further LIDs, and the sweep is postponed.
 *
 * The contents of a block whose write failed are uncertain: the switch holds the old or the new
 * entries. The verdict says "may deadlock" if any combination of old and new entries in these
 * blocks may deadlock. The number of unreachable pairs in the verdict assumes that no failed write
 * took effect. The phase assumes that the SL-to-VL tables were written, and that ISLs which did not
 * become Active carry no packets. The mixture includes the links of silent switches, because these
 * switches still forward packets.
 *
 * If the mixture has a loop or may deadlock, the manager raises an alarm. The next round repeats
 * the writes, and its verdict ends the alarm.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/steps.h"

/* While the worker task runs, it owns all members except `stop`. */
struct sm_judging {
    struct sm_model model;
    struct fab_target *target;
    struct fab_policy policy;
    struct sm_excluded *excluded;
    /* The snapshot with the links of silent switches. */
    struct fab_fabric *fabric;
    const struct fab_pool *pool;
    /* a copy of `fabric` without the ISLs that are not Active and so carry no packets */
    struct fab_fabric *carrying;
    /* [failed_count] the LFT writes that were sent and failed */
    struct sm_failed_block *failed;
    uint32_t *failed_sw; /* [failed_count] the switch of each element of `failed` */
    uint32_t failed_count;
    uint64_t *refused; /* bitset of the switches in failed_sw[] */
    struct fab_verdict verdict;
    int status; /* result of the verification; BUSY: it was stopped */
    /* set by the loop thread if the verification must end early */
    int stop;
};

static void judging_free(struct sm_judging *j)
{
    fab_verify_verdict_fini(&j->verdict);
    free(j->failed);
    free(j->failed_sw);
    free(j->refused);
    fab_fabric_unref(j->carrying);
    fab_policy_fini(&j->policy);
    fab_target_unref(j->target);
    free(j->excluded);
    fab_fabric_unref(j->fabric);
    free(j);
}

static void drop(struct sm *s, void *ctx)
{
    struct sm_judging *j = ctx;
    if (s) {
        s->apply->judging = NULL;
        sm_model_take_back(&s->model, &j->model);
    } else
        sm_model_fini(&j->model);
    judging_free(j);
}

/* Makes the tables that the switches would hold if all failed writes had taken effect. In these
 * tables, unknown blocks of a switch without failed writes have the entries of the target. */
static int complete(const struct sm_judging *j, struct fab_lft *ret)
{
    const struct fab_observed *o = &j->model.observed;
    const struct fab_lft *want = &j->target->lft;
    int r = fab_target_lft_init(ret, want->switch_count, want->top);
    for (uint32_t sw = 0; r == FAB_OK && sw < want->switch_count; sw++) {
        bool held = fab_base_bits_get(j->refused, sw);
        for (uint32_t block = 0; block < fab_target_lft_blocks(want); block++) {
            bool known = held || fab_plan_observed_is_known(o, sw, block);
            memcpy(fab_target_lft_row(ret, sw) + (size_t)block * FAB_LFT_BLOCK,
                   fab_target_lft_block(known ? &o->lft : want, sw, block), FAB_LFT_BLOCK);
        }
    }
    for (uint32_t i = 0; r == FAB_OK && i < j->failed_count; i++)
        memcpy(fab_target_lft_row(ret, j->failed_sw[i]) +
                   (size_t)j->failed[i].block * FAB_LFT_BLOCK,
               j->failed[i].entries, FAB_LFT_BLOCK);
    return r;
}

static bool is_stopped(void *ctx)
{
    const struct sm_judging *j = ctx;
    return __atomic_load_n(&j->stop, __ATOMIC_RELAXED) != 0;
}

/* Sets *ret_safe to true if the tables have no cycle of channel dependencies in any case, whether a
 * failed block has its old or its new entries. Returns OK, NOMEM, or BUSY if it was stopped. */
static int judge_uncertain(struct sm_judging *j, bool *ret_safe)
{
    struct fab_transition t = {0};
    struct fab_lft other = {0};
    int r = complete(j, &other);
    const struct fab_transition_input in = {.fabric = j->carrying,
                                            .lids = &j->target->lids,
                                            .old_lft = &j->model.observed.lft,
                                            .new_lft = &other,
                                            .old_vls = &j->target->vls,
                                            .new_vls = &j->target->vls,
                                            .pool = j->pool,
                                            .visits = 1,
                                            .stopped = is_stopped,
                                            .stopped_ctx = j};
    if (r == FAB_OK)
        r = fab_transition_make(&in, &t);
    *ret_safe = t.verdict == FAB_TRANSITION_NOTHING || t.verdict == FAB_TRANSITION_ANY_ORDER;
    fab_transition_fini(&t);
    fab_target_lft_fini(&other);
    return r;
}

/* Verifies the tables that the switches hold if no failed write took effect. */
static int judge_held(struct sm_judging *j)
{
    /* the observed tables have room for at least as many switches as the fabric has */
    struct fab_lft held = j->model.observed.lft;
    held.switch_count = j->carrying->switch_count;
    const struct fab_verify_input in = {.fabric = j->carrying,
                                        .lids = &j->target->lids,
                                        .lft = &held,
                                        .vls = &j->target->vls,
                                        .policy = &j->policy,
                                        .max_hops = j->policy.max_hops};
    struct fab_verify_steps *steps = NULL;
    int r = fab_verify_steps_new(&in, &steps);
    while (r == FAB_OK && fab_verify_steps_next(steps))
        r = is_stopped(j) ? FAB_E_BUSY : FAB_OK;
    if (r == FAB_OK)
        r = fab_verify_steps_judge(steps, &j->verdict);
    fab_verify_steps_free(steps);
    return r;
}

static void work(void *ctx)
{
    struct sm_judging *j = ctx;
    bool safe = false;
    j->status = sm_excluded_connected(j->excluded, j->model.fabric, &j->fabric);
    if (j->status == FAB_OK)
        j->status = fab_transition_carrying(j->fabric, &j->carrying);
    if (j->status == FAB_OK)
        j->status = judge_held(j);
    if (j->status == FAB_OK && j->verdict.deadlock_free)
        j->status = judge_uncertain(j, &safe);
    j->verdict.deadlock_free = j->verdict.deadlock_free && safe;
}

/* Copies from the list of failed blocks the writes that were sent and failed, but not those that
 * were never sent. Returns OK or NOMEM. */
static int take_failed(const struct sm *s, struct sm_judging *j)
{
    uint32_t switches = s->model.target->lft.switch_count;
    j->failed = calloc(s->apply->failed_count + 1u, sizeof(*j->failed));
    j->failed_sw = calloc(s->apply->failed_count + 1u, sizeof(*j->failed_sw));
    j->refused = fab_base_bits_new(switches);
    if (!j->failed || !j->failed_sw || !j->refused)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < s->apply->failed_count; i++) {
        const struct sm_failed_block *b = &s->apply->failed[i];
        uint32_t sw = fab_fabric_node_by_guid(s->model.fabric, b->guid);
        if (!b->sent || sw >= switches || b->block >= fab_target_lft_blocks(&s->model.target->lft))
            continue;
        j->failed_sw[j->failed_count] = sw;
        j->failed[j->failed_count++] = *b;
        fab_base_bits_set(j->refused, sw);
    }
    return FAB_OK;
}

static int begin(struct sm *s)
{
    static const struct sm_phase_work judging = {work, drop};
    struct sm_judging *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    j->excluded = sm_excluded_take(s, false);
    int r = j->excluded ? fab_policy_copy(&s->policy, &j->policy) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = take_failed(s, j);
    if (r != FAB_OK) {
        judging_free(j);
        return r;
    }
    j->target = fab_target_ref(s->model.target);
    j->pool = loop_thread_pool(s->in.loop);
    sm_model_lend(&s->model, &j->model);
    s->apply->judging = j;
    return sm_phase_task_begin(s, &judging, j);
}

/* Returns true if the verdict is not that of the tables that the switches hold. There are two
 * cases: table writes of this round failed; or this round has repeated writes that had failed
 * before, and the verdict is still that of the tables that the switches held before. */
static bool is_outdated(const struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    if (p->failed_tables > 0)
        return true;
    if (s->run.computed)
        return false;
    return s->apply->mixed || (p->writes > 0 && !fab_verify_verdict_good(&s->apply->verdict));
}

static int enter(struct sm *s)
{
    if (is_outdated(s))
        return begin(s);
    s->apply->mixed = false;
    return FAB_OK;
}

static int enter_repairs(struct sm *s)
{
    return s->apply->unjudged && s->model.view ? begin(s) : FAB_OK;
}

static void stop(struct sm *s)
{
    if (s->apply->judging)
        __atomic_store_n(&s->apply->judging->stop, 1, __ATOMIC_RELAXED);
}

static void report(struct sm *s, const struct sm_judging *j)
{
    const struct sm_programming *p = &s->apply->program;
    const struct fab_verdict *v = &j->verdict;
    bool loop = v->witness.kind == FAB_E_LOOP;
    if (v->deadlock_free && !loop && s->apply->mixture_alarm) {
        sm_alarm_clear(s);
        s->apply->mixture_alarm = false;
    }
    if (fab_verify_verdict_good(v))
        return;
    if (p->withheld > 0 && !loop && v->deadlock_free)
        return; /* the event writes-withheld has reported the missing writes */
    const char *what = loop                ? "they have a forwarding loop"
                       : !v->deadlock_free ? "they may deadlock"
                                           : "some endports cannot reach each other";
    if (p->failed_tables)
        event_emit(s->in.bus, tables_mixed, .subject = "fabric", .reason = what,
                   .writes = p->failed_tables, .pairs = v->unreachable_pairs);
    else
        event_emit(s->in.bus, tables_still_mixed, .subject = "fabric", .reason = what,
                   .pairs = v->unreachable_pairs);
    if (!loop && v->deadlock_free)
        return;
    sm_alarm_set(s, "failed table writes left a mixture of old and new tables: %s", what);
    s->apply->mixture_alarm = true;
}

/* Takes over the verdict of the mixture of old and new tables. */
static int take(struct sm *s, struct sm_judging *j)
{
    s->apply->judging = NULL;
    sm_model_take_back(&s->model, &j->model);
    if (j->status != FAB_OK)
        return j->status;
    report(s, j);
    fab_verify_verdict_fini(&s->apply->verdict);
    s->apply->verdict = j->verdict;
    j->verdict = (struct fab_verdict){0};
    s->apply->unjudged = false;
    return FAB_OK;
}

static int leave(struct sm *s)
{
    struct sm_judging *j = sm_phase_task_take(s);
    if (!j)
        return FAB_OK;
    int r = take(s, j);
    if (r == FAB_OK)
        s->apply->mixed = s->apply->program.failed_tables > 0;
    judging_free(j);
    return r;
}

static int leave_repairs(struct sm *s)
{
    struct sm_judging *j = sm_phase_task_take(s);
    if (!j)
        return FAB_OK;
    int r = take(s, j);
    if (r == FAB_OK)
        r = sm_publish_verdict(s, &s->apply->verdict);
    judging_free(j);
    return r;
}

const struct sm_phase sm_phase_judge = {
    .name = "judging", .enter = enter, .finished = sm_phase_task_over, .leave = leave};
const struct sm_phase sm_phase_judge_repairs = {.name = "judging repairs",
                                                .enter = enter_repairs,
                                                .finished = sm_phase_task_over,
                                                .leave = leave_repairs,
                                                .abort = stop,
                                                .yields = SM_YIELDS};
