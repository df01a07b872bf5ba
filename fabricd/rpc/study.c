/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues studies (study.h) for their worker thread, sends the results and frees them. If the call
 * of a study ends early, the loop thread sets the study's flag `stop`, which the computation often
 * checks. The study is freed when the worker thread has finished it.
 */
#include "fabricd/rpc/study.h"

#include <stdio.h>

#include "fabricd/loop/worker.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/status.h"

static void release(struct study *s)
{
    LIST_REMOVE(s, entry);
    fab_view_unref(s->view);
    s->kind->free(s);
}

static void work(void *ctx)
{
    struct study *s = ctx;
    if (!study_stopped(s))
        s->kind->work(s);
}

static void done(void *ctx)
{
    struct study *s = ctx;
    struct rpc *r = s->call != NULL ? call_rpc(s->call) : NULL;
    bool more = false;
    if (r != NULL && s->code != FAB_GRPC_OK)
        call_finish(s->call, s->code, "%s", s->why);
    else if (r != NULL)
        more = s->kind->tell(s);
    if (more && worker_add(r->student, work, done, s) == FAB_OK)
        return;
    if (more)
        call_finish(s->call, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    release(s);
}

static void forget(struct call *c, void *data)
{
    (void)c;
    struct study *s = data;
    s->call = NULL;
    atomic_store(&s->stop, true);
}

static unsigned under_way(const struct rpc *r)
{
    const struct study *s;
    unsigned n = 0;
    LIST_FOREACH (s, &r->studies, entry)
        n++;
    return n;
}

static int begin(struct rpc *r, struct study *s)
{
    if (under_way(r) > RPC_STUDIES_MAX)
        return FAB_E_BUSY;
    if (r->student == NULL)
        r->student = worker_new(r->in.loop, false);
    return r->student != NULL ? worker_add(r->student, work, done, s) : FAB_E_NOMEM;
}

void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s)
{
    static const struct call_hooks hooks = {.gone = forget};
    struct rpc *r = call_rpc(c);
    s->kind = kind;
    s->call = c;
    s->view = v != NULL ? fab_view_ref(v) : NULL;
    atomic_init(&s->stop, false);
    LIST_INSERT_HEAD(&r->studies, s, entry);
    int rc = begin(r, s);
    if (rc == FAB_OK) {
        call_later(c, &hooks, s);
        return;
    }
    call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "%s",
                rc == FAB_E_BUSY ? "too many studies of routes are running; try again later"
                                 : "the manager is out of memory");
    release(s);
}

bool study_stopped(void *study)
{
    struct study *s = study;
    return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

void study_fail(struct study *s, int status, const char *what)
{
    s->code = fab_grpc_code_of(status);
    snprintf(s->why, sizeof s->why, "%s: %s", what, fab_base_status_text(status));
}

void studies_end(struct rpc *r)
{
    struct study *s;
    LIST_FOREACH (s, &r->studies, entry)
        atomic_store(&s->stop, true);
    worker_free(r->student);
    while ((s = LIST_FIRST(&r->studies)) != NULL)
        release(s);
}
