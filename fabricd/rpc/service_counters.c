/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListTopPorts and GetPortHistory. The performance manager has the last samples of all
 * ports. A worker thread reads earlier samples from the history of counters.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/v1/counters.pb-c.h"
#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/status.h"

#define SECOND INT64_C(1000000)
#define TOP_DEFAULT 20u
#define TOP_MAX 1000u
#define SAMPLES_DEFAULT 240u
#define SAMPLES_MAX 100000u
#define SINCE_DEFAULT_S 3600

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t value_of(const uint16_t *code, unsigned column)
{
    return fab_counters_decode_value(column, code[column]);
}

static void convert_errors(struct answer *a, const uint16_t *code, Fabric__V1__PortSample *m)
{
    m->errors = answer_alloc(a, FAB_COUNTERS, sizeof *m->errors);
    for (unsigned i = 0; m->errors != NULL && i < FAB_COUNTERS; i++) {
        uint64_t increase = value_of(code, FAB_COLUMN_ERRORS + i);
        Fabric__V1__CounterValue *e =
            increase > 0 ? ANSWER_NEW(a, Fabric__V1__CounterValue, fabric__v1__counter_value)
                         : NULL;
        if (e == NULL)
            continue;
        e->name = answer_text(a, fab_health_counter_kinds[i].name);
        e->value = increase;
        m->errors[m->n_errors++] = e;
        m->error_sum += increase;
    }
}

static void convert_vls(struct answer *a, const uint16_t *code, Fabric__V1__PortSample *m)
{
    m->virtual_lane_waits = answer_alloc(a, FAB_COLUMN_VLS, sizeof *m->virtual_lane_waits);
    for (uint32_t vl = 0; m->virtual_lane_waits != NULL && vl < FAB_COLUMN_VLS; vl++) {
        uint64_t wait = value_of(code, FAB_COLUMN_VL_WAIT + vl);
        Fabric__V1__VirtualLaneWait *w =
            wait > 0 ? ANSWER_NEW(a, Fabric__V1__VirtualLaneWait, fabric__v1__virtual_lane_wait)
                     : NULL;
        if (w == NULL)
            continue;
        w->virtual_lane = vl;
        w->wait_ppm = (uint32_t)wait;
        m->virtual_lane_waits[m->n_virtual_lane_waits++] = w;
    }
}

static Fabric__V1__PortSample *convert_sample(struct answer *a, const uint16_t *code)
{
    Fabric__V1__PortSample *m = ANSWER_NEW(a, Fabric__V1__PortSample, fabric__v1__port_sample);
    if (m == NULL)
        return NULL;
    m->sent_known = code[FAB_COLUMN_XMIT_DATA] != FAB_CODE_NONE;
    m->received_known = code[FAB_COLUMN_RCV_DATA] != FAB_CODE_NONE;
    m->wait_known = code[FAB_COLUMN_XMIT_WAIT] != FAB_CODE_NONE;
    m->sent_bytes_per_second = value_of(code, FAB_COLUMN_XMIT_DATA);
    m->received_bytes_per_second = value_of(code, FAB_COLUMN_RCV_DATA);
    m->sent_packets_per_second = value_of(code, FAB_COLUMN_XMIT_PKTS);
    m->received_packets_per_second = value_of(code, FAB_COLUMN_RCV_PKTS);
    m->wait_ppm = (uint32_t)value_of(code, FAB_COLUMN_XMIT_WAIT);
    m->peak_sent_bytes_per_second = value_of(code, FAB_COLUMN_PEAK_XMIT_DATA);
    m->peak_received_bytes_per_second = value_of(code, FAB_COLUMN_PEAK_RCV_DATA);
    m->peak_wait_ppm = (uint32_t)value_of(code, FAB_COLUMN_PEAK_XMIT_WAIT);
    m->down_seconds = value_of(code, FAB_COLUMN_DOWN);
    convert_errors(a, code, m);
    convert_vls(a, code, m);
    return m;
}

