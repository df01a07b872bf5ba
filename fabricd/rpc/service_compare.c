/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements CompareEngines, which reports the tables that each engine computes for the known
 * fabric. The worker thread runs one engine at a time, and sends its report before the next engine
 * starts. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/report.h"
#include "libfabmgr/base/status.h"

#define ENGINES_MAX 64

struct compare_study {
    struct study study;
    struct measure measure;
    const struct fab_route_engine *engines[ENGINES_MAX];
    size_t count, next;
    struct report report;
};

static void work(struct study *s)
{
    struct compare_study *c = (struct compare_study *)s;
    const struct fab_fabric *f = s->view->fabric;
    const struct fab_lids *lids = &s->view->target->lids;
    struct report *r = &c->report;
    r->engine = c->engines[c->next++];
    r->lane_sets = fab_policy_classes_count(s->view->policy.classes);
    if (!measure_resolve(&c->measure, s))
        return;
    /* At first, each traffic class has its own set of VLs. While the engine cannot route with the
     * VLs of one set, the number of sets is halved: each set then has more VLs, and classes share
     * the sets. */
    while (report_make(r, s, &c->measure, f, lids) && r->status != FAB_OK && r->lane_sets > 1)
        r->lane_sets /= 2;
    if (report_good(r))
        report_compose(r, s, f, lids);
}

static bool tell(struct study *s)
{
    struct compare_study *c = (struct compare_study *)s;
    Fabric__V1__CompareEnginesResponse m = FABRIC__V1__COMPARE_ENGINES_RESPONSE__INIT;
    struct answer a = {0};
    m.generation = s->view->generation;
    m.report = convert_report(&a, s->view, &c->report);
    if (m.report != NULL)
        m.report->active = strcmp(c->report.engine->name, s->view->target->engine) == 0;
    report_fini(&c->report);
    if (answer_send(&a, s->call, &m.base) < 0)
        return false;
    if (c->next == c->count)
        call_finish(s->call, FAB_GRPC_OK, NULL);
    return c->next < c->count;
}

static void compare_free(struct study *s)
{
    struct compare_study *c = (struct compare_study *)s;
    report_fini(&c->report);
    measure_fini(&c->measure);
    free(c);
}

static int pick_all(struct compare_study *s)
{
    for (const struct fab_route_engine *const *e = fab_route_engines();
         *e != NULL && s->count < ENGINES_MAX; e++)
        s->engines[s->count++] = *e;
    return FAB_OK;
}

static int pick(struct compare_study *s, struct call *c, const Fabric__V1__CompareEnginesRequest *q)
{
    if (q->n_engines == 0)
        return pick_all(s);
    for (size_t i = 0; i < q->n_engines; i++) {
        const struct fab_route_engine *e = fab_route_engine_by_name(q->engines[i]);
        if (e == NULL || s->count == ENGINES_MAX) {
            call_finish(c, FAB_GRPC_NOT_FOUND,
                        "no routing engine \"%.60s\"; 'fabricctl route compare' lists all",
                        q->engines[i]);
            return FAB_E_NOT_FOUND;
        }
        s->engines[s->count++] = e;
    }
    return FAB_OK;
}

void compare_engines(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, compare_free,
                                           "fewer samples, fewer endports, or other engines"};
    const Fabric__V1__CompareEnginesRequest *q = request;
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    struct compare_study *s = calloc(1, sizeof *s);
    if (s == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else if (measure_init(&s->measure, c, q->options) == FAB_OK && pick(s, c, q) == FAB_OK)
        study_start(c, v, &kind, &s->study);
    else
        compare_free(&s->study);
}
