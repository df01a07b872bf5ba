/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for calls whose answer waits until the manager has done the requested work. */
#include "fabricd/rpc/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "fabricd/rpc/convert.h"
#include "libfabmgr/base/status.h"

static void forget(struct call *c, void *data)
{
    (void)data;
    sm_forget(call_rpc(c)->in.sm, c);
}

void request_begin(struct call *c)
{
    static const struct call_hooks hooks = {.gone = forget};
    call_later(c, &hooks, NULL);
}

void request_refuse(struct call *c, int status, const char *what)
{
    struct sm_status s;
    sm_get_status(call_rpc(c)->in.sm, &s);
    if (s.role == FAB_SM_STANDBY)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "%s: this manager is standby; ask the master at LID %u (port GUID "
                    "0x%016" PRIx64 ")",
                    what, s.master_lid, s.master_guid);
    else if (status == FAB_E_DENIED && s.role == FAB_SM_DISCOVERING)
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "%s: this manager is not master now, because it takes part in an election; "
                    "repeat the request in a second, or ask the master, which 'fabricctl ha "
                    "status' names",
                    what);
    else if (status == FAB_E_DENIED && sm_is_frozen(call_rpc(c)->in.sm))
        call_finish(
            c, FAB_GRPC_FAILED_PRECONDITION,
            "%s: the manager is frozen; see 'fabricctl manager status', or enter 'fabricctl "
            "manager resume'",
            what);
    else if (s.device_alarm[0] != '\0')
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "%s: the manager's port is gone (%s); see 'fabricctl status'", what,
                    s.device_alarm);
    else
        call_finish(c, fab_grpc_code_of(status), "%s: %s", what, fab_base_status_text(status));
}

bool request_refuse_in_standby(struct call *c, const char *what)
{
    struct sm_status s;
    sm_get_status(call_rpc(c)->in.sm, &s);
    if (s.role != FAB_SM_STANDBY)
        return false;
    request_refuse(c, FAB_E_DENIED, what);
    return true;
}

void request_end(struct call *c, int status, const char *text, const ProtobufCMessage *m,
                 char **field)
{
    struct answer a = {0};
    if (status < 0) {
        call_finish(c, fab_grpc_code_of(status), "%s", text);
        return;
    }
    call_audit_result(c, text);
    *field = answer_text(&a, text);
    answer_reply(&a, c, m);
}

void request_rehearsed(struct call *c, const char *object, const ProtobufCMessage *m, char **field,
                       const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    call_audit_change(c, NULL, "unchanged (dry run)");
    call_audit_object(c, "%s", object);
    request_end(c, FAB_OK, text, m, field);
}
