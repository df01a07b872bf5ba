/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements grpc.health.v1.Health. For a known service the answer is always SERVING, because a
 * daemon that answers this call also serves other calls. GetStatus shows the state of the fabric.
 */
#include "fabricd/rpc/server.h"

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

static void check(struct call *c, const void *request)
{
    const Grpc__Health__V1__HealthCheckRequest *q = request;
    Grpc__Health__V1__HealthCheckResponse m = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    if (!is_known(c, q->service)) {
        call_finish(c, FAB_GRPC_NOT_FOUND, "no service \"%s\"", q->service);
        return;
    }
    m.status = STATUS(SERVING);
    call_reply(c, &m.base);
}

static void nothing_to_forget(struct call *c, void *data)
{
    (void)c, (void)data;
}

/* Sends one message and keeps the call open. No further message follows, because the state does not
 * change while the daemon runs. */
static void watch(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {.gone = nothing_to_forget};
    const Grpc__Health__V1__HealthCheckRequest *q = request;
    Grpc__Health__V1__HealthCheckResponse m = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    m.status = is_known(c, q->service) ? STATUS(SERVING) : STATUS(SERVICE_UNKNOWN);
    call_later(c, &hooks, NULL);
    call_send(c, &m.base);
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
