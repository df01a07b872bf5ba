/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that ask the manager to do something and are answered when it is done: Sweep, Reroute,
 * DisablePort, EnablePort.
 */
#ifndef FABRICD_RPC_REQUEST_H
#define FABRICD_RPC_REQUEST_H

#include "fabricd/rpc/server.h"

/* Before the request is handed to the manager: the call goes on later, or its caller goes away. */
void request_begin(struct call *c);
/* The manager did not take the request: finishes the call, saying who is master if we are not.
 * what: "no sweep was begun". */
void request_refuse(struct call *c, int status, const char *what);
/* The outcome, from the manager's callback: the message of an error, or the reply m, whose only
 * field is the text. */
void request_end(struct call *c, int status, const char *text, const ProtobufCMessage *m,
                 char **field);

#endif
