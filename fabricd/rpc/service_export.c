/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements Export, which sends a file about the view that was published when the call arrived.
 * The method makes a piece of the file only when the client has taken the previous piece. So for a
 * slow client, the manager keeps only a position in the file and a reference to the view.
 *
 * Some files need a study (study.h) first. For a routing certificate, the study numbers the
 * channels, which takes as long as a proof of the tables. For the formats of Slurm, the study adds
 * the nodes and links that are gone to a copy of the fabric.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabric/v1/export.pb-c.h"
#include "fabricd/rpc/lost.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/counters/column.h"
#include "libfabmgr/export/export.h"
#include "libfabmgr/wire/wire.h"

/* Data that some files need besides the view. */
struct extra {
    struct fab_verify_numbers numbers; /* numbers of the channels in a routing certificate */
    /* for the formats of Slurm: the fabric, with the nodes and links that are gone; NULL: the
     * format needs only the fabric of the view */
    struct fab_fabric *whole;
};
struct exporting {
    struct fab_view *view;
    struct fab_export *export;
    struct extra extra;
    uint16_t *load; /* [port_count] loads of the ports, for a picture; NULL: not known */
};

static void extra_fini(struct extra *e)
{
    fab_verify_numbers_fini(&e->numbers);
    fab_fabric_unref(e->whole);
    *e = (struct extra){0};
}

static void exporting_free(struct exporting *x)
{
    fab_export_free(x->export);
    extra_fini(&x->extra);
    fab_view_unref(x->view);
    free(x->load);
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
        rc = call_send(c, &m.base); /* if call_send fails, it has finished the call */
    if (rc == FAB_OK && done)
        call_finish(c, FAB_GRPC_OK, NULL);
    if (rc < 0 || done)
        exporting_free(x);
    fab_base_text_fini(&t);
}

static struct exporting *exporting_new(const struct fab_view *v, struct extra *extra)
{
    struct exporting *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->view = fab_view_ref(v);
    if (extra != NULL) {
        x->extra = *extra;
        *extra = (struct extra){0};
    }
    return x;
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Returns the load of a port: the rate at which it sends data, in per mille of the rate of its
 * link; FAB_EXPORT_NO_LOAD: not known. */
static uint16_t load_of(const struct pm *pm, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t mbps = fab_wire_link_rate(&p->info);
    struct pm_rates r;
    if (mbps == 0 || p->peer == FAB_NONE ||
        !pm_port_rates(pm, f->nodes[p->node].guid, p->num, &r) ||
        r.code[FAB_COLUMN_XMIT_DATA] == FAB_CODE_NONE)
        return FAB_EXPORT_NO_LOAD;
    uint64_t bytes = fab_counters_decode_value(FAB_COLUMN_XMIT_DATA, r.code[FAB_COLUMN_XMIT_DATA]);
    /* the load in per mille is bytes * 8 * 1000 / (mbps * 10^6) */
    uint64_t load = bytes / 125 / mbps;
    return load < 1000 ? (uint16_t)load : 1000;
}

/* Collects the loads of the links between switches. If no load is known, or memory runs out,
 * x->load stays NULL, and the picture shows no loads. */
static void find_loads(struct exporting *x, const struct pm *pm)
{
    const struct fab_fabric *f = x->view->fabric;
    bool any = false;
    uint16_t *load = calloc(f->port_count + 1, sizeof *load);
    for (uint32_t p = 0; load != NULL && p < f->port_count; p++) {
        uint32_t peer = fab_fabric_peer_node(f, p);
        bool between = peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) &&
                       fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node);
        load[p] = between ? load_of(pm, f, p) : FAB_EXPORT_NO_LOAD;
        any = any || load[p] != FAB_EXPORT_NO_LOAD;
    }
    if (any)
        x->load = load;
    else
        free(load);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_file(struct exporting *x, enum fab_export_format format)
{
    const struct fab_view *v = x->view;
    const struct fab_target *t = v->target;
    const struct fab_export_input in = {.fabric =
                                            x->extra.whole != NULL ? x->extra.whole : v->fabric,
                                        .lids = t != NULL ? &t->lids : NULL,
                                        .lft = t != NULL ? &t->lft : NULL,
                                        .vls = t != NULL ? &t->vls : NULL,
                                        .policy = &v->policy,
                                        .engine = t != NULL ? t->engine : NULL,
                                        .generation = v->generation,
                                        .numbers = &x->extra.numbers,
                                        .load = x->load};
    return fab_export_new(&in, format, &x->export);
}

