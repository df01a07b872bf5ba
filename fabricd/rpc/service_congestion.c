/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements GetCongestion, GetPortCongestion and GetRoce. These methods show the settings that
 * congestion control computed for the view, the reason for each value, and the state of the
 * devices.
 */
#include <stdlib.h>

#include "fabric/v1/congestion.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/convert_congestion.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/congestion/explain.h"
#include "libfabmgr/congestion/roce.h"

#define NOT_PROGRAMMED_MAX 1000

bool need_congestion(struct call *c)
{
    if (call_rpc(c)->in.cc == NULL)
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "this manager has no congestion control");
    return call_rpc(c)->in.cc != NULL;
}

char **convert_advice(struct answer *a, const struct cc *cc, size_t *ret_count)
{
    char advice[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN];
    unsigned count = cc_advise(cc, advice);
    char **all = answer_alloc(a, count, sizeof *all);
    for (unsigned i = 0; all != NULL && i < count; i++)
        all[(*ret_count)++] = answer_text(a, advice[i]);
    return all;
}

/* ---- waiting for settings -------------------------------------------------------------------- */

/* Maximum number of times that a call waits for new settings while the fabric changes. */
#define TRIES 5

struct inquiry;
typedef void answer_with(struct inquiry *q, const struct fab_congestion *s);
struct inquiry {
    struct call *call; /* NULL: the call has ended */
    struct fab_view *view;
    answer_with *answer;
    /* for GetPortCongestion only: id of the port, and service level */
    uint32_t port, sl;
    unsigned tries;
};

static void inquiry_free(struct inquiry *q)
{
    fab_view_unref(q->view);
    free(q);
}

static void forget_inquiry(struct call *c, void *data)
{
    (void)c;
    ((struct inquiry *)data)->call = NULL;
}

/* Answers the call if congestion control has computed the settings for the view of the call.
 * Otherwise asks congestion control to call this function again when it has computed them, at most
 * TRIES times. */
