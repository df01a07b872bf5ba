/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the studies of routes: the endports that they measure, and the report of an engine. */
#ifndef FABRICD_RPC_REPORT_H
#define FABRICD_RPC_REPORT_H

#include "fabric/v1/quality.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"

struct measure { /* a copy of QualityOptions; m may be NULL */
    char **names;
    size_t name_count;
    uint32_t *ends; /* [end_count] port ids of the view; NULL: all endports */
    uint32_t end_count;
    uint32_t samples;
    uint64_t seed;
};
/* INVAL, NOMEM: the call is then finished. */
int measure_init(struct measure *m, struct call *c, const Fabric__V1__QualityOptions *options);
void measure_fini(struct measure *m);
/* On the worker thread: finds the endports. False: the study has failed. */
bool measure_resolve(struct measure *m, struct study *s);
/* On the worker thread: measures any tables; endports are port ids of `fabric`. */
bool measure_quality(const struct measure *m, struct study *s, const struct fab_fabric *fabric,
                     const struct fab_lids *lids, const struct fab_lft *lft,
                     struct fab_quality *ret);

struct report {
    const struct fab_route_engine *engine;
    int status; /* UNSUPPORTED: why[] says why the engine does not support the fabric */
    char why[300];
    bool flawed;       /* as in fab_route_input */
    uint8_t lane_sets; /* input: the number of traffic classes for which the engine must leave
                          virtual lanes */
    struct fab_qos_report classes;
    uint64_t route_us, verify_us;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    struct fab_quality quality;
};
/* On the worker thread: routes, verifies, measures. False: the study failed or was stopped. */
bool report_make(struct report *r, struct study *s, const struct measure *m,
                 const struct fab_fabric *fabric, const struct fab_lids *lids);
bool report_good(const struct report *r);
/* On the worker thread, for tables that passed: assigns virtual lanes to all traffic classes, and
 * verifies all classes together. */
bool report_compose(struct report *r, struct study *s, const struct fab_fabric *fabric,
                    const struct fab_lids *lids);
/* On the worker thread: verifies and measures existing tables. */
bool report_judge(struct report *r, struct study *s, const struct measure *m,
                  const struct fab_fabric *fabric, const struct fab_lids *lids);
void report_fini(struct report *r);

/* Ids are those of the view's fabric; nothing else of the view is used. */
Fabric__V1__Quality *convert_quality(struct answer *a, const struct fab_view *v,
                                     const struct fab_quality *q);
Fabric__V1__EngineReport *convert_report(struct answer *a, const struct fab_view *v,
                                         const struct report *r);

#endif
