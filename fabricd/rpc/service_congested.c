/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ListCongestedPorts and ListCongestionLogs. These methods show where the port counters
 * and the congestion logs of devices report congestion.
 */
#include <stdlib.h>

#include "fabric/v1/congestion.pb-c.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/convert_congestion.h"
#include "fabricd/rpc/server.h"
#include "libfabmgr/base/status.h"

/* ---- congested ports ------------------------------------------------------------------------- */

#define CONGESTED_MAX 1000
#define CONGESTED_DEFAULT 100

static Fabric__V1__CongestedPort *convert_congested(struct answer *a, const struct fab_view *v,
                                                    const struct pm_congested *h)
{
    static const char *const kinds[] = {
        [PM_CONGESTED] = "congested", [PM_THROTTLED] = "throttled", [PM_WAITING] = "waiting"};
    Fabric__V1__CongestedPort *m =
        ANSWER_NEW(a, Fabric__V1__CongestedPort, fabric__v1__congested_port);
    uint32_t node = fab_fabric_node_by_guid(v->fabric, h->guid);
    if (m == NULL)
        return NULL;
    if (node != FAB_NONE && h->port <= v->fabric->nodes[node].num_ports)
        m->port = convert_port_ref(a, v, fab_fabric_port_id(v->fabric, node, h->port));
    m->kind = answer_text(a, kinds[h->kind]);
    m->credit_wait_permille = h->waits_permille;
    m->mbps = h->mbps;
    m->fecn = h->fecn;
    m->becn = h->becn;
    m->events = h->events;
    m->interval = convert_duration(a, h->span_ms * UINT64_C(1000));
    m->senders = h->senders;
    return m;
}

/* Returns an array that is indexed by the destination LID. Each element is the number of adapters
 * that were throttled while they sent to this LID, according to the congestion logs. Returns NULL
 * if memory ran out. */
static uint16_t *count_senders(struct answer *a, const struct cc *cc, const struct fab_view *v)
{
    uint16_t *senders = answer_alloc(a, v->target->lids.top + 1u, sizeof *senders);
    if (senders != NULL)
        cc_count_senders(cc, senders, v->target->lids.top + 1);
    return senders;
}

static uint32_t lid_of_congested(const struct fab_view *v, const struct pm_congested *h)
{
    uint32_t node = fab_fabric_node_by_guid(v->fabric, h->guid);
    if (node == FAB_NONE || h->port > v->fabric->nodes[node].num_ports)
        return 0;
    uint32_t lid = v->target->lids.base[fab_fabric_port_id(v->fabric, node, h->port)];
    return lid <= v->target->lids.top ? lid : 0;
}

/* Adds the number of throttled senders to each port in `all`, the ports whose counters show
 * congestion. Then appends the other endports that congestion logs name as destinations; `all` has
 * room for them. Returns the new number of ports. */
static uint32_t add_named(const struct fab_view *v, uint16_t *senders, struct pm_congested *all,
                          uint32_t count)
{
    const struct fab_lids *lids = &v->target->lids;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lid = lid_of_congested(v, &all[i]);
        all[i].senders = senders[lid];
        all[i].kind = senders[lid] > 0 ? PM_CONGESTED : all[i].kind;
        senders[lid] = 0;
    }
    for (uint32_t lid = 1; lid <= lids->top; lid++) {
        uint32_t port = lids->owner[lid];
        if (senders[lid] > 0 && port != FAB_NONE)
            all[count++] = (struct pm_congested){
                .guid = v->fabric->nodes[fab_fabric_port(v->fabric, port)->node].guid,
                .port = fab_fabric_port(v->fabric, port)->num,
                .kind = PM_CONGESTED,
                .senders = senders[lid]};
    }
    pm_congested_sort(all, count);
    return count;
}

/* Returns all congested ports in the order of pm_congested_sort. Returns NULL if memory ran out. */
static struct pm_congested *find_congested(struct answer *a, const struct rpc *r,
                                           const struct fab_view *v, uint32_t *ret_count)
{
    uint16_t *senders = count_senders(a, r->in.cc, v);
    uint32_t count = pm_congested_ports(r->in.pm, NULL, 0), named = 0;
    for (uint32_t lid = 1; senders != NULL && lid <= v->target->lids.top; lid++)
        named += senders[lid] > 0;
    struct pm_congested *all = answer_alloc(a, count + named, sizeof *all);
    if (all == NULL || senders == NULL)
        return NULL;
    *ret_count = add_named(v, senders, all, pm_congested_ports(r->in.pm, all, count));
    return all;
}

void list_congested_ports(struct call *c, const void *request)
{
    const Fabric__V1__ListCongestedPortsRequest *q = request;
    Fabric__V1__ListCongestedPortsResponse m = FABRIC__V1__LIST_CONGESTED_PORTS_RESPONSE__INIT;
    struct answer a = {0};
    uint32_t want = q->count == 0              ? CONGESTED_DEFAULT
                    : q->count < CONGESTED_MAX ? q->count
                                               : CONGESTED_MAX;
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    if (need_congestion(c)) {
        struct rpc *r = call_rpc(c);
        const struct pm_congested *all = find_congested(&a, r, v, &m.total);
        m.ports = answer_alloc(&a, want, sizeof *m.ports);
        for (uint32_t i = 0; all != NULL && m.ports != NULL && i < m.total && i < want; i++)
            m.ports[m.n_ports++] = convert_congested(&a, v, &all[i]);
        m.advice = convert_advice(&a, r->in.cc, &m.n_advice);
        answer_reply(&a, c, &m.base);
    }
}

