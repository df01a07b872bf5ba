/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements GetDrainPlan: batches of switches that can be drained one after the other
 * (libfabmgr/health/drain_plan.h).
 *
 * The planner checks for each batch whether it cuts off a part of the fabric. At 11,664 hosts this
 * takes 0.1 s and more, so the planner runs as a study (study.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabric/v1/drain.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/hosts.h"
#include "fabricd/rpc/server.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain_plan.h"

#define KEEP_DEFAULT 75u

struct plan_study {
    struct study study;
    uint64_t *of; /* bitset of the switches to drain */
    uint32_t keep_percent;
    struct fab_drain_plan plan;
};

static Fabric__V1__DrainBatch *convert_batch(struct answer *a, const struct fab_fabric *f,
                                             const struct fab_drain_batch *batch, uint32_t switches)
{
    Fabric__V1__DrainBatch *m = ANSWER_NEW(a, Fabric__V1__DrainBatch, fabric__v1__drain_batch);
    if (m == NULL)
        return NULL;
    m->switches = answer_alloc(a, switches, sizeof *m->switches);
    m->kept_percent = batch->kept_percent;
    m->endport_count = batch->hosts;
    if (batch->least != FAB_NONE)
        m->least_switch = answer_text(a, f->nodes[batch->least].desc);
    return m->switches != NULL ? m : NULL;
}

/* Returns an array with the number of switches in each batch, in memory of the answer; NULL: memory
 * ran out. */
static uint32_t *count_switches(struct answer *a, const struct fab_fabric *f,
                                const struct fab_drain_plan *p)
{
    uint32_t *count = answer_alloc(a, p->count + 1u, sizeof *count);
    for (uint32_t sw = 0; count != NULL && sw < f->switch_count; sw++)
        if (p->batch_of[sw] != FAB_NONE)
            count[p->batch_of[sw]]++;
    return count;
}

static void fill(struct answer *a, const struct fab_view *v, const uint64_t *of,
                 const struct fab_drain_plan *p, Fabric__V1__GetDrainPlanResponse *m)
{
    const struct fab_fabric *f = v->fabric;
    const uint32_t *count = count_switches(a, f, p);
    m->generation = v->generation;
    m->batches = answer_alloc(a, p->count + 1u, sizeof *m->batches);
    m->left_over = answer_alloc(a, f->switch_count + 1u, sizeof *m->left_over);
    for (uint32_t i = 0; count != NULL && m->batches != NULL && i < p->count; i++) {
        m->batches[i] = convert_batch(a, f, &p->batch[i], count[i]);
        if (m->batches[i] == NULL)
            return;
        m->n_batches++;
    }
    for (uint32_t sw = 0; m->left_over != NULL && sw < f->switch_count; sw++) {
        uint32_t batch = p->batch_of[sw];
        if (!fab_base_bits_get(of, sw) || (batch != FAB_NONE && batch >= m->n_batches))
            continue;
        Fabric__V1__DrainBatch *to = batch != FAB_NONE ? m->batches[batch] : NULL;
        char **place =
            to != NULL ? &to->switches[to->n_switches++] : &m->left_over[m->n_left_over++];
        *place = answer_text(a, f->nodes[sw].desc);
    }
}

/* ---- on the worker thread -------------------------------------------------------------------- */

static void work(struct study *s)
{
    struct plan_study *p = (struct plan_study *)s;
    const struct fab_drain_plan_input in = {s->view->fabric, p->of, p->keep_percent, study_stopped,
                                            s};
    int rc = fab_health_drain_plan(&in, &p->plan);
    if (rc != FAB_OK && !study_stopped(s))
        study_fail(s, rc, "the drains could not be planned");
}

/* ---- on the loop thread ---------------------------------------------------------------------- */

static bool tell(struct study *s)
{
    const struct plan_study *p = (const struct plan_study *)s;
    Fabric__V1__GetDrainPlanResponse m = FABRIC__V1__GET_DRAIN_PLAN_RESPONSE__INIT;
    struct answer a = {0};
    fill(&a, s->view, p->of, &p->plan, &m);
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void plan_study_free(struct study *s)
{
    struct plan_study *p = (struct plan_study *)s;
    fab_health_drain_plan_fini(&p->plan);
    free(p->of);
    free(p);
}

/* Returns a study of the switches in a rack; rack "": of all switches. Sets *ret_empty to true if
 * no switch is in the rack. Returns NULL if memory ran out. */
static struct plan_study *make_study(const struct fab_view *v, const char *rack,
                                     uint32_t keep_percent, bool *ret_empty)
{
    struct plan_study *p = calloc(1, sizeof *p);
    uint64_t *of = fab_base_bits_new(v->fabric->switch_count);
    if (p == NULL || of == NULL) {
        free(p);
        free(of);
        return NULL;
    }
    *ret_empty = true;
    for (uint32_t sw = 0; sw < v->fabric->switch_count; sw++) {
        if (!is_switch_in_rack(v, sw, rack))
            continue;
        fab_base_bits_set(of, sw);
        *ret_empty = false;
    }
    p->of = of;
    p->keep_percent = keep_percent != 0 ? keep_percent : KEEP_DEFAULT;
    return p;
}

void get_drain_plan(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, plan_study_free, "the switches of a rack"};
    const Fabric__V1__GetDrainPlanRequest *q = request;
    struct fab_view *v = need_target(c);
    bool empty;
    if (v == NULL)
        return;
    if (q->keep_percent > 100) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "keep_percent is %u; 1 to 100 are accepted",
                    q->keep_percent);
        return;
    }
    struct plan_study *p = make_study(v, q->rack, q->keep_percent, &empty);
    if (p == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    /* Finding all hosts takes milliseconds, and is only needed if the rack has no switch: the hosts
     * show whether there is such a rack. */
    const struct fab_hosts *h = empty ? need_hosts(c, v) : NULL;
    if (empty && (h == NULL || !need_rack(c, h, v, q->rack)))
        plan_study_free(&p->study);
    else
        study_start(c, v, &kind, &p->study);
}
