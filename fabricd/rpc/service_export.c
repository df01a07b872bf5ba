/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements Export, which sends a file that is made from the view published when the call arrived.
 * The next piece of the file is made when the client has taken the previous piece. So a slow client
 * needs only the memory of a reference to the view and a position in the file.
 *
 * For a certificate, a study (study.h) first numbers the channels, which takes as long as a proof
 * of the tables.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabric/v1/export.pb-c.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/export/export.h"

struct exporting {
    struct fab_view *view;
    struct fab_export *export;
    struct fab_verify_numbers numbers; /* numbers of the channels in a routing certificate */
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

static struct exporting *exporting_new(const struct fab_view *v, struct fab_verify_numbers *numbers)
{
    struct exporting *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->view = fab_view_ref(v);
    if (numbers != NULL) {
        x->numbers = *numbers;
        *numbers = (struct fab_verify_numbers){0};
    }
    return x;
}

static int open_file(struct exporting *x, enum fab_export_format format)
{
    const struct fab_view *v = x->view;
    const struct fab_target *t = v->target;
    const struct fab_export_input in = {.fabric = v->fabric,
                                        .lids = t != NULL ? &t->lids : NULL,
                                        .lft = t != NULL ? &t->lft : NULL,
                                        .vls = t != NULL ? &t->vls : NULL,
                                        .policy = &v->policy,
                                        .engine = t != NULL ? t->engine : NULL,
                                        .generation = v->generation,
                                        .numbers = &x->numbers};
    return fab_export_new(&in, format, &x->export);
}

/* Begins to send the file. Takes over the numbers, which only a certificate needs. Returns false if
 * an error has finished the call. */
static bool send_file(struct call *c, const struct fab_view *v, enum fab_export_format format,
                      struct fab_verify_numbers *numbers)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    struct exporting *x = exporting_new(v, numbers);
    int rc = x != NULL ? open_file(x, format) : FAB_E_NOMEM;
    if (rc == FAB_OK) {
        call_later(c, &hooks, x);
        return true;
    }
    if (rc == FAB_E_NOMEM)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else if (rc == FAB_E_INVAL)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "format %d is not known to this manager",
                    (int)format + 1);
    else
        call_finish(c, fab_grpc_code_of(rc), "the export failed: %s", fab_base_status_text(rc));
    if (x != NULL)
        exporting_free(x);
    return false;
}

/* ---- certificates ---------------------------------------------------------------------------- */

struct certificate_study {
    struct study study;
    struct fab_verify_numbers numbers;
};

static void work(struct study *s)
{
    struct certificate_study *x = (struct certificate_study *)s;
    const struct fab_verify_input in = fab_view_verify_input(s->view);
    int rc = fab_verify_number(&in, &x->numbers);
    if (rc == FAB_E_CYCLE || rc == FAB_E_UNREACHABLE) {
        s->code = FAB_GRPC_FAILED_PRECONDITION;
        snprintf(s->why, sizeof s->why,
                 "the active tables cannot be certified: %s; 'fabricctl route verify' shows where",
                 rc == FAB_E_CYCLE ? "they are not deadlock-free" : "some pair has no path");
    } else if (rc < 0) {
        study_fail(s, rc, "the channels could not be numbered");
    }
}

/* Moves the numbers from the study to a struct exporting, and begins to send the file. */
static bool tell(struct study *s)
{
    struct certificate_study *x = (struct certificate_study *)s;
    struct call *c = s->call;
    if (send_file(c, s->view, FAB_EXPORT_CERTIFICATE, &x->numbers))
        call_kick(c);
    return false;
}

static void certificate_free(struct study *s)
{
    struct certificate_study *x = (struct certificate_study *)s;
    fab_verify_numbers_fini(&x->numbers);
    free(x);
}

static void certify(struct call *c, const struct fab_view *v)
{
    static const struct study_kind kind = {work, tell, certificate_free, NULL};
    struct certificate_study *x = calloc(1, sizeof *x);
    if (x != NULL)
        study_start(c, v, &kind, &x->study);
    else
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
}

void export_file(struct call *c, const void *request)
{
    const Fabric__V1__ExportRequest *q = request;
    int format = (int)q->format - 1; /* formats of the API begin at 1 */
    /* this format needs no tables, so that the cabling can be exported before tables exist */
    struct fab_view *v = format == FAB_EXPORT_IBNETDISCOVER ? need_view(c) : need_target(c);
    if (v != NULL && format == FAB_EXPORT_CERTIFICATE)
        certify(c, v);
    else if (v != NULL)
        send_file(c, v, (enum fab_export_format)format, NULL);
}
