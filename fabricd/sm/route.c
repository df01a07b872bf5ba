/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "routing": tables are computed and proved on the worker, from sealed values: a reference to
 * the snapshot, LIDs that nobody changes any more, and a copy of the policy. The result comes back
 * on the loop; when the round it belongs to is gone by then, it is dropped.
 *
 * Tables that fail their proof are thrown away: what stands in the fabric stays, and the alarm says
 * why, with a witness.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"
#include "libfabmgr/route/route.h"

struct sm_job {
    struct sm_job *next; /* of s->jobs */
    struct sm *s;        /* NULL: it is gone */
    struct fab_fabric *fabric;
    struct fab_target *target; /* in: lids; out: lft, engine */
    struct fab_policy policy;
    struct fab_verdict verdict;
    char *witness;
    int status;
    char why[200];
    uint64_t route_us, verify_us;
    bool over;
};

/* ---- on the worker ---- */

static int run_engine(struct sm_job *j, const struct fab_route_engine *engine)
{
    struct fab_route_input in = {
        .fabric = j->fabric, .policy = &j->policy, .lids = &j->target->lids};
    snprintf(j->target->engine, sizeof(j->target->engine), "%s", engine->name);
    return engine->run(&in, &j->target->lft, j->why, sizeof(j->why));
}

/* The engine of the policy, or for "auto" the first one that takes this topology. */
static int route(struct sm_job *j)
{
    if (strcmp(j->policy.engine, "auto") != 0) {
        const struct fab_route_engine *engine = fab_route_engine_by_name(j->policy.engine);
        return engine ? run_engine(j, engine) : FAB_E_NOT_FOUND;
    }
    int r = FAB_E_UNSUPPORTED;
    for (const struct fab_route_engine *const *e = fab_route_engines();
         *e && r == FAB_E_UNSUPPORTED; e++)
        r = run_engine(j, *e);
    return r;
}

static int prove(struct sm_job *j)
{
    struct fab_verify_input in = {
        .fabric = j->fabric,
        .lids = &j->target->lids,
        .lft = &j->target->lft,
        .max_hops = j->policy.max_hops,
    };
    int r = fab_verify(&in, &j->verdict);
    if (r == FAB_OK && !fab_verdict_good(&j->verdict))
        (void)fab_witness_text(j->fabric, &j->verdict.witness, &j->witness);
    return r;
}

static void work(void *ctx)
{
    struct sm_job *j = ctx;
    uint64_t start = clock_now_us();
    j->status = route(j);
    uint64_t routed = clock_now_us();
    if (j->status == FAB_OK)
        j->status = prove(j);
    j->route_us = routed - start;
    j->verify_us = clock_now_us() - routed;
}

/* ---- on the loop ---- */

static void job_free(struct sm_job *j)
{
    if (!j)
        return;
    fab_verdict_fini(&j->verdict);
    fab_policy_fini(&j->policy);
    fab_target_unref(j->target);
    fab_fabric_unref(j->fabric);
    free(j->witness);
    free(j);
}

void sm_jobs_orphan(struct sm *s)
{
    for (struct sm_job *j = s->jobs; j; j = j->next)
        j->s = NULL;
    s->jobs = s->job = NULL;
}

static void unlist(struct sm *s, const struct sm_job *j)
{
    struct sm_job **at = &s->jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
}

static void done(void *ctx)
{
    struct sm_job *j = ctx;
    struct sm *s = j->s;
    if (s)
        unlist(s, j);
    if (!s || s->job != j) {
        log_debug("sm", "dropping tables that came too late");
        job_free(j);
        return;
    }
    j->over = true;
    sm_run_check(s);
}

static int start(struct sm *s)
{
    struct sm_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    int r = fab_policy_copy(&s->policy, &j->policy);
    if (r != FAB_OK) {
        free(j);
        return r;
    }
    j->s = s;
    j->fabric = fab_fabric_ref(s->model.fabric);
    j->target = fab_target_ref(s->fresh);
    r = loop_work(s->in.loop, work, done, j);
    if (r != FAB_OK) {
        job_free(j);
        return r;
    }
    j->next = s->jobs;
    s->jobs = s->job = j;
    return FAB_OK;
}

static int enter(struct sm *s)
{
    s->job = NULL; /* one of an aborted round is dropped when it comes */
    return s->fresh ? start(s) : FAB_OK;
}

static bool finished(const struct sm *s)
{
    return !s->job || s->job->over;
}

static void raise_alarm(struct sm *s, const struct sm_job *j)
{
    const char *what = j->verdict.deadlock_free ? "some ends cannot reach each other"
                                                : "the tables could deadlock";
    snprintf(s->alarm, sizeof(s->alarm), "%s (engine %s, %" PRIu64 " unreachable pairs)", what,
             j->target->engine, j->verdict.unreachable_pairs);
    bus_say(s->in.bus, EVENT_ERROR, "proof-failed", j->target->engine, 0, 0,
            "new tables failed their proof and are not written, the old ones stay: %s. Witness: %s",
            s->alarm, j->witness ? j->witness : "none");
}

/* OK: the tables are good. */
static int judge(struct sm *s, struct sm_job *j)
{
    if (j->status != FAB_OK) {
        log_error("sm", "routing failed: %s%s%s", fab_status_text(j->status), j->why[0] ? ": " : "",
                  j->why);
        return j->status;
    }
    log_debug("sm", "routed engine=%s route_ms=%.1f proof_ms=%.1f", j->target->engine,
              (double)j->route_us / 1e3, (double)j->verify_us / 1e3);
    if (!fab_verdict_good(&j->verdict)) {
        raise_alarm(s, j);
        return SM_ROUND_OVER;
    }
    s->alarm[0] = 0;
    fab_verdict_fini(&s->verdict);
    s->verdict = j->verdict;
    j->verdict = (struct fab_verdict){0};
    s->run.computed = true;
    return FAB_OK;
}

static int leave(struct sm *s)
{
    struct sm_job *j = s->job;
    if (!j)
        return FAB_OK;
    s->job = NULL;
    int r = judge(s, j);
    job_free(j);
    if (r == FAB_OK) {
        fab_target_unref(s->model.target);
        s->model.target = s->fresh;
    } else {
        fab_target_unref(s->fresh);
    }
    s->fresh = NULL;
    return r;
}

const struct sm_phase sm_phase_route = {"routing", enter, NULL, NULL, finished, leave};
