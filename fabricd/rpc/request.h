/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that ask the manager to do something and are answered when it is done: Sweep, Reroute,
 * DisablePort, EnablePort.
 */
#ifndef FABRICD_RPC_REQUEST_H
#define FABRICD_RPC_REQUEST_H

#include "fabricd/rpc/server.h"

/* Call this before the request goes to the manager. If the caller goes away, the manager forgets
 * the call. */
void request_begin(struct call *c);
/* The manager refused the request: finishes the call, and names the master if this manager is
 * standby. what: "no sweep was started". */
void request_refuse(struct call *c, int status, const char *what);
/* Finishes the call from the manager's callback: with an error and its message, or with the reply
 * m, whose only field is the text. */
void request_end(struct call *c, int status, const char *text, const ProtobufCMessage *m,
                 char **field);

#endif
