/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetRoutingChoice, which shows how the manager chose the engine of the active
 * tables. */
#include "fabric/v1/route.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/target/choice.h"

static Fabric__V1__EngineOutcome convert_outcome(enum fab_choice_outcome outcome)
{
    static const Fabric__V1__EngineOutcome outcomes[] = {
        [FAB_CHOICE_TAKEN] = FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_TAKEN,
        [FAB_CHOICE_NOT_BETTER] = FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_NOT_BETTER,
        [FAB_CHOICE_REFUSED] = FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_REFUSED,
        [FAB_CHOICE_UNPROVED] = FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_UNPROVED,
        [FAB_CHOICE_UNFIT] = FABRIC__V1__ENGINE_OUTCOME__ENGINE_OUTCOME_UNFIT,
    };
    return outcomes[outcome];
}

static Fabric__V1__EngineFigures *convert_figures(struct answer *a,
                                                  const struct fab_choice_figures *f)
{
    Fabric__V1__EngineFigures *m =
        ANSWER_NEW(a, Fabric__V1__EngineFigures, fabric__v1__engine_figures);
    if (m == NULL)
        return NULL;
    m->max_over_mean = f->imbalance;
    m->worst_shift = f->worst_shift;
    m->mean_shift = f->mean_shift;
    m->shift_bandwidth = f->shift_bandwidth;
    m->permutation_bandwidth = f->permutation_bandwidth;
    return m;
}

static Fabric__V1__ConsideredEngine *convert_row(struct answer *a, const struct fab_choice_row *row)
{
    Fabric__V1__ConsideredEngine *m =
        ANSWER_NEW(a, Fabric__V1__ConsideredEngine, fabric__v1__considered_engine);
    if (m == NULL)
        return NULL;
    m->engine = answer_text(a, row->engine);
    m->outcome = convert_outcome(row->outcome);
    m->reason = answer_text(a, row->why);
    m->local_search = row->searched;
    m->virtual_lanes = row->lanes;
    if (row->time_us > 0)
        m->time = convert_duration(a, row->time_us);
    if (row->measured)
        m->figures = convert_figures(a, &row->figures);
    return m;
}

static void fill_rows(struct answer *a, const struct fab_choice *choice,
                      Fabric__V1__GetRoutingChoiceResponse *m)
{
    m->engines = answer_alloc(a, choice->count, sizeof *m->engines);
    for (uint32_t i = 0; m->engines != NULL && i < choice->count; i++) {
        Fabric__V1__ConsideredEngine *row = convert_row(a, &choice->row[i]);
        if (row == NULL)
            return;
        m->engines[m->n_engines++] = row;
    }
}

void get_routing_choice(struct call *c, const void *request)
{
    (void)request;
    Fabric__V1__GetRoutingChoiceResponse m = FABRIC__V1__GET_ROUTING_CHOICE_RESPONSE__INIT;
    struct answer a = {0};
    const struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    m.generation = v->generation;
    m.engine = answer_text(&a, v->target->engine);
    m.reason = answer_text(&a, v->target->reason);
    if (v->target->choice != NULL)
        fill_rows(&a, v->target->choice, &m);
    answer_reply(&a, c, &m.base);
}
