/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements Export, which sends a file that is made from the view published when the call arrived.
 * The next piece of the file is made when the client has taken the previous piece. So a slow client
 * needs only the memory of a reference to the view and a position in the file.
 *
 * For a certificate, a worker task first numbers the channels, which takes as long as a proof of
 * the tables.
 */
#include <stdlib.h>

#include "fabric/v1/export.pb-c.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/export/export.h"

struct exporting {
    struct call *call; /* NULL: the call has ended */
    struct fab_view *view;
    struct fab_export *export;         /* NULL: the channels are being numbered */
    struct fab_verify_numbers numbers; /* of a certificate */
    int rc;                            /* result of fab_verify_number */
};

static void exporting_free(struct exporting *x)
{
    fab_export_free(x->export);
    fab_verify_numbers_fini(&x->numbers);
    fab_view_unref(x->view);
    free(x);
}

static void forget(struct call *c, void *data)
{
    (void)c;
    exporting_free(data);
}

static void drain(struct call *c, void *data)
{
    struct exporting *x = data;
    struct fab_text t = {0};
    Fabric__V1__ExportResponse m = FABRIC__V1__EXPORT_RESPONSE__INIT;
    bool done = true;
    int rc = fab_export_next(x->export, &t, &done);
    m.data.data = (uint8_t *)t.s;
    m.data.len = t.len;
    m.generation = x->view->generation;
    if (rc < 0)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else
        rc = call_send(c, &m.base); /* on failure, call_send finishes the call */
    if (rc == FAB_OK && done)
        call_finish(c, FAB_GRPC_OK, NULL);
    if (rc < 0 || done)
        exporting_free(x);
    fab_base_text_fini(&t);
}

/* Begins to send the file, or finishes the call with an error and frees x. */
static void send_file(struct exporting *x, enum fab_export_format format)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    const struct fab_view *v = x->view;
    const struct fab_export_input in = {.fabric = v->fabric,
                                        .lids = &v->target->lids,
                                        .lft = &v->target->lft,
                                        .vls = &v->target->vls,
                                        .policy = &v->policy,
                                        .engine = v->target->engine,
                                        .generation = v->generation,
                                        .numbers = &x->numbers};
    int rc = fab_export_new(&in, format, &x->export);
    if (rc == FAB_OK) {
        call_later(x->call, &hooks, x);
        return;
    }
    if (rc == FAB_E_INVAL)
        call_finish(x->call, FAB_GRPC_INVALID_ARGUMENT, "format %d is not known to this manager",
                    (int)format + 1);
    else
        call_finish(x->call, fab_grpc_code_of(rc), "the export failed: %s",
                    fab_base_status_text(rc));
    exporting_free(x);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static void number_channels(void *ctx)
{
    struct exporting *x = ctx;
    const struct fab_verify_input in = fab_view_verify_input(x->view);
    x->rc = fab_verify_number(&in, &x->numbers);
}

static void on_numbered(void *ctx)
{
    struct exporting *x = ctx;
    struct call *c = x->call;
    if (c != NULL && x->rc == FAB_OK) {
        send_file(x, FAB_EXPORT_CERTIFICATE);
        call_kick(c);
        return;
    }
    if (c != NULL && (x->rc == FAB_E_CYCLE || x->rc == FAB_E_UNREACHABLE))
        call_finish(
            c, FAB_GRPC_FAILED_PRECONDITION,
            "the active tables cannot be certified: %s; 'fabricctl route verify' shows where",
            x->rc == FAB_E_CYCLE ? "they are not deadlock-free" : "some pair has no path");
    else if (c != NULL)
        call_finish(c, fab_grpc_code_of(x->rc), "the channels could not be numbered: %s",
                    fab_base_status_text(x->rc));
    exporting_free(x);
}

/* Does not free `data`, because the worker task still uses it; on_numbered frees it. */
static void forget_call(struct call *c, void *data)
{
    (void)c;
    struct exporting *x = data;
    x->call = NULL;
}

static void certify(struct exporting *x)
{
    static const struct call_hooks hooks = {.gone = forget_call};
    call_later(x->call, &hooks, x);
    if (loop_work(call_rpc(x->call)->in.loop, number_channels, on_numbered, x) == FAB_OK)
        return;
    call_finish(x->call, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    exporting_free(x);
}

void export_file(struct call *c, const void *request)
{
    const Fabric__V1__ExportRequest *q = request;
    struct fab_view *v = need_target(c);
    struct exporting *x = v != NULL ? calloc(1, sizeof *x) : NULL;
    if (v == NULL)
        return;
    if (x == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    *x = (struct exporting){.call = c, .view = fab_view_ref(v)};
    int format = (int)q->format - 1; /* formats of the API begin at 1 */
    if (format == FAB_EXPORT_CERTIFICATE)
        certify(x);
    else
        send_file(x, (enum fab_export_format)format);
}
