/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetDrainPlan: batches of switches that can be drained one after the other
 * (libfabmgr/health/drain_plan.h). */
#include <stdio.h>
#include <stdlib.h>

#include "fabric/v1/drain.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/hosts.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain_plan.h"

#define KEEP_DEFAULT 75u

static Fabric__V1__DrainBatch *convert_batch(struct answer *a, const struct fab_view *v,
                                             const struct fab_drain_plan *p, uint32_t batch)
{
    const struct fab_fabric *f = v->fabric;
    Fabric__V1__DrainBatch *m = ANSWER_NEW(a, Fabric__V1__DrainBatch, fabric__v1__drain_batch);
    uint32_t count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        count += p->batch_of[sw] == batch;
    if (m == NULL)
        return NULL;
    m->switches = answer_alloc(a, count + 1u, sizeof *m->switches);
    for (uint32_t sw = 0; m->switches != NULL && sw < f->switch_count; sw++)
        if (p->batch_of[sw] == batch)
            m->switches[m->n_switches++] = answer_text(a, f->nodes[sw].desc);
    m->kept_percent = p->batch[batch].kept_percent;
    m->endport_count = p->batch[batch].hosts;
    if (p->batch[batch].least != FAB_NONE)
        m->least_switch = answer_text(a, f->nodes[p->batch[batch].least].desc);
    return m;
}

static void fill(struct answer *a, const struct fab_view *v, const uint64_t *of,
                 const struct fab_drain_plan *p, Fabric__V1__GetDrainPlanResponse *m)
{
    const struct fab_fabric *f = v->fabric;
    m->generation = v->generation;
    m->batches = answer_alloc(a, p->count + 1u, sizeof *m->batches);
    m->left_over = answer_alloc(a, f->switch_count + 1u, sizeof *m->left_over);
    for (uint32_t i = 0; m->batches != NULL && i < p->count; i++)
        m->batches[m->n_batches++] = convert_batch(a, v, p, i);
    for (uint32_t sw = 0; m->left_over != NULL && sw < f->switch_count; sw++)
        if (fab_base_bits_get(of, sw) && p->batch_of[sw] == FAB_NONE)
            m->left_over[m->n_left_over++] = answer_text(a, f->nodes[sw].desc);
}

void get_drain_plan(struct call *c, const void *request)
{
    const Fabric__V1__GetDrainPlanRequest *q = request;
    Fabric__V1__GetDrainPlanResponse m = FABRIC__V1__GET_DRAIN_PLAN_RESPONSE__INIT;
    struct fab_drain_plan plan = {0};
    struct answer a = {0};
    struct fab_view *v = need_target(c);
    const struct fab_hosts *h = v != NULL ? need_hosts(c, v) : NULL;
    if (h == NULL || !need_rack(c, h, v, q->rack))
        return;
    if (q->keep_percent > 100) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "keep_percent is %u; 1 to 100 are accepted",
                    q->keep_percent);
        return;
    }
    uint64_t *of = fab_base_bits_new(v->fabric->switch_count);
    for (uint32_t sw = 0; of != NULL && sw < v->fabric->switch_count; sw++)
        if (is_in_rack(h, v, sw, q->rack))
            fab_base_bits_set(of, sw);
    if (of == NULL ||
        fab_health_drain_plan(v->fabric, of, q->keep_percent ? q->keep_percent : KEEP_DEFAULT,
                              &plan) != FAB_OK)
        a.arena.failed = true;
    else
        fill(&a, v, of, &plan, &m);
    fab_health_drain_plan_fini(&plan);
    free(of);
    answer_reply(&a, c, &m.base);
}
