/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking client of fabricd's RPC. It has one connection, and makes one call at a time on one
 * thread. Messages are the structs that protoc-c generates from proto/fabric/v1.
 *
 *     struct fab_client_error error;
 *     struct fab_client *client;
 *     const struct fab_client_options options = {.address = "unix:/run/fabricd/fabricd.sock"};
 *     if (fab_client_open(&options, &client, &error) != FAB_GRPC_OK)
 *         fail(error.message);
 *     fab_client_call(client, "fabric.v1.FabricService/GetStatus", &request.base,
 *                     &fabric__v1__get_status_response__descriptor, &reply, &error);
 */
#ifndef LIBFABMGR_CLIENT_CLIENT_H
#define LIBFABMGR_CLIENT_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "libfabmgr/grpc/code.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fab_client;

struct fab_client_options {
    const char *address; /* address of the server: "unix:PATH" or "tls:HOST:PORT" */
    /* paths of PEM files with the CA, the client's certificate and its key; only for an address
     * "tls:..." */
    const char *ca, *cert, *key;
    /* name that the server's certificate must contain; NULL: the HOST part of the address */
    const char *server_name;
    /* time limit in ms for making the connection, and for each call; 0: no limit */
    unsigned timeout_ms;
    /* reason for the calls, which the server writes to its audit log; at most 768 bytes when
     * percent-encoded; NULL: none */
    const char *reason;
    /* true: the server makes changes without waiting until a majority of the etcd servers has
     * stored them (setting replication) */
    bool local;
};

/* A failure, as a gRPC status. UNAVAILABLE: the connection could not be made or was lost. */
struct fab_client_error {
    enum fab_grpc_code code;
    char message[1024];
};

/* Connects to a server. INVALID_ARGUMENT: the address is malformed, a TLS file is missing or not
 * valid, or the reason is too long. UNAVAILABLE: the connection cannot be made. Functions of this
 * header that can fail return a gRPC status code, and write it and a message to *ret_error. */
enum fab_grpc_code fab_client_open(const struct fab_client_options *options,
                                   struct fab_client **ret, struct fab_client_error *ret_error);
void fab_client_close(struct fab_client *c); /* c may be NULL */
/* Another thread may call this function: it ends the running call and all later calls with
 * UNAVAILABLE. The thread that makes the calls must still close the client. */
void fab_client_interrupt(struct fab_client *c);

/* Calls a method with a single reply. `method` is "package.Service/Method". After OK, the caller
 * frees the reply with protobuf_c_message_free_unpacked. */
enum fab_grpc_code fab_client_call(struct fab_client *c, const char *method,
                                   const ProtobufCMessage *request,
                                   const ProtobufCMessageDescriptor *reply,
                                   ProtobufCMessage **ret_reply,
                                   struct fab_client_error *ret_error);

/* Like fab_client_call, but allocates the reply with `memory` (NULL: malloc). */
enum fab_grpc_code fab_client_call_in(struct fab_client *c, const char *method,
                                      const ProtobufCMessage *request,
                                      const ProtobufCMessageDescriptor *reply,
                                      ProtobufCAllocator *memory, ProtobufCMessage **ret_reply,
                                      struct fab_client_error *ret_error);

/* Receives each message of a stream. Returns false to cancel the call. The message is freed after
 * the function returns. */
typedef bool fab_client_each(void *ctx, const ProtobufCMessage *message);
/* Makes a call whose replies are a stream, and passes each reply to the function `each`. The call
 * has no time-out. Returns OK when the server ends the stream without an error, or when each()
 * returns false. */
enum fab_grpc_code fab_client_stream(struct fab_client *c, const char *method,
                                     const ProtobufCMessage *request,
                                     const ProtobufCMessageDescriptor *reply, fab_client_each *each,
                                     void *ctx, struct fab_client_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
