/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls, as the services see them. Each service lists its methods in a table. The gRPC layer finds
 * the method of a call, decodes the request and passes both to the service, which answers with
 * messages.
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
    /* Answers the request, and finishes the call now or later. The gRPC layer frees the request
     * when the function returns. */
    void (*handle)(struct call *c, const void *request);
    bool many; /* client streaming: `handle` is called for each message and must not finish the
                  call */
};
struct service {
    const char *name; /* "fabric.v1.FabricService" */
    const struct method *methods;
    size_t method_count;
};

void *call_context(const struct call *c);    /* `context` of the server's struct grpc_input */
const char *call_peer(const struct call *c); /* name of the client, for the log */

/* Sends one message. LIMIT (longer than RPC_MAX_REPLY), NOMEM: the function has finished the call
 * with an error. INVAL: the call was already finished. */
int call_send(struct call *c, const ProtobufCMessage *message);
/* Finishes the call, unless it is finished already. fmt NULL: no message. */
void call_finish(struct call *c, enum fab_grpc_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends the message, and finishes the call with OK. */
void call_reply(struct call *c, const ProtobufCMessage *message);

/* Hooks of calls that the service finishes later. The gRPC layer calls `gone` if the call ends
 * before call_finish (the client cancelled it, its deadline passed, the connection broke); the
 * service must then not use the call any more. It calls `drain` (may be NULL) when the client has
 * taken everything sent so far. If `drain` is set, the response headers are sent at once. */
struct call_hooks {
    void (*gone)(struct call *c, void *data);
    void (*drain)(struct call *c, void *data);
};
void call_later(struct call *c, const struct call_hooks *hooks, void *data);
/* Tells the gRPC layer that the service has more to send, so that it calls `drain` as soon as more
 * can be sent. */
void call_kick(struct call *c);

#endif
