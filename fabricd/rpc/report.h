/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the studies of routes: the endports to measure, and the report of an engine. */
#ifndef FABRICD_RPC_REPORT_H
#define FABRICD_RPC_REPORT_H

#include "fabric/v1/quality.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"

struct measure { /* a copy of QualityOptions */
    char **names;
    size_t name_count;
    uint32_t *ends; /* [end_count] port ids of the view; NULL: all endports */
    uint32_t end_count;
    uint32_t samples;
    uint64_t seed;
};
/* Copies the options, which may be NULL. INVAL, NOMEM: the function has finished the call. */
int measure_init(struct measure *m, struct call *c, const Fabric__V1__QualityOptions *options);
void measure_fini(struct measure *m);
/* Called on the worker thread only. Finds the endports by name. False: the study has failed. */
bool measure_resolve(struct measure *m, struct study *s);
/* Called on the worker thread only. Measures the given tables; m->ends are port ids of `fabric`.
 * False: the study has failed or was stopped. */
bool measure_quality(const struct measure *m, struct study *s, const struct fab_fabric *fabric,
                     const struct fab_lids *lids, const struct fab_lft *lft,
                     struct fab_quality *ret);

struct report {
    const struct fab_route_engine *engine;
    int status; /* UNSUPPORTED: why[] says why the engine does not support the fabric */
    char why[300];
    bool flawed;       /* set by the engine, as fab_route_input.flawed says */
    uint8_t lane_sets; /* set by the caller: the number of traffic classes (or fewer) that are to
                          get virtual lanes of their own; the engine may use the virtual lanes
                          divided by this number */
    struct fab_qos_report classes;
    uint64_t route_us, verify_us;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    struct fab_quality quality;
};
/* Called on the worker thread only. Computes, verifies and measures the tables of r->engine. False:
 * the study has failed or was stopped. */
bool report_make(struct report *r, struct study *s, const struct measure *m,
                 const struct fab_fabric *fabric, const struct fab_lids *lids);
/* Returns whether the engine made tables, and these passed verification. */
bool report_good(const struct report *r);
/* Called on the worker thread only, and only if report_good. Assigns virtual lanes to all traffic
 * classes, and verifies all classes together. False: the study has failed or was stopped. */
bool report_compose(struct report *r, struct study *s, const struct fab_fabric *fabric,
                    const struct fab_lids *lids);
/* Called on the worker thread only. Verifies and measures the tables in *r. False: the study has
 * failed or was stopped. */
bool report_judge(struct report *r, struct study *s, const struct measure *m,
                  const struct fab_fabric *fabric, const struct fab_lids *lids);
void report_fini(struct report *r);

/* These functions use only the fabric of the view. Node and port ids in the figures and in the
 * report are ids of this fabric. */
Fabric__V1__Quality *convert_quality(struct answer *a, const struct fab_view *v,
                                     const struct fab_quality *q);
Fabric__V1__EngineReport *convert_report(struct answer *a, const struct fab_view *v,
                                         const struct report *r);

#endif
