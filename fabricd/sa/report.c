/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends reports to subscribers (IBA 13.4.11, 15.4.3). libfabmgr/registry decides which report is
 * sent next. This file sends a few reports in each iteration of the loop, to the subscriber's LID
 * in the current view.
 *
 * A subscriber gets no report about a port with which it shares no partition (o13-17.1.1). If the
 * subscription selects ports by GID or by a range of LIDs, a trap of a port with which the
 * subscriber shares no partition ends the subscription (o13-17.1.2).
 *
 * On real adapters a report carries a timeout, because the kernel matches responses to reports. On
 * a simulated port it carries none; otherwise, reports to unresponsive subscribers would use up the
 * transport's limit of requests in flight.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sa/registry.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define QP1_QKEY 0x80010000u
/* maximum number of subscriptions and notices that one iteration of the event loop examines */
#define LOOK_A_TURN 4096
/* maximum number of reports that one iteration of the event loop sends */
#define SEND_A_TURN 64
#define TICK_US 50000
#define ALL_LIDS 0xffff
/* Maximum number of ended subscriptions that get an event of their own within TELL_AGAIN_US. One
 * later event gives the number of the others (sa_report_gone). */
#define TELL_SINGLY 8
#define TELL_AGAIN_US 60000000

/* ---- permission to receive a notice ---------------------------------------------------------- */

static uint32_t port_of(const struct fab_view *v, const struct fab_subscription *x)
{
    uint32_t port = fab_fabric_port_by_guid(v->fabric, x->record.subscriber_gid[1]);
    return port != FAB_NONE && port < v->target->lids.port_count && v->target->lids.base[port] != 0
               ? port
               : FAB_NONE;
}

static bool shares(const struct fab_view *v, uint32_t port, const struct fab_event_notice *n)
{
    uint32_t count;
    const uint16_t *keys = fab_target_pkeys_table_or_default(&v->target->pkeys, port, &count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < n->keys; k++)
            if (fab_target_pkeys_match(keys[i], n->key[k]))
                return true;
    return false;
}

/* Returns true if the subscription selects the issuers of notices by GID or by a range of LIDs. If
 * its subscriber shares no partition with such an issuer, the subscription ends. Other
 * subscriptions only skip the notice, and so do all subscriptions if the notice is one of the
 * manager (traps 64 to 67). */
static bool names_ports(const struct fab_inform_info *info)
{
    return info->gid[0] != 0 || info->gid[1] != 0 || info->lid_begin != ALL_LIDS;
}

