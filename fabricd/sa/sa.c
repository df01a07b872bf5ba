/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles requests of hosts to the subnet administrator (IBA chapter 15).
 *
 * A Get is answered at once from the published view (libfabmgr/sa), unless it must examine more
 * than GET_BUDGET records. The answers to such a Get, and responses of many records, are collected
 * in parts, for one host after the other (table.c), and then sent by RMPP (transfer.c). Sets and
 * Deletes change the registrations of hosts (registered.c).
 *
 * A sweep does not delay answers, because a published view does not change during a sweep. The
 * status of answers is BUSY before the first view is published and, if partitions are configured,
 * before the first view with the P_Keys of all ports.
 *
 * A request is ignored in six cases: it is malformed; this manager is not master; it is a Set or
 * Delete while this manager hands over to the next master; its SM_Key is neither 0 nor the sa_key
 * (15.2.1.1, C15-0.1.5); its port sends more requests per second than the quota permits (quota.c);
 * or it repeats a request whose response is in progress (table.c). An answer is lost if the queue
 * of answers is full (reply.c), or if the kernel does not accept it (transfer.c).
 */
#include "fabricd/sa/sa.h"

#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/sa/quota.h"
#include "fabricd/sa/registry.h"
#include "libfabmgr/base/status.h"

/* maximum number of records that a Get examines at once; a longer search goes to a queue
 * (table.c) */
#define GET_BUDGET 64

enum { AT_METHOD = 3, AT_RMPP_TYPE = FAB_RMPP_AT + 1, AT_RMPP_FLAGS = FAB_RMPP_AT + 2 };

void sa_view_unref(struct sa_view *v)
{
    if (!v || --v->refs > 0)
        return;
    fab_sa_free(v->sa);
    free(v);
}

static void tell_managers(const struct sa *s, struct fab_sa *sa)
{
    struct fab_sm_info others[FAB_SA_MANAGERS];
    uint32_t count = sm_others(s->in.sm, others, FAB_SA_MANAGERS);
    (void)fab_sa_set_managers(sa, others, count < FAB_SA_MANAGERS ? count : FAB_SA_MANAGERS);
}

/* Prepares the published view for queries, unless it is already prepared. */
static void take_view(struct sa *s)
{
    struct fab_view *published = sm_view(s->in.sm);
    struct sa_view *v = NULL;
    if (!published || !published->target || (s->view && s->generation == published->generation))
        goto out;
    v = calloc(1, sizeof(*v));
    if (!v || fab_sa_new(published, &v->sa) != FAB_OK) {
        log_warning("sa", "out of memory: queries are answered from the previous view");
        free(v);
        goto out;
    }
    fab_sa_set_aliases(v->sa, &s->aliases);
    tell_managers(s, v->sa);
    v->refs = 1;
    sa_view_unref(s->view);
    s->view = v;
    s->generation = published->generation;
out:
    fab_view_unref(published);
}

/* Releases the view, so that a local repair can change the tables in place. At the next request,
 * take_view gets the published view again. */
static void let_go(void *ctx)
{
    struct sa *s = ctx;
    sa_view_unref(s->view);
    s->view = NULL;
}

bool sa_is_master(const struct sa *s)
{
    struct sm_status status;
    sm_get_status(s->in.sm, &status);
    return status.role == FAB_SM_MASTER;
}

/* Updates the view and the agent's copy of the manager's role. Called once for each batch of
 * received MADs. */
