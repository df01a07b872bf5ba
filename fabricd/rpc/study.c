/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues studies (study.h) for their worker thread, sends the results and frees them. The worker
 * thread has at most one study; the others wait in a list, in the order of their arrival. If the
 * call of a running study ends early, the loop thread sets the study's flag `stop`, which the
 * computation checks often. The study is freed when the worker thread has finished with it. */
#include "fabricd/rpc/study.h"

#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/worker.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/status.h"

struct studies {
    struct rpc *rpc;
    struct worker *worker;       /* the worker thread; it is created for the first study */
    TAILQ_HEAD(, study) list;    /* running and queued studies, in the order of their arrival */
    unsigned count;              /* number of studies in `list` */
    const struct study *running; /* NULL: no study is running */
    /* The last number that was given to a member `turn` of clients[]. Each run of a study's
     * function `work` is a turn and gets the next number. So does a new client. */
    uint64_t turn;
    struct study_client clients[RPC_STUDIES_MAX];
};

int studies_new(struct rpc *r, struct studies **ret)
{
    struct studies *all = calloc(1, sizeof *all);
    if (all == NULL)
        return FAB_E_NOMEM;
    all->rpc = r;
    TAILQ_INIT(&all->list);
    *ret = all;
    return FAB_OK;
}

/* ---- clients --------------------------------------------------------------------------------- */

size_t study_next(const struct study_client *clients, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (clients[i].queued > 0 && (best == count || clients[i].turn < clients[best].turn))
            best = i;
    return best;
}

/* Returns the record of this client. If the client has none, returns a free record; NULL: no record
 * is free. */
static struct study_client *client_of(struct studies *all, const struct caller *who)
{
    struct study_client *unused = NULL;
    for (struct study_client *c = all->clients; c < all->clients + RPC_STUDIES_MAX; c++) {
        if (c->who != NULL && caller_is_same(c->who, who))
            return c;
        if (c->who == NULL && unused == NULL)
            unused = c;
    }
    return unused;
}

static unsigned count_clients(const struct studies *all)
{
    unsigned n = 0;
    for (size_t i = 0; i < RPC_STUDIES_MAX; i++)
        n += all->clients[i].who != NULL;
    return n;
}

static void count_states(const struct studies *all)
{
    struct call_counts *counts = all->rpc->in.counts;
    if (counts == NULL)
        return;
    counts->studies_running = all->running != NULL;
    counts->studies_queued = all->count - counts->studies_running;
}

static void add(struct studies *all, struct study_client *client, struct study *s)
{
    if (client->who == NULL) {
        client->who = caller_ref(call_caller(s->call));
        client->turn = ++all->turn;
    }
    client->count++;
    client->queued++;
    all->count++;
    s->all = all;
    s->client = client;
    TAILQ_INSERT_TAIL(&all->list, s, entry);
}

/* Removes a study that is not running. */
static void remove_study(struct study *s)
{
    struct study_client *client = s->client;
    TAILQ_REMOVE(&s->all->list, s, entry);
    s->all->count--;
    client->queued--;
    if (--client->count == 0) {
        caller_unref(client->who);
        client->who = NULL;
    }
}

static void release(struct study *s)
{
    fab_view_unref(s->view);
    s->kind->free(s);
}

/* ---- running --------------------------------------------------------------------------------- */

static void work(void *ctx)
{
    struct study *s = ctx;
    uint64_t limit = s->all->rpc->in.study_cpu_us;
    if (limit == 0)
        limit = RPC_STUDY_CPU_US;
    s->cpu_end = s->kind->less != NULL ? clock_cpu_ns() + limit * 1000 : 0;
    if (!study_stopped(s))
        s->kind->work(s);
    if (!s->over)
        return;
    s->code = FAB_GRPC_RESOURCE_EXHAUSTED;
    snprintf(s->why, sizeof s->why, "the study has used up its CPU time, %g s; ask for less: %s",
             (double)limit / 1e6, s->kind->less);
}

static void run_next(struct studies *all);

/* If `work` did not find a name, but a node that is gone has this name, replaces the error message
 * by one about this node. */
static void explain_missing(struct study *s)
{
    if (s->code == FAB_GRPC_NOT_FOUND && s->missing[0] != '\0' && s->view != NULL)
        gone_explain(s->all->rpc, s->view, s->missing, s->why, sizeof s->why);
}

