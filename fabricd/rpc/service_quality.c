/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements GetQuality, which returns the quality figures of the active tables.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/report.h"
#include "libfabmgr/base/status.h"

struct quality_study {
    struct study study;
    struct measure measure;
    struct fab_quality quality;
    uint64_t took_us;
};

static void work(struct study *s)
{
    struct quality_study *q = (struct quality_study *)s;
    const struct fab_target *t = s->view->target;
    uint64_t start = clock_now_us();
    if (measure_resolve(&q->measure, s))
        measure_quality(&q->measure, s, s->view->fabric, &t->lids, &t->lft, &q->quality);
    q->took_us = clock_now_us() - start;
}

static bool tell(struct study *s)
{
    struct quality_study *q = (struct quality_study *)s;
    Fabric__V1__GetQualityResponse m = FABRIC__V1__GET_QUALITY_RESPONSE__INIT;
    struct answer a = {0};
    m.quality = convert_quality(&a, s->view, &q->quality);
    m.engine = answer_text(&a, s->view->target->engine);
    m.generation = s->view->generation;
    m.time = convert_duration(&a, q->took_us);
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void quality_free(struct study *s)
{
    struct quality_study *q = (struct quality_study *)s;
    measure_fini(&q->measure);
    free(q);
}

void get_quality(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, quality_free,
                                           "fewer samples or fewer endports"};
    const Fabric__V1__GetQualityRequest *q = request;
    struct measure measure;
    struct fab_view *v = need_target(c);
    if (v != NULL && measure_init(&measure, c, q->options) == FAB_OK) {
        struct quality_study *s = calloc(1, sizeof *s);
        if (s != NULL) {
            s->measure = measure;
            study_start(c, v, &kind, &s->study);
        } else {
            measure_fini(&measure);
            call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        }
    }
}
