/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RPC call as the services see it. Each service lists its methods in a table. The gRPC layer
 * finds the method of a call, decodes the request and passes both to the service. The service
 * answers with messages.
 */
#ifndef FABRICD_RPC_CALL_H
#define FABRICD_RPC_CALL_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "fabricd/rpc/limits.h"
#include "libfabmgr/grpc/grpc.h"

struct call;
struct caller;

struct method {
    const char *name; /* name of the method, such as "GetStatus" */
    const ProtobufCMessageDescriptor *request;
    /* Handles one call: answers the request, and finishes the call now or later. The gRPC layer
     * frees the request when this function returns. */
    void (*handle)(struct call *c, const void *request);
    /* true: the client sends a stream of messages. `handle` is called for each message, and must
     * not finish the call. */
    bool many;
    /* true: the method changes something or gives away keys, so each call of it is recorded in the
     * audit log */
    bool changes;
    /* true: the method makes a decision of an operator. Another manager must know this decision
     * when it takes over (majority.h). */
    bool decides;
    /* true: a request may have up to RPC_MAX_LARGE_REQUEST bytes, if the caller has the role that
     * the method needs */
    bool large;
};
struct service {
    /* full name of the service, such as "fabric.v1.FabricService" */
    const char *name;
    const struct method *methods;
    size_t method_count;
};

void *call_context(const struct call *c); /* returns the member `context` of struct grpc_input */
/* Returns the identity of the client (caller.h). It is valid until the call ends. */
struct caller *call_caller(const struct call *c);
/* returns the text of the caller, for logs: "alice (uid 1000)" */
const char *call_peer(const struct call *c);
/* Writes to ret[] the decoded reason from the request header fabric-reason, as valid UTF-8; "": the
 * client gave no reason. */
void call_reason(const struct call *c, char ret[RPC_MAX_REASON + 1]);

/* Returns true if the client accepts that only this manager stores its decision, without a majority
 * of the etcd servers (majority.h). */
bool call_is_local(const struct call *c);

/* Returns the role (enum config_role) that the caller had when the call began. 0: the role was not
 * determined, because the server does not have the method that the client called. */
unsigned call_role(const struct call *c);
void call_set_role(struct call *c, unsigned role);

/* Sends one message. Returns LIMIT if the message is longer than RPC_MAX_REPLY, or NOMEM; in both
 * cases the call is then finished with an error. Returns INVAL if the call was already finished. */
int call_send(struct call *c, const ProtobufCMessage *message);
/* Finishes the call with this status code and message, unless the call is finished already. fmt
 * == NULL: no message. */
void call_finish(struct call *c, enum fab_grpc_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends the message and finishes the call with status OK. */
void call_reply(struct call *c, const ProtobufCMessage *message);

/*
 * For a method that changes something: its service calls these functions, so that the audit log
 * describes the change. The gRPC layer adds the caller, the method, the reason and the result.
 *
 * call_audit_change sets the values before and after the change; NULL: not known. The service calls
 * it first. call_audit_object sets the object of the change, such as "leaf-1/12", and stores a
 * BEGIN row. The service calls it before it makes the change. If the value after the change is
 * known only when the change is made, the service sets it with call_audit_result.
 */
void call_audit_change(struct call *c, const char *before, const char *after);
void call_audit_result(struct call *c, const char *after);
void call_audit_object(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Hooks of a call that the service finishes later. The gRPC layer calls `gone` if the call ends
 * before call_finish: the client cancelled it, its deadline passed, the connection broke, the rest
 * of the request was not valid, or the caller lost the role that the method needs. From then on,
 * the service must not use the call.
 *
 * The gRPC layer calls `drain` when the client has taken all messages sent so far. `drain` may be
 * NULL. If it is not NULL, the gRPC layer sends the response headers at once.
 */
struct call_hooks {
    void (*gone)(struct call *c, void *data);
    void (*drain)(struct call *c, void *data);
};
void call_later(struct call *c, const struct call_hooks *hooks, void *data);
/* Tells the gRPC layer that the service has more messages to send. The gRPC layer calls `drain` as
 * soon as messages can be sent. */
void call_kick(struct call *c);

#endif