static void done(void *ctx)
{
    struct study *s = ctx;
    struct studies *all = s->all;
    bool more = false;
    if (s->over && s->call != NULL && all->rpc->in.counts != NULL)
        all->rpc->in.counts->studies_refused[STUDY_CPU]++;
    explain_missing(s);
    if (s->call != NULL && s->code != FAB_GRPC_OK)
        call_finish(s->call, s->code, "%s", s->why);
    else if (s->call != NULL)
        more = s->kind->tell(s);
    all->running = NULL;
    s->client->queued++;
    if (!more) {
        remove_study(s);
        release(s);
    }
    run_next(all);
}

static struct study *first_of(const struct studies *all, const struct study_client *client)
{
    struct study *s = TAILQ_FIRST(&all->list);
    while (s->client != client)
        s = TAILQ_NEXT(s, entry);
    return s;
}

/* Gives the next study to the worker thread, unless a study is running. */
static void run_next(struct studies *all)
{
    size_t i;
    while (all->running == NULL &&
           (i = study_next(all->clients, RPC_STUDIES_MAX)) < RPC_STUDIES_MAX) {
        struct study *s = first_of(all, &all->clients[i]);
        if (worker_add(all->worker, work, done, s) == FAB_OK) {
            s->client->turn = ++all->turn;
            s->client->queued--;
            all->running = s;
        } else {
            call_finish(s->call, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
            remove_study(s);
            release(s);
        }
    }
    count_states(all);
}

static void forget(struct call *c, void *data)
{
    (void)c;
    struct study *s = data;
    struct studies *all = s->all;
    s->call = NULL;
    if (s == all->running) {
        atomic_store(&s->stop, true);
        return;
    }
    remove_study(s);
    release(s);
    count_states(all);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void refuse(struct studies *all, struct call *c, enum study_limit limit)
{
    unsigned running = all->running != NULL;
    if (all->rpc->in.counts != NULL)
        all->rpc->in.counts->studies_refused[limit]++;
    if (limit == STUDY_CLIENT)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED,
                    "%u studies of %s are running or queued, the limit for one client; wait for "
                    "one of them to end",
                    RPC_STUDIES_CLIENT, call_peer(c));
    else
        call_finish(
            c, FAB_GRPC_RESOURCE_EXHAUSTED,
            "%u studies of %u clients are running or queued, the limit for all clients%s%s; "
            "try again later",
            all->count, count_clients(all), running ? "; one of these clients is " : "",
            running ? all->running->client->who->text : "");
}

/* Returns the client's record if the client may start a study now. Otherwise finishes the call and
 * returns NULL. */
static struct study_client *admit(struct studies *all, struct call *c)
{
    struct study_client *client = client_of(all, call_caller(c));
    if (client != NULL && client->count >= RPC_STUDIES_CLIENT) {
        refuse(all, c, STUDY_CLIENT);
        return NULL;
    }
    if (client == NULL || all->count >= RPC_STUDIES_MAX) {
        refuse(all, c, STUDY_ALL);
        return NULL;
    }
    if (all->worker == NULL) {
        static const struct worker_config config = {.name = "fabricd-study", .background = true};
        all->worker = worker_new(all->rpc->in.loop, &config);
    }
    if (all->worker == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return NULL;
    }
    return client;
}

void study_start(struct call *c, const struct fab_view *v, const struct study_kind *kind,
                 struct study *s)
{
    static const struct call_hooks hooks = {.gone = forget};
    struct studies *all = call_rpc(c)->studies;
    s->kind = kind;
    s->call = c;
    s->view = v != NULL ? fab_view_ref(v) : NULL;
    atomic_init(&s->stop, false);
    struct study_client *client = admit(all, c);
    if (client == NULL) {
        release(s);
        return;
    }
    add(all, client, s);
    call_later(c, &hooks, s);
    run_next(all);
}

bool study_stopped(void *study)
{
    struct study *s = study;
    if (s->cpu_end != 0 && clock_cpu_ns() >= s->cpu_end)
        s->over = true;
    return s->over || atomic_load_explicit(&s->stop, memory_order_relaxed);
}

void study_fail(struct study *s, int status, const char *what)
{
    s->code = fab_grpc_code_of(status);
    snprintf(s->why, sizeof s->why, "%s: %s", what, fab_base_status_text(status));
}

void studies_free(struct studies *all)
{
    struct study *s;
    if (all == NULL)
        return;
    TAILQ_FOREACH (s, &all->list, entry)
        atomic_store(&s->stop, true);
    worker_free(all->worker);
    while ((s = TAILQ_FIRST(&all->list)) != NULL) {
        s->client->queued += s == all->running;
        remove_study(s);
        release(s);
    }
    free(all);
}