static void go_on(void *ctx)
{
    struct inquiry *q = ctx;
    struct cc *cc = q->call != NULL ? call_rpc(q->call)->in.cc : NULL;
    const struct fab_congestion *settings;
    if (cc != NULL && cc_settings(cc, q->view, &settings) == FAB_OK)
        q->answer(q, settings);
    else if (cc != NULL && q->tries++ == TRIES)
        call_finish(q->call, FAB_GRPC_UNAVAILABLE,
                    "the settings could not be computed because the fabric keeps changing; try "
                    "again later");
    else if (cc != NULL && cc_await(cc, q->view, go_on, q) == FAB_OK)
        return;
    else if (cc != NULL)
        call_finish(q->call, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    inquiry_free(q);
}

/* Calls what->answer as soon as congestion control has computed the settings for the view. */
static void inquire(struct call *c, struct fab_view *v, const struct inquiry *what)
{
    static const struct call_hooks hooks = {.gone = forget_inquiry};
    struct inquiry *q = need_congestion(c) ? malloc(sizeof *q) : NULL;
    if (q == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
        return;
    }
    *q = *what;
    q->call = c;
    q->view = fab_view_ref(v);
    call_later(c, &hooks, q);
    go_on(q);
}

/* ---- overview ------------------------------------------------------------------------------- */

static Fabric__V1__CongestionDevice *convert_device(struct answer *a, const struct fab_view *v,
                                                    const struct cc_device_status *d)
{
    Fabric__V1__CongestionDevice *m =
        ANSWER_NEW(a, Fabric__V1__CongestionDevice, fabric__v1__congestion_device);
    uint32_t node = fab_fabric_node_by_guid(v->fabric, d->guid);
    if (m == NULL)
        return NULL;
    if (node != FAB_NONE && d->port <= v->fabric->nodes[node].num_ports)
        m->port = convert_port_ref(a, v, fab_fabric_port_id(v->fabric, node, d->port));
    m->state = answer_text(a, cc_state_name(d->state));
    m->unresponsive = d->unresponsive;
    m->tries = d->tries;
    m->given_up = d->gives_up;
    return m;
}

static void fill_not_programmed(struct answer *a, const struct cc *cc, const struct fab_view *v,
                                Fabric__V1__GetCongestionResponse *m)
{
    struct cc_device_status *all = answer_alloc(a, NOT_PROGRAMMED_MAX, sizeof *all);
    uint32_t count = all != NULL ? cc_not_programmed(cc, all, NOT_PROGRAMMED_MAX) : 0;
    count = count < NOT_PROGRAMMED_MAX ? count : NOT_PROGRAMMED_MAX;
    m->not_programmed = answer_alloc(a, count, sizeof *m->not_programmed);
    for (uint32_t i = 0; m->not_programmed != NULL && i < count; i++)
        m->not_programmed[m->n_not_programmed++] = convert_device(a, v, &all[i]);
}

static void answer_congestion(struct inquiry *q, const struct fab_congestion *settings)
{
    Fabric__V1__GetCongestionResponse m = FABRIC__V1__GET_CONGESTION_RESPONSE__INIT;
    const struct cc *cc = call_rpc(q->call)->in.cc;
    struct answer a = {0};
    struct cc_status s;
    (void)settings;
    cc_get_status(cc, &s);
    m.apply = s.apply;
    m.profile = answer_text(&a, fab_policy_congestion_profile_name(s.profile));
    m.generation = s.generation;
    m.settings = s.settings;
    m.fan_in = s.fan_in;
    m.compute_time = convert_duration(&a, s.compute_us);
    m.pending = s.devices[CC_PENDING];
    m.programmed = s.devices[CC_PROGRAMMED];
    m.unsupported = s.devices[CC_UNSUPPORTED];
    m.foreign_key = s.devices[CC_FOREIGN_KEY];
    m.failed = s.devices[CC_FAILED];
    m.reads = s.reads;
    m.writes = s.writes;
    m.log_reads = s.log_reads;
    m.log_events = s.log_events;
    m.without_log = s.without_log;
    m.advice = convert_advice(&a, cc, &m.n_advice);
    fill_not_programmed(&a, cc, q->view, &m);
    answer_reply(&a, q->call, &m.base);
}

void get_congestion(struct call *c, const void *request)
{
    (void)request;
    struct fab_view *v = need_target(c);
    if (v != NULL)
        inquire(c, v, &(struct inquiry){.answer = answer_congestion});
}

/* ---- a port ---------------------------------------------------------------------------------- */

static Fabric__V1__CongestionValue *convert_value(struct answer *a, const char *name,
                                                  uint32_t value, const char *why)
{
    Fabric__V1__CongestionValue *m =
        ANSWER_NEW(a, Fabric__V1__CongestionValue, fabric__v1__congestion_value);
    if (m != NULL) {
        m->name = answer_text(a, name);
        m->value = value;
        m->reason = answer_text(a, why);
    }
    return m;
}

static void fill_values(struct answer *a, const struct fab_congestion *s, const struct fab_view *v,
                        uint32_t port, uint32_t sl, Fabric__V1__GetPortCongestionResponse *m,
                        const struct fab_policy *policy)
{
    struct fab_congestion_reason reasons[FAB_CONGESTION_REASONS];
    unsigned count = fab_congestion_explain(s, v->fabric, policy, port, (uint8_t)sl, reasons);
    m->values = answer_alloc(a, count, sizeof *m->values);
    for (unsigned i = 0; m->values != NULL && i < count; i++)
        m->values[m->n_values++] =
            convert_value(a, reasons[i].name, reasons[i].value, reasons[i].why);
}

static void fill_inputs(struct answer *a, const struct fab_congestion_basis *b,
                        Fabric__V1__GetPortCongestionResponse *m)
{
    const struct {
        const char *name;
        uint32_t value;
    } inputs[] = {
        {"link_mbps", b->rate},         {"slowest_end_mbps", b->slowest},
        {"fan_in", b->fan_in},          {"hops", b->hops},
        {"mtu_bytes", b->mtu},          {"rtt_ns", b->rtt_ns},
        {"full_queue_ns", b->queue_ns}, {"taper_percent", b->taper},
        {"table_entries", b->entries},
    };
    size_t count = sizeof inputs / sizeof inputs[0];
    m->inputs = answer_alloc(a, count, sizeof *m->inputs);
    for (size_t i = 0; m->inputs != NULL && i < count; i++)
        m->inputs[m->n_inputs++] = convert_value(a, inputs[i].name, inputs[i].value, "");
}

static void fill_table(struct answer *a, const struct fab_congestion_adapter *s,
                       Fabric__V1__GetPortCongestionResponse *m)
{
    if (s == NULL || s->sls == 0)
        return;
    m->table = answer_alloc(a, s->table.limit + 1u, sizeof *m->table);
    for (uint32_t i = 0; m->table != NULL && i <= s->table.limit; i++)
        m->table[m->n_table++] = s->table.entry[i];
}

static void fill_port(struct call *c, struct answer *a, const struct fab_congestion *s,
                      const struct fab_view *v, uint32_t port, uint32_t sl,
                      Fabric__V1__GetPortCongestionResponse *m)
{
    const struct fab_policy *policy = &call_rpc(c)->in.config->policy;
    bool is_switch = fab_fabric_node_is_switch(v->fabric, fab_fabric_port(v->fabric, port)->node);
    struct cc_device_status device;
    uint16_t i = s->of_port[port];
    m->port = convert_port_ref(a, v, port);
    m->generation = v->generation;
    m->profile = answer_text(a, fab_policy_congestion_profile_name(policy->congestion.profile));
    if (policy->congestion.apply && cc_device_of(call_rpc(c)->in.cc, v->fabric, port, &device))
        m->state = answer_text(a, cc_state_name(device.state));
    if (i == FAB_CONGESTION_NONE)
        return;
    fill_values(a, s, v, port, sl, m, policy);
    fill_inputs(a, is_switch ? &s->port_basis[i] : &s->adapter_basis[i], m);
    fill_table(a, fab_congestion_of_adapter(s, v->fabric, port), m);
}

static void answer_port(struct inquiry *q, const struct fab_congestion *s)
{
    Fabric__V1__GetPortCongestionResponse m = FABRIC__V1__GET_PORT_CONGESTION_RESPONSE__INIT;
    struct answer a = {0};
    fill_port(q->call, &a, s, q->view, q->port, q->sl, &m);
    answer_reply(&a, q->call, &m.base);
}

void get_port_congestion(struct call *c, const void *request)
{
    const Fabric__V1__GetPortCongestionRequest *q = request;
    struct inquiry what = {.answer = answer_port, .sl = q->service_level};
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    if (q->service_level >= FAB_CONGESTION_SLS)
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "service_level is %u; 0 to 15 are accepted",
                    q->service_level);
    else if (find_port(c, v, q->node, q->port_number, &what.port) == FAB_OK)
        inquire(c, v, &what);
}

