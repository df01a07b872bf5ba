/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common functions of the calls that the manager answers when it has done the work, such as Sweep,
 * Reroute, DisablePort and EnablePort.
 */
#ifndef FABRICD_RPC_REQUEST_H
#define FABRICD_RPC_REQUEST_H

#include "fabricd/rpc/server.h"

/* Must be called before the request is passed to the manager. If the call ends early, the manager
 * drops its callback for this call, but still does the work. */
void request_begin(struct call *c);
/* Finishes a call whose request the manager refused with `status`. The message names the master if
 * this manager is standby. what: the consequence, such as "no sweep was started". */
void request_refuse(struct call *c, int status, const char *what);
/* Finishes the call in the manager's callback. If status is an error, `text` is its message;
 * otherwise *field, the only field of the reply m, is set to the text. */
void request_end(struct call *c, int status, const char *text, const ProtobufCMessage *m,
                 char **field);

#endif