static enum fab_report_verdict judge(void *ctx, const struct fab_subscription *x,
                                     const struct fab_event_notice *n)
{
    const struct fab_view *v = ctx;
    uint32_t port = port_of(v, x);
    bool of_device = n->is.trap < 64 || n->is.trap > 67;
    if (port == FAB_NONE || (fab_registry_notice_needs_trust(&n->is) && !x->trusted))
        return FAB_REPORT_PASS;
    if (shares(v, port, n))
        return FAB_REPORT_SEND;
    return of_device && names_ports(&x->record.info) ? FAB_REPORT_DROP : FAB_REPORT_PASS;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Returns the SL of the path from the manager's port to another port. */
static uint8_t sl_to(const struct fab_view *v, uint32_t port)
{
    const struct fab_fabric *f = v->fabric;
    uint32_t self = f->self_port;
    if (self == FAB_NONE || !fab_target_vls_multiple(&v->target->vls))
        return 0;
    uint32_t ends[2] = {self, port}, sw[2];
    for (int i = 0; i < 2; i++) {
        uint32_t node = fab_fabric_port(f, ends[i])->node;
        sw[i] = fab_fabric_node_is_switch(f, node) ? node : fab_fabric_peer_node(f, ends[i]);
        if (sw[i] == FAB_NONE || !fab_fabric_node_is_switch(f, sw[i]))
            return 0;
    }
    return fab_target_vls_sl(&v->target->vls, sw[0], sw[1], v->target->lids.base[port]);
}

static void send_report(struct sa *s, const struct fab_view *v, const struct fab_subscription *x,
                        uint64_t now, const uint8_t mad[FAB_MAD_SIZE])
{
    uint32_t port = port_of(v, x);
    /* The subscriber's port has left the fabric, so nothing is sent now. The port may be back when
     * the report is due again. */
    if (port == FAB_NONE)
        return;
    struct transport_mad out = {.addr = {.dlid = (uint16_t)v->target->lids.base[port],
                                         .sl = sl_to(v, port),
                                         .qpn = x->record.info.qpn,
                                         .qkey = QP1_QKEY},
                                .qp = 1,
                                .len = FAB_MAD_SIZE};
    if (s->in.transport->rmpp == TRANSPORT_RMPP_KERNEL)
        out.addr.timeout_us = (uint32_t)(x->deadline - now);
    memcpy(out.bytes, mad, FAB_MAD_SIZE);
    sa_put(s, &out);
}

/* Sends up to SEND_A_TURN reports. Returns NOT_FOUND if there is no report to send now. Returns
 * BUSY if there may be more: SEND_A_TURN reports were sent, or LOOK_A_TURN subscriptions and
 * notices were examined. */
static int send_some(struct sa *s, const struct fab_view *v)
{
    struct fab_subscriptions *all = s->registry->subscriptions;
    uint8_t mad[FAB_MAD_SIZE];
    uint32_t budget = LOOK_A_TURN, slot;
    uint64_t now = clock_now_us();
    for (unsigned sent = 0; sent < SEND_A_TURN; sent++) {
        int r =
            fab_registry_reports_output(all, now, &budget, judge, (void *)(uintptr_t)v, &slot, mad);
        if (r == FAB_E_DENIED)
            sa_subscription_drop(s, slot, "it shares no partition with a port that it is about");
        else if (r == FAB_OK)
            send_report(s, v, &all->slot[slot], now, mad);
        else
            return r;
    }
    return FAB_E_BUSY;
}

void sa_report_work(void *ctx)
{
    struct sa *s = ctx;
    struct fab_view *v = sm_view(s->in.sm);
    bool more = v != NULL && v->target != NULL && sa_is_master(s) && send_some(s, v) == FAB_E_BUSY;
    fab_view_unref(v);
    if (more)
        loop_timer_set(s->registry->reports, 0);
    if (fab_registry_reports_waiting(s->registry->subscriptions) &&
        !loop_timer_pending(s->registry->patience))
        loop_timer_set(s->registry->patience, TICK_US);
}

static void work_soon(struct sa *s)
{
    if (!loop_timer_pending(s->registry->reports))
        loop_timer_set(s->registry->reports, 0);
}

void sa_report(struct sa *s, const struct fab_event_notice *notice)
{
    if (fab_registry_reports_add(s->registry->subscriptions, notice) != FAB_OK)
        log_warning("sa", "out of memory: a notice is not reported to subscribers");
    work_soon(s);
}

/* ---- answers and timeouts -------------------------------------------------------------------- */

/* Handles a response to a report. Ignores it if it does not come from the port to which the report
 * was sent. */
void sa_report_answer(struct sa *s, const struct transport_mad *mad)
{
    struct fab_subscriptions *all = s->registry->subscriptions;
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    struct fab_view *v = sm_view(s->in.sm);
    uint32_t slot = FAB_SUBSCRIPTION_NONE;
    if (fab_wire_mad_unpack(mad->bytes, mad->len, &head, &data, &len) == FAB_OK)
        slot = fab_registry_reports_find(all, head.tid);
    if (v != NULL && v->target != NULL && slot != FAB_SUBSCRIPTION_NONE) {
        const struct fab_lids *lids = &v->target->lids;
        uint32_t port = port_of(v, &all->slot[slot]), lid = mad->addr.slid;
        if (port != FAB_NONE && lid <= lids->top && lids->owner[lid] == port)
            fab_registry_reports_answered(all, slot);
    }
    fab_view_unref(v);
    work_soon(s);
}

static void on_gone(void *ctx, uint32_t slot)
{
    sa_subscription_drop(ctx, slot, "it does not answer");
}

void sa_report_tick(void *ctx)
{
    struct sa *s = ctx;
    fab_registry_reports_expire(s->registry->subscriptions, clock_now_us(), on_gone, s);
    sa_report_work(s);
}

/* Emits an event for a subscription that ended. In each interval of TELL_AGAIN_US, only the first
 * TELL_SINGLY subscriptions get an event each. The number of the others is emitted when the first
 * subscription ends after this interval. */
void sa_report_gone(struct sa *s, const struct fab_subscription *x, const char *why)
{
    struct sa_registry *r = s->registry;
    uint64_t now = clock_now_us();
    s->stats.subscriptions_ended++;
    if (now >= r->told_us + TELL_AGAIN_US || r->told_us == 0) {
        if (r->gone > r->told)
            event_emit(s->in.bus, subscriptions_ended, .subject = "fabric",
                       .subscriptions = r->gone - r->told);
        r->told = r->gone = 0;
        r->told_us = now;
    }
    r->gone++;
    if (r->told >= TELL_SINGLY)
        return;
    r->told++;
    char subject[32];
    uint64_t guid = x->record.subscriber_gid[1];
    snprintf(subject, sizeof(subject), "0x%016" PRIx64, guid);
    event_emit(s->in.bus, subscription_ended, .subject = subject, .guid = guid,
               .trap = x->record.info.trap, .reason = why);
}
