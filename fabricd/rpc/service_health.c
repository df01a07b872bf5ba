/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements grpc.health.v1.Health. The answer for a known service is NOT_SERVING while the
 * manager's own port is missing. Otherwise it is SERVING, because a daemon that can answer this
 * call can also serve other calls. GetStatus shows the state of the fabric. */
#include "fabricd/rpc/health.h"

#include <stdlib.h>
#include <string.h>

#include "grpc/health/v1/health.pb-c.h"

static bool is_known(const struct call *c, const char *name)
{
    if (name[0] == '\0')
        return true;
    for (const struct service *const *s = call_rpc(c)->services; *s != NULL; s++)
        if (strcmp((*s)->name, name) == 0)
            return true;
    return false;
}

#define STATUS(s) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##s

static Grpc__Health__V1__HealthCheckResponse__ServingStatus status_of(const struct rpc *r)
{
    struct sm_status s;
    sm_get_status(r->in.sm, &s);
    return s.device_alarm[0] != '\0' ? STATUS(NOT_SERVING) : STATUS(SERVING);
}

static void check(struct call *c, const void *request)
{
    const Grpc__Health__V1__HealthCheckRequest *q = request;
    Grpc__Health__V1__HealthCheckResponse m = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    if (!is_known(c, q->service)) {
        call_finish(c, FAB_GRPC_NOT_FOUND, "no service \"%s\"", q->service);
        return;
    }
    m.status = status_of(call_rpc(c));
    call_reply(c, &m.base);
}

/* A call of Watch in progress, and the status that was sent last. */
struct health_watch {
    LIST_ENTRY(health_watch) link;
    struct call *call;
    bool known; /* true: the server has the service that the client watches */
    Grpc__Health__V1__HealthCheckResponse__ServingStatus sent;
};

static void forget(struct call *c, void *data)
{
    struct health_watch *w = data;
    (void)c;
    LIST_REMOVE(w, link);
    free(w);
}

static void drain(struct call *c, void *data)
{
    struct health_watch *w = data;
    Grpc__Health__V1__HealthCheckResponse m = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    m.status = w->known ? status_of(call_rpc(c)) : STATUS(SERVICE_UNKNOWN);
    if (m.status == w->sent)
        return;
    w->sent = m.status;
    call_send(c, &m.base); /* call_send may free w */
}

/* Sends the status of a service now, and again whenever it changes. */
static void watch(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    const Grpc__Health__V1__HealthCheckRequest *q = request;
    struct health_watch *w = calloc(1, sizeof *w);
    if (w == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    w->call = c;
    w->known = is_known(c, q->service);
    LIST_INSERT_HEAD(&call_rpc(c)->health_watches, w, link);
    call_later(c, &hooks, w);
    call_kick(c);
}

void health_turn(struct rpc *r)
{
    struct health_watch *w, *next;
    for (w = LIST_FIRST(&r->health_watches); w != NULL; w = next) {
        next = LIST_NEXT(w, link);
        call_kick(w->call);
    }
}

static const struct method methods[] = {
    {.name = "Check",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .handle = check},
    {.name = "Watch",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .handle = watch},
};
const struct service service_health = {"grpc.health.v1.Health", methods, 2};
