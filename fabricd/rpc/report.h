/* SPDX-License-Identifier: BSD-3-Clause */
/* What studies of routes are made of: whom they measure, and what an engine makes of a fabric. */
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
    uint32_t *ends; /* [end_count], of the view; NULL: all */
    uint32_t end_count;
    uint32_t samples;
    uint64_t seed;
};
/* INVAL (the call is finished), NOMEM (likewise). */
int measure_init(struct measure *m, struct call *c, const Fabric__V1__QualityOptions *options);
void measure_fini(struct measure *m);
/* On the worker: finds the ends. False: the study has failed. */
bool measure_resolve(struct measure *m, struct study *s);
/* Likewise: of any tables; ends are port ids of `fabric`. */
bool measure_quality(const struct measure *m, struct study *s, const struct fab_fabric *fabric,
                     const struct fab_lids *lids, const struct fab_lft *lft,
                     struct fab_quality *ret);

struct report {
    const struct fab_route_engine *engine;
    int status; /* UNSUPPORTED: why says what the engine does not like */
    char why[300];
    bool flawed;       /* as fab_route_input has it */
    uint8_t lane_sets; /* in: for so many traffic classes an engine leaves lanes */
    struct fab_qos_report classes;
    uint64_t route_us, verify_us;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    struct fab_quality quality;
};
/* On the worker: routes, proves, measures. False: the study has failed or was stopped. */
bool report_make(struct report *r, struct study *s, const struct measure *m,
                 const struct fab_fabric *fabric, const struct fab_lids *lids);
bool report_good(const struct report *r);
/* Likewise, of good tables: the lanes of all traffic classes, and the proof of what they do
 * together. */
bool report_compose(struct report *r, struct study *s, const struct fab_fabric *fabric,
                    const struct fab_lids *lids);
/* Likewise, of tables that are there: proves, measures. */
bool report_judge(struct report *r, struct study *s, const struct measure *m,
                  const struct fab_fabric *fabric, const struct fab_lids *lids);
void report_fini(struct report *r);

/* Ids are those of the view's fabric, of which nothing else is used. */
Fabric__V1__Quality *convert_quality(struct answer *a, const struct fab_view *v,
                                     const struct fab_quality *q);
Fabric__V1__EngineReport *convert_report(struct answer *a, const struct fab_view *v,
                                         const struct report *r);

#endif
