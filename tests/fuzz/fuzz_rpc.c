/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the HTTP/2 and gRPC layers as a hostile client would, without a socket. The first byte of
 * the input says how the other bytes, which the client sends, are divided into pieces. Between two
 * pieces, time advances, and the client may read answers. The service has one method of each kind.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/event.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "fabric/v1/status.pb-c.h"
#include "fabricd/rpc/caller.h"
#include "fabricd/rpc/grpc.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "libfabmgr/base/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct waiting {
    struct call *call;
};

static void reply_version(struct call *c, const void *request)
{
    (void)request;
    Fabric__V1__GetVersionResponse m = FABRIC__V1__GET_VERSION_RESPONSE__INIT;
    m.version = (char *)(uintptr_t) "fuzz";
    call_reply(c, &m.base);
}

static void echo_error(struct call *c, const void *request)
{
    const Fabric__V1__GetNodeRequest *q = request;
    call_finish(c, FAB_GRPC_NOT_FOUND, "no node '%s'", q->node);
}

static void gone(struct call *c, void *data)
{
    (void)c;
    ((struct waiting *)data)->call = NULL;
}

/* Sends one more message each time that the client can take one, without end. */
static void drain(struct call *c, void *data)
{
    (void)data;
    const Fabric__V1__WatchEventsResponse m = FABRIC__V1__WATCH_EVENTS_RESPONSE__INIT;
    call_send(c, &m.base);
}

static void watch(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {gone, drain};
    struct waiting *w = call_context(c);
    (void)request;
    if (w->call != NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "one is enough");
        return;
    }
    w->call = c;
    call_later(c, &hooks, w);
}

static void many(struct call *c, const void *request)
{
    const Grpc__Reflection__V1__ServerReflectionRequest *q = request;
    Grpc__Reflection__V1__ServerReflectionResponse m =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    m.original_request = (Grpc__Reflection__V1__ServerReflectionRequest *)(uintptr_t)q;
    call_send(c, &m.base);
}

static const struct method methods[] = {
    {.name = "GetVersion",
     .request = &fabric__v1__get_version_request__descriptor,
     .handle = reply_version},
    {.name = "GetNode", .request = &fabric__v1__get_node_request__descriptor, .handle = echo_error},
    {.name = "WatchEvents",
     .request = &fabric__v1__watch_events_request__descriptor,
     .handle = watch},
    {.name = "Many",
     .request = &grpc__reflection__v1__server_reflection_request__descriptor,
     .handle = many,
     .many = true},
};
static const struct service service = {"fabric.v1.FabricService", methods, 4};

static void wake(void *ctx)
{
    (void)ctx;
}

static void take_answers(struct grpc *g, size_t most)
{
    const uint8_t *out;
    ssize_t n = 1;
    for (size_t taken = 0; n > 0 && taken < most; taken += (size_t)n)
        n = grpc_produce(g, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct service *const services[] = {&service, NULL};
    struct waiting waiting = {NULL};
    struct grpc *g = NULL;
    struct caller *caller;
    if (size == 0 || caller_other(&caller) < 0)
        return 0;
    const struct grpc_input in = {
        .services = services, .context = &waiting, .caller = caller, .wake = wake};
    int rc = grpc_new(&in, &g);
    caller_unref(caller);
    if (rc < 0)
        return 0;
    size_t piece = data[0] % 64 + 1;
    bool reads = (data[0] & 0x40) == 0;
    uint64_t now = 1;
    for (size_t at = 1; at < size; at += piece) {
        size_t n = size - at < piece ? size - at : piece;
        if (grpc_receive(g, data + at, n, now) < 0)
            break;
        take_answers(g, reads ? 4096 : 64);
        now += 100000;
        if (grpc_deadline(g) <= now)
            grpc_tick(g, now);
        if (waiting.call != NULL && (data[0] & 0x80) != 0)
            call_finish(waiting.call, FAB_GRPC_OK, NULL), waiting.call = NULL;
    }
    take_answers(g, 65536);
    grpc_shut(g);
    take_answers(g, 65536);
    grpc_free(g);
    return 0;
}
