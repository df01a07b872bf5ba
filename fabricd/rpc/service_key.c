/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements GetKey and RotateKey. Their answers never contain a key. */
#include "fabricd/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabric/v1/key.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

/* Fills in the fields that the messages about the M_Key and about the CC_Key have in common. This
 * is a macro, because the two messages have different types. */
#define FILL_KEY(m, k, time, a)                                                                    \
    do {                                                                                           \
        (m)->set = (k)->set;                                                                       \
        (m)->generated = (k)->generated;                                                           \
        (m)->rotating = (k)->rotating;                                                             \
        (m)->generation = (k)->generation;                                                         \
        (time)->seconds = (int64_t)(k)->since_s;                                                   \
        (m)->since = (k)->since_s != 0 ? (time) : NULL;                                            \
        (m)->has_previous = (k)->has_previous;                                                     \
        (m)->current = (k)->current;                                                               \
        (m)->previous = (k)->previous;                                                             \
        (m)->unknown = (k)->unknown;                                                               \
        (m)->absent = (k)->absent;                                                                 \
        (m)->behind = answer_text(a, (k)->names);                                                  \
    } while (0)

void get_key(struct call *c, const void *request)
{
    Fabric__V1__GetKeyResponse m = FABRIC__V1__GET_KEY_RESPONSE__INIT;
    Fabric__V1__CongestionKey congestion = FABRIC__V1__CONGESTION_KEY__INIT;
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT,
                                cc_since = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    struct answer a = {0};
    struct sm_key_status k;
    (void)request;
    sm_get_key_status(call_rpc(c)->in.sm, &k);
    FILL_KEY(&m, &k, &since, &a);
    m.derived = k.derived;
    m.ports = k.ports;
    if (call_rpc(c)->in.cc) {
        cc_get_key_status(call_rpc(c)->in.cc, &k);
        FILL_KEY(&congestion, &k, &cc_since, &a);
        congestion.devices = k.ports;
        m.congestion_key = &congestion;
    }
    answer_reply(&a, c, &m.base);
}

static void key_status(const struct rpc_input *in, bool cc, struct sm_key_status *ret)
{
    if (cc)
        cc_get_key_status(in->cc, ret);
    else
        sm_get_key_status(in->sm, ret);
}

static void rehearse_rotation(struct call *c, const Fabric__V1__RotateKeyRequest *q)
{
    Fabric__V1__RotateKeyResponse m = FABRIC__V1__ROTATE_KEY_RESPONSE__INIT;
    const struct rpc_input *in = &call_rpc(c)->in;
    bool cc = q->kind == FABRIC__V1__KEY_KIND__KEY_KIND_CC_KEY;
    const char *name = cc ? "CC_Key" : "M_Key";
    struct sm_key_status k;
    char why[512] = "", given_up[80] = "";
    int rc = cc ? cc_key_rotate_check(in->cc, q->give_up_absent, why, sizeof why)
                : sm_key_rotate_check(in->sm, q->give_up_absent, why, sizeof why);
    if (rc != FAB_OK) {
        call_finish(c, fab_grpc_code_of(rc), "the %s would not be rotated: %s", name, why);
        return;
    }
    key_status(in, cc, &k);
    if (k.absent > 0)
        snprintf(given_up, sizeof given_up, "; %u absent %s%s would be given up", k.absent,
                 cc ? "device" : "port", fab_base_plural_s(k.absent));
    request_rehearsed(
        c, name, &m.base, &m.message, "%u %s%s would get a new %s (now: number %" PRIu64 ")%s",
        k.ports, cc ? "device" : "port", fab_base_plural_s(k.ports), name, k.generation, given_up);
}

void rotate_key(struct call *c, const void *request)
{
    const Fabric__V1__RotateKeyRequest *q = request;
    Fabric__V1__RotateKeyResponse m = FABRIC__V1__ROTATE_KEY_RESPONSE__INIT;
    const struct rpc_input *in = &call_rpc(c)->in;
    bool cc = q->kind == FABRIC__V1__KEY_KIND__KEY_KIND_CC_KEY;
    const char *name = cc ? "CC_Key" : "M_Key";
    struct sm_key_status k;
    char why[512] = "", text[200];
    if (!cc && q->kind != FABRIC__V1__KEY_KIND__KEY_KIND_M_KEY) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                    "kind is %d, expected KEY_KIND_M_KEY or KEY_KIND_CC_KEY", (int)q->kind);
        return;
    }
    if (cc && !in->cc) {
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "this manager has no congestion control");
        return;
    }
    if (q->dry_run) {
        rehearse_rotation(c, q);
        return;
    }
    key_status(in, cc, &k);
    snprintf(text, sizeof text, "%s number %" PRIu64, name, k.generation);
    call_audit_change(c, text, NULL);
    call_audit_object(c, "%s", name);
    int rc = cc ? cc_key_rotate(in->cc, q->give_up_absent, call_is_local(c), why, sizeof why)
                : sm_key_rotate(in->sm, q->give_up_absent, call_is_local(c), why, sizeof why);
    if (rc != FAB_OK) {
        call_finish(c, fab_grpc_code_of(rc), "the %s was not rotated: %s", name, why);
        return;
    }
    key_status(in, cc, &k);
    snprintf(text, sizeof text, "%s number %" PRIu64 " is in use; %u %s get it", name, k.generation,
             k.ports, cc ? "devices" : "ports");
    request_end(c, FAB_OK, text, &m.base, &m.message);
}