static void look_around(struct sa *s)
{
    s->master = sa_is_master(s);
    take_view(s);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void get(struct sa *s, const struct transport_mad *mad, const struct fab_sa_request *req)
{
    uint8_t answer[FAB_MAD_SIZE];
    uint16_t status = fab_sa_get(s->view->sa, mad->bytes, req, GET_BUDGET, answer);
    if (status == FAB_SMP_BUSY) {
        sa_table_begin(s, mad, req);
        return;
    }
    s->stats.answered++;
    s->stats.refused += status != 0;
    sa_send(s, mad, answer);
}

/* Returns the port that has this LID in the published view; FAB_NONE: no port has it. */
static uint32_t port_of(const struct sa *s, uint16_t lid)
{
    const struct fab_lids *lids = &fab_sa_view(s->view->sa)->target->lids;
    return lid <= lids->top ? lids->owner[lid] : FAB_NONE;
}

/* Returns true if partitions are configured, but the view does not say which ports are in them.
 * This is so from a take-over to the end of the first heavy sweep, because P_Key tables are not
 * read in standby. Hosts would be refused, or would get the P_Key of the default partition. */
static bool lacks_partitions(const struct fab_view *v)
{
    return v->policy.partitions && v->target->pkeys.ports == 0;
}

static void take_request(struct sa *s, const struct transport_mad *mad)
{
    struct fab_sa_request req;
    uint64_t key;
    if (!s->master || fab_sa_request_read(mad->bytes, mad->len, &req, &key) != FAB_OK) {
        s->stats.dropped++;
        return;
    }
    if (!s->view || lacks_partitions(fab_sa_view(s->view->sa))) {
        sa_refuse(s, mad, FAB_SMP_BUSY);
        return;
    }
    uint64_t ours = fab_sa_view(s->view->sa)->policy.sa_key;
    if (key != 0 && key != ours) {
        s->stats.dropped++;
        return;
    }
    req.trusted = key != 0;
    req.from = port_of(s, mad->addr.slid);
    if (!sa_quota_admits(s, &req)) {
        s->stats.dropped++;
        return;
    }
    req.activity = (uint32_t)s->stats.requests;
    req.list = sa_registered_list(s, req.attr_id);
    bool changes = req.method == FAB_METHOD_SET || req.method == FAB_METHOD_DELETE;
    if (req.method == FAB_METHOD_GET)
        get(s, mad, &req);
    else if (fab_sa_is_table(req.method))
        sa_table_begin(s, mad, &req);
    else if (changes && sm_is_handing_over(s->in.sm))
        /* the request gets no answer; the host will repeat it to the next master */
        s->stats.dropped++;
    else if (changes)
        sa_registered_change(s, mad, &req);
    else
        sa_refuse(s, mad, FAB_SMP_BAD_METHOD);
}

/* Returns true if the MAD has the method of a response. It is then an ACK, STOP or ABORT (RMPP) by
 * which a requester answers the segments of a transfer. */
static bool is_response(const struct transport_mad *mad)
{
    return (mad->bytes[AT_METHOD] & FAB_METHOD_RESPONSE) != 0;
}

static void on_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct sa *s = ctx;
    look_around(s);
    for (size_t i = 0; i < count; i++) {
        const struct transport_mad *m = &mads[i];
        if (m->failed || m->len < FAB_MAD_SIZE)
            continue;
        if (m->bytes[AT_METHOD] == FAB_METHOD_REPORT_RESP) {
            sa_report_answer(s, m);
            continue;
        }
        if (is_response(m)) {
            sa_transfer_input(s, m);
            continue;
        }
        s->stats.requests++;
        take_request(s, m);
    }
}

/* ---- starting and stopping ------------------------------------------------------------------- */

int sa_start(const struct sa_input *in, struct sa **ret)
{
    struct sa *s = calloc(1, sizeof(*s));
    if (!s)
        return FAB_E_NOMEM;
    s->in = *in;
    sa_registered_init(s);
    s->making.tail = &s->making.head;
    s->sending.tail = &s->sending.head;
    s->work = loop_timer_new(in->loop, sa_table_work, s);
    s->patience = loop_timer_new(in->loop, sa_transfer_tick, s);
    s->retry = loop_timer_new(in->loop, sa_flush, s);
    int r = s->work && s->patience && s->retry ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = sa_quota_start(s);
    if (r == FAB_OK)
        r = sa_registry_start(s);
    if (r == FAB_OK)
        r = sa_alias_start(s);
    if (r == FAB_OK)
        r = transport_on_class(in->transport, FAB_CLASS_SA, on_receive, s);
    if (r != FAB_OK) {
        sa_stop(s);
        return r;
    }
    sm_on_patch(in->sm, let_go, s);
    *ret = s;
    return FAB_OK;
}

int sa_load(struct sa *s)
{
    int r = sa_registry_load(s);
    return r == FAB_OK ? sa_alias_load(s) : r;
}

void sa_stop(struct sa *s)
{
    if (!s)
        return;
    transport_on_class(s->in.transport, FAB_CLASS_SA, NULL, NULL);
    sm_on_patch(s->in.sm, NULL, NULL);
    sa_quota_stop(s);
    sa_alias_stop(s);
    sa_registry_stop(s);
    while (s->making.head)
        sa_job_free(s, s->making.head);
    while (s->sending.head)
        sa_job_free(s, s->sending.head);
    loop_timer_free(s->work);
    loop_timer_free(s->patience);
    loop_timer_free(s->retry);
    sa_view_unref(s->view);
    free(s);
}
