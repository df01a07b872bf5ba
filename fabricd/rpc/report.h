/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that measure routes for several RPCs (service_quality.c, service_compare.c,
 * service_whatif.c). They find the endports that the client named. They also compute, verify and
 * measure the tables of an engine, and make the report about it. */
#ifndef FABRICD_RPC_REPORT_H
#define FABRICD_RPC_REPORT_H

#include "fabric/v1/quality.pb-c.h"
#include "fabricd/rpc/answer.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"

/* A list of names from a request. The worker thread looks them up when the study runs. */
struct name_list {
    char **name; /* [count] */
    size_t count;
};
/* Copies the names to an empty list. Returns NOMEM; in this case the list may have some of the
 * names. */
int name_list_copy(struct name_list *l, char **names, size_t count);
void name_list_fini(struct name_list *l);

struct measure { /* the options of the message QualityOptions */
    struct name_list names;
    /* [end_count] port ids in the fabric whose tables are measured; NULL: all endports */
    uint32_t *ends;
    uint32_t end_count;
    uint32_t samples;
    uint64_t seed;
};
/* Copies the options of a request; `options` may be NULL. If the function returns INVAL or NOMEM,
 * it has finished the call with an error. */
int measure_init(struct measure *m, struct call *c, const Fabric__V1__QualityOptions *options);
void measure_fini(struct measure *m);
/* Looks up the names in m->names, and sets m->ends. Called on the worker thread only. Returns false
 * if the study has failed. */
bool measure_resolve(struct measure *m, struct study *s);
/* Measures the quality of tables (load, congestion, path lengths). m->ends must be port ids of
 * `fabric`. Called on the worker thread only. Returns false if the study has failed or was
 * stopped. */
bool measure_quality(const struct measure *m, struct study *s, const struct fab_fabric *fabric,
                     const struct fab_lids *lids, const struct fab_lft *lft,
                     struct fab_quality *ret);

struct report {
    const struct fab_route_engine *engine;
    /* OK, or UNSUPPORTED: the engine does not support the fabric, and why[] has the reason */
    int status;
    char why[300];
    bool flawed; /* set by the engine (fab_route_input.flawed) */
    /* Set by the caller: the number of sets into which the VLs are divided. Each traffic class gets
     * one set; if there are fewer sets than classes, classes share sets. The engine may use only as
     * many VLs as one set has. */
    uint8_t lane_sets;
    struct fab_qos_report classes;
    uint64_t route_us, verify_us;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    struct fab_quality quality;
};
/* Computes, verifies and measures the tables of r->engine. If the engine does not support the
 * fabric, r->status and r->why say so, and the function returns true. Returns false if the study
 * has failed or was stopped. Called on the worker thread only. */
bool report_make(struct report *r, struct study *s, const struct measure *m,
                 const struct fab_fabric *fabric, const struct fab_lids *lids);
/* Returns true if the engine has made tables for the fabric, and the tables have passed the
 * verification. */
bool report_good(const struct report *r);
/* Assigns VLs to all traffic classes, and verifies the tables with the VLs of all classes. Does
 * nothing if the policy has fewer than two classes. Called on the worker thread only, after
 * report_good() returned true. Returns false if the study has failed or was stopped. */
bool report_compose(struct report *r, struct study *s, const struct fab_fabric *fabric,
                    const struct fab_lids *lids);
/* Verifies and measures the tables in *r. Called on the worker thread only. Returns false if the
 * study has failed or was stopped. */
bool report_judge(struct report *r, struct study *s, const struct measure *m,
                  const struct fab_fabric *fabric, const struct fab_lids *lids);
void report_fini(struct report *r);

/* The next functions convert quality figures and reports to messages. They use only the fabric of
 * the view; all node and port ids are ids of this fabric. */
Fabric__V1__Quality *convert_quality(struct answer *a, const struct fab_view *v,
                                     const struct fab_quality *q);
Fabric__V1__EngineReport *convert_report(struct answer *a, const struct fab_view *v,
                                         const struct report *r);

#endif