/* Converts a port. If the port is not in the view, the result has only the node GUID and the port
 * number. *ret_peer: the port at the other end of the link; NULL: the port has no link now.
 * *ret_id: the id of the port; FAB_NONE: the port is not in the view. */
static Fabric__V1__PortRef *convert_place_of(struct answer *a, const struct fab_view *v,
                                             uint64_t guid, uint8_t port,
                                             Fabric__V1__PortRef **ret_peer, uint32_t *ret_id)
{
    uint32_t node = fab_fabric_node_by_guid(v->fabric, guid);
    *ret_peer = NULL;
    *ret_id = FAB_NONE;
    if (node == FAB_NONE || port > v->fabric->nodes[node].num_ports)
        return convert_place(a, guid, port, "");
    uint32_t id = *ret_id = fab_fabric_port_id(v->fabric, node, port);
    uint32_t peer = fab_fabric_port(v->fabric, id)->peer;
    if (peer != FAB_NONE)
        *ret_peer = convert_port_ref(a, v, peer);
    return convert_port_ref(a, v, id);
}

static Fabric__V1__TopPort *convert_top(struct answer *a, const struct fab_view *v, uint64_t guid,
                                        uint8_t port, const uint16_t *code)
{
    Fabric__V1__TopPort *m = ANSWER_NEW(a, Fabric__V1__TopPort, fabric__v1__top_port);
    uint32_t id;
    if (m == NULL)
        return NULL;
    m->port = convert_place_of(a, v, guid, port, &m->peer, &id);
    if (id != FAB_NONE)
        m->rate = convert_rate(a, &fab_fabric_port(v->fabric, id)->info);
    m->sample = convert_sample(a, code);
    return m;
}

/* Returns the history. If there is none, or it has no samples, finishes the call with an error and
 * returns NULL. */
static struct counters *need_history(struct call *c, struct counters_health *ret)
{
    struct counters *history = call_rpc(c)->in.history;
    if (history == NULL) {
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                    "not supported: the manager keeps no history of counters; set "
                    "counters.max_size in its settings, and restart it");
        return NULL;
    }
    counters_get_health(history, ret);
    for (int level = 0; level < FAB_ROLLUP_LEVELS; level++)
        if (ret->oldest[level] > 0)
            return history;
    call_finish(c, FAB_GRPC_FAILED_PRECONDITION,
                ret->failing
                    ? "the history of counters cannot be used: %s"
                    : "the history of counters is empty%s; its first samples come after two "
                      "intervals (counters.interval)",
                ret->failing ? ret->reason : "");
    return NULL;
}

/* ---- the ports with the greatest values ------------------------------------------------------ */

static enum counters_by by_of(Fabric__V1__PortRank by)
{
    switch (by) {
    case FABRIC__V1__PORT_RANK__PORT_RANK_PACKETS:
        return COUNTERS_BY_PACKETS;
    case FABRIC__V1__PORT_RANK__PORT_RANK_WAIT:
        return COUNTERS_BY_WAIT;
    case FABRIC__V1__PORT_RANK__PORT_RANK_ERRORS:
        return COUNTERS_BY_ERRORS;
    default:
        return COUNTERS_BY_DATA;
    }
}

struct top_study {
    struct study base;
    struct counters *history;
    int64_t since, until;
    enum counters_by by;
    uint32_t want, count, ports;
    struct counters_total *top;
};

static void work_top(struct study *s)
{
    struct top_study *t = (struct top_study *)s;
    int rc = counters_read_top(t->history, t->since, t->until, t->by, t->want, study_stopped, s,
                               &t->top, &t->count, &t->ports);
    if (rc != FAB_OK && rc != FAB_E_BUSY)
        study_fail(s, rc, "the history of counters cannot be read");
}