/* ---- RoCE ------------------------------------------------------------------------------------ */

static Fabric__V1__RoceSetting *convert_roce(struct answer *a, const struct fab_congestion_roce *r)
{
    Fabric__V1__RoceSetting *m = ANSWER_NEW(a, Fabric__V1__RoceSetting, fabric__v1__roce_setting);
    struct fab_congestion_reason reasons[FAB_CONGESTION_ROCE_VALUES];
    if (m == NULL)
        return NULL;
    m->mbps = r->speed;
    m->ports = r->ports;
    m->edge = r->edge;
    unsigned count = fab_congestion_roce_explain(r, reasons);
    m->values = answer_alloc(a, count, sizeof *m->values);
    for (unsigned i = 0; m->values != NULL && i < count; i++)
        m->values[m->n_values++] =
            convert_value(a, reasons[i].name, reasons[i].value, reasons[i].why);
    return m;
}

static void answer_roce(struct inquiry *q, const struct fab_congestion *s)
{
    Fabric__V1__GetRoceResponse m = FABRIC__V1__GET_ROCE_RESPONSE__INIT;
    const struct fab_policy *policy = &call_rpc(q->call)->in.config->policy;
    struct answer a = {0};
    struct fab_congestion_roce *all = NULL;
    size_t count = 0;
    int r = fab_congestion_roce_compute(s, q->view->fabric, policy, &all, &count);
    m.generation = q->view->generation;
    m.settings = answer_alloc(&a, count, sizeof *m.settings);
    for (size_t i = 0; m.settings != NULL && i < count; i++)
        m.settings[m.n_settings++] = convert_roce(&a, &all[i]);
    a.arena.failed |= r != FAB_OK;
    answer_reply(&a, q->call, &m.base);
    free(all);
}

void get_roce(struct call *c, const void *request)
{
    (void)request;
    struct fab_view *v = need_target(c);
    if (v != NULL)
        inquire(c, v, &(struct inquiry){.answer = answer_roce});
}
