/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls, as the services see them: a request that was read, and answers to give. Services list
 * their methods in a table; the grpc layer finds the method and reads the request.
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
    /* Gets the request (freed when it returns) and finishes the call, now or later. */
    void (*handle)(struct call *c, const void *request);
    bool many; /* the client streams: one handle for each message, and none finishes the call */
};
struct service {
    const char *name; /* "fabric.v1.FabricService" */
    const struct method *methods;
    size_t method_count;
};

void *call_context(const struct call *c);    /* of the server */
const char *call_peer(const struct call *c); /* who asks, for the log */

/* Sends one message. A message longer than RPC_MAX_REPLY, or no memory: the call is finished with
 * an error and this says so. */
int call_send(struct call *c, const ProtobufCMessage *message);
/* Ends the call; once is enough, more do nothing. fmt NULL: no message. */
void call_finish(struct call *c, enum fab_grpc_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void call_reply(struct call *c, const ProtobufCMessage *message); /* send, and finish with OK */

/* For calls that are finished later. `gone`: the call ended (cancelled, its deadline passed, the
 * connection broke); forget it. Never after call_finish. `drain` (may be NULL): all that was sent
 * was taken, more can be sent; the answer's headers go out at once. */
struct call_hooks {
    void (*gone)(struct call *c, void *data);
    void (*drain)(struct call *c, void *data);
};
void call_later(struct call *c, const struct call_hooks *hooks, void *data);
/* There is something new to send: drain will be called when there is room. */
void call_kick(struct call *c);

#endif
