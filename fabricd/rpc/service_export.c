/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements Export, which sends a file that is made from the view published when the call arrived.
 * The next piece of the file is made when the client has taken the previous piece. So a slow client
 * needs only the memory of a reference to the view and a position in the file.
 */
#include <stdlib.h>

#include "fabric/v1/export.pb-c.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/export/export.h"

struct exporting {
    struct fab_view *view;
    struct fab_export *export;
};

static void exporting_free(struct exporting *x)
{
    fab_export_free(x->export);
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

static int start(const struct fab_view *v, enum fab_export_format format, struct exporting **ret)
{
    struct exporting *x = calloc(1, sizeof *x);
    const struct fab_export_input in = {.fabric = v->fabric,
                                        .lids = &v->target->lids,
                                        .lft = &v->target->lft,
                                        .vls = &v->target->vls,
                                        .policy = &v->policy,
                                        .engine = v->target->engine,
                                        .generation = v->generation};
    if (x == NULL)
        return FAB_E_NOMEM;
    x->view = fab_view_ref(v);
    int rc = fab_export_new(&in, format, &x->export);
    if (rc == FAB_OK)
        *ret = x;
    else
        exporting_free(x);
    return rc;
}

void export_file(struct call *c, const void *request)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    const Fabric__V1__ExportRequest *q = request;
    struct exporting *x;
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    int format = (int)q->format - 1; /* the formats of the API begin at 1 */
    int rc = format < 0 ? FAB_E_INVAL : start(v, (enum fab_export_format)format, &x);
    if (rc == FAB_OK)
        call_later(c, &hooks, x);
    else if (rc == FAB_E_INVAL)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "format %d is not known to this manager",
                    (int)q->format);
    else
        call_finish(c, fab_grpc_code_of(rc), "the export failed: %s", fab_base_status_text(rc));
}
