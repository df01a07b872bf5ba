/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls, as the services see them: a request that was decoded, and the messages to answer it with.
 * Services list their methods in a table; the gRPC layer finds the method and decodes the request.
 */
#ifndef FABRICD_RPC_CALL_H
#define FABRICD_RPC_CALL_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "libfabmgr/grpc/grpc.h"

struct call;

struct method {
    const char *name; /* "GetStatus" */
    const ProtobufCMessageDescriptor *request;
    /* Finishes the call now or later. The request is freed when this returns. */
    void (*handle)(struct call *c, const void *request);
    bool many; /* client streaming: called for each message; it does not finish the call */
};
struct service {
    const char *name; /* "fabric.v1.FabricService" */
    const struct method *methods;
    size_t method_count;
};

void *call_context(const struct call *c);    /* the context of the server */
const char *call_peer(const struct call *c); /* names the client in the log */

/* Sends one message. LIMIT (longer than RPC_MAX_REPLY), NOMEM: the call is then finished with an
 * error. */
int call_send(struct call *c, const ProtobufCMessage *message);
/* Ends the call; has no effect on a call that is finished. fmt NULL: no message. */
void call_finish(struct call *c, enum fab_grpc_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void call_reply(struct call *c, const ProtobufCMessage *message); /* send, and finish with OK */

/* For calls that are finished later. `gone` is called if the call ends before call_finish (it was
 * cancelled, its deadline passed, the connection broke); the service must then forget the call.
 * `drain` (may be NULL) is called when everything sent so far was taken and more can be sent; the
 * response headers then go out at once. */
struct call_hooks {
    void (*gone)(struct call *c, void *data);
    void (*drain)(struct call *c, void *data);
};
void call_later(struct call *c, const struct call_hooks *hooks, void *data);
/* The service has more to send: drain will be called when there is room. */
void call_kick(struct call *c);

#endif
