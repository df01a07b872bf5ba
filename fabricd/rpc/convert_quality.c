/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts quality figures of tables, and the reports of engines, to messages of fabric.v1.
 */
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/report.h"
#include "libfabmgr/base/status.h"

static void fill_worst(struct answer *a, const struct fab_view *v, const struct fab_quality_all *q,
                       Fabric__V1__AllToAll *m)
{
    m->worst = answer_alloc(a, q->worst_count, sizeof *m->worst);
    for (uint32_t i = 0; m->worst != NULL && i < q->worst_count; i++) {
        Fabric__V1__LoadedChannel *c =
            ANSWER_NEW(a, Fabric__V1__LoadedChannel, fabric__v1__loaded_channel);
        if (c == NULL)
            return;
        c->from = convert_port_ref(a, v, q->worst[i]);
        c->to = convert_port_ref(a, v, fab_fabric_port(v->fabric, q->worst[i])->peer);
        c->load = q->worst_load[i];
        m->worst[m->n_worst++] = c;
    }
}

static Fabric__V1__AllToAll *convert_all(struct answer *a, const struct fab_view *v,
                                         const struct fab_quality *q)
{
    Fabric__V1__AllToAll *m = ANSWER_NEW(a, Fabric__V1__AllToAll, fabric__v1__all_to_all);
    if (m == NULL)
        return NULL;
    m->max = q->all.max;
    m->bound = q->all.bound;
    m->mean = q->all.mean;
    m->sigma = q->all.sigma;
    m->max_over_mean = fab_study_quality_imbalance(q);
    m->squares = fab_study_quality_squares(q);
    m->unused_channels = q->all.unused;
    m->max_min_endports = q->all.min_ends;
    fill_worst(a, v, &q->all, m);
    return m;
}

static Fabric__V1__Shifts *convert_shifts(struct answer *a, const struct fab_quality *q)
{
    Fabric__V1__Shifts *m = ANSWER_NEW(a, Fabric__V1__Shifts, fabric__v1__shifts);
    if (m == NULL)
        return NULL;
    m->max = q->shift.max;
    m->bound = q->permutation_bound;
    m->worst_shift = q->shift.worst;
    m->tried = q->shift.tried;
    m->exhaustive = q->shift.every;
    m->mean = q->shift.mean;
    m->bandwidth = q->shift.bandwidth;
    return m;
}

static Fabric__V1__ShiftOrders *convert_orders(struct answer *a, const struct fab_quality_orders *o)
{
    Fabric__V1__ShiftOrders *m = ANSWER_NEW(a, Fabric__V1__ShiftOrders, fabric__v1__shift_orders);
    if (m == NULL)
        return NULL;
    m->orders = o->count;
    m->max = o->max;
    m->mean = o->mean;
    m->bandwidth = o->bandwidth;
    return m;
}

static Fabric__V1__RandomPermutations *convert_random(struct answer *a,
                                                      const struct fab_quality_random *q)
{
    Fabric__V1__RandomPermutations *m =
        ANSWER_NEW(a, Fabric__V1__RandomPermutations, fabric__v1__random_permutations);
    if (m == NULL)
        return NULL;
    m->median = q->median;
    m->max = q->max;
    m->tried = q->tried;
    m->bandwidth = q->bandwidth;
    return m;
}

static Fabric__V1__Bisections *convert_bisections(struct answer *a,
                                                  const struct fab_quality_bisection *q)
{
    Fabric__V1__Bisections *m = ANSWER_NEW(a, Fabric__V1__Bisections, fabric__v1__bisections);
    if (m == NULL)
        return NULL;
    m->mean = q->mean;
    m->min = q->least;
    m->tried = q->tried;
    return m;
}

static void fill_hops(struct answer *a, const struct fab_quality *q, Fabric__V1__Quality *m)
{
    m->hops = answer_alloc(a, FAB_QUALITY_HOPS, sizeof *m->hops);
    for (uint32_t i = 0; m->hops != NULL && i < FAB_QUALITY_HOPS; i++) {
        Fabric__V1__HopCount *h =
            q->hops[i] > 0 ? ANSWER_NEW(a, Fabric__V1__HopCount, fabric__v1__hop_count) : NULL;
        if (h == NULL)
            continue;
        h->switches = i;
        h->pairs = q->hops[i];
        m->hops[m->n_hops++] = h;
    }
}

Fabric__V1__Quality *convert_quality(struct answer *a, const struct fab_view *v,
                                     const struct fab_quality *q)
{
    Fabric__V1__Quality *m = ANSWER_NEW(a, Fabric__V1__Quality, fabric__v1__quality);
    if (m == NULL)
        return NULL;
    m->endports = q->ends;
    m->leaves = q->leaves;
    m->channels = q->channels;
    m->pairs = q->pairs;
    m->unreachable_pairs = q->lost;
    m->all_to_all = convert_all(a, v, q);
    m->shifts = convert_shifts(a, q);
    m->shift_orders = convert_orders(a, &q->orders);
    m->random_permutations = convert_random(a, &q->random);
    m->bisections = convert_bisections(a, &q->bisection);
    fill_hops(a, q, m);
    return m;
}

static void fill_class_notes(struct answer *a, const struct fab_view *v, const struct report *r,
                             Fabric__V1__EngineReport *m)
{
    char text[400];
    m->class_notes = answer_alloc(a, r->classes.notes, sizeof *m->class_notes);
    for (unsigned i = 0; m->class_notes != NULL && i < r->classes.notes; i++) {
        fab_qos_note_text(v->policy.classes, &r->classes, i, text, sizeof text);
        m->class_notes[m->n_class_notes++] = answer_text(a, text);
    }
}

Fabric__V1__EngineReport *convert_report(struct answer *a, const struct fab_view *v,
                                         const struct report *r)
{
    Fabric__V1__EngineReport *m =
        ANSWER_NEW(a, Fabric__V1__EngineReport, fabric__v1__engine_report);
    if (m == NULL)
        return NULL;
    m->engine = answer_text(a, r->engine->name);
    m->summary = answer_text(a, r->engine->summary);
    m->reason = answer_text(a, r->why);
    m->routed = r->status == FAB_OK;
    m->route_time = convert_duration(a, r->route_us);
    if (!m->routed)
        return m;
    m->verify_time = convert_duration(a, r->verify_us);
    m->verdict = convert_verdict(a, v, &r->verdict);
    m->quality = convert_quality(a, v, &r->quality);
    m->virtual_lanes = fab_target_vls_count(&r->vls);
    fill_class_notes(a, v, r, m);
    return m;
}
