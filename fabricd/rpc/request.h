/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions for calls whose answer waits until the manager has done the requested work, such as
 * Sweep, Reroute, DisablePort and EnablePort.
 */
#ifndef FABRICD_RPC_REQUEST_H
#define FABRICD_RPC_REQUEST_H

#include "fabricd/rpc/server.h"

/* Registers the call before the service passes its request to the manager. If the call ends early,
 * the manager forgets the callback, but still does the work. */
void request_begin(struct call *c);
/* Finishes a call whose request the manager refused with `status`. If this manager is standby, the
 * message names the master. `what` is the consequence, such as "no sweep was started". */
void request_refuse(struct call *c, int status, const char *what);
/* If this manager is standby, finishes the call like request_refuse and returns true. Only needed
 * for changes that the subnet manager itself does not refuse in standby. */
bool request_refuse_in_standby(struct call *c, const char *what);
/* Replies to the call after the manager has done the work; the callback of the request calls this
 * function. If `status` is an error, `text` is its message. Otherwise `text` becomes the value of
 * *field, the only field of the reply `m`. */
void request_end(struct call *c, int status, const char *text, const ProtobufCMessage *m,
                 char **field);

/* Finishes the dry run of a request that would succeed. The reply says in one sentence what the
 * request would do, and the audit log says that nothing was changed. */
void request_rehearsed(struct call *c, const char *object, const ProtobufCMessage *m, char **field,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
