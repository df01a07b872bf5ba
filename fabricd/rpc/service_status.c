/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements GetStatus, GetVersion, Sweep, Reroute and Rebalance.
 */
#include "fabricd/rpc/server.h"

#include <stdio.h>

#include "fabric/v1/status.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/process.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/expiry.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/request.h"
#include "fabricd/store/gone.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"

/* Adds the reason why the database cannot be written. `m` is NULL if memory ran out; the function
 * then does nothing. */
static void add_store(struct answer *a, Fabric__V1__Status *m, struct store *store)
{
    struct store_health health = {0};
    if (store != NULL)
        store_get_health(store, &health);
    if (m != NULL && health.failing)
        m->store_alarm = answer_text(a, health.reason);
}

#define GONE_SHOWN_S 86400 /* the status counts the nodes that left in the last 24 hours */

/* Adds how many nodes left in the last 24 hours. `m` is NULL if memory ran out; the function then
 * does nothing. */
static void add_gone(Fabric__V1__Status *m, struct store *store)
{
    struct store_gone_count count = {0};
    int64_t from = clock_unix_us() / 1000000 - GONE_SHOWN_S;
    if (m == NULL || store == NULL || store_gone_count(store, from, INT64_MAX, &count) != FAB_OK)
        return;
    m->gone_hosts = count.hosts;
    m->gone_switches = count.switches;
    m->gone_others = count.others;
}

/* Adds the warning about TLS files that expire soon or have expired. `m` is NULL if memory ran out;
 * the function then does nothing. */
static void add_expiry(struct answer *a, Fabric__V1__Status *m, const struct expiry *e)
{
    char alarm[1024];
    expiry_alarm(e, alarm, sizeof alarm);
    if (m != NULL && alarm[0] != '\0')
        m->certificate_alarm = answer_text(a, alarm);
}

/* Adds the processor time and the memory that the manager uses. `m` is NULL if memory ran
 * out; the function then does nothing. */
static void add_load(struct answer *a, Fabric__V1__Status *m, const struct loop *loop)
{
    struct process_use use;
    struct loop_iterations iterations;
    Fabric__V1__ManagerLoad *load =
        m != NULL ? ANSWER_NEW(a, Fabric__V1__ManagerLoad, fabric__v1__manager_load) : NULL;
    if (load == NULL)
        return;
    process_get_use(&use);
    loop_get_iterations(loop, &iterations);
    load->cpu_time = convert_duration(a, use.cpu_us);
    load->loop_time = convert_duration(a, iterations.sum_us);
    load->resident_bytes = use.resident_bytes;
    m->load = load;
}

void get_status(struct call *c, const void *request)
{
    (void)request;
    struct sm *sm = call_rpc(c)->in.sm;
    struct answer a = {0};
    struct sm_status s = {0};
    struct fab_census census = sm_census(sm);
    struct fab_view *v = sm_view_to_show(sm);
    Fabric__V1__GetStatusResponse m = FABRIC__V1__GET_STATUS_RESPONSE__INIT;
    struct sm_unresponsive *unresponsive =
        answer_alloc(&a, RPC_UNRESPONSIVE_SHOWN, sizeof *unresponsive);
    uint32_t count =
        unresponsive == NULL ? 0 : sm_unresponsive_ports(sm, unresponsive, RPC_UNRESPONSIVE_SHOWN);
    sm_get_status(sm, &s);
    m.status = convert_status(&a, &s, unresponsive, count, v, &census);
    add_store(&a, m.status, call_rpc(c)->in.store);
    add_gone(m.status, call_rpc(c)->in.store);
    add_expiry(&a, m.status, call_rpc(c)->expiry);
    add_load(&a, m.status, call_rpc(c)->in.loop);
    if (m.status != NULL && call_rpc(c)->in.policy != NULL)
        m.status->n_policy_sections = list_policy_sections(
            &a, call_rpc(c)->in.policy, &m.status->policy_version, &m.status->policy_sections);
    answer_reply(&a, c, &m.base);
    fab_view_unref(v);
}

static void list_dry_runs(struct answer *a, Fabric__V1__GetVersionResponse *m)
{
    const struct service *s = &service_fabric;
    m->dry_run_methods = answer_alloc(a, s->method_count, sizeof *m->dry_run_methods);
    for (size_t i = 0; m->dry_run_methods != NULL && i < s->method_count; i++)
        if (protobuf_c_message_descriptor_get_field_by_name(s->methods[i].request, "dry_run"))
            m->dry_run_methods[m->n_dry_run_methods++] = answer_text(a, s->methods[i].name);
}

