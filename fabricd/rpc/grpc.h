/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server side of gRPC over one HTTP/2 connection. This code uses neither a socket nor a clock:
 * its caller passes received bytes and the time, and fetches the bytes to be sent. Each call goes
 * to one of the services in the table grpc_input.services.
 */
#ifndef FABRICD_RPC_GRPC_H
#define FABRICD_RPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabricd/rpc/call.h"

struct audit;
struct caller;
struct grpc;
struct limited;
struct majority;
/* Functions that the gRPC layer calls for each call. */
struct grpc_access {
    /* Decides whether the caller may call the method, before the request is read. Sets the role of
     * the call. Finishes the call if it is refused. */
    void (*admit)(struct call *c, const struct service *s, const struct method *m);
    /* Returns true if the caller may call the method now. */
    bool (*permits)(const struct call *c, const struct service *s, const struct method *m);
    /* called once for each call, when the call has ended with this status code */
    void (*ended)(struct call *c, enum fab_grpc_code code);
};
struct grpc_input {
    const struct service *const *services; /* table of services, NULL-terminated */
    void *context;                         /* value that call_context returns to the services */
    /* the client at the other end; the connection takes a reference to it */
    struct caller *caller;
    const struct grpc_access *access; /* NULL: every caller may call every method */
    /* Tells the owner of the connection that there are bytes to send; the owner must then call
     * grpc_produce. Called if a service writes to a call while none of grpc_receive, grpc_produce
     * and grpc_tick runs. */
    void (*wake)(void *ctx);
    void *wake_ctx;
    struct audit *audit; /* records calls; NULL: no call is recorded */
    /* Holds decisions until a majority of the etcd servers has confirmed them; NULL: decisions do
     * not wait. */
    struct majority *majority;
    /* `calls`: number of calls that this client has in progress, on all its connections; NULL: this
     * number is not limited. `limited`: counts the calls that are refused because of this limit. */
    unsigned *calls;
    struct limited *limited;
};
/* Creates the server side of a connection. Returns NOMEM. */
int grpc_new(const struct grpc_input *in, struct grpc **ret);
/* returns the client of the connection */
const struct caller *grpc_caller(const struct grpc *g);
/* Ends all calls, calls their hooks `gone`, and frees g, which may be NULL. */
void grpc_free(struct grpc *g);

/* Each of the next functions calls the function of h2.h whose name has the same ending, for example
 * h2_receive, and returns its result. */
int grpc_receive(struct grpc *g, const uint8_t *data, size_t len, uint64_t now_us);
ssize_t grpc_produce(struct grpc *g, const uint8_t **ret_data);
bool grpc_done(const struct grpc *g);
void grpc_shut(struct grpc *g);
bool grpc_ready(const struct grpc *g);
uint64_t grpc_headers_until(const struct grpc *g);
size_t grpc_calls(const struct grpc *g);

/* Returns the time at which grpc_tick must be called: the earliest deadline of a call, or time
 * limit of a request that is not complete. UINT64_MAX: there is neither. */
uint64_t grpc_deadline(const struct grpc *g);
/* Ends calls whose deadline or time limit has passed. */
void grpc_tick(struct grpc *g, uint64_t now_us);
/* Refuses those calls in progress that the caller may no longer make, because the roles have
 * changed. A call that has begun a change may complete it, so that the audit log gets the true
 * result of the change. */
void grpc_review(struct grpc *g);

#endif