/* ---- logs ------------------------------------------------------------------------------------ */

#define LOGS_MAX 1000

static Fabric__V1__PortRef *convert_lid(struct answer *a, const struct fab_view *v, uint16_t lid)
{
    const struct fab_lids *lids = &v->target->lids;
    bool known = lid > 0 && lid <= lids->top && lids->owner[lid] != FAB_NONE;
    return known ? convert_port_ref(a, v, lids->owner[lid]) : NULL;
}

static int64_t unix_of(const struct cc_log_status *s, uint64_t at_us)
{
    return s->read_us - (int64_t)(s->log->read_us - at_us);
}

static Fabric__V1__CongestionLogEntry *convert_event_of(struct answer *a, const struct fab_view *v,
                                                        const struct cc_log_status *s, int which)
{
    const struct fab_congestion_event *e = &s->log->entry[which];
    Fabric__V1__CongestionLogEntry *m =
        ANSWER_NEW(a, Fabric__V1__CongestionLogEntry, fabric__v1__congestion_log_entry);
    if (m == NULL)
        return NULL;
    m->time = convert_time(a, unix_of(s, e->at_us));
    m->service_level = e->sl;
    m->slid = e->slid;
    m->dlid = e->dlid;
    m->from = convert_lid(a, v, e->slid);
    m->to = convert_lid(a, v, e->dlid);
    m->local_qp = e->local_qp;
    m->remote_qp = e->remote_qp;
    m->service = e->service;
    return m;
}

/* Lists the numbers of the bits that are set in a congestion log. `ports` selects the bitset: true
 * for that of the ports (256 bits), false for that of the service levels (16 bits). */
static uint32_t *convert_bits(struct answer *a, const struct fab_congestion_log *log, bool ports,
                              size_t *ret_count)
{
    uint32_t *all = answer_alloc(a, 256, sizeof *all);
    for (uint32_t i = 0; all != NULL && i < (ports ? 256 : 16); i++)
        if (ports ? fab_congestion_log_marked(log, (uint8_t)i) : log->sl_map >> i & 1)
            all[(*ret_count)++] = i;
    return all;
}

static Fabric__V1__CongestionLog *convert_log(struct answer *a, const struct fab_view *v,
                                              const struct cc_log_status *s)
{
    Fabric__V1__CongestionLog *m =
        ANSWER_NEW(a, Fabric__V1__CongestionLog, fabric__v1__congestion_log);
    uint32_t node = fab_fabric_node_by_guid(v->fabric, s->guid);
    if (m == NULL)
        return NULL;
    if (node != FAB_NONE && s->port <= v->fabric->nodes[node].num_ports)
        m->port = convert_port_ref(a, v, fab_fabric_port_id(v->fabric, node, s->port));
    m->no_log = s->none;
    m->read_time = s->read_us > 0 ? convert_time(a, s->read_us) : NULL;
    if (s->log == NULL)
        return m;
    m->events = s->log->events;
    if (s->port == 0)
        m->marked_ports = convert_bits(a, s->log, true, &m->n_marked_ports);
    else
        m->service_levels = convert_bits(a, s->log, false, &m->n_service_levels);
    m->entries = answer_alloc(a, s->log->count, sizeof *m->entries);
    for (int i = 0; m->entries != NULL && i < s->log->count; i++)
        m->entries[m->n_entries++] = convert_event_of(a, v, s, i);
    return m;
}

static void reply_logs(struct call *c, const struct fab_view *v, uint64_t guid)
{
    Fabric__V1__ListCongestionLogsResponse m = FABRIC__V1__LIST_CONGESTION_LOGS_RESPONSE__INIT;
    struct answer a = {0};
    struct cc_log_status *all = answer_alloc(&a, LOGS_MAX, sizeof *all);
    m.total = all != NULL ? cc_logs(call_rpc(c)->in.cc, guid, all, LOGS_MAX) : 0;
    uint32_t count = m.total < LOGS_MAX ? m.total : LOGS_MAX;
    m.logs = answer_alloc(&a, count, sizeof *m.logs);
    for (uint32_t i = 0; m.logs != NULL && i < count; i++)
        m.logs[m.n_logs++] = convert_log(&a, v, &all[i]);
    answer_reply(&a, c, &m.base);
}

void list_congestion_logs(struct call *c, const void *request)
{
    const Fabric__V1__ListCongestionLogsRequest *q = request;
    struct fab_view *v = need_target(c);
    uint32_t node = FAB_NONE;
    if (v == NULL)
        return;
    if (need_congestion(c) && (q->node[0] == '\0' || find_node(c, v, q->node, &node) == FAB_OK))
        reply_logs(c, v, node != FAB_NONE ? v->fabric->nodes[node].guid : 0);
}