void get_version(struct call *c, const void *request)
{
    (void)request;
    Fabric__V1__GetVersionResponse m = FABRIC__V1__GET_VERSION_RESPONSE__INIT;
    struct answer a = {0};
    list_dry_runs(&a, &m);
    m.version = answer_text(&a, fab_base_version());
    m.api_version = answer_text(&a, "fabric.v1");
    answer_reply(&a, c, &m.base);
}

static void on_swept(void *ctx, int status, const char *message)
{
    Fabric__V1__SweepResponse m = FABRIC__V1__SWEEP_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static void on_rerouted(void *ctx, int status, const char *message)
{
    Fabric__V1__RerouteResponse m = FABRIC__V1__REROUTE_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static void on_rebalanced(void *ctx, int status, const char *message)
{
    Fabric__V1__RebalanceResponse m = FABRIC__V1__REBALANCE_RESPONSE__INIT;
    request_end(ctx, status, message, &m.base, &m.message);
}

static void rehearse_sweep(struct call *c)
{
    Fabric__V1__SweepResponse m = FABRIC__V1__SWEEP_RESPONSE__INIT;
    struct sm *sm = call_rpc(c)->in.sm;
    struct sm_status s;
    char now[60] = "", last[60] = "";
    int rc = sm_sweep_check(sm);
    if (rc < 0) {
        request_refuse(c, rc, "no sweep would begin");
        return;
    }
    sm_get_status(sm, &s);
    struct fab_view *v = sm_view(sm);
    if (v != NULL)
        snprintf(now, sizeof now, " (now: %u nodes, %u links)", v->fabric->node_count,
                 v->fabric->link_count);
    fab_view_unref(v);
    if (s.last_sweep_us > 0)
        snprintf(last, sizeof last, "; the last one took %.1f ms", (double)s.last_sweep_us / 1e3);
    request_rehearsed(
        c, "fabric", &m.base, &m.message, "a heavy sweep would read the whole fabric%s%s%s", now,
        last,
        sm_is_frozen(sm) ? "; the manager is frozen, so the sweep would write nothing new" : "");
}

void sweep(struct call *c, const void *request)
{
    const Fabric__V1__SweepRequest *q = request;
    if (q->dry_run) {
        rehearse_sweep(c);
        return;
    }
    call_audit_object(c, "fabric");
    request_begin(c);
    int rc = sm_sweep(call_rpc(c)->in.sm, on_swept, c);
    if (rc < 0)
        request_refuse(c, rc, "no sweep was begun");
}

/* Answers the dry run of a reroute or of a rebalance. */
static void rehearse_routes(struct call *c, bool if_better, sm_done *done)
{
    call_audit_change(c, NULL, "unchanged (dry run)");
    call_audit_object(c, "routes");
    request_begin(c);
    int rc = sm_reroute_dry_run(call_rpc(c)->in.sm, if_better, done, c);
    if (rc == FAB_E_BUSY)
        call_finish(c, FAB_GRPC_UNAVAILABLE,
                    "the tables were not computed: a sweep or another dry run is under way; try "
                    "again in a moment");
    else if (rc < 0)
        request_refuse(c, rc, if_better ? "no rebalance would begin" : "no reroute would begin");
}

void reroute(struct call *c, const void *request)
{
    const Fabric__V1__RerouteRequest *q = request;
    if (q->dry_run) {
        rehearse_routes(c, false, on_rerouted);
        return;
    }
    call_audit_object(c, "routes");
    request_begin(c);
    int rc = sm_reroute(call_rpc(c)->in.sm, on_rerouted, c);
    if (rc < 0)
        request_refuse(c, rc, "no reroute was begun");
}

void rebalance(struct call *c, const void *request)
{
    const Fabric__V1__RebalanceRequest *q = request;
    if (q->dry_run) {
        rehearse_routes(c, true, on_rebalanced);
        return;
    }
    call_audit_object(c, "routes");
    request_begin(c);
    int rc = sm_rebalance(call_rpc(c)->in.sm, on_rebalanced, c);
    if (rc < 0)
        request_refuse(c, rc, "no rebalance was begun");
}
