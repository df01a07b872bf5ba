/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for calls that are answered only when the manager has done the requested work. */
#include "fabricd/rpc/request.h"

#include <inttypes.h>

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
    else if (s.device_alarm[0] != '\0')
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "%s: the manager's port is gone (%s); see 'fabricctl status'", what,
                    s.device_alarm);
    else
        call_finish(c, fab_grpc_code_of(status), "%s: %s", what, fab_base_status_text(status));
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