static bool tell_top(struct study *s)
{
    const struct top_study *t = (const struct top_study *)s;
    Fabric__V1__ListTopPortsResponse m = FABRIC__V1__LIST_TOP_PORTS_RESPONSE__INIT;
    struct answer a = {0};
    m.total = t->ports;
    m.ports = answer_alloc(&a, t->count, sizeof *m.ports);
    for (uint32_t i = 0; m.ports != NULL && i < t->count; i++) {
        m.ports[m.n_ports] =
            convert_top(&a, s->view, t->top[i].guid, t->top[i].port, t->top[i].code);
        if (m.ports[m.n_ports] != NULL && m.ports[m.n_ports]->sample != NULL)
            m.ports[m.n_ports]->sample->seconds = (uint32_t)(t->until - t->since);
        m.n_ports++;
    }
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void free_top(struct study *s)
{
    struct top_study *t = (struct top_study *)s;
    free(t->top);
    free(t);
}

static const struct study_kind top_kind = {
    .work = work_top, .tell = tell_top, .free = free_top, .less = "a later --since"};

static void study_top(struct call *c, const struct fab_view *v,
                      const Fabric__V1__ListTopPortsRequest *q, uint32_t want)
{
    struct counters_health health;
    struct counters *history = need_history(c, &health);
    struct top_study *t = history != NULL ? calloc(1, sizeof *t) : NULL;
    if (history == NULL)
        return;
    if (t == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    t->history = history;
    t->until = clock_unix_us() / SECOND;
    t->since = read_time(q->since, 0) / SECOND;
    t->since = t->since < t->until ? t->since : t->until;
    t->by = by_of(q->by);
    t->want = want;
    study_start(c, v, &top_kind, &t->base);
}

static void reply_last(struct call *c, const struct fab_view *v, enum counters_by by, uint32_t want)
{
    Fabric__V1__ListTopPortsResponse m = FABRIC__V1__LIST_TOP_PORTS_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t count = 0;
    struct pm_rates *top = answer_alloc(&a, want, sizeof *top);
    int rc =
        top != NULL ? pm_top(call_rpc(c)->in.pm, by, want, top, &count, &m.total) : FAB_E_NOMEM;
    m.ports = rc == FAB_OK ? answer_alloc(&a, count, sizeof *m.ports) : NULL;
    for (uint32_t i = 0; m.ports != NULL && i < count; i++)
        m.ports[m.n_ports++] = convert_top(&a, v, top[i].guid, top[i].port, top[i].code);
    answer_reply(&a, c, &m.base);
}

void list_top_ports(struct call *c, const void *request)
{
    const Fabric__V1__ListTopPortsRequest *q = request;
    struct fab_view *v = need_view(c);
    uint32_t want = q->count == 0 ? TOP_DEFAULT : q->count < TOP_MAX ? q->count : TOP_MAX;
    if (v == NULL)
        return;
    if (q->since != NULL)
        study_top(c, v, q, want);
    else
        reply_last(c, v, by_of(q->by), want);
}

/* ---- the past of a port ---------------------------------------------------------------------- */

struct port_study {
    struct study base;
    struct counters *history;
    unsigned level;
    int64_t since, until;
    uint64_t guid;
    uint8_t port;
    uint32_t want;
    struct counters_sample *sample;
    size_t count;
};

static void work_port(struct study *s)
{
    struct port_study *p = (struct port_study *)s;
    int rc = counters_read_port(p->history, p->level, p->guid, p->port, p->since, p->until,
                                p->want + 1u, &p->sample, &p->count);
    if (rc != FAB_OK)
        study_fail(s, rc,
                   rc == FAB_E_NOT_FOUND ? "the history of counters has no sample of this port"
                                         : "the history of counters cannot be read");
}

static bool tell_port(struct study *s)
{
    const struct port_study *p = (const struct port_study *)s;
    Fabric__V1__GetPortHistoryResponse m = FABRIC__V1__GET_PORT_HISTORY_RESPONSE__INIT;
    struct answer a = {0};
    size_t count = p->count < p->want ? p->count : p->want;
    uint32_t id;
    m.port = convert_place_of(&a, s->view, p->guid, p->port, &m.peer, &id);
    m.samples = answer_alloc(&a, count, sizeof *m.samples);
    for (size_t i = 0; m.samples != NULL && i < count; i++) {
        Fabric__V1__PortSample *sample = convert_sample(&a, p->sample[i].code);
        if (sample == NULL)
            break;
        sample->time = convert_time(&a, p->sample[i].time.end * SECOND);
        sample->seconds = p->sample[i].time.span_s;
        m.samples[m.n_samples++] = sample;
    }
    if (p->count > count && count > 0) {
        const struct page_key key = {.list = 'H',
                                     .number = (uint64_t)p->sample[count - 1].time.end};
        m.next_page_token = page_token(&a, &key);
    }
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void free_port(struct study *s)
{
    struct port_study *p = (struct port_study *)s;
    free(p->sample);
    free(p);
}

static const struct study_kind port_kind = {
    .work = work_port, .tell = tell_port, .free = free_port, .less = "a later --since"};

/* Finds the node and port that a user named, and sets the GUID and the port number in *ret. The
 * node may be gone. Returns false if the port is not found; the call is then finished with an
 * error. */
static bool find_place(struct call *c, const struct fab_view *v, const char *node, uint32_t number,
                       struct port_study *ret)
{
    uint32_t port;
    struct refusal refusal;
    int rc = look_up_port(v, node, number, &port, &refusal);
    if (rc == FAB_OK) {
        ret->guid = v->fabric->nodes[fab_fabric_port(v->fabric, port)->node].guid;
        ret->port = (uint8_t)number;
        return true;
    }
    if (rc == FAB_E_NOT_FOUND && number < 255 &&
        gone_find(call_rpc(c), node, &ret->guid) == FAB_OK) {
        ret->port = (uint8_t)number;
        return true;
    }
    call_finish(c, refusal.code, "%s", refusal.why);
    return false;
}

/* Reads the times and the page token of a request. The level of the history does not depend on the
 * page token, so all pages have samples of the same level. Returns false if the request is wrong;
 * the call is then finished with an error. */
static bool read_times(struct call *c, const Fabric__V1__GetPortHistoryRequest *q,
                       const struct counters_health *health, struct port_study *ret)
{
    struct page_key key = {0};
    bool given;
    uint32_t samples = q->samples == 0 ? SAMPLES_DEFAULT : q->samples;
    if (page_parse('H', q->page_token, &key, &given) < 0 ||
        key.number > INT32_MAX * UINT64_C(512)) {
        refuse_token(c, q->page_token);
        return false;
    }
    ret->until = read_time(q->until, clock_unix_us()) / SECOND;
    ret->since = q->since != NULL ? read_time(q->since, 0) / SECOND : ret->until - SINCE_DEFAULT_S;
    ret->level =
        counters_level(health, ret->since, ret->until, call_rpc(c)->in.config->counters.interval_s,
                       samples < SAMPLES_MAX ? samples : SAMPLES_MAX);
    if (given)
        ret->since = (int64_t)key.number;
    ret->want = page_size(q->page_size);
    return true;
}

void get_port_history(struct call *c, const void *request)
{
    const Fabric__V1__GetPortHistoryRequest *q = request;
    struct counters_health health;
    struct fab_view *v = need_view(c);
    struct counters *history = v != NULL ? need_history(c, &health) : NULL;
    struct port_study *p = history != NULL ? calloc(1, sizeof *p) : NULL;
    if (history == NULL)
        return;
    if (p == NULL) {
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    p->history = history;
    if (find_place(c, v, q->node, q->port_number, p) && read_times(c, q, &health, p))
        study_start(c, v, &port_kind, &p->base);
    else
        free(p);
}