/* Begins to send the file. Takes over *extra, which may be NULL. Returns false if an error
 * occurred; the call is then finished. */
static bool send_file(struct call *c, const struct fab_view *v, enum fab_export_format format,
                      struct extra *extra)
{
    static const struct call_hooks hooks = {.gone = forget, .drain = drain};
    struct exporting *x = exporting_new(v, extra);
    if (x != NULL && format == FAB_EXPORT_SVG)
        find_loads(x, call_rpc(c)->in.pm);
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

/* ---- files that need a study ----------------------------------------------------------------- */

struct export_study {
    struct study study;
    enum fab_export_format format;
    struct fab_lost lost; /* for the formats of Slurm: the nodes and links that are gone */
    struct extra extra;
};

static void number_channels(struct study *s)
{
    struct export_study *x = (struct export_study *)s;
    const struct fab_verify_input in = fab_view_verify_input(s->view);
    int rc = fab_verify_number(&in, &x->extra.numbers);
    if (rc == FAB_E_CYCLE || rc == FAB_E_UNREACHABLE) {
        s->code = FAB_GRPC_FAILED_PRECONDITION;
        snprintf(s->why, sizeof s->why,
                 "the active tables cannot be certified: %s; 'fabricctl route verify' shows where",
                 rc == FAB_E_CYCLE ? "they are not deadlock-free" : "some pair has no path");
    } else if (rc < 0) {
        study_fail(s, rc, "the channels could not be numbered");
    }
}

static void restore(struct study *s)
{
    struct export_study *x = (struct export_study *)s;
    int rc = fab_fabric_restore(s->view->fabric, &x->lost, &x->extra.whole);
    if (rc < 0)
        study_fail(s, rc, "the nodes that are gone could not be added");
}

static void work(struct study *s)
{
    if (((struct export_study *)s)->format == FAB_EXPORT_CERTIFICATE)
        number_channels(s);
    else
        restore(s);
}

/* Called when the study is complete: moves its result to a struct exporting, and begins to send the
 * file. */
static bool tell(struct study *s)
{
    struct export_study *x = (struct export_study *)s;
    struct call *c = s->call;
    if (send_file(c, s->view, x->format, &x->extra))
        call_kick(c);
    return false;
}

static void export_study_free(struct study *s)
{
    struct export_study *x = (struct export_study *)s;
    extra_fini(&x->extra);
    fab_fabric_lost_fini(&x->lost);
    free(x);
}

static void study_file(struct call *c, const struct fab_view *v, enum fab_export_format format)
{
    static const struct study_kind kind = {work, tell, export_study_free, NULL};
    struct export_study *x = calloc(1, sizeof *x);
    int rc = x != NULL ? FAB_OK : FAB_E_NOMEM;
    if (x != NULL)
        x->format = format;
    if (rc == FAB_OK && format != FAB_EXPORT_CERTIFICATE)
        rc = lost_read(call_rpc(c)->in.store, &x->lost);
    if (rc == FAB_OK) {
        study_start(c, v, &kind, &x->study);
        return;
    }
    call_finish(c, fab_grpc_code_of(rc), "the nodes that are gone cannot be read: %s",
                fab_base_status_text(rc));
    free(x);
}

static bool needs_study(enum fab_export_format format)
{
    return format == FAB_EXPORT_CERTIFICATE || format == FAB_EXPORT_SLURM ||
           format == FAB_EXPORT_SLURM_BLOCK || format == FAB_EXPORT_SLURM_YAML;
}

void export_file(struct call *c, const void *request)
{
    const Fabric__V1__ExportRequest *q = request;
    int format = (int)q->format - 1; /* formats of the API begin at 1 */
    /* ibnetdiscover text shows only the cabling, so it can be exported before tables exist */
    struct fab_view *v = format == FAB_EXPORT_IBNETDISCOVER ? need_view(c) : need_target(c);
    if (v != NULL && needs_study((enum fab_export_format)format))
        study_file(c, v, (enum fab_export_format)format);
    else if (v != NULL)
        send_file(c, v, (enum fab_export_format)format, NULL);
}
