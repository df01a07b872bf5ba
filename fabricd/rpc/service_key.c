/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetKey and RotateKey. Their answers never contain a key. */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabric/v1/key.pb-c.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

void get_key(struct call *c, const void *request)
{
    Fabric__V1__GetKeyResponse m = FABRIC__V1__GET_KEY_RESPONSE__INIT;
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    struct answer a = {0};
    struct sm_key_status k;
    (void)request;
    sm_get_key_status(call_rpc(c)->in.sm, &k);
    m.set = k.set;
    m.generated = k.generated;
    m.rotating = k.rotating;
    m.generation = k.generation;
    since.seconds = (int64_t)k.since_s;
    m.since = k.since_s != 0 ? &since : NULL;
    m.has_previous = k.has_previous;
    m.ports = k.ports;
    m.current = k.current;
    m.previous = k.previous;
    m.unknown = k.unknown;
    m.absent = k.absent;
    m.behind = answer_text(&a, k.names);
    answer_reply(&a, c, &m.base);
}

void rotate_key(struct call *c, const void *request)
{
    const Fabric__V1__RotateKeyRequest *q = request;
    Fabric__V1__RotateKeyResponse m = FABRIC__V1__ROTATE_KEY_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_key_status k;
    char why[512] = "", text[200];
    int rc = sm_key_rotate(sm, q->give_up_absent, why, sizeof why);
    if (rc != FAB_OK) {
        call_finish(c, fab_grpc_code_of(rc), "the M_Key was not rotated: %s", why);
        return;
    }
    sm_get_key_status(sm, &k);
    log_notice("rpc", "%s began a rotation of the M_Key", call_peer(c));
    snprintf(text, sizeof text, "M_Key number %" PRIu64 " is in use; %u ports get it", k.generation,
             k.ports);
    request_end(c, FAB_OK, text, &m.base, &m.message);
}
